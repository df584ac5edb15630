"""What a table and the authority of its linked pool tell each other. No I/O.

Amounts are minor units. A *record* is one input of a table's journal that has something for the
authority, named by its number there, ``seq``; each of its lines counts from 0. ``prior`` is the
``seq`` of the record before it, 0 before a table's first: that is how a gap is seen.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import datetime
from fractions import Fraction
from typing import Final

from daemon.games.jackpot import Award, Claim, Decision, JackpotRules

CONTRIBUTION: Final = "contribution"
CORRECTION: Final = "correction"


class Refused(Exception):
    """The authority says no, and will say it again. ``code`` names why in a word, the text in a sentence."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Unreachable(Exception):
    """No answer: whether it was booked is not known. The same call again does it once."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line for the ledger.

    ``kind`` is ``contribution`` (``amount`` 0 or more is the pool's share, of which the authority puts
    what is above the limit aside; ``reserve`` is for the next minimum) or ``correction`` (``amount`` up
    or down, ``reason`` why).
    """

    seq: int
    line: int
    kind: str
    amount: int
    reserve: int = 0
    prior: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AwardClaim:
    """The hands of one settled round that take from the pool (CS-10), a record of its own."""

    seq: int
    round_id: int
    claims: tuple[Claim, ...]
    prior: int = 0


@dataclass(frozen=True, slots=True)
class Decided:
    """What the authority decided, for good: ``awards`` in the order of payment.

    ``pool`` is what the decision left, a new minimum included when it was ``emptied``; ``left`` is
    that without it. The same claim gets the same answer however often it is made.
    """

    seq: int
    awards: tuple[Award, ...]
    left: int
    emptied: bool
    pool: int
    version: int

    @property
    def decision(self) -> Decision:
        """The same as a table's own pool would have said it."""
        return Decision(self.awards, self.left, self.emptied)


@dataclass(frozen=True, slots=True)
class Balance:
    """The pool as committed. ``version`` grows with every line that is booked; ``at`` is the authority's UTC.

    From one reading to the next ``pool`` is lower only after an award or a correction.
    """

    pool: int
    version: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Won:
    """What signs may show of an award: its table, the number of its record there, and the largest amount."""

    table: str
    seq: int
    amount: int


@dataclass(frozen=True, slots=True)
class Joined:
    """What the authority knows of a table: its records up to ``last_seq`` are booked, 0 for none."""

    table: str
    pool: str
    currency: str
    fingerprint: str
    last_seq: int


@dataclass(frozen=True, slots=True)
class FloorRow:
    """One table as the floor sees it; counts and amounts since it was enrolled.

    ``seen``, and what its link told then, are None before the first report: ``outbox`` is how many records
    wait at the table, ``pending`` how many of its awards are not paid.
    """

    table: str
    pool: str
    last_seq: int
    contributions: int
    contributed: int
    awards: int
    awarded: int
    seen: datetime | None
    age: float | None  # seconds since the last report, by the authority's clock
    outbox: int | None
    pending: int | None


@dataclass(frozen=True, slots=True)
class Held:
    """What the pool and the two accounts beside it held at a moment."""

    pool: int
    overflow: int
    reserve: int


@dataclass(frozen=True, slots=True)
class Movement:
    """All lines of one kind of one table in a time, as what they brought each account; the sum is 0.

    ``kind`` is ``contribution``, ``correction``, ``award`` or ``minimum``; the table ``house`` has the
    pool's first minimum.
    """

    table: str
    kind: str
    lines: int
    stakes: int
    house: int
    pool: int
    overflow: int
    reserve: int
    players: int


@dataclass(frozen=True, slots=True)
class Day:
    """What moved from ``since`` to before ``until``, and what was held at both."""

    since: datetime
    until: datetime
    opening: Held
    closing: Held
    movements: tuple[Movement, ...]

    def problems(self) -> list[str]:
        """What does not agree to the unit; empty when the sum of the tables is the movement of the pool."""
        found = []
        for account in ("pool", "overflow", "reserve"):
            before, after = getattr(self.opening, account), getattr(self.closing, account)
            moved = sum(getattr(each, account) for each in self.movements)
            if before + moved != after:
                found.append(f"{account}: {before} at the opening and {moved} moved are not {after}")
        for each in self.movements:
            sides = each.stakes + each.house + each.pool + each.overflow + each.reserve + each.players
            if sides:
                found.append(f"table {each.table}: {each.kind}: the sides differ by {sides}")
        return found


def canonical(rules: JackpotRules) -> str:
    """What all tables of a pool have in common, as canonical JSON, rates as exact fractions."""
    return json.dumps(asdict(rules), sort_keys=True, separators=(",", ":"), default=_exact)


def fingerprint(rules: JackpotRules) -> str:
    """SHA-256 of :func:`canonical`: what a table brings when it joins a pool.

    Antes, caps, texts and the sign's width are each table's own and have no part in it.
    """
    return hashlib.sha256(canonical(rules).encode()).hexdigest()


def _exact(value: object) -> str:
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    raise TypeError(f"no plain form for {type(value).__name__}")
