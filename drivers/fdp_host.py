"""The host's side of an FDP/1 link: identity, event numbers, commands (protocols.md section 1).

:class:`FdpHost` is the driver that shoe and shuffler share. It is built of three parts, each
with one concern: :class:`EventLog` knows which events are accepted and durable,
:class:`CommandWatch` follows commands to their results, and the host itself keeps the link.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from drivers import fdp
from drivers.base import (
    SECOND,
    ClearDeviceFault,
    Command,
    CommandResult,
    Counters,
    Deal,
    DeviceEvent,
    Display,
    Emit,
    Identified,
    InSync,
    LockShoe,
    NumberedCommand,
    OutOfSync,
    Output,
    Restarted,
    Send,
    Shuffle,
    Silent,
    StopDeal,
    UnlockShoe,
)
from drivers.framing import LONGEST_FRAME, Deframer

SILENCE: Final = 3 * fdp.HEARTBEAT
# Within this an event that is held must be heard of: two repeats and a heartbeat are due.
SETTLING: Final = 2 * fdp.REPEAT + fdp.HEARTBEAT
GARBLED: Final = 3 * fdp.HEARTBEAT // 2  # bytes for so long, and no frame: it is not the device that speaks
ANSWER: Final = SECOND  # within which a command or a question is answered
PATIENCE: Final = 5 * SECOND  # between questions about a command that was accepted
OUTCOME_LOST: Final = 0xFF  # detail of a result that the device can no longer tell

_SAID_BY_DEVICES: Final = (fdp.Hello, fdp.Status, fdp.EventFrame, fdp.Result)
_OUTCOMES: Final = {
    fdp.Outcome.DONE: "done",
    fdp.Outcome.ACCEPTED: "accepted",
    fdp.Outcome.REFUSED: "refused",
    fdp.Outcome.BUSY: "busy",
}


class EventLog:
    """Which events of a device are accepted, and which of those are durable.

    An *ordinal* numbers the events of one boot 1, 2, 3 … without wrapping; the number on the
    wire is the ordinal modulo 65535, with 65535 in place of 0. ``boot`` is the boot id (u16),
    plus 65536 for each time that the id alone does not tell a numbering from the one before.
    ``settled`` is False while it is not known which event of the numbering is the first for us.
    """

    __slots__ = ("boot", "durable", "known", "received", "settled")

    def __init__(self, resume: tuple[int, int] | None) -> None:
        self.boot: int | None = resume[0] if resume else None
        self.received = resume[1] if resume else 0
        self.durable = self.received
        self.known = self.received  # the latest event that the device is known to have
        self.settled = self.received > 0

    def ordinal(self, number: int) -> int:
        """The ordinal nearest to what was received that has this number (0: none yet)."""
        if not number:
            return 0
        half = fdp.EVENTS // 2
        return self.received + (number - self.received + half) % fdp.EVENTS - half

    def begin(self, boot_id: int, again: bool) -> None:
        """A numbering begins. ``again``: its boot id may have been that of an earlier one."""
        before = 0 if self.boot is None else self.boot >> 16
        self.boot = (before + again) << 16 | boot_id
        self.settled = False
        self.take_up(0)

    def take_up(self, ordinal: int) -> None:
        """The next event is the one after ``ordinal``, and nothing is missing before it."""
        self.received = self.durable = self.known = ordinal

    def saw(self, ordinal: int) -> bool:
        """The device has this event. True when events up to it are missing."""
        self.known = max(self.known, ordinal)
        return ordinal > self.received

    @property
    def missing(self) -> bool:
        return self.known > self.received


def wire_number(ordinal: int) -> int:
    """The event number, 1 to 65535, of an ordinal of at least 1."""
    return (ordinal - 1) % fdp.EVENTS + 1


def command_frame(command: NumberedCommand) -> fdp.CommandFrame:
    """The frame that gives this command."""
    match command:
        case LockShoe(number):
            return fdp.Lock(number)
        case UnlockShoe(number):
            return fdp.Unlock(number)
        case Shuffle(number):
            return fdp.Shuffle(number)
        case Deal(number, packets, cards_each):
            return fdp.Deal(number, packets, cards_each)
        case StopDeal(number):
            return fdp.Stop(number)
        case ClearDeviceFault(number):
            return fdp.ClearFault(number)


class _Watched:
    """A command whose outcome is not final yet."""

    __slots__ = ("accepted", "asked", "command", "due", "given")

    def __init__(self, command: NumberedCommand, given: bool) -> None:
        self.command = command
        self.given = given  # it may have reached the device
        self.accepted = False
        self.asked = False  # a QUERY is open, so "never seen" is an answer to it
        self.due = 0

    @property
    def repeatable(self) -> bool:
        """Whether a second effect, in another boot of the device, would change nothing."""
        return not self.given or isinstance(self.command, LockShoe | UnlockShoe | StopDeal)


class CommandWatch:
    """Follows each command until its result is final. It asks; it never gives a new id."""

    def __init__(self, send: Callable[[fdp.Frame], Send]) -> None:
        self._send = send
        self._watched: dict[int, _Watched] = {}

    @property
    def deadline(self) -> int | None:
        return min((each.due for each in self._watched.values()), default=None)

    def watch(self, command: NumberedCommand, given: bool) -> bool:
        """Take up a command; False if its id is under watch already."""
        if command.command_id in self._watched:
            return False
        self._watched[command.command_id] = _Watched(command, given)
        return True

    def press(self, command_id: int, now: int) -> Send:
        """Give the command, or ask for it if it may have been given."""
        watched = self._watched[command_id]
        if watched.given:
            watched.asked = True
            watched.due = now + (PATIENCE if watched.accepted else ANSWER)
            return self._send(fdp.Query(command_id))
        return self._give(watched, now)

    def _give(self, watched: _Watched, now: int) -> Send:
        watched.given, watched.asked = True, False
        watched.due = now + ANSWER
        return self._send(command_frame(watched.command))

    def overdue(self, now: int) -> list[Output]:
        """Ask for every command whose answer is late."""
        return [self.press(number, now) for number, each in self._watched.items() if each.due <= now]

    def identified(self, now: int) -> list[Output]:
        """The device is there (again): press every command, in the order they were given."""
        return [self.press(number, now) for number in self._watched]

    def restarted(self) -> list[Output]:
        """The device forgot all commands. What must not happen twice is over: nobody can tell
        whether it happened in the boot before."""
        lost = [number for number, each in self._watched.items() if not each.repeatable]
        for watched in self._watched.values():
            watched.accepted = False
        return [self._finish(number, "refused", OUTCOME_LOST) for number in lost]

    def result(self, frame: fdp.Result, now: int) -> list[Output] | None:
        """What a RESULT changes; None when nobody waits for it (any more)."""
        watched = self._watched.get(frame.command_id)
        if watched is None:
            return None
        if frame.outcome is fdp.Outcome.NEVER_SEEN:
            return self._never_seen(watched, now)
        watched.asked = False
        if frame.outcome is not fdp.Outcome.ACCEPTED:
            return [self._finish(frame.command_id, _OUTCOMES[frame.outcome], frame.detail)]
        watched.due = now + PATIENCE
        if watched.accepted:
            return []
        watched.accepted = True
        return [Emit(CommandResult(frame.command_id, "accepted", frame.detail))]

    def _never_seen(self, watched: _Watched, now: int) -> list[Output] | None:
        if not watched.asked:
            return None
        if watched.accepted:  # it was seen: the device forgot it, so giving it again could double it
            return [self._finish(watched.command.command_id, "refused", OUTCOME_LOST)]
        return [self._give(watched, now)]

    def _finish(self, command_id: int, outcome: str, detail: int) -> Emit:
        del self._watched[command_id]
        return Emit(CommandResult(command_id, outcome, detail))


class FdpHost:
    """A driver of FDP/1 (see :class:`drivers.base.Driver`); a subclass adds a device's meaning.

    ``resume`` is what the journal knows: the boot and the ordinal of the last durable event.
    ``serial`` is the only serial number that is listened to; "" listens to every one, and then a
    number other than the last is another device: it is told as :class:`Restarted`.
    ``status`` is the latest STATUS, None until one came in this boot.
    Nothing of a device is believed before its HELLO, nor after a silence until the next one. Of a
    device with another role or serial number nothing is believed but who it is (rule 6).
    A new numbering is taken up at the oldest event that the device still holds. So is the old one
    when the device cannot give what is missing, and that is told as :class:`Restarted` too.
    """

    ROLE: ClassVar[fdp.Role]
    COMMANDS: ClassVar[tuple[type[NumberedCommand], ...]]

    def __init__(self, resume: tuple[int, int] | None = None, serial: str = "") -> None:
        self.counters = Counters()
        self._serial = serial
        self._last_serial: str | None = None
        self.status: fdp.Status | None = None
        self._log = EventLog(resume)
        self._commands = CommandWatch(self._send)
        self._deframer = Deframer()
        self._seq = 0
        self._open = False
        self._identified = False
        self._silent = False
        self._unsynced = False  # OutOfSync was told, InSync not yet
        self._doubt = False  # frames were lost, perhaps the HELLO of a new boot among them
        self._ack_due = False
        self._last_seq: int | None = None
        self._settle_at: int | None = None  # until then the device's oldest event is looked for
        self._noise = 0  # bytes since the last frame of the device
        self._heard = self._hello_at = self._nak_at = 0
        self._gone_at = 0  # from then on, what is missing is what the device does not hold

    def event_of(self, frame: fdp.EventFrame) -> DeviceEvent | None:
        """What an event frame says; None for a frame of another kind of device."""
        raise NotImplementedError

    # --- the driver protocol

    @property
    def deadline(self) -> int | None:
        """When :meth:`tick` is due (ns); None while the link is closed."""
        if not self._open:
            return None
        if not self._identified:
            return self._hello_at if self._silent else min(self._hello_at, self._heard + SILENCE)
        due = self._heard + SILENCE
        if self._doubt:
            due = min(due, self._hello_at)
        if self._unsynced:
            due = min(due, self._nak_at)
        if self._settle_at is not None:
            due = min(due, self._settle_at)
        commands = self._commands.deadline
        return due if commands is None else min(due, commands)

    def opened(self, now: int) -> list[Output]:
        """The link is open: ask who is there, for opening may have reset it (rule 6)."""
        self._open = True
        self._silent = False
        self._heard, self._noise = now, 0
        self._forget_identity()
        return [self._ask_hello(now)]

    def closed(self, now: int) -> list[Output]:
        """The link is gone; commands stay under watch, and what was emitted may still commit."""
        self._open = False
        self._forget_identity()
        return [self.counters.dropped("half a frame")] if self._deframer.clear() else []

    def received(self, data: bytes, now: int) -> list[Output]:
        """Bytes came in. Repeats of one call are acknowledged together, at its end.

        A stream of bytes without a frame is told as :class:`OutOfSync` after 1.5 s, before it is a silence.
        """
        if not self._open:
            return [self.counters.dropped("bytes on a closed link")]
        out: list[Output] = []
        self._noise += len(data)
        for piece in self._deframer.feed(data):
            if isinstance(piece, bytes):
                self._body(piece, now, out)
            else:
                out.append(self.counters.dropped(piece.reason))
        if self._ack_due:
            out.append(self._ack())
        if self._is_garbled(now):
            self._doubt = True  # whatever was said meanwhile is lost: the next HELLO tells
            self._missing(self._log.received, now, out)
        return out

    def command(self, command: Command, now: int) -> list[Output]:
        """Give a command; until the device is identified it waits. One under watch is not repeated."""
        return self._take(command, now, given=False)

    def resume(self, command: Command, now: int) -> list[Output]:
        """Ask for a command that may have been given before a restart; give it if it never was."""
        return self._take(command, now, given=True)

    def committed(self, now: int) -> list[Output]:
        """Every event emitted so far is durable: acknowledge the last one."""
        log = self._log
        if log.durable == log.received:
            return []
        log.durable = log.received
        return [self._ack()] if self._identified and not self._doubt else []

    def tick(self, now: int) -> list[Output]:
        """Do what is due: ask again, tell a silence, press the commands."""
        out: list[Output] = []
        if not self._open:
            return out
        if not self._silent and now - self._heard >= SILENCE:
            self._silent = True
            self._forget_identity()
            out.append(Emit(Silent()))
        if (self._doubt or not self._identified) and now >= self._hello_at:
            out.append(self._ask_hello(now))
        if not self._identified:
            return out
        if self._settle_at is not None and now >= self._settle_at:
            self._settle(now)
        if self._unsynced and now >= self._nak_at:
            # The answers come in order: at the HELLO it is known what the device did not give.
            out += [self._ask_hello(now)] if self._is_gone(now) else []
            out.append(self._nak(now))
        out += self._commands.overdue(now)
        return out

    # --- sending

    def _send(self, frame: fdp.Frame) -> Send:
        data = fdp.encode(frame, self._seq)
        self._seq += 1
        self.counters.sent += 1
        return Send(data)

    def _ack(self) -> Send:
        self._ack_due = False
        return self._send(fdp.Ack(wire_number(self._log.durable)))

    def _nak(self, now: int) -> Send:
        self._nak_at = now + fdp.REPEAT
        return self._send(fdp.Nak(wire_number(self._log.received + 1)))

    def _ask_hello(self, now: int) -> Send:
        self._hello_at = now + ANSWER
        return self._send(fdp.GetHello())

    # --- commands

    def _take(self, command: Command, now: int, given: bool) -> list[Output]:
        if isinstance(command, Display) or not isinstance(command, self.COMMANDS):
            out: list[Output] = [self.counters.dropped("command for another device")]
            if not isinstance(command, Display):
                out.append(Emit(CommandResult(command.command_id, "refused")))
            return out
        if self._commands.watch(command, given) and self._identified:
            return [self._commands.press(command.command_id, now)]
        return []

    # --- frames

    def _body(self, body: bytes, now: int, out: list[Output]) -> None:
        try:
            frame = fdp.decode(body)
        except fdp.BadFrame as bad:
            out.append(self.counters.dropped(str(bad)))
            return
        if not isinstance(frame, _SAID_BY_DEVICES):
            # An echo is nobody's sign of life. Not to be answered either: the answer would come back too.
            out.append(self.counters.dropped("our own frame came back: wiring"))
            return
        self.counters.frames += 1
        self._heard, self._noise = now, 0
        self._count(body[2])
        if self._doubt and now >= self._hello_at and not isinstance(frame, fdp.Hello):
            out.append(self._ask_hello(now))
        if isinstance(frame, fdp.EventFrame):
            self._event(frame, now, out)
        else:
            self._answer(frame, now, out)

    def _count(self, seq: int) -> None:
        """A jump in seq: frames were lost, and the HELLO of a new boot may be among them. Then the
        numbers that follow may be those of other events, whatever they look like."""
        if self._last_seq is not None and seq not in (self._last_seq, (self._last_seq + 1) & 0xFF):
            self._doubt = True
        self._last_seq = seq

    def _answer(self, frame: fdp.Frame, now: int, out: list[Output]) -> None:
        match frame:
            case fdp.Hello():
                self._hello(frame, now, out)
            case _ if not self._identified:
                out.append(self.counters.dropped("frame before HELLO"))
            case fdp.Status():
                self._heartbeat(frame, now, out)
            case fdp.Result():
                answer = self._commands.result(frame, now)
                out += [self.counters.dropped("late result")] if answer is None else answer

    def _event(self, frame: fdp.EventFrame, now: int, out: list[Output]) -> None:
        if not self._identified:
            out.append(self.counters.dropped("frame before HELLO"))
            return
        event = self.event_of(frame)
        if event is None:
            out.append(self.counters.dropped("frame of another role"))
            return
        log = self._log
        ordinal = log.ordinal(frame.event)
        if self._settle_at is not None:
            if not self._is_oldest(frame.event, ordinal, now):
                out.append(self.counters.dropped("event before the oldest is known"))
                return
            self._settle_at, log.settled = None, True
            log.take_up(frame.event - 1)
            ordinal = frame.event
        if ordinal <= log.received + 1:
            self._gone_at = now + SETTLING  # what is held has no holes: the next one is not gone
        if ordinal > log.received + 1:
            out.append(self.counters.dropped("event after a gap"))
            self._missing(ordinal, now, out)
        elif self._doubt:
            out.append(self.counters.dropped("event after lost frames"))
        elif ordinal > log.received:
            log.received = ordinal
            out.append(Emit(event, self._boot, ordinal))
            if self._unsynced and not log.missing:
                self._in_sync(out)
        else:
            self._repeat(ordinal)

    def _repeat(self, ordinal: int) -> None:
        """An event that was accepted already: acknowledge it again if it is durable."""
        self.counters.repeats += 1
        if 0 < ordinal <= self._log.durable:
            self._ack_due = True

    # --- identity

    @property
    def _boot(self) -> int:
        return -1 if self._log.boot is None else self._log.boot

    def _forget_identity(self) -> None:
        self._identified = self._doubt = self._ack_due = False
        self._last_seq = self._settle_at = None

    def _hello(self, hello: fdp.Hello, now: int, out: list[Output]) -> None:
        stranger = self._stranger(hello)
        if stranger:
            self._forget_identity()
            out.append(Emit(_identity(hello, hello.boot_id)))
            out.append(self.counters.dropped(stranger))
            return
        first_contact = self._log.boot is None
        restarted = not first_contact and self._is_restart(hello, now)
        if first_contact or restarted:
            self._begin_numbering(hello)
        self._last_serial = hello.serial
        out.append(Emit(_identity(hello, self._boot)))
        if restarted:
            out.append(Emit(Restarted(), self._boot, 0))
            out += self._commands.restarted()
        self._greet(hello, restarted, now, out)

    def _greet(self, hello: fdp.Hello, restarted: bool, now: int, out: list[Output]) -> None:
        """It is the device that is listened to: find the next event, press the commands."""
        if self._doubt or not self._identified:
            self._gone_at = now + SETTLING
        newly_identified, self._identified = not self._identified, True
        self._doubt = False
        self._hello_at = now
        out.append(self._send(fdp.GetStatus()))
        if not self._log.settled:
            self._take_up(hello, now, out)
        self._reconcile(hello.last_event, now, out)
        if newly_identified or restarted:
            out += self._commands.identified(now)

    def _stranger(self, hello: fdp.Hello) -> str:
        """Why this is not the device of this link; "" if it is."""
        if hello.role is not self.ROLE:
            return "HELLO of another role"
        return "HELLO of another serial number" if self._serial not in ("", hello.serial) else ""

    def _is_other(self, hello: fdp.Hello) -> bool:
        """Another device than the last one in this process."""
        return self._last_serial not in (None, hello.serial)

    def _is_restart(self, hello: fdp.Hello, now: int) -> bool:
        """Another device, a new boot id, or the old one that has not what its numbers promise: fewer
        events than were already received, or a gap that it cannot fill."""
        if self._is_other(hello) or hello.boot_id != self._boot & 0xFFFF:
            return True
        last, received = self._log.ordinal(hello.last_event), self._log.received
        return self._log.settled and (last < received or (last > received and self._is_gone(now)))

    def _is_gone(self, now: int) -> bool:
        """Whether the device had time to give what is missing, on a clean line, and did not."""
        return self._unsynced and self._identified and not self._doubt and now >= self._gone_at

    def _begin_numbering(self, hello: fdp.Hello) -> None:
        """Numbers start anew. A boot id that is not new must still not repeat an identity."""
        same = self._log.boot is not None and hello.boot_id == self._boot & 0xFFFF
        self._log.begin(hello.boot_id, again=same or self._is_other(hello))
        self.status = None
        self._ack_due = False

    def _take_up(self, hello: fdp.Hello, now: int, out: list[Output]) -> None:
        """Begin at the oldest event that the device holds, or at the next one if it holds none."""
        self._log.take_up(hello.last_event)
        self._log.settled = not hello.last_event
        self._settle_at = None
        if hello.last_event:
            self._settle_at = max(now, self._nak_at + fdp.REPEAT) + SETTLING
            out.append(self._send(fdp.GetEvents(1)))

    def _is_oldest(self, number: int, ordinal: int, now: int) -> bool:
        """Whether this is the oldest event held: the first one, with no frame lost since HELLO, that
        is older than HELLO. Later ones may overtake the answer to GET_EVENTS, and what follows a
        NAK to the numbering before may be the answer to that, which begins at any event."""
        after_naks = number == 1 or now >= self._nak_at + fdp.REPEAT
        return after_naks and not self._doubt and ordinal <= self._log.received

    def _settle(self, now: int) -> None:
        """The time in which the oldest event must be heard of is over."""
        if self._doubt:
            self._settle_at = now + SETTLING
        else:
            self._settle_at, self._log.settled = None, True  # nothing older is held

    def _reconcile(self, last_event: int, now: int, out: list[Output]) -> None:
        """Compare the device's last event with ours, and end a silence."""
        if self._settle_at is None and self._log.saw(self._log.ordinal(last_event)):
            self._nak_at = now
            self._missing(self._log.known, now, out)
        elif self._unsynced or self._silent:
            self._in_sync(out)
        self._silent = False

    # --- synchrony

    def _is_garbled(self, now: int) -> bool:
        """Whether more came than one frame can be, and no frame, though a heartbeat is overdue."""
        speaks = self._identified and not self._silent and not self._unsynced and self._settle_at is None
        return speaks and self._noise > LONGEST_FRAME and now - self._heard >= GARBLED

    def _heartbeat(self, status: fdp.Status, now: int, out: list[Output]) -> None:
        before, self.status = self.status, status
        if self._settle_at is not None:
            return
        last = self._log.ordinal(status.last_event)
        if last < self._log.received or (before is not None and status.uptime < before.uptime):
            self._doubt = True
            if now >= self._hello_at:
                out.append(self._ask_hello(now))
        elif last > self._log.received:
            self._missing(last, now, out)

    def _missing(self, got: int, now: int, out: list[Output]) -> None:
        """Events before or at ``got`` are missing: tell it once, ask at most every 500 ms."""
        self._log.saw(got)
        if not self._unsynced:
            self._unsynced = True
            self.counters.gaps += 1
            self._nak_at = now
            self._gone_at = now + SETTLING
            out.append(Emit(OutOfSync(self._log.received + 1, got)))
        if now >= self._nak_at:
            out.append(self._nak(now))

    def _in_sync(self, out: list[Output]) -> None:
        self._unsynced = False
        self._log.known = self._log.received
        out.append(Emit(InSync()))


def _identity(hello: fdp.Hello, boot: int) -> Identified:
    return Identified(
        role=hello.role.name.lower(),
        serial=hello.serial,
        firmware=hello.firmware,
        digest=hello.digest.hex(),
        boot=boot,
    )
