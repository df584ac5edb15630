"""The house's day: its time zone, when a gaming day begins, and its shifts.

Stamps are UTC everywhere; here they become the time on the wall. A gaming day is named by the local
date on which it begins. It has 23 or 25 hours when the clocks are changed in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import accumulate, pairwise
from typing import Final, NamedTuple, Self, TypedDict
from zoneinfo import ZoneInfo

DAY: Final = timedelta(days=1)


class Span(NamedTuple):
    """From ``start`` up to ``end``, which is not in it; both UTC."""

    start: datetime
    end: datetime


class HousePlain(TypedDict):
    """The house in the API's answers: an IANA name, and local times as ``HH:MM``."""

    time_zone: str
    gaming_day: str
    shifts: dict[str, str]


@dataclass(frozen=True, slots=True)
class House:
    """``time_zone`` is an IANA name, ``gaming_day`` the local time at which one begins.

    ``shifts`` are names and local starts. Each lasts until the next one, the last until the day ends;
    the first begins with the day.
    """

    time_zone: str = "Asia/Macau"
    gaming_day: time = time(6)
    shifts: Mapping[str, time] = field(default_factory=dict)

    @classmethod
    def of(cls, plain: HousePlain) -> Self:
        """As :meth:`plain` told it. Raises KeyError, TypeError or ValueError for another form."""
        shifts = {name: time.fromisoformat(start) for name, start in plain["shifts"].items()}
        return cls(plain["time_zone"], time.fromisoformat(plain["gaming_day"]), shifts)

    def plain(self) -> HousePlain:
        shifts = {name: f"{start:%H:%M}" for name, start in self.in_order()}
        return {"time_zone": self.time_zone, "gaming_day": f"{self.gaming_day:%H:%M}", "shifts": shifts}

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    # --- days and shifts ------------------------------------------------------------------------

    def day(self, day: date) -> Span:
        """The gaming day that begins on this date."""
        return Span(self._moment(day, self.gaming_day), self._moment(day + DAY, self.gaming_day))

    def day_of(self, moment: datetime) -> date:
        """The gaming day that a moment is of."""
        there = moment.astimezone(self.zone).date()
        return there if self.day(there).start <= moment else there - DAY

    def shift(self, day: date, name: str) -> Span:
        """One shift of a gaming day. Raises ValueError for a name that there is not.

        Two starts within the hour that a change of the clocks leaves out are one moment.
        """
        whole, names = self.day(day), [name for name, _ in self.in_order()]
        if name not in names:
            raise ValueError(f"there is no shift {name!r}: the house has {', '.join(names) or 'none'}")
        starts = [min(self._start(day, at), whole.end) for _, at in self.in_order()]
        spans = list(pairwise([*accumulate(starts, max), whole.end]))
        return Span(*spans[names.index(name)])

    def in_order(self) -> list[tuple[str, time]]:
        """The shifts as they follow each other in a gaming day."""
        return sorted(self.shifts.items(), key=lambda shift: (shift[1] < self.gaming_day, shift[1]))

    def _start(self, day: date, at: time) -> datetime:
        return self._moment(day if at >= self.gaming_day else day + DAY, at)

    def _moment(self, day: date, at: time) -> datetime:
        """A local time that comes twice is the first of the two."""
        return datetime.combine(day, at, self.zone).astimezone(UTC)

    # --- stamps ---------------------------------------------------------------------------------

    def local(self, stamp: str) -> datetime:
        """A UTC stamp as local time. Raises ValueError for what is none."""
        return datetime.fromisoformat(stamp).astimezone(self.zone)

    def clock(self, stamp: str | None) -> str:
        """A UTC stamp for people: local time, and UTC beside it; "" for none.

        ``2026-12-01 01:04:12 (30 Nov 17:04:12Z)``; the day of UTC only where it is another one.
        """
        if not stamp:
            return ""
        there = self.local(stamp)
        utc = there.astimezone(UTC)
        other = "" if utc.date() == there.date() else f"{utc:%-d %b} "
        return f"{there:%Y-%m-%d %H:%M:%S} ({other}{utc:%H:%M:%S}Z)"
