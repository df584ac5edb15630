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
    "silent": {
        CLOSED: "late",
        OPENING: "mistake",
        IDENTIFYING: IDENTIFYING,
        READY: IDENTIFYING,
        LOST: "late",
    },
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
        (Cause.ABSENT, [0.5, 0.75, 0.75, 0.75]),
        (Cause.LOST, [0.5, 0.75, 0.75, 0.75]),
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


@pytest.mark.parametrize(("lasted", "wait"), [(9.9, 0.75), (10, 0.5)])
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
    assert 790 < attempts < 810


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


def flapped(times: int, lasted: int = 3 * SECOND) -> tuple[LinkLife, int]:
    """A device that was ready so often for so long, and has just fallen silent."""
    life, now = life_in(READY), 0
    for time in range(times):
        if time:
            now += SECOND
            assert life.in_sync(now) == [Change(READY, None, "")]
        now += lasted
        (change,) = life.silent(now)
        assert change.cause is Cause.SILENT
    return life, now


def test_a_flapping_device_is_on_trial_until_it_lasts() -> None:
    life, now = flapped(3)
    assert life.in_sync(now + 1) == []
    assert (life.ready, life.cause, "comes and goes" in life.detail) == (False, Cause.SILENT, True)
    assert life.in_sync(now + SECOND) == []  # every voice after the first changes nothing
    assert life.deadline == now + 1 + 10 * SECOND
    assert life.tick(life.deadline - 1) == []
    assert life.tick(life.deadline) == [Change(READY, None, "")]
    assert (life.ready, life.deadline) == (True, None)


@pytest.mark.parametrize(("times", "lasted"), [(2, 3 * SECOND), (9, 10 * SECOND)])
def test_some_silence_is_no_flapping(times: int, lasted: int) -> None:
    life, now = flapped(times, lasted)
    assert life.in_sync(now + 1) == [Change(READY, None, "")]


def test_a_trial_is_broken_by_silence_and_begins_anew() -> None:
    life, now = flapped(3)
    for _ in range(20):
        life.in_sync(now + SECOND)
        assert life.silent(now + 4 * SECOND) == []
        now += 4 * SECOND
    life.in_sync(now + SECOND)
    assert life.deadline == now + 11 * SECOND
    life.silent(now + 4 * SECOND)
    assert life.tick(now + 9 * SECOND) == []  # nobody spoke: the same cause, a new link
    assert not life.wants_link


def test_a_flapping_device_says_who_it_is_and_is_on_trial_all_the_same() -> None:
    life, now = flapped(3)
    assert life.identified(SHOE, now + 1) == []
    assert (life.state, life.ready) == (IDENTIFYING, False)
    (change,) = life.identified(Identified("shoe", "S0000002"), now + 2)
    assert change.cause is Cause.WRONG_IDENTITY


def test_a01_a_device_that_is_plugged_in_again_is_ready_when_it_is_proven_however_often() -> None:
    life, now = flapped(3)
    for _ in range(5):
        life.lost(Cause.LOST, "hung up", now)
        life.opening(now)
        life.opened(now)
        assert life.identified(SHOE, now) == [Change(READY, None, "")]
        now += SECOND


@pytest.mark.parametrize(("period", "heard"), [(4, 1), (6, 3), (14, 11)])
def test_a_heartbeat_that_comes_and_goes_is_told_ten_times_a_minute_at_most(period: int, heard: int) -> None:
    life, told = life_in(READY), 0
    for second in range(3600):
        now = second * SECOND
        told += len(life.tick(now))
        told += len(life.in_sync(now) if second % period < heard else life.silent(now))
    assert told <= 600
    assert life.wants_link


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
