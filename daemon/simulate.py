"""``feltd simulate``: many rounds of the real table in memory, without sleeping.

Simulation is below the driver: the engine, the table, the drivers and the codecs are those of
the service; the frames are cut, checked and acknowledged. Only the wires are ideal and the clock
stands until everything that happens at one instant has happened. A scripted dealer and scripted
players act at the table. They know the cards that lie before them, never what the table knows.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Final, Protocol

from daemon.build import build_ports, build_table, started
from daemon.clock import FakeClock
from daemon.config import DeviceSettings, Settings, load
from daemon.engine import Engine, Port
from daemon.games.caribbean import Caribbean, CaribbeanRules
from daemon.games.desk import Act
from daemon.games.hands import Category, category_of, qualifies, rank_61_2004
from daemon.games.jackpot import JackpotRules
from daemon.journal import (
    Entry,
    Journal,
    MemoryJournal,
    SqliteJournal,
    canonical_line,
    create,
    header_bytes,
    open_journal,
)
from daemon.records import Plain
from daemon.sealer import create_key, load_key
from daemon.strategies import STRATEGIES
from daemon.table import InvariantBroken, Started, Table
from drivers.base import SECOND, Send, Simulator
from drivers.cards import DECK, Card, parse_card
from drivers.shoe.sim_fdp import ShoeSim
from drivers.shuffler.sim_fdp import ShufflerSim
from drivers.sign.sim_alpha import AlphaSim

SIGN: Final = "sign"
DEALER: Final = 0
PATIENCE: Final = 60 * SECOND  # simulated; nothing that is waited for takes so long
CONFIRMED: Final = (Category.STRAIGHT_FLUSH, Category.ROYAL_FLUSH)
AWARDED_FROM: Final = Category.FLUSH

# Without a cap and with royal odds of 100: the rules by which the return per ante is defined.
BUILT_IN_RULES: Final = CaribbeanRules(
    ante_min=10_000,
    ante_max=1_000_000,
    royal_odds=100,
    jackpot=JackpotRules(
        stake=1_000,
        contribution=Fraction(7, 10),
        minimum=100_000_000,
        royal_flush=50_000_000,
        straight_flush=5_000_000,
        quads=500_000,
        full_house=100_000,
        flush=50_000,
    ),
)

Hands = dict[int, list[Card]]  # box, or DEALER, to its cards in the order they were dealt


class SimulationError(Exception):
    """The simulated evening cannot go on: an act was refused, a device stands still."""


@dataclass(frozen=True, slots=True)
class SimulateOptions:
    """What to simulate. ``boxes`` is 1 to 7, ``mode`` shoe or shuffler.

    ``config``: take the rules of this file, the ante being its minimum. ``journal``: keep the
    journal in this new file, its sealing key beside it (:func:`key_path`). ``progress`` is told
    the rounds done.
    """

    game: str = "caribbean"
    rounds: int = 1_000
    boxes: int = 7
    mode: str = "shoe"
    strategy: str = "ak"
    seed: int = 1
    config: Path | None = None
    journal: Path | None = None
    progress: Callable[[int], None] | None = None

    def check(self) -> None:
        """Raises ValueError with one sentence for the person who asked."""
        if self.game != Caribbean.name:
            raise ValueError(f"game {self.game!r} cannot be simulated; {Caribbean.name} can")
        if self.strategy not in STRATEGIES:
            raise ValueError(f"no strategy {self.strategy!r}; choose {', '.join(STRATEGIES)}")
        if self.mode not in ("shoe", "shuffler"):
            raise ValueError(f"no mode {self.mode!r}; choose shoe or shuffler")
        if not 1 <= self.boxes <= 7:
            raise ValueError("boxes is 1 to 7")
        if self.rounds < 1:
            raise ValueError("rounds is at least 1")


def key_path(journal: Path) -> Path:
    """Where the sealing key of a simulation's journal file lies."""
    return journal.with_suffix(".key")


# --- the wires ---------------------------------------------------------------------------


class Bench:
    """Engine and simulators on ideal wires (daemon.engine.Wires): bytes need no time, time is a jump.

    What is said waits on the wire until :meth:`read`: nobody is called while he is speaking.
    """

    def __init__(
        self, table: Table, journal: Journal, ports: dict[str, Port], sims: Mapping[str, Simulator]
    ) -> None:
        self.clock = FakeClock()
        self.engine = Engine(table, journal, ports, self.clock, self, _unheard)
        self.sims = sims
        self._attached: set[str] = set()
        self._opening: list[str] = []
        self._to_devices: deque[tuple[str, bytes]] = deque()
        self._to_host: dict[str, list[bytes]] = {}

    # --- daemon.engine.Wires

    def open(self, device: str) -> None:
        self._opening.append(device)

    def send(self, device: str, data: bytes, wake: int = 0) -> None:
        self._to_devices.append((device, data))

    def close(self, device: str) -> None:
        self._attached.discard(device)

    # --- for the people at the table

    def start(self, started: Started) -> None:
        """Switch the daemon on; the links open at once."""
        self.engine.start(started)
        self.engine.tick()
        self.read()

    def act(self, name: str, role: str = "", **args: str | int) -> None:
        """One operator's act. Raises SimulationError when it is refused."""
        self.read()
        answer = self.engine.act(Act(name, args, role=role))
        if answer is None or not answer["accepted"]:
            raise SimulationError(f"{name} was refused: {answer and answer['refusal']}")

    def handle(self, device: str, do: str, **verb: object) -> dict[str, object]:
        """Do something with a device itself; what it says stays on the wire until the next read.

        Raises SimulationError when it cannot be done.
        """
        told, sends = self.sims[device].control({"do": do, **verb}, self.clock.now)
        if "error" in told:
            raise SimulationError(f"{device}: {do}: {told['error']}")
        self._say(device, sends)
        return told

    def read(self) -> None:
        """Let everything that is on the wires arrive, until they are quiet: one read a device."""
        while self._opening or self._to_devices or self._to_host:
            while self._opening:
                self._open(self._opening.pop(0))
            while self._to_devices:
                device, data = self._to_devices.popleft()
                self._say(device, self.sims[device].received(data, self.clock.now))
            said, self._to_host = self._to_host, {}
            for device, pieces in said.items():
                self.engine.bytes_in(device, b"".join(pieces))

    def wait(self, until: Callable[[], bool], what: str) -> None:
        """Let time pass, from one deadline to the next. Raises SimulationError after a minute."""
        self.read()
        give_up = self.clock.now + PATIENCE
        while not until():
            due = self._next_deadline()
            if due is None or due > give_up:
                raise SimulationError(f"waited in vain for {what}")
            self.clock.now = max(self.clock.now, due)
            self._tick()
            self.read()

    # --- time and bytes

    def _next_deadline(self) -> int | None:
        deadlines = [self.engine.deadline, *[sim.deadline for sim in self.sims.values()]]
        return min((at for at in deadlines if at is not None), default=None)

    def _tick(self) -> None:
        now = self.clock.now
        for device, sim in self.sims.items():
            due = sim.deadline
            if due is not None and due <= now:
                self._say(device, sim.tick(now))
        self.engine.tick()

    def _open(self, device: str) -> None:
        self._attached.add(device)
        self.engine.link_opened(device)
        self._say(device, self.sims[device].opened(self.clock.now))

    def _say(self, device: str, sends: list[Send]) -> None:
        if sends and device in self._attached:
            self._to_host.setdefault(device, []).extend([send.data for send in sends])


def _unheard(event: str, **facts: object) -> None:
    """A simulation has no log: its journal tells everything."""


class LastRound:
    """A journal (daemon.journal.Journal) that also remembers the account of the last closed round."""

    def __init__(self, journal: MemoryJournal | SqliteJournal) -> None:
        self._journal = journal
        self.summary: Plain = {}
        self.begin = journal.begin
        self.commit = journal.commit
        self.rollback = journal.rollback
        self.answered = journal.answered
        self.close = journal.close

    @property
    def next_seq(self) -> int:
        return self._journal.next_seq

    def append(self, entry: Entry) -> None:
        self._journal.append(entry)
        for effect in entry.record.get("effects", ()):
            if effect["effect"] == "round-closed":
                self.summary = effect["summary"]


# --- the dealer --------------------------------------------------------------------------


class DeckSource(Protocol):
    """How a dealer works with the device that his cards come from."""

    def prepare(self) -> None:
        """A new deck, shuffled and proven (CS-03)."""

    def deal(self, places: Sequence[int]) -> Hands:
        """Five cards for each place, the dealer's last (CS-07)."""

    def show(self, hands: Hands, raised: Sequence[int]) -> None:
        """After the last decision: turn what the regulation turns (CS-09)."""

    def gather(self) -> None:
        """The round is over: the cards come back and are counted (CS-07)."""


class FromShoe:
    """Cards shuffled by hand, drawn one by one; the shoe reads them all.

    The cards of one pass round the table come in one read, as they do to a busy loop.
    """

    def __init__(self, bench: Bench, device: str, random: Random) -> None:
        self._bench, self._device, self._random = bench, device, random
        self._deck = [card.text for card in DECK]

    def prepare(self) -> None:
        self._random.shuffle(self._deck)
        self._bench.act("shuffle")
        self._bench.act("cut")
        self._bench.handle(self._device, "load", deck=self._deck)

    def deal(self, places: Sequence[int]) -> Hands:
        hands: Hands = {place: [] for place in places}
        for _ in range(5):
            for place in places:
                drawn = self._bench.handle(self._device, "draw")
                hands[place].append(parse_card(str(drawn["card"])))
            self._bench.read()
        return hands

    def show(self, hands: Hands, raised: Sequence[int]) -> None:
        """The table knows the faces; the dealer turns the cards without a word."""

    def gather(self) -> None:
        left = self._bench.handle(self._device, "state")["cards"]
        assert isinstance(left, int)
        self._bench.act("count", cards=left)


class FromShuffler:
    """Packets of five from a machine that reads no face: what is turned is entered by hand."""

    def __init__(self, bench: Bench, device: str, sim: ShufflerSim) -> None:
        self._bench, self._device, self._sim = bench, device, sim

    def prepare(self) -> None:
        self._bench.act("shuffle")
        self._bench.wait(lambda: self._sim.state_name() == "ready", "the end of the shuffle")

    def deal(self, places: Sequence[int]) -> Hands:
        hands: Hands = {}
        for place in places:
            self._bench.wait(lambda: bool(self._sim.packet), "a packet")
            taken = self._bench.handle(self._device, "take")["cards"]
            assert isinstance(taken, list)
            hands[place] = [parse_card(text) for text in taken]
        self._bench.act("reveal", box="dealer", cards=hands[DEALER][-1].text)
        return hands

    def show(self, hands: Hands, raised: Sequence[int]) -> None:
        """The dealer's cards, and the players' if he qualifies; else only a hand with an award."""
        if not raised:
            return
        self._reveal("dealer", hands[DEALER])
        opened = qualifies(hands[DEALER])
        for box in raised:
            if opened or _category(hands[box]) >= AWARDED_FROM:
                self._reveal(box, hands[box])

    def _reveal(self, box: str | int, cards: Sequence[Card]) -> None:
        self._bench.act("reveal", box=box, cards=" ".join(card.text for card in cards))

    def gather(self) -> None:
        self._bench.handle(self._device, "return")


def _category(cards: Sequence[Card]) -> Category:
    return category_of(rank_61_2004(cards))


# --- the books ---------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """Whole numbers only, until somebody asks for a quotient. Money in minor units."""

    ante: int
    boxes: int
    rounds: int = 0
    void: int = 0
    net: int = 0  # of all boxes, ante and raise only
    squares: int = 0  # of the net of each round
    raises: int = 0
    qualified: int = 0
    violations: int = 0
    categories: Counter[Category] = field(default_factory=Counter)

    def add(self, hands: Hands, raised: Sequence[int], summary: Plain) -> None:
        """Book one closed round."""
        net = sum(_net(row) for row in summary["boxes"])
        self.rounds += 1
        self.void += summary["outcome"] == "void"
        self.net += net
        self.squares += net * net
        self.raises += len(raised)
        self.qualified += qualifies(hands[DEALER])
        self.categories.update(_category(cards) for place, cards in hands.items() if place != DEALER)

    @property
    def return_per_ante(self) -> float:
        """Net of ante and raise for each ante, the progressive excluded."""
        return self.net / (self.rounds * self.boxes * self.ante)

    @property
    def standard_error(self) -> float | None:
        """Of the return, over round means; None for a single round."""
        n = self.rounds
        if n < 2:
            return None
        spread = n * self.squares - self.net**2
        return math.sqrt(Fraction(spread, n * n * (n - 1))) / (self.boxes * self.ante)


def _net(row: Plain) -> int:
    """What a box won or lost with its ante and its raise."""
    paid: int = row["ante_paid"] + row["raise_paid"]
    lost: int = row["ante"] + row["raise"] if row["result"] == "lose" else 0
    return paid - lost


# --- the evening -------------------------------------------------------------------------


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
        self.tally = Tally(settings.rules.ante_min, options.boxes)
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
        self._started = started(settings)

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
            if _category(hands[box]) in CONFIRMED:
                self.bench.act("confirm-award", role="supervisor", box=box)
        self._source.gather()
        self.tally.add(hands, raised, self.journal.summary)
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


def run(options: SimulateOptions) -> dict[str, object]:
    """Simulate, and answer as ``feltd simulate --json`` does.

    Raises ValueError for options that cannot be, ConfigError for the file of rules,
    FileExistsError when the journal or its key is there already, and SimulationError when the
    table refuses what the dealer does. A broken invariant ends the run and is counted.
    """
    options.check()
    settings = settings_of(options)
    journal = _journal(options.journal, settings)
    began = time.monotonic()
    evening = Evening(options, settings, journal, Random(options.seed))
    try:
        _play(evening, options)
    except Exception as error:
        if not _is_broken_invariant(error):
            raise
        evening.tally.violations += 1
    seconds = time.monotonic() - began
    sha256 = _canonical_hash(journal)
    journal.close()
    return _report(options, evening.tally, seconds, sha256)


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
        rules=load(options.config).rules if options.config else BUILT_IN_RULES,
        devices=(
            DeviceSettings(mode, mode, "fdp", "memory", simulated=True),
            DeviceSettings(SIGN, SIGN, "alpha", "memory", simulated=True),
        ),
    )


def _play(evening: Evening, options: SimulateOptions) -> None:
    evening.open()
    for done in range(1, options.rounds + 1):
        evening.play()
        if options.progress is not None:
            options.progress(done)


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


def _report(options: SimulateOptions, tally: Tally, seconds: float, sha256: str) -> dict[str, object]:
    played = tally.rounds
    return {
        "game": options.game,
        "mode": options.mode,
        "rounds": played,
        "boxes": options.boxes,
        "seed": options.seed,
        "strategy": options.strategy,
        "seconds": round(seconds, 3),
        "rounds_per_second": round(played / seconds, 1),
        "player_return_per_ante": tally.return_per_ante if played else None,
        "standard_error": tally.standard_error,
        "raise_rate": tally.raises / (played * options.boxes) if played else None,
        "dealer_qualifies": tally.qualified / played if played else None,
        "categories": {category.label: tally.categories[category] for category in reversed(Category)},
        "void": tally.void,
        "faults_injected": 0,
        "invariant_violations": tally.violations,
        "journal_sha256": sha256,
    }
