"""The path of an input, with a toy game: the table knows no game, and nothing leaves too early."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from daemon import journal as journals
from daemon import records
from daemon.clock import FakeClock
from daemon.engine import SNAPSHOT_EVERY, Engine, FailStop, Port, Recovery, RecoveryError, recover
from daemon.games.desk import Act, Desk, DeviceNews, GameInput, Refused
from daemon.games.machine import Row, build
from daemon.links.base import Cause
from daemon.rig import Device, Rig
from daemon.sealer import Sealer, SealError
from daemon.supervisor import LinkLife
from daemon.table import InvariantBroken, Started, Table
from drivers.base import (
    CardDrawn,
    Command,
    Counters,
    Display,
    Emit,
    Identified,
    LockShoe,
    Output,
    Send,
)
from drivers.cards import FaceDownCard, parse_card


class Side(Enum):
    HEADS = "heads"
    TAILS = "tails"


class Coin:
    """A game of two states: `flip`, and a card that turns it too. Each flip costs 1."""

    name = "coin"
    rules_id = "toy"
    shuffle_clause = "TOY-3"
    state: Side
    round_id = None
    cards_out = False
    out_of_service = False

    def __init__(self) -> None:
        rows = [
            Row("flip", (Side.HEADS,), Side.TAILS, check=("may_flip",), do=("pay",)),
            Row("flip", (Side.TAILS,), Side.HEADS, do=("pay",)),
        ]
        self.events = build(self, Side, Side.HEADS, rows).events
        self.flips = 0

    @property
    def phase(self) -> str:
        return self.state.value

    def adopt(self, rules: str, desk: Desk) -> None:
        pass

    def handle(self, item: GameInput, desk: Desk) -> None:
        if isinstance(item, DeviceNews) or item.name == "flip":
            self.events["flip"].trigger(self, item, desk)
        else:
            raise Refused("a coin only flips", "TOY-1", "flip it")

    def may_flip(self, item: GameInput, desk: Desk) -> None:
        if isinstance(item, Act) and item.args.get("how") == "badly":
            raise Refused("it rolled away", "TOY-2")

    def pay(self, item: GameInput, desk: Desk) -> None:
        self.flips += 1
        desk.move("player", "house", 1, "flip")
        if self.flips == 2:
            desk.command("shoe", LockShoe(desk.devices.next_command_id()))

    def sign(self) -> Display:
        return Display(f"{self.flips} FLIPS")

    def check(self, balances: Mapping[str, int]) -> list[str]:
        return [] if balances["house"] == self.flips else ["the house lost a flip"]

    at_rest = True

    def snapshot(self) -> dict[str, object]:
        return {"phase": self.phase, "flips": self.flips}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.state, self.flips = Side(state["phase"]), state["flips"]

    def view(self) -> dict[str, object]:
        return {"flips": self.flips}

    def round_view(self) -> dict[str, object] | None:
        return None


class Script:
    """A driver whose bytes are what happens: ``AS`` is that card, numbered one after the other."""

    deadline = None

    def __init__(self, role: str, story: list[str]) -> None:
        self.counters = Counters()
        self.role = role
        self.story = story
        self.ordinal = 0

    def opened(self, now: int) -> list[Output]:
        return [Emit(Identified(self.role, "S1", boot=7))]

    def received(self, data: bytes, now: int) -> list[Output]:
        events: list[Output] = []
        for word in data.decode().split():
            self.ordinal += 1
            events.append(Emit(CardDrawn(FaceDownCard(parse_card(word))), 7, self.ordinal))
        return events

    def command(self, command: Command, now: int) -> list[Output]:
        text = f"{command.meter}" if isinstance(command, Display) else type(command).__name__
        self.story.append(f"told {self.role}")
        return [Send(text.encode())]

    def resume(self, command: Command, now: int) -> list[Output]:
        self.story.append(f"resumed {self.role}")
        return []

    def committed(self, now: int) -> list[Output]:
        return [Send(b"ACK")]

    def tick(self, now: int) -> list[Output]:
        return []

    def closed(self, now: int) -> list[Output]:
        return []


class Recorded:
    """A journal that tells the story of its transactions."""

    def __init__(self, inner: journals.SqliteJournal, story: list[str]) -> None:
        self.inner = inner
        self.story = story
        self.answered = inner.answered
        self.append = inner.append
        self.rollback = inner.rollback
        self.replay = inner.replay
        self.latest_snapshot = inner.latest_snapshot
        self.close = inner.close

    @property
    def next_seq(self) -> int:
        return self.inner.next_seq

    def begin(self) -> bool:
        return self.inner.begin()

    def commit(self) -> None:
        self.inner.commit()
        self.story.append("committed")


def coin_table() -> Table:
    devices = {name: Device(name, name) for name in ("shoe", "sign")}
    return Table("T", Coin(), Rig(devices, "shoe"))


class Bench:
    """A coin table on a real journal file."""

    def __init__(self, path: Path, key: bytes = b"k" * 32) -> None:
        self.path = path
        self.story: list[str] = []
        self.sent: list[tuple[str, bytes]] = []
        if not path.exists():
            journals.create(path, journals.header_bytes("T", "coin", "2026-01-01T00:00:00.000000Z", ()))
        self.journal = Recorded(journals.open_journal(path, Sealer(key)), self.story)
        self.table, self.recovery = recover(coin_table, self.journal)
        devices = self.table.rig.devices
        self.clock = FakeClock()
        ports = {
            name: Port(name, Script(name, self.story), LinkLife(name, name, None), "script", "memory")
            for name in devices
        }
        self.engine = Engine(self.table, self.journal, ports, self.clock, self, self.log)
        self.engine.start(Started("test", ("shoe", "sign")))
        self.engine.tick()

    def log(self, event: str, **facts: object) -> None:
        pass

    def open(self, device: str) -> None:
        self.engine.link_opened(device)

    def send(self, device: str, data: bytes, wake: int = 0) -> None:
        self.sent.append((device, data))
        self.story.append(f"sent {device} {data.decode()}")

    def close(self, device: str) -> None:
        self.story.append(f"closed {device}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
def bench(path: Path) -> Iterator[Bench]:
    bench = Bench(path)
    yield bench
    bench.journal.close()


def test_nothing_leaves_before_its_commit(bench: Bench) -> None:
    bench.story.clear()
    bench.engine.bytes_in("shoe", b"AS")
    assert bench.story == ["committed", "sent shoe ACK", "told sign", "sent sign 1 FLIPS"]


def test_inputs_of_one_read_share_a_commit(bench: Bench) -> None:
    bench.story.clear()
    bench.engine.bytes_in("shoe", b"AS KD 2C")
    assert bench.story.count("committed") == 1
    assert bench.story.count("sent shoe ACK") == 1
    assert bench.table.game.phase == "tails"
    assert bench.table.balances["player"] == -3


def test_a_refused_act_is_journalled_and_changes_nothing(bench: Bench) -> None:
    before = bench.engine.committed
    answer = bench.engine.act(Act("flip", {"how": "badly"}))
    assert answer is not None
    assert not answer["accepted"]
    assert answer["refusal"] == {"reason": "it rolled away", "clause": "TOY-2", "todo": ""}
    assert bench.engine.committed == answer["seq"] == before + 1
    assert bench.table.game.phase == "heads"


def test_an_act_with_a_key_is_done_once_also_after_a_restart(bench: Bench, path: Path) -> None:
    first = bench.engine.act(Act("flip", key="k1"))
    assert bench.engine.act(Act("flip", key="k1")) == first
    bench.journal.close()
    again = Bench(path)
    assert again.engine.act(Act("flip", key="k1")) == first
    assert again.table.balances["player"] == -1
    again.journal.close()


def test_a_key_is_for_one_act_only(bench: Bench) -> None:
    bench.engine.act(Act("flip", key="k1"))
    before = bench.engine.committed
    for other in (Act("flip", {"how": "well"}, key="k1"), Act("spin", key="k1")):
        answer = bench.engine.act(other)
        assert answer is not None
        assert not answer["accepted"]
        assert answer["act"] == other.name
        assert "this key was used for flip" in answer["refusal"]["reason"]
    assert bench.engine.committed == before
    assert bench.table.balances["player"] == -1


def test_acts_that_wait_together_share_a_commit_and_are_answered_one_by_one(bench: Bench) -> None:
    before = bench.engine.committed
    bench.story.clear()
    acts = [Act("flip", key="k1"), Act("spin"), Act("flip", key="k1"), Act("flip")]
    first, refused, again, last = bench.engine.acts(acts)
    assert bench.story.count("committed") == 1
    assert first is not None
    assert refused is not None
    assert last is not None
    assert again == first
    assert [answer["accepted"] for answer in (first, refused, last)] == [True, False, True]
    assert [answer["seq"] for answer in (first, refused, last)] == [before + 1, before + 2, before + 3]
    assert bench.table.balances["player"] == -2
    assert bench.engine.acts([Act("flip"), Act("flip", key="k1")])[1] == first


def test_acts_that_wait_together_wait_for_a_held_journal_too(bench: Bench, path: Path) -> None:
    told = bench.engine.act(Act("flip", key="k1"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert bench.engine.acts([Act("flip"), Act("flip", key="k1"), Act("flip")]) == [None, told, None]
    other.execute("ROLLBACK")
    other.close()


def test_cards_keyed_in_an_act_are_sealed_too(bench: Bench, path: Path) -> None:
    bench.engine.act(Act("reveal", {"box": 2, "cards": "QD JD 10D 9D 2C"}))
    raw = path.read_bytes() + path.with_name(path.name + "-wal").read_bytes()
    assert b"QD" not in raw
    assert b'"cards":"sealed"' in raw
    [(record, faces)] = [(r, f) for _, r, f in bench.journal.replay() if r["input"]["kind"] == "act"]
    assert records.input_from(record["input"], faces) == Act("reveal", {"box": 2, "cards": "QD JD 10D 9D 2C"})
    assert records.in_clear(record["input"], faces)["args"]["cards"] == "QD JD 10D 9D 2C"


def test_a_later_version_may_say_the_same_in_other_words(bench: Bench, path: Path) -> None:
    bench.engine.act(Act("spin"))
    bench.journal.inner._db.execute("UPDATE records SET record = replace(record, 'only flips', 'flips')")
    bench.journal.close()
    again = Bench(path)
    assert again.recovery == Recovery(0, 4)
    again.journal.close()


def test_f04_f06_a_locked_journal_holds_events_and_answers_held(bench: Bench, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    bench.story.clear()
    bench.engine.bytes_in("shoe", b"AS")
    bench.engine.bytes_in("shoe", b"KD")
    assert bench.engine.act(Act("flip", key="k1")) is None
    assert bench.story == []
    assert bench.table.game.phase == "heads"
    bench.clock.now += 2_000_000_000
    bench.engine.tick()
    assert [f["code"] for f in bench.engine.view()["faults"]] == ["journal-held"]
    other.execute("ROLLBACK")
    bench.clock.now += 30_000_000
    bench.engine.tick()
    assert bench.story.count("committed") == 1
    assert bench.table.balances["player"] == -2
    assert bench.engine.view()["faults"] == []
    assert bench.engine.act(Act("flip", key="k1")) is not None
    other.close()


def deal_for_ever(bench: Bench) -> None:
    for _ in range(500):
        bench.engine.bytes_in("shoe", b"AS")


def test_f05_a_full_disk_is_fail_stop_and_nothing_was_said(bench: Bench, path: Path) -> None:
    pages = bench.journal.inner._db.execute("PRAGMA page_count").fetchone()[0]
    bench.journal.inner._db.execute(f"PRAGMA max_page_count = {pages}")
    bench.story.clear()
    with pytest.raises(FailStop):
        deal_for_ever(bench)
    done = bench.story.count("committed")
    assert done == bench.story.count("sent shoe ACK")
    bench.journal.close()
    again = Bench(path)
    assert again.table.balances["player"] == -done
    again.journal.close()


def test_a_restart_goes_on_where_the_journal_ends(bench: Bench, path: Path) -> None:
    bench.engine.bytes_in("shoe", b"AS KD")
    view = bench.table.view()
    records = bench.engine.committed
    bench.journal.close()
    again = Bench(path)
    assert again.recovery.replayed == records
    assert again.table.view()["flips"] == view["flips"] == 2
    assert "resumed shoe" in again.story  # the lock's outcome is unknown: asked for, not repeated
    assert ("sign", b"2 FLIPS") in again.sent
    assert again.table.rig.devices["shoe"].ordinal == 2
    again.journal.close()


def test_a_device_event_is_in_the_journal_once(bench: Bench) -> None:
    bench.engine.bytes_in("shoe", b"AS")
    driver = bench.engine.ports["shoe"].driver
    assert isinstance(driver, Script)
    driver.ordinal = 0  # a broken driver that tells event 1 again
    with pytest.raises(FailStop):
        bench.engine.bytes_in("shoe", b"KD")


def test_books_that_do_not_add_up_stop_the_table(bench: Bench) -> None:
    bench.table.balances["house"] += 1
    with pytest.raises(FailStop, match="the house lost a flip"):
        bench.engine.act(Act("flip"))


def test_a_journal_of_another_program_is_not_played_on(bench: Bench, path: Path) -> None:
    bench.engine.act(Act("flip"))
    bench.journal.inner._db.execute("UPDATE records SET record = replace(record, 'tails', 'heads')")
    bench.journal.close()
    with pytest.raises(RecoveryError, match="replays differently"):
        Bench(path)


def test_another_key_does_not_open_the_faces(bench: Bench, path: Path) -> None:
    bench.engine.bytes_in("shoe", b"AS")
    bench.journal.close()
    with pytest.raises(SealError):
        Bench(path, key=b"x" * 32)


def test_the_file_does_not_say_a_face(bench: Bench, path: Path) -> None:
    bench.engine.bytes_in("shoe", b"AS KD")
    raw = path.read_bytes() + path.with_name(path.name + "-wal").read_bytes()
    assert b'"face":"sealed"' in raw
    assert b'"AS"' not in raw
    sealed = bench.journal.inner._db.execute("SELECT sealed FROM records WHERE sealed != x''").fetchall()
    assert len({row[0] for row in sealed}) == 2
    assert {len(row[0]) for row in sealed} == {12 + 1 + 16}


def test_a_device_that_is_lost_and_back_is_journalled_as_such(bench: Bench) -> None:
    bench.engine.link_lost("shoe", Cause.LOST, "unplugged")
    assert bench.engine.view()["devices"]["shoe"]["cause"] == "lost"
    assert "shoe is not ready: lost" in str(bench.engine.view()["not_ready"])
    bench.clock.now += 10_000_000_000
    bench.engine.tick()
    assert bench.engine.view()["devices"]["shoe"]["state"] == "ready"


def test_f02_a_damaged_or_foreign_file_is_refused_and_kept(tmp_path: Path) -> None:
    for name, content in (("text", b"no database at all" * 100), ("zeroed", bytes(4096))):
        file = tmp_path / name
        file.write_bytes(content)
        with pytest.raises(journals.JournalError, match="kept as it is"):
            journals.open_journal(file, Sealer(b"k" * 32))
        assert file.read_bytes() == content
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(journals.JournalError, match="not a journal of feltd"):
        journals.open_journal(other, Sealer(b"k" * 32))
    with pytest.raises(FileExistsError):
        journals.create(other, b"{}")


# --- snapshots -------------------------------------------------------------------------------


def flip_often(bench: Bench, times: int = SNAPSHOT_EVERY) -> None:
    for _ in range(times):
        bench.engine.act(Act("flip"))


def test_a_recovery_begins_at_the_newest_snapshot(bench: Bench, path: Path) -> None:
    flip_often(bench, 2 * SNAPSHOT_EVERY + 20)
    snapshots = [seq for seq, record, _ in bench.journal.replay() if record["input"]["kind"] == "snapshot"]
    assert len(snapshots) == 2
    last, view = bench.engine.committed, bench.table.view()
    bench.journal.close()
    again = Bench(path)
    assert again.recovery == Recovery(snapshots[-1], last - snapshots[-1])
    assert again.recovery.replayed < SNAPSHOT_EVERY
    assert again.table.view()["flips"] == view["flips"]
    flip_often(again, 3)
    assert again.table.balances["house"] == again.table.game.flips  # type: ignore[attr-defined]
    again.journal.close()


def test_a_replay_from_the_beginning_is_compared_with_every_snapshot(bench: Bench, path: Path) -> None:
    flip_often(bench)
    db = bench.journal.inner._db
    db.execute("DELETE FROM meta WHERE key = 'snapshot'")
    db.execute("""UPDATE records SET record = replace(record, '"flips":4', '"flips":5') WHERE seq > 400""")
    bench.journal.close()
    with pytest.raises(InvariantBroken, match="snapshot"):
        Bench(path)


def test_a_snapshot_of_another_form_costs_time_and_nothing_else(
    bench: Bench, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flip_often(bench)
    flips, last = bench.table.view()["flips"], bench.engine.committed
    bench.journal.close()
    monkeypatch.setattr("daemon.table.SNAPSHOT_FORMAT", 2)
    monkeypatch.setattr("daemon.engine.SNAPSHOT_FORMAT", 2)
    again = Bench(path)
    assert (again.recovery.snapshot, again.recovery.replayed) == (0, last)
    assert "a snapshot of form 1" in again.recovery.passed_over
    assert again.table.view()["flips"] == flips
    again.journal.close()


def test_restarts_in_short_order_do_not_make_recovery_longer_and_longer(bench: Bench, path: Path) -> None:
    flip_often(bench)
    for _ in range(5):
        flip_often(bench, SNAPSHOT_EVERY - 50)
        bench.journal.close()
        bench = Bench(path)
    assert bench.recovery.replayed < 2 * SNAPSHOT_EVERY
    bench.journal.close()
