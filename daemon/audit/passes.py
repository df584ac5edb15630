"""Verifying: all of a journal, what a start must know of it, or its archives in the background."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, TypedDict

from daemon.anchor import Anchor
from daemon.audit.check import Audit
from daemon.audit.rows import ODD, Files
from daemon.journal import KEPT, JournalError, Part, manifest, told_head

_LOW_PRIORITY: Final = 10  # nice
_PAUSE: Final = 0.02  # seconds between two strides: the loop has the processor most of the time


class Verification(TypedDict):
    """What was found. ``pool`` is the pool's account, minor units; ``head`` the last hash; ``signer``
    the public key of the anchors; ``anchor`` the newest of them as ``SEQ:HASH``, "" for none."""

    path: str
    inputs: int
    rounds: int
    archives: int
    head: str
    signer: str
    anchor: str
    verified: bool
    errors: list[str]
    pool: int


def verify(path: Path, anchors: tuple[Anchor, ...] = (), archives: Path | None = None) -> Verification:
    """Check everything in a journal that can be checked without its key (``feltd journal verify``).

    It works while the daemon writes. ``anchors`` are places that somebody kept: the journal must
    have them. ``archives``: their folder, if they do not lie beside it. What is wrong is reported
    in ``errors`` (at most MOST_ERRORS and one), never raised; no file is touched.
    """

    def run(audit: Audit, files: Files) -> int:
        while True:
            for _ in _archives(audit, files):
                pass
            count = _open_file(audit, files)
            if count is not None:
                return count

    return _verified(path, anchors, archives, run)


def verify_open(path: Path, anchors: tuple[Anchor, ...] = (), archives: Path | None = None) -> Verification:
    """Check the open file completely, and that every archive is there and ends as the manifest says.

    Of the records in archives only those are looked at that ``anchors`` name. What a start needs to know: it
    costs the open file, whatever lies in archives.
    """

    def run(audit: Audit, files: Files) -> int:
        with files.open() as connection:
            audit.begin(connection)
            audit.adopt(connection)
            parts = manifest(connection)
            audit.open_file(connection, adopted=True)
        for sentence in (*_ends(files, parts), *_kept(files, parts, anchors)):
            audit.found(sentence)
        return len(parts)

    return _verified(path, anchors, archives, run)


def _verified(
    path: Path, anchors: tuple[Anchor, ...], archives: Path | None, run: Callable[[Audit, Files], int]
) -> Verification:
    kept = told_head(path)  # before the first look into the journal: it is never newer than that
    audit, count = Audit((*anchors, *([kept] if kept and kept.seq else []))), 0
    try:
        count = run(audit, Files(path, archives))
        audit.end()
    except JournalError as error:
        audit.found(str(error))
    except (sqlite3.Error, OSError, *ODD) as error:
        audit.found(f"{path}: {error}: {KEPT}")
    return {
        "path": str(path),
        "inputs": audit.inputs,
        "rounds": audit.ledger.rounds,
        "archives": count,
        "head": audit.head.hex(),
        "signer": audit.signer,
        "anchor": str(audit.anchor) if audit.anchor else "",
        "verified": not audit.errors,
        "errors": audit.told(),
        "pool": audit.ledger.balances["pool"],
    }


def _archives(audit: Audit, files: Files) -> Iterator[None]:
    """Every archive that was not seen yet, one after the other, as long as there are more."""
    while True:
        with files.open() as connection:
            if not audit.head:
                audit.begin(connection)
            part, newest = files.next_part(connection, audit.seq)
        if part is None:
            return
        yield from audit.archive(files, part, newest)


def _open_file(audit: Audit, files: Files) -> int | None:
    """The number of archives; None when something was archived meanwhile."""
    with files.open() as connection:
        if files.next_part(connection, audit.seq)[0] is not None:
            return None
        audit.open_file(connection)
        return len(manifest(connection))


def _ends(files: Files, parts: list[Part]) -> Iterator[str]:
    """What a short look at each archive finds: nothing when it ends as the manifest says."""
    for part in parts:
        wrong = f"archive {part.name} does not end with record {part.last} as the manifest says: {KEPT}"
        yield from _otherwise(files, part, Anchor(part.last, part.hash), wrong)


def _kept(files: Files, parts: list[Part], anchors: tuple[Anchor, ...]) -> Iterator[str]:
    """The same for what was kept of a record in an archive; the others are met in the open file."""
    for anchor in anchors:
        part = next((part for part in parts if part.first <= anchor.seq <= part.last), None)
        if part is not None:
            what = "the hash is not the one that was kept: the journal was written anew"
            yield from _otherwise(files, part, anchor, f"record {anchor.seq}: {what}: {KEPT}")


def _otherwise(files: Files, part: Part, anchor: Anchor, wrong: str) -> Iterator[str]:
    """The sentence ``wrong`` when an archive has not this hash, another one when it cannot be read."""
    try:
        with files.archive(part) as connection:
            row = connection.execute("SELECT hash FROM records WHERE seq = ?", (anchor.seq,)).fetchone()
    except (JournalError, sqlite3.Error, OSError) as error:
        yield f"archive {part.name}: {error}"
        return
    if row != (anchor.hash,):
        yield wrong


# --- in the background -------------------------------------------------------------------------


def verify_archives(path: Path) -> Iterator[str]:
    """Check all archives of a journal that is in use, completely: a sentence for what is wrong.

    "" comes between two strides of records: the caller may rest there. Nothing is raised.
    """
    audit, said = Audit(), 0
    steps = _archives_and_memory(audit, Files(path))
    while True:
        try:
            next(steps)
        except StopIteration:
            break
        except (JournalError, sqlite3.Error, OSError, *ODD) as error:
            audit.found(f"{path}: {error}: {KEPT}")
            break
        yield from audit.errors[said:]
        said = len(audit.errors)
        yield ""
    yield from audit.told()[said:]


def _archives_and_memory(audit: Audit, files: Files) -> Iterator[None]:
    yield from _archives(audit, files)
    with files.open() as connection:
        if audit.seq and not audit.unread and files.next_part(connection, audit.seq)[0] is None:
            audit.remembered(connection)


class ArchiveWatch:
    """Verifies the archives once, in a thread that is in nobody's way.

    ``found`` is called in that thread with every sentence, ``done`` with how many there were.
    """

    def __init__(
        self, path: Path, found: Callable[[str], None], done: Callable[[int], None] = lambda count: None
    ) -> None:
        self._path = path
        self._found = found
        self._done = done
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="archives", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End it at the next stride, and wait for that."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOW_PRIORITY)
        count = 0
        for sentence in verify_archives(self._path):
            if sentence:
                count += 1
                self._found(sentence)
            elif self._stop.wait(_PAUSE):
                return
        self._done(count)
