"""`make perf`: measures, prints one table, and writes it to a JSON file a later run can compare with."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.perf import (
    commits,
    decode,
    five_card,
    history,
    idle,
    inputs,
    link_lag,
    linked,
    ranking,
    rounds,
    service,
    space,
    tty,
    wire,
)
from tests.perf.measure import Row

RESULTS = Path("perf.json")
MODULES = (
    inputs,
    commits,
    wire,
    tty,
    decode,
    ranking,
    rounds,
    five_card,
    history,
    service,
    linked,
    link_lag,
    idle,
    space,
)


def _known() -> dict[str, float]:
    if not RESULTS.exists():
        return {}
    return {row["what"]: row["ratio"] for row in json.loads(RESULTS.read_text())}


def _print(rows: list[Row], before: dict[str, float]) -> None:
    table = Table(title="feltd: ratios within this run, medians")
    for head in ("what", "ours", "beside", "theirs", "ratio", "spread", "before"):
        table.add_column(head, justify="left" if head in ("what", "beside") else "right")
    for row in rows:
        was = before.get(row.what)
        ours, theirs = f"{row.ours:,.4g} {row.unit}", f"{row.theirs:,.4g} {row.unit}"
        past = f"{was:.2f}" if was else "-"
        table.add_row(row.what, ours, row.beside, theirs, f"{row.ratio:.2f}", row.spread, past)
    Console(width=150).print(table)


def main() -> None:
    before = _known()
    rows: list[Row] = []
    for module in MODULES:
        print(f"measuring: {module.__doc__}".splitlines()[0], file=sys.stderr, flush=True)
        rows += module.measure()
    _print(rows, before)
    RESULTS.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


main()
