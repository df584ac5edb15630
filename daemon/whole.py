"""Small files that are read whole: a pipe must keep nobody waiting, and a large one fill no memory."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def content(path: Path, longest: int) -> tuple[bytes, int]:
    """What is in a file, of at most ``longest`` bytes (one more tells that there are too many), and its mode.

    Of what is no regular file nothing is read. Raises OSError.
    """
    with open(path, "rb", opener=_open_at_once) as file:
        mode = os.fstat(file.fileno()).st_mode
        return file.read(longest + 1) if stat.S_ISREG(mode) else b"", mode


def open_to_others(path: Path, mode: int) -> bool:
    """Whether others may read a secret. One that the service manager gave looks like 0440, by an ACL that
    lets only this service read it."""
    given = path.parent == Path(os.environ.get("CREDENTIALS_DIRECTORY", "/nowhere"))
    return bool(mode & 0o077) and not given


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
