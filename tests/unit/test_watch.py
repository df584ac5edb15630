"""What the controller notices about itself, and that it does not flutter."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.table import Noticed
from daemon.watch import CLOCK, LARGE_WAL, LOW_SPACE, MEBI, WAL, Machine, Watch, of_journal
from drivers.base import SECOND


class House:
    """A machine whose readings are set by hand."""

    def __init__(self) -> None:
        self.free, self.wal, self.utc, self.now = 2**40, 0, 1_767_225_600 * SECOND, 0

    def machine(self) -> Machine:
        return Machine(lambda: self.free, lambda: self.wal, lambda: self.utc, lambda: self.now)

    def passes(self, seconds: float) -> None:
        self.utc += round(seconds * SECOND)
        self.now += round(seconds * SECOND)


@pytest.fixture
def house() -> House:
    return House()


def codes(found: list[Noticed]) -> list[tuple[str, bool | None]]:
    return [(each.code, each.holds) for each in found]


def test_room_that_runs_out_and_comes_back_is_told_once_each(house: House) -> None:
    watch = Watch(house.machine())
    story = []
    for free in (2**40, LOW_SPACE, LOW_SPACE - 1, LOW_SPACE - 1, LOW_SPACE + 1, LOW_SPACE * 2, LOW_SPACE * 2):
        house.free = free
        story.append(codes(watch.look()))
    assert story == [[], [], [("disk-low", True)], [], [], [("disk-low", False)], []]


def test_the_sentence_says_how_much_is_left_and_what_follows(house: House) -> None:
    house.free = 3 * MEBI
    [found] = Watch(house.machine()).look()
    assert found.text == "3 MiB are free on the journal's disk: no new bets until there is more room"


def test_f13_a_log_that_grows_names_its_cause(house: House) -> None:
    watch = Watch(house.machine())
    house.wal = LARGE_WAL + 1
    [found] = watch.look()
    assert (found.code, found.holds) == (WAL, True)
    assert "keeps reading" in found.text
    house.wal = 0
    assert codes(watch.look()) == [(WAL, False)]


def test_what_was_latched_before_a_restart_and_is_over_is_told_as_over(house: House) -> None:
    assert codes(Watch(house.machine(), frozenset({"disk-low", WAL})).look()) == [
        ("disk-low", False),
        (WAL, False),
    ]


@pytest.mark.parametrize("step", [14 * 86_400, -3_600, 1.0, -1.0])
def test_h02_a_step_of_the_clock_is_told_and_only_once(house: House, step: float) -> None:
    watch = Watch(house.machine())
    house.passes(1)
    house.utc += round(step * SECOND)
    [found] = watch.look()
    assert (found.code, found.holds) == (CLOCK, None)
    assert f"{step:+.3f} s" in found.text
    house.passes(1)
    assert watch.look() == []


def test_a_clock_that_drifts_does_not_step(house: House) -> None:
    watch = Watch(house.machine())
    for _ in range(100):
        house.passes(1)
        house.utc += SECOND // 100
        assert watch.look() == []


def test_a_real_journal_s_disk_is_asked(tmp_path: Path, house: House) -> None:
    journal = tmp_path / "journal.db"
    machine = of_journal(journal, lambda: 0, lambda: 0)
    assert 0 < machine.free() < 2**62
    assert machine.wal() == 0
    journal.with_name("journal.db-wal").write_bytes(b"x" * 100)
    assert machine.wal() == 100
    assert of_journal(tmp_path / "nowhere" / "journal.db", lambda: 0, lambda: 0).free() == 2**62
