"""The records of a journal as they lie in its files, in order, archives first.

A read transaction never lasts longer than one file: while an archive is read, the table's
write-ahead log can be wrapped.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, NamedTuple

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
END: Final = 2**63 - 1


def rows(connection: sqlite3.Connection, first: int = 1, last: int = END) -> Iterator[Row]:
    """The records of one file, with their anchors."""
    return map(Row._make, connection.execute(_QUERY, (first, last)))


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
