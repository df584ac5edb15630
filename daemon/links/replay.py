"""A link that plays what a recording's device said, with its times. Nothing is answered by it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from daemon.links.base import Cause, LinkError, OnBytes, OnLost
from daemon.recording import IN, LOST, Entry, Event, Piece, RecordingError, read
from drivers.protocol import Line

OVER: Final = "the recording ended"
_NANOSECONDS: Final = 1_000_000_000


def parse_url(url: str) -> tuple[Path, float]:
    """Path and speed of ``replay:///path.rec?speed=1``. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme != "replay" or parts.netloc or not parts.path:
        raise ValueError(f"not a recording: {url!r} (replay:///path.rec?speed=1)")
    speed = 1.0
    for key, value in parse_qsl(parts.query, keep_blank_values=True):
        if key != "speed" or not value.replace(".", "", 1).isdecimal() or not float(value):
            raise ValueError(f"not a setting of a recording: {key}={value} (speed, a number above 0)")
        speed = float(value)
    return Path(unquote(parts.path)), speed


class ReplayLink:
    """The inbound bytes of a recording on the event loop. ``url`` as in :func:`parse_url`.

    What is written is counted in ``ignored`` (bytes) and goes nowhere. A loss in the recording is a
    loss of this link. Opened again it goes on where it was, and a recording that was played to its end
    is absent: its cards cannot come twice within one process.
    """

    def __init__(self, url: str, line: Line | None = None) -> None:
        self.path, self.speed = parse_url(url)
        self.line = line or Line()
        self.ignored = 0
        self._entries: tuple[Entry, ...] | None = None
        self._next = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._open = False

    @property
    def place(self) -> str:
        """The recording's path."""
        return os.path.abspath(self.path)

    def open(self, on_bytes: OnBytes, on_lost: OnLost) -> None:
        """Begin, or go on. Raises LinkError: absent (no such file, or played to its end), garbled
        (no recording), busy (open already)."""
        if self._open:
            raise LinkError(Cause.BUSY, f"{self.path} is open already")
        entries = self._read()
        if self._next >= len(entries):
            raise LinkError(Cause.ABSENT, f"{self.path}: {OVER}")
        self._on_bytes, self._on_lost = on_bytes, on_lost
        self._loop = asyncio.get_running_loop()
        self._open = True
        # The moment of the recording that is now: the times that follow are counted from it.
        before = entries[self._next - 1].t if self._next else 0
        self._zero = self._loop.time() - self._seconds(before)
        self._arm(entries)

    def write(self, data: bytes, wake: int = 0) -> None:
        """Count, and forget: the device of a recording hears nothing."""
        self.ignored += len(data) if self._open else 0

    def close(self) -> None:
        """Stop; the rest is kept for the next open."""
        self._open = False
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def describe(self) -> str:
        """Path and speed."""
        return f"replay {self.path} at {self.speed:g} times its speed"

    def _read(self) -> tuple[Entry, ...]:
        if self._entries is None:
            try:
                self._entries = read(self.path).entries
            except OSError as error:
                raise LinkError(Cause.ABSENT, f"{self.path}: {error.strerror}") from error
            except RecordingError as error:
                raise LinkError(Cause.GARBLED, str(error)) from error
        return self._entries

    def _seconds(self, t: int) -> float:
        return t / _NANOSECONDS / self.speed

    def _arm(self, entries: tuple[Entry, ...]) -> None:
        due = self._zero + self._seconds(entries[self._next].t)
        self._alarm = self._loop.call_at(due, self._step, entries)

    def _step(self, entries: tuple[Entry, ...]) -> None:
        entry, self._alarm = entries[self._next], None
        self._next += 1
        lost = isinstance(entry, Event) and entry.event == LOST
        if isinstance(entry, Piece) and entry.dir == IN:
            self._on_bytes(entry.data)
        if not self._open or self._alarm is not None:  # whoever got the bytes closed it, or opened it anew
            return
        if lost or self._next >= len(entries):
            self.close()
            self._on_lost(Cause.LOST, OVER if not lost else "the device was lost in the recording")
        else:
            self._arm(entries)
