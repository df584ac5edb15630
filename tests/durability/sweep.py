"""The sweeps: kills, double kills, five kills, calls that fail, a journal that is locked."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from drivers.base import MILLISECOND
from tests.durability import recorder
from tests.durability.oracle import Autopsy, Ending, Told, at_death, at_restart, at_the_end
from tests.durability.power import Disk
from tests.durability.recorder import NOTHING, Action, Op, Order, Point
from tests.durability.scripts import SCRIPTS, Script, Step
from tests.durability.world import Astray, Dead, Nursery, World
from tests.durability.zygote import opened

LIVES: Final = 12  # a daemon that needs more does not come back
KILLS: Final = (Action.KILL_BEFORE, Action.KILL_AFTER)
Orders = tuple[Order, ...]


@contextmanager
def workshop() -> Iterator[Path]:
    """A folder for everything, in memory where there is a file system in memory: a kill needs no disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        prefix="felt", dir=memory if os.access(memory, os.W_OK) else None
    ) as folder:
        yield Path(folder)


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """A round to which nothing happened: its points and its end."""

    points: Sequence[Point]
    ending: Ending
    disk: Disk  # before the first point
    folder: Path  # after the last one


class Bench:
    """Plays one script, again and again, with what is ordered to happen."""

    def __init__(self, nursery: Nursery, script: Script, folder: Path, mistake: str = "") -> None:
        self.script = script
        self.mistake = mistake
        self._nursery = nursery
        self._folder = Path(tempfile.mkdtemp(prefix=script.name, dir=folder))
        self._template = self._folder / "template"
        self._template.mkdir()
        begin_journal(script, self._template)
        self.undisturbed = self._watch()

    def world(self, name: str = "life") -> World:
        """The script at its beginning, with a new journal."""
        return World(self._nursery, self.script, self._fresh(name), self.mistake)

    def _fresh(self, name: str) -> Path:
        folder = self._folder / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._template, folder)
        return folder

    def _watch(self) -> Undisturbed:
        log, world = self._folder / "log", self.world("undisturbed")
        disk = Disk(world.folder)
        world.live(log=log)
        world.play()
        world.end()
        ending = Autopsy(self.script.settings(world.folder)).ending()
        return Undisturbed(list(recorder.points(log)), ending, disk, world.folder)

    def recovery(self, death: Order) -> int:
        """How many points a life has after this death until its devices are ready and its sign is right."""
        world, log = self.world(), self._folder / "log"
        with suppress(Dead):
            world.live(death)
            world.play()
        world.live(log=log)
        world.settle()
        points = len(list(recorder.points(log)))
        world.kill()
        return points

    # --- one run

    def run(self, orders: Orders) -> list[str]:
        """Play with one order for each life until they are used up; every violation as a sentence."""
        return [*self._run(self.world(), orders)]

    def _run(self, world: World, orders: Orders) -> Iterator[str]:
        waiting = list(orders)
        found: Autopsy | None = None
        while world.lives < LIVES:
            order = waiting.pop(0) if waiting else NOTHING
            try:
                recovered = world.live(order)
                if found is not None:
                    yield from at_restart(found, recovered)
                world.play()
                last = world.end()
            except Dead as dead:
                yield from self._wrong_death(order, dead)
                found = self._autopsy(world)
                yield from at_death(found, told(world), self.undisturbed.ending)
            except Astray as astray:
                yield f"the round cannot go on: {astray}"
                return
            else:
                if order.action in KILLS:
                    yield f"{order} was not reached"
                yield from self._ended(world, last)
                return
        yield f"the daemon does not come back: {LIVES} lives"

    def locked(self, at: int) -> list[str]:
        """Play while another program holds the journal during step ``at``; every violation."""
        world = LockedWorld(self._nursery, self.script, self._fresh("life"), at)
        try:
            world.live()
            world.play()
            world.settle()
            return [*world.violations, *self._ended(world, world.end())]
        except (Dead, Astray) as error:
            return [*world.violations, f"{type(error).__name__}: {error}"]

    def _wrong_death(self, order: Order, dead: Dead) -> Iterator[str]:
        if order.action in KILLS and dead.text:
            yield f"instead of being killed it ended: {dead}"
        elif order.action not in KILLS and not order.at:
            yield f"it died of itself: {dead}"
        elif order.action not in KILLS and not dead.text:
            yield "it was killed, and nobody had ordered it"

    def _autopsy(self, world: World) -> Autopsy:
        return Autopsy.of_copy(self.script.settings(world.folder), self.script, self._folder / "copy")

    def _ended(self, world: World, last: dict[str, object]) -> Iterator[str]:
        found = Autopsy(self.script.settings(world.folder))
        yield from at_death(found, told(world), self.undisturbed.ending)
        yield from at_the_end(found, last, self.undisturbed.ending)
        repeated = {number: count for number, count in world.executed().items() if count > 1}
        if repeated:
            yield f"commands were carried out more than once: {repeated}"


# --- what is ordered ------------------------------------------------------------------------------------


def every_kill(bench: Bench, each: int = 1) -> list[Orders]:
    """Before and after every point of the round (or of every ``each``-th)."""
    numbers = range(1, len(bench.undisturbed.points) + 1, each)
    return [(Order(kill, at),) for at in numbers for kill in KILLS]


def double_kills(bench: Bench, deaths: int, each: int = 1) -> list[Orders]:
    """After ``deaths`` deaths, evenly spread over the round, every point of the recovery."""
    orders: list[Orders] = []
    for at in _spread(len(bench.undisturbed.points), deaths):
        first = Order(Action.KILL_AFTER, at)
        again = range(1, bench.recovery(first) + 1, each)
        orders += [(first, Order(kill, second)) for second in again for kill in KILLS]
    return orders


def many_kills(bench: Bench, rounds: int, kills: int = 5, seed: int = 1) -> list[Orders]:
    """Rounds in which the daemon is killed so many times: each life gets a part of the round done."""
    random, points = Random(seed), len(bench.undisturbed.points)
    lives = [[random.randint(20, points // kills) for _ in range(kills)] for _ in range(rounds)]
    return [tuple(Order(random.choice(KILLS), at) for at in life) for life in lives]


def every_failure(bench: Bench, each: int = 1) -> list[Orders]:
    """Each call on a file fails once (EIO); from each write on the disk is full, also half through it."""
    orders: list[Orders] = []
    numbered = [(at, point) for at, point in enumerate(bench.undisturbed.points, 1) if point.changes_files]
    for at, point in numbered[::each]:
        orders.append((Order(Action.FAIL_ONCE, at, errno.EIO),))
        if point.op in (Op.WRITE, Op.CREATE):
            orders.append((Order(Action.FULL, at, errno.ENOSPC),))
            orders.append((Order(Action.SHORT, at, errno.ENOSPC),))
            orders.append((Order(Action.FULL, at, errno.ENOSPC), Order(Action.FULL, 1, errno.ENOSPC)))
    return orders


def first_start(nursery: Nursery, script: Script, folder: Path, each: int = 1) -> Counter[str]:
    """Kill the very first start, which makes key and journal, at its points; what the next one says, counted.

    "" is a start, which every one should be.
    """
    place, log, said = folder / "first", folder / "log", Counter[str]()
    points, at = 1, 0
    while at < points:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        world = World(nursery, script, place)
        with suppress(Dead):
            world.live(Order(Action.KILL_BEFORE, at) if at else NOTHING, log)
        world.kill()
        points = points if at else len(list(recorder.points(log)))
        try:
            world.live()
            world.kill()
            said[""] += 1
        except Dead as dead:
            said[dead.text.replace(str(place), "")] += 1
        at += each
    return said


def _spread(points: int, parts: int) -> list[int]:
    return [points * (2 * part + 1) // (2 * parts) for part in range(parts)]


# --- a journal that another program has locked -----------------------------------------------------------


class LockedWorld(World):
    """Another program holds the journal's write lock while one step of the script is done."""

    HOLD: Final = 400 * MILLISECOND

    def __init__(self, nursery: Nursery, script: Script, folder: Path, at: int) -> None:
        super().__init__(nursery, script, folder)
        self.violations: list[str] = []
        self._at = at
        self._until = 0
        self._other: sqlite3.Connection | None = None
        self._before = (0, 0)

    def _known(self) -> tuple[int, int]:
        return self.acknowledged_events(), len(self.told.acts)

    def _do(self, step: Step) -> None:
        if self.step == self._at and not self._until:
            self._other = sqlite3.connect(self.folder / "journal.db", isolation_level=None)
            self._other.execute("BEGIN IMMEDIATE")
            self._until, self._before = self.now + self.HOLD, self._known()
        super()._do(step)

    def _exchange(self) -> None:
        if self._other is not None and self.now >= self._until:
            self._other.close()
            self._other = None
        super()._exchange()
        if self._other is not None and self._known() != self._before:
            self.violations.append(f"step {self.step}: acknowledged while the journal was locked")

    def settle(self) -> None:
        self._pass_time(self.HOLD)
        super().settle()


# --- many runs ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Result:
    """What a sweep found: ``violations`` by what was ordered."""

    runs: int = 0
    violations: dict[Orders, list[str]] = field(default_factory=dict)

    def add(self, orders: Orders, found: list[str]) -> None:
        self.runs += 1
        if found:
            self.violations[orders] = found


_bench: Bench | None = None


def _prepare(library: Path, script: str, folder: Path, mistake: str) -> None:
    global _bench
    _bench = Bench(Nursery(library, folder), SCRIPTS[script], folder, mistake)


def _one(orders: Orders) -> tuple[Orders, list[str]]:
    assert _bench is not None
    return orders, _bench.run(orders)


def spread_out(
    library: Path,
    bench: Bench,
    folder: Path,
    orders: Sequence[Orders],
    jobs: int,
    progress: Callable[[int], None],
) -> Result:
    """All runs, on ``jobs`` processes with a zygote and devices of their own."""
    result = Result()
    start = (library, bench.script.name, folder, bench.mistake)
    with ProcessPoolExecutor(jobs, initializer=_prepare, initargs=start) as pool:
        for done, found in pool.map(_one, orders, chunksize=4):
            result.add(done, found)
            progress(result.runs)
    return result


def in_turn(bench: Bench, orders: Iterable[Orders]) -> Result:
    """All runs, one after the other."""
    result = Result()
    for each in orders:
        result.add(each, bench.run(each))
    return result


def begin_journal(script: Script, folder: Path) -> None:
    """A new journal and its key, as a daemon makes them at its first start."""
    with opened(script.settings(folder)):
        pass


def told(world: World) -> Told:
    """What the outside of this world knows."""
    return Told(world.told.acts, {world.script.mode: world.acknowledged_events()}, world.told.shown)
