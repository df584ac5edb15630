"""A real engine and journal with one FDP shoe on a real tty: from a byte to a committed input."""

from __future__ import annotations

import asyncio
import contextlib
import os
import termios
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Final

from daemon import journal as journals
from daemon.clock import SystemClock
from daemon.engine import Engine, Port
from daemon.links.serial import SerialLink
from daemon.rig import Device
from daemon.sealer import Sealer
from daemon.supervisor import LinkLife
from drivers.base import SECOND, Send
from drivers.shoe.fdp import FdpShoe
from drivers.shoe.sim_fdp import ShoeSim
from tests.table.floor import Floor

SHOE: Final = "shoe"


class Station:
    """The engine's wires are this one link. The simulated shoe is at the PTY's other end, and lives as
    long as :meth:`live` is awaited; ``noise`` takes its place on the line."""

    def __init__(self, folder: Path) -> None:
        self.master, self._slave = os.openpty()
        tty.setraw(self._slave, termios.TCSANOW)
        os.set_blocking(self.master, False)
        path = os.ttyname(self._slave)
        self.link = SerialLink(path)
        self.shoe = ShoeSim()
        self.port = Port(SHOE, FdpShoe(), LinkLife(SHOE, "shoe", None), "fdp", path)
        self.clock = SystemClock()
        table = Floor().table
        table.rig.devices = {SHOE: Device(SHOE, "shoe")}
        file = folder / "journal.db"
        journals.create(file, journals.header_bytes("T", "caribbean", "2026-01-01T00:00:00.000000Z", ()))
        self.journal = journals.open_journal(file, Sealer(bytes(32)))
        self.engine = Engine(table, self.journal, {SHOE: self.port}, self.clock, self, self._log)

    # --- daemon.engine.Wires

    def open(self, device: str) -> None:
        self.link.open(
            lambda data: self.engine.bytes_in(SHOE, data),
            lambda cause, detail: self.engine.link_lost(SHOE, cause, detail),
        )
        asyncio.get_running_loop().call_soon(self.engine.link_opened, SHOE)

    def send(self, device: str, data: bytes, wake: int = 0) -> None:
        self.link.write(data, wake)

    def close(self, device: str) -> None:
        self.link.close()

    # --- for the test

    async def live(self, seconds: float, noise: Callable[[], bytes] | None = None) -> None:
        end = self.clock.monotonic() + round(seconds * SECOND)
        while self.clock.monotonic() < end:
            sends = self._shoe_says()
            if noise is None:
                self.say(sends)
            else:
                os.write(self.master, noise())
            self.tick()
            await asyncio.sleep(0.01)

    def say(self, sends: list[Send]) -> None:
        """What the shoe sends."""
        for send in sends:
            os.write(self.master, send.data)

    def tick(self) -> None:
        due = self.engine.deadline
        if due is not None and due <= self.clock.monotonic():
            self.engine.tick()

    def end(self) -> None:
        self.link.close()
        self.journal.close()
        os.close(self._slave)
        os.close(self.master)

    def _shoe_says(self) -> list[Send]:
        now, sends = self.clock.monotonic(), []
        with contextlib.suppress(BlockingIOError):
            sends += self.shoe.received(os.read(self.master, 65536), now)
        due = self.shoe.deadline
        return sends + (self.shoe.tick(now) if due is not None and due <= now else [])

    def _log(self, event: str, **facts: object) -> None:
        pass
