"""What is played: rounds as steps of people and devices, whatever the game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from tempfile import NamedTemporaryFile
from typing import Final

from daemon.config import Settings, load
from drivers.base import Simulator
from drivers.cards import DECK
from drivers.shoe.sim_fdp import ShoeSim
from drivers.shuffler.sim_fdp import ShufflerSim
from drivers.sign.sim_alpha import AlphaSim

ANTE: Final = 10_000
SHUFFLER_SEED: Final = 1


@dataclass(frozen=True, slots=True)
class Do:
    """An operator's act. It is done when it was answered."""

    name: str
    args: Mapping[str, str | int]
    role: str = "dealer"


@dataclass(frozen=True, slots=True)
class Handle:
    """A hand on a device: a verb of its control. It is done once, whatever becomes of the daemon."""

    device: str
    verb: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Wait:
    """People wait: for the ``devices``, for the ``sign`` to show what it should, or for a device to
    come to the state ``device=state``."""

    what: str


Step = Do | Handle | Wait


@dataclass(frozen=True, slots=True)
class Script:
    """A round of one game. ``config`` is its table, devices apart."""

    name: str
    mode: str  # the device that the cards come from
    config: str
    steps: tuple[Step, ...]

    def settings(self, folder: Path) -> Settings:
        """The table of this script, its files in ``folder``."""
        journal = folder / "journal.db"
        return replace(_loaded_once(self), journal=journal, key=journal.with_suffix(".key"))

    def __hash__(self) -> int:
        return hash(self.name)

    def simulators(self) -> dict[str, Simulator]:
        """New devices, as they are before the round."""
        source = ShoeSim() if self.mode == "shoe" else ShufflerSim(seed=SHUFFLER_SEED)
        return {self.mode: source, "sign": AlphaSim()}


@cache
def _loaded_once(script: Script) -> Settings:
    """Looking for the drivers of other packages takes longer than a round."""
    source = "devices.shuffler.shuffler" if script.mode == "shuffler" else "devices.shoe"
    with NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(script.config + _DEVICES.format(source=source))
        file.flush()
        return load(Path(file.name))


_DEVICES: Final = """
[{source}]
protocol = "fdp"
link = "source.tty"
simulated = true

[devices.sign]
protocol = "alpha"
link = "sign.tty"
simulated = true
"""
_CARIBBEAN: Final = """
[table]
id = "durability"
game = "caribbean"
{source}
journal = "journal.db"
key = "journal.key"
socket = "feltd.sock"

[rules]
version = "61/2004"
edition = "durability"
currency = "$"
ante_min = 5_000
ante_max = 1_000_000
royal_odds = 50

[rules.royal_approval]
reference = "specimen"
applied = 2024-09-02
permitted = 2024-09-04
effective = 2024-09-05

[rules.progressive]
stake = 1_000
contribution = "71/100"
minimum = 10_000_000
pay_unit = 1
straight_flush_base = "round_start"
royal_sharing = "split_max"
award_base = "staged"
folded_progressive = "lost"

[rules.progressive.prizes]
royal_flush = 5_000_000
straight_flush = 1_000_000
quads = 50_000
full_house = 10_000
flush = 5_000

[rules.progressive.funded_by]
quads = "pool"
full_house = "pool"
flush = "pool"
"""
_FIVE_CARD: Final = """
[table]
id = "durability"
game = "five-card"
mode = "shoe"
journal = "journal.db"
key = "journal.key"
socket = "feltd.sock"

[rules]
version = "104/85/M"
edition = "durability"
currency = "$"
ante = 2_000
seats = 7
smallest_chip = 500
"""


def do(name: str, role: str = "dealer", **args: str | int) -> Do:
    return Do(name, args, role)


# --- Caribbean Stud: a royal flush that a supervisor confirms, a flush, and a fold ------------------

_BOXES: Final = {
    1: "AS KS QS JS 10S",
    2: "AH JH 9H 6H 3H",
    3: "2D 4C 7D 8C 9D",
}
_DEALER: Final = "AC KD 9C 6C 3S"


def _dealt() -> list[str]:
    """The deck in the order in which it leaves the shoe: one card a place, five times (CS-07)."""
    rows = [cards.split() for cards in (*_BOXES.values(), _DEALER)]
    out = [row[turn] for turn in range(5) for row in rows]
    return out + [card.text for card in DECK if card.text not in out]


_OPENING: Final = (
    Wait("devices"),
    do("open-table"),
)
_BETS: Final = (
    Wait("sign"),
    do("open-betting"),
    *[do("ante", box=box, amount=ANTE) for box in _BOXES],
    *[do("progressive", box=box) for box in _BOXES],
    do("close-betting"),
)
_DECISIONS: Final = (do("raise", box=1), do("raise", box=2), do("fold", box=3))

CARIBBEAN_SHOE: Final = Script(
    "caribbean-shoe",
    "shoe",
    _CARIBBEAN.format(source='mode = "shoe"'),
    (
        *_OPENING,
        do("shuffle"),
        do("cut"),
        Handle("shoe", {"do": "load", "deck": _dealt()}),
        *_BETS,
        *[Handle("shoe", {"do": "draw"}) for _ in range(20)],
        *_DECISIONS,
        do("settle"),
        do("confirm-award", role="supervisor", box=1),
        do("count", cards=32),
        Wait("sign"),
    ),
)


def _loaded() -> list[str]:
    """The deck as it has to lie in the shuffler, so that its shuffle brings out our hands."""
    packets = " ".join((*_BOXES.values(), _DEALER)).split()
    wanted = [card.text for card in DECK if card.text not in packets] + packets[::-1]
    places = list(range(len(wanted)))
    Random(SHUFFLER_SEED).shuffle(places)
    lies = dict(zip(places, wanted, strict=True))
    return [lies[place] for place in range(len(wanted))]


_PACKET: Final = (Wait("shuffler=packet_present"), Handle("shuffler", {"do": "take"}))

CARIBBEAN_SHUFFLER: Final = Script(
    "caribbean-shuffler",
    "shuffler",
    _CARIBBEAN.format(source='mode = "shuffler"\nshuffler = "shuffler"'),
    (
        *_OPENING,
        Handle("shuffler", {"do": "load", "deck": _loaded()}),
        do("shuffle"),
        Wait("shuffler=ready"),
        *_BETS,
        *_PACKET * (len(_BOXES) + 1),
        do("reveal", box="dealer", cards=_DEALER.split()[-1]),
        *_DECISIONS,
        do("reveal", box="dealer", cards=_DEALER),
        do("reveal", box=1, cards=_BOXES[1]),
        do("reveal", box=2, cards=_BOXES[2]),
        do("settle"),
        do("confirm-award", role="supervisor", box=1),
        Handle("shuffler", {"do": "return"}),
        Wait("sign"),
    ),
)

# --- Five-card stud: an exposed hole card, an early card, all-ins of two depths, two pots -------------

_STACKS: Final = {1: 200_000, 2: 250_000, 3: 200_000, 4: 400_000, 5: 300_000}
_FORTY: Final = tuple(card.text for card in DECK if card.rank >= 5)
# As they leave the shoe; seat 3 is dead after its hole card, seat 5 folds in the second betting round.
_BURN: Final = "6C"
_DOORS: Final = "AS KS QS JS 10S"
_HOLES: Final = "AC KD QD 5C 10D"
_THIRDS: Final = "9H KH JH 8H"
_FOURTHS: Final = "7D 6D 5D"  # the first of them before its time: it is of seat 2, who spoke first
_FIFTHS: Final = "8C JD AH"


def _stud_deck() -> list[str]:
    out = " ".join((_BURN, _DOORS, _HOLES, _THIRDS, _FOURTHS, _FIFTHS)).split()
    return out + [card for card in _FORTY if card not in out]


def _draws(cards: str) -> list[Handle]:
    return [Handle("shoe", {"do": "draw"}) for _ in cards.split()]


FIVE_CARD_SHOE: Final = Script(
    "five-card-shoe",
    "shoe",
    _FIVE_CARD,
    (
        *_OPENING,
        Wait("sign"),
        do("new-deck"),
        *[do("buy-in", seat=seat, amount=amount) for seat, amount in _STACKS.items()],
        do("shuffle"),
        do("cut", seat=1, cards=12),
        Handle("shoe", {"do": "load", "deck": _stud_deck()}),
        *[do("ante", seat=seat) for seat in _STACKS],
        *_draws(f"{_BURN} {_DOORS} AC KD"),
        Handle("shoe", {"do": "draw", "face_up": True}),
        do("expose-hole", seat=3),  # FC-18: that hand only
        *_draws("5C 10D"),
        do("bet", seat=1, amount=10_000),
        *[do("call", seat=seat) for seat in (2, 4, 5)],
        *_draws(_THIRDS),
        do("bet", seat=2, amount=50_000),
        do("raise", seat=4, amount=100_000),
        do("fold", seat=5),
        do("raise", seat=1, amount=188_000),  # all that it has
        Handle("shoe", {"do": "draw"}),  # FC-19: before the betting round is over
        *[do("call", seat=seat) for seat in (2, 4)],
        do("correct-deal", text="laid before seat 2"),
        *_draws("6D 5D"),
        do("check", seat=2),
        do("bet", seat=4, amount=120_000),
        do("call", seat=2),  # with the 50,000 that are left: the rest of the bet is not followed
        *_draws(_FIFTHS),
        *[do("reveal", seat=seat) for seat in (1, 2, 4)],
        do("settle"),
        do("top-up", seat=2, amount=104_000),
        do("leave", seat=4),
        Wait("sign"),
    ),
)

SCRIPTS: Final = {script.name: script for script in (CARIBBEAN_SHOE, CARIBBEAN_SHUFFLER, FIVE_CARD_SHOE)}
