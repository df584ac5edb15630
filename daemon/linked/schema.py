"""The database of linked pools: its migrations, a new pool, and the role of a table.

Done by whoever administers the database (a superuser, or its owner who may make roles). Each step is
one transaction, and done again it changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from psycopg import Connection, sql
from psycopg.rows import TupleRow

from daemon.games.jackpot import JackpotRules
from daemon.linked.entries import Refused, canonical, fingerprint
from daemon.linked.floor import STALE
from daemon.linked.wire import NO_SCHEMA, Wire

OLDEST_SERVER: Final = 150000  # PostgreSQL 15
_LOCK: Final = 0x46454C54  # "FELT": two migrations at once wait for each other
# A session that stands still in a transaction may hold up the whole pool.
_ROLE_LIMITS: Final = {"idle_in_transaction_session_timeout": "10s", "statement_timeout": "30s"}
_MOST_CONNECTIONS: Final = 4  # of one table: its link, and one that a dead line still holds


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema, as it is shipped."""

    number: int
    name: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def shipped() -> list[Migration]:
    """Every migration of this program, in order."""
    found = (each for each in files("daemon.linked").joinpath("sql").iterdir() if each.name.endswith(".sql"))
    return sorted(
        (Migration(int(each.name[:3]), each.name, each.read_text("utf-8")) for each in found),
        key=lambda migration: migration.number,
    )


def missing(connection: Connection[TupleRow]) -> list[Migration]:
    """The migrations that the database has not. Raises Refused for one that is not ours, or is another's."""
    ours = {each.number: each for each in shipped()}
    there = _applied(connection)
    for number, (name, sha256) in there.items():
        if number not in ours:
            raise Refused(
                "schema", f"the database has {name}, which this program does not know: use a newer one"
            )
        if ours[number].sha256 != sha256:
            raise Refused("schema", f"the database has another {name} than this program")
    return [each for number, each in ours.items() if number not in there]


def require(connection: Connection[TupleRow]) -> None:
    """Raises Refused for a database that was never made one of linked pools."""
    if not _is_there(connection):
        raise Refused("no-schema", NO_SCHEMA)


def _is_there(connection: Connection[TupleRow]) -> bool:
    row = connection.execute("SELECT to_regclass('linked.migrations') IS NOT NULL").fetchone()
    return row is not None and bool(row[0])


def _applied(connection: Connection[TupleRow]) -> dict[int, tuple[str, str]]:
    if not _is_there(connection):
        return {}
    return {
        n: (name, sha)
        for n, name, sha in connection.execute("SELECT number, name, sha256 FROM linked.migrations")
    }


def migrate(wire: Wire) -> list[str]:
    """Bring the schema to this program's. Returns the names of what was applied."""
    with wire.call() as connection, connection.transaction():
        if connection.info.server_version < OLDEST_SERVER:
            raise Refused("server", f"PostgreSQL {connection.info.server_version // 10000}, not 15 or newer")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        due = missing(connection)
        for migration in due:
            connection.execute(migration.text.encode())
            connection.execute("RESET ROLE")
            connection.execute("RESET search_path")
            connection.execute(
                "INSERT INTO linked.migrations (number, name, sha256) VALUES (%s, %s, %s)",
                (migration.number, migration.name, migration.sha256),
            )
    return [each.name for each in due]


@contextmanager
def _as_owner(wire: Wire) -> Iterator[Connection[TupleRow]]:
    with wire.call() as connection, connection.transaction():
        require(connection)
        connection.execute("SET LOCAL ROLE feltd_owner")
        yield connection


def make_pool(wire: Wire, pool: str, currency: str, rules: JackpotRules) -> bool:
    """A new pool that starts at its minimum; False when it is there already.

    Raises Refused for one that is there with another currency or other rules, naming both.
    """
    with _as_owner(wire) as connection:
        there = _fingerprint_of(connection, pool, currency)
        if there is None:
            connection.execute("SELECT linked.make_pool(%s, %s, %s)", (pool, currency, canonical(rules)))
            return True
    if there != (given := fingerprint(rules)):
        raise Refused("fingerprint", f"the pool {pool} has the rules {there}, not {given}")
    return False


def change_rules(wire: Wire, pool: str, currency: str, rules: JackpotRules) -> str:
    """Give a pool other rules from now on. Returns the former fingerprint, "" when they are in force already.

    Its tables book nothing until they have joined with them. Raises Refused.
    """
    with _as_owner(wire) as connection:
        former = _fingerprint_of(connection, pool, currency)
        if former is None:
            raise Refused("no-pool", f"there is no pool {pool}")
        if former == fingerprint(rules):
            return ""
        connection.execute("SELECT linked.change_rules(%s, %s)", (pool, canonical(rules)))
    return former


def _fingerprint_of(connection: Connection[TupleRow], pool: str, currency: str) -> str | None:
    """None when there is no such pool. Raises Refused for one that counts in another currency."""
    query = "SELECT currency, fingerprint FROM linked.pools WHERE name = %s"
    found = connection.execute(query, (pool,)).fetchone()
    if found is None:
        return None
    if found[0] != currency:
        raise Refused("currency", f"the pool {pool} counts in {found[0]}, not in {currency}")
    return str(found[1])


def role_of(table: str) -> str:
    """The role that a table's link logs in with."""
    return f"feltd_{table}"


def enrol(wire: Wire, pool: str, table: str, password: str = "", new_journal: bool = False) -> str:
    """Make a table's role and take the table into the pool. Returns the name of the role.

    With ``password`` the server gets only its SCRAM verifier; without one the role has to prove itself
    by certificate. Done again for a table of the pool it sets the password; with ``new_journal`` the
    table's records count from its first again. Raises Refused, also for a retired table without it: its
    records would be booked twice.
    """
    role = role_of(table)
    with wire.call() as connection, connection.transaction():
        require(connection)
        _make_role(connection, role, password)
        connection.execute("SET LOCAL ROLE feltd_owner")
        found = connection.execute(
            "SELECT p.name FROM linked.tables JOIN linked.pools AS p USING (pool_id)"
            " WHERE role_name = %s AND retired_at IS NULL",
            (role,),
        ).fetchone()
        if found is None and not new_journal:
            _require_nothing_booked(connection, table)
        if found is None or new_journal:
            connection.execute("SELECT linked.enrol(%s, %s, %s, %s)", (pool, table, role, new_journal))
        elif found[0] != pool:
            raise Refused("another-pool", f"table {table} is of the pool {found[0]}, not of {pool}")
    return role


def _require_nothing_booked(connection: Connection[TupleRow], table: str) -> None:
    query = "SELECT max(last_seq) FROM linked.tables WHERE name = %s AND role_name IS NOT NULL"
    row = connection.execute(query, (table,)).fetchone()
    if row is not None and row[0]:
        text = (
            f"table {table} is retired, and its records up to {row[0]} are booked: they would be booked twice"
        )
        raise Refused("retired", f"{text}. A table with a new journal is enrolled with --new-journal")


@dataclass(frozen=True, slots=True)
class Retired:
    """A table that is out of its pool. ``now``: by this call. ``last_seq`` is the last record that is
    booked, ``outbox`` and ``pending`` what its link told last, None for nothing."""

    now: bool
    last_seq: int
    outbox: int | None
    pending: int | None


def retire(wire: Wire, pool: str, table: str) -> Retired:
    """Take a table out of its pool for good: its link is refused, what is booked stays. Done again it
    changes nothing. Raises Refused for a table that is none of the pool, and while its link is there."""
    with _as_owner(wire) as connection:
        found = connection.execute(
            "SELECT t.table_id, t.retired_at IS NULL, t.last_seq, n.outbox, n.pending,"
            " coalesce(n.at > clock_timestamp() - make_interval(secs => %s), false)"
            " FROM linked.tables AS t JOIN linked.pools AS p USING (pool_id)"
            " LEFT JOIN linked.presence AS n USING (table_id)"
            " WHERE p.name = %s AND t.name = %s AND t.role_name IS NOT NULL"
            " ORDER BY t.retired_at DESC NULLS FIRST LIMIT 1 FOR UPDATE OF t",
            (STALE, pool, table),
        ).fetchone()
        if found is None:
            raise Refused(
                "not-enrolled", f"the pool {pool} has no table {table}: feltd link status has them all"
            )
        table_id, enrolled, last_seq, outbox, pending, there = found
        if enrolled and there:
            text = f"the link of table {table} is there: stop it, and wait {STALE:g} s"
            raise Refused("linked", text)
        if enrolled:
            connection.execute(
                "UPDATE linked.tables SET retired_at = clock_timestamp() WHERE table_id = %s", (table_id,)
            )
    return Retired(enrolled, last_seq, outbox, pending)


def _make_role(connection: Connection[TupleRow], role: str, password: str) -> None:
    name = sql.Identifier(role)
    found = connection.execute(
        "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls OR rolreplication"
        " FROM pg_roles WHERE rolname = %s",
        (role,),
    ).fetchone()
    if found is None:
        connection.execute(sql.SQL("CREATE ROLE {} IN ROLE feltd_table").format(name))
    elif found[0]:
        raise Refused("permission", f"the role {role} is there and may do more than a table")
    else:
        connection.execute(sql.SQL("GRANT feltd_table TO {}").format(name))
    limit = sql.Literal(_MOST_CONNECTIONS)
    connection.execute(sql.SQL("ALTER ROLE {} LOGIN CONNECTION LIMIT {}").format(name, limit))
    for key, value in _ROLE_LIMITS.items():
        connection.execute(
            sql.SQL("ALTER ROLE {} SET {} = {}").format(name, sql.Identifier(key), sql.Literal(value))
        )
    if password:
        verifier = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
        connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(name, sql.Literal(verifier.decode())))
