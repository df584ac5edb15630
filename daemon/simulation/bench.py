"""Engine and simulators on ideal wires. It knows no game."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from daemon.clock import FakeClock
from daemon.engine import Engine, Port
from daemon.games.desk import Act
from daemon.journal import Entry, Journal, MemoryJournal, SqliteJournal
from daemon.records import Plain
from daemon.table import Started, Table
from drivers.base import SECOND, Send, Simulator

PATIENCE: Final = 60 * SECOND  # simulated; nothing that is waited for takes so long


class SimulationError(Exception):
    """The simulated evening cannot go on: an act was refused, a device stands still."""


class Bench:
    """Engine and simulators on ideal wires (daemon.engine.Wires): bytes need no time, time is a jump.

    What is said waits on the wire until :meth:`read`: nobody is called while he is speaking.
    """

    def __init__(
        self, table: Table, journal: Journal, ports: dict[str, Port], sims: Mapping[str, Simulator]
    ) -> None:
        self.clock = FakeClock()
        self.engine = Engine(table, journal, ports, self.clock, self, unheard)
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


def unheard(event: str, **facts: object) -> None:
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
