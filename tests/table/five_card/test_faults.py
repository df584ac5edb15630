"""``feltd simulate --game five-card --faults``: no chip is lost whatever fails; and what the oracle finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final

import pytest

from daemon.games.five_card import FiveCard
from daemon.games.five_card.betting import Betting
from daemon.games.five_card.dealing import Dealing
from daemon.games.five_card.rows import Phase
from daemon.games.five_card.showdown import Showdown
from daemon.games.pots import Share
from daemon.simulate import SimulateOptions, run, settings_of
from daemon.simulation import rough
from daemon.simulation.five_card.night import StudNight
from drivers.base import SECOND
from tests.table.test_simulate_faults import loses_a_latched_fault

SEATS: Final = 4
BEFORE: Final = (Phase.BETWEEN_ROUNDS, Phase.ANTES)
AMID: Final = (Phase.DEALING, Phase.OPENING, Phase.SPEAKING, Phase.ANSWERING, Phase.SHOWDOWN, Phase.SETTLING)


def simulated(**options: Any) -> dict[str, Any]:
    return run(SimulateOptions(**{"game": "five-card", "jobs": 1, **options}))


def night(seed: int = 1, rate: float = 0.0, seats: int = SEATS) -> StudNight:
    options = SimulateOptions(game="five-card", boxes=seats, faults=rate)
    return StudNight(options, settings_of(options), Random(seed))


KINDS: Final = sorted(night().faults.kinds)


def until(table: StudNight, phase: Phase) -> None:
    """The people play on until a round is in this phase."""
    crew = table.crew
    crew._begin()
    for _ in range(4_000):
        if table.bench.up and crew.game.state is phase:
            return
        if closes(table, crew._step):
            crew._begin()
    raise AssertionError(f"{phase.value} is not reached")


def closes(table: StudNight, do: Callable[[], object]) -> bool:
    """Do something at the table that may end a round. Whether it did."""
    before = table.books.rounds
    do()
    if table.books.rounds == before:
        return False
    table.crew._closed(table.books.closed[0])
    return True


def plays(table: StudNight, rounds: int) -> None:
    for _ in range(rounds):
        table.play()


# --- nothing is broken ---------------------------------------------------------------------------


def test_many_faults_break_nothing_and_all_kinds_come() -> None:
    report = simulated(rounds=80, boxes=SEATS, seed=7, faults=1.0)
    assert "violation" not in report
    assert (report["invariant_violations"], report["rounds"]) == (0, 80)
    assert set(report["faults"]) == set(KINDS)
    assert [kind for kind, count in report["faults"].items() if not count] == []
    assert report["faults_injected"] == sum(report["faults"].values())
    assert report["restarts"] > 30
    assert {"FC-16", "FC-18", "FC-19"} <= set(report["irregularities"])


def test_without_faults_every_round_is_settled() -> None:
    table = night()
    plays(table, 40)
    assert (table.tally.void, table.bench.starts, sum(table.faults.count.values())) == (0, 1, 0)
    assert table.crew.remedies == {}
    assert table.tally.showdowns > 10


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_at_each_moment_of_a_round(kind: str) -> None:
    """Nobody is stuck, and the rounds after it are played as well."""
    came = 0
    for phase in (*BEFORE, *AMID):
        table = night(seed=2)
        table.bench.run_for(10 * SECOND)  # until the sign has its text
        until(table, phase)
        closes(table, partial(table.faults.cause, kind))
        came += table.faults.count[kind]
        plays(table, 2)
    assert came >= 1


def test_a_seed_comes_again_and_another_does_not() -> None:
    first, again = (simulated(rounds=25, seed=5, faults=0.4) for _ in range(2))
    other = simulated(rounds=25, seed=6, faults=0.4)
    for key in ("journal_sha256", "faults", "restarts", "void", "pots", "rake"):
        assert first[key] == again[key]
    assert first["journal_sha256"] != other["journal_sha256"]


def test_no_kind_is_of_a_shuffler_that_is_not_there() -> None:
    assert [kind for kind in KINDS if "shuffler" in kind] == []
    assert {"shoe-lost", "sign-lost", "hole-exposed", "time-over", "card-early"} <= set(KINDS)


def test_a_card_that_is_told_after_the_deck_was_taken_away_ends_in_a_void_round() -> None:
    """It was held up on its way and looks like the burn of the next round (FC-19)."""
    table = night(seed=3)
    until(table, Phase.DEALING)
    wire = table.bench.to_host["shoe"]
    wire.held_until = table.bench.clock.now + 2 * SECOND
    assert "error" not in table.bench.handle("shoe", "draw")
    assert closes(table, lambda: table.crew.act("wrong-deck", "supervisor", text="dropped"))
    plays(table, 3)
    assert table.crew.remedies == {"a card of the round before was told late": 1}
    assert (table.books.rounds, table.tally.void) == (4, 1)


# --- deliberate mistakes: each is found ----------------------------------------------------------

Patch = Callable[[pytest.MonkeyPatch], None]


def pays_a_pot_twice(patch: pytest.MonkeyPatch) -> None:
    pay = Showdown._share

    def generous(game: Any, pot: Any, orders: Any) -> Share:
        share = pay(game, pot, orders)
        return Share(share.pot, share.rake, {seat: 2 * won for seat, won in share.won.items()})

    patch.setattr(Showdown, "_share", generous)


def forgets_the_ante_of_an_exposed_hand(patch: pytest.MonkeyPatch) -> None:
    def greedy(game: Any, act: Any, desk: Any) -> None:
        hand = game._now.hands[act.number("seat")]
        hand.dead = True
        game._now.is_out(hand)
        if len(game._now.live) < 2:
            game._now.due, game._now.queue = [], []

    patch.setattr(Dealing, "kill_hand", greedy)


def lets_somebody_speak_out_of_turn(patch: pytest.MonkeyPatch) -> None:
    def lenient(game: Any, act: Any, desk: Any) -> None:
        seat, now = act.number("seat"), game._now
        if seat in now.queue:
            now.queue.remove(seat)
            now.queue.insert(0, seat)

    patch.setattr(Betting, "may_act", lenient)


def folds_a_hand_by_itself(patch: pytest.MonkeyPatch) -> None:
    call = Betting.call

    def harsh(game: Any, act: Any, desk: Any) -> None:
        call(game, act, desk)
        if len(game._now.live) > 3:
            hand = game._now.hands[act.number("seat")]
            hand.folded = True
            game._now.is_out(hand)

    patch.setattr(Betting, "call", harsh)


def forgets_a_stack_in_a_restart(patch: pytest.MonkeyPatch) -> None:
    recover = rough.recover

    def forgetful(*args: Any) -> Any:
        table, found = recover(*args)
        for seat in table.game.seats.values():
            seat.stack += 500
            table.balances[f"stack.{seat.number}"] += 500
            table.balances[f"player.{seat.number}"] -= 500
        return table, found

    patch.setattr(rough, "recover", forgetful)


def shows_another_ante(patch: pytest.MonkeyPatch) -> None:
    sign = FiveCard.sign
    patch.setattr(FiveCard, "sign", lambda game: replace(sign(game), meter="$50.00"))


MISTAKES: Final[dict[Patch, str]] = {
    pays_a_pot_twice: "pot|its player counts|by its own book",
    forgets_the_ante_of_an_exposed_hand: "its player counts|by its own book",
    lets_somebody_speak_out_of_turn: "out of turn",
    folds_a_hand_by_itself: "neither its player nor the clock",
    forgets_a_stack_in_a_restart: "recovered table|journal",
    loses_a_latched_fault: "a restart cleared|the recovered table",
    shows_another_ante: "the sign shows",
}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_deliberate_mistake_is_found(mistake: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    table = night(3, 0.5)
    with pytest.raises(Exception, match=MISTAKES[mistake]):
        plays(table, 150)


def test_without_a_mistake_that_evening_goes_well() -> None:
    plays(night(3, 0.5), 30)
