"""Everything that takes bytes from outside, each in a form that can be fed, and its valid traffic."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Final

from daemon import recording, registry
from drivers import fdp
from drivers.base import MILLISECOND, SECOND, Driver, Simulator
from drivers.framing import Deframer
from drivers.protocol import DeviceProtocol
from drivers.sign.alpha_frames import FrameReader
from tests.contract.conformance import Simulated, device_of, driver_of, played

KIB: Final = 1024
# A device remembers what the tests ask it for: 65,536 command ids, 10,000 texts of a sign.
SIMULATOR_LIMIT: Final = 24 * KIB * KIB
LIMIT: Final = 256 * KIB
_SHARED: Final = (type, ModuleType, FunctionType, BuiltinFunctionType, CodeType, FrameType, DeviceProtocol)
RECORDS: Final = Path(__file__).parents[1] / "records"


@dataclass(frozen=True)
class Decoder:
    """``make`` gives something new to feed (and to weigh); ``valid`` is traffic that it understands.

    ``limit`` is in bytes: what one of them may hold more than at its beginning, whatever it was fed.
    """

    name: str
    make: Callable[[], Fed]
    valid: tuple[bytes, ...]
    limit: int = LIMIT


class Fed:
    """Something that takes bytes. What it raises is a defect."""

    def __init__(self, root: object, feed: Callable[[bytes], object]) -> None:
        self.root, self.feed = root, feed


def held(root: object) -> int:
    """Bytes of everything that hangs on ``root``: classes, functions and modules left out."""
    seen: set[int] = set()
    todo, size = [root], 0
    while todo:
        each = todo.pop()
        if id(each) not in seen and not isinstance(each, _SHARED):
            seen.add(id(each))
            size += sys.getsizeof(each)
            todo += gc.get_referents(each)
    return size


class DriverUnderFire:
    """A driver's whole life: time passes, it is ticked when it is due, commits, and is opened again."""

    def __init__(self, speaks: DeviceProtocol) -> None:
        self.driver: Driver = driver_of(speaks)
        self._dice = Random(speaks.name)
        self._now = SECOND
        self.driver.opened(self._now)

    def feed(self, data: bytes) -> None:
        self._now += self._dice.choice((0, MILLISECOND, 100 * MILLISECOND))
        self.driver.received(data, self._now)
        due = self.driver.deadline
        if due is not None and due <= self._now:
            self.driver.tick(self._now)
        if self._dice.random() < 0.2:
            self.driver.committed(self._now)
        if self._dice.random() < 0.001:
            self.driver.closed(self._now)
            self.driver.opened(self._now)


class SimulatorUnderFire:
    """The same for a simulated device."""

    def __init__(self, speaks: DeviceProtocol) -> None:
        self.device: Simulator = device_of(speaks)
        self._dice = Random(speaks.name)
        self._now = SECOND
        self.device.opened(self._now)

    def feed(self, data: bytes) -> None:
        self._now += self._dice.choice((0, MILLISECOND, 100 * MILLISECOND))
        self.device.received(data, self._now)
        due = self.device.deadline
        if due is not None and due <= self._now:
            self.device.tick(self._now)


def _fed(made: DriverUnderFire | SimulatorUnderFire) -> Fed:
    return Fed(made, made.feed)


def _deframer() -> Fed:
    deframer = Deframer()
    return Fed(deframer, deframer.feed)


def _frame_reader() -> Fed:
    reader = FrameReader()
    return Fed(reader, reader.feed)


def _fdp_decode() -> Fed:
    def feed(data: bytes) -> None:
        try:
            if len(data) >= 3:
                fdp.encode(fdp.decode(data), 0)  # and what was decoded can be said again
        except fdp.BadFrame:
            pass

    return Fed(None, feed)


def _recording() -> Fed:
    path = Path("/dev/shm") / f"feltd-fuzz-{id(object())}.rec"

    def feed(data: bytes) -> None:
        path.write_bytes(data)
        try:
            recording.read(path)
        except recording.RecordingError:
            pass
        finally:
            path.unlink()

    return Fed(None, feed)


def _recordings() -> tuple[bytes, ...]:
    heads = (path.read_bytes().splitlines(keepends=True)[:5] for path in sorted(RECORDS.glob("*.rec")))
    return tuple(b"".join(lines) for lines in heads)


@cache
def _traffic(key: tuple[str, str]) -> Simulated:
    return played(registry.protocol(*key))


def _unique(reads: list[bytes]) -> tuple[bytes, ...]:
    return tuple(dict.fromkeys(read for read in reads if read))[:200] or (b"\0",)


def _of_protocol(key: tuple[str, str]) -> list[Decoder]:
    speaks, bench = registry.protocol(*key), _traffic(key)
    name = "-".join(key)
    decoders = [Decoder(name, lambda: _fed(DriverUnderFire(speaks)), _unique(bench.heard))]
    if speaks.simulator:
        asked = _unique(bench.asked)
        make = lambda: _fed(SimulatorUnderFire(speaks))  # noqa: E731
        decoders.append(Decoder(f"{name}-simulator", make, asked, SIMULATOR_LIMIT))
    return decoders


@cache
def decoders() -> dict[str, Decoder]:
    """Every decoder by its name: a protocol that is registered is there."""
    frames, signs = _traffic(("shoe", "fdp")), _traffic(("sign", "alpha"))
    wires = _unique(frames.heard + frames.asked)
    bodies = [body for wire in wires for body in Deframer().feed(wire) if isinstance(body, bytes)]
    found = [
        Decoder("deframer", _deframer, wires),
        Decoder("fdp-decode", _fdp_decode, tuple(bodies)),
        Decoder("alpha-frames", _frame_reader, _unique(signs.heard + signs.asked)),
        Decoder("recording", _recording, _recordings()),
        *(each for key in registry.known() for each in _of_protocol(key)),
    ]
    return {each.name: each for each in found}
