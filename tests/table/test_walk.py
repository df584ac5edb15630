"""Every state and every input of Caribbean Stud: what is meant to happen, and that it does.

The table below is the intention, written once by hand beside the regulation. A cell says:
``.`` taken, the state stays · ``> STATE`` taken, and there · ``no CLAUSE`` refused (``no -``:
by the order of things, no clause) · ``! CODE`` taken, and this fault is latched.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from daemon.games.caribbean.rows import ACTS, CORRECT, NEWS, REFUSALS, ROWS, TRIGGERS, Phase
from daemon.games.desk import Act
from daemon.games.linked import AwardDecided, PoolLost, PoolSeen, Told
from daemon.games.machine import covered, refusals
from daemon.table import FromDevice, Outcome
from drivers.base import (
    CardDrawn,
    CardsReturned,
    CommandResult,
    CutCardDrawn,
    DeviceEvent,
    FaultSet,
    PacketOut,
    PacketTaken,
    Restarted,
    ShuffleDone,
    ShuffleStarted,
)
from tests.table.floor import ANTE, Floor, card, rules

STATES = (
    "out-of-service",
    "between-rounds",
    "betting",
    "dealing",
    "deciding",
    "showdown",
    "settling",
    "void",
)

# A round in shuffler mode, boxes 1 and 2 bet, box 1 with a progressive bet. What differs in
# shoe mode stands in SHOE below.
INTENDED = """
input                | out-of-service    | between-rounds      | betting          | dealing    | deciding     | showdown   | settling         | void
open-table           | > between-rounds  | no -                | no -             | no -       | no -         | no -       | no -             | no -
close-table          | no -              | > out-of-service    | no -             | no -       | no -         | no -       | no -             | > out-of-service
shuffle              | no -              | .                   | .                | no CS-03   | no CS-03     | no CS-03   | no CS-03         | .
cut                  | no -              | .                   | .                | no CS-03   | no CS-03     | no CS-03   | no CS-03         | .
open-betting         | no -              | no CS-03            | no -             | no CS-06   | no CS-06     | no CS-06   | no CS-06         | no CS-03
ante                 | no -              | no CS-06            | .                | no CS-06   | no CS-06     | no CS-06   | no CS-06         | no CS-06
progressive          | no -              | no CS-06            | .                | no CS-06   | no CS-06     | no CS-06   | no CS-06         | no CS-06
take-back            | no -              | no CS-06            | .                | no CS-06   | no CS-06     | no CS-06   | no CS-06         | no CS-06
close-betting        | no -              | no CS-06            | .                | no CS-06   | no CS-06     | no CS-06   | no CS-06         | no CS-06
card                 | no -              | no CS-06            | no CS-07         | no CS-07   | no CS-07     | no CS-07   | no CS-07         | no CS-06
raise                | no -              | no CS-06            | no CS-06         | no CS-06   | .            | no CS-06   | no CS-06         | no CS-06
fold                 | no -              | no CS-06            | no CS-06         | no CS-06   | .            | no CS-06   | no CS-06         | no CS-06
expose               | no -              | no CS-11            | no CS-11         | .          | .            | .          | .                | no CS-11
empty-box            | no -              | no CS-11            | no CS-11         | .          | > dealing    | no CS-11   | no CS-11         | no CS-11
misdeal              | no -              | no CS-11            | no CS-11         | > void     | > void       | > void     | > void           | no CS-11
shuffler-failed      | no -              | no CS-11            | .                | > void     | no CS-11     | no CS-11   | no CS-11         | no CS-11
reveal               | no -              | no CS-06            | no CS-06         | no CS-06   | .            | > settling | no CS-09         | no CS-06
declare              | no -              | no CS-06            | no CS-06         | no CS-06   | no CS-06     | no CS-09   | .                | no CS-06
settle               | no -              | no CS-06            | no CS-06         | no CS-06   | no CS-06     | no CS-09   | > between-rounds | no CS-06
confirm-award        | no CS-10          | no CS-10            | no CS-10         | no CS-10   | no CS-10     | no CS-10   | no CS-10         | no CS-10
count                | no -              | ! count             | no CS-07         | no CS-07   | no CS-07     | no CS-07   | .                | ! count
refund-carried       | no -              | no CS-11            | no CS-11         | no CS-11   | no CS-11     | no CS-11   | no CS-11         | .
correct-pool         | no -              | .                   | no CS-10         | no CS-10   | no CS-10     | no CS-10   | no CS-10         | .
deal-refused         | .                 | .                   | .                | .          | .            | .          | .                | .
shoe-restarted       | .                 | .                   | .                | .          | .            | .          | .                | .
dispute              | no CS-11          | .                   | no CS-11         | no CS-11   | no CS-11     | no CS-11   | no CS-11         | .
breach               | no -              | .                   | .                | .          | .            | .          | .                | .
correct              | no CS-06          | no CS-06            | .                | no CS-06   | no CS-06     | no CS-06   | > showdown       | no CS-06
change-rules         | .                 | .                   | no CS-13         | no CS-13   | no CS-13     | no CS-13   | no CS-13         | .
card-drawn           | ! stray-cards     | ! stray-cards       | ! stray-cards    | > void     | > void       | > void     | > void           | ! stray-cards
packet-out           | .                 | ! card-without-bets | > dealing        | .          | > void       | > void     | > void           | .
packet-taken         | .                 | .                   | .                | .          | .            | .          | .                | .
cut-card             | .                 | .                   | .                | ! cut-card | ! cut-card   | ! cut-card | ! cut-card       | .
stray-cards          | ! stray-cards     | ! stray-cards       | ! stray-cards    | > void     | > void       | > void     | > void           | ! stray-cards
shuffle-started      | .                 | .                   | .                | .          | .            | .          | .                | .
shuffle-done         | .                 | .                   | .                | .          | .            | .          | .                | .
cards-returned       | .                 | ! count             | .                | .          | .            | .          | .                | ! count
shuffler-fault       | ! shuffler-fault  | ! shuffler-fault    | .                | > void     | ! shuffler-fault | ! shuffler-fault | ! shuffler-fault | ! shuffler-fault
shuffler-restarted   | .                 | .                   | .                | > void     | .            | .          | .                | .
deck-source-changed  | .                 | .                   | .                | no CS-11   | no CS-11     | no CS-11   | no CS-11         | .
pool-seen            | no CS-10          | no CS-10            | no CS-10         | no CS-10   | no CS-10     | no CS-10   | no CS-10         | no CS-10
pool-lost            | no CS-10          | no CS-10            | no CS-10         | no CS-10   | no CS-10     | no CS-10   | no CS-10         | no CS-10
award-decided        | no CS-10          | no CS-10            | no CS-10         | no CS-10   | no CS-10     | no CS-10   | no CS-10         | no CS-10
"""

SHOE = """
input                | out-of-service    | between-rounds      | betting          | dealing    | deciding     | showdown   | settling         | void
card                 | no -              | no CS-06            | no CS-07         | no CS-07   | no CS-07     | no CS-07   | no CS-07         | no CS-06
card-drawn           | .                 | ! card-without-bets | > dealing        | .          | > void       | > void     | > void           | ! card-without-bets
packet-out           | ! stray-cards     | ! stray-cards       | ! stray-cards    | > void     | > void       | > void     | > void           | ! stray-cards
cut                  | no -              | no CS-03            | .                | no CS-03   | no CS-03     | no CS-03   | no CS-03         | no CS-03
shuffler-failed      | no -              | no CS-11            | no CS-11d        | no CS-11d  | no CS-11     | no CS-11   | no CS-11         | no CS-11
shuffler-fault       | .                 | .                   | .                | .          | .            | .          | .                | .
shuffler-restarted   | .                 | .                   | .                | .          | .            | .          | .                | .
shoe-restarted       | .                 | .                   | .                | ! shoe-restarted | ! shoe-restarted | ! shoe-restarted | ! shoe-restarted | .
"""  # fmt: skip

HANDS = {1: "KS KD 8C 5H 3D", 2: "QH JH 9H 6H 2H"}
DEALER = "AC QD 9D 6C 3S"  # does not qualify, and is shown all the same once a box raised


def _closed(floor: Floor) -> None:
    floor.bets(1, 2, progressive=(1,))
    if floor.table.rig.mode == "shuffler":
        floor.do("close-betting")


def _dealing(floor: Floor) -> None:
    _closed(floor)
    floor.packet(0) if floor.table.rig.mode == "shuffler" else floor.draw(count=4)


def _deciding(floor: Floor) -> None:
    _closed(floor)
    if floor.table.rig.mode == "shuffler":
        for index in range(3):
            floor.packet(index)
    else:
        floor.deal(HANDS, DEALER)


def _showdown(floor: Floor) -> None:
    if floor.table.rig.mode == "shuffler":
        _deciding(floor)
    else:  # one card that was not read has to be shown
        _closed(floor)
        floor.tell("shoe", CardDrawn(None))
        floor.draw(count=14)
    floor.do("raise", box=1)
    floor.do("fold", box=2)


def _settling(floor: Floor) -> None:
    _deciding(floor)
    floor.do("fold", box=2)
    floor.do("raise", box=1)
    if floor.table.rig.mode == "shuffler":
        floor.do("reveal", box="dealer", cards=DEALER)


def _settled(floor: Floor) -> None:
    _settling(floor)
    floor.do("settle")


def _void(floor: Floor) -> None:
    _dealing(floor)
    floor.do("misdeal", text="wrong order")


def _betting(floor: Floor) -> None:
    floor.bets(1, 2, progressive=(1,))


REACH: dict[str, Callable[[Floor], None]] = {
    "out-of-service": lambda floor: None,
    "between-rounds": _settled,
    "betting": _betting,
    "dealing": _dealing,
    "deciding": _deciding,
    "showdown": _showdown,
    "settling": _settling,
    "void": _void,
}

# One telling input of each kind; most would be taken where the state allows it at all.
GIVEN: dict[str, dict[str, object]] = {
    "ante": {"box": 3, "amount": ANTE},
    "progressive": {"box": 2},
    "take-back": {"box": 1},
    "raise": {"box": 1},
    "fold": {"box": 1},
    "expose": {"box": 1, "card": 1},
    "empty-box": {"box": 5, "first": 1},
    "misdeal": {"text": "wrong order"},
    "reveal": {"box": "dealer", "cards": DEALER},
    "declare": {"box": 2, "result": "lose"},
    "confirm-award": {"box": 1},
    "count": {"cards": 11},
    "refund-carried": {"box": 1},
    "dispute": {"round": 1, "text": "two cards were up"},
    "breach": {"text": "a player counts"},
    "change-rules": {"rules": rules(cap=1).text()},
    "correct-pool": {"amount": 100, "text": "miscounted"},
}
TOLD: dict[str, Told] = {
    "pool-seen": PoolSeen(1, 1, 0),
    "pool-lost": PoolLost("no answer"),
    "award-decided": AwardDecided(1, (), 1, 1),
}
SUPERVISED = ("change-rules", "dispute", "confirm-award", "refund-carried", "correct-pool")


def _news(floor: Floor, kind: str) -> tuple[str, DeviceEvent]:
    deals = floor.table.rig.mode == "shuffler"
    stray: tuple[str, DeviceEvent] = ("SH-2", PacketOut(0, 5))
    out = len(floor.game.round.deal.units) if floor.game.round and floor.game.round.deal else 0
    return {
        "card-drawn": ("shoe", CardDrawn(card("7S" if deals else floor.unseen(1)[0].text))),
        "packet-out": ("SH-1", PacketOut(out, 5)),
        "packet-taken": ("SH-1", PacketTaken(0)),
        "cut-card": ("shoe", CutCardDrawn()),
        "stray-cards": stray,
        "shuffle-started": ("SH-1", ShuffleStarted(9)),
        "shuffle-done": ("SH-1", ShuffleDone(9, 52)),
        "cards-returned": ("SH-1", CardsReturned(3)),
        "shuffler-fault": ("SH-1", FaultSet(2, "jam in transport")),
        "shuffler-restarted": ("SH-1", Restarted()),
        "shoe-restarted": ("shoe", Restarted()),
        "deal-refused": ("SH-1", CommandResult(floor.table.rig.last_command_id, "refused")),
    }[kind]


def _give(floor: Floor, trigger: str) -> Outcome:
    if trigger == "deck-source-changed":
        return floor.act("use-shuffler", id="SH-2")
    if trigger in TOLD:  # of a linked pool; this table has one of its own
        return floor.take(TOLD[trigger])
    if trigger in NEWS:
        device, event = _news(floor, trigger)
        return floor.take(FromDevice(device, event, boot=1, ordinal=900))
    if trigger == CORRECT:  # the newest act of the round is withdrawn
        slips = floor.game.round.slips if floor.game.round else []
        return floor.take(Act("withdraw", replaces=slips[-1].seq if slips else 1))
    args = dict(GIVEN.get(trigger, {}))
    if trigger == "reveal" and floor.phase == "deciding":
        args["cards"] = "3S"
    if trigger == "expose" and floor.phase == "settling":
        args["box"] = 2  # box 1's cards may have been turned
    role = "supervisor" if trigger in SUPERVISED else "dealer"
    return floor.take(Act(trigger, args, role=role, second="pit"))  # type: ignore[arg-type]


def _became(floor: Floor, trigger: str) -> str:
    before, faults = floor.phase, set(floor.table.faults)
    outcome = _give(floor, trigger)
    if outcome.refusal is not None:
        assert floor.phase == before
        return f"no {outcome.refusal.clause or '-'}"
    if floor.phase != before:
        return f"> {floor.phase}"
    return "".join(f"! {code}" for code in floor.table.faults if code not in faults) or "."


def _cells(table: str) -> dict[tuple[str, str], str]:
    head, *lines = table.strip().splitlines()
    states = [word.strip() for word in head.split("|")][1:]
    cells = {}
    for line in lines:
        trigger, *row = [word.strip() for word in line.split("|")]
        cells |= {(state, trigger): cell for state, cell in zip(states, row, strict=True)}
    return cells


SHUFFLER_CELLS = _cells(INTENDED)
SHOE_CELLS = _cells(SHOE)


def test_the_table_names_every_state_and_input() -> None:
    assert set(SHUFFLER_CELLS) == {(state.value, trigger) for state in Phase for trigger in TRIGGERS}
    assert set(TRIGGERS) == {*ACTS, *NEWS, CORRECT}


def test_every_pair_has_a_row_or_a_refusal_and_none_has_both() -> None:
    rows, nos = covered(ROWS), set(refusals(REFUSALS))
    assert rows | nos == {(state, trigger) for state in Phase for trigger in TRIGGERS}
    assert not rows & nos


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_in_shuffler_mode(state: str, trigger: str, compiled: bool) -> None:
    floor = Floor(mode="shuffler", compiled=compiled)
    REACH[state](floor)
    assert floor.phase == state
    assert _became(floor, trigger) == SHUFFLER_CELLS[state, trigger]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("state", "trigger"), sorted(SHOE_CELLS))
def test_in_shoe_mode(state: str, trigger: str, compiled: bool) -> None:
    floor = Floor(mode="shoe", compiled=compiled)
    REACH[state](floor)
    assert floor.phase == state
    assert _became(floor, trigger) == SHOE_CELLS[state, trigger]


def test_an_unknown_act_is_refused() -> None:
    floor = Floor()
    assert "not known" in floor.refused("sing")
