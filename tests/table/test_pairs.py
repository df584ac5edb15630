"""I12: two things go wrong within 10 ms, in every state and in both orders.

What cannot happen in a state is refused or does nothing: that is an outcome too. The dealer then does
what the regulation asks. Both orders must end the round in the same way, with the same money.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any, Final

import pytest

from daemon.config import Settings
from daemon.games.caribbean.deal import HAND
from daemon.games.caribbean.rows import Phase
from daemon.games.desk import Act
from daemon.simulate import SimulateOptions, settings_of
from daemon.simulation.floor import SHUFFLER
from daemon.simulation.night import Night
from drivers.base import MILLISECOND
from drivers.cards import DECK
from drivers.shuffler.sim_fdp import ShufflerSim

BOXES: Final = 3
FAILURES: Final = {
    "shoe lost": "shoe-lost",
    "shuffler fault": "shuffler-jam",
    "exposed card": "",
    "sign lost": "sign-lost",
    "kill": "kill-after-commit",
    "disk full": "disk-full-append",
    "SIGTERM": "sigterm",
    "second exposure": "",
    "cover open": "",
}
EXPOSED_AT: Final = {"exposed card": 1, "second exposure": 2}
MODES: Final = ("shoe", "shuffler")
STATES: Final = [(mode, phase) for mode in MODES for phase in Phase]


class Same(Random):
    """Every deck has the same order, and nobody has a whim: both orders meet the same cards."""

    def shuffle(self, x: MutableSequence[Any]) -> None:
        x[:] = sorted(x, key=lambda card: _ORDER[getattr(card, "text", card)])

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return (start if stop is None else stop) - 1


_ORDER: Final = {card.text: place for place, card in enumerate(Random(9).sample(DECK, len(DECK)))}


class Floor:
    """A table in one state, at which two things are about to fail."""

    def __init__(self, mode: str, phase: Phase) -> None:
        options = SimulateOptions(boxes=BOXES, mode=mode, strategy="blind")
        self.night = Night(options, _settings(options), Same(1))
        self.mode = mode
        self._waiting: list[Act] = []
        machine = self.night.bench.sims[SHUFFLER]
        assert isinstance(machine, ShufflerSim)
        machine._random = Same(1)
        if phase is not Phase.OUT_OF_SERVICE:
            self._bring_to(phase)

    @property
    def phase(self) -> Phase:
        return self.night.crew.game.state

    def _bring_to(self, phase: Phase) -> None:
        crew = self.night.crew
        crew._begin()
        for _ in range(2_000):
            if self.phase is phase and self._is_in_the_middle(phase):
                return
            if phase is Phase.SHOWDOWN and self.phase is Phase.DEALING:
                crew._spoils(unread=True)
            if phase is Phase.VOID and self.phase is Phase.DEALING:
                crew._misdeals()
            else:
                crew._step()
        raise AssertionError(f"{phase.value} is not reached")

    def _is_in_the_middle(self, phase: Phase) -> bool:
        """Bets lie there, and cards at each box."""
        now = self.night.crew.game.round
        if phase is Phase.BETTING:
            return now is not None and len(now.boxes) == BOXES
        cards = sum(len(unit) for unit in self.night.crew._units)
        return phase is not Phase.DEALING or cards > (BOXES if self.mode == "shoe" else HAND)

    def fails(self, what: str) -> None:
        night = self.night
        if what in EXPOSED_AT:
            self._does(Act("expose", {"box": EXPOSED_AT[what], "card": 1}, role="dealer", key=what))
        else:
            night.faults.cause(FAILURES[what] or f"{self.mode}-cover-open")
        night.bench.run_for(4 * MILLISECOND)

    def _does(self, act: Act) -> None:
        if self.night.bench.act(act) is None:
            self._waiting.append(act)  # nobody answers: the dealer does it again

    def account(self, rounds: int) -> object:
        """How the round ends for everybody: by the failures themselves, or because the dealer goes on.
        ``rounds`` were closed before."""
        books, crew = self.night.books, self.night.crew
        summary = books.closed[0] if books.rounds > rounds else crew.play()
        books.compare(self.night.bench.table)
        rows = [
            (row["box"], row["ante_paid"], row["raise_paid"], row["award"], row["result"])
            for row in summary["boxes"]
        ]
        pool = summary["pool"]
        return summary["id"], summary["outcome"], rows, pool["contributed"], pool["closed"]

    def both(self, first: str, second: str) -> object:
        rounds = self.night.books.rounds
        self.fails(first)
        self.fails(second)
        for act in self._waiting:
            while self.night.bench.act(act) is None:
                self.night.bench.pass_time()
        account = self.account(rounds)
        self.night.crew.play()  # and the table plays on
        return account


def _settings(options: SimulateOptions) -> Settings:
    return replace(settings_of(options), shuffler=SHUFFLER if options.mode == "shuffler" else "")


def outcomes(mode: str, phase: Phase, one: str, other: str) -> tuple[object, object]:
    return Floor(mode, phase).both(one, other), Floor(mode, phase).both(other, one)


def unordered() -> list[tuple[str, str]]:
    names = list(FAILURES)
    return [(a, b) for a, b in product(names, names) if names.index(a) <= names.index(b)]


@pytest.mark.parametrize(("one", "other"), unordered())
@pytest.mark.parametrize("mode", MODES)
def test_i12_two_failures_while_dealing(mode: str, one: str, other: str) -> None:
    forth, back = outcomes(mode, Phase.DEALING, one, other)
    assert forth == back


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("one", FAILURES)
@pytest.mark.parametrize(("mode", "phase"), STATES, ids=lambda part: getattr(part, "value", part))
def test_i12_two_failures_in_every_state(mode: str, phase: Phase, one: str) -> None:
    for other in list(FAILURES)[list(FAILURES).index(one) :]:
        forth, back = outcomes(mode, phase, one, other)
        assert forth == back, other


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("phase", [Phase.DEALING, Phase.DECIDING])
def test_two_exposed_cards_void_the_round_and_one_does_not(mode: str, phase: Phase) -> None:
    both = Floor(mode, phase).both("exposed card", "second exposure")
    one = Floor(mode, phase).both("exposed card", "exposed card")
    assert isinstance(both, tuple)
    assert isinstance(one, tuple)
    assert (both[1], one[1]) == ("void", "settled")
