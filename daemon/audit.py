"""What an auditor does with a journal: verify it and export it. Read-only, and never with the key to verify.

``docs/journal.md`` describes the same for people who write a verifier of their own.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypedDict

from daemon.journal import APPLICATION_ID, FORMAT, NO_FACES, JournalError, canonical_line, link_hash
from daemon.records import SEALED, SHOWS_CARDS, Plain, decode, encode
from daemon.sealer import NONCE_BYTES, Sealer, load_key

MOST_ERRORS: Final = 50  # one damaged page can spoil thousands of records
_KEPT: Final = "the file is kept as it is: restore a verified copy"
_BESIDE: Final = ("-wal", "-shm", ".lock")
_SQLITE: Final = b"SQLite format 3\0"
_TAG_BYTES: Final = 16
_LAYOUT: Final = ("ante.", "raise.", "progressive.")
# What reading a record raises that this format does not know.
_ODD: Final = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)

# (reason, into the pool) -> what such a movement of the pool counts as
_POOL_MOVES: Final = {
    ("minimum", True): "minimum",
    ("contribution", True): "contributed",
    ("overflow", True): "overflow",
    ("award", False): "awarded",
    ("correction", True): "corrected",
    ("correction", False): "corrected",
}


class Verification(TypedDict):
    """What :func:`verify` found. ``pool`` is the pool's account, minor units; ``head`` the last hash."""

    path: str
    inputs: int
    rounds: int
    head: str
    verified: bool
    errors: list[str]
    pool: int


class Ledger:
    """The accounts as the records move them, and what must hold between them. Minor units."""

    def __init__(self) -> None:
        self.balances: dict[str, int] = defaultdict(int)
        self.rounds = 0
        self._pool_moves: list[tuple[int, str, int]] = []  # since the last round closed

    def take(self, seq: int, record: Plain) -> Iterator[str]:
        """Book one record; a sentence for everything that does not hold."""
        touched = []
        for source, target, amount, reason in record.get("money", ()):
            if type(amount) is not int or amount <= 0:
                yield f"a movement of {amount!r} is no amount"
                continue
            self.balances[source] -= amount
            self.balances[target] += amount
            touched += [source, target]
            yield from self._pool_move(seq, source, target, amount, reason)
        for account in dict.fromkeys(touched):
            if self.balances[account] < 0 and account != "house" and not account.startswith("player."):
                yield f"the account {account} falls to {self.balances[account]}"
        for effect in record.get("effects", ()):
            if effect["effect"] == "round-closed":
                self.rounds += 1
                yield from self._round_closed(effect["summary"])

    def _pool_move(self, seq: int, source: str, target: str, amount: int, reason: str) -> Iterator[str]:
        if "pool" not in (source, target):
            return
        inward = target == "pool"
        counts_as = _POOL_MOVES.get((reason, inward))
        if counts_as is None:
            yield f"{reason!r} is no reason to move money from {source} to {target}"
        else:
            self._pool_moves.append((seq, counts_as, amount if inward else -amount))

    def _round_closed(self, summary: Plain) -> Iterator[str]:
        for account, amount in self.balances.items():
            if amount and account.startswith(_LAYOUT):
                yield f"the round is closed and {amount} lies on {account}"
        if "pool" in summary:
            yield from self._pool_equation(summary["pool"], summary["inputs"][0])
        self._pool_moves.clear()

    def _pool_equation(self, told: Plain, first: int) -> Iterator[str]:
        """Opened + contributed + minimum + overflow - awarded = closed, told and booked (CS-10)."""
        booked = dict.fromkeys(_POOL_MOVES.values(), 0)
        for seq, counts_as, amount in self._pool_moves:
            if seq >= first:
                booked[counts_as] += amount
        now = {
            "opened": self.balances["pool"] - sum(booked.values()),
            "contributed": booked["contributed"],
            "awarded": -booked["awarded"],
            "closed": self.balances["pool"],
        }
        for name, amount in now.items():
            if told[name] != amount:
                yield f"the round's pool {name!r} is told as {told[name]}, the money says {amount}"


def verify(path: Path) -> Verification:
    """Check everything in a journal that can be checked without its key (``feltd journal verify``).

    It works while the daemon writes: all of it is read in one transaction. A file that cannot be
    a sound journal is reported in ``errors`` (at most :data:`MOST_ERRORS`), never raised, never touched.
    """
    audit = _Audit()
    try:
        with _reading(path) as connection:
            audit.run(connection)
    except JournalError as error:
        audit.found(str(error))
    except (sqlite3.Error, OSError) as error:
        audit.found(f"{path}: {error}: {_KEPT}")
    return {
        "path": str(path),
        "inputs": audit.inputs,
        "rounds": audit.ledger.rounds,
        "head": audit.head.hex(),
        "verified": not audit.errors,
        "errors": audit.told(),
        "pool": audit.ledger.balances["pool"],
    }


def export(path: Path, out: BinaryIO, canonical: bool = False, key: Path | None = None) -> int:
    """Write a journal as JSON Lines; the number of records.

    Plain: the header, then a line a record, from which anybody can check chain and sums
    (``docs/journal.md``). ``canonical``: the lines whose SHA-256 is ``journal_sha256``, faces in
    clear. Raises JournalError for a file that cannot be read as a journal, and SealError without
    the right ``key`` (canonical only).
    """
    if canonical and key is None:
        raise JournalError("a canonical export has the faces in clear: give the key file")
    sealer = load_key(key) if canonical and key is not None else None
    with _reading(path) as connection:
        try:
            if sealer is None:
                out.write(b'{"header":%b}\n' % _header(connection))
            for row in _rows(connection):
                out.write(_line(row) if sealer is None else _canonical(row, sealer))
            return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])
        except (sqlite3.Error, *_ODD) as error:
            raise JournalError(f"{path} cannot be exported ({error}): verify it; {_KEPT}") from None


def export_to(path: Path, target: Path, canonical: bool = False, key: Path | None = None) -> int:
    """Write a journal into a file, as :func:`export`. The file is replaced when all of it is on disk.

    Raises JournalError also for a ``target`` that is no regular file, or is one that a table needs.
    """
    target = Path(os.path.realpath(target))  # what a link points to is replaced, not the link
    _require_replaceable(target, path, key)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if canonical else 0o644)
    try:
        with os.fdopen(descriptor, "wb") as out:
            records = export(path, out, canonical, key)
            out.flush()
            os.fsync(descriptor)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    return records


def _require_replaceable(target: Path, journal: Path, key: Path | None) -> None:
    if not target.exists():
        return
    if not target.is_file():
        raise JournalError(f"{target}: is there and is no regular file: name another, or leave out --out")
    kept = [journal, *(journal.with_name(f"{journal.name}{end}") for end in _BESIDE), *([key] if key else [])]
    for each in kept:
        if each.exists() and each.samefile(target):
            raise JournalError(f"{target}: the same file as {each}, which is kept: name another")
    with target.open("rb") as file:
        if file.read(len(_SQLITE)) == _SQLITE:
            raise JournalError(f"{target}: is a database, perhaps a journal, and is kept: name another file")


class _Row(NamedTuple):
    """A row of the table of records. Nothing but ``seq`` is sure to be of its type in a damaged file."""

    seq: int
    device: str | None
    epoch: int
    ordinal: int
    act_key: str | None
    record: bytes
    sealed: bytes
    hash: bytes

    def holds_bytes(self) -> bool:
        return all(isinstance(value, bytes) for value in (self.record, self.sealed, self.hash))


def _rows(connection: sqlite3.Connection) -> Iterator[_Row]:
    query = f"SELECT {', '.join(_Row._fields)} FROM records ORDER BY seq"
    return map(_Row._make, connection.execute(query))


def _line(row: _Row) -> bytes:
    sealed = row.sealed.hex() or None
    line = {"seq": row.seq, "record": decode(row.record), "sealed": sealed, "hash": row.hash.hex()}
    return encode(line) + b"\n"


def _canonical(row: _Row, sealer: Sealer) -> bytes:
    faces = sealer.open(row.seq, row.sealed) if row.sealed else NO_FACES
    return canonical_line(row.seq, decode(row.record), faces)


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """One read transaction on a journal. Raises JournalError when it is none of ours."""
    if not path.is_file():
        raise JournalError(f"{path}: there is no such file: name the journal file")
    try:
        connection = _connected(path)
    except sqlite3.Error as error:
        raise JournalError(f"{path}: {error}: {_KEPT}") from None
    with closing(connection):
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if application != APPLICATION_ID:
            raise JournalError(f"{path}: not a journal of feltd; the file is kept as it is: name another")
        if version != FORMAT:
            raise JournalError(
                f"{path}: journal format {version}, not {FORMAT}: use the program that wrote it"
            )
        yield connection


def _connected(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        return _begun(uri)
    except sqlite3.OperationalError:
        if path.with_name(f"{path.name}-wal").exists():
            raise
        # A copy where nothing can be written beside it: SQLite then cannot keep its WAL index.
        return _begun(f"{uri}&immutable=1")


def _begun(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("BEGIN")
        connection.execute("PRAGMA schema_version")  # the first read fixes what this transaction sees
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _header(connection: sqlite3.Connection) -> bytes:
    row = connection.execute("SELECT value FROM meta WHERE key = 'header'").fetchone()
    if row is None or not isinstance(row[0], bytes):
        raise JournalError(f"the journal has no header: {_KEPT}")
    return row[0]


class _Audit:
    """One pass over a journal, in order."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.unsaid = 0
        self.inputs = 0
        self.seq = 0
        self.head = b""
        self.ledger = Ledger()
        self._epochs: dict[str, int] = defaultdict(int)
        self._rows: dict[str, int] = defaultdict(int)

    def found(self, sentence: str) -> None:
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(sentence)
        else:
            self.unsaid += 1

    def told(self) -> list[str]:
        return [*self.errors, f"and {self.unsaid} more: {_KEPT}"] if self.unsaid else self.errors

    def run(self, connection: sqlite3.Connection) -> None:
        self._file(connection)
        self._head_of(connection)
        for row in _rows(connection):
            self.inputs += 1
            for sentence in self._record(connection, row):
                self.found(f"record {row.seq}: {sentence}: {_KEPT}")
        self._strays(connection)
        self._repeats(connection)

    def _file(self, connection: sqlite3.Connection) -> None:
        for (said,) in connection.execute("PRAGMA integrity_check(10)"):
            if said != "ok":
                self.found(f"the file is damaged ({' '.join(said.split())}): {_KEPT}")

    def _head_of(self, connection: sqlite3.Connection) -> None:
        header = _header(connection)
        self.head = hashlib.sha256(header).digest()
        try:
            sound = encode(decode(header)) == header and decode(header)["format"] == FORMAT
        except _ODD:
            sound = False
        if not sound:
            self.found(f"the header is not canonical JSON of format {FORMAT}: {_KEPT}")

    def _record(self, connection: sqlite3.Connection, row: _Row) -> list[str]:
        expected, self.seq = self.seq + 1, row.seq
        if not row.holds_bytes():
            return ["record, sealed face or hash is not stored as bytes"]
        wrong = self._breaks(expected, row)
        try:
            wrong += self._says(connection, row)
        except _ODD as error:
            wrong.append(f"not a record of this format ({type(error).__name__})")
        return wrong

    def _breaks(self, expected: int, row: _Row) -> list[str]:
        """Number and hash follow from the record before, whatever that one's own state."""
        previous, self.head = self.head, row.hash
        if row.seq != expected:
            return [f"number {expected} was expected here: records are missing"]
        if link_hash(previous, row.record, row.sealed) != row.hash:
            return ["the hash does not continue the chain: this record, or the hash before, was altered"]
        return []

    def _says(self, connection: sqlite3.Connection, row: _Row) -> Iterator[str]:
        """What the record says is well formed, adds up, and is what the other tables say."""
        plain = decode(row.record)
        if encode(plain) != row.record:
            yield "not canonical JSON"
        if (row.device, row.epoch, row.ordinal, row.act_key) != self._columns(plain["input"]):
            yield "device, epoch, ordinal or key of its row are not what the record says"
        if not _seal_fits(plain["input"], len(row.sealed)):
            yield "the sealed face is not there as the record says"
        yield from self._derived(connection, row.seq, plain)
        yield from self.ledger.take(row.seq, plain)

    def _columns(self, said: Plain) -> tuple[object, ...]:
        if said["kind"] == "device":
            device = said["device"]
            self._epochs[device] += said["event"] == "restarted"
            return (device, self._epochs[device], said.get("ordinal", 0), None)
        return (None, 0, 0, (said.get("key") or None) if said["kind"] == "act" else None)

    def _derived(self, connection: sqlite3.Connection, seq: int, record: Plain) -> Iterator[str]:
        for table, expected in (
            ("money", money_rows(record)),
            ("outbox", [(line, *row) for line, row in enumerate(record.get("outbox", ()))]),
            ("rounds", _round_rows(record)),
        ):
            found = connection.execute(_DERIVED[table], (seq,)).fetchall()
            self._rows[table] += len(found)
            if found != expected:
                yield f"the table {table!r} does not say what the record says"

    def _strays(self, connection: sqlite3.Connection) -> None:
        for table, count in self._rows.items():
            stray = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] - count
            if stray:
                self.found(f"the table {table!r} has {stray} rows of records that do not exist: {_KEPT}")

    def _repeats(self, connection: sqlite3.Connection) -> None:
        """The columns were compared with the records, so SQL may look for repeats in them."""
        for query, what in _REPEATS:
            for first, last in connection.execute(query):
                self.found(f"records {first} and {last}: {what} twice: {_KEPT}")


def _seal_fits(said: Plain, length: int) -> bool:
    """The seal is as long as the record says: nonce, what is sealed, tag; nothing where nothing is."""
    whole = NONCE_BYTES + 1 + _TAG_BYTES
    if said["kind"] == "device" and said.get("face") == SEALED:
        return length == whole
    if said["kind"] == "act" and said["name"] == SHOWS_CARDS and said["args"].get("cards") == SEALED:
        return length >= whole
    return length == 0


_DERIVED: Final = {
    "money": "SELECT line, account, amount, reason FROM money WHERE seq = ? ORDER BY line",
    "outbox": "SELECT line, kind, box, amount FROM outbox WHERE seq = ? ORDER BY line",
    "rounds": "SELECT id, outcome, summary FROM rounds WHERE seq = ? ORDER BY id",
}
_REPEATS: Final = (
    (
        "SELECT min(seq), max(seq) FROM records WHERE ordinal > 0 "
        "GROUP BY device, epoch, ordinal HAVING count(*) > 1",
        "one event of a device",
    ),
    (
        "SELECT min(seq), max(seq) FROM records WHERE act_key IS NOT NULL "
        "GROUP BY act_key HAVING count(*) > 1",
        "one act key",
    ),
)


def money_rows(record: Plain) -> list[tuple[int, str, int, str]]:
    """The double entries of a record: two rows a movement that sum to zero."""
    rows = []
    for number, (source, target, amount, reason) in enumerate(record.get("money", ())):
        rows += [(2 * number, source, -amount, reason), (2 * number + 1, target, amount, reason)]
    return rows


def _round_rows(record: Plain) -> list[tuple[int, str, bytes]]:
    closed = [effect for effect in record.get("effects", ()) if effect["effect"] == "round-closed"]
    return [(effect["id"], effect["outcome"], encode(effect["summary"])) for effect in closed]
