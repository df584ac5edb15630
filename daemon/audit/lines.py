"""The export: a journal as JSON Lines, for an outside verifier."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

from daemon.aside import KeptError, written_aside
from daemon.audit.rows import END, ODD, Files, Row, rows
from daemon.journal import KEPT, NO_FACES, JournalError, canonical_line, header_of
from daemon.records import decode, encode
from daemon.sealer import Sealer, SealError, load_key

_HEADER: Final = {"created", "format", "game", "table"}
_CANONICAL: Final = {"at", "input", "phase", "seq"}
_NEWEST_SEAL: Final = "SELECT seq, sealed FROM records WHERE sealed != x'' ORDER BY seq DESC LIMIT 1"
_OLDEST_SEAL: Final = "SELECT seq, sealed FROM records WHERE sealed != x'' ORDER BY seq LIMIT 1"


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
        if sealer is not None:
            _require_opens(sealer, path, key)
        return _write(Files(path), out, as_line, with_header=sealer is None)
    except (sqlite3.Error, *ODD) as error:
        raise JournalError(f"{path} cannot be exported ({error}): verify it; {KEPT}") from None


def _require_opens(sealer: Sealer, journal: Path, key: Path | None) -> None:
    """The key opens the oldest and the newest seal of the open file, before a line is written."""
    with Files(journal).open() as connection:
        seals = [connection.execute(which).fetchone() for which in (_OLDEST_SEAL, _NEWEST_SEAL)]
    for seq, sealed in filter(None, seals):
        try:
            sealer.open(seq, sealed)
        except SealError:
            todo = "give the newest copy of this journal's key file"
            raise SealError(f"{key} did not seal record {seq} of {journal}: {todo}") from None


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

    Raises JournalError also for a ``target`` that is there and is no export.
    """
    try:
        with written_aside(target, _is_export, 0o600 if canonical else 0o644) as out:
            return export(path, out, canonical, key)
    except KeptError as error:
        raise JournalError(str(error)) from None


def _is_export(begins: bytes) -> bool:
    """Whether a file begins as ours do: with a header, or with the first record of a canonical export."""
    try:
        first = decode(begins.partition(b"\n")[0])
    except ODD:
        return False
    header = first.get("header")
    is_plain = len(first) == 1 and isinstance(header, dict) and header.keys() >= _HEADER
    return is_plain or (first.get("seq") == 1 and first.keys() >= _CANONICAL)


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
