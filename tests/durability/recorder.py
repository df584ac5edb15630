"""The recorder (``recorder.c``): how it is built, told what to do, and how its log is read."""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import Final, NamedTuple

SOURCE: Final = Path(__file__).with_name("recorder.c")
_ENTRY: Final = struct.Struct("=IIQqQ")


class Op(IntEnum):
    """What a point does. ``OTHER`` changes a file in a way that no image can be cut from."""

    WRITE = 1
    TRUNCATE = 2
    SYNC = 3
    CREATE = 4
    RENAME = 5
    UNLINK = 6
    SEND = 7
    OTHER = 8


class Action(IntEnum):
    """What happens at a point."""

    WATCH = 0
    KILL_BEFORE = 1
    KILL_AFTER = 2
    FAIL_ONCE = 3  # this call fails
    FULL = 4  # from this call on the disk is full
    SHORT = 5  # half of this write is done, and from then on the disk is full


class Order(NamedTuple):
    """One action at one point: the ``at``-th from the start of the process (0: never)."""

    action: Action = Action.WATCH
    at: int = 0
    error: int = 0

    def __str__(self) -> str:
        return f"{self.action.name.lower().replace('_', ' ')} point {self.at}"


NOTHING: Final = Order()


class Point(NamedTuple):
    """One call as it was logged. ``path`` is the file, or the socket of the one who is spoken to."""

    op: Op
    path: str
    inode: int
    offset: int  # of a write; of a truncation the new size
    data: bytes

    @property
    def changes_files(self) -> bool:
        return self.op is not Op.SEND


def missing() -> str:
    """Why there can be no recorder here; "" when there can."""
    if shutil.which("cc") is None:
        return "no C compiler (cc): the recorder cannot be built"
    return ""


def build(folder: Path) -> Path:
    """Compile the recorder into ``folder``. Raises CalledProcessError."""
    library = folder / "recorder.so"
    command = [
        "cc",
        "-shared",
        "-fPIC",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-o",
        str(library),
        str(SOURCE),
    ]
    subprocess.run(command, check=True)
    return library


def points(log: Path) -> Iterator[Point]:
    """The points in a log, in order."""
    data = log.read_bytes()
    at = 0
    while at < len(data):
        op, path_size, inode, offset, size = _ENTRY.unpack_from(data, at)
        at += _ENTRY.size
        path = data[at : at + path_size].decode()
        at += path_size
        yield Point(Op(op), path, inode, offset, data[at : at + size])
        at += size


class Recorder:
    """The recorder in this process, which must have been preloaded."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.recorder_seen.restype = ctypes.c_long

    def arm(self, order: Order, log: int = -1) -> None:
        """Number the calls of this process from now on; ``log`` is a descriptor, or -1."""
        self._library.recorder_arm(
            int(order.action), ctypes.c_long(order.at), int(order.error), ctypes.c_int(log)
        )

    def disarm(self) -> None:
        self._library.recorder_disarm()

    @property
    def seen(self) -> int:
        return int(self._library.recorder_seen())
