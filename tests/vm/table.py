"""A table in the guest, and its devices on the host."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from daemon.simhost import ControlClient
from tests.vm.guest import Guest, GuestError
from tests.vm.image import ROOT

PATIENCE: Final = 180.0  # seconds: the processor is emulated, and shared
FELTD: Final = "/opt/feltd/bin/feltd"
ASK: Final = Path(__file__).with_name("ask.py")


def until(true: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Wait for something to become true. Raises AssertionError that says what was waited for."""
    give_up = time.monotonic() + patience
    while not true():
        assert time.monotonic() < give_up, f"waited in vain for {what}"
        time.sleep(0.1)


class Device:
    """A simulated device in a process of its own, which listens at ``address``."""

    def __init__(self, role: str, protocol: str, folder: Path, *words: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address: tuple[str, int] = free.getsockname()
        control = folder / f"{role}.control"
        listens = ("--tcp", "{}:{}".format(*self.address), "--control", str(control))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "daemon", "sim", role, "--protocol", protocol, *listens, *words],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        self._control = ControlClient(control, 30)

    def do(self, verb: str, **words: object) -> dict[str, Any]:
        """One verb of its control socket."""
        return self._control.do(verb, **words)

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()


class Table:
    """A daemon in the guest, as a transient unit of its systemd. The service manager waits for READY=1."""

    def __init__(self, guest: Guest, name: str, config: str) -> None:
        self._guest = guest
        self.unit = f"feltd-{name}"
        self.folder = f"/var/lib/{self.unit}"
        self._ask = guest.put(ASK)
        (guest.share / f"{name}.toml").write_text(config)
        guest.must(f"mkdir -p {self.folder} && cp /host/{name}.toml {self.folder}/feltd.toml")

    def start(self) -> None:
        words = ["systemd-run", "--quiet", f"--unit={self.unit}"]
        for setting in ("Type=notify", "TimeoutStartSec=300", f"WorkingDirectory={self.folder}"):
            words += ["--property", setting]
        rc, _, said = self._guest.run([*words, FELTD, "run", "--config", "feltd.toml"], 310)
        if rc:
            raise GuestError(f"{self.unit} did not start: {said}\n{self.log()}")

    def stop(self) -> None:
        """Stop it, and forget its unit, also a failed one."""
        self._guest.run(f"systemctl stop {self.unit}; systemctl reset-failed {self.unit}", PATIENCE)

    def status(self) -> dict[str, Any]:
        return self._asked("/status")

    def device(self, name: str) -> dict[str, Any]:
        """What the status says of one device."""
        found: dict[str, Any] = self.status()["devices"][name]
        return found

    def act(self, name: str, **args: str | int) -> dict[str, Any]:
        """Do an act that has to be accepted."""
        answer = self._asked(f"/acts/{name}", json.dumps({"args": args}))
        assert answer.get("accepted"), answer
        return answer

    def round(self, number: int) -> dict[str, Any]:
        return self._asked(f"/rounds/{number}")

    def wait_for(self, name: str, state: str) -> dict[str, Any]:
        """Until a device is in this state; what the status says of it then."""
        seen: list[dict[str, Any]] = []

        def there() -> bool:
            seen.append(self.device(name))
            return bool(seen[-1]["state"] == state)

        until(there, f"{name} to be {state}; {self.log()}")
        return seen[-1]

    def pid(self) -> int:
        """Of the main process; 0 when there is none."""
        return int(self._guest.must(f"systemctl show --value --property MainPID {self.unit}"))

    def descriptors(self) -> list[str]:
        """What it has open, sorted."""
        listed = self._guest.must(f"for fd in /proc/{self.pid()}/fd/*; do readlink $fd; done; true")
        return sorted(listed.split())

    def threads(self) -> int:
        """How many it has."""
        return int(self._guest.must(f"ls /proc/{self.pid()}/task | wc -l"))

    def log(self, lines: int = 20) -> str:
        return self._guest.run(f"journalctl --no-pager --output=cat --unit={self.unit} -n {lines}").stdout

    def _asked(self, question: str, *body: str) -> dict[str, Any]:
        answer = self._guest.must(
            ["python3", "-IS", self._ask, f"{self.folder}/feltd.sock", question, *body], 90
        )
        found: dict[str, Any] = json.loads(answer)
        return found
