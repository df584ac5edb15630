"""A part of the kill sweep (all of it: ``make kill-sweep``), and proof that it can fail."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tests.durability.oracle import Autopsy
from tests.durability.recorder import Action, Op, Order, Point
from tests.durability.scripts import SCRIPTS
from tests.durability.sweep import (
    Bench,
    Orders,
    double_kills,
    every_failure,
    every_kill,
    first_start,
    in_turn,
    many_kills,
)
from tests.durability.world import Nursery

Benches = Callable[..., Bench]
ALL = pytest.mark.parametrize("script", sorted(SCRIPTS))
SOME = "caribbean-shoe"


def before(bench: Bench, wanted: Callable[[Point], bool], each: int = 1) -> list[Orders]:
    """A kill before every point that is wanted."""
    numbers = [at for at, point in enumerate(bench.undisturbed.points, 1) if wanted(point)]
    return [(Order(Action.KILL_BEFORE, at),) for at in numbers[::each]]


@ALL
def test_the_round_has_points_of_every_kind(script: str, benches: Benches) -> None:
    points = benches(script).undisturbed.points
    files = {(point.op, Path(point.path).name) for point in points}
    assert {
        (Op.SYNC, "journal.db-wal"),
        (Op.SYNC, "journal.db"),  # a checkpoint
        (Op.SEND, "operator"),
        (Op.SEND, "sign"),
        (Op.SEND, SCRIPTS[script].mode),
    } <= files
    assert Op.OTHER not in {point.op for point in points}


@ALL
def test_an_award_is_paid_in_the_round(script: str, benches: Benches) -> None:
    assert benches(script).undisturbed.ending.awards


@ALL
def test_the_same_points_every_time(script: str, benches: Benches) -> None:
    bench = benches(script)
    world = bench.world()
    world.live()
    world.play()
    world.end()
    assert world.points == len(bench.undisturbed.points)


@ALL
def test_a_kill_before_and_after_a_point(script: str, benches: Benches) -> None:
    bench = benches(script)
    assert in_turn(bench, every_kill(bench, each=53)).violations == {}


@ALL
def test_a_kill_between_a_commit_and_what_it_lets_out(script: str, benches: Benches) -> None:
    bench = benches(script)
    assert in_turn(bench, before(bench, lambda point: point.op is Op.SEND, each=15)).violations == {}


def test_a_kill_while_it_recovers(benches: Benches) -> None:
    bench = benches(SOME)
    assert in_turn(bench, double_kills(bench, deaths=1, each=17)).violations == {}


@ALL
def test_killed_five_times_in_one_round_it_ends_like_an_undisturbed_one(
    script: str, benches: Benches
) -> None:
    bench = benches(script)
    assert in_turn(bench, many_kills(bench, rounds=1)).violations == {}


def test_a_kill_in_the_first_start_is_followed_by_a_start(zygote: Nursery, place: Path) -> None:
    """Nobody has to move a key away on a controller that boots by itself."""
    said = first_start(zygote, SCRIPTS[SOME], place, each=9)
    assert said[""] > 10
    assert set(said) == {""}


# --- calls that fail, and another program's lock ---------------------------------------------------------


def test_a_call_that_fails_and_a_full_disk(benches: Benches) -> None:
    bench = benches(SOME)
    assert in_turn(bench, every_failure(bench, each=61)).violations == {}


def writes_that_move_the_pool(bench: Bench) -> list[int]:
    """The points at which the commits of records begin to be written that change what the sign shows."""
    points, settings = bench.undisturbed.points, bench.script.settings(bench.undisturbed.folder)
    pools = Autopsy(settings).pools()
    moved = [seq for seq in range(1, len(pools)) if pools[seq] != pools[seq - 1]]
    ends = [i for i, point in enumerate(points) if point.path.endswith(".head") and point.op is Op.WRITE]
    return [_first_write(points, next(i for i in ends if int(points[i].data[:18]) >= seq)) for seq in moved]


def _first_write(points: Sequence[Point], at: int) -> int:
    while not _in_log(points[at], Op.SYNC):
        at -= 1
    while _in_log(points[at - 1], Op.WRITE):
        at -= 1
    return at + 1


def _in_log(point: Point, op: Op) -> bool:
    return point.op is op and point.path.endswith("-wal")


def test_j10_a_failed_commit_is_not_shown(benches: Benches) -> None:
    bench = benches(SOME)
    orders = [(Order(Action.FAIL_ONCE, at, errno.EIO),) for at in writes_that_move_the_pool(bench)]
    assert len(orders) > 2
    assert in_turn(bench, orders).violations == {}


@ALL
def test_a_locked_journal(script: str, benches: Benches) -> None:
    bench = benches(script)
    found = {at: bench.locked(at) for at in range(1, len(bench.script.steps), 7)}
    assert not any(found.values()), found


# --- the sweep can fail ------------------------------------------------------------------------------------


def test_it_finds_an_acknowledgement_before_the_commit(benches: Benches) -> None:
    bench = benches(SOME, "hasty")
    pairs = enumerate(pairwise(bench.undisturbed.points), 2)
    told = [at for at, (one, two) in pairs if one.path.endswith("/shoe") and _in_log(two, Op.WRITE)]
    orders = [(Order(Action.KILL_BEFORE, at),) for at in told[::6]]
    found = in_turn(bench, orders).violations.values()
    assert len(found) > 1
    assert all(texts[0].startswith("acknowledged events of shoe are lost") for texts in found), found


def test_it_finds_money_that_is_committed_apart(benches: Benches) -> None:
    bench = benches(SOME, "halves")
    synced = before(bench, lambda point: _in_log(point, Op.SYNC), each=5)
    found = [text for texts in in_turn(bench, synced).violations.values() for text in texts]
    assert any("the table 'money' does not say what the record says" in text for text in found), found
