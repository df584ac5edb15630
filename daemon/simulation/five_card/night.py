"""An evening of five-card stud on which everything may fail."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from daemon.config import Settings
from daemon.games.five_card import FiveCardRules
from daemon.simulation.disk import DurableJournal
from daemon.simulation.faults import Faults
from daemon.simulation.five_card.crew import SHOE, StudBooks, StudCrew
from daemon.simulation.five_card.tally import StudTally
from daemon.simulation.night import SimulatedDevice
from daemon.simulation.options import SimulateOptions
from daemon.simulation.rough import SIGN, RoughBench
from drivers.base import Simulator
from drivers.shoe.sim_fdp import ShoeSim
from drivers.sign.sim_alpha import AlphaSim


class StudNight:
    """A table, its people, and what fails. Everything follows from ``random``."""

    def __init__(self, options: SimulateOptions, settings: Settings, random: Random) -> None:
        rules = settings.rules
        assert isinstance(rules, FiveCardRules)
        names = ((SHOE, "shoe", "fdp"), (SIGN, SIGN, "alpha"))
        devices = tuple(SimulatedDevice(*name, "memory", simulated=True) for name in names)
        self.tally = StudTally()
        self.books = StudBooks(rules.ante)
        self.journal = DurableJournal(self.books.durable)
        sims: dict[str, Simulator] = {SHOE: ShoeSim(deck=()), SIGN: AlphaSim()}
        self.bench = RoughBench(replace(settings, devices=devices), sims, self.journal, self.books, random)
        self.faults = Faults(self.bench, SHOE, "", options.faults, random)
        seats = range(1, options.boxes + 1)
        self.crew = StudCrew(self.bench, self.faults, self.books, seats, rules, random)

    def open(self) -> None:
        """The people find the table as it is; there is nothing to be done first."""

    def play(self) -> None:
        """One more round is closed. Raises Violation."""
        summary = self.crew.play()
        self.tally.add(self.crew.book.hands, summary, self.crew.paid)
        self.tally.top_ups = self.crew.top_ups
