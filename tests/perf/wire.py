"""From a card that voids the round on the shoe's tty to the first byte of VOID on the sign's tty."""

from __future__ import annotations

import os
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import termios
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from daemon.client import Client, NotRunning
from drivers.base import Send, Simulator
from drivers.shoe.sim_fdp import ShoeSim
from drivers.sign.sim_alpha import AlphaSim
from tests.perf.measure import Row

TRIALS = 25
LEAST_TRIALS = 15
IDLE = 1.0  # seconds that the sign's line is quiet before a trial
PATIENCE = 60.0


class Line:
    """One device on a raw PTY; every read from the daemon is stamped."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.master, self._slave = pty.openpty()
        tty.setraw(self._slave, termios.TCSANOW)
        self.path = os.ttyname(self._slave)
        self.reads: list[tuple[int, bytes]] = []
        self.lock = threading.Lock()

    def write(self, sends: list[Send]) -> None:
        for send in sends:
            os.write(self.master, send.data)

    def read(self) -> None:
        data = os.read(self.master, 65536)
        now = time.monotonic_ns()
        with self.lock:
            self.reads.append((now, data))
            self.write(self.simulator.received(data, now))

    def tick(self) -> None:
        with self.lock:
            now = time.monotonic_ns()
            deadline = self.simulator.deadline
            if deadline is not None and deadline <= now:
                self.write(self.simulator.tick(now))

    def do(self, verb: dict[str, object]) -> int:
        """A control verb; the time at which its bytes left."""
        with self.lock:
            answer, sends = self.simulator.control(verb, time.monotonic_ns())
            assert "error" not in answer, answer
            before = time.monotonic_ns()
            self.write(sends)
            return before

    def quiet_for(self) -> float:
        with self.lock:
            last = self.reads[-1][0] if self.reads else 0
        return (time.monotonic_ns() - last) / 1e9


def _config(shoe: str, sign: str) -> str:
    """The shipped demo table in shoe mode, on these two lines."""
    text = (Path(__file__).parents[2] / "config" / "demo.toml").read_text()
    text = text.replace('mode = "shuffler"\nshuffler = "SH-1"', 'mode = "shoe"')
    return text.replace('"shoe.tty"', f'"{shoe}"').replace('"sign.tty"', f'"{sign}"')


class World:
    """A daemon of its own process, and two devices here."""

    def __init__(self, folder: Path) -> None:
        self.shoe = Line(ShoeSim())
        self.sign = Line(AlphaSim())
        self.running = True
        config = folder / "feltd.toml"
        config.write_text(_config(self.shoe.path, self.sign.path))
        for line in (self.shoe, self.sign):
            line.write(line.simulator.opened(time.monotonic_ns()))
        self.pump = threading.Thread(target=self._pump, daemon=True)
        self.pump.start()
        log = (folder / "log").open("wb")
        command = [sys.executable, "-m", "daemon", "run", "--config", str(config)]
        self.process = subprocess.Popen(command, stderr=log, stdout=log)
        self.client = Client(folder / "feltd.sock")

    def _pump(self) -> None:
        lines = {line.master: line for line in (self.shoe, self.sign)}
        while self.running:
            for descriptor in select.select(list(lines), [], [], 0.005)[0]:
                lines[descriptor].read()
            for line in lines.values():
                line.tick()

    def close(self) -> None:
        self.client.close()
        self.process.terminate()
        self.process.wait(10)
        self.running = False
        self.pump.join(5)

    def do(self, name: str, **args: str | int) -> None:
        """An act that is repeated until it is accepted."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                answer = self.client.act(name, **args)
                if answer["accepted"]:
                    return
            except NotRunning:
                answer = {"refusal": "not running"}
            if time.monotonic() > end:
                raise RuntimeError(f"{name}: {answer}")
            time.sleep(0.05)

    def trial(self) -> int:
        """Nanoseconds from the second exposed card to the first byte of VOID."""
        self.shoe.do({"do": "load"})
        for name in ("shuffle", "cut", "open-betting"):
            self.do(name)
        self.do("ante", box=1, amount=10_000)
        self.shoe.do({"do": "draw", "face_up": True})
        end = time.monotonic() + PATIENCE
        while self.client.status()["state"] != "dealing" or self.sign.quiet_for() < IDLE:
            assert time.monotonic() < end, self.client.status()
            time.sleep(0.01)
        known = len(self.sign.reads)
        left = self.shoe.do({"do": "draw", "face_up": True})
        while b"VOID" not in b"".join(data for _, data in self.sign.reads[known:]):
            assert time.monotonic() < end
            time.sleep(0.01)
        return self.sign.reads[known][0] - left


@contextmanager
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory(dir=".") as name:
        made = World(Path(name))
        try:
            yield made
        finally:
            made.close()


def _sync(folder: Path, size: int) -> int:
    """Nanoseconds of one write and fdatasync, as the journal's file system does it."""
    descriptor = os.open(folder / "sync", os.O_RDWR | os.O_CREAT)
    try:
        os.pwrite(descriptor, os.urandom(size), 0)
        os.fsync(descriptor)
        os.pwrite(descriptor, os.urandom(size), 0)
        start = time.perf_counter_ns()
        os.fdatasync(descriptor)
        return time.perf_counter_ns() - start
    finally:
        os.close(descriptor)


# What any program in this language needs for it: wake up, read, write and sync one commit's bytes, write.
_LEAST = """
import asyncio, os, sys
shoe, sign, file = int(sys.argv[1]), int(sys.argv[2]), os.open(sys.argv[3], os.O_CREAT | os.O_WRONLY)
def heard():
    os.read(shoe, 4096)
    os.pwrite(file, bytes(8192), 0)
    os.fdatasync(file)
    os.write(sign, b"VOID")
loop = asyncio.new_event_loop()
loop.add_reader(shoe, heard)
loop.run_forever()
"""


def _least(folder: Path) -> list[float]:
    """Milliseconds through a process that does nothing else, the line quiet before each trial."""
    lines = [pty.openpty() for _ in range(2)]
    for _, slave in lines:
        tty.setraw(slave, termios.TCSANOW)
    (shoe, shoe_slave), (sign, sign_slave) = lines
    command = [sys.executable, "-c", _LEAST, str(shoe_slave), str(sign_slave), str(folder / "least")]
    taken = []
    with subprocess.Popen(command, pass_fds=(shoe_slave, sign_slave)) as process:
        try:
            for _ in range(LEAST_TRIALS + 1):
                time.sleep(IDLE)
                start = time.monotonic_ns()
                os.write(shoe, bytes(14))
                os.read(sign, 64)
                taken.append((time.monotonic_ns() - start) / 1e6)
        finally:
            process.terminate()
            for descriptor in (shoe, shoe_slave, sign, sign_slave):
                os.close(descriptor)
    return taken[1:]  # the first one waited for the process


def measure() -> list[Row]:
    with world() as table:
        table.do("open-table")
        table.trial()  # warm
        taken, syncs = [], []
        for _ in range(TRIALS):
            taken.append(table.trial() / 1e6)
            syncs.append(_sync(Path(table.client._path).parent, 8192) / 1e6)
        least = statistics.median(_least(Path(table.client._path).parent))
    taken.sort()
    middle, sync = statistics.median(taken), statistics.median(syncs)
    last = taken[min(len(taken) - 1, round(0.99 * len(taken)))]
    rows = []
    for what, value in (("median", middle), ("99th percentile", last)):
        name = f"shoe tty to sign tty, VOID, {what}"
        spread = f"{taken[0]:.2f}-{taken[-1]:.2f} ms"
        rows.append(Row(name, value, "ms", "one bare fdatasync, median", sync, value / sync, spread, TRIALS))
    name, beside = "the same, median", "a bare process that reads, syncs, writes"
    rows.append(Row(name, middle, "ms", beside, least, middle / least, spread, LEAST_TRIALS))
    return rows
