"""The numbers of events that a shoe does not number itself.

The journal knows an event by device, restart and ordinal. A driver that numbers what it receives
goes on after the last durable number, and begins anew with a :class:`Restarted` wherever something
may have gone unheard: the table counts its restarts, so that no number comes twice.
"""

from __future__ import annotations

from drivers.base import DeviceEvent, Emit, Identified, Restarted


class Numbering:
    """Boot and ordinal of the events that a driver numbers itself.

    ``resume`` is what the journal knows, None for a device that was never heard. The boots are
    multiples of 65536, which no device that tells its own boot id (FDP/1) has.
    """

    __slots__ = ("boot", "ordinal", "resumed")

    def __init__(self, resume: tuple[int, int] | None) -> None:
        self.resumed = resume is not None
        self.boot, self.ordinal = resume or (0, 0)

    def identified(self) -> Emit:
        """A protocol without an identity: whatever is at the end of this line is the shoe."""
        return Emit(Identified("shoe", boot=self.boot))

    def restarted(self) -> Emit:
        """Something may have gone unheard: the numbers begin anew."""
        self.boot = (self.boot >> 16) + 1 << 16
        self.ordinal = 0
        return Emit(Restarted(), self.boot, 0)

    def next(self, event: DeviceEvent) -> Emit:
        """The event under the next number."""
        return self.numbered(event, self.ordinal + 1)

    def numbered(self, event: DeviceEvent, ordinal: int) -> Emit:
        """The event under a number of its own, greater than every one before it in this boot."""
        self.ordinal = ordinal
        return Emit(event, self.boot, ordinal)

    def again(self, event: DeviceEvent) -> Emit:
        """Something that was told already and still holds: it has no number."""
        return Emit(event, self.boot, 0)
