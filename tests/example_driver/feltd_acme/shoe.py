"""Driver of the Acme card shoe. See :mod:`feltd_acme.lines` for its protocol."""

from __future__ import annotations

from typing import Final

from drivers.base import (
    MILLISECOND,
    SECOND,
    CardDrawn,
    Command,
    CommandResult,
    Counters,
    CutCardDrawn,
    DeviceEvent,
    Display,
    Emit,
    Identified,
    LockShoe,
    Output,
    Restarted,
    Send,
    Silent,
    UnlockShoe,
)
from drivers.cards import FaceDownCard, parse_card
from drivers.protocol import Binding, DeviceProtocol, Line
from feltd_acme.lines import Splitter, line, words

ASK_EVERY: Final = SECOND  # who is there, until somebody answers
REPEAT: Final = 500 * MILLISECOND  # of a command; the shoe carries out each id once
SILENCE: Final = 3 * SECOND  # three heartbeats
MOST_COMMANDS: Final = 8  # that may wait for the shoe


def event_of(said: list[str]) -> DeviceEvent:
    """What an event's words say. Raises ValueError."""
    match said:
        case ["CARD", "??", *up] if up in ([], ["UP"]):
            return CardDrawn(None, bool(up))
        case ["CARD", face, *up] if up in ([], ["UP"]):
            return CardDrawn(FaceDownCard(parse_card(face)), bool(up))
        case ["CUT"]:
            return CutCardDrawn()
    raise ValueError("no event")


class AcmeShoe:
    """A driver (drivers.base.Driver): no clock, no port, nothing raised on bad bytes."""

    def __init__(self, binding: Binding) -> None:
        self.counters = Counters()
        self._serial = binding.serial
        self._silence = int(binding.options["silence_seconds"]) * SECOND
        # Where the journal ends: an event up to there is a repeat, also after a restart of the daemon.
        self._boot: int | None
        self._boot, self._received = binding.resume or (None, 0)
        self._durable = self._received
        self._commands: dict[int, LockShoe | UnlockShoe] = {}  # in their order; the first is under way
        self._splitter = Splitter()
        self._open = self._identified = self._silent = False
        self._heard = self._ask_at = self._press_at = 0

    @property
    def deadline(self) -> int | None:
        """When :meth:`tick` is due (ns); None while the link is closed."""
        if not self._open:
            return None
        due = [] if self._silent else [self._heard + self._silence]
        if not self._identified:
            due.append(self._ask_at)
        elif self._commands:
            due.append(self._press_at)
        return min(due)

    # --- the link

    def opened(self, now: int) -> list[Output]:
        """Opening may have reset the shoe: nothing is believed before it says who it is."""
        self._open, self._identified, self._silent = True, False, False
        self._heard = now
        return [self._ask(now)]

    def closed(self, now: int) -> list[Output]:
        """Half a line is forgotten. Commands stay, and so does what is received."""
        self._open = self._identified = False
        self._splitter = Splitter()
        return []

    def received(self, data: bytes, now: int) -> list[Output]:
        """Bytes in any chunking; what cannot be read is dropped and counted."""
        if not self._open:
            return [self.counters.dropped("bytes on a closed link")]
        out: list[Output] = []
        for each in self._splitter.feed(data):
            try:
                out += self._said(words(each), now)
            except ValueError:  # also UnicodeDecodeError; its text could name a card and is not passed on
                out.append(self.counters.dropped("line not understood"))
        return out

    def tick(self, now: int) -> list[Output]:
        """Tell a silence once, ask who is there, press the command that is under way."""
        out: list[Output] = []
        if not self._open:
            return out
        if not self._silent and now >= self._heard + self._silence:
            self._silent, self._identified, self._ask_at = True, False, now
            out.append(Emit(Silent()))
        if not self._identified:
            return [*out, self._ask(now)] if now >= self._ask_at else out
        return out + (self._press(now) if now >= self._press_at else [])

    def committed(self, now: int) -> list[Output]:
        """What was emitted is durable: only now is it acknowledged."""
        if self._durable == self._received:
            return []
        self._durable = self._received
        return [self._send("ACK", self._durable)] if self._identified else []

    # --- commands

    def command(self, command: Command, now: int) -> list[Output]:
        """Lock and unlock, one after the other; nothing else."""
        if isinstance(command, Display):
            return [self.counters.dropped("command for another device")]
        if not isinstance(command, LockShoe | UnlockShoe):
            return [Emit(CommandResult(command.command_id, "refused"))]
        if len(self._commands) >= MOST_COMMANDS:
            return [Emit(CommandResult(command.command_id, "busy"))]
        first = not self._commands
        self._commands[command.command_id] = command
        return self._press(now) if first and self._identified else []

    # The shoe carries out each id once, so one that may have been given is simply given again.
    resume = command

    def _press(self, now: int) -> list[Output]:
        for number, command in self._commands.items():
            self._press_at = now + REPEAT
            return [self._send("LOCK" if isinstance(command, LockShoe) else "UNLOCK", number)]
        return []

    def _done(self, number: int, now: int) -> list[Output]:
        if number not in self._commands:
            return [self.counters.dropped("result nobody waits for")]
        del self._commands[number]
        return [Emit(CommandResult(number, "done")), *self._press(now)]

    # --- what the shoe says

    def _said(self, said: list[str], now: int) -> list[Output]:
        match said:
            case ["HELLO", serial, boot, oldest]:
                out = self._hello(serial, int(boot), int(oldest), now)
            case ["EVENT", number, *what]:
                out = self._event(int(number), event_of(what), now)
            case ["DONE", number]:
                out = self._done(int(number), now)
            case ["BEAT"]:
                out = []
            case _:
                raise ValueError("no such line")
        self.counters.frames += 1
        self._heard = now
        return out

    def _hello(self, serial: str, boot: int, oldest: int, now: int) -> list[Output]:
        """Another device than the configured one is told, and nothing of it is believed."""
        self._identified, self._silent = self._serial in ("", serial), False
        out: list[Output] = [Emit(Identified("shoe", serial, boot=boot))]
        if not self._identified:
            return out
        if boot != self._boot or oldest > self._received + 1:  # its memory is not the one that we know
            known, self._boot = self._boot is not None, boot
            self._received = self._durable = oldest - 1
            out += [Emit(Restarted(), boot)] if known else []
        return out + self._press(now)

    def _event(self, number: int, event: DeviceEvent, now: int) -> list[Output]:
        if not self._identified:
            return [self.counters.dropped("event before HELLO")]
        if number == self._received + 1:
            self._received = number
            return [Emit(event, self._boot or 0, number)]
        if number > self._received:
            return [self.counters.dropped("event after a gap"), self._ask(now)]
        self.counters.repeats += 1
        again = [self._send("ACK", number)] if number <= self._durable else []
        return [self.counters.dropped("repeat"), *again]

    # --- sending

    def _ask(self, now: int) -> Send:
        self._ask_at = now + ASK_EVERY
        return self._send("WHO")

    def _send(self, *said: object) -> Send:
        self.counters.sent += 1
        return Send(line(*said))


PROTOCOL: Final = DeviceProtocol(
    "shoe",
    "acme",
    Line(19_200, 8, "N", 1),
    AcmeShoe,
    options={"silence_seconds": 3},
    simulator="feltd_acme.sim:AcmeSim",
    traits=("serial", "seed", "boot"),
)
