"""Fault catalogue, group I: cards. Only the same sequence number is a repetition, never the same face."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Final

import pytest

from drivers.base import (
    MILLISECOND,
    SECOND,
    CardDrawn,
    CardsReturned,
    FaultCleared,
    FaultSet,
    PacketOut,
    Restarted,
    Send,
    ShuffleDone,
)
from drivers.cards import DECK
from tests.faults.evening import ANTE, CONFIG, STAKE, Evening, evening
from tests.table.floor import STAKE as FLOOR_STAKE
from tests.table.floor import Floor
from tests.table.test_walk import REACH


def faces(table: Evening) -> list[str | None]:
    """The cards of the running round in the order in which they came, as the table knows them."""
    now = table.game.round
    assert now is not None
    cards = [card for unit in now.dealt.units for card in unit]
    return [card.face.turn().text if card.face else None for card in cards]


def drawn(table: Evening, card: str, **how: bool) -> list[Send]:
    """A card leaves the shoe; the bytes that tell it are held back."""
    told, sends = table.sims["shoe"].control({"do": "draw", "card": card, **how}, table.clock.now)
    assert "error" not in told, told
    return sends


def bets(table: Evening, *boxes: int, progressive: bool = False) -> None:
    table.open_betting()
    for box in boxes:
        table.act("ante", box=box, amount=ANTE)
        if progressive:
            table.act("progressive", box=box)


# --- I01, I02, I04: one card, one event ------------------------------------------------------------


@pytest.mark.parametrize("apart", [1, 500, 3_000])
@pytest.mark.parametrize("times", [2, 5])
def test_i01_a_repeated_event_is_one_card(times: int, apart: int, shoe_table: Evening) -> None:
    table = shoe_table
    bets(table, 1, 2)
    sends = drawn(table, "KS")
    for _ in range(times):
        table.say("shoe", sends)
        table.read()
        table.pass_time(apart * MILLISECOND)
    assert faces(table) == ["KS"]
    told = table.engine.view()["devices"]["shoe"]["counters"]
    assert told["repeats"] + told["dropped"] >= times - 1
    table.settle_down()
    table.check()


def test_i01_a_repetition_across_a_reconnect_and_a_restart_is_one_card(shoe_table: Evening) -> None:
    table = shoe_table
    bets(table, 1, 2)
    sends = drawn(table, "KS")
    table.say("shoe", sends)
    table.read()
    for again in (lambda: (table.unplug("shoe"), table.replug("shoe")), table.restart):
        again()
        table.settle_down()
        table.say("shoe", sends)
        table.read()
        table.pass_time(SECOND)
    assert faces(table) == ["KS"]
    assert len(table.events("card-drawn")) == 1
    table.settle_down()
    table.check()


@pytest.mark.parametrize("apart", [0, 50, 200, 2_000])
def test_i02_the_same_face_again_is_another_card(apart: int, shoe_table: Evening) -> None:
    table = shoe_table
    bets(table, 1, 2)
    for _ in range(2):
        table.draw("KS")  # the second one is slipped in
        table.pass_time(apart * MILLISECOND)
    assert len(table.events("card-drawn")) == 2
    assert faces(table) == ["KS", None]  # counted, and in doubt: this game has one deck (CS-01)
    assert list(table.table.faults) == ["duplicate-card"]
    table.act("misdeal", text="a second king of spades")
    assert list(table.table.faults) == ["new-deck"]
    table.check()


@pytest.mark.parametrize("apart", [0, 2, 5])
def test_i04_two_cards_close_together_are_two_cards(apart: int, shoe_table: Evening) -> None:
    table = shoe_table
    bets(table, 1, 2)
    cards = "2D 3C 4H 5S 6D 7C 8H 9S".split()
    for first, second in zip(cards[::2], cards[1::2], strict=True):
        for card in (first, second):
            table.say("shoe", drawn(table, card))
            if apart:
                table.pass_time(apart * MILLISECOND)
        table.read()  # at 0 ms both are in one read
        table.pass_time(700 * MILLISECOND)
    assert faces(table) == cards
    table.check()


def test_i04_a_frame_and_a_half_then_a_pause_and_the_rest(shoe_table: Evening) -> None:
    table = shoe_table
    bets(table, 1, 2)
    cards = [card.text for card in DECK[:15]]
    for number in range(0, 14, 2):
        data = b"".join(send.data for card in cards[number : number + 2] for send in drawn(table, card))
        cut = len(data) // 2 + 1 + number // 2  # in the middle of the second frame, each time elsewhere
        assert cut < len(data)
        for piece in (data[:cut], data[cut:]):
            table.say("shoe", [Send(piece)])
            table.read()
            table.pass_time(100 * MILLISECOND)
    assert faces(table) == cards[:14]
    table.settle_down()
    table.check()


# --- I05: a card that was not read -----------------------------------------------------------------


UNREAD: Final = "5H"
CARDS: Final = (
    "QD 7S AC 3H 8D KD 9S 2C 10H JS 4C 6D 5H 7H 3S".split()
)  # boxes 1 and 2, the dealer, five turns


def unread_round(table: Evening) -> None:
    """Everybody has raised; the fifth card of box 1 was not read."""
    bets(table, 1, 2, progressive=True)
    for card in CARDS:
        table.handle("shoe", "draw", card=card, unread=card == UNREAD)
        table.read()
    for box in (1, 2):
        table.act("raise", box=box)


def test_i05_a_card_that_was_not_read_is_counted_and_has_to_be_shown(shoe_table: Evening) -> None:
    table = shoe_table
    unread_round(table)
    assert faces(table) == [None if card == UNREAD else card for card in CARDS]
    assert table.phase == "showdown"
    assert "still to be shown" in table.refused("settle")
    assert "another hand" in table.refused("reveal", box=1, cards="QD 3H 9S JS 7S")  # 7S is box 2's
    assert "read other cards" in table.refused("reveal", box=1, cards="QD 3H 9S 10S 5H")
    table.act("reveal", box=1, cards="QD 3H 9S JS 5H")
    assert table.phase == "settling"
    table.act("settle")
    assert table.game.last_round_id == 1
    table.settle_down()
    table.check()


def test_i05_a_misdeal_for_it_refunds_each_bet_once_and_keeps_the_contributions(shoe_table: Evening) -> None:
    table = shoe_table
    unread_round(table)
    table.act("misdeal", "k", text="a card was not read")
    table.act("misdeal", "k", text="a card was not read")
    assert [table.player(box) for box in (1, 2)] == [-STAKE, -STAKE]
    assert table.game.carried == {1: STAKE, 2: STAKE}
    assert table.game.meter.contributed == 2 * 710
    assert "no round is open" in table.refused("misdeal", text="again")
    table.settle_down()
    table.check()


def test_i05_a_card_of_another_deck_stops_the_round_at_once(shoe_table: Evening) -> None:
    table = shoe_table
    bets(table, 1, 2)
    table.draw("2D 3C")
    table.handle("shoe", "draw", foreign=True)
    table.read()
    assert list(table.table.faults) == ["foreign-card"]
    table.act("misdeal", text="a card of another deck")
    assert [table.player(box) for box in (1, 2)] == [0, 0]
    table.check()


# --- I06: the shuffler fails -----------------------------------------------------------------------

JAM: Final = FaultSet(2, "jam in transport")
# When it fails -> phase afterwards, antes that are back, the rule in the account.
TABLE: Final[dict[str, tuple[str, bool, str]]] = {
    "betting": ("betting", False, "CS-11d"),  # nobody is harmed: the bets stay, a spare deals
    "dealing": ("void", True, "CS-11d"),
    "deciding": ("deciding", False, ""),  # the last card is out: the round stands
    "showdown": ("showdown", False, ""),
    "settling": ("settling", False, ""),
    "between-rounds": ("between-rounds", False, ""),
}


@pytest.mark.parametrize("event", [JAM, Restarted()], ids=["fault", "power lost"])
@pytest.mark.parametrize("state", TABLE)
def test_i06_a_shuffler_that_fails_ends_as_the_rule_says(state: str, event: Any) -> None:
    floor = Floor(mode="shuffler")
    REACH[state](floor)
    before = floor.player(1), floor.player(2)
    phase, back, clause = TABLE[state]
    outcome = floor.tell("SH-1", event)
    assert floor.phase == phase
    refunds = [move for move in outcome.moves if move.target.startswith("player.")]
    assert sorted(move.source for move in refunds) == (["ante.1", "ante.2"] if back else [])
    if back:
        assert (floor.player(1), floor.player(2)) == (before[0] + 10_000, before[1] + 10_000)
        assert floor.game.carried == {1: FLOOR_STAKE}
        assert floor.closed[-1]["irregularities"][-1]["clause"] == clause
    again = floor.tell("SH-1", event)
    assert [move for move in again.moves if move.target.startswith("player.")] == []
    assert floor.table.rig.devices["SH-1"].barred == clause
    if clause:
        assert clause in {note.clause for note in floor.notes}


@pytest.mark.parametrize("spare", [True, False])
def test_i06_before_the_first_card_a_spare_deals_or_the_bets_go_back(spare: bool) -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1)
    floor.tell("SH-1", JAM)
    if spare:
        floor.do("use-shuffler", id="SH-2")
        floor.do("shuffle")
        floor.tell("SH-2", ShuffleDone(2, 52))
        floor.do("close-betting")
        floor.tell("SH-2", PacketOut(0, 5))
        assert floor.phase == "dealing"
    else:
        floor.do("take-back", box=1)
        floor.do("close-betting")
        assert (floor.phase, floor.player(1)) == ("between-rounds", 0)


# --- I07: a warning that is passed over ------------------------------------------------------------


def shuffled(table: Evening, cards: Sequence[str]) -> None:
    table.handle("SH-1", "load", deck=list(cards))
    table.act("shuffle")
    done = len(table.events("shuffle-done"))
    table.wait(lambda: len(table.events("shuffle-done")) > done, "the shuffle")


def test_i07_sixteen_cards_less_block_until_a_whole_deck_is_shuffled(shuffler_table: Evening) -> None:
    table = shuffler_table
    table.act("open-table")
    table.settle_down()
    shuffled(table, [card.text for card in DECK[:36]])
    assert table.state("SH-1")["fault"] == 0  # the machine itself says that all is well
    assert "counted 36 cards" in table.refused("open-betting")
    assert "cleared by a new shuffle" in table.refused("clear-fault", code="shuffle-count", text="it is fine")
    table.restart()
    table.settle_down()
    assert list(table.table.faults) == ["shuffle-count"]
    shuffled(table, [card.text for card in DECK])
    assert table.table.faults == {}
    table.settle_down()
    table.act("open-betting")
    table.check()


def test_i07_cards_that_stay_behind_after_a_round_are_a_supervisor_s_matter() -> None:
    floor = Floor(mode="shuffler")
    REACH["between-rounds"](floor)
    floor.tell("SH-1", CardsReturned(floor.game.last_cards_out - 1))
    assert list(floor.table.faults) == ["count"]
    assert "supervisor" in floor.refused("clear-fault", code="count", text="never mind")
    floor.do("clear-fault", role="supervisor", code="count", text="found under the tray")
    assert "CS-03" in floor.refused("open-betting")  # and a new shuffle all the same


def test_i07_a_warning_that_lasts_a_moment_is_not_forgotten(shuffler_table: Evening) -> None:
    table = shuffler_table
    table.act("open-table")
    table.settle_down()
    shuffled(table, [card.text for card in DECK])
    table.handle("SH-1", "jam")
    table.read()
    table.pass_time(SECOND)
    table.handle("SH-1", "clear")
    table.read()
    table.restart()
    table.settle_down()
    assert list(table.table.faults) == ["shuffler-fault"]
    assert "fault shuffler-fault" in table.refused("open-betting")
    table.act("clear-fault", code="shuffler-fault", text="a card was bent")
    assert "CS-03" in table.refused("open-betting")  # what it had shuffled is worth nothing
    table.check()


def test_i07_a_mere_reminder_is_told_and_stops_nobody() -> None:
    floor = Floor(mode="shuffler")
    floor.open()
    floor.shuffle()
    floor.tell("SH-1", FaultSet(9, "service is due", stops_deal=False))
    floor.tell("SH-1", FaultCleared(9))
    assert floor.notes[-1].detail == "SH-1: service is due"
    floor.prove_sign()
    floor.do("open-betting")


# --- I09: no round without a shuffle ---------------------------------------------------------------


def test_i09_a_deck_without_proof_is_not_played(shoe_table: Evening) -> None:
    table = shoe_table
    table.act("open-table")
    table.settle_down()
    assert "CS-03 the deck needs shuffle and cut" in table.refused("open-betting")
    table.act("shuffle")
    assert "CS-03" in table.refused("open-betting")  # shuffled, not cut
    table.act("cut")
    table.act("open-betting")
    table.act("ante", box=1, amount=ANTE)
    table.draw("2D")
    table.act("misdeal", text="wrong order")
    assert "CS-03" in table.refused("open-betting")  # one shuffle, one round
    table.check()


@pytest.mark.parametrize("loses", ["another machine", "a power cut", "a card between rounds"])
def test_i09_proof_is_bound_to_the_machine_and_is_lost_with_it(loses: str) -> None:
    floor = Floor(mode="shuffler")
    floor.open()
    floor.shuffle()
    floor.prove_sign()
    how: dict[str, Callable[[], object]] = {
        "another machine": lambda: floor.do("use-shuffler", id="SH-2"),
        "a power cut": lambda: floor.tell("SH-1", Restarted()),
        "a card between rounds": lambda: floor.tell("SH-1", PacketOut(0, 5)),
    }
    how[loses]()
    assert floor.act("open-betting").refusal is not None
    floor.tell("SH-2" if loses != "another machine" else "SH-1", ShuffleDone(9, 52))  # of one not in use
    assert floor.act("open-betting").refusal is not None
    floor.shuffle()
    floor.prove_sign()
    floor.do("open-betting")


def test_i09_a_card_out_of_an_unproven_deck_is_a_fault() -> None:
    floor = Floor()
    floor.bets(1)
    floor.do("use-shuffler", id="SH-1")
    floor.do("use-shoe")
    floor.tell("shoe", CardDrawn(None))
    assert list(floor.table.faults) == ["card-without-shuffle"]
    assert floor.phase == "betting"


# --- I12: two faults at once -----------------------------------------------------------------------


def _dies(table: Evening) -> None:
    table.kill_at("send")


def _terminates(table: Evening) -> None:
    table.enter(table.read)
    table.enter(table.restart)  # a disk that is full ends the next one too


def _fills(table: Evening) -> None:
    """The disk is full for the next transaction."""

    def full(point: str) -> None:
        if point == "append":
            table.on = lambda point: None
            raise OSError(28, "no space left on device")

    table.on = full


def _exposes(table: Evening) -> None:
    table.enter(lambda: table.try_act("expose", "exposed", box=1, card=1))
    if not table.acts("expose"):
        table.enter(lambda: table.try_act("expose", "exposed", box=1, card=1))


FAULTS: Final[dict[str, Callable[[Evening], object]]] = {
    "shoe lost": lambda table: table.enter(lambda: table.unplug("shoe")),
    "shuffler fault": lambda table: table.handle("SH-1", "jam"),
    "exposed card": _exposes,
    "sign lost": lambda table: table.enter(lambda: table.unplug("sign")),
    "kill -9": _dies,
    "disk full": _fills,
    "SIGTERM": _terminates,
}


def _afterwards(table: Evening) -> object:
    """Everything is put right, and the round played to its end: who has what, and why."""
    table.enter(table.read)
    for device in tuple(table.sims):
        table.replug(device)
    table.enter(lambda: table.pass_time(SECOND))
    if table.state("SH-1")["fault"]:
        table.handle("SH-1", "clear")
    while not table.enter(lambda: table.pass_time(8 * SECOND)):
        pass
    if table.phase in ("dealing", "deciding"):
        table.take(1)
        table.act("fold", box=1)
        table.act("settle")
    if table.table.rig.barred("SH-1"):
        table.act("accept-device", id="SH-1")
    table.settle_down()
    table.check()
    [outcome] = [
        e["outcome"] for r in table.records() for e in r.get("effects", ()) if e["effect"] == "round-closed"
    ]
    return (
        outcome,
        {name: amount for name, amount in table.table.balances.items() if amount},
        table.game.carried,
    )


@pytest.mark.parametrize(("one", "other"), list(combinations(FAULTS, 2)))
def test_i12_two_faults_within_ten_milliseconds_end_alike_in_both_orders(one: str, other: str) -> None:
    ends = []
    for pair in ((one, other), (other, one)):
        with evening(CONFIG) as table:
            bets(table, 1, progressive=True)
            table.act("close-betting")
            table.take(0)
            for name in pair:
                FAULTS[name](table)
                table.enter(lambda: table.pass_time(5 * MILLISECOND))
            ends.append(_afterwards(table))
    assert ends[0] == ends[1]
