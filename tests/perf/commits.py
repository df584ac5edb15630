"""Committed inputs on the real engine and journal: alone, ten in one read, and 32 that wait together."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from pathlib import Path

from daemon import journal as journals
from daemon.clock import SystemClock
from daemon.engine import Engine, Port
from daemon.games.desk import Act
from daemon.rig import Device
from daemon.sealer import Sealer
from daemon.supervisor import LinkLife
from drivers.shoe.fdp import FdpShoe
from drivers.shoe.sim_fdp import ShoeSim
from tests.perf.measure import Row, rates
from tests.table.floor import ANTE, Floor

BATCH = 100
READ = 10  # events in one read
WAITING = 32
ROUNDS = 15
SHOE = "shoe"


class Committing:
    """The real engine on a real journal, with one simulated shoe whose wires are calls."""

    def __init__(self, folder: Path) -> None:
        floor = Floor()
        floor.bets()
        table = floor.table
        table.rig.devices = {SHOE: Device(SHOE, "shoe")}
        path = folder / "journal.db"
        journals.create(path, journals.header_bytes("T", "caribbean", "2026-01-01T00:00:00.000000Z", ()))
        self.wal = path.with_name(path.name + "-wal")
        self.journal = journals.open_journal(path, Sealer(bytes(32)))
        self.clock = SystemClock()
        self.shoe = ShoeSim()
        self._said: list[bytes] = []  # by the shoe, and not read yet
        port = Port(SHOE, FdpShoe(), LinkLife(SHOE, "shoe", None), "fdp", "memory")
        self.engine = Engine(table, self.journal, {SHOE: port}, self.clock, self, _quiet)
        self.engine.tick()
        self.engine.link_opened(SHOE)
        self.read()

    # --- daemon.engine.Wires

    def open(self, device: str) -> None: ...

    def close(self, device: str) -> None: ...

    def send(self, device: str, data: bytes, wake: int = 0) -> None:
        self._said += [send.data for send in self.shoe.received(data, self.clock.monotonic())]

    # --- what is measured

    def read(self) -> None:
        """Everything the shoe has said, as one read; again, until it has no more to say."""
        while self._said:
            data, self._said = b"".join(self._said), []
            self.engine.bytes_in(SHOE, data)

    def alone(self) -> int:
        """Acts of one operator: an ante placed and taken back."""
        for n in range(BATCH // 2):
            self.engine.act(Act("ante", {"box": n % 7 + 1, "amount": ANTE}))
            self.engine.act(Act("take-back", {"box": n % 7 + 1}))
        return BATCH

    def in_one_read(self) -> int:
        """The cover of the shoe is opened and closed, READ movements in each read."""
        before = self.engine.committed
        for _ in range(BATCH // READ):
            for n in range(READ):
                verb = {"do": "cover", "open": n % 2 == 0}
                _, sends = self.shoe.control(verb, self.clock.monotonic())
                self._said += [send.data for send in sends]
            self.read()
        return self.engine.committed - before

    def together(self) -> int:
        """The acts of WAITING operators who were all there when the last commit was done."""
        done = 0
        while done < BATCH:
            acts = []
            for n in range(WAITING // 2):
                acts.append(Act("ante", {"box": n % 7 + 1, "amount": ANTE}))
                acts.append(Act("take-back", {"box": n % 7 + 1}))
            done += len(self.engine.acts(acts))
        return done

    def bytes_a_commit(self) -> int:
        """What one commit adds to the write-ahead log, before it is first wrapped."""
        before = self.wal.stat().st_size
        for n in range(20):
            self.engine.act(Act("ante" if n % 2 == 0 else "take-back", {"box": 1, "amount": ANTE}))
        return (self.wal.stat().st_size - before) // 20

    def end(self) -> None:
        self.journal.close()


class Bare:
    """As many bytes, written into a file whose blocks are there already, and synced."""

    def __init__(self, folder: Path, size: int) -> None:
        self._file = os.open(folder / "bare", os.O_RDWR | os.O_CREAT)
        self._block = os.urandom(size)
        os.posix_fallocate(self._file, 0, size * BATCH)
        self.batch()  # blocks that were only promised are written for the first time
        os.fsync(self._file)

    def batch(self) -> int:
        for n in range(BATCH):
            os.pwrite(self._file, self._block, n * len(self._block))
            os.fdatasync(self._file)
        return BATCH

    def close(self) -> None:
        os.close(self._file)


class BareSqlite:
    """What SQLite itself asks for the same: two rows a transaction, and nothing around it."""

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / "bare.db", isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.execute("CREATE TABLE records (seq INTEGER PRIMARY KEY, record BLOB, hash BLOB)")
        self._db.execute("CREATE TABLE money (seq INTEGER PRIMARY KEY, amount INTEGER)")
        self._seq = 0

    def batch(self) -> int:
        do, record, digest = self._db.execute, bytes(240), bytes(32)
        for _ in range(BATCH):
            self._seq += 1
            do("BEGIN IMMEDIATE")
            do("INSERT INTO records VALUES (?, ?, ?)", (self._seq, record, digest))
            do("INSERT INTO money VALUES (?, ?)", (self._seq, 100))
            do("COMMIT")
        return BATCH

    def close(self) -> None:
        self._db.close()


def _quiet(event: str, **facts: object) -> None:
    pass


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory(dir=os.curdir) as name:
        folder = Path(name)
        committing = Committing(folder)
        size = committing.bytes_a_commit()
        for _ in range(6):
            committing.alone()  # warm: the log is wrapped and its pages are there
        bare, sqlite = Bare(folder, size), BareSqlite(folder)
        sqlite.batch()
        what, alone = f"committed inputs, one commit each ({size} bytes)", "one commit each"
        try:
            return [
                rates(
                    what, "pwrite + fdatasync of as many bytes", "/s", committing.alone, bare.batch, ROUNDS
                ),
                rates(
                    "the same, beside SQLite alone",
                    "two rows in bare SQLite, one commit each",
                    "/s",
                    committing.alone,
                    sqlite.batch,
                    ROUNDS,
                ),
                rates(
                    f"the same, {READ} in one read",
                    alone,
                    "/s",
                    committing.in_one_read,
                    committing.alone,
                    ROUNDS,
                ),
                rates(
                    f"the same, {WAITING} waiting", alone, "/s", committing.together, committing.alone, ROUNDS
                ),
            ]
        finally:
            bare.close()
            sqlite.close()
            committing.end()
