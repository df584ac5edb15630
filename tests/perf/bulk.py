"""Builds a long journal quickly: real rounds through the real table, without waiting for the disk.

``python -m tests.perf.bulk FOLDER INPUTS`` makes a configuration, the journal, its key and its archives.
The journal is closed as a daemon closes it: ``feltd run`` goes on from there.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from unittest.mock import patch

from daemon.build import started
from daemon.config import DeviceSettings, Settings, load
from daemon.journal import Entry, SqliteJournal, create, header_bytes, open_journal
from daemon.records import Plain
from daemon.sealer import create_key, load_key
from daemon.simulate import Evening, SimulateOptions
from drivers.base import SECOND

BATCH = 20_000  # records a transaction
STEP = 5_000  # records that move into an archive at once
ROUND = 90 * SECOND  # of table time
DEMO = Path(__file__).parents[2] / "config" / "demo.toml"


class Batched:
    """A journal (daemon.journal.Journal) whose transactions are large, and cost nothing to commit."""

    def __init__(self, inner: SqliteJournal) -> None:
        self.inner = inner
        self.answered = inner.answered
        self._uncommitted = 0

    @property
    def next_seq(self) -> int:
        return self.inner.next_seq

    def begin(self) -> bool:
        return self._uncommitted > 0 or self.inner.begin()

    def append(self, entry: Entry) -> None:
        self.inner.append(entry)
        self._uncommitted += 1

    def commit(self) -> None:
        if self._uncommitted >= BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._uncommitted:
            self.inner.commit()
            self._uncommitted = 0

    def rollback(self) -> None:
        self.inner.rollback()

    def settle(self, archived: bool) -> None:
        """Commit; then move whatever may be moved."""
        self._flush()
        first = -1
        while archived and self.inner.first != first:
            first = self.inner.first
            self.inner.tidy()

    def close(self) -> None:
        self.inner.close()


class Hearing:
    """What the journal says of itself while it is built."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Plain]] = []

    def __call__(self, event: str, **facts: object) -> None:
        if event != "anchor":
            self.said.append((event, facts))


def table(folder: Path) -> Settings:
    """The demonstration table with a shoe and a sign, its configuration written into this folder.

    ``feltd run`` finds no device there, which is a state like any other.
    """
    text = DEMO.read_text().replace('mode = "shuffler"\nshuffler = "SH-1"\n', 'mode = "shoe"\n')
    config = folder / "feltd.toml"
    config.write_text(re.sub(r"\[devices\.shuffler\.SH-1\][^\[]*", "", text))
    devices = tuple(
        DeviceSettings(name, name, protocol, "memory", simulated=True)
        for name, protocol in (("shoe", "fdp"), ("sign", "alpha"))
    )
    return replace(load(config), devices=devices)


def build(folder: Path, inputs: int, archived: bool = True, seed: int = 1, pause: int = ROUND) -> Settings:
    """A journal of so many inputs, and less than a round more, in an empty folder. ``pause`` in ns."""
    settings = table(folder)
    create_key(settings.key)
    create(
        settings.journal,
        header_bytes(settings.table_id, settings.game, "2026-01-01T00:00:00.000000Z", settings.simulated),
    )
    hearing = Hearing()
    journal = open_journal(settings.journal, load_key(settings.key), hearing)
    journal._db.execute("PRAGMA synchronous = OFF")  # no power cut here
    batched = Batched(journal)
    with patch("daemon.journal.archive.STEP", STEP):
        _play(batched, settings, inputs, archived, seed, pause)
    assert not [event for event, _ in hearing.said if event == "archive-failed"], hearing.said
    batched.close()
    return settings


def _play(journal: Batched, settings: Settings, inputs: int, archived: bool, seed: int, pause: int) -> None:
    evening = Evening(SimulateOptions(), settings, journal, Random(seed))  # type: ignore[arg-type]
    evening._started = started(settings, journal.inner.signer)
    evening.open()
    while journal.next_seq <= inputs:
        evening.play()
        evening.bench.clock.now += pause
        evening.bench.wait(evening.bench.engine.table.rig.sign_is_current, "the sign")
        if journal.next_seq % BATCH < 200:
            journal.settle(archived)
    journal.settle(archived)


if __name__ == "__main__":
    build(Path(sys.argv[1]), int(sys.argv[2]))
