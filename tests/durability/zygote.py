"""The process that is killed: the real start, engine, journal and drivers of a table, without an event loop.

``python -m tests.durability.zygote`` runs under the recorder, imports everything once and forks a
table for every order on its standard input (a Unix socket). A table speaks to its devices and its operator
through sockets, whose sends are points; and through two pipes with the test bench, which
tells it what time it is. It is single-threaded, and does nothing between two ticks of the bench: so
the same script has the same points every time.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sqlite3
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from daemon import app, engine
from daemon.build import build_ports, started
from daemon.clock import FakeClock
from daemon.config import Settings
from daemon.engine import Engine
from daemon.games.desk import Act
from daemon.journal import SqliteJournal
from daemon.links.base import Cause
from daemon.log import Log
from daemon.reserve import Reserve
from daemon.service import FAREWELL
from daemon.table import Input, Outcome, Table
from drivers.base import SECOND, Output, Send
from tests.durability.recorder import Action, Order, Recorder
from tests.durability.scripts import SCRIPTS

CHUNK: Final = 65_536
OPERATOR: Final = "operator"
SNAPSHOT_EVERY: Final = 10  # records, so that a short round has snapshots
CHECKPOINT_AT: Final = 60  # pages of the write-ahead log, so that a short round has checkpoints

Plain = dict[str, Any]


class Place:
    """A table at work (daemon.engine.Wires)."""

    def __init__(self, folder: Path, clock: FakeClock) -> None:
        self._folder = folder
        self._clock = clock
        self._opening: list[str] = []
        self._open: dict[str, socket.socket] = {}
        self._operator = self._connected(OPERATOR)
        self._asked = b""
        self._failure: Exception | None = None
        self._farewell = 0
        self.engine: Engine

    def run(self, orders: int, answers: int) -> None:
        """Live until the bench says that it is over. Raises what stopped the engine, after the farewell."""
        with open(orders) as said:
            for line in said:
                order = json.loads(line)
                if "end" in order:
                    return
                told = _picture(self.engine.table) if "picture" in order else self._tick(order["now"])
                os.write(answers, json.dumps(told).encode() + b"\n")

    def _tick(self, now: int) -> Plain:
        self._clock.now = now
        if self._failure is not None:
            return self._last_words(self._failure, now)
        try:
            busy = self._work(now)
        except Exception as error:
            self._failure, self._farewell = error, now + int(FAREWELL * SECOND)
            self.engine.safe_text()
            return self._last_words(error, now)
        rig = self.engine.table.rig
        return {
            "busy": busy,
            "deadline": self.engine.deadline,
            "devices": not rig.not_ready(),
            "sign": rig.sign_is_current(),
        }

    def _work(self, now: int) -> bool:
        busy = self._links_open()
        busy |= self._links_heard()
        busy |= self._acts_asked()
        deadline = self.engine.deadline
        if deadline is not None and deadline <= now:
            self.engine.tick()
        return busy or bool(self._opening)

    def _last_words(self, failure: Exception, now: int) -> Plain:
        """The safe text goes out at the sign's own pace (daemon.service)."""
        if now >= self._farewell:
            raise failure
        busy, deadlines = False, [self._farewell]
        for port in self.engine.ports.values():
            if port.id not in self._open:
                continue
            data = self._heard(port.id)
            busy |= data is not None
            self._pass_on(port.id, port.driver.received(data or b"", now))
            if port.driver.deadline is not None and port.driver.deadline <= now:
                self._pass_on(port.id, port.driver.tick(now))
            if port.driver.deadline is not None:
                deadlines.append(port.driver.deadline)
        return {"busy": busy, "deadline": min(deadlines), "devices": False, "sign": False}

    def _pass_on(self, device: str, outputs: list[Output]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self.send(device, output.data)

    # --- links

    def _links_open(self) -> bool:
        opening, self._opening = self._opening, []
        for device in opening:
            try:
                self._open[device] = self._connected(device)
            except OSError as error:
                self.engine.link_failed(device, Cause.ABSENT, str(error))
            else:
                self.engine.link_opened(device)
        return bool(opening)

    def _connected(self, name: str) -> socket.socket:
        link = socket.socket(socket.AF_UNIX)
        link.connect(str(self._folder / name))
        link.setblocking(False)
        return link

    def _links_heard(self) -> bool:
        heard = False
        for device in list(self._open):
            data = self._heard(device)
            if data:
                self.engine.bytes_in(device, data)
            elif data is not None:
                self.close(device)
                self.engine.link_lost(device, Cause.LOST, "the other end is gone")
            heard |= data is not None
        return heard

    def _heard(self, device: str) -> bytes | None:
        try:
            return self._open[device].recv(CHUNK)
        except BlockingIOError:
            return None

    def open(self, device: str) -> None:
        self._opening.append(device)

    def send(self, device: str, data: bytes, wake: int = 0) -> None:
        if device in self._open:
            self._open[device].sendall(data)

    def close(self, device: str) -> None:
        link = self._open.pop(device, None)
        if link is not None:
            link.close()

    # --- the operator

    def _acts_asked(self) -> bool:
        try:
            self._asked += self._operator.recv(CHUNK)
        except BlockingIOError:
            return False
        *lines, self._asked = self._asked.split(b"\n")
        for line in lines:
            act = json.loads(line)
            answer = self.engine.act(Act(act["name"], act["args"], role=act["role"], key=act["key"]))
            told = {"key": act["key"], "answer": answer}
            self._operator.sendall(json.dumps(told).encode() + b"\n")
        return bool(lines)


def _picture(table: Table) -> Plain:
    """What the table knows of its game and its money."""
    return {
        "state": table.view(),
        "round": table.game.round_view(),
        "balances": {account: amount for account, amount in sorted(table.balances.items()) if amount},
        "snapshot": table.snapshot() if table.at_rest else None,
    }


def picture(table: Table) -> Plain:
    """:func:`_picture` as it comes out of a pipe."""
    value: Plain = json.loads(json.dumps(_picture(table)))
    return value


# --- what a test may change -------------------------------------------------------------------------


class _Tuned(sqlite3.Connection):
    """Frequent checkpoints, so that a round of a few hundred pages has some."""

    synchronous = "FULL"

    def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
        if sql == "PRAGMA synchronous = FULL":
            super().execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_AT}")
            sql = f"PRAGMA synchronous = {self.synchronous}"
        if sql == "PRAGMA synchronous" and self.synchronous != "FULL":
            sql = "SELECT 2"  # or the journal would notice and refuse
        return super().execute(sql, *rest)


class _Careless(_Tuned):
    """The mistake that lost-sync is there to find: a commit that does not wait for the disk."""

    synchronous = "NORMAL"


class _Halving(_Tuned):
    """A mistake that the sweep is there to find: an input in one transaction, its money in the next."""

    def executemany(self, sql: str, rows: Any) -> sqlite3.Cursor:
        if sql.startswith("INSERT INTO money"):
            super().execute("COMMIT")
            super().execute("BEGIN IMMEDIATE")
        return super().executemany(sql, rows)


CONNECTIONS: Final = {"normal": _Careless, "halves": _Halving}


class Hasty(Engine):
    """A mistake that the sweep is there to find: devices are acknowledged before the commit."""

    def _journal(self, inputs: list[Input]) -> tuple[list[Outcome], list[Plain]]:
        outcomes, records = super()._journal(inputs)
        super()._perform(inputs, outcomes)
        return outcomes, records

    def _perform(self, inputs: list[Input], outcomes: list[Outcome]) -> None:
        """It was done already."""


def _tune(mistake: str) -> None:
    engine.SNAPSHOT_EVERY = SNAPSHOT_EVERY  # type: ignore[misc]
    factory = CONNECTIONS.get(mistake, _Tuned)
    sqlite3.connect = partial(sqlite3.connect, factory=factory)  # type: ignore[assignment]


# --- one table ----------------------------------------------------------------------------------------


def _live(order: Plain, orders: int, answers: int, log: int) -> None:
    """One life of the daemon: from its start to its end, or to its point."""
    _tune(order["mistake"])
    settings = SCRIPTS[order["script"]].settings(Path(order["folder"]))
    clock = FakeClock()
    clock.now = order["now"]
    recorder = Recorder()
    recorder.arm(Order(Action(order["action"]), order["at"], order["error"]), log)
    place = Place(Path(order["sockets"]), clock)
    with opened(settings) as (journal, table):
        os.write(answers, json.dumps(_picture(table)).encode() + b"\n")
        kind = Hasty if order["mistake"] == "hasty" else Engine
        place.engine = kind(table, journal, build_ports(settings, table), clock, place, _unheard)
        place.engine.start(started(settings, journal.signer))
        place.run(orders, answers)
    os.write(answers, json.dumps({"ended": recorder.seen}).encode() + b"\n")


@contextlib.contextmanager
def opened(settings: Settings) -> Iterator[tuple[SqliteJournal, Table]]:
    """Journal and table by the daemon's own start: lock, checks, recovery. Raises what keeps it from it."""
    log, reserve = cast(Log, _unheard), Reserve(settings.journal)
    with (
        app._owned(settings.journal, reserve),
        contextlib.closing(app._journal(settings, reserve, log)) as journal,
    ):
        yield journal, app._recovered(settings, journal, log)


def _unheard(event: str, **facts: object) -> None:
    """The log is no part of what is proven here."""


def _child(order: Plain, descriptors: list[int]) -> None:
    orders, answers, *rest = descriptors
    try:
        _live(order, orders, answers, rest[0] if rest else -1)
    except BaseException as error:
        Recorder().disarm()
        told = {"failed": f"{type(error).__name__}: {error}"}
        os.write(answers, json.dumps(told).encode() + b"\n")
    finally:
        os._exit(0)


def main() -> None:
    """Fork a table for each order, until the other end is closed."""
    for script in SCRIPTS.values():
        script.settings(Path())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    bench = socket.socket(fileno=0)
    while True:
        data, descriptors, _, _ = socket.recv_fds(bench, CHUNK, 3)
        if not data:
            return
        child = os.fork()
        if child == 0:
            bench.close()
            _child(json.loads(data), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        bench.send(str(child).encode())


if __name__ == "__main__":
    sys.exit(main())
