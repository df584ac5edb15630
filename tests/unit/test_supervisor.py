"""The life of a link: every pair of state and input, back-off, identity, and what the table hears."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transitions import MachineError

from daemon.links.base import Cause
from daemon.supervisor import LATE, LINK_ROWS, Change, LinkLife, LinkState
from drivers.base import SECOND, Identified

SHOE = Identified("shoe", "S0000001")
CLOSED, OPENING, IDENTIFYING = LinkState.CLOSED, LinkState.OPENING, LinkState.IDENTIFYING
READY, LOST = LinkState.READY, LinkState.LOST

Call = Callable[[LinkLife, int], list[Change]]
CALLS: dict[str, Call] = {
    "opening": lambda life, now: life.opening(now),
    "opened": lambda life, now: life.opened(now),
    "failed": lambda life, now: life.failed(Cause.ABSENT, "no such file", now),
    "identified": lambda life, now: life.identified(SHOE, now),
    "silent": lambda life, now: life.silent(now),
    "out_of_sync": lambda life, now: life.out_of_sync(now),
    "in_sync": lambda life, now: life.in_sync(now),
    "lost": lambda life, now: life.lost(Cause.LOST, "hung up", now),
    "closed": lambda life, now: life.closed(now),
}
WAY_TO: dict[LinkState, tuple[str, ...]] = {
    CLOSED: (),
    OPENING: ("opening",),
    IDENTIFYING: ("opening", "opened"),
    READY: ("opening", "opened", "identified"),
    LOST: ("opening", "lost"),
}
# The intended outcome of every pair: the next state, "late" (nothing changes) or "mistake".
INTENDED: dict[str, dict[LinkState, LinkState | str]] = {
    "opening": {CLOSED: OPENING, OPENING: "mistake", IDENTIFYING: "mistake", READY: "mistake", LOST: OPENING},
    "opened": {CLOSED: "late", OPENING: IDENTIFYING, IDENTIFYING: "mistake", READY: "mistake", LOST: "late"},
    "failed": {CLOSED: "late", OPENING: LOST, IDENTIFYING: LOST, READY: "mistake", LOST: "late"},
    "identified": {CLOSED: "late", OPENING: "mistake", IDENTIFYING: READY, READY: READY, LOST: "late"},
    "silent": {CLOSED: "late", OPENING: "mistake", IDENTIFYING: "late", READY: IDENTIFYING, LOST: "late"},
    "out_of_sync": {CLOSED: "late", OPENING: "mistake", IDENTIFYING: IDENTIFYING, READY: READY, LOST: "late"},
    "in_sync": {CLOSED: "late", OPENING: "mistake", IDENTIFYING: IDENTIFYING, READY: READY, LOST: "late"},
    "lost": {CLOSED: "late", OPENING: LOST, IDENTIFYING: LOST, READY: LOST, LOST: "late"},
    "closed": {CLOSED: "late", OPENING: CLOSED, IDENTIFYING: CLOSED, READY: CLOSED, LOST: CLOSED},
}


def life_in(state: LinkState, serial: str | None = "S0000001") -> LinkLife:
    life = LinkLife("shoe", "shoe", serial)
    for word in WAY_TO[state]:
        CALLS[word](life, 0)
    assert life.state is state
    return life


@pytest.mark.parametrize("state", LinkState)
@pytest.mark.parametrize("word", CALLS)
def test_every_pair_has_its_intended_outcome(word: str, state: LinkState) -> None:
    life, outcome = life_in(state), INTENDED[word][state]
    if outcome == "mistake":
        with pytest.raises(MachineError):
            CALLS[word](life, 1)
    elif outcome == "late":
        assert (word, state) in LATE
        assert CALLS[word](life, 1) == []
        assert life.state is state
    else:
        CALLS[word](life, 1)
        assert life.state is outcome


def test_rows_and_late_pairs_do_not_overlap() -> None:
    assert not LATE & {(row["trigger"], row["source"]) for row in LINK_ROWS}


@pytest.mark.parametrize(
    ("cause", "waits"),
    [
        (Cause.DENIED, [0.5, 1, 2, 4, 5, 5]),
        (Cause.ABSENT, [0.5, 1, 2, 2, 2, 2]),
        (Cause.LOST, [0.5, 1, 2, 2, 2, 2]),
    ],
)
def test_back_off_is_doubled_up_to_a_cap(cause: Cause, waits: list[float]) -> None:
    life, now, seen = LinkLife("shoe", "shoe", None), 0, []
    for _ in waits:
        assert life.due(now)
        life.opening(now)
        life.failed(cause, "", now)
        assert life.deadline is not None
        assert not life.due(life.deadline - 1)
        seen.append((life.deadline - now) / SECOND)
        now = life.deadline
    assert seen == waits


@pytest.mark.parametrize(("lasted", "wait"), [(9.9, 1.0), (10, 0.5)])
def test_back_off_starts_anew_only_when_ready_has_lasted(lasted: float, wait: float) -> None:
    life = life_in(LOST)
    for word in WAY_TO[READY]:
        CALLS[word](life, 0)
    now = int(lasted * SECOND)
    life.lost(Cause.LOST, "hung up", now)
    assert life.deadline == now + int(wait * SECOND)


def test_a01_one_offline_and_one_online_change() -> None:
    life = life_in(READY)
    changes = life.lost(Cause.LOST, "hung up", 60 * SECOND)
    assert changes == [Change(LOST, Cause.LOST, "hung up")]
    assert life.lost(Cause.LOST, "hung up", 60 * SECOND) == []
    for word in WAY_TO[READY]:
        changes = CALLS[word](life, 61 * SECOND)
    assert changes == [Change(READY, None, "")]
    assert life.ready


def test_a03_ten_minutes_of_absence_are_one_change() -> None:
    life, now, changes, attempts = LinkLife("sign", "sign", None), 0, [], 0
    while now < 600 * SECOND:
        attempts += 1
        changes += life.opening(now) + life.failed(Cause.ABSENT, f"attempt {attempts}", now)
        assert life.deadline is not None
        now = life.deadline
    assert changes == [Change(LOST, Cause.ABSENT, "attempt 1")]
    assert 295 < attempts < 305


def test_another_cause_is_another_change() -> None:
    life = LinkLife("sign", "sign", None)
    changes = []
    for cause in (Cause.ABSENT, Cause.DENIED, Cause.DENIED, Cause.BUSY):
        changes += life.opening(0) + life.failed(cause, cause.value, 0)
    assert [change.cause for change in changes] == [Cause.ABSENT, Cause.DENIED, Cause.BUSY]


@pytest.mark.parametrize(
    ("serial", "who", "ready"),
    [
        ("S0000001", SHOE, True),
        (None, SHOE, True),
        ("", Identified("shoe"), True),
        ("S0000001", Identified("shoe", "S0000002"), False),
        ("S0000001", Identified("shoe"), False),  # does not say it: not proven
        (None, Identified("shuffler", "S0000001"), False),
    ],
)
def test_a04_identity_is_proven_or_the_link_is_lost(serial: str | None, who: Identified, ready: bool) -> None:
    life = life_in(IDENTIFYING, serial)
    life.identified(who, 0)
    assert life.ready is ready
    assert life.wants_link is ready
    if not ready:
        assert life.cause is Cause.WRONG_IDENTITY
        assert life.due(SECOND // 2)


def test_another_device_behind_an_open_link_is_refused() -> None:
    life = life_in(READY)
    assert life.identified(SHOE, SECOND) == []
    (change,) = life.identified(Identified("shoe", "S0000002"), 2 * SECOND)
    assert change == Change(LOST, Cause.WRONG_IDENTITY, "expected shoe S0000001, found shoe S0000002")


@pytest.mark.parametrize(("heard", "cause"), [(False, Cause.SILENT), (True, Cause.GARBLED)])
def test_identification_has_five_seconds(heard: bool, cause: Cause) -> None:
    life = life_in(IDENTIFYING)
    if heard:
        life.heard(SECOND)
    assert life.tick(5 * SECOND - 1) == []
    (change,) = life.tick(5 * SECOND)
    assert (change.state, change.cause) == (LOST, cause)
    assert life.tick(5 * SECOND) == []


def test_a17_opening_has_a_limit_too() -> None:
    life = life_in(OPENING)
    life.tick(5 * SECOND)
    assert life.state is LOST
    assert life.opened(6 * SECOND) == []  # too late: nobody wants that link any more
    assert not life.wants_link


def test_a17_silence_is_offline_at_once_and_a_new_link_after_five_seconds() -> None:
    life = life_in(READY)
    (change,) = life.silent(20 * SECOND)
    assert (change.cause, life.ready, life.wants_link) == (Cause.SILENT, False, True)
    assert life.tick(25 * SECOND) == []  # the same cause: nothing new to say
    assert not life.wants_link


def test_a_silent_device_that_speaks_again_needs_no_new_link() -> None:
    life = life_in(READY)
    life.silent(20 * SECOND)
    assert life.in_sync(22 * SECOND) == [Change(READY, None, "")]
    assert life.deadline is None


def test_being_in_sync_proves_no_identity() -> None:
    life = life_in(IDENTIFYING)
    assert life.in_sync(1) == []
    assert not life.ready


def test_a_gap_bars_the_round_and_keeps_the_link() -> None:
    life = life_in(READY)
    (change,) = life.out_of_sync(1, "expected event 7, got 9")
    assert change == Change(READY, Cause.GARBLED, "expected event 7, got 9")
    assert (life.ready, life.wants_link) == (False, True)
    assert life.out_of_sync(2) == []
    assert life.in_sync(3) == [Change(READY, None, "")]


def test_a_gap_is_not_filled_by_opening_again() -> None:
    life = life_in(READY)
    life.out_of_sync(1)
    life.lost(Cause.LOST, "hung up", 2)
    for word in WAY_TO[READY]:
        CALLS[word](life, 3)
    assert not life.ready
    life.in_sync(4)
    assert life.ready


def test_closed_on_purpose_stays_closed() -> None:
    life = life_in(READY)
    assert life.closed(1) == [Change(CLOSED, None, "")]
    assert not life.due(1_000 * SECOND)


def test_age_counts_from_the_last_byte() -> None:
    life = life_in(READY)
    assert life.age(5) is None
    life.heard(3)
    assert life.age(5) == 2


@given(st.lists(st.sampled_from(sorted(CALLS)), max_size=60))
def test_whatever_happens_it_is_retried_and_no_change_is_told_twice(words: list[str]) -> None:
    life = LinkLife("shoe", "shoe", None)
    told: list[tuple[bool, Cause | None]] = [(False, None)]
    for now, word in enumerate(words):
        if INTENDED[word][life.state] == "mistake":
            continue
        changes = CALLS[word](life, now)
        told += [(life.ready, change.cause) for change in changes]
        assert told[-1] == (life.ready, life.cause)
        assert life.state is not LOST or life.deadline is not None
        assert not life.ready or life.cause is None
    assert all(one != other for one, other in pairwise(told))
