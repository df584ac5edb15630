"""Driver of an Angel Eye II-EX card shoe (protocols.md section 2; docs/protocols/angel_eye.md)."""

from __future__ import annotations

from typing import Final

from drivers.base import (
    SECOND,
    ClearDeviceFault,
    Command,
    CommandResult,
    Counters,
    CutCardDrawn,
    DeviceEvent,
    Display,
    Emit,
    FaultCleared,
    FaultSet,
    InSync,
    LockShoe,
    OutOfSync,
    Output,
    Send,
    UnlockShoe,
)
from drivers.fdp_host import OUTCOME_LOST
from drivers.protocol import Binding, DeviceProtocol, Line
from drivers.shoe.angel_eye_commands import LISTEN_ONLY, NOT_TAKEN, Commands
from drivers.shoe.angel_eye_frames import (
    LOCKED,
    SEQUENCE,
    Answer,
    Damaged,
    Piece,
    Reader,
    Telegram,
    error_text,
)
from drivers.shoe.angel_eye_order import Order
from drivers.shoe.unproven import Numbering

FILL: Final = 2 * SECOND  # within which a missing telegram may be retransmitted
TELEGRAM_TIME: Final = SECOND  # within which a telegram ends: 64 bytes take 0.14 s at 4800 baud
CALM: Final = SECOND // 10  # after so long, bytes are no rest of a damaged telegram
_ERROR_BITS: Final = 0x3F


class AngelEyeShoe:
    """Driver of the shoe: see :class:`drivers.base.Driver`. ``resume``: as Binding's.

    ``listen_only`` never writes a byte. ``sequence`` is the alphabet of SEQ, in its order; raises
    ValueError unless it is two or more letters and digits, each once. A telegram's number, which
    SEQ is the place of, is the ordinal of its event: so a gap is found across a restart of the
    daemon too. While telegrams are missing, those that follow wait; what does not come within
    :data:`FILL` is told as :class:`Restarted`, which puts a round in doubt.
    """

    def __init__(
        self,
        resume: tuple[int, int] | None = None,
        listen_only: bool = True,
        sequence: str = SEQUENCE,
    ) -> None:
        if len(sequence) < 2 or len(set(sequence)) < len(sequence) or not sequence.encode().isalnum():
            raise ValueError(f"sequence: two or more letters and digits, each once, not {sequence!r}")
        self.counters = Counters()
        self._listen_only = listen_only
        self._numbers = Numbering(resume)
        self._order = Order(sequence, self._numbers.ordinal)
        self._reader = Reader()
        self._commands = Commands(self._sent, self._oldest_error)
        self._errors: dict[int, None] = {}  # set and not cleared, oldest first; at most 64
        self._open = False
        self._identified = False
        self._heard = 0
        self._half_at: int | None = None  # when a telegram that has begun must have ended
        self._fill_at: int | None = None  # out of sync until then

    # --- the driver protocol

    @property
    def deadline(self) -> int | None:
        """When :meth:`tick` is due (ns); None while nothing is, or the link is closed."""
        if not self._open:
            return None
        due = [self._half_at, self._fill_at]
        if not self._listen_only:
            due.append(self._commands.deadline(not self._identified))
        return min((at for at in due if at is not None), default=None)

    def opened(self, now: int) -> list[Output]:
        """The link is open. A shoe that is only listened to is believed; another one is asked."""
        self._open = True
        self._heard = now
        self._fill_at = None if self._fill_at is None else now + FILL
        self._identified = False
        out = self._commands.interrupted()
        if self._listen_only:
            self._identify(out)
        return out + self._press(now)

    def closed(self, now: int) -> list[Output]:
        """The link is gone. Order and commands stay: SEQ tells later whether something was missed."""
        self._open = False
        self._half_at = None
        half = self._reader.half
        self._reader = Reader()
        return [self.counters.dropped("half a telegram")] if half else []

    def received(self, data: bytes, now: int) -> list[Output]:
        """Bytes came in; the telegrams that are in order are told."""
        if not self._open:
            return [self.counters.dropped("bytes on a closed link")]
        out: list[Output] = []
        pieces = self._reader.feed(data)
        for piece in pieces:
            self._piece(piece, now, out)
        if not self._reader.half:
            self._half_at = None
        elif pieces or self._half_at is None:
            self._half_at = now + TELEGRAM_TIME
        self._heard = now
        return out + self._press(now)

    def command(self, command: Command, now: int) -> list[Output]:
        """Lock, unlock, clear the oldest error: given when it is its turn. Nothing else."""
        if not isinstance(command, LockShoe | UnlockShoe | ClearDeviceFault):
            return self._refuse(command, NOT_TAKEN, "command for another device")
        if self._listen_only:
            return self._refuse(command, LISTEN_ONLY, "command to a shoe that is only listened to")
        return self._commands.take(command) + self._press(now)

    def resume(self, command: Command, now: int) -> list[Output]:
        """What became of a command before a restart cannot be asked, and it is not given again."""
        return self._refuse(command, OUTCOME_LOST, "command whose outcome is lost")

    def committed(self, now: int) -> list[Output]:
        """Nothing is acknowledged: whether the shoe waits for it is open."""
        return []

    def tick(self, now: int) -> list[Output]:
        """What is late is given up; a command whose turn it is is given."""
        out: list[Output] = []
        if not self._open:
            return out
        if self._half_at is not None and now >= self._half_at:
            self._half_at = None
            self._piece(self._reader.give_up(), now, out)
        if self._fill_at is not None and now >= self._fill_at:
            self._give_up(out)
        out += self._commands.overdue(now)
        return out + self._press(now)

    # --- commands

    def _press(self, now: int) -> list[Output]:
        if self._listen_only or not self._open:
            return []
        if now >= self._heard + CALM:
            self._reader.calm()
        return self._commands.press(not self._identified, now)

    def _sent(self, data: bytes) -> Send:
        self.counters.sent += 1
        return Send(data)

    def _oldest_error(self) -> int:
        return next(iter(self._errors), 0)

    def _refuse(self, command: Command, detail: int, reason: str) -> list[Output]:
        out: list[Output] = [self.counters.dropped(reason)]
        if not isinstance(command, Display):
            out.append(Emit(CommandResult(command.command_id, "refused", detail)))
        return out

    # --- what comes in

    def _piece(self, piece: Piece, now: int, out: list[Output]) -> None:
        match piece:
            case Telegram():
                self._telegram(piece, now, out)
            case Answer(code):
                self._answer(code, out)
            case Damaged(reason):
                out.append(self.counters.dropped(reason))
                self._out_of_sync(now, out)
            case _:
                out.append(self.counters.dropped(piece.reason))

    def _answer(self, code: int | None, out: list[Output]) -> None:
        if self._listen_only:
            out.append(self.counters.dropped("answer to another host"))
            return
        self._identify(out)
        result = self._commands.answered(code)
        out += [self.counters.dropped("late answer")] if result is None else result

    def _telegram(self, telegram: Telegram, now: int, out: list[Output]) -> None:
        if not self._order.knows(telegram.seq):
            out.append(self.counters.dropped("SEQ outside the alphabet"))
            self._out_of_sync(now, out)
            return
        self.counters.frames += 1
        self._identify(out)
        self._place(telegram, now, out)
        if telegram.kind in "SP" or self._order.full:  # nobody waits for a card now
            self._give_up(out)

    def _identify(self, out: list[Output]) -> None:
        if not self._identified:
            self._identified = True
            out.append(self._numbers.identified())

    # --- order

    def _out_of_sync(self, now: int, out: list[Output]) -> None:
        """A telegram is missing, or one came spoilt: told once."""
        if self._fill_at is None:
            self._fill_at = now + FILL
            self.counters.gaps += 1
            out.append(Emit(OutOfSync(self._order.last + 1, self._order.last + self._order.missing + 1)))

    def _place(self, telegram: Telegram, now: int, out: list[Output]) -> None:
        """Put a telegram in its order, and tell what is in order now."""
        before = self._order.last
        if not self._order.take(telegram):
            self.counters.repeats += 1
            out.append(self.counters.dropped("repeat"))
        for number, each in self._order.released():
            self._tell(each, number, out)
        if self._order.missing:
            self._out_of_sync(now, out)
        elif self._order.last > before:
            self._in_sync(out)

    def _in_sync(self, out: list[Output]) -> None:
        if self._fill_at is not None:
            self._fill_at = None
            out.append(Emit(InSync()))

    def _give_up(self, out: list[Output]) -> None:
        """What is missing will not come: cards may be out that nobody knows of.

        That is told before the cards that waited, for they are not the next ones, and after them,
        for the first card makes a round of a table that took bets.
        """
        if self._fill_at is None:
            return
        self._restart(out)
        waiting = self._order.give_up()
        for number, telegram in waiting:
            self._tell(telegram, number, out)
        if any(telegram.is_card for _, telegram in waiting):
            self._restart(out)
        out += [self._numbers.again(FaultSet(code, error_text(code))) for code in self._errors]
        self._in_sync(out)

    def _restart(self, out: list[Output]) -> None:
        out.append(self._numbers.restarted())
        if self._identified:
            out.append(self._numbers.identified())

    def _tell(self, telegram: Telegram, number: int, out: list[Output]) -> None:
        event = self._event(telegram)
        if event is not None:
            out.append(self._numbers.numbered(event, number))
        elif telegram.kind == "S":
            self._errors.clear()
            self._restart(out)
        elif telegram.kind == "L":
            self._commands.told_lock(bool(telegram.data[1] & LOCKED))
        elif telegram.kind not in "PGM":
            out.append(self.counters.dropped("telegram that is not known"))

    def _event(self, telegram: Telegram) -> DeviceEvent | None:
        match telegram.kind:
            case "D" | "d" | "R":
                return telegram.drawn()
            case "C":
                return CutCardDrawn()
            case "E":
                code = telegram.data[1] & _ERROR_BITS
                self._errors[code] = None
                return FaultSet(code, error_text(code))
            case "e":
                code = telegram.data[1] & _ERROR_BITS
                self._errors.pop(code, None)
                return FaultCleared(code)
            case _:
                return None


def _driver(binding: Binding) -> AngelEyeShoe:
    options = binding.options
    listen_only, sequence = options.get("listen_only", True), options.get("sequence", SEQUENCE)
    return AngelEyeShoe(binding.resume, listen_only is not False, str(sequence))


PROTOCOL: Final = DeviceProtocol(
    "shoe",
    "angel_eye",
    Line(4800, 8, "N", 1),
    _driver,
    proves_delivery=False,
    options={"listen_only": True, "sequence": SEQUENCE},
    simulator="drivers.shoe.sim_angel_eye:AngelEyeSim",
    traits=("seed",),
)
