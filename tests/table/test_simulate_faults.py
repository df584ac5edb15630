"""``feltd simulate --faults``: everything fails, nothing is lost; and what the oracle finds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from daemon.cli import app
from daemon.engine import Engine
from daemon.games.caribbean import Caribbean
from daemon.games.caribbean import rest as resting
from daemon.games.caribbean.rows import Phase
from daemon.games.desk import Desk
from daemon.journal import Entry, JournalError
from daemon.simulate import SimulateOptions, run, settings_of
from daemon.simulation import options as simulation_options
from daemon.simulation import rough
from daemon.simulation.disk import DurableJournal
from daemon.simulation.night import Night
from daemon.table import FromDevice, Started, Table
from tests.table.test_simulate import Stacked

ROOT: Final = Path(__file__).parents[2]
KINDS: Final = sorted(Night(SimulateOptions(), settings_of(SimulateOptions()), Random(1)).faults.kinds)
OF_THE_DEAL: Final = {kind for kind in KINDS if kind.startswith("card-")}


def simulated(**options: Any) -> dict[str, Any]:
    return run(SimulateOptions(**{"jobs": 1, **options}))


def night(seed: int = 1, rate: float = 0.0, random: Random | None = None, **options: Any) -> Night:
    given = SimulateOptions(faults=rate, **options)
    return Night(given, settings_of(given), random or Random(seed))


def until(table: Night, phase: Phase) -> None:
    """The people play on until a round is in this phase."""
    table.crew._begin()
    for _ in range(2_000):
        if table.bench.up and table.crew.game.state is phase:
            return
        table.crew._step()
    raise AssertionError(f"{phase.value} is not reached")


def plays(table: Night, rounds: int) -> None:
    for _ in range(rounds):
        table.play()


# --- nothing is broken ---------------------------------------------------------------------------


def test_many_faults_break_nothing_and_all_kinds_come() -> None:
    report = simulated(rounds=60, boxes=4, seed=7, faults=1.0)
    assert "violation" not in report
    assert report["invariant_violations"] == 0
    assert report["rounds"] == 60
    assert report["faults_injected"] == sum(report["faults"].values())
    assert set(report["faults"]) == set(KINDS)
    assert [kind for kind, count in report["faults"].items() if not count] == []
    assert report["restarts"] > 30


def test_without_faults_every_round_is_settled() -> None:
    table = night()
    plays(table, 30)
    assert (table.tally.void, table.bench.starts, sum(table.faults.count.values())) == (0, 1, 0)
    assert table.crew.remedies == {}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_at_each_moment_of_a_round(kind: str) -> None:
    """Nobody is stuck, and the round after it is played as well."""
    came = 0
    for phase in (Phase.BETWEEN_ROUNDS, Phase.BETTING, Phase.DEALING, Phase.DECIDING, Phase.SETTLING):
        table = night(boxes=3)
        until(table, phase)
        came += table.faults.cause(kind)
        table.play()
        table.play()
    assert came >= 1


@pytest.mark.parametrize("mode", ["shoe", "shuffler"])
def test_either_device_may_come_first(mode: str) -> None:
    report = simulated(rounds=25, seed=3, faults=0.5, mode=mode, boxes=4)
    assert report["invariant_violations"] == 0
    assert report["mode"] == mode


# --- the seed is all there is --------------------------------------------------------------------


def test_a_seed_comes_again_and_another_does_not() -> None:
    first, again = (simulated(rounds=25, seed=5, faults=0.4) for _ in range(2))
    other = simulated(rounds=25, seed=6, faults=0.4)
    for key in ("journal_sha256", "faults", "restarts", "void", "player_return_per_ante"):
        assert first[key] == again[key]
    assert first["journal_sha256"] != other["journal_sha256"]


def test_the_order_of_a_hash_table_changes_nothing() -> None:
    code = (
        "from daemon.simulate import *\n"
        "print(run(SimulateOptions(rounds=12, seed=5, faults=0.5, jobs=1))['journal_sha256'])"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert len(told[0].strip()) == 64


def test_how_many_jobs_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation_options, "BLOCK", 5)
    one, two = (simulated(rounds=12, seed=5, faults=0.2, boxes=3, jobs=jobs) for jobs in (1, 2))
    for key in ("rounds", "journal_sha256", "faults", "categories", "standard_error"):
        assert one[key] == two[key]
    assert one["rounds"] == 12


def test_a_block_is_played_alone_by_its_own_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation_options, "BLOCK", 5)
    options = SimulateOptions(rounds=12, seed=5, boxes=2, faults=0.2)
    blocks = options.blocks()
    assert [block.rounds for block in blocks] == [5, 5, 2]
    assert blocks[0].seed == 5
    assert len({block.seed for block in blocks}) == 3
    alone = [run(replace(block, jobs=1))["journal_sha256"] for block in blocks]
    assert len(set(alone)) == 3
    assert run(replace(options, rounds=5, jobs=1))["journal_sha256"] == alone[0]


def test_a_journal_file_and_faults_do_not_go_together(tmp_path: Path) -> None:
    for wrong in ({"faults": 0.1}, {"jobs": 2}):
        with pytest.raises(ValueError, match="journal file"):
            simulated(journal=tmp_path / "evening.db", **{"jobs": 0, **wrong})
    for rate in (-0.1, 1.1):
        with pytest.raises(ValueError, match="rate from 0 to 1"):
            simulated(faults=rate)


# --- deliberate mistakes: each is found ----------------------------------------------------------

Patch = Callable[[pytest.MonkeyPatch], None]


def acknowledges_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    journal = Engine._journal

    def eager(engine: Engine, inputs: list[Any]) -> Any:
        done = journal(engine, inputs)
        for name in {item.device: None for item in inputs if isinstance(item, FromDevice)}:
            port = engine.ports[name]
            engine._outputs(port, port.driver.committed(engine._clock.monotonic()), 0)
        return done

    patch.setattr(Engine, "_journal", eager)


def forgets_what_is_carried_over(patch: pytest.MonkeyPatch) -> None:
    void = Caribbean._void

    def careless(game: Caribbean, clause: str, detail: str, desk: Desk) -> None:
        void(game, clause, detail, desk)
        game.carried = {}

    patch.setattr(Caribbean, "_void", careless)


def pays_an_award_again_in_a_replay(patch: pytest.MonkeyPatch) -> None:
    recover = rough.recover

    def generous(*args: Any) -> Any:
        table, found = recover(*args)
        if table.game.meter.awarded:
            table.balances["pool"] -= 50_000
            table.balances["player.1"] += 50_000
            table.game.meter.award(50_000)
        return table, found

    patch.setattr(rough, "recover", generous)


def pays_an_award_twice(patch: pytest.MonkeyPatch) -> None:
    take = Caribbean._take_awards

    def generous(game: Caribbean, decision: Any, desk: Desk) -> None:
        take(game, decision, desk)
        for award in decision.awards:
            desk.move("house", f"player.{award.box}", award.amount, "award paid")

    patch.setattr(Caribbean, "_take_awards", generous)


def forgets_to_pay_an_award(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Caribbean, "claims", lambda game: [])


def loses_a_latched_fault(patch: pytest.MonkeyPatch) -> None:
    start = Table._started

    def forgetful(table: Table, item: Started, desk: Desk) -> None:
        table.faults.clear()
        start(table, item, desk)

    patch.setattr(Table, "_started", forgetful)


def does_an_act_again_under_its_key(patch: pytest.MonkeyPatch) -> None:
    act = Engine.act
    patch.setattr(Engine, "act", lambda engine, item: act(engine, replace(item, key="")))


def forgets_a_bet_in_its_snapshot(patch: pytest.MonkeyPatch) -> None:
    take_up = resting.take_up

    def forgetful(game: Any, state: Any) -> None:
        take_up(game, state)
        game.meter.pool -= 700
        game.meter.contributed -= 700

    patch.setattr(resting, "take_up", forgetful)


def drops_a_card_of_a_read(patch: pytest.MonkeyPatch) -> None:
    take = Engine._take
    patch.setattr(Engine, "_take", lambda engine, inputs: take(engine, inputs[: max(1, len(inputs) - 1)]))


def goes_on_after_a_commit_that_failed(patch: pytest.MonkeyPatch) -> None:
    commit = DurableJournal.commit

    def hopeful(journal: DurableJournal) -> None:
        try:
            commit(journal)
        except OSError:
            journal.rollback()

    patch.setattr(DurableJournal, "commit", hopeful)


def lets_the_sign_fall(patch: pytest.MonkeyPatch) -> None:
    sign = Caribbean.sign

    def modest(game: Caribbean) -> Any:
        shown = sign(game)
        return replace(shown, meter="$1,000,000.00") if game.last_round_id % 3 == 2 else shown

    patch.setattr(Caribbean, "sign", modest)


def flushes(random: Random) -> Random:
    """Box 1 always holds a flush, and raises."""
    return Stacked(("AS JS 9S 7S 3S", "KD QC 9H 8H 2C", "AD KC 7D 6C 2H"))


MISTAKES: Final[dict[Patch, str]] = {
    acknowledges_before_the_commit: "is acknowledged, durable is",
    forgets_what_is_carried_over: "carried",
    pays_an_award_again_in_a_replay: "the recovered table|the journal says",
    pays_an_award_twice: "its player counts",
    forgets_to_pay_an_award: "award 0 for flush",
    loses_a_latched_fault: "a restart cleared|the recovered table",
    does_an_act_again_under_its_key: "not answered the same|not in the journal|laid",
    drops_a_card_of_a_read: "is acknowledged, durable is",
    goes_on_after_a_commit_that_failed: "is acknowledged, durable is|journal",
    lets_the_sign_fall: "the sign shows",
}
WITH_AWARDS: Final = (pays_an_award_again_in_a_replay, pays_an_award_twice, forgets_to_pay_an_award)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_deliberate_mistake_is_found(mistake: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    random = flushes(Random(1)) if mistake in WITH_AWARDS else None
    boxes = 2 if mistake in WITH_AWARDS else 3
    table = night(3, 0.5, random, boxes=boxes)
    with pytest.raises(Exception, match=MISTAKES[mistake]):
        plays(table, 150)


def test_a_snapshot_that_forgets_a_bet_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    forgets_a_bet_in_its_snapshot(monkeypatch)
    table = night()
    plays(table, 15)
    assert table.journal.latest_snapshot() is not None
    table.faults.cause("sigterm")
    with pytest.raises(Exception, match=r"recovered table|replays differently|the meter"):
        plays(table, 1)


def test_without_a_mistake_those_evenings_go_well() -> None:
    for table in (night(3, 0.5, boxes=3), night(3, 0.5, flushes(Random(1)), boxes=2)):
        plays(table, 25)


def test_a_violation_is_told_with_the_command_that_plays_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    forgets_what_is_carried_over(monkeypatch)
    runner = CliRunner()
    words = ["simulate", "--rounds", "60", "--faults", "0.5", "--seed", "3", "--jobs", "1", "--json"]
    ended = runner.invoke(app, words)
    report = json.loads(ended.stdout)
    violation = report["violation"]
    assert ended.exit_code == 1
    assert report["invariant_violations"] == 1
    assert violation["round"] == report["rounds"] + 1
    assert f"--rounds {violation['round']} " in violation["replay"]
    assert violation["replay"] in ended.stderr
    again = json.loads(runner.invoke(app, [*violation["replay"].split()[1:], "--json"]).stdout)
    assert (again["violation"], again["journal_sha256"]) == (violation, report["journal_sha256"])


# --- the journal that outlives the daemon ---------------------------------------------------------


def entry(seq: int, **more: Any) -> Entry:
    return Entry(seq, {"at": "", "input": {"kind": "act", "name": "cut"}, "phase": "betting"}, **more)


def committed(journal: DurableJournal, *entries: Entry) -> None:
    assert journal.begin()
    for each in entries:
        journal.append(each)
    journal.commit()


def test_what_is_not_committed_is_lost_and_never_told() -> None:
    told: list[int] = []
    journal = DurableJournal(lambda seq, record: told.append(seq))
    committed(journal, entry(1))
    before = journal.sha256()
    journal.append(entry(2, key="k"))
    journal.reopen()
    assert (journal.next_seq, journal.safe_seq, journal.sha256(), told) == (2, 1, before, [1])
    assert journal.answered("k") is None
    assert [seq for seq, _, _ in journal.replay()] == [1]


def test_a_key_and_an_event_are_taken_once_and_without_a_gap() -> None:
    journal = DurableJournal(lambda seq, record: None)
    committed(journal, entry(1, key="k"), entry(2, device="shoe", ordinal=1))
    for wrong in (
        entry(3, key="k"),
        entry(3, device="shoe", ordinal=1),
        entry(3, device="shoe", ordinal=3),
    ):
        with pytest.raises(JournalError):
            journal.append(wrong)
    committed(
        journal, entry(3, device="shoe", epoch=1, ordinal=4), entry(4, device="shoe", epoch=1, ordinal=5)
    )
    assert journal.ordinal("shoe") == 5


def test_events_of_two_epochs_may_be_in_one_transaction() -> None:
    """They waited together for a journal that was locked, and the shoe restarted meanwhile."""
    journal = DurableJournal(lambda seq, record: None)
    committed(journal, entry(1, device="shoe", ordinal=6))
    committed(
        journal, entry(2, device="shoe", ordinal=7), entry(3, device="shoe", epoch=1, ordinal=1),
        entry(4, device="shoe", epoch=1, ordinal=2),
    )  # fmt: skip
    with pytest.raises(JournalError):
        committed(
            journal, entry(5, device="shoe", epoch=2, ordinal=1), entry(6, device="shoe", epoch=2, ordinal=3)
        )
