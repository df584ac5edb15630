"""What is counted over many rounds of five-card stud."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from daemon.games.hands import Category, category_of, rank_104_85
from daemon.records import Plain
from daemon.simulation.five_card.book import Held, Paid
from daemon.simulation.tally import Counts


@dataclass(slots=True)
class StudTally(Counts):
    """Money in minor units. ``categories`` are those of the hands that were turned at a showdown.

    ``unopened``: rounds in which nobody bet. ``all_ins``: hands with all their chips in the pot;
    ``depths``: rounds with all-ins of different depth. ``ties``: pots that were shared.
    """

    showdowns: int = 0
    unopened: int = 0
    pots: int = 0
    side_pots: int = 0
    all_ins: int = 0
    depths: int = 0
    ties: int = 0
    rake: int = 0
    top_ups: int = 0
    clauses: Counter[str] = field(default_factory=Counter)

    def add(self, hands: Mapping[int, Held], account: Plain, paid: Paid | None) -> None:
        """Book one closed round with the players' own hands; ``paid`` is None for a void one."""
        self.rounds += 1
        self.clauses.update(each["clause"] for each in account["irregularities"])
        self.rake += account["rake"]["first"] + account["rake"]["pots"]
        if paid is None:
            self.void += 1
            return
        self.pots += paid.pots
        self.side_pots += paid.pots - 1
        self.ties += paid.shared
        self.unopened += not any(hand.staked for hand in hands.values())
        depths = [hand.staked for hand in hands.values() if hand.all_in]
        self.all_ins += len(depths)
        self.depths += len(set(depths)) > 1
        self._showdown([hand for hand in hands.values() if not hand.out])

    def _showdown(self, live: list[Held]) -> None:
        if len(live) == 1:
            return
        self.showdowns += 1
        self.categories.update(category_of(rank_104_85(hand.cards)) for hand in live)

    def facts(self) -> dict[str, object]:
        """Its part of ``feltd simulate --json``."""
        return {
            "showdowns": self.showdowns,
            "unopened": self.unopened,
            "pots": self.pots,
            "side_pots": self.side_pots,
            "all_ins": self.all_ins,
            "all_ins_of_different_depth": self.depths,
            "ties": self.ties,
            "rake": self.rake,
            "top_ups": self.top_ups,
            "irregularities": dict(sorted(self.clauses.items())),
            "categories": {category.label: self.categories[category] for category in reversed(Category)},
        }
