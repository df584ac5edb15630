"""``feltd simulate``: many rounds of the real table in memory, without sleeping.

Simulation is below the driver: the engine, the table, the drivers and the codecs are those of
the service; the frames are cut, checked and acknowledged. Only the wires are ideal and the clock
stands until everything that happens at one instant has happened. A scripted dealer and scripted
players act at the table. They know the cards that lie before them, never what the table knows.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Final

from daemon.build import build_ports, build_table, started
from daemon.clock import FakeClock
from daemon.config import ConfigError, DeviceSettings, Settings, load
from daemon.games.caribbean import CaribbeanRules
from daemon.games.five_card import FiveCard, FiveCardRules
from daemon.games.hands import Category
from daemon.journal import (
    MemoryJournal,
    SqliteJournal,
    canonical_line,
    create,
    header_bytes,
    open_journal,
)
from daemon.sealer import create_key, load_key
from daemon.simulation.bench import Bench, LastRound, SimulationError
from daemon.simulation.deal import DEALER, DeckSource, FromShoe, FromShuffler, Hands, category
from daemon.simulation.disk import Violation
from daemon.simulation.five_card.evening import StudEvening
from daemon.simulation.five_card.night import StudNight
from daemon.simulation.night import Night
from daemon.simulation.options import BUILT_IN_RULES, FIVE_CARD_RULES, SimulateOptions, key_path
from daemon.simulation.tally import Counts, Tally
from daemon.strategies import STRATEGIES
from daemon.table import InvariantBroken
from drivers.base import Simulator
from drivers.shoe.sim_fdp import ShoeSim
from drivers.shuffler.sim_fdp import ShufflerSim
from drivers.sign.sim_alpha import AlphaSim

__all__ = [
    "BUILT_IN_RULES",
    "Bench",
    "Evening",
    "SimulateOptions",
    "SimulationError",
    "build_table",
    "key_path",
    "run",
    "settings_of",
]

SIGN: Final = "sign"
CONFIRMED: Final = (Category.STRAIGHT_FLUSH, Category.ROYAL_FLUSH)


class Evening:
    """A table, its devices, its dealer and its players. ``random`` shuffles every deck."""

    def __init__(
        self,
        options: SimulateOptions,
        settings: Settings,
        journal: MemoryJournal | SqliteJournal,
        random: Random,
    ) -> None:
        self.journal = LastRound(journal)
        self.tally = Tally(settings.caribbean.ante_min)
        self._table = table = build_table(settings, compiled=True)
        sim = ShufflerSim(seed=random.getrandbits(32)) if settings.shuffler else ShoeSim()
        sims: dict[str, Simulator] = {settings.mode: sim, SIGN: AlphaSim()}
        self.bench = Bench(table, self.journal, build_ports(settings, table), sims)
        self._source: DeckSource = (
            FromShuffler(self.bench, settings.mode, sim)
            if isinstance(sim, ShufflerSim)
            else FromShoe(self.bench, settings.mode, random)
        )
        self._boxes = range(1, options.boxes + 1)
        self._raises = STRATEGIES[options.strategy]
        self._started = started(replace(settings, linked=None))  # no authority is simulated

    def open(self) -> None:
        """The daemon starts, the devices are proven, the table opens."""
        self.bench.start(self._started)
        self.bench.act("open-table")
        self.bench.wait(lambda: not self._table.rig.not_ready(), "the devices")

    def play(self) -> None:
        """One round, from the shuffle to the last payment, and the books compared after it."""
        self._source.prepare()
        self._sign_is_current()
        self._bet()
        hands = self._source.deal((*self._boxes, DEALER))
        raised = self._decide(hands)
        self._source.show(hands, raised)
        self.bench.act("settle")
        for box in raised:
            if category(hands[box]) in CONFIRMED:
                self.bench.act("confirm-award", role="supervisor", box=box)
        self._source.gather()
        self.tally.add(hands, self.journal.summary)
        self._compare()

    def _sign_is_current(self) -> None:
        self.bench.wait(self._table.rig.sign_is_current, "the sign")

    def _bet(self) -> None:
        act = self.bench.act
        act("open-betting")
        for box in self._boxes:
            act("ante", box=box, amount=self.tally.ante)
        for box in self._boxes:
            act("progressive", box=box)
        act("close-betting")

    def _decide(self, hands: Hands) -> list[int]:
        up = hands[DEALER][-1]
        raised = [box for box in self._boxes if self._raises(hands[box], up)]
        for box in self._boxes:
            self.bench.act("raise" if box in raised else "fold", box=box)
        return raised

    def _compare(self) -> None:
        """The pool equation, double entry, and what the sign itself says. Raises InvariantBroken."""
        self._sign_is_current()
        balances = self._table.balances
        broken = self._table.game.check(balances)
        if sum(balances.values()):
            broken.append("the accounts do not sum to zero")
        shown = self.bench.handle(SIGN, "state")["amount"]
        if shown != balances["pool"]:
            broken.append(f"the sign shows {shown}, the pool is {balances['pool']}")
        if broken:
            raise InvariantBroken("; ".join(broken))


# --- the command -------------------------------------------------------------------------


@dataclass(slots=True)
class Played:
    """What became of one evening. ``faults`` by kind; ``remedies`` are what people had to do beyond
    the usual, by name."""

    tally: Counts
    sha256: str
    faults: dict[str, int] = field(default_factory=dict)
    restarts: int = 0
    remedies: dict[str, int] = field(default_factory=dict)
    violation: dict[str, object] | None = None


def run(options: SimulateOptions) -> dict[str, object]:
    """Simulate, and answer as ``feltd simulate --json`` does.

    Raises ValueError for options that cannot be, ConfigError for the file of rules,
    FileExistsError when the journal or its key is there already, and SimulationError when the
    table refuses what the dealer does. A violation ends the run and is counted; ``violation``
    then tells its seed and round, and the command that plays it again.
    """
    options.check()
    began = time.monotonic()
    played = _in_blocks(options) if options.faults or options.jobs else _evening(options)
    return _report(options, played, time.monotonic() - began)


def _evening(options: SimulateOptions) -> Played:
    settings = settings_of(options)
    if options.faults:
        return _with_faults(options, settings)
    journal = _journal(options.journal, settings)
    evening = _people(options, settings, journal)
    violation = None
    try:
        _play(evening, options)
    except Exception as error:
        if not _is_broken_invariant(error):
            raise
        violation = _violation(options, evening.tally, error)
    sha256 = _canonical_hash(journal)
    journal.close()
    return Played(evening.tally, sha256, violation=violation)


def _people(
    options: SimulateOptions, settings: Settings, journal: MemoryJournal | SqliteJournal
) -> Evening | StudEvening:
    random = Random(options.seed)
    if options.game == FiveCard.name:
        return StudEvening(options.boxes, settings, journal, random)
    return Evening(options, settings, journal, random)


def _with_faults(options: SimulateOptions, settings: Settings) -> Played:
    """Whatever is raised here is a violation: there is nothing that may end this evening."""
    night, violation = _night(options, settings), None
    try:
        _play(night, options)
    except Exception as error:
        violation = _violation(options, night.tally, error)
    faults = {kind: night.faults.count[kind] for kind in sorted(night.faults.kinds)}
    remedies = dict(sorted(night.crew.remedies.items()))
    return Played(night.tally, night.journal.sha256(), faults, night.bench.starts - 1, remedies, violation)


def _night(options: SimulateOptions, settings: Settings) -> Night | StudNight:
    random = Random(options.seed)
    if options.game == FiveCard.name:
        return StudNight(options, settings, random)
    return Night(options, settings, random)


def _violation(options: SimulateOptions, tally: Counts, error: Exception) -> dict[str, object]:
    tally.violations += 1
    number = tally.rounds + 1
    what = (
        str(error) if isinstance(error, Violation | InvariantBroken) else f"{type(error).__name__}: {error}"
    )
    return {"seed": options.seed, "round": number, "what": what, "replay": options.command(number)}


def _play(evening: Evening | StudEvening | Night | StudNight, options: SimulateOptions) -> None:
    evening.open()
    for done in range(1, options.rounds + 1):
        evening.play()
        if options.progress is not None:
            options.progress(done)


# --- in blocks, on several processors ------------------------------------------------------


def _in_blocks(options: SimulateOptions) -> Played:
    """Evenings of :data:`BLOCK` rounds, each with a seed of its own: the result does not depend on
    how many are played at a time. What comes after a violation is not counted."""
    parts: list[Played] = []
    with closing(_evenings(options.blocks(), options.jobs or os.cpu_count() or 1)) as evenings:
        for part in evenings:
            parts.append(part)
            if options.progress is not None:
                options.progress(sum(each.tally.rounds for each in parts))
            if part.violation is not None:
                break
    return parts[0] if len(parts) == 1 else _merged(parts)


def _evenings(blocks: list[SimulateOptions], jobs: int) -> Generator[Played, None, None]:
    """What became of each block, in their order. A single processor needs no other process."""
    jobs = min(jobs, len(blocks))
    if jobs == 1:
        yield from map(_evening, blocks)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        waiting = [pool.submit(_evening, block) for block in blocks]
        try:
            for each in waiting:
                yield each.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _merged(parts: list[Played]) -> Played:
    """The hash is that of the blocks' hashes, in their order."""
    whole, digest = Played(parts[0].tally.blank(), "", violation=parts[-1].violation), hashlib.sha256()
    for part in parts:
        digest.update(bytes.fromhex(part.sha256))
        whole.tally.merge(part.tally)
        whole.restarts += part.restarts
        _add(whole.faults, part.faults)
        _add(whole.remedies, part.remedies)
    whole.sha256 = digest.hexdigest()
    return whole


def _add(total: dict[str, int], more: dict[str, int]) -> None:
    for kind, count in more.items():
        total[kind] = total.get(kind, 0) + count


# --- what an evening is made of ----------------------------------------------------------------


def settings_of(options: SimulateOptions) -> Settings:
    """A table with the one device that the cards come from, and its sign. Raises ConfigError."""
    mode, file = options.mode, options.journal or Path()
    return Settings(
        table_id="simulation",
        game=options.game,
        mode=mode,
        shuffler=mode if mode == "shuffler" else "",
        journal=file,
        key=key_path(file) if options.journal else file,
        socket=Path(),
        rules=_rules(options),
        devices=(
            DeviceSettings(mode, mode, "fdp", "memory", simulated=True),
            DeviceSettings(SIGN, SIGN, "alpha", "memory", simulated=True),
        ),
    )


def _rules(options: SimulateOptions) -> CaribbeanRules | FiveCardRules:
    if options.game != FiveCard.name:
        return load(options.config).caribbean if options.config else BUILT_IN_RULES
    if options.config is None:
        return FIVE_CARD_RULES
    rules = load(options.config).rules
    if not isinstance(rules, FiveCardRules):
        raise ConfigError([f"{options.config}: table.game: not {FiveCard.name}"])
    return rules


def _is_broken_invariant(error: BaseException | None) -> bool:
    """The engine ends on a broken invariant, and tells it as the cause of its own exception."""
    while error is not None:
        if isinstance(error, InvariantBroken):
            return True
        error = error.__cause__ or error.__context__
    return False


def _journal(path: Path | None, settings: Settings) -> MemoryJournal | SqliteJournal:
    if path is None:
        return MemoryJournal()
    if path.exists():  # before a key is made for nothing
        raise FileExistsError(path)
    create_key(settings.key)
    create(path, header_bytes(settings.table_id, settings.game, FakeClock().utc(), settings.simulated))
    return open_journal(path, load_key(settings.key))


def _canonical_hash(journal: MemoryJournal | SqliteJournal) -> str:
    """The SHA-256 of the canonical export."""
    if isinstance(journal, MemoryJournal):
        return journal.sha256()
    digest = hashlib.sha256()
    for seq, record, faces in journal.replay():
        digest.update(canonical_line(seq, record, faces))
    return digest.hexdigest()


def _report(options: SimulateOptions, played: Played, seconds: float) -> dict[str, object]:
    tally, violation = played.tally, played.violation
    return {
        "game": options.game,
        "mode": options.mode,
        "rounds": tally.rounds,
        "boxes": options.boxes,
        "seed": options.seed,
        **({} if options.game == FiveCard.name else {"strategy": options.strategy}),
        "seconds": round(seconds, 3),
        "rounds_per_second": round(tally.rounds / seconds, 1),
        **tally.facts(),
        "void": tally.void,
        "faults_injected": sum(played.faults.values()),
        "faults": played.faults,
        "restarts": played.restarts,
        "remedies": played.remedies,
        "invariant_violations": tally.violations,
        **({"violation": violation} if violation is not None else {}),
        "journal_sha256": played.sha256,
    }
