"""Frames of the Alpha sign protocol (M-Protocol, BetaBrite): bytes only, no timing, no state of a sign.

A frame is five ``00``, ``01``, sign type, address, then one or more of ``02 COMMAND [03 CCCC]``, then ``04``.
Every legal byte is below 80, because the line is 7E1. See ``docs/protocols/alpha.md``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

SOH: Final = b"\x01"
STX: Final = b"\x02"
ETX: Final = b"\x03"
EOT: Final = b"\x04"
CALL_STRING: Final = b"\x10"  # followed by the label of the STRING

LONGEST_STRING: Final = 125  # bytes; a sign empties a STRING that is longer than its memory
LONGEST_FRAME: Final = 4096  # bytes kept of a frame that does not end

PRIORITY: Final = "0"  # label of the TEXT that covers everything; it needs no memory
MIDDLE_LINE: Final = " "
HOLD: Final = "b"

# Every command there is. What O and T hold is not described further: their data is passed as it is.
COMMANDS: Final = {
    "A": "write TEXT",
    "B": "read TEXT",
    "E": "write SPECIAL",
    "F": "read SPECIAL",
    "G": "write STRING",
    "H": "read STRING",
    "I": "write small DOTS",
    "J": "read small DOTS",
    "O": "bulletin",
    "T": "time-out message",
}
_WITHOUT_LABEL: Final = ("O", "T")

CLEAN_STATUS: Final = 0x40
STATUS_BITS: Final = {
    0x20: "illegal command",
    0x10: "checksum",
    0x08: "overflow",
    0x04: "time-out",
    0x02: "framing",
    0x01: "parity",
}

CLEAR_PRIORITY: Final = b"A0"
CLEAR_ERRORS: Final = b"E4"
SOFT_RESET: Final = b"E,"
READ_STATUS: Final = b"F*"
READ_MEMORY: Final = b"F$"
READ_RUN_SEQUENCE: Final = b"F."

_SEGMENT: Final = b"\x1b" + (MIDDLE_LINE + HOLD).encode("ascii")
_MODE: Final = re.compile(rb"\x1b..", re.DOTALL)
_ERASE_MEMORY: Final = b"E$"
_PRINTABLE: Final = frozenset(range(0x20, 0x7F))
_STRING_BYTES: Final = _PRINTABLE | {0x09, 0x0D, 0x11, 0x12, 0x13, *range(0x15, 0x1B), 0x1C, 0x1E}
_PRIORITY_BYTES: Final = _STRING_BYTES | {0x07}
_TEXT_BYTES: Final = _PRIORITY_BYTES | {CALL_STRING[0]}


class BadFrame(ValueError):
    """A frame that is not one; the text says why."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """One record of the memory map. ``kind`` is A (TEXT), B (STRING) or D (DOTS).

    ``size`` is in bytes, 1 to FFFF; ``tail`` the record's last four characters: run times of a TEXT
    (``FF00`` always), ``0000`` for a STRING. ``locked`` keeps the infrared keyboard out.
    """

    label: str
    kind: str
    size: int
    locked: bool = False
    tail: str = "0000"

    def encode(self) -> bytes:
        """The record's 11 bytes. Raises ValueError outside the ranges above."""
        if self.kind not in ("A", "B", "D") or not 1 <= self.size <= 0xFFFF or len(self.tail) != 4:
            raise ValueError(f"not an allocation: {self}")
        lock = "L" if self.locked else "U"
        return _label(self.label) + f"{self.kind}{lock}{self.size:04X}{self.tail}".encode("ascii")

    @classmethod
    def decode(cls, record: bytes) -> Allocation:
        """The allocation of 11 bytes. Raises BadFrame."""
        try:
            text = record.decode("ascii")
            found = cls(text[0], text[1], int(text[3:7], 16), text[2] == "L", text[7:])
            if found.encode() != record[:3] + record[3:].upper():
                raise BadFrame("memory record")
        except (ValueError, IndexError):
            raise BadFrame("memory record") from None
        return found


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its letter in :data:`COMMANDS`, the label of a file or (E, F) the function, and data."""

    code: str
    label: str = ""
    data: bytes = b""

    def encode(self) -> bytes:
        """The command's bytes. Raises ValueError for one that there is not, and for an empty memory map."""
        if self.code not in COMMANDS or (self.code in _WITHOUT_LABEL) is bool(self.label):
            raise ValueError(f"not a command: {self.code!r} {self.label!r}")
        return _sendable(self.code.encode("ascii") + (_label(self.label) if self.label else b"") + self.data)

    @classmethod
    def decode(cls, command: bytes) -> Command:
        """The command of these bytes. Raises BadFrame."""
        code, label = command[:1].decode("ascii", "replace"), command[1:2].decode("ascii", "replace")
        if code not in COMMANDS or (code not in _WITHOUT_LABEL and not label):
            raise BadFrame("no such command")
        return cls(code, "", command[1:]) if code in _WITHOUT_LABEL else cls(code, label, command[2:])


@dataclass(frozen=True, slots=True)
class Frame:
    """What lay between ``01`` and ``04``. ``checked`` is True when every command carried its checksum."""

    sign_type: str
    address: str
    commands: tuple[bytes, ...]
    checked: bool


# --- encoding ----------------------------------------------------------------------------


def header(sign_type: str = "Z", address: str = "00") -> bytes:
    """Everything up to and including ``02``; 100 ms belong after it. ``address`` 00 means all.

    Raises ValueError unless the type is one printable character and the address two hex digits.
    """
    if len(sign_type) != 1 or ord(sign_type) not in _PRINTABLE:
        raise ValueError(f"not a sign type: {sign_type!r}")
    if len(address) != 2 or any(digit not in "0123456789ABCDEF" for digit in address):
        raise ValueError(f"not an address: {address!r} (two hexadecimal digits)")
    return bytes(5) + SOH + (sign_type + address).encode("ascii") + STX


def checksum(command: bytes) -> bytes:
    """The 16-bit sum of every byte from ``02`` through ``03`` as four upper-case hex digits."""
    return b"%04X" % (sum(STX + command + ETX) & 0xFFFF)


def ending(command: bytes) -> bytes:
    """The rest of a frame after :func:`header`: the command, its checksum, ``04``.

    Clearing the priority text goes without a checksum, as recorded from a real sign. Raises
    ValueError for a memory map without records, which would erase the sign, and for bytes that frame or
    are not 7 bits.
    """
    return _summed(command) + EOT


def nested(commands: Sequence[bytes], sign_type: str = "Z", address: str = "00") -> tuple[bytes, ...]:
    """Several commands in one frame, in pieces: 100 ms belong after each piece but the last, because it
    ends with ``02``. Raises ValueError as :func:`header` and :func:`ending` do, and for no command."""
    if not commands:
        raise ValueError("a frame holds at least one command")
    *before, last = map(_summed, commands)
    return header(sign_type, address), *(command + STX for command in before), last + EOT


def _summed(command: bytes) -> bytes:
    _sendable(command)
    return command if command == CLEAR_PRIORITY else command + ETX + checksum(command)


def _sendable(command: bytes) -> bytes:
    """Every command that leaves here came through this. A map that a sign might read as an empty one
    is refused too: each of its records must be one."""
    if not command or max(command) >= 0x80 or any(mark in command for mark in (b"\0", SOH, STX, ETX, EOT)):
        raise ValueError("a command holds only 7-bit bytes, at least one, and none that frames it")
    if command.startswith(_ERASE_MEMORY) and not parse_memory(command[2:]):
        raise ValueError("an empty memory map erases the sign")
    return command


def memory_map(allocations: Sequence[Allocation]) -> bytes:
    """``E$`` and its records: allocates memory, and forgets what was there. Raises ValueError when empty."""
    if not allocations:
        raise ValueError("an empty memory map erases the sign")
    return _ERASE_MEMORY + b"".join(allocation.encode() for allocation in allocations)


def text_data(text: str, *, position: str = MIDDLE_LINE, mode: str = HOLD, priority: bool = False) -> bytes:
    """A TEXT's content: ``1B`` position mode, then the text. Raises ValueError for a byte it may not hold.

    A priority text may not call a STRING and is at most 125 bytes, all included.
    """
    data = b"\x1b" + (position + mode).encode("ascii")
    data += _legal(text, _PRIORITY_BYTES if priority else _TEXT_BYTES)
    if priority and len(data) > LONGEST_STRING:
        raise ValueError(f"a priority text is at most {LONGEST_STRING} bytes, not {len(data)}")
    return data


def pages_data(label: str, pages: Sequence[str], size: int) -> bytes:
    """A TEXT shown page by page: the STRING ``label``, then ``pages``, each a segment with its own mode.

    Raises ValueError over ``size`` bytes, all included, and for a byte that a page may not hold. Only the
    first page calls a STRING: the others show what they say.
    """
    data = text_data(CALL_STRING.decode() + label)
    data += b"".join(_SEGMENT + _legal(page, _PRIORITY_BYTES) for page in pages)
    if len(data) > size:
        raise ValueError(f"the pages take {len(data)} bytes, and the sign has {size}")
    return data


def split_pages(data: bytes) -> list[bytes]:
    """The pages of a TEXT without their modes; text before the first mode is a page too."""
    before, *pages = _MODE.split(data)
    return [before, *pages] if before else pages


def string_data(text: str, size: int = LONGEST_STRING) -> bytes:
    """A STRING's content, at most ``size`` bytes. Raises ValueError for a byte it may not hold."""
    data = _legal(text, _STRING_BYTES)
    if len(data) > min(size, LONGEST_STRING):
        raise ValueError(f"a string is at most {min(size, LONGEST_STRING)} bytes, not {len(data)}")
    return data


def write_text(label: str, data: bytes) -> bytes:
    """``A`` label data; no data in label 0 ends the priority text."""
    return b"A" + _label(label) + data


def write_string(label: str, data: bytes) -> bytes:
    """``G`` label data: changes what a TEXT calls without blanking the display."""
    return b"G" + _label(label) + data


def run_sequence(labels: str) -> bytes:
    """``E.TU`` labels: the TEXT files shown, by their own times, unlocked. Raises ValueError when empty."""
    if not labels:
        raise ValueError("a run sequence names at least one TEXT")
    return b"E.TU" + b"".join(map(_label, labels))


def parse_run_sequence(data: bytes) -> str:
    """The labels in the data of ``E.``, after run time and lock. Raises BadFrame."""
    if len(data) < 2 or max(data) >= 0x80:
        raise BadFrame("run sequence")
    return data[2:].decode("ascii")


def write_dots(label: str, rows: Sequence[str]) -> bytes:
    """``I`` label, height and width in hex, then every row and ``0D``: a picture for small DOTS.

    A character is a dot: ``0`` dark, ``1`` to ``8`` a colour. At most 31 rows of 255. No recorded picture
    has confirmed this layout. Raises ValueError.
    """
    width = len(rows[0]) if rows else 0
    even = all(len(row) == width and set(row) <= set("012345678") for row in rows)
    if not (0 < len(rows) <= 0x1F and 0 < width <= 0xFF and even):
        raise ValueError("a picture has 1 to 31 even rows of 1 to 255 dots from 0 to 8")
    picture = "".join(row + "\r" for row in rows)
    return b"I" + _label(label) + f"{len(rows):02X}{width:02X}{picture}".encode("ascii")


def parse_dots(data: bytes) -> tuple[str, ...]:
    """The rows of a picture, from its height on. Raises BadFrame."""
    rows = tuple(row.decode("ascii", "replace") for row in data[4:].split(b"\r")[:-1])
    try:
        again = write_dots("A", rows)
    except ValueError:
        raise BadFrame("picture") from None
    if again[2:] != data:
        raise BadFrame("picture")
    return rows


def read_text(label: str) -> bytes:
    """``B`` label: asks for a TEXT; the answer is written ``A`` label data."""
    return b"B" + _label(label)


def read_string(label: str) -> bytes:
    """``H`` label: asks for a STRING; the answer is written ``G`` label data."""
    return b"H" + _label(label)


def read_dots(label: str) -> bytes:
    """``J`` label: asks for a picture; the answer is written ``I`` label data."""
    return b"J" + _label(label)


def is_read(command: bytes) -> bool:
    """Whether the sign answers this command."""
    return command[:1] in (b"B", b"F", b"H", b"J")


def answer_prefix(read: bytes) -> bytes:
    """How the answer to a read begins: with the matching write command, one letter earlier."""
    return bytes([read[0] - 1]) + read[1:]


def status_of(data: bytes) -> int | None:
    """The error status in an answer to ``F*``: one byte, or (taken too) two hex digits. None if neither."""
    if len(data) == 1:
        return data[0]
    try:
        return int(data.decode("ascii"), 16) if len(data) == 2 else None
    except ValueError:
        return None


def status_names(status: int) -> list[str]:
    """The errors that are set in a status, worst first."""
    return [name for bit, name in STATUS_BITS.items() if status & bit]


def _label(label: str) -> bytes:
    if len(label) != 1 or ord(label) not in _PRINTABLE:
        raise ValueError(f"not a label: {label!r}")
    return label.encode("ascii")


def _legal(text: str, allowed: frozenset[int]) -> bytes:
    bad = sorted({character for character in text if ord(character) not in allowed})
    if bad:
        raise ValueError(f"the sign cannot show {', '.join(map(repr, bad))}")
    return text.encode("ascii")


# --- decoding ----------------------------------------------------------------------------


def parse_frame(content: bytes) -> Frame:
    """The frame whose bytes between ``01`` and ``04`` are ``content``. Raises BadFrame."""
    if any(byte >= 0x80 for byte in content):
        raise BadFrame("byte over 7F")
    if len(content) < 4 or content[3:4] != STX:
        raise BadFrame("header")
    parts = content[4:].split(STX)
    commands = tuple(_checked(part) for part in parts)
    kind, address = content[:1].decode("ascii"), content[1:3].decode("ascii")
    return Frame(kind, address, commands, all(ETX in part for part in parts))


def _checked(part: bytes) -> bytes:
    command, mark, digits = part.partition(ETX)
    if not command:
        raise BadFrame("empty command")
    if mark and digits != checksum(command):
        raise BadFrame("checksum")
    return command


def parse_memory(data: bytes) -> tuple[Allocation, ...]:
    """The memory map in the data of ``E$``. Raises BadFrame."""
    return tuple(Allocation.decode(data[at : at + 11]) for at in range(0, len(data), 11))


class FrameReader:
    """Cuts a stream into frames, in any chunking, in bounded memory; noise between frames is reported."""

    def __init__(self) -> None:
        self._content: bytearray | None = None  # None: between frames
        self._noisy = False

    def feed(self, data: bytes) -> list[Frame | BadFrame]:
        """Frames that became complete, and what was thrown away, in the order of arrival."""
        found: list[Frame | BadFrame] = []
        for byte in data:
            item = self._byte(byte)
            if item is not None:
                found.append(item)
        return found

    def _byte(self, byte: int) -> Frame | BadFrame | None:
        if byte == SOH[0]:
            cut, self._content, self._noisy = self._content, bytearray(), False
            return None if cut is None else BadFrame("cut short")
        if self._content is None:
            return self._noise(byte)
        if byte == EOT[0]:
            content, self._content = bytes(self._content), None
            return _parsed(content)
        self._content.append(byte)
        if len(self._content) > LONGEST_FRAME:
            self._content = None
            return BadFrame("too long")
        return None

    def _noise(self, byte: int) -> BadFrame | None:
        # One report for a run of noise: a report a byte would flood whoever counts them.
        first = byte != 0 and not self._noisy
        self._noisy = self._noisy or byte != 0
        return BadFrame("noise") if first else None


def _parsed(content: bytes) -> Frame | BadFrame:
    try:
        return parse_frame(content)
    except BadFrame as bad:
        return bad
