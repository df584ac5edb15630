"""``feltd link init|enrol|migrate|check``: what an administrator does, and what he is told."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from daemon.cli import app
from daemon.cli.link import NAME
from daemon.games.hands import Category
from daemon.linked import health, schema
from daemon.linked.authority import Authority
from daemon.linked.entries import Refused, fingerprint
from daemon.linked.wire import Wire
from tests.linked.house import CURRENCY, House
from tests.linked.postgres import PASSWORD, Server
from tests.table.floor import JACKPOT

_numbers = itertools.count(1)
UNSYNCED = "fsync is off: a power cut loses what was acknowledged"  # the quick server of these tests
CARIBBEAN = Path(__file__).parents[2] / "config" / "caribbean.toml"


@dataclass(frozen=True)
class Database:
    """A database of its own, with nothing in it."""

    server: Server
    name: str

    @property
    def dsn(self) -> str:
        return self.server.dsn(database=self.name)

    def link(self, *words: str, said: str = "", **options: Any) -> Result:
        return CliRunner().invoke(app, ["link", *words, "--dsn", self.dsn], input=said, **options)

    def told(self, *words: str, said: str = "") -> dict[str, Any]:
        result = self.link(*words, "--json", said=said)
        assert result.exit_code == 0, result.output
        told: dict[str, Any] = json.loads(result.stdout)
        return told

    def sql(self, statement: str) -> None:
        self.server.sql(statement, self.name)


@pytest.fixture
def database(server: Server) -> Iterator[Database]:
    name = f"hall_{next(_numbers)}"
    server.sql(f"CREATE DATABASE {name}")
    yield Database(server, name)
    server.sql(f"DROP DATABASE {name} WITH (FORCE)")


def init(database: Database) -> dict[str, Any]:
    return database.told("init", "--config", str(CARIBBEAN), "--pool", "main")


def test_from_an_empty_database_to_a_table_that_plays(database: Database) -> None:
    from daemon.config import load

    rules = load(CARIBBEAN).caribbean
    told = init(database)
    assert told == {
        "pool": "main",
        "made": True,
        "migrations": [each.name for each in schema.shipped()],
        "fingerprint": fingerprint(rules.jackpot),
    }
    role = database.told("enrol", "CS-1", "--pool", "main", said=f"{PASSWORD}\n")["role"]
    with Authority.connect(database.server.dsn(role, database.name), "main") as link:
        link.join("CS-1", rules.currency, fingerprint(rules.jackpot))
        assert link.balance().pool == rules.jackpot.minimum
    found = json.loads(database.link("check", "--pool", "main", "--json").stdout)
    assert found == {
        "ok": False,
        "problems": [UNSYNCED],
        "notes": ["there is no synchronous standby: a failover may lose what was acknowledged"],
    }


def test_no_superuser_is_needed(server: Server) -> None:
    """The owner of the database who may make roles does all of it."""
    server.sql(f"CREATE ROLE dba LOGIN CREATEROLE PASSWORD '{PASSWORD}'")
    server.sql("CREATE DATABASE of_dba OWNER dba")
    try:
        with Wire.connect(server.dsn("dba", "of_dba")) as wire:
            schema.migrate(wire)
            schema.make_pool(wire, "main", CURRENCY, JACKPOT)
            role = schema.enrol(wire, "main", "dba-1", PASSWORD)
            assert [each for each in health.examine(wire, "main").problems if each != UNSYNCED] == []
        with Authority.connect(server.dsn(role, "of_dba"), "main") as link:
            link.join("dba-1", CURRENCY, fingerprint(JACKPOT))
    finally:
        server.sql("DROP DATABASE of_dba WITH (FORCE)")


def test_done_again_nothing_changes(database: Database) -> None:
    init(database)
    again = init(database)
    assert (again["made"], again["migrations"]) == (False, [])
    assert database.told("migrate") == {"migrations": []}
    for _ in range(2):
        database.told("enrol", "CS-1", "--pool", "main", "--certificate")


def test_a_pool_with_other_rules_is_refused_with_both_fingerprints(database: Database) -> None:
    init(database)
    with Wire.connect(database.dsn) as wire, pytest.raises(Refused) as told:
        schema.make_pool(wire, "main", CURRENCY, JACKPOT)
    assert told.value.code == "fingerprint"
    assert fingerprint(JACKPOT) in str(told.value)
    assert len(re.findall(r"[0-9a-f]{64}", str(told.value))) == 2


def test_a_pool_that_has_got_other_rules_takes_nothing_by_the_former(house: House) -> None:
    table, other = house.table("1"), replace(JACKPOT, flush=JACKPOT.flush * 2)
    table.contribute(5)
    assert schema.change_rules(house.admin, house.pool, CURRENCY, other) == fingerprint(JACKPOT)
    waiting, claim = table.record((7,)), table.asks(box1=Category.FLUSH)
    for call in (lambda: table.authority.append(waiting), lambda: table.authority.claim(claim)):
        with pytest.raises(Refused) as told:
            call()
        assert told.value.code in ("fingerprint", "gap")
        assert house.balance == JACKPOT.minimum + 5
    table.authority.join(table.name, CURRENCY, fingerprint(other))
    assert table.authority.append(waiting).pool == JACKPOT.minimum + 12
    assert table.authority.claim(claim).awards[0].amount == other.flush
    assert schema.change_rules(house.admin, house.pool, CURRENCY, other) == ""
    assert house.problems() == []


def test_rules_are_changed_by_command_and_the_former_are_kept(database: Database, tmp_path: Path) -> None:
    init(database)
    changed = tmp_path / "changed.toml"
    changed.write_text(CARIBBEAN.read_text().replace("pay_unit = ", "pay_unit = 1"))
    told = database.told("rules", "--config", str(changed), "--pool", "main")
    assert told["former"] != told["fingerprint"]
    again = database.told("rules", "--config", str(changed), "--pool", "main")
    assert again["former"] == again["fingerprint"] == told["fingerprint"]
    with Wire.connect(database.dsn) as wire:
        kept = wire.connection.execute("SELECT fingerprint FROM linked.former_rules").fetchall()
    assert kept == [(told["former"],)]
    result = database.link("rules", "--config", str(changed), "--pool", "none")
    assert (result.exit_code, "there is no pool none" in result.output) == (1, True)


def test_an_empty_password_is_refused(database: Database) -> None:
    init(database)
    result = database.link("enrol", "CS-1", "--pool", "main", said="\n")
    assert result.exit_code == 1
    assert "an empty password lets nobody in" in result.output


def test_a_pool_that_is_none_enrols_nobody_and_leaves_no_role(database: Database) -> None:
    init(database)
    result = database.link("enrol", "nobody", "--pool", "none", said=f"{PASSWORD}\n")
    assert result.exit_code == 1
    assert "there is no pool none" in result.output
    assert database.server.ask("SELECT rolname FROM pg_roles WHERE rolname = 'feltd_nobody'") == []


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (
            "INSERT INTO linked.migrations VALUES (900, '900_later.sql', 'x')",
            "900_later.sql, which this program",
        ),
        (
            "UPDATE linked.migrations SET sha256 = 'x' WHERE number = 2",
            "another 002_ledger.sql than this program",
        ),
    ],
)
def test_a_schema_of_another_program_is_refused(database: Database, statement: str, sentence: str) -> None:
    init(database)
    database.sql(statement)
    for command in ("migrate", "check"):
        result = database.link(command)
        assert result.exit_code == 1
        assert sentence in result.output


@pytest.mark.parametrize(
    "words",
    [
        ("check",),
        ("status", "--pool", "main"),
        ("rules", "--config", str(CARIBBEAN), "--pool", "main"),
        ("enrol", "CS-1", "--pool", "main"),
        ("retire", "CS-1", "--pool", "main"),
    ],
)
def test_a_database_without_the_schema_says_what_comes_first(
    database: Database, words: tuple[str, ...]
) -> None:
    result = database.link(*words, said=f"{PASSWORD}\n")
    assert result.exit_code == 1
    assert "the database has no linked pool: feltd link init comes first" in result.output


def test_a_link_is_told_the_same_as_the_code_no_schema(database: Database) -> None:
    with Authority.connect(database.dsn, "main") as link, pytest.raises(Refused, match="link init") as told:
        link.join("CS-1", CURRENCY, "x")
    assert told.value.code == "no-schema"


@pytest.mark.parametrize(
    "words",
    [
        ("init", "--config", str(CARIBBEAN), "--pool", "bad pool"),
        ("rules", "--config", str(CARIBBEAN), "--pool", "bad pool"),
        ("check", "--pool", "bad pool"),
        ("status", "--pool", "bad pool"),
        ("enrol", "CS 3", "--pool", "main"),
        ("enrol", "CS-3", "--pool", "x" * 33),
        ("retire", "é", "--pool", "main"),
    ],
)
def test_a_name_that_is_none_is_wrong_usage(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, ["link", *words], env={"COLUMNS": "250"})
    assert result.exit_code == 2
    assert "at most 32 letters, digits, - and _" in result.output


def test_names_are_those_that_the_database_takes() -> None:
    constraint = re.search(r"name_of_ours AS text CHECK \(VALUE ~ '\^(.*)\$'\)", schema.shipped()[1].text)
    assert constraint is not None
    assert constraint[1] == NAME.pattern


# --- tables that leave ---------------------------------------------------------------------------------


def retired(house: House, table: str) -> schema.Retired:
    return schema.retire(house.admin, house.pool, table)


def test_a_retired_table_is_refused_and_what_it_booked_stays(house: House) -> None:
    own, other = house.table("1"), house.table("2")
    own.contribute(710, reserve=50)
    other.contribute(5)
    before = house.balance
    assert retired(house, own.name) == schema.Retired(True, own.seq, None, None)
    assert retired(house, own.name) == schema.Retired(False, own.seq, None, None)
    with pytest.raises(Refused, match="no table is enrolled") as told:
        own.authority.join(own.name, CURRENCY, fingerprint(JACKPOT))
    assert told.value.code == "not-enrolled"
    with pytest.raises(Refused, match="no table is enrolled"):
        own.contribute(1)
    assert (house.balance, house.problems()) == (before, [])
    assert [row.table for row in house.floor.overview()] == [other.name]
    other.contribute(7)
    assert house.balance == before + 7


def test_a_table_whose_link_is_there_does_not_retire(house: House) -> None:
    own = house.table("1")
    own.authority.report(3, 1)
    with pytest.raises(Refused, match=r"the link of table .* is there: stop it, and wait 10 s") as told:
        retired(house, own.name)
    assert told.value.code == "linked"
    own.contribute(1)
    house.server.sql("UPDATE linked.presence SET at = at - interval '11 seconds'")
    assert retired(house, own.name) == schema.Retired(True, own.seq, 3, 1)


def test_a_mistyped_table_retires_and_its_name_is_free(house: House) -> None:
    role = house.enrol("wrong")
    assert retired(house, house.name("wrong")).now
    assert house.enrol("wrong") == role
    with pytest.raises(Refused, match="has no table nobody"):
        retired(house, "nobody")
    with pytest.raises(Refused, match="has no table house"):
        retired(house, "house")


def test_a_table_that_had_booked_comes_back_with_a_new_journal_only(house: House) -> None:
    own = house.table("1")
    own.contribute(710)
    retired(house, own.name)
    with pytest.raises(Refused, match=f"records up to {own.seq} are booked.*--new-journal"):
        house.enrol("1")
    schema.enrol(house.admin, house.pool, own.name, PASSWORD, new_journal=True)
    joined = own.authority.join(own.name, CURRENCY, fingerprint(JACKPOT))
    assert joined.last_seq == 0
    assert house.problems() == []


def test_the_command_says_what_became_of_a_table(database: Database) -> None:
    init(database)
    database.told("enrol", "CS-1", "--pool", "main", "--certificate")
    told = database.told("retire", "CS-1", "--pool", "main")
    assert told == {
        "table": "CS-1", "pool": "main", "now": True, "last_seq": 0, "outbox": None, "pending": None,
    }  # fmt: skip
    result = database.link("retire", "CS-1", "--pool", "main")
    assert (result.exit_code, result.output) == (0, "table CS-1 was retired before, booked up to record 0\n")
    result = database.link("retire", "CS-9", "--pool", "main")
    assert result.exit_code == 1
    assert "the pool main has no table CS-9: feltd link status has them all" in result.output


def test_a_migration_is_there_whole_or_not_at_all(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = schema.shipped()
    broken = schema.Migration(899, "899_broken.sql", "CREATE TABLE linked.half (x int); SELECT 1 / 0;")
    monkeypatch.setattr(schema, "shipped", lambda: [*shipped, broken])
    result = database.link("migrate")
    assert result.exit_code == 1
    assert "division by zero" in result.output
    monkeypatch.undo()
    assert database.told("migrate")["migrations"] == [each.name for each in shipped]


def test_the_check_names_every_right_that_is_too_much(database: Database) -> None:
    init(database)
    database.told("enrol", "CS-1", "--pool", "main", "--certificate")
    database.sql("""
        GRANT UPDATE ON linked.ledger TO feltd_table;
        GRANT SELECT ON linked.decisions TO PUBLIC;
        GRANT EXECUTE ON FUNCTION linked.make_pool TO PUBLIC;
        ALTER TABLE linked.ledger DISABLE TRIGGER append_only;
        GRANT feltd_owner TO "feltd_CS-1";
    """)
    result = database.link("check", "--json")
    database.sql('REVOKE feltd_owner FROM "feltd_CS-1"')
    assert result.exit_code == 1
    assert json.loads(result.stdout)["problems"] == [
        UNSYNCED,
        "feltd_table has UPDATE on linked.ledger",
        "PUBLIC reads linked.decisions",
        "everybody may call linked.make_pool",
        "the rows of linked.ledger can be changed: its trigger append_only is off",
        "the role feltd_CS-1 of table CS-1 may do more than a table",
    ]


def test_the_check_finds_a_sum_that_is_not_the_ledgers(house: House) -> None:
    house.table("1").contribute(5)
    house.admin.connection.execute(
        "UPDATE linked.tables SET pool = pool + 1, house = house - 1 WHERE name = %s", (house.name("1"),)
    )
    assert house.floor.differences() == [
        f"table {house.name('1')}: house: -1 in the sums, 0 by the ledger",
        f"table {house.name('1')}: pool: 6 in the sums, 5 by the ledger",
    ]


def test_the_check_finds_an_award_that_is_not_the_decided_one(house: House) -> None:
    table = house.table("1")
    table.claim(box1=Category.FLUSH)
    house.admin.connection.execute("ALTER TABLE linked.decisions DISABLE TRIGGER append_only")
    house.admin.connection.execute(
        "UPDATE linked.decisions SET awards = jsonb_set(awards, '{0,amount}', '1') WHERE pool_before = %s"
        " AND table_id = (SELECT table_id FROM linked.tables WHERE name = %s)",
        (JACKPOT.minimum, table.name),
    )
    house.admin.connection.execute("ALTER TABLE linked.decisions ENABLE ALWAYS TRIGGER append_only")
    assert house.floor.differences() == [
        f"table {table.name}: award of record 3: 1 in the sums, {JACKPOT.flush} by the ledger"
    ]
