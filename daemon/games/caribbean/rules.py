"""The rule set of a Caribbean Stud table: what the house fixes before a round (CS-06, CS-09, CS-10)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from fractions import Fraction

from daemon.games.jackpot import JackpotRules

RULES_ID = "61/2004"
BOXES = range(1, 8)  # CS-02


@dataclass(frozen=True, slots=True)
class CaribbeanRules:
    """Amounts in minor units. ``cap`` is None where the house sets no maximum per round."""

    ante_min: int
    ante_max: int
    royal_odds: int  # 50 to 100, CS-13
    jackpot: JackpotRules
    cap: int | None = None
    cap_scope: str = "box"  # or "table"
    currency: str = "$"

    def fingerprint(self) -> str:
        """SHA-256 over the rule set: two tables with the same one play the same game."""

        def plain(value: object) -> str:
            if isinstance(value, Fraction):
                return f"{value.numerator}/{value.denominator}"
            raise TypeError(f"no plain form for {type(value).__name__}")

        text = json.dumps(
            {"rules": RULES_ID, **asdict(self)}, sort_keys=True, separators=(",", ":"), default=plain
        )
        return hashlib.sha256(text.encode()).hexdigest()
