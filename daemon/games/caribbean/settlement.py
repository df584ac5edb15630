"""Who wins the main game of Caribbean Stud, and what is paid (CS-09)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.games.caribbean.rules import CaribbeanRules
from daemon.games.hands import Category, category_of, qualifies, rank_61_2004
from drivers.cards import Card

CAPPED = (Category.QUADS, Category.STRAIGHT_FLUSH, Category.ROYAL_FLUSH)


@dataclass(frozen=True, slots=True)
class Stake:
    """A box at the showdown: its ante, its raise (0: folded) in minor units, and its cards."""

    box: int
    ante: int
    raised: int
    cards: Sequence[Card] | None


@dataclass(frozen=True, slots=True)
class Result:
    """``ante_paid`` and ``raise_paid`` are winnings, the stake itself not counted (minor units)."""

    box: int
    result: str  # win, lose, not-qualified
    category: Category | None
    ante_paid: int = 0
    raise_paid: int = 0


def settle(
    dealer: Sequence[Card] | None,
    stakes: Sequence[Stake],
    rules: CaribbeanRules,
) -> list[Result]:
    """Results in seat order. ``dealer`` may be None only when no box raised.

    The rules' cap limits what a raise wins with quads or better, for each box, or for the table
    in seat order (``cap_scope = "table"``).
    """
    if dealer is None and any(stake.raised for stake in stakes):
        raise ValueError("the dealer's cards are not known at the showdown")
    qualified = dealer is not None and qualifies(dealer)
    dealer_rank = rank_61_2004(dealer) if dealer is not None and qualified else 0
    left = rules.cap
    results = []
    for stake in stakes:
        result = _one(stake, qualified, dealer_rank, rules, left)
        if left is not None and rules.cap_scope == "table" and result.category in CAPPED:
            left -= result.raise_paid
        results.append(result)
    return results


def _one(stake: Stake, qualified: bool, dealer_rank: int, rules: CaribbeanRules, cap: int | None) -> Result:
    if not stake.raised:
        return Result(stake.box, "lose", None)
    if not qualified:
        return Result(stake.box, "not-qualified", None, ante_paid=stake.ante)
    if stake.cards is None:
        raise ValueError(f"box {stake.box}: cards not known at the showdown")
    rank = rank_61_2004(stake.cards)
    category = category_of(rank)
    if rank == dealer_rank:
        raise ValueError("two hands of one deck cannot tie (CS-08)")
    if rank < dealer_rank:
        return Result(stake.box, "lose", category)
    won = stake.raised * rules.odds(category)
    if cap is not None and category in CAPPED:
        won = min(won, cap)
    return Result(stake.box, "win", category, stake.ante, won)
