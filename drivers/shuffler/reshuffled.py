"""A ReShuffled open-hardware shuffler (protocols.md section 4): one request, one answer, no events.

The machine numbers nothing, counts nothing and says nothing by itself. So exactly one request is in
flight, what is not answered is UNKNOWN and never repeated, and after anything unknown the machine is
initialised before it is believed again. See ``docs/protocols/reshuffled.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from fastcrc import crc32

from drivers.base import (
    SECOND,
    ClearDeviceFault,
    Command,
    CommandResult,
    Counters,
    Deal,
    DeviceEvent,
    Display,
    Drop,
    Emit,
    FaultCleared,
    FaultSet,
    Identified,
    InSync,
    NumberedCommand,
    Output,
    PacketOut,
    PacketTaken,
    Restarted,
    Send,
    Shuffle,
    ShuffleDone,
    ShuffleStarted,
    Silent,
    StopDeal,
)
from drivers.protocol import Binding, DeviceProtocol, Line

INIT: Final = "IN"
SHUFFLE: Final = "SH"
OK: Final = "OK"
MOST_CARDS: Final = 9  # of one request: the published board takes one digit

NOT_COUNTED: Final = 0  # in ShuffleDone.counted: this machine counts no cards
# Beyond the codes of an answer, which are at most four hexadecimal digits:
OUTCOME_UNKNOWN: Final = 0x1_0000  # detail of a result, and code of the fault that goes with it
NOT_READY: Final = 0x1_0001  # detail of a result: the machine is not initialised
NOT_POSSIBLE: Final = 0x1_0002  # detail of a result: no such packets

LONGEST: Final = 32  # bytes of a frame that does not end
# An answer to INIT follows every answer that the machine still owes. Only when so long nothing more
# came (which is also the longest an INIT takes) is the last one heard the answer to ours.
QUIET: Final = 2 * SECOND
SHUFFLE_LIMIT: Final = 180 * SECOND
DEAL_LIMIT: Final = 30 * SECOND


# --- frames ------------------------------------------------------------------------------


def checksum(data: bytes) -> bytes:
    """CRC-32 (reflected, of ``data`` alone) as eight upper-case hexadecimal digits."""
    return b"%08X" % int(crc32.iso_hdlc(data))


def is_checksum(digits: bytes, data: bytes) -> bool:
    """Whether ``digits`` fit ``data``. The publications differ on whether the ``#`` counts: both do."""
    return digits.upper() in (checksum(data), checksum(data + b"#"))


def frame(data: str, semicolon: bool = True) -> bytes:
    """``:DATA#CRC;`` and LF. ``semicolon`` False leaves that one character out."""
    said = data.encode("ascii")
    return b":" + said + b"#" + checksum(said) + (b";\n" if semicolon else b"\n")


class LineReader:
    """Cuts a stream into the data of frames, in any chunking, in bounded memory."""

    def __init__(self) -> None:
        self._held: bytearray | None = None  # None: between frames
        self._noisy = False

    def feed(self, data: bytes) -> list[str | Drop]:
        """The data of every frame that became complete, and why others were thrown away."""
        found: list[str | Drop] = []
        for byte in data:
            item = self._byte(byte)
            if item is not None:
                found.append(item)
        return found

    def clear(self) -> bool:
        """Forget half a frame; whether there was one."""
        half, self._held, self._noisy = self._held is not None, None, False
        return half

    def _byte(self, byte: int) -> str | Drop | None:
        if byte == ord(":"):
            cut, self._held, self._noisy = self._held, bytearray(), False
            return None if cut is None else Drop("cut short")
        if self._held is None:
            return self._noise(byte)
        if byte in b";\r\n":  # any of them ends a frame; what follows of the others is none
            held, self._held = bytes(self._held), None
            return _checked(held)
        self._held.append(byte)
        if len(self._held) > LONGEST:
            self._held, self._noisy = None, True
            return Drop("too long")
        return None

    def _noise(self, byte: int) -> Drop | None:
        first = byte not in b";\r\n" and not self._noisy
        self._noisy = self._noisy or first
        return Drop("noise") if first else None


def _checked(held: bytes) -> str | Drop:
    data, mark, digits = held.partition(b"#")
    if not mark or not is_checksum(digits, data):
        return Drop("checksum")
    return data.decode("ascii") if data.isalnum() else Drop("not an answer")


def error_code(answer: str) -> int | None:
    """The code of ``E<code>``, read as hexadecimal (0 to FFFF); None for anything else."""
    digits = answer[1:]
    if answer[:1] != "E" or len(digits) > 4:
        return None
    try:
        return int(digits, 16)
    except ValueError:
        return None


# --- the driver --------------------------------------------------------------------------


class _State(Enum):
    """The first three are those in which nothing is known of the machine."""

    CLOSED = "closed"
    ASKING = "asking"  # INIT is sent, no answer yet
    QUIET = "quiet"  # it was answered; answers to older requests may still come
    IDLE = "idle"
    WAITING = "waiting"  # a request is in flight
    SHUFFLING = "shuffling"  # it was answered, and needs the time that the options give it
    RESTING = "resting"  # a packet is out and is being taken


_NOT_KNOWN: Final = (_State.CLOSED, _State.ASKING, _State.QUIET)


@dataclass(slots=True)
class _Job:
    """The command that is being done, and how far it is."""

    command: Shuffle | Deal
    out: int = 0  # packets
    stopped: bool = False


class ReShuffled:
    """Driver of a ReShuffled machine.

    ``resume``: boot and ordinal of the last durable event; the numbers are the driver's own, for the
    machine has none. ``take`` (ns) is the time that the dealer has to take a packet before the next
    one is dealt, ``shuffle`` (ns) how long a shuffle still runs after its OK. Events: ShuffleStarted when the
    request leaves, ShuffleDone and PacketOut when it was answered OK, PacketTaken by ``take``. Raises
    ValueError for a negative time.
    """

    def __init__(
        self,
        resume: tuple[int, int] | None = None,
        *,
        take: int = 4 * SECOND,
        shuffle: int = 0,
        semicolon: bool = True,
    ) -> None:
        if take < 0 or shuffle < 0:
            raise ValueError("take and shuffle are times from 0")
        self.counters = Counters()
        self._boot, self._ordinal = resume or (0, 0)
        self._known = resume is not None  # it was believed before: an INIT is a restart to the table
        self._take, self._shuffle, self._semicolon = take, shuffle, semicolon
        self._reader = LineReader()
        self._state = _State.CLOSED
        self._due: int | None = None
        self._answer = ""  # the last one heard since INIT
        self._job: _Job | None = None
        self._shuffles = 0
        self._faults: set[int] = set()
        self._lost: list[int] = []  # commands whose outcome nobody can tell, not reported yet
        self._clearing: int | None = None  # command id of the ClearDeviceFault that sent INIT
        self._silent = False

    # --- the driver protocol

    @property
    def deadline(self) -> int | None:
        """When :meth:`tick` is due (ns); None while nothing is awaited."""
        return self._due

    def opened(self, now: int) -> list[Output]:
        """The link is open: initialise. It is the one request that moves no card, and nothing else
        tells who is there; opening may have reset the machine anyway."""
        self._reader.clear()
        self._silent = False
        return self._ask_init(now)

    def closed(self, now: int) -> list[Output]:
        """The link is gone. What was in flight is unknown; it is told after the next INIT."""
        if self._job is not None:
            self._lost.append(self._job.command.command_id)
        if self._clearing is not None:
            self._lost.append(self._clearing)
        self._job = self._clearing = None
        self._enter(_State.CLOSED)
        return [self.counters.dropped("half a frame")] if self._reader.clear() else []

    def received(self, data: bytes, now: int) -> list[Output]:
        """Answers in any chunking; one that nobody waits for is dropped and counted."""
        if self._state is _State.CLOSED:
            return [self.counters.dropped("bytes on a closed link")]
        out: list[Output] = []
        for found in self._reader.feed(data):
            if isinstance(found, Drop):
                out.append(self.counters.dropped(found.reason))
            elif found != OK and error_code(found) is None:
                out.append(self.counters.dropped("not an answer"))
            else:
                self.counters.frames += 1
                out += self._answered(found, now)
        return out

    def command(self, command: Command, now: int) -> list[Output]:
        """Shuffle, Deal, StopDeal, ClearDeviceFault (which is INIT). Nothing waits in a queue: what cannot
        be done now is refused or busy, and the dealer orders it anew."""
        match command:
            case Display():
                return [self.counters.dropped("command for another device")]
            case StopDeal():
                return self._stop(command)
            case ClearDeviceFault():
                return self._clear(command, now)
            case Shuffle() | Deal():
                return self._begin(command, now)
            case _:
                self.counters.dropped("command for another device")
                return [_result(command, "refused")]

    def resume(self, command: Command, now: int) -> list[Output]:
        """It may have been given before the restart, and the machine cannot be asked: it is never
        given again. Its result is told when the machine was initialised."""
        if isinstance(command, Display):
            return [self.counters.dropped("command for another device")]
        if self._state in _NOT_KNOWN:
            self._lost.append(command.command_id)
            return []
        return [_result(command, "refused", OUTCOME_UNKNOWN)]

    def committed(self, now: int) -> list[Output]:
        """Nothing: the machine knows no acknowledgement."""
        return []

    def tick(self, now: int) -> list[Output]:
        """The end of a wait."""
        if self._due is None or now < self._due:
            return []
        self._due = None
        match self._state:
            case _State.ASKING:
                return self._tell_silence()
            case _State.QUIET:
                return self._initialised()
            case _State.WAITING:
                return self._unanswered(now)
            case _State.SHUFFLING:
                return self._shuffled()
            case _:
                return self._taken(now)

    # --- requests

    def _enter(self, state: _State, due: int | None = None) -> None:
        self._state, self._due = state, due

    def _send(self, data: str) -> Send:
        self.counters.sent += 1
        return Send(frame(data, self._semicolon))

    def _ask_init(self, now: int) -> list[Output]:
        # Not repeated here: the link is opened again when nobody answers, and asks then.
        self._enter(_State.ASKING, now + QUIET)
        return [self._send(INIT)]

    def _tell_silence(self) -> list[Output]:
        told, self._silent = self._silent, True
        return [] if told else [Emit(Silent())]

    def _begin(self, command: Shuffle | Deal, now: int) -> list[Output]:
        if self._state in _NOT_KNOWN:
            return [_result(command, "refused", NOT_READY)]
        if self._job is not None:
            return [_result(command, "busy")]
        if isinstance(command, Deal) and not (command.packets > 0 and 0 < command.cards_each <= MOST_CARDS):
            return [_result(command, "refused", NOT_POSSIBLE)]
        self._job = _Job(command)
        accepted = _result(command, "accepted")
        if isinstance(command, Deal):
            return [self._next_packet(command, now), accepted]
        self._shuffles += 1
        self._enter(_State.WAITING, now + SHUFFLE_LIMIT)
        return [self._send(SHUFFLE), accepted, self._tell(ShuffleStarted(self._shuffles))]

    def _next_packet(self, deal: Deal, now: int) -> Send:
        self._enter(_State.WAITING, now + DEAL_LIMIT)
        return self._send(f"D{deal.cards_each}")

    def _stop(self, command: StopDeal) -> list[Output]:
        """Deal no further packet. One that is asked for cannot be called back and is still told."""
        job = self._job
        if job is None or not isinstance(job.command, Deal):
            return [_result(command, "done" if job is None else "busy")]
        job.stopped = True
        return [_result(command, "done")]

    def _clear(self, command: ClearDeviceFault, now: int) -> list[Output]:
        if self._state in _NOT_KNOWN:
            return [_result(command, "refused", NOT_READY)]
        if self._job is not None:
            return [_result(command, "busy")]
        self._clearing = command.command_id
        return self._ask_init(now)

    # --- answers

    def _answered(self, answer: str, now: int) -> list[Output]:
        if self._state in (_State.ASKING, _State.QUIET):
            self._answer = answer
            self._enter(_State.QUIET, now + QUIET)
            return []
        if self._state is not _State.WAITING or self._job is None:
            return [self.counters.dropped("answer nobody waits for")]
        code = error_code(answer)
        if code is not None:
            return self._failed(code)
        cleared: list[Output] = [self._tell(FaultCleared(fault)) for fault in sorted(self._faults)]
        self._faults.clear()
        return cleared + self._done(self._job, now)

    def _done(self, job: _Job, now: int) -> list[Output]:
        if isinstance(job.command, Shuffle):
            if self._shuffle:
                self._enter(_State.SHUFFLING, now + self._shuffle)
                return []
            return self._shuffled()
        index, job.out = job.out, job.out + 1
        self._enter(_State.RESTING, now + self._take)
        return [self._tell(PacketOut(index, job.command.cards_each))]

    def _shuffled(self) -> list[Output]:
        return [self._tell(ShuffleDone(self._shuffles, NOT_COUNTED)), *self._finish("done")]

    def _taken(self, now: int) -> list[Output]:
        job = self._job
        if job is None or not isinstance(job.command, Deal):
            return []
        taken: list[Output] = [self._tell(PacketTaken(job.out - 1))]
        if job.out >= job.command.packets:
            return taken + self._finish("done")
        if job.stopped:
            return taken + self._finish("refused")
        return [*taken, self._next_packet(job.command, now)]

    def _failed(self, code: int) -> list[Output]:
        self._faults.add(code)
        fault = self._tell(FaultSet(code, f"the machine answered E{code:X}"))
        return [fault, *self._finish("refused", code)]

    def _unanswered(self, now: int) -> list[Output]:
        """Nobody knows what the machine did, or still does: nothing but INIT is asked of it."""
        self._faults.add(OUTCOME_UNKNOWN)
        text = "a request was not answered: what the machine did is unknown"
        out = [self._tell(FaultSet(OUTCOME_UNKNOWN, text)), *self._finish("refused", OUTCOME_UNKNOWN)]
        return [*out, *self._tell_silence(), *self._ask_init(now)]

    def _finish(self, outcome: str, detail: int = 0) -> list[Output]:
        job, self._job = self._job, None
        self._enter(_State.IDLE)
        return [] if job is None else [_result(job.command, outcome, detail)]

    # --- initialised

    def _initialised(self) -> list[Output]:
        """Nothing that was asked before can be answered any more: the machine is believed again."""
        self._enter(_State.IDLE)
        known, self._known = self._known, True
        self._boot, self._ordinal, self._shuffles = self._boot + 1, 0, 0
        self._faults.clear()
        out: list[Output] = [Emit(Identified("shuffler", boot=self._boot))]
        if known:
            out.append(Emit(Restarted(), self._boot, 0))
        if self._silent:
            out.append(Emit(InSync()))
        self._silent = False
        return out + self._greeting()

    def _greeting(self) -> list[Output]:
        """What INIT was answered, and what became of the commands before it."""
        code, clearing = error_code(self._answer), self._clearing
        out: list[Output] = []
        if code is not None:
            self._faults.add(code)
            out.append(self._tell(FaultSet(code, f"the machine answered E{code:X}")))
        lost, self._lost, self._clearing = self._lost, [], None
        out += [Emit(CommandResult(number, "refused", OUTCOME_UNKNOWN)) for number in lost]
        if clearing is not None:
            out.append(Emit(CommandResult(clearing, "done" if code is None else "refused", code or 0)))
        return out

    def _tell(self, event: DeviceEvent) -> Emit:
        self._ordinal += 1
        return Emit(event, self._boot, self._ordinal)


def _result(command: NumberedCommand, outcome: str, detail: int = 0) -> Emit:
    return Emit(CommandResult(command.command_id, outcome, detail))


def _driver(binding: Binding) -> ReShuffled:
    options = binding.options
    return ReShuffled(
        binding.resume,
        take=int(options["take_seconds"]) * SECOND,
        shuffle=int(options["shuffle_seconds"]) * SECOND,
        semicolon=bool(options["semicolon"]),
    )


PROTOCOL: Final = DeviceProtocol(
    "shuffler",
    "reshuffled",
    Line(9600, 8, "N", 1),
    _driver,
    options={"take_seconds": 4, "shuffle_seconds": 0, "semicolon": True},
    simulator="drivers.shuffler.sim_reshuffled:ReShuffledSim",
    traits=("seed",),
)
