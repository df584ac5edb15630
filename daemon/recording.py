"""Recordings of a link: every byte as it was read and written, with its time (docs/recording.md).

A text file, one JSON object a line: a header, then what happened, in order. Faces are in it in clear.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Final, Self, get_args

import msgspec

from drivers.base import Command
from drivers.protocol import Option

VERSION: Final = 1
MARK: Final = "feltd-record"
OPENED: Final = "opened"
IDENTIFIED: Final = "identified"
LOST: Final = "lost"
ENDED: Final = "ended"
EVENTS: Final = (OPENED, IDENTIFIED, LOST, ENDED)
IN: Final = "in"
OUT: Final = "out"

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
_COMMANDS: Final[Mapping[str, type[Command]]] = {kind.__name__: kind for kind in get_args(Command)}


class RecordingError(Exception):
    """A file that is no recording; the text names file, line and what is wrong."""


@dataclass(frozen=True, slots=True)
class Header:
    """Of what a recording is. ``role`` and ``protocol`` are "" where nobody said; ``device`` is the
    serial number, ``date`` RFC 3339 UTC, ``who`` recorded it, ``note`` what was done meanwhile;
    ``options`` are those of the driver that were not its protocol's own."""

    role: str = ""
    protocol: str = ""
    link: str = ""
    device: str = ""
    firmware: str = ""
    date: str = ""
    who: str = ""
    note: str = ""
    options: Mapping[str, Option] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of one read (``in``) or one write (``out``), ``t`` nanoseconds after the start."""

    t: int
    dir: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Event:
    """The link was opened or lost, the device said who it is, or the recording ended."""

    t: int
    event: str
    cause: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """A command that the driver was given: without it a sign's bytes cannot be understood."""

    t: int
    command: Command


Entry = Piece | Event | Told


@dataclass(frozen=True, slots=True)
class Recording:
    """A whole recording, in memory."""

    header: Header
    entries: tuple[Entry, ...]

    def sent(self) -> bytes:
        """Every byte that was written to the device."""
        return b"".join(each.data for each in self.entries if isinstance(each, Piece) and each.dir == OUT)


# --- writing -----------------------------------------------------------------------------


class Writer:
    """A new file, readable by its owner only. It is whole after every line, also on a full disk."""

    def __init__(self, path: Path, header: Header) -> None:
        """Raises FileExistsError for a path that is taken, OSError when it cannot be written."""
        self._path = path
        self._file = os.open(path, _NEW, 0o600)
        self._size = 0
        try:
            self._line({MARK: VERSION, **asdict(header)})
        except OSError:
            self.close()
            path.unlink()
            raise

    def put(self, entry: Entry) -> None:
        """Add one entry. Raises OSError when there is no room; the file then ends before it."""
        self._line(_plain(entry))

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _line(self, plain: Mapping[str, object]) -> None:
        line = json.dumps(plain, ensure_ascii=False).encode() + b"\n"
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError as error:
            os.ftruncate(self._file, self._size)
            raise OSError(error.errno, error.strerror, str(self._path)) from error
        self._size += len(line)


def _plain(entry: Entry) -> dict[str, object]:
    if isinstance(entry, Piece):
        return {"t": entry.t, "dir": entry.dir, "hex": entry.data.hex(" ")}
    if isinstance(entry, Told):
        return {"t": entry.t, "command": type(entry.command).__name__, **asdict(entry.command)}
    return {key: value for key, value in asdict(entry).items() if value != ""}


# --- reading -----------------------------------------------------------------------------


def read(path: Path) -> Recording:
    """A recording. Raises RecordingError for one that is not whole and right, OSError if unreadable."""
    with path.open("rb") as file:
        lines = enumerate(file, start=1)
        header = _header(path, next(lines, (1, b""))[1])
        return Recording(header, tuple(_entries(path, lines)))


def _entries(path: Path, lines: Iterator[tuple[int, bytes]]) -> Iterator[Entry]:
    last = 0
    for number, line in lines:
        try:
            entry = _entry(_object(line))
            if entry.t < last:
                raise ValueError(f"t goes back from {last} to {entry.t}")
        except ValueError as error:
            raise RecordingError(f"{path}: line {number}: {error}") from None
        last = entry.t
        yield entry


def _object(line: bytes) -> dict[str, object]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def _header(path: Path, line: bytes) -> Header:
    try:
        found = _object(line)
        if found.pop(MARK, None) != VERSION:
            raise ValueError(
                f'no recording of version {VERSION}: it does not begin with {{"{MARK}":{VERSION}'
            )
        _only(found, {each.name for each in fields(Header)})
        return msgspec.convert(found, Header)  # a ValidationError is a ValueError
    except ValueError as error:
        raise RecordingError(f"{path}: line 1: {error}") from None


def _only(found: Mapping[str, object], known: set[str]) -> None:
    unknown = sorted(found.keys() - known)
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}")


def _entry(found: dict[str, object]) -> Entry:
    t = found.pop("t", None)
    if not isinstance(t, int) or isinstance(t, bool) or t < 0:
        raise ValueError("t must be a whole number of nanoseconds from 0")
    if "command" in found:
        return Told(t, _command(found))
    return _piece(t, found) if "dir" in found else _event(t, found)


def _piece(t: int, found: Mapping[str, object]) -> Piece:
    _only(found, {"dir", "hex"})
    if found["dir"] not in (IN, OUT) or not isinstance(found.get("hex"), str):
        raise ValueError('needs "dir" in or out, and "hex"')
    return Piece(t, str(found["dir"]), bytes.fromhex(str(found["hex"])))


def _event(t: int, found: Mapping[str, object]) -> Event:
    _only(found, {"event", "cause", "detail"})
    if found.get("event") not in EVENTS:
        raise ValueError(f'needs "hex", "command", or "event" {", ".join(EVENTS)}')
    return msgspec.convert({"t": t, **found}, Event)


def _command(found: dict[str, object]) -> Command:
    name = found.pop("command")
    kind = _COMMANDS.get(str(name))
    if kind is None:
        raise ValueError(f"no command {name!r}")
    _only(found, {each.name for each in fields(kind)})
    return msgspec.convert(found, kind)
