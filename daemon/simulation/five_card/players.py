"""What a player does at his turn. He knows his own cards and the bets, and is more or less bold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from drivers.cards import Card

BOLDNESS: Final = range(-20, 26)  # of a player, in points of a hundred
OPENS: Final = 58  # points: who has fewer does not open, check a bet, and so on
BETS: Final = 85
CALLS: Final = 46
RAISES: Final = 104
EVERYTHING: Final = 3  # in a hundred bets
SIZES: Final = (1, 1, 2, 2, 3, 4, 6, 10, 20)  # a bet, in smallest chips; a raise, in least raises

Decision = tuple[str, int]  # the act, and what a bet or raise comes to: minor units, else 0


@dataclass(frozen=True, slots=True)
class Spot:
    """A player's turn. ``bet`` is his own of this betting round, ``price`` the highest one, ``least``
    what a full raise comes to at least, ``stack`` his chips outside the pot: minor units."""

    phase: str
    cards: Sequence[Card]
    bet: int
    price: int
    least: int
    stack: int
    may_raise: bool


def decide(spot: Spot, boldness: int, chip: int, chance: Random) -> Decision:
    """What he does, always something the regulation lets him do (FC-10, FC-11, FC-15)."""
    points = chance.randrange(100) + boldness + strength(spot.cards)
    if spot.phase == "opening":
        return ("bet", _size(spot, chip, chance)) if points >= OPENS else ("fold", 0)
    if spot.phase == "speaking":
        return ("bet", _size(spot, chip, chance)) if points >= BETS else ("check", 0)
    if points >= RAISES and spot.may_raise and spot.bet + spot.stack > spot.price:
        return "raise", _size(spot, chip, chance)
    return ("call" if points >= CALLS else "fold"), 0


def strength(cards: Sequence[Card]) -> int:
    """Points for what the cards are together, 0 to 60: few for high ones, many for equal ones."""
    ranks = [card.rank for card in cards]
    equal = len(ranks) - len(set(ranks))
    return min(60, 16 * equal + max(ranks))


def _size(spot: Spot, chip: int, chance: Random) -> int:
    """What the bet or raise comes to: whole chips above the price, or everything."""
    everything = spot.bet + spot.stack
    if chance.randrange(100) < EVERYTHING:
        return everything
    step = max(chip, -(-(spot.least - spot.price) // chip) * chip)
    return min(everything, spot.price + step * chance.choice(SIZES))
