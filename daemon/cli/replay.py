"""``feltd replay``: a recording through its driver or a table, or a round told again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from daemon.cli.answers import DEFAULT_SOCKET, FAILED, Json, a_file, asking, fail, house_of, settings_of, tell
from daemon.cli.report import errors_of
from daemon.visible import visible


def replay(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE…")] = None,
    round_id: Annotated[
        str | None, typer.Option("--round", metavar="ID|last", help="Not a file: a round, told again.")
    ] = None,
    journal: Annotated[
        Path | None, typer.Option(callback=a_file, help="With --round: of this journal.")
    ] = None,
    socket: Annotated[
        Path, typer.Option("--socket", envvar="FELTD_SOCKET", help="With --round: of this daemon's table.")
    ] = DEFAULT_SOCKET,
    config: Annotated[Path | None, typer.Option(help="With --journal: the house's time zone.")] = None,
    table: Annotated[Path | None, typer.Option(help="Through the table of this configuration.")] = None,
    role: Annotated[str, typer.Option(help="With --protocol: instead of what the header says.")] = "",
    protocol: Annotated[str, typer.Option(help="The protocol whose driver is to read it.")] = "",
    speed: Annotated[float | None, typer.Option(min=0.001, help="Times real time; else at once.")] = None,
    faces: Annotated[bool, typer.Option("--faces", help="Show faces; not with --table. Bench only.")] = False,
    as_json: Json = False,
) -> None:
    """Tell what recordings say, through their driver or a whole table; or a round again, for a dispute."""
    if bool(files) == (round_id is not None):
        raise typer.BadParameter("give recordings, or --round")
    if round_id is not None:
        _tell_again(round_id, journal, config, socket, as_json)
        return
    from daemon.recording import RecordingError, read
    from daemon.replay import ReplayError, as_plain, lines, paced, views

    if table is not None and (faces or role or protocol):
        raise typer.BadParameter("--table knows the devices and keeps faces down; it stands alone")
    settings = settings_of(table, as_json) if table is not None else None
    try:
        read_files = [(file, read(file)) for file in files or ()]
        found = [paced(each, speed) for each in views(read_files, settings, role, protocol, faces)]
        if as_json:
            print(json.dumps({"replays": [as_plain(each) for each in found]}, ensure_ascii=False))
            return
        for each in found:
            for line in lines(each):
                print(visible(line))
    except (RecordingError, ReplayError) as error:
        fail(str(error), as_json)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}", as_json)


def _tell_again(
    round_id: str, journal: Path | None, config: Path | None, socket: Path, as_json: bool
) -> None:
    """One round, by the daemon or from a journal."""
    from daemon import show
    from daemon.journal import JournalError
    from daemon.report import NoSuchRound
    from daemon.report import story as of

    number = None if round_id == "last" else _round_number(round_id)
    if journal is None:
        with asking(socket, as_json) as client:
            told = client.story(number)
    else:
        try:
            told = {**of(journal, house_of(config, as_json), number, errors=errors_of(journal))}
        except (NoSuchRound, JournalError) as error:
            fail(str(error), as_json)
    tell(told, as_json, show.story)
    raise typer.Exit(0 if told["verified"] else FAILED)


def _round_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise typer.BadParameter(f"{text!r} is neither a round's number nor last")
    return int(text)
