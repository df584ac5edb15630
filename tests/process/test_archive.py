"""Old records move into archives: nothing is lost, nothing is slow, and what is damaged is named."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random

import pytest

from daemon import audit
from daemon.anchor import Anchor
from daemon.audit import ArchiveWatch, export, verify, verify_archives, verify_open
from daemon.audit.rows import Files
from daemon.build import build_table
from daemon.config import Settings
from daemon.engine import recover
from daemon.games.desk import Act
from daemon.journal import (
    ROTATE_ABOVE,
    Entry,
    JournalError,
    SqliteJournal,
    archive,
    create,
    folder_of,
    header_bytes,
    manifest,
    open_journal,
    reading,
)
from daemon.journal import file as journal_file
from daemon.sealer import Sealer, load_key
from daemon.simulate import Evening, SimulateOptions
from drivers.base import SECOND
from tests.perf import bulk

INPUTS = 4_500
HOURS = 3_600 * SECOND
VERIFIER = Path(__file__).parents[1] / "records" / "verify_export.py"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Some evenings in one file."""
    return bulk.build(tmp_path_factory.mktemp("plain"), INPUTS, archived=False, pause=3 * HOURS)


@pytest.fixture(scope="module")
def archived(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The same, with archives."""
    return bulk.build(tmp_path_factory.mktemp("archived"), INPUTS, pause=3 * HOURS)


def copied(settings: Settings, folder: Path) -> Path:
    """A journal with its archives and its key, to be altered."""
    shutil.copytree(settings.journal.parent, folder, dirs_exist_ok=True)
    return folder / settings.journal.name


@pytest.fixture
def copy(archived: Settings, tmp_path: Path) -> Path:
    return copied(archived, tmp_path)


def opened(path: Path) -> SqliteJournal:
    return open_journal(path, load_key(path.with_name("journal.key")))


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def count(path: Path, table: str = "records") -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def parts_of(path: Path) -> list[archive.Part]:
    with reading(path) as connection:
        return manifest(connection)


def canonical(path: Path) -> str:
    out = io.BytesIO()
    export(path, out, canonical=True, key=path.with_name("journal.key"))
    return hashlib.sha256(out.getvalue()).hexdigest()


def digests(path: Path) -> dict[str, str]:
    """Every file of a journal, but the index that SQLite keeps for readers."""
    files = [path, *folder_of(path).glob("*.db")]
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


# --- nothing is lost ---------------------------------------------------------------------------


def test_the_open_file_is_small_and_the_days_have_files(archived: Settings) -> None:
    parts = parts_of(archived.journal)
    assert len(parts) > 3
    assert [part.name for part in parts] == sorted({part.name for part in parts})
    assert [path.name for path in sorted(folder_of(archived.journal).iterdir())] == [
        f"{p.name}.db" for p in parts
    ]
    assert count(archived.journal) <= ROTATE_ABOVE
    assert count(archived.journal) + parts[-1].last == verify(archived.journal)["inputs"]


def test_both_are_verified_and_say_the_same(plain: Settings, archived: Settings) -> None:
    one, other = verify(plain.journal), verify(archived.journal)
    assert (one["errors"], other["errors"]) == ([], [])
    assert (one["archives"], other["archives"]) == (0, len(parts_of(archived.journal)))
    for key in ("inputs", "rounds", "pool"):
        assert one[key] == other[key]  # type: ignore[literal-required]
    assert canonical(plain.journal) == canonical(archived.journal)


def test_a_start_sees_the_same_without_reading_archives(archived: Settings) -> None:
    assert verify_open(archived.journal) == verify(archived.journal)


def test_a_quick_look_compares_an_anchor_in_an_archive(archived: Settings) -> None:
    with reading(archived.journal) as connection:
        part = archive.manifest(connection)[1]
    assert verify_open(archived.journal, (Anchor(part.last, part.hash),))["verified"]
    for seq in (part.first, part.last):
        errors = verify_open(archived.journal, (Anchor(seq, bytes(32)),))["errors"]
        assert [error.partition(":")[0] for error in errors] == [f"record {seq}"]
        assert "written anew" in errors[0]


def test_an_outside_verifier_reads_archives_in_the_export(archived: Settings) -> None:
    out = io.BytesIO()
    records = export(archived.journal, out)
    done = subprocess.run([sys.executable, "-I", str(VERIFIER)], input=out.getvalue(), capture_output=True)
    found = verify(archived.journal)
    assert done.returncode == 0, done.stdout
    for part in (f"{records} records", f"{found['rounds']} rounds", found["head"], found["signer"]):
        assert part.encode() in done.stdout


def test_a_recovery_is_the_same_from_its_snapshot_and_from_the_first_record(
    archived: Settings, copy: Path
) -> None:
    with closing(opened(copy)) as journal:
        table, short = recover(partial(build_table, archived), journal)
        assert 0 < short.replayed < INPUTS // 2
        sql(copy, "DELETE FROM meta WHERE key = 'snapshot'")
    with closing(opened(copy)) as journal:
        again, whole = recover(partial(build_table, archived), journal)
        assert (whole.snapshot, whole.replayed) == (0, journal.next_seq - 1)
    assert again.snapshot() == table.snapshot()


def test_every_round_can_still_be_asked_for(plain: Settings, archived: Settings) -> None:
    with closing(opened(plain.journal)) as one, closing(opened(archived.journal)) as other:
        rounds = verify(plain.journal)["rounds"]
        assert [other.round(number) for number in range(rounds + 2)] == [
            one.round(number) for number in range(rounds + 2)
        ]
        assert other.rounds(20) == one.rounds(20)
        assert sorted(other.outcomes(0))[0][:2] == sorted(one.outcomes(0))[0][:2]
        assert other.outcomes(rounds - 3) == one.outcomes(rounds - 3)
        seam = other.first
        for first, last in ((1, 5), (1, INPUTS), (seam - 90, seam + 90), (seam, seam), (seam - 1, seam - 1)):
            assert other.rounds_over(first, last) == one.rounds_over(first, last)
        for after, limit in ((0, 3), (seam - 3, 6), (seam - 1, 2), (INPUTS - 5, 1_000)):
            told = [(seq, record["input"]["kind"]) for seq, record in other.records(after, limit)]
            assert told == [(seq, record["input"]["kind"]) for seq, record in one.records(after, limit)]
            assert [seq for seq, _ in told] == list(range(after + 1, after + 1 + len(told)))


# --- a journal by hand: keys, events, days ------------------------------------------------------


class Hand:
    """A journal whose records are told one by one; every tenth is a snapshot."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.said: list[str] = []
        if not path.exists():
            create(path, header_bytes("T", "caribbean", "", ()))
        self.journal = open_journal(path, Sealer(bytes(32)), self.hear)

    def hear(self, event: str, **facts: object) -> None:
        self.said.append(event)

    def write(self, said: dict[str, object], at: str = "2026-01-01", **identity: object) -> int:
        assert self.journal.begin()
        seq = self.journal.next_seq
        record = {"at": f"{at}T00:00:00.000000Z", "input": said, "phase": "between-rounds"}
        self.journal.append(Entry(seq, record, **identity))  # type: ignore[arg-type]
        self.journal.commit()
        return seq

    def act(self, key: str = "", at: str = "2026-01-01") -> int:
        said = {"kind": "act", "name": "burn", "args": {}} | ({"key": key} if key else {})
        return self.write(said, at, key=key)

    def event(self, ordinal: int, epoch: int = 0) -> int:
        said = {"kind": "device", "device": "shoe", "event": "cut-card", "boot": 1, "ordinal": ordinal}
        return self.write(said, device="shoe", epoch=epoch, ordinal=ordinal)

    def restart(self) -> int:
        said = {"kind": "device", "device": "shoe", "event": "restarted", "boot": 2, "ordinal": 0}
        return self.write(said, device="shoe", epoch=1)

    def snapshot(self, at: str = "2026-01-01") -> int:
        return self.write({"kind": "snapshot", "state": {"balances": {}}}, at, snapshot=True)

    def move(self) -> None:
        """All that may be moved."""
        for _ in range(100):
            self.journal.tidy()


@pytest.fixture
def hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hand]:
    monkeypatch.setattr(journal_file, "ROTATE_ABOVE", 3)
    monkeypatch.setattr(archive, "STEP", 4)
    hand = Hand(tmp_path / "journal.db")
    yield hand
    hand.journal.close()


def test_few_old_records_stay_where_they_are(hand: Hand) -> None:
    hand.act(), hand.act(), hand.act()
    hand.snapshot()
    hand.move()
    assert count(hand.path) == 4
    hand.act()
    hand.snapshot()
    hand.move()
    assert count(hand.path) == 1
    assert hand.said == ["archived"]


def test_a_step_moves_few_records(hand: Hand) -> None:
    for _ in range(9):
        hand.act()
    hand.snapshot()
    left = []
    for _ in range(4):
        hand.journal.tidy()
        left.append(count(hand.path))
        assert verify(hand.path)["errors"] == []
        assert verify_open(hand.path)["errors"] == []
    assert left == [6, 2, 1, 1]


def test_a_clock_that_is_set_back_does_not_go_back_to_an_older_file(hand: Hand) -> None:
    for day in ("2026-01-05", "2026-01-05", "2026-01-03", "2026-01-06", "2026-01-02", "2026-01-07"):
        hand.act(at=day)
    hand.snapshot("2026-01-07")
    hand.move()
    spans = [(part.name[-2:], part.first, part.last) for part in parts_of(hand.path)]
    assert spans == [("05", 1, 3), ("06", 4, 5), ("07", 6, 6)]
    assert verify(hand.path)["errors"] == []


def test_an_archive_of_the_day_grows_after_a_restart(hand: Hand) -> None:
    for _ in range(2):
        for _ in range(5):
            hand.act()
        hand.snapshot()
        hand.move()
        hand.journal.close()
        hand = Hand(hand.path)
    [part] = parts_of(hand.path)
    assert (part.first, part.last) == (1, 11)
    assert verify(hand.path)["errors"] == []
    hand.journal.close()


def test_an_archived_key_is_still_answered(hand: Hand) -> None:
    first = hand.act(key="k-1")
    for number in range(2, 9):
        hand.act(key=f"k-{number}")
    hand.snapshot()
    hand.move()
    assert count(hand.path) == 1
    answered = hand.journal.answered("k-1")
    assert answered is not None
    assert (answered["seq"], answered["input"]["key"]) == (first, "k-1")
    assert hand.journal.answered("k-9") is None


def test_the_newest_keys_are_kept_and_an_older_one_may_come_again(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (archive, audit.check):
        monkeypatch.setattr(module, "KEPT_KEYS", 3)
    for number in range(1, 7):
        hand.act(key=f"k-{number}")
    hand.snapshot()
    hand.move()
    assert [hand.journal.answered(f"k-{number}") is not None for number in range(1, 7)] == [False] * 3 + [
        True
    ] * 3
    hand.act(key="k-1")
    assert verify(hand.path)["errors"] == []
    assert verify_open(hand.path)["errors"] == []
    hand.act(key="k-5")  # the engine asks before; this one did not
    assert "one act key twice: record 5 has it" in verify(hand.path)["errors"][0]
    assert "one act key twice: record 5 has it" in verify_open(hand.path)["errors"][0]


def test_an_archived_event_of_a_device_is_refused(hand: Hand) -> None:
    for ordinal in range(1, 6):
        hand.event(ordinal)
    hand.snapshot()
    hand.move()
    assert count(hand.path) == 1
    for ordinal in (1, 5):
        with pytest.raises(JournalError, match=f"event {ordinal} of shoe is in an archive already"):
            hand.event(ordinal)
        hand.journal.rollback()
    hand.event(6)
    hand.restart()
    hand.event(1, epoch=1)
    assert verify(hand.path)["errors"] == []


def test_an_event_that_an_archive_has_is_found_even_so(hand: Hand) -> None:
    for ordinal in range(1, 6):
        hand.event(ordinal)
    hand.snapshot()
    hand.move()
    hand.journal._archivist.moved.devices.clear()  # a broken writer
    hand.event(3)
    for check in (verify, verify_open):
        assert "one event of a device twice: an archive has it" in check(hand.path)["errors"][0]


def test_rounds_kept_in_the_open_file_are_the_newest(
    plain: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (archive, audit.check):
        monkeypatch.setattr(module, "KEPT_ROUNDS", 5)
    path = copied(plain, tmp_path)
    with closing(opened(path)) as journal:
        for _ in range(100):
            journal.tidy()
        rounds = verify(path)["rounds"]
        assert [view["id"] for view in journal.rounds(100)] == list(range(rounds, rounds - 5, -1))
        assert [journal.round(number) is not None for number in (1, rounds)] == [True, True]
    assert verify(path)["errors"] == []
    sql(path, "UPDATE rounds SET outcome = 'void' WHERE id = (SELECT min(id) FROM rounds)")
    assert "rounds kept from archives" in verify(path)["errors"][0]
    assert any("rounds kept from archives" in sentence for sentence in verify_archives(path))


# --- while the table plays ------------------------------------------------------------------------


def test_records_move_between_rounds_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.engine.SNAPSHOT_EVERY", 100)
    monkeypatch.setattr(journal_file, "ROTATE_ABOVE", 150)
    settings = bulk.table(tmp_path)
    settings.key.touch(0o600)
    settings.key.write_bytes(bytes(32))
    create(settings.journal, header_bytes(settings.table_id, settings.game, "", settings.simulated))
    journal = opened(settings.journal)
    evening = Evening(SimulateOptions(), settings, journal, Random(3))
    evening.bench.engine.tidy = journal.tidy
    table, phases = evening.bench.engine.table, []
    step = journal._archivist.step

    def watched(before: int) -> bool:
        phases.append(table.at_rest)
        return step(before)

    monkeypatch.setattr(journal._archivist, "step", watched)
    evening.open()
    for _ in range(12):
        evening.play()
    assert phases
    assert all(phases)
    assert count(settings.journal) < 400 < journal.next_seq
    assert (verify(settings.journal)["errors"], journal.trouble) == ([], "")
    journal.close()


def test_a_journal_is_verified_and_exported_while_its_records_move(
    plain: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "STEP", 120)
    path = copied(plain, tmp_path)
    expected, whole = verify(plain.journal), canonical(plain.journal)

    class Moving(Files):
        def archive(self, part: archive.Part):  # type: ignore[no-untyped-def]
            journal.tidy()
            return super().archive(part)

    with closing(opened(path)) as journal:
        journal.tidy()
        before = journal.first
        monkeypatch.setattr("daemon.audit.passes.Files", Moving)
        found = verify(path)
        assert (found["errors"], found["head"]) == ([], expected["head"])
        assert journal.first > before
    path = copied(plain, tmp_path / "other")
    with closing(opened(path)) as journal:
        journal.tidy()
        before = journal.first
        monkeypatch.setattr("daemon.audit.lines.Files", Moving)
        assert canonical(path) == whole
        assert journal.first > before


def test_another_program_that_holds_the_journal_only_delays(hand: Hand) -> None:
    for _ in range(5):
        hand.act()
    hand.snapshot()
    with closing(sqlite3.connect(hand.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        hand.move()
        assert (count(hand.path), hand.journal.trouble) == (6, "")
        other.execute("ROLLBACK")
    hand.move()
    assert count(hand.path) == 1


def test_an_archive_that_cannot_be_written_is_told_and_the_records_stay(hand: Hand) -> None:
    """F05: no room, no right, a foreign file: the table plays on."""
    folder_of(hand.path).write_text("in the way")
    for _ in range(5):
        hand.act()
    hand.snapshot()
    hand.move()
    assert hand.journal.trouble.startswith("old records stay in the journal: ")
    assert hand.said == ["archive-failed"]
    hand.act(key="k-1")
    assert count(hand.path) == 7
    folder_of(hand.path).unlink()
    hand.move()
    assert count(hand.path) == 7  # not before the next snapshot
    hand.snapshot()
    hand.move()
    assert (count(hand.path), hand.journal.trouble) == (1, "")
    assert verify(hand.path)["errors"] == []


def test_an_archive_with_other_records_is_not_trusted(hand: Hand) -> None:
    """A copy is compared before the original is deleted."""
    for _ in range(5):
        hand.act()
    hand.snapshot()
    hand.journal.tidy()
    hand.journal._archivist.close()
    path = folder_of(hand.path) / "2026-01-01.db"
    sql(path, "INSERT INTO records VALUES (5, NULL, 0, 0, NULL, x'7b7d', x'', x'00')")
    hand.move()
    assert "records of records 5 to 5 differ" in hand.journal.trouble
    assert count(hand.path) == 2
    assert verify(hand.path)["errors"] == []


@pytest.mark.parametrize("damage", ["missing", "foreign", "another's", "behind"])
def test_a_wrong_archive_of_the_day_is_not_continued(hand: Hand, tmp_path: Path, damage: str) -> None:
    for _ in range(5):
        hand.act()
    hand.snapshot()
    hand.move()
    path = folder_of(hand.path) / "2026-01-01.db"
    if damage == "foreign":
        path.unlink()
        sql(path, "CREATE TABLE mine (x)")
    elif damage == "missing":
        path.unlink()
    elif damage == "another's":
        sql(path, "UPDATE meta SET value = x'7b7d' WHERE key = 'header'")
    else:
        sql(path, "DELETE FROM records WHERE seq > 3")
    before = path.read_bytes() if path.exists() else None
    for _ in range(5):
        hand.act()
    hand.snapshot()
    hand.move()
    assert "old records stay" in hand.journal.trouble
    assert count(hand.path) == 7
    assert (path.read_bytes() if path.exists() else None) == before


# --- kill -9 ------------------------------------------------------------------------------------


def killed_at(path: Path, statement: int) -> bool:
    """Move a step in a process that kills itself at this statement. False: it had none so late."""
    child = os.fork()
    if child == 0:
        try:
            _move_and_die(path, statement)
        finally:
            os._exit(1)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _move_and_die(path: Path, statement: int) -> None:
    left = statement

    def count_down(said: str) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    real = archive.open_to_write

    def watched(file: Path, application: int) -> sqlite3.Connection:
        connection = real(file, application)
        connection.set_trace_callback(count_down)
        return connection

    archive.open_to_write = watched  # type: ignore[attr-defined]
    journal = opened(path)
    journal._db.set_trace_callback(count_down)
    journal.tidy()
    journal.close()
    os._exit(0)


@pytest.mark.timeout(600)  # it copies a journal for every statement
def test_a_kill_at_any_statement_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F08: a record is in the open file, or in an archive that the manifest names; once."""
    monkeypatch.setattr(journal_file, "ROTATE_ABOVE", 50)
    (tmp_path / "short").mkdir()
    short = bulk.build(tmp_path / "short", 600, archived=False)
    expected, whole = verify(short.journal), canonical(short.journal)
    kinds = set()
    for statement in range(200):
        folder = tmp_path / str(statement)
        path = copied(short, folder)
        monkeypatch.setattr(archive, "STEP", 12)
        if not killed_at(path, statement):
            break
        monkeypatch.setattr(archive, "STEP", 500)
        found = verify(path)
        assert (found["errors"], found["head"]) == ([], expected["head"]), statement
        assert verify_open(path)["errors"] == [], statement
        kinds.add((found["archives"], folder_of(path).exists() and any(folder_of(path).iterdir())))
        with closing(opened(path)) as journal:
            while journal.trouble == "" and journal.first < 400:
                journal.tidy()
            assert journal.trouble == "", statement
        assert canonical(path) == whole, statement
        shutil.rmtree(folder)
    else:
        pytest.fail("a step has no end")
    assert statement > 30
    # Before the archive, between archive and manifest, and after both.
    assert kinds >= {(0, False), (0, True), (1, True)}


# --- damage (F02) ---------------------------------------------------------------------------------


def _middle(path: Path) -> Path:
    return sorted(folder_of(path).iterdir())[1]


def _flip_page(path: Path) -> None:
    """A byte of a stored record's text."""
    data = bytearray(_middle(path).read_bytes())
    at = data.find(b'"input":{') + 12
    data[at] ^= 0x01
    _middle(path).write_bytes(bytes(data))


def _truncate(path: Path) -> None:
    data = _middle(path).read_bytes()
    _middle(path).write_bytes(data[: len(data) // 2])


def _foreign(path: Path) -> None:
    _middle(path).unlink()
    sql(_middle_name(path), "CREATE TABLE mine (x)")


def _middle_name(path: Path) -> Path:
    return parts_of(path)[1].path(folder_of(path))


def _swap(path: Path) -> None:
    one, other = sorted(folder_of(path).iterdir())[1:3]
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)


def _in_middle(statement: str) -> Callable[[Path], None]:
    return lambda path: sql(_middle(path), statement)


def _zero(path: Path) -> None:
    data = bytearray(_middle(path).read_bytes())
    data[:100] = bytes(100)
    _middle(path).write_bytes(bytes(data))


# what is done, what the whole verification says, and whether a start sees it
ARCHIVES: dict[str, tuple[Callable[[Path], object], str, bool]] = {
    "missing": (lambda path: _middle(path).unlink(), "there is no such file", True),
    "empty": (lambda path: _middle(path).write_bytes(b""), "not an archive", True),
    "truncated": (_truncate, "malformed|damaged|does not end", True),
    "zeroed header": (_zero, "not a database", True),
    "foreign": (_foreign, "not an archive", True),
    "a journal": (lambda path: shutil.copy(path, _middle(path)), "it is a journal", True),
    "swapped": (_swap, "not as the manifest says", True),
    "another journal's": (
        _in_middle("UPDATE meta SET value = x'7b7d' WHERE key = 'header'"),
        "one of another journal",
        False,
    ),
    "flipped": (_flip_page, "the hash does not continue", False),
    "altered": (
        _in_middle("UPDATE money SET amount = amount + 1 WHERE seq = (SELECT min(seq) FROM money)"),
        "'money' does not say",
        False,
    ),
    "record gone": (
        _in_middle("DELETE FROM records WHERE seq = (SELECT min(seq) + 5 FROM records)"),
        "records are missing",
        False,
    ),
    "first gone": (
        _in_middle("DELETE FROM records WHERE seq = (SELECT min(seq) FROM records)"),
        "not as the manifest says",
        False,
    ),
    "last gone": (
        _in_middle("DELETE FROM records WHERE seq = (SELECT max(seq) FROM records)"),
        "does not end with record",
        True,
    ),
    "more": (
        _in_middle("INSERT INTO records SELECT 90000, device, epoch, ordinal, NULL, record, sealed, hash "
                   "FROM records LIMIT 1"),
        "not as the manifest says",
        False,
    ),
    "anchor gone": (_in_middle("DELETE FROM anchors"), "its anchor is missing", False),
    "money of no record": (
        _in_middle("INSERT INTO money VALUES (90000, 0, 'house', 5, 'gift')"), "'money' has 1 rows", False
    ),
    "outbox of nothing": (
        _in_middle("INSERT INTO outbox VALUES ('x', 0, 'award', 1, 5)"), "'outbox' has 1 rows", False
    ),
    "a round between": (
        _in_middle("INSERT INTO rounds VALUES (90000, 5.5, 'settled', x'7b7d')"), "'rounds' has 1 rows", False
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ARCHIVES)
def test_f02_a_damaged_archive_is_named_and_kept(copy: Path, kind: str) -> None:
    damage, said, quickly = ARCHIVES[kind]
    name = _middle(copy).stem
    damage(copy)
    before = digests(copy)
    found = verify(copy)
    assert any(_matches(said, error) for error in found["errors"]), found["errors"]
    assert len(found["errors"]) < 12  # what follows from it is not told at length
    if any(error.startswith("archive") for error in found["errors"]):
        assert f"archive {name}" in found["errors"][0]
    assert verify_open(copy)["verified"] != quickly
    assert any(_matches(said, error) for error in verify_archives(copy))
    assert digests(copy) == before


def _matches(words: str, sentence: str) -> bool:
    return any(word in sentence for word in words.split("|"))


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM archives WHERE name = (SELECT min(name) FROM archives)", "does not continue"),
        ("DELETE FROM archives WHERE name = (SELECT max(name) FROM archives)", "records are missing"),
        ("DELETE FROM archives", "number 1 was expected"),
        ("UPDATE archives SET last = last - 1 WHERE first = 1", "does not continue"),
        ("UPDATE archives SET hash = zeroblob(32) WHERE last = (SELECT max(last) FROM archives)",
         "does not end"),
        ("UPDATE archives SET previous = zeroblob(32)", "does not continue"),
        ("UPDATE archives SET name = '../../x' WHERE first = 1", "no name of an archive"),
        ("DELETE FROM meta WHERE key = 'moved'", "what the file remembers|snapshot's balances"),
        ("UPDATE meta SET value = x'7b7d' WHERE key = 'moved'", "remembers of its archives cannot be read"),
        ("UPDATE meta SET value = replace(value, '\"house\":-', '\"house\":-1') WHERE key = 'moved'",
         "what the file remembers|snapshot's balances"),
        ("UPDATE meta SET value = 'ab' WHERE key = 'signer'", "the signer is not the one|not signed"),
        ("UPDATE meta SET value = '7' WHERE key = 'snapshot'", "not the newest snapshot"),
    ],
)  # fmt: skip
def test_what_the_open_file_says_of_its_archives_is_checked(copy: Path, statement: str, said: str) -> None:
    sql(copy, statement)
    for check in (verify, verify_open):
        errors = check(copy)["errors"]
        assert any(_matches(said, error) for error in errors), errors


def test_a_kept_key_that_was_altered_is_found(copy: Path) -> None:
    sql(copy, "INSERT INTO keys VALUES (3, 'forged')")
    assert "the keys of archived acts" in verify(copy)["errors"][0]
    assert any("the keys of archived acts" in sentence for sentence in verify_archives(copy))


def test_what_no_manifest_names_does_not_count(copy: Path) -> None:
    """A crash leaves it; so does a restore that is not ours."""
    (folder_of(copy) / "2031-01-01.db").write_bytes(b"whatever")
    assert verify(copy)["errors"] == []
    assert verify_open(copy)["errors"] == []


# --- in the background -----------------------------------------------------------------------------


def test_sound_archives_are_passed_in_silence(archived: Settings, tmp_path: Path) -> None:
    assert set(verify_archives(archived.journal)) == {""}
    sentences: list[str] = []
    counts: list[int] = []
    watch = ArchiveWatch(archived.journal, sentences.append, counts.append)
    watch.start()
    watch._thread.join(60)
    assert (sentences, counts) == ([], [0])
    watch.stop()


def test_a_damaged_archive_is_told_from_the_thread(copy: Path) -> None:
    _middle(copy).unlink()
    sentences: list[str] = []
    counts: list[int] = []
    watch = ArchiveWatch(copy, sentences.append, counts.append)
    watch.start()
    watch._thread.join(60)
    assert any("there is no such file" in sentence for sentence in sentences)
    assert counts == [len(sentences)]


def test_the_watch_ends_when_it_is_told(archived: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.audit.passes._PAUSE", 3600.0)
    counts: list[int] = []
    watch = ArchiveWatch(archived.journal, lambda sentence: None, counts.append)
    watch.start()
    watch.stop()
    assert not watch._thread.is_alive()
    assert counts == []
    ArchiveWatch(archived.journal, lambda sentence: None).stop()  # one that was never started


def test_a_journal_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    assert "no such file" in "".join(verify_archives(tmp_path / "none.db"))


def test_the_key_of_an_act_in_a_lost_archive_is_an_error_and_not_a_new_act(hand: Hand) -> None:
    for number in range(5):
        hand.act(key=f"k-{number}")
    hand.snapshot()
    hand.move()
    (folder_of(hand.path) / "2026-01-01.db").unlink()
    with pytest.raises(JournalError, match="no such file"):
        hand.journal.answered(Act("burn", key="k-1").key)


# --- for a linked pool ---------------------------------------------------------------------------


def test_the_outbox_is_whole_wherever_its_records_are(plain: Settings, archived: Settings) -> None:
    """Asked for in pieces from any point, archives or not, each record follows the one before it."""
    with closing(opened(plain.journal)) as one, closing(opened(archived.journal)) as other:
        assert other.first > 1
        whole = one.outbox(0, 10**6)
        assert whole == other.outbox(0, 10**6)
        pieces, at = [], 0
        while piece := other.outbox(at, 7):
            pieces += piece
            at = piece[-1].seq
        assert pieces == whole
        for number in (1, len(whole) // 2, len(whole) - 1):
            assert other.outbox(whole[number].seq - 1, 1) == [whole[number]]
            assert whole[number].prior == whole[number - 1].seq
    numbers = [record.seq for record in whole]
    assert numbers == sorted(set(numbers))
    assert numbers[0] < other.first < numbers[-1]
    assert {kind for record in whole for _, kind, _, _ in record.lines} == {"contribution", "award"}
