"""What goes wrong in a deal is put right: FC-19, and FC-18 beside it (104/85/M, decision 34)."""

from __future__ import annotations

import pytest

from daemon.games.desk import Act
from daemon.rig import BY_HAND
from drivers.base import CardDrawn
from drivers.cards import FaceDownCard, parse_card
from tests.table.five_card.floor import UNIT, Floor, at_showdown, opened, second_round

# --- the deal ---------------------------------------------------------------------------------------------


def test_fc19_nobody_speaks_before_a_wrong_deal_is_put_right() -> None:
    floor = opened()
    floor.bet_and_call(100)
    for seat, card in ((2, "10S"), (3, "9S"), (1, "8S")):
        floor.do("card", seat=seat, card=card)
    assert floor.phase == "dealing"
    assert floor.refused("card", seat=1, card="7S").startswith("FC-19 ")
    assert "missing" in floor.refused("correct-deal")
    floor.take(Act("correct-deal", {"text": "one place too far"}, by="Ines", role="dealer"))
    assert (floor.phase, floor.turn) == ("speaking", 1)
    now = floor.round
    assert [now.hands[seat].cards[-1].open.text for seat in (1, 2, 3)] == ["10S", "9S", "8S"]
    assert "confirmed by Ines" in floor.notes[-1].detail


def test_fc19_a_card_that_comes_too_early_goes_to_who_is_due_next() -> None:
    floor = second_round("shoe")
    floor.draw(parse_card("7S"))
    assert (floor.phase, floor.notes[-1].clause) == ("speaking", "FC-19")
    assert "7S" not in repr((floor.table.view(), floor.game.round_view()))
    floor.check_round()
    floor.draw(parse_card("6S"))
    floor.do("correct-deal", text="dealt before the betting was over")
    now = floor.round
    assert [now.hands[seat].cards[-1].open.text for seat in (1, 2)] == ["7S", "6S"]
    floor.card("6D")
    assert floor.phase == "speaking"


def test_fc19_an_unread_card_and_an_error_must_both_be_put_right() -> None:
    floor = second_round("shoe")
    floor.check_round()
    floor.tell("shoe", CardDrawn(None))
    floor.street({2: "6S", 3: "6D"})
    floor.draw(parse_card("9C"))  # one too many: it waits for the next street
    floor.do("card", seat=1, card="7S")
    assert floor.phase == "dealing"
    floor.do("correct-deal", text="one too many, laid on the next street")
    assert (floor.phase, floor.turn) == ("speaking", 1)


def test_fc19_a_card_that_is_due_to_nobody_is_laid_aside() -> None:
    floor = at_showdown("shoe")
    floor.draw(parse_card("9C"))
    assert (floor.phase, floor.notes[-1].clause) == ("showdown", "FC-19")
    floor.show()
    assert floor.settle()["cards_out"] == 17


def test_fc19_the_shoe_knows_the_order_and_the_layout_is_put_right() -> None:
    floor = opened("shoe")
    floor.bet_and_call(100)
    floor.street({1: "10S", 2: "9S"})  # the dealer laid them at 2 and 3
    floor.do("correct-deal", text="10S at seat 2, 9S at seat 3")
    now = floor.round
    assert [now.hands[seat].up()[-1].text for seat in (1, 2)] == ["10S", "9S"]
    assert floor.next_seat() == 3
    assert floor.closed == []


def again(floor: Floor, name: str, record: int, role: str = "dealer", **args: str | int) -> str:
    """A card is keyed again; why not, or ""."""
    outcome = floor.take(Act(name, args, by="Ines", role=role, replaces=record))
    return f"{outcome.refusal.clause} {outcome.refusal}" if outcome.refusal else ""


def test_fc19_an_up_card_that_was_keyed_wrong_is_keyed_again_before_somebody_speaks() -> None:
    floor = opened()
    floor.bet_and_call(100)
    floor.street({1: "10S", 2: "9S"})
    floor.card("8S")
    record = floor.seq
    assert floor.turn == 1
    assert again(floor, "card", record, seat=2, card="JS").startswith("FC-19 ")
    assert again(floor, "card", record, seat=3, card="9S").startswith("FC-01 ")
    assert again(floor, "card", record - 20, seat=3, card="JS").startswith("FC-19 ")
    assert again(floor, "card", record, seat=3, card="JS") == ""
    assert floor.turn == 3  # its jack is the highest second card
    assert "keyed again" in floor.notes[-1].detail
    record = floor.seq
    floor.check(3)
    assert again(floor, "card", record, seat=3, card="8S").startswith("FC-19 somebody has spoken")


def test_fc19_a_card_of_an_earlier_round_is_not_keyed_again() -> None:
    floor = opened()
    doors = floor.seq - 5
    floor.bet_and_call(100)
    floor.card("10S")
    assert again(floor, "card", doors, seat=1, card="AH").startswith("FC-19 ")


def test_fc14_a_hole_card_that_was_keyed_wrong_is_keyed_again_before_the_settlement() -> None:
    floor = at_showdown(BY_HAND)
    floor.do("reveal", seat=3, card="5H")
    assert again(floor, "reveal", floor.seq, seat=3, card="6H") == ""
    assert floor.round.hands[3].cards[1].open == parse_card("6H")
    floor.do("reveal", seat=1, card="5H")  # the first one is free again


def test_fc19_after_the_next_act_only_a_supervisor_corrects() -> None:
    floor = second_round()
    floor.do("correct-deal", text="seen at once")
    floor.check(1)
    assert floor.refused("correct-deal", text="seen late").startswith("FC-19 ")
    floor.do("correct-deal", role="supervisor", text="seen late")
    assert floor.closed == []


# --- cards keyed again ------------------------------------------------------------------------------------


def run_out(mode: str = BY_HAND) -> Floor:
    """Two hands, one of them all-in in the first betting round: the rest is dealt without betting."""
    floor = Floor(mode=mode)
    floor.seat({1: 700, 2: 9_000})
    floor.antes(1, 2)
    floor.burn()
    floor.first_deal({1: "AS 5D", 2: "KS 5C"})
    floor.bet(1, 680)
    floor.call(2)
    return floor


def test_fc19_a_card_of_the_street_being_dealt_is_keyed_again() -> None:
    floor = run_out()
    floor.card("10S")
    assert again(floor, "card", floor.seq, seat=1, card="JS") == ""
    assert floor.next_seat() == 2


def dealt_out(floor: Floor) -> dict[str, int]:
    """The rest of the cards, and the records that told them."""
    told = {}
    for card in ("10S", "9S", "8S", "7S", "6S", "QD"):
        floor.card(card)
        told[card] = floor.seq
    assert (floor.phase, floor.turn) == ("showdown", 2)  # four spades are the best: seat 1 turns last
    return told


def test_fc19_on_a_run_out_nobody_has_spoken_upon_any_later_card() -> None:
    floor = run_out()
    told = dealt_out(floor)
    assert again(floor, "card", told["QD"], seat=2, card="QH") == ""
    assert again(floor, "card", told["10S"], seat=1, card="10H") == ""
    assert "10S is 10H" in floor.notes[-1].detail
    doors = floor.round.hands[1].cards[0].told
    assert again(floor, "card", doors, seat=1, card="AH").startswith("FC-19 somebody has spoken")
    floor.show()
    floor.do("settle")
    seats = floor.closed[-1]["seats"]
    assert [seats[0]["cards"][2], seats[1]["cards"][-1]] == ["10H", "QH"]


def test_fc14_who_turns_last_follows_the_card_that_was_keyed_again() -> None:
    floor = run_out()
    told = dealt_out(floor)
    assert again(floor, "card", told["6S"], seat=1, card="6H") == ""
    assert floor.turn == 1  # no flush any more: the queen is the highest fourth card
    six = floor.seq
    floor.do("reveal", seat=1, card="5D")
    assert again(floor, "card", six, seat=1, card="6S") == ""
    assert floor.turn == 2  # a hole card is turned: the order stands
    floor.do("reveal", seat=2, card="5C")
    assert floor.phase == "settling"  # nobody turns twice


def test_fc19_later_a_supervisor_keys_it_again_and_the_betting_goes_on() -> None:
    floor = second_round()
    record = floor.seq  # the eight of seat 3
    floor.bet(1, 500)
    assert again(floor, "card", record, seat=3, card="JH") == "FC-19 somebody has spoken upon that card"
    assert again(floor, "card", record, "supervisor", seat=3, card="JH") == ""
    assert (floor.phase, floor.turn) == ("answering", 2)
    floor.call(2, 3)
    assert floor.next_seat() == 3  # whose jack was the highest second card


def test_fc19_what_the_shoe_read_is_a_supervisor_s_to_put_right() -> None:
    floor = second_round("shoe")
    record = floor.seq
    assert again(floor, "card", record, seat=3, card="JH") == "FC-19 the shoe read that card"
    assert again(floor, "card", record, "supervisor", seat=3, card="JH") == ""
    assert (floor.phase, floor.turn) == ("speaking", 3)


def test_fc14_a_hole_card_that_the_shoe_read_wrong_is_put_right_once_it_is_turned() -> None:
    floor = at_showdown("shoe")
    drawn = floor.round.hands[3].cards[1].told
    assert again(floor, "reveal", drawn, seat=3, card="6H").startswith("FC-19 ")  # it lies face down
    floor.do("reveal", seat=3)
    record = floor.seq
    assert again(floor, "reveal", record, seat=3, card="6H") == "FC-19 the shoe read that card"
    assert again(floor, "reveal", record, "supervisor", seat=3, card="6H") == ""
    assert floor.round.hands[3].cards[1].open == parse_card("6H")


def doubled(where: str) -> Floor:
    """The shoe reads the ten of spades for a card that lies face down, and again for an open card."""
    floor = Floor(mode="shoe")
    floor.seat({1: 9_000, 2: 9_000})
    floor.antes(1, 2)
    floor.burn("10S" if where == "burn" else "")
    floor.first_deal({1: "AS 5D", 2: "KS " + ("10S" if where == "hole" else "5C")})
    floor.bet_and_call(100)
    floor.card("9S")
    floor.card("10S")
    floor.do("clear-fault", code="duplicate-card", text="the first one was misread")
    return floor


@pytest.mark.parametrize("where", ["burn", "hole"])
def test_fc19_a_face_that_the_shoe_read_of_a_hidden_card_is_keyed_by_a_supervisor(where: str) -> None:
    floor = doubled(where)
    assert floor.refused("card", seat=2, card="10S") == "FC-01 that card is on the table already"
    assert floor.refused("card", seat=2, card="AS", role="supervisor").startswith("FC-01 ")  # it lies open
    floor.do("card", seat=2, card="10S", role="supervisor")
    assert (floor.phase, floor.turn) == ("speaking", 2)
    floor.check_round()
    floor.street({1: "9D", 2: "8D"})
    floor.check_round()
    floor.street({1: "9H", 2: "8H"})
    floor.check_round()
    floor.do(
        "reveal", seat=2, card="" if where == "burn" else "6H"
    )  # the hidden one is keyed when it is turned
    floor.do("reveal", seat=1)
    assert floor.settle()["outcome"] == "settled"


def at_hand(floor: Floor) -> Floor:
    """The shoe is lost: the dealer goes on by hand."""
    floor.link("shoe", False)
    floor.do("hand-entry")
    return floor


def read_of_a_hole(card: str) -> Floor:
    """Two hands after the first betting round; the shoe read this card of seat 1's hole card."""
    floor = Floor(mode="shoe")
    floor.start(1, 2)
    floor.first_deal({1: f"AS {card}", 2: "KS 5C"})
    floor.bet_and_call(100)
    return floor


def test_fc19_a_hidden_card_with_an_open_card_s_face_is_keyed_when_it_is_turned() -> None:
    floor = at_hand(read_of_a_hole("10S"))
    floor.do("card", seat=1, card="9S")
    assert floor.refused("card", seat=2, card="10S") == "FC-01 that card is on the table already"
    floor.do("card", role="supervisor", seat=2, card="10S")
    assert "of a hidden card, too" in floor.notes[-1].detail
    for cards in ({2: "8H", 1: "8D"}, {2: "9H", 1: "9D"}):
        floor.check_round()
        for seat in floor.round.due[:]:
            floor.do("card", seat=seat, card=cards[seat])
    floor.check_round()
    floor.do("reveal", seat=floor.turn)  # the shoe read that hole card, and it is believed
    assert floor.turn == 1
    assert "card= is missing" in floor.refused("reveal", seat=1)
    assert floor.refused("reveal", seat=1, card="10S") == "FC-01 that card is on the table already"
    floor.do("reveal", seat=1, card="10H")
    faces = [face for seat in floor.settle()["seats"] for face in seat["cards"]]
    assert len(set(faces)) == len(faces) == 10


def test_fc19_a_slip_of_a_supervisor_costs_no_reading() -> None:
    floor = read_of_a_hole("10S")
    door = floor.round.hands[2].cards[0].told
    assert again(floor, "card", door, "supervisor", seat=2, card="10S") == ""
    assert again(floor, "card", floor.seq, "supervisor", seat=2, card="KS") == ""
    assert floor.refused("card", seat=2, card="10S").startswith("FC-19 ")
    for card in ("9S", "8S", "9D", "8D", "9H", "8H"):
        floor.card(card)
        floor.check_round()
    while floor.phase == "showdown":
        floor.do("reveal", seat=floor.turn)
    assert [seat["cards"][1] for seat in floor.settle()["seats"]] == ["10S", "5C"]


def test_fc19_the_dealer_does_not_overrule_a_supervisor() -> None:
    floor = second_round("shoe")
    assert again(floor, "card", floor.seq, "supervisor", seat=3, card="JH") == ""
    assert floor.notes[-1].detail.endswith("8S is JH (confirmed by Ines)")
    assert again(floor, "card", floor.seq, seat=3, card="8H") == "FC-19 a supervisor told that card"


def test_fc10_a_street_begins_where_the_card_that_was_keyed_again_says() -> None:
    floor = run_out()
    floor.card("10S")
    floor.card("9S")
    assert floor.next_seat() == 1  # the next street, for nobody bets any more
    assert again(floor, "card", floor.seq, seat=2, card="QS") == ""
    assert floor.next_seat() == 2
    floor.card("8S")
    assert again(floor, "card", floor.seq, seat=2, card="8H") == ""
    assert floor.next_seat() == 1  # this one has begun


def test_fc19_a_card_that_nobody_read_is_keyed_and_not_keyed_again() -> None:
    floor = opened("shoe")
    floor.bet_and_call(100)
    floor.card("10S")
    floor.tell("shoe", CardDrawn(None))
    unread = floor.seq
    floor.card("8S")
    told = again(floor, "card", unread, seat=2, card="9S")
    assert told == "FC-19 nobody has read that card"
    floor.do("card", seat=2, card="9S")
    assert floor.phase == "speaking"


def test_fc19_each_card_that_came_early_is_laid_aside() -> None:
    floor = opened("shoe")
    for card in ("JS", "JD"):
        floor.tell("shoe", CardDrawn(FaceDownCard(parse_card(card))))
    floor.do("fold", seat=1)
    floor.do("fold", seat=2)
    assert floor.phase == "settling"
    aside = [each for each in floor.settle()["irregularities"] if "due to nobody" in each["detail"]]
    assert len(aside) == 2


def test_fc19_a_correction_that_moves_no_card_says_so() -> None:
    floor = second_round()
    floor.check(1)
    floor.do("correct-deal", role="supervisor", text="seen late")
    assert floor.notes[-1].detail.startswith("recorded, no card was moved. seen late")


@pytest.mark.parametrize("ends", ["folds", "showdown"])
def test_fc19_a_card_that_came_early_is_laid_aside_when_no_more_are_dealt(ends: str) -> None:
    floor = second_round("shoe")
    if ends == "showdown":
        floor.check_round()
        floor.street({1: "10H", 2: "9H", 3: "8H"})
        floor.check_round()
        floor.street({1: "10D", 2: "9D", 3: "8D"})
    floor.tell("shoe", CardDrawn(FaceDownCard(parse_card("6H"))))
    if ends == "showdown":
        assert floor.game.view()["error"] == ""
        assert "due to nobody" in floor.notes[-1].detail
        floor.check_round()
    else:
        assert floor.game.view()["error"] != ""
        floor.do("fold", seat=1)
        floor.do("fold", seat=2)
    assert floor.game.view()["error"] == ""
    assert any("due to nobody" in note.detail for note in floor.notes)


def test_fc18_the_round_goes_on_when_the_dead_hand_held_the_only_unread_card() -> None:
    floor = Floor(mode="shoe")
    floor.start(1, 2, 3)
    floor.tell("shoe", CardDrawn(None))
    for card in ("KS", "QS", "5D", "5C", "5H"):
        floor.card(card)
    assert floor.phase == "dealing"
    floor.do("expose-hole", seat=1)
    assert (floor.phase, floor.turn) == ("opening", 2)


def test_fc18_another_unread_card_is_still_waited_for() -> None:
    floor = Floor(mode="shoe")
    floor.start(1, 2, 3)
    floor.tell("shoe", CardDrawn(None))
    floor.tell("shoe", CardDrawn(None))
    for card in ("QS", "5D", "5C", "5H"):
        floor.card(card)
    floor.do("expose-hole", seat=1)
    assert floor.phase == "dealing"
    floor.do("card", seat=2, card="KS")
    assert (floor.phase, floor.turn) == ("opening", 2)


def test_fc18_a_hole_card_that_waited_face_up_is_told_when_it_is_laid() -> None:
    floor = Floor(mode="shoe")
    floor.start(1, 2)
    for card in ("AS", "KS"):
        floor.card(card)
    floor.link("shoe", False)
    floor.do("hand-entry")
    floor.do("card", seat=2)
    floor.link("shoe", True)
    floor.tell("shoe", CardDrawn(FaceDownCard(parse_card("5C"))))
    floor.draw(parse_card("6D"), face_up=True)
    floor.do("correct-deal", text="5C at seat 2")
    assert floor.phase == "opening"
    assert [note.clause for note in floor.notes if "lay face up" in note.detail] == ["FC-18"]


def test_fc18_fc19_a_void_gives_back_what_the_house_added_too() -> None:
    floor = Floor(mode="shoe")
    floor.start(1, 2)
    floor.first_deal({1: "AS 5D", 2: "KS 5C"})
    floor.do("expose-hole", seat=1)
    floor.do("expose-hole", seat=2)
    assert (floor.table.balances["house"], floor.table.balances["house.rake"]) == (-2_000, 2_000)
    floor.do("wrong-deck", role="supervisor", text="a joker")
    assert (floor.table.balances["house"], floor.table.balances["house.rake"]) == (0, 0)
    assert floor.closed[-1]["rake"] == {"first": 0, "pots": 0}
    assert [floor.stack(seat) for seat in (1, 2)] == [10_000 * UNIT] * 2
