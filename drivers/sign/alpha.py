"""Driver of an Alpha sign (M-Protocol, BetaBrite): what it shows is proved by reading it back.

The sign acknowledges nothing and drops a bad frame without a word. So there is no queue of things
to send: the driver knows what each file of the sign must hold, what it wrote last and what a
read-back proved, and picks the next frame from the difference. See ``docs/protocols/alpha.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    SignShows,
    Silent,
)
from drivers.protocol import Binding, DeviceProtocol, Line
from drivers.sign.alpha_frames import (
    CLEAN_STATUS,
    CLEAR_ERRORS,
    CLEAR_PRIORITY,
    PRIORITY,
    READ_RUN_SEQUENCE,
    READ_STATUS,
    Allocation,
    BadFrame,
    Frame,
    FrameReader,
    answer_prefix,
    ending,
    header,
    is_read,
    memory_map,
    pages_data,
    read_string,
    read_text,
    run_sequence,
    status_names,
    status_of,
    string_data,
    text_data,
    write_string,
    write_text,
)

METER_TEXT: Final = "A"
METER_STRING: Final = "J"
METER_SIZE: Final = 64  # bytes of STRING J
PAGES_SIZE: Final = 256  # bytes of TEXT A: 5 for the meter's page, 3 and its text for every other
MEMORY: Final = (
    Allocation(METER_TEXT, "A", PAGES_SIZE, tail="FF00"),
    Allocation(METER_STRING, "B", METER_SIZE, locked=True),
)

# The protocol asks for 100 and 200 ms; the rest is room for the jitter of whoever writes the bytes.
STX_PAUSE: Final = 110 * MILLISECOND
COMMAND_GAP: Final = 210 * MILLISECOND
FRAME_LIMIT: Final = 900 * MILLISECOND  # the sign drops a frame that pauses for about 1 s
ANSWER_TIME: Final = SECOND
CHECK_EVERY: Final = 2 * SECOND
RETRY_PAUSE: Final = SECOND
MISSES_UNTIL_SILENT: Final = 3
MISSES_A_SET_UP: Final = 30  # about 45 s
BITS_A_BYTE: Final = 10  # 7E1 and 8N1 alike


@dataclass(slots=True)
class _File:
    """One file of the sign: how to write and read it, and what is known of it (None: nothing)."""

    name: str
    write: bytes
    read: bytes  # empty: cannot be read back
    allocated: bool = True  # False: exists even in an empty memory
    wanted: bytes | None = None
    written: bytes | None = None
    proved: bool = False
    again: bool = False  # it was proved, and is read once more as a routine
    failures: int = 0  # read-backs in a row that were wrong

    @property
    def stale(self) -> bool:
        return self.wanted is not None and self.written != self.wanted

    @property
    def unproved(self) -> bool:
        return bool(self.read) and self.written is not None and not self.proved

    @property
    def due(self) -> bool:
        # What was written is read before it is overwritten: a meter that never rests cannot prevent
        # every proof.
        return self.stale and not self.unproved

    def forget(self) -> None:
        self.written, self.proved, self.again = None, False, False

    def recheck(self) -> None:
        self.proved, self.again = False, True

    def trust(self) -> None:
        self.proved, self.again = True, False

    def compare(self, data: bytes) -> bool:
        """Takes what a read-back told; True when it is what was written."""
        if data == self.written:
            self.trust()
            self.failures = 0
        else:
            self.failures += 1
            self.forget()
        return self.proved


class AlphaSign:
    """Shows a meter (STRING J, called by TEXT A), in turn with it the further pages of TEXT A, and over
    them an announcement (the priority TEXT).

    ``sign_type`` Z is every sign, ``address`` 00 every address; ``baud`` tells how long bytes take.
    ``check_every`` (ns) is the pause between read-backs of an idle sign. ``prove_priority`` is False for
    a sign that does not answer a read of label 0; announcements are then shown but not proved.
    Raises ValueError for an impossible type or address.
    """

    def __init__(
        self,
        sign_type: str = "Z",
        address: str = "00",
        *,
        baud: int = 9600,
        check_every: int = CHECK_EVERY,
        prove_priority: bool = True,
    ) -> None:
        self.counters = Counters()
        self._header = header(sign_type, address)
        self._byte_time = BITS_A_BYTE * SECOND // baud
        self._check_every = check_every
        sequence, text = run_sequence(METER_TEXT), pages_data(METER_STRING, (), PAGES_SIZE)
        self._sequence = _File("run sequence", b"E.", READ_RUN_SEQUENCE, wanted=sequence[2:])
        self._text = _File("TEXT A", write_text(METER_TEXT, b""), read_text(METER_TEXT), wanted=text)
        self._meter = _File("STRING J", write_string(METER_STRING, b""), read_string(METER_STRING))
        priority_read = read_text(PRIORITY) if prove_priority else b""
        self._priority = _File("priority TEXT", CLEAR_PRIORITY, priority_read, allocated=False, wanted=b"")
        self._display: Display | None = None
        self._is_open = False
        self._reset(0)

    def _reset(self, now: int) -> None:
        self._reader = FrameReader()
        self._chores: list[bytes] = []  # commands that write no file; at most three
        self._head_at: int | None = None  # when the open frame's header was sent
        self._free_at = now
        self._asked = b""  # the read that waits for its answer
        self._answer_by = now
        self._checking = False
        self._status_proved = False
        self._check_at = now
        self._misses = 0
        self._identified = False
        self._differs = False
        self._repairs = 0  # in a row
        self._shown: SignShows | None = None
        self._forget_files()

    def _forget_files(self) -> None:
        for file in self._files:
            file.forget()
            file.failures = 0

    @property
    def _files(self) -> tuple[_File, _File, _File, _File]:
        # The order of writing: the meter is right before a cleared announcement uncovers it.
        return self._sequence, self._text, self._meter, self._priority

    # --- the driver protocol -------------------------------------------------------------

    @property
    def deadline(self) -> int | None:
        """When :meth:`tick` is due next, in monotonic nanoseconds; None while closed."""
        if not self._is_open:
            return None
        if self._head_at is not None:
            return self._head_at + self._takes(self._header) + STX_PAUSE
        if self._asked:
            return self._answer_by
        return self._free_at if self._has_work else max(self._free_at, self._check_at)

    def opened(self, now: int) -> list[Output]:
        """Sets the sign up from nothing, then shows what was asked last (section 5)."""
        self._reset(now)
        self._is_open = True
        self._chores = [CLEAR_PRIORITY, CLEAR_ERRORS, memory_map(MEMORY)]
        self._priority.written = b""
        return self._advance(now)

    def received(self, data: bytes, now: int) -> list[Output]:
        """Answers in any chunking; anything else is dropped and counted."""
        outputs: list[Output] = []
        for found in self._reader.feed(data):
            if isinstance(found, BadFrame):
                outputs.append(self.counters.dropped(str(found)))
            else:
                outputs += self._answered(found, now)
        return outputs + self._advance(now)

    def command(self, command: Command, now: int) -> list[Output]:
        """Shows a :class:`Display`; the latest wins. Other commands are dropped.

        What the sign cannot show is told as :class:`SignDiffers`: a meter or an announcement changes
        nothing, pages leave the meter alone with the announcement.
        """
        if not isinstance(command, Display):
            return [self.counters.dropped("not a command for a sign")]
        try:
            meter = string_data(command.meter, METER_SIZE)
            priority = text_data(command.announcement, priority=True) if command.announcement else b""
        except ValueError as error:
            return self._refused("text not legal", error)
        pages, outputs = self._turn_pages(command.pages)
        self._display = Display(command.meter, command.announcement, pages)
        self._meter.wanted, self._priority.wanted = meter, priority
        return outputs + self._advance(now)

    def _turn_pages(self, pages: tuple[str, ...]) -> tuple[tuple[str, ...], list[Output]]:
        # All or none: some of the prizes would look like all of them.
        outputs: list[Output] = []
        try:
            text = pages_data(METER_STRING, pages, PAGES_SIZE)
        except ValueError as error:
            outputs = self._refused("pages not legal", error)
            pages, text = (), pages_data(METER_STRING, (), PAGES_SIZE)
        self._text.wanted = text
        return pages, outputs

    def _refused(self, reason: str, error: ValueError) -> list[Output]:
        self._shown = None
        return [self.counters.dropped(reason), Emit(SignDiffers(str(error)))]

    def resume(self, command: Command, now: int) -> list[Output]:
        """A display is state, not an act: showing it again is always right."""
        return self.command(command, now)

    def committed(self, now: int) -> list[Output]:
        """Nothing: a sign's events need no acknowledgement."""
        return []

    def tick(self, now: int) -> list[Output]:
        """The next half frame, the next read-back, or the end of waiting for an answer."""
        return self._advance(now)

    def closed(self, now: int) -> list[Output]:
        """The link is gone; what is to be shown is kept for :meth:`opened`."""
        self._reset(now)
        self._is_open = False
        return []

    # --- sending -------------------------------------------------------------------------

    def _takes(self, data: bytes) -> int:
        return len(data) * self._byte_time

    def _advance(self, now: int) -> list[Output]:
        if not self._is_open:
            return []
        if self._head_at is not None:
            return self._finish_frame(self._head_at, now)
        outputs: list[Output] = []
        if self._asked and now >= self._answer_by:
            outputs += self._missed()
        if self._asked or now < self._free_at:
            return outputs
        if not self._has_work and now >= self._check_at:
            self._restart_check()
            self._text.recheck()  # only here: a repair proves sooner without the longest answer of all
        return outputs + self._begin_frame(now) if self._has_work else outputs

    def _begin_frame(self, now: int) -> list[Output]:
        self._head_at = now
        return [Send(self._header)]

    def _finish_frame(self, head_at: int, now: int) -> list[Output]:
        if now < head_at + self._takes(self._header) + STX_PAUSE:
            return []
        if now > head_at + FRAME_LIMIT:
            return [self.counters.dropped("frame overdue"), *self._begin_frame(now)]
        # Chosen only now, so that the newest value goes out.
        command = self._choose()
        rest = ending(command)
        self._head_at = None
        self.counters.sent += 1
        sent_at = now + self._takes(rest)
        self._free_at = sent_at + COMMAND_GAP
        if is_read(command):
            file = self._file_read_by(command)
            content = file.written or b"" if file is not None else b""
            self._asked, self._answer_by = command, sent_at + ANSWER_TIME + self._takes(content)
        return [Send(rest)]

    @property
    def _has_work(self) -> bool:
        unfinished = any(file.stale or file.unproved for file in self._files)
        return unfinished or bool(self._chores) or not self._status_proved

    def _file_read_by(self, command: bytes) -> _File | None:
        return next((file for file in self._files if file.read == command), None)

    def _choose(self) -> bytes:
        self._put_off_pages()
        if self._chores:
            return self._chores.pop(0)
        if self._priority.due and self._priority.wanted:
            return self._write(self._priority)  # an announcement does not wait for a check to end
        due = None if self._checking else next((file for file in self._files if file.due), None)
        if due is not None:
            return self._write(due)
        self._checking = True
        # The meter first: it is what tells soonest that the memory is gone.
        reading = (self._meter, self._priority, self._text, self._sequence)
        unproved = next((file for file in reading if file.unproved), None)
        return unproved.read if unproved is not None else READ_STATUS

    def _put_off_pages(self) -> None:
        # A new value does not wait until unchanged pages are read once more.
        if self._text.again and any(file.stale for file in self._files):
            self._text.trust()

    def _write(self, file: _File) -> bytes:
        file.written, file.proved = file.wanted, False
        self._status_proved = False
        return file.write + (file.wanted or b"")

    def _restart_check(self) -> None:
        # A sign loses all of its memory or none: the two files that change stand for the others.
        self._meter.proved = self._priority.proved = self._status_proved = False
        self._checking = False
        for file in self._files:
            if file.stale:  # no use in reading an old value: the new one goes out first, also on a
                file.forget()  # line without a way back

    # --- answers -------------------------------------------------------------------------

    def _answered(self, frame: Frame, now: int) -> list[Output]:
        if frame.sign_type + frame.address != "000" or not frame.checked or len(frame.commands) != 1:
            return [self.counters.dropped("not an answer")]
        answer, asked = frame.commands[0], self._asked
        if not asked or not answer.startswith(answer_prefix(asked)):
            return [self.counters.dropped("answer not asked for")]
        self.counters.frames += 1
        self._asked, self._misses = b"", 0
        outputs: list[Output] = [] if self._identified else [Emit(Identified(role="sign"))]
        self._identified = True
        data = answer[len(asked) :]
        file = self._file_read_by(asked)
        return outputs + (self._status(data, now) if file is None else self._content(file, data, now))

    def _status(self, data: bytes, now: int) -> list[Output]:
        status = status_of(data)
        if status == CLEAN_STATUS:
            self._status_proved = True
            return self._conclude(now)
        errors = ", ".join(status_names(status)) if status is not None else "unreadable"
        return self._repair(f"error status: {errors}", now)

    def _content(self, file: _File, data: bytes, now: int) -> list[Output]:
        if file.compare(data):
            return self._conclude(now)
        # Wrong once is a write that was lost. Wrong again after it was repeated: the sign has no
        # memory for it.
        lost = file.allocated and file.failures > 1
        return self._repair(f"{file.name} {'differs' if data else 'is empty'}", now, lost=lost)

    def _conclude(self, now: int) -> list[Output]:
        if not self._status_proved or any(file.unproved for file in self._files):
            return []
        self._checking = self._differs = False
        self._repairs = 0
        self._check_at = now + self._check_every
        if self._display is None or any(file.stale for file in self._files):
            return []
        shows = SignShows(self._display.meter, self._display.announcement, self._display.pages)
        if shows == self._shown:
            return []
        self._shown = shows
        return [Emit(shows)]

    def _repair(self, reason: str, now: int, *, lost: bool = False) -> list[Output]:
        self._repairs += 1
        if self._repairs > 1:
            self._free_at = max(self._free_at, now + RETRY_PAUSE)
        self._restart_check()
        self._chores = [CLEAR_ERRORS]
        if lost:
            self._set_up_again()
        return self._differ(reason)

    def _set_up_again(self) -> None:
        self._chores = [CLEAR_ERRORS, memory_map(MEMORY)]
        self._forget_files()

    def _missed(self) -> list[Output]:
        reason = f"no answer to {self._asked.decode('ascii')}"
        self._asked = b""
        self._restart_check()  # whatever silenced the sign may have emptied it
        self._misses += 1
        outputs = self._differ(reason)
        # A sign without memory may not answer a read at all. Seldom: on a line without a way back
        # every set-up blanks a sign that shows the right thing.
        if self._misses == MISSES_UNTIL_SILENT or self._misses % MISSES_A_SET_UP == 0:
            self._set_up_again()
        if self._misses == MISSES_UNTIL_SILENT:
            self._identified = False
            outputs.append(Emit(Silent()))
        return outputs

    def _differ(self, reason: str) -> list[Output]:
        outputs: list[Output] = [] if self._differs else [Emit(SignDiffers(reason))]
        self._differs, self._shown = True, None
        return outputs


def _driver(binding: Binding) -> AlphaSign:
    return AlphaSign(
        str(binding.options["type"]),
        str(binding.options["address"]),
        baud=binding.line.baud,
        prove_priority=bool(binding.options["prove_priority"]),
    )


PROTOCOL: Final = DeviceProtocol(
    "sign",
    "alpha",
    Line(9600, 7, "E", 1, dtr=False),  # DTR resets the adapter of an Alpha sign
    _driver,
    options={"type": "Z", "address": "00", "prove_priority": True},
    simulator="drivers.sign.sim_alpha:AlphaSim",
)
