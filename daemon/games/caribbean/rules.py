"""The rule set of a Caribbean Stud table: what the house fixes before a round (CS-06 to CS-13)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, Final

from daemon.games.hands import Category
from daemon.games.jackpot import JackpotRules

RULES_ID = "61/2004"
BOXES = range(1, 8)  # CS-02
_RATES: Final = ("contribution", "reserve")

# Art. 9(5): what a raise wins, to 1; the royal flush is the house's option (CS-13).
PAY_TABLE: Final[Mapping[str, int]] = {
    Category.NO_PAIR.label: 1,
    Category.PAIR.label: 1,
    Category.TWO_PAIR.label: 2,
    Category.TRIPS.label: 3,
    Category.STRAIGHT.label: 4,
    Category.FLUSH.label: 5,
    Category.FULL_HOUSE.label: 7,
    Category.QUADS.label: 20,
    Category.STRAIGHT_FLUSH.label: 50,
}


@dataclass(frozen=True, slots=True)
class RoyalApproval:
    """The regulator's permission for the royal-flush odds (CS-13). Dates as YYYY-MM-DD."""

    reference: str
    applied: str
    permitted: str
    effective: str


@dataclass(frozen=True, slots=True)
class CaribbeanRules:
    """Amounts in minor units. ``cap`` is None where the house sets no maximum per round.

    ``edition`` is the house's own name for this version of its rule set.
    """

    ante_min: int
    ante_max: int
    royal_odds: int  # 50 to 100, CS-13
    jackpot: JackpotRules
    cap: int | None = None
    cap_scope: str = "box"  # or "table"
    currency: str = "$"
    sign_width: int = 0  # characters the sign shows at once; 0: no limit
    edition: str = ""
    approval: RoyalApproval | None = None
    pay_table: Mapping[str, int] = field(default_factory=lambda: dict(PAY_TABLE))

    def odds(self, category: Category) -> int:
        """What a raise wins with this hand, to 1 (CS-09)."""
        if category is Category.ROYAL_FLUSH:
            return self.royal_odds
        return self.pay_table[category.label]

    def text(self) -> str:
        """The whole rule set as canonical JSON, rates as exact fractions."""
        plain = {"rules": RULES_ID, **asdict(self)}
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), default=_exact)

    def fingerprint(self) -> str:
        """SHA-256 of :meth:`text`: two tables with the same one play the same game."""
        return hashlib.sha256(self.text().encode()).hexdigest()

    def changes(self, other: CaribbeanRules) -> list[str]:
        """What differs in ``other``, as "key: before -> after"."""
        mine, theirs = dict(_flat(asdict(self))), dict(_flat(asdict(other)))
        return [
            f"{key}: {mine.get(key)} -> {theirs.get(key)}"
            for key in sorted({*mine, *theirs})
            if mine.get(key) != theirs.get(key)
        ]


def rules_from(text: str) -> CaribbeanRules:
    """The rule set of :meth:`CaribbeanRules.text`. Raises ValueError, KeyError or TypeError."""
    plain: dict[str, Any] = json.loads(text)
    if plain.pop("rules") != RULES_ID:
        raise ValueError(f"not a rule set of {RULES_ID}")
    jackpot = plain.pop("jackpot")
    jackpot |= {rate: Fraction(jackpot[rate]) for rate in _RATES}
    jackpot["funded_by_house"] = tuple(jackpot["funded_by_house"])
    approval = plain.pop("approval")
    return CaribbeanRules(
        jackpot=JackpotRules(**jackpot), approval=RoyalApproval(**approval) if approval else None, **plain
    )


def _exact(value: object) -> str:
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    raise TypeError(f"no plain form for {type(value).__name__}")


def _flat(plain: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in plain.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield above + key, value
