"""``feltd link run|status|floor``: the link process of a table, and what the floor sees of a pool."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from daemon.linked.cli import BAD_CONFIG, FAILED, Dsn, Json, connected, fail

if TYPE_CHECKING:
    from daemon.config import Settings
    from daemon.house import House
    from daemon.linked.authority import Authority

DEFAULT_PORT: Final = 8081
MOST_PORT: Final = 65_535

Table = Annotated[Path, typer.Option("--config", help="The table's configuration.")]
AnyTable = Annotated[
    Path | None,
    typer.Option("--config", help="A table of the pool: the pool's name, and the house."),
]
Pool = Annotated[str, typer.Option("--pool", help="The pool's name; by default the configuration's.")]


def add(app: typer.Typer) -> None:
    """Hang the commands into ``feltd link``."""
    app.command()(run)
    app.command()(status)
    app.command()(floor)


def run(config: Table) -> None:
    """The link process of a table: until SIGTERM or SIGINT. It has the network, and no devices."""
    settings = _settings(config)
    if settings.linked is None:
        print(f"{config}: linked: missing: this table has a pool of its own", file=sys.stderr)
        raise typer.Exit(BAD_CONFIG)
    try:
        from daemon.linked import run as link
    except ModuleNotFoundError as error:
        fail(f"{error.name} is not installed: it is in the extra link of this package", False)
    raise typer.Exit(link.run(settings, settings.linked))


def status(
    dsn: Dsn = "",
    pool: Pool = "",
    config: AnyTable = None,
    day: Annotated[str, typer.Option("--day", help="A gaming day, YYYY-MM-DD; by default today's.")] = "",
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the movements of the day there, as CSV.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Every table of a pool: its link, its outbox, and the day's books. Exit 1 when they do not add up."""
    name, house = _asked(pool, config)
    wanted = _day(day)
    with _floor(dsn, name, as_json) as authority:
        from daemon.linked import floor as view

        told = view.view(authority, name, house, view.books(authority, house, wanted))
    if export is not None:
        try:
            export.write_text(view.as_csv(told), "utf-8")
        except OSError as error:
            fail(f"{export}: {error.strerror}", as_json)
    if as_json:
        print(json.dumps(told, ensure_ascii=False))
    else:
        from daemon.show import floor as show

        show(told)
    if not told["reconciled"]:
        raise typer.Exit(FAILED)


def floor(
    dsn: Dsn = "",
    pool: Pool = "",
    config: AnyTable = None,
    listen: Annotated[str, typer.Option("--listen", metavar="HOST:PORT")] = f"127.0.0.1:{DEFAULT_PORT}",
    public: Annotated[bool, typer.Option("--public", help="The network may reach it.")] = False,
) -> None:
    """Serve a page with the same for the floor, until SIGTERM or SIGINT."""
    name, house = _asked(pool, config)
    host, port = _address(listen)
    from daemon.console.run import NotLoopback
    from daemon.linked import floor_page

    def ready(url: str) -> None:
        print(f"feltd link floor: {url}", file=sys.stderr)

    try:
        floor_page.serve(dsn, name, house, host, port, public, ready)
    except (NotLoopback, OSError) as error:
        fail(f"{listen}: {error}", False)


# --- what is asked for -------------------------------------------------------------------------


def _settings(config: Path) -> Settings:
    from daemon.config import ConfigError, load

    try:
        return load(config)
    except ConfigError as error:
        print("\n".join(error.problems), file=sys.stderr)
        raise typer.Exit(BAD_CONFIG) from None


def _asked(pool: str, config: Path | None) -> tuple[str, House]:
    """The pool's name, and the house."""
    from daemon.house import House

    settings = _settings(config) if config is not None else None
    linked = settings.linked if settings is not None else None
    name = pool or (linked.terms.pool if linked is not None else "")
    if not name:
        raise typer.BadParameter("name the pool, or a configuration with [linked]", param_hint="--pool")
    return name, settings.house if settings is not None else House()


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no date like 2026-12-01", param_hint="--day") from None


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or int(port) > MOST_PORT:
        raise typer.BadParameter(f"{listen!r} is not of the form HOST:PORT", param_hint="--listen")
    return host, int(port)


@contextmanager
def _floor(dsn: str, pool: str, as_json: bool) -> Iterator[Authority]:
    with connected(dsn, as_json) as wire:
        from daemon.linked.authority import Authority

        yield Authority(wire, pool)
