"""What the sign is told: the pool, the fixed prizes, what happened, nothing else (CS-10, CS-12)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daemon.games.caribbean.programme import CLOSED, NEUTRAL, prize_pages, programme
from daemon.games.caribbean.round import PendingAward
from daemon.games.desk import Act
from daemon.games.hands import Category
from daemon.games.money import MAX_AMOUNT
from drivers.base import Display, Drop
from drivers.sign.alpha import AlphaSign
from tests.table.floor import RULES, STAKE, Floor, rules, with_pool
from tests.table.test_caribbean import AK, FLUSH_D, LOW, NOTHING, ROYAL_S, SF_C, UNIT

PRIZES = (
    "ROYAL $500,000.00",
    "STR FLUSH $50,000.00",
    "QUADS $5,000.00",
    "FULL HOUSE $1,000.00",
    "FLUSH $500.00",
)


def test_cs_10_the_pool_and_the_fixed_prizes_in_turn() -> None:
    floor = Floor()
    floor.open()
    wanted = floor.table.rig.wanted
    assert (wanted.meter, wanted.announcement, wanted.pages) == ("$500,000.00", "", PRIZES)
    floor.do("close-table")
    assert floor.table.rig.wanted.pages == (CLOSED, *PRIZES)
    assert floor.table.rig.wanted.meter == "$500,000.00"


def test_cs_10_a_frozen_award_is_shown_until_it_is_confirmed() -> None:
    floor = Floor()
    with_pool(floor, 1_000_000 * UNIT, bets=2)
    floor.bets(1, 3, progressive=(1, 3))
    floor.play({1: ROYAL_S, 3: SF_C}, NOTHING)
    assert floor.table.rig.wanted.announcement == "WINNER BOX 1 $900,000.00"
    won = ("BOX 3 WON $100,000.00", "BOX 1 WON $900,000.00")
    assert floor.table.rig.wanted.pages == PRIZES + won
    floor.shuffle()
    assert floor.table.rig.wanted.announcement == ""
    assert floor.table.rig.wanted.pages == PRIZES + won
    floor.do("confirm-award", role="supervisor", box=1)
    assert floor.table.rig.wanted.pages == PRIZES + won[:1]
    floor.do("confirm-award", role="supervisor", box=3)
    assert floor.table.rig.wanted.pages == PRIZES


def test_cs_10_a_second_hit_while_the_first_is_pending_is_paid_after_it() -> None:
    floor = Floor()
    with_pool(floor, 1_000_000 * UNIT, bets=1)
    for box, hand in ((2, SF_C), (5, "9H 8H 7H 6H 5H")):
        floor.bets(box, progressive=(box,))
        floor.play({box: hand}, "AD KD 9S 4H 2C")
    owed = floor.table.balances
    assert (owed["award.1.2"], owed["award.2.5"]) == (100_000 * UNIT, 90_000 * UNIT + STAKE // 10)
    before = floor.player(5)
    floor.do("confirm-award", role="supervisor", box=5)
    assert floor.player(5) == before  # the first comes first
    floor.do("confirm-award", role="supervisor", box=2)
    assert (owed["award.1.2"], owed["award.2.5"]) == (0, 0)
    assert floor.player(5) == before + 90_000 * UNIT + STAKE // 10


def test_cs_12_the_sign_tells_no_past_results() -> None:
    floor = Floor()
    with_pool(floor, 600_000 * UNIT, bets=1)
    said = set()

    def watch() -> None:
        said.update({floor.table.rig.wanted.announcement, *floor.table.rig.wanted.pages})

    take = floor.take

    def watched(item: object) -> object:
        outcome = take(item)
        watch()
        return outcome

    floor.take = watched  # type: ignore[method-assign, assignment]
    floor.bets(2, progressive=(2,))
    floor.play({2: FLUSH_D}, NOTHING)
    floor.bets(1)
    floor.play({1: LOW[1]}, AK)
    floor.bets(1)
    floor.draw(count=1)
    floor.do("misdeal")
    floor.take(Act("shuffle"))
    assert said == {"", "VOID", "WINNER BOX 2 $500.00", *PRIZES}


@pytest.mark.parametrize(("width", "meter"), [(10, NEUTRAL), (11, "$500,000.00"), (0, "$500,000.00")])
def test_an_amount_longer_than_the_sign_is_never_cut(width: int, meter: str) -> None:
    floor = Floor(replace(RULES, sign_width=width))
    floor.open()
    assert floor.table.rig.wanted.meter == meter


def test_a_winner_too_long_for_the_sign_is_named_without_the_amount() -> None:
    floor = Floor(replace(rules(), sign_width=16))
    with_pool(floor, 1_000_000 * UNIT, bets=1)
    floor.bets(3, progressive=(3,))
    floor.play({3: SF_C}, NOTHING)
    assert floor.table.rig.wanted.announcement == "WINNER BOX 3"
    assert floor.table.rig.wanted.pages[-1] == "JACKPOT BOX 3"


def test_prizes_are_stated_from_the_highest() -> None:
    assert prize_pages(RULES) == PRIZES


def test_more_awards_than_the_sign_has_room_for_never_cost_it_the_prizes() -> None:
    award = PendingAward(1, 3, Category.STRAIGHT_FLUSH, 5_000_000, confirmed=False)
    waiting = [award] * 20
    jackpot = replace(RULES.jackpot, **dict.fromkeys(FIXED, MAX_AMOUNT))
    dearest = replace(RULES, jackpot=jackpot, currency="HKD$")
    for house in (RULES, dearest):
        prizes = prize_pages(house)
        for closed in (False, True):
            pages = programme(house, prizes, 1, "", waiting, closed).pages
            assert set(prizes) <= set(pages)
            assert sum(len(page) + 3 for page in pages) <= 251
            driver = AlphaSign()
            driver.opened(0)
            assert not any(isinstance(o, Drop) for o in driver.command(Display("$1", "", pages), 0))


FIXED = ("royal_flush", "straight_flush", "quads", "full_house", "flush")
