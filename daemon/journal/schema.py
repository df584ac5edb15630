"""The file format: tables, migrations from one format to the next, and how a file is opened."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from daemon.journal.chain import JournalError

FORMAT: Final = 2
APPLICATION_ID: Final = 0x46454C54  # "FELT"
ARCHIVE_ID: Final = 0x46454C41  # "FELA"
WAL_AT_REST: Final = 4 * 2**20  # bytes
BESIDE: Final = ("-journal", "-wal", "-shm")  # SQLite's own files
KEPT: Final = "the file is kept as it is: restore a verified copy"

_MONEY: Final = """CREATE TABLE money (
    seq INTEGER, line INTEGER, account TEXT NOT NULL, amount INTEGER NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (seq, line)) WITHOUT ROWID"""
_OUTBOX: Final = """CREATE TABLE outbox (
    seq INTEGER, line INTEGER, kind TEXT NOT NULL, box INTEGER NOT NULL, amount INTEGER NOT NULL,
    PRIMARY KEY (seq, line)) WITHOUT ROWID"""
_TABLES: Final = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    """CREATE TABLE records (
        seq INTEGER PRIMARY KEY, device TEXT, epoch INTEGER, ordinal INTEGER, act_key TEXT,
        record BLOB NOT NULL, sealed BLOB NOT NULL, hash BLOB NOT NULL)""",
    _MONEY,
    _OUTBOX,
    """CREATE TABLE rounds (
        id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, outcome TEXT NOT NULL, summary BLOB NOT NULL)""",
)
_ANCHORS: Final = "CREATE TABLE anchors (seq INTEGER PRIMARY KEY, signature BLOB NOT NULL)"

# From each format to the next; 0 is a file with nothing in it.
MIGRATIONS: Final[Mapping[int, tuple[str, ...]]] = {
    0: (
        *_TABLES,
        # An event of a device, and an act with a key, is in the journal once.
        "CREATE UNIQUE INDEX one_event ON records (device, epoch, ordinal) WHERE ordinal > 0",
        "CREATE UNIQUE INDEX one_act ON records (act_key) WHERE act_key IS NOT NULL",
    ),
    1: (
        _ANCHORS,
        """CREATE TABLE archives (
            name TEXT PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL,
            previous BLOB NOT NULL, hash BLOB NOT NULL, first_round INTEGER, last_round INTEGER)
            WITHOUT ROWID""",
        "CREATE TABLE keys (seq INTEGER PRIMARY KEY, act_key TEXT NOT NULL UNIQUE)",
    ),
}
# No index: an archive is read from one end to the other, or by a record's number.
ARCHIVE_TABLES: Final = (*_TABLES, _ANCHORS)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a file to FORMAT, one transaction a format: it has the old tables or the new ones."""
    while (version := format_of(connection)) < FORMAT:
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in MIGRATIONS[version]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def format_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def create_file(path: Path, application: int, statements: tuple[str, ...], header: bytes) -> None:
    """Make a database with its header. It has its name when all of it is on disk, and not before.

    It has a write-ahead log from the beginning: a file that were to get one later might be found half
    changed, and that nobody can put right who only reads.

    Raises FileExistsError: nothing is ever replaced.
    """
    if path.exists():
        raise FileExistsError(errno.EEXIST, "is there, and is kept", str(path))
    fresh = path.with_name(f".{path.name}.new")
    _clear(fresh)
    try:
        with closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in statements:
                connection.execute(statement)
            connection.execute("INSERT INTO meta VALUES ('header', ?)", (header,))
            connection.execute(f"PRAGMA application_id = {application}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("COMMIT")
        fresh.rename(path)
    finally:
        _clear(fresh)
    sync_folder(path.parent)


def _clear(fresh: Path) -> None:
    """What an end amid the making of a file left, and SQLite's own files beside it."""
    for beside in ("", *BESIDE):
        fresh.with_name(fresh.name + beside).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- opening ---------------------------------------------------------------------------------


def open_to_write(path: Path, application: int) -> sqlite3.Connection:
    """A connection for the one writer: WAL, each commit durable. Raises JournalError for a foreign file."""
    # busy timeout 0: a refused BEGIN is answered at once, not waited for (the loop must not stand).
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=0,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        _require_kind(connection, path, application)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        # What a long reader let it grow to is given back once he has gone.
        connection.execute(f"PRAGMA journal_size_limit = {WAL_AT_REST}")
        _require(connection, "journal_mode", "wal")
        _require(connection, "synchronous", 2)
    except JournalError:
        connection.close()
        raise
    except sqlite3.DatabaseError as error:
        connection.close()
        raise JournalError(f"{path}: {error}; {KEPT}") from None
    return connection


def _require(connection: sqlite3.Connection, pragma: str, value: object) -> None:
    found = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    if found != value:
        raise JournalError(f"{pragma} is {found}, not {value}: what is acknowledged would not be durable")


def _require_kind(connection: sqlite3.Connection, path: Path, application: int) -> None:
    found = connection.execute("PRAGMA application_id").fetchone()[0]
    if found != application:
        kind = "a journal" if application == APPLICATION_ID else "an archive"
        other = {APPLICATION_ID: ": it is a journal", ARCHIVE_ID: ": it is an archive of one"}.get(found, "")
        raise JournalError(f"{path}: not {kind} of feltd{other}; the file is kept as it is: name another")
    version = format_of(connection)
    if not 1 <= version <= FORMAT:
        raise JournalError(
            f"{path}: journal format {version}; this program knows 1 to {FORMAT}: use a newer one"
        )


@contextmanager
def reading(path: Path, application: int = APPLICATION_ID) -> Iterator[sqlite3.Connection]:
    """One read transaction on a file, which it never changes. Raises JournalError when it is none of ours.

    Keep it short: while it lasts, the write-ahead log of the journal cannot be wrapped.
    """
    _require_file(path)
    try:
        connection = _connected(path)
    except sqlite3.Error as error:
        raise JournalError(f"{path}: {error}: {KEPT}") from None
    with closing(connection):
        try:
            _require_kind(connection, path, application)
        except sqlite3.Error as error:
            raise JournalError(f"{path}: {error}: {KEPT}") from None
        _lend_tables(connection, application)
        yield connection


def _require_file(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise JournalError(f"{path}: there is no such file: name the journal file") from None
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror}: name the journal file") from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "no regular file, but a device, a pipe or a socket"
        raise JournalError(f"{path}: is {kind}: name the journal file")


def _lend_tables(connection: sqlite3.Connection, application: int) -> None:
    """What an older format has not is empty: temporary tables stand for it, in memory."""
    if application == APPLICATION_ID:
        for version in range(format_of(connection), FORMAT):
            for statement in MIGRATIONS[version]:
                connection.execute(statement.replace("CREATE TABLE", "CREATE TEMP TABLE", 1))


def _connected(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        return _begun(uri)
    except sqlite3.OperationalError:
        if any(path.with_name(path.name + beside).exists() for beside in ("-journal", "-wal")):
            raise  # there is more than this file says
        # A copy where nothing can be written beside it: SQLite then cannot keep its WAL index.
        return _begun(f"{uri}&immutable=1")


def _begun(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    try:
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("BEGIN")
        connection.execute("PRAGMA schema_version")  # the first read fixes what this transaction sees
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def header_of(connection: sqlite3.Connection) -> bytes:
    """The bytes of the header. Raises JournalError when there are none."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'header'").fetchone()
    if row is None or not isinstance(row[0], bytes):
        raise JournalError(f"the journal has no header: {KEPT}")
    return row[0]
