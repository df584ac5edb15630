"""What ten idle devices cost the daemon, beside the same daemon while none of them is there."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from daemon.client import Client, NotRunning
from drivers.base import Simulator
from drivers.shoe.sim_fdp import ShoeSim
from drivers.shuffler.sim_fdp import ShufflerSim
from drivers.sign.sim_alpha import AlphaSim
from tests.perf.measure import Row
from tests.perf.wire import Line

SECONDS = 20.0
SHUFFLERS = 8
PATIENCE = 60.0
TICKS = os.sysconf("SC_CLK_TCK")


def _devices() -> dict[str, tuple[str, Simulator]]:
    """The ten, by their key in the configuration: protocol and simulator."""
    shufflers = {
        f"shuffler.SH-{n}": ("fdp", ShufflerSim(serial=f"SHUF000{n}")) for n in range(1, SHUFFLERS + 1)
    }
    return {"shoe": ("fdp", ShoeSim()), **shufflers, "sign": ("alpha", AlphaSim())}


def config(paths: dict[str, tuple[str, str]]) -> str:
    """The shipped demo table with these devices: protocol and path by key."""
    text = (Path(__file__).parents[2] / "config" / "demo.toml").read_text().partition("[devices.")[0]
    lines = (
        f'[devices.{key}]\nprotocol = "{protocol}"\nlink = "{path}"\nsimulated = true\n'
        for key, (protocol, path) in paths.items()
    )
    return text + "\n".join(lines)


class Daemon:
    """A daemon of its own process in a folder of its own."""

    def __init__(self, folder: Path, config: str) -> None:
        (folder / "feltd.toml").write_text(config)
        command = [sys.executable, "-m", "daemon", "run", "--config", str(folder / "feltd.toml")]
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=log)
        self._client = Client(folder / "feltd.sock")

    def until(self, ready: bool) -> None:
        """Wait until every device is ready, or until the daemon answers."""
        end = time.monotonic() + PATIENCE
        while not self._is(ready):
            if time.monotonic() > end:
                raise RuntimeError("the devices are not ready")
            time.sleep(0.1)

    def cost(self) -> float:
        """Milliseconds of processor time a minute."""
        before, start = self._used(), time.monotonic()
        time.sleep(SECONDS)
        return (self._used() - before) * 1000 / (time.monotonic() - start) * 60

    def close(self) -> None:
        self._client.close()
        self.process.terminate()
        self.process.wait(10)

    def _is(self, ready: bool) -> bool:
        try:
            devices = self._client.status()["devices"].values()
        except NotRunning:
            return False
        return all(device["state"] == "ready" for device in devices) or not ready

    def _used(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


class Pump:
    """Gives the devices their lines and their time, in a thread here."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = {line.master: line for line in lines}
        self._running = True
        for line in lines:
            line.write(line.simulator.opened(time.monotonic_ns()))
        self._thread = threading.Thread(target=self._pump, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._running = False
        self._thread.join(5)

    def _pump(self) -> None:
        while self._running:
            for descriptor in select.select(list(self._lines), [], [], 0.02)[0]:
                self._lines[descriptor].read()
            for line in self._lines.values():
                line.tick()


def _idle(folder: Path) -> float:
    lines = {key: (protocol, Line(simulator)) for key, (protocol, simulator) in _devices().items()}
    pump = Pump([line for _, line in lines.values()])
    daemon = Daemon(folder, config({key: (protocol, line.path) for key, (protocol, line) in lines.items()}))
    try:
        daemon.until(ready=True)
        time.sleep(3)  # the sign's first proofs
        return daemon.cost()
    finally:
        daemon.close()
        pump.close()


def _absent(folder: Path) -> float:
    daemon = Daemon(folder, config({key: (each[0], f"{key}.tty") for key, each in _devices().items()}))
    try:
        daemon.until(ready=False)
        time.sleep(3)
        return daemon.cost()
    finally:
        daemon.close()


def measure() -> list[Row]:
    costs = []
    for cost in (_idle, _absent):
        with tempfile.TemporaryDirectory(dir=".") as name:
            costs.append(cost(Path(name)))
    idle, absent = costs
    spread = f"{SECONDS:.0f} s each"
    return [Row("ten idle devices", idle, "ms/min", "all ten absent", absent, idle / absent, spread, 1)]
