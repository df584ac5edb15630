"""The rule set of a five-card stud table: what the house fixes, and what 104/85/M fixes for it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from daemon.games.hands import LOWEST_OF_FORTY
from drivers.base import SECOND
from drivers.cards import DECK, Card

RULES_ID: Final = "104/85/M"
FORTY: Final = tuple(card for card in DECK if card.rank >= LOWEST_OF_FORTY)  # FC-01
SEATS: Final = range(1, 9)  # FC-03
HAND: Final = 5
MOST_HANDS: Final = (len(FORTY) - 1) // HAND  # FC-03: the burn apart
FEWEST_HANDS: Final = 2
DECK_ROUNDS: Final = 10  # FC-02
FEWEST_CUT: Final = 6
MOST_CUTTERS: Final = 2
DECISION: Final = 120 * SECOND  # FC-16


class Level(NamedTuple):
    """What goes with an ante (FC-06, FC-08). Minor units."""

    buy_in_min: int
    top_up_below: int
    first_rake: int


LEVELS: Final = {2_000: Level(200_000, 50_000, 2_000), 10_000: Level(500_000, 100_000, 10_000)}


def of_the_forty(card: Card) -> bool:
    return card.rank >= LOWEST_OF_FORTY


@dataclass(frozen=True, slots=True)
class FiveCardRules:
    """Amounts in minor units. ``ante`` is 2,000 or 10,000 (20 or 100), one for all (FC-06).

    ``edition`` is the house's own name for this version of its rule set.
    """

    ante: int
    seats: int = MOST_HANDS
    smallest_chip: int = 100  # a bet or raise is a whole number of it (FC-10)
    rake_percent: int = 4  # FC-09
    pay_unit: int = 1  # rake and shares are floored to it (FC-04, FC-09)
    topup_measured: str = "during_round"  # or "round_end": FC-06
    unfollowed_unraked: str = "any_round"  # or "fourth_round": FC-09
    min_raise: str = "last_increment"  # or "last_total": FC-10
    check_raise: bool = False  # FC-11
    currency: str = "$"
    sign_width: int = 0  # characters the sign shows at once; 0: no limit
    edition: str = ""

    @property
    def level(self) -> Level:
        return LEVELS[self.ante]

    def text(self) -> str:
        """The whole rule set as canonical JSON."""
        return json.dumps({"rules": RULES_ID, **asdict(self)}, sort_keys=True, separators=(",", ":"))

    def fingerprint(self) -> str:
        """SHA-256 of :meth:`text`: two tables with the same one play the same game."""
        return hashlib.sha256(self.text().encode()).hexdigest()

    def changes(self, other: FiveCardRules) -> list[str]:
        """What differs in ``other``, as "key: before -> after"."""
        mine, theirs = asdict(self), asdict(other)
        return [f"{key}: {mine[key]} -> {theirs[key]}" for key in sorted(mine) if mine[key] != theirs[key]]


def rules_from(text: str) -> FiveCardRules:
    """The rule set of :meth:`FiveCardRules.text`. Raises ValueError, KeyError or TypeError."""
    plain: dict[str, Any] = json.loads(text)
    if plain.pop("rules") != RULES_ID:
        raise ValueError(f"not a rule set of {RULES_ID}")
    rules = FiveCardRules(**plain)
    if rules.ante not in LEVELS:
        raise ValueError(f"no ante of {rules.ante}")
    return rules
