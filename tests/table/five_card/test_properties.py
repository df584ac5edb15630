"""What always holds, whatever comes in whatever order: all acts, the shoe, the clock, both modes."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from daemon.games.five_card.rows import ACTS, Phase
from daemon.rig import BY_HAND
from tests.table.five_card.walker import HOUSES, Pit

MODES = ("shoe", BY_HAND)
STEPS = tuple(
    "play_on antes deal card betting speak show settle put_right mishap any_act expose correct lose_shoe "
    "catch_up device early stale wrong_deck change_source leave house go_on slip".split()
)


class AtTheTable(RuleBasedStateMachine):
    """The checks are the walker's, after every single input."""

    @initialize(house=st.integers(0, len(HOUSES) - 1), mode=st.sampled_from(MODES))
    def sit_down(self, house: int, mode: str) -> None:
        self.pit = Pit(house, mode)

    @rule(step=st.sampled_from(STEPS), seed=st.integers(0, 2**32 - 1))
    def do(self, step: str, seed: int) -> None:
        getattr(self.pit, step)(Random(seed))


def _run(examples: int, steps: int) -> None:
    quick = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    run_state_machine_as_test(AtTheTable, settings=quick)


@pytest.mark.timeout(600)
def test_whatever_comes_in_whatever_order() -> None:
    _run(examples=30, steps=15)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_whatever_comes_for_long() -> None:
    _run(examples=600, steps=50)


def evening(seed: int, steps: int) -> Counter[str]:
    dice = Random(seed)
    pit = Pit(seed % len(HOUSES), MODES[seed // 3 % 2])
    for _ in range(steps):
        step = dice.choice(("play_on",) * 15 + STEPS)
        getattr(pit, step)(dice)
    return pit.seen


@pytest.mark.slow  # it looks at the tests themselves
@pytest.mark.timeout(600)
def test_everything_is_really_reached() -> None:
    """Whole rounds, side pots, voids, every act both taken and refused, every state, every fault."""
    seen: Counter[str] = Counter()
    for seed in range(10):
        seen.update(evening(seed, 80))
    wanted = [f"phase {phase.value}" for phase in Phase]
    wanted += [f"{act} {became}" for act in ACTS for became in ("taken", "refused")]
    wanted += ["round settled", "round void", "1 pots", "2 pots", "3 pots", "TimeUp taken", "TimeUp refused"]
    wanted += ["card again taken", "card again refused", "reveal again taken"]
    wanted += [f"fault {code}" for code in ("duplicate-card", "foreign-card", "shoe-restarted", "new-deck")]
    assert [name for name in wanted if not seen[name]] == []
    assert seen["round settled"] > 100
