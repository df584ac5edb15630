"""A simulated Alpha sign: keeps files, drops what a real one drops, and says nothing unless asked."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Final

from transitions import EventData, Machine

from drivers.base import MILLISECOND, SECOND, Send
from drivers.sign.alpha_frames import (
    CLEAN_STATUS,
    EOT,
    ETX,
    LONGEST_FRAME,
    LONGEST_STRING,
    PRIORITY,
    SOH,
    STX,
    Allocation,
    BadFrame,
    Frame,
    checksum,
    parse_dots,
    parse_frame,
    parse_memory,
    parse_run_sequence,
    split_pages,
    status_names,
)

BOOT_TIME: Final = 500 * MILLISECOND
STX_PAUSE: Final = 100 * MILLISECOND
COMMAND_GAP: Final = 200 * MILLISECOND
FRAME_PAUSE: Final = SECOND
HISTORY: Final = 10_000  # meter texts remembered

ILLEGAL, CHECKSUM, OVERFLOW, TIME_OUT, PARITY = 0x20, 0x10, 0x08, 0x04, 0x01

_CALL: Final = re.compile(rb"\x10(.)", re.DOTALL)
_CONTROL: Final = re.compile(rb"\x1b..|[\x07\x1a\x1c-\x1e].|[\x00-\x1f]", re.DOTALL)
_AMOUNT: Final = re.compile(r"(\d[\d,]*)(?:\.(\d\d))?")


class Life(Enum):
    """What the sign itself is doing."""

    OFF = "off"
    BOOTING = "booting"
    RUNNING = "running"


LIFE_ROWS: Final[list[list[str | Enum | None]]] = [
    # trigger, from, to, conditions, unless, before
    ["power_on", Life.OFF, Life.BOOTING, None, None, "_forget"],
    ["booted", Life.BOOTING, Life.RUNNING],
    ["power_off", Life.BOOTING, Life.OFF, None, None, "_forget"],
    ["power_off", Life.RUNNING, Life.OFF, None, None, "_forget"],
]


def visible(data: bytes) -> str:
    """The characters of a file without positions, modes, colours and other inline codes."""
    return _CONTROL.sub(b"", data).decode("ascii", "replace")


def amount_in(text: str) -> int | None:
    """Minor units of the first amount in ``text`` such as ``$12,345.67``; None if there is none."""
    found = _AMOUNT.search(text)
    return int(found[1].replace(",", "")) * 100 + int(found[2] or 0) if found else None


class AlphaSim:
    """The sign's side of the wire. ``strict_pacing`` drops bytes that come less than 100 ms after ``02``
    and frames that begin less than 200 ms after the last; bytes of one chunk arrive at one instant.
    ``answers_unallocated``: whether a read of a file outside the memory is answered, without data."""

    def __init__(
        self,
        sign_type: str = "Z",
        address: str = "00",
        *,
        strict_pacing: bool = True,
        answers_unallocated: bool = True,
    ) -> None:
        self._sign_type, self._address = sign_type, address
        self._strict_pacing, self._answers_unallocated = strict_pacing, answers_unallocated
        self.life: Life = Life.RUNNING
        self._machine = Machine(
            model=self,
            states=Life,
            transitions=LIFE_ROWS,
            initial=Life.RUNNING,
            auto_transitions=False,
            send_event=True,
            ignore_invalid_triggers=True,
            model_attribute="life",
        )
        self._boot_ends: int | None = None
        self._mute_until = 0
        self._corrupt_answers = 0
        self._history: deque[str] = deque(maxlen=HISTORY)
        self._forget()

    def _forget(self, event: EventData | None = None) -> None:
        self._memory: tuple[Allocation, ...] = ()
        self._files: dict[str, bytes] = {}  # TEXT and STRING by label
        self._priority = b""
        self._run = b"TU"
        self._errors = CLEAN_STATUS
        self._content: bytearray | None = None  # of the open frame; None: none is open
        self._last_byte_at = self._stx_at = self._ready_at = 0

    # --- the simulator protocol ----------------------------------------------------------

    @property
    def deadline(self) -> int | None:
        """When the sign has booted; None when nothing is awaited."""
        return self._boot_ends

    def opened(self, now: int) -> list[Send]:
        """A sign says nothing when somebody attaches."""
        return self.tick(now)

    def tick(self, now: int) -> list[Send]:
        """Ends the boot when its time has come."""
        if self._boot_ends is not None and now >= self._boot_ends:
            self._boot_ends = None
            self._do("booted")
        return []

    def received(self, data: bytes, now: int) -> list[Send]:
        """Bytes that arrive at ``now``; answers only to read requests."""
        self.tick(now)
        if self.life is not Life.RUNNING:
            return []
        sends: list[Send] = []
        for byte in data:
            sends += self._byte(byte, now)
        return sends if now >= self._mute_until else []

    def control(self, verb: dict[str, object], now: int) -> tuple[dict[str, object], list[Send]]:
        """``state``, ``history``, ``power-cycle``, ``power-off``, ``power-on``, ``corrupt-memory``,
        ``corrupt`` (frames) and ``mute`` (seconds)."""
        self.tick(now)
        verbs: dict[str, Callable[[dict[str, object], int], dict[str, object]]] = {
            "state": self._state,
            "history": self._told_history,
            "power-cycle": self._power_cycle,
            "power-off": self._power_off,
            "power-on": self._power_on,
            "corrupt-memory": self._corrupt_memory,
            "corrupt": self._corrupt,
            "mute": self._mute,
        }
        name = verb.get("do")
        act = verbs.get(name) if isinstance(name, str) else None
        return (act(verb, now) if act else {"error": f"unknown verb: {name!r}"}), []

    # --- bytes ---------------------------------------------------------------------------

    def _byte(self, byte: int, now: int) -> list[Send]:
        if byte == SOH[0]:
            early = self._strict_pacing and now < self._ready_at
            self._content = None if early else bytearray()
        elif self._content is not None:
            return self._in_frame(self._content, byte, now)
        self._last_byte_at = now
        return []

    def _in_frame(self, content: bytearray, byte: int, now: int) -> list[Send]:
        if now - self._last_byte_at > FRAME_PAUSE:
            return self._give_up(TIME_OUT)
        self._last_byte_at = now
        if self._strict_pacing and STX in content and now < self._stx_at + STX_PAUSE:
            return []  # the sign is still busy with the 02
        if byte == EOT[0]:
            self._content, self._ready_at = None, now + COMMAND_GAP
            return self._frame(bytes(content))
        if byte == STX[0]:
            self._stx_at = now
        content.append(byte)
        return self._give_up(OVERFLOW) if len(content) > LONGEST_FRAME else []

    def _give_up(self, error: int) -> list[Send]:
        self._content = None
        self._errors |= error
        return []

    def _frame(self, content: bytes) -> list[Send]:
        try:
            frame = parse_frame(content)
        except BadFrame as bad:
            self._errors |= {"checksum": CHECKSUM, "byte over 7F": PARITY}.get(str(bad), ILLEGAL)
            return []
        if not self._is_for_us(frame):
            return []
        sends = [send for command in frame.commands for send in self._execute(command)]
        self._remember()
        return sends

    def _is_for_us(self, frame: Frame) -> bool:
        return frame.sign_type in ("Z", self._sign_type) and frame.address in ("00", self._address)

    # --- commands ------------------------------------------------------------------------

    def _execute(self, command: bytes) -> list[Send]:
        commands: dict[bytes, Callable[[str, bytes], list[Send] | None]] = {
            b"A": self._write_text,
            b"B": self._read_text,
            b"E": self._write_special,
            b"F": self._read_special,
            b"G": self._write_string,
            b"H": self._read_string,
            b"I": self._write_dots,
            b"J": self._read_dots,
        }
        if command[:1] in (b"O", b"T"):
            return []  # a bulletin and a time-out message are taken; what they show is not simulated
        act = commands.get(command[:1])
        if act is None or len(command) < 2:
            self._errors |= ILLEGAL
            return []
        return act(command[1:2].decode("ascii"), command[2:]) or []

    def _room(self, label: str, kind: str) -> int:
        return next((a.size for a in self._memory if (a.label, a.kind) == (label, kind)), 0)

    def _write_text(self, label: str, data: bytes) -> None:
        if label == PRIORITY:
            self._priority = data
        elif len(data) <= self._room(label, "A"):
            self._files[label] = data

    def _write_string(self, label: str, data: bytes) -> None:
        room = self._room(label, "B")
        if room:  # what does not fit empties the string
            self._files[label] = data if len(data) <= min(room, LONGEST_STRING) else b""

    def _write_dots(self, label: str, data: bytes) -> None:
        try:
            rows = parse_dots(data)
        except BadFrame:
            self._errors |= ILLEGAL
            return
        if len(rows) << 8 | len(rows[0]) == self._room(label, "D"):
            self._files[label] = data

    def _write_special(self, function: str, data: bytes) -> None:
        if function == "$":
            self._allocate(data)
        elif function == ".":
            self._sequence(data)
        elif function == "4":
            self._errors = CLEAN_STATUS
        elif function != ",":
            self._errors |= ILLEGAL

    def _sequence(self, data: bytes) -> None:
        try:
            parse_run_sequence(data)
            self._run = data
        except BadFrame:
            self._errors |= ILLEGAL

    def _allocate(self, data: bytes) -> None:
        try:
            memory = parse_memory(data)
        except BadFrame:
            self._errors |= ILLEGAL
            return
        self._memory = memory
        self._files = {allocation.label: b"" for allocation in memory}
        self._priority, self._run = b"", b"TU"

    def _read_text(self, label: str, data: bytes) -> list[Send]:
        if label == PRIORITY:
            return self._answer(b"A0" + self._priority)
        return self._answer_file(b"A", label, "A")

    def _read_string(self, label: str, data: bytes) -> list[Send]:
        return self._answer_file(b"G", label, "B")

    def _read_dots(self, label: str, data: bytes) -> list[Send]:
        return self._answer_file(b"I", label, "D")

    def _answer_file(self, command: bytes, label: str, kind: str) -> list[Send]:
        if not self._room(label, kind) and not self._answers_unallocated:
            return []
        return self._answer(command + label.encode("ascii") + self._file(label, kind))

    def _read_special(self, function: str, data: bytes) -> list[Send]:
        contents = {
            "*": bytes([self._errors]),
            "$": b"".join(allocation.encode() for allocation in self._memory),
            ".": self._run,
        }
        if function not in contents:
            self._errors |= ILLEGAL
            return []
        return self._answer(b"E" + function.encode("ascii") + contents[function])

    def _file(self, label: str, kind: str) -> bytes:
        return self._files.get(label, b"") if self._room(label, kind) else b""

    def _answer(self, payload: bytes) -> list[Send]:
        answer = bytearray(bytes(20) + SOH + b"000" + STX + payload + ETX + checksum(payload) + EOT)
        if self._corrupt_answers:
            self._corrupt_answers -= 1
            answer[26] ^= 1
        return [Send(bytes(answer))]

    # --- what people see -----------------------------------------------------------------

    def _pages(self) -> list[str]:
        """The visible text of every page, in the order they are shown."""
        labels = parse_run_sequence(self._run)
        pages = (page for label in labels for page in split_pages(self._file(label, "A")))
        return [visible(self._called(page)) for page in pages]

    def _meter(self) -> str:
        return next(iter(self._pages()), "")

    def _called(self, page: bytes) -> bytes:
        return _CALL.sub(lambda call: self._file(call[1].decode("ascii"), "B"), page)

    def _remember(self) -> None:
        meter = self._meter()
        if meter and (not self._history or self._history[-1] != meter):
            self._history.append(meter)

    # --- control -------------------------------------------------------------------------

    def _do(self, trigger: str) -> bool:
        return bool(self._machine.events[trigger].trigger(self))

    def _state(self, verb: dict[str, object], now: int) -> dict[str, object]:
        lit = self.life is Life.RUNNING
        pages, priority = self._pages() if lit else [], visible(self._priority) if lit else ""
        meter = next(iter(pages), "")
        return {
            "state": self.life.value,
            "text": priority or meter,
            "priority": priority or None,
            "amount": amount_in(meter),
            "pages": pages,
            "files": {label: data.decode("ascii") for label, data in self._files.items()},
            "memory": [allocation.encode().decode("ascii") for allocation in self._memory],
            "errors": status_names(self._errors),
        }

    def _told_history(self, verb: dict[str, object], now: int) -> dict[str, object]:
        return {"history": list(self._history), "amounts": [amount_in(text) for text in self._history]}

    def _power_cycle(self, verb: dict[str, object], now: int) -> dict[str, object]:
        self._do("power_off")
        return self._power_on(verb, now)

    def _power_off(self, verb: dict[str, object], now: int) -> dict[str, object]:
        self._boot_ends = None
        return {"ok": True} if self._do("power_off") else {"error": "it is off"}

    def _power_on(self, verb: dict[str, object], now: int) -> dict[str, object]:
        if not self._do("power_on"):
            return {"error": "it is on"}
        self._boot_ends = now + BOOT_TIME
        return {"ok": True}

    def _corrupt_memory(self, verb: dict[str, object], now: int) -> dict[str, object]:
        """Spoils the last byte of the file ``label``, or of the first string that holds anything."""
        strings = [a.label for a in self._memory if a.kind == "B"]
        labels = [verb["label"]] if "label" in verb else strings
        hit = next((name for name in labels if isinstance(name, str) and self._files.get(name)), None)
        if hit is None:
            return {"error": "no such file holds anything"}
        data = self._files[hit]
        self._files[hit] = data[:-1] + bytes([data[-1] ^ 1])
        return {"ok": True}

    def _corrupt(self, verb: dict[str, object], now: int) -> dict[str, object]:
        frames = verb.get("frames", 1)
        if not isinstance(frames, int) or frames < 0:
            return {"error": "frames is a number from 0"}
        self._corrupt_answers = frames
        return {"ok": True}

    def _mute(self, verb: dict[str, object], now: int) -> dict[str, object]:
        seconds = verb.get("seconds")
        if not isinstance(seconds, int | float) or seconds < 0:
            return {"error": "seconds is a number from 0"}
        self._mute_until = now + int(seconds * SECOND)
        return {"ok": True}
