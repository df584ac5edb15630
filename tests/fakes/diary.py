"""A floor whose inputs are journalled, stamped with a time that the test sets."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from daemon.games.desk import Act, Note, Outcome, RoundClosed
from daemon.journal import Entry, create, header_bytes, open_journal
from daemon.records import Plain, input_record, outcome_record
from daemon.sealer import create_key, load_key
from daemon.table import FromDevice, LinkChanged, Snapshot, Started, Table
from tests.table.five_card.floor import Floor as StudFloor
from tests.table.floor import Floor


class Kept:
    """Before a floor's class. ``falsify`` alters a record before it is journalled."""

    table: Table
    seq: int
    last: Outcome
    notes: list[Note]
    closed: list[dict[str, Any]]

    def __init__(self, folder: Path, at: str = "2026-01-01T00:00:00Z", **floor: Any) -> None:
        super().__init__(**floor)
        self.path, self.key = folder / "journal.db", folder / "journal.key"
        self.now = datetime.fromisoformat(at)
        self.falsify: Callable[[Plain], Plain] = lambda record: record
        create_key(self.key)
        game = self.table.game.name
        create(self.path, header_bytes("T", game, at, ()))
        self.journal = open_journal(self.path, load_key(self.key))
        devices = [*self.table.rig.devices]
        self.take(Started("0", signer=self.journal.signer))
        for name in devices:
            self.take(LinkChanged(name, True, "", "", "S1", "1.0", "", 1))

    def take(self, item: Any) -> Outcome:
        assert self.journal.begin()
        self.seq += 1
        self.now += timedelta(milliseconds=1)
        at = f"{self.now:%Y-%m-%dT%H:%M:%S.%fZ}"
        self.last = self.table.handle(item, self.seq, at)
        for effect in self.last.effects:
            if isinstance(effect, Note):
                self.notes.append(effect)
            elif isinstance(effect, RoundClosed):
                self.closed.append(dict(effect.summary))
        self._journal(item, at)
        return self.last

    def _journal(self, item: Any, at: str) -> None:
        plain, faces = input_record(item)
        record = self.falsify(outcome_record(at, plain, self.last, self.table.game.phase))
        key = item.key if isinstance(item, Act) else ""
        entry = Entry(self.seq, record, faces, key=key, snapshot=isinstance(item, Snapshot))
        if isinstance(item, FromDevice):
            epoch = self.table.rig.devices[item.device].epoch
            entry = Entry(self.seq, record, faces, item.device, epoch, item.ordinal)
        self.journal.append(entry)
        self.journal.commit()

    def snapshot(self) -> None:
        self.take(Snapshot(self.table.snapshot()))


class Diary(Kept, Floor):
    """A Caribbean Stud table with its journal."""


class StudDiary(Kept, StudFloor):
    """A five-card stud table with its journal."""
