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
_LOWEST_RUN: Final = {*range(LOWEST_OF_FORTY, LOWEST_OF_FORTY + 3), ACE}  # A-5-6-7, the ace as 4

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
    held = [card.rank for card in up]
    ranks, suit = set(held), up[0].suit
    if up[1].suit == suit and up[2].suit == suit and up[3].suit == suit:
        if min(held) >= TEN:
            return Four.POSSIBLE_ROYAL
        return Four.POSSIBLE_FLUSH if _top_of_run(ranks) is None else Four.POSSIBLE_STRAIGHT_FLUSH
    if len(ranks) == 4:
        return Four.FOURTH_CARD if _top_of_run(ranks) is None else Four.POSSIBLE_STRAIGHT
    most = max(map(held.count, ranks))
    if most >= 3:
        return Four.QUADS if most == 4 else Four.TRIPS
    if len(ranks) == 2:
        return Four.TWO_PAIR
    return Four.PAIR_OF_FOURTH if held.count(held[-1]) == 2 else Four.FOURTH_CARD


def _top_of_run(ranks: set[int]) -> int | None:
    """The rank that counts highest in four ranks that follow each other; None if they do not."""
    top = max(ranks)
    if top - min(ranks) == 3:
        return top
    return LOWEST_OF_FORTY + 2 if ranks == _LOWEST_RUN else None


def _of_four(up: Sequence[Card]) -> Standing:
    kind, held = four_up(up), [card.rank for card in up]
    if kind <= Four.PAIR_OF_FOURTH:
        ranks: tuple[int, ...] = (held[-1],)
    elif kind in (Four.POSSIBLE_STRAIGHT, Four.POSSIBLE_STRAIGHT_FLUSH):
        ranks = (_top_of_run(set(held)) or 0,)
    else:
        ranks = tuple(sorted(set(held), key=lambda rank: (held.count(rank), rank), reverse=True))
    return kind, ranks, max([card.suit for card in up if card.rank == ranks[0]])
