"""A linked pool as one of its tables knows it: what the authority told, and what it lacks yet (CS-10).

The authority owns the pool. A table puts what it owes the pool, and what it claims of it, into its
outbox, and hears of the pool by inputs of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from daemon.games.desk import Desk
from daemon.games.jackpot import Award

CONTRIBUTION: Final = "contribution"
RESERVE: Final = "reserve"
CORRECTION: Final = "correction"
CLAIM: Final = "claim-"  # and the category's label; its amount is the authority's to say
NOT_HEARD: Final = "the linked pool was not heard of since the daemon started"


@dataclass(frozen=True, slots=True)
class Terms:
    """How a table takes part in a linked pool.

    ``pool`` is its name. Without news of it for ``max_age`` seconds, or with ``max_amount`` minor
    units that the authority does not have yet, no progressive bet is taken and the sign shows ``lost_text``.
    """

    pool: str
    max_age: int
    max_amount: int
    lost_text: str


@dataclass(frozen=True, slots=True)
class PoolSeen:
    """The authority's pool, minor units. A later ``version`` is a later state, ``acked`` the last record
    of this table that the authority has. ``won`` is an award at another table, ``winner``, that was
    not told before, 0 for none."""

    pool: int
    version: int
    acked: int
    won: int = 0
    winner: str = ""


@dataclass(frozen=True, slots=True)
class PoolLost:
    """Nothing was heard of the pool for too long. The next :class:`PoolSeen` ends it."""

    reason: str


@dataclass(frozen=True, slots=True)
class AwardDecided:
    """What the authority decided about the claims of record ``seq``, and the pool after it."""

    seq: int
    awards: tuple[Award, ...]
    pool: int
    version: int


Told = PoolSeen | PoolLost | AwardDecided


@dataclass(slots=True)
class Linked:
    """What a table remembers of its linked pool. ``waiting`` are records that the authority is not
    known to have, each with the minor units it brings."""

    terms: Terms
    pool: int = 0
    version: int = 0
    acked: int = 0
    lost: str = NOT_HEARD
    won: int = 0
    winner: str = ""
    waiting: list[tuple[int, int]] = field(default_factory=list)
    amount: int = field(init=False)  # of all that wait, minor units

    def __post_init__(self) -> None:
        self.amount = sum(amount for _, amount in self.waiting)

    def stopped(self) -> str:
        """Why no progressive bet is taken now; "" when they are."""
        if self.lost:
            return self.lost
        if self.amount >= self.terms.max_amount:
            return f"{self.amount} wait for the linked pool, the limit is {self.terms.max_amount}"
        return ""

    def owe(self, seq: int, amount: int) -> None:
        """Record ``seq`` brings ``amount`` minor units."""
        self.amount += amount
        if self.waiting and self.waiting[-1][0] == seq:
            amount += self.waiting.pop()[1]
        self.waiting.append((seq, amount))

    def see(self, seen: PoolSeen) -> None:
        if seen.version >= self.version:
            self.pool, self.version = seen.pool, seen.version
        if seen.won:
            self.won, self.winner = seen.won, seen.winner
        self.acked = max(self.acked, seen.acked)
        self.waiting = [(seq, amount) for seq, amount in self.waiting if seq > self.acked]
        self.amount = sum(amount for _, amount in self.waiting)
        self.lost = ""

    def plain(self) -> dict[str, object]:
        """Everything, in plain JSON values."""
        terms = self.terms
        return {
            "terms": [terms.pool, terms.max_age, terms.max_amount, terms.lost_text],
            "seen": [self.pool, self.version, self.acked, self.won, self.winner],
            "lost": self.lost,
            "waiting": [list(each) for each in self.waiting],
        }

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Linked:
        """As :meth:`plain` told it. Raises KeyError, TypeError or ValueError for another form."""
        pool, version, acked, won, winner = plain["seen"]
        waiting = [(seq, amount) for seq, amount in plain["waiting"]]
        return cls(Terms(*plain["terms"]), pool, version, acked, plain["lost"], won, winner, waiting)


@runtime_checkable
class LinkedGame(Protocol):
    """A game whose pool may be a linked one."""

    linked: Linked | None

    def take_part(self, terms: Terms | None, desk: Desk) -> None:
        """The daemon started with these terms in its configuration, None: with a pool of its own."""
