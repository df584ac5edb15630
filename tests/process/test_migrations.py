"""A journal of an older format: read as it is, and brought to ours at once or not at all (F07)."""

from __future__ import annotations

import io
import os
import re
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from daemon.audit import export, verify
from daemon.journal import (
    APPLICATION_ID,
    FORMAT,
    Entry,
    JournalError,
    create,
    header_bytes,
    open_journal,
    schema,
)
from daemon.records import input_record, outcome_record
from daemon.sealer import Sealer
from daemon.table import Outcome, Started

RECORDED = (
    Path(__file__).parents[1] / "records" / "journal-format-1.sql"
)  # written by the program of format 1
SEALER = Sealer(bytes(range(32)))
RECORDS = 25
STATEMENTS = 2 + len(schema.MIGRATIONS[1]) + 1  # BEGIN, the tables, the number, COMMIT


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(RECORDED.read_text())
        connection.execute("PRAGMA journal_mode = WAL")
    return path


def tables(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Everything in the file."""
    with closing(sqlite3.connect(path)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in names}


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return schema.format_of(connection)


def started(seq: int, signer: str) -> Entry:
    plain, _ = input_record(Started("0", ("shoe", "sign"), signer=signer))
    return Entry(seq, outcome_record("2026-01-02T00:00:00.000000Z", plain, Outcome(), "between-rounds"))


def test_an_old_journal_is_verified_and_exported_as_it_is(old: Path) -> None:
    before = old.read_bytes()
    found = verify(old)
    assert found["errors"] == []
    assert (found["inputs"], found["rounds"], found["signer"], found["anchor"]) == (RECORDS, 1, "", "")
    out = io.BytesIO()
    assert export(old, out) == RECORDS
    assert out.getvalue().count(b'"anchor":null') == RECORDS
    assert (old.read_bytes(), version(old)) == (before, 1)


def test_an_old_journal_is_brought_to_our_format(old: Path) -> None:
    before, found = tables(old), verify(old)
    with closing(open_journal(old, SEALER)) as journal:
        assert journal.next_seq == RECORDS + 1
        assert journal.answered("k-1") is not None
        assert len(list(journal.replay())) == RECORDS
    assert version(old) == FORMAT
    after = tables(old)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"anchors", "archives", "keys"}
    assert verify(old) == found


def test_anchors_begin_with_the_first_signer(old: Path) -> None:
    with closing(open_journal(old, SEALER)) as journal:
        assert journal.begin()
        journal.append(started(RECORDS + 1, journal.signer))
        journal.commit()
    found = verify(old)
    assert found["errors"] == []
    assert (found["signer"], found["anchor"]) == (SEALER.signer.public, "")


class Failing(sqlite3.Connection):
    """Does something instead of its ``after + 1``-th statement from now on."""

    after: int
    instead: Callable[[], object]

    def execute(self, statement: str, *args: Any) -> sqlite3.Cursor:  # type: ignore[override]
        if not re.match(r"PRAGMA user_version$|ROLLBACK", statement):
            if self.after == 0:
                self.instead()
            self.after -= 1
        return super().execute(statement, *args)


def failing(path: Path, after: int, instead: Callable[[], object]) -> Failing:
    connection = sqlite3.connect(path, isolation_level=None, factory=Failing)
    connection.after, connection.instead = after, instead
    return connection


def _raise() -> None:
    raise OSError("the disk is full")


@pytest.mark.parametrize("after", range(STATEMENTS))
def test_an_error_at_any_statement_leaves_the_old_format_whole(old: Path, after: int) -> None:
    before = tables(old)
    with closing(failing(old, after, _raise)) as connection, pytest.raises(OSError, match="full"):
        schema.migrate(connection)
    assert (version(old), tables(old)) == (1, before)
    assert verify(old)["verified"]


@pytest.mark.parametrize("after", range(STATEMENTS + 1))
def test_a_kill_at_any_statement_leaves_one_format_whole(old: Path, after: int) -> None:
    before = tables(old)
    child = os.fork()
    if child == 0:
        connection = failing(old, after, lambda: os.kill(os.getpid(), signal.SIGKILL))
        schema.migrate(connection)
        os.kill(os.getpid(), signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    done = after >= STATEMENTS
    assert (version(old), tables(old) == before) == (FORMAT if done else 1, not done)
    assert verify(old)["verified"]
    with closing(open_journal(old, SEALER)) as journal:
        assert journal.next_seq == RECORDS + 1
    assert version(old) == FORMAT


def test_a_number_counts_all_statements(old: Path) -> None:
    """Else the two tests before would stop short of COMMIT."""
    with closing(failing(old, STATEMENTS, _raise)) as connection:
        schema.migrate(connection)
        assert connection.after == 0


@pytest.mark.parametrize("number", [0, FORMAT + 1, 900])
def test_a_format_that_we_do_not_know_is_refused_by_its_number(old: Path, number: int) -> None:
    with closing(sqlite3.connect(old)) as connection:
        connection.execute(f"PRAGMA user_version = {number}")
    before = old.read_bytes()
    with pytest.raises(JournalError, match=rf"journal format {number}; this program knows 1 to {FORMAT}"):
        open_journal(old, SEALER)
    assert f"journal format {number}" in verify(old)["errors"][0]
    assert old.read_bytes() == before


def test_a_new_journal_is_made_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F15: its name comes when everything is on disk."""
    path = tmp_path / "journal.db"
    header = header_bytes("T", "caribbean", "", ())
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", lambda *args: _raise())
        with pytest.raises(OSError, match="full"):
            create(path, header)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".journal.db.new").write_bytes(b"a rest of an attempt")
    create(path, header)
    assert verify(path)["verified"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    with pytest.raises(FileExistsError):
        create(path, header)
    assert [each.name for each in tmp_path.iterdir()] == ["journal.db"]


@pytest.mark.parametrize("left", ["journal.db.head", "journal.db.archive"])
def test_what_a_journal_left_behind_is_not_mixed_with_a_new_one(tmp_path: Path, left: str) -> None:
    """F02: there was a journal here, and an empty one must not take its place."""
    (tmp_path / left).mkdir()
    with pytest.raises(FileExistsError, match="is missing: restore"):
        create(tmp_path / "journal.db", header_bytes("T", "caribbean", "", ()))
