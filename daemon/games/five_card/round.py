"""What a five-card stud table remembers: the seats and their chips, the deck, and the running round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from daemon.games.five_card.rules import HAND, SEATS
from daemon.games.pots import Share
from drivers.cards import Card, FaceDownCard

SHOE: Final = "shoe"
HOLE = 1  # the place of the hole card in a hand: the second that is dealt (FC-10)
STACKS: Final = tuple(f"stack.{seat}" for seat in range(SEATS.stop))  # the accounts, by seat


@dataclass(slots=True)
class Seat:
    """A player at the table. ``stack`` are his chips outside the pot, minor units.

    ``short``: he must top up to the minimum buy-in before his next ante (FC-06).
    """

    number: int
    stack: int
    player: str = ""
    short: bool = False


@dataclass(slots=True)
class Deck:
    """What is known of the deck (FC-02)."""

    rounds: int = 0  # played with it
    shuffled: bool = False  # for the next round
    cutters: list[int] = field(default_factory=list)  # seats, since that shuffle


@dataclass(slots=True)
class DealtCard:
    """A card that left the deck. ``face`` is None while nobody has read it."""

    face: FaceDownCard | None = None
    up: bool = False  # it lies face up by the regulation
    turned: int = 0  # the record that turned it at the showdown (FC-14)
    laid: int = 0  # the seat that it fell to, where that was keyed
    told: int = 0  # the record that told its face
    by: str = ""  # who told it: "shoe", or the role of a person
    bared: bool = False  # it lay face up in the shoe (FC-18)

    @property
    def open(self) -> Card | None:
        """The face, if everybody may see it."""
        return self.face.turn() if self.face is not None and (self.up or self.turned) else None


@dataclass(slots=True)
class Hand:
    """A hand of the round. Minor units; ``staked`` is all it bet in the round, its ante apart."""

    seat: int
    player: str = ""
    cards: list[DealtCard] = field(default_factory=list)
    staked: int = 0
    bet: int = 0  # in this betting round
    lowest: int = 0  # the smallest stack outside the pot since the ante (FC-06)
    checked: bool = False  # in this betting round: it may only call or fold (FC-11)
    all_in: bool = False  # all its chips are in the pot (FC-15)
    folded: bool = False
    dead: bool = False  # its hole card was exposed in the deal (FC-18)

    @property
    def still_in(self) -> bool:
        return not (self.folded or self.dead)

    @property
    def hole(self) -> DealtCard | None:
        return self.cards[HOLE] if len(self.cards) > HOLE else None

    def up(self) -> list[Card]:
        """The up cards in the order dealt, as far as they are known."""
        return [card.face.turn() for card in self.cards if card.up and card.face is not None]

    def unread(self) -> DealtCard | None:
        """An up card that nobody has read."""
        for card in self.cards:
            if card.face is None and card.up:
                return card
        return None

    def faces(self) -> list[Card] | None:
        """All five cards, or None while one is missing or unknown."""
        faces = [card.face.turn() for card in self.cards if card.face is not None]
        return faces if len(faces) == HAND else None


# Not frozen, as others beside it: one is made for every word, and freezing doubles its cost.
@dataclass(slots=True)
class Action:
    """What a player did in a betting round; ``amount`` is his bet of that round then, minor units."""

    betting_round: int
    seat: int
    act: str
    amount: int


@dataclass(frozen=True, slots=True)
class Irregularity:
    """What went wrong, under which clause, at which UTC stamp."""

    clause: str
    detail: str
    at: str


@dataclass(frozen=True, slots=True)
class Result:
    """How the money of a round went. ``returned`` is what nobody followed, by seat; ``orders`` are
    those of the hands that were compared."""

    shares: tuple[Share, ...] = ()
    returned: Mapping[int, int] = field(default_factory=dict)
    orders: Mapping[int, int] = field(default_factory=dict)

    @property
    def rake(self) -> int:
        """Of the pots, without the first rake (FC-09)."""
        return sum(share.rake for share in self.shares)

    def won(self, seat: int) -> int:
        return sum([share.won.get(seat, 0) for share in self.shares])


@dataclass(slots=True)
class Round:
    """The running round, from its first ante. Seats are in the order of dealing."""

    id: int
    opened_at: str
    first_seq: int
    mode: str
    rules: str
    hands: dict[int, Hand] = field(default_factory=dict)
    live: list[Hand] = field(default_factory=list)  # the hands still in; made anew by whatever changes it
    antes: int = 0  # what of them is in the pot, minor units
    first_rake: int = 0
    # The deal: whom the next cards are due to, and those that wait for a correction (FC-19).
    out: list[DealtCard] = field(default_factory=list)  # in the order they came out, the burn first
    due: list[int] = field(default_factory=list)
    held: list[DealtCard] = field(default_factory=list)
    error: str = ""
    # The betting round, 1 to 4.
    number: int = 0
    # Who speaks first by the up cards (FC-10 to FC-13), once somebody asked: no part of what is remembered.
    order: list[int] | None = field(default=None, compare=False)
    queue: list[int] = field(default_factory=list)  # who has still to speak; at the showdown, to turn
    price: int = 0  # what a hand must have bet to stay in
    increment: int = 0  # by which the last full bet or raise raised the price
    last_total: int = 0  # what the last full bettor had bet
    acted: bool = False  # somebody spoke in this betting round
    turn: int = 0  # the record that began the present decision: the name of its two minutes
    # What went on.
    by_hand: bool = False  # the dealer goes on by hand entry while the shoe is lost
    entered_by_hand: list[DealtCard] = field(default_factory=list)  # which the shoe has not told
    misread: bool = False  # people saw a face that the shoe has read of a hidden card
    faces_seen: set[int] = field(default_factory=set)
    actions: list[Action] = field(default_factory=list)
    irregularities: list[Irregularity] = field(default_factory=list)

    def joins(self, hand: Hand) -> None:
        """An ante is placed."""
        self.hands[hand.seat] = hand
        self.live = [*self.live, hand]

    def withdraws(self, seat: int) -> Hand:
        """The ante is taken back before the first card."""
        hand = self.hands.pop(seat)
        self.is_out(hand)
        return hand

    def begins(self) -> None:
        """No ante comes any more: from now on hands are in the order of dealing."""
        self.hands = dict(sorted(self.hands.items()))
        self.live = list(self.hands.values())

    def is_out(self, hand: Hand) -> None:
        """A hand has folded, is dead, or was withdrawn."""
        self.live = [other for other in self.live if other is not hand]

    @property
    def pot(self) -> int:
        """Everything in the middle, minor units (FC-07)."""
        pot = self.antes
        for hand in self.hands.values():
            pot += hand.staked
        return pot

    def from_right_of(self, seat: int) -> list[Hand]:
        """The other hands still in, anticlockwise from the right of ``seat``."""
        return [h for h in self.live if h.seat > seat] + [h for h in self.live if h.seat < seat]
