"""From one table's commit to another table's sign, beside the two seconds that it may take."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.linked.hall import rules_of
from tests.linked.house import House
from tests.linked.postgres import binaries, running
from tests.linked.tables import Place, hall, until
from tests.perf.measure import Row

BETS = 20
MAY_TAKE = 2.0  # s
APART = 1.2  # s between two bets: what comes within a second shares a record


def _lag(one: Place, other: Place) -> float:
    """One progressive bet: from the commit of the first card to the other table's sign."""
    one.open_round(1)
    before = one.house.balance
    one.shoe.do("draw", card="AS")
    until(lambda: one.status()["cards"]["out"] == 1, "the first card")
    took = until(lambda: other.amount == before + 710, "the other table's sign")
    one.act("misdeal", text="again")
    one.act("refund-carried", role="supervisor", second="pit", box=1)
    time.sleep(APART)
    return took


def measure() -> list[Row]:
    """One row; none where no PostgreSQL is."""
    if binaries() is None:
        print("perf: the linked pool is left out: no PostgreSQL server is installed here", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as name, running() as server:
        folder = Path(name)
        with House(server, rules_of(folder)) as house, hall(folder, house, "A", "B") as (one, other):
            lags = sorted(_lag(one, other) for _ in range(BETS))
    median = statistics.median(lags)
    spread = f"{lags[0] / MAY_TAKE:.2f}-{lags[-1] / MAY_TAKE:.2f}"
    what = "linked: a table's commit to another table's sign"
    return [Row(what, median, "s", "what it may take", MAY_TAKE, median / MAY_TAKE, spread, BETS)]
