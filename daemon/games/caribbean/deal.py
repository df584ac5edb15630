"""The cards of one round that have left the device, and whose they are (CS-07, CS-11c)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from drivers.cards import Card, FaceDownCard

DEALER: Final = 0
HAND: Final = 5


@dataclass(slots=True)
class DealtCard:
    """One card on the table. ``face`` is None while nobody has read it."""

    face: FaceDownCard | None = None
    exposed: bool = False  # improperly: CS-11
    turned: bool = False  # by the regulation, at the showdown
    by_hand: bool = False  # the face was keyed when the card was shown


@dataclass(slots=True)
class Deal:
    """Units (single cards from a shoe, packets of five from a shuffler) in the order they came out.

    Whose a unit is follows from its number alone, so a unit that went to a box without a bet
    can be told later: everything behind it moves up by one place.
    """

    boxes: Sequence[int]  # with an ante, in seat order
    per_unit: int  # 1 from the shoe, 5 from the shuffler
    units: list[list[DealtCard]] = field(default_factory=list)
    strays: dict[int, int] = field(default_factory=dict)  # unit number -> void box
    hands: dict[int, list[DealtCard]] = field(default_factory=dict)
    order: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.order = (*self.boxes, DEALER)
        self._assign()

    @property
    def wanted(self) -> int:
        """Units that the bets ask for, those of void boxes not counted."""
        return len(self.order) * HAND // self.per_unit

    @property
    def due(self) -> int:
        """Units still to come."""
        return self.wanted + len(self.strays) - len(self.units)

    @property
    def cards(self) -> int:
        """Cards out: 5(n+1)+v when the deal is complete (CS-07)."""
        return sum(len(unit) for unit in self.units)

    def next_place(self) -> int:
        """Who gets the next unit."""
        return self.order[(len(self.units) - len(self.strays)) % len(self.order)]

    def add(self, cards: list[DealtCard]) -> int:
        """Lay a unit down and return its place."""
        place = self.next_place()
        self.units.append(cards)
        self.hands[place].extend(cards)
        return place

    def stray(self, number: int, box: int) -> None:
        """Unit ``number`` (from 1) went to ``box``, which had no bet."""
        self.strays[number] = box
        self._assign()

    def all_cards(self) -> Iterator[DealtCard]:
        for unit in self.units:
            yield from unit

    def where(self, card: DealtCard) -> tuple[int, int]:
        """Place and position (from 1) of a card, as the units are assigned now."""
        for place, hand in self.hands.items():
            for position, other in enumerate(hand, start=1):
                if other is card:
                    return place, position
        raise ValueError("that card is not on the table")

    def faces(self, place: int) -> list[Card] | None:
        """The five cards of a hand, or None while one of them is unknown or missing."""
        hand = self.hands[place]
        if len(hand) != HAND:
            return None
        faces = [card.face.turn() for card in hand if card.face is not None]
        return faces if len(faces) == HAND else None

    def _assign(self) -> None:
        self.hands = {place: [] for place in self.order}
        for box in self.strays.values():
            self.hands.setdefault(box, [])
        good = 0
        for number, unit in enumerate(self.units, start=1):
            if number in self.strays:
                self.hands[self.strays[number]].extend(unit)
            else:
                self.hands[self.order[good % len(self.order)]].extend(unit)
                good += 1
