"""From a frame's bytes on the shoe's tty to the event in the journal: real PTY, link, driver, engine."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from tests.contract.station import Station
from tests.perf.measure import Row
from tests.perf.wire import _sync

TRIALS = 400


async def _accepted(station: Station, is_open: bool) -> int:
    """Nanoseconds until one movement of the cover is committed."""
    now = station.clock.monotonic()
    _, sends = station.shoe.control({"do": "cover", "open": is_open}, now)
    before = station.engine.committed
    start = time.perf_counter_ns()
    station.say(sends)
    while station.engine.committed == before:
        await asyncio.sleep(0)
    return time.perf_counter_ns() - start


async def _trials(folder: Path) -> tuple[list[float], list[float]]:
    """Milliseconds of each trial, and of a bare fdatasync beside each."""
    station = Station(folder)
    taken, syncs = [], []
    try:
        await station.live(1)
        for trial in range(TRIALS):
            taken.append(await _accepted(station, trial % 2 == 0) / 1e6)
            syncs.append(_sync(folder, 8192) / 1e6)
            await station.live(0.02)  # acknowledged, and quiet again
    finally:
        station.end()
    return taken, syncs


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory(dir=os.curdir) as name:
        taken, syncs = asyncio.run(_trials(Path(name)))
    taken.sort()
    sync = statistics.median(syncs)
    spread = f"{taken[0]:.2f}-{taken[-1]:.2f} ms"
    figures = {"median": statistics.median(taken), "99th percentile": taken[round(0.99 * len(taken)) - 1]}
    return [
        Row(
            f"tty byte to accepted event, {what}",
            value,
            "ms",
            "one bare fdatasync, median",
            sync,
            value / sync,
            spread,
            TRIALS,
        )
        for what, value in figures.items()
    ]
