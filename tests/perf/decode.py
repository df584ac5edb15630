"""What each driver decodes of its device's own traffic, beside a bare read loop on the same bytes."""

from __future__ import annotations

import os

from daemon import registry
from drivers.base import MILLISECOND, SECOND
from drivers.protocol import DeviceProtocol
from tests.contract.conformance import driver_of, recording
from tests.perf.measure import Row, rates

BATCH = 2000  # frames
ROUNDS = 11


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


def measure() -> list[Row]:
    protocols = [registry.protocol(*key) for key in registry.known()]
    heard = [(speaks, [frame for frame in recording(speaks) if frame]) for speaks in protocols]
    return [_row(speaks, frames) for speaks, frames in heard if frames]
