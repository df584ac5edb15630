"""Old records move out of the open file into archives, one file a day: the open file stays small.

A record is first copied, durably, and then taken out together with its line in the manifest. A crash
between leaves a copy that no manifest names: it does not count, and the next step takes it up.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from daemon.journal.chain import JournalError
from daemon.journal.schema import (
    ARCHIVE_ID,
    ARCHIVE_TABLES,
    create_file,
    header_of,
    open_to_write,
    reading,
    sync_folder,
)
from daemon.records import decode, encode

ROTATE_ABOVE: Final = 2_000  # records older than the newest snapshot; fewer stay where they are
STEP: Final = 100  # records a step: some milliseconds, and two commits
KEPT_ROUNDS: Final = 500  # newest rounds whose accounts stay in the open file
KEPT_KEYS: Final = 10_000  # newest keys of moved acts that are still answered
_MOVING: Final = ("records", "money", "outbox", "anchors", "rounds")
_NAME: Final = re.compile(r"\d{4}-\d\d-\d\d")
_DAY: Final = slice(len('{"at":"'), len('{"at":"2026-01-01'))  # canonical JSON begins with the stamp

Row = tuple[object, ...]


class Part(NamedTuple):
    """A line of the manifest: the records ``first`` to ``last``, and the hashes before and at the end."""

    name: str
    first: int
    last: int
    previous: bytes
    hash: bytes
    first_round: int | None
    last_round: int | None

    def path(self, folder: Path) -> Path:
        return folder / f"{self.name}.db"


def folder_of(journal: Path) -> Path:
    """Where the archives of a journal lie."""
    return journal.with_name(f"{journal.name}.archive")


def manifest(connection: sqlite3.Connection) -> list[Part]:
    """The archives of an open file, oldest first. Raises JournalError for a name that is none."""
    rows = connection.execute(f"SELECT {', '.join(Part._fields)} FROM archives ORDER BY first")
    parts = [Part._make(row) for row in rows]
    for part in parts:
        if not _NAME.fullmatch(str(part.name)):
            raise JournalError(f"{str(part.name)[:40]!r} is no name of an archive: the manifest was altered")
    return parts


@dataclass(slots=True)
class Moved:
    """What the open file remembers of all records that are in archives.

    ``balances`` are the accounts after them, minor units; ``devices`` the epoch and the highest
    ordinal of each device; ``outcomes`` how many rounds were closed with each.
    """

    balances: dict[str, int] = field(default_factory=dict)
    devices: dict[str, tuple[int, int]] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> Moved:
        """As an open file has it. Raises KeyError, TypeError or ValueError for what was never written."""
        row = connection.execute("SELECT value FROM meta WHERE key = 'moved'").fetchone()
        if row is None:
            return cls()
        told = decode(row[0])
        devices = {name: (epoch, ordinal) for name, (epoch, ordinal) in told["devices"].items()}
        return cls(dict(told["balances"]), devices, dict(told["outcomes"]))

    def data(self) -> bytes:
        devices = {name: list(place) for name, place in self.devices.items()}
        return encode({"balances": self.balances, "devices": devices, "outcomes": self.outcomes})

    def has(self, device: str | None, epoch: int, ordinal: int) -> bool:
        """Whether such an event is in an archive: a device's numbers only grow."""
        return device in self.devices and (epoch, ordinal) <= self.devices[device]

    def with_records(self, connection: sqlite3.Connection, last: int) -> Moved:
        """This, with the records up to ``last`` of the open file moved too."""
        balances = dict(self.balances)
        sums = "SELECT account, sum(amount) FROM money WHERE seq <= ? GROUP BY account"
        for account, amount in connection.execute(sums, (last,)):
            balances[account] = balances.get(account, 0) + amount
        devices = dict(self.devices)
        highest = "SELECT device, epoch, max(ordinal) FROM records WHERE seq <= ? AND device IS NOT NULL "
        for device, *place in connection.execute(f"{highest} GROUP BY device, epoch", (last,)):
            devices[device] = max(devices.get(device, (0, 0)), (place[0], place[1]))
        outcomes = dict(self.outcomes)
        closed = (
            "SELECT outcome, count(*) FROM rounds JOIN records AS r USING (seq) WHERE r.seq <= ? GROUP BY 1"
        )
        for outcome, count in connection.execute(closed, (last,)):
            outcomes[outcome] = outcomes.get(outcome, 0) + count
        return Moved({account: amount for account, amount in balances.items() if amount}, devices, outcomes)


class Archivist:
    """Moves the oldest records of one open file, a few at a time. It has the writer's connection."""

    def __init__(self, journal: Path, connection: sqlite3.Connection) -> None:
        self._folder = folder_of(journal)
        self._db = connection
        self._file: tuple[str, sqlite3.Connection] | None = None
        self.reload()

    def reload(self) -> None:
        """Read again what is moved: a step that failed may have been done or not."""
        parts = manifest(self._db)
        self.newest = parts[-1] if parts else None
        self.moved = Moved.of(self._db)

    @property
    def first(self) -> int:
        """The first record of the open file."""
        return self.newest.last + 1 if self.newest else 1

    def step(self, before: int) -> bool:
        """Move at most STEP records older than ``before``. False when another program holds the file.

        Raises JournalError, OSError or sqlite3.Error when they cannot be moved; nothing is lost then.
        """
        if not begun(self._db):
            return False
        part = self._next(before)
        self._copy(part)
        moved = self._take_out(part)
        self._db.execute("COMMIT")
        self.newest, self.moved = part, moved
        return True

    def _next(self, before: int) -> Part:
        """The manifest's line as it will be. A day's file takes what a clock set back calls earlier."""
        query = "SELECT seq, record, hash FROM records WHERE seq < ? ORDER BY seq LIMIT ?"
        rows = self._db.execute(query, (before, STEP)).fetchall()
        newest = self.newest
        name = max(_day(rows[0][1]), newest.name if newest else "")
        last, hash_ = next((seq, hash_) for seq, record, hash_ in reversed(rows) if _day(record) <= name)
        rounds = "SELECT min(id), max(id) FROM rounds WHERE seq BETWEEN ? AND ?"
        first_round, last_round = self._db.execute(rounds, (self.first, last)).fetchone()
        if newest is None or newest.name != name:
            return Part(name, self.first, last, self._hash_before(), hash_, first_round, last_round)
        first_round, last_round = newest.first_round or first_round, last_round or newest.last_round
        return newest._replace(last=last, hash=hash_, first_round=first_round, last_round=last_round)

    def _hash_before(self) -> bytes:
        return self.newest.hash if self.newest else hashlib.sha256(header_of(self._db)).digest()

    def _copy(self, part: Part) -> None:
        """Into the archive, in one durable transaction; then compare: what is deleted was read back."""
        archive = self._opened(part)
        archive.execute("BEGIN IMMEDIATE")
        try:
            held = archive.execute("SELECT coalesce(max(seq), 0) FROM records").fetchone()[0]
            for table in _MOVING:
                rows = _rows(self._db, table, max(held + 1, self.first), part.last)
                if rows:
                    archive.executemany(f"INSERT INTO {table} VALUES ({_marks(rows[0])})", rows)
            archive.execute("COMMIT")
        finally:
            if archive.in_transaction:
                archive.execute("ROLLBACK")
        for table in _MOVING:
            span = (table, self.first, part.last)
            if _rows(archive, *span) != _rows(self._db, *span):
                raise JournalError(
                    f"{part.path(self._folder)}: {table} of records {span[1]} to {span[2]} differ"
                )

    def _take_out(self, part: Part) -> Moved:
        db, last = self._db, (part.last,)
        moved = self.moved.with_records(db, part.last)
        keys = "INSERT OR REPLACE INTO keys SELECT seq, act_key FROM records"
        db.execute(f"{keys} WHERE seq <= ? AND act_key IS NOT NULL", last)
        oldest = "(SELECT seq FROM keys ORDER BY seq DESC LIMIT 1 OFFSET ?)"
        db.execute(f"DELETE FROM keys WHERE seq <= {oldest}", (KEPT_KEYS,))
        for table in ("records", "money", "outbox", "anchors"):
            db.execute(f"DELETE FROM {table} WHERE seq <= ?", last)
        newest = "(SELECT id FROM rounds ORDER BY id DESC LIMIT 1 OFFSET ?)"
        db.execute(f"DELETE FROM rounds WHERE seq <= ? AND id <= {newest}", (*last, KEPT_ROUNDS))
        db.execute(f"INSERT OR REPLACE INTO archives VALUES ({_marks(part)})", part)
        db.execute("INSERT OR REPLACE INTO meta VALUES ('moved', ?)", (moved.data(),))
        return moved

    def _opened(self, part: Part) -> sqlite3.Connection:
        """The archive of this line, made when it is a new one. Raises JournalError for another file."""
        if self._file and self._file[0] == part.name:
            return self._file[1]
        self.close()
        path, grows = part.path(self._folder), part.first < self.first
        if not grows and not path.exists():
            self._folder.mkdir(exist_ok=True)
            sync_folder(self._folder.parent)
            create_file(path, ARCHIVE_ID, ARCHIVE_TABLES, header_of(self._db))
        self._require_ours(path, grows)
        archive = open_to_write(path, ARCHIVE_ID)
        self._file = (part.name, archive)
        return archive

    def _require_ours(self, path: Path, grows: bool) -> None:
        """Read first: what is not ours is kept byte for byte."""
        with reading(path, ARCHIVE_ID) as archive:
            if header_of(archive) != header_of(self._db):
                raise JournalError(f"{path}: an archive of another journal")
            row = archive.execute("SELECT hash FROM records WHERE seq = ?", (self.first - 1,)).fetchone()
            if grows and (self.newest is None or row != (self.newest.hash,)):
                raise JournalError(f"{path}: does not hold record {self.first - 1} as the manifest says")

    def close(self) -> None:
        """Let go of the archive: it is one file then, with nothing beside it."""
        if self._file is None:
            return
        archive, self._file = self._file[1], None
        with suppress(sqlite3.Error):  # somebody reads it; it is as good with its log
            archive.execute("PRAGMA journal_mode = DELETE")
        archive.close()


def begun(connection: sqlite3.Connection) -> bool:
    """Open a transaction that writes; False when another connection holds the file."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return False
        raise
    return True


def _day(record: bytes) -> str:
    """The UTC day of a record. Raises JournalError when it is none."""
    day = record[_DAY].decode("ascii", "replace")
    if not _NAME.fullmatch(day):
        raise JournalError(f"a record has no day: {day!r}")
    return day


def _rows(connection: sqlite3.Connection, table: str, first: int, last: int) -> list[Row]:
    query = f"SELECT * FROM {table} WHERE seq BETWEEN ? AND ? ORDER BY 1, 2"
    return connection.execute(query, (first, last)).fetchall()


def _marks(row: Row) -> str:
    return ", ".join("?" * len(row))
