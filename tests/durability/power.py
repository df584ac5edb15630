"""Power loss: what a disk has when everything that was not synced is gone, or any part of it.

From the log of the recorder a :class:`Disk` knows at every point what each file and folder held
at its last sync, and what was written since. An image of it is what a power loss at that point may
leave behind: a write is there or not, as whole sectors, in any order; names are those of the
folder's last sync, and of some that were changed after it, in their order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from drivers import fdp
from drivers.base import SECOND
from drivers.framing import Deframer
from drivers.sign.sim_alpha import AlphaSim
from tests.durability.oracle import Told, of_image
from tests.durability.recorder import Op, Point
from tests.durability.scripts import Script

SECTORS: Final = (512, 4096)
CHANCES: Final = (0.0, 0.1, 0.5, 0.9, 1.0)  # that a sector which was not synced is on the disk all the same


@dataclass(slots=True)
class File:
    """The content of a file: as it was synced, and the writes and truncations since."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Point] = field(default_factory=list)

    def sync(self) -> None:
        for point in self.pending:
            _apply(self.durable, point)
        self.pending.clear()

    def image(self, chance: float, sector: int, random: Random) -> bytes:
        """What a power loss may leave of it."""
        content = bytearray(self.durable)
        for point in self.pending:
            if point.op is Op.TRUNCATE:
                if random.random() < chance:
                    _apply(content, point)
                continue
            for start in range(0, len(point.data), sector):
                if random.random() < chance:
                    data = point.data[start : start + sector]
                    _apply(content, point._replace(offset=point.offset + start, data=data))
        return bytes(content)


def _apply(content: bytearray, point: Point) -> None:
    if point.op is Op.TRUNCATE:
        del content[point.offset :]
        content.extend(bytes(point.offset - len(content)))
        return
    content.extend(bytes(max(0, point.offset + len(point.data) - len(content))))
    content[point.offset : point.offset + len(point.data)] = point.data


class Disk:
    """One folder and its files. Begins as ``folder`` is now, all of it durable."""

    def __init__(self, folder: Path) -> None:
        self._inode = folder.stat().st_ino
        self._files: dict[int, File] = {}  # under the numbers by which the recorder knows them
        self._names: dict[str, File] = {}
        self._renamed: list[tuple[str, File | None]] = []  # not synced: a name, and what it means now
        for path in folder.iterdir():
            self._names[path.name] = self._files[path.stat().st_ino] = File(bytearray(path.read_bytes()))

    def apply(self, point: Point) -> None:
        """One more point has passed. Raises ValueError for one that this model does not know."""
        match point.op:
            case Op.WRITE | Op.TRUNCATE:
                self._files[point.inode].pending.append(point)
            case Op.SYNC if point.inode == self._inode:
                self._names = self._now()
                self._renamed.clear()
            case Op.SYNC:
                self._files[point.inode].sync()
            case Op.CREATE:
                self._files[point.inode] = File()
                self._renamed.append((Path(point.path).name, self._files[point.inode]))
            case Op.UNLINK:
                self._renamed.append((Path(point.path).name, None))
            case Op.RENAME:
                old, new = (Path(path).name for path in point.path.split("\0")[:2])
                self._renamed += [(new, self._now()[old]), (old, None)]
            case Op.SEND:
                pass
            case _:
                raise ValueError(f"no image can be cut after {point.op.name} of {point.path}")

    def _now(self) -> dict[str, File]:
        return self._as_of(len(self._renamed))

    def _as_of(self, changes: int) -> dict[str, File]:
        """The folder with so many of its changes that were not synced."""
        names = dict(self._names)
        for name, file in self._renamed[:changes]:
            if file is None:
                names.pop(name, None)
            else:
                names[name] = file
        return names

    def image(self, folder: Path, chance: float, random: Random) -> None:
        """Write into ``folder`` what a power loss now may leave; ``chance`` 0: only what was synced."""
        changes = random.randint(0, len(self._renamed)) if chance else 0
        if chance == 1:
            changes = len(self._renamed)
        sector = random.choice(SECTORS)
        for name, file in self._as_of(changes).items():
            path = folder / name
            path.write_bytes(file.image(chance, sector, random))
            path.chmod(0o600)


class Listener:
    """What the outside was told, from what was sent to it."""

    def __init__(self, script: Script) -> None:
        self._source = script.mode
        self._frames = Deframer()
        self._sign = AlphaSim(strict_pacing=False)
        self._now = 0
        self._acts: dict[str, dict[str, object]] = {}
        self._acknowledged = 0
        self._shown: list[int] = []

    def hear(self, point: Point) -> None:
        name = Path(point.path).name
        if name == "operator":
            told = json.loads(point.data)
            if told["answer"] is not None:
                self._acts[told["key"]] = told["answer"]
        elif name == self._source:
            self._hear_frames(point.data)
        elif name == "sign":
            self._hear_sign(point.data)

    def _hear_frames(self, data: bytes) -> None:
        for piece in self._frames.feed(data):
            if isinstance(piece, bytes):
                frame = fdp.decode(piece)
                if isinstance(frame, fdp.Ack):
                    self._acknowledged = frame.event

    def _hear_sign(self, data: bytes) -> None:
        self._now += SECOND // 2
        self._sign.received(data, self._now)
        amount = self._sign.control({"do": "state"}, self._now)[0]["amount"]
        if isinstance(amount, int) and self._shown[-1:] != [amount]:
            self._shown.append(amount)

    def told(self) -> Told:
        return Told(dict(self._acts), {self._source: self._acknowledged}, list(self._shown))


@dataclass(slots=True)
class Losses:
    """What :func:`cut` found."""

    images: int = 0
    acknowledged: int = 0  # inputs that had been acknowledged before the cuts, all together
    violations: dict[tuple[int, float], list[str]] = field(default_factory=dict)


def cut(
    script: Script, disk: Disk, points: Sequence[Point], cuts: Iterable[int], folder: Path, seed: int = 1
) -> Losses:
    """Cut the power after each of ``cuts`` (how many of the ``points`` have passed), twice: an image of
    what was synced, and one with a part of the rest. Each must start, with all that was acknowledged.

    ``disk`` is as it was before the first of the points, and is left so.
    """
    disk = deepcopy(disk)
    losses, random, listener = Losses(), Random(seed), Listener(script)
    wanted, passed = sorted(cuts), 0
    for number, at in enumerate(wanted):
        for point in points[passed:at]:
            disk.apply(point)
            if point.op is Op.SEND:
                listener.hear(point)
        passed = at
        told = listener.told()
        losses.acknowledged += len(told.acts) + sum(told.events.values())
        for chance in (0.0, random.choice(CHANCES[1:])):
            place = folder / f"image-{number}-{chance}"
            place.mkdir()
            disk.image(place, chance, random)
            found = of_image(script.settings(place), told)
            losses.images += 1
            if found:
                losses.violations[at, chance] = found
            for path in place.iterdir():
                path.unlink()
            place.rmdir()
    return losses
