"""Who speaks first, by the cards that lie face up (FC-10 to FC-13). Pure.

A hand's standing is a tuple; the higher one speaks first. No two hands have the same one: where
ranks are equal a suit decides, of a pair the higher suit that it holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final

from daemon.games.hands import ACE, LOWEST_OF_FORTY
from drivers.cards import Card

TEN: Final = 10
_LOWEST_RUN: Final = [*range(LOWEST_OF_FORTY, LOWEST_OF_FORTY + 3), ACE]  # A-5-6-7, the ace as 4

Standing = tuple[int, tuple[int, ...], int]  # class, ranks from the top, suit


class Four(IntEnum):
    """What four up cards may become or are (FC-13), the lowest first."""

    FOURTH_CARD = 0
    PAIR_OF_FOURTH = 1
    TWO_PAIR = 2
    TRIPS = 3
    POSSIBLE_STRAIGHT = 4
    POSSIBLE_FLUSH = 5
    QUADS = 6
    POSSIBLE_STRAIGHT_FLUSH = 7
    POSSIBLE_ROYAL = 8


# An enum's member by its name costs as much as a sum.
_FOURTH_CARD, _PAIR_OF_FOURTH = Four.FOURTH_CARD, Four.PAIR_OF_FOURTH
_TWO_PAIR, _TRIPS, _QUADS = Four.TWO_PAIR, Four.TRIPS, Four.QUADS
_STRAIGHT, _FLUSH = Four.POSSIBLE_STRAIGHT, Four.POSSIBLE_FLUSH
_STRAIGHT_FLUSH, _ROYAL = Four.POSSIBLE_STRAIGHT_FLUSH, Four.POSSIBLE_ROYAL


def standing(up: Sequence[Card]) -> Standing:
    """Where one to four up cards, in the order dealt, stand in the first to fourth betting round.

    Raises ValueError for another number of cards.
    """
    if not 1 <= len(up) <= 4:
        raise ValueError("one to four cards lie face up")
    return _of_four(up) if len(up) == 4 else _of_few(up)


def speaking_order(up: Mapping[int, Sequence[Card]]) -> list[int]:
    """The seats of these up cards, who speaks first in front. Every hand has as many."""
    standings = [(standing(cards), seat) for seat, cards in up.items()]
    standings.sort(reverse=True)
    return [seat for _, seat in standings]


def _of_few(up: Sequence[Card]) -> Standing:
    """Trips, then the pair that the newest card makes, then the newest card (FC-10, FC-11, FC-12).

    A pair of the first two cards no longer counts beside a third one.
    """
    newest = up[-1]
    rank, suit, held = newest.rank, newest.suit, 0
    for card in up:
        if card.rank == rank:
            held += 1
            if card.suit > suit:
                suit = card.suit
    return held, (rank,), suit


def four_up(up: Sequence[Card]) -> Four:
    """The class of four up cards; the last one is the fourth that was dealt (FC-13)."""
    one, two, three, fourth = up
    held = sorted([one.rank, two.rank, three.rank, fourth.rank])
    kinds = len(set(held))
    if one.suit == two.suit == three.suit == fourth.suit:
        if held[0] >= TEN:
            return _ROYAL
        return _FLUSH if _top_of_run(held) is None else _STRAIGHT_FLUSH
    if kinds == 4:
        return _FOURTH_CARD if _top_of_run(held) is None else _STRAIGHT
    most = max(map(held.count, held))
    if most >= 3:
        return _QUADS if most == 4 else _TRIPS
    if kinds == 2:
        return _TWO_PAIR
    return _PAIR_OF_FOURTH if held.count(fourth.rank) == 2 else _FOURTH_CARD


def _top_of_run(held: Sequence[int]) -> int | None:
    """The highest of four different ranks, lowest first, that follow each other; None if they do not."""
    if held[3] - held[0] == 3:
        return held[3]
    return LOWEST_OF_FORTY + 2 if held == _LOWEST_RUN else None


def _of_four(up: Sequence[Card]) -> Standing:
    kind, newest = four_up(up), up[3]
    if kind is _FOURTH_CARD:
        return kind, (newest.rank,), newest.suit
    held = sorted([card.rank for card in up])
    if kind is _PAIR_OF_FOURTH:
        ranks: tuple[int, ...] = (newest.rank,)
    elif kind is _STRAIGHT or kind is _STRAIGHT_FLUSH:
        ranks = (_top_of_run(held) or 0,)
    else:
        ranks = tuple(sorted(set(held), key=lambda rank: (held.count(rank), rank), reverse=True))
    return kind, ranks, max([card.suit for card in up if card.rank == ranks[0]])
