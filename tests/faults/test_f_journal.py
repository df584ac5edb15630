"""Fault catalogue, group F: the journal. What a lost disk cache does is tried in tests/durability."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from daemon.engine import FailStop
from daemon.games.desk import Act
from daemon.journal import JournalError, open_journal
from daemon.sealer import KEY_BYTES, Sealer
from daemon.watch import LOW_SPACE, MEBI, Machine, Watch, of_journal
from drivers import fdp
from drivers.base import SECOND
from drivers.framing import Deframer
from tests.faults.evening import ANTE, POINTS, WHOLE, Do, Evening, Step, evening, play

ROOT: Final = Path(__file__).parents[2]
MONEY: Final = ("ante", "progressive", "raise", "settle", "confirm-award", "misdeal", "refund-carried")


@contextmanager
def locked(table: Evening) -> Iterator[None]:
    """Another program holds the write lock of the journal."""
    with closing(sqlite3.connect(table.file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")


# --- F01: durable before it is acknowledged --------------------------------------------------------


def test_f01_every_connection_that_writes_is_wal_and_full(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, sqlite3.Connection]] = []
    connect = sqlite3.connect

    def remembered(*args: Any, **more: Any) -> sqlite3.Connection:
        made.append((str(args[0]), connect(*args, **more)))
        return made[-1][1]

    with monkeypatch.context() as patch, evening() as table:
        patch.setattr(sqlite3, "connect", remembered)
        table.restart()
        play(table, WHOLE[:8])
        writers = [connection for place, connection in made if "mode=ro" not in place and _lives(connection)]
        assert writers
        for connection in writers:
            assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
            assert connection.execute("PRAGMA synchronous").fetchone()[0] >= 2


def _lives(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return False
    return True


class Normal(sqlite3.Connection):
    """A connection that cannot be set to FULL."""

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        return super().execute(sql.replace("synchronous = FULL", "synchronous = NORMAL"), *args)


def test_f01_a_journal_that_would_not_be_durable_is_not_opened(
    shoe_table: Evening, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **more: connect(*args, **more, factory=Normal))
    with pytest.raises(JournalError, match="synchronous is 1, not 2"):
        open_journal(shoe_table.file, Sealer(bytes(KEY_BYTES)))


def test_f01_nothing_is_sent_while_a_transaction_is_open(shoe_table: Evening) -> None:
    play(shoe_table, WHOLE)
    is_open, sends = False, 0
    for point in shoe_table.story:
        is_open = point == "begin" or (is_open and point != "committed")
        sends += point == "send"
        assert not (is_open and point == "send")
    assert sends > 100


# --- F04: another program holds the journal --------------------------------------------------------


def test_f04_thirty_seconds_of_a_locked_journal_lose_nothing(shoe_table: Evening) -> None:
    table = shoe_table
    table.open_betting()
    table.act("ante", box=1, amount=ANTE)
    with locked(table):
        table.draw("2D 3C")
        assert table.try_act("ante", "k", box=2, amount=ANTE) is None
        table.pass_time(30 * SECOND)
        assert table.state("shoe")["unacknowledged"] == 2
        assert table.phase == "betting"
        assert [fault["code"] for fault in table.engine.view()["faults"]] == ["journal-held"]
    table.pass_time(SECOND)
    assert len(table.events("card-drawn")) == 2
    assert (table.phase, table.engine.view()["faults"]) == ("dealing", [])
    answer = table.try_act("ante", "k", box=2, amount=ANTE)
    assert answer is not None
    assert not answer["accepted"]  # the first card closed the betting meanwhile
    table.settle_down()
    table.check()


# --- F05: no room on the disk ----------------------------------------------------------------------


def test_f05_a_bet_that_found_no_room_is_not_counted_and_is_taken_once_there_is_some(
    shoe_table: Evening,
) -> None:
    table = shoe_table
    table.open_betting()
    db = table.journal.inner._db
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages}")
    names, number = ("ante", "take-back"), 0

    def bet_for_ever() -> None:
        nonlocal number
        while True:
            args = {"box": 1, "amount": ANTE} if number % 2 == 0 else {"box": 1}
            table.act(names[number % 2], f"key-{number}", **args)
            number += 1

    with pytest.raises(FailStop, match="could not be committed"):
        bet_for_ever()
    taken = [record["input"]["name"] for record in table.acts("ante") + table.acts("take-back")]
    balance = ANTE * (taken.count("take-back") - taken.count("ante"))
    table.restart()  # another connection: there is room again
    assert table.player(1) == balance
    assert len(taken) == number
    table.settle_down()
    args = {"box": 1, "amount": ANTE} if number % 2 == 0 else {"box": 1}
    for _ in range(2):
        table.act(names[number % 2], f"key-{number}", **args)
    assert table.player(1) == -ANTE - balance
    table.check()


def test_f05_little_room_is_told_early_and_its_end_opens_the_betting_again(shoe_table: Evening) -> None:
    table, room = shoe_table, [2 * LOW_SPACE]
    watch = Watch(Machine(lambda: room[0], lambda: 0, table.clock.wall, table.clock.monotonic))
    table.open_betting()
    config = (table.file.parent / "feltd.toml").read_bytes()
    for free, taken in ((LOW_SPACE - 1, False), (2 * LOW_SPACE, True)):
        room[0] = free
        for noticed in watch.look():
            table.engine.notice(noticed)
        answer = table.try_act("ante", box=1, amount=ANTE)
        assert answer is not None
        assert answer["accepted"] is taken
        assert taken or "MiB are free" in answer["refusal"]["reason"]
    assert (table.file.parent / "feltd.toml").read_bytes() == config
    table.check()


# --- F06: two who write ----------------------------------------------------------------------------


def test_f06_a_rival_for_the_lock_costs_no_correction_of_the_pool(shoe_table: Evening) -> None:
    table, races, ended = shoe_table, 300, threading.Event()

    def rival() -> None:
        with closing(sqlite3.connect(table.file, isolation_level=None, timeout=0)) as other:
            while not ended.is_set():
                try:
                    other.execute("BEGIN IMMEDIATE")
                    other.execute("SELECT COUNT(*) FROM money").fetchone()
                    other.execute("ROLLBACK")
                except sqlite3.OperationalError:
                    pass
                time.sleep(0)

    table.act("open-table")
    statements: list[str] = []
    table.journal.inner._db.set_trace_callback(statements.append)
    before, held = table.pools()[-1], 0
    thread = threading.Thread(target=rival)
    thread.start()
    try:
        for number in range(races):
            while table.try_act("correct-pool", f"k{number}", amount=1, text="race") is None:
                held += 1
                table.pass_time(20_000_000)
    finally:
        ended.set()
        thread.join()
    table.journal.inner._db.set_trace_callback(None)
    table.settle_down()
    assert table.pools()[-1] == before + races
    assert len(table.acts("correct-pool")) == races
    assert {text for text in statements if text.startswith("BEGIN")} == {"BEGIN IMMEDIATE"}
    assert not table.table.faults
    table.check()


# --- F07: transactions are ours --------------------------------------------------------------------


def test_f07_no_code_lets_sqlite_commit_by_itself() -> None:
    for file in (ROOT / "daemon").rglob("*.py"):
        assert "executescript" not in file.read_text(encoding="utf-8"), file
    with evening() as table:
        assert table.journal.inner._db.isolation_level is None


# --- F08: one transaction for one fact -------------------------------------------------------------


def moves_money(step: Step) -> bool:
    """The first card of a round books the contributions."""
    return step.name in MONEY if isinstance(step, Do) else step.card in ("5H", "2D")


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, int]:
    with evening() as table:
        play(table, WHOLE)
        return dict(table.table.balances)


def sweep(point: str, which: Callable[[Step], bool], undisturbed: dict[str, int]) -> None:
    """A whole evening in which the daemon dies at this point of each step that is meant."""
    with evening() as table:

        def before(step: Step) -> None:
            if which(step):
                table.kill_at(point)

        play(table, WHOLE, before)
        assert table.lives > len(MONEY)
        assert dict(table.table.balances) == undisturbed
        table.check()
        _once(table)


def _once(table: Evening) -> None:
    """A win and its reset, a contribution, a refund: each once, and what belongs together in one record."""
    [settled] = table.acts("settle")
    assert {kind for kind, *_ in settled["outbox"]} == {"award"}
    assert sorted(box for _, box, _ in settled["outbox"]) == [1, 2]
    contributions = [
        row for record in table.records() for row in record.get("outbox", ()) if row[0] != "award"
    ]
    assert len(contributions) == 3
    refunds = [
        m for record in table.records() for m in record.get("money", ()) if m[3] == "carried bet refunded"
    ]
    assert len(refunds) == 1


@pytest.mark.parametrize("point", POINTS)
def test_f08_a_death_at_every_point_of_what_moves_money(point: str, undisturbed: dict[str, int]) -> None:
    sweep(point, moves_money, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_f08_a_death_at_every_point_of_every_step(point: str, undisturbed: dict[str, int]) -> None:
    sweep(point, lambda step: True, undisturbed)


# --- F09: a command whose outcome is not known -----------------------------------------------------


def frames(table: Evening, device: str, since: int) -> list[fdp.Frame]:
    """What the daemon said to a device after so many sends."""
    deframer = Deframer()
    data = b"".join(data for name, data in table.sent[since:] if name == device)
    return [fdp.decode(piece) for piece in deframer.feed(data) if isinstance(piece, bytes)]


@pytest.mark.parametrize(
    "crash", ["before it was sent", "after it was sent", "before the answer is recorded"]
)
def test_f09_a_shuffle_whose_outcome_is_not_known_is_asked_for_and_done_once(
    crash: str, shuffler_table: Evening
) -> None:
    table = shuffler_table
    table.act("open-table")
    table.settle_down()
    order = Act("shuffle", role="dealer", key="k")
    if crash == "before the answer is recorded":
        table.engine.act(order)
        table.kill_at("begin")
        since = len(table.sent)
        assert not table.enter(table.read)
    else:
        table.kill_at("committed" if crash == "before it was sent" else "sent")
        since = len(table.sent) + (crash == "after it was sent")
        assert not table.enter(lambda: table.engine.act(order))
    [number] = {command.command_id for _, command in table.table.rig.told.values()}
    table.wait(lambda: bool(table.game.deck.shuffler), "the shuffle")
    asked = [frame for frame in frames(table, "SH-1", since) if isinstance(frame, fdp.Query)]
    assert asked
    assert {frame.command_id for frame in asked} == {number}
    assert table.state("SH-1")["executed"] == {str(number): 1}
    answer = table.engine.act(order)
    assert answer is not None
    assert answer["accepted"]
    table.settle_down()
    assert table.state("SH-1")["executed"] == {str(number): 1}
    assert table.table.rig.told == {}
    table.check()


# --- F13: somebody reads and reads -----------------------------------------------------------------


def test_f13_a_reader_that_stays_is_named_and_play_goes_on(
    shoe_table: Evening, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = shoe_table
    monkeypatch.setattr("daemon.watch.LARGE_WAL", 9 * MEBI)
    watch = Watch(of_journal(table.file, table.clock.wall, table.clock.monotonic))
    table.act("open-table")

    def look() -> list[str]:
        found = watch.look()
        for noticed in found:
            table.engine.notice(noticed)
        return [noticed.text for noticed in found]

    with closing(sqlite3.connect(table.file, isolation_level=None)) as shell:
        shell.execute("BEGIN")
        shell.execute("SELECT COUNT(*) FROM records").fetchone()
        told: list[str] = []
        while not told:
            table.try_act("raise", box=1)  # refused, and a record all the same
            told += look()
        [sentence] = told
        assert "a program keeps reading the journal" in sentence
        table.open_betting()
        table.act("ante", box=1, amount=ANTE)
        assert shell.execute("SELECT COUNT(*) FROM records").fetchone()[0] < 100
        assert [fault["code"] for fault in table.engine.view()["faults"]] == ["wal-large"]
        shell.execute("ROLLBACK")
    for _ in range(20):
        table.try_act("raise", box=1)
    look()
    assert table.table.faults == {}
    table.draw("2D")
    table.settle_down()
    table.check()
