"""A telling shoe's driver and simulator on one wire, and the journal's view of what was told."""

from __future__ import annotations

from collections.abc import Callable

from drivers.base import (
    MILLISECOND,
    SECOND,
    CardDrawn,
    CommandResult,
    Driver,
    Drop,
    Emit,
    FaultCleared,
    FaultSet,
    InSync,
    OutOfSync,
    Output,
    Restarted,
    Send,
    Simulator,
)
from drivers.cards import Card

Fate = Callable[[bytes], list[bytes]]  # what is sent at once -> the reads in which it arrives


def whole(data: bytes) -> list[bytes]:
    return [data]


def every_byte(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


class Ledger:
    """What a table and its journal keep of a device: no event may have the name of another one."""

    def __init__(self) -> None:
        self.epoch = self.ordinal = 0
        self.boot = -1
        self.names: set[tuple[int, int]] = set()

    def take(self, emit: Emit) -> None:
        if isinstance(emit.event, Restarted):
            self.epoch, self.boot, self.ordinal = self.epoch + 1, emit.boot, 0
        elif emit.ordinal:
            name = (self.epoch, emit.ordinal)
            assert name not in self.names, f"event {name} twice"
            self.names.add(name)
            self.boot, self.ordinal = emit.boot, emit.ordinal

    @property
    def resume(self) -> tuple[int, int] | None:
        """What a driver is told after a restart of the daemon."""
        return (self.boot, self.ordinal) if self.boot >= 0 else None


class ShoeLine:
    """Everything sent arrives in the same call, as the fates have it; time is a number."""

    def __init__(self, driver: Driver, sim: Simulator, to_host: Fate = whole, ledger: Ledger | None = None):
        self.driver, self.sim, self.to_host = driver, sim, to_host
        self.ledger = ledger or Ledger()
        self.now = SECOND
        self.emitted: list[Emit] = []
        self.drops: list[str] = []
        self.written = b""
        self.hears = True  # the shoe hears the host
        self.take(driver.opened(self.now))

    def do(self, name: str, **arguments: object) -> dict[str, object]:
        answer, sends = self.sim.control({"do": name, **arguments}, self.now)
        assert "error" not in answer, answer
        self.told(sends)
        return answer

    def told(self, sends: list[Send]) -> None:
        for send in sends:
            for read in self.to_host(send.data):
                self.hear(read)

    def hear(self, data: bytes) -> list[Output]:
        self.now += MILLISECOND
        return self.take(self.driver.received(data, self.now))

    def take(self, out: list[Output]) -> list[Output]:
        for output in out:
            if isinstance(output, Send):
                self.written += output.data
                if self.hears:
                    self.told(self.sim.received(output.data, self.now))
            elif isinstance(output, Drop):
                self.drops.append(output.reason)
            else:
                self.emitted.append(output)
                self.ledger.take(output)
        return out

    def wait(self, seconds: float) -> None:
        """Let time go by, with a tick at every deadline."""
        end = self.now + round(seconds * SECOND)
        while (due := self.driver.deadline) is not None and due <= end:
            self.now = max(self.now, due)
            self.take(self.driver.tick(self.now))
        self.now = end

    def reopen(self) -> None:
        self.take(self.driver.closed(self.now))
        self.take(self.driver.opened(self.now))

    @property
    def faces(self) -> list[Card]:
        return faces(self.emitted)

    @property
    def results(self) -> list[CommandResult]:
        return [emit.event for emit in self.emitted if isinstance(emit.event, CommandResult)]

    @property
    def story(self) -> list[object]:
        """The events without numbers; who is there is left out."""
        kinds = (CardDrawn, FaultSet, FaultCleared, InSync, OutOfSync, Restarted)
        return [emit.event for emit in self.emitted if isinstance(emit.event, kinds)]


def faces(emitted: list[Emit]) -> list[Card]:
    drawn = [emit.event.face for emit in emitted if isinstance(emit.event, CardDrawn)]
    return [face.turn() for face in drawn if face is not None]
