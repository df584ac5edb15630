"""What a long history costs: the start, and a commit, with a million inputs behind them beside a thousand.

``make perf-data`` builds both journals once, in minutes; they are copied before they are used.
"""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from daemon.audit import verify_open
from daemon.config import load
from daemon.journal import Entry, SqliteJournal, open_journal
from daemon.records import decode
from daemon.sealer import load_key
from tests.perf import bulk
from tests.perf.measure import Row, rates

ROOT = Path(__file__).parents[2]
DATA = ROOT / "build" / "perf-data"
MANY, FEW = 1_000_000, 1_000
STARTS = 5
COMMITS = 100
ROUNDS = 9
PATIENCE = 60.0  # seconds


def journals(data: Path = DATA) -> dict[int, Path]:
    """The folders of both journals, by their inputs; built when they are not there yet."""
    folders = {inputs: data / str(inputs) for inputs in (MANY, FEW)}
    for inputs, folder in folders.items():
        if folder.is_dir():
            continue
        print(f"building a journal of {inputs:,} inputs", file=sys.stderr, flush=True)
        data.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=data) as name:
            made = Path(name) / "made"
            made.mkdir()
            settings = bulk.build(made, inputs)
            found = verify_open(settings.journal)
            assert (found["errors"], found["inputs"] >= inputs) == ([], True)
            made.rename(folder)
    return folders


@contextmanager
def copied(folder: Path) -> Iterator[Path]:
    """A fresh copy: a start adds records."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        copy = Path(name) / "copy"
        shutil.copytree(folder, copy, copy_function=_same_or_copy)
        yield copy


def _same_or_copy(source: str, target: str) -> None:
    """Closed archives are only read: a second name is enough."""
    if Path(source).parent.suffix == ".archive":
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def ready_after(folder: Path) -> float:
    """Seconds until the daemon says READY."""
    with copied(folder) as copy, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(copy / "notify"))
        manager.settimeout(PATIENCE)
        began = time.monotonic()
        daemon = subprocess.Popen(
            [sys.executable, "-m", "daemon", "run", "--config", "feltd.toml"],
            cwd=copy,
            env=os.environ | {"PYTHONPATH": str(ROOT), "NOTIFY_SOCKET": str(copy / "notify")},
            stderr=subprocess.DEVNULL,
        )
        try:
            while b"READY=1" not in manager.recv(4096):
                pass
            return time.monotonic() - began
        finally:
            daemon.terminate()
            daemon.wait(PATIENCE)


def starts(folders: dict[int, Path], times: int = STARTS) -> Row:
    """READY with many inputs beside READY with few, in turn."""
    pairs = [(ready_after(folders[MANY]), ready_after(folders[FEW])) for _ in range(times)]
    ratios = sorted(many / few for many, few in pairs)
    return Row(
        f"start to READY, {MANY:,} inputs",
        statistics.median(many for many, _ in pairs),
        "s",
        f"{FEW:,} inputs",
        statistics.median(few for _, few in pairs),
        statistics.median(ratios),
        f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
        times,
    )


class Committing:
    """The newest inputs of a journal once more, with numbers of their own, one commit each."""

    def __init__(self, folder: Path) -> None:
        settings = load(folder / "feltd.toml")
        self.journal: SqliteJournal = open_journal(settings.journal, load_key(settings.key))
        newest = "SELECT device, epoch, ordinal, record FROM records ORDER BY seq DESC LIMIT ?"
        rows = self.journal._db.execute(newest, (COMMITS * 2,)).fetchall()
        decoded = [(device, epoch, ordinal, decode(record)) for device, epoch, ordinal, record in rows]
        self.entries = [row for row in decoded if row[3]["input"]["kind"] in ("device", "act")][:COMMITS]
        for *_, record in self.entries:  # a round is closed once
            record["effects"] = [e for e in record.get("effects", ()) if e["effect"] != "round-closed"]
        self._ordinal = 1 << 30

    def batch(self) -> int:
        for device, epoch, ordinal, record in self.entries:
            self._ordinal += 1
            self.journal.begin()
            seq = self.journal.next_seq
            self.journal.append(Entry(seq, record, b"", device, epoch, self._ordinal if ordinal else 0))
            self.journal.commit()
        return len(self.entries)


def commits(folders: dict[int, Path]) -> Row:
    """Commits a second with many inputs behind them beside few; ``ratio`` is that of the times."""
    with copied(folders[MANY]) as many, copied(folders[FEW]) as few:
        long, short = Committing(many), Committing(few)
        try:
            for each in (long, short):
                each.batch()  # warm
            row = rates("", "", "/s", short.batch, long.batch, ROUNDS)
        finally:
            long.journal.close()
            short.journal.close()
    ours, theirs = 1e6 / row.theirs, 1e6 / row.ours
    name = f"one commit, {MANY:,} inputs behind it"
    return Row(name, ours, "us", f"{FEW:,} inputs", theirs, row.ratio, row.spread, ROUNDS)


def measure() -> list[Row]:
    folders = journals()
    return [starts(folders), commits(folders)]


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        for folder in journals().values():
            print(folder.relative_to(ROOT))
