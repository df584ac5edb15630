"""The files and folders that a configuration names, as this machine has them.

A configuration may be right and be meant for another machine: what is missing here is worth a note
to somebody who checks it, and no error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from daemon.config import Settings
from daemon.linked.entries import Refused, Unreachable
from daemon.linked.secret import password_of
from daemon.sealer import SealError, load_key
from daemon.sessions import StaffError, StaffFile

# The service manager makes them when it starts feltd.service or feltd@NAME.service (StateDirectory,
# RuntimeDirectory, LoadCredential).
_MADE_AT_START: Final = (
    "/var/lib/feltd",
    "/var/lib/feltd/*",
    "/run/feltd",
    "/run/feltd-*",
    "/run/credentials/*",
)


def missing(settings: Settings) -> Iterator[str]:
    """What is not as a start on this machine needs it, each as "dotted.key: what is wrong"."""
    for key, file in (("journal", settings.journal), ("key", settings.key), ("socket", settings.socket)):
        if not _made_at_start(file) and not os.path.isdir(file.parent):
            yield f"table.{key}: there is no folder {file.parent} on this machine"
    if os.path.exists(settings.journal) and not _made_at_start(settings.key):
        try:
            load_key(settings.key)
        except SealError as error:
            yield f"table.key: {error}"
    if settings.staff.file is not None:
        try:
            StaffFile(settings.staff.file).people()
        except StaffError as error:
            yield f"staff.file: {error}"
    password = settings.linked.password if settings.linked is not None else None
    if password is not None and not _made_at_start(password):
        try:
            password_of(password)
        except (Refused, Unreachable) as error:
            yield f"linked.password: {error}"


def _made_at_start(file: Path) -> bool:
    return any(map(file.parent.match, _MADE_AT_START)) and not os.path.isdir(file.parent)
