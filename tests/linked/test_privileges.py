"""What a table may not do. It is PostgreSQL that refuses, not this program: plain statements are sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
from psycopg import errors

from daemon.games.hands import Category
from daemon.games.jackpot import Claim
from daemon.linked import schema
from daemon.linked.authority import Authority
from daemon.linked.entries import AwardClaim, Entry, Refused, fingerprint
from tests.linked.house import CURRENCY, House, Table
from tests.linked.postgres import PASSWORD, Server
from tests.table.floor import JACKPOT

OURS = ("ledger", "tables", "pools", "decisions", "presence", "former_rules", "migrations")


@dataclass(frozen=True)
class Pair:
    """Two tables that have contributed, and the first one's plain connection."""

    house: House
    own: Table
    other: Table
    plain: psycopg.Connection[tuple[object, ...]]

    def refused(self, statement: str, *values: object) -> None:
        with pytest.raises(errors.InsufficientPrivilege):
            self.plain.execute(statement.encode(), values)


@pytest.fixture(scope="module")
def pair(server: Server) -> Iterator[Pair]:
    """For all tests of this file: none of them leaves a trace, or the last one fails."""
    with House(server) as house:
        own, other = house.table("1"), house.table("2")
        own.contribute(5)
        other.contribute(7)
        with psycopg.connect(house.dsn(schema.role_of(own.name)), autocommit=True) as plain:
            yield Pair(house, own, other, plain)
        assert house.balance == JACKPOT.minimum + 12
        assert house.problems() == []


@pytest.fixture(autouse=True)
def as_before(pair: Pair) -> Iterator[None]:
    before = pair.house.balance
    yield
    assert pair.house.balance == before


@pytest.mark.parametrize("relation", [*OURS[:-1], "floor"])
def test_a_table_reads_no_rows_not_even_its_own(pair: Pair, relation: str) -> None:
    pair.refused(f"SELECT * FROM linked.{relation}")
    pair.refused(f"COPY linked.{relation} TO STDOUT")


@pytest.mark.parametrize("relation", OURS)
@pytest.mark.parametrize("statement", ["DELETE FROM linked.{}", "TRUNCATE linked.{}", "DROP TABLE linked.{}"])
def test_a_table_takes_nothing_away(pair: Pair, relation: str, statement: str) -> None:
    pair.refused(statement.format(relation))


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO linked.ledger (table_id, seq, line, kind) VALUES (1, 99, 0, 'contribution')",
        "UPDATE linked.ledger SET pool = 0",
        "UPDATE linked.tables SET pool = 10",
        "UPDATE linked.tables SET role_name = session_user",
        "UPDATE linked.pools SET rules_text = '{}'",
        "UPDATE linked.decisions SET awards = '[]'",
        "INSERT INTO linked.tables (pool_id, name) VALUES (1, 'mine')",
        "INSERT INTO linked.pools (name, currency, rules_text) VALUES ('mine', '$', '{}')",
        "INSERT INTO linked.decisions VALUES (1, 99, 1, '[]', '[]', 1, 1, false, 1, 1)",
        "INSERT INTO linked.presence VALUES (1, now(), 0, 0)",
    ],
)
def test_a_table_writes_no_rows_itself(pair: Pair, statement: str) -> None:
    pair.refused(statement)


@pytest.mark.parametrize(
    "call",
    [
        "make_pool('mine', '$', '{}')",
        "enrol('pool-1', 'mine', session_user, true)",
        "movements('pool-1', 'epoch', 'now')",
        "held('pool-1', 'now')",
        "differences('pool-1')",
        "change_rules('pool-1', '{}')",
        "lock_pool(1)",
        "announce(1)",
        "own_table()",
        "decide('{}', 1, '{1}', '{flush}')",
    ],
)
def test_a_table_calls_nothing_that_is_not_its_own(pair: Pair, call: str) -> None:
    pair.refused(f"SELECT * FROM linked.{call}")


@pytest.mark.parametrize("role", ["feltd_owner", "feltd_floor", "admin"])
def test_a_table_takes_no_other_role(pair: Pair, role: str) -> None:
    pair.refused(f"SET ROLE {role}")
    pair.refused(f"SET SESSION AUTHORIZATION {role}")
    pair.refused(f"GRANT {role} TO session_user")


def test_a_table_is_not_another_one(pair: Pair) -> None:
    other = schema.role_of(pair.other.name)
    pair.refused(f'SET ROLE "{other}"')
    pair.refused(f'SET SESSION AUTHORIZATION "{other}"')
    with pytest.raises(Refused) as told:
        pair.own.authority.join(pair.other.name, CURRENCY, fingerprint(JACKPOT))
    assert (told.value.code, str(told.value)) == (
        "another-table",
        f"the role {schema.role_of(pair.own.name)} is that of table {pair.own.name},"
        f" not of {pair.other.name}",
    )
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(pair.house.server.dsn(other, password="guessed"))


def test_the_numbers_of_another_table_are_not_taken(pair: Pair) -> None:
    """What a table sends is booked as its own, whatever numbers another one uses."""
    pair.own.contribute(3)
    rows = pair.house.floor.overview()
    assert [(row.table, row.contributed) for row in rows] == [(pair.own.name, 8), (pair.other.name, 7)]
    pair.own.correct(-3)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE linked.mine (x int)",
        "CREATE OR REPLACE FUNCTION linked.floored(bigint, bigint) RETURNS bigint AS 'SELECT 0' LANGUAGE sql",
        "ALTER TABLE linked.ledger DISABLE TRIGGER append_only",
        "DROP FUNCTION linked.announce(int)",
        "ALTER FUNCTION linked.announce(int) SECURITY DEFINER",
        "DROP SCHEMA linked CASCADE",
        "CREATE TRIGGER mine BEFORE INSERT ON linked.ledger EXECUTE FUNCTION linked.refuse_change()",
    ],
)
def test_a_table_changes_no_schema(pair: Pair, statement: str) -> None:
    pair.refused(statement)


def test_temporary_tables_of_the_same_names_fool_no_function(pair: Pair) -> None:
    for name in ("tables", "pools", "ledger"):
        pair.plain.execute(
            f"CREATE TEMP TABLE {name} (pool_id int, pool bigint, role_name name, retired_at int)".encode()
        )
    pair.plain.execute("SET search_path = pg_temp, linked")
    before = pair.house.balance
    pair.own.seq += 3
    numbers = (pair.own.seq, pair.own.seq - 3)
    pair.plain.execute("SELECT linked.contribute(ARRAY[%s], '{0}', ARRAY[%s], '{4}', '{0}')", numbers)
    assert pair.house.balance == before + 4
    pair.own.correct(-4)
    pair.plain.execute("RESET search_path")
    pair.plain.execute("DISCARD TEMP")


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_an_award_is_not_decided_on_an_old_picture(pair: Pair, level: str) -> None:
    """In such a transaction two tables could read the same pool, one after the other."""
    with pair.plain.transaction():
        pair.plain.execute(f"SET TRANSACTION ISOLATION LEVEL {level}".encode())
        with pytest.raises(psycopg.Error) as told, pair.plain.transaction():
            pair.plain.execute("SELECT linked.claim(999, %s, 1, '{1}', '{royal-flush}')", (pair.own.seq,))
    assert told.value.sqlstate == "FL008"


def test_what_is_acknowledged_is_on_disk_whatever_the_session_asks(pair: Pair) -> None:
    with pair.plain.transaction(force_rollback=True):
        pair.plain.execute("SET synchronous_commit = off")
        pair.plain.execute(
            "SELECT linked.contribute('{999}', '{0}', ARRAY[%s], '{4}', '{0}')", (pair.own.seq,)
        )
        assert pair.plain.execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_the_books_are_only_appended_to_even_by_an_administrator(pair: Pair) -> None:
    for statement in (
        "UPDATE linked.ledger SET pool = pool",
        "DELETE FROM linked.ledger",
        "TRUNCATE linked.ledger",
        "DELETE FROM linked.decisions",
    ):
        with pytest.raises(psycopg.Error) as told:
            pair.house.admin.connection.execute(statement.encode())
        assert told.value.sqlstate == "FL009"


@pytest.mark.parametrize("columns", ["pool", "stakes", "house"])
def test_no_line_has_one_side_only(pair: Pair, columns: str) -> None:
    with pytest.raises(errors.CheckViolation, match="sides_sum_to_zero"):
        pair.house.admin.connection.execute(
            f"INSERT INTO linked.ledger (table_id, seq, line, kind, {columns})"
            " VALUES (1, 1, 0, 'correction', -5)".encode()
        )


# --- who is let in ---------------------------------------------------------------------------


def test_a_role_that_no_table_has_books_nothing(house: House) -> None:
    house.admin.connection.execute(
        f"CREATE ROLE stranger LOGIN PASSWORD '{PASSWORD}' IN ROLE feltd_table".encode()
    )
    with house.authority("stranger") as stranger:
        for call in (
            lambda: stranger.join("1", CURRENCY, fingerprint(JACKPOT)),
            lambda: stranger.append([Entry(3, 0, "contribution", 5)]),
            lambda: stranger.claim(AwardClaim(3, 1, (Claim(1, Category.ROYAL_FLUSH),))),
            lambda: stranger.report(0, 0),
        ):
            with pytest.raises(Refused) as told:
                call()
            assert told.value.code == "not-enrolled"
    house.admin.connection.execute("DROP ROLE stranger")


def test_the_floor_reads_and_books_nothing(house: House) -> None:
    table = house.table("1")
    table.contribute(5)
    house.admin.connection.execute(
        f"CREATE ROLE pit LOGIN PASSWORD '{PASSWORD}' IN ROLE feltd_floor".encode()
    )
    with house.authority("pit") as floor:
        assert [row.contributed for row in floor.overview()] == [5]
        assert floor.balance().pool == JACKPOT.minimum + 5
        assert floor.differences() == []
        with pytest.raises(Refused) as told:
            floor.append([Entry(6, 0, "contribution", 5, prior=3)])
        assert told.value.code == "permission"
    with psycopg.connect(house.dsn("pit")) as plain, pytest.raises(errors.InsufficientPrivilege):
        plain.execute("UPDATE linked.tables SET pool = 0")
    house.admin.connection.execute("DROP ROLE pit")


def test_the_server_never_gets_the_password(house: House) -> None:
    role = house.enrol("1")
    row = house.admin.connection.execute(
        "SELECT rolpassword, rolconnlimit FROM pg_authid WHERE rolname = %s", (role,)
    ).fetchone()
    assert row is not None
    assert row[0].startswith("SCRAM-SHA-256$")
    assert row[1] == 4


def test_a_role_that_may_more_than_a_table_is_not_taken(house: House) -> None:
    table = house.name("boss")
    house.admin.connection.execute(f'CREATE ROLE "{schema.role_of(table)}" CREATEROLE'.encode())
    with pytest.raises(Refused, match="may do more than a table"):
        schema.enrol(house.admin, house.pool, table, PASSWORD)


def test_a_new_journal_counts_from_its_first_record(house: House) -> None:
    table = house.table("1")
    table.contribute(5)
    table.contribute(6)
    schema.enrol(house.admin, house.pool, table.name, PASSWORD, new_journal=True)
    joined = table.authority.join(table.name, CURRENCY, fingerprint(JACKPOT))
    assert joined.last_seq == 0
    assert table.authority.append([Entry(3, 0, "contribution", 100)]).pool == JACKPOT.minimum + 111
    assert [row.contributed for row in house.floor.overview()] == [100]
    assert house.problems() == []


def test_a_table_of_one_pool_is_not_enrolled_for_another(house: House) -> None:
    house.enrol("1")
    schema.make_pool(house.admin, house.name("pool"), CURRENCY, JACKPOT)
    with pytest.raises(Refused, match=f"is of the pool {house.pool}, not of {house.name('pool')}"):
        schema.enrol(house.admin, house.name("pool"), house.name("1"), PASSWORD)


def test_enrolled_again_it_has_the_new_password(house: House) -> None:
    role = house.enrol("1")
    schema.enrol(house.admin, house.pool, house.name("1"), "another one of the tests")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(house.dsn(role))
    with Authority.connect(house.server.dsn(role, password="another one of the tests"), house.pool) as again:
        again.join(house.name("1"), CURRENCY, fingerprint(JACKPOT))
