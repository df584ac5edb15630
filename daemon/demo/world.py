"""The processes of a demonstration: three simulated devices, the daemon, and the directory they share."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from daemon.client import Client, NotRunning
from daemon.config import ConfigError, Settings, load
from daemon.demo import five_card_config
from daemon.demo.options import DemoFailed
from daemon.roles import ROLES
from daemon.sessions import StaffFile, person
from daemon.simhost import ControlClient, ControlError

SIMULATORS: Final = {"shoe": "fdp", "shuffler": "fdp", "sign": "alpha"}
DEALT_BY: Final = {"caribbean": ("shoe", "shuffler", "sign"), "five-card": ("shoe", "sign")}
START_TIME: Final = 30.0  # seconds
END_TIME: Final = 5.0
CONSOLE: Final = "127.0.0.1:0"
PIN: Final = "246810"  # of everybody at a demonstration, and told to everybody
SHORT_LIFE: Final = 2.0  # a daemon that dies younger has not recovered
MOST_SHORT_LIVES: Final = 5
_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None)

CONFIG: Final = """\
# The table of feltd demo: three simulated devices. Amounts in minor units, paths relative to this file.

[table]
id = "demo"
game = "caribbean"
mode = "shuffler"
shuffler = "shuffler"
journal = "journal.db"
key = "feltd.key"
socket = "feltd.sock"

[rules]
version = "61/2004"
edition = "demo"
currency = "$"
ante_min = 5_000
ante_max = 1_000_000
royal_odds = 100
cap = 10_000_000

[rules.royal_approval]
reference = "specimen"
applied = 2024-09-02
permitted = 2024-09-04
effective = 2024-09-05

[rules.progressive]
stake = 1_000
contribution = "71/100"
minimum = 10_000_000

[rules.progressive.prizes]
royal_flush = 5_000_000
straight_flush = 1_000_000
quads = 50_000
full_house = 10_000
flush = 5_000

[devices.shoe]
protocol = "fdp"
link = "shoe.tty"
simulated = true

[devices.shuffler.shuffler]
protocol = "fdp"
link = "shuffler.tty"
simulated = true

[devices.sign]
protocol = "alpha"
link = "sign.tty"
simulated = true

[staff]
file = "staff.json"
"""


def _end_with_parent() -> None:
    """Linux ends this process when the demonstration is killed: no simulator outlives it."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class World:
    """A context: everything runs inside it, and what it started has ended when it is left.

    ``told`` is given one sentence whenever the daemon died and was started again.
    Raises DemoFailed when something does not start.
    """

    def __init__(
        self, directory: Path, seed: int, told: Callable[[str], None], game: str = "caribbean"
    ) -> None:
        self.directory = directory
        self.log = directory / "daemon.log"
        self.restarts = 0
        self._config = directory / "feltd.toml"
        self.settings = _settings(self._config, game)
        self._devices = DEALT_BY[game]
        self.continues = self.settings.journal.exists()
        self.client = Client(self.settings.socket)
        self.shoe, self.shuffler, self.sign = (
            ControlClient(directory / f"{name}.control", START_TIME) for name in SIMULATORS
        )
        self._seed = seed  # of the machines that shuffle
        self._told = told
        self._simulators: list[subprocess.Popen[bytes]] = []
        self._daemon: subprocess.Popen[bytes] | None = None
        self._console: subprocess.Popen[bytes] | None = None
        self._born = 0.0
        self._short_lives = 0

    def __enter__(self) -> World:
        try:
            self._start_simulators()
            self._start_daemon()
            self._await_daemon()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def tend(self) -> None:
        """Start the daemon again if it died. Raises DemoFailed when it does not stay."""
        if self._daemon is None or self._daemon.poll() is None:
            return
        code = self._daemon.returncode
        young = time.monotonic() - self._born < SHORT_LIFE
        self._short_lives = self._short_lives + 1 if young and code >= 0 else 0
        if self._short_lives >= MOST_SHORT_LIVES:
            raise DemoFailed(f"the daemon ends by itself (exit code {code}): {self._last_words()}")
        self.restarts += 1
        self._told(f"the daemon ended ({_how(code)}); started again")
        self._start_daemon()

    # --- starting ---------------------------------------------------------------------------

    def _spawn(self, arguments: Sequence[str], output: int | None) -> subprocess.Popen[bytes]:
        # A session of its own: Ctrl-C is for the demonstration, which ends the others in order.
        return subprocess.Popen(
            [sys.executable, "-m", "daemon", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )

    def _start_simulators(self) -> None:
        for name in self._devices:
            protocol = SIMULATORS[name]
            tty, control = (self.directory / f"{name}.{end}" for end in ("tty", "control"))
            control.unlink(missing_ok=True)
            arguments = ["sim", name, "--protocol", protocol, "--pty", str(tty), "--control", str(control)]
            arguments += ["--seed", str(self._seed)] if protocol == "fdp" else []
            self._simulators.append(self._spawn(arguments, None))
        clients = {"shoe": self.shoe, "shuffler": self.shuffler, "sign": self.sign}
        for name in self._devices:
            try:
                clients[name].do("state")
            except ControlError as error:
                raise DemoFailed(f"the simulated {name} does not start: {error}") from None

    def _start_daemon(self) -> None:
        with self.log.open("ab") as log:
            self._daemon = self._spawn(["run", "--config", str(self._config)], log.fileno())
        self._born = time.monotonic()
        fresh = self.directory / f".daemon.pid.{os.getpid()}"
        fresh.write_text(f"{self._daemon.pid}\n")
        fresh.replace(self.directory / "daemon.pid")  # whoever reads it sees a whole number

    def _await_daemon(self) -> None:
        give_up = time.monotonic() + START_TIME
        while time.monotonic() < give_up:
            self.tend()
            try:
                self.client.status()
            except NotRunning:
                time.sleep(0.05)
            else:
                return
        raise DemoFailed(f"the daemon does not answer: {self._last_words()}")

    def _last_words(self) -> str:
        with suppress(OSError):
            lines = self.log.read_text(errors="replace").strip().splitlines()
            if lines:
                return lines[-1][:300]
        return "its log is empty"

    # --- the web page -----------------------------------------------------------------------

    def start_console(self) -> str:
        """Serve the page; its address. One person of each role signs in with PIN. Raises DemoFailed."""
        staff = StaffFile(self.directory / "staff.json")
        for role in ROLES:
            staff.add(person(role, role, PIN))
        arguments = ["console", "--socket", str(self.settings.socket), "--listen", CONSOLE]
        self._console = self._spawn(arguments, subprocess.PIPE)
        assert self._console.stdout is not None
        address = self._console.stdout.readline().decode().strip()
        if not address.startswith("http"):
            raise DemoFailed(f"the console does not start: {address or 'it says nothing'}")
        return address

    # --- ending -----------------------------------------------------------------------------

    def stop_daemon(self) -> None:
        """End the daemon alone, in order: its journal is then whole and nobody writes it."""
        daemon, self._daemon = self._daemon, None
        _end_all([daemon] if daemon else [])
        (self.directory / "daemon.pid").unlink(missing_ok=True)

    def _end(self) -> None:
        self.stop_daemon()
        for simulator in (self.shoe, self.shuffler, self.sign):
            simulator.close()
        _end_all([*self._simulators, *([self._console] if self._console else [])])
        if self._console is not None and self._console.stdout is not None:
            self._console.stdout.close()


def _settings(path: Path, game: str) -> Settings:
    """The table of this directory; one that has none gets ours."""
    if not path.exists():
        path.write_text(five_card_config.CONFIG if game == "five-card" else CONFIG)
    try:
        settings = load(path)
    except ConfigError as error:
        raise DemoFailed(error.problems[0]) from None
    if settings.game != game:
        raise DemoFailed(f"{path} is a table of {settings.game}, not of {game}")
    return settings


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _end_all(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """SIGTERM to all of them, then SIGKILL to those that do not listen."""
    for process in processes:
        process.terminate()
    give_up = time.monotonic() + END_TIME
    for process in processes:
        try:
            process.wait(max(0.1, give_up - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
