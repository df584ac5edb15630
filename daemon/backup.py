"""Copies of a journal, and the way back: ``feltd journal backup`` and ``feltd journal restore``.

A copy is made by SQLite itself, so it has everything that was committed before it began, while the
table plays. It gets its name when it is on disk and verified. The sealing key is not part of it: keep
that apart, for whoever has both reads the faces.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypedDict

from daemon.anchor import Anchor
from daemon.audit import verify, verify_open
from daemon.audit.rows import Files
from daemon.journal import (
    APPLICATION_ID,
    ARCHIVE_ID,
    KEPT,
    JournalError,
    Part,
    folder_of,
    header_of,
    manifest,
    reading,
    sync_folder,
    told_head,
)
from daemon.lock import Held, sole_owner

_BESIDE: Final = ("-wal", "-shm", ".head", ".archive")
_LOGS: Final = ("-wal", "-journal")  # of SQLite: what is in them is not in the file yet
_ORDER: Final = "name the journal first and its copy second, or another file; a copy is put back by restore"


class Missing(TypedDict):
    """Records that were committed and are not in the copy. ``last`` None: nobody can say how many."""

    first: int
    last: int | None


class BackedUp(TypedDict):
    """What :func:`backup` did. ``copied``: names of the archives that were copied now."""

    journal: str
    backup: str
    records: int
    head: str
    archives: int
    copied: list[str]


class Restored(TypedDict):
    """What :func:`restore` did. ``kept``: where the former journal is now; ``missing``: null when
    nothing is known to be missing."""

    journal: str
    backup: str
    records: int
    head: str
    kept: str | None
    missing: Missing | None


# --- backup ------------------------------------------------------------------------------------


def backup(journal: Path, target: Path) -> BackedUp:
    """Copy a journal to the file ``target``, its archives to the folder beside that.

    It works while the daemon writes. A copy that is there is replaced by the newer one; archives
    that are there already are not copied again. Raises JournalError: then the former copy is as it was,
    and so is whatever else is there, a journal with records that this one has not among it.
    """
    _require_apart(journal, target)
    with unowned(target, _ORDER):
        return _backup(journal, target)


def _backup(journal: Path, target: Path) -> BackedUp:
    fresh, archives = target.with_name(f".{target.name}.new"), folder_of(target)
    try:
        with _named_errors(target):
            _require_former(journal, target)
            _copy_database(journal, fresh)
            with reading(fresh) as connection:
                parts = manifest(connection)
            copied = _copy_archives(Files(journal), archives, parts)
            found = verify_open(fresh, archives=archives)
            if not found["verified"]:
                raise JournalError(f"{journal}: the copy is not sound: {found['errors'][0]}")
            fresh.replace(target)
            sync_folder(target.parent)
    finally:
        fresh.unlink(missing_ok=True)
    return {
        "journal": str(journal),
        "backup": str(target),
        "records": found["inputs"],
        "head": found["head"],
        "archives": len(parts),
        "copied": copied,
    }


def _require_apart(journal: Path, target: Path) -> None:
    if not target.parent.is_dir():
        raise JournalError(f"{target}: the folder does not exist; make it, or name another")
    if target.exists() and journal.exists() and target.samefile(journal):
        raise JournalError(f"{target}: is the journal itself: name another file")


def _require_former(journal: Path, target: Path) -> None:
    """At the target is an older state of the journal, or nothing. Raises JournalError: it is kept."""
    ends = [told_head(target)]  # of a journal that has gone, it still says what was in it
    if target.exists():
        ends.append(_end_of_copy(journal, target))
    for end in ends:
        if end is not None and end.seq:
            _require_held(journal, target, end)


def _end_of_copy(journal: Path, target: Path) -> Anchor:
    """The last record of a former copy."""
    try:
        with reading(target) as there:
            header, end = header_of(there), _end_of(there)
    except (JournalError, sqlite3.Error) as error:
        raise JournalError(f"{target} is there, cannot be read as a copy, and is kept ({error})") from None
    with reading(journal) as ours:
        if header_of(ours) != header:
            raise JournalError(f"{target}: is a copy of another journal, and is kept: name another file")
    logs = [target.with_name(target.name + ending) for ending in _LOGS]
    for log in logs:
        if log.exists() and log.stat().st_size:
            raise JournalError(f"{log}: is there, so {target} is a table's journal, and is kept: {_ORDER}")
    return end


def _end_of(connection: sqlite3.Connection) -> Anchor:
    """The last record of an open file; number 0 for none."""
    row = connection.execute("SELECT seq, hash FROM records ORDER BY seq DESC LIMIT 1").fetchone()
    newest = manifest(connection)[-1:]
    moved = Anchor(newest[0].last, newest[0].hash) if newest else Anchor(0, b"")
    return Anchor(*row) if row else moved


def _require_held(journal: Path, target: Path, end: Anchor) -> None:
    """The journal has this record too, under this number."""
    with reading(journal) as connection:
        last = _end_of(connection).seq
    if end.seq > last:
        raise JournalError(
            f"{target} has {end.seq} records, and {journal} has {last}: it is no copy of that, "
            f"and is kept: {_ORDER}"
        )
    if _hash_of(Files(journal), end.seq) != end.hash:
        raise JournalError(
            f"{target} has {end.seq} records and {journal} has {last}, and record {end.seq} is another in "
            f"each: one went on without the other. {target} is kept: name another file for the copy"
        )


def _hash_of(files: Files, seq: int) -> bytes | None:
    """The hash of a record, wherever it lies."""
    question = "SELECT hash FROM records WHERE seq = ?"
    with files.open() as connection:
        part, _ = files.next_part(connection, seq - 1)
        row = connection.execute(question, (seq,)).fetchone()
    if part is not None:
        with files.archive(part) as archive:
            row = archive.execute(question, (seq,)).fetchone()
    return row[0] if row else None


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise JournalError(f"{path}: {error}") from None


def _copy_database(source: Path, fresh: Path, application: int = APPLICATION_ID) -> None:
    """A database as one file with nothing beside it, on disk."""
    fresh.unlink(missing_ok=True)
    with (
        reading(source, application) as original,
        closing(sqlite3.connect(fresh, isolation_level=None)) as copy,
    ):
        original.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
    shutil.copymode(source, fresh)
    with fresh.open("rb") as file:
        os.fsync(file.fileno())


def _copy_archives(source: Files, folder: Path, parts: list[Part]) -> list[str]:
    """Every archive that the folder does not hold as far as the manifest goes; their names.

    An archive only grows, so the longer file serves the former copy too.
    """
    if parts and not folder.exists():
        folder.mkdir()
        sync_folder(folder.parent)
    copied = []
    for part in parts:
        if _holds(folder, part):
            continue
        path = part.path(folder)
        fresh = path.with_name(f".{path.name}.new")
        _copy_database(part.path(source.archives), fresh, ARCHIVE_ID)
        _require_whole(fresh, part)
        _require_shorter(path, fresh)
        fresh.replace(path)
        copied.append(part.name)
    if copied:
        sync_folder(folder)
    return copied


def _holds(folder: Path, part: Part) -> bool:
    path = part.path(folder)
    return path.exists() and _has_end(path, part)


def _has_end(path: Path, part: Part) -> bool:
    with reading(path, ARCHIVE_ID) as archive:
        row = archive.execute("SELECT hash FROM records WHERE seq = ?", (part.last,)).fetchone()
        return bool(row == (part.hash,))


def _require_shorter(former: Path, fresh: Path) -> None:
    """An archive that is replaced is an older state of the new one. Raises JournalError: it is kept."""
    if not former.exists():
        return
    with reading(former, ARCHIVE_ID) as there, reading(fresh, ARCHIVE_ID) as ours:
        end = there.execute("SELECT seq, hash FROM records ORDER BY seq DESC LIMIT 1").fetchone()
        held = end and ours.execute("SELECT seq, hash FROM records WHERE seq = ?", end[:1]).fetchone()
        if header_of(there) != header_of(ours) or held != end:
            raise JournalError(
                f"{former}: is of another journal, and is kept: name another file for the copy"
            )


def _require_whole(path: Path, part: Part) -> None:
    """What is copied once is read once, completely. Raises JournalError."""
    with reading(path, ARCHIVE_ID) as archive:
        said = archive.execute("PRAGMA integrity_check(1)").fetchone()[0]
        count = "SELECT count(*) FROM records WHERE seq BETWEEN ? AND ?"
        held = archive.execute(count, (part.first, part.last)).fetchone()[0]
    if said != "ok" or held != part.last - part.first + 1 or not _has_end(path, part):
        raise JournalError(f"archive {part.name} is damaged or not whole ({said}): {KEPT}")


# --- restore -----------------------------------------------------------------------------------


def restore(copy: Path, journal: Path, anchors: tuple[Anchor, ...] = ()) -> Restored:
    """Put a verified copy in the place of a journal that is damaged or gone.

    What is there now is kept under a new name. ``anchors``: what somebody wrote down of the lost
    journal, for the list of what is missing. Raises JournalError when the copy is not sound, lacks an
    anchor that it is long enough for, is one of another table, or a daemon has the journal.
    """
    if not journal.parent.is_dir():
        raise JournalError(f"{journal}: the folder does not exist; make it, or name another")
    if journal.exists() and copy.exists() and copy.samefile(journal):
        raise JournalError(f"{copy}: is the journal itself: name a copy of it")
    with unowned(journal), _named_errors(journal):
        last = _last_of(copy)
        found = verify(copy, tuple(anchor for anchor in anchors if anchor.seq <= last))
        if not found["verified"]:
            raise JournalError(f"{copy} is not sound and is not used: {found['errors'][0]}")
        _require_same(copy, journal)
        missing = _missing(journal, last, anchors)
        kept = _replace(copy, journal)
    return {
        "journal": str(journal),
        "backup": str(copy),
        "records": last,
        "head": found["head"],
        "kept": str(kept) if kept else None,
        "missing": missing,
    }


@contextmanager
def unowned(journal: Path, todo: str = "stop it first") -> Iterator[None]:
    """Hold a journal that no daemon has. Raises JournalError when one does; ``todo`` ends the sentence."""
    with ExitStack() as held:
        try:
            held.enter_context(sole_owner(journal.with_name(f"{journal.name}.lock")))
        except Held as other:
            raise JournalError(f"{journal} is in use by a daemon (pid {other.pid}): {todo}") from None
        except OSError as error:
            raise JournalError(f"{error.filename or journal}: {error.strerror}") from None
        yield


def _require_same(copy: Path, journal: Path) -> None:
    """As far as the damaged file can still tell whose it is."""
    try:
        with reading(journal) as there:
            header = header_of(there)
    except (JournalError, sqlite3.Error):
        return
    with reading(copy) as ours:
        if header_of(ours) != header:
            raise JournalError(f"{copy} is a copy of another journal than {journal}: it is not used")


def _missing(journal: Path, last: int, anchors: tuple[Anchor, ...]) -> Missing | None:
    """The records after ``last`` that were there once, by every trace that is left."""
    traces = [anchor.seq for anchor in anchors if anchor.seq]  # number 0 tells of no record
    told = told_head(journal)
    if told is not None:
        traces.append(told.seq)
    traces += _seen(journal)
    if not traces:
        return {"first": last + 1, "last": None}
    return {"first": last + 1, "last": max(traces)} if max(traces) > last else None


def _seen(journal: Path) -> list[int]:
    """The last record that can be read in a damaged file."""
    try:
        return [_last_of(journal)]
    except (JournalError, sqlite3.Error):
        return []


def _last_of(journal: Path) -> int:
    with reading(journal) as connection:
        last = connection.execute("SELECT coalesce(max(seq), 0) FROM records").fetchone()[0]
        return max([int(last), *(part.last for part in manifest(connection))])


def _replace(copy: Path, journal: Path) -> Path | None:
    """Everything is copied before anything is moved; the journal's name comes last."""
    fresh = journal.with_name(f".{journal.name}.restored")
    archives = folder_of(fresh)
    shutil.rmtree(archives, ignore_errors=True)
    try:
        _copy_database(copy, fresh)
        with reading(fresh) as connection:
            parts = manifest(connection)
        _copy_archives(Files(copy), archives, parts)
        found = verify_open(fresh)
        if not found["verified"]:
            raise JournalError(f"{fresh}: the copy of {copy} is not sound: {found['errors'][0]}")
        give(journal.parent, fresh, archives, *archives.glob("*"))
        kept = _put_aside(journal)
        if archives.exists():
            archives.replace(folder_of(journal))
        fresh.replace(journal)
        sync_folder(journal.parent)
    finally:
        fresh.unlink(missing_ok=True)
        shutil.rmtree(archives, ignore_errors=True)
    return kept


def give(folder: Path, *paths: Path) -> None:
    """Root restores, and the daemon, which is somebody else, has to write."""
    owner = folder.stat()
    for path in paths:
        if os.geteuid() == 0 and path.exists():
            os.chown(path, owner.st_uid, owner.st_gid)


def _put_aside(journal: Path) -> Path | None:
    """The former journal under a new name, and what belongs to it; the journal itself goes first, so
    that nobody ever starts with half of it."""
    kept = journal.with_name(f"{journal.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")
    found = False
    for end in ("", *_BESIDE):
        part = journal.with_name(journal.name + end)
        if part.exists():
            part.rename(kept.with_name(kept.name + end))
            found = True
    sync_folder(journal.parent)
    return kept if found else None
