"""Fault catalogue, group D: the state machine. Events live in the journal, never in a library's queue."""

from __future__ import annotations

import ast
import errno
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from transitions import MachineError

from daemon.clock import FakeClock
from daemon.engine import Engine, FailStop, Port
from daemon.games.caribbean import Caribbean
from daemon.games.caribbean.memory import Memory
from daemon.games.caribbean.rows import TRIGGERS
from daemon.games.desk import Act, TimeUp
from daemon.games.five_card import FiveCard
from daemon.journal import Entry, MemoryJournal
from daemon.links.base import Cause
from daemon.supervisor import IDENTIFY_WITHIN, LinkLife
from daemon.table import FromDevice, Outcome
from drivers.base import MILLISECOND, CardDrawn, Counters, Emit, Identified, Output
from tests.faults.evening import ANTE, CONFIG, SHOE_MODE, WHOLE, Evening, evening, play
from tests.table.five_card.floor import Floor as FiveCardFloor
from tests.table.five_card.floor import rules as five_card_rules
from tests.table.floor import AK_ROUND, RULES, Floor
from tests.table.test_walk import REACH, _give

ROOT: Final = Path(__file__).parents[2]
ONE_PATH: Final = ("engine.py", "table.py", "journal", "rig.py", "records.py", "games")
MEBI: Final = 2**20


# --- a table whose inputs go through an engine ----------------------------------------------------


class Says:
    """A driver that emits what it is told to when its link brings any bytes, and tells nobody anything."""

    deadline = None

    def __init__(self) -> None:
        self.counters = Counters()
        self.say: list[Output] = []

    def received(self, data: bytes, now: int) -> list[Output]:
        said, self.say = self.say, []
        return said

    def nothing(self, *_: object) -> list[Output]:
        return []

    opened = command = resume = committed = tick = closed = nothing


class Counted(MemoryJournal):
    """A journal that keeps its records, and may fail at ``fails``: append or commit."""

    def __init__(self, fails: str = "") -> None:
        super().__init__()
        self.fails = fails
        self.records: list[dict[str, Any]] = []
        self.taken_back = False

    def append(self, entry: Entry) -> None:
        self._may("append")
        self.records.append(entry.record)
        super().append(entry)

    def commit(self) -> None:
        self._may("commit")

    def rollback(self) -> None:
        self.taken_back = True

    def _may(self, what: str) -> None:
        if what == self.fails:
            raise OSError(errno.ENOSPC, "no space left on device")


class OnEngine(Floor):
    """A floor whose inputs, once a journal is attached, go the way of every input."""

    engine: Engine | None = None

    def attach(self, journal: MemoryJournal) -> None:
        self.sent: list[str] = []
        self.clock = FakeClock()
        self.drivers = {name: Says() for name in self.table.rig.devices}
        ports = {
            name: Port(name, driver, LinkLife(name, device.role, None), "script", "memory")
            for (name, device), driver in zip(
                self.table.rig.devices.items(), self.drivers.values(), strict=True
            )
        }
        self.engine = Engine(self.table, journal, ports, self.clock, self, lambda event, **facts: None)

    def take(self, item: Any) -> Outcome:
        if self.engine is None:
            return super().take(item)
        if isinstance(item, Act):
            self.engine.act(item)
        elif not isinstance(item, FromDevice):
            self.engine.hear(item)
        else:
            self.drivers[item.device].say.append(Emit(item.event, item.boot, item.ordinal))
            self.engine.bytes_in(item.device, b"!")
        return Outcome()

    def send(self, device: str, data: bytes, wake: int = 0) -> None:
        self.sent.append(device)

    def open(self, device: str = "") -> None:
        if not device:  # the dealer's word; with a device it is the engine's
            super().open()

    def close(self, device: str) -> None: ...


# --- D01: an event that fails takes no other one along -----------------------------------------------


def test_d01_a_refused_input_takes_nothing_with_it(shoe_table: Evening) -> None:
    table = shoe_table
    table.open_betting()
    table.act("ante", box=1, amount=ANTE)
    for face_up in (False, True):  # both are on the wire when the refused act comes
        table.handle("shoe", "draw", face_up=face_up)
    assert "decisions open" in str(table.engine.act(Act("raise", {"box": 1})))  # nothing was read yet
    table.read()
    drawn = table.events("card-drawn")
    assert [record["input"]["face_up"] for record in drawn] == [False, True]
    assert [len(hand) for hand in table.game.round.dealt.hands.values()] == [1, 1]  # type: ignore[union-attr]
    assert table.game.round is not None
    assert table.game.round.exposure is not None
    [refused] = table.acts("raise")
    assert refused["refusal"]["clause"] == "CS-06"
    assert refused["seq"] < drawn[0]["seq"]


def test_d01_a_callback_that_raises_loses_no_event(
    shoe_table: Evening, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = shoe_table
    table.open_betting()
    table.act("ante", box=1, amount=ANTE)

    def fail(*_: object) -> None:
        raise RuntimeError("a program error in the middle of a read")

    table.handle("shoe", "draw")
    table.handle("shoe", "draw", face_up=True)
    table.handle("shoe", "cover", open=True)
    with monkeypatch.context() as broken:
        broken.setattr(Memory, "_check_face", fail)
        with pytest.raises(FailStop):
            table.read()
    assert table.events("card-drawn") == table.events("cover") == []
    table.restart()
    table.wait(lambda: len(table.events("card-drawn")) == 2, "the cards")
    assert len(table.events("cover")) == 1
    table.check()


def test_d01_no_machine_has_a_queue() -> None:
    machines = [
        Caribbean(RULES)._machine.events["settle"].machine,
        FiveCard(five_card_rules())._machine.events["settle"].machine,
        LinkLife("shoe", "shoe", None)._machine,
    ]
    for machine in machines:
        assert not machine.has_queue
        assert not machine.ignore_invalid_triggers


# --- D02: never a state without its record ------------------------------------------------------------


@pytest.mark.parametrize("state", REACH)
def test_d02_a_disk_that_is_full_at_any_transition_lets_nothing_out(state: str) -> None:
    for trigger, fails in zip(TRIGGERS, cycle(["append", "commit"]), strict=False):
        floor, journal = OnEngine(mode="shuffler"), Counted(fails)
        REACH[state](floor)
        floor.attach(journal)
        with pytest.raises(FailStop, match="could not be committed"):
            _give(floor, trigger)
        assert floor.sent == []
        assert journal.taken_back
        assert floor.engine is not None
        assert floor.engine.committed == 0


def test_d02_a_payment_that_could_not_be_journalled_is_not_remembered_by_the_next_process(
    shoe_table: Evening,
) -> None:
    table = shoe_table
    play(table, WHOLE[: WHOLE.index(_step("settle"))])
    balances, settled = dict(table.table.balances), []
    for point in ("append", "commit"):
        table.on = lambda at, point=point: _fail(at == point)
        with pytest.raises(FailStop):
            table.act("settle")
        settled.append(table.phase)
        table.on = lambda at: None
        table.restart()
        assert (table.phase, dict(table.table.balances)) == ("settling", balances)
    assert settled == ["between-rounds"] * 2  # it had gone on in memory, and nobody was told


def _step(name: str) -> Any:
    return next(step for step in WHOLE if getattr(step, "name", "") == name)


def _fail(now: bool) -> None:
    if now:
        raise OSError(errno.EIO, "input/output error")


# --- D03: every event in every state --------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["shuffler", "shoe"])
@pytest.mark.parametrize("state", REACH)
def test_d03_every_event_in_every_state_leaves_a_record(state: str, mode: str) -> None:
    for trigger in TRIGGERS:
        floor, journal = OnEngine(mode=mode), Counted()
        REACH[state](floor)
        floor.attach(journal)
        _give(floor, trigger)
        assert len(journal.records) == 1, trigger
        refusal = journal.records[0].get("refusal")
        assert refusal is None or refusal["reason"], trigger


@pytest.mark.parametrize("state", sorted({*REACH} - {"dealing", "betting"}))
def test_d03_a_card_in_the_wrong_state_is_no_noise(state: str) -> None:
    floor = Floor()
    REACH[state](floor)
    deck = floor.game.deck
    floor.tell("shoe", CardDrawn(None))
    told = floor.phase == "void" and state != "void"
    assert told or floor.table.faults or (state == "out-of-service" and floor.game.deck is not deck)


def test_d03_what_has_no_row_raises() -> None:
    game = Caribbean(RULES)
    with pytest.raises(MachineError):
        game._machine.events["settle"].trigger(game, None, None)
    life = LinkLife("shoe", "shoe", None)
    with pytest.raises(MachineError):
        life._handle("lasted", 0)


# --- D04: the answer is the record's ----------------------------------------------------------------------


def test_d04_who_asks_learns_from_the_record_what_became_of_it(shoe_table: Evening) -> None:
    table = shoe_table
    table.act("open-table")
    table.settle_down()
    refused = [table.try_act("open-betting")]  # no shuffle proof
    table.open_betting()
    accepted = table.act("ante", box=1, amount=ANTE)
    table.act("close-betting")
    refused.append(table.try_act("ante", box=2, amount=ANTE))  # after the close
    records = {record["seq"]: record for record in table.records()}
    assert records[accepted["seq"]].get("refusal") is None
    for answer, clause in zip(refused, ("CS-03", "CS-06"), strict=True):
        assert answer is not None
        assert not answer["accepted"]
        assert answer["refusal"] == records[answer["seq"]]["refusal"]
        assert answer["refusal"]["clause"] == clause
        assert answer["state"] == records[answer["seq"]]["phase"]
    assert table.player(2) == 0


# --- D05: nothing interrupts what has begun ---------------------------------------------------------------


def test_d05_what_happens_during_a_payment_waits_for_its_turn(shoe_table: Evening) -> None:
    table = shoe_table
    play(table, WHOLE[: WHOLE.index(_step("settle"))])
    happened: list[str] = []

    def meanwhile(point: str) -> None:
        if point == "commit" and not happened:
            happened.append(point)
            table.handle("shoe", "draw", card="2D", face_up=True)
            table.handle("shoe", "cover", open=True)

    table.on = meanwhile
    answer = table.act("settle")
    seqs = [record["seq"] for record in table.events("card-drawn")[-1:] + table.events("cover")]
    assert [answer["seq"] + 1, answer["seq"] + 2] == seqs
    [settled] = table.acts("settle")
    assert settled["money"]
    assert table.game.pending != []
    table.check()


def _trees(names: tuple[str, ...]) -> list[tuple[Path, ast.Module]]:
    files = [file for name in names for file in _files(ROOT / "daemon" / name)]
    return [(file, ast.parse(file.read_text(encoding="utf-8"))) for file in files]


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def test_d05_the_path_of_an_event_has_no_await_and_no_thread() -> None:
    for file, tree in _trees(ONE_PATH):
        for node in ast.walk(tree):
            assert not isinstance(node, ast.AsyncFunctionDef | ast.Await), f"{file}:{node.lineno}"
            assert not {"asyncio", "threading", "concurrent"} & _imported(node), file


def test_d05_d07_no_machine_is_asynchronous_or_has_timeouts() -> None:
    for file in [*(ROOT / "daemon").rglob("*.py"), *(ROOT / "drivers").rglob("*.py")]:
        text = file.read_text(encoding="utf-8")
        for word in ("transitions.extensions", "AsyncMachine", "add_state_features"):
            assert word not in text, file


def _imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    return {(node.module or "").split(".")[0]} if isinstance(node, ast.ImportFrom) else set()


# --- D07: a time-out and the event that it waits for ------------------------------------------------------


class FiveCardOnEngine(OnEngine):
    """Two seats of five-card stud, the first of which has to decide; dealt by hand."""

    def __init__(self) -> None:
        self.five = FiveCardFloor()
        self.five.start(1, 2)
        self.five.first_deal({1: "KS 9H", 2: "QD 8C"})
        self.table = self.five.table
        self.journal = Counted()
        self.attach(self.journal)
        self.act("bet", seat=self.five.turn, amount=10_000)  # its commit sets the other seat's time

    def both(self, first: Callable[[], object], second: Callable[[], object]) -> list[str]:
        """What was accepted of a time-out and a call that come together."""
        before = len(self.journal.records)
        first()
        second()
        told = [r["input"] for r in self.journal.records[before:] if r.get("refusal") is None]
        return [each.get("name", each["kind"]) for each in told]


@pytest.mark.parametrize("act_first", [True, False])
def test_d07_an_act_and_its_time_limit_have_one_outcome(act_first: bool) -> None:
    seen, random = set(), Random(7)
    for _ in range(30):
        floor = FiveCardOnEngine()
        engine = floor.engine
        assert engine is not None
        timer = floor.table.timer
        assert timer is not None
        turn = floor.five.turn
        offset = random.randrange(-5 * MILLISECOND, 5 * MILLISECOND)
        floor.clock.now += timer.limit + offset + 1
        calls = [lambda: floor.act("call", seat=turn), engine.tick]  # noqa: B023 - called in this turn
        [outcome] = floor.both(*(calls if act_first else calls[::-1]))
        assert outcome == ("time-up" if offset > 0 else "call")
        seen.add(outcome)
    assert seen == {"call", "time-up"}


def test_d07_a_stale_time_out_is_refused_and_changes_nothing() -> None:
    floor = FiveCardFloor()
    floor.start(1, 2)
    floor.first_deal({1: "KS 9H", 2: "QD 8C"})
    timer = floor.table.timer
    assert timer is not None
    floor.do("bet", seat=floor.turn, amount=10_000)
    before = floor.picture()
    outcome = floor.take(TimeUp(timer.id))
    assert outcome.refusal is not None
    assert outcome.refusal.clause == "FC-16"
    assert floor.picture() == before


def test_d07_a_link_that_answers_at_its_time_limit_is_ready_or_lost_and_never_both() -> None:
    who = Identified("shoe", "S1")
    for offset in range(-5, 6):
        for answer_first in (True, False):
            life = LinkLife("shoe", "shoe", None)
            life.opening(0)
            life.opened(0)
            now = IDENTIFY_WITHIN + offset * MILLISECOND
            calls = [lambda: life.identified(who, now), lambda: life.tick(now)]  # noqa: B023 - as above
            changes = [c for call in (calls if answer_first else calls[::-1]) for c in call()]
            assert len(changes) == 1
            assert changes[0].cause in (None, Cause.SILENT)
            assert (changes[0].cause is None) == (answer_first or offset < 0)
            assert life.ready == (changes[0].cause is None)


# --- D09: a state that was restored has its timers and its commands -----------------------------------------


def _a_round(table: Evening, before: Callable[[str], None]) -> None:
    """A whole round from the machine; ``before`` each step a daemon may have died."""
    steps: list[tuple[str, dict[str, Any]]] = [
        ("open-table", {}),
        ("shuffle", {}),
        ("open-betting", {}),
        ("ante", {"box": 1, "amount": ANTE}),
        ("progressive", {"box": 1}),
        ("close-betting", {}),
        ("take", {"index": 0}),
        ("take", {"index": 1}),
        ("raise", {"box": 1}),
        ("reveal", {}),
        ("settle", {}),
    ]
    packets: list[list[str]] = []
    for name, args in steps:
        if name == "open-betting":
            table.wait(lambda: bool(table.game.deck.shuffler), "the shuffle")
        table.settle_down()
        before(name)
        table.settle_down()
        if name == "take":
            table.wait(lambda: table.state("SH-1")["state"] == "packet_present", "the packet")
            packets.append(table.handle("SH-1", "take", **args)["cards"])
        elif name == "reveal":
            _show(table, packets)
        else:
            table.act(name, **args)
    table.settle_down()


def _show(table: Evening, packets: list[list[str]]) -> None:
    table.wait(lambda: table.phase == "showdown", "the last decision")
    table.act("reveal", box="dealer", cards=" ".join(packets[1]))
    if table.phase == "showdown":
        table.act("reveal", box=1, cards=" ".join(packets[0]))


def test_d09_a_restart_in_every_state_arms_everything_and_repeats_nothing() -> None:
    ends = []
    for dies in (False, True):
        with evening(CONFIG) as table:
            phases = set()

            def before(step: str, table: Evening = table, dies: bool = dies, seen: set[str] = phases) -> None:
                seen.add(table.phase)
                if dies:
                    table.restart()
                    assert table.engine.deadline is not None
                    assert set(table.state("SH-1")["executed"].values()) <= {1}

            _a_round(table, before)
            assert phases >= {"out-of-service", "between-rounds", "betting", "deciding", "showdown"}
            assert phases & {"dealing", "settling"}
            table.check()
            executed = table.state("SH-1")["executed"]
            ends.append((dict(table.table.balances), executed, table.phase, table.shown))
            assert table.lives == (12 if dies else 1)
    assert ends[0] == ends[1]


def test_d09_a_recovery_without_the_snapshots_comes_by_each_of_them() -> None:
    for config in (SHOE_MODE, CONFIG):
        with evening(config) as table:
            table.act("open-table")
            while not (snapshots := _of_kind(table, "snapshot")):
                for _ in range(100):
                    table.try_act("raise", box=1)  # refused, and a record all the same
            assert len(snapshots) == 1
            table.check()  # plays the whole journal, from its first record
            table.restart()
            table.settle_down()
            table.check()


def _of_kind(table: Evening, kind: str) -> list[dict[str, Any]]:
    return [record for record in table.records() if record["input"]["kind"] == kind]


# --- D12: memory ------------------------------------------------------------------------------------------


def _resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def _rounds(number: int, floor: Floor) -> float:
    """Rounds through the machine; the longest one in seconds of the processor."""
    longest = 0.0
    for _ in range(number):
        began = time.thread_time()
        floor.whole_round(AK_ROUND)
        longest = max(longest, time.thread_time() - began)
        floor.notes.clear()
        floor.closed.clear()
    return longest


def _growth(rounds: int) -> tuple[int, float]:
    floor = Floor()
    _rounds(100, floor)
    before = _resident()
    longest = _rounds(rounds, floor)
    return _resident() - before, longest


def test_d12_rounds_do_not_grow_the_memory() -> None:
    grown, _ = _growth(300)
    assert grown < 5 * MEBI


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_d12_a_hundred_thousand_rounds() -> None:
    grown, longest = _growth(100_000)
    assert grown < 5 * MEBI
    assert longest < 0.1
