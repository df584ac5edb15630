"""The password of a table's link: a file that nobody else may read, as the sealing key's is."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

from daemon.linked.entries import Refused, Unreachable
from daemon.whole import content, open_to_others

LONGEST: Final = 1024  # bytes of a password


def password_of(path: Path) -> str:
    """What is in the file, without the end of its line. Raises Unreachable when it cannot be read, Refused
    when others may read it."""
    try:
        data, mode = content(path, LONGEST)
    except OSError as error:
        raise Unreachable(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(mode) or len(data) > LONGEST:
        raise Refused("password", f"{path}: is no regular file of at most {LONGEST} bytes: write it anew")
    if open_to_others(path, mode):
        raise Refused("password", f"{path}: others may read the link's password: chmod 600 it")
    try:
        return data.decode("utf-8").strip("\r\n")
    except UnicodeDecodeError:
        raise Refused("password", f"{path}: not UTF-8: write the password anew") from None
