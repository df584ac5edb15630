"""The log: JSON lines on standard error. It is lossy and never in the way of the table.

A call only puts a line into a bounded queue; a thread of its own writes it, so neither a pipe that
nobody reads nor a full disk can hold or break the caller. What is lost is counted.
"""

from __future__ import annotations

import os
import sys
from queue import Full, Queue
from threading import Thread
from typing import Final

import structlog
from structlog.typing import EventDict

QUEUE: Final = 1000  # lines
LAST_WORDS: Final = 0.5  # seconds that the end waits for lines not yet written


class _Writer:
    """What structlog hands a finished line to."""

    def __init__(self, descriptor: int) -> None:
        self.lost = 0
        self._descriptor = descriptor
        self._lines: Queue[bytes | None] = Queue(QUEUE)
        self._thread = Thread(target=self._work, name="log", daemon=True)
        self._thread.start()

    def info(self, line: str) -> None:
        try:
            self._lines.put_nowait(line.encode("utf-8", "backslashreplace") + b"\n")
        except Full:
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


class Log:
    """Logs an event: a constant name and facts (daemon.engine.Log). Never raises, never blocks.

    An event that is the same as the one before it is counted, not written again.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._writer = _Writer(sys.stderr.fileno() if descriptor is None else descriptor)
        self._logger = structlog.wrap_logger(
            self._writer,
            processors=[
                structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
                _name_first,
                structlog.processors.JSONRenderer(default=repr),
            ],
            wrapper_class=structlog.BoundLogger,
        )
        self._last: tuple[str, dict[str, object]] | None = None
        self._repeats = 0

    def __call__(self, event: str, **facts: object) -> None:
        try:
            self._log(event, facts)
        except Exception:  # whatever a value does when it is compared or printed
            self._writer.info(f'{{"event": "unprintable", "of": "{event}"}}')

    def _log(self, event: str, facts: dict[str, object]) -> None:
        if (event, facts) == self._last:
            self._repeats += 1
            return
        self._tell_repeats()
        self._last = (event, facts)
        self._logger.info(event, **facts)

    def _tell_repeats(self) -> None:
        if self._repeats and self._last is not None:
            self._logger.info("repeated", of=self._last[0], times=self._repeats)
        self._repeats = 0

    @property
    def lost(self) -> int:
        """Lines that were not written."""
        return self._writer.lost

    def close(self) -> None:
        """Write what is left, within a second."""
        try:
            self._tell_repeats()
        finally:
            self._writer.close()
