"""The journal file of a table: every input with what became of it, one commit before anything acts on it.

One SQLite file, WAL, ``synchronous=FULL``; what is old is in archives beside it.
"""

from __future__ import annotations

import errno
import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final, Protocol

from daemon.anchor import Anchor
from daemon.journal.archive import ROTATE_ABOVE, Archivist, Part, begun, folder_of, manifest
from daemon.journal.chain import NO_FACES, Entry, JournalError, Outgoing, closes_round, link_hash
from daemon.journal.head import HeadFile, head_path, told_head
from daemon.journal.schema import (
    APPLICATION_ID,
    ARCHIVE_ID,
    FORMAT,
    KEPT,
    MIGRATIONS,
    create_file,
    header_of,
    migrate,
    open_to_write,
    reading,
)
from daemon.records import Plain, decode, encode
from daemon.sealer import NO_KEY_LEFT, Sealer, SealError

PROBE: Final = 128 * 1024  # bytes: a few rounds


class Log(Protocol):
    def __call__(self, event: str, **facts: object) -> None: ...


def _unheard(event: str, **facts: object) -> None:
    """Nobody listens."""


class SqliteJournal:
    """The journal of a table. One writer; readers open the file for themselves, read-only.

    ``trouble`` is a sentence while old records cannot be moved, "" when all is well. The table plays on.
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, sealer: Sealer, log: Log = _unheard
    ) -> None:
        self.path = path
        self._db = connection
        self._sealer = sealer
        self._log = log
        self._archivist = Archivist(path, connection)
        self._table = str(decode(header_of(connection)).get("table", ""))
        self._signer, self._snapshot = _remembered(connection)
        self._head = self._open_head = self._last()
        self._anchors: list[tuple[Anchor, bytes]] = []  # of the open transaction
        self._head_file = HeadFile(path)
        self._head_file.write(*self._head)
        self._moving = False
        self._moving_failed_at = -1  # the snapshot at which it did
        self.trouble = ""

    def _last(self) -> Anchor:
        row = self._db.execute("SELECT seq, hash FROM records ORDER BY seq DESC LIMIT 1").fetchone()
        if row is not None:
            return Anchor(*row)
        newest = self._archivist.newest
        if newest is not None:
            return Anchor(newest.last, newest.hash)
        return Anchor(0, hashlib.sha256(header_of(self._db)).digest())

    # --- writing ------------------------------------------------------------------------------

    @property
    def next_seq(self) -> int:
        return self._open_head.seq + 1

    @property
    def first(self) -> int:
        """The oldest record of the open file: those before it are in archives."""
        return self._archivist.first

    @property
    def signer(self) -> str:
        """The public key of this table's anchors, for its ``started`` records."""
        return self._sealer.signer.public

    def begin(self) -> bool:
        return begun(self._db)

    def append(self, entry: Entry) -> None:
        seq, record = entry.seq, encode(entry.record)
        if entry.ordinal and self._archivist.moved.has(entry.device, entry.epoch, entry.ordinal):
            raise JournalError(f"event {entry.ordinal} of {entry.device} is in an archive already")
        sealed = self._sealer.seal(seq, entry.faces) if entry.faces else b""
        self._open_head = Anchor(seq, link_hash(self._open_head.hash, record, sealed))
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
                self._open_head.hash,
            ),
        )
        if "money" in entry.record:
            self._append_money(seq, entry.record["money"])
        if "outbox" in entry.record:
            rows = [(seq, line, *row) for line, row in enumerate(entry.record["outbox"])]
            self._db.executemany("INSERT INTO outbox VALUES (?, ?, ?, ?, ?)", rows)
        if entry.snapshot:
            self._remember("snapshot", str(seq))
            self._snapshot = seq
        if not self._signer and "signer" in entry.record.get("input", ()):
            self._signer = entry.record["input"]["signer"]
            self._remember("signer", self._signer)
        if "effects" in entry.record and closes_round(entry.record):
            self._close_round(entry.record)

    def _append_money(self, seq: int, moves: list[Any]) -> None:
        """Double entry: each movement is two rows that sum to zero."""
        rows = []
        for number, (source, target, amount, reason) in enumerate(moves):
            rows.append((seq, 2 * number, source, -amount, reason))
            rows.append((seq, 2 * number + 1, target, amount, reason))
        self._db.executemany("INSERT INTO money VALUES (?, ?, ?, ?, ?)", rows)

    def _close_round(self, record: Plain) -> None:
        head = self._open_head
        for effect in record["effects"]:
            if effect["effect"] == "round-closed":
                row = (effect["id"], head.seq, effect["outcome"], encode(effect["summary"]))
                self._db.execute("INSERT INTO rounds VALUES (?, ?, ?, ?)", row)
        if self._signer:  # before that nobody was told by whom
            signature = self._sealer.signer.sign(self._table, head)
            self._db.execute("INSERT INTO anchors VALUES (?, ?)", (head.seq, signature))
            self._anchors.append((head, signature))

    def _remember(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def commit(self) -> None:
        self._db.execute("COMMIT")
        self._head = self._open_head
        self._head_file.write(*self._head)
        for anchor, signature in self._anchors:
            self._log("anchor", seq=anchor.seq, hash=anchor.hash.hex(), signature=signature.hex())
        self._anchors.clear()

    def rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._open_head = self._head
        self._anchors.clear()
        self._signer, self._snapshot = _remembered(self._db)

    def has_room(self) -> bool:
        """Whether PROBE bytes can be committed now; tried, and taken back. True while it is held by
        another program: that is another matter."""
        if not self.begin():
            return True
        try:
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('room', zeroblob(?))", (PROBE,))
            self._db.execute("COMMIT")
            self._db.execute("DELETE FROM meta WHERE key = 'room'")
        except sqlite3.OperationalError as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                return False
            raise
        return True

    # --- between rounds -----------------------------------------------------------------------

    def tidy(self) -> None:
        """Move a step of old records into the archives, if there are many; some milliseconds at most.

        What goes wrong is told in ``trouble`` and tried again at the next snapshot: the records stay.
        """
        if not self._is_due():
            return
        try:
            self._moving = True
            if not self._archivist.step(self._snapshot):
                return
            if self._archivist.first == self._snapshot:
                self._moved_all()
        except (JournalError, OSError, sqlite3.Error) as error:
            self._cannot_move(error)

    def _is_due(self) -> bool:
        if self._snapshot <= max(self._archivist.first, self._moving_failed_at):
            return False
        return self._moving or self._snapshot - self._archivist.first > ROTATE_ABOVE

    def _moved_all(self) -> None:
        newest = self._archivist.newest
        self._archivist.close()
        self._moving, self.trouble = False, ""
        if newest is not None:
            self._log("archived", until=newest.last, archive=newest.name)

    def _cannot_move(self, error: Exception) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._archivist.close()
        self._archivist.reload()
        self._moving, self._moving_failed_at = False, self._snapshot
        self.trouble = f"old records stay in the journal: {error}"
        self._log("archive-failed", error=type(error).__name__, text=str(error))

    # --- reading ------------------------------------------------------------------------------

    def answered(self, key: str) -> Plain | None:
        """The record of the act that carried ``key``: in the open file, or among the newest
        KEPT_KEYS that were moved. Raises JournalError when its archive cannot be read."""
        row = self._db.execute("SELECT seq, record FROM records WHERE act_key = ?", (key,)).fetchone()
        if row is None:
            row = self._db.execute("SELECT seq FROM keys WHERE act_key = ?", (key,)).fetchone()
            row = (row[0], self._archived(row[0])) if row else None
        return {"seq": row[0], **decode(row[1])} if row else None

    def _archived(self, seq: int) -> bytes:
        for part in manifest(self._db):
            if part.first <= seq <= part.last:
                with reading(part.path(folder_of(self.path)), ARCHIVE_ID) as archive:
                    row = archive.execute("SELECT record FROM records WHERE seq = ?", (seq,)).fetchone()
                    if row:
                        return bytes(row[0])
        raise JournalError(f"record {seq} is in no archive: {KEPT}")

    def latest_snapshot(self) -> tuple[int, Plain] | None:
        seq = int(_meta(self._db, "snapshot") or 0)
        if not seq:
            return None
        record = self._db.execute("SELECT record FROM records WHERE seq = ?", (seq,)).fetchone()
        return seq, decode(record[0])["input"]["state"]

    def replay(self, after: int = 0) -> Iterator[tuple[int, Plain, bytes]]:
        """Every record later than ``after`` with its faces in clear, in order; archives too."""
        rows = "SELECT seq, record, sealed FROM records WHERE seq BETWEEN ? AND ? ORDER BY seq"
        with ExitStack() as opened:
            for part, connection in self._parts(after, opened):
                for seq, record, sealed in connection.execute(rows, (after + 1, part)):
                    yield seq, decode(record), self._sealer.open(seq, sealed) if sealed else NO_FACES

    def _parts(self, after: int, opened: ExitStack) -> Iterator[tuple[int, sqlite3.Connection]]:
        """Each file with records later than ``after``, and the last of them that counts."""
        for part in manifest(self._db) if after + 1 < self.first else ():
            if part.last > after:
                yield part.last, opened.enter_context(reading(part.path(folder_of(self.path)), ARCHIVE_ID))
                opened.close()
        yield self._open_head.seq, self._db

    def rounds(self, last: int) -> list[Plain]:
        """The summaries of the last closed rounds, newest first; KEPT_ROUNDS and more of them."""
        rows = self._db.execute("SELECT summary FROM rounds ORDER BY id DESC LIMIT ?", (last,))
        return [decode(row[0]) for row in rows]

    def round(self, round_id: int) -> Plain | None:
        """The summary of a closed round. Raises JournalError when its archive cannot be read."""
        one = "SELECT summary FROM rounds WHERE id = ?"
        row = self._db.execute(one, (round_id,)).fetchone()
        part = None if row else self._part_with_round(round_id)
        if part is not None:
            with reading(part.path(folder_of(self.path)), ARCHIVE_ID) as archive:
                row = archive.execute(one, (round_id,)).fetchone()
        return decode(row[0]) if row else None

    def records(self, after: int, limit: int) -> list[tuple[int, Plain]]:
        """The records later than ``after``, in order, ``limit`` at most; what is sealed stays so."""
        rows = "SELECT seq, record FROM records WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?"
        found: list[tuple[int, Plain]] = []
        with ExitStack() as opened:
            for last, connection in self._parts(after, opened):
                span = (after + 1, last, limit - len(found))
                found += [(seq, decode(record)) for seq, record in connection.execute(rows, span)]
                if len(found) == limit:
                    break
        return found

    def outbox(self, after: int, limit: int) -> list[Outgoing]:
        """The first ``limit`` records later than ``after`` that have something for a linked pool."""
        found: list[Outgoing] = []
        with ExitStack() as opened:
            for last, connection in self._parts(after, opened):
                prior = found[-1].seq if found else self._outgoing_before(after)
                found += _outgoing(connection, after + 1, last, limit - len(found), prior)
                if len(found) == limit:
                    break
        return found

    def _outgoing_before(self, after: int) -> int:
        """The last record up to ``after`` that has something for a linked pool, 0 for none."""
        newest = "SELECT max(seq) FROM outbox WHERE seq <= ?"
        found = self._db.execute(newest, (after,)).fetchone()[0]
        if found is None:
            for part in reversed(manifest(self._db)):
                with reading(part.path(folder_of(self.path)), ARCHIVE_ID) as archive:
                    found = archive.execute(newest, (min(after, part.last),)).fetchone()[0]
                if found is not None:
                    break
        return int(found or 0)

    def rounds_over(self, first: int, last: int) -> list[tuple[int, int, int]]:
        """Id, first and last record of the closed rounds that records ``first`` to ``last`` are of."""
        found: list[tuple[int, int, int]] = []
        with ExitStack() as opened:
            for end, connection in self._parts(first - 1, opened):
                from_here = max(first, self.first) if connection is self._db else first
                over = [each for each in _rounds_from(connection, from_here, last) if each[2] <= end]
                found += [each for each in over if each[1] <= last]
                if over and over[-1][2] >= last:
                    break
        return found

    def outcomes(self, after: int) -> list[tuple[str, int, int]]:
        """Outcome, number, and last id of the closed rounds later than the round ``after``, which is 0
        or among the newest KEPT_ROUNDS. For archived ones the last id of all stands for that of each."""
        rows = "SELECT outcome, count(*), max(id) FROM rounds WHERE id > ? AND seq >= ? GROUP BY outcome"
        found = {row[0]: row for row in self._db.execute(rows, (after, 0 if after else self.first))}
        newest = self._archivist.newest
        if not after and newest is not None:
            for outcome, count in self._archivist.moved.outcomes.items():
                _, more, last = found.get(outcome, ("", 0, newest.last_round or 0))
                found[outcome] = (outcome, count + more, last)
        return sorted(found.values())

    def _part_with_round(self, round_id: int) -> Part | None:
        for part in manifest(self._db):
            if part.first_round and part.last_round and part.first_round <= round_id <= part.last_round:
                return part
        return None

    def close(self) -> None:
        self._archivist.close()
        self._db.close()
        self._head_file.close()


def _outgoing(
    connection: sqlite3.Connection, first: int, last: int, limit: int, prior: int
) -> Iterator[Outgoing]:
    """Records of one file, from ``first`` to ``last``, with their lines."""
    numbers = "SELECT DISTINCT seq FROM outbox WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?"
    its_lines = "SELECT line, kind, box, amount FROM outbox WHERE seq = ? ORDER BY line"
    for (seq,) in connection.execute(numbers, (first, last, limit)).fetchall():
        lines = tuple(connection.execute(its_lines, (seq,)))
        record = decode(connection.execute("SELECT record FROM records WHERE seq = ?", (seq,)).fetchone()[0])
        closed = [e["id"] for e in record.get("effects", ()) if e["effect"] == "round-closed"]
        reason = str(record["input"].get("args", {}).get("text", ""))
        yield Outgoing(seq, prior, lines, closed[0] if closed else None, reason)
        prior = seq


def _rounds_from(connection: sqlite3.Connection, first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """Rounds of one file from the first that ends with ``first`` or later, to the first that does so with
    ``last``: id, first and last record."""
    rows = "SELECT id, seq, summary FROM rounds WHERE id >= ? ORDER BY id"
    with closing(connection.execute(rows, (_round_ending(connection, first),))) as later:
        for number, end, summary in later:
            yield number, decode(summary)["inputs"][0], end
            if end >= last:
                return


def _round_ending(connection: sqlite3.Connection, seq: int) -> int:
    """The first id whose round ended at ``seq`` or later. Ids and ends grow together."""
    low, high = 1, 1 + (connection.execute("SELECT max(id) FROM rounds").fetchone()[0] or 0)
    while low < high:
        middle = (low + high) // 2
        row = "SELECT id, seq FROM rounds WHERE id >= ? ORDER BY id LIMIT 1"
        number, end = connection.execute(row, (middle,)).fetchone()
        low, high = (low, middle) if end >= seq else (number + 1, high)
    return low


def _remembered(connection: sqlite3.Connection) -> tuple[str, int]:
    """The signer, "" for none, and the newest snapshot, 0 for none."""
    return str(_meta(connection, "signer") or ""), int(_meta(connection, "snapshot") or 0)


def _meta(connection: sqlite3.Connection, key: str) -> Any:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


# --- opening ---------------------------------------------------------------------------------


def require_new(path: Path) -> None:
    """Raises FileExistsError for a journal, and for what another one left behind."""
    if path.exists():
        raise FileExistsError(errno.EEXIST, "is there, and is kept", str(path))
    for left in (head_path(path), folder_of(path)):
        if left.exists():
            why = "is there, and its journal is missing: restore the journal, or move this away"
            raise FileExistsError(errno.EEXIST, why, str(left))


def is_blank(path: Path) -> bool:
    """Whether a journal has no record yet: nothing but a start that was cut off leaves it so."""
    try:
        with reading(path) as connection:
            return connection.execute("SELECT 1 FROM records LIMIT 1").fetchone() is None
    except JournalError:
        return False


def create(path: Path, header: bytes) -> None:
    """Make a new journal. Raises as :func:`require_new`: a journal is never replaced."""
    require_new(path)
    statements = [statement for version in range(FORMAT) for statement in MIGRATIONS[version]]
    create_file(path, APPLICATION_ID, tuple(statements), header)


def open_journal(path: Path, sealer: Sealer, log: Log = _unheard) -> SqliteJournal:
    """The journal for its one writer; an older format is brought to ours.

    Raises JournalError when it is damaged, foreign, or shorter than what was committed, and
    SealError for a key that is not the one whose anchors it has.
    """
    with reading(path) as before:  # what is not right is kept byte for byte
        _require_head(before, path)
        _require_signer(before, sealer)
    connection = open_to_write(path, APPLICATION_ID)
    try:
        migrate(connection)
        return SqliteJournal(path, connection, sealer, log)
    except BaseException:
        connection.close()
        raise


def _require_head(connection: sqlite3.Connection, path: Path) -> None:
    wrong = missing_after(connection, told_head(path))
    if wrong:
        raise JournalError(f"{path}: {wrong}; {KEPT}")


def missing_after(connection: sqlite3.Connection, kept: Anchor | None) -> str:
    """What an anchor says against the open file; "" for nothing."""
    if kept is None or kept.seq == 0:
        return ""
    last = connection.execute("SELECT coalesce(max(seq), 0) FROM records").fetchone()[0]
    if last < kept.seq:
        gap = f"{last + 1} to {kept.seq} are missing"
        return f"it ends with record {last}, and record {kept.seq} was committed: {gap}"
    row = connection.execute("SELECT hash FROM records WHERE seq = ?", (kept.seq,)).fetchone()
    if row is not None and row[0] != kept.hash:
        return f"record {kept.seq} is not the one that was committed under this number"
    return ""


def _require_signer(connection: sqlite3.Connection, sealer: Sealer) -> None:
    signer = str(_meta(connection, "signer") or "")
    if signer and signer != sealer.signer.public:
        raise SealError(
            f"the journal is signed by {signer[:16]}…, and this key signs otherwise: it is another's; "
            f"put its own back; if that is lost, {NO_KEY_LEFT}"
        )
