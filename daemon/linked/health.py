"""``feltd link check``: whether a database keeps what a linked pool relies on."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from psycopg import Connection
from psycopg.rows import TupleRow

from daemon.linked import schema
from daemon.linked.authority import Authority
from daemon.linked.entries import Refused
from daemon.linked.wire import Wire

_SETTINGS: Final = (
    ("fsync", ("on",), "a power cut loses what was acknowledged"),
    ("full_page_writes", ("on",), "a power cut may tear a page"),
    ("synchronous_commit", ("on", "remote_apply", "remote_write"), "what is acknowledged may be lost"),
    ("password_encryption", ("scram-sha-256",), "a new password would be kept as MD5"),
)
_WRITERS: Final = """
    SELECT c.relname, coalesce(r.rolname, 'PUBLIC'), a.privilege_type
    FROM pg_class AS c, aclexplode(c.relacl) AS a LEFT JOIN pg_roles AS r ON r.oid = a.grantee
    WHERE c.relnamespace = 'linked'::regnamespace
        AND a.grantee <> c.relowner AND a.privilege_type <> 'SELECT'"""
_READERS: Final = """
    SELECT c.relname, coalesce(r.rolname, 'PUBLIC')
    FROM pg_class AS c, aclexplode(c.relacl) AS a LEFT JOIN pg_roles AS r ON r.oid = a.grantee
    WHERE c.relnamespace = 'linked'::regnamespace AND a.grantee <> c.relowner AND a.privilege_type = 'SELECT'
        AND NOT (c.relname = 'floor' AND r.rolname = 'feltd_floor') AND c.relname <> 'migrations'"""
_PUBLIC_FUNCTIONS: Final = """
    SELECT p.proname FROM pg_proc AS p
    WHERE p.pronamespace = 'linked'::regnamespace AND has_function_privilege('public', p.oid, 'EXECUTE')"""
_TRIGGERS_OFF: Final = """
    SELECT t.tgrelid::regclass::text FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
    WHERE c.relnamespace = 'linked'::regnamespace AND NOT t.tgisinternal AND t.tgenabled <> 'A'"""
_STRONG_ROLES: Final = """
    SELECT t.name, r.rolname FROM linked.tables AS t JOIN pg_roles AS r ON r.rolname = t.role_name
    WHERE t.retired_at IS NULL AND (r.rolsuper OR r.rolcreaterole OR r.rolbypassrls OR r.rolreplication
        OR pg_has_role(r.oid, 'feltd_owner', 'MEMBER') OR pg_has_role(r.oid, 'feltd_floor', 'MEMBER'))"""
_WEAK_RULES: Final = """
    SELECT line_number, type, auth_method, coalesce(address, '') FROM pg_hba_file_rules
    WHERE error IS NULL AND type <> 'local'"""


@dataclass(frozen=True, slots=True)
class Health:
    """``problems`` are to be put right; ``notes`` are for whoever decides."""

    problems: tuple[str, ...]
    notes: tuple[str, ...]


def examine(wire: Wire, pool: str = "") -> Health:
    """Look at server, schema and rights, and with ``pool`` compare its sums with its ledger.

    Raises Refused where not even the schema can be read, Unreachable.
    """
    with wire.call() as connection:
        if connection.info.server_version < schema.OLDEST_SERVER:
            raise Refused("server", f"PostgreSQL {connection.info.server_version // 10000}, not 15 or newer")
        schema.require(connection)
        due = [each.name for each in schema.missing(connection)]
        if due:
            raise Refused("schema", f"the database has not {', '.join(due)}: feltd link migrate")
        problems = [*_settings(connection), *_rights(connection), *_doors(connection)]
        notes = tuple(_copies(connection))
    if pool:
        authority = Authority(wire, pool)
        authority.balance()
        problems += authority.differences()
    return Health(tuple(problems), notes)


def _settings(connection: Connection[TupleRow]) -> Iterator[str]:
    for name, good, why in _SETTINGS:
        row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
        if row is not None and row[0] not in good:
            yield f"{name} is {row[0]}: {why}"


def _rights(connection: Connection[TupleRow]) -> Iterator[str]:
    for relation, role, privilege in connection.execute(_WRITERS):
        yield f"{role} has {privilege} on linked.{relation}"
    for relation, role in connection.execute(_READERS):
        yield f"{role} reads linked.{relation}"
    for (function,) in connection.execute(_PUBLIC_FUNCTIONS):
        yield f"everybody may call linked.{function}"
    for (relation,) in connection.execute(_TRIGGERS_OFF):
        yield f"the rows of {relation} can be changed: its trigger append_only is off"
    for table, role in connection.execute(_STRONG_ROLES):
        yield f"the role {role} of table {table} may do more than a table"


def _doors(connection: Connection[TupleRow]) -> Iterator[str]:
    """What pg_hba.conf lets in over a network without TLS, or without SCRAM or a certificate."""
    row = connection.execute("SELECT has_table_privilege('pg_hba_file_rules', 'SELECT')").fetchone()
    if row is None or not row[0]:
        return
    for line, kind, method, address in connection.execute(_WEAK_RULES):
        if method == "reject" or _is_loopback(address):
            continue
        if kind in ("host", "hostnossl"):
            yield f"pg_hba.conf line {line}: {kind} lets in without TLS: hostssl"
        if method not in ("scram-sha-256", "cert"):
            yield f"pg_hba.conf line {line}: {method} is neither scram-sha-256 nor cert"


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address in ("localhost", "samehost")


def _copies(connection: Connection[TupleRow]) -> Iterator[str]:
    row = connection.execute("SELECT current_setting('synchronous_standby_names')").fetchone()
    if row is not None and not row[0]:
        yield "there is no synchronous standby: a failover may lose what was acknowledged"
