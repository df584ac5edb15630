"""``FILE.head``: number and hash of the last record, written over itself after every commit.

A journal that lost its write-ahead log reads as a sound, shorter one. This line, kept beside it,
says what was committed. It is not synced, so it may be older than the journal after a power cut,
and never newer: what it names was durable before.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from daemon.anchor import Anchor


def head_path(journal: Path) -> Path:
    return journal.with_name(f"{journal.name}.head")


def told_head(journal: Path) -> Anchor | None:
    """What the head file says; None without one, or when it cannot be read: it proves nothing then."""
    try:
        return Anchor.parse(head_path(journal).read_text("ascii"))
    except (OSError, ValueError):
        return None


class HeadFile:
    """Keeps the line. A disk that does not take it costs this proof and nothing else."""

    def __init__(self, journal: Path) -> None:
        self._file = -1
        with suppress(OSError):
            self._file = os.open(head_path(journal), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def write(self, seq: int, hash_: bytes) -> None:
        if self._file >= 0:
            with suppress(OSError):
                os.pwrite(self._file, b"%018d:%b\n" % (seq, hash_.hex().encode()), 0)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
