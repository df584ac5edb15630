"""The progressive jackpot of Caribbean Stud: its meter, and what an award takes from it (CS-10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from daemon.games.hands import Category

AWARDED = (
    Category.FLUSH,
    Category.FULL_HOUSE,
    Category.QUADS,
    Category.STRAIGHT_FLUSH,
    Category.ROYAL_FLUSH,
)


@dataclass(frozen=True, slots=True)
class JackpotRules:
    """What the house sets for its progressive (CS-10). Amounts in minor units.

    ``contribution`` is the exact share of a stake that goes to the pool, ``reserve`` the one put
    aside for the next minimum; ``largest_contribution`` is the most that one bet may plausibly
    bring. At ``limit`` the pool stands still and further contributions are overflow, which the
    next pool begins with (``overflow = "next_pool"``) or which is kept apart (``"kept"``).
    ``funded_by_house`` are the fixed levels the house pays itself. The other fields are the
    readings of CS-10.
    """

    stake: int
    contribution: Fraction
    minimum: int
    royal_flush: int
    straight_flush: int
    quads: int
    full_house: int
    flush: int
    pay_unit: int = 1
    straight_flush_base: str = "round_start"  # or "sequential"
    royal_sharing: str = "split_max"  # or "each_max"
    award_base: str = "staged"  # or "turn"
    funded_by_house: tuple[str, ...] = ()
    folded: str = "lost"  # or "pays"
    reserve: Fraction = Fraction(0)
    limit: int | None = None
    overflow: str = "next_pool"  # or "kept"
    largest_contribution: int | None = None

    def fixed(self, category: Category) -> int:
        """The fixed prize of a category, minor units."""
        prizes = (self.flush, self.full_house, self.quads, self.straight_flush, self.royal_flush)
        return prizes[AWARDED.index(category)]


@dataclass(frozen=True, slots=True)
class Claim:
    """A box that holds an awarded category with an accepted progressive bet."""

    box: int
    category: Category


@dataclass(frozen=True, slots=True)
class Award:
    """What one claim is worth: ``amount`` = ``from_pool`` + ``from_house``, minor units."""

    box: int
    category: Category
    amount: int
    from_pool: int
    from_house: int


@dataclass(frozen=True, slots=True)
class Decision:
    """The awards of one round in the order of payment, and the pool before a new minimum.

    ``emptied``: the pool counts as paid out in full and restarts when the round closes;
    ``left`` is then what a division left over.
    """

    awards: tuple[Award, ...]
    left: int
    emptied: bool

    def pool_after(self, minimum: int) -> int:
        """The pool when the round has closed."""
        return self.left + (minimum if self.emptied else 0)


class PoolAuthority(Protocol):
    """Who decides what an award is worth: this table, or the house's linked pool."""

    def decide(self, claims: Sequence[Claim], pool: int) -> Decision | None:
        """The decision, or None when it will come later as an input of its own."""


@dataclass(frozen=True, slots=True)
class LocalPool:
    """The authority of a table that owns its pool: it decides in the same commit."""

    rules: JackpotRules

    def decide(self, claims: Sequence[Claim], pool: int) -> Decision:
        return decide(self.rules, claims, pool)


@dataclass(frozen=True, slots=True)
class AwayPool:
    """The authority of a table of a linked pool: what a claim is worth is decided elsewhere."""

    def decide(self, claims: Sequence[Claim], pool: int) -> Decision | None:
        return None if claims else Decision((), pool, False)


def payment_order(claims: Sequence[Claim]) -> list[Claim]:
    """Seat order, but a royal that meets an unpaid straight flush comes right after the last of them.

    CS-10, art. 10(4) and (7).
    """
    seats = sorted(claims, key=lambda claim: claim.box)
    flushes = [c for c in seats if c.category is Category.STRAIGHT_FLUSH]
    if not flushes:
        return seats
    last = flushes[-1]
    order: list[Claim] = []
    waiting: list[Claim] = []
    for claim in seats:
        if claim.category is Category.ROYAL_FLUSH and claim.box < last.box:
            waiting.append(claim)
            continue
        order.append(claim)
        if claim is last:
            order += waiting
    return order


def decide(rules: JackpotRules, claims: Sequence[Claim], pool: int) -> Decision:
    """What each claim of one round is worth (CS-10); ``pool`` is the pool of the round.

    Amounts are taken in three stages (straight flushes, royals, fixed prizes), each in seat
    order; with ``award_base = "turn"`` in the order of payment instead.
    """
    order = payment_order(claims)
    turns = order if rules.award_base == "turn" else _stages(order)
    purse = _Purse(rules, pool, royals=sum(c.category is Category.ROYAL_FLUSH for c in claims))
    worth = {claim: purse.award(claim) for claim in turns}
    return Decision(tuple(worth[c] for c in order), purse.left, purse.emptied)


def _stages(claims: Sequence[Claim]) -> list[Claim]:
    stage = {Category.STRAIGHT_FLUSH: 0, Category.ROYAL_FLUSH: 1}
    return sorted(claims, key=lambda c: (stage.get(c.category, 2), c.box))


class _Purse:
    """The pool while the awards of one round are taken out of it."""

    def __init__(self, rules: JackpotRules, pool: int, royals: int) -> None:
        self.rules = rules
        self.of_round = pool
        self.left = pool
        self.royals = royals
        self.emptied = pool == 0
        self._royal_share: int | None = None

    def award(self, claim: Claim) -> Award:
        amount = self._amount(claim.category)
        from_pool = 0 if self._house_pays(claim.category) else min(amount, self.left)
        self.left -= from_pool
        self.emptied = self.emptied or claim.category is Category.ROYAL_FLUSH or self.left == 0
        return Award(claim.box, claim.category, amount, from_pool, amount - from_pool)

    def _house_pays(self, category: Category) -> bool:
        if category.label in self.rules.funded_by_house:
            return True
        # Once paid out in full the rest of a division is no money for later awards.
        return self.emptied and category is not Category.ROYAL_FLUSH

    def _amount(self, category: Category) -> int:
        fixed = self.rules.fixed(category)
        if category is Category.ROYAL_FLUSH:
            if self._royal_share is None:
                self._royal_share = self._share_of_royals(fixed)
            return self._royal_share
        if category is Category.STRAIGHT_FLUSH:
            whole = self.of_round if self.rules.straight_flush_base == "round_start" else self.left
            return max(fixed, self._floor(whole // 10))
        return fixed

    def _share_of_royals(self, fixed: int) -> int:
        if self.royals == 1:
            return max(fixed, self.left)  # the whole pool, to the last minor unit
        if self.rules.royal_sharing == "each_max":
            return max(fixed, self._floor(self.left // self.royals))
        return self._floor(max(fixed, self.left) // self.royals)

    def _floor(self, amount: int) -> int:
        return amount - amount % self.rules.pay_unit


class Implausible(ValueError):
    """A contribution that cannot be right: zero, negative, or above the threshold."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """Where one stake's money goes, in minor units; ``house`` keeps the rest."""

    to_pool: int
    to_overflow: int
    to_reserve: int
    house: int


@dataclass(frozen=True, slots=True)
class Seed:
    """Where a new minimum comes from, and what the pool takes over from the overflow."""

    from_reserve: int
    from_house: int
    from_overflow: int


@dataclass(slots=True)
class Meter:
    """The pool and every unit that ever went through it, in minor units.

    ``wagered`` is the in-meter, ``pool`` the display meter, ``hits`` and ``awarded`` count wins and
    what they took from the pool (the names of N.J.A.C. 13:69E-1.39A). Always (CS-10)::

        minimums + contributed + corrected = pool + awarded + overflow + reserve

    ``minimums`` is what the house put in, ``contributed`` what the bets brought, reserve included.
    The remainders are less than one unit, exact and carried: nothing is rounded away, and a change
    of the rate leaves them as they are.
    """

    pool: int = 0
    minimums: int = 0
    contributed: int = 0
    awarded: int = 0
    overflow: int = 0
    reserve: int = 0
    corrected: int = 0
    wagered: int = 0
    hits: int = 0
    remainder: Fraction = Fraction(0)
    reserve_remainder: Fraction = Fraction(0)

    def contribute(self, stake: int, rules: JackpotRules) -> Contribution:
        """Book one stake. Raises Implausible, having changed nothing."""
        if stake <= 0:
            raise Implausible(f"a stake of {stake} contributes nothing")
        share, remainder = _share(stake, rules.contribution, self.remainder)
        aside, reserve_remainder = _share(stake, rules.reserve, self.reserve_remainder)
        threshold = rules.largest_contribution
        if threshold is not None and share + aside > threshold:
            raise Implausible(f"a contribution of {share + aside} is above the threshold of {threshold}")
        room = share if rules.limit is None else max(0, rules.limit - self.pool)
        to_pool = min(share, room)
        self.remainder, self.reserve_remainder = remainder, reserve_remainder
        self.wagered += stake
        self.pool += to_pool
        self.overflow += share - to_pool
        self.reserve += aside
        self.contributed += share + aside
        return Contribution(to_pool, share - to_pool, aside, stake - share - aside)

    def restart(self, rules: JackpotRules) -> Seed:
        """A new pool begins at the minimum (CS-10, art. 10(8)): from the reserve as far as it goes."""
        from_reserve = min(self.reserve, rules.minimum)
        from_house = rules.minimum - from_reserve
        self.reserve -= from_reserve
        self.minimums += from_house
        self.pool += rules.minimum
        room = self.overflow if rules.limit is None else max(0, rules.limit - self.pool)
        from_overflow = min(self.overflow, room) if rules.overflow == "next_pool" else 0
        self.overflow -= from_overflow
        self.pool += from_overflow
        return Seed(from_reserve, from_house, from_overflow)

    def award(self, from_pool: int) -> None:
        self.pool -= from_pool
        self.awarded += from_pool
        self.hits += 1

    def correct(self, amount: int) -> None:
        """A supervisor's typed correction, up or down."""
        self.pool += amount
        self.corrected += amount

    def holds(self) -> bool:
        """The pool equation, and nothing below zero."""
        put_in = self.minimums + self.contributed + self.corrected
        there = self.pool + self.awarded + self.overflow + self.reserve
        return put_in == there and min(self.pool, self.overflow, self.reserve) >= 0


@dataclass(slots=True)
class LinkedMeter(Meter):
    """The same counts at a table of a linked pool: what it brought, and what its awards took.

    ``pool`` is the difference, and falls below zero at a table that won more than it brought::

        contributed + corrected = pool + awarded + reserve
    """

    def contribute(self, stake: int, rules: JackpotRules) -> Contribution:
        """The limit of the pool is its authority's to keep."""
        return Meter.contribute(self, stake, replace(rules, limit=None))

    def holds(self) -> bool:
        return self.contributed + self.corrected == self.pool + self.awarded + self.reserve


def _share(stake: int, rate: Fraction, carried: Fraction) -> tuple[int, Fraction]:
    """Whole units of ``stake * rate`` with what was carried, and what is carried now."""
    return divmod(carried + stake * rate, 1)
