"""Committed inputs, one commit each, beside a bare fdatasync of as many bytes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from daemon import journal as journals
from daemon.clock import SystemClock
from daemon.engine import Engine
from daemon.games.desk import Act
from daemon.sealer import Sealer
from tests.perf.measure import Row, rates
from tests.table.floor import ANTE, Floor

BATCH = 100


class NoWires:
    """No link is open."""

    def open(self, device: str) -> None: ...

    def send(self, device: str, data: bytes, wake: int = 0) -> None: ...

    def close(self, device: str) -> None: ...


def _quiet(event: str, **facts: object) -> None:
    pass


class Committing:
    """The real engine on a real journal: an ante placed and taken back, one commit each."""

    def __init__(self, folder: Path) -> None:
        floor = Floor()
        floor.bets()
        del floor.table.rig.devices["sign"]  # it has no driver here, and is not told anything
        path = folder / "journal.db"
        journals.create(path, journals.header_bytes("T", "caribbean", "2026-01-01T00:00:00.000000Z", ()))
        self.wal = path.with_name(path.name + "-wal")
        self.engine = Engine(
            floor.table, journals.open_journal(path, Sealer(bytes(32))), {}, SystemClock(), NoWires(), _quiet
        )

    def batch(self) -> int:
        for n in range(BATCH // 2):
            self.engine.act(Act("ante", {"box": n % 7 + 1, "amount": ANTE}))
            self.engine.act(Act("take-back", {"box": n % 7 + 1}))
        return BATCH

    def bytes_a_commit(self) -> int:
        """What one commit adds to the write-ahead log, before it is first wrapped."""
        before = self.wal.stat().st_size
        for n in range(20):
            self.engine.act(Act("ante" if n % 2 == 0 else "take-back", {"box": 1, "amount": ANTE}))
        return (self.wal.stat().st_size - before) // 20


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        committing = Committing(folder)
        size = committing.bytes_a_commit()
        committing.batch()  # warm: the log is wrapped and its pages are there
        descriptor = os.open(folder / "bare", os.O_RDWR | os.O_CREAT)
        try:
            os.posix_fallocate(descriptor, 0, size * BATCH)
            os.fsync(descriptor)
            block = os.urandom(size)

            def bare() -> int:
                for n in range(BATCH):
                    os.pwrite(descriptor, block, n * size)
                    os.fdatasync(descriptor)
                return BATCH

            what = f"committed inputs, one commit each ({size} bytes)"
            return [rates(what, "pwrite + fdatasync of as many bytes", "/s", committing.batch, bare, 15)]
        finally:
            os.close(descriptor)
