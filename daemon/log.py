"""The log: JSON lines on standard error. It is lossy and never in the way of the table.

A call only puts a line into a bounded queue; a thread of its own writes it, so neither a pipe that
nobody reads nor a full disk can hold or break the caller. What is lost is counted, and told as soon as
lines get through again. Of one event about one device ten lines a minute are written, and none that
says the same as the one before it; what was held back is counted and told.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Full, Queue
from threading import Thread
from typing import Final

import structlog
from structlog.typing import EventDict

QUEUE: Final = 1000  # lines
MINUTE: Final = 60.0  # seconds: how long a line counts as written lately
MOST: Final = 10  # lines a minute of one event about one device
LONGEST_NUMBER: Final = 4096  # bits
DEEPEST: Final = 6  # levels of a value that are printed
LAST_WORDS: Final = 0.5  # seconds that the end waits for lines not yet written


class _Writer:
    """What structlog hands a finished line to. ``lost`` counts lines that could not be written."""

    def __init__(self, descriptor: int) -> None:
        self.lost = 0
        self._descriptor = descriptor
        self._lines: Queue[bytes | None] = Queue(QUEUE)
        self._thread = Thread(target=self._work, name="log", daemon=True)
        self._thread.start()

    def info(self, line: str) -> None:
        """Queue a line. In a full queue it takes the place of the oldest: the last words count most."""
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        while True:
            try:
                self._lines.put_nowait(data)
                return
            except Full:
                with suppress(Empty):
                    self._lines.get_nowait()
                    self.lost += 1

    def close(self) -> None:
        """Let the queue empty itself, for as long as LAST_WORDS."""
        try:
            self._lines.put(None, timeout=LAST_WORDS)
        except Full:
            return
        self._thread.join(LAST_WORDS)

    def _work(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                while line:
                    line = line[os.write(self._descriptor, line) :]
            except OSError:
                self.lost += 1


def _name_first(logger: object, method: str, facts: EventDict) -> EventDict:
    return {"at": facts.pop("at"), "event": facts.pop("event"), **facts}


def _plain(value: object, depth: int = 0) -> object:
    """The value as JSON can take it. Never raises, whatever the value does when it is printed."""
    if isinstance(value, int) and value.bit_length() > LONGEST_NUMBER:
        return f"<a number of {value.bit_length()} bits>"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if depth < DEEPEST and isinstance(value, Mapping):
        return {_text(key): _plain(part, depth + 1) for key, part in value.items()}
    if depth < DEEPEST and isinstance(value, list | tuple):
        return [_plain(part, depth + 1) for part in value]
    return _text(value)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return repr(value)
    except Exception as error:
        return f"<{type(value).__name__}: {type(error).__name__} when printed>"


@dataclass(slots=True)
class _Allowance:
    """What one event about one device may still write in this minute, and what was held back."""

    began: float
    lines: int = 0
    held_back: int = 0
    last: str | None = None


class _Quota:
    """Which lines are written, and which are only counted. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._minutes: dict[tuple[str, str], _Allowance] = {}

    def admits(self, event: str, facts: Mapping[str, object], now: float) -> bool:
        """Whether this line is written; if not, it is counted."""
        about = (event, _text(facts.get("device", "")))
        minute = self._minutes.setdefault(about, _Allowance(now))
        line = _text(facts)
        if line == minute.last or minute.lines >= MOST:
            minute.held_back += 1
            return False
        minute.last = line
        minute.lines += 1
        return True

    def over(self, now: float) -> Iterator[tuple[tuple[str, str], int]]:
        """The minutes that are over by ``now``, with what was held back in them."""
        for about, minute in list(self._minutes.items()):
            if now - minute.began >= MINUTE:
                del self._minutes[about]
                if minute.held_back:
                    yield about, minute.held_back


class Log:
    """Logs an event: a constant name and facts (daemon.engine.Log). Never raises, never blocks."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._writer = _Writer(sys.stderr.fileno() if descriptor is None else descriptor)
        self._logger = structlog.wrap_logger(
            self._writer,
            processors=[
                structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
                _name_first,
                structlog.processors.JSONRenderer(),
            ],
            wrapper_class=structlog.BoundLogger,
        )
        self._quota = _Quota()
        self._swept = time.monotonic()
        self._told_lost = 0

    def __call__(self, event: str, **facts: object) -> None:
        try:
            self._log(event, facts)
        except Exception:  # nothing that is logged can stop a round
            self._writer.lost += 1

    def _log(self, event: str, facts: Mapping[str, object]) -> None:
        now = time.monotonic()
        if now - self._swept >= 1:
            self._sweep(now)
        if self._quota.admits(event, facts, now):
            self._write(event, facts)

    def _write(self, event: str, facts: Mapping[str, object]) -> None:
        self._logger.info(event, **{name: _plain(value) for name, value in facts.items()})

    def _sweep(self, now: float) -> None:
        """Tell what was held back, and what was lost."""
        self._swept = now
        for (event, device), lines in self._quota.over(now):
            about = {"device": device} if device else {}
            self._write("held-back", {"of": event, **about, "lines": lines})
        lost = self._writer.lost
        if lost > self._told_lost:
            self._told_lost = lost
            self._write("lines-lost", {"lines": lost})

    @property
    def lost(self) -> int:
        """Lines that were not written since the start."""
        return self._writer.lost

    def close(self) -> None:
        """Write what is left, within a second."""
        try:
            held_back = sum(lines for _, lines in self._quota.over(time.monotonic() + MINUTE))
            if held_back:
                self._write("held-back", {"lines": held_back})
        finally:
            self._writer.close()
