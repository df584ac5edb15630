"""Time: monotonic nanoseconds for logic, UTC for stamps."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Protocol

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    def monotonic(self) -> int:
        """Nanoseconds that never go back."""

    def utc(self) -> str:
        """A stamp, RFC 3339 with microseconds. A label, never logic."""


def stamp(nanoseconds: int) -> str:
    """Nanoseconds since 1970 as RFC 3339 UTC with microseconds."""
    second, rest = divmod(nanoseconds // 1000, 1_000_000)
    return f"{_to_the_second(second)}.{rest:06d}Z"


@lru_cache(maxsize=8)  # a busy table stamps thousands of times a second, and strftime costs
def _to_the_second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")


class SystemClock:
    """The machine's clocks."""

    def monotonic(self) -> int:
        return time.monotonic_ns()

    def utc(self) -> str:
        return stamp(time.time_ns())


class FakeClock:
    """A clock that stands until it is moved; its stamps begin on 1 January 2026."""

    START: Final = 1_767_225_600_000_000_000

    def __init__(self) -> None:
        self.now = 0
        self._stamp_of = -1
        self._stamp = ""

    def monotonic(self) -> int:
        return self.now

    def utc(self) -> str:
        if self._stamp_of != self.now:  # many inputs share an instant, and stamps cost
            self._stamp_of, self._stamp = self.now, stamp(self.START + self.now)
        return self._stamp
