"""Which round of a demonstration shows what: where the cards come from, and what goes wrong (CS-11)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Trouble(Enum):
    """What a dealer, or a machine, does wrong in a round."""

    ONE_EXPOSED = "one card exposed (CS-11b)"
    DEALER_EXPOSED = "a card of the dealer exposed (CS-11b)"
    TWO_EXPOSED = "two cards exposed (CS-11a)"
    SURPLUS = "a card too many (CS-11a)"
    EMPTY_BOX = "an empty box dealt to (CS-11c)"
    JAM = "the shuffler jams while dealing (CS-11d)"


FIRST: Final = (Trouble.ONE_EXPOSED, Trouble.EMPTY_BOX, Trouble.TWO_EXPOSED, Trouble.JAM)
BY_HAND: Final = (Trouble.SURPLUS, Trouble.DEALER_EXPOSED, Trouble.EMPTY_BOX)
_NEEDS: Final = {
    Trouble.JAM: "shuffler",
    Trouble.SURPLUS: "shoe",
    Trouble.DEALER_EXPOSED: "shoe",
}
WIDEST: Final = 3  # rounds from one trouble to the next
LONGEST_STAY: Final = 4  # rounds with the shoe


@dataclass(slots=True)
class Plan:
    """``troubles`` are (first round, what), taken once each; ``by_shoe`` the rounds dealt from the shoe."""

    troubles: list[tuple[int, Trouble]]
    by_shoe: range
    stay: int  # rounds dealt from the shoe after a shuffler failed

    def take(self, number: int, mode: str) -> Trouble | None:
        """What goes wrong in round ``number`` (from 1) when the cards come from ``mode``."""
        for due, trouble in self.troubles:
            if due <= number and _NEEDS.get(trouble, mode) == mode:
                self.troubles.remove((due, trouble))
                return trouble
        return None


def make_plan(rounds: int, irregularities: bool) -> Plan:
    """All four cases of CS-11 from 4 rounds on, spread over the first half; fewer in fewer rounds."""
    stay = max(1, min(LONGEST_STAY, rounds // 6))
    if not irregularities:
        first = rounds // 2 + 1
        return Plan([], range(first, first + stay) if rounds > 2 else range(0), stay)
    step = max(1, min(WIDEST, rounds // 8))
    troubles = [(step * place, trouble) for place, trouble in enumerate(FIRST, start=1)]
    first_by_hand = step * len(FIRST) + 2
    if stay > 1:
        troubles += [(first_by_hand + place, trouble) for place, trouble in enumerate(BY_HAND[: stay - 1])]
    return Plan(troubles, range(0), stay)
