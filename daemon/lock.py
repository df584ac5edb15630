"""One owner at a time: a lock file that holds the owner's process id."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Held(Exception):
    """Another process has the lock; ``pid`` is its id as it wrote it, or "unknown"."""

    def __init__(self, pid: str) -> None:
        super().__init__(f"pid {pid}")
        self.pid = pid


@contextmanager
def sole_owner(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``, which is gone afterwards. Raises Held, or OSError if it cannot be made."""
    lock = _locked(path)
    try:
        with suppress(OSError):  # a full disk: the lock holds without its number
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(lock)


def _locked(path: Path) -> int:
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _has_name(lock, path):
                return lock
        except BlockingIOError:
            pid = os.read(lock, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(lock)
            raise Held(pid) from None
        os.close(lock)


def _has_name(lock: int, path: Path) -> bool:
    """Whether it is still the file of this name: its owner may have removed it before we had the lock."""
    try:
        return os.path.samestat(os.fstat(lock), path.stat())
    except FileNotFoundError:
        return False
