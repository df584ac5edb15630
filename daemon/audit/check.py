"""One pass over a journal, in order: archives, then the open file. It says what does not hold."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator, Mapping
from typing import Final

from daemon.anchor import Anchor, is_signed
from daemon.audit.ledger import Ledger
from daemon.audit.rows import END, ODD, Beside, Files, Row, rows
from daemon.journal import (
    KEPT,
    KEPT_KEYS,
    KEPT_ROUNDS,
    RECORD_FORMAT,
    JournalError,
    Moved,
    Part,
    closes_round,
    header_of,
    link_hash,
    manifest,
)
from daemon.records import FACES_IN, SEALED, SHOWS_CARDS, Plain, decode, encode
from daemon.sealer import NONCE_BYTES

MOST_ERRORS: Final = 50  # one damaged page can spoil thousands of records
STRIDE: Final = 50  # records between two breaths of a pass that must not be in anybody's way
_TAG_BYTES: Final = 16
_OTHER_TABLES: Final = ("money", "outbox", "rounds", "anchors")  # what they say follows from the records
_EVENT_TWICE: Final = """SELECT min(seq), max(seq) FROM records WHERE ordinal > 0 AND seq BETWEEN ? AND ?
    GROUP BY device, epoch, ordinal HAVING count(*) > 1"""


class Audit:
    """What is known after the records so far. ``errors`` are sentences, MOST_ERRORS of them at most."""

    def __init__(self, anchors: tuple[Anchor, ...] = ()) -> None:
        self.errors: list[str] = []
        self.unsaid = 0
        self.inputs = 0
        self.seq = 0
        self.head = b""
        self.ledger = Ledger()
        self.signer = ""
        self.anchor: Anchor | None = None  # the newest one that is signed
        self._table = ""
        self._header = b""
        self._asked: dict[int, set[bytes]] = defaultdict(set)
        for anchor in anchors:
            self._asked[anchor.seq].add(anchor.hash)
        self._devices: dict[str, tuple[int, int]] = {}  # epoch and highest ordinal
        self._before: dict[str, tuple[int, int]] = {}  # the same when this file began
        self._keys: OrderedDict[str, int] = OrderedDict()  # the newest KEPT_KEYS of acts, and their records
        self._rounds: deque[tuple[object, ...]] = deque(maxlen=KEPT_ROUNDS)
        self._snapshot = 0
        self._counts: dict[str, int] = defaultdict(int)
        self.unread = False  # records are missing: nothing adds up any more
        self._looked_into: set[str] = set()

    def found(self, sentence: str) -> None:
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(sentence)
        else:
            self.unsaid += 1

    def told(self) -> list[str]:
        return [*self.errors, f"and {self.unsaid} more: {KEPT}"] if self.unsaid else self.errors

    # --- the files ------------------------------------------------------------------------------

    def begin(self, connection: sqlite3.Connection) -> None:
        """The header, from which the chain starts."""
        self._header = header_of(connection)
        self.head = hashlib.sha256(self._header).digest()
        try:
            told = decode(self._header)
            sound = encode(told) == self._header and told["format"] == RECORD_FORMAT
            self._table = str(told["table"])
        except ODD:
            sound = False
        if not sound:
            self.found(f"the header is not canonical JSON of format {RECORD_FORMAT}: {KEPT}")
        if not self._had(0, self.head):
            self.found(f"anchor 0 is the header's hash, and this header has another: {KEPT}")

    def archive(self, files: Files, part: Part, newest: bool) -> Iterator[None]:
        """Check the records of an archive that were not seen yet."""
        name = f"archive {part.name}"
        if self.seq < part.first:
            self._continues(part, self.seq, self.head)
        try:
            with files.archive(part) as connection:
                if part.name not in self._looked_into:
                    self._looked_into.add(part.name)
                    self._archive_file(connection, part, newest)
                whole = self.seq < part.first
                yield from self._records(connection, max(part.first, self.seq + 1), part.last)
                if whole and not self.unread:
                    # The newest may have later records already that the manifest does not name.
                    later = f"seq > {part.last} AND typeof(seq) = 'integer'" if newest else "0"
                    self._strays(connection, dict.fromkeys(_OTHER_TABLES, later), f"{name}: ")
        except (JournalError, sqlite3.Error, OSError) as error:
            self.found(f"{name}: {error}: {KEPT}")
            self.unread = True
        if (self.seq, self.head) != (part.last, part.hash):
            self.found(f"{name} does not end with record {part.last} as the manifest says: {KEPT}")
            self.unread = True
        self.seq, self.head = part.last, part.hash

    def _continues(self, part: Part, seq: int, head: bytes) -> None:
        if (part.first, part.previous) != (seq + 1, head):
            self.found(f"archive {part.name} does not continue record {seq}, as the manifest has it: {KEPT}")

    def _archive_file(self, connection: sqlite3.Connection, part: Part, newest: bool) -> None:
        self._sound(connection, f"archive {part.name}")
        if header_of(connection) != self._header:
            self.found(f"archive {part.name} is one of another journal: {KEPT}")
        first, last = connection.execute("SELECT min(seq), max(seq) FROM records").fetchone()
        # The newest may hold copies that the manifest does not name yet: they do not count.
        if first != part.first or (last != part.last and not newest):
            self.found(
                f"archive {part.name} holds records {first} to {last}, not as the manifest says: {KEPT}"
            )

    def adopt(self, connection: sqlite3.Connection) -> None:
        """Believe the open file about its archives: begin where it begins."""
        seq, head = 0, hashlib.sha256(self._header).digest()
        parts = manifest(connection)
        for part in parts:
            self._continues(part, seq, head)
            seq, head = part.last, part.hash
        if not parts:
            return
        moved = self._moved(connection) or Moved()
        self.seq, self.head, self.inputs = seq, head, seq
        self.ledger.begin(self.seq + 1, moved.balances, moved.outcomes)
        self._devices = dict(moved.devices)
        self.signer = _meta(connection, "signer")
        self._keys = OrderedDict(connection.execute("SELECT act_key, seq FROM keys ORDER BY seq"))
        self.unread = False

    def open_file(self, connection: sqlite3.Connection, adopted: bool = False) -> None:
        """Check the open file, and what it remembers of its archives."""
        self._sound(connection, "the file")
        if self.unread:
            self.adopt(connection)
        elif not adopted:
            self.remembered(connection)
        first = self.seq + 1
        for _ in self._records(connection, 1, END):
            pass
        # Accounts of rounds may be kept from archives; nothing else is.
        self._strays(connection, {"rounds": f"seq < {first} AND typeof(seq) = 'integer'"})
        if _meta(connection, "snapshot") != (str(self._snapshot) if self._snapshot else ""):
            self.found(f"record {_meta(connection, 'snapshot')[:20]!r} is not the newest snapshot: {KEPT}")
        if _meta(connection, "signer") != self.signer:
            self.found(f"the signer is not the one that the records name: {KEPT}")

    def remembered(self, connection: sqlite3.Connection) -> None:
        """What the open file says of its archives, now that they are read."""
        moved = self._moved(connection)
        if moved and moved != Moved(self.ledger.standing(), self._devices, dict(self.ledger.outcomes)):
            self.found(f"what the file remembers of its archives is not what they say: {KEPT}")
        keys = connection.execute("SELECT act_key, seq FROM keys ORDER BY seq").fetchall()
        if keys != list(self._keys.items()):
            self.found(f"the keys of archived acts are not those of the archives: {KEPT}")
        kept = "SELECT id, seq, outcome, summary FROM rounds WHERE seq <= ? ORDER BY id"
        if not set(connection.execute(kept, (self.seq,))) <= set(self._rounds):
            self.found(f"the rounds kept from archives are not those of the archives: {KEPT}")

    def _moved(self, connection: sqlite3.Connection) -> Moved | None:
        try:
            return Moved.of(connection)
        except ODD:
            self.found(f"what the file remembers of its archives cannot be read: {KEPT}")
            return None

    def _sound(self, connection: sqlite3.Connection, name: str) -> None:
        for (said,) in connection.execute("PRAGMA integrity_check(10)"):
            if said != "ok":
                self.found(f"{name} is damaged ({' '.join(said.split())}): {KEPT}")

    def end(self) -> None:
        """Nothing comes any more: what was asked for must have been there."""
        for seq in self._asked:
            if seq > self.seq:
                self.found(
                    f"the journal ends with record {self.seq}, and record {seq} was there once: "
                    f"{self.seq + 1} to {seq} are missing: {KEPT}"
                )

    # --- the records ----------------------------------------------------------------------------

    def _records(self, connection: sqlite3.Connection, first: int, last: int) -> Iterator[None]:
        self._before, self._counts = dict(self._devices), defaultdict(int)
        beside = Beside(connection, first, last)
        for row in rows(connection, first, last):
            self.inputs += 1
            for sentence in self._record(beside, row):
                self.found(f"record {row.seq}: {sentence}: {KEPT}")
            if self.inputs % STRIDE == 0:
                yield
        for one, other in connection.execute(_EVENT_TWICE, (first, last)):
            self.found(f"records {one} and {other}: one event of a device twice: {KEPT}")

    def _record(self, beside: Beside, row: Row) -> list[str]:
        expected, self.seq = self.seq + 1, row.seq
        if not row.holds_bytes():
            return ["record, sealed face or hash is not stored as bytes"]
        wrong = self._breaks(expected, row)
        try:
            wrong += self._says(beside, row)
        except ODD as error:
            wrong.append(f"not a record of this format ({type(error).__name__})")
        return wrong

    def _breaks(self, expected: int, row: Row) -> list[str]:
        """Number and hash follow from the record before, whatever that one's own state."""
        previous, self.head = self.head, row.hash
        if row.seq != expected:
            self.unread = True
            return [
                f"number {expected} was expected here: records are missing, and sums are not checked after it"
            ]
        if link_hash(previous, row.record, row.sealed) != row.hash:
            return ["the hash does not continue the chain: this record, or the hash before, was altered"]
        if not self._had(row.seq, row.hash):
            return ["the hash is not the one that was kept: the journal was written anew"]
        return []

    def _had(self, seq: int, hash_: bytes) -> bool:
        """Whether what was kept of this record says nothing else, however often it was kept."""
        return self._asked.get(seq, set()) <= {hash_}

    def _says(self, beside: Beside, row: Row) -> Iterator[str]:
        """What the record says is well formed, adds up, and is what the other tables say."""
        plain = decode(row.record)
        said = plain["input"]
        if encode(plain) != row.record:
            yield "not canonical JSON"
        yield from self._identity(row, said)
        if not _seal_fits(said, len(row.sealed)):
            yield "the sealed face is not there as the record says"
        yield from self._derived(beside, row.seq, plain)
        yield from self._anchored(row, plain)
        if said["kind"] == "snapshot":
            self._snapshot = row.seq
        if not self.unread:
            yield from self.ledger.take(row.seq, plain)

    def _identity(self, row: Row, said: Plain) -> Iterator[str]:
        """An event of a device comes once, and so does an act with a key."""
        device, epoch, ordinal = None, 0, 0
        key = (said.get("key") or None) if said["kind"] == "act" else None
        if said["kind"] == "device":
            device, ordinal = said["device"], said.get("ordinal", 0)
            epoch = self._epoch(device, said["event"], ordinal)
        if (row.device, row.ordinal, row.act_key) != (device, ordinal, key) or (
            row.epoch != epoch and not self.unread
        ):
            yield "device, epoch, ordinal or key of its row are not what the record says"
        if device and ordinal and (epoch, ordinal) <= self._before.get(device, (0, 0)) and not self.unread:
            yield "one event of a device twice: an archive has it"
        if key:
            if key in self._keys:
                yield f"one act key twice: record {self._keys.pop(key)} has it"
            self._keys[key] = row.seq
            if len(self._keys) > KEPT_KEYS:
                self._keys.popitem(last=False)

    def _epoch(self, device: str, event: str, ordinal: int) -> int:
        epoch, highest = self._devices.get(device, (0, 0))
        if event == "restarted":
            epoch, highest = epoch + 1, 0
        self._devices[device] = (epoch, max(highest, ordinal))
        return epoch

    def _derived(self, beside: Beside, seq: int, record: Plain) -> Iterator[str]:
        rounds, rows_of = _round_rows(record), beside.of(seq)
        self._rounds.extend((id_, seq, outcome, summary) for id_, outcome, summary in rounds)
        for table, expected in (
            ("money", money_rows(record)),
            ("outbox", [(line, *row) for line, row in enumerate(record.get("outbox", ()))]),
            ("rounds", rounds),
        ):
            found = rows_of[table]
            self._counts[table] += len(found)
            if found != expected:
                yield f"the table {table!r} does not say what the record says"

    def _anchored(self, row: Row, record: Plain) -> Iterator[str]:
        """Every closed round is signed, by the one signer that the journal names."""
        signer = record["input"].get("signer", "") if record["input"]["kind"] == "started" else ""
        if signer and self.signer not in ("", signer) and not self.unread:
            yield f"another signer ({signer[:16]}…) than before: another key, or a journal that was rewritten"
        self.signer = self.signer or signer
        self._counts["anchors"] += row.signature is not None
        if not (self.signer and closes_round(record)):
            if row.signature is not None:
                yield "an anchor where none belongs"
            return
        if row.signature is None:
            yield "its anchor is missing"
        elif is_signed(Anchor(row.seq, row.hash), row.signature, self._table, self.signer):
            self.anchor = Anchor(row.seq, row.hash)
        elif not self.unread:
            yield "its anchor is not signed by the journal's signer: the journal was rewritten"

    def _strays(self, connection: sqlite3.Connection, allowed: Mapping[str, str], where: str = "") -> None:
        """Rows of records that were not read; ``allowed`` are those that may be there, by table."""
        for table in _OTHER_TABLES:
            rows = f"SELECT count(*) FROM {table} WHERE NOT ({allowed.get(table, '0')})"
            stray = connection.execute(rows).fetchone()[0] - self._counts[table]
            if stray:
                self.found(
                    f"{where}the table {table!r} has {stray} rows of records that do not exist: {KEPT}"
                )


def _meta(connection: sqlite3.Connection, key: str) -> str:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    value = row[0] if row else ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _seal_fits(said: Plain, length: int) -> bool:
    """The seal is as long as the record says: nonce, what is sealed, tag; nothing where nothing is."""
    whole = NONCE_BYTES + 1 + _TAG_BYTES
    if said["kind"] == "device" and said.get("face") == SEALED:
        return length == whole
    shows = said["kind"] == "act" and said["name"] in SHOWS_CARDS
    if shows and SEALED in (said["args"].get(name) for name in FACES_IN):
        return length >= whole
    return length == 0


def money_rows(record: Plain) -> list[tuple[int, str, int, str]]:
    """The double entries of a record: two rows a movement that sum to zero."""
    rows = []
    for number, (source, target, amount, reason) in enumerate(record.get("money", ())):
        rows += [(2 * number, source, -amount, reason), (2 * number + 1, target, amount, reason)]
    return rows


def _round_rows(record: Plain) -> list[tuple[int, str, bytes]]:
    closed = [effect for effect in record.get("effects", ()) if effect["effect"] == "round-closed"]
    return [(effect["id"], effect["outcome"], encode(effect["summary"])) for effect in closed]
