"""What can be simulated, and the rules by which the return per ante is defined."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from daemon.games.caribbean import Caribbean, CaribbeanRules
from daemon.games.five_card import FiveCard, FiveCardRules
from daemon.games.five_card.rules import FEWEST_HANDS
from daemon.games.jackpot import JackpotRules
from daemon.strategies import STRATEGIES

STRATEGY: Final = "ak"
BLOCK: Final = 1_000  # rounds of one evening, when there are jobs

# Without a cap and with royal odds of 100: the rules by which the return per ante is defined.
BUILT_IN_RULES: Final = CaribbeanRules(
    ante_min=10_000,
    ante_max=1_000_000,
    royal_odds=100,
    jackpot=JackpotRules(
        stake=1_000,
        contribution=Fraction(7, 10),
        minimum=100_000_000,
        royal_flush=50_000_000,
        straight_flush=5_000_000,
        quads=500_000,
        full_house=100_000,
        flush=50_000,
    ),
)

FIVE_CARD_RULES: Final = FiveCardRules(ante=2_000, smallest_chip=500)


@dataclass(frozen=True, slots=True)
class SimulateOptions:
    """What to simulate. ``boxes`` is 1 to 7, ``mode`` shoe or shuffler.

    At five-card stud ``boxes`` are the seats, 2 to 7, the cards come from a shoe, and ``strategy`` says
    nothing: each player has his own.

    ``config``: take the rules of this file, the ante being its minimum. ``journal``: keep the
    journal in this new file, its sealing key beside it (:func:`key_path`). ``progress`` is told
    the rounds done. ``faults`` is the mean number of faults in ten steps of the people, 0 to 1. With
    faults or ``jobs`` the rounds are played in blocks of :data:`BLOCK`, so many at a time (0: one for
    each processor); how many does not change what is played.
    """

    game: str = "caribbean"
    rounds: int = 1_000
    boxes: int = 7
    mode: str = "shoe"
    strategy: str = STRATEGY
    seed: int = 1
    config: Path | None = None
    journal: Path | None = None
    faults: float = 0.0
    jobs: int = 0
    progress: Callable[[int], None] | None = None

    def check(self) -> None:
        """Raises ValueError with one sentence for the person who asked."""
        if self.game not in (Caribbean.name, FiveCard.name):
            known = f"{Caribbean.name} and {FiveCard.name}"
            raise ValueError(f"game {self.game!r} cannot be simulated; {known} can")
        if self.game == FiveCard.name:
            self._check_five_card()
        if self.strategy not in STRATEGIES:
            raise ValueError(f"no strategy {self.strategy!r}; choose {', '.join(STRATEGIES)}")
        if self.mode not in ("shoe", "shuffler"):
            raise ValueError(f"no mode {self.mode!r}; choose shoe or shuffler")
        if not 1 <= self.boxes <= 7:
            raise ValueError("boxes is 1 to 7")
        if self.rounds < 1:
            raise ValueError("rounds is at least 1")
        if not 0 <= self.faults <= 1:
            raise ValueError("faults is a rate from 0 to 1")
        if self.jobs < 0:
            raise ValueError("jobs is at least 0")
        if self.journal and (self.faults or self.jobs):
            raise ValueError("a journal file is kept of an evening without faults and jobs")

    def _check_five_card(self) -> None:
        if self.mode != "shoe":
            raise ValueError(f"{FiveCard.name} is dealt from a shoe (FC-02)")
        if self.strategy != STRATEGY:
            raise ValueError(f"at {FiveCard.name} each player has a strategy of its own: leave it out")
        if self.boxes < FEWEST_HANDS:
            raise ValueError(f"{FiveCard.name} has {FEWEST_HANDS} to 7 seats")

    def blocks(self) -> list[SimulateOptions]:
        """The same rounds as evenings of their own, whatever the number of jobs."""
        sizes = [min(BLOCK, self.rounds - begun) for begun in range(0, self.rounds, BLOCK)]
        return [
            replace(self, rounds=size, seed=_block_seed(self.seed, number), progress=None)
            for number, size in enumerate(sizes)
        ]

    def command(self, rounds: int) -> str:
        """The command line that plays the first ``rounds`` rounds of this seed again."""
        words = ["feltd simulate", f"--game {self.game}", f"--rounds {rounds}", f"--boxes {self.boxes}"]
        if self.game == Caribbean.name:
            words += [f"--mode {self.mode}", f"--strategy {self.strategy}"]
        words += [f"--faults {self.faults!r}"] if self.faults else []
        words += [f"--config {self.config}"] if self.config else []
        return " ".join([*words, f"--seed {self.seed}"])


def _block_seed(seed: int, number: int) -> int:
    """The first block has the seed itself, so each block can be played alone by its own."""
    if number == 0:
        return seed
    digest = hashlib.sha256(f"block {number} of seed {seed}".encode()).digest()
    return int.from_bytes(digest[:6])


def key_path(journal: Path) -> Path:
    """Where the sealing key of a simulation's journal file lies."""
    return journal.with_suffix(".key")
