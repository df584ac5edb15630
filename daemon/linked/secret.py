"""The password of a table's link: a file that nobody else may read, as the sealing key's is."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from daemon.linked.entries import Refused, Unreachable

LONGEST: Final = 1024  # bytes of a password


def password_of(path: Path) -> str:
    """What is in the file, without the end of its line. Raises Unreachable when it cannot be read, Refused
    when others may read it."""
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            mode = os.fstat(file.fileno()).st_mode
            password = file.read(LONGEST + 1).decode("utf-8").strip("\r\n") if stat.S_ISREG(mode) else ""
    except OSError as error:
        raise Unreachable(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Refused("password", f"{path}: not UTF-8: write the password anew") from None
    if not stat.S_ISREG(mode) or len(password) > LONGEST:
        raise Refused(
            "password", f"{path}: is no regular file of at most {LONGEST} bytes: name the password's"
        )
    if mode & 0o077 and not _is_credential(path):
        raise Refused("password", f"{path}: others may read the link's password: chmod 600 it")
    return password


def _is_credential(path: Path) -> bool:
    """Given by the service manager, who lets only this service read it (by an ACL, which looks like 0440)."""
    return path.parent == Path(os.environ.get("CREDENTIALS_DIRECTORY", "/nowhere"))


def _open_at_once(path: str, flags: int) -> int:
    """A pipe that nobody writes must not keep us waiting."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
