"""The house's day: when it begins and ends, whatever the clocks do, and its times on every human surface."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from daemon import show
from daemon.config import ConfigError, load
from daemon.house import House

CONFIGS = Path(__file__).parents[2] / "config"
DEMO = (CONFIGS / "demo.toml").read_text()
SHIFTS = {"night": time(22), "morning": time(6), "evening": time(14)}
LISBON = House("Europe/Lisbon", time(6), SHIFTS)
MACAU = House()


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# --- days ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("house", "day", "start", "hours"),
    [
        (MACAU, date(2026, 11, 30), "2026-11-29T22:00", 24),
        (LISBON, date(2026, 6, 1), "2026-06-01T05:00", 24),
        (LISBON, date(2026, 3, 28), "2026-03-28T06:00", 23),  # the clocks go forward in its night
        (LISBON, date(2026, 10, 24), "2026-10-24T05:00", 25),  # and back
    ],
)
def test_a_gaming_day_is_as_long_as_the_clocks_make_it(
    house: House, day: date, start: str, hours: int
) -> None:
    span = house.day(day)
    assert span.start == utc(start)
    assert span.end - span.start == timedelta(hours=hours)
    assert span.end == house.day(day + timedelta(days=1)).start


@pytest.mark.parametrize("day", [date(2026, 6, 1), date(2026, 3, 28), date(2026, 10, 24)])
def test_shifts_follow_each_other_through_the_whole_day(day: date) -> None:
    spans = [LISBON.shift(day, name) for name in ("morning", "evening", "night")]
    assert (spans[0].start, spans[-1].end) == LISBON.day(day)
    assert all(one.end == other.start for one, other in pairwise(spans))
    night = LISBON.day(day).end - LISBON.day(day).start - timedelta(hours=16)
    assert [span.end - span.start for span in spans] == [timedelta(hours=8), timedelta(hours=8), night]


def test_a_shift_that_would_begin_in_the_hour_that_is_left_out_takes_nothing_from_another_day() -> None:
    house = House("Europe/Lisbon", time(2), {"long": time(2), "short": time(1, 30)})
    day = date(2026, 3, 28)  # 01:00 to 02:00 of the next morning is left out
    assert house.shift(day, "long") == house.day(day)
    short = house.shift(day, "short")
    assert short.start == short.end == house.day(day).end == house.day(date(2026, 3, 29)).start


def test_a_shift_that_there_is_not_is_named_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="no shift 'noon': the house has morning, evening, night"):
        LISBON.shift(date(2026, 6, 1), "noon")
    with pytest.raises(ValueError, match="the house has none"):
        MACAU.shift(date(2026, 6, 1), "noon")


@pytest.mark.parametrize(
    ("house", "moment", "day"),
    [
        (MACAU, "2026-11-29T21:59:59", date(2026, 11, 29)),
        (MACAU, "2026-11-29T22:00:00", date(2026, 11, 30)),
        (MACAU, "2026-11-30T17:30:00", date(2026, 11, 30)),  # half past one at night
        (LISBON, "2026-10-25T05:59:59", date(2026, 10, 24)),
        (LISBON, "2026-10-25T06:00:00", date(2026, 10, 25)),
        (LISBON, "2026-03-29T05:00:00", date(2026, 3, 29)),
    ],
)
def test_a_moment_is_of_the_day_that_began_last(house: House, moment: str, day: date) -> None:
    assert house.day_of(utc(moment)) == day
    assert house.day(day).start <= utc(moment) < house.day(day).end


# --- times for people ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("house", "stamp", "told"),
    [
        (MACAU, "2026-11-30T13:04:12.345678Z", "2026-11-30 21:04:12 (13:04:12Z)"),
        (MACAU, "2026-11-30T17:04:12.000000Z", "2026-12-01 01:04:12 (30 Nov 17:04:12Z)"),
        # The same hour on the wall twice: UTC tells which.
        (LISBON, "2026-10-25T00:30:00Z", "2026-10-25 01:30:00 (00:30:00Z)"),
        (LISBON, "2026-10-25T01:30:00Z", "2026-10-25 01:30:00 (01:30:00Z)"),
        (MACAU, "", ""),
        (MACAU, None, ""),
    ],
)
def test_local_time_stands_first_and_utc_beside_it(house: House, stamp: str | None, told: str) -> None:
    assert house.clock(stamp) == told


def test_what_the_api_tells_of_a_house_makes_it_again() -> None:
    plain = LISBON.plain()
    assert plain == {
        "time_zone": "Europe/Lisbon",
        "gaming_day": "06:00",
        "shifts": {"morning": "06:00", "evening": "14:00", "night": "22:00"},
    }
    assert list(plain["shifts"]) == ["morning", "evening", "night"]
    assert House.of(plain) == LISBON


def printed(print_it: Callable[[Any], None], view: dict[str, Any]) -> str:
    with show.console.capture() as captured:
        print_it(view)
    return captured.get()


AT = "2026-11-30T17:04:12.000000Z"
LOCAL = "2026-12-01 01:04:12 (30 Nov 17:04:12Z)"
ROUND: dict[str, Any] = {
    "id": 7,
    "mode": "shoe",
    "outcome": "settled",
    "opened_at": AT,
    "closed_at": "2026-11-30T17:05:00.000000Z",
    "boxes": [],
    "dealer": {"cards": None, "category": None},
    "irregularities": [{"clause": "CS-11b", "detail": "a card", "at": AT}],
    "pool": {"closed": 1},
}
FAULT = {"code": "clock", "text": "it jumped", "since": AT, "cleared_by": "somebody"}


@pytest.mark.parametrize(
    ("print_it", "view", "times"),
    [
        (show.rounds, {"rounds": [ROUND]}, 1),
        (show.round_, ROUND, 2),
        (
            show.incidents,
            {"irregularities": [{"round": 7, **ROUND["irregularities"][0]}], "faults": [FAULT]},
            2,
        ),
    ],
)
def test_every_surface_tells_local_time_beside_utc(
    print_it: Callable[[Any], None], view: dict[str, Any], times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    told = printed(print_it, {**view, "house": MACAU.plain()})
    assert told.count(LOCAL) == times
    assert AT not in told
    assert printed(print_it, view).count(AT) == times  # an older daemon names no house


def test_the_jackpot_says_when_it_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    sign = {"wanted": {"meter": "$1.00"}, "proven": True}
    told = printed(show.jackpot, {"sign": sign, "pool": None, "house": MACAU.plain()})
    today = MACAU.day_of(datetime.now(UTC))
    assert "Z) Asia/Macau, gaming day" in told
    assert any(str(day) in told for day in (today, today - timedelta(days=1)))


# --- in the configuration --------------------------------------------------------------------------


def configured(folder: Path, section: str) -> Path:
    path = folder / "t.toml"
    path.write_text(f"{DEMO.partition('[house]')[0]}\n{section}\n")
    return path


@pytest.mark.parametrize("name", ["caribbean.toml", "five-card.toml", "demo.toml"])
def test_every_sample_names_its_house(name: str) -> None:
    assert "[house]" in (CONFIGS / name).read_text()
    assert load(CONFIGS / name).house.time_zone == "Asia/Macau"
    assert load(CONFIGS / name).house.gaming_day == time(6)


def test_without_a_section_the_house_is_macau_s(tmp_path: Path) -> None:
    assert load(configured(tmp_path, "")).house == MACAU == House("Asia/Macau", time(6), {})


def test_a_house_is_read_as_it_is_written(tmp_path: Path) -> None:
    section = """[house]
time_zone = "Europe/Lisbon"
gaming_day = "06:00"
[house.shifts]
night = "22:00"
morning = "06:00"
evening = "14:00"
"""
    assert load(configured(tmp_path, section)).house == LISBON


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        (
            'time_zone = "Asia/Macaw"',
            'house.time_zone: must be an IANA time zone, such as "Asia/Macau" (did you mean Asia/Macau?), '
            "not 'Asia/Macaw'",
        ),
        ('time_zone = "../../etc/passwd"', "house.time_zone: must be an IANA time zone"),
        ('time_zone = ""', "house.time_zone: must be an IANA time zone"),
        ('time_zone = "Asia"', "house.time_zone: must be an IANA time zone"),
        ("time_zone = 8", "house.time_zone: must be an IANA time zone"),
        (
            'gaming_day = "6:00"',
            "house.gaming_day: must be a local time in quotes, such as \"06:00\", not '6:00'",
        ),
        ('gaming_day = "24:00"', "house.gaming_day: must be a local time in quotes"),
        ("gaming_day = 06:00:00", "house.gaming_day: must be a local time in quotes"),
        ('gaming = "06:00"', "house.gaming: unknown key (did you mean gaming_day?)"),
        ('shifts = { a = "06:00", b = "06:00" }', "house.shifts.b: begins with a, at 06:00"),
        ('shifts = { a = "07:00" }', "house.shifts: none begins with the gaming day, at 06:00"),
        ('shifts = { "a b" = "06:00" }', "house.shifts.a b: has a character that is not allowed"),
        ('shifts = { a = "noon" }', "house.shifts.a: must be a local time in quotes"),
    ],
)
def test_a_mistake_is_named_by_its_key(section: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(configured(tmp_path, f"[house]\n{section}\n"))
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith(f"{tmp_path}/t.toml: {problem}")
