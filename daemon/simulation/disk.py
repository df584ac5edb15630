"""The journal of a simulation with faults: commit is durable, what was not committed is lost."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Final

from daemon.journal import Entry, JournalError, canonical_line
from daemon.records import Plain, decode, encode

KEYS_KEPT: Final = 4_096  # acts; the people repeat only their latest ones

Trap = Callable[[str], None]


def no_trap(point: str) -> None:
    """Nothing fails."""


class Violation(Exception):
    """What must hold does not: the text says what, and the seed plays it again."""


class DurableJournal:
    """A journal (daemon.journal.Journal) whose memory outlives the daemon.

    It keeps the records since the newest snapshot, so that its size is bounded. ``trap`` is called
    at "begin", "append", "commit" and "committed" and may raise; ``locked`` makes ``begin`` answer
    False; ``durable`` is told every record once it is safe. Like the file it takes a device event
    and a key only once (JournalError); unlike the file it also takes no event after a gap.
    """

    def __init__(self, durable: Callable[[int, Plain], None]) -> None:
        self.next_seq = 1
        self.trap: Trap = no_trap
        self.locked: Callable[[], bool] = lambda: False
        self.pending: list[Entry] = []
        self._durable = durable
        self._digest = hashlib.sha256()
        self._records: list[Entry] = []
        self._snapshot: Entry | None = None
        self._keys: dict[str, Plain] = {}
        self._ordinals: dict[str, tuple[int, int]] = {}  # device to epoch and ordinal

    @property
    def safe_seq(self) -> int:
        """The number of the last record that is durable."""
        return self.next_seq - 1 - len(self.pending)

    def ordinal(self, device: str) -> int:
        """The last durable event of a device in its present epoch; 0 for none."""
        return self._ordinals.get(device, (0, 0))[1]

    def begin(self) -> bool:
        self.trap("begin")
        return not self.locked()

    def append(self, entry: Entry) -> None:
        self.trap("append")
        self._require_new(entry)
        self.pending.append(entry)
        self.next_seq = entry.seq + 1

    def commit(self) -> None:
        self.trap("commit")
        entries, self.pending = self.pending, []
        for entry in entries:
            self._keep(entry)
        self.trap("committed")

    def rollback(self) -> None:
        self.next_seq -= len(self.pending)
        self.pending = []

    reopen = rollback  # a new process finds what is durable and nothing else

    def answered(self, key: str) -> Plain | None:
        return self._keys.get(key)

    def close(self) -> None:
        pass

    def latest_snapshot(self) -> tuple[int, Plain] | None:
        if self._snapshot is None:
            return None
        plain = decode(encode(self._snapshot.record))
        return self._snapshot.seq, plain["input"]["state"]

    def replay(self, after: int = 0) -> Iterator[tuple[int, Plain, bytes]]:
        for entry in self._records:
            if entry.seq > after:
                yield entry.seq, decode(encode(entry.record)), entry.faces

    def sha256(self) -> str:
        """Of the canonical export of everything that was ever durable."""
        return self._digest.hexdigest()

    def _require_new(self, entry: Entry) -> None:
        if entry.key and entry.key in self._keys:
            raise JournalError(f"key {entry.key} is in the journal already")
        if not entry.device or not entry.ordinal:
            return
        # Events that waited for a locked journal may be of two epochs, in one transaction.
        waiting = [each for each in self.pending if each.device == entry.device and each.ordinal]
        durable = self._ordinals.get(entry.device, (-1, 0))
        epoch, last = (waiting[-1].epoch, waiting[-1].ordinal) if waiting else durable
        if epoch == entry.epoch and last and entry.ordinal != last + 1:
            raise JournalError(f"event {entry.ordinal} of {entry.device} comes after {last}")

    def _keep(self, entry: Entry) -> None:
        self._digest.update(canonical_line(entry.seq, entry.record, entry.faces))
        if entry.snapshot:
            self._snapshot, self._records = entry, []
        else:
            self._records.append(entry)
        if entry.key:
            self._keys[entry.key] = {"seq": entry.seq, **entry.record}
            if len(self._keys) > KEYS_KEPT:
                del self._keys[next(iter(self._keys))]
        if entry.device:
            self._note_ordinal(entry.device, entry.epoch, entry.ordinal)
        self._durable(entry.seq, entry.record)

    def _note_ordinal(self, device: str, epoch: int, ordinal: int) -> None:
        before = self._ordinals.get(device, (-1, 0))
        if ordinal or before[0] != epoch:
            self._ordinals[device] = (epoch, ordinal)
