"""I12 at five-card stud: two things go wrong within 10 ms, in every state and in both orders.

What cannot happen in a state is refused or does nothing: that is an outcome too. Whatever came, the
round ends, the money is what the players' own book says, and the table plays on.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from random import Random
from typing import Final

import pytest

from daemon.games.five_card.rows import Phase
from daemon.simulate import SimulateOptions, settings_of
from daemon.simulation.five_card.night import StudNight
from drivers.base import MILLISECOND
from tests.table.five_card.test_faults import closes, until

SEATS: Final = 3
FAILURES: Final = {
    "shoe lost": "shoe-lost",
    "exposed card": "hole-exposed",
    "sign lost": "sign-lost",
    "kill": "kill-after-commit",
    "disk full": "disk-full-append",
    "SIGTERM": "sigterm",
    "second exposure": "hole-exposed",
    "cover open": "shoe-cover-open",
}
PAIRS: Final = list(product(FAILURES, FAILURES))


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_i12_two_failures_in_every_state(one: str, other: str) -> None:
    for phase in Phase:
        options = SimulateOptions(game="five-card", boxes=SEATS)
        table = StudNight(options, settings_of(options), Random(4))
        if phase is not Phase.OUT_OF_SERVICE:
            until(table, phase)
        for what in (one, other):
            closes(table, partial(table.faults.cause, FAILURES[what]))
            closes(table, partial(table.bench.run_for, 4 * MILLISECOND))
        rounds = table.books.rounds
        table.play()
        table.play()
        assert table.books.rounds == rounds + 2
        table.books.at_rest(table.bench.table)
        kinds = {kind for kind, count in table.faults.count.items() if count}
        assert table.bench.starts > 1 or not kinds & {"kill-after-commit", "disk-full-append", "sigterm"}


def test_an_exposure_kills_one_hand_and_a_second_one_another() -> None:
    """FC-18: that hand only, whichever device fails beside it."""
    options = SimulateOptions(game="five-card", boxes=5)
    table = StudNight(options, settings_of(options), Random(4))
    until(table, Phase.OPENING)
    for what in ("hole-exposed", "shoe-lost", "hole-exposed"):
        assert table.faults.cause(what)
    now = table.crew.game.round
    assert now is not None
    assert [hand.dead for hand in now.hands.values()].count(True) == 2
    assert len(now.live) == 3
    table.play()
    assert table.books.closed[0]["outcome"] == "settled"
