"""When simulated players raise: each knows his own five cards and the dealer's open one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb
from typing import Final

from daemon.games.hands import ACE, KING, Category, category_of, qualifies, rank_61_2004
from drivers.cards import Card, Suit, parse_cards

Strategy = Callable[[Sequence[Card], Card], bool]

_RANKS: Final = range(2, ACE + 1)
_DEALER_HANDS: Final = comb(46, 4)  # the dealer's other four cards
_STRAIGHTS: Final = frozenset({frozenset(range(top - 4, top + 1)) for top in range(6, ACE + 1)}) | {
    frozenset({ACE, 2, 3, 4, 5})
}


def _at_least(weakest: str) -> Strategy:
    order = rank_61_2004(parse_cards(weakest))
    return lambda cards, up: rank_61_2004(cards) >= order


def optimal(cards: Sequence[Card], up: Card) -> bool:
    """The decision with the higher expectation, exactly (odds and ranking of CS-08, CS-09, no cap).

    A pair or better always raises, less than ace-king never does. Between them the raise is
    weighed against the ante that a fold gives up.
    """
    if category_of(rank_61_2004(cards)) is not Category.NO_PAIR:
        return True
    return qualifies(cards) and expected_raise(cards, up) > -_DEALER_HANDS


@dataclass(frozen=True, slots=True)
class _Others:
    """Four ranks beside the dealer's open card. ``mask`` has a bit for each of them."""

    ranks: tuple[int, int, int, int]
    mask: int
    all_five: list[int]  # from the highest


@cache
def _dealer_ranks(up: int) -> tuple[list[_Others], list[_Others]]:
    """Ways to hold five different ranks with ``up``, no straight: without, and with ace and king."""
    fails: list[_Others] = []
    ace_kings: list[_Others] = []
    for ranks in combinations([rank for rank in _RANKS if rank != up], 4):
        five = {up, *ranks}
        if five not in _STRAIGHTS:
            others = _Others(ranks, sum(1 << rank for rank in ranks), sorted(five, reverse=True))
            (ace_kings if five >= {ACE, KING} else fails).append(others)
    return fails, ace_kings


def expected_raise(cards: Sequence[Card], up: Card) -> int:
    """What raising an ace-king hand wins, summed over the dealer's 163,185 hands, in antes.

    The dealer fails to qualify (+1), qualifies with a lower ace-king (+3), or wins (-3).
    """
    left, suited = _left(cards, up)
    failing, ace_kings = _dealer_ranks(up.rank)
    mine = sorted((card.rank for card in cards), reverse=True)
    fails = sum(_hands(others, left, suited) for others in failing)
    lower = sum(_hands(others, left, suited) for others in ace_kings if others.all_five < mine)
    for others in ace_kings:
        if others.all_five == mine:
            lower += _below_my_ace(others, left, suited, cards, up)
    return fails + 3 * lower - 3 * (_DEALER_HANDS - fails - lower)


def _left(cards: Sequence[Card], up: Card) -> tuple[list[int], int]:
    """How many of each rank are left, and of which ranks the card in the open card's suit is."""
    left = [4] * (ACE + 1)
    suited = sum(1 << rank for rank in _RANKS)
    for card in (*cards, up):
        left[card.rank] -= 1
        if card.suit is up.suit:
            suited &= ~(1 << card.rank)
    return left, suited


def _hands(others: _Others, left: list[int], suited: int) -> int:
    """Dealer hands with these four ranks beside the open card, the flush not counted."""
    a, b, c, d = others.ranks
    return left[a] * left[b] * left[c] * left[d] - (others.mask & suited == others.mask)


def _below_my_ace(others: _Others, left: list[int], suited: int, cards: Sequence[Card], up: Card) -> int:
    """Dealer hands of my very ranks: the suit of the ace decides (CS-08)."""
    my_ace = next(card.suit for card in cards if card.rank == ACE)
    if up.rank == ACE:
        return _hands(others, left, suited) if up.suit < my_ace else 0
    lower = [suit for suit in Suit if suit < my_ace]  # my own ace is none of them
    flush_ace = suited if up.suit in lower else suited & ~(1 << ACE)
    return _hands(others, [*left[:ACE], len(lower)], flush_ace)


STRATEGIES: Final[Mapping[str, Strategy]] = {
    "optimal": optimal,
    "pair-plus": _at_least("2C 2D 5D 4D 3D"),
    "akj83": _at_least("AD KC JD 8D 3D"),
    "ak": _at_least("AD KC 4D 3D 2D"),
    "blind": lambda cards, up: True,
}
