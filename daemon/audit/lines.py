"""The export: a journal as JSON Lines, for an outside verifier."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

from daemon.audit.rows import END, ODD, Files, Row, rows
from daemon.journal import KEPT, NO_FACES, JournalError, canonical_line, head_path, header_of
from daemon.records import decode, encode
from daemon.sealer import Sealer, load_key

_BESIDE: Final = ("-wal", "-shm", ".lock", ".head", ".reserve")
_SQLITE: Final = b"SQLite format 3\0"


def export(path: Path, out: BinaryIO, canonical: bool = False, key: Path | None = None) -> int:
    """Write a journal as JSON Lines; the number of records.

    Plain: the header, then a line a record, from which anybody can check chain and sums
    (``docs/journal.md``). ``canonical``: the lines whose SHA-256 is ``journal_sha256``, faces in
    clear. Raises JournalError for a file that cannot be read as a journal, and SealError without
    the right ``key`` (canonical only).
    """
    if canonical and key is None:
        raise JournalError("a canonical export has the faces in clear: give the key file")
    sealer = load_key(key) if canonical and key is not None else None
    as_line = _line if sealer is None else partial(_canonical, sealer)
    try:
        return _write(Files(path), out, as_line, with_header=sealer is None)
    except (sqlite3.Error, *ODD) as error:
        raise JournalError(f"{path} cannot be exported ({error}): verify it; {KEPT}") from None


def _write(files: Files, out: BinaryIO, as_line: Callable[[Row], bytes], with_header: bool) -> int:
    """One archive after the other, then the open file; what is archived meanwhile comes before it too."""
    done = count = 0
    while True:
        with files.open() as connection:
            if with_header and not done:
                out.write(b'{"header":%b}\n' % header_of(connection))
            part, _ = files.next_part(connection, done)
            if part is None:
                return count + _write_rows(connection, out, as_line, done + 1, END)
        with files.archive(part) as archive:
            written = _write_rows(archive, out, as_line, done + 1, part.last)
        if written != part.last - done:
            raise JournalError(f"archive {part.name} has not all of its records: verify the journal; {KEPT}")
        done, count = part.last, count + written


def _write_rows(
    connection: sqlite3.Connection, out: BinaryIO, as_line: Callable[[Row], bytes], first: int, last: int
) -> int:
    count = 0
    for row in rows(connection, first, last):
        out.write(as_line(row))
        count += 1
    return count


def export_to(path: Path, target: Path, canonical: bool = False, key: Path | None = None) -> int:
    """Write a journal into a file, as :func:`export`. The file is replaced when all of it is on disk.

    Raises JournalError also for a ``target`` that is no regular file, or is one that a table needs.
    """
    target = Path(os.path.realpath(target))  # what a link points to is replaced, not the link
    _require_replaceable(target, path, key)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if canonical else 0o644)
    try:
        with os.fdopen(descriptor, "wb") as out:
            records = export(path, out, canonical, key)
            out.flush()
            os.fsync(descriptor)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    return records


def _require_replaceable(target: Path, journal: Path, key: Path | None) -> None:
    if not target.exists():
        return
    if not target.is_file():
        raise JournalError(f"{target}: is there and is no regular file: name another, or leave out --out")
    beside = (journal.with_name(f"{journal.name}{end}") for end in _BESIDE)
    kept = [journal, *beside, head_path(journal), *([key] if key else [])]
    for each in kept:
        if each.exists() and each.samefile(target):
            raise JournalError(f"{target}: the same file as {each}, which is kept: name another")
    with target.open("rb") as file:
        if file.read(len(_SQLITE)) == _SQLITE:
            raise JournalError(f"{target}: is a database, perhaps a journal, and is kept: name another file")


def _line(row: Row) -> bytes:
    sealed = row.sealed.hex() or None
    anchor = row.signature.hex() if row.signature else None
    line = {
        "seq": row.seq,
        "record": decode(row.record),
        "sealed": sealed,
        "hash": row.hash.hex(),
        "anchor": anchor,
    }
    return encode(line) + b"\n"


def _canonical(sealer: Sealer, row: Row) -> bytes:
    faces = sealer.open(row.seq, row.sealed) if row.sealed else NO_FACES
    return canonical_line(row.seq, decode(row.record), faces)
