"""Every sequence of inputs up to a depth, from where a round is most easily broken.

One letter of the alphabet stands for every trigger of the game and every act of the table; a
walker checks every invariant after every one. Two tables whose pictures agree in all that can
matter later (stamps, record numbers and running totals left out) are walked on from once.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any, Final, NamedTuple

import pytest

from daemon.games.caribbean.deal import DEALER
from daemon.games.caribbean.rows import ACTS, CORRECT, NEWS, TRIGGERS
from daemon.games.desk import Act
from daemon.games.linked import AwardDecided, PoolLost, PoolSeen
from daemon.table import FromDevice, Input, LinkChanged
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
from drivers.cards import FaceDownCard, parse_cards
from tests.table.walker import HOUSES, LABELS, MEMORY, Walker, freeze

ANTE: Final = 10_000
# Box 1 holds a straight flush, box 2 a flush; the dealer qualifies.
HANDS: Final = {
    1: parse_cards("9C 8C 7C 6C 5C"),
    2: parse_cards("2D 4D 6D 8D 10D"),
    DEALER: parse_cards("AC KD 9H 6S 3S"),
}
OTHERS: Final = parse_cards("2S 4S 5S 7S 8S 10S JS QS 2H 4H 5H 7H 8H 10H JH QH 2C 3C 10C JC")


class State(NamedTuple):
    """A table and its second books, to come back to."""

    memory: dict[str, Any]
    table: dict[str, Any]
    books: dict[str, Any]


BY_REFERENCE: Final = ("rules", "authority", "linked", "_prizes", "rules_in_force")
BOOKS: Final = (
    "seen",
    "seq",
    "events",
    "closed",
    "rounds",
    "pool_from",
    "won",
    "given",
    "alive",
    "line",
    "cards_out",
    "fifths_shown",
    "due",
    "strays",
    "_picture",
)


def save(walker: Walker) -> State:
    memory, table = deepcopy(
        (
            {name: getattr(walker.game, name) for name in MEMORY},
            {name: getattr(walker.table, name) for name in ("rig", "faults", "balances", "started")},
        )
    )
    memory |= {name: getattr(walker.game, name) for name in BY_REFERENCE}
    books = {name: copy(getattr(walker, name)) for name in BOOKS}
    books["line"] = [copy(owed) for owed in walker.line]
    return State(memory, table, books)


def restore(walker: Walker, state: State) -> None:
    memory, table = deepcopy((({name: state.memory[name] for name in MEMORY}), state.table))
    for name, value in (memory | {name: state.memory[name] for name in BY_REFERENCE}).items():
        setattr(walker.game, name, value)
    for name, value in table.items():
        setattr(walker.table, name, value)
    for name, value in state.books.items():
        setattr(walker, name, copy(value))
    walker.line = [copy(owed) for owed in state.books["line"]]


def canonical(walker: Walker) -> object:
    """What can matter later."""
    table = walker.table
    held = {a: m for a, m in table.balances.items() if m and a != "house" and not a.startswith("player.")}
    memory = [getattr(walker.game, name) for name in MEMORY if name != "last_round_id"]
    order = walker.game.round.order if walker.game.round else None
    told = order is not None and (
        order.command_id == table.rig.last_command_id,
        order.command_id in table.rig.told,
    )
    slips = [(slip.act.name, sorted(slip.act.args.items())) for slip in _slips(walker)]
    return freeze(
        [memory, table.rig, sorted(table.faults), held, told, slips, walker.game.fingerprint], LABELS
    )


def _slips(walker: Walker) -> list[Any]:
    return walker.game.round.slips if walker.game.round else []


# --- the alphabet -----------------------------------------------------------------------------


def _act(name: str, role: str = "dealer", second: str = "", **args: Any) -> Callable[[Walker], Input]:
    return lambda walker: Act(name, args, role=role, second=second)


def _from(device: str, event: Callable[[Walker], DeviceEvent]) -> Callable[[Walker], Input]:
    return lambda walker: FromDevice(device, event(walker), 1, walker.seq)


def _place(walker: Walker) -> int:
    now = walker.game.round
    if now is None:
        return DEALER
    return now.deal.next_place() if now.deal else min(now.boxes, default=DEALER)


def _card(walker: Walker) -> DeviceEvent:
    """The next card as the deck lies, and any other behind it."""
    now, place = walker.game.round, _place(walker)
    at = len(now.deal.hands[place]) if now and now.deal else 0
    seen = now.faces_seen if now else set()
    wished = HANDS.get(place, [])[at : at + 1]
    return CardDrawn(FaceDownCard(next(c for c in [*wished, *OTHERS] if c.index not in seen)))


def _same_face(walker: Walker) -> DeviceEvent:
    return CardDrawn(FaceDownCard(HANDS[1][0]))


def _index(walker: Walker) -> int:
    """Of the next packet of the present deal."""
    now = walker.game.round
    return len(now.deal.units) - now.order.base if now and now.deal and now.order else 0


def _packet(walker: Walker) -> DeviceEvent:
    return PacketOut(_index(walker), 5)


def _taken(walker: Walker) -> DeviceEvent:
    return PacketTaken(max(0, _index(walker) - 1))


def _reveal(place: int) -> Callable[[Walker], Input]:
    def act(walker: Walker) -> Input:
        cards = HANDS[place][4:] if walker.phase == "deciding" else HANDS[place]
        return Act("reveal", {"box": place or "dealer", "cards": " ".join(c.text for c in cards)})

    return act


def _instead(name: str, **args: Any) -> Callable[[Walker], Input]:
    """The newest slip of this chapter is superseded by the act, or whichever is newest withdrawn."""

    def act(walker: Walker) -> Input:
        slips = [slip for slip in _slips(walker) if name in ("withdraw", slip.act.name)]
        return Act(name, args, replaces=slips[-1].seq if slips else 1)

    return act


LETTERS: Final[dict[str, Callable[[Walker], Input]]] = {
    "open-table": _act("open-table"),
    "close-table": _act("close-table"),
    "shuffle": _act("shuffle"),
    "cut": _act("cut"),
    "open-betting": _act("open-betting"),
    "ante": _act("ante", box=1, amount=ANTE),
    "progressive": _act("progressive", box=1),
    "take-back": _act("take-back", box=1),
    "close-betting": _act("close-betting"),
    "card": _act("card"),
    "raise": _act("raise", box=1),
    "fold": _act("fold", box=1),
    "expose": _act("expose", box="dealer", card=1),
    "empty-box": _act("empty-box", box=5, first=1),
    "misdeal": _act("misdeal", text="wrong order"),
    "breach": _act("breach", text="spoke while deciding"),
    "dispute": _act("dispute", "supervisor", round=1, text="the count"),
    "shuffler-failed": _act("shuffler-failed"),
    "reveal": _reveal(1),
    "reveal dealer": _reveal(DEALER),
    "declare": _act("declare", box=1, result="lose"),
    "settle": _act("settle"),
    "confirm-award": _act("confirm-award", "supervisor", box=1),
    "count": _act("count", cards=42),
    "refund-carried": _act("refund-carried", "supervisor", box=1),
    "correct-pool": _act("correct-pool", "supervisor", "pit", amount=-100, text="miscounted"),
    "change-rules": _act("change-rules", "supervisor", rules=HOUSES[3].text()),
    CORRECT: _instead("withdraw"),
    "ante instead": _instead("ante", box=1, amount=2 * ANTE),
    "fold instead": _instead("raise", box=1),
    "card-drawn": _from("shoe", _card),
    "same face": _from("shoe", _same_face),
    "foreign": _from("shoe", lambda walker: CardDrawn(None, foreign=True)),
    "packet-out": _from("SH-1", _packet),
    "packet-taken": _from("SH-1", _taken),
    "cut-card": _from("shoe", lambda walker: CutCardDrawn()),
    "stray-cards": _from("SH-2", lambda walker: PacketOut(0, 5)),
    "shuffle-started": _from("SH-1", lambda walker: ShuffleStarted(9)),
    "shuffle-done": _from("SH-1", lambda walker: ShuffleDone(9, 52)),
    "cards-returned": _from("SH-1", lambda walker: CardsReturned(10)),
    "shuffler-fault": _from("SH-1", lambda walker: FaultSet(2, "jam")),
    "shoe-restarted": _from("shoe", lambda walker: Restarted()),
    "deal-refused": _from("SH-1", lambda walker: CommandResult(walker.table.rig.last_command_id, "refused")),
    "shuffler-restarted": _from("SH-1", lambda walker: Restarted()),
    "deck-source-changed": _act("use-shuffler", id="SH-2"),
    "use-shoe": _act("use-shoe"),
    "clear-fault": _act("clear-fault", "supervisor", code="duplicate-card", text="misread"),
    "shoe lost": lambda walker: LinkChanged("shoe", False, "lost"),
    # Of a linked pool: this table has its own.
    "pool-seen": lambda walker: PoolSeen(1, 1, 0),
    "pool-lost": lambda walker: PoolLost("no answer"),
    "award-decided": lambda walker: AwardDecided(1, (), 1, 1),
}


def test_the_alphabet_has_every_trigger() -> None:
    assert set(TRIGGERS) <= set(LETTERS)
    assert set(TRIGGERS) == {*ACTS, *NEWS, CORRECT}


def test_a_saved_state_is_whole() -> None:
    walker = Walker(journal=False)
    kept = {*MEMORY, *BY_REFERENCE, "_given_authority", "_machine", "_on_sign"}
    assert {name for name, value in vars(walker.game).items() if not callable(value)} <= kept
    assert set(vars(walker)) == {*BOOKS, "game", "table", "journal", "last"}


# --- where the walks begin --------------------------------------------------------------------


def _betting(walker: Walker, boxes: int) -> None:
    walker.act("open-table")
    walker.act("shuffle")
    if walker.mode == "shoe":
        walker.act("cut")
    else:
        walker.tell("SH-1", ShuffleDone(1, 52))
    walker.prove_sign()
    assert walker.act("open-betting")
    for box in range(1, boxes + 1):
        assert walker.act("ante", box=box, amount=ANTE)
    assert walker.act("progressive", box=1)


def _unit(walker: Walker) -> None:
    letters = ("card-drawn",) if walker.mode == "shoe" else ("packet-out", "packet-taken")
    for letter in letters:
        walker.take(LETTERS[letter](walker))


def _dealing(walker: Walker, boxes: int) -> None:
    """One card or packet is still to come."""
    _betting(walker, boxes)
    _unit(walker)
    while walker.game.round.deal.due > 1:  # type: ignore[union-attr]
        _unit(walker)


def _deciding(walker: Walker, boxes: int) -> None:
    """One decision is still to come: box 1's."""
    _dealing(walker, boxes)
    _unit(walker)
    for box in range(2, boxes + 1):
        assert walker.act("raise", box=box)


def _showdown(walker: Walker, boxes: int) -> None:
    """Hands are still to be shown: all of them, or from the shoe one card that was not read."""
    if walker.mode == "shoe":
        _betting(walker, boxes)
        walker.tell("shoe", CardDrawn(None))
        while walker.game.round.deal.due:  # type: ignore[union-attr]
            _unit(walker)
    else:
        _deciding(walker, boxes)
    for box in range(1, boxes + 1):
        walker.act("raise", box=box)
    assert walker.phase == "showdown"


def _settling(walker: Walker, boxes: int) -> None:
    _deciding(walker, boxes)
    walker.act("raise", box=1)
    for place in (DEALER, *range(1, boxes + 1)):
        walker.take(_reveal(place)(walker))
    assert walker.phase == "settling"


def _void(walker: Walker, boxes: int) -> None:
    _dealing(walker, boxes)
    assert walker.act("misdeal", text="wrong order")
    _again(walker)


def _again(walker: Walker) -> None:
    """Everything is ready for the next round, but that nothing is shuffled."""
    walker.act("shuffle")
    walker.prove_sign()


BEGIN: Final = {
    "betting": _betting,
    "dealing": _dealing,
    "deciding": _deciding,
    "showdown": _showdown,
    "settling": _settling,
    "void": _void,
}


def explore(walker: Walker, depth: int) -> tuple[int, int]:
    """How many different states are reached within ``depth`` inputs, and by how many inputs tried."""
    seen, tried = {canonical(walker)}, 0
    border = [save(walker)]
    for _ in range(depth):
        beyond: list[State] = []
        for state in border:
            fresh = False
            for letter in LETTERS.values():
                if not fresh:
                    restore(walker, state)
                tried += 1
                fresh = walker.take(letter(walker)).refusal is not None
                if fresh:
                    walker.seq -= 1
                elif (seems := canonical(walker)) not in seen:
                    seen.add(seems)
                    beyond.append(save(walker))
        border = beyond
    return len(seen), tried


# Within three inputs of each beginning: at least so many different states, by so many inputs
# tried. The second number times what one input costs is the time; the slow walk goes one deeper.
LEAST: Final = {
    ("shoe", 1): {
        "betting": (380, 3_700),
        "dealing": (330, 3_300),
        "deciding": (300, 3_200),
        "showdown": (190, 2_000),
        "settling": (240, 2_500),
        "void": (240, 3_200),
    },
    ("shoe", 2): {
        "betting": (330, 3_300),
        "dealing": (330, 3_300),
        "deciding": (350, 3_900),
        "showdown": (200, 2_100),
        "settling": (260, 2_600),
    },
    ("shuffler", 1): {
        "betting": (400, 4_000),
        "dealing": (400, 3_200),
        "deciding": (420, 3_900),
        "showdown": (260, 2_500),
        "settling": (340, 3_200),
        "void": (320, 3_700),
    },
    ("shuffler", 2): {
        "betting": (300, 3_300),
        "dealing": (380, 3_100),
        "deciding": (490, 4_700),
        "showdown": (270, 2_600),
        "settling": (370, 3_300),
    },
}
DEPTH: Final = 3
WALKS: Final = [(*key, begin, least) for key, begins in LEAST.items() for begin, least in begins.items()]
# One box and the shoe in every run of the tests; the other beginnings take another minute.
QUICK_FIRST: Final = [
    walk if walk[:2] == ("shoe", 1) else pytest.param(*walk, marks=pytest.mark.slow) for walk in WALKS
]


def _at(mode: str, boxes: int, begin: str) -> Walker:
    walker = Walker(HOUSES[1], mode, journal=False)
    BEGIN[begin](walker, boxes)
    assert walker.phase == begin
    return walker


@pytest.mark.parametrize(("mode", "boxes", "begin", "least"), QUICK_FIRST)
def test_every_sequence(mode: str, boxes: int, begin: str, least: tuple[int, int]) -> None:
    """All 51 ** 3 = 132,651 sequences of three inputs from each of 22 beginnings, 2.9 million.

    They end in some 7,300 different states, which 78,000 inputs reach.
    """
    assert len(LETTERS) == 51
    states, tried = explore(_at(mode, boxes, begin), DEPTH)
    assert states >= least[0]
    assert tried >= least[1]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("mode", "boxes", "begin", "least"), WALKS)
def test_every_sequence_one_deeper(mode: str, boxes: int, begin: str, least: tuple[int, int]) -> None:
    states, _ = explore(_at(mode, boxes, begin), DEPTH + 1)
    assert states >= 2 * least[0]
