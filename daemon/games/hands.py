"""The order of five-card hands, one ranking function a regulation.

An order is a whole number: the higher one wins. It reads, from the top, as the category,
then the ranks that count in the order in which they count, then the suit that breaks the
last tie::

    category << 22 | ranks, four bits each << 2 | suit

so a category has the same place in every order, and :func:`category_of` finds it there.

The work is done once. Each card has one weight, a number in three fields; the sum of five
weights tells in one addition which cards are held, how many of each rank, and how many of each
suit. The second field is the key of a table of all ways to hold five ranks, made when the first
hand is ranked: 6,175 of the thirteen, 1,992 of the ten that 104/85/M plays with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import IntEnum
from itertools import combinations_with_replacement
from typing import Final, NamedTuple

from drivers.cards import DECK, Card, Suit

ACE: Final = 14
KING: Final = 13


class Category(IntEnum):
    """The ten categories, which both regulations put in the same order (CS-08, FC-05)."""

    NO_PAIR = 0
    PAIR = 1
    TWO_PAIR = 2
    TRIPS = 3
    STRAIGHT = 4
    FLUSH = 5
    FULL_HOUSE = 6
    QUADS = 7
    STRAIGHT_FLUSH = 8
    ROYAL_FLUSH = 9

    @property
    def label(self) -> str:
        """The name for people and for JSON, such as ``full-house``."""
        return _LABELS[self]


_LABELS: Final = tuple(category.name.lower().replace("_", "-") for category in Category)
_CATEGORIES: Final = tuple(Category)


# --- the order number ------------------------------------------------------------------

_SUIT_BITS: Final = 2
_RANK_BITS: Final = 4
_CATEGORY_AT: Final = _SUIT_BITS + 5 * _RANK_BITS


def category_of(order: int) -> Category:
    """The category of the hand that was given this order."""
    return _CATEGORIES[order >> _CATEGORY_AT]


def _order(category: Category, ranks: Iterable[int]) -> int:
    """The lowest order of a hand of these ranks, at most five, the one that counts first first."""
    packed = 0
    for rank in ranks:
        packed = packed << _RANK_BITS | rank
    return category << _CATEGORY_AT | packed << _SUIT_BITS


# --- the weight of a card ---------------------------------------------------------------

_RANKS_AT: Final = len(DECK)  # above one bit a card: a rank is held 0 to 4 times, three bits
_SUITS_AT: Final = _RANKS_AT + 13 * 3  # above that: a suit is held 0 to 5 times, three bits
_CARDS_MASK: Final = (1 << _RANKS_AT) - 1
_RANKS_MASK: Final = (1 << _SUITS_AT - _RANKS_AT) - 1


def _rank_weight(rank: int) -> int:
    return 1 << 3 * (rank - 2)


def _weight(card: Card) -> int:
    held = 1 << card.index
    return held | _rank_weight(card.rank) << _RANKS_AT | 1 << 3 * card.suit << _SUITS_AT


_WEIGHTS: Final = {card: _weight(card) for card in DECK}
_weight_of: Final = _WEIGHTS.__getitem__
_ONE_SUIT: Final = frozenset(5 << 3 * suit for suit in Suit)
_HIGHEST_SUIT: Final = tuple(max(held.bit_length() - 1, 0) for held in range(16))

# --- 61/2004: CS-04 and CS-08 -------------------------------------------------------------

_NO_TIE: Final = len(DECK)  # a place above every card: no suit is found there
_CATEGORY_OF_COUNTS: Final = {
    (4, 1): Category.QUADS,
    (3, 2): Category.FULL_HOUSE,
    (3, 1, 1): Category.TRIPS,
    (2, 2, 1): Category.TWO_PAIR,
    (2, 1, 1, 1): Category.PAIR,
    (1, 1, 1, 1, 1): Category.NO_PAIR,
}
_NO_SIDE_CARDS: Final = {Category.QUADS, Category.FULL_HOUSE, Category.TRIPS}


class _RankClass(NamedTuple):
    """What five ranks are worth."""

    order: int
    suited_order: int  # the same with all five of one suit; equal to ``order`` if that cannot be
    tie_at: int  # the bit of the diamond of the rank whose suit breaks the tie, or _NO_TIE


def _tie_at(rank: int) -> int:
    return 4 * (rank - 2)


def _straight_class(top: int) -> _RankClass:
    suited = Category.ROYAL_FLUSH if top == ACE else Category.STRAIGHT_FLUSH
    return _RankClass(_order(Category.STRAIGHT, [top]), _order(suited, [top]), _tie_at(top))


def _class_of_counts(ranks: Sequence[int]) -> _RankClass:
    """The class of five ranks that are no straight."""
    grouped = sorted(((count, rank) for rank, count in Counter(ranks).items()), reverse=True)
    category = _CATEGORY_OF_COUNTS[tuple(count for count, _ in grouped)]
    in_turn = [rank for _, rank in grouped]
    if category in _NO_SIDE_CARDS:
        order = _order(category, in_turn[:1])
        return _RankClass(order, order, _NO_TIE)
    order = _order(category, in_turn)
    suited = _order(Category.FLUSH, in_turn) if category is Category.NO_PAIR else order
    return _RankClass(order, suited, _tie_at(in_turn[0]))


def _straights(lowest: int) -> dict[tuple[int, ...], int]:
    """Ascending ranks to the top of the straight. Only below the ``lowest`` rank the ace is at the bottom."""
    tops = {tuple(range(top - 4, top + 1)): top for top in range(lowest + 4, ACE + 1)}
    return tops | {(*range(lowest, lowest + 4), ACE): lowest + 3}


def _rank_classes(lowest: int) -> dict[int, _RankClass]:
    """The class of every five ranks from the ``lowest`` up, by the sum of their rank weights."""
    straights = _straights(lowest)
    return {
        sum(map(_rank_weight, ranks)): (
            _straight_class(straights[ranks]) if ranks in straights else _class_of_counts(ranks)
        )
        for ranks in combinations_with_replacement(range(lowest, ACE + 1), 5)
        if ranks[0] != ranks[4]
    }


class _RankClasses(dict[int, _RankClass]):
    """Those classes, made when first asked: most of what imports this module ranks no hand."""

    def __init__(self, lowest: int) -> None:
        super().__init__()
        self._lowest = lowest

    def __missing__(self, weights: int) -> _RankClass:
        if not self:
            self.update(_rank_classes(self._lowest))  # all at once: another thread may ask, too
        found = self.get(weights)
        if found is None:
            raise KeyError(weights)
        return found


_RANK_CLASSES: Final = _RankClasses(2)


def rank_61_2004(cards: Sequence[Card]) -> int:
    """The order of a Caribbean Stud hand (CS-08); of two hands the higher order wins.

    The order of the cards does not matter. Hands without a card in common never have the same
    order: where ranks are equal a suit decides, and of two equal pairs the one with the higher
    suit. Raises ValueError unless there are five different cards.
    """
    total = sum(map(_weight_of, cards))
    held = total & _CARDS_MASK
    # A card held twice carries into the next bit and leaves fewer than five.
    if len(cards) != 5 or held.bit_count() != 5:
        raise ValueError("a hand is five different cards")
    order, suited_order, tie_at = _RANK_CLASSES[total >> _RANKS_AT & _RANKS_MASK]
    if total >> _SUITS_AT in _ONE_SUIT:
        order = suited_order
    return order + _HIGHEST_SUIT[held >> tie_at & 15]


_ACE_KING: Final = _order(Category.NO_PAIR, [ACE, KING, 0, 0, 0])


def qualifies(cards: Sequence[Card]) -> bool:
    """Whether a dealer with these cards opens the players': ace-king high or better (CS-09).

    Raises ValueError unless there are five different cards.
    """
    return rank_61_2004(cards) >= _ACE_KING


# --- 104/85/M: FC-05 ------------------------------------------------------------------------

LOWEST_OF_FORTY: Final = 5
_FORTY_CLASSES: Final = _RankClasses(LOWEST_OF_FORTY)


def rank_104_85(cards: Sequence[Card]) -> int:
    """The order of a five-card stud hand (FC-05); of two hands the higher order wins, equal ones share.

    Suits never break a tie; A-5-6-7-8 is the lowest straight. The order of the cards does not
    matter. Raises ValueError unless there are five different cards of the forty.
    """
    total = sum(map(_weight_of, cards))
    if len(cards) != 5 or (total & _CARDS_MASK).bit_count() != 5:
        raise ValueError("a hand is five different cards")
    try:
        found = _FORTY_CLASSES[total >> _RANKS_AT & _RANKS_MASK]
    except KeyError:
        raise ValueError("a card is none of the forty, 5 to ace") from None
    return found.suited_order if total >> _SUITS_AT in _ONE_SUIT else found.order
