"""A file that a command writes for people: whole or not at all, and never over something else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from daemon.journal.schema import BESIDE, sync_folder

BEGINNING: Final = 2**16  # bytes of a file by which it is known


class KeptError(Exception):
    """Something is there that the command did not write, and is kept; the text says what to do."""


@contextmanager
def written_aside(target: Path, ours: Callable[[bytes], bool], mode: int = 0o644) -> Iterator[BinaryIO]:
    """A file to write, which has its name when all of it is on disk.

    What is there is replaced if it is empty, or if ``ours`` knows its first BEGINNING bytes. So no journal,
    key or configuration ever is, nor a log of SQLite, which may be empty. Raises KeptError, and OSError; then
    what was there is as it was.
    """
    target = Path(os.path.realpath(target))  # what a link points to is replaced, not the link
    require_ours(target, ours)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            os.fsync(descriptor)
        fresh.replace(target)
        sync_folder(target.parent)
    finally:
        fresh.unlink(missing_ok=True)


def require_ours(target: Path, ours: Callable[[bytes], bool]) -> None:
    """Nothing is there, or what ``ours`` knows. Raises KeptError, OSError."""
    if not target.exists():
        return
    if not target.is_file():
        raise KeptError(f"{target}: is there and is no regular file: name another")
    with target.open("rb") as file:
        begins = file.read(BEGINNING)
    if not ours(begins) and (begins or target.name.endswith(BESIDE)):
        raise KeptError(
            f"{target}: is there, was not written by this command, and is kept: name another file, or "
            "move it away"
        )
