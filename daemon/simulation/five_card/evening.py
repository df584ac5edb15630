"""An evening of five-card stud in memory: the table, its shoe, its dealer and its players."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from daemon.build import build_ports, build_table, started
from daemon.config import Settings
from daemon.games.five_card.game import FiveCard
from daemon.games.five_card.rules import DECISION, FEWEST_HANDS, FiveCardRules
from daemon.journal import MemoryJournal, SqliteJournal
from daemon.simulation.bench import Bench, LastRound
from daemon.simulation.five_card.dealer import Dealer, Look, Mishap
from daemon.simulation.five_card.tally import StudTally
from daemon.table import InvariantBroken
from drivers.base import SECOND, Simulator
from drivers.cards import Card, parse_card
from drivers.shoe.sim_fdp import ShoeSim
from drivers.sign.sim_alpha import AlphaSim

SHOE: Final = "shoe"
SIGN: Final = "sign"
NAP: Final = 30 * SECOND  # simulated

# One round in so many.
MISHAPS: Final = {
    Mishap.EXPOSED: 60,
    Mishap.EARLY: 100,
    Mishap.LEFT: 100,
    Mishap.WRONG_DECK: 400,
    Mishap.ASLEEP: 1_000,
}


class BenchFloor:
    """The table on the bench (daemon.simulation.five_card.dealer.Floor)."""

    def __init__(self, bench: Bench, game: FiveCard) -> None:
        self._bench = bench
        self._game = game

    def act(self, name: str, role: str = "dealer", **args: str | int) -> None:
        self._bench.act(name, role, **args)

    def look(self) -> Look:
        self._bench.read()
        game, now = self._game, self._game.round
        if now is None:
            return Look(game.phase)
        return Look(game.phase, now.queue[0] if now.queue else None, tuple(now.due), now.error)

    def load(self, deck: Sequence[str]) -> None:
        self._bench.handle(SHOE, "load", deck=deck)

    def draw(self, face_up: bool = False, foreign: bool = False) -> Card:
        drawn = self._bench.handle(SHOE, "draw", face_up=face_up, foreign=foreign)
        return parse_card(str(drawn["card"]))

    def sleep(self) -> None:
        """The clock goes on; the devices give their signs of life."""
        clock = self._bench.clock
        end = clock.now + DECISION
        while clock.now < end:
            awake = min(end, clock.now + NAP)
            self._bench.wait(lambda at=awake: clock.now >= at, "the end of a nap")  # type: ignore[misc]


class StudEvening:
    """A table with ``seats`` seats. ``random`` shuffles every deck and decides for every player."""

    def __init__(
        self, seats: int, settings: Settings, journal: MemoryJournal | SqliteJournal, random: Random
    ) -> None:
        rules = settings.rules
        assert isinstance(rules, FiveCardRules)
        self.journal = LastRound(journal)
        self.tally = StudTally()
        self._table = table = build_table(settings, compiled=True)
        game = table.game
        assert isinstance(game, FiveCard)
        sims: dict[str, Simulator] = {SHOE: ShoeSim(deck=()), SIGN: AlphaSim()}
        self.bench = Bench(table, self.journal, build_ports(settings, table), sims)
        self.dealer = Dealer(BenchFloor(self.bench, game), rules, range(1, seats + 1), random)
        self._random = random
        self._started = started(settings)

    def open(self) -> None:
        """The daemon starts, the devices are proven, the table opens, the sign shows the ante."""
        self.bench.start(self._started)
        self.bench.act("open-table")
        self.bench.wait(lambda: not self._table.rig.not_ready(), "the shoe")
        self.bench.wait(self._table.rig.sign_is_current, "the sign")

    def play(self) -> None:
        """One round, and the books compared after it. Raises InvariantBroken."""
        dealer = self.dealer
        dealer.prepare(dealer.players(FEWEST_HANDS))
        paid = dealer.book.settled() if dealer.play(self._mishap()) else None
        account = self.journal.summary
        broken = dealer.book.differences(account, paid, self._table.balances)
        broken += self._table.game.check(self._table.balances)
        if broken:
            raise InvariantBroken("; ".join(broken))
        self.tally.add(dealer.book.hands, account, paid)
        self.tally.top_ups = dealer.top_ups

    def _mishap(self) -> Mishap | None:
        for mishap, in_so_many in MISHAPS.items():
            if not self._random.randrange(in_so_many):
                return mishap
        return None
