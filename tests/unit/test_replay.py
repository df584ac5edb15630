"""Recordings on a virtual clock: through a driver, and together at a table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.config import Settings, load
from daemon.recording import Event, Header, Piece, Recording, Told, read
from daemon.replay import (
    Replayed,
    ReplayError,
    driver_facts,
    driver_for,
    line,
    lines,
    paced,
    play,
    table_facts,
)
from drivers.base import SECOND, Command, Counters, Display, Drop, Emit, Output, Send, SignShows

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "tests" / "records"
SHOE = read(RECORDS / "shoe-fdp.rec")
SIGN = read(RECORDS / "sign-alpha.rec")


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load(ROOT / "config" / "demo.toml")


def dated(recording: Recording, date: str) -> Recording:
    return replace(recording, header=replace(recording.header, date=date))


def inputs(facts: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    return [(fact["t"], fact["input"]) for fact in facts if "record" in fact]


class Nagging:
    """A driver whose deadline stands still; it drops its own name for the time of each call."""

    def __init__(self, deadline: int | None = 0) -> None:
        self.counters = Counters()
        self.deadline = deadline
        self.ticks: list[int] = []

    def opened(self, now: int) -> list[Output]:
        return [Drop("opened")]

    def received(self, data: bytes, now: int) -> list[Output]:
        return [Emit(SignShows("$1.00", ""))]

    def command(self, command: Command, now: int) -> list[Output]:
        return [Drop("told")]

    resume = command

    def committed(self, now: int) -> list[Output]:
        return [Send(b"ack")]

    def tick(self, now: int) -> list[Output]:
        self.ticks.append(now)
        return []

    def closed(self, now: int) -> list[Output]:
        return [Drop("closed")]


def test_each_entry_reaches_the_driver_at_its_time() -> None:
    entries = (
        Told(0, Display("$1.00")),
        Event(1, "opened"),
        Piece(2, "out", b"host"),
        Event(3, "identified"),
        Piece(4, "in", b"device"),
        Event(5, "lost"),
        Event(6, "ended"),
    )
    said = list(play(Nagging(None), entries))
    assert [(t, type(each)) for t, each in said] == [(0, Drop), (1, Drop), (4, Emit), (4, Send), (5, Drop)]
    assert [each.reason for _, each in said if isinstance(each, Drop)] == ["told", "opened", "closed"]


def test_a_deadline_that_stands_still_does_not_stop_time() -> None:
    driver = Nagging(0)
    list(play(driver, (Event(0, "opened"), Event(SECOND, "ended"))))
    assert 1 < len(driver.ticks) <= 1_001
    assert driver.ticks == sorted(driver.ticks)


def test_time_never_goes_back_for_a_late_deadline() -> None:
    driver = Nagging(1)
    list(play(driver, (Event(5, "opened"), Piece(10, "in", b""), Event(20, "ended"))))
    assert driver.ticks == sorted(driver.ticks)
    assert all(at >= 5 for at in driver.ticks[1:])


def test_pace_is_kept_when_it_is_asked_for() -> None:
    facts: Callable[[], Any] = lambda: iter([{"t": 0, "drop": "a"}, {"t": 3 * SECOND, "drop": "b"}])  # noqa: E731
    view = Replayed((Path("a.rec"),), Header(), facts())
    began = time.monotonic()
    assert len(list(paced(view, 10).facts)) == 2
    assert time.monotonic() - began >= 0.3
    assert paced(view, None) is view


def test_a_line_of_text() -> None:
    said = {"t": 1_000_000_001, "emit": "CardDrawn", "face": "face-down card", "ordinal": 3}
    assert line(said) == '     1.000000001 emit   CardDrawn face="face-down card" ordinal=3'
    assert next(lines(Replayed((Path("x/a.rec"),), SHOE.header, iter([])))) == "a.rec: shoe fdp"


def test_options_and_protocol_of_the_header_count() -> None:
    header = Header("sign", "alpha", "x", options={"address": "0A"})
    driver = driver_for(header)
    (first, *_) = driver.opened(0)
    assert first == Send(b"\0" * 5 + b"\x01Z0A\x02")
    with pytest.raises(ReplayError, match="no option address=1"):
        driver_for(replace(header, options={"address": 1}))
    with pytest.raises(ReplayError, match="no link whist"):
        driver_for(replace(header, link="whist://x"))
    assert type(driver_for(header, "shoe", "fdp")) is not type(driver)


# --- a table -----------------------------------------------------------------------------


def test_recordings_are_aligned_by_their_dates(settings: Settings) -> None:
    shoe = dated(SHOE, "2026-01-01T00:00:30.000001Z")
    sign = dated(SIGN, "2026-01-01T00:00:00.000000Z")
    facts: list[dict[str, Any]] = list(table_facts([shoe, sign], settings))
    times = [fact["t"] for fact in facts]
    assert times == sorted(times)
    ready = {
        said["device"]: t for t, said in reversed(inputs(facts)) if said["kind"] == "link" and said["ready"]
    }
    assert ready["sign"] < 10 * SECOND
    assert 30 * SECOND < ready["shoe"] < 35 * SECOND


def test_a_table_alone_keeps_every_face_down(settings: Settings) -> None:
    facts: list[dict[str, Any]] = list(table_facts([SHOE], settings))
    cards = [said for _, said in inputs(facts) if said.get("event") == "card-drawn"]
    assert len(cards) == sum("face" in fact for fact in driver_facts(driver_for(SHOE.header), SHOE))
    assert {said["face"] for said in cards} == {"face-down card", None}


def test_a_loss_and_a_return_are_the_table_s_too(settings: Settings) -> None:
    first = [entry for entry in SHOE.entries if entry.t < SECOND // 5]
    late = [replace(entry, t=entry.t + 20 * SECOND) for entry in first if isinstance(entry, Event | Piece)]
    lost = Event(10 * SECOND, "lost", "lost", "hung up")
    facts: list[dict[str, Any]] = list(table_facts([Recording(SHOE.header, (*first, lost, *late))], settings))
    shoe = [
        (said["ready"], said["cause"])
        for _, said in inputs(facts)
        if said.get("device") == "shoe" and said["kind"] == "link"
    ]
    # Not there before it begins; silent for 3 s before it was lost.
    assert shoe[:4] == [(False, "absent"), (True, ""), (False, "silent"), (False, "lost")]
    assert shoe[-1] == (True, "")


def test_what_cannot_be_seated_says_why(settings: Settings) -> None:
    for header, why in (
        (replace(SHOE.header, role=""), "does not say of which role"),
        (replace(SHOE.header, role="croupier"), "no croupier"),
        (replace(SHOE.header, protocol="bee_tek"), "shoe speaks fdp, the recording bee_tek"),
    ):
        with pytest.raises(ReplayError, match=why):
            list(table_facts([replace(SHOE, header=header)], settings))
    with pytest.raises(ReplayError, match="one has none"):
        list(table_facts([SHOE, dated(SIGN, "")], settings))
    with pytest.raises(ReplayError, match="two recordings of one device"):
        list(table_facts([SHOE, SHOE], settings))
