"""``feltd report``: a gaming day, by the daemon or from a journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from daemon.cli.answers import DEFAULT_SOCKET, FAILED, Json, Socket, a_file, asking, fail, house_of, tell

if TYPE_CHECKING:
    from datetime import date

    from daemon.report import Report


def report(
    day: Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="The date on which the gaming day began.")],
    shift: Annotated[str, typer.Option(metavar="NAME", help="One shift of it.")] = "",
    journal: Annotated[
        Path | None, typer.Option(callback=a_file, help="Of this journal, read beside the play.")
    ] = None,
    socket: Socket = DEFAULT_SOCKET,
    config: Annotated[
        Path | None, typer.Option(help="With --journal: time zone, gaming day and shifts; else Macau's.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=a_file,
            help="Write it as a page to print, too: a new file, or in the place of such a page.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """A gaming day or a shift: rounds, drop, payouts, pool, irregularities, reconciled to the unit."""
    from daemon import show
    from daemon.journal import JournalError
    from daemon.report import NoSuchDay
    from daemon.report import report as of

    date = _date(day)
    if journal is None:
        with asking(socket, as_json) as client:
            told = client.report(date.isoformat(), shift)
    else:
        try:
            told = {**of(journal, house_of(config, as_json), date, shift, errors=errors_of(journal))}
        except (NoSuchDay, JournalError) as error:
            fail(str(error), as_json)
    if html is not None:
        _write_page(html, cast("Report", told), as_json)
    tell(told, as_json, show.report)
    raise typer.Exit(0 if told["reconciled"] and told["verified"] else FAILED)


def _write_page(html: Path, told: Report, as_json: bool) -> None:
    from daemon.aside import KeptError, written_aside
    from daemon.report.page import BEGINS, page

    try:
        with written_aside(html, lambda begins: begins.startswith(BEGINS.encode())) as file:
            file.write(page(told).encode())
    except KeptError as error:
        fail(str(error), as_json)
    except OSError as error:
        fail(f"{html}: {error.strerror}", as_json)


def _date(text: str) -> date:
    from datetime import date

    try:
        return date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no date: YYYY-MM-DD") from None


def errors_of(journal: Path) -> list[str]:
    """What a look at the whole open file and at each archive's end finds."""
    from daemon import audit

    return audit.verify_open(journal)["errors"]
