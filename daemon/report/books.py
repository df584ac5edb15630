"""The books of a table as they lie in the journal's files: records in order, archives first.

A record is moved into an archive while others read, so every file is looked up anew when its turn
comes. No read transaction lasts longer than one file.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from daemon.anchor import Anchor
from daemon.audit.rows import END, ODD, Files, Row, rows
from daemon.journal import KEPT, JournalError, header_of, link_hash, manifest
from daemon.records import Plain, decode
from daemon.roles import IDLE

STRIDE: Final = 50  # records between two breaths of a pass that must not be in anybody's way
_AT: Final = slice(len('{"at":"'), len('{"at":"2026-01-01T00:00:00'))  # canonical JSON begins with the stamp
_FIRST_AT: Final = f"""SELECT min(seq) FROM records
    WHERE seq BETWEEN ? AND ?
    AND CAST(substr(record, {_AT.start + 1}, {_AT.stop - _AT.start}) AS BLOB) >= ?"""
_MONEY: Final = "SELECT line, account, amount, reason FROM money WHERE seq = ? ORDER BY line"
_SUMS: Final = "SELECT account, sum(amount) FROM money WHERE seq BETWEEN ? AND ? GROUP BY account"


class NoSuchDay(Exception):
    """No such gaming day or shift; the text says why."""


class NoSuchRound(Exception):
    """The journal has no such round; the text says which it has."""


class Entry(NamedTuple):
    """A record, and its rows in the table of money."""

    seq: int
    record: Plain
    money: list[tuple[int, str, int, str]]


class File(NamedTuple):
    """One file of a journal, open: the records that count in it, and the hashes before them and at
    their end. ``day`` and ``hash`` are an archive's, empty for the open file."""

    connection: sqlite3.Connection
    first: int
    last: int
    previous: bytes
    hash: bytes = b""
    day: str = ""


def no_rest() -> None:
    """Nobody else needs the processor."""


class Books:
    """One journal, to be read. ``rest`` is called every STRIDE records, and may raise to end it.

    Everything raises JournalError where the files cannot be read.
    """

    def __init__(self, journal: Path, rest: Callable[[], None] = no_rest) -> None:
        self._files = Files(journal)
        self._rest = rest
        self.journal = journal
        with self._readable(), self._files.open() as connection:
            self._header = header_of(connection)
            self.header = decode(self._header)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, *ODD) as error:
            raise JournalError(f"{self.journal} cannot be read ({error}): verify it; {KEPT}") from None

    def _each(self, after: int = 0) -> Iterator[File]:
        """Every file with records later than ``after``."""
        while True:
            with self._files.open() as connection:
                part, _ = self._files.next_part(connection, after)
                if part is None:
                    newest = manifest(connection)[-1:]
                    before = newest[0].hash if newest else hashlib.sha256(self._header).digest()
                    yield File(connection, newest[0].last + 1 if newest else 1, END, before)
                    return
            with self._files.archive(part) as archive:
                yield File(archive, part.first, part.last, part.previous, part.hash, part.name)
            after = part.last

    # --- where something is -------------------------------------------------------------------------

    def first_at(self, moment: datetime) -> int:
        """The record with which the day begins whose first moment this is, END when it is still to come.

        That is the first one stamped then or later at which no round is open: a round belongs to the
        day in which it was opened. So days follow each other without a gap, whatever a clock did.
        """
        stamp = moment.isoformat()[: _AT.stop - _AT.start].encode()
        with self._readable():
            found = next(filter(None, (_first_in(file, stamp) for file in self._each())), END)
        if found in (1, END):
            return found
        phases = ((entry.seq, entry.record["phase"]) for entry in self.entries(found - 1))
        return next((seq + 1 for seq, phase in phases if phase in IDLE), END)

    def closed_round(self, number: int | None) -> Plain | None:
        """The account of a closed round, None: of the newest one."""
        if number is not None and number > END:  # SQLite has no such number
            return None
        which = "ORDER BY id DESC LIMIT 1" if number is None else "WHERE id = ?"
        given, found = (() if number is None else (number,)), None
        with self._readable():
            for file in self._each():
                row = file.connection.execute(f"SELECT summary FROM rounds {which}", given).fetchone()
                found = decode(row[0]) if row else found
        return found

    def head(self) -> Anchor:
        """The last record; number 0 before the first one."""
        with self._readable():
            for file in self._each():
                last = "SELECT seq, hash FROM records ORDER BY seq DESC LIMIT 1"
                head = Anchor(file.last, file.hash)
                if not file.hash:
                    row = file.connection.execute(last).fetchone()
                    head = Anchor(*row) if row else Anchor(file.first - 1, file.previous)
        return head

    # --- what is there ------------------------------------------------------------------------------

    def balances(self, before: int) -> Counter[str]:
        """Every account as it stood before a record, minor units."""
        standing: Counter[str] = Counter()
        with self._readable():
            for file in self._each():
                last = min(file.last, before - 1)
                for account, amount in file.connection.execute(_SUMS, (file.first, last)):
                    standing[account] += amount
                self._rest()
        return standing

    def entries(self, first: int, last: int = END) -> Iterator[Entry]:
        """Records ``first`` to ``last``, in order."""
        with self._readable():
            for connection, row in self._rows(first, last):
                money = connection.execute(_MONEY, (row.seq,)).fetchall()
                yield Entry(row.seq, decode(row.record), money)

    def recent(self) -> Iterator[Entry]:
        """The records of the open file: the newest snapshot and all that came after it are among them."""
        with self._readable():
            first = max(file.first for file in self._each())
        return self.entries(first)

    def _rows(self, first: int, last: int) -> Iterator[tuple[sqlite3.Connection, Row]]:
        for file in self._each(first - 1):
            for row in rows(file.connection, max(first, file.first), min(last, file.last)):
                yield file.connection, row
                if row.seq % STRIDE == 0:
                    self._rest()
            if file.last >= last:
                return

    # --- whether it holds -----------------------------------------------------------------------------

    def broken(self, first: int, last: int) -> list[str]:
        """Where the chain does not hold in the files that have these records, as sentences."""
        found = []
        with self._readable():
            for file in self._each(first - 1):
                found += self._chain(file)
                if file.last >= last:
                    break
        return found

    def _chain(self, file: File) -> list[str]:
        head = file.previous
        for number, row in enumerate(rows(file.connection, file.first, file.last), file.first):
            holds = row.seq == number and row.holds_bytes()
            if not holds or link_hash(head, row.record, row.sealed) != row.hash:
                return [f"record {number}: the chain does not hold: {KEPT}"]
            head = row.hash
            if number % STRIDE == 0:
                self._rest()
        if file.hash not in (b"", head):
            return [f"archive {file.day} does not end as the journal says: {KEPT}"]
        return []


def _first_in(file: File, stamp: bytes) -> int | None:
    """The first record of a file that is stamped then or later."""
    if file.day and file.day.encode() < stamp[: len(file.day)]:
        return None  # an archive has no record of a later day than its name
    row = file.connection.execute(_FIRST_AT, (file.first, file.last, stamp)).fetchone()
    return int(row[0]) if row[0] is not None else None
