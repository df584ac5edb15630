"""The authority of a linked pool, as its tables' links and the floor call it (docs/linked.md).

One :class:`Authority` is one connection, for one thread. What is decided is decided by functions of
the database (``sql/``); here is what carries the question there and the answer back.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from itertools import groupby
from typing import Any, Final, Self

from psycopg import Connection, sql
from psycopg.rows import TupleRow, class_row

from daemon.games.jackpot import AWARDED, Award
from daemon.linked.entries import (
    CONTRIBUTION,
    CORRECTION,
    AwardClaim,
    Balance,
    Day,
    Decided,
    Entry,
    FloorRow,
    Held,
    Joined,
    Movement,
    Refused,
    Won,
)
from daemon.linked.wire import PATIENCE, Wire, answered

POLL: Final = 0.5  # s between looks for contributions of others; awards and corrections are announced
_MOVEMENTS: Final = """
    SELECT table_name AS "table", kind, lines, stakes, house, pool, overflow, reserve, players
    FROM linked.movements(%s, %s, %s)"""
_FLOOR: Final = """
    SELECT table_name AS "table", pool_name AS pool, last_seq, contributions, contributed, awards, awarded,
        seen, age, outbox, pending
    FROM linked.floor WHERE pool_name = %s AND retired_at IS NULL ORDER BY table_name"""
_Run = tuple[str, list[Entry]]
_CATEGORIES: Final = {each.label: each for each in AWARDED}


class Authority:
    """A connection to a pool's database.

    Every method raises Refused for a no that stays a no, and Unreachable when there is no answer: then
    this connection is of no more use, and the same call on another one does the thing once.
    """

    def __init__(self, wire: Wire, pool: str) -> None:
        self._wire = wire
        self._pool = pool
        self._listening = False
        self._told: Balance | None = None

    @classmethod
    def connect(cls, dsn: str, pool: str, patience: float = PATIENCE) -> Self:
        """Connect as libpq's ``dsn`` says, several hosts allowed. ``patience`` is what a call may take, s."""
        return cls(Wire.connect(dsn, patience), pool)

    def close(self) -> None:
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *why: object) -> None:
        self.close()

    # --- a table ------------------------------------------------------------------------------

    def join(self, table: str, currency: str, fingerprint: str) -> Joined:
        """Take part with this table's currency and rules (:func:`daemon.linked.entries.fingerprint`)."""
        pool, last_seq = self._one("SELECT * FROM linked.join_pool(%s, %s, %s)", table, currency, fingerprint)
        if pool != self._pool:
            raise Refused("another-pool", f"table {table} is of the pool {pool}, not of {self._pool}")
        return Joined(table, pool, currency, fingerprint, last_seq)

    def append(self, entries: Sequence[Entry]) -> Balance:
        """Book lines of whole records, in their order, all or none; what is booked already is left."""
        runs = [(kind, list(run)) for kind, run in groupby(entries, key=lambda entry: entry.kind)]
        for kind, _ in runs:
            if kind not in (CONTRIBUTION, CORRECTION):
                raise ValueError(f"{kind!r} is no kind of entry")
        with self._wire.call() as connection, _at_once(connection, runs):
            for kind, run in runs:
                (_correct if kind == CORRECTION else _contribute)(connection, run)
        return self.balance()

    def claim(self, claim: AwardClaim) -> Decided:
        """What the claims of one round take from the pool, decided once and for good (CS-10)."""
        seq, awards, left, emptied, pool, version = self._one(
            "SELECT seq, awards, pool_left, emptied, pool_after, version"
            " FROM linked.claim(%s, %s, %s, %s::int[], %s::text[])",
            claim.seq,
            claim.prior,
            claim.round_id,
            [each.box for each in claim.claims],
            [each.category.label for each in claim.claims],
        )
        return Decided(seq, tuple(_award(each) for each in awards), left, emptied, pool, version)

    def report(self, outbox: int, pending: int) -> None:
        """Tell the floor that this table's link is there, and what waits at the table."""
        self._one("SELECT linked.report(%s, %s)", outbox, pending)

    # --- the pool -----------------------------------------------------------------------------

    def balance(self) -> Balance:
        """The pool as committed."""
        pool, version, at = self._one("SELECT * FROM linked.balance(%s)", self._pool)
        if pool is None:
            raise Refused("no-pool", f"there is no pool {self._pool}")
        self._told = Balance(pool, version, at)
        return self._told

    def newest_award(self) -> Won | None:
        """The award that was decided last, whichever table's; None before the first."""
        table, seq, amount = self._one("SELECT * FROM linked.newest_award(%s)", self._pool)
        return Won(table, seq, amount) if table is not None else None

    def wait(self, seconds: float) -> Balance | None:
        """The next balance that is another than this connection told last; None when none came in time."""
        if not self._listening:
            with self._wire.call() as connection:
                connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(f"linked_{self._pool}")))
            self._listening = True
        until = time.monotonic() + seconds
        while True:
            known, found = self._told, self.balance()
            if known is None or found.version != known.version:
                return found
            left = until - time.monotonic()
            if left <= 0:
                return None
            self._listen(min(left, POLL))

    def _listen(self, seconds: float) -> None:
        with answered():
            for _ in self._wire.connection.notifies(timeout=seconds, stop_after=1):
                pass

    # --- the floor ----------------------------------------------------------------------------

    def overview(self) -> list[FloorRow]:
        """Every table of the pool that is enrolled, by name."""
        with self._wire.call() as connection, connection.cursor(row_factory=class_row(FloorRow)) as cursor:
            cursor.execute(_FLOOR, (self._pool,))
            return cursor.fetchall()

    def day(self, since: datetime, until: datetime) -> Day:
        """All movements in a time, the upper end excluded, and what was held before and after."""
        held = "SELECT * FROM linked.held(%s, %s)"
        with self._wire.call() as connection, connection.transaction():
            # One moment for all of it.
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            with connection.cursor(row_factory=class_row(Held)) as cursor:
                opening = cursor.execute(held, (self._pool, since)).fetchone()
                closing = cursor.execute(held, (self._pool, until)).fetchone()
            with connection.cursor(row_factory=class_row(Movement)) as cursor:
                movements = cursor.execute(_MOVEMENTS, (self._pool, since, until)).fetchall()
        assert opening is not None
        assert closing is not None
        return Day(since, until, opening, closing, tuple(movements))

    def differences(self) -> list[str]:
        """Where the fast sums are not what the ledger says; none if all is right. Reads all of the ledger."""
        with self._wire.call() as connection:
            rows = connection.execute("SELECT * FROM linked.differences(%s)", (self._pool,)).fetchall()
        return [
            f"table {table}: {account}: {fast} in the sums, {booked} by the ledger"
            for table, account, fast, booked in rows
        ]

    def _one(self, query: str, *values: object) -> TupleRow:
        with self._wire.call() as connection:
            row = connection.execute(query, values).fetchone()
        assert row is not None
        return row


def _at_once(connection: Connection[TupleRow], runs: Sequence[_Run]) -> AbstractContextManager[object]:
    """One transaction; what is one statement is one anyway."""
    alone = len(runs) == 1 and runs[0][0] == CONTRIBUTION
    return nullcontext() if alone else connection.transaction()


def _contribute(connection: Connection[TupleRow], run: Sequence[Entry]) -> None:
    rows = ((e.seq, e.line, e.prior, e.amount, e.reserve) for e in run)
    connection.execute(
        "SELECT linked.contribute(%s::bigint[], %s::int[], %s::bigint[], %s::bigint[], %s::bigint[])",
        [list(column) for column in zip(*rows, strict=True)],
    )


def _correct(connection: Connection[TupleRow], run: Sequence[Entry]) -> None:
    for entry in run:
        connection.execute(
            "SELECT linked.correct(%s, %s, %s, %s)", (entry.seq, entry.prior, entry.amount, entry.reason)
        )


def _award(plain: Mapping[str, Any]) -> Award:
    category = _CATEGORIES[plain["category"]]
    return Award(plain["box"], category, plain["amount"], plain["from_pool"], plain["from_house"])
