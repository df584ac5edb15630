"""One table through as many lives of its daemon as a test wants: a real journal file, the real drivers.

The devices are simulated and outlive every daemon; the wires are ideal, and time is a jump. Whoever
dies takes nothing along but what was not committed: the bytes that are on a wire still arrive.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from daemon.audit import verify
from daemon.build import build_table, started
from daemon.clock import FakeClock, stamp
from daemon.config import load
from daemon.engine import Engine, FailStop, Port, recover
from daemon.games.caribbean import Caribbean
from daemon.games.desk import Act
from daemon.journal import Entry, SqliteJournal, create, header_bytes, open_journal
from daemon.links.base import Cause
from daemon.records import Plain, decode
from daemon.sealer import KEY_BYTES, Sealer
from daemon.supervisor import LinkLife
from drivers.base import SECOND, Send, Simulator
from drivers.protocol import Binding
from drivers.shoe.sim_fdp import ShoeSim
from drivers.shuffler.sim_fdp import ShufflerSim
from drivers.sign.sim_alpha import AlphaSim
from tests.table.walker import picture

CONFIG: Final = (Path(__file__).parents[2] / "config" / "demo.toml").read_text()
SHOE_MODE: Final = CONFIG.replace('mode = "shuffler"\nshuffler = "SH-1"', 'mode = "shoe"')
ANTE: Final = 10_000
STAKE: Final = 1_000
PATIENCE: Final = 120 * SECOND  # simulated
SUPERVISED: Final = ("confirm-award", "refund-carried", "correct-pool", "accept-device")

# Where a process can die: before BEGIN, before a record is appended, before COMMIT, after it, before
# bytes are sent, and after.
POINTS: Final = ("begin", "append", "commit", "committed", "send", "sent")


class Killed(BaseException):
    """SIGKILL: nobody catches it but the evening."""


class WallClock(FakeClock):
    """The wall can be set; monotonic time cannot."""

    def __init__(self) -> None:
        super().__init__()
        self.stepped = 0  # nanoseconds

    def wall(self) -> int:
        return self.START + self.now + self.stepped

    def utc(self) -> str:
        return stamp(self.wall())


class Watched:
    """A journal file that tells when something is done with it (daemon.journal.Journal)."""

    def __init__(self, inner: SqliteJournal, at: Callable[[str], None]) -> None:
        self.inner = inner
        self._at = at
        self.answered, self.rollback = inner.answered, inner.rollback
        self.replay, self.latest_snapshot = inner.replay, inner.latest_snapshot
        self.close = inner.close

    @property
    def next_seq(self) -> int:
        return self.inner.next_seq

    def begin(self) -> bool:
        self._at("begin")
        return self.inner.begin()

    def append(self, entry: Entry) -> None:
        self._at("append")
        self.inner.append(entry)

    def commit(self) -> None:
        self._at("commit")
        self.inner.commit()
        self._at("committed")


class Evening:
    """A table on three simulated devices (daemon.engine.Wires). ``at`` is called at every point."""

    def __init__(self, folder: Path, config: str = SHOE_MODE) -> None:
        (folder / "feltd.toml").write_text(config)
        self.settings = load(folder / "feltd.toml")
        self._started = started(self.settings)
        self._speaks = {device.id: device.speaks for device in self.settings.devices}  # they take a while
        self.file = folder / "evening.db"
        create(self.file, header_bytes(self.settings.table_id, "caribbean", "", self.settings.simulated))
        self.clock = WallClock()
        self.sims: dict[str, Simulator] = {"shoe": ShoeSim(), "SH-1": ShufflerSim(), "sign": AlphaSim()}
        self.plugged = set(self.sims)
        self.log: Callable[..., None] = lambda event, **facts: None
        self.story: list[str] = []
        self.sent: list[tuple[str, bytes]] = []
        self.shown: list[int] = []  # amounts on the sign, without repetitions
        self.lives = 0
        self._due: list[str] = []  # of POINTS: the process dies at the next one of these
        self.on: Callable[[str], None] = lambda point: None
        self._opening: list[str] = []
        self._attached: set[str] = set()
        self._to_device: deque[tuple[str, bytes]] = deque()
        self._to_host: dict[str, list[bytes]] = {}
        self.start()

    # --- lives of the daemon ----------------------------------------------------------------

    def start(self) -> None:
        """A daemon starts on what the journal holds."""
        self.lives += 1
        self.journal = Watched(open_journal(self.file, Sealer(bytes(KEY_BYTES))), self._at)
        self.table, _ = recover(partial(build_table, self.settings), self.journal)
        log = partial(_call, lambda: self.log)
        self.engine = Engine(self.table, self.journal, self._ports(), self.clock, self, log)
        self.engine.start(self._started)
        self.engine.tick()
        self.read()

    def _ports(self) -> dict[str, Port]:
        """As daemon.build makes them; drivers go on from what is journalled."""
        ports = {}
        for of in self.settings.devices:
            known, speaks = self.table.rig.devices.get(of.id), self._speaks[of.id]
            resume = (known.boot, known.ordinal) if known is not None and known.boot >= 0 else None
            driver = speaks.driver(Binding(resume, of.serial, speaks.line, {**speaks.options, **of.options}))
            ports[of.id] = Port(of.id, driver, LinkLife(of.id, of.role, None), of.protocol, of.link)
        return ports

    def die(self) -> None:
        """The process is gone; what it had sent still arrives, and nobody hears the answers."""
        self._attached.clear()
        self._opening.clear()
        self._due.clear()
        self._deliver()
        self._to_host.clear()
        self.journal.close()

    def restart(self) -> None:
        self.die()
        self.start()

    def kill_at(self, point: str) -> None:
        """The process dies at the next ``point``."""
        self._due.append(point)

    def enter(self, call: Callable[[], object]) -> bool:
        """Whether the daemon survived this call; if not, the next one has started."""
        try:
            call()
        except (Killed, FailStop):
            self.restart()
            return False
        return True

    def _at(self, point: str) -> None:
        self.story.append(point)
        if point in self._due:
            self._due.remove(point)
            raise Killed
        self.on(point)

    # --- daemon.engine.Wires ----------------------------------------------------------------

    def open(self, device: str) -> None:
        self._opening.append(device)

    def send(self, device: str, data: bytes, wake: int = 0) -> None:
        self._at("send")
        if device in self._attached:
            self._to_device.append((device, data))
            self.sent.append((device, data))
        self._at("sent")

    def close(self, device: str) -> None:
        self._attached.discard(device)

    # --- devices ----------------------------------------------------------------------------

    def handle(self, device: str, do: str, **verb: object) -> Plain:
        """Do something with a device; what it says stays on the wire until the next read."""
        told, sends = self.sims[device].control({"do": do, **verb}, self.clock.now)
        assert "error" not in told, told
        self.say(device, sends)
        return told

    def state(self, device: str) -> Plain:
        return self.handle(device, "state")

    def say(self, device: str, sends: list[Send]) -> None:
        """Bytes from a device, if somebody listens."""
        if device in self._attached:
            self._to_host.setdefault(device, []).extend(send.data for send in sends)

    def unplug(self, device: str) -> None:
        self.plugged.discard(device)
        if device in self._attached:
            self._attached.discard(device)
            self._to_host.pop(device, None)
            self.engine.link_lost(device, Cause.LOST, "unplugged")

    def replug(self, device: str) -> None:
        self.plugged.add(device)

    def read(self) -> None:
        """Let everything that is on the wires arrive, until they are quiet."""
        while self._opening or self._to_device or self._to_host:
            while self._opening:
                self._open(self._opening.pop(0))
            self._deliver()
            said, self._to_host = self._to_host, {}
            for device, pieces in said.items():
                self.engine.bytes_in(device, b"".join(pieces))

    def _open(self, device: str) -> None:
        if device not in self.plugged:
            self.engine.link_failed(device, Cause.ABSENT, "nothing is plugged in")
            return
        self._attached.add(device)
        self.engine.link_opened(device)
        self.say(device, self.sims[device].opened(self.clock.now))

    def _deliver(self) -> None:
        while self._to_device:
            device, data = self._to_device.popleft()
            self.say(device, self.sims[device].received(data, self.clock.now))
            if device == "sign":
                self._look_at_sign()

    def _look_at_sign(self) -> None:
        amount = self.sims["sign"].control({"do": "state"}, self.clock.now)[0]["amount"]
        if isinstance(amount, int) and self.shown[-1:] != [amount]:
            self.shown.append(amount)
            assert amount in self.pools(), "the sign shows an amount that the journal does not hold"

    # --- time -------------------------------------------------------------------------------

    def pass_time(self, nanoseconds: int) -> None:
        """So much time goes by."""
        end = self.clock.now + nanoseconds
        while (due := self._next_deadline()) <= end:
            self._go_to(due)
        self._go_to(end)

    def wait(self, true: Callable[[], bool], what: str) -> None:
        """Let time go by until it is so. AssertionError after two simulated minutes."""
        self.read()
        give_up = self.clock.now + PATIENCE
        while not true():
            assert self.clock.now < give_up, f"waited in vain for {what}"
            self._go_to(min(self._next_deadline(), give_up))

    def _next_deadline(self) -> int:
        due = [self.engine.deadline, *[sim.deadline for sim in self.sims.values()]]
        return max(self.clock.now + 1, min(at for at in due if at is not None))

    def _go_to(self, now: int) -> None:
        self.clock.now = now
        for device, sim in self.sims.items():
            if sim.deadline is not None and sim.deadline <= now:
                self.say(device, sim.tick(now))
        self.engine.tick()
        self.read()

    # --- people -----------------------------------------------------------------------------

    def try_act(self, name: str, key: str = "", **args: str | int) -> Plain | None:
        """One act, once: its answer, or None while the journal is held."""
        role = "supervisor" if name in SUPERVISED else "dealer"
        self.read()
        answer = self.engine.act(Act(name, args, role=role, second="pit", key=key))
        self.read()
        return answer

    def act(self, name: str, key: str = "", **args: str | int) -> Plain:
        """An act that must be accepted."""
        answer = self.try_act(name, key, **args)
        assert answer is not None, f"{name}: held"
        assert answer["accepted"], f"{name}: {answer['refusal']}"
        return answer

    def refused(self, name: str, **args: str | int) -> str:
        """An act that must be refused: the clause and the reason."""
        answer = self.try_act(name, **args)
        assert answer is not None
        assert not answer["accepted"], name
        return f"{answer['refusal']['clause']} {answer['refusal']['reason']}"

    def ready(self) -> bool:
        """Devices and sign are as a round needs them, and nothing is left to be acknowledged."""
        rig = self.table.rig
        heard = all(self.state(name)["unacknowledged"] == 0 for name in ("shoe", "SH-1"))
        return not rig.not_ready() and rig.sign_is_current() and heard

    def settle_down(self) -> None:
        self.wait(self.ready, "the devices")

    def open_betting(self) -> None:
        """Whatever comes before the bets, and the bets may be placed."""
        if self.game.out_of_service:
            self.act("open-table")
        self.settle_down()
        self.act("shuffle")
        if self.table.rig.mode == "shoe":
            self.handle("shoe", "load")
            self.act("cut")
        else:
            self.wait(lambda: bool(self.game.deck.shuffler), "the shuffle")
        self.settle_down()
        self.act("open-betting")

    def draw(self, cards: str) -> None:
        """Named cards leave the shoe, one after the other."""
        for text in cards.split():
            self.handle("shoe", "draw", card=text)
            self.read()

    def take(self, index: int) -> None:
        """The next packet comes out and is taken."""
        self.wait(lambda: self.state("SH-1")["state"] == "packet_present", f"packet {index}")
        self.handle("SH-1", "take", index=index)
        self.read()

    # --- what came of it --------------------------------------------------------------------

    @property
    def game(self) -> Caribbean:
        assert isinstance(self.table.game, Caribbean)
        return self.table.game

    @property
    def phase(self) -> str:
        return self.table.game.phase

    def player(self, box: int) -> int:
        return self.table.balances[f"player.{box}"]

    def records(self) -> list[Plain]:
        """The journal, read anew from its file."""
        with closing(_reader(self.file)) as db:
            rows = db.execute("SELECT seq, record FROM records ORDER BY seq")
            return [{"seq": seq, **decode(record)} for seq, record in rows]

    def acts(self, name: str) -> list[Plain]:
        return [r for r in self.records() if r["input"].get("name") == name]

    def events(self, name: str) -> list[Plain]:
        return [r for r in self.records() if r["input"].get("event") == name]

    def pools(self) -> list[int]:
        """Every amount that the pool had, in the order of the records."""
        with closing(_reader(self.file)) as db:
            rows = db.execute(
                "SELECT SUM(amount) FROM money WHERE account = 'pool' GROUP BY seq ORDER BY seq"
            ).fetchall()
        return [0, *accumulate(row[0] for row in rows)]

    def check(self) -> None:
        """What holds after every fault (the catalogue's oracle)."""
        found = verify(self.file)
        assert found["verified"], found["errors"]
        assert self.game.check(self.table.balances) == []
        assert sum(self.table.balances.values()) == 0
        self._check_once()
        self._check_replay()
        pools = iter(self.pools())
        assert all(amount in pools for amount in self.shown), "the sign went another way than the pool"

    def _check_once(self) -> None:
        """Every key and every event of a device is there once, and no event is missing."""
        records = [record["input"] for record in self.records()]
        keys = Counter(record["key"] for record in records if record.get("key"))
        assert set(keys.values()) <= {1}
        epochs: dict[str, list[int]] = {}
        for record in records:
            if record.get("ordinal"):
                epochs.setdefault(f"{record['device']} {record['boot']}", []).append(record["ordinal"])
        for ordinals in epochs.values():
            assert ordinals == list(range(ordinals[0], ordinals[0] + len(ordinals)))

    def _check_replay(self) -> None:
        """The records alone, from the first one, make the table that is at work."""
        with closing(open_journal(self.file, Sealer(bytes(KEY_BYTES)))) as journal:
            again, _ = recover(partial(build_table, self.settings), _FromTheFirst(journal))
        assert picture(again) == picture(self.table)


class _FromTheFirst:
    """A journal without its snapshots."""

    def __init__(self, journal: SqliteJournal) -> None:
        self._journal = journal

    def latest_snapshot(self) -> None:
        return None

    def replay(self, after: int = 0) -> Iterator[tuple[int, Plain, bytes]]:
        return self._journal.replay(after)


def _call(which: Callable[[], Callable[..., None]], event: str, **facts: object) -> None:
    which()(event, **facts)


def _reader(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)


# --- a whole evening --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Do:
    """An act, under a key of its own."""

    name: str
    args: tuple[tuple[str, str | int], ...] = ()


@dataclass(frozen=True, slots=True)
class Handle:
    """Something that is done with the shoe itself."""

    do: str
    card: str = ""


Step = Do | Handle

_PREPARE: Final[tuple[Step, ...]] = (Do("shuffle"), Handle("load"), Do("cut"), Do("open-betting"))
_HANDS: Final = ("5H 6H 7H 8H 9H", "2S 4S 6S 8S KS", "AC KD QD 10C 3D")  # box 1, box 2, the dealer


def _box(name: str, box: int, **more: str | int) -> Do:
    return Do(name, (("box", box), *more.items()))


def _dealt() -> tuple[Step, ...]:
    rows = [hand.split() for hand in _HANDS]
    return tuple(Handle("draw", row[turn]) for turn in range(5) for row in rows)


# A jackpot that a supervisor confirms and one that he need not; a void round whose bet is carried; one
# that it does not take part in; the refund.
WHOLE: Final[tuple[Step, ...]] = (
    Do("open-table"),
    *_PREPARE,
    *(_box("ante", box, amount=ANTE) for box in (1, 2)),
    *(_box("progressive", box) for box in (1, 2)),
    *_dealt(),
    *(_box("raise", box) for box in (1, 2)),
    Do("settle"),
    _box("confirm-award", 1),
    *_PREPARE,
    _box("ante", 1, amount=ANTE),
    _box("progressive", 1),
    Handle("draw", "2D"),
    Do("misdeal", (("text", "wrong order"),)),
    *_PREPARE,
    _box("ante", 2, amount=ANTE),
    Handle("draw", "2D"),
    Do("misdeal", (("text", "wrong order"),)),
    _box("refund-carried", 1),
)


@contextmanager
def evening(config: str = SHOE_MODE) -> Iterator[Evening]:
    """A table whose file is in memory: who dies here leaves the page cache behind, so a disk adds nothing."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with TemporaryDirectory(dir=memory) as folder:
        table = Evening(Path(folder), config)
        try:
            yield table
        finally:
            table.journal.close()


def play(table: Evening, steps: Sequence[Step], before: Callable[[Step], None] = lambda step: None) -> None:
    """The steps, each to its end through any number of deaths; ``before`` each one may arrange for one."""
    for number, step in enumerate(steps):
        while not table.enter(table.settle_down):
            pass
        before(step)
        _take(table, step, f"step-{number}")
    while not table.enter(table.settle_down):
        pass


def _take(table: Evening, step: Step, key: str) -> None:
    if isinstance(step, Handle):
        table.handle("shoe", step.do, **({"card": step.card} if step.card else {}))
        table.enter(table.read)
        return
    told: list[Plain] = []
    while not told:
        table.enter(lambda: told.append(table.act(step.name, key, **dict(step.args))))
        if not told:
            table.settle_down()
