"""Frames of the SAS progressive broadcast (protocols.md section 6): bytes only, no timing.

Every broadcast begins with address 00 and ends with CRC-16/KERMIT, low byte first. Amounts are
minor units in packed BCD, the most significant digits first. See ``docs/protocols/sas_progressive.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fastcrc import crc16

EVERYONE: Final = 0x00
SINGLE: Final = 0x80  # one level
MULTI: Final = 0x86  # several levels
CONTRIBUTION: Final = 0x7A  # several levels, each with its base amount and contribution

AMOUNT_BYTES: Final = 5
CONTRIBUTION_BYTES: Final = 3
MOST: Final = 10 ** (2 * AMOUNT_BYTES) - 1  # minor units
LONGEST: Final = 3 + 0xFF + 2  # bytes of a frame

_SINGLE_SIZE: Final = 11
_LEVEL_SIZE: Final = {MULTI: 1 + AMOUNT_BYTES, CONTRIBUTION: 1 + 2 * AMOUNT_BYTES + CONTRIBUTION_BYTES}


class BadFrame(ValueError):
    """A frame that is not one; the text says why."""


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a progressive: ``number`` 1 to 255, ``amount`` and ``base`` in minor units (at most
    :data:`MOST`), ``contribution`` the six digits of the frame as a number. The last two go with 7A only."""

    number: int
    amount: int
    base: int = 0
    contribution: int = 0


@dataclass(frozen=True, slots=True)
class Broadcast:
    """What one frame says: ``command`` 80, 86 or 7A, ``group`` 1 to 255, and its levels."""

    command: int
    group: int
    levels: tuple[Level, ...]

    def encode(self) -> bytes:
        """The frame. Raises ValueError for a number out of range or a wrong count of levels."""
        body = bytes([EVERYONE, self.command]) + self._content()
        return body + checksum(body)

    def _content(self) -> bytes:
        group = _byte(self.group, "group")
        if self.command == SINGLE and len(self.levels) == 1:
            return group + self._level(self.levels[0])
        if self.command not in _LEVEL_SIZE or not self.levels:
            raise ValueError(f"no broadcast {self.command:02X} with {len(self.levels)} levels")
        content = group + b"".join(map(self._level, self.levels))
        return _byte(len(content), "length") + content

    def _level(self, level: Level) -> bytes:
        data = _byte(level.number, "level") + bcd(level.amount, AMOUNT_BYTES)
        if self.command == CONTRIBUTION:
            data += bcd(level.base, AMOUNT_BYTES) + bcd(level.contribution, CONTRIBUTION_BYTES)
        return data


def checksum(body: bytes) -> bytes:
    """CRC-16/KERMIT over the address and everything after it, low byte first."""
    return int(crc16.kermit(body)).to_bytes(2, "little")


def bcd(number: int, size: int) -> bytes:
    """``number`` in ``size`` bytes of two decimal digits each. Raises ValueError when it does not fit."""
    if not 0 <= number < 10 ** (2 * size):
        raise ValueError(f"{number} does not fit in {2 * size} digits")
    return bytes.fromhex(f"{number:0{2 * size}d}")


def from_bcd(data: bytes) -> int:
    """The number of packed BCD. Raises BadFrame for a digit over 9."""
    digits = data.hex()
    if not digits.isdecimal():
        raise BadFrame("digit over 9")
    return int(digits)


def decode(frame: bytes) -> Broadcast:
    """The broadcast of one whole frame. Raises BadFrame."""
    size = size_of(frame[:3])
    if size is None or len(frame) != size:
        raise BadFrame("length")
    if checksum(frame[:-2]) != frame[-2:]:
        raise BadFrame("checksum")
    command = frame[1]
    if command == SINGLE:
        return Broadcast(command, frame[2], (_level(frame[3:-2]),))
    step = _LEVEL_SIZE[command]
    levels = tuple(_level(frame[at : at + step]) for at in range(4, size - 2, step))
    return Broadcast(command, frame[3], levels)


def size_of(start: bytes) -> int | None:
    """The size of a frame in bytes after its first three; None when they begin none."""
    if len(start) < 3 or start[0] != EVERYONE:
        return None
    if start[1] == SINGLE:
        return _SINGLE_SIZE
    step = _LEVEL_SIZE.get(start[1])
    if step is None or start[2] <= step or (start[2] - 1) % step:
        return None
    return 3 + start[2] + 2


def _level(data: bytes) -> Level:
    amount, base = data[1 : 1 + AMOUNT_BYTES], data[1 + AMOUNT_BYTES : 1 + 2 * AMOUNT_BYTES]
    contribution = data[1 + 2 * AMOUNT_BYTES :]
    return Level(data[0], from_bcd(amount), from_bcd(base or b"\0"), from_bcd(contribution or b"\0"))


def _byte(number: int, name: str) -> bytes:
    if not 1 <= number <= 0xFF:
        raise ValueError(f"{name} is 1 to 255, not {number}")
    return bytes([number])


class BroadcastReader:
    """Finds broadcasts in a stream without a wake-up bit, in any chunking, in bounded memory.

    A frame that fails its CRC gives up one byte, not its length: that may be the byte that was hit.
    """

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[Broadcast | BadFrame]:
        """Broadcasts that became complete, and what was thrown away, in the order of arrival."""
        self._held += data
        found: list[Broadcast | BadFrame] = []
        while len(self._held) >= 3:
            size = size_of(bytes(self._held[:3]))
            if size is None:
                del self._held[0]
                continue
            if len(self._held) < size:
                break
            try:
                found.append(decode(bytes(self._held[:size])))
                del self._held[:size]
            except BadFrame as bad:
                found.append(bad)
                del self._held[0]
        return found
