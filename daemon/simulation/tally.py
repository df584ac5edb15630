"""What is counted over many rounds, and over those of Caribbean Stud."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, fields
from fractions import Fraction

from daemon.games.hands import Category, qualifies
from daemon.records import Plain
from daemon.simulation.deal import DEALER, Hands, category


@dataclass(slots=True, kw_only=True)
class Counts:
    """What is counted at every game. A void round counts as a round and as void, and in nothing else."""

    rounds: int = 0
    void: int = 0
    violations: int = 0
    categories: Counter[Category] = field(default_factory=Counter)

    def merge(self, other: Counts) -> None:
        """Count what another one of the same kind counted."""
        for each in fields(self):
            if each.name != "ante":
                setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def blank(self) -> Counts:
        """One of the same kind that has counted nothing."""
        return type(self)()

    @property
    def settled(self) -> int:
        """Rounds that were not void."""
        return self.rounds - self.void

    def facts(self) -> dict[str, object]:
        """The game's own part of ``feltd simulate --json``."""
        raise NotImplementedError


@dataclass(slots=True)
class Tally(Counts):
    """Whole numbers only, until somebody asks for a quotient. Money in minor units."""

    ante: int
    boxes: int = 0  # that were played to the end
    net: int = 0  # of all boxes, ante and raise only
    antes: int = 0
    net_squares: int = 0  # of each round
    net_antes: int = 0
    antes_squares: int = 0
    raises: int = 0
    qualified: int = 0

    def blank(self) -> Tally:
        return Tally(self.ante)

    def add(self, hands: Hands, summary: Plain) -> None:
        """Book one closed round, with the cards that lay on the table."""
        self.rounds += 1
        if summary["outcome"] == "void":
            self.void += 1
            return
        rows = [row for row in summary["boxes"] if row["decision"] != "void"]
        net, antes = sum(map(_net, rows)), sum(row["ante"] for row in rows)
        self.boxes += len(rows)
        self.net += net
        self.antes += antes
        self.net_squares += net * net
        self.net_antes += net * antes
        self.antes_squares += antes * antes
        self.raises += sum(row["decision"] == "raise" for row in rows)
        self.qualified += qualifies(hands[DEALER])
        self.categories.update(category(cards) for place, cards in hands.items() if place != DEALER)

    @property
    def return_per_ante(self) -> float:
        """Net of ante and raise for each ante, the progressive excluded."""
        return self.net / self.antes

    @property
    def standard_error(self) -> float | None:
        """Of the return, over round means; None for a single round."""
        n = self.settled
        if n < 2:
            return None
        mean = Fraction(self.net, self.antes)
        spread = self.net_squares - 2 * mean * self.net_antes + mean * mean * self.antes_squares
        return math.sqrt(spread * n / (n - 1)) / self.antes

    def facts(self) -> dict[str, object]:
        """Its part of ``feltd simulate --json``."""
        return {
            "player_return_per_ante": self.return_per_ante if self.settled else None,
            "standard_error": self.standard_error,
            "raise_rate": self.raises / self.boxes if self.settled else None,
            "dealer_qualifies": self.qualified / self.settled if self.settled else None,
            "categories": {category.label: self.categories[category] for category in reversed(Category)},
        }


def _net(row: Plain) -> int:
    """What a box won or lost with its ante and its raise."""
    paid: int = row["ante_paid"] + row["raise_paid"]
    lost: int = row["ante"] + row["raise"] if row["result"] == "lose" else 0
    return paid - lost
