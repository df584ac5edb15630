"""The people at the boxes: how many come, what they bet, and whether they raise."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from random import Random
from typing import Final

from daemon.games.caribbean.rules import BOXES
from daemon.games.hands import qualifies
from drivers.cards import Card

CHIPS: Final = (1, 1, 2, 2, 4, 5, 10)  # antes, in minimum antes
LIKES_PROGRESSIVE: Final = 0.75
COMES_BACK: Final = 0.8  # whose progressive bet was carried over


@dataclass(frozen=True, slots=True)
class Bet:
    """What one player puts down. ``ante`` in minor units; a carried progressive bet needs no new one."""

    box: int
    ante: int
    progressive: bool


class Players:
    """Seeded: the same seed, and the same cards, play the same."""

    def __init__(self, seed: int, ante_min: int) -> None:
        self._random = Random(seed)
        self._ante_min = ante_min

    def bets(self, carried: Collection[int]) -> list[Bet]:
        """Two to six boxes, in seat order, at least one of them with a progressive bet in force."""
        chance = self._random
        boxes = {box for box in sorted(carried) if chance.random() < COMES_BACK}
        others = [box for box in BOXES if box not in carried]
        wanted = chance.randint(2, 6)
        missing = min(len(others), max(0, wanted - len(boxes), 2 - len(boxes)))
        boxes |= set(chance.sample(others, missing))
        if len(boxes) < 2:
            boxes |= set(sorted(carried)[:2])
        bets = [self._bet(box, box in carried) for box in sorted(boxes)]
        if not any(bet.progressive or bet.box in carried for bet in bets):
            bets[0] = Bet(bets[0].box, bets[0].ante, True)
        return bets

    def _bet(self, box: int, carried: bool) -> Bet:
        ante = self._ante_min * self._random.choice(CHIPS)
        likes = self._random.random() < LIKES_PROGRESSIVE
        return Bet(box, ante, likes and not carried)

    def pick(self, boxes: Collection[int], count: int = 1) -> list[int]:
        """So many of these boxes, to whom something happens."""
        return self._random.sample(sorted(boxes), count)

    def card(self) -> int:
        """The place in a hand, 1 to 5, of the card to which something happens."""
        return self._random.randint(1, 5)

    def deck(self, cards: Collection[Card]) -> list[str]:
        """A deck that a person shuffled and cut."""
        return [card.text for card in self._random.sample(list(cards), len(cards))]

    @staticmethod
    def raises(hand: list[Card]) -> bool:
        """Raise with ace-king or better: half a per cent of the ante worse than the best play."""
        return qualifies(hand)
