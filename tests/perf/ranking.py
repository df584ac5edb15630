"""Ranking five cards, one hand at a time and all 2,598,960, beside phevaluator on integers.

phevaluator's releases up to 0.5 are Python, as ours is; from 0.6 on it is C behind a Python call. Which
one is beside us is in the row.
"""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
from phevaluator import evaluate_cards

from daemon.games import hands
from daemon.games.hands import Category, rank_61_2004
from drivers.cards import DECK
from tests.perf.measure import Row, rates

HANDS = 20_000
EVERY_HAND = 2_598_960
Array = np.ndarray[Any, np.dtype[Any]]


def _fields() -> tuple[Array, Array, Array]:
    """Of each card's weight the bit of the card, the count of its rank, and that of its suit."""
    weights = [hands._WEIGHTS[card] for card in DECK]
    held = [weight & hands._CARDS_MASK for weight in weights]
    ranks = [weight >> hands._RANKS_AT & hands._RANKS_MASK for weight in weights]
    return np.array(held), np.array(ranks), np.array([weight >> hands._SUITS_AT for weight in weights])


def _one_more(last: Array, *sums: Array) -> tuple[Array, Array]:
    """Each set of cards with every later card added: which set it was, and the card."""
    room = len(DECK) - 1 - last
    of = np.repeat(np.arange(len(last)), room)
    nth = np.arange(room.sum()) - np.repeat(np.cumsum(room) - room, room)
    return of, last[of] + 1 + nth


hands.rank_61_2004(DECK[:5])  # the first one makes the table
KEYS = np.array(sorted(hands._RANK_CLASSES))
CLASSES = np.array([tuple(hands._RANK_CLASSES[key]) for key in KEYS.tolist()])


def every_order() -> Array:
    """The order (CS-08) of every hand of the deck, in the order of ``combinations(DECK, 5)``."""
    held_of, ranks_of, suits_of = _fields()
    last = np.arange(len(DECK))
    held, ranks, suits = held_of, ranks_of, suits_of
    for _ in range(4):
        of, last = _one_more(last)
        held, ranks, suits = held[of] + held_of[last], ranks[of] + ranks_of[last], suits[of] + suits_of[last]
    order, suited, tie_at = CLASSES[np.searchsorted(KEYS, ranks)].T
    flush = np.isin(suits, list(hands._ONE_SUIT))
    highest = np.array(hands._HIGHEST_SUIT)
    return np.where(flush, suited, order) + highest[held >> tie_at & 15]


def _all_of_ours() -> int:
    orders = every_order()
    counts = Counter(dict(zip(*np.unique(orders >> hands._CATEGORY_AT, return_counts=True), strict=True)))
    assert (len(orders), counts[Category.ROYAL_FLUSH], counts[Category.QUADS]) == (EVERY_HAND, 4, 624)
    return len(orders)


def _all_of_theirs() -> int:
    count = 0
    for hand in combinations(range(52), 5):
        evaluate_cards(*hand)
        count += 1
    return count


def _same_as_one_by_one(dice: Random) -> None:
    orders = every_order()
    at = {hand: n for n, hand in enumerate(combinations(range(52), 5)) if n % 97 == 0}
    for hand, n in at.items():
        assert orders[n] == rank_61_2004([DECK[index] for index in hand])


def measure() -> list[Row]:
    dice = Random(1)
    _same_as_one_by_one(dice)
    dealt = [dice.sample(DECK, 5) for _ in range(HANDS)]
    numbers = [tuple(card.index for card in hand) for hand in dealt]

    def ours() -> int:
        for hand in dealt:
            rank_61_2004(hand)
        return HANDS

    def theirs() -> int:
        for hand in numbers:
            evaluate_cards(*hand)
        return HANDS

    peer = f"phevaluator {version('phevaluator')}"
    return [
        rates("ranking, one hand at a time", peer, "/s", ours, theirs, 15),
        rates("all 2,598,960 ranks (numpy)", f"a loop over {peer}", "/s", _all_of_ours, _all_of_theirs, 3),
    ]
