"""What the jackpot sign shows: the pool, the fixed prizes in turn, and what just happened (CS-10, CS-12).

Nothing here tells past results or remaining cards: players read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from daemon.games.caribbean.round import PendingAward
from daemon.games.caribbean.rules import CaribbeanRules
from daemon.games.hands import Category
from daemon.games.money import money
from drivers.base import Display

NEUTRAL: Final = "JACKPOT"  # for an amount that is longer than the sign
VOID: Final = "VOID"
CLOSED: Final = "TABLE CLOSED"
ROOM: Final = 240  # characters that the signs we know keep for all pages together
PAGE_EXTRA: Final = 3
_SHORT: Final = {
    Category.ROYAL_FLUSH: "ROYAL",
    Category.STRAIGHT_FLUSH: "STR FLUSH",
    Category.QUADS: "QUADS",
    Category.FULL_HOUSE: "FULL HOUSE",
    Category.FLUSH: "FLUSH",
}


def fits(text: str, rules: CaribbeanRules) -> bool:
    """The sign can show this text whole (a width of 0: as long as it likes)."""
    return not rules.sign_width or len(text) <= rules.sign_width


def prize_pages(rules: CaribbeanRules) -> tuple[str, ...]:
    """The fixed prizes, which CS-10 wants stated, the highest first."""
    return tuple(
        f"{name} {money(rules.jackpot.fixed(category), rules.currency)}" for category, name in _SHORT.items()
    )


def winner(box: int, amount: int, rules: CaribbeanRules) -> str:
    """WINNER with box and amount; without the amount where it does not fit."""
    whole = f"WINNER BOX {box} {money(amount, rules.currency)}"
    return whole if fits(whole, rules) else f"WINNER BOX {box}"


def claimed(box: int, rules: CaribbeanRules) -> str:
    """An award whose amount the authority of a linked pool has not said yet."""
    whole = f"JACKPOT BOX {box} PENDING"
    return whole if fits(whole, rules) else f"PENDING BOX {box}"


def pending(award: PendingAward, rules: CaribbeanRules) -> str:
    """A frozen award that waits for its confirmation, or one that is not decided."""
    if award.amount is None:
        return claimed(award.box, rules)
    whole = f"BOX {award.box} WON {money(award.amount, rules.currency)}"
    return whole if fits(whole, rules) else f"JACKPOT BOX {award.box}"


def won_elsewhere(amount: int, table: str, rules: CaribbeanRules) -> str:
    """An award of the linked pool at another table."""
    whole = f"WON {money(amount, rules.currency)} AT {table}"
    return whole if fits(whole, rules) else f"WON {money(amount, rules.currency)}"


def programme(
    rules: CaribbeanRules,
    prizes: tuple[str, ...],
    pool: int,
    announcement: str,
    waiting: Sequence[PendingAward],
    closed: bool,
    instead: str = "",
    elsewhere: str = "",
) -> Display:
    """The whole content. An amount longer than the sign is never cut: a neutral text stands for it.

    ``instead`` stands for an amount that is not known, ``elsewhere`` is an award at another table.
    """
    amount = instead or money(pool, rules.currency)
    pages = (CLOSED, *prizes) if closed else prizes
    won = tuple(pending(a, rules) for a in waiting if a.amount is None or not a.confirmed)
    won += (elsewhere,) if elsewhere and fits(elsewhere, rules) else ()
    return Display(amount if fits(amount, rules) else NEUTRAL, announcement, _within(pages + won))


def _within(pages: tuple[str, ...]) -> tuple[str, ...]:
    """As many pages as a sign has room for: the awards last in line wait for theirs."""
    while sum(len(page) + PAGE_EXTRA for page in pages) > ROOM:
        pages = pages[:-1]
    return pages
