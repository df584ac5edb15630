"""Runs a driver over a link as the engine does, for tests that have no table."""

from __future__ import annotations

import asyncio
import time

from daemon.links.base import Cause, Link, LinkError
from drivers.base import SECOND, CardDrawn, Command, DeviceEvent, Driver, Emit, HealthEvent, Output, Send
from drivers.cards import Card

REOPEN_SECONDS = 0.05


class DriverHost:
    """Opens the link and opens it again after every loss; acknowledges every event at once."""

    def __init__(self, driver: Driver, link: Link) -> None:
        self.driver, self.link = driver, link
        self.emitted: list[Emit] = []
        self.losses: list[tuple[Cause, str]] = []
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False

    def start(self) -> None:
        """Open the link."""
        try:
            self.link.open(self._bytes, self._lost)
        except LinkError as error:
            self._lost(error.cause, error.detail)
            return
        self._do(self.driver.opened(time.monotonic_ns()))

    def stop(self) -> None:
        """Close it."""
        self._stopped = True
        self._disarm()
        self.link.close()

    def command(self, command: Command) -> None:
        self._do(self.driver.command(command, time.monotonic_ns()))

    @property
    def events(self) -> list[DeviceEvent | HealthEvent]:
        return [emit.event for emit in self.emitted]

    def told(self, kind: type) -> int:
        """How many events of this kind came."""
        return sum(isinstance(event, kind) for event in self.events)

    @property
    def faces(self) -> list[Card]:
        """The cards drawn, in order."""
        drawn = [event.face for event in self.events if isinstance(event, CardDrawn)]
        return [face.turn() for face in drawn if face is not None]

    def _bytes(self, data: bytes) -> None:
        self._do(self.driver.received(data, time.monotonic_ns()))

    def _lost(self, cause: Cause, detail: str) -> None:
        self.losses.append((cause, detail))
        self._do(self.driver.closed(time.monotonic_ns()))
        if not self._stopped:
            self._loop.call_later(REOPEN_SECONDS, self._again)

    def _again(self) -> None:
        if not self._stopped:
            self.start()

    def _tick(self) -> None:
        self._timer = None
        self._do(self.driver.tick(time.monotonic_ns()))

    def _do(self, outputs: list[Output]) -> None:
        outputs = [*outputs, *self.driver.committed(time.monotonic_ns())]
        for output in outputs:
            if isinstance(output, Send):
                self.link.write(output.data, output.wake)
            elif isinstance(output, Emit):
                self.emitted.append(output)
        self._disarm()
        due = self.driver.deadline
        if due is not None and not self._stopped:
            wait = max(0.0, (due - time.monotonic_ns()) / SECOND)
            self._timer = self._loop.call_later(wait, self._tick)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
