"""How long commits take: a histogram around the journal that the engine writes."""

from __future__ import annotations

import time
from bisect import bisect_left
from typing import Final

from daemon.journal import Entry, Journal
from daemon.records import Plain

# Seconds; a commit is one fdatasync, from a fast disk's to a card's.
BOUNDS: Final = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024)


class Latency:
    """Counts of durations up to each of BOUNDS, and beyond the last; their sum in seconds."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds


class TimedJournal:
    """A journal whose transactions are timed, from ``begin`` to the end of ``commit``."""

    def __init__(self, journal: Journal, latency: Latency) -> None:
        self._journal = journal
        self._latency = latency
        self._began = 0

    @property
    def next_seq(self) -> int:
        return self._journal.next_seq

    def begin(self) -> bool:
        self._began = time.perf_counter_ns()
        return self._journal.begin()

    def append(self, entry: Entry) -> None:
        self._journal.append(entry)

    def commit(self) -> None:
        self._journal.commit()
        self._latency.observe((time.perf_counter_ns() - self._began) / 1e9)

    def rollback(self) -> None:
        self._journal.rollback()

    def answered(self, key: str) -> Plain | None:
        return self._journal.answered(key)

    def close(self) -> None:
        self._journal.close()
