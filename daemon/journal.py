"""The journal: every input with what became of it, one commit before anything acts on it.

One SQLite file, WAL, ``synchronous=FULL``. Each record continues a SHA-256 chain::

    hash(n) = SHA-256( hash(n-1) | length of record, 8 bytes big-endian | record | sealed )

over the record's canonical JSON and the sealed faces; ``hash(0)`` is the SHA-256 of the
header. So verifying needs no key; replaying does.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from daemon.records import Plain, decode, encode, in_clear
from daemon.sealer import Sealer

FORMAT: Final = 1
APPLICATION_ID: Final = 0x46454C54  # "FELT"
NO_FACES: Final = b""

_SCHEMA: Final = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    """CREATE TABLE records (
        seq INTEGER PRIMARY KEY, device TEXT, epoch INTEGER, ordinal INTEGER, act_key TEXT,
        record BLOB NOT NULL, sealed BLOB NOT NULL, hash BLOB NOT NULL)""",
    # An event of a device, and an act with a key, is in the journal once.
    "CREATE UNIQUE INDEX one_event ON records (device, epoch, ordinal) WHERE ordinal > 0",
    "CREATE UNIQUE INDEX one_act ON records (act_key) WHERE act_key IS NOT NULL",
    """CREATE TABLE money (
        seq INTEGER, line INTEGER, account TEXT NOT NULL, amount INTEGER NOT NULL, reason TEXT NOT NULL,
        PRIMARY KEY (seq, line)) WITHOUT ROWID""",
    """CREATE TABLE outbox (
        seq INTEGER, line INTEGER, kind TEXT NOT NULL, box INTEGER NOT NULL, amount INTEGER NOT NULL,
        PRIMARY KEY (seq, line)) WITHOUT ROWID""",
    """CREATE TABLE rounds (
        id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, outcome TEXT NOT NULL, summary BLOB NOT NULL)""",
)


class JournalError(Exception):
    """The journal cannot be used; the text says why and what to do. The file is kept as it is."""


class Entry(NamedTuple):
    """One record for the journal. ``faces`` are in clear here and nowhere on disk."""

    seq: int
    record: Plain
    faces: bytes = NO_FACES
    device: str | None = None
    epoch: int = 0
    ordinal: int = 0
    key: str = ""
    snapshot: bool = False  # recovery may begin after it


class Journal(Protocol):
    """Where the engine writes. ``begin`` comes before the table is touched."""

    @property
    def next_seq(self) -> int: ...

    def begin(self) -> bool:
        """Open the transaction; False when it cannot be had now, and nothing has changed."""

    def append(self, entry: Entry) -> None: ...

    def commit(self) -> None:
        """Make everything since ``begin`` durable. Raises when that is not certain."""

    def rollback(self) -> None: ...

    def answered(self, key: str) -> Plain | None:
        """The record of the act that carried ``key``, with its ``seq``; None when there was none."""

    def close(self) -> None: ...


def canonical_line(seq: int, record: Plain, faces: bytes) -> bytes:
    """One line of ``feltd journal export --canonical``: faces in clear, no ciphertext."""
    return encode({"seq": seq, **in_clear(record, faces)}) + b"\n"


def link_hash(previous: bytes, record: bytes, sealed: bytes) -> bytes:
    """The next hash of the chain."""
    digest = hashlib.sha256(previous)
    digest.update(len(record).to_bytes(8, "big"))
    digest.update(record)
    digest.update(sealed)
    return digest.digest()


def header_bytes(table: str, game: str, created: str, simulated: tuple[str, ...]) -> bytes:
    """The journal's header, whose SHA-256 begins the chain."""
    return encode(
        {"format": FORMAT, "table": table, "game": game, "created": created, "simulated": list(simulated)}
    )


class MemoryJournal:
    """A journal for simulation: it keeps the canonical hash, the keys, and no records."""

    def __init__(self) -> None:
        self.next_seq = 1
        self._digest = hashlib.sha256()
        self._keys: dict[str, Plain] = {}

    def begin(self) -> bool:
        return True

    def append(self, entry: Entry) -> None:
        self._digest.update(canonical_line(entry.seq, entry.record, entry.faces))
        self.next_seq = entry.seq + 1
        if entry.key:
            self._keys[entry.key] = {"seq": entry.seq, **entry.record}

    def commit(self) -> None:
        pass

    def rollback(self) -> None:
        raise JournalError("a simulation cannot take a record back")

    def answered(self, key: str) -> Plain | None:
        return self._keys.get(key)

    def close(self) -> None:
        pass

    def sha256(self) -> str:
        return self._digest.hexdigest()


class SqliteJournal:
    """The journal file of a table. One writer; readers open it for themselves, read-only."""

    def __init__(self, connection: sqlite3.Connection, sealer: Sealer) -> None:
        self._db = connection
        self._sealer = sealer
        row = connection.execute("SELECT seq, hash FROM records ORDER BY seq DESC LIMIT 1").fetchone()
        self._head: tuple[int, bytes] = row or (0, hashlib.sha256(_header(connection)).digest())
        self._open_head = self._head

    @property
    def next_seq(self) -> int:
        return self._open_head[0] + 1

    def begin(self) -> bool:
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return False
            raise
        return True

    def append(self, entry: Entry) -> None:
        seq, record = entry.seq, encode(entry.record)
        sealed = self._sealer.seal(seq, entry.faces) if entry.faces else b""
        self._open_head = (seq, link_hash(self._open_head[1], record, sealed))
        self._db.execute(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                seq,
                entry.device,
                entry.epoch,
                entry.ordinal,
                entry.key or None,
                record,
                sealed,
                self._open_head[1],
            ),
        )
        if "money" in entry.record:
            self._append_money(seq, entry.record["money"])
        if "outbox" in entry.record:
            rows = [(seq, line, *row) for line, row in enumerate(entry.record["outbox"])]
            self._db.executemany("INSERT INTO outbox VALUES (?, ?, ?, ?, ?)", rows)
        if entry.snapshot:
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('snapshot', ?)", (str(seq),))
        for effect in entry.record.get("effects", ()):
            if effect["effect"] == "round-closed":
                row = (effect["id"], seq, effect["outcome"], encode(effect["summary"]))
                self._db.execute("INSERT INTO rounds VALUES (?, ?, ?, ?)", row)

    def _append_money(self, seq: int, moves: list[Any]) -> None:
        """Double entry: each movement is two rows that sum to zero."""
        rows = []
        for number, (source, target, amount, reason) in enumerate(moves):
            rows.append((seq, 2 * number, source, -amount, reason))
            rows.append((seq, 2 * number + 1, target, amount, reason))
        self._db.executemany("INSERT INTO money VALUES (?, ?, ?, ?, ?)", rows)

    def commit(self) -> None:
        self._db.execute("COMMIT")
        self._head = self._open_head

    def rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._open_head = self._head

    def answered(self, key: str) -> Plain | None:
        row = self._db.execute("SELECT seq, record FROM records WHERE act_key = ?", (key,)).fetchone()
        return {"seq": row[0], **decode(row[1])} if row else None

    def latest_snapshot(self) -> tuple[int, Plain] | None:
        row = self._db.execute("SELECT value FROM meta WHERE key = 'snapshot'").fetchone()
        if row is None:
            return None
        seq = int(row[0])
        record = self._db.execute("SELECT record FROM records WHERE seq = ?", (seq,)).fetchone()
        return seq, decode(record[0])["input"]["state"]

    def replay(self, after: int = 0) -> Iterator[tuple[int, Plain, bytes]]:
        """Every record later than ``after`` with its faces in clear, in order."""
        rows = "SELECT seq, record, sealed FROM records WHERE seq > ? ORDER BY seq"
        for seq, record, sealed in self._db.execute(rows, (after,)):
            yield seq, decode(record), self._sealer.open(seq, sealed) if sealed else NO_FACES

    def rounds(self, last: int) -> list[Plain]:
        """The summaries of the last closed rounds, newest first."""
        rows = self._db.execute("SELECT summary FROM rounds ORDER BY id DESC LIMIT ?", (last,))
        return [decode(row[0]) for row in rows]

    def round(self, round_id: int) -> Plain | None:
        row = self._db.execute("SELECT summary FROM rounds WHERE id = ?", (round_id,)).fetchone()
        return decode(row[0]) if row else None

    def close(self) -> None:
        self._db.close()


def _header(connection: sqlite3.Connection) -> bytes:
    row = connection.execute("SELECT value FROM meta WHERE key = 'header'").fetchone()
    if row is None:
        raise JournalError("this is no journal of feltd: it has no header")
    return bytes(row[0])


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # busy timeout 0: a refused BEGIN is answered at once, not waited for (the loop must not stand).
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=0,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.DatabaseError as error:
        connection.close()
        raise JournalError(f"{path}: {error}; the file is kept as it is: restore a verified copy") from None
    if mode != "rwc" and application != APPLICATION_ID:
        connection.close()
        raise JournalError(f"{path}: not a journal of feltd; the file is kept as it is")
    return connection


def create(path: Path, header: bytes) -> None:
    """Make a new journal. Raises FileExistsError: a journal is never replaced."""
    if path.exists():
        raise FileExistsError(path)
    connection = _connect(path, "rwc")
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute("INSERT INTO meta VALUES ('header', ?)", (header,))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    finally:
        connection.close()


def open_journal(path: Path, sealer: Sealer) -> SqliteJournal:
    """The journal for its one writer. Raises JournalError when it is damaged or foreign."""
    connection = _connect(path, "rw")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != FORMAT:
        raise JournalError(f"{path}: journal format {version}, this program writes {FORMAT}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    _require(connection, "journal_mode", "wal")
    _require(connection, "synchronous", 2)
    return SqliteJournal(connection, sealer)


def _require(connection: sqlite3.Connection, pragma: str, value: object) -> None:
    found = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    if found != value:
        raise JournalError(f"{pragma} is {found}, not {value}: what is acknowledged would not be durable")
