"""``feltd link status|floor``: what the floor sees of a pool."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from daemon.cli.answers import FAILED, Json, address_of, fail, settings_of
from daemon.cli.link import Dsn, connected, named

if TYPE_CHECKING:
    from daemon.house import House
    from daemon.linked.authority import Authority

DEFAULT_PORT: Final = 8081

AnyTable = Annotated[
    Path | None,
    typer.Option("--config", help="A table of the pool: the pool's name, and the house."),
]
Pool = Annotated[
    str, typer.Option("--pool", callback=named, help="The pool's name; by default the configuration's.")
]


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
    host, port = address_of(listen, "is not of the form HOST:PORT", "--listen")
    from daemon.console.serving import NotLoopback
    from daemon.linked import floor_page

    def ready(url: str) -> None:
        print(f"feltd link floor: {url}", file=sys.stderr)

    try:
        floor_page.serve(dsn, name, house, host, port, public, ready)
    except (NotLoopback, OSError) as error:
        fail(f"{listen}: {error}", False)


# --- what is asked for -------------------------------------------------------------------------


def _asked(pool: str, config: Path | None) -> tuple[str, House]:
    """The pool's name, and the house."""
    from daemon.house import House

    settings = settings_of(config) if config is not None else None
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


@contextmanager
def _floor(dsn: str, pool: str, as_json: bool) -> Iterator[Authority]:
    with connected(dsn, as_json) as wire:
        from daemon.linked.authority import Authority

        yield Authority(wire, pool)
