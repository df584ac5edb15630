"""The records of a journal as they lie in its files, in order, archives first.

A read transaction never lasts longer than one file: while an archive is read, the table's
write-ahead log can be wrapped.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, NamedTuple

from daemon.journal import ARCHIVE_ID, Part, folder_of, manifest, reading

# What reading a record raises that this format does not know.
ODD: Final = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)


class Row(NamedTuple):
    """A row of the table of records. Nothing but ``seq`` is sure to be of its type in a damaged file."""

    seq: int
    device: str | None
    epoch: int
    ordinal: int
    act_key: str | None
    record: bytes
    sealed: bytes
    hash: bytes
    signature: bytes | None

    def holds_bytes(self) -> bool:
        return all(isinstance(value, bytes) for value in (self.record, self.sealed, self.hash))


_QUERY: Final = f"""SELECT {", ".join("r." + name for name in Row._fields[:-1])}, a.signature
    FROM records AS r LEFT JOIN anchors AS a USING (seq) WHERE r.seq BETWEEN ? AND ? ORDER BY r.seq"""
_MONEY: Final = """SELECT seq, line, account, amount, reason FROM money WHERE seq BETWEEN ? AND ?
    ORDER BY seq, line"""
_OUTBOX: Final = """SELECT seq, line, kind, box, amount FROM outbox WHERE seq BETWEEN ? AND ?
    ORDER BY seq, line"""
# By its place in the file: a table that somebody made anew may have an id twice.
_ROUNDS: Final = "SELECT seq, rowid FROM rounds WHERE seq BETWEEN ? AND ? ORDER BY id"
_ROUND: Final = "SELECT id, outcome, summary FROM rounds WHERE rowid = ?"
END: Final = 2**63 - 1


def rows(connection: sqlite3.Connection, first: int = 1, last: int = END) -> Iterator[Row]:
    """The records of one file, with their anchors."""
    return map(Row._make, connection.execute(_QUERY, (first, last)))


class Beside:
    """What the other tables of a file have of its records, asked for in the order of their numbers.

    Money and outbox are read once, in step with the records; of the rounds, which are few and large, only
    their places are. A query for each record would read all the rounds each time: they have no index.
    """

    def __init__(self, connection: sqlite3.Connection, first: int, last: int) -> None:
        span = (first, last)
        self._connection = connection
        self._money = _Lines(connection.execute(_MONEY, span))
        self._outbox = _Lines(connection.execute(_OUTBOX, span))
        self._rounds: dict[int, list[int]] = {}
        for seq, place in connection.execute(_ROUNDS, span):
            self._rounds.setdefault(seq, []).append(place)

    def of(self, seq: int) -> dict[str, list[tuple[object, ...]]]:
        """The rows of one record, by table. A record is not asked for twice, nor an earlier one after it."""
        places = self._rounds.pop(seq, ())
        return {
            "money": self._money.of(seq),
            "outbox": self._outbox.of(seq),
            "rounds": [self._connection.execute(_ROUND, (place,)).fetchone() for place in places],
        }


class _Lines:
    """A table of lines by record, read from one end to the other."""

    def __init__(self, lines: Iterator[tuple[Any, ...]]) -> None:
        self._lines = lines
        self._next = next(lines, None)

    def of(self, seq: int) -> list[tuple[object, ...]]:
        found = []
        while self._next is not None and self._next[0] <= seq:
            if self._next[0] == seq:  # those of a number that no record has are counted afterwards
                found.append(self._next[1:])
            self._next = next(self._lines, None)
        return found


class Files:
    """The files of a journal. ``archives``: their folder, when it is not the one beside it."""

    def __init__(self, journal: Path, archives: Path | None = None) -> None:
        self.journal = journal
        self.archives = archives or folder_of(journal)

    def open(self) -> AbstractContextManager[sqlite3.Connection]:
        """A read transaction on the open file. Raises JournalError."""
        return reading(self.journal)

    def archive(self, part: Part) -> AbstractContextManager[sqlite3.Connection]:
        """A read transaction on an archive. Raises JournalError."""
        return reading(part.path(self.archives), ARCHIVE_ID)

    def next_part(self, connection: sqlite3.Connection, after: int) -> tuple[Part | None, bool]:
        """The first archive with a record later than ``after``, and whether it is the newest one."""
        parts = manifest(connection)
        part = next((part for part in parts if part.last > after), None)
        return part, bool(parts) and part == parts[-1]
