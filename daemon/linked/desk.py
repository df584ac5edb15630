"""Where a table hears of its linked pool: what the link process tells becomes an input, not too often.

Everything here is on the daemon's loop. The age of what is known is the controller's own monotonic
time; whose clock says what elsewhere does not matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from daemon.games.linked import AwardDecided, Linked, LinkedGame, PoolLost, PoolSeen, Told
from daemon.records import Plain
from drivers.base import SECOND

APART: Final = SECOND  # between two records of a pool that moves
LOOK_EVERY: Final = 1.0  # seconds
Hear = Callable[[Told], Plain | None]


class NotLinked(Exception):
    """This table has a pool of its own."""


class LinkDesk:
    """One table's side of the link. ``hear`` takes an input and returns its record, None when the journal
    cannot take it now; ``now`` is monotonic nanoseconds."""

    def __init__(self, game: LinkedGame | None, hear: Hear, now: Callable[[], int]) -> None:
        self._game = game
        self._hear = hear
        self._now = now
        self._heard_at: int | None = None
        self._told_at: int | None = None
        self._next: PoolSeen | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None

    @property
    def linked(self) -> Linked:
        """What the table knows of its pool. Raises NotLinked."""
        linked = self._game.linked if self._game is not None else None
        if linked is None:
            raise NotLinked
        return linked

    @property
    def age(self) -> int | None:
        """Nanoseconds since the pool was heard of; None before the first time."""
        return None if self._heard_at is None else self._now() - self._heard_at

    def start(self) -> None:
        """Look at the age from now on. Needs the running loop."""
        self._looking = asyncio.get_running_loop().call_later(LOOK_EVERY, self.start)
        self.look()

    def stop(self) -> None:
        for timer in (self._looking, self._timer):
            if timer is not None:
                timer.cancel()

    # --- what is told ---------------------------------------------------------------------------

    def seen(self, seen: PoolSeen, age: int = 0) -> None:
        """The pool as the authority had it ``age`` nanoseconds ago. Raises NotLinked.

        An older state than the one that is known proves that the link lives, and changes nothing else.
        """
        linked = self.linked
        self._heard_at = max(self._heard_at or 0, self._now() - age)
        before = self._next or PoolSeen(linked.pool, linked.version, linked.acked)
        newer = seen if seen.version >= before.version else before
        told = seen if seen.won else before
        acked = max(seen.acked, before.acked)
        self._next = replace(newer, acked=acked, won=told.won, winner=told.winner)
        self._tell()

    def decided(self, decided: AwardDecided) -> Plain | None:
        """The record of a decision, None while the journal cannot take it. Raises NotLinked."""
        linked, record = self.linked, self._hear(decided)
        if record is not None and not linked.lost:
            self._heard_at = self._now()
        return record

    def look(self) -> None:
        """The next thing that is due: what waits to be told, or that nothing is heard any more."""
        linked = self._game.linked if self._game is not None else None
        if linked is None or linked.lost:
            return
        age = self.age
        if age is None or age > linked.terms.max_age * SECOND:
            self._hear(PoolLost(f"the linked pool was not heard of for {linked.terms.max_age} s"))
        elif self._next is not None:
            self._tell()

    def _tell(self) -> None:
        """At most one record every APART, none that says what is known; the first after a loss at once."""
        linked, seen, now = self.linked, self._next, self._now()
        if seen is None or not _is_news(seen, linked):
            self._next = None
            return
        wait = 0 if self._told_at is None or linked.lost else self._told_at + APART - now
        if wait > 0:
            self._later(wait)
        elif self._hear(seen) is not None:
            self._told_at, self._next = now, None

    def _later(self, wait: int) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(wait / SECOND, self._due)

    def _due(self) -> None:
        self._timer = None
        self._tell()


def _is_news(seen: PoolSeen, linked: Linked) -> bool:
    known = (linked.version, linked.acked, "", 0)
    return (seen.version, seen.acked, linked.lost, seen.won) != known
