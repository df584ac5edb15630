"""Copies of a journal and the way back: whole, while the table plays, nothing overwritten (F02, F10, F15)."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from daemon import backup as backups
from daemon.anchor import Anchor
from daemon.audit import verify, verify_open
from daemon.backup import backup, restore
from daemon.cli import app
from daemon.config import Settings
from daemon.journal import (
    Entry,
    JournalError,
    Moved,
    SqliteJournal,
    create,
    folder_of,
    head_path,
    header_bytes,
    open_journal,
    reading,
    told_head,
)
from daemon.lock import sole_owner
from daemon.sealer import Sealer, load_key
from drivers.base import SECOND
from tests.perf import bulk

ROOT = Path(__file__).parents[2]
INPUTS = 3_000
PATIENCE = 30.0  # seconds


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Some days with archives, and an open file."""
    return bulk.build(tmp_path_factory.mktemp("kept"), INPUTS, pause=4 * 3_600 * SECOND)


@pytest.fixture
def journal(kept: Settings, tmp_path: Path) -> Path:
    shutil.copytree(kept.journal.parent, tmp_path / "table")
    return tmp_path / "table" / kept.journal.name


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "copies").mkdir()
    return tmp_path / "copies" / "journal.db"


def opened(path: Path) -> SqliteJournal:
    return open_journal(path, load_key(path.with_name("journal.key")))


def write(journal: SqliteJournal, count: int = 1, snapshot: bool = False) -> None:
    """So many acts that do nothing, one commit each; or a snapshot of what is there."""
    for _ in range(count):
        assert journal.begin()
        said: dict[str, Any] = {"kind": "act", "name": "burn", "args": {}}
        if snapshot:
            said = {"kind": "snapshot", "state": {"balances": standing(journal.path)}}
        record = {"at": "2026-12-01T00:00:00.000000Z", "input": said, "phase": "between-rounds"}
        journal.append(Entry(journal.next_seq, record, snapshot=snapshot))
        journal.commit()


def standing(path: Path) -> dict[str, int]:
    """The accounts as the money has them."""
    with reading(path) as connection:
        balances = Counter(Moved.of(connection).balances)
        for account, amount in connection.execute("SELECT account, sum(amount) FROM money GROUP BY account"):
            balances[account] += amount
    return {account: amount for account, amount in balances.items() if amount}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files(folder: Path) -> dict[str, str]:
    """Everything below a folder, by its name, but what SQLite makes for readers of it."""
    return {
        str(path.relative_to(folder)): digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not path.name.endswith("-shm")
        and (path.suffix != ".db-wal" or path.stat().st_size)
    }


def feltd(*words: object) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "daemon", "journal", *map(str, words), "--json"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=PATIENCE,
    )
    return done.returncode, json.loads(done.stdout)


# --- backup ---------------------------------------------------------------------------------------


def test_a_copy_has_everything_and_stands_alone(journal: Path, target: Path) -> None:
    found = backup(journal, target)
    whole = verify(journal)
    assert verify(target) == whole | {"path": str(target)}
    assert (found["records"], found["head"]) == (whole["inputs"], whole["head"])
    assert found["archives"] == len(found["copied"]) == whole["archives"] > 2
    assert sorted(path.name for path in target.parent.iterdir()) == ["journal.db", "journal.db.archive"]
    assert all(path.suffix == ".db" for path in folder_of(target).iterdir())


def test_f10_a_copy_has_all_that_was_committed_before_it_began(journal: Path, target: Path) -> None:
    with closing(opened(journal)) as writer:
        for _ in range(3):
            write(writer, 40)
            assert writer.begin()  # a transaction is open, and is not in the copy
            assert backup(journal, target)["records"] == writer.next_seq - 1
            writer.rollback()
            assert verify(target)["verified"]
        assert writer.begin()  # the copy held nobody up
        writer.rollback()


def test_archives_that_are_there_are_not_copied_again(journal: Path, target: Path) -> None:
    first = backup(journal, target)["copied"]
    before = {path: path.stat().st_ino for path in folder_of(target).iterdir()}
    with closing(opened(journal)) as writer:
        write(writer, 2_100)
        write(writer, snapshot=True)
        for _ in range(30):
            writer.tidy()
        assert writer.trouble == ""
        again = backup(journal, target)
    assert set(first) & set(again["copied"]) == {max(first)}
    for name in first[:-1]:
        path = folder_of(target) / f"{name}.db"
        assert path.stat().st_ino == before[path]
    assert verify(target)["errors"] == []


@pytest.mark.parametrize(
    "call", ["_copy_database", "_copy_archives", "_require_whole", "verify_open", "sync_folder"]
)
@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        pytest.param(sqlite3.OperationalError("disk I/O"), marks=pytest.mark.slow),  # the same way out
    ],
)
def test_f15_a_copy_that_fails_leaves_the_former_one(
    journal: Path, target: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: Exception
) -> None:
    backup(journal, target)
    with closing(opened(journal)) as writer:
        write(writer, 2_100)
        write(writer, snapshot=True)
        for _ in range(30):
            writer.tidy()
    before = verify(target)

    def fail(*args: object, **kwargs: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(backups, call, fail)
        with pytest.raises(JournalError, match=r"No space|disk I/O"):
            backup(journal, target)
    assert verify(target) == before
    assert before["verified"]
    assert [path for path in target.parent.iterdir() if path.name.endswith(".new")] == []
    backup(journal, target)
    assert verify(target)["inputs"] > before["inputs"]


def test_a_kill_at_any_moment_leaves_the_former_copy_or_the_new_one(journal: Path, target: Path) -> None:
    backup(journal, target)
    former = verify(target)
    with closing(opened(journal)) as writer:
        write(writer, 2_100)
        write(writer, snapshot=True)
        for _ in range(30):
            writer.tidy()
    expected = verify(journal)
    for moment in range(100):
        child = os.fork()
        if child == 0:
            try:
                _backup_and_die(journal, target, moment)
            finally:
                os._exit(1)
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        found = verify(target)
        assert found["errors"] == [], moment
        assert found["head"] in (former["head"], expected["head"])
        if not killed:
            break
    assert (found["head"], moment > 8) == (expected["head"], True)


def _backup_and_die(journal: Path, target: Path, moment: int) -> None:
    """Killed before the call of this number that changes a name or makes one durable."""
    left = moment

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return call

    for name in ("_copy_database", "_require_whole", "verify_open", "sync_folder", "reading"):
        setattr(backups, name, counted(getattr(backups, name)))
    Path.replace = counted(Path.replace)  # type: ignore[method-assign]
    backup(journal, target)
    os._exit(0)


def test_a_copy_of_something_damaged_is_not_made(journal: Path, target: Path) -> None:
    backup(journal, target)
    before = files(target.parent)
    with closing(sqlite3.connect(journal, isolation_level=None)) as connection:
        connection.execute("UPDATE money SET amount = amount + 1 WHERE seq = (SELECT max(seq) FROM money)")
    with pytest.raises(JournalError, match="the copy is not sound"):
        backup(journal, target)
    assert files(target.parent) == before


def test_a_damaged_archive_is_not_copied(journal: Path, target: Path) -> None:
    oldest = min(folder_of(journal).iterdir())
    with closing(sqlite3.connect(oldest, isolation_level=None)) as connection:
        connection.execute("DELETE FROM records WHERE seq = 7")
    with pytest.raises(JournalError, match="damaged or not whole"):
        backup(journal, target)
    assert not target.exists()


@pytest.mark.parametrize("kind", ["itself", "foreign", "text", "another", "nowhere"])
def test_what_is_not_a_former_copy_is_never_replaced(journal: Path, target: Path, kind: str) -> None:
    if kind == "itself":
        target = journal
    elif kind == "foreign":
        with closing(sqlite3.connect(target)) as connection:
            connection.execute("CREATE TABLE mine (x)")
    elif kind == "text":
        target.write_text("a letter\n" * 200)
    elif kind == "another":
        create(target, header_bytes("another", "caribbean", "", ()))
    else:
        target = target.parent / "no-such-folder" / "journal.db"
    before = target.read_bytes() if target.exists() else b""
    with pytest.raises(JournalError):
        backup(journal, target)
    assert (target.read_bytes() if target.exists() else b"") == before


@pytest.mark.parametrize("kind", ["key", "configuration", "empty", "folder", "archive"])
def test_a_file_that_is_no_journal_is_kept(journal: Path, target: Path, kind: str) -> None:
    if kind == "folder":
        target.mkdir()
    elif kind == "archive":
        shutil.copy(max(folder_of(journal).iterdir()), target)
    else:
        name = {"key": "journal.key", "configuration": "feltd.toml"}.get(kind)
        target.write_bytes(journal.with_name(name).read_bytes() if name else b"")
    before = files(target.parent)
    with pytest.raises(JournalError, match="is kept"):
        backup(journal, target)
    assert (files(target.parent), target.exists()) == (before, True)


def test_a_journal_that_has_more_than_its_copy_is_not_replaced_by_it(
    lost: tuple[Path, int, int], target: Path
) -> None:
    """The arguments are swapped."""
    journal, copied, last = lost
    before = files(journal.parent)
    with pytest.raises(JournalError) as caught:
        backup(target, journal)
    assert str(caught.value) == (
        f"{journal} has {last} records, and {target} has {copied}: it is no copy of that, and is kept: "
        "name the journal first and its copy second, or another file; a copy is put back by restore"
    )
    assert files(journal.parent) == before


def test_a_journal_that_went_on_without_the_other_is_not_replaced(
    lost: tuple[Path, int, int], target: Path, tmp_path: Path
) -> None:
    """Both have records that the other has not; the source has more of them, or as many."""
    journal, copied, last = lost
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "journal.db"
    restore(target, other)
    shutil.copy2(journal.with_name("journal.key"), other.with_name("journal.key"))
    with closing(opened(other)) as writer:
        write(writer, 7, snapshot=True)
    before = files(other.parent)
    said = f"has {copied + 7} records and .* has {last}, and record {copied + 7} is another in each"
    with pytest.raises(JournalError, match=said):
        backup(journal, other)
    assert files(other.parent) == before


def test_a_journal_that_has_gone_still_keeps_its_place_by_its_head(
    lost: tuple[Path, int, int], target: Path
) -> None:
    journal, copied, last = lost
    journal.unlink()
    before = files(journal.parent)
    with pytest.raises(JournalError, match=f"has {last} records, and .* has {copied}: it is no copy"):
        backup(target, journal)
    assert files(journal.parent) == before


def test_a_journal_that_a_daemon_has_is_not_a_place_for_a_copy(journal: Path, target: Path) -> None:
    backup(journal, target)
    with sole_owner(journal.with_name("journal.db.lock")):
        before = files(journal.parent)
        with pytest.raises(JournalError, match=f"pid {os.getpid()}.: name the journal first"):
            backup(target, journal)
        assert files(journal.parent) == before
        backup(journal, target)  # the right way round it is copied as ever


def test_a_journal_with_a_log_is_not_a_copy(journal: Path, target: Path) -> None:
    """What is in the log of a table that crashed would be played into the copy."""
    with closing(opened(journal)) as writer:
        write(writer, 5)
        shutil.copy2(journal, target)
        shutil.copy2(f"{journal}-wal", f"{target}-wal")
    before = files(target.parent)
    with pytest.raises(JournalError, match=r"journal.db-wal: is there, so .* is a table's journal"):
        backup(journal, target)
    assert files(target.parent) == before


def test_a_copy_that_lost_an_archive_is_made_whole_again(journal: Path, target: Path) -> None:
    backup(journal, target)
    min(folder_of(target).iterdir()).unlink()
    backup(journal, target)
    assert verify(target)["verified"]


def test_an_archive_of_another_journal_is_kept(journal: Path, target: Path) -> None:
    backup(journal, target)
    target.unlink()
    oldest = min(folder_of(target).iterdir())
    _sql(oldest, "UPDATE meta SET value = x'7b7d' WHERE key = 'header'")
    _sql(oldest, "DELETE FROM records WHERE seq > 5")
    before = files(target.parent)
    with pytest.raises(JournalError, match="is of another journal, and is kept"):
        backup(journal, target)
    assert {name: files(target.parent)[name] for name in before} == before


# --- restore ---------------------------------------------------------------------------------------


@pytest.fixture
def lost(journal: Path, target: Path) -> tuple[Path, int, int]:
    """A journal with a copy that is 25 records behind: its path, the last record of either."""
    copied = backup(journal, target)["records"]
    with closing(opened(journal)) as writer:
        write(writer, 25)
        return journal, copied, writer.next_seq - 1


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    at = data.rfind(b'"phase":"') + 12
    data[at] ^= 0x01
    path.write_bytes(bytes(data))


def _zero_header(path: Path) -> None:
    path.write_bytes(bytes(100) + path.read_bytes()[100:])


def _foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (x)")


def _of_another_table(path: Path) -> None:
    other = path.with_name("other.db")
    create(other, header_bytes("CS-9", "caribbean", "", ("shoe", "sign")))
    other.replace(path)
    head_path(path).unlink(missing_ok=True)


def _without_log(path: Path) -> None:
    """As a crash leaves it, but that its write-ahead log is gone."""
    with closing(opened(path)) as writer:
        write(writer, 12)
        shutil.copy(path, path.with_name("crashed"))
        shutil.copy(head_path(path), path.with_name("crashed.head"))
    path.with_name("crashed").replace(path)
    path.with_name("crashed.head").replace(head_path(path))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "flipped page": (_flip, "is damaged: record [0-9]+: "),
    "zeroed header": (_zero_header, "file is not a database"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:9000]), "malformed|damaged"),
    "empty": (lambda path: path.write_bytes(b""), "not a journal of feltd"),
    "text": (lambda path: path.write_text("a letter\n" * 200), "file is not a database"),
    "foreign": (_foreign, "not a journal of feltd"),
    "of another table": (_of_another_table, "belongs to table 'CS-9'"),
    "missing": (lambda path: path.unlink(), "is missing beside its key"),
    "no write-ahead log": (_without_log, "are missing"),
    "an archive": (lambda path: shutil.copy(max(folder_of(path).iterdir()), path), "an archive of one"),
    "archive missing": (
        lambda path: min(folder_of(path).iterdir()).unlink(),
        "archive [-0-9]+: .*no such file",
    ),
    "a newer format": (lambda path: _sql(path, "PRAGMA user_version = 7"), "journal format 7"),
}


def _sql(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)


@pytest.mark.parametrize("kind", DAMAGES)
def test_f02_play_is_refused_the_damage_is_named_and_the_file_is_kept(journal: Path, kind: str) -> None:
    damage, said = DAMAGES[kind]
    damage(journal)
    before = files(journal.parent)
    done = subprocess.run(
        [sys.executable, "-m", "daemon", "run", "--config", "feltd.toml"],
        cwd=journal.parent,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert re.search(said, done.stderr.decode().splitlines()[-1]), done.stderr
    assert files(journal.parent) == before


RESTORED: Final = [kind for kind in DAMAGES if kind != "of another table"]
QUICK_RESTORED: Final = RESTORED[:2] + [pytest.param(kind, marks=pytest.mark.slow) for kind in RESTORED[2:]]


@pytest.mark.parametrize("kind", QUICK_RESTORED)
def test_f02_a_restore_keeps_the_damaged_file_and_plays_on(
    lost: tuple[Path, int, int], target: Path, kind: str
) -> None:
    journal, copied, last = lost
    DAMAGES[kind][0](journal)
    if kind == "no write-ahead log":
        last += 12
    before = digest(journal) if journal.exists() else None
    archives = {path.name for path in folder_of(journal).iterdir()}
    done = restore(target, journal)
    assert done["records"] == copied
    assert done["missing"] == {"first": copied + 1, "last": last}
    assert done["kept"] is not None
    aside = Path(done["kept"])
    assert re.fullmatch(r"journal\.db\.damaged-\d{8}T\d{6}\.\d{6}Z", aside.name)
    assert (digest(aside) if aside.exists() else None) == before
    assert {path.name for path in folder_of(aside).iterdir()} == archives
    assert verify(journal) == verify(target) | {"path": str(journal)}
    assert [path for path in journal.parent.iterdir() if path.name.startswith(".")] == []
    with closing(opened(journal)) as writer:
        assert writer.next_seq == copied + 1
        write(writer, 3)
    assert verify(journal)["errors"] == []
    assert told_head(journal) == Anchor(copied + 3, bytes.fromhex(verify(journal)["head"]))


def test_what_is_missing_is_unknown_when_nothing_is_left(journal: Path, target: Path) -> None:
    copied = backup(journal, target)["records"]
    _zero_header(journal)
    head_path(journal).unlink()
    assert restore(target, journal)["missing"] == {"first": copied + 1, "last": None}


def test_what_is_missing_is_known_from_an_anchor_that_was_kept(journal: Path, target: Path) -> None:
    copied = backup(journal, target)["records"]
    _zero_header(journal)
    head_path(journal).unlink()
    anchors = (Anchor(copied + 40, bytes(32)), Anchor(copied, bytes.fromhex(verify(target)["head"])))
    assert restore(target, journal, anchors)["missing"] == {"first": copied + 1, "last": copied + 40}


def test_nothing_is_missing_when_the_copy_is_the_newest(journal: Path, target: Path) -> None:
    backup(journal, target)
    _flip(journal)
    assert restore(target, journal)["missing"] is None


def test_an_empty_place_is_restored(journal: Path, target: Path, tmp_path: Path) -> None:
    copied = backup(journal, target)["records"]
    (tmp_path / "new").mkdir()
    done = restore(target, tmp_path / "new" / "journal.db")
    assert (done["kept"], done["missing"]) == (None, {"first": copied + 1, "last": None})
    assert verify(tmp_path / "new" / "journal.db")["verified"]


def _bad_copy(target: Path) -> None:
    _flip(target)


def _bad_archive(target: Path) -> None:
    _sql(min(folder_of(target).iterdir()), "DELETE FROM money")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_bad_copy, "is not sound and is not used"),
        (_bad_archive, "is not sound and is not used: record"),
        (lambda target: min(folder_of(target).iterdir()).unlink(), "is not sound and is not used: archive"),
        (lambda target: target.unlink(), "there is no such file"),
        (lambda target: target.write_bytes(b""), "not a journal of feltd"),
        (_of_another_table, "a copy of another journal"),
    ],
)
def test_a_copy_that_is_not_sound_is_not_used(
    journal: Path, target: Path, spoil: Callable[[Path], object], said: str
) -> None:
    backup(journal, target)
    spoil(target)
    before = files(journal.parent)
    with pytest.raises(JournalError, match=said):
        restore(target, journal)
    assert files(journal.parent) == before


def test_a_copy_without_a_record_that_was_kept_is_not_used(journal: Path, target: Path) -> None:
    backup(journal, target)
    with pytest.raises(JournalError, match="written anew"):
        restore(target, journal, (Anchor(50, bytes(32)),))


def test_a_journal_in_use_is_not_replaced(journal: Path, target: Path) -> None:
    backup(journal, target)
    before = files(journal.parent)
    with (
        sole_owner(journal.with_name("journal.db.lock")),
        pytest.raises(JournalError, match=f"in use by a daemon .pid {os.getpid()}"),
    ):
        restore(target, journal)
    assert files(journal.parent) == before


def test_a_journal_is_not_restored_from_itself(journal: Path) -> None:
    with pytest.raises(JournalError, match="is the journal itself"):
        restore(journal, journal)


def test_f15_a_restore_that_fails_changes_nothing(
    lost: tuple[Path, int, int], target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, _, _ = lost
    _flip(journal)
    before = files(journal.parent)

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    for call in ("_copy_database", "_copy_archives", "verify_open", "_put_aside"):
        with monkeypatch.context() as patched:
            patched.setattr(backups, call, fail)
            with pytest.raises(JournalError, match="No space"):
                restore(target, journal)
        assert files(journal.parent) == before


# --- the commands ------------------------------------------------------------------------------------


@pytest.fixture
def playing(journal: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "daemon", "run", "--config", "feltd.toml"],
        cwd=journal.parent,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    while b'"started"' not in (line := process.stderr.readline()):
        assert line, "the daemon ended"
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def test_the_commands_at_a_table_that_plays(
    playing: subprocess.Popen[bytes], journal: Path, target: Path
) -> None:
    code, copied = feltd("backup", journal, target)
    assert (code, copied["backup"]) == (0, str(target))
    code, found = feltd("verify", target, "--anchor", f"{copied['records']}:{copied['head']}")
    assert (code, found["verified"], found["inputs"]) == (0, True, copied["records"])
    code, found = feltd("verify", target, "--quick", "--anchor", f"{copied['records'] + 1}:{'0' * 64}")
    assert (code, found["verified"]) == (1, False)
    for words in (("restore", target, journal), ("backup", target, journal)):
        before = digest(journal)
        code, refused = feltd(*words)
        assert (code, digest(journal)) == (1, before)
        assert f"pid {playing.pid}" in refused["error"]


def test_the_way_back_on_the_command_line(lost: tuple[Path, int, int], target: Path) -> None:
    journal, copied, last = lost
    _zero_header(journal)
    code, done = feltd("restore", target, journal, "--anchor", f"{last + 5}:{'0' * 64}")
    assert (code, done["missing"]) == (0, {"first": copied + 1, "last": last + 5})
    code, refused = feltd("backup", journal, target.parent)
    assert (code, "error" in refused) == (1, True)
    for words, said in (
        (["--anchor", f"{last + 5}:{'0' * 64}"], f"records {copied + 1} to {last + 5}"),
        (["--anchor", "0:" + "0" * 64], None),
        ([], f"records from {copied + 1} on, nobody knows how many"),
    ):
        _zero_header(journal)
        done_now = CliRunner().invoke(app, ["journal", "restore", str(target), str(journal), *words])
        assert done_now.exit_code == (0 if said else 1)
        assert said is None or f"missing: {said}\n" in done_now.stdout
    restore(target, journal)
    done_again = subprocess.run(
        [sys.executable, "-m", "daemon", "journal", "restore", str(target), str(journal), "--anchor", "x"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done_again.returncode == 2


def test_a_copy_holds_no_key(journal: Path, target: Path) -> None:
    """Whoever has the copy reads no face; the key is kept apart."""
    backup(journal, target)
    key = journal.with_name("journal.key").read_bytes()
    assert all(key not in path.read_bytes() for path in target.parent.rglob("*.db"))
    assert verify_open(target)["verified"]
    assert Sealer(key).signer.public == verify_open(target)["signer"]
