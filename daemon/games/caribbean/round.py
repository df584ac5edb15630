"""What a Caribbean Stud table remembers: the round, its boxes, the deck, and what is carried."""

from __future__ import annotations

from dataclasses import dataclass, field

from daemon.games.caribbean.deal import DEALER, Deal, DealtCard
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
    card: DealtCard | None = None  # the exposed one: whose it is may turn out later (CS-11c)


@dataclass(frozen=True, slots=True)
class Exposure:
    """The one card that was wrongly exposed in a round that stands (CS-11b).

    ``early``: the deal was not complete then, so if it is the dealer's his fifth goes face down.
    """

    card: DealtCard
    early: bool


@dataclass(slots=True)
class DealOrder:
    """Packets that a shuffler was told to deal; command 0: it was started at its own button.

    ``base``: packets that were out before; ``taken``: how many of these the dealer has taken.
    """

    device: str
    command_id: int
    packets: int
    base: int
    taken: int = 0


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
    order: DealOrder | None = None
    contributed: int = 0
    exposure: Exposure | None = None
    irregularities: list[Irregularity] = field(default_factory=list)
    entered_by_hand: list[DealtCard] = field(default_factory=list)
    faces_seen: set[int] = field(default_factory=set)
    counted: bool = False  # the stub was counted, and fits (CS-07)

    @property
    def dealt(self) -> Deal:
        """The deal. Only once the first card is out."""
        if self.deal is None:
            raise RuntimeError("no card is out")
        return self.deal

    @property
    def fifth_stays_down(self) -> bool:
        """A dealer's card was exposed while cards were still to be dealt (CS-11b)."""
        exposure = self.exposure
        if exposure is None or not exposure.early or self.deal is None:
            return False
        return any(card is exposure.card for card in self.deal.hands[DEALER])

    def undecided(self) -> list[int]:
        return [box.number for box in self.boxes.values() if box.decision is None]

    def raised(self) -> list[int]:
        return [number for number in sorted(self.boxes) if self.boxes[number].raised]


@dataclass(slots=True)
class DeckProof:
    """What is known of the deck before a round (CS-03)."""

    shuffled: bool = False
    cut: bool = False
    shuffler: str = ""  # the machine whose completed shuffle this is
    uncounted: bool = False  # that machine counts nothing: the dealer does, before it is a proof


@dataclass(slots=True)
class PendingAward:
    """An award on its way: decided, confirmed, paid. ``amount`` is frozen, minor units; None while the
    authority of a linked pool has not decided the ``claim``, the number of its record."""

    round_id: int
    box: int
    category: Category
    amount: int | None
    confirmed: bool
    claim: int = 0

    @property
    def account(self) -> str:
        return f"award.{self.round_id}.{self.box}"
