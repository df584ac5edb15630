"""Disk for one settled round of seven boxes, beside the JSON of its inputs."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from daemon.records import decode, encode
from daemon.simulate import SimulateOptions, run
from tests.perf.measure import Row

ROUNDS = 200
SEEDS = (1, 2, 3)


def _bytes(seed: int) -> tuple[float, float]:
    """Of one round: in the file, and of the inputs."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        path = Path(name) / "journal.db"
        run(SimulateOptions(rounds=ROUNDS, boxes=7, seed=seed, journal=path))
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            records = connection.execute("SELECT record FROM records")
            inputs = sum(len(encode(decode(record)["input"])) for (record,) in records)
        return path.stat().st_size / ROUNDS, inputs / ROUNDS


def measure() -> list[Row]:
    pairs = sorted((_bytes(seed) for seed in SEEDS), key=lambda pair: pair[0] / pair[1])
    ours, theirs = pairs[len(pairs) // 2]
    ratios = [mine / other for mine, other in pairs]
    spread = f"{ratios[0]:.2f}-{ratios[-1]:.2f}"
    name = "disk for a settled round of seven boxes"
    return [Row(name, ours, "B", "its inputs as JSON", theirs, ours / theirs, spread, len(pairs))]
