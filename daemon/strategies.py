"""When simulated players raise: each knows his own five cards and the dealer's open one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import comb, prod
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


def expected_raise(cards: Sequence[Card], up: Card) -> int:
    """What raising an ace-king hand wins, summed over the dealer's 163,185 hands, in antes.

    The dealer fails to qualify (+1), qualifies with a lower ace-king (+3), or wins (-3).
    """
    left = _left(cards, up)
    fails = lower = 0
    mine = sorted((card.rank for card in cards), reverse=True)
    for others in combinations([rank for rank in _RANKS if rank != up.rank], 4):
        ranks = {up.rank, *others}
        if ranks in _STRAIGHTS:
            continue
        if not ranks >= {ACE, KING}:
            fails += _hands(others, left, up.suit)
        elif (theirs := sorted(ranks, reverse=True)) < mine:
            lower += _hands(others, left, up.suit)
        elif theirs == mine:
            lower += _below_my_ace(others, left, cards, up)
    return fails + 3 * lower - 3 * (_DEALER_HANDS - fails - lower)


def _left(cards: Sequence[Card], up: Card) -> dict[int, set[Suit]]:
    """The suits that are left of each rank."""
    left = {rank: set(Suit) for rank in _RANKS}
    for card in (*cards, up):
        left[card.rank].discard(card.suit)
    return left


def _hands(others: Sequence[int], left: Mapping[int, set[Suit]], suit: Suit) -> int:
    """Dealer hands with these four ranks beside the open card, flushes not counted."""
    flush = all(suit in left[rank] for rank in others)
    return prod(len(left[rank]) for rank in others) - flush


def _below_my_ace(
    others: Sequence[int], left: Mapping[int, set[Suit]], cards: Sequence[Card], up: Card
) -> int:
    """Dealer hands of my very ranks: the suit of the ace decides (CS-08)."""
    my_ace = next(card.suit for card in cards if card.rank == ACE)
    if up.rank == ACE:
        return _hands(others, left, up.suit) if up.suit < my_ace else 0
    lower = {suit for suit in left[ACE] if suit < my_ace}
    return _hands(others, {**left, ACE: lower}, up.suit)


STRATEGIES: Final[Mapping[str, Strategy]] = {
    "optimal": optimal,
    "pair-plus": _at_least("2C 2D 5D 4D 3D"),
    "akj83": _at_least("AD KC JD 8D 3D"),
    "ak": _at_least("AD KC 4D 3D 2D"),
    "blind": lambda cards, up: True,
}
