"""Room that is kept for the day on which the disk is full: a file beside the journal.

SQLite needs some dozen pages only to open a journal. Without them a daemon that starts on a full disk
could not even read what it has; so it gives its reserve away, reads, refuses play, and takes it back
before it goes on.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

RESERVE: Final = 256 * 1024  # bytes
SUFFIX: Final = ".reserve"


class Reserve:
    """The reserve of one journal. No method raises OSError."""

    def __init__(self, journal: Path) -> None:
        self._path = journal.with_name(f"{journal.name}{SUFFIX}")

    @property
    def free(self) -> int:
        """Bytes free on the journal's disk; 2**62 where that cannot be asked."""
        try:
            found = os.statvfs(self._path.parent)
        except OSError:
            return 2**62
        return found.f_bavail * found.f_frsize

    def release(self) -> bool:
        """Give the room away if the disk is full; whether it was given."""
        if self.free >= RESERVE:
            return False
        try:
            self._path.unlink()
        except OSError:
            return False
        return True

    def hold(self) -> bool:
        """Take the room, or keep it; whether it is held."""
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError:
            return False
        try:
            os.posix_fallocate(descriptor, 0, RESERVE)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True
