"""The journal of a simulation: in memory."""

from __future__ import annotations

import hashlib

from daemon.journal.chain import Entry, JournalError, canonical_line
from daemon.records import Plain


class MemoryJournal:
    """A journal for simulation: it keeps the canonical hash, the keys, and no records."""

    def __init__(self) -> None:
        self.next_seq = 1
        self._digest = hashlib.sha256()
        self._keys: dict[str, Plain] = {}

    def begin(self) -> bool:
        return True

    def append(self, entry: Entry) -> None:
        self._digest.update(canonical_line(entry.seq, entry.record, entry.faces))
        self.next_seq = entry.seq + 1
        if entry.key:
            self._keys[entry.key] = {"seq": entry.seq, **entry.record}

    def commit(self) -> None:
        pass

    def rollback(self) -> None:
        raise JournalError("a simulation cannot take a record back")

    def answered(self, key: str) -> Plain | None:
        return self._keys.get(key)

    def close(self) -> None:
        pass

    def sha256(self) -> str:
        return self._digest.hexdigest()
