"""The people of a table on which everything may fail: they look, and do what is due.

No step remembers what the one before intended: what is due follows from what the table shows and
from the cards that lie there. So a restart, a void round or a device that went away need no special
path. Cards are known here from the devices' own answers alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Final, Generic, TypeVar

from daemon.games.desk import Act
from daemon.records import Plain
from daemon.rig import Device
from daemon.simulation.disk import Violation
from daemon.simulation.faults import Faults, Try
from daemon.simulation.oracle import Books, state_of
from daemon.simulation.rough import RoughBench
from drivers.base import MILLISECOND, SECOND

NO_PROGRESS: Final = 180 * SECOND  # simulated, without an accepted act or a card: the table is stuck
LONGEST_ROUND: Final = 1_800 * SECOND
MOST_STEPS: Final = 20_000
SLOW_DEVICE: Final = 15 * SECOND  # that a ready device may take to tell what happened
PAUSE: Final = 20 * MILLISECOND

B = TypeVar("B", bound=Books)


class People(ABC, Generic[B]):
    """Dealer, players, supervisor and technician. :meth:`play` plays until a round is closed.

    Raises Violation when the oracle objects or nothing goes on any more.
    """

    def __init__(self, bench: RoughBench, faults: Faults, books: B, random: Random) -> None:
        self.bench, self.books = bench, books
        self.faults = faults
        faults.add(self._game_faults())
        self.remedies: Counter[str] = Counter()  # remedies that were needed, by name
        self._random = random
        self._acts = 0
        self._moved_at = 0
        self._waits_since: int | None = None

    # --- a game's own -----------------------------------------------------------------------

    @abstractmethod
    def _begin(self) -> None:
        """What these people want of the next round."""

    @abstractmethod
    def _due(self) -> None:
        """One thing of those that are due."""

    @abstractmethod
    def _closed(self, summary: Plain) -> None:
        """Hold a closed round against the oracle."""

    @abstractmethod
    def _game_faults(self) -> Mapping[str, Try]:
        """What the people themselves, and cards, do wrong."""

    # --- a round ----------------------------------------------------------------------------

    def play(self) -> Plain:
        """Play until one more round is closed, and hold it against the oracle; its account."""
        before, began, steps = self.books.rounds, self.bench.clock.now, 0
        self._moved_at = began
        self._begin()
        while self.books.rounds == before:
            steps += 1
            self._step()
            if steps > MOST_STEPS or self.bench.clock.now - began > LONGEST_ROUND:
                raise Violation(f"the round does not end: {state_of(self.bench.table)}")
        summary = self.books.closed[0]
        self._closed(summary)
        return summary

    def _step(self) -> None:
        bench = self.bench
        bench.read()
        if not bench.up:
            self._wait()
            return
        if self.faults.moment():
            if bench.up:
                self.books.compare(bench.table)
            return
        if bench.table.game.round_id is None and not bench.journal.pending:
            self.books.at_rest(bench.table)
        self._due()

    # --- acts and time ----------------------------------------------------------------------

    def act(self, name: str, role: str = "dealer", **args: str | int) -> bool:
        """Do one act under one key until it is answered. Whether it was accepted."""
        self._acts += 1
        act = Act(name, args, role=role, key=f"a{self._acts}")
        answer = self.bench.act(act)
        while answer is None:
            self._wait()
            answer = self.bench.act(act)
        if answer["accepted"]:
            self._moved()
        else:
            self._wait(PAUSE)
        return bool(answer["accepted"])

    def _moved(self) -> None:
        self._moved_at = self.bench.clock.now
        self._waits_since = None

    def _wait(self, most: int = SECOND) -> None:
        self.bench.pass_time(most)
        if self.bench.clock.now - self._moved_at > NO_PROGRESS:
            raise Violation(f"nothing goes on for {NO_PROGRESS // SECOND} s: {state_of(self.bench.table)}")

    def _waited(self, longest: int) -> bool:
        """Wait for something. Whether that has taken too long by now."""
        now = self.bench.clock.now
        self._waits_since = now if self._waits_since is None else self._waits_since
        self._wait()
        if now - self._waits_since <= longest:
            return False
        self._waits_since = None
        return True

    # --- devices ----------------------------------------------------------------------------

    def _source(self) -> Device:
        source = self.bench.table.rig.source
        assert source is not None
        return source

    def _by_hand(self, device: str) -> None:
        """Free a device of what a person sees on it, if there is anything."""
        self.bench.handle(device, "clear")
        self.bench.handle(device, "cover", open=False)

    def _clears_a_fault(self) -> bool:
        """Whether there was one that people clear, or wait for."""
        for fault in list(self.bench.table.faults.values()):
            if fault.cleared_by.startswith(("clear-fault", "supervisor")):
                self.act("clear-fault", "supervisor", code=fault.code, text="seen to")
                return True
            if fault.cleared_by.startswith("itself"):
                self._waited(SLOW_DEVICE)
                return True
        return False
