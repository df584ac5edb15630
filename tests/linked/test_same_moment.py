"""Two tables hit at the same moment: never the same money twice (CS-10)."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from daemon.games.hands import Category
from daemon.games.jackpot import JackpotRules
from daemon.linked.entries import Decided
from tests.linked.house import House, Table
from tests.linked.postgres import Server, needs_postgres, running
from tests.table.floor import JACKPOT

MINIMUM = JACKPOT.minimum
DEARER = replace(JACKPOT, royal_flush=MINIMUM + 10_000_000)
ROYAL = Category.ROYAL_FLUSH
PATIENCE = 60


class Hits:
    """Two threads that are let go together, once a round, each with a royal at its table."""

    def __init__(self, tables: tuple[Table, Table]) -> None:
        self.tables = tables
        self.apart: list[int] = []  # ns between the two calls
        self._gate = threading.Barrier(3)
        self._told: dict[str, tuple[int, Decided]] = {}
        self._ends = False
        self._threads = [threading.Thread(target=self._hit, args=(table,), daemon=True) for table in tables]

    @contextmanager
    def ready(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._ends = True
            self._gate.wait(PATIENCE)
            for thread in self._threads:
                thread.join(PATIENCE)

    def _hit(self, table: Table) -> None:
        while True:
            self._gate.wait(PATIENCE)
            if self._ends:
                return
            at = time.perf_counter_ns()
            self._told[table.name] = at, table.claim(box1=ROYAL)
            self._gate.wait(PATIENCE)

    def round(self) -> list[Decided]:
        """Both decisions, the earlier one first."""
        self._gate.wait(PATIENCE)
        self._gate.wait(PATIENCE)
        (one, first), (two, second) = self._told.values()
        self.apart.append(abs(one - two))
        return sorted((first, second), key=lambda decided: -decided.awards[0].from_pool)


def both_hit(house: House, rounds: int) -> list[int]:
    """One takes the pool, the other what it starts again with. Returns how far apart the calls were, ns."""
    rules = house.rules
    hits = Hits((house.table("1"), house.table("2")))
    with hits.ready():
        for n in range(rounds):
            for table in hits.tables:
                table.contribute(300 + n % 7)
            pool = house.balance
            first, second = hits.round()
            assert (first.awards[0].from_pool, first.pool) == (pool, MINIMUM)
            assert first.awards[0].amount == max(pool, rules.royal_flush)
            assert (second.awards[0].from_pool, second.pool) == (MINIMUM, MINIMUM)
            assert second.awards[0].from_house == max(0, rules.royal_flush - MINIMUM)
    assert house.problems() == []
    return hits.apart


@pytest.mark.parametrize("rules", [JACKPOT, DEARER], ids=["restart-value", "fixed-prize"])
def test_one_takes_the_pool_and_the_other_the_next_one(server: Server, rules: JackpotRules) -> None:
    with House(server, rules) as house:
        both_hit(house, 25)


@needs_postgres
@pytest.mark.slow
@pytest.mark.timeout(900)  # on a machine that does much else
@pytest.mark.parametrize("rules", [JACKPOT, DEARER], ids=["restart-value", "fixed-prize"])
def test_a_thousand_times(rules: JackpotRules, capsys: pytest.CaptureFixture[str]) -> None:
    """On a server that syncs: the pool is locked for as long as a commit takes."""
    with running() as server, House(server, rules) as house:
        apart = both_hit(house, 1_000)
    close = sum(each < 1_000_000 for each in apart)
    with capsys.disabled():
        print(f"\n1,000 times, {close} within 1 ms, median {statistics.median(apart) / 1e6:.3f} ms apart")
    assert close  # they did meet


def test_both_at_once_while_a_third_table_contributes(house: House) -> None:
    """Its money is in the pool that one takes, or in the next one, and in no other."""
    tables = (house.table("1"), house.table("2"))
    third, ends = house.table("3"), threading.Event()
    sent = 0

    def contribute() -> None:
        nonlocal sent
        while not ends.is_set():
            third.contribute(11, 13)
            sent += 24

    thread = threading.Thread(target=contribute, daemon=True)
    thread.start()
    hits, awarded = Hits(tables), 0
    try:
        with hits.ready():
            for _ in range(25):
                taken = [decided.awards[0].from_pool for decided in hits.round()]
                assert min(taken) >= MINIMUM
                awarded += sum(taken)
    finally:
        ends.set()
        thread.join(PATIENCE)
    assert house.balance + awarded == 51 * MINIMUM + sent
    assert house.problems() == []
