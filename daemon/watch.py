"""What the controller must know about itself: room on the disk, the write-ahead log, its clock.

It is looked at once a second. Every finding is an input of the table, so that a refusal for want of
room is in the journal like any other, and a stamp can be read with the step of the clock before it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from daemon.games.caribbean.memory import NO_ROOM
from daemon.table import Noticed
from drivers.base import SECOND

MEBI: Final = 2**20
LOW_SPACE: Final = 64 * MEBI  # bytes: some hundred thousand records
LARGE_WAL: Final = 64 * MEBI  # bytes: the checkpoint keeps it below 4 MiB unless somebody reads on and on
STEP: Final = SECOND  # an hour of drift between two looks is no step
WAL: Final = "wal-large"
UNMOVED: Final = "archive-failed"
CLOCK: Final = "clock-stepped"


@dataclass(frozen=True, slots=True)
class Machine:
    """What is looked at, as functions: bytes free, bytes of the log, UTC and monotonic nanoseconds, and
    why old records cannot be moved into archives ("" when they can)."""

    free: Callable[[], int]
    wal: Callable[[], int]
    utc: Callable[[], int]
    monotonic: Callable[[], int]
    unmoved: Callable[[], str] = str


class _Level:
    """A condition that begins at a level and ends only well past it, so that it does not flutter."""

    def __init__(self, code: str, text: Callable[[int], str]) -> None:
        self.code = code
        self._text = text
        self.holds = False

    def look(self, value: int, begins: bool, ends: bool) -> Iterator[Noticed]:
        if begins and not self.holds:
            self.holds = True
            yield Noticed(self.code, self._text(value), True)
        elif ends and self.holds:
            self.holds = False
            yield Noticed(self.code, "", False)


class Watch:
    """Looks at the machine and tells what changed.

    ``latched``: codes of faults that the journal holds from before a restart; what is over by now
    is told as over. ``low_space`` in bytes.
    """

    def __init__(
        self, machine: Machine, latched: frozenset[str] = frozenset(), low_space: int = LOW_SPACE
    ) -> None:
        self._machine = machine
        self._low_space = low_space
        self._room = _Level(NO_ROOM, _no_room)
        self._wal = _Level(WAL, _large_wal)
        self._room.holds, self._wal.holds = NO_ROOM in latched, WAL in latched
        self._stuck = UNMOVED in latched
        self._offset = machine.utc() - machine.monotonic()

    def look(self) -> list[Noticed]:
        """What began, ended or happened since the last look."""
        free, wal = self._machine.free(), self._machine.wal()
        return [
            *self._room.look(free, free < self._low_space, free > self._low_space + self._low_space // 4),
            *self._wal.look(wal, wal > LARGE_WAL, wal < LARGE_WAL // 2),
            *self._clock(),
            *self._unmoved(),
        ]

    def _unmoved(self) -> Iterator[Noticed]:
        text = self._machine.unmoved()
        if bool(text) != self._stuck:
            self._stuck = bool(text)
            yield Noticed(UNMOVED, text, self._stuck)

    def _clock(self) -> Iterator[Noticed]:
        offset = self._machine.utc() - self._machine.monotonic()
        step, self._offset = offset - self._offset, offset
        if abs(step) >= STEP:
            yield Noticed(
                CLOCK, f"the clock was set by {step / SECOND:+.3f} s; the order is that of the records"
            )


def _no_room(free: int) -> str:
    return f"{free // MEBI} MiB are free on the journal's disk: no new bets until there is more room"


def _large_wal(wal: int) -> str:
    return (
        f"the journal's write-ahead log has {wal // MEBI} MiB: a program keeps reading the journal, "
        "end it (a report, a copy, a shell with an open transaction)"
    )


def of_journal(
    journal: Path, utc: Callable[[], int], monotonic: Callable[[], int], unmoved: Callable[[], str] = str
) -> Machine:
    """The machine that keeps this journal. Room and log that cannot be asked about count as fine:
    the journal itself then fails, and says how."""
    return Machine(lambda: _free(journal.parent), lambda: _size(journal), utc, monotonic, unmoved)


def _free(folder: Path) -> int:
    try:
        found = os.statvfs(folder)
    except OSError:
        return 2**62
    return found.f_bavail * found.f_frsize


def _size(journal: Path) -> int:
    try:
        return journal.with_name(f"{journal.name}-wal").stat().st_size
    except OSError:
        return 0
