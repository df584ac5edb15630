"""Commands to an Angel Eye: one under way, the others wait; none is ever given twice.

An answer names no command, so a late one could be taken for that of the next: after a command
without an answer the line rests for :data:`LATE`, and what is answered then is nobody's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from drivers.base import SECOND, ClearDeviceFault, CommandResult, Emit, LockShoe, Output, Send, UnlockShoe
from drivers.fdp_host import OUTCOME_LOST
from drivers.shoe.angel_eye_frames import command as frame

ANSWER: Final = SECOND  # within which a command is answered
LATE: Final = 2 * SECOND  # within which a late answer may still come
MOST_WAITING: Final = 8
LOCK, UNLOCK = 2, 1

# Details of a result that is not the shoe's own code
SUPERSEDED: Final = 0xFE  # a later lock or unlock took its place before it was given
LISTEN_ONLY: Final = 0xFD
NOT_TAKEN: Final = 0xFC  # a shoe takes no such command
NO_ERROR: Final = 0xFB  # there is no error to clear
QUEUE_FULL: Final = 0xFA

Taken = LockShoe | UnlockShoe | ClearDeviceFault


class Commands:
    """``error`` tells the error that is to be cleared, 0 for none; ``sent`` counts and wraps bytes."""

    def __init__(self, sent: Callable[[bytes], Send], error: Callable[[], int]) -> None:
        self._sent = sent
        self._error = error
        self._waiting: deque[Taken] = deque()
        self._given: Taken | None = None  # under way; None with ``_due``: the question who is there
        self._due: int | None = None  # when the answer is late
        self._rest_until = 0
        self._told_lock: bool | None = None  # by a telegram, since the command was given

    def deadline(self, asking: bool) -> int | None:
        """When something is due; ``asking``: nobody has answered yet."""
        if self._due is not None:
            return self._due
        return self._rest_until if asking or self._waiting else None

    def take(self, command: Taken) -> list[Output]:
        """Put a command behind the others; of locks and unlocks that wait only the last is given."""
        out: list[Output] = []
        if command in (self._given, *self._waiting):
            return out
        if not isinstance(command, ClearDeviceFault):
            waiting = [each for each in self._waiting if not isinstance(each, ClearDeviceFault)]
            for each in waiting:
                self._waiting.remove(each)
                out.append(_refused(each, SUPERSEDED))
        if len(self._waiting) >= MOST_WAITING:
            out.append(Emit(CommandResult(command.command_id, "busy", QUEUE_FULL)))
        else:
            self._waiting.append(command)
        return out

    def press(self, asking: bool, now: int) -> list[Output]:
        """Give what is next, if nothing is under way and the line has rested."""
        out: list[Output] = []
        if self._due is not None or now < self._rest_until:
            return out
        if asking:
            return [self._give(None, frame("GP", 0), now)]
        while self._waiting and self._due is None:
            command = self._waiting.popleft()
            data = self._frame(command)
            out.append(self._give(command, data, now) if data else _refused(command, NO_ERROR))
        return out

    def answered(self, code: int | None) -> list[Output] | None:
        """The shoe answered; None when nobody waits for it (any more)."""
        if self._due is None:
            return None
        given, self._given, self._due = self._given, None, None
        if given is None:
            return []
        if code is None:
            return [Emit(CommandResult(given.command_id, "done"))]
        return [_refused(given, code)]

    def told_lock(self, locked: bool) -> None:
        """A telegram tells the state of the lock."""
        self._told_lock = locked

    def overdue(self, now: int) -> list[Output]:
        """The answer is late: it is not given again. A lock that the shoe has told of was done."""
        if self._due is None or now < self._due:
            return []
        self._rest_until = now + LATE
        return self._lost()

    def interrupted(self) -> list[Output]:
        """The link was away: what became of the command under way cannot be known."""
        self._rest_until = 0
        return self._lost()

    def _lost(self) -> list[Output]:
        given, self._given, self._due = self._given, None, None
        if given is None:
            return []
        if self._told_lock is not None and self._told_lock == _locks(given):
            return [Emit(CommandResult(given.command_id, "done"))]
        return [_refused(given, OUTCOME_LOST)]

    def _give(self, command: Taken | None, data: bytes, now: int) -> Send:
        self._given, self._due, self._told_lock = command, now + ANSWER, None
        return self._sent(data)

    def _frame(self, command: Taken) -> bytes:
        """The bytes of a command; none where there is no error to clear."""
        if not isinstance(command, ClearDeviceFault):
            return frame("LK", LOCK if isinstance(command, LockShoe) else UNLOCK)
        error = self._error()
        return frame("EC", error) if error else b""


def _locks(command: Taken) -> bool | None:
    return None if isinstance(command, ClearDeviceFault) else isinstance(command, LockShoe)


def _refused(command: Taken, detail: int) -> Emit:
    return Emit(CommandResult(command.command_id, "refused", detail))
