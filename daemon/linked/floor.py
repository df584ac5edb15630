"""The floor's view of a linked pool: every table's link, and whether the day adds up to the unit."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import Any, Final

from daemon.house import House
from daemon.linked.authority import Authority
from daemon.linked.entries import Day, FloorRow

Plain = dict[str, Any]
STALE: Final = 10.0  # s without a word of a link; it says one every two
KINDS: Final = ("contribution", "award", "minimum", "correction")
ACCOUNTS: Final = ("stakes", "house", "pool", "overflow", "reserve", "players")
COLUMNS: Final = (
    "table", "link", "age", "outbox", "pending", "last_seq",
    "contributions", "contributed", "awards", "awarded",
)  # fmt: skip
AMOUNTS: Final = ("contributed", "awarded")  # of them, in minor units


def view(authority: Authority, pool: str, house: House, day: Plain | None = None) -> Plain:
    """All of it in plain values: amounts in minor units, stamps in RFC 3339 UTC.

    ``day`` is what :func:`books` told lately, by default the present gaming day now. Raises Refused,
    Unreachable.
    """
    balance = authority.balance()
    return {
        "pool": pool,
        "now": balance.pool,
        "version": balance.version,
        "at": _stamp(balance.at),
        "house": house.plain(),
        "tables": [_table(row) for row in authority.overview()],
        **(day or books(authority, house)),
    }


def books(authority: Authority, house: House, day: date | None = None) -> Plain:
    """A gaming day, by default the present one, and whether it adds up. Reads the whole ledger."""
    named = day or house.day_of(authority.balance().at)
    moved = authority.day(*house.day(named))
    problems = [*moved.problems(), *authority.differences()]
    return {
        "day": {"day": named.isoformat(), **_day(moved)},
        "reconciled": not problems,
        "differences": problems,
    }


def _table(row: FloorRow) -> Plain:
    told = asdict(row)
    told["link"] = "never" if row.age is None else "stale" if row.age > STALE else "linked"
    told["seen"] = _stamp(row.seen) if row.seen is not None else None
    return told


def _day(day: Day) -> Plain:
    by_table: dict[str, dict[str, Plain]] = {}
    for each in day.movements:
        sums = {account: getattr(each, account) for account in ACCOUNTS}
        by_table.setdefault(each.table, {})[each.kind] = {"lines": each.lines, **sums}
    return {
        "start": _stamp(day.since),
        "to": _stamp(day.until),
        "opening": asdict(day.opening),
        "closing": asdict(day.closing),
        "tables": by_table,
        "sum": {account: sum(getattr(m, account) for m in day.movements) for account in ACCOUNTS},
    }


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_csv(told: Plain) -> str:
    """The movements of the day for a spreadsheet: a line for every table and kind, and the sum."""
    out = io.StringIO()
    lines = csv.writer(out)
    lines.writerow(("pool", "day", "table", "kind", "lines", *ACCOUNTS))
    day = told["day"]
    for table, kinds in day["tables"].items():
        for kind, sums in kinds.items():
            row = (table, kind, sums["lines"], *(sums[account] for account in ACCOUNTS))
            lines.writerow((told["pool"], day["day"], *row))
    lines.writerow((told["pool"], day["day"], "", "sum", "", *(day["sum"][each] for each in ACCOUNTS)))
    return out.getvalue()


def cells(row: Mapping[str, Any]) -> Sequence[object]:
    """One table's line, in the order of COLUMNS; what was never told is empty."""
    age = "" if row["age"] is None else f"{row['age']:.0f} s"
    return [age if key == "age" else row[key] for key in COLUMNS]
