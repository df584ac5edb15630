"""What a Caribbean Stud table remembers: the round, its boxes, the deck, and what is carried."""

from __future__ import annotations

from dataclasses import dataclass, field

from daemon.games.caribbean.deal import Deal, DealtCard
from daemon.games.desk import Act
from daemon.games.hands import Category


@dataclass(slots=True)
class Progressive:
    """A progressive bet that is in force. ``carried``: it came from a void round (CS-11)."""

    stake: int
    carried: bool = False


@dataclass(slots=True)
class Box:
    """A box with an ante. Amounts in minor units; ``decision`` is None, "raise" or "fold"."""

    number: int
    ante: int
    player: str = ""
    raised: int = 0
    decision: str | None = None
    progressive: Progressive | None = None
    declared: str | None = None


@dataclass(frozen=True, slots=True)
class Irregularity:
    """What went wrong, under which clause, at which UTC stamp."""

    clause: str
    detail: str
    at: str


@dataclass(frozen=True, slots=True)
class Slip:
    """An accepted act that may turn out to have been one, with the number of its record."""

    seq: int
    act: Act


@dataclass(slots=True)
class Round:
    """The running round, from the opening of its betting."""

    id: int
    opened_at: str
    first_seq: int
    mode: str
    pool_opened: int
    rules: str
    carried_at_opening: dict[int, int] = field(default_factory=dict)
    slips: list[Slip] = field(default_factory=list)
    boxes: dict[int, Box] = field(default_factory=dict)
    closed: bool = False  # the dealer closed the betting
    deal: Deal | None = None
    commanded: int = 0  # packets asked of the shuffler
    deal_base: int = 0  # units out before the present deal command
    taken: int = 0
    contributed: int = 0
    exposures: int = 0
    fifth_stays_down: bool = False  # CS-11b on a dealer's card
    irregularities: list[Irregularity] = field(default_factory=list)
    entered_by_hand: list[DealtCard] = field(default_factory=list)
    faces_seen: set[int] = field(default_factory=set)

    @property
    def dealt(self) -> Deal:
        """The deal. Only once the first card is out."""
        if self.deal is None:
            raise RuntimeError("no card is out")
        return self.deal

    def undecided(self) -> list[int]:
        return [box.number for box in self.boxes.values() if box.decision is None]

    def raised(self) -> list[int]:
        return [number for number in sorted(self.boxes) if self.boxes[number].raised]


@dataclass(slots=True)
class DeckProof:
    """What is known of the deck before a round (CS-03)."""

    shuffled: bool = False
    cut: bool = False
    shuffler: str = ""  # the machine whose completed shuffle of 52 this is


@dataclass(slots=True)
class PendingAward:
    """An award on its way: decided, confirmed, paid. ``amount`` is frozen, minor units."""

    round_id: int
    box: int
    category: Category
    amount: int
    confirmed: bool

    @property
    def account(self) -> str:
        return f"award.{self.round_id}.{self.box}"
