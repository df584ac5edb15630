"""Moments that went wrong once: devices that restart, stop late or refuse, and bets carried twice."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from daemon.games.desk import Act
from drivers.base import (
    CardDrawn,
    CardsReturned,
    CommandResult,
    Deal,
    FaultSet,
    PacketOut,
    Restarted,
    ShuffleDone,
    StopDeal,
)
from tests.table.floor import ANTE, STAKE, Floor, card, rules
from tests.table.test_caribbean import AK, LOW

JAM = FaultSet(2, "jam in transport")


def told(floor: Floor, kind: type) -> list[Any]:
    return [effect.command for effect in floor.commands() if isinstance(effect.command, kind)]


# --- acts that are no acts ------------------------------------------------------------------


@pytest.mark.parametrize(
    "number", ["--5", "-", "", " 5", "5 ", "+5", "٣", "1e3", "0x5", "5.0", "9" * 19, "--" * 9]
)
def test_what_is_no_number_is_refused(number: str) -> None:
    floor = Floor()
    floor.bets()
    for args in ({"box": number, "amount": ANTE}, {"box": 1, "amount": number}):
        text = floor.refused("ante", **args)
        assert "no whole number" in text or "is too large" in text or "missing" in text


# --- the shoe -------------------------------------------------------------------------------


def test_a_shoe_that_restarts_during_a_deal_halts_it_and_keyed_cards_owe_nothing() -> None:
    floor = Floor()
    floor.bets(1, 2)
    floor.draw(count=3)
    floor.link("shoe", ready=False)
    floor.do("card")
    floor.do("card")
    floor.tell("shoe", Restarted())
    floor.link("shoe", ready=True)
    assert "shoe-restarted" in floor.table.faults
    floor.draw(count=10)
    assert floor.phase == "deciding"
    assert "count the stub" in floor.refused("fold", box=1)
    floor.do("clear-fault", code="shoe-restarted", text="37 cards left")
    floor.do("fold", box=1)
    floor.do("fold", box=2)
    floor.do("settle")
    assert floor.closed[-1]["cards_out"] == 15


def test_a_shoe_that_restarts_between_rounds_halts_nothing() -> None:
    floor = Floor()
    floor.bets(1)
    floor.tell("shoe", Restarted())
    assert not floor.table.faults


@pytest.mark.parametrize("before", [0, 1])
def test_a_keyed_card_that_lay_face_up_is_an_exposure_once_the_shoe_tells(before: int) -> None:
    floor = Floor()
    floor.bets(1, progressive=(1,))
    floor.draw(count=2)
    if before:
        floor.do("expose", box=1, card=1)
    floor.link("shoe", ready=False)
    floor.do("card")
    floor.link("shoe", ready=True)
    floor.draw(count=1, face_up=True)
    assert floor.phase == ("void" if before else "dealing")
    if not before:
        assert floor.game.round is not None
        assert floor.game.round.exposure is not None


def test_the_keyed_fifth_of_the_dealer_may_lie_face_up() -> None:
    floor = Floor()
    floor.bets(1)
    floor.draw(count=9)
    floor.link("shoe", ready=False)
    floor.do("card")
    floor.link("shoe", ready=True)
    floor.draw(count=1, face_up=True)
    assert floor.phase == "deciding"
    assert floor.game.round is not None
    assert floor.game.round.exposure is None


def test_a_card_of_low_confidence_is_told() -> None:
    floor = Floor()
    floor.bets(1)
    floor.tell("shoe", CardDrawn(card("AS"), sure=False))
    assert "low confidence" in floor.notes[-1].detail


# --- the shuffler -----------------------------------------------------------------------------


def test_a_void_stops_the_machine_and_counts_what_was_on_its_way() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1, 2)
    floor.do("close-betting")
    floor.packet(0)
    floor.do("misdeal")
    assert len(told(floor, StopDeal)) == 1
    floor.packet(1)
    assert not floor.table.faults
    floor.tell("SH-1", CardsReturned(10))
    assert not floor.table.faults
    floor.shuffle()
    floor.packet(0)
    assert "card-without-bets" in floor.table.faults


def test_a_void_after_the_last_packet_stops_nothing() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1)
    floor.do("close-betting")
    floor.packet(0)
    floor.packet(1)
    floor.do("misdeal")
    assert told(floor, StopDeal) == []


def test_another_source_stops_the_machine_that_was_told_to_deal() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1)
    floor.do("close-betting")
    floor.do("use-shoe")
    assert [effect.device for effect in floor.commands() if isinstance(effect.command, StopDeal)] == ["SH-1"]
    floor.tell("SH-1", PacketOut(0, 5))
    floor.shuffle()
    assert "stray-cards" in floor.table.faults  # a hand shuffle does not take the packet away
    floor.do("clear-fault", code="stray-cards", text="taken out")


@pytest.mark.parametrize("outcome", ["refused", "busy"])
def test_a_refused_deal_can_be_ordered_again(outcome: str) -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1)
    floor.do("close-betting")
    order = told(floor, Deal)[0]
    assert "told to deal" in floor.refused("close-betting")
    assert "told to deal" in floor.refused("shuffle")
    floor.tell("SH-1", CommandResult(order.command_id, outcome))
    floor.do("ante", box=2, amount=ANTE)
    floor.do("close-betting")
    assert told(floor, Deal)[0].packets == 3
    floor.tell("SH-1", CommandResult(order.command_id, outcome))  # late, and of the first order
    assert "told to deal" in floor.refused("close-betting")


def test_a_refused_extra_packet_comes_by_the_machines_own_button() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1)
    floor.do("close-betting")
    floor.packet(0)
    floor.packet(1)
    floor.do("empty-box", box=3, first=1)
    order = told(floor, Deal)[0]
    floor.tell("SH-1", CommandResult(order.command_id, "busy"))
    assert floor.phase == "dealing"
    floor.packet(0)  # the dealer starts it at its own button
    assert floor.phase == "deciding"


def test_without_bets_a_failing_machine_is_a_fault_and_not_barred() -> None:
    for event in (JAM, Restarted()):
        floor = Floor(mode="shuffler")
        floor.bets()
        floor.tell("SH-1", event)
        assert not floor.table.rig.devices["SH-1"].barred
        assert ("shuffler-fault" in floor.table.faults) == (event is JAM)
    floor = Floor(mode="shuffler")
    floor.bets()
    floor.do("shuffler-failed")
    assert "declared" in floor.table.faults["shuffler-fault"].text


# --- exposures and empty boxes ----------------------------------------------------------------


def dealer_view(floor: Floor) -> list[str | None]:
    view = floor.game.round_view()
    assert view is not None
    return view["dealer"]["cards"]  # type: ignore[index, no-any-return]


def test_cs_11_the_exposed_card_turns_out_to_lie_in_an_empty_box() -> None:
    floor = Floor()
    floor.bets(1, 2)
    floor.draw(count=2)
    floor.draw(count=1, face_up=True)  # to all appearances the dealer's first
    floor.do("empty-box", box=3, first=3)
    floor.draw(count=13)
    assert floor.phase == "deciding"
    assert dealer_view(floor)[4] is not None  # the fifth lies open
    floor.do("fold", box=1)
    floor.do("fold", box=2)
    floor.do("settle")
    assert floor.closed[-1]["irregularities"][0]["detail"].startswith("card 1 of box 3 ")


def test_cs_11_the_exposed_card_turns_out_to_be_the_dealers() -> None:
    floor = Floor()
    floor.bets(1, 2)
    floor.draw(count=3)
    floor.draw(count=1, face_up=True)  # to all appearances box 1's second
    floor.do("empty-box", box=3, first=3)
    floor.draw(count=12)
    assert dealer_view(floor) == [dealer_view(floor)[0], None, None, None, None]
    assert dealer_view(floor)[0] is not None
    floor.do("expose", box="dealer", card=5)
    assert floor.phase == "void"


def test_cs_11_what_the_dealer_turned_stays_his_when_the_packets_are_assigned_anew() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1, 2)
    for index in range(3):
        floor.packet(index)
    floor.do("reveal", box="dealer", cards="KD")
    floor.do("empty-box", box=5, first=1)
    assert "KD" not in repr(floor.game.round_view())
    floor.packet(0)
    floor.do("reveal", box="dealer", cards="KD")
    assert dealer_view(floor)[4] == "KD"


def test_cs_11_a_withdrawn_exposure_covers_the_card_wherever_it_lies() -> None:
    floor = Floor()
    floor.bets(1, 2)
    floor.draw("QD 3C 4C")
    floor.do("expose", box=1, card=1)
    slip = floor.seq
    floor.do("empty-box", box=5, first=1)
    assert floor.take(Act("withdraw", replaces=slip)).refusal is None
    assert "QD" not in repr(floor.game.round_view())


# --- carried bets -----------------------------------------------------------------------------


def test_cs_11_a_box_left_out_twice_is_refunded_twice() -> None:
    floor = Floor()
    for _ in range(2):
        floor.bets(1, 2, progressive=(2,))
        floor.draw(count=1)
        floor.do("misdeal")
        floor.bets(1)  # box 2 does not play
        floor.draw(count=1)
        floor.do("misdeal")
    assert floor.player(2) == -2 * STAKE
    floor.do("refund-carried", role="supervisor", box=2)
    assert floor.player(2) == 0
    assert "no carried bet" in floor.refused("refund-carried", role="supervisor", box=2)


def test_a_fault_tells_its_latest_cause_and_its_first_moment() -> None:
    floor = Floor(mode="shuffler")
    floor.open()
    for counted in (51, 50):
        floor.tell("SH-1", ShuffleDone(1, counted))
    fault = floor.table.faults["shuffle-count"]
    assert "50" in fault.text
    assert fault.since.endswith("000003Z")


def test_the_whole_round_of_a_machine_that_was_started_by_hand() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1)
    floor.packet(0)  # nobody ordered it
    floor.packet(1)
    floor.do("raise", box=1)
    floor.do("reveal", box="dealer", cards=AK)
    floor.do("reveal", box=1, cards=LOW[1])
    floor.do("settle")
    assert floor.closed[-1]["outcome"] == "settled"


# --- found by the property machine --------------------------------------------------------------


def test_a_refunded_carried_bet_does_not_come_back_with_a_correction() -> None:
    floor = Floor()
    floor.bets(1, progressive=(1,))
    floor.draw(count=1)
    floor.do("misdeal")
    floor.bets(2)
    ante = floor.seq
    floor.do("refund-carried", role="supervisor", box=1)
    assert floor.take(Act("ante", {"box": 2, "amount": 2 * ANTE}, replaces=ante)).refusal is None
    assert floor.game.carried == {}
    assert "no carried bet" in floor.refused("refund-carried", role="supervisor", box=1)


@pytest.mark.parametrize("count", [4, 6])
def test_the_cards_of_a_wrong_packet_are_out_too(count: int) -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1)
    floor.packet(0)
    floor.packet(1, count)
    assert floor.closed[-1]["cards_out"] == 5 + count
    floor.tell("SH-1", CardsReturned(5 + count))
    assert "count" not in floor.table.faults


def test_a_barred_machine_proves_nothing() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1)
    floor.tell("SH-1", JAM)
    floor.tell("SH-1", ShuffleDone(2, 52))
    assert "not shuffled" in floor.refused("close-betting")


def test_a_carried_remainder_outlives_a_change_of_the_rate() -> None:
    floor = Floor(rules(contribution=Fraction(71, 300)))
    floor.bets(1, progressive=(1,))
    floor.draw(count=1)
    floor.do("misdeal")
    assert floor.game.meter.remainder == Fraction(2, 3)
    whole = rules(contribution=Fraction(1))
    floor.do("change-rules", role="supervisor", rules=whole.text())
    floor.bets(2, progressive=(2,))
    floor.draw(count=1)
    assert floor.game.meter.contributed == 236 + STAKE
    assert floor.game.meter.remainder == Fraction(2, 3)


def showdown(floor: Floor) -> None:
    floor.bets(1, 2)
    for index in range(3):
        floor.packet(index)


def test_cards_of_a_box_that_does_not_play_are_refused() -> None:
    floor = Floor(mode="shuffler")
    showdown(floor)
    floor.do("raise", box=1)
    floor.do("fold", box=2)
    assert "box 6 has no bet" in floor.refused("reveal", box=6, cards=LOW[1])
    floor.do("reveal", box="dealer", cards=AK)
    outcome = floor.take(Act("reveal", {"box": 6, "cards": LOW[1]}, replaces=floor.seq))
    assert outcome.refusal is not None
    assert "box 6 has no bet" in outcome.refusal.reason


def test_a_correction_opens_no_more_than_the_act_itself_may() -> None:
    floor = Floor(mode="shuffler")
    showdown(floor)
    floor.do("raise", box=1)
    floor.do("reveal", box="dealer", cards="3S")
    outcome = floor.take(Act("reveal", {"box": "dealer", "cards": AK}, replaces=floor.seq))
    assert outcome.refusal is not None
    assert dealer_view(floor) == [None, None, None, None, "3S"]


@pytest.mark.parametrize(("told", "fault"), [("3S", None), ("2S", "other-face"), (None, None)])
def test_the_shoe_tells_a_card_that_was_shown_meanwhile(told: str | None, fault: str | None) -> None:
    floor = Floor()
    floor.bets(1)
    row = [c for pair in zip(LOW[1].split(), AK.split(), strict=True) for c in pair]
    floor.draw(" ".join(row[:9]))
    floor.link("shoe", ready=False)
    floor.do("card")
    floor.do("raise", box=1)
    floor.do("reveal", box="dealer", cards=AK)
    floor.link("shoe", ready=True)
    floor.tell("shoe", CardDrawn(card(told) if told else None))
    assert set(floor.table.faults) == ({fault} if fault else set())
    if fault:
        assert "another card" in floor.refused("settle")
        floor.do("clear-fault", code=fault, text="the card is the 3 of spades")
    floor.do("settle")
    assert floor.closed[-1]["dealer"]["qualifies"] is True


def test_the_turned_fifth_is_in_no_other_hand() -> None:
    floor = Floor()
    floor.bets(1)
    floor.draw(count=9)
    floor.tell("shoe", CardDrawn(None))
    assert "another hand" in floor.refused("reveal", box="dealer", cards="2D")
