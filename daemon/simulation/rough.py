"""A bench on which everything may fail: wires, power, disk, clock, and the daemon's own process.

The wires lie below the drivers and the disk below the engine, so nothing above knows of faults. A
process that ends is followed by a new one that knows what was durable; the devices keep their state.
"""

from __future__ import annotations

import errno
import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Final, ParamSpec, TypeVar

from daemon.build import build_ports, build_table, started
from daemon.clock import FakeClock, stamp
from daemon.config import Settings
from daemon.engine import Engine, FailStop, recover
from daemon.games.desk import Act
from daemon.links.base import Cause
from daemon.records import Plain
from daemon.simulation.bench import unheard
from daemon.simulation.disk import DurableJournal, Violation, no_trap
from daemon.simulation.oracle import AckWitness, Books, picture
from daemon.table import Table
from daemon.watch import LOW_SPACE, Machine, Watch
from drivers.base import MILLISECOND, SECOND, Send, Simulator

SHORTEST_SLEEP: Final = MILLISECOND
LOOK_EVERY: Final = SECOND
AMPLE: Final = 16 * LOW_SPACE  # bytes
SIGN: Final = "sign"

P = ParamSpec("P")
R = TypeVar("R")


class Killed(BaseException):
    """SIGKILL: nobody catches it but the bench."""


class SteppedClock(FakeClock):
    """Wall time can be set; monotonic time cannot."""

    def __init__(self) -> None:
        super().__init__()
        self.offset = 0  # nanoseconds

    def wall(self) -> int:
        return self.START + self.now + self.offset

    def utc(self) -> str:
        if self._stamp_of != self.wall():
            self._stamp_of, self._stamp = self.wall(), stamp(self.wall())
        return self._stamp


@dataclass(slots=True)
class Wire:
    """One direction of a line. ``spoil`` says what happens to the next pieces, one each."""

    pieces: list[bytes] = field(default_factory=list)
    spoil: list[str] = field(default_factory=list)
    held_until: int = 0

    def put(self, data: bytes, random: Random) -> None:
        self.pieces += _spoilt(self.spoil.pop(0), data, random) if self.spoil else [data]

    def take(self, now: int) -> bytes:
        """What has arrived."""
        if not self.pieces or now < self.held_until:
            return b""
        data, self.pieces = b"".join(self.pieces), []
        return data


def _spoilt(how: str, data: bytes, random: Random) -> list[bytes]:
    if how == "lost":
        return []
    if how == "repeated":
        return [data, data]
    if how == "noise":
        return [random.randbytes(random.randrange(1, 40)), data]
    changed = bytearray(data)
    changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return [bytes(changed)]


class RoughBench:
    """Engine and simulators with faults between them (daemon.engine.Wires).

    Raises Violation from any call. ``random`` is for what the faults need, never for the cards.
    """

    def __init__(
        self,
        settings: Settings,
        sims: Mapping[str, Simulator],
        journal: DurableJournal,
        books: Books,
        random: Random,
    ) -> None:
        self.clock = SteppedClock()
        self.sims = sims
        self.books = books
        self.journal = journal
        self.random = random
        self.up = False
        self.starts = 0
        self.room = AMPLE
        self.locked_until = 0
        self.unplugged: set[str] = set()
        self.die_after = False  # the next call of the daemon is its last
        self.sends_left: int | None = None  # the process ends with so many sends more
        self.repeat_next = False
        self.lose_answer = False  # the process ends between its next act and the answer
        self.table: Table
        self.engine: Engine
        self._settings, self._started = settings, started(settings)
        self._acks = AckWitness(journal)
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._items = 0
        self._attached: set[str] = set()
        self._opening: list[str] = []
        self.to_device = {name: Wire() for name in sims}
        self.to_host = {name: Wire() for name in sims}
        self._look_at = 0
        self._excused = False
        self._watch: Watch
        journal.locked = lambda: self.clock.now < self.locked_until
        self.start()

    # --- the process ------------------------------------------------------------------------

    def start(self) -> None:
        """A daemon starts: it recovers what is durable and looks for its devices."""
        self.journal.reopen()
        self.table, _ = recover(partial(build_table, self._settings, compiled=True), self.journal)
        self.books.recovered(self.table)
        self._acks.restarted()
        ports = build_ports(self._settings, self.table)
        self.engine = Engine(self.table, self.journal, ports, self.clock, self, unheard)
        machine = Machine(lambda: self.room, lambda: 0, self.clock.wall, self.clock.monotonic)
        self._watch = Watch(machine, frozenset(self.table.faults))
        self.up = True
        self.starts += 1
        self._excused = self.journal.locked()
        self.enter(self.engine.start, self._started)
        if self.up:
            self._excused = False
            self.books.restarted(self.table, self.journal)
            self.enter(self.engine.tick)

    def enter(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
        """Call the daemon. None when there is none, or when it ends before it answers."""
        if not self.up:
            return None
        try:
            result = call(*args, **kwargs)
        except Killed:
            self.end(dirty=bool(self.journal.pending))
            return None
        except (FailStop, OSError) as error:
            if not self._excused:
                raise Violation(f"fail-stop without a cause: {error}") from error
            self.end(dirty=True)
            return None
        if self.die_after:
            self.end(dirty=False)
            return None
        return result

    def end(self, dirty: bool) -> None:
        """The process is gone; the service manager starts another one. ``dirty``: the table had
        taken something that is not durable, and is no measure for the next one."""
        self.up = self.die_after = self.lose_answer = self._excused = False
        self.sends_left = None
        self.books.picture = None if dirty else picture(self.table)
        self.books.faults = () if dirty else tuple(self.table.faults)
        self._attached.clear()
        self._opening.clear()
        for wire in self.to_host.values():
            wire.pieces.clear()
        self.later(self.random.randrange(100, 2_000) * MILLISECOND, self.start)

    def arm(self, point: str, error: BaseException) -> None:
        """At the next ``point`` of a transaction ``error`` is raised, once."""

        def trap(at: str) -> None:
            if at == point:
                self.journal.trap = no_trap
                self._excused = isinstance(error, OSError)
                raise error

        self.journal.trap = trap

    @property
    def armed(self) -> bool:
        """Something is going to end the process already."""
        return (
            self.die_after
            or self.lose_answer
            or self.sends_left is not None
            or self.journal.trap is not no_trap
        )

    def fill_disk(self, point: str, until: int) -> None:
        """From now to ``until`` every transaction fails at ``point``."""

        def trap(at: str) -> None:
            if self.clock.now >= until:
                self.journal.trap = no_trap
            elif at == point:
                self._excused = True
                raise OSError(errno.ENOSPC, "no space left on device")

        self.journal.trap = trap

    # --- daemon.engine.Wires ----------------------------------------------------------------

    def open(self, device: str) -> None:
        self._opening.append(device)

    def send(self, device: str, data: bytes, wake: int = 0) -> None:
        if device != SIGN:
            self._acks.sent(device, data)
        if self.sends_left is not None:
            self.sends_left -= 1
            if self.sends_left < 0:
                raise Killed
        if device in self._attached:
            self.to_device[device].put(data, self.random)

    def close(self, device: str) -> None:
        self._attached.discard(device)

    # --- for the people at the table --------------------------------------------------------

    def act(self, act: Act) -> Plain | None:
        """One operator's act: its answer, or None when nobody answers (now)."""
        self.read()
        answer = self.enter(self.engine.act, act)
        if answer is None:
            return None
        if self.lose_answer:
            self.end(dirty=False)
            return None
        self.books.answered(act.key, answer)
        if self.repeat_next:
            self.repeat_next = False
            self._repeat(act, answer)
        return answer

    def _repeat(self, act: Act, answer: Plain) -> None:
        before = self.journal.next_seq
        again = self.enter(self.engine.act, act)
        if again != answer or self.journal.next_seq != before:
            raise Violation(f"{act.name} under the same key was not answered the same")

    def handle(self, device: str, do: str, **verb: object) -> Plain:
        """Do something with a device itself; its answer, with ``error`` when it cannot be done."""
        told, sends = self.sims[device].control({"do": do, **verb}, self.clock.now)
        self._say(device, sends)
        return told

    def unplug(self, device: str, nanoseconds: int) -> None:
        """Pull the plug, and put it back after so long."""
        self.unplugged.add(device)
        for wire in (self.to_device[device], self.to_host[device]):
            wire.pieces.clear()
        if device in self._attached:
            self._attached.discard(device)
            self.enter(self.engine.link_lost, device, Cause.LOST, "unplugged")
        self.later(nanoseconds, lambda: self.unplugged.discard(device))

    def later(self, nanoseconds: int, call: Callable[[], None]) -> None:
        """Something happens by itself after so long."""
        self._items += 1
        heapq.heappush(self._agenda, (self.clock.now + nanoseconds, self._items, call))

    def look(self) -> None:
        """The controller looks at itself (daemon.watch)."""
        self._look_at = self.clock.now + LOOK_EVERY
        for noticed in self._watch.look() if self.up else ():
            self.enter(self.engine.notice, noticed)

    def read(self) -> None:
        """Let everything that can arrive arrive, until the wires are quiet."""
        moved = True
        while moved:
            moved = False
            while self._opening:
                self._open(self._opening.pop(0))
                moved = True
            for device in self.sims:
                moved |= self._carry(device)

    def pass_time(self, most: int = SECOND) -> None:
        """On to the next deadline, or by ``most`` nanoseconds if that is sooner."""
        self.read()
        now = self.clock.now
        due = min(self._deadlines(), default=now + most)
        self.clock.now = min(max(due, now + SHORTEST_SLEEP), now + most)
        self._tick()
        self.read()

    def run_for(self, nanoseconds: int) -> None:
        """Let so much time go by."""
        end = self.clock.now + nanoseconds
        while self.clock.now < end:
            self.pass_time(end - self.clock.now)

    # --- time and bytes ---------------------------------------------------------------------

    def _deadlines(self) -> list[int]:
        times = [self._look_at, *[sim.deadline for sim in self.sims.values()]]
        if self.up:
            times.append(self.engine.deadline)
        if self._agenda:
            times.append(self._agenda[0][0])
        waiting = [wire.held_until for wire in self._all_wires() if wire.pieces]
        return [at for at in (*times, *waiting) if at is not None]

    def _all_wires(self) -> list[Wire]:
        return [*self.to_device.values(), *self.to_host.values()]

    def _tick(self) -> None:
        now = self.clock.now
        while self._agenda and self._agenda[0][0] <= now:
            heapq.heappop(self._agenda)[2]()
        for device, sim in self.sims.items():
            due = sim.deadline
            if due is not None and due <= now:
                self._say(device, sim.tick(now))
        if now >= self._look_at:
            self.look()
        self.enter(self.engine.tick)

    def _open(self, device: str) -> None:
        if device in self.unplugged:
            self.enter(self.engine.link_failed, device, Cause.ABSENT, "nothing is plugged in")
            return
        self._attached.add(device)
        self.enter(self.engine.link_opened, device)
        self._say(device, self.sims[device].opened(self.clock.now))

    def _carry(self, device: str) -> bool:
        """Whether anything arrived at this device, or from it."""
        there, back = self.to_device[device], self.to_host[device]
        if not there.pieces and not back.pieces:
            return False
        now, moved = self.clock.now, False
        data = there.take(now)
        if data:
            moved = True
            self._say(device, self.sims[device].received(data, now))
            if device == SIGN:
                self._look_at_sign()
        data = back.take(now)
        if data and self.up and device in self._attached:
            moved = True
            self.enter(self.engine.bytes_in, device, data)
        return moved

    def _look_at_sign(self) -> None:
        amount = self.handle(SIGN, "state")["amount"]
        assert amount is None or isinstance(amount, int)
        self.books.shown(amount)

    def _say(self, device: str, sends: list[Send]) -> None:
        if device in self._attached:
            for send in sends:
                self.to_host[device].put(send.data, self.random)
