"""104/85/M clause by clause, at the table. The worked cases are in test_scenarios."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daemon.games.desk import TimeUp
from daemon.rig import BY_HAND
from drivers.base import CardDrawn, CoverMoved, Restarted
from drivers.cards import FaceDownCard, parse_card
from tests.table.five_card.floor import HIGH, RULES, UNIT, Floor, at_showdown, opened, rules, second_round

# --- FC-01, FC-02, FC-03 ---------------------------------------------------------------------


@pytest.mark.parametrize("text", ["2S", "4H", "JOKER", "KX", "AS 5S"])
def test_fc01_only_the_forty_are_keyed(text: str) -> None:
    floor = Floor()
    floor.start(1, 2)
    assert floor.refused("card", seat=1, card=text).startswith("FC-01 ")


def test_fc01_a_card_twice_is_refused() -> None:
    floor = Floor()
    floor.start(1, 2)
    floor.card("AS")
    assert floor.refused("card", seat=2, card="AS") == "FC-01 that card is on the table already"


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (CardDrawn(FaceDownCard(parse_card("2S"))), "foreign-card"),
        (CardDrawn(None, foreign=True), "foreign-card"),
        (CardDrawn(FaceDownCard(parse_card("AS"))), "duplicate-card"),
    ],
)
def test_fc19_a_deck_in_doubt_halts_until_the_true_card_is_keyed(event: CardDrawn, code: str) -> None:
    floor = opened("shoe")
    floor.bet_and_call(100)
    floor.tell("shoe", event)
    assert code in floor.table.faults
    floor.street({2: "9S", 3: "8S"})
    assert floor.phase == "dealing"  # seat 1's card is not known
    assert floor.refused("card", seat=1, card="10S").startswith("FC-19 ")
    floor.do("clear-fault", code=code, text="misread")
    assert floor.refused("card", seat=1, card="AS") == "FC-01 that card is on the table already"
    floor.do("card", seat=1, card="10S")
    assert (floor.phase, floor.turn) == ("speaking", 1)


def test_fc19_a_wrong_deck_is_a_supervisor_s_to_void_and_everybody_gets_all_back() -> None:
    floor = second_round("shoe")
    floor.bet(1, 500)
    assert floor.refused("wrong-deck", text="two aces").startswith("FC-19 ")
    floor.do("wrong-deck", role="supervisor", text="two aces of spades")
    assert [floor.stack(seat) for seat in (1, 2, 3)] == [10_000 * UNIT] * 3
    assert floor.table.balances["house.rake"] == 0
    assert floor.closed[-1]["outcome"] == "void"
    assert floor.refused("ante", seat=1).startswith(" fault new-deck")
    assert floor.refused("clear-fault", code="new-deck", text="it is fine").startswith(" fault new-deck")
    floor.do("new-deck")
    floor.do("ante", seat=1)


def test_fc02_a_shuffle_before_every_round() -> None:
    floor = opened()
    floor.fold(1, 2)
    floor.settle()
    floor.do("ante", seat=1)
    floor.do("ante", seat=2)
    assert floor.refused("burn") == "FC-02 the deck is not shuffled for this round"
    floor.do("shuffle")
    floor.do("burn")


def test_fc02_cuts() -> None:
    floor = Floor()
    floor.seat({1: 9_000, 2: 9_000, 3: 9_000})
    assert floor.refused("cut", seat=1, cards=20).startswith("FC-02 ")
    floor.do("shuffle")
    for cards in (5, 0, -6, 40):
        assert floor.refused("cut", seat=1, cards=cards).startswith("FC-02 ")
    floor.do("cut", seat=1, cards=6)
    floor.do("cut", seat=2, cards=34)
    assert floor.refused("cut", seat=3, cards=20) == "FC-02 two players have cut, and no third one may"
    floor.do("shuffle")
    floor.do("cut", seat=3, cards=20)


def test_fc02_the_first_card_is_burned_and_never_shown() -> None:
    floor = Floor(mode="shoe")
    floor.seat({1: 9_000, 2: 9_000})
    floor.antes(1, 2)
    floor.burn("AS")
    assert floor.phase == "dealing"
    floor.first_deal({1: "KS 5D", 2: "QS 5C"})
    assert "AS" not in repr((floor.table.view(), floor.game.round_view()))
    assert floor.turn == 1


@pytest.mark.parametrize("mode", ["shoe", BY_HAND])
def test_fc02_a_card_out_of_an_unshuffled_deck(mode: str) -> None:
    floor = Floor(mode=mode)
    floor.seat({1: 9_000, 2: 9_000})
    floor.antes(1, 2, shuffle=False)
    if mode == BY_HAND:
        assert floor.refused("burn").startswith("FC-02 ")
        return
    floor.burn("AS")
    assert (floor.phase, list(floor.table.faults)) == ("antes", ["card-without-shuffle"])
    floor.do("shuffle")
    assert not floor.table.faults
    floor.burn("AS")
    assert floor.phase == "dealing"


def test_fc03_one_seat_each_and_none_beyond_the_table() -> None:
    floor = Floor(rules(seats=6))
    floor.do("open-table")
    floor.do("buy-in", seat=1, amount=200_000, player="Ada")
    assert floor.refused("buy-in", seat=1, amount=200_000).startswith("FC-03 ")
    assert floor.refused("buy-in", seat=2, amount=200_000, player="Ada").startswith("FC-03 ")
    assert floor.refused("buy-in", seat=7, amount=200_000).startswith("FC-03 there is no seat 7")
    assert floor.refused("buy-in", seat=0, amount=200_000).startswith("FC-03 ")


def test_fc03_a_seat_with_a_hand_in_the_round_is_not_taken() -> None:
    floor = opened()
    floor.do("leave", seat=1)
    assert floor.refused("buy-in", seat=1, amount=200_000).startswith("FC-03 ")


# --- FC-06, FC-07, FC-08 ---------------------------------------------------------------------


@pytest.mark.parametrize(("house", "least"), [(RULES, 200_000), (HIGH, 500_000)])
def test_fc06_the_smallest_buy_in(house: object, least: int) -> None:
    floor = Floor(replace(RULES, ante=2_000) if house is RULES else HIGH)
    floor.do("open-table")
    assert floor.refused("buy-in", seat=1, amount=least - 1).startswith("FC-06 ")
    floor.do("buy-in", seat=1, amount=least)
    floor.do("buy-in", seat=2, amount=10**9)  # there is no maximum
    assert floor.table.balances["player.1"] == -least


def test_fc06_no_chips_are_added_to_a_hand_and_none_taken_away() -> None:
    floor = opened()
    assert floor.refused("top-up", seat=1, amount=100).startswith("FC-06 ")
    assert floor.refused("take-back", seat=1).startswith("FC-06 ")
    assert floor.refused("leave", seat=2).startswith("FC-17 ")
    floor.fold(1)
    floor.do("top-up", seat=1, amount=100)


def test_fc06_before_the_burn_an_ante_can_be_taken_back() -> None:
    floor = Floor()
    floor.seat({1: 9_000, 2: 9_000})
    floor.antes(1, 2)
    assert floor.refused("leave", seat=1).startswith("FC-06 ")
    floor.do("take-back", seat=1)
    assert (floor.stack(1), floor.pot) == (9_000 * UNIT, 20 * UNIT)
    floor.do("take-back", seat=2)
    assert (floor.phase, floor.pot) == ("between-rounds", 0)


def test_fc06_who_leaves_at_his_turn_takes_what_he_has_not_bet() -> None:
    floor = second_round()
    floor.bet(1, 200)
    floor.do("leave", seat=2)
    assert floor.table.balances["player.2"] == -120 * UNIT
    assert floor.pot == (40 + 300 + 200) * UNIT
    floor.fold(3)
    assert floor.phase == "settling"
    account = floor.settle()
    assert [seat["status"] for seat in account["seats"]] == ["in", "folded", "folded"]


def test_fc06_the_ante_is_one_for_all() -> None:
    floor = Floor()
    floor.seat({1: 9_000})
    assert floor.refused("ante", seat=1, amount=10_000).startswith("FC-06 ")
    assert floor.refused("ante", seat=2) == "FC-06 nobody sits at seat 2"
    floor.do("ante", seat=1, amount=2_000)
    assert floor.refused("ante", seat=1).startswith("FC-06 ")


def test_fc08_the_first_rake_is_booked_with_the_burn_before_any_card() -> None:
    floor = Floor()
    floor.seat({1: 9_000, 2: 9_000})
    floor.antes(1, 2)
    assert floor.refused("card", seat=1, card="AS").startswith("FC-02 ")
    floor.burn()
    assert [(m.source, m.target, m.amount) for m in floor.last.moves] == [("pot", "house.rake", 2_000)]
    assert floor.pot == 20 * UNIT


def test_fc03_a_card_without_two_antes_is_a_latched_fault() -> None:
    floor = Floor(mode="shoe")
    floor.seat({1: 9_000})
    floor.antes(1)
    floor.burn("AS")
    assert (floor.phase, list(floor.table.faults)) == ("antes", ["card-without-antes"])


# --- FC-10 to FC-13 -----------------------------------------------------------------------------


def test_fc10_door_cards_up_and_hole_cards_down_anticlockwise() -> None:
    floor = Floor(mode="shoe")
    floor.start(2, 4, 7)
    order = []
    for card in ("AS", "KS", "QS", "JS", "10S", "9S"):
        order.append(floor.next_seat())
        floor.card(card)
    assert order == [2, 4, 7, 2, 4, 7]
    account = floor.game.round_view()
    assert account is not None
    assert [seat["cards"] for seat in account["seats"]] == [["AS", None], ["KS", None], ["QS", None]]  # type: ignore[attr-defined]


def test_fc10_the_highest_door_must_bet_or_is_out() -> None:
    floor = opened()
    assert floor.refused("check", seat=1).startswith("FC-10 ")
    assert floor.refused("call", seat=1).startswith("FC-10 ")
    floor.fold(1)
    assert floor.turn == 2


def test_fc10_anticlockwise_from_the_bettor_s_right_without_limit() -> None:
    floor = opened()
    floor.fold(1)
    floor.bet(2, 100)
    floor.rise(3, 200)
    for to in range(3, 23):
        floor.rise(2 if to % 2 else 3, to * 100)
    floor.call(2 if floor.turn == 2 else 3)
    assert floor.phase == "dealing"
    assert floor.next_seat() == 2


def test_fc10_the_first_after_a_bettor_sits_at_his_right() -> None:
    floor = Floor()
    floor.start(1, 2, 3, 4)
    floor.first_deal({1: "KS", 2: "AS", 3: "QS", 4: "JS"})
    now = floor.game.round
    assert now is not None
    floor.bet(2, 100)
    assert now.queue == [3, 4, 1]
    floor.call(3)
    floor.rise(4, 200)
    assert now.queue == [1, 2, 3]


def test_fc10_whole_chips_and_no_more_than_the_stack() -> None:
    floor = opened(smallest_chip=500)
    assert floor.refused("bet", seat=1, amount=10_001).startswith("FC-10 ")
    assert floor.refused("bet", seat=1, amount=0).startswith("FC-10 ")
    assert floor.refused("bet", seat=1, amount=-500).startswith("FC-10 ")
    assert floor.refused("bet", seat=1, amount=floor.stack(1) + 500).startswith("FC-15 ")
    floor.bet(1, 100)
    assert floor.refused("raise", seat=2, amount=20_100).startswith("FC-10 ")
    assert floor.refused("raise", seat=2, amount=10_000).startswith("FC-10 a raise goes above")
    assert floor.refused("call", seat=2, amount=9_999).startswith("FC-10 ")
    floor.rise(2, 200)


def test_fc10_all_in_may_be_any_amount() -> None:
    floor = Floor(rules(smallest_chip=500))
    floor.seat({1: 700, 2: 9_000})
    floor._shorten(1, 70_123)
    floor.antes(1, 2)
    floor.burn()
    floor.first_deal({1: "AS", 2: "KS"})
    floor.do("bet", seat=1, amount=68_123)
    assert floor.stack(1) == 0


def test_fc11_after_a_bet_nobody_may_check_and_who_checked_may_not_raise() -> None:
    floor = second_round()
    floor.check(1)
    floor.bet(2, 100)
    assert floor.refused("check", seat=3).startswith("FC-11 ")
    assert floor.refused("bet", seat=3, amount=20_000).startswith("FC-11 ")
    floor.rise(3, 200)
    assert floor.refused("raise", seat=1, amount=40_000).startswith("FC-11 ")
    floor.call(1)
    floor.rise(2, 400)
    floor.call(3)
    assert floor.refused("raise", seat=1, amount=80_000).startswith("FC-11 ")
    floor.call(1)
    assert floor.phase == "dealing"


def test_fc11_check_raise_where_the_house_reads_it_so() -> None:
    floor = second_round(check_raise=True)
    floor.check(1)
    floor.bet(2, 100)
    floor.fold(3)
    floor.rise(1, 300)
    assert floor.turn == 2


def test_fc11_a_check_holds_for_its_betting_round_only() -> None:
    floor = second_round()
    floor.check_round()
    floor.street({1: "7S", 2: "6S", 3: "7H"})
    assert floor.phase == "speaking"
    floor.bet(floor.turn or 0, 100)
    floor.rise(floor.turn or 0, 200)


def test_fc11_all_check_and_the_next_card_begins_with_the_first_speaker() -> None:
    floor = second_round()
    floor.check(1, 2, 3)
    assert floor.street({1: "7S", 2: "6S", 3: "7H"}) == [1, 2, 3]


def test_fc12_the_fifth_card_begins_with_the_first_speaker_of_the_third_round() -> None:
    floor = second_round()
    floor.check_round()
    floor.street({1: "7S", 2: "6S", 3: "QH"})
    assert floor.turn == 3  # a pair of queens, made by the third card
    floor.fold(3)
    floor.check_round()
    assert floor.next_seat() == 1


def test_fc13_all_check_in_the_last_round_and_the_showdown_follows() -> None:
    floor = Floor()
    floor.start(1, 2)
    floor.to_fourth({1: "AS 5D 10S 7D 6D", 2: "KS 5C 9S 8D JD"})
    floor.check_round()
    assert floor.phase == "showdown"


# --- FC-14 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["shoe", BY_HAND])
def test_fc14_hole_cards_are_turned_in_their_order_and_not_before(mode: str) -> None:
    floor = at_showdown(mode)
    assert floor.turn == 3  # from the right of seat 2, whose jack is the best fourth card
    assert floor.refused("reveal", seat=1, card="5D").startswith("FC-14 ")
    account = floor.game.round_view()
    assert account is not None
    assert [seat["cards"][1] for seat in account["seats"]] == [None] * 3  # type: ignore[attr-defined]
    floor.do("reveal", seat=3, card="5H")
    account = floor.game.round_view()
    assert account is not None
    assert [seat["cards"][1] for seat in account["seats"]] == [None, None, "5H"]  # type: ignore[attr-defined]


def test_fc14_a_keyed_hole_card_that_the_shoe_contradicts_is_refused() -> None:
    floor = at_showdown("shoe")
    told = floor.refused("reveal", seat=3, card="6S")
    assert told == "FC-14 the shoe read another hole card"
    assert "5H" not in told
    floor.do("reveal", seat=3)


def test_fc14_a_hole_card_is_not_keyed_in_the_deal_and_must_be_shown_later() -> None:
    floor = Floor()
    floor.start(1, 2)
    floor.card("AS")
    floor.card("KS")
    assert floor.refused("card", seat=1, card="5D").startswith("FC-14 ")
    floor = at_showdown(BY_HAND)
    assert "missing" in floor.refused("reveal", seat=3)
    assert floor.refused("reveal", seat=3, card="AS") == "FC-01 that card is on the table already"


# --- FC-15 ------------------------------------------------------------------------------------------


def all_in_floor() -> Floor:
    floor = Floor()
    floor.seat({1: 520, 2: 9_000, 3: 9_000})
    floor.antes(1, 2, 3)
    floor.burn()
    floor.first_deal({1: "AS 5D", 2: "KS 5C", 3: "QS 5H"})
    floor.bet_and_call(500)
    return floor


def test_fc15_an_all_in_hand_gets_cards_and_no_turn() -> None:
    floor = all_in_floor()
    assert floor.street({1: "10S", 2: "9S", 3: "8S"}) == [1, 2, 3]
    assert floor.turn == 2
    for act in ("bet", "check", "fold"):
        assert floor.refused(act, seat=1, amount=100).startswith("FC-15 ")
    floor.check(2, 3)
    assert floor.next_seat() == 1  # where the deal begins counts it


def test_fc15_the_last_cards_are_dealt_without_betting_when_one_has_chips() -> None:
    floor = all_in_floor()
    floor.street({1: "10S", 2: "9S", 3: "8S"})
    floor.fold(2)
    for cards in ({1: "7S", 3: "6S"}, {1: "7D", 3: "6D"}):
        assert floor.phase == "dealing"
        floor.street(cards)
    assert floor.phase == "showdown"
    assert floor.table.timer is None


def test_fc15_a_call_for_less_is_all_in() -> None:
    floor = Floor()
    floor.seat({1: 9_000, 2: 520})
    floor.antes(1, 2)
    floor.burn()
    floor.first_deal({1: "AS", 2: "KS"})
    floor.bet(1, 900)
    assert floor.refused("raise", seat=2, amount=50_000).startswith("FC-10 ")
    floor.call(2)
    assert (floor.stack(2), floor.phase) == (0, "dealing")
    for _ in range(3):
        floor.street({1: "", 2: ""})
    floor.show()
    account = floor.settle()
    assert account["seats"][0]["returned"] == 400 * UNIT


def test_fc15_an_unfollowed_excess_is_not_raked() -> None:
    floor = opened()
    floor.bet(1, 5_000)
    floor.fold(2, 3)
    account = floor.settle()
    assert account["rake"] == {"first": 2_000, "pots": 160}
    assert floor.stack(1) == (10_000 - 20) * UNIT + 4_000 - 160


def test_fc09_in_the_last_betting_round_an_unfollowed_bet_is_raked_by_neither_reading() -> None:
    floor = Floor(rules(unfollowed_unraked="fourth_round"))
    floor.start(1, 2)
    floor.to_fourth({1: "AS 5D 10S 7D 6D", 2: "KS 5C 9S 8D JD"})
    floor.bet(2, 500)
    floor.fold(1)
    account = floor.settle()
    assert account["pots"][0]["amount"] == (20 + 200) * UNIT
    assert account["seats"][1]["returned"] == 500 * UNIT


# --- FC-16, FC-17 --------------------------------------------------------------------------------------


def test_fc16_two_minutes_and_the_hand_is_folded_also_where_a_check_was_free() -> None:
    floor = second_round()
    timer = floor.table.timer
    assert timer is not None
    assert (timer.id, timer.limit) == (floor.seq, 120 * 10**9)
    floor.time_up()
    assert floor.turn == 2
    account = floor.game.round_view()
    assert account is not None
    assert account["irregularities"][-1]["clause"] == "FC-16"  # type: ignore[index]
    assert account["seats"][0]["status"] == "folded"  # type: ignore[index]


def test_fc16_a_stale_expiry_is_refused() -> None:
    floor = second_round()
    timer = floor.table.timer
    assert timer is not None
    floor.check(1)
    outcome = floor.take(TimeUp(timer.id))
    assert outcome.refusal is not None
    assert outcome.refusal.clause == "FC-16"
    assert floor.turn == 2


def test_fc16_the_clock_stops_while_a_device_fault_halts_the_table() -> None:
    floor = second_round("shoe")
    timer = floor.table.timer
    assert timer is not None
    floor.link("shoe", False)
    assert floor.table.timer is None
    assert floor.refused("check", seat=1).startswith("FC-16 the table is halted")
    assert floor.take(TimeUp(timer.id)).refusal is not None
    floor.link("shoe", True)
    assert floor.table.timer == timer
    floor.tell("shoe", CoverMoved(True))
    assert floor.table.timer is None


def test_fc16_an_all_in_hand_and_a_deal_have_no_clock() -> None:
    floor = all_in_floor()
    assert floor.table.timer is None


@pytest.mark.parametrize(
    ("act", "seat", "clause"),
    [
        ("check", 2, "FC-17"),
        ("bet", 3, "FC-17"),
        ("fold", 2, "FC-17"),
        ("check", 4, "FC-03"),
        ("leave", 3, "FC-17"),
    ],
)
def test_fc17_an_act_out_of_turn_is_refused(act: str, seat: int, clause: str) -> None:
    floor = second_round()
    floor.do("buy-in", seat=4, amount=200_000)
    assert floor.refused(act, seat=seat, amount=100).startswith(f"{clause} ")


def test_fc17_a_folded_hand_says_no_more() -> None:
    floor = second_round()
    floor.fold(1)
    assert floor.refused("bet", seat=1, amount=100).startswith("FC-17 ")
    assert floor.refused("reveal", seat=1).startswith("FC-14 ")


def test_fc17_fc20_a_breach_is_recorded_and_changes_nothing() -> None:
    floor = second_round()
    before = floor.game.round_view()
    floor.do("breach", text="two players agree to share")
    assert floor.notes[-1].clause == "FC-20"
    assert floor.game.round_view() == before
    assert "missing" in floor.refused("breach")


# --- FC-18 ----------------------------------------------------------------------------------------------


def test_fc18_that_hand_only_and_the_round_goes_on() -> None:
    floor = opened()
    before = floor.stack(1)
    floor.do("expose-hole", seat=1)
    assert floor.stack(1) - before == 20 * UNIT
    assert floor.pot == 20 * UNIT
    assert (floor.phase, floor.turn) == ("opening", 2)  # its door card does not count
    floor.bet_and_call(100)
    assert floor.street({2: "9S", 3: "8S"}) == [2, 3]  # it gets no more cards


def test_fc18_while_dealing() -> None:
    floor = Floor()
    floor.start(1, 2, 3)
    for card in ("AS", "KS", "QS"):
        floor.card(card)
    assert floor.refused("expose-hole", seat=1).startswith("FC-18 ")
    floor.card()
    floor.do("expose-hole", seat=1)
    floor.card()
    floor.card()
    assert (floor.phase, floor.turn) == ("opening", 2)


def test_fc18_later_or_by_its_owner_it_kills_nothing() -> None:
    floor = opened()
    floor.bet(1, 100)
    assert floor.refused("expose-hole", seat=2).startswith("FC-18 ")
    floor.call(2, 3)
    assert floor.refused("expose-hole", seat=2).startswith("FC-18 ")
    floor = opened()
    floor.fold(1)
    assert floor.refused("expose-hole", seat=2).startswith("FC-18 ")


def test_fc18_a_hole_card_face_up_in_the_shoe_is_told_to_the_dealer() -> None:
    floor = Floor(mode="shoe")
    floor.start(1, 2)
    floor.card("AS")
    floor.card("KS")
    floor.draw(parse_card("5D"), face_up=True)
    assert (floor.notes[-1].clause, "expose-hole seat=1" in floor.notes[-1].detail) == ("FC-18", True)
    assert "5D" not in floor.notes[-1].detail


# --- FC-02, FC-03, FC-06, FC-10 ---------------------------------------------------------------------------


def test_fc02_the_burned_card_is_not_shown() -> None:
    floor = Floor()
    floor.seat({1: 9_000, 2: 9_000})
    floor.antes(1, 2)
    for card in ("zz", "2S", "AS"):
        assert floor.refused("burn", card=card) == "FC-02 the burned card is not shown"
    floor.do("burn")


def test_fc02_a_fault_of_the_shuffle_names_this_regulation() -> None:
    floor = Floor(mode="shoe")
    floor.seat({1: 9_000, 2: 9_000})
    floor.draw(parse_card("AS"))
    assert floor.refused("clear-fault", code="card-without-antes", text="x").startswith("FC-02 ")


def test_fc03_a_long_name_is_one_player_too() -> None:
    floor = Floor()
    floor.do("open-table")
    floor.do("buy-in", seat=1, amount=200_000, player="x" * 65)
    assert floor.refused("buy-in", seat=2, amount=200_000, player="x" * 66).startswith("FC-03 ")


def test_fc03_nobody_changes_his_seat_in_a_round() -> None:
    floor = Floor()
    floor.do("open-table")
    for seat, player in ((1, "Ana"), (2, "Bea"), (3, "Chi")):
        floor.do("buy-in", seat=seat, amount=200_000, player=player)
    floor.antes(1, 2, 3)
    floor.burn()
    floor.first_deal({1: "AS 5D", 2: "KS 5C", 3: "QS 5H"})
    floor.do("leave", seat=1)
    assert floor.refused("buy-in", seat=4, amount=200_000, player="Ana").startswith("FC-03 nobody changes")
    floor.do("fold", seat=2)
    floor.do("settle")
    floor.do("buy-in", seat=4, amount=200_000, player="Ana")


def test_fc06_new_rules_ask_nothing_of_who_has_enough_for_them() -> None:
    floor = Floor(HIGH)
    floor.seat({1: 5_000, 2: 5_000})
    floor.game.seats[1].short = True
    floor._shorten(1, 380_000)
    floor.do("change-rules", role="supervisor", rules=RULES.text())
    assert floor.game.owed(floor.game.seats[1]) == 0
    floor.antes(1, 2)


def test_fc10_the_least_raise_that_is_named_is_taken() -> None:
    floor = Floor()
    floor.seat({1: 2_000, 2: 9_000, 3: 9_000})
    floor._shorten(1, 127_556)
    floor.antes(1, 2, 3)
    floor.burn()
    floor.first_deal({1: "AS 5D", 2: "KS 5C", 3: "QS 5H"})
    floor.do("bet", seat=1, amount=125_556)
    chip, price = floor.game.rules.smallest_chip, 125_556
    least = floor.game.least()
    assert least - price == -(-price // chip) * chip  # whole chips above the price, and a full raise
    told = f"FC-10 a raise goes to {least} at least, unless all-in"
    assert floor.refused("raise", seat=2, amount=least - chip) == told
    floor.do("raise", seat=2, amount=least)


# --- a shoe that is lost ----------------------------------------------------------------------------------


def test_a_lost_shoe_halts_until_the_dealer_goes_on_by_hand() -> None:
    floor = second_round("shoe")
    floor.link("shoe", False)
    floor.do("hand-entry")
    assert floor.table.timer is not None
    floor.check(1, 2, 3)
    floor.do("card", seat=1, card="7S")
    floor.link("shoe", True)
    assert floor.refused("card", seat=2, card="6S").startswith("FC-19 the shoe reports")
    floor.draw(parse_card("7S"))  # it tells what was keyed, nothing more
    floor.draw(parse_card("6S"))
    floor.draw(parse_card("6D"))
    assert floor.phase == "speaking"
    assert not floor.table.faults


def test_a_shoe_that_read_another_card_than_was_keyed() -> None:
    floor = second_round("shoe")
    floor.check_round()
    floor.link("shoe", False)
    floor.do("card", seat=1, card="7S")
    floor.link("shoe", True)
    floor.draw(parse_card("7D"))
    assert "other-face" in floor.table.faults
    floor.draw(parse_card("6S"))
    floor.draw(parse_card("6D"))
    assert floor.table.timer is None
    assert floor.refused("check", seat=1).startswith("FC-16 ")
    floor.do("clear-fault", code="other-face", text="compared: 7S")
    floor.check(1)


def test_a_hole_card_that_was_dealt_by_hand_gets_its_face_from_the_shoe() -> None:
    floor = Floor(mode="shoe")
    floor.start(1, 2)
    floor.card("AS")
    floor.card("KS")
    floor.link("shoe", False)
    floor.do("card", seat=1)
    floor.link("shoe", True)
    floor.draw(parse_card("5D"))
    floor.card("5C")
    assert floor.phase == "opening"
    now = floor.game.round
    assert now is not None
    assert now.hands[1].cards[1].face == FaceDownCard(parse_card("5D"))
    assert now.hands[1].cards[1].open is None


def test_a_shoe_that_restarts_with_cards_out_halts_the_round() -> None:
    floor = second_round("shoe")
    floor.tell("shoe", Restarted())
    assert "shoe-restarted" in floor.table.faults
    assert floor.refused("check", seat=1).startswith("FC-16 ")
    floor.do("clear-fault", code="shoe-restarted", text="27 left")
    floor.check(1)


def test_a_round_opens_without_a_sign_but_not_without_its_shoe() -> None:
    floor = Floor(mode="shoe")
    floor.seat({1: 9_000, 2: 9_000})
    floor.link("sign", False)
    floor.link("shoe", False)
    assert "not ready" in floor.refused("ante", seat=1)
    floor.do("use-hand")
    assert floor.table.view()["not_ready"] == ""
    floor.do("shuffle")
    floor.do("ante", seat=1)
    assert floor.refused("use-shuffler", id="SH-1").startswith(" there is no shuffler")


def test_the_sign_shows_the_ante_and_the_smallest_buy_in() -> None:
    floor = Floor()
    assert (floor.game.sign().meter, floor.game.sign().pages) == (
        "ANTE $20.00",
        ("TABLE CLOSED", "BUY-IN $2,000.00"),
    )
    floor.do("open-table")
    before = floor.game.sign()
    assert before.pages == ("BUY-IN $2,000.00",)
    floor.start(1, 2)
    assert floor.game.sign() == before


def test_rules_change_between_rounds_by_a_supervisor() -> None:
    floor = Floor()
    floor.seat({1: 2_000})
    new = HIGH.text()
    assert "supervisor" in floor.refused("change-rules", rules=new)
    assert "no rule set" in floor.refused("change-rules", role="supervisor", rules='{"rules":"61/2004"}')
    floor.do("change-rules", role="supervisor", rules=new)
    assert "ante: 2000 -> 10000" in floor.notes[-1].detail
    assert floor.refused("change-rules", role="supervisor", rules=new).startswith("FC-06 ")
