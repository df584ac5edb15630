"""How things are measured: two ways side by side in turn, and the medians compared."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: ours beside a peer or a limit."""

    what: str
    ours: float
    unit: str
    beside: str
    theirs: float
    ratio: float
    spread: str  # lowest and highest ratio of the pairs
    samples: int


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes, the garbage collector paused."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    finally:
        gc.enable()


def rates(
    what: str,
    beside: str,
    unit: str,
    ours: Callable[[], int],
    theirs: Callable[[], int],
    rounds: int,
) -> Row:
    """Compare two rates. Each callable does a batch and returns how many it did."""
    pairs = []
    for _ in range(rounds):
        pairs.append((_rate(ours), _rate(theirs)))
    ratios = sorted(mine / other for mine, other in pairs)
    return Row(
        what,
        statistics.median(mine for mine, _ in pairs),
        unit,
        beside,
        statistics.median(other for _, other in pairs),
        statistics.median(ratios),
        f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
        rounds,
    )


def _rate(batch: Callable[[], int]) -> float:
    done = 0

    def work() -> None:
        nonlocal done
        done = batch()

    took = seconds(work)
    return done / took
