"""Frames of the Felt Device Protocol: ``00 COBS(body crc) 00`` (protocols.md section 1).

The CRC is CRC-16/KERMIT over the body, low byte first. Its start value is zero, so zero bytes
before or after a frame do not change it: what a body means must also check its version and
its exact length.
"""

from __future__ import annotations

from typing import Final

from cobs import cobs  # type: ignore[import-untyped]
from fastcrc import crc16

from drivers.base import Drop

MAX_BODY: Final = 96  # bytes before stuffing, CRC included
MIN_BODY: Final = 5  # version, type, seq, CRC
_MAX_STUFFED: Final = MAX_BODY + 1  # COBS adds one byte to so short a body
LONGEST_FRAME: Final = _MAX_STUFFED + 2  # bytes on the wire, both delimiters included


def encode_frame(body: bytes) -> bytes:
    """The wire bytes of ``body`` (given without its CRC), both delimiters included.

    Raises ValueError when the body with its CRC is longer than 96 bytes.
    """
    if len(body) + 2 > MAX_BODY:
        raise ValueError(f"a body of {len(body)} bytes does not fit a frame")
    stuffed: bytes = cobs.encode(body + crc16.kermit(body).to_bytes(2, "little"))
    return b"\0" + stuffed + b"\0"


class Deframer:
    """Cuts a byte stream into bodies; the same bodies and drops for any chunking.

    Holds at most one frame's worth of undelimited bytes. What exceeds it is dropped once, as
    soon as it is too long, and skipped to the next delimiter.
    """

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending = b""

    def feed(self, data: bytes) -> list[bytes | Drop]:
        """Bodies without CRC, and a :class:`Drop` for each piece that is no frame. Never raises."""
        told = len(self._pending) > _MAX_STUFFED
        pieces = (self._pending + data).split(b"\0")
        rest = pieces.pop()
        self._pending = rest[: _MAX_STUFFED + 1]
        if len(rest) > _MAX_STUFFED:
            pieces.append(rest)  # report it now: its delimiter may never come
        if told:
            del pieces[0]  # it was reported when it grew too long
        return [_unwrap(piece) for piece in pieces if piece]

    def clear(self) -> bool:
        """Forget a half frame; True if there was one that was not reported yet."""
        half = 0 < len(self._pending) <= _MAX_STUFFED
        self._pending = b""
        return half


def _unwrap(piece: bytes) -> bytes | Drop:
    if len(piece) > _MAX_STUFFED:
        return Drop("frame too long")
    try:
        body: bytes = cobs.decode(piece)
    except cobs.DecodeError:
        return Drop("bad stuffing")
    if len(body) < MIN_BODY:
        return Drop("frame too short")
    if crc16.kermit(body):  # over a body and its own CRC, low byte first, it is 0
        return Drop("wrong checksum")
    return body[:-2]
