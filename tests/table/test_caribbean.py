"""61/2004 clause by clause: the worked scenarios (CS-S…) and what lies just beside them."""

from __future__ import annotations

from typing import Any

import pytest

from drivers.base import CardDrawn, CardsReturned, Deal, FaultSet, Restarted, Shuffle, ShuffleDone
from tests.table.floor import ANTE, STAKE, Floor, card, rules, with_pool

UNIT = 100  # minor units in a currency unit
JAM = FaultSet(2, "jam in transport")
# A dealer who qualifies with no more than ace-king, and one who does not.
AK = "AC KD 9H 6C 3S"
AQ = "AC QD 9H 6C 3S"
LOW = {1: "2D 4H 5S 7D 8S", 2: "2H 4C 5D 7C 8D", 3: "2C 4S 5H 7S 9C"}


def results(summary: dict[str, Any]) -> dict[int, tuple[str, int, int]]:
    return {row["box"]: (row["result"], row["ante_paid"], row["raise_paid"]) for row in summary["boxes"]}


def award(summary: dict[str, Any], box: int) -> int:
    return next(row["award"] for row in summary["boxes"] if row["box"] == box)


# --- CS-01, CS-03: devices and deck -------------------------------------------------------


def test_cs_01_no_round_opens_while_the_sign_is_not_known_to_show_the_pool() -> None:
    floor = Floor()
    floor.do("open-table")
    floor.shuffle()
    assert "sign" in floor.refused("open-betting")
    floor.prove_sign()
    floor.link("sign", ready=False)
    assert "sign is not ready" in floor.refused("open-betting")
    floor.link("sign", ready=True)
    assert "not known to show" in floor.refused("open-betting")
    floor.prove_sign()
    floor.do("open-betting")


def test_cs_01_a_sign_lost_during_a_round_changes_nothing_in_it() -> None:
    floor = Floor()
    floor.bets(1)
    floor.link("sign", ready=False)
    assert floor.play({1: LOW[1]}, AK)["outcome"] == "settled"


def test_cs_01_a_face_seen_twice_halts_the_table_until_the_dealer_decides() -> None:
    floor = Floor()
    floor.bets(1)
    floor.draw("AS AS")
    floor.draw(count=8)
    assert "duplicate-card" in floor.table.faults
    assert "CS-01" in floor.refused("fold", box=1)
    floor.do("misdeal", text="two aces of spades")
    assert floor.phase == "void"
    assert set(floor.table.faults) == {"new-deck"}
    floor.do("clear-fault", code="new-deck", text="deck 7")


def test_cs_01_a_card_that_is_none_of_the_52_halts_it_too_and_the_true_card_is_shown() -> None:
    floor = Floor()
    floor.bets(1)
    floor.tell("shoe", CardDrawn(None, foreign=True))
    row = [c for pair in zip(LOW[1].split(), AK.split(), strict=True) for c in pair]
    floor.draw(" ".join(row[1:]))
    assert set(floor.table.faults) == {"foreign-card"}
    assert "none of the 52" in floor.refused("raise", box=1)
    floor.do("clear-fault", code="foreign-card", text="a stain: it is the 2 of diamonds")
    floor.do("raise", box=1)
    floor.do("reveal", box=1, cards=LOW[1])
    floor.do("settle")
    assert floor.closed[-1]["outcome"] == "settled"


def test_cs_01_the_second_of_two_equal_faces_is_unknown_and_has_to_be_shown() -> None:
    floor = Floor()
    floor.bets(1)
    row = [c for pair in zip(LOW[1].split(), AK.split(), strict=True) for c in pair]
    floor.draw(" ".join([*row[:9], row[0]]))  # the dealer's fifth is read as the player's first
    floor.do("clear-fault", code="duplicate-card", text="it is the 3 of spades")
    floor.do("raise", box=1)
    assert floor.phase == "showdown"
    assert "another hand" in floor.refused("reveal", box="dealer", cards="AC KD 9H 6C 2D")
    floor.do("reveal", box="dealer", cards=AK)
    assert floor.phase == "settling"


@pytest.mark.parametrize("mode", ["shoe", "shuffler"])
def test_cs_03_a_round_needs_its_own_shuffle(mode: str) -> None:
    floor = Floor(mode=mode)
    floor.open()
    assert "CS-03" in floor.refused("open-betting")
    floor.do("shuffle")
    told = floor.commands()
    assert "CS-03" in floor.refused("open-betting")
    if mode == "shoe":
        floor.do("cut")
    else:
        assert isinstance(told[0].command, Shuffle)
        floor.tell("SH-1", ShuffleDone(1, 52))
    floor.do("open-betting")
    floor.do("ante", box=1, amount=ANTE)
    if mode == "shoe":
        floor.draw(count=1)
    else:
        floor.packet(0)
    floor.do("misdeal")
    floor.prove_sign()
    assert "CS-03" in floor.refused("open-betting")


def test_cs_03_a_short_count_is_no_shuffle_proof_and_a_new_shuffle_clears_it() -> None:
    floor = Floor(mode="shuffler")
    floor.open()
    floor.do("shuffle")
    floor.tell("SH-1", ShuffleDone(1, 51))
    assert "shuffle-count" in floor.refused("open-betting")
    floor.do("shuffle")
    floor.tell("SH-1", ShuffleDone(2, 52))
    floor.do("open-betting")


def test_cs_03_the_proof_of_another_shuffler_does_not_count() -> None:
    floor = Floor(mode="shuffler")
    floor.open()
    floor.tell("SH-2", ShuffleDone(1, 52))
    assert "CS-03" in floor.refused("open-betting")


# --- CS-06: bets --------------------------------------------------------------------------


def test_cs_06_s18_bets_that_are_not_accepted() -> None:
    floor = Floor()
    floor.bets(2, ante=15_000)
    assert "CS-06" in floor.refused("ante", box=2, amount=15_000)  # a box is never shared
    assert "CS-06" in floor.refused("ante", box=3, amount=4_999)
    assert "CS-06" in floor.refused("ante", box=3, amount=1_000_001)
    assert "CS-02" in floor.refused("ante", box=8, amount=15_000)
    assert "CS-06" in floor.refused("progressive", box=3)  # needs an ante
    assert "no whole number" in floor.refused("ante", box=3, amount="150.00")
    assert "missing" in floor.refused("ante", box=3)
    floor.draw(count=1)
    assert "first card closed all betting" in floor.refused("progressive", box=2)
    floor.draw(count=9)
    for amount in (29_999, 30_001, 0, -30_000):
        assert "exactly 30000" in floor.refused("raise", box=2, amount=amount)
    floor.do("raise", box=2, amount=30_000)
    assert "CS-06" in floor.refused("raise", box=2, amount=30_000)


def test_cs_06_a_player_bets_on_one_box_only() -> None:
    floor = Floor()
    floor.bets()
    floor.do("ante", box=1, amount=ANTE, player="A")
    assert "one box" in floor.refused("ante", box=2, amount=ANTE, player="A")


def test_cs_06_bets_can_be_taken_back_until_the_first_card() -> None:
    floor = Floor()
    floor.bets(1, 2, progressive=(1,))
    floor.do("take-back", box=1, bet="progressive")
    floor.do("take-back", box=2)
    assert (floor.player(1), floor.player(2)) == (-ANTE, 0)
    assert "CS-06" in floor.refused("take-back", box=2)
    floor.do("take-back", box=1)
    floor.do("close-betting")
    assert floor.phase == "between-rounds"
    assert floor.game.round is None


def test_cs_05_there_are_three_bets() -> None:
    floor = Floor()
    floor.bets(1)
    assert "CS-05" in floor.refused("take-back", box=1, bet="insurance")


def test_cs_06_a_card_with_no_ante_opens_no_round_and_asks_for_a_shuffle() -> None:
    floor = Floor()
    floor.bets()
    floor.draw(count=1)
    assert floor.phase == "betting"
    assert "card-without-bets" in floor.table.faults
    assert "CS-03" in floor.refused("clear-fault", code="card-without-bets", text="seen")
    floor.do("shuffle")
    assert not floor.table.faults


def test_cs_06_decisions_are_final_and_in_any_order() -> None:
    floor = Floor()
    floor.bets(1, 2, 3)
    floor.deal(LOW, AK)
    floor.do("fold", box=3)
    floor.do("raise", box=1)
    assert "final" in floor.refused("fold", box=1)
    assert "CS-06" in floor.refused("settle")
    floor.do("fold", box=2)
    assert floor.phase == "settling"


def test_cs_06_s22_nobody_raises_and_nothing_is_shown() -> None:
    floor = Floor()
    floor.bets(2, 5, progressive=(5,))
    pool = floor.pool
    summary = floor.play({2: LOW[2], 5: "2S 5S 7S 9S JS"}, AK, folds=(2, 5))
    assert results(summary) == {2: ("lose", 0, 0), 5: ("lose", 0, 0)}
    assert summary["dealer"]["cards"] == [None, None, None, None, "3S"]
    assert all(row["cards"] is None for row in summary["boxes"])
    assert award(summary, 5) == 0
    assert floor.pool == pool + STAKE
    assert floor.player(5) == -ANTE - STAKE


# --- CS-07: the deal ----------------------------------------------------------------------


def test_cs_07_one_card_at_a_time_from_the_first_box_the_dealer_last() -> None:
    floor = Floor()
    floor.bets(2, 4, 7)
    summary = floor.play({2: LOW[1], 4: LOW[2], 7: LOW[3]}, AK)
    assert {row["box"]: " ".join(row["cards"]) for row in summary["boxes"]} == {
        2: LOW[1],
        4: LOW[2],
        7: LOW[3],
    }
    assert " ".join(summary["dealer"]["cards"]) == AK
    assert summary["cards_out"] == 20


def test_cs_07_the_shuffler_is_asked_for_one_packet_a_box_and_one_for_the_dealer() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1, 5, 6)
    floor.do("close-betting")
    deal = floor.commands()[0].command
    assert isinstance(deal, Deal)
    assert (deal.packets, deal.cards_each) == (4, 5)
    for index in range(4):
        floor.packet(index)
    assert floor.phase == "deciding"


@pytest.mark.parametrize(("index", "count"), [(0, 4), (0, 6), (1, 5)])
def test_cs_07_a_wrong_packet_is_a_wrong_number_of_cards(index: int, count: int) -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1)
    floor.do("close-betting")
    floor.packet(index, count)
    assert floor.phase == "void"
    assert floor.closed[-1]["irregularities"][-1]["clause"] == "CS-11a"


@pytest.mark.parametrize(("what", "right"), [("returned", 10), ("left", 42)])
def test_cs_07_a_count_that_differs_is_a_supervisors_fault_and_voids_nothing(what: str, right: int) -> None:
    for counted in (right, right - 1):
        floor = Floor(mode="shuffler" if what == "returned" else "shoe")
        floor.bets(1)
        if what == "returned":
            floor.packet(0)
            floor.packet(1)
        else:
            floor.draw(count=10)
        floor.do("fold", box=1)
        floor.do("settle")
        if what == "returned":
            floor.tell("SH-1", CardsReturned(counted))
        else:
            floor.do("count", cards=counted)
        assert ("count" in floor.table.faults) == (counted != right)
        if counted != right:
            assert "supervisor" in floor.refused("clear-fault", code="count", text="found it")
            floor.do("clear-fault", role="supervisor", code="count", text="found it")


def test_cs_07_a_lost_shoe_voids_nothing_and_the_dealer_goes_on_by_hand() -> None:
    floor = Floor()
    floor.bets(1)
    assert "CS-07" in floor.refused("card")
    row = [c for pair in zip(LOW[1].split(), AK.split(), strict=True) for c in pair]
    floor.draw(" ".join(row[:4]))
    floor.link("shoe", ready=False)
    for _ in range(6):
        floor.do("card")
    assert floor.phase == "deciding"
    floor.link("shoe", ready=True)
    floor.draw(" ".join(row[4:]))  # the shoe tells what it kept: the same cards, once
    assert floor.phase == "deciding"
    floor.do("raise", box=1)
    assert floor.phase == "settling"
    floor.do("settle")
    assert floor.closed[-1]["boxes"][0]["cards"] == LOW[1].split()


def test_cs_07_a_card_that_was_not_read_is_shown_at_the_showdown() -> None:
    floor = Floor()
    floor.bets(1)
    floor.tell("shoe", CardDrawn(None))
    row = [c for pair in zip(LOW[1].split(), AK.split(), strict=True) for c in pair]
    floor.draw(" ".join(row[1:]))
    floor.do("raise", box=1)
    assert floor.phase == "showdown"
    assert "CS-01" in floor.refused("reveal", box=1, cards="2D 4H 5S 7D 9S")
    floor.do("reveal", box=1, cards=LOW[1])
    assert floor.phase == "settling"


# --- CS-09: the main game -----------------------------------------------------------------


def one_box(player: str, dealer: str, **house: Any) -> tuple[str, int, int]:
    floor = Floor(rules(**house))
    floor.bets(1)
    return results(floor.play({1: player}, dealer))[1]


def test_cs_09_s6_the_dealer_does_not_qualify() -> None:
    floor = Floor()
    with_pool(floor, 400_000 * UNIT, bets=1)
    floor.bets(1, ante=200 * UNIT, progressive=(1,))
    summary = floor.play({1: "9H 8H 7H 6H 5H"}, "AS QD JC 10H 8S")
    assert results(summary)[1] == ("not-qualified", 200 * UNIT, 0)
    assert award(summary, 1) == 50_000 * UNIT
    assert floor.pool == 350_000 * UNIT
    assert summary["boxes"][0]["cards"] == "9H 8H 7H 6H 5H".split()  # opened for the award


def test_cs_09_cards_stay_face_down_when_the_dealer_does_not_qualify() -> None:
    floor = Floor()
    floor.bets(1)
    summary = floor.play({1: "8H 8S 7H 6H 5H"}, AQ)
    assert results(summary)[1] == ("not-qualified", ANTE, 0)
    assert summary["boxes"][0]["cards"] is None
    assert summary["dealer"] == {"cards": AQ.split(), "qualifies": False, "category": "no-pair"}


@pytest.mark.parametrize(
    ("player", "dealer", "won"),
    [
        ("AH KD QC JS 9D", "2D 2S 7C 9H JD", None),  # CS-S7: a pair without ace or king qualifies
        ("2H 2C 7D 9S JC", "2D 2S 7C 9H JD", None),
        ("9S 9D KH 8C 4D", "9H 9C KS 8D 4C", 1),  # CS-S8 a: the pair's spade
        ("QH QD 5S 5C 7D", "QS QC 5H 5D 7S", None),
        ("AS 2D 3C 4H 5H", "AH 2C 3D 4S 5S", None),  # the five decides, not the ace
        ("KH JH 9H 5H 3H", "KC JC 9C 5C 3C", 5),
        ("AD KH 8S 6S 4S", "AC KS 8H 6H 4H", None),
        ("10D 9S 8S 7S 6S", "10C 9D 8D 7D 6D", None),
    ],
)
def test_cs_08_s7_s8_who_wins(player: str, dealer: str, won: int | None) -> None:
    expected = ("lose", 0, 0) if won is None else ("win", ANTE, 2 * ANTE * won)
    assert one_box(player, dealer) == expected


@pytest.mark.parametrize(
    ("player", "odds"),
    [
        ("AS KH QD JC 4S", 1),
        ("2S 2H 5D 7C 9S", 1),
        ("5S 5H 7D 7C 9S", 2),
        ("5S 5H 5D 7C 9S", 3),
        ("5S 6H 7D 8C 9S", 4),
        ("2S 5S 7S 9S JS", 5),
        ("5S 5H 5D 7C 7S", 7),
        ("5S 5H 5D 5C 7S", 20),
        ("5S 6S 7S 8S 9S", 50),
        ("10S JS QS KS AS", 100),
    ],
)
def test_cs_09_the_pay_table(player: str, odds: int) -> None:
    assert one_box(player, "AC KD 10H 4C 3D") == ("win", ANTE, 2 * ANTE * odds)


def test_cs_09_s9_the_cap_is_for_the_last_three_ranks_only() -> None:
    hands = {1: "KS KH KD 4S 4H", 2: "9S 9H 9D 9C QS"}
    floor = Floor(rules(cap=10_000 * UNIT))
    floor.bets(1, 2, ante=1_000 * UNIT)
    summary = floor.play(hands, "AS AH KC 7D 2C")
    assert results(summary) == {
        1: ("win", 1_000 * UNIT, 14_000 * UNIT),
        2: ("win", 1_000 * UNIT, 10_000 * UNIT),
    }


@pytest.mark.parametrize(("scope", "second"), [("box", 300_000), ("table", 0)])
def test_cs_09_the_cap_holds_for_a_box_or_is_used_up_in_seat_order(scope: str, second: int) -> None:
    floor = Floor(rules(cap=300_000, cap_scope=scope))
    floor.bets(1, 2)
    summary = floor.play({1: "9S 9H 9D 9C QS", 2: "8S 8H 8D 8C QH"}, AK.replace("9H", "10H"))
    assert results(summary) == {1: ("win", ANTE, 300_000), 2: ("win", ANTE, second)}


def test_cs_09_a_declared_result_that_differs_stops_the_payment() -> None:
    floor = Floor()
    floor.bets(1)
    floor.deal({1: LOW[1]}, AK)
    floor.do("raise", box=1)
    floor.do("declare", box=1, result="win")
    assert "CS-09" in floor.refused("settle")
    floor.do("declare", box=1, result="lose")
    floor.do("settle")


def test_cs_09_with_a_counting_device_cards_are_shown_at_the_showdown() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1, 2)
    for index in range(3):
        floor.packet(index)
    floor.do("reveal", box="dealer", cards="3S")
    assert floor.game.round_view()["dealer"]["cards"] == [None, None, None, None, "3S"]  # type: ignore[index]
    floor.do("raise", box=1)
    floor.do("fold", box=2)
    assert "dealer opens" in floor.refused("reveal", box=1, cards=LOW[1])
    assert "CS-01" in floor.refused("reveal", box="dealer", cards="AC KD 9H 6C 4S")  # without the 3S
    floor.do("reveal", box="dealer", cards=AK)
    assert floor.phase == "showdown"
    assert "face down" in floor.refused("reveal", box=2, cards=LOW[2])  # it folded
    assert "CS-01" in floor.refused("reveal", box=1, cards="AC 4H 5S 7D 8S")  # the dealer's ace
    floor.do("reveal", box=1, cards=LOW[1])
    floor.do("settle")
    assert results(floor.closed[-1])[1] == ("lose", 0, 0)


# --- CS-10: the jackpot -------------------------------------------------------------------

ROYAL_S, ROYAL_H = "AS KS QS JS 10S", "AH KH QH JH 10H"
SF_C, SF_D = "9C 8C 7C 6C 5C", "9D 8D 7D 6D 5D"
FLUSH_D = "2D 4D 6D 8D 10D"
FULL = "3S 3H 3D 2S 2H"
NOTHING = "AD KD 9S 7H 2C"


def jackpot(hands: dict[int, str], pool: int, **house: Any) -> tuple[Floor, dict[str, Any]]:
    floor = Floor(rules(**house))
    with_pool(floor, pool, bets=len(hands))
    floor.bets(*hands, progressive=tuple(hands))
    return floor, floor.play(hands, NOTHING)


def test_cs_10_s10_stages_amounts_order_and_the_restart() -> None:
    hands = {1: ROYAL_S, 2: FLUSH_D, 3: SF_C, 6: FULL}
    floor, summary = jackpot(hands, 123_456_789)
    assert {n: award(summary, n) for n in hands} == {1: 111_111_111, 2: 50_000, 3: 12_345_678, 6: 100_000}
    assert summary["pay_order"] == [2, 3, 1, 6]
    assert floor.pool == 50_000_000
    assert summary["pool"]["awarded"] == 123_456_789
    assert floor.table.balances["house"] < 0


def test_cs_10_s10_turn_by_turn() -> None:
    hands = {1: ROYAL_S, 2: FLUSH_D, 3: SF_C, 6: FULL}
    _, summary = jackpot(hands, 123_456_789, award_base="turn")
    assert {n: award(summary, n) for n in hands} == {1: 111_061_111, 2: 50_000, 3: 12_345_678, 6: 100_000}


@pytest.mark.parametrize(("sharing", "each"), [("split_max", 250_000 * UNIT), ("each_max", 500_000 * UNIT)])
def test_cs_10_s11_two_royals_divide(sharing: str, each: int) -> None:
    floor, summary = jackpot({2: ROYAL_S, 6: ROYAL_H}, 400_000 * UNIT, royal_sharing=sharing)
    assert (award(summary, 2), award(summary, 6)) == (each, each)
    assert summary["pool"]["awarded"] == 400_000 * UNIT
    assert floor.pool == 500_000 * UNIT


def test_cs_10_two_royals_of_a_million() -> None:
    _, summary = jackpot({2: ROYAL_S, 6: ROYAL_H}, 1_000_000, royal_flush=1_000)
    assert (award(summary, 2), award(summary, 6)) == (500_000, 500_000)


def test_cs_10_an_indivisible_unit_stays_for_the_next_pool() -> None:
    floor, summary = jackpot({2: ROYAL_S, 6: ROYAL_H}, 1_000_001, royal_flush=1_000)
    assert (award(summary, 2), award(summary, 6)) == (500_000, 500_000)
    assert floor.pool == 50_000_001


def test_cs_10_s13_the_pool_runs_dry_between_two_straight_flushes() -> None:
    floor, summary = jackpot({3: SF_C, 7: SF_D}, 80_000 * UNIT, minimum=60_000 * UNIT)
    assert (award(summary, 3), award(summary, 7)) == (50_000 * UNIT, 50_000 * UNIT)
    assert summary["pool"]["awarded"] == 80_000 * UNIT
    assert floor.pool == 60_000 * UNIT


def test_cs_10_s14_a_pool_below_the_minimum_is_not_topped_up() -> None:
    floor, summary = jackpot({1: SF_C}, 510_000 * UNIT)
    assert award(summary, 1) == 51_000 * UNIT
    assert floor.pool == 459_000 * UNIT


def test_cs_10_s21_a_bet_carried_twice_contributes_once() -> None:
    floor = Floor(mode="shuffler")
    with_pool(floor, 600_000 * UNIT)
    floor.bets(2, progressive=(2,))
    floor.packet(0)
    floor.do("misdeal")
    floor.bets(2)
    assert "carried over" in floor.refused("progressive", box=2)
    floor.packet(0)
    floor.tell("SH-1", JAM)
    assert floor.closed[-1]["irregularities"][-1]["clause"] == "CS-11d"
    floor.do("use-shoe")
    floor.bets(2)
    assert floor.pool == 600_000 * UNIT + STAKE
    summary = floor.play({2: "2S 5S 7S 9S JS"}, AK)
    assert award(summary, 2) == 500 * UNIT
    assert floor.pool == 599_510 * UNIT
    assert floor.table.balances["award.3.2"] == 0


def test_cs_10_a_straight_flush_waits_for_the_supervisor_and_a_royal_for_it() -> None:
    floor, _ = jackpot({1: ROYAL_S, 3: SF_C, 5: FLUSH_D}, 1_000_000 * UNIT)
    owed = dict(floor.table.balances)
    assert owed["award.1.5"] == 500 * UNIT  # behind the others in the line: strictly in order
    assert "supervisor" in floor.refused("confirm-award", box=1)
    floor.do("confirm-award", role="supervisor", box=1)
    assert floor.table.balances["award.1.1"] == 900_000 * UNIT  # confirmed, waits for box 3
    assert "CS-10" in floor.refused("close-table")
    floor.do("confirm-award", role="supervisor", box=3)
    assert all(floor.table.balances[f"award.1.{box}"] == 0 for box in (1, 3, 5))
    assert "CS-10" in floor.refused("confirm-award", role="supervisor", box=3)


def test_cs_10_the_sign_names_the_winner_and_the_next_shuffle_shows_the_pool_again() -> None:
    floor, _ = jackpot({2: FLUSH_D}, 600_000 * UNIT)
    wanted = floor.table.rig.wanted
    assert (wanted.meter, wanted.announcement) == ("$599,500.00", "WINNER BOX 2 $500.00")
    floor.do("shuffle")
    wanted = floor.table.rig.wanted
    assert (wanted.meter, wanted.announcement) == ("$599,500.00", "")


def test_cs_10_without_a_progressive_bet_there_is_no_award() -> None:
    floor = Floor()
    floor.bets(1)
    assert award(floor.play({1: ROYAL_S}, NOTHING), 1) == 0


def test_cs_10_the_pool_falls_by_a_typed_correction_of_two_roles_only() -> None:
    floor = Floor()
    floor.open()
    assert "supervisor" in floor.refused("correct-pool", amount=-100, text="x")
    assert "second role" in floor.refused("correct-pool", role="supervisor", amount=-100, text="x")
    assert "missing" in floor.refused("correct-pool", role="supervisor", second="pit", amount=-100)
    too_much = {"amount": -50_000_001, "text": "x"}
    assert "not possible" in floor.refused("correct-pool", role="supervisor", second="pit", **too_much)
    floor.do("correct-pool", role="supervisor", second="pit", amount=-100, text="counted twice")
    assert floor.pool == 49_999_900


# --- CS-11: irregularities ----------------------------------------------------------------


def test_cs_11c_s1_a_card_for_a_box_without_a_bet() -> None:
    floor = Floor()
    floor.bets(1, 2, 4)
    cards = "KS QH 7S AD AC KD JH QC KH 8C 9H 10S 9D 5H 6H 7D 6C 3D 2H 4S 3S".split()
    floor.draw(" ".join(cards[:3]))
    floor.do("empty-box", box=3, first=3)
    floor.draw(" ".join(cards[3:]))
    floor.do("raise", box=1)
    floor.do("raise", box=2)
    floor.do("fold", box=4)
    floor.do("settle")
    summary = floor.closed[-1]
    assert summary["outcome"] == "settled"
    assert summary["cards_out"] == 21
    assert " ".join(summary["dealer"]["cards"]) == "AC KH 9D 6C 3S"
    assert results(summary) == {
        1: ("win", ANTE, 2 * ANTE),
        2: ("win", ANTE, 10 * ANTE),
        3: ("void", 0, 0),
        4: ("lose", 0, 0),
    }
    assert summary["irregularities"][0]["clause"] == "CS-11c"


def test_cs_11c_told_after_the_deal_seemed_complete_one_more_card_is_due() -> None:
    floor = Floor()
    floor.bets(1, 2, 4)
    floor.draw(count=20)
    floor.do("raise", box=1)
    assert floor.phase == "deciding"
    floor.do("empty-box", box=3, first=3)
    assert floor.phase == "dealing"
    assert floor.player(1) == -ANTE  # the raise came before the dealer's last card
    floor.draw(count=1)
    assert floor.phase == "deciding"
    assert floor.game.round is not None
    assert [len(floor.game.round.dealt.hands[p]) for p in (0, 1, 2, 3, 4)] == [5, 5, 5, 1, 5]


@pytest.mark.parametrize("told_after", [2, 4])
def test_cs_11c_a_packet_for_a_box_without_a_bet(told_after: int) -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1, 5)
    floor.do("close-betting")
    for index in range(min(told_after, 3)):
        floor.packet(index)
    floor.do("empty-box", box=3, first=2)
    for index in range(told_after, 3):
        floor.packet(index)
    extra = floor.commands()[0].command
    assert isinstance(extra, Deal)
    assert extra.packets == 1
    assert floor.phase == "dealing"
    floor.packet(0)
    assert floor.phase == "deciding"


def test_cs_11c_is_not_for_a_box_with_a_bet() -> None:
    floor = Floor()
    floor.bets(1, 2)
    floor.draw(count=3)
    assert "CS-11c" in floor.refused("empty-box", box=2, first=2)
    assert "CS-11c" in floor.refused("empty-box", box=3, first=4)


def test_cs_11b_s3_a_dealers_card_stays_up_and_the_fifth_goes_down() -> None:
    floor = Floor()
    floor.bets(1, 3)
    cards = "10S QS 9C 10D JS AH 7C 8D KD 5H 6H 6S 2D 4C 2H".split()
    floor.draw(" ".join(cards[:6]))
    floor.do("expose", box="dealer", card=2)
    floor.draw(" ".join(cards[6:]))
    view = floor.game.round_view()
    assert view is not None
    assert view["dealer"]["cards"] == [None, "AH", None, None, None]  # type: ignore[index]
    floor.do("raise", box=1)
    floor.do("fold", box=3)
    floor.do("settle")
    assert results(floor.closed[-1]) == {1: ("win", ANTE, 2 * ANTE), 3: ("lose", 0, 0)}


def test_cs_11b_s3_turned_up_all_the_same_it_is_the_second_exposure() -> None:
    floor = Floor()
    floor.bets(1, 3)
    floor.draw(count=6)
    floor.do("expose", box="dealer", card=2)
    floor.draw(count=9)
    floor.do("expose", box="dealer", card=5)
    assert floor.phase == "void"
    assert floor.closed[-1]["irregularities"][-1]["clause"] == "CS-11a"
    assert (floor.player(1), floor.player(3)) == (0, 0)


def test_cs_11b_s5_the_open_fifth_card_is_no_exposure() -> None:
    floor = Floor()
    floor.bets(3)
    floor.draw(count=5)
    floor.do("expose", box=3, card=3)
    floor.draw(count=5)
    assert floor.phase == "deciding"
    assert "no exposure" in floor.refused("expose", box="dealer", card=5)
    assert floor.game.round_view()["dealer"]["cards"][4] is not None  # type: ignore[index]


@pytest.mark.parametrize("place", ["dealer", 1])
@pytest.mark.parametrize("position", [1, 2, 3, 4, 5])
def test_cs_11b_one_exposed_card_of_any_hand_and_a_second_one_voids(place: object, position: int) -> None:
    floor = Floor()
    floor.bets(1, progressive=(1,))
    floor.draw(count=10)
    if place == "dealer" and position == 5:
        assert "CS-11b" in floor.refused("expose", box=place, card=position)
        return
    floor.do("expose", box=place, card=position)
    assert floor.phase == "deciding"
    assert "already" in floor.refused("expose", box=place, card=position)
    floor.do("expose", box=1, card=2 if (place, position) != (1, 2) else 3)
    assert floor.phase == "void"
    assert floor.player(1) == -STAKE
    assert floor.game.carried == {1: STAKE}


def test_cs_11b_a_card_face_up_in_the_shoe_counts() -> None:
    floor = Floor()
    floor.bets(1)
    floor.draw(count=1, face_up=True)
    assert floor.phase == "dealing"
    floor.draw(count=1, face_up=True)
    assert floor.phase == "void"


def test_cs_11b_a_boxed_card_as_the_open_fifth_is_none() -> None:
    floor = Floor()
    floor.bets(1)
    floor.draw(count=1, face_up=True)
    floor.draw(count=8)
    floor.draw(count=1, face_up=True)
    assert floor.phase == "deciding"


def test_cs_11a_s17_a_card_too_many_during_the_decisions() -> None:
    floor = Floor()
    floor.bets(1, 2, 3, progressive=(2,))
    floor.draw(count=20)
    floor.do("raise", box=1)
    floor.do("fold", box=3)
    floor.draw(count=1)
    assert floor.phase == "void"
    assert [floor.player(b) for b in (1, 2, 3)] == [0, -STAKE, 0]
    assert floor.game.carried == {2: STAKE}
    assert floor.closed[-1]["cards_out"] == 21
    assert floor.table.rig.wanted.announcement == "VOID"


def test_cs_11a_the_folded_box_gets_its_ante_back_and_its_progressive_carries() -> None:
    floor = Floor()
    floor.bets(1, 2, progressive=(1,))
    floor.draw(count=15)
    floor.do("fold", box=1)
    floor.do("misdeal", text="wrong order")
    assert floor.player(1) == -STAKE
    assert floor.game.carried == {1: STAKE}


def test_cs_11d_s15_the_machine_fails_while_dealing() -> None:
    floor = Floor(mode="shuffler")
    with_pool(floor, 50_000 * UNIT)
    floor.bets(1, 3, 6, progressive=(1, 6))
    floor.do("close-betting")
    floor.packet(0)
    floor.packet(1)
    floor.tell("SH-1", JAM)
    assert floor.phase == "void"
    assert floor.pool == 50_020 * UNIT
    assert [floor.player(b) for b in (1, 3, 6)] == [-STAKE, 0, -STAKE]
    assert "CS-11d" in floor.refused("use-shuffler", id="SH-1")
    floor.do("use-shuffler", id="SH-2")
    assert "CS-11d" in floor.refused("use-shuffler", id="SH-1")
    assert "supervisor" in floor.refused("accept-device", id="SH-1")
    floor.bets(1, 3, progressive=(3,))
    floor.packet(0)
    assert floor.pool == 50_030 * UNIT
    assert floor.game.round is not None
    assert floor.game.round.boxes[1].progressive is not None
    assert floor.game.round.boxes[1].progressive.carried
    floor.do("misdeal")
    assert "supervisor" in floor.refused("refund-carried", box=6)
    floor.do("refund-carried", role="supervisor", box=6)
    assert floor.player(6) == 0
    assert floor.pool == 50_030 * UNIT
    assert "CS-11" in floor.refused("refund-carried", role="supervisor", box=6)
    floor.do("accept-device", role="supervisor", id="SH-1")
    floor.do("use-shuffler", id="SH-1")


def test_cs_11d_s16_before_the_first_packet_nothing_is_void() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1, 3)
    floor.do("close-betting")
    floor.tell("SH-1", JAM)
    assert floor.phase == "betting"
    assert "CS-03" in floor.refused("close-betting")
    assert "CS-11d" in floor.refused("use-shuffler", id="SH-1")
    floor.do("use-shoe")
    floor.shuffle()
    floor.draw(count=15)
    assert floor.phase == "deciding"
    assert floor.game.round is not None
    assert sorted(floor.game.round.boxes) == [1, 3]


def test_cs_11d_s16_after_the_last_packet_the_round_stands() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1)
    floor.packet(0)
    floor.packet(1, taken=False)
    floor.tell("SH-1", JAM)
    assert floor.phase == "deciding"
    floor.do("fold", box=1)
    floor.do("settle")
    assert floor.closed[-1]["outcome"] == "settled"


def test_cs_11d_a_restart_of_the_machine_is_a_failure_a_lost_link_alone_is_none() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1)
    floor.packet(0)
    floor.link("SH-1", ready=False)
    assert floor.phase == "dealing"
    floor.link("SH-1", ready=True)
    floor.tell("SH-1", Restarted())
    assert floor.phase == "void"
    assert floor.closed[-1]["irregularities"][-1]["clause"] == "CS-11d"


def test_cs_11_a_reminder_of_the_machine_is_no_failure() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1)
    floor.packet(0)
    floor.tell("SH-1", FaultSet(16, "service due", stops_deal=False))
    assert floor.phase == "dealing"


def test_cs_11_carried_is_for_the_very_next_round_only() -> None:
    floor = Floor()
    floor.bets(1, 2, progressive=(1, 2))
    floor.draw(count=1)
    floor.do("misdeal")
    floor.bets(2)
    floor.draw(count=10)
    floor.do("fold", box=2)
    floor.do("settle")
    assert floor.game.carried == {}
    assert floor.game.refundable == {1: STAKE}
    floor.bets(1)
    assert floor.game.round is not None
    assert floor.game.round.boxes[1].progressive is None


def test_cs_11_a_taken_back_ante_leaves_the_carried_bet_for_that_round() -> None:
    floor = Floor()
    floor.bets(1, progressive=(1,))
    floor.draw(count=1)
    floor.do("misdeal")
    floor.bets(1)
    floor.do("take-back", box=1)
    assert floor.game.carried == {1: STAKE}
    floor.do("ante", box=1, amount=ANTE)
    assert floor.game.round is not None
    assert floor.game.round.boxes[1].progressive is not None


def test_face_down_cards_are_in_no_view_and_no_text() -> None:
    floor = Floor()
    floor.bets(1, 2)
    floor.deal({1: "KS KD 8C 5H 4D", 2: "QH JH 9H 6H 2H"}, "AS QC 9D 6C 3S")
    said = repr((floor.picture(), floor.game.round, floor.table.view(), floor.last))
    for text in "KS KD 8C QH JH 9H AS QC".split():
        assert f"'{text}'" not in said
    assert "'3S'" in said
    assert card("KS") != card("KD")
