"""What a sign beside this table shows, if there is one: the ante and the smallest buy-in (FC-06).

There is no jackpot, and nothing of a running round: a sign is read by everybody.
"""

from __future__ import annotations

from typing import Final

from daemon.games.five_card.rules import FiveCardRules
from daemon.games.money import money
from drivers.base import Display

CLOSED: Final = "TABLE CLOSED"


def programme(rules: FiveCardRules, closed: bool) -> Display:
    """The ante where a jackpot sign has its meter, the smallest buy-in as a page."""
    pages = buy_in_page(rules)
    return Display(ante_text(rules), pages=(CLOSED, *pages) if closed else pages)


def ante_text(rules: FiveCardRules) -> str:
    return f"ANTE {money(rules.ante, rules.currency)}"


def buy_in_page(rules: FiveCardRules) -> tuple[str, ...]:
    return (f"BUY-IN {money(rules.level.buy_in_min, rules.currency)}",)
