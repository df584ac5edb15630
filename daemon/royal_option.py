"""When the royal-flush odds may be used: permission and dates (CS-13)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final

import holidays

NOTICE: Final = 3  # working days from the application to the effective date
MACAU: Final = timedelta(hours=8)  # no summer time
HALF_DAY: Final = "(Afternoon)"


def today() -> date:
    """The date in Macau."""
    return (datetime.now(UTC) + MACAU).date()


def is_working_day(day: date) -> bool:
    """Monday to Friday, no holiday or compensatory day of the public administration.

    A day with the afternoon off is a working day.
    """
    calendar = holidays.country_holidays("MO", years=day.year, categories=("government",), language="en_US")
    names = [name for name in calendar.get_list(day) if HALF_DAY not in name]
    return day.weekday() < 5 and not names


def earliest(applied: date) -> date:
    """The first effective date: the third working day after the day of filing, itself not counted."""
    day, left = applied, NOTICE
    while left:
        day += timedelta(days=1)
        left -= is_working_day(day)
    return day


def objections(applied: date, permitted: date, effective: date, now: date) -> Iterator[tuple[str, str]]:
    """What is wrong with these dates, as (key, sentence)."""
    first = earliest(applied)
    if effective < first:
        yield (
            "effective",
            f"{effective} is too early: applied for on {applied}, earliest {first}, the third working day"
            " after it (CS-13)",
        )
    if permitted < applied:
        yield "permitted", f"{permitted} is before the application of {applied} (CS-13)"
    if permitted > effective:
        yield (
            "permitted",
            f"the permission of {permitted} is later than the effective date {effective} (CS-13)",
        )
    if effective > now:
        yield "effective", f"{effective} is still to come: these odds are in force from then on (CS-13)"
