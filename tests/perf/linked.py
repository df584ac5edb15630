"""Contributions to a linked pool beside a bare ``UPDATE … RETURNING`` from as many connections."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

import psycopg

from daemon.games.hands import Category
from tests.linked.house import House, Table
from tests.linked.postgres import Server, binaries, running
from tests.perf.measure import Row, rates

TABLES: Final = (1, 8, 50)
BATCH: Final = 100  # lines of one append where there are many
CALLS: Final = 400  # of all connections together, one measurement
ROUNDS: Final = 5
MANY: Final = 2_000
PATIENCE: Final = 300.0  # s
UPDATE: Final = "UPDATE bare SET pool = pool + 7 WHERE id = 1 RETURNING pool"


class Crew:
    """As many threads as there are connections, each with its own work; ``run`` lets all of them go once."""

    def __init__(self, work: Sequence[Callable[[], int]]) -> None:
        self._gate = threading.Barrier(len(work) + 1)
        self._done = [0] * len(work)
        self._ends = False
        self._threads = [
            threading.Thread(target=self._live, args=(n, each), daemon=True) for n, each in enumerate(work)
        ]
        for thread in self._threads:
            thread.start()

    def _live(self, number: int, work: Callable[[], int]) -> None:
        while True:
            self._gate.wait(PATIENCE)
            if self._ends:
                return
            self._done[number] = work()
            self._gate.wait(PATIENCE)

    def run(self) -> int:
        self._gate.wait(PATIENCE)
        self._gate.wait(PATIENCE)
        return sum(self._done)

    def stop(self) -> None:
        self._ends = True
        self._gate.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)


def _contribute(table: Table, calls: int, lines: int) -> int:
    for _ in range(calls):
        table.contribute(*[7] * lines)
    return calls * lines


def _update(connection: psycopg.Connection[tuple[object, ...]], calls: int) -> int:
    for _ in range(calls):
        connection.execute(UPDATE).fetchone()
    return calls


@contextmanager
def _crews(*works: Sequence[Callable[[], int]]) -> Iterator[list[Crew]]:
    crews = [Crew(work) for work in works]
    try:
        yield crews
    finally:
        for crew in crews:
            crew.stop()


def _rows(server: Server, house: House) -> Iterator[Row]:
    server.sql("CREATE TABLE bare (id int PRIMARY KEY, pool bigint); INSERT INTO bare VALUES (1, 0)")
    tables = [house.table(str(n)) for n in range(max(TABLES))]
    bare = [psycopg.connect(server.dsn(), autocommit=True) for _ in tables]
    for count in TABLES:
        calls = CALLS // count
        theirs = [partial(_update, each, calls) for each in bare[:count]]
        for lines in (1, BATCH):
            ours = [
                partial(_contribute, each, calls if lines == 1 else calls // 4, lines)
                for each in tables[:count]
            ]
            with _crews(ours, theirs) as (mine, other):
                mine.run()
                named = "1 table" if count == 1 else f"{count} tables"
                what = f"linked contributions, {named}, {lines} a transaction"
                yield rates(
                    what,
                    f"UPDATE … RETURNING of one row, {count} at once",
                    "/s",
                    mine.run,
                    other.run,
                    ROUNDS,
                )
    yield from _readings(house, tables[0], bare[0])
    for connection in bare:
        connection.close()


def _readings(house: House, table: Table, bare: psycopg.Connection[tuple[object, ...]]) -> Iterator[Row]:
    """What a look at the pool costs, of some tables and of many; and an award."""

    def look() -> int:
        for _ in range(CALLS):
            table.authority.balance()
        return CALLS

    def nothing() -> int:
        for _ in range(CALLS):
            bare.execute("SELECT 1").fetchone()
        return CALLS

    def award() -> int:
        for _ in range(CALLS // 4):
            table.claim(box1=Category.FLUSH)
        return CALLS // 4

    yield rates(
        "linked awards, one table",
        "UPDATE … RETURNING, 1 connection",
        "/s",
        award,
        partial(_update, bare, CALLS // 4),
        ROUNDS,
    )
    yield rates(f"looks at a linked pool of {max(TABLES)} tables", "SELECT 1", "/s", look, nothing, ROUNDS)
    house.admin.connection.execute(
        "INSERT INTO linked.tables (pool_id, name, role_name)"
        " SELECT pool_id, 'more-' || n, 'more-' || n FROM linked.pools, generate_series(1, %s) AS n"
        " WHERE name = %s",
        (MANY - max(TABLES), house.pool),
    )
    house.admin.connection.execute("ANALYZE linked.tables")
    yield rates(f"looks at a linked pool of {MANY:,} tables", "SELECT 1", "/s", look, nothing, ROUNDS)


def measure() -> list[Row]:
    if binaries() is None:
        print(
            "no PostgreSQL server is installed here: nothing is measured of the linked pool", file=sys.stderr
        )
        return []
    with running() as server, House(server) as house:
        return list(_rows(server, house))
