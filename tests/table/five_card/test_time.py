"""Two minutes at the engine: a fake clock, a real journal, and a restart (FC-16)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon import journal as journals
from daemon import records
from daemon.audit import verify
from daemon.clock import FakeClock
from daemon.engine import Engine, Port, recover
from daemon.games.desk import Act
from daemon.games.five_card import FiveCard
from daemon.links.base import Cause
from daemon.rig import Rig
from daemon.sealer import Sealer
from daemon.supervisor import LinkLife
from daemon.table import Started, Table
from drivers.base import SECOND, CardDrawn, Command, Counters, Emit, Identified, Output
from drivers.cards import FaceDownCard, parse_card
from tests.table.five_card.floor import RULES, SOURCES

TWO_MINUTES = 120 * SECOND


class Script:
    """A shoe whose bytes are its cards: ``AS`` is that card, numbered one after the other."""

    deadline = None

    def __init__(self) -> None:
        self.counters = Counters()
        self.ordinal = 0

    def opened(self, now: int) -> list[Output]:
        return [Emit(Identified("shoe", "S1", boot=7))]

    def received(self, data: bytes, now: int) -> list[Output]:
        told: list[Output] = []
        for word in data.decode().split():
            self.ordinal += 1
            told.append(Emit(CardDrawn(FaceDownCard(parse_card(word))), 7, self.ordinal))
        return told

    def command(self, command: Command, now: int) -> list[Output]:
        return []

    resume = command

    def committed(self, now: int) -> list[Output]:
        return []

    def tick(self, now: int) -> list[Output]:
        return []

    def closed(self, now: int) -> list[Output]:
        return []


def new_table() -> Table:
    return Table("T", FiveCard(RULES), Rig({}, "shoe", sources=SOURCES, needs_sign=False))


class Bench:
    """A table at its engine, on a journal file; the deck is dealt by hand while the shoe is lost."""

    def __init__(self, path: Path, mode: str) -> None:
        self.path = path
        self.there = True
        if not path.exists():
            journals.create(path, journals.header_bytes("T", "five-card", "2026-01-01T00:00:00.000000Z", ()))
        self.journal = journals.open_journal(path, Sealer(b"k" * 32))
        self.table, self.recovery = recover(new_table, self.journal)
        self.clock = FakeClock()
        port = Port("shoe", Script(), LinkLife("shoe", "shoe", None), "script", "memory")
        self.engine = Engine(self.table, self.journal, {"shoe": port}, self.clock, self, self.log)
        self.engine.start(Started("test", (), mode, "", {"shoe": "shoe"}, RULES.text()))
        self.engine.tick()

    def log(self, event: str, **facts: object) -> None:
        pass

    def open(self, device: str) -> None:
        if self.there:
            self.engine.link_opened(device)
        else:
            self.engine.link_failed(device, Cause.ABSENT, "pulled")

    def send(self, device: str, data: bytes, wake: int = 0) -> None:
        pass

    def close(self, device: str) -> None:
        pass

    def do(self, name: str, **args: str | int) -> None:
        answer = self.engine.act(Act(name, args, role="dealer"))
        assert answer is not None
        assert answer["accepted"], answer["refusal"]

    def wait(self, nanoseconds: int) -> None:
        self.clock.now += nanoseconds
        self.engine.tick()

    def opening(self) -> None:
        """Two hands are dealt; seat 1 has to speak."""
        self.do("open-table")
        for seat in (1, 2, 3):
            self.do("buy-in", seat=seat, amount=500_000)
        self.do("shuffle")
        for seat in (1, 2, 3):
            self.do("ante", seat=seat)
        self.do("burn")
        for seat, card in ((1, "AS"), (2, "KS"), (3, "QS")):
            self.do("card", seat=seat, card=card)
        for seat in (1, 2, 3):
            self.do("card", seat=seat)
        assert self.turn == 1

    @property
    def turn(self) -> int | None:
        view = self.table.game.view()
        return view["turn"]  # type: ignore[return-value]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
def bench(path: Path) -> Iterator[Bench]:
    bench = Bench(path, "hand")
    bench.opening()
    yield bench
    bench.journal.close()


def test_fc16_an_act_at_exactly_two_minutes_is_in_time(bench: Bench) -> None:
    bench.wait(TWO_MINUTES)
    assert bench.turn == 1
    bench.do("bet", seat=1, amount=10_000)


def test_fc16_a_nanosecond_later_the_hand_is_folded_and_journalled(bench: Bench) -> None:
    began = bench.table.timer
    assert began is not None
    assert bench.engine.deadline == TWO_MINUTES + 1
    bench.wait(TWO_MINUTES + 1)
    assert bench.turn == 2
    records = [record for _, record, _ in bench.journal.replay()]
    assert records[-1]["input"] == {"kind": "time-up", "id": began.id}
    assert records[-1]["effects"][0]["clause"] == "FC-16"


def test_fc16_an_act_that_comes_late_is_late_though_no_tick_came_between(bench: Bench) -> None:
    bench.clock.now += TWO_MINUTES + 1
    answer = bench.engine.act(Act("bet", {"seat": 1, "amount": 10_000}))
    assert answer is not None
    assert answer["refusal"]["clause"] == "FC-17"
    assert bench.turn == 2


def test_fc16_each_turn_has_its_own_two_minutes(bench: Bench) -> None:
    bench.wait(TWO_MINUTES - SECOND)
    bench.do("bet", seat=1, amount=10_000)
    bench.wait(TWO_MINUTES - SECOND)
    assert bench.turn == 2
    bench.wait(SECOND + 1)
    assert bench.turn == 3


def test_fc16_an_act_out_of_turn_gives_no_more_time(bench: Bench) -> None:
    bench.wait(TWO_MINUTES - SECOND)
    answer = bench.engine.act(Act("bet", {"seat": 2, "amount": 10_000}))
    assert answer is not None
    assert not answer["accepted"]
    bench.wait(SECOND + 1)
    assert bench.turn == 2


def test_fc16_after_a_restart_the_time_starts_anew(bench: Bench, path: Path) -> None:
    bench.wait(TWO_MINUTES - SECOND)
    bench.journal.close()
    again = Bench(path, "hand")
    assert again.turn == 1
    again.wait(TWO_MINUTES)
    assert again.turn == 1
    again.wait(1)
    assert again.turn == 2
    again.journal.close()


def test_fc16_a_halt_stops_the_clock_and_its_end_starts_it_anew(path: Path) -> None:
    bench = Bench(path, "shoe")
    bench.do("open-table")
    for seat in (1, 2, 3):
        bench.do("buy-in", seat=seat, amount=500_000)
    bench.do("shuffle")
    for seat in (1, 2, 3):
        bench.do("ante", seat=seat)
    bench.engine.bytes_in("shoe", b"9S AS KS QS 5S 5H 5D")
    assert bench.turn == 1
    bench.wait(TWO_MINUTES - SECOND)
    bench.engine.link_lost("shoe", Cause.LOST, "pulled")
    assert bench.table.timer is None
    bench.there = False
    bench.wait(10 * TWO_MINUTES)
    assert bench.turn == 1
    bench.there = True
    bench.wait(10 * SECOND)
    assert bench.table.timer is not None
    bench.wait(TWO_MINUTES)
    assert bench.turn == 1
    bench.wait(1)
    assert bench.turn == 2
    bench.journal.close()


def test_fc16_nobody_loses_his_time_while_the_journal_is_held(bench: Bench, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    bench.wait(TWO_MINUTES + 1)
    assert bench.engine.act(Act("bet", {"seat": 1, "amount": 10_000})) is None
    other.execute("ROLLBACK")
    other.close()
    bench.wait(TWO_MINUTES)
    assert bench.turn == 1
    bench.do("bet", seat=1, amount=10_000)


def test_fc16_an_event_that_is_held_stops_the_clock_too(path: Path) -> None:
    bench = Bench(path, "hand")
    bench.opening()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    bench.wait(TWO_MINUTES)
    bench.engine.bytes_in("shoe", b"9S")  # of a shoe that is not in use
    bench.wait(TWO_MINUTES)
    other.execute("ROLLBACK")
    other.close()
    bench.wait(SECOND)
    bench.wait(TWO_MINUTES)
    assert bench.turn == 1
    bench.wait(1)
    assert bench.turn == 2
    bench.journal.close()


def test_fc14_a_keyed_hole_card_is_sealed_in_the_journal(bench: Bench, path: Path) -> None:
    bench.engine.act(Act("reveal", {"seat": 1, "card": "5D"}))
    raw = path.read_bytes() + path.with_name(path.name + "-wal").read_bytes()
    assert b"5D" not in raw
    *_, (_, record, faces) = bench.journal.replay()
    assert records.input_from(record["input"], faces) == Act("reveal", {"seat": 1, "card": "5D"})
    assert records.in_clear(record["input"], faces)["args"]["card"] == "5D"
    assert verify(path)["verified"]
