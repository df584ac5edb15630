"""The worked cases of five-card stud, each by its id, with their exact figures. Units of 1.00.

They rest on: S1 FC-05 · S2 FC-04, FC-09 · S3 FC-10 · S4, S5 FC-11 · S6 FC-12 · S7 FC-13 · S9, S11 FC-09,
FC-15 · S13 FC-18 · S15 FC-06 · S16 FC-02 · S17 FC-03 · S19 FC-10 · S20 FC-19 · S21 FC-14 · S22 FC-09.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from daemon.games.five_card import FiveCardRules
from daemon.games.five_card.rules import FORTY
from daemon.games.hands import rank_104_85
from daemon.games.pots import Pot, rake_of, share
from drivers.cards import parse_cards
from tests.table.five_card.floor import HIGH, RULES, UNIT, Floor, rules

WHOLE = rules(pay_unit=UNIT)


@pytest.mark.parametrize(
    ("one", "other", "outcome"),
    [
        ("AS 5D 6C 7H 8S", "5S 6H 7D 8C 9S", "second"),
        ("AH 5H 6H 7H 8H", "5C 6C 7C 8C 9C", "second"),
        ("AH 5H 6H 7H 8H", "KS KH KD KC AS", "first"),
        ("8S 8H 8D 5S 5H", "AC KC QC JC 9C", "first"),
        ("KH JH 10H 8H 6H", "KC JC 10C 8C 6C", "tie"),
        ("AS KS QS JS 10S", "AD KD QD JD 10D", "tie"),
    ],
)
def test_fc_s1_which_hand_wins(one: str, other: str, outcome: str) -> None:
    orders = {1: rank_104_85(parse_cards(one)), 2: rank_104_85(parse_cards(other))}
    won = share(Pot(200, (1, 2)), orders, 0, 1).won
    assert dict(won) == {"first": {1: 200}, "second": {2: 200}, "tie": {1: 100, 2: 100}}[outcome]


def test_fc_s2_the_odd_unit_goes_to_the_first_in_dealing_order() -> None:
    rake = rake_of(226_500, 4, UNIT)
    assert rake == 9_000
    assert share(Pot(226_500, (2, 5)), {2: 7, 5: 7}, rake, UNIT).won == {2: 108_800, 5: 108_700}


def test_fc_s2_at_the_table() -> None:
    """Seat 5 had the best four up cards: it turns last, and gets no odd unit for it."""
    floor = Floor(WHOLE)
    floor.start(2, 5, 7)
    floor.first_deal({2: "KS 8H", 5: "AS 8D", 7: "9S 5C"})
    floor.bet(5, 705)
    floor.call(7, 2)  # 40 + 2,115 in the pot
    floor.street({2: "AH", 5: "KH", 7: "10D"})
    floor.bet(2, 55)
    floor.call(5)
    floor.fold(7)
    floor.street({2: "QH", 5: "QD"})
    floor.check_round()
    floor.street({2: "6C", 5: "6S"})
    floor.check_round()
    assert floor.pot == 2_265 * UNIT
    assert floor.show() == [2, 5]
    before = floor.stack(2), floor.stack(5)
    account = floor.settle()
    assert account["rake"] == {"first": 2_000, "pots": 9_000}
    assert (floor.stack(2) - before[0], floor.stack(5) - before[1]) == (108_800, 108_700)


@pytest.fixture
def s3() -> Floor:
    floor = Floor()
    floor.start(1, 2, 3, 4)
    floor.first_deal({1: "QD", 2: "KC", 3: "KH", 4: "9S"})
    assert floor.pot == 60 * UNIT
    return floor


def test_fc_s3_who_declines_to_open_is_out(s3: Floor) -> None:
    assert s3.game.round is not None
    assert s3.game.round.queue == [3, 2, 1, 4]
    s3.fold(3, 2)
    s3.bet(1, 40)
    assert s3.turn == 4
    s3.call(4)
    assert s3.next_seat() == 1


def test_fc_s3_the_last_one_wins_unseen(s3: Floor) -> None:
    s3.fold(3, 2, 1)
    before = s3.stack(4)
    account = s3.settle()
    assert s3.stack(4) - before == 5_760
    assert account["rake"] == {"first": 2_000, "pots": 240}
    assert all(seat["cards"][1] is None for seat in account["seats"])


@pytest.fixture
def s4() -> Floor:
    floor = Floor()
    floor.start(1, 2, 3, 4)
    floor.first_deal({1: "10S", 2: "8H", 3: "AD", 4: "6C"})
    floor.bet_and_call(100)
    floor.street({1: "7D", 2: "8C", 3: "KC", 4: "KH"})
    return floor


def test_fc_s4_the_turn_goes_by_cards_until_somebody_bets(s4: Floor) -> None:
    assert s4.turn == 2
    s4.check(2)
    assert s4.turn == 4
    s4.bet(4, 100)
    s4.call(1)
    assert s4.turn == 2
    assert s4.refused("raise", seat=2, amount=20_000).startswith("FC-11 ")
    s4.call(2, 3)
    assert s4.street({1: "5S", 2: "5D", 3: "5C", 4: "5H"}) == [2, 3, 4, 1]


def test_fc_s4_had_the_first_one_folded(s4: Floor) -> None:
    s4.fold(2)
    s4.bet(4, 100)
    s4.call(1, 3)
    assert s4.street({1: "5S", 3: "5C", 4: "5H"}) == [4, 1, 3]


def test_fc_s5_the_door_ace_does_not_count() -> None:
    floor = Floor()
    floor.start(1, 2)
    floor.first_deal({1: "AS", 2: "7D"})
    floor.bet_and_call(100)
    floor.street({1: "6D", 2: "KC"})
    assert floor.turn == 2


@pytest.mark.parametrize(("seats", "order"), [((1, 2, 3), [2, 3, 1]), ((1, 3), [3, 1])])
def test_fc_s6_the_third_betting_round(seats: tuple[int, ...], order: list[int]) -> None:
    hands = {1: "9S 9H 7D", 2: "JC 8D 8S", 3: "6S 5H QD"}
    doors, seconds, thirds = ({s: hands[s].split()[i] for s in seats} for i in range(3))
    floor = Floor()
    floor.start(*seats)
    floor.first_deal(doors)
    floor.bet_and_call(100)
    floor.street(seconds)
    floor.check_round()
    floor.street(thirds)
    assert floor.game.round is not None
    assert floor.game.round.queue == order


def test_fc_s7_the_fourth_betting_round() -> None:
    floor = Floor()
    floor.start(1, 2, 3, 4)
    floor.to_fourth({1: "10S AD 9S 8S 6S", 2: "7H AC 7D 7C KD", 3: "9D AS 8H 7S 6C", 4: "AH QS KH QH 10H"})
    assert floor.game.round is not None
    assert floor.game.round.queue == [4, 1, 3, 2]


def test_fc_s9_main_and_side_pot() -> None:
    floor = Floor(WHOLE)
    floor.seat({1: 535, 2: 1_000 - 65, 3: 10_000, 4: 10_000})
    floor.antes(1, 2, 3, 4)
    floor.burn()
    floor.first_deal({1: "AS AH", 2: "KS KH", 3: "QS QH", 4: "5S 6H"})
    floor.bet_and_call(100)
    floor.street({1: "7S", 2: "8S", 3: "9S", 4: "10S"})
    floor.bet(4, 415)
    floor.call(1, 2, 3)
    assert floor.stack(1) == 0
    floor.street({1: "7H", 2: "8D", 3: "9H", 4: "10D"})
    assert floor.turn == 4
    floor.bet(4, 320)
    floor.call(2, 3)
    floor.street({1: "6S", 2: "5D", 3: "JS", 4: "5C"})
    floor.check(4)
    assert floor.turn == 3  # the tens' fifth card is lower; seat 1 is all-in
    floor.bet(3, 500)
    floor.fold(4)
    floor.call(2)
    assert floor.stack(2) == 0
    floor.show()
    before = {seat: floor.stack(seat) for seat in (1, 2, 3)}
    account = floor.settle()
    assert [(pot["amount"], pot["rake"]) for pot in account["pots"]] == [(212_000, 8_400), (112_000, 4_400)]
    gained = {seat: floor.stack(seat) - before[seat] for seat in (1, 2, 3)}
    assert gained == {1: 203_600, 2: 107_600, 3: 42_000}
    assert floor.table.balances["house.rake"] == 14_800


@pytest.fixture
def s11() -> Floor:
    floor = Floor()
    floor.start(1, 2, 3)
    floor.first_deal({1: "AS", 2: "KS", 3: "QS"})
    floor.bet_and_call(100)
    floor.street({1: "AD", 2: "8D", 3: "7D"})
    floor.bet(1, 200)
    floor.call(2)
    floor.fold(3)
    floor.street({1: "9D", 2: "KD"})
    floor.check_round()
    floor.street({1: "10D", 2: "9S"})
    return floor


def test_fc_s11_only_what_nobody_followed_is_not_raked(s11: Floor) -> None:
    s11.bet(1, 500)
    s11.rise(2, 1_200)
    s11.fold(1)
    before = s11.stack(2)
    account = s11.settle()
    assert account["pots"][0]["amount"] == 174_000
    assert account["rake"]["pots"] == 6_960
    assert s11.stack(2) - before == 237_040


def test_fc_s13_an_exposed_hole_card_takes_the_ante_back() -> None:
    floor = Floor(HIGH)
    floor.start(1, 2)
    floor.first_deal({1: "AS", 2: "KS"})
    assert floor.pot == 100 * UNIT
    before = floor.stack(1), floor.stack(2)
    floor.do("expose-hole", seat=2)
    assert (floor.phase, floor.pot, floor.stack(2) - before[1]) == ("settling", 0, 100 * UNIT)
    account = floor.settle()
    assert floor.stack(1) == before[0]
    assert account["rake"] == {"first": 10_000, "pots": 0}


def test_fc_s13_both_exposed_the_house_adds_what_is_lacking() -> None:
    floor = Floor(HIGH)
    floor.start(1, 2)
    floor.first_deal({1: "AS", 2: "KS"})
    before = floor.stack(1), floor.stack(2)
    floor.do("expose-hole", seat=2)
    floor.do("expose-hole", seat=1)
    floor.settle()
    assert (floor.stack(1) - before[0], floor.stack(2) - before[1]) == (100 * UNIT, 100 * UNIT)
    assert floor.table.balances["house"] == -100 * UNIT


@pytest.mark.parametrize("measured", ["during_round", "round_end"])
@pytest.mark.parametrize(
    ("house", "stack", "owes"), [(RULES, 500, 0), (RULES, 495, 1_505), (HIGH, 1_000, 0), (HIGH, 995, 4_005)]
)
def test_fc_s15_who_ends_below_has_to_top_up(
    house: FiveCardRules, stack: int, owes: int, measured: str
) -> None:
    house = replace(house, topup_measured=measured)
    floor = Floor(house)
    floor.seat({1: stack + 100 + house.ante // UNIT, 2: 10_000})
    floor.antes(1, 2)
    floor.burn()
    floor.first_deal({1: "AS", 2: "KS"})
    floor.bet(1, 100)
    floor.rise(2, 200)
    floor.fold(1)
    floor.settle()
    _has_to_top_up(floor, stack, owes)


@pytest.mark.parametrize(
    ("measured", "bet", "callers", "ends", "owes"),
    [
        ("during_round", 510, (2, 3), 1_950, 50),
        ("round_end", 510, (2, 3), 1_950, 0),
        ("during_round", 390, (2, 3, 4), 2_000, 0),
    ],
)
def test_fc_s15_who_was_below_meanwhile(
    measured: str, bet: int, callers: tuple[int, ...], ends: int, owes: int
) -> None:
    """Down to 380 in the round; to keep the figures of the case the pot is not raked."""
    floor = Floor(rules(topup_measured=measured, rake_percent=0))
    floor.seat({1: 380 + bet + 20, **dict.fromkeys(callers, 10_000)})
    floor.antes(1, *callers)
    floor.burn()
    floor.first_deal({1: "AS", **{seat: f"{'--KQJ'[seat]}S" for seat in callers}})
    floor.bet_and_call(bet)
    floor.street({1: "AD", **{seat: f"{5 + seat}D" for seat in callers}})
    floor.check(1)
    floor.fold(*list(floor.game.round.queue))  # type: ignore[union-attr]
    floor.settle()
    _has_to_top_up(floor, ends, owes)


def _has_to_top_up(floor: Floor, stack: int, owes: int) -> None:
    """And cannot ante before it did."""
    assert floor.stack(1) == stack * UNIT
    assert floor.table.view()["seats"][0]["owes"] == owes * UNIT  # type: ignore[index]
    if owes:
        assert floor.refused("ante", seat=1).startswith("FC-06 ")
        floor.do("top-up", seat=1, amount=owes * UNIT - 1)
        assert floor.refused("ante", seat=1).startswith("FC-06 ")
        floor.do("top-up", seat=1, amount=1)
    floor.do("ante", seat=1)


def test_fc_s16_a_deck_serves_ten_rounds() -> None:
    floor = Floor()
    floor.seat({1: 50_000, 2: 50_000})
    for number in range(10):
        floor.antes(1, 2)
        floor.burn()
        if number == 3:
            floor.do("card", seat=2, card="KS")
            floor.do("correct-deal", text="the door card fell to seat 2")
        else:
            floor.card("AS")
        floor.card("QS")
        floor.card()
        floor.card()
        floor.fold(floor.turn or 0)
        floor.settle()
    floor.do("shuffle")
    assert floor.refused("ante", seat=1) == "FC-02 this deck has served 10 rounds"
    floor.do("new-deck")
    floor.antes(1, 2)
    floor.burn()
    assert floor.game.deck.rounds == 1


def test_fc_s16_a_new_deck_starts_the_count() -> None:
    floor = Floor()
    for _ in range(3):
        floor.start(1, 2)
        floor.first_deal({1: "AS", 2: "KS"})
        floor.fold(1)
        floor.settle()
    assert floor.game.deck.rounds == 3
    floor.do("new-deck")
    assert floor.game.deck.rounds == 0


def test_fc_s17_seven_hands_eight_antes_one_ante() -> None:
    floor = Floor()
    floor.seat(dict.fromkeys(range(1, 9), 10000))
    floor.do("shuffle")
    floor.do("ante", seat=1)
    assert floor.refused("burn").startswith("FC-03 a round needs 2 antes")
    floor.antes(*range(2, 8), shuffle=False)
    told = floor.refused("ante", seat=8)
    assert told.startswith("FC-03 8 hands need 40 cards, and 39 are left of 40")
    floor.burn()
    floor.first_deal(dict.fromkeys(range(1, 8), ""))
    floor.bet_and_call(100)
    for _ in range(3):
        floor.street(dict.fromkeys(range(1, 8), ""))
        floor.check_round()
    view = floor.game.round_view()
    assert view is not None
    assert (floor.phase, view["cards_out"]) == ("showdown", 36)
    floor.show()
    assert len(FORTY) - floor.settle()["cards_out"] == 4


@pytest.mark.parametrize(
    ("min_raise", "least", "over"), [("last_increment", 400, 480), ("last_total", 500, 580)]
)
def test_fc_s19_the_smallest_raise(min_raise: str, least: int, over: int) -> None:
    floor = Floor(rules(min_raise=min_raise, smallest_chip=1_000))
    floor.start(1, 2, 3, 4)
    floor._shorten(4, 330 * UNIT)
    floor.first_deal({1: "AS", 2: "KS", 3: "QS", 4: "JS"})
    floor.bet(1, 100)
    assert floor.refused("raise", seat=2, amount=19_000).startswith("FC-10 ")
    floor.rise(2, 250)
    assert floor.refused("raise", seat=3, amount=38_000).startswith("FC-10 ")
    assert floor.refused("raise", seat=3, amount=(least - 10) * UNIT).startswith("FC-10 ")
    floor.fold(3)
    floor.rise(4, 330)
    assert floor.stack(4) == 0
    assert floor.turn == 1
    assert floor.refused("raise", seat=1, amount=(over - 10) * UNIT).startswith("FC-10 ")
    floor.rise(1, over)
    assert floor.turn == 2


def test_fc_s19_the_full_raise_is_taken() -> None:
    floor = Floor()
    floor.start(1, 2, 3)
    floor.first_deal({1: "AS", 2: "KS", 3: "QS"})
    floor.bet(1, 100)
    floor.rise(2, 250)
    floor.rise(3, 400)
    assert floor.turn == 1


def test_fc_s20_cards_that_fell_wrong_are_put_right() -> None:
    floor = Floor()
    floor.start(1, 2, 3, 4)
    floor.first_deal({1: "9S", 2: "AS", 3: "7S", 4: "6S"})
    floor.bet_and_call(100)
    floor.do("card", seat=3, card="8D")
    floor.do("card", seat=4, card="KC")
    floor.do("correct-deal", text="one place too far")
    now = floor.game.round
    assert now is not None
    assert [now.hands[seat].cards[-1].open.text for seat in (2, 3)] == ["8D", "KC"]  # type: ignore[union-attr]
    assert floor.next_seat() == 4
    assert len(now.out) == 1 + 8 + 2
    told = floor.notes[-1]
    assert told.clause == "FC-19"
    assert "8D fell to seat 3, is of seat 2; KC fell to seat 4, is of seat 3" in told.detail
    assert "one place too far (confirmed by dealer)" in told.detail
    floor.street({4: "5S", 1: "5H"})
    assert floor.phase == "speaking"


def test_fc_s21_who_turns_first() -> None:
    floor = Floor()
    floor.start(1, 2, 3, 4)
    floor.first_deal({1: "9S", 2: "8S", 3: "AS", 4: "7S"})
    floor.bet(3, 100)
    floor.fold(4)
    floor.call(1, 2)
    for cards in ({1: "9D", 2: "8D", 3: "AD"}, {1: "6D", 2: "5D", 3: "AC"}, {1: "QS", 2: "JS", 3: "AH"}):
        floor.street(cards)
        floor.check_round()
    assert floor.show() == [1, 2, 3]


def test_fc_s21_no_hole_card_is_turned_when_all_others_fold() -> None:
    floor = Floor(mode="shoe")
    floor.start(1, 2, 3, 4)
    floor.first_deal({1: "9S QH", 2: "8S QD", 3: "AS QC", 4: "7S QS"})
    floor.bet(3, 100)
    floor.fold(4, 1, 2)
    assert floor.refused("reveal", seat=3).startswith("FC-14 ")
    account = floor.settle()
    assert [seat["cards"] for seat in account["seats"]] == [
        ["9S", None],
        ["8S", None],
        ["AS", None],
        ["7S", None],
    ]
    assert "Q" not in str(account["seats"])


@pytest.mark.parametrize(
    ("unfollowed", "base", "rake"), [("any_round", 240, 960), ("fourth_round", 740, 2_960)]
)
def test_fc_s22_an_unfollowed_bet_before_the_last_round(unfollowed: str, base: int, rake: int) -> None:
    floor = Floor(rules(unfollowed_unraked=unfollowed))
    floor.start(1, 2, 3)
    floor.first_deal({1: "AS", 2: "KS", 3: "QS"})
    floor.bet(1, 100)
    floor.call(2)
    floor.fold(3)
    floor.street({1: "AD", 2: "8D"})
    floor.bet(1, 500)
    floor.fold(2)
    before = floor.stack(1)
    account = floor.settle()
    assert (account["pots"][0]["amount"], account["rake"]["pots"]) == (base * UNIT, rake)
    assert floor.stack(1) - before == 740 * UNIT - rake
