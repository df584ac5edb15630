"""Playing cards, and the face-down card whose face nobody can read by accident."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, NoReturn, Self


class Suit(IntEnum):
    """Suits in the order of both regulations (CS-04, FC-10): spade is the highest."""

    DIAMOND = 0
    CLUB = 1
    HEART = 2
    SPADE = 3


SUIT_LETTERS: Final = "DCHS"
RANK_NAMES: Final = {**{n: str(n) for n in range(2, 11)}, 11: "J", 12: "Q", 13: "K", 14: "A"}


class Card:
    """One card. There are exactly 52 objects, so identity is equality.

    ``index`` is 0 to 51, ``rank`` 2 to 14 (the ace), ``suit`` a :class:`Suit`.
    """

    __slots__ = ("index", "rank", "suit", "text")
    index: int
    rank: int
    suit: Suit
    text: str

    def __new__(cls, rank: int, suit: Suit) -> Self:
        card = _BY_RANK_SUIT.get((rank, suit))
        if card is None:
            raise ValueError("no such card: rank is 2 to 14, suit 0 to 3")
        return card  # type: ignore[return-value]  # interned: there are no subclasses

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[type[Card], tuple[int, Suit]]:
        return (Card, (self.rank, self.suit))


_BY_RANK_SUIT: dict[tuple[int, int], Card] = {}


def _make(rank: int, suit: Suit) -> Card:
    card = object.__new__(Card)
    card.rank, card.suit = rank, suit
    card.index = (rank - 2) * 4 + suit
    card.text = RANK_NAMES[rank] + SUIT_LETTERS[suit]
    _BY_RANK_SUIT[(rank, suit)] = card
    return card


DECK: Final[tuple[Card, ...]] = tuple(_make(rank, suit) for rank in range(2, 15) for suit in Suit)
_BY_TEXT: Final = {card.text: card for card in DECK} | {
    "T" + SUIT_LETTERS[suit]: _BY_RANK_SUIT[(10, suit)] for suit in Suit
}


def parse_card(text: str) -> Card:
    """The card that ``text`` names: ``AS``, ``10H`` or ``TH``, in either case.

    Raises ValueError for anything else.
    """
    card = _BY_TEXT.get(text.strip().upper())
    if card is None:
        raise ValueError(f"not a card: {text!r} (a rank A K Q J 10 … 2, then a suit S H C D)")
    return card


def parse_cards(text: str) -> list[Card]:
    """Cards separated by blanks or commas, in the order given. Raises ValueError."""
    return [parse_card(part) for part in text.replace(",", " ").split()]


class FaceDownCard:
    """A card whose face is secret until the regulation turns it.

    Its text, its JSON and its pickled form say nothing: it is blind in every log line,
    answer and exception. Only :meth:`turn` opens it.
    """

    __slots__ = ("__card",)

    def __init__(self, card: Card) -> None:
        self.__card = card

    def turn(self) -> Card:
        """The card, turned over. Call it only where a clause turns the card."""
        return self.__card

    def __repr__(self) -> str:
        return "FaceDownCard"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format("FaceDownCard", spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FaceDownCard) and other.turn() is self.__card

    def __hash__(self) -> int:
        return hash(FaceDownCard)  # the same for every card: a hash would tell the face

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a face-down card cannot be serialised; seal it")

    def __deepcopy__(self, memo: object) -> FaceDownCard:
        return self  # it never changes; a copy of what holds it need not know the face

    def __getstate__(self) -> NoReturn:
        raise TypeError("a face-down card cannot be serialised; seal it")
