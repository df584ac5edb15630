"""What decoding costs: FDP/1 in large reads, and each driver on its device's own traffic, frame by frame."""

from __future__ import annotations

import os
from random import Random

from cobs import cobs
from fastcrc import crc16

from daemon import registry
from drivers import fdp
from drivers.base import MILLISECOND, SECOND
from drivers.cards import DECK, FaceDownCard
from drivers.framing import Deframer
from drivers.protocol import DeviceProtocol
from tests.contract.conformance import driver_of, recording
from tests.perf.measure import Row, rates

BATCH = 2000  # frames
ROUNDS = 11
READ = 4096  # bytes


class Pipe:
    """Bytes that were written and are read again, one frame a call, as from a descriptor of a link."""

    def __init__(self, frames: list[bytes]) -> None:
        self._frames = (frames * (BATCH // len(frames) + 1))[:BATCH]
        self._out, self._in = os.pipe()

    def reads(self) -> list[bytes]:
        return [self._passed(frame) for frame in self._frames]

    def decoded(self, speaks: DeviceProtocol) -> int:
        """Read, and understood by a driver of this protocol."""
        driver, now = driver_of(speaks), SECOND
        driver.opened(now)
        for frame in self._frames:
            now += MILLISECOND
            driver.received(self._passed(frame), now)
        return len(self._frames)

    def close(self) -> None:
        os.close(self._in)
        os.close(self._out)

    def _passed(self, frame: bytes) -> bytes:
        os.write(self._in, frame)
        return os.read(self._out, 65536)


def _row(speaks: DeviceProtocol, frames: list[bytes]) -> Row:
    pipe = Pipe(frames)
    try:
        what = f"frames of {speaks.role} {speaks.name}, decoded"
        size = sum(map(len, frames)) / len(frames)
        beside = f"bare reads of {size:.0f} bytes"
        return rates(what, beside, "/s", lambda: pipe.decoded(speaks), lambda: len(pipe.reads()), ROUNDS)
    finally:
        pipe.close()


def _traffic() -> list[bytes]:
    """Card events of a shoe, cut into reads of 4 KiB."""
    dice = Random(1)
    drawn = [fdp.CardOut(n + 1, FaceDownCard(dice.choice(DECK))) for n in range(BATCH)]
    stream = b"".join(fdp.encode(card, n % 256) for n, card in enumerate(drawn))
    return [stream[at : at + READ] for at in range(0, len(stream), READ)]


def _large_reads() -> list[Row]:
    reads = _traffic()
    whole = b"".join(reads)

    def deframed() -> int:
        cutter = Deframer()
        return sum(len(cutter.feed(read)) for read in reads)

    def understood() -> int:
        cutter, count = Deframer(), 0
        for read in reads:
            for body in cutter.feed(read):
                fdp.decode(body)
                count += 1
        return count

    def bare() -> int:
        count = 0
        for piece in whole.split(b"\0"):
            if piece:
                body = cobs.decode(piece)
                count += crc16.kermit(body[:-2]) == int.from_bytes(body[-2:], "little")
        return count

    assert deframed() == bare() == BATCH
    beside = "split, cobs.decode, fastcrc"
    return [
        rates("FDP/1 frames cut out of 4 KiB reads", beside, "/s", deframed, bare, ROUNDS),
        rates("FDP/1 decoded from 4 KiB reads", beside, "/s", understood, bare, ROUNDS),
    ]


def measure() -> list[Row]:
    protocols = [registry.protocol(*key) for key in registry.known()]
    heard = [(speaks, [frame for frame in recording(speaks) if frame]) for speaks in protocols]
    return _large_reads() + [_row(speaks, frames) for speaks, frames in heard if frames]
