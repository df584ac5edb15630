"""Fault catalogue, group J: money. A bet is an act with a key; an award is final when it is confirmed.

There is no bet sensor and no device that pays: a person acts, and the answer may get lost as an event may.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from itertools import permutations
from random import Random
from typing import Any, Final

import pytest

from daemon.games.jackpot import Meter
from drivers.base import SECOND
from tests.faults.evening import ANTE, POINTS, STAKE, WHOLE, Do, Evening, Step, evening, play
from tests.table.floor import ANTE as FLOOR_ANTE
from tests.table.floor import JACKPOT, Floor, rules
from tests.table.floor import STAKE as FLOOR_STAKE

SETTLE: Final = next(i for i, step in enumerate(WHOLE) if isinstance(step, Do) and step.name == "settle")


def settled(table: Evening) -> int:
    """A straight flush is won and not confirmed; what it is worth."""
    play(table, WHOLE[: SETTLE + 1])
    [first, second] = table.game.pending
    assert (first.box, first.confirmed, second.box, second.confirmed) == (1, False, 2, True)
    return first.amount


# --- J01: provisional and final --------------------------------------------------------------------


@pytest.mark.parametrize("times", [2, 3])
def test_j01_a_bet_counts_once_and_contributes_with_the_first_card(times: int, shoe_table: Evening) -> None:
    table = shoe_table
    table.open_betting()
    assert "box 1 has no ante" in table.refused("progressive", box=1)  # locked without being placed
    for _ in range(times):
        table.act("ante", "a", box=1, amount=ANTE)
        table.act("progressive", "p", box=1)
    assert "is taken" in table.refused("ante", box=1, amount=ANTE)
    assert "placed already" in table.refused("progressive", box=1)
    assert table.player(1) == -ANTE - STAKE
    for _ in range(times):
        table.act("close-betting")
    assert (table.game.meter.wagered, table.game.meter.contributed) == (0, 0)
    table.draw("2D")
    assert (table.game.meter.wagered, table.game.meter.contributed) == (STAKE, 710)
    table.draw("3C")
    assert table.game.meter.contributed == 710
    table.settle_down()
    table.check()


# --- J02: paid, and the confirmation comes again ----------------------------------------------------


@pytest.mark.parametrize("point", ["append", "commit", "committed"])
def test_j02_an_award_whose_answer_was_lost_is_not_paid_again(point: str, shoe_table: Evening) -> None:
    table = shoe_table
    amount = settled(table)
    before = table.player(1)
    table.kill_at(point)
    assert not table.enter(lambda: table.act("confirm-award", "k", box=1))
    assert len(table.acts("confirm-award")) == (point == "committed")
    for _ in range(2):
        table.settle_down()
        answer = table.act("confirm-award", "k", box=1)
        assert answer["seq"] == table.acts("confirm-award")[0]["seq"]
        table.restart()
    assert table.player(1) == before + amount
    assert "no award to confirm" in table.refused("confirm-award", box=1)
    table.settle_down()
    table.check()


def test_j02_a_device_that_tells_its_last_event_again_closes_nothing_twice(shuffler_table: Evening) -> None:
    table = shuffler_table
    table.open_betting()
    table.act("ante", box=1, amount=ANTE)
    table.act("progressive", box=1)
    table.act("close-betting")
    table.kill_at("send")  # the packet that closes the betting is committed, and not acknowledged
    table.enter(lambda: table.wait(lambda: table.phase == "dealing", "the packet"))
    assert table.lives == 2
    table.settle_down()
    assert (len(table.events("packet-out")), table.game.meter.contributed) == (1, 710)
    table.check()


# --- J03, J04: an award that nobody confirms ----------------------------------------------------------


def test_j03_an_award_that_waits_is_listed_until_a_supervisor_closes_it(shoe_table: Evening) -> None:
    table = shoe_table
    amount = settled(table)
    for _ in range(2):
        table.restart()
        table.settle_down()
        listed = table.engine.view()["pending_awards"]
        assert [(row["box"], row["amount"]) for row in listed] == [(1, amount), (2, 5_000)]
    assert "not paid yet" in table.refused("close-table")
    answer = table.act("confirm-award", box=1)
    [record] = [r for r in table.acts("confirm-award") if r["seq"] == answer["seq"]]
    assert record["input"]["role"] == "supervisor"
    assert [move[3] for move in record["money"]] == ["award paid", "award paid"]
    assert table.engine.view()["pending_awards"] == []
    table.check()


def test_j03_a_dealer_cannot_close_it() -> None:
    floor = Floor()
    floor.bets(1, progressive=(1,))
    floor.play({1: "5H 6H 7H 8H 9H"}, "AC KD QD 10C 3D")
    assert "supervisor" in floor.refused("confirm-award", box=1)
    assert len(floor.game.pending) == 1


def test_j04_time_and_restarts_neither_pay_nor_forget_an_award(shoe_table: Evening) -> None:
    table = shoe_table
    amount = settled(table)
    before = table.player(1)
    for _ in range(5):
        table.pass_time(20 * SECOND)
        table.restart()
        table.settle_down()
        assert table.table.balances[table.game.pending[0].account] == amount
        assert table.player(1) == before
    for key in ("k", "k"):
        assert table.act("confirm-award", key, box=1)["accepted"]
    assert "no award to confirm" in table.refused("confirm-award", box=1)
    assert table.player(1) == before + amount
    assert table.game.pending == []
    table.check()


def test_j04_the_answer_of_a_held_journal_is_no_failure(shoe_table: Evening) -> None:
    table = shoe_table
    amount = settled(table)
    before, begin = table.player(1), table.journal.inner.begin
    table.journal.inner.begin = lambda: False  # type: ignore[method-assign]
    for _ in range(5):
        assert table.try_act("confirm-award", "k", box=1) is None
    table.journal.inner.begin = begin  # type: ignore[method-assign]
    table.act("confirm-award", "k", box=1)
    assert table.player(1) == before + amount
    assert len(table.acts("confirm-award")) == 1
    table.settle_down()
    table.check()


# --- J06: whose money -----------------------------------------------------------------------------------


def _some_orders(count: int) -> list[tuple[int, ...]]:
    random, boxes = Random(6), list(range(1, 8))
    return [tuple(random.sample(boxes, 7)) for _ in range(count)]


def test_j06_bets_in_any_order_are_each_box_s_own() -> None:
    three = list(permutations((2, 5, 7)))
    for order in [*three, *_some_orders(40)]:
        floor = Floor()
        floor.bets()
        for box in order:
            floor.do("ante", box=box, amount=FLOOR_ANTE + box)
        for box in reversed(order):
            floor.do("progressive", box=box)
        gone = order[0]
        floor.do("take-back", box=gone)
        for box in range(1, 8):
            mine = FLOOR_ANTE + box + FLOOR_STAKE if box in order and box != gone else 0
            assert floor.player(box) == -mine
            assert floor.table.balances[f"ante.{box}"] == max(0, mine - FLOOR_STAKE)
        floor.draw(count=1)
        floor.do("misdeal")
        assert [floor.player(box) for box in order] == [0] + [-FLOOR_STAKE] * (len(order) - 1)
        assert sorted(floor.game.carried) == sorted(set(order) - {gone})
        assert sum(floor.table.balances.values()) == 0


def test_j06_a_restart_and_a_lost_device_give_no_box_another_one_s_money(shoe_table: Evening) -> None:
    table = shoe_table
    table.open_betting()
    for box in (7, 3, 1):
        table.act("ante", box=box, amount=ANTE * box)
        table.unplug("shoe")
        table.restart()
        table.replug("shoe")
        table.settle_down()
    assert [table.player(box) for box in range(1, 8)] == [-ANTE, 0, -3 * ANTE, 0, 0, 0, -7 * ANTE]
    table.check()


# --- J07: no unit is lost --------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [Fraction(15, 1000), Fraction(333, 100_000)])
def test_j07_contributions_in_any_order_with_restarts_are_the_exact_sum(rate: Fraction) -> None:
    house = rules(contribution=rate).jackpot
    random = Random(7)
    stakes = [random.randrange(1, 100_000) | 1 for _ in range(5_000)]
    pools = []
    for _ in range(2):
        meter, total = Meter(), Fraction(0)
        for number, stake in enumerate(stakes):
            meter.contribute(stake, house)
            total += stake * rate
            assert meter.pool == total.numerator // total.denominator
            if number % 500 == 0:
                meter = Meter(**asdict(meter))
        assert meter.remainder == total - meter.pool
        assert meter.holds()
        pools.append(meter.pool)
        random.shuffle(stakes)
    assert pools[0] == pools[1]


def test_j07_a_restart_in_the_middle_keeps_the_fraction_of_a_unit(shoe_table: Evening) -> None:
    table = shoe_table
    play(table, WHOLE)
    meter = asdict(table.game.meter)
    table.restart()
    assert asdict(table.game.meter) == meter
    assert JACKPOT.contribution == Fraction(1)
    assert table.game.rules.jackpot.contribution == Fraction(71, 100)
    table.settle_down()


# --- J09, J10: what the sign shows -------------------------------------------------------------------------


def falls(table: Evening) -> list[tuple[int, int]]:
    return [(a, b) for a, b in zip(table.shown, table.shown[1:], strict=False) if b < a]


def allowed_falls(table: Evening) -> int:
    """Records in which the pool fell: by an award or a correction."""
    lowering = {"award", "correction"}
    moved: list[dict[str, Any]] = [record for record in table.records() if record.get("money")]
    return sum(any(m[0] == "pool" and m[3] in lowering for m in record["money"]) for record in moved)


@pytest.mark.parametrize("trouble", ["restart", "sign lost", "sign without memory", "shoe lost"])
def test_j09_the_amount_on_the_sign_falls_with_a_win_and_never_else(
    trouble: str, shoe_table: Evening
) -> None:
    table = shoe_table

    def meets(step: Step) -> None:
        if step == Do("open-betting"):
            return  # that waits for the devices
        if trouble == "restart":
            table.restart()
        elif trouble == "sign without memory":
            table.handle("sign", "power-cycle")
        else:
            device = trouble.split()[0]
            table.unplug(device)
            table.replug(device)

    play(table, WHOLE[: SETTLE + 2], meets)
    table.act("correct-pool", amount=-5, text="miscounted")
    table.settle_down()
    table.check()  # what was shown is what the pool was, in its order
    assert len(falls(table)) == allowed_falls(table) == 2


def test_j09_a_restart_shows_the_same_amount_within_half_a_minute(shoe_table: Evening) -> None:
    table = shoe_table
    settled(table)
    amount = table.state("sign")["amount"]
    assert amount == table.pools()[-1]
    table.die()
    table.handle("sign", "power-cycle")
    assert table.state("sign")["amount"] is None
    table.start()
    table.pass_time(30 * SECOND)
    assert table.state("sign")["amount"] == amount


@pytest.mark.parametrize("point", POINTS)
def test_j10_the_sign_is_never_ahead_of_the_journal(point: str) -> None:
    """Each amount is compared with the journal in the moment in which the sign shows it (Evening)."""
    changes: tuple[Callable[[Step], bool], ...] = (
        lambda step: isinstance(step, Do) and step.name in ("open-table", "settle", "correct-pool"),
        lambda step: not isinstance(step, Do) and step.card == "5H",
    )
    with evening() as table:

        def before(step: Step) -> None:
            if any(change(step) for change in changes):
                table.kill_at(point)

        play(table, WHOLE[: SETTLE + 2], before)
        assert table.lives == 4
        assert table.shown[-1] == table.pools()[-1] == table.game.meter.pool
        assert table.shown[0] == 0 or table.shown[0] == 10_000_000
        assert len(falls(table)) == 1
        table.check()
