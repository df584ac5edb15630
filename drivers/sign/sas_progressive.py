"""A sign that takes the SAS progressive broadcast (protocols.md section 6): an amount, every second.

There is no way back: nothing tells who listens or what is shown. So the driver never says that the
sign shows anything; it says what the sign cannot show. See ``docs/protocols/sas_progressive.md``.
"""

from __future__ import annotations

import re
from typing import Final

from drivers.base import (
    MILLISECOND,
    SECOND,
    Command,
    Counters,
    Display,
    Emit,
    Identified,
    Output,
    Send,
    SignDiffers,
)
from drivers.protocol import Binding, DeviceProtocol, Line
from drivers.sign.sas_frames import CONTRIBUTION, MULTI, SINGLE, Broadcast, Level

EVERY: Final = SECOND  # the sign gives up after 5 s
GAP: Final = 200 * MILLISECOND  # between broadcasts, however often the amount changes

MESSAGES: Final = {"80": SINGLE, "86": MULTI, "7A": CONTRIBUTION}
_METER: Final = re.compile(r"[^\d-]*(\d{1,3}(?:,\d{3})*|\d+)\.(\d{2})", re.ASCII)


def amount_of(meter: str) -> int:
    """Minor units of a meter such as ``$12,345.67``: exactly what it says. Raises ValueError for any
    other text, for one of these may mean another number (a negative one, one without its cents)."""
    found = _METER.fullmatch(meter)
    if found is None:
        raise ValueError(f"the sign shows an amount only, not {meter!r}")
    return int(found[1].replace(",", "") + found[2])


class SasProgressive:
    """Broadcasts the meter as one level of one group.

    ``message`` is 80 (single level), 86 (multi-level) or 7A (with ``base``, minor units, and
    ``contribution``, the six digits of the frame). ``plain``: the link has no wake-up bit (8N1).
    Raises ValueError for a message, group, level or number that there is not.
    """

    def __init__(
        self,
        group: int = 1,
        level: int = 1,
        message: str = "80",
        *,
        base: int = 0,
        contribution: int = 0,
        plain: bool = False,
    ) -> None:
        if message not in MESSAGES:
            raise ValueError(f"message is one of {', '.join(MESSAGES)}, not {message!r}")
        self.counters = Counters()
        self._command, self._group = MESSAGES[message], group
        self._level, self._base, self._contribution = level, base, contribution
        self._wake = 0 if plain else 1
        self._frame = b""  # what is broadcast; empty: nothing, and the sign goes dark
        self._frame_of(0)
        self._sent_at: int | None = None
        self._due: int | None = None
        self._is_open = False
        self._told_limits = False

    @property
    def deadline(self) -> int | None:
        """When the next broadcast is due (ns); None while there is nothing to broadcast."""
        return self._due if self._is_open else None

    def opened(self, now: int) -> list[Output]:
        """The port is open. Nobody can say who is behind it: the configuration alone does."""
        self._is_open, self._sent_at = True, None
        identified: list[Output] = [Emit(Identified(role="sign"))]
        return identified + self._broadcast(now)

    def received(self, data: bytes, now: int) -> list[Output]:
        """A sign says nothing; whatever comes is dropped and counted."""
        return [self.counters.dropped("bytes on a line without a way back")]

    def command(self, command: Command, now: int) -> list[Output]:
        """Broadcast the amount of a :class:`Display`; the latest wins. Other commands are dropped.

        A meter that is no amount ends the broadcast, and the sign goes dark: an old amount is worse
        than none. Announcements and pages are not shown, which is told once (SignDiffers).
        """
        if not isinstance(command, Display):
            return [self.counters.dropped("not a command for a sign")]
        outputs = self._limits(command)
        try:
            frame = self._frame_of(amount_of(command.meter)) if command.meter else b""
        except ValueError as error:
            self._frame, self._due = b"", None
            return [*outputs, self.counters.dropped("meter is no amount"), Emit(SignDiffers(str(error)))]
        if frame == self._frame:
            return outputs
        self._frame = frame
        return outputs + self._change(now)

    def resume(self, command: Command, now: int) -> list[Output]:
        """A display is state, not an act: showing it again is always right."""
        return self.command(command, now)

    def committed(self, now: int) -> list[Output]:
        """Nothing: a sign's events need no acknowledgement."""
        return []

    def tick(self, now: int) -> list[Output]:
        """The next broadcast."""
        return self._broadcast(now) if self._due is not None and now >= self._due else []

    def closed(self, now: int) -> list[Output]:
        """The port is gone; what is to be shown is kept for :meth:`opened`."""
        self._is_open, self._due = False, None
        return []

    def _frame_of(self, amount: int) -> bytes:
        level = Level(self._level, amount, self._base, self._contribution)
        return Broadcast(self._command, self._group, (level,)).encode()

    def _limits(self, display: Display) -> list[Output]:
        if self._told_limits or not (display.announcement or display.pages):
            return []
        self._told_limits = True
        return [Emit(SignDiffers("this sign shows the amount alone: no announcement and no pages"))]

    def _change(self, now: int) -> list[Output]:
        if not self._is_open:
            return []
        if not self._frame or self._sent_at is None or now >= self._sent_at + GAP:
            return self._broadcast(now)
        self._due = self._sent_at + GAP
        return []

    def _broadcast(self, now: int) -> list[Output]:
        if not self._is_open or not self._frame:
            self._due = None
            return []
        self._sent_at, self._due = now, now + EVERY
        self.counters.sent += 1
        return [Send(self._frame, self._wake)]


def _driver(binding: Binding) -> SasProgressive:
    options = binding.options
    return SasProgressive(
        int(options["group"]),
        int(options["level"]),
        str(options["message"]),
        base=int(options["base"]),
        contribution=int(options["contribution"]),
        plain=bool(options["plain"]),
    )


PROTOCOL: Final = DeviceProtocol(
    "sign",
    "sas_progressive",
    Line(19200, 8, "S", 1),  # space parity; the wake-up bit is mark parity on the address byte
    _driver,
    proves_delivery=False,
    options={"group": 1, "level": 1, "message": "80", "base": 0, "contribution": 0, "plain": False},
    simulator="drivers.sign.sim_sas_progressive:SasProgressiveSim",
)
