"""The rule set as data: versioned, journalled, changed between rounds by a supervisor; limits of the pool."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from daemon.games.caribbean.rules import rules_from
from daemon.games.jackpot import Implausible, Meter
from daemon.records import decode, encode, input_from, input_record
from daemon.table import Started
from tests.table.floor import ANTE, JACKPOT, RULES, STAKE, Floor, rules, with_pool
from tests.table.test_caribbean import AK, LOW, NOTHING, ROYAL_S

OTHER = replace(RULES, ante_min=20_000, edition="other", jackpot=replace(JACKPOT, minimum=60_000_000))


def test_a_rule_set_comes_back_from_its_text() -> None:
    for house in (
        RULES,
        OTHER,
        rules(cap=5, contribution=Fraction(71, 300), limit=7, reserve=Fraction(1, 3)),
    ):
        assert rules_from(house.text()) == house
        assert rules_from(house.text()).fingerprint() == house.fingerprint()
    assert OTHER.fingerprint() != RULES.fingerprint()
    assert RULES.changes(OTHER) == [
        "ante_min: 5000 -> 20000",
        "edition:  -> other",
        "jackpot.minimum: 50000000 -> 60000000",
    ]


def test_the_start_is_journalled_with_the_rule_set() -> None:
    started = Started("1", ("sign",), "shoe", "", {"shoe": "shoe", "sign": "sign"}, OTHER.text())
    plain, _ = input_record(started)
    assert input_from(decode(encode(plain)), b"") == started


def start(floor: Floor, house: object = RULES) -> None:
    floor.take(Started("1", rules=house.text()))  # type: ignore[attr-defined]
    for device in floor.table.rig.devices:
        floor.link(device, ready=True)


def test_the_first_record_brings_the_rules_and_a_later_difference_is_a_fault() -> None:
    floor = Floor()
    start(floor, OTHER)
    assert floor.game.rules == OTHER
    floor.open()
    start(floor, RULES)
    assert floor.game.rules == OTHER
    floor.shuffle()
    floor.prove_sign()
    assert "rules-differ" in floor.refused("open-betting")
    start(floor, OTHER)
    assert not floor.table.faults


def test_cs_13_rules_change_between_rounds_by_a_supervisor_with_before_and_after() -> None:
    floor = Floor()
    floor.bets(1)
    before = floor.game.fingerprint
    text = OTHER.text()
    assert "between rounds" in str(floor.act("change-rules", role="supervisor", rules=text).refusal.todo)  # type: ignore[union-attr]
    summary = floor.play({1: LOW[1]}, AK)
    assert summary["fingerprint"] == before
    assert "supervisor" in floor.refused("change-rules", rules=text)
    assert "in force" in floor.refused("change-rules", role="supervisor", rules=RULES.text())
    bad = {"rules": "", "problem": "t.toml: rules.cap: must be greater than 0, not 0"}
    assert "rules.cap" in floor.refused("change-rules", role="supervisor", **bad)
    floor.do("change-rules", role="supervisor", rules=text)
    note = floor.notes[-1]
    assert (note.clause, "ante_min: 5000 -> 20000" in note.detail) == ("CS-13", True)
    assert before[:16] in note.detail
    assert OTHER.fingerprint()[:16] in note.detail
    floor.shuffle()
    floor.prove_sign()
    floor.do("open-betting")
    assert "CS-06" in floor.refused("ante", box=1, amount=ANTE)
    floor.do("ante", box=1, amount=20_000)
    assert floor.play({1: LOW[1]}, AK)["fingerprint"] == OTHER.fingerprint()
    assert floor.pool == 50_000_000  # the pool of the day before is not topped up


# --- the pool's limit, its overflow and its reserve: CS-10 ---------------------------------------


def test_cs_10_at_its_limit_the_pool_stands_and_the_rest_is_overflow() -> None:
    floor = Floor(rules(limit=50_001_500))
    floor.bets(1, 2, 3, progressive=(1, 2, 3))
    floor.draw(count=1)
    meter = floor.game.meter
    assert (meter.pool, meter.overflow, meter.contributed) == (50_001_500, 1_500, 3_000)
    assert floor.table.balances["overflow"] == 1_500
    assert meter.holds()


@pytest.mark.parametrize(
    ("overflow", "pool", "kept"), [("next_pool", 50_003_000, 0), ("kept", 50_000_000, 3_000)]
)
def test_cs_10_the_next_pool_begins_with_the_overflow(overflow: str, pool: int, kept: int) -> None:
    floor = Floor(rules(limit=60_000_000, overflow=overflow))
    with_pool(floor, 60_000_000)
    floor.bets(1, 2, 3, progressive=(1, 2, 3))
    floor.play({1: ROYAL_S, 2: LOW[2], 3: "3C 4S 5H 7S 9C"}, NOTHING.replace("2C", "2S"))
    assert (floor.pool, floor.game.meter.overflow) == (pool, kept)
    assert floor.game.meter.awarded == 60_000_000


def test_cs_10_the_reserve_pays_for_the_next_minimum_first() -> None:
    floor = Floor(rules(contribution=Fraction(1, 2), reserve=Fraction(1, 4), minimum=1_000_000))
    with_pool(floor, 1_000_000)
    house = floor.table.balances["house"]
    floor.bets(1, 2, progressive=(1, 2))
    floor.draw(count=1)
    assert floor.table.balances["reserve"] == STAKE // 2
    assert floor.table.balances["house"] == house + STAKE // 2
    floor.do("misdeal")
    floor.bets(1, 2)
    floor.play({1: ROYAL_S, 2: LOW[2]}, NOTHING.replace("2C", "2S"))
    meter = floor.game.meter
    assert (meter.pool, meter.reserve) == (1_000_000, 0)
    assert meter.minimums == 1_000_000 + 1_000_000 - STAKE // 2
    assert meter.holds()


@pytest.mark.parametrize("stake", [0, -1, -STAKE, 1_001, 10**9])
def test_cs_10_an_implausible_contribution_changes_nothing(stake: int) -> None:
    meter = Meter(pool=5, minimums=5)
    with pytest.raises(Implausible):
        meter.contribute(stake, replace(JACKPOT, largest_contribution=STAKE))
    assert meter == Meter(pool=5, minimums=5)


def test_cs_10_the_meters_count_what_they_are_named_for() -> None:
    floor = Floor()
    with_pool(floor, 600_000_00, bets=2)
    floor.bets(1, 2, progressive=(1, 2))
    floor.play({1: "3S 5S 8S 10S JS", 2: LOW[2]}, "AD KD 9S 6H 3C")
    view = floor.table.view()["pool"]
    assert isinstance(view, dict)
    assert (view["wagered"], view["hits"], view["awarded_from_pool"]) == (2 * STAKE, 1, 50_000)
