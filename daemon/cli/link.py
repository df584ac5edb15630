"""``feltd link``: the database of a linked pool, for whoever administers it, and the link process of a table
(docs/linked.md)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from daemon.cli.answers import (
    FAILED,
    Config,
    Json,
    asked_pin,
    bad_config,
    caribbean_of,
    fail,
    say,
    settings_of,
)

if TYPE_CHECKING:
    from daemon.games.caribbean.rules import CaribbeanRules
    from daemon.linked.wire import Wire

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")  # as name_of_ours of the database
PATIENCE: Final = 600.0  # s: a migration or a look through the whole ledger takes its time

app: Final = typer.Typer(
    help="The linked jackpot: many tables, one pool, on PostgreSQL.", no_args_is_help=True
)


def named(value: str) -> str:
    """A pool's or a table's name as the database takes it; wrong usage for anything else but none."""
    if value and not NAME.fullmatch(value):
        raise typer.BadParameter(
            f"{value!r} is no name: at most 32 letters, digits, - and _, the first a letter or a digit"
        )
    return value


Dsn = Annotated[
    str,
    typer.Option(
        "--dsn", envvar="FELTD_LINK_DSN", help="The database, as libpq takes it; libpq's own defaults."
    ),
]
Pool = Annotated[str, typer.Option("--pool", callback=named, help="The pool's name.")]
OptionalPool = Annotated[
    str, typer.Option("--pool", callback=named, help="By default what linked.pool names.")
]
Table = Annotated[str, typer.Argument(metavar="TABLE", callback=named, help="table.id of its configuration.")]
PoolConfig = Annotated[
    Path, typer.Option("--config", help="A table of the pool: its \\[rules.progressive] are the pool's.")
]


@contextmanager
def connected(dsn: str, as_json: bool) -> Iterator[Wire]:
    """A connection for one command; what goes wrong with it ends the command with a sentence."""
    try:
        from daemon.linked.entries import Refused, Unreachable
        from daemon.linked.wire import Wire
    except ModuleNotFoundError as error:
        fail(f"{error.name} is not installed: it is in the extra link of this package", as_json)
    try:
        with Wire.connect(dsn, PATIENCE) as wire:
            yield wire
    except (Refused, Unreachable) as error:
        fail(str(error), as_json)


def _pool_of(config: Path, pool: str, as_json: bool) -> tuple[str, CaribbeanRules]:
    """A pool's name, and the rules that a table's configuration has for it."""
    settings = settings_of(config, as_json)
    rules = caribbean_of(settings, as_json)
    name = pool or (settings.linked.terms.pool if settings.linked is not None else "")
    if not name:
        raise typer.BadParameter("the configuration has no [linked]: name the pool", param_hint="--pool")
    return name, rules


@app.command()
def init(
    config: PoolConfig,
    dsn: Dsn = "",
    pool: OptionalPool = "",
    as_json: Json = False,
) -> None:
    """Make schema, roles and a pool with the rules of a configuration; what is there already stays."""
    name, rules = _pool_of(config, pool, as_json)
    with connected(dsn, as_json) as wire:
        from daemon.linked import schema
        from daemon.linked.entries import fingerprint

        applied = schema.migrate(wire)
        made = schema.make_pool(wire, name, rules.currency, rules.jackpot)
    told = {"pool": name, "made": made, "migrations": applied, "fingerprint": fingerprint(rules.jackpot)}
    say(told, f"pool {name}: {'made' if made else 'there already'}, rules {told['fingerprint']}", as_json)


@app.command()
def enrol(
    table: Table,
    pool: Pool,
    dsn: Dsn = "",
    certificate: Annotated[
        bool, typer.Option("--certificate", help="No password: the role proves itself by certificate.")
    ] = False,
    new_journal: Annotated[
        bool,
        typer.Option("--new-journal", help="The table has a new journal: its records count from the first."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a table's role and take the table into the pool. The password is asked for."""
    password = "" if certificate else asked_pin(f"Password of {table}")
    if not (certificate or password):
        fail("an empty password lets nobody in: give one, or --certificate", as_json)
    with connected(dsn, as_json) as wire:
        from daemon.linked import schema

        role = schema.enrol(wire, pool, table, password, new_journal)
    say({"table": table, "pool": pool, "role": role}, f"table {table} logs in as {role}", as_json)


@app.command()
def retire(table: Table, pool: Pool, dsn: Dsn = "", as_json: Json = False) -> None:
    """Take a table out of the pool for good. What is booked stays; its link is refused from now on."""
    with connected(dsn, as_json) as wire:
        from daemon.linked import schema

        gone = schema.retire(wire, pool, table)
    what = "retired" if gone.now else "was retired before"
    waits = f"; {gone.outbox} records waited at it when its link was last heard of" if gone.outbox else ""
    told = {"table": table, "pool": pool, **dataclasses.asdict(gone)}
    say(told, f"table {table} {what}, booked up to record {gone.last_seq}{waits}", as_json)


@app.command()
def rules(config: PoolConfig, dsn: Dsn = "", pool: OptionalPool = "", as_json: Json = False) -> None:
    """Give a pool the rules of a configuration. Its tables book nothing until they play by them, too."""
    name, given = _pool_of(config, pool, as_json)
    with connected(dsn, as_json) as wire:
        from daemon.linked import schema
        from daemon.linked.entries import fingerprint

        former = schema.change_rules(wire, name, given.currency, given.jackpot)
    new = fingerprint(given.jackpot)
    told = {"pool": name, "former": former or new, "fingerprint": new}
    say(told, f"pool {name}: {f'rules {former} -> {new}' if former else 'these rules already'}", as_json)


@app.command()
def migrate(dsn: Dsn = "", as_json: Json = False) -> None:
    """Bring the schema to this program's. Links may go on while it is done."""
    with connected(dsn, as_json) as wire:
        from daemon.linked import schema

        applied = schema.migrate(wire)
    say({"migrations": applied}, "\n".join(applied) or "nothing to do", as_json)


@app.command()
def check(
    dsn: Dsn = "",
    pool: Annotated[
        str, typer.Option("--pool", callback=named, help="Compare its sums with its whole ledger, too.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Whether server, schema and rights are what a linked pool relies on: exit 1 and every problem."""
    with connected(dsn, as_json) as wire:
        from daemon.linked import health

        found = health.examine(wire, pool)
    lines = [*found.problems, *(f"note: {note}" for note in found.notes)]
    told = {"ok": not found.problems, "problems": list(found.problems), "notes": list(found.notes)}
    say(told, "\n".join(lines) or "all is right", as_json)
    if found.problems:
        raise typer.Exit(FAILED)


@app.command()
def run(config: Config) -> None:
    """The link process of a table: until SIGTERM or SIGINT. It has the network, and no devices."""
    settings = settings_of(config)
    if settings.linked is None:
        bad_config([f"{config}: linked: missing: this table has a pool of its own"])
    try:
        from daemon.linked import run as link
    except ModuleNotFoundError as error:
        fail(f"{error.name} is not installed: it is in the extra link of this package", False)
    raise typer.Exit(link.run(settings, settings.linked))
