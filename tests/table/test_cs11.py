"""CS-11 to the letter: every card, every packet, every step of the deal, and pairs of cases together."""

from __future__ import annotations

from itertools import combinations

import pytest

from drivers.base import CardDrawn, FaultSet, PacketOut, Restarted
from drivers.cards import DECK, FaceDownCard
from tests.table.floor import ANTE, STAKE, Floor

DEALER = 0
BOXES = (2, 5)
JAM = FaultSet(1, "jam at infeed")
CUT = {"jam": JAM, "restart": Restarted()}


def clauses(floor: Floor) -> list[str]:
    return [row["clause"] for row in floor.closed[-1]["irregularities"]]


def hands(floor: Floor) -> dict[int, list[str]]:
    assert floor.game.round is not None
    dealt = floor.game.round.dealt
    return {
        place: [c.face.turn().text if c.face else "?" for c in hand] for place, hand in dealt.hands.items()
    }


def void_gives_everything_back(floor: Floor, progressive: tuple[int, ...]) -> None:
    assert floor.phase == "void"
    assert floor.closed[-1]["outcome"] == "void"
    for box in BOXES:
        assert floor.player(box) == (-STAKE if box in progressive else 0)
    assert floor.game.carried == dict.fromkeys(progressive, STAKE)
    floor.prove_sign()
    refused = floor.refused("open-betting")
    assert "CS-03" in refused or "barred (CS-11d)" in refused


# --- (a) and (b): exposures ---------------------------------------------------------------

PLACES = [(place, position) for position in range(1, 6) for place in (*BOXES, DEALER)]


@pytest.mark.parametrize("reported", ["by the shoe", "by the dealer"])
@pytest.mark.parametrize("number", range(15))
def test_b_each_card_of_each_hand(number: int, reported: str) -> None:
    place, position = PLACES[number]
    floor = Floor()
    floor.bets(*BOXES, progressive=(2,))
    floor.draw(count=number)
    floor.draw(count=1, face_up=reported == "by the shoe")
    by_rule = (place, position) == (DEALER, 5)
    if reported == "by the dealer" and not by_rule:
        floor.do("expose", box=place or "dealer", card=position)
    floor.draw(count=14 - number)
    assert floor.phase == "deciding"
    view = floor.game.round_view()
    assert view is not None
    assert [row["clause"] for row in view["irregularities"]] == ([] if by_rule else ["CS-11b"])  # type: ignore[attr-defined]
    dealer = view["dealer"]["cards"]  # type: ignore[index]
    up = [index + 1 for index, card in enumerate(dealer or []) if card is not None]
    if place == DEALER and not by_rule:
        assert up == [position]  # it stays up, and all others go face down, the fifth too
    else:
        assert up == [5]
    for box in BOXES:
        floor.do("fold", box=box)
    floor.do("settle")
    assert floor.closed[-1]["outcome"] == "settled"


@pytest.mark.parametrize(("first", "second"), list(combinations(range(14), 2)))
def test_a_two_exposed_cards_anywhere(first: int, second: int) -> None:
    """The 91 pairs of cards that are not the open fifth: the round is void with the second."""
    floor = Floor()
    floor.bets(*BOXES, progressive=(2,))
    floor.draw(count=first)
    floor.draw(count=1, face_up=True)
    floor.draw(count=second - first - 1)
    assert floor.phase == "dealing"
    floor.draw(count=1, face_up=True)
    void_gives_everything_back(floor, (2,))
    assert clauses(floor) == ["CS-11b", "CS-11a"]


def test_a_after_an_exposed_dealers_card_the_fifth_face_up_is_the_second() -> None:
    floor = Floor()
    floor.bets(*BOXES)
    floor.draw(count=2)
    floor.draw(count=1, face_up=True)
    floor.draw(count=11)
    floor.draw(count=1, face_up=True)
    void_gives_everything_back(floor, ())


# --- (a): number of cards -----------------------------------------------------------------


@pytest.mark.parametrize("phase", ["deciding", "showdown", "settling"])
@pytest.mark.parametrize("mode", ["shoe", "shuffler"])
def test_a_a_card_too_many_until_the_settlement(mode: str, phase: str) -> None:
    floor = Floor(mode=mode)
    floor.bets(*BOXES, progressive=(5,))
    if mode == "shuffler":
        for index in range(3):
            floor.packet(index)
    else:
        if phase == "showdown":
            floor.tell("shoe", CardDrawn(None))
        floor.draw(count=14 if phase == "showdown" else 15)
    if phase != "deciding":
        floor.do("raise", box=2)
        floor.do("fold", box=5)
    if phase == "settling" and mode == "shuffler":
        floor.do("reveal", box="dealer", cards="AS QD 9H 6C 3S")
    assert floor.phase == phase
    floor.tell("SH-1", PacketOut(3, 5)) if mode == "shuffler" else floor.draw(count=1)
    void_gives_everything_back(floor, (5,))
    assert clauses(floor) == ["CS-11a"]


@pytest.mark.parametrize("after", range(1, 15))
def test_a_the_dealer_declares_a_misdeal_at_any_card(after: int) -> None:
    floor = Floor()
    floor.bets(*BOXES, progressive=(2, 5))
    floor.draw(count=after)
    floor.do("misdeal", text="wrong order")
    void_gives_everything_back(floor, (2, 5))
    assert floor.closed[-1]["cards_out"] == after


# --- (c): boxes without a bet ---------------------------------------------------------------


def physical(strays: dict[int, int]) -> dict[int, list[str]]:
    """Where the cards really lie when the dealer slips: unit number -> empty box, else the next in turn."""
    lie: dict[int, list[str]] = {place: [] for place in (*BOXES, DEALER, *strays.values())}
    turn = iter([place for _ in range(5) for place in (*BOXES, DEALER)])
    for number in range(1, 16 + len(strays)):
        place = strays[number] if number in strays else next(turn)
        lie[place].append(DECK[number].text)
    return lie


def deal_wrongly(floor: Floor, strays: dict[int, int], told_late: bool) -> None:
    for number in range(1, 16 + len(strays)):
        floor.tell("shoe", CardDrawn(FaceDownCard(DECK[number])))
        if not told_late and number in strays:
            floor.do("empty-box", box=strays[number], first=number)
        if told_late and number == 15:
            for first, box in strays.items():
                floor.do("empty-box", box=box, first=first)


@pytest.mark.parametrize("told_late", [False, True])
@pytest.mark.parametrize("box", [1, 3, 7])
@pytest.mark.parametrize("number", range(1, 16))
def test_c_one_card_of_any_number_in_any_empty_box(number: int, box: int, told_late: bool) -> None:
    floor = Floor()
    floor.bets(*BOXES)
    deal_wrongly(floor, {number: box}, told_late)
    assert floor.phase == "deciding"
    assert hands(floor) == physical({number: box})


@pytest.mark.parametrize("told_late", [False, True])
@pytest.mark.parametrize("strays", [{3: 3, 7: 4}, {1: 1, 2: 1}, {5: 7, 6: 3, 12: 7}, {14: 6, 15: 6}])
def test_c_several_cards_and_several_boxes(strays: dict[int, int], told_late: bool) -> None:
    floor = Floor()
    floor.bets(*BOXES)
    deal_wrongly(floor, strays, told_late)
    assert hands(floor) == physical(strays)
    for box in BOXES:
        floor.do("fold", box=box)
    floor.do("settle")
    summary = floor.closed[-1]
    assert summary["outcome"] == "settled"
    assert summary["cards_out"] == 15 + len(strays)
    void = {row["box"] for row in summary["boxes"] if row["decision"] == "void"}
    assert void == set(strays.values())
    assert clauses(floor) == ["CS-11c"] * len(strays)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_c_one_packet_of_any_number(number: int) -> None:
    floor = Floor(mode="shuffler")
    floor.bets(*BOXES)
    floor.do("close-betting")
    for index in range(3):
        floor.packet(index)
        if index + 1 == number:
            floor.do("empty-box", box=4, first=number)
    floor.packet(0)
    assert floor.phase == "deciding"
    assert {place: len(hand) for place, hand in hands(floor).items()} == {2: 5, 5: 5, DEALER: 5, 4: 5}


def test_c_a_carried_bet_alone_is_no_bet() -> None:
    floor = Floor()
    floor.bets(*BOXES, progressive=(5,))
    floor.draw(count=1)
    floor.do("misdeal")
    floor.bets(2)
    floor.draw(count=2)
    floor.do("empty-box", box=5, first=2)
    assert floor.game.refundable == {5: STAKE}


# --- (d): the shuffler ------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["jam", "restart", "declared"])
@pytest.mark.parametrize("taken", [False, True])
@pytest.mark.parametrize("out", [0, 1, 2, 3])
def test_d_at_every_step_of_the_deal_and_just_outside_it(out: int, taken: bool, how: str) -> None:
    """Three packets: before the first and after the last nothing is void."""
    floor = Floor(mode="shuffler")
    floor.bets(*BOXES, progressive=(2,))
    floor.do("close-betting")
    for index in range(out):
        floor.packet(index, taken=taken or index + 1 < out)
    if how == "declared":
        if out == 3:
            assert "round stands" in floor.refused("shuffler-failed")
            return
        floor.do("shuffler-failed")
    else:
        floor.tell("SH-1", CUT[how])
    if out == 0:
        assert floor.phase == "betting"
        assert [floor.player(box) for box in BOXES] == [-ANTE - STAKE, -ANTE]
        assert "CS-11d" in floor.refused("use-shuffler", id="SH-1")
    elif out == 3:
        assert floor.phase == "deciding"
    else:
        void_gives_everything_back(floor, (2,))
        assert clauses(floor) == ["CS-11d"]
        assert "CS-11d" in floor.refused("use-shuffler", id="SH-1")
        assert "barred" in floor.refused("open-betting")


def test_d_the_shoe_path_asks_for_shuffle_and_cut() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(2)
    floor.packet(0)
    floor.tell("SH-1", JAM)
    floor.do("use-shoe")
    floor.prove_sign()
    floor.do("shuffle")
    floor.prove_sign()
    assert "shuffle and cut" in floor.refused("open-betting")
    floor.do("cut")
    floor.do("open-betting")


def test_d_a_machine_that_is_not_in_use_fails_nobody() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(2)
    floor.packet(0)
    floor.tell("SH-2", JAM)
    assert floor.phase == "dealing"


# --- pairs ----------------------------------------------------------------------------------


def exposed_then(floor: Floor) -> None:
    floor.do("expose", box=2, card=1)


def empty_then(floor: Floor) -> None:
    floor.do("empty-box", box=4, first=1)


@pytest.mark.parametrize("order", [(exposed_then, empty_then), (empty_then, exposed_then)])
def test_b_and_c_together_the_round_stands(order: tuple[object, object]) -> None:
    """The exposed card lies in box 2 whichever is told first."""
    floor = Floor()
    floor.bets(*BOXES)
    floor.draw(count=4)
    for step in order:
        step(floor)  # type: ignore[operator]
    floor.draw(count=12)
    assert floor.phase == "deciding"
    assert floor.game.round is not None
    assert floor.game.round.exposure is not None


def test_an_exposed_card_of_a_void_box_counts() -> None:
    floor = Floor()
    floor.bets(*BOXES)
    floor.draw(count=3)
    floor.do("empty-box", box=4, first=2)
    floor.do("expose", box=4, card=1)
    assert floor.phase == "dealing"
    floor.do("expose", box=2, card=1)
    assert floor.phase == "void"


@pytest.mark.parametrize("second", ["jam", "misdeal", "surplus"])
def test_c_and_then_something_that_voids(second: str) -> None:
    floor = Floor(mode="shuffler")
    floor.bets(*BOXES, progressive=(2,))
    floor.do("close-betting")
    floor.packet(0)
    floor.do("empty-box", box=1, first=1)
    if second == "jam":
        floor.tell("SH-1", JAM)
    elif second == "misdeal":
        floor.do("misdeal", text="the rest went wrong too")
    else:
        floor.packet(1)
        floor.packet(2)
        floor.packet(0)
        floor.tell("SH-1", PacketOut(1, 5))
    void_gives_everything_back(floor, (2,))
    assert clauses(floor) == ["CS-11c", "CS-11d" if second == "jam" else "CS-11a"]


@pytest.mark.parametrize("swapped", [False, True])
def test_i12_an_exposure_and_a_jam_in_either_order_end_alike(swapped: bool) -> None:
    floor = Floor(mode="shuffler")
    floor.bets(*BOXES, progressive=(2, 5))
    floor.do("close-betting")
    floor.packet(0)
    floor.packet(1)
    if swapped:
        floor.tell("SH-1", JAM)
        assert "CS-11" in floor.refused("expose", box=2, card=1)
    else:
        floor.do("expose", box=2, card=1)
        floor.tell("SH-1", JAM)
    void_gives_everything_back(floor, (2, 5))
    assert clauses(floor)[-1] == "CS-11d"


def test_after_the_settlement_nothing_can_be_declared() -> None:
    floor = Floor()
    floor.bets(2)
    floor.draw(count=10)
    floor.do("fold", box=2)
    floor.do("settle")
    for name, args in (
        ("misdeal", {}),
        ("expose", {"box": 2, "card": 1}),
        ("empty-box", {"box": 3, "first": 1}),
    ):
        assert "only a supervisor may dispute" in floor.refused(name, **args)
    assert "supervisor" in floor.refused("dispute", round=1, text="two cards were up")
    assert "has no account" in floor.refused("dispute", role="supervisor", round=2, text="x")
    before = dict(floor.table.balances)
    floor.do("dispute", role="supervisor", round=1, text="two cards were up")
    assert floor.notes[-1].clause == "CS-11"
    assert "round 1: two cards were up" in floor.notes[-1].detail
    assert floor.table.balances == before
