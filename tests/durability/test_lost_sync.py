"""A part of the power cuts (all of them: ``make lost-sync``), and proof that they can lose something."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from random import Random

import pytest

from tests.durability.power import Disk, File, cut
from tests.durability.recorder import Op, Point
from tests.durability.scripts import SCRIPTS
from tests.durability.sweep import Bench

Benches = Callable[..., Bench]
ALL = pytest.mark.parametrize("script", sorted(SCRIPTS))


def cuts(bench: Bench, number: int) -> list[int]:
    return Random(number).choices(range(len(bench.undisturbed.points) + 1), k=number)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    return tmp_path


@ALL
def test_a_power_cut_loses_nothing_that_was_acknowledged(script: str, benches: Benches, images: Path) -> None:
    bench = benches(script)
    losses = cut(bench.script, bench.undisturbed.disk, bench.undisturbed.points, cuts(bench, 15), images)
    assert losses.images == 30
    assert losses.acknowledged > 100
    assert losses.violations == {}


def test_with_synchronous_normal_it_does(benches: Benches, images: Path) -> None:
    bench = benches("caribbean-shoe", "normal")
    losses = cut(bench.script, bench.undisturbed.disk, bench.undisturbed.points, cuts(bench, 10), images)
    assert len(losses.violations) > 5


@ALL
def test_the_log_misses_no_byte(script: str, benches: Benches, tmp_path: Path) -> None:
    """Everything applied is the folder as the daemon left it, so no write went past the recorder."""
    played = benches(script).undisturbed
    disk = deepcopy(played.disk)
    for point in played.points:
        disk.apply(point)
    disk.image(tmp_path, 1.0, Random(1))
    there = {path.name: path.read_bytes() for path in played.folder.iterdir()}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == there


# --- the model of the disk ---------------------------------------------------------------------------


def write(offset: int, data: bytes) -> Point:
    return Point(Op.WRITE, "", 1, offset, data)


def test_only_what_was_synced_is_sure() -> None:
    file = File(bytearray(b"old"), [write(0, b"NEW")])
    assert file.image(0.0, 512, Random(1)) == b"old"
    assert file.image(1.0, 512, Random(1)) == b"NEW"
    file.sync()
    assert file.image(0.0, 512, Random(1)) == b"NEW"


def test_a_write_is_torn_between_sectors() -> None:
    file = File(bytearray(2048), [write(0, b"x" * 2048)])
    seen = {file.image(0.5, 512, Random(seed))[::512] for seed in range(40)}
    assert len(seen) > 8
    assert all(set(image) <= {0, ord("x")} for image in seen)


def test_a_gap_is_zeros_and_a_truncation_is_not_sure_either() -> None:
    file = File(bytearray(b"abc"), [write(5, b"z"), Point(Op.TRUNCATE, "", 1, 1, b"")])
    assert file.image(1.0, 512, Random(1)) == b"a"
    assert file.image(0.0, 512, Random(1)) == b"abc"
    file.pending.pop()
    assert file.image(1.0, 512, Random(1)) == b"abc\0\0z"


def test_a_new_name_lasts_from_the_sync_of_its_folder(tmp_path: Path) -> None:
    folder, images = tmp_path / "folder", tmp_path / "images"
    for made in (folder, images):
        made.mkdir()
    disk, inode = Disk(folder), folder.stat().st_ino
    disk.apply(Point(Op.CREATE, str(folder / "new"), 7, 0, b""))
    disk.apply(Point(Op.WRITE, str(folder / "new"), 7, 0, b"text"))
    disk.apply(Point(Op.SYNC, str(folder / "new"), 7, 0, b""))
    disk.image(images, 0.0, Random(1))
    assert list(images.iterdir()) == []
    disk.apply(Point(Op.SYNC, str(folder), inode, 0, b""))
    disk.apply(Point(Op.RENAME, f"{folder / 'new'}\0{folder / 'name'}\0", 7, 0, b""))
    disk.image(images, 0.0, Random(1))
    assert (images / "new").read_bytes() == b"text"
    disk.apply(Point(Op.SYNC, str(folder), inode, 0, b""))
    (images / "new").unlink()
    disk.image(images, 0.0, Random(1))
    assert {path.name: path.read_bytes() for path in images.iterdir()} == {"name": b"text"}
