"""An evening on which everything may fail: one table with a shoe, a shuffler and a sign."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Final

from daemon import registry
from daemon.config import DeviceSettings, Settings
from daemon.simulation.disk import DurableJournal
from daemon.simulation.faults import Faults
from daemon.simulation.floor import SHOE, SHUFFLER, Crew
from daemon.simulation.options import SimulateOptions
from daemon.simulation.rough import SIGN, RoughBench
from daemon.simulation.stakes import StakeBooks
from daemon.simulation.tally import Tally
from daemon.strategies import STRATEGIES
from drivers.base import Simulator
from drivers.protocol import DeviceProtocol
from drivers.shoe.sim_fdp import ShoeSim
from drivers.shuffler.sim_fdp import ShufflerSim
from drivers.sign.sim_alpha import AlphaSim

_protocol: Final = cache(registry.protocol)


@dataclass(frozen=True, slots=True)
class SimulatedDevice(DeviceSettings):
    """A process starts thousands of times: which packages bring protocols is looked up once."""

    @property
    def speaks(self) -> DeviceProtocol:
        return _protocol(self.role, self.protocol)


def settings_with_all(settings: Settings) -> Settings:
    """The table with both devices that cards can come from."""
    names = ((SHOE, "shoe", "fdp"), (SHUFFLER, "shuffler", "fdp"), (SIGN, SIGN, "alpha"))
    devices = tuple(SimulatedDevice(*name, "memory", simulated=True) for name in names)
    return replace(settings, shuffler=SHUFFLER if settings.mode == "shuffler" else "", devices=devices)


class Night:
    """A table, its people, and what fails. Everything follows from ``random``."""

    def __init__(self, options: SimulateOptions, settings: Settings, random: Random) -> None:
        rules = settings.caribbean
        self.tally = Tally(rules.ante_min)
        self.books = StakeBooks(rules.jackpot)
        self.journal = DurableJournal(self.books.durable)
        sims: dict[str, Simulator] = {
            SHOE: ShoeSim(),
            SHUFFLER: ShufflerSim(seed=random.getrandbits(32)),
            SIGN: AlphaSim(),
        }
        self.bench = RoughBench(settings_with_all(settings), sims, self.journal, self.books, random)
        self.faults = Faults(self.bench, SHOE, SHUFFLER, options.faults, random)
        self.crew = Crew(
            self.bench,
            self.faults,
            self.books,
            range(1, options.boxes + 1),
            STRATEGIES[options.strategy],
            rules.ante_min,
            rules.jackpot.stake,
            random,
        )

    def open(self) -> None:
        """The people find the table as it is; there is nothing to be done first."""

    def play(self) -> None:
        """One more round is closed. Raises Violation."""
        summary = self.crew.play()
        hands = self.crew.hands() if summary["outcome"] == "settled" else {}
        self.tally.add(hands, summary)
