"""Fault catalogue, group H: the clock on the wall is a label. Logic asks the monotonic one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from daemon.audit import export_to
from daemon.watch import CLOCK, Machine, Watch
from drivers.base import SECOND
from tests.faults.evening import ANTE, CONFIG, SHOE_MODE, WHOLE, Evening, evening, play

ROOT: Final = Path(__file__).parents[2]
DAY: Final = 86_400 * SECOND
STEPS: Final = (14 * DAY, -3_600 * SECOND)
LOGIC: Final = (
    "daemon/engine.py",
    "daemon/table.py",
    "daemon/rig.py",
    "daemon/supervisor.py",
    "daemon/games",
    "drivers",
)


# --- H01: a step in the middle of every wait ------------------------------------------------------------


def stepping(table: Evening) -> Iterator[int]:
    """The wall clock jumps to and fro."""
    while True:
        for step in STEPS:
            table.clock.stepped += step
            yield step


def test_h01_no_wait_of_a_round_is_shortened_or_lengthened_by_a_step() -> None:
    story = []
    for steps in (False, True):
        with evening(CONFIG) as table:
            jumps = stepping(table)
            step: Callable[[], object] = (lambda jumps=jumps: next(jumps)) if steps else (lambda: None)
            table.on = lambda point, step=step: step()  # at every transaction and every send
            table.act("open-table")
            table.settle_down()
            table.act("shuffle")
            table.wait(lambda: bool(table.game.deck.shuffler), "the shuffle")
            table.settle_down()
            table.act("open-betting")
            table.pass_time(600 * SECOND)  # nothing closes the betting
            table.act("ante", box=1, amount=ANTE)
            table.act("close-betting")
            table.take(0)
            table.take(1)
            table.unplug("SH-1")
            table.pass_time(2 * SECOND)
            table.replug("SH-1")
            table.settle_down()
            kinds = [(r["input"]["kind"], r["phase"], r["input"].get("cause")) for r in table.records()]
            story.append((kinds, table.clock.now, table.phase))
            assert (len({record["at"][:10] for record in table.records()}) > 10) is steps
    assert story[0] == story[1]


def test_h01_a_device_that_is_gone_is_tried_in_monotonic_time(shoe_table: Evening) -> None:
    table = shoe_table
    table.settle_down()
    for step in STEPS:
        table.unplug("shoe")
        deadline = table.engine.ports["shoe"].life.deadline
        table.clock.stepped += step
        table.engine.tick()
        assert table.engine.ports["shoe"].life.deadline == deadline
        table.replug("shoe")
        began = table.clock.now
        table.settle_down()
        assert 0 < table.clock.now - began < 10 * SECOND


def test_h01_logic_knows_no_wall_clock() -> None:
    files = [file for name in LOGIC for file in _files(ROOT / name)]
    assert len(files) > 40
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert not re.search(
            r"\btime\.time(_ns)?\(|\bdatetime\.(now|utcnow|today)\(|\bdate\.today\(", text
        ), file


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


# --- H02: order and identity are the record's ---------------------------------------------------------------


def test_h02_a_step_back_between_two_bets_keeps_their_order_and_is_journalled(tmp_path: Path) -> None:
    with evening(SHOE_MODE) as table:
        watch = Watch(Machine(lambda: 2**40, lambda: 0, table.clock.wall, table.clock.monotonic))
        table.open_betting()
        table.act("ante", "first", box=1, amount=ANTE)
        table.clock.stepped -= 600 * SECOND
        for noticed in watch.look():
            table.engine.notice(noticed)
        table.act("ante", "second", box=2, amount=ANTE)
        table.act("progressive", "third", box=1)  # in the same instant as the one before
        table.restart()
        table.settle_down()
        bets = table.acts("ante") + table.acts("progressive")
        seqs, stamps = [bet["seq"] for bet in bets], [bet["at"] for bet in bets]
        assert seqs == sorted(set(seqs))
        assert stamps[1] < stamps[0]
        assert stamps[1] == stamps[2]
        [step] = [r for r in table.records() if r["input"].get("code") == CLOCK]
        assert seqs[0] < step["seq"] < seqs[1]
        assert "-600.000 s" in step["input"]["text"]
        export_to(table.file, tmp_path / "export")
        lines = [json.loads(line) for line in (tmp_path / "export").read_text().splitlines()]
        exported = [line["seq"] for line in lines if "seq" in line and "record" in line]
        assert exported == [record["seq"] for record in table.records()]
        table.check()


@pytest.mark.parametrize("step", STEPS)
def test_h02_a_whole_evening_whose_clock_jumps_is_replayed_and_verified(step: int) -> None:
    with evening() as table:
        before = table.clock.stepped

        def jump(_: object) -> None:
            table.clock.stepped = before if table.clock.stepped != before else before + step

        play(table, WHOLE[:30], jump)
        table.restart()
        table.settle_down()
        table.check()
