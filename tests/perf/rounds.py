"""Simulated rounds of seven boxes, beside dealing and ranking the same number of hands in a bare loop."""

from __future__ import annotations

from random import Random

from daemon import simulate
from daemon.build import build_table
from daemon.games.hands import rank_61_2004
from daemon.simulate import SimulateOptions, run
from drivers.cards import DECK
from tests.perf.measure import Row, rates

ROUNDS = 100


def _library() -> int:
    """The same rounds through the library's machine instead of its compiled rows."""
    compiled = simulate.build_table
    simulate.build_table = lambda settings, compiled: build_table(settings)
    try:
        return _simulated()
    finally:
        simulate.build_table = compiled


def _simulated() -> int:
    result = run(SimulateOptions(rounds=ROUNDS, boxes=7, seed=1))
    assert result["invariant_violations"] == 0
    return ROUNDS


def _bare() -> int:
    dice, deck = Random(1), list(DECK)
    for _ in range(ROUNDS):
        dice.shuffle(deck)
        for place in range(8):
            rank_61_2004(deck[place:40:8])
    return ROUNDS


def measure() -> list[Row]:
    return [
        rates(
            "simulated rounds, seven boxes", "a bare loop of dealing and ranking", "/s", _simulated, _bare, 7
        ),
        rates("simulated rounds, compiled rows", "the library's machine", "/s", _simulated, _library, 7),
    ]
