"""One connection to the database of a linked pool: how long a call may take, and what an error means."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from daemon.linked.entries import Refused, Unreachable

PATIENCE: Final = 10.0  # s that one call may take

# What the functions of the database raise (sql/), and what PostgreSQL raises itself.
_REFUSALS: Final = {
    "FL001": "gap",
    "FL002": "fingerprint",
    "FL003": "currency",
    "FL004": "another-table",
    "FL005": "differs",
    "FL006": "not-enrolled",
    "FL007": "implausible",
    "FL008": "isolation",
    "FL009": "append-only",
    "42501": "permission",
    "3F000": "no-schema",
}
NO_SCHEMA: Final = "the database has no linked pool: feltd link init comes first"
# No answer, or one that may be another in a moment, such as that of a standby not promoted yet:
# lost connections, rollbacks of the server's choice, no resources, shutdown, time limits.
_UNREACHABLE: Final = ("08", "25006", "40", "53", "55P03", "57", "58")
# A server that has vanished is noticed, and of several the one that takes writes is used.
_DEFAULTS: Final = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    "target_session_attrs": "read-write",
    "application_name": "feltd link",
}


@contextmanager
def answered() -> Iterator[None]:
    """psycopg's errors as the two that a caller tells apart: Refused and Unreachable."""
    try:
        yield
    except psycopg.Error as error:
        state = error.sqlstate or ""
        said = (error.diag.message_primary or str(error)).strip()
        if state in _REFUSALS:
            code = _REFUSALS[state]
            raise Refused(code, NO_SCHEMA if code == "no-schema" else said) from None
        lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        if state.startswith(_UNREACHABLE) or (lost and not state):
            raise Unreachable(said) from None
        raise Refused("database", said) from None


class Wire:
    """A connection on which no call takes much longer than ``patience`` seconds.

    A line that is cut in one direction, or a peer that holds it open and says nothing, ends that way too.
    """

    def __init__(self, connection: psycopg.Connection[TupleRow], patience: float) -> None:
        self.connection = connection
        self._patience = patience
        self._until: float | None = None  # when the running call has taken too long, monotonic
        self._closed = threading.Event()
        # Of our own, so that what is cut is never what has got the same number since.
        self._line = socket.socket(fileno=os.dup(connection.fileno()))
        threading.Thread(target=self._watch, name="feltd link watch", daemon=True).start()

    @classmethod
    def connect(cls, dsn: str, patience: float = PATIENCE) -> Self:
        """Connect as libpq's ``dsn`` says, several hosts allowed. Raises Unreachable, Refused."""
        with answered():
            given: dict[str, Any] = {**_DEFAULTS, **conninfo_to_dict(dsn)}
            connection = psycopg.connect(make_conninfo(**given), autocommit=True)
            connection.execute("SET TIME ZONE 'UTC'")
            return cls(connection, patience)

    def close(self) -> None:
        self._closed.set()
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *why: object) -> None:
        self.close()

    @contextmanager
    def call(self) -> Iterator[psycopg.Connection[TupleRow]]:
        """The connection, for as long as one call may take. Raises Refused, Unreachable."""
        self._until = time.monotonic() + self._patience
        try:
            with answered():
                yield self.connection
        finally:
            self._until = None

    def _watch(self) -> None:
        """A thread of its own: psycopg waits for an answer as long as the line is there."""
        with self._line:
            while not self._closed.wait(self._patience / 4):
                until = self._until
                if until is not None and time.monotonic() > until:
                    with suppress(OSError):  # it may be cut already
                        self._line.shutdown(socket.SHUT_RDWR)
