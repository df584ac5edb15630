"""The password of a table's link: a file that nobody else may read, as the sealing key's is."""

from __future__ import annotations

import os
from pathlib import Path

from daemon.linked.entries import Refused, Unreachable


def password_of(path: Path) -> str:
    """What is in the file, without the end of its line. Raises Unreachable when it cannot be read, Refused
    when others may read it."""
    try:
        mode = path.stat().st_mode
        password = path.read_text("utf-8").strip("\r\n")
    except OSError as error:
        raise Unreachable(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Refused("password", f"{path}: not UTF-8: write the password anew") from None
    if mode & 0o077 and not _is_credential(path):
        raise Refused("password", f"{path}: others may read the link's password: chmod 600 it")
    return password


def _is_credential(path: Path) -> bool:
    """Given by the service manager, who lets only this service read it (by an ACL, which looks like 0440)."""
    return path.parent == Path(os.environ.get("CREDENTIALS_DIRECTORY", "/nowhere"))
