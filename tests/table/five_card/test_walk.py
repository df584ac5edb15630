"""Every state and every input of five-card stud: what is meant to happen, and that it does.

The table below is the intention, read through cell by cell beside the regulation. A cell says:
``.`` taken, the state stays · ``> STATE`` taken, and there · ``no CLAUSE`` refused (``no -``:
by the order of things, no clause) · ``! CODE`` taken, and this fault is latched.
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
input               | out-of-service   | between-rounds       | antes         | dealing                     | opening                     | speaking                    | answering                   | showdown                    | settling
open-table          | > between-rounds | no -                 | no -          | no -                        | no -                        | no -                        | no -                        | no -                        | no -
close-table         | no -             | no FC-06             | no -          | no -                        | no -                        | no -                        | no -                        | no -                        | no -
change-rules        | .                | .                    | no FC-06      | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06
buy-in              | no -             | .                    | .             | .                           | .                           | .                           | .                           | .                           | .
top-up              | no -             | .                    | .             | .                           | .                           | .                           | .                           | .                           | .
leave               | no -             | .                    | .             | .                           | .                           | .                           | .                           | .                           | .
new-deck            | no -             | .                    | .             | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02
shuffle             | no -             | .                    | .             | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02
cut                 | no -             | .                    | .             | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02
ante                | no -             | > antes              | .             | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06
take-back           | no -             | no FC-06             | .             | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06                    | no FC-06
burn                | no -             | no FC-03             | no FC-19      | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02                    | no FC-02
card                | no -             | no FC-08             | no FC-02      | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19
hand-entry          | no -             | no FC-19             | no FC-19      | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19
expose-hole         | no -             | no FC-18             | no FC-18      | no FC-18                    | .                           | no FC-18                    | no FC-18                    | no FC-18                    | no FC-18
correct-deal        | no -             | no FC-19             | no FC-19      | .                           | .                           | .                           | no FC-19                    | no FC-19                    | no FC-19
wrong-deck          | no -             | no FC-19             | no FC-19      | > between-rounds ! new-deck | > between-rounds ! new-deck | > between-rounds ! new-deck | > between-rounds ! new-deck | > between-rounds ! new-deck | > between-rounds ! new-deck
bet                 | no -             | no FC-10             | no FC-10      | no FC-17                    | > answering                 | > answering                 | no FC-11                    | no FC-14                    | no FC-14
call                | no -             | no FC-10             | no FC-10      | no FC-17                    | no FC-11                    | no FC-11                    | .                           | no FC-14                    | no FC-14
raise               | no -             | no FC-10             | no FC-10      | no FC-17                    | no FC-10                    | no FC-10                    | .                           | no FC-14                    | no FC-14
check               | no -             | no FC-10             | no FC-10      | no FC-17                    | no FC-10                    | .                           | no FC-11                    | no FC-14                    | no FC-14
fold                | no -             | no FC-10             | no FC-10      | no FC-17                    | .                           | .                           | .                           | no FC-14                    | no FC-14
reveal              | no -             | no FC-14             | no FC-14      | no FC-14                    | no FC-14                    | no FC-14                    | no FC-14                    | .                           | no FC-14
settle              | no -             | no FC-14             | no FC-14      | no FC-14                    | no FC-14                    | no FC-14                    | no FC-14                    | no FC-14                    | > between-rounds
breach              | no -             | .                    | .             | .                           | .                           | .                           | .                           | .                           | .
card-drawn          | .                | ! card-without-antes | > dealing     | .                           | .                           | .                           | .                           | .                           | .
cut-card            | .                | .                    | .             | .                           | .                           | .                           | .                           | .                           | .
stray-cards         | ! stray-cards    | ! stray-cards        | ! stray-cards | ! stray-cards               | ! stray-cards               | ! stray-cards               | ! stray-cards               | ! stray-cards               | ! stray-cards
shoe-restarted      | .                | .                    | .             | ! shoe-restarted            | ! shoe-restarted            | ! shoe-restarted            | ! shoe-restarted            | ! shoe-restarted            | ! shoe-restarted
deck-source-changed | .                | .                    | .             | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19
time-up             | no FC-16         | no FC-16             | no FC-16      | no FC-16                    | .                           | .                           | .                           | no FC-16                    | no FC-16
correct             | no FC-19         | no FC-19             | no FC-19      | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19                    | no FC-19
"""

HAND = """
input          | out-of-service | between-rounds | antes         | dealing       | opening       | speaking      | answering     | showdown      | settling
burn           | no -           | no FC-03       | > dealing     | no FC-02      | no FC-02      | no FC-02      | no FC-02      | no FC-02      | no FC-02
card           | no -           | no FC-08       | no FC-02      | .             | no FC-19      | no FC-19      | no FC-19      | no FC-19      | no FC-19
card-drawn     | ! stray-cards  | ! stray-cards  | ! stray-cards | ! stray-cards | ! stray-cards | ! stray-cards | ! stray-cards | ! stray-cards | ! stray-cards
shoe-restarted | .              | .              | .             | .             | .             | .             | .             | .             | .
correct        | no FC-19       | no FC-19       | no FC-19      | no FC-19      | .             | .             | no FC-19      | no FC-19      | .
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


def _give(floor: Floor, trigger: str) -> Outcome:
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
    if trigger == "reveal" and floor.table.rig.mode == BY_HAND:
        args["card"] = floor.hole.get(floor.turn or 1, "5D")
    return floor.act(trigger, role="supervisor" if trigger in SUPERVISED else "dealer", **args)


def _keyed_last(floor: Floor) -> int:
    """The record that keyed the newest card of seat 1."""
    now = floor.game.round
    cards = now.hands[1].cards if now and now.hands[1].cards else []
    newest = [card.keyed for card in cards if card.up == (floor.phase not in ("showdown", "settling"))]
    return newest[-1] if newest and newest[-1] else 1


def _became(floor: Floor, trigger: str) -> str:
    before, faults = floor.phase, set(floor.table.faults)
    outcome = _give(floor, trigger)
    if outcome.refusal is not None:
        assert floor.phase == before
        return f"no {outcome.refusal.clause or '-'}"
    new = "".join(f" ! {code}" for code in floor.table.faults if code not in faults)
    if floor.phase != before:
        return f"> {floor.phase}{new}"
    return new.strip() or "."


def _cells(table: str) -> dict[tuple[str, str], str]:
    head, *lines = table.strip().splitlines()
    states = [word.strip() for word in head.split("|")][1:]
    cells = {}
    for line in lines:
        trigger, *row = [word.strip() for word in line.split("|")]
        cells |= {(state, trigger): cell for state, cell in zip(states, row, strict=True)}
    return cells


SHOE_CELLS = _cells(INTENDED)
HAND_CELLS = _cells(HAND)


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


def test_an_unknown_act_is_refused() -> None:
    floor = Floor()
    assert "not known" in floor.refused("sing")


def test_no_bet_takes_the_place_of_another() -> None:
    floor = Floor()
    _answering(floor)
    refusal = floor.take(Act("bet", {"seat": 1, "amount": 100}, replaces=floor.seq)).refusal
    assert refusal is not None
    assert refusal.clause == "FC-06"
