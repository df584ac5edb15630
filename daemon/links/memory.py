"""Two ends of a wire in memory, for tests and for simulation without an event loop."""

from __future__ import annotations

from collections import deque
from typing import Self

from daemon.links.base import BUFFER_LIMIT, Cause, LinkError, OnBytes, OnLost


class MemoryLink:
    """One end of a wire. What is written waits until the other end's :meth:`deliver`.

    Nothing is called from within :meth:`write`: a driver that answers at once never runs
    inside the call that it answers.
    """

    def __init__(self, name: str = "memory") -> None:
        self._name = name
        self._peer: Self | None = None
        self._inbox: deque[bytes] = deque()
        self._waiting = 0
        self._on_bytes: OnBytes | None = None
        self._on_lost: OnLost | None = None
        self._plugged = True
        self._loss: tuple[Cause, str] | None = None

    @property
    def place(self) -> str:
        """The name of this end."""
        return self._name

    @classmethod
    def pair(cls, name: str = "memory") -> tuple[Self, Self]:
        """The two ends of a new wire: the daemon's and the device's."""
        here, there = cls(f"{name}:host"), cls(f"{name}:device")
        here._peer, there._peer = there, here
        return here, there

    def open(self, on_bytes: OnBytes, on_lost: OnLost) -> None:
        """Open this end. Raises LinkError (absent while cut, busy while open)."""
        if not self._plugged:
            raise LinkError(Cause.ABSENT, f"{self._name} is cut")
        if self._on_bytes is not None:
            raise LinkError(Cause.BUSY, f"{self._name} is open already")
        self._forget()
        self._on_bytes, self._on_lost = on_bytes, on_lost

    def write(self, data: bytes, wake: int = 0) -> None:
        """Put bytes on the wire; they are dropped while either end is closed or the wire is cut."""
        peer = self._peer
        if self._on_bytes is None or not self._plugged or peer is None or peer._on_bytes is None:
            return
        if peer._waiting + len(data) > BUFFER_LIMIT:
            self._loss = self._loss or (Cause.SILENT, f"{self._name} stalled: the other end reads nothing")
            return
        peer._inbox.append(bytes(data))
        peer._waiting += len(data)

    def deliver(self) -> bool:
        """Hand over what waits for this end, then a loss if there is one. True if anything was."""
        waiting, self._inbox, self._waiting = self._inbox, deque(), 0
        for data in waiting:
            if self._on_bytes is not None:
                self._on_bytes(data)
        return self._report_loss() or bool(waiting)

    def cut(self, detail: str = "the wire was cut") -> None:
        """Unplug: both ends hear of it, each after the bytes it had already received."""
        for end in (self, self._peer):
            if end is not None:
                end._plugged = False
                end._loss = end._loss or (Cause.LOST, detail)

    def mend(self) -> None:
        """Plug the wire in again; both ends may be opened."""
        for end in (self, self._peer):
            if end is not None:
                end._plugged = True

    def close(self) -> None:
        """Close this end; what waits for it is forgotten."""
        self._on_bytes = self._on_lost = None
        self._forget()

    def describe(self) -> str:
        """The name of this end."""
        return self._name

    def _forget(self) -> None:
        self._inbox.clear()
        self._waiting = 0
        self._loss = None

    def _report_loss(self) -> bool:
        loss, on_lost = self._loss, self._on_lost
        if loss is None or on_lost is None:
            return False
        self.close()
        on_lost(*loss)
        return True


def pump(*ends: MemoryLink, rounds: int = 10_000) -> None:
    """Deliver until all ends are quiet. Raises RuntimeError when they never are."""
    for _ in range(rounds):
        if not [end for end in ends if end.deliver()]:
            return
    raise RuntimeError(f"the ends of {ends[0].describe()} still talk after {rounds} deliveries")
