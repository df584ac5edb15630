"""Every state and every input of five-card stud: what is meant to happen, and that it does.

The tables below are the intention, written down from the clauses, row by row, and not from what the
program does. A cell says: ``.`` taken, the state stays · ``> STATE`` taken, and there · ``no CLAUSE``
refused (``no -``: by the order of things, no clause) · ``! CODE`` taken, and this fault is latched.

What the regulation says of a lost device has no number of its own: its refusals name FC-19, beside which
it stands.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from daemon.games.desk import Act, TimeUp
from daemon.games.five_card.rows import ACTS, CORRECT, NEWS, REFUSALS, ROWS, TRIGGERS, Phase
from daemon.games.machine import covered, refusals
from daemon.rig import BY_HAND
from daemon.table import FromDevice, Outcome
from drivers.base import CardDrawn, CutCardDrawn, Restarted
from drivers.cards import FaceDownCard
from tests.table.five_card.floor import Floor, rules

STATES = (
    "out-of-service",
    "between-rounds",
    "antes",
    "dealing",
    "opening",
    "speaking",
    "answering",
    "showdown",
    "settling",
)

# Seats 1, 2 and 3 play, 4 only sits there; cards from a shoe. What differs where the deck is dealt by
# hand stands in HAND below. "dealing" is the third card, "opening" nobody has spoken.
INTENDED = """
input               | out-of-service   | between-rounds       | antes         | dealing                     | opening                     | speaking                    | answering                   | showdown                    | settling                    | because
open-table          | > between-rounds | no -                 | no -          | no -                        | no -                        | no -                        | no -                        | no -                        | no -                        | a table is opened once
close-table         | no -             | no FC-06             | no -          | no -                        | no -                        | no -                        | no -                        | no -                        | no -                        | FC-06: chips before players are theirs; an ante is one of a round that is to be played
change-rules        | .                | .                    | no FC-06      | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | FC-06: once antes are down nobody changes the ante, nor what goes with it
buy-in              | no -             | .                    | .             | .                           | .                           | .                           | .                           | .                           | .                           | FC-06: at any time, at a seat without a hand; FC-03
top-up              | no -             | .                    | .             | .                           | .                           | .                           | .                           | .                           | .                           | FC-06: at any time for who holds no hand
leave               | no -             | .                    | .             | .                           | .                           | .                           | .                           | .                           | .                           | FC-06: who holds no hand takes his chips at any time
new-deck            | no -             | .                    | .             | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | FC-02: after any round; a round counts from its burn
shuffle             | no -             | .                    | .             | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | FC-02: before the round
cut                 | no -             | .                    | .             | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | FC-02: before the round, six cards or more
ante                | no -             | > antes              | .             | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | FC-06, FC-08: before the round has begun
take-back           | no -             | no FC-06             | .             | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | FC-06: before the round has begun, who has placed one
burn                | no -             | no FC-03             | no FC-19      | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | FC-03: two antes at least; FC-02: one card a round; the shoe tells it itself
card                | no -             | no FC-08             | no FC-02      | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | FC-08: after the first rake; FC-02: after the burn; the shoe tells it itself
hand-entry          | no -             | no FC-19             | no FC-19      | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | a lost shoe only (the sentence below FC-20)
expose-hole         | no -             | no FC-18             | no FC-18      | no FC-18                    | .                           | no FC-18                    | no FC-18                    | no FC-18                    | no FC-18                    | FC-18: while dealing, which nobody has ended by speaking
correct-deal        | no -             | no FC-19             | no FC-19      | .                           | .                           | .                           | no FC-19                    | no FC-19                    | no FC-19                    | FC-19: until the next betting's first act; later a supervisor's
wrong-deck          | no -             | no FC-19             | no FC-19      | > between-rounds ! new-deck | > between-rounds ! new-deck | > between-rounds ! new-deck | > between-rounds ! new-deck | > between-rounds ! new-deck | > between-rounds ! new-deck | FC-19: a supervisor's, whenever cards are out; the deck is not used again
bet                 | no -             | no FC-10             | no FC-10      | no FC-17                    | > answering                 | > answering                 | no FC-11                    | no FC-14                    | no FC-14                    | FC-10, FC-11: opens; FC-11: once; FC-17: not amid the deal; FC-14: not after the last round
call                | no -             | no FC-10             | no FC-10      | no FC-17                    | no FC-10                    | no FC-11                    | .                           | no FC-14                    | no FC-14                    | FC-10: the first speaker bets or is out; FC-11: folds, checks or bets
raise               | no -             | no FC-10             | no FC-10      | no FC-17                    | no FC-10                    | no FC-11                    | .                           | no FC-14                    | no FC-14                    | FC-10: the first speaker bets or is out; FC-11: folds, checks or bets
check               | no -             | no FC-10             | no FC-10      | no FC-17                    | no FC-10                    | .                           | no FC-11                    | no FC-14                    | no FC-14                    | FC-10: not in the first round; FC-11: not after a bet
fold                | no -             | no FC-10             | no FC-10      | no FC-17                    | .                           | .                           | .                           | no FC-14                    | no FC-14                    | FC-10, FC-11: always at his turn
reveal              | no -             | no FC-14             | no FC-14      | no FC-14                    | no FC-14                    | no FC-14                    | no FC-14                    | .                           | no FC-14                    | FC-14: after the last round, once each
settle              | no -             | no FC-14             | no FC-14      | no FC-14                    | no FC-14                    | no FC-14                    | no FC-14                    | no FC-14                    | > between-rounds            | FC-14: when all have turned
breach              | no -             | .                    | .             | .                           | .                           | .                           | .                           | .                           | .                           | FC-17, FC-20: recorded, and nothing changes
card-drawn          | .                | ! card-without-antes | > dealing     | .                           | .                           | .                           | .                           | .                           | .                           | FC-02: the first is the burn; FC-03: two antes; FC-10: as due; FC-19: early ones wait, a surplus one is laid aside
cut-card            | .                | .                    | .             | .                           | .                           | .                           | .                           | .                           | .                           | the regulation has none: recorded
stray-cards         | ! stray-cards    | ! stray-cards        | ! stray-cards | ! stray-cards               | ! stray-cards               | ! stray-cards               | ! stray-cards               | ! stray-cards               | ! stray-cards               | FC-02: there is one deck, and it is not in that shoe
shoe-restarted      | .                | .                    | .             | ! shoe-restarted            | ! shoe-restarted            | ! shoe-restarted            | ! shoe-restarted            | ! shoe-restarted            | ! shoe-restarted            | cards may be out that nobody knows of: FC-19 is for people
deck-source-changed | .                | .                    | .             | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | a lost device halts a round, and is not exchanged (the sentence below FC-20)
time-up             | no FC-16         | no FC-16             | no FC-16      | no FC-16                    | .                           | .                           | .                           | no FC-16                    | no FC-16                    | FC-16: the fold of who has to decide
correct             | no -             | no FC-19             | no FC-19      | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | FC-19: nothing was keyed in these rounds; a closed table has no card
"""

HAND = """
input          | out-of-service | between-rounds | antes         | dealing       | opening       | speaking      | answering     | showdown      | settling
burn           | no -           | no FC-03       | > dealing     | no FC-02      | no FC-02      | no FC-02      | no FC-02      | no FC-02      | no FC-02
card           | no -           | no FC-08       | no FC-02      | .             | no FC-19      | no FC-19      | no FC-19      | no FC-19      | no FC-19
card-drawn     | ! stray-cards  | ! stray-cards  | ! stray-cards | ! stray-cards | ! stray-cards | ! stray-cards | ! stray-cards | ! stray-cards | ! stray-cards
shoe-restarted | .              | .              | .             | .             | .             | .             | .             | .             | .
correct        | no -           | no FC-19       | no FC-19      | no FC-19      | .             | .             | no FC-19      | no FC-19      | .
"""

# The same by seat 3, which holds a hand from "antes" on, and whose turn it never is.
OF_A_HAND = """
input  | between-rounds | antes    | dealing  | opening  | speaking | answering | showdown | settling | because
buy-in | no FC-03       | no FC-03 | no FC-03 | no FC-03 | no FC-03 | no FC-03  | no FC-03 | no FC-03 | FC-03: one seat each
top-up | .              | no FC-06 | no FC-06 | no FC-06 | no FC-06 | no FC-06  | no FC-06 | no FC-06 | FC-06: chips are added when a round has ended
leave  | .              | no FC-06 | no FC-17 | no FC-17 | no FC-17 | no FC-17  | no FC-17 | no FC-17 | FC-06: a leaver folds; FC-17: at his turn
ante   | > antes        | no FC-06 | no FC-06 | no FC-06 | no FC-06 | no FC-06  | no FC-06 | no FC-06 | FC-06: one ante for all, and one each
bet    | no FC-10       | no FC-10 | no FC-17 | no FC-17 | no FC-17 | no FC-11  | no FC-14 | no FC-14 | FC-17: only in turn
call   | no FC-10       | no FC-10 | no FC-17 | no FC-10 | no FC-11 | no FC-17  | no FC-14 | no FC-14 | FC-17: only in turn
raise  | no FC-10       | no FC-10 | no FC-17 | no FC-10 | no FC-11 | no FC-17  | no FC-14 | no FC-14 | FC-17: only in turn
check  | no FC-10       | no FC-10 | no FC-17 | no FC-10 | no FC-17 | no FC-11  | no FC-14 | no FC-14 | FC-17: only in turn
fold   | no FC-10       | no FC-10 | no FC-17 | no FC-17 | no FC-17 | no FC-17  | no FC-14 | no FC-14 | FC-17: only in turn
reveal | no FC-14       | no FC-14 | no FC-14 | no FC-14 | no FC-14 | no FC-14  | no FC-14 | no FC-14 | FC-14: in its order, who shows most last
"""


def _rest(floor: Floor) -> None:
    floor.seat({1: 9_000, 2: 9_000, 3: 9_000, 4: 9_000})
    floor.do("shuffle")


def _antes(floor: Floor) -> None:
    _rest(floor)
    floor.antes(1, 2, 3)


def _opening(floor: Floor) -> None:
    _antes(floor)
    floor.burn()
    floor.first_deal({1: "AS 5D", 2: "KS 5C", 3: "QS 5H"})


def _dealing(floor: Floor) -> None:
    _opening(floor)
    floor.bet_and_call(100)


def _speaking(floor: Floor) -> None:
    _dealing(floor)
    floor.street({1: "9S", 2: "8S", 3: "7S"})


def _answering(floor: Floor) -> None:
    _speaking(floor)
    floor.bet(1, 100)


def _showdown(floor: Floor) -> None:
    _speaking(floor)
    floor.check_round()
    floor.street({1: "9H", 2: "8H", 3: "7H"})
    floor.check_round()
    floor.street({1: "KH", 2: "QH", 3: "JH"})
    floor.check_round()


def _settling(floor: Floor) -> None:
    _showdown(floor)
    floor.show()


REACH: dict[str, Callable[[Floor], None]] = {
    "out-of-service": lambda floor: None,
    "between-rounds": _rest,
    "antes": _antes,
    "dealing": _dealing,
    "opening": _opening,
    "speaking": _speaking,
    "answering": _answering,
    "showdown": _showdown,
    "settling": _settling,
}

# One telling input of each kind; most would be taken where the state allows it at all.
GIVEN: dict[str, dict[str, object]] = {
    "buy-in": {"seat": 5, "amount": 200_000},
    "top-up": {"seat": 4, "amount": 100},
    "leave": {"seat": 4},
    "cut": {"seat": 1, "cards": 20},
    "ante": {"seat": 4},
    "take-back": {"seat": 3},
    "card": {"seat": 1, "card": "6S"},
    "expose-hole": {"seat": 1},
    "correct-deal": {"text": "seen"},
    "wrong-deck": {"text": "two aces of spades"},
    "bet": {"amount": 10_000},
    "raise": {"amount": 20_000},
    "breach": {"text": "shows his cards"},
    "change-rules": {"rules": rules(pay_unit=100).text()},
}
SUPERVISED = ("change-rules", "wrong-deck")


def _give(floor: Floor, trigger: str, seat: int = 0) -> Outcome:
    now = floor.game.round
    if trigger == "deck-source-changed":
        return floor.act("use-hand" if floor.table.rig.mode == "shoe" else "use-shoe")
    if trigger == "time-up":
        return floor.take(TimeUp(now.turn if now else 1))
    if trigger == CORRECT:
        name = "card" if floor.phase in ("dealing", "opening", "speaking") else "reveal"
        return floor.take(Act(name, {"seat": 1, "card": "6S"}, replaces=_keyed_last(floor)))
    if trigger in NEWS:
        device = "old-shoe" if trigger == "stray-cards" else "shoe"
        event = {
            "card-drawn": CardDrawn(FaceDownCard(floor.unseen()[0])),
            "stray-cards": CardDrawn(FaceDownCard(floor.unseen()[0])),
            "cut-card": CutCardDrawn(),
            "shoe-restarted": Restarted(),
        }[trigger]
        return floor.take(FromDevice(device, event, boot=1, ordinal=900))
    args = dict(GIVEN.get(trigger, {}))
    if trigger in ("bet", "call", "raise", "check", "fold", "reveal"):
        args["seat"] = floor.turn or 1
    if seat:
        args["seat"] = seat
    if trigger == "reveal" and floor.table.rig.mode == BY_HAND:
        args["card"] = floor.hole.get(floor.turn or 1, "5D")
    return floor.act(trigger, role="supervisor" if trigger in SUPERVISED else "dealer", **args)


def _keyed_last(floor: Floor) -> int:
    """The record that keyed the newest card of seat 1."""
    now = floor.game.round
    cards = now.hands[1].cards if now and now.hands[1].cards else []
    newest = [card.told for card in cards if card.up == (floor.phase not in ("showdown", "settling"))]
    return newest[-1] if newest and newest[-1] else 1


def _became(floor: Floor, trigger: str, seat: int = 0) -> str:
    before, faults = floor.phase, set(floor.table.faults)
    outcome = _give(floor, trigger, seat)
    if outcome.refusal is not None:
        assert floor.phase == before
        return f"no {outcome.refusal.clause or '-'}"
    new = "".join(f" ! {code}" for code in floor.table.faults if code not in faults)
    if floor.phase != before:
        return f"> {floor.phase}{new}"
    return new.strip() or "."


def _cells(table: str) -> dict[tuple[str, str], str]:
    head, *lines = table.strip().splitlines()
    states = [word for word in map(str.strip, head.split("|")) if word not in ("input", "because")]
    cells = {}
    for line in lines:
        trigger, *row = [word.strip() for word in line.split("|")]
        assert len(row) >= len(states)
        cells |= {(state, trigger): cell for state, cell in zip(states, row, strict=False)}
    return cells


SHOE_CELLS = _cells(INTENDED)
HAND_CELLS = _cells(HAND)
CELLS_OF_A_HAND = _cells(OF_A_HAND)


def test_the_table_names_every_state_and_input() -> None:
    assert set(SHOE_CELLS) == {(state.value, trigger) for state in Phase for trigger in TRIGGERS}
    assert set(TRIGGERS) == {*ACTS, *NEWS, CORRECT}


def test_every_pair_has_a_row_or_a_refusal_and_none_has_both() -> None:
    rows, nos = covered(ROWS), set(refusals(REFUSALS))
    assert rows | nos == {(state, trigger) for state in Phase for trigger in TRIGGERS}
    assert not rows & nos


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_with_a_shoe(state: str, trigger: str, compiled: bool) -> None:
    floor = Floor(mode="shoe", compiled=compiled)
    REACH[state](floor)
    assert floor.phase == state
    assert _became(floor, trigger) == SHOE_CELLS[state, trigger]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("state", "trigger"), sorted(HAND_CELLS))
def test_dealt_by_hand(state: str, trigger: str, compiled: bool) -> None:
    floor = Floor(mode=BY_HAND, compiled=compiled)
    REACH[state](floor)
    assert floor.phase == state
    assert _became(floor, trigger) == HAND_CELLS[state, trigger]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("state", "trigger"), sorted(CELLS_OF_A_HAND))
def test_by_a_hand_that_has_no_turn(state: str, trigger: str, compiled: bool) -> None:
    floor = Floor(mode="shoe", compiled=compiled)
    REACH[state](floor)
    assert _became(floor, trigger, seat=3) == CELLS_OF_A_HAND[state, trigger]


def test_an_unknown_act_is_refused() -> None:
    floor = Floor()
    assert "not known" in floor.refused("sing")


def test_no_bet_takes_the_place_of_another() -> None:
    floor = Floor()
    _answering(floor)
    refusal = floor.take(Act("bet", {"seat": 1, "amount": 100}, replaces=floor.seq)).refusal
    assert refusal is not None
    assert refusal.clause == "FC-06"
