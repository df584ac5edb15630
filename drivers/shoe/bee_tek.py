"""Driver of a Bee-Tek / USPC e-shoe (protocols.md section 3; docs/protocols/bee_tek.md)."""

from __future__ import annotations

from typing import Final

from drivers.base import (
    SECOND,
    CardDrawn,
    Command,
    CommandResult,
    Counters,
    Display,
    Emit,
    FaultCleared,
    FaultSet,
    Output,
)
from drivers.protocol import Binding, DeviceProtocol, Line
from drivers.shoe.bee_tek_lines import Alarm, BadLine, CardOut, Reminder, Said, Splitter, parse
from drivers.shoe.unproven import Numbering

LINE_TIME: Final = SECOND  # within which a line ends: 256 bytes take 0.27 s at 9600 baud
DOUBT_PAUSE: Final = SECOND  # noise is told at most so often
REMINDER_CODES: Final = 0x100  # warnings are told as codes from here on
TAKES_NO_COMMAND: Final = 0xFC  # detail of a refusal

_ALARMS: Final = {0: "an alarm without a number", 3: "alarm E3 (card not read)"}


def alarm_text(code: int) -> str:
    """A plain sentence. The shoe's own words are not passed on: they could name a card."""
    return f"The shoe shows {_ALARMS.get(code, f'alarm E{code:X}')}."


class BeeTekShoe:
    """A shoe that only speaks: see :class:`drivers.base.Driver`. ``resume``: as Binding's.

    The driver numbers what it receives. Where a line may have gone unheard (the link was away, a line
    came spoilt) it tells :class:`Restarted`, which puts a round in doubt. What is lost without a trace
    nobody can tell: the count of the stub decides.
    """

    def __init__(self, resume: tuple[int, int] | None = None) -> None:
        self.counters = Counters()
        self._numbers = Numbering(resume)
        self._was_open = self._numbers.resumed
        self._splitter = Splitter()
        self._alarms: set[int] = set()  # not over yet; at most 256
        self._open = False
        self._half_at: int | None = None  # when a line that has begun must have ended
        self._doubt_at: int | None = None  # when a doubt that waits is told
        self._quiet_until = 0

    # --- the driver protocol

    @property
    def deadline(self) -> int | None:
        """When :meth:`tick` is due (ns); None while nothing is."""
        return min((at for at in (self._half_at, self._doubt_at) if at is not None), default=None)

    def opened(self, now: int) -> list[Output]:
        """The line is open. A line that was open before may have said something meanwhile."""
        self._open = True
        if not self._was_open:
            self._was_open = True
            return [self._numbers.identified()]
        self._alarms.clear()
        return [self._numbers.restarted(), self._numbers.identified()]

    def closed(self, now: int) -> list[Output]:
        self._open = False
        self._half_at = self._doubt_at = None
        half = self._splitter.half
        self._splitter = Splitter()
        return [self.counters.dropped("half a line")] if half else []

    def received(self, data: bytes, now: int) -> list[Output]:
        """Bytes came in; what a whole line says is told."""
        if not self._open:
            return [self.counters.dropped("bytes on a closed link")]
        out: list[Output] = []
        lines = self._splitter.feed(data)
        for line in lines:
            self._line(line, now, out)
        if not self._splitter.half:
            self._half_at = None
        elif lines or self._half_at is None:
            self._half_at = now + LINE_TIME
        return out

    def command(self, command: Command, now: int) -> list[Output]:
        """This shoe takes none: each is refused."""
        out: list[Output] = [self.counters.dropped("command to a shoe that takes none")]
        if not isinstance(command, Display):
            out.append(Emit(CommandResult(command.command_id, "refused", TAKES_NO_COMMAND)))
        return out

    resume = command

    def committed(self, now: int) -> list[Output]:
        """Nothing is acknowledged."""
        return []

    def tick(self, now: int) -> list[Output]:
        """A line whose end did not come is over; a doubt that waited is told."""
        out: list[Output] = []
        if self._half_at is not None and now >= self._half_at:
            self._half_at = None
            self._line(self._splitter.take_half(), now, out)
        if self._doubt_at is not None and now >= self._doubt_at:
            self._doubt(now, out)
        return out

    # --- lines

    def _line(self, line: bytes | None, now: int, out: list[Output]) -> None:
        try:
            if line is None:
                raise BadLine("line too long")
            messages = parse(line)
        except BadLine as bad:
            out.append(self.counters.dropped(str(bad)))
            self._doubt(now, out)
            return
        self.counters.frames += 1
        for message in messages:
            self._message(message, out)

    def _message(self, message: Said, out: list[Output]) -> None:
        match message:
            case CardOut(face):
                if face is not None:  # it reads again: no message says that an alarm is over
                    out += [self._numbers.next(FaultCleared(code)) for code in sorted(self._alarms)]
                    self._alarms.clear()
                out.append(self._numbers.next(CardDrawn(face)))
            case Alarm(code):
                self._alarms.add(code)
                out.append(self._numbers.next(FaultSet(code, alarm_text(code))))
            case Reminder(code):
                text = f"The shoe warns: W0x{code:02X}."
                out.append(self._numbers.next(FaultSet(REMINDER_CODES + code, text, stops_deal=False)))
            case _:
                out.append(self.counters.dropped("message without a meaning here"))

    def _doubt(self, now: int, out: list[Output]) -> None:
        """A card may have been in what could not be read. Noise is told at most once a second."""
        if now < self._quiet_until:
            self._doubt_at = self._quiet_until
            return
        self._quiet_until = now + DOUBT_PAUSE
        self._doubt_at = None
        self.counters.gaps += 1
        out += [self._numbers.restarted(), self._numbers.identified()]
        out += [self._numbers.again(FaultSet(code, alarm_text(code))) for code in sorted(self._alarms)]


def _driver(binding: Binding) -> BeeTekShoe:
    return BeeTekShoe(binding.resume)


PROTOCOL: Final = DeviceProtocol(
    "shoe",
    "bee_tek",
    Line(9600, 8, "N", 1),
    _driver,
    proves_delivery=False,
    simulator="drivers.shoe.sim_bee_tek:BeeTekSim",
    traits=("seed",),
)
