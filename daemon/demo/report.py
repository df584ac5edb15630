"""What a demonstration has to show for itself (``cli.md``, "demo --json")."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from daemon.demo.staff import Json
from daemon.games.money import money

POOL_MOVES: Final = ("contributed", "awarded_from_pool")


@dataclass(slots=True)
class Report:
    """Counts over the rounds of this demonstration; ``carried`` progressive bets that void rounds left.

    Amounts in minor units. ``sign`` is what the sign itself shows at the end; ``kept``: the journal
    outlives the demonstration.
    """

    game: str
    kept: bool
    outcomes: Counter[str] = field(default_factory=Counter)
    clauses: Counter[str] = field(default_factory=Counter)
    carried: int = 0
    restarts: int = 0
    status: Json = field(default_factory=dict)
    sign: Json = field(default_factory=dict)
    journal: Json = field(default_factory=dict)

    def count(self, account: Json) -> None:
        """Take a closed round."""
        self.outcomes[account["outcome"]] += 1
        self.clauses.update(each["clause"] for each in account["irregularities"])
        if account["outcome"] == "void":
            self.carried += sum(1 for box in account["boxes"] if box["progressive"])

    def json(self) -> dict[str, Any]:
        """The one object of ``--json``."""
        return {
            **self.common(),
            "carried_progressive": self.carried,
            "pool": self.status["pool"],
        }

    def common(self) -> dict[str, Any]:
        """What there is at every game."""
        return {
            "game": self.game,
            "rounds": self.outcomes.total(),
            "settled": self.outcomes["settled"],
            "void": self.outcomes["void"],
            "irregularities": dict(sorted(self.clauses.items())),
            "sign_text": self.sign["text"],
            "sign_amount": self.sign["amount"],
            "restarts": self.restarts,
            "journal": self.journal,
            "devices": self.status["devices"],
        }

    def rows(self) -> list[tuple[str, str]]:
        """The summary for people."""
        pool = self.status["pool"]
        return [
            *self.head_rows(),
            ("progressive carried over", str(self.carried)),
            ("pool", money(pool["now"], "")),
            ("contributed, awarded", ", ".join(money(pool[key], "") for key in POOL_MOVES)),
            *self.foot_rows(),
        ]

    def head_rows(self) -> list[tuple[str, str]]:
        """What comes first at every game."""
        told = "  ".join(f"{clause}: {count}" for clause, count in sorted(self.clauses.items()))
        return [
            ("rounds", str(self.outcomes.total())),
            ("settled, void", f"{self.outcomes['settled']}, {self.outcomes['void']}"),
            ("irregularities", told or "none"),
        ]

    def foot_rows(self) -> list[tuple[str, str]]:
        """What comes last at every game."""
        verified = "verified" if self.journal["verified"] else "NOT VERIFIED"
        where = self.journal["path"] if self.kept else "removed now, kept with --dir"
        return [
            ("the sign shows", str(self.sign["text"])),
            ("daemon restarts", str(self.restarts)),
            ("journal", f"{self.journal['inputs']} inputs, {verified}; {where}"),
        ]
