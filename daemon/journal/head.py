"""``FILE.head``: number and hash of the last record, written over itself after every commit.

A journal that lost its write-ahead log reads as a sound, shorter one. This line, kept beside it,
says what was committed::

    number, 18 digits : hash, 64 hexadecimal digits | CRC-32 of what is before it, 8 hexadecimal digits

It is not synced, so it may be older than the journal after a power cut, and never newer: what it
names was durable before. A full disk can tear it; a line that is torn proves nothing.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path

from daemon.anchor import Anchor


def head_path(journal: Path) -> Path:
    return journal.with_name(f"{journal.name}.head")


def told_head(journal: Path) -> Anchor | None:
    """What the head file says; None without one, or when it cannot be read: it proves nothing then.

    The first versions wrote no CRC.
    """
    try:
        said, _, crc = head_path(journal).read_text("ascii").strip().partition("|")
        return Anchor.parse(said) if not crc or crc == _crc(said) else None
    except (OSError, ValueError):
        return None


def _crc(said: str) -> str:
    return f"{zlib.crc32(said.encode()):08x}"


class HeadFile:
    """Keeps the line. A disk that does not take it costs this proof and nothing else."""

    def __init__(self, journal: Path) -> None:
        self._file = -1
        with suppress(OSError):
            self._file = os.open(head_path(journal), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def write(self, seq: int, hash_: bytes) -> None:
        if self._file >= 0:
            with suppress(OSError):
                said = f"{seq:018d}:{hash_.hex()}"
                os.pwrite(self._file, f"{said}|{_crc(said)}\n".encode("ascii"), 0)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
