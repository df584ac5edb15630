"""``feltd run|check``, and what may be seen of a running table and done at it."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from daemon.cli.answers import (
    BAD_CONFIG,
    DEFAULT_SOCKET,
    FAILED,
    Config,
    Json,
    Socket,
    asked_pin,
    asking,
    fail,
    pairs_of,
    settings_of,
    tell,
)
from daemon.visible import visible

if TYPE_CHECKING:
    from daemon.client import Client

RESERVED: Final = ("by", "role", "second", "key")
_ACT_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,47}")

Watch = Annotated[bool, typer.Option("--watch", help="Again after every change; with --json a line each.")]


def run(config: Config) -> None:
    """Run the table in the foreground until SIGTERM or SIGINT."""
    settings = settings_of(config)
    from daemon.app import run as serve

    raise typer.Exit(serve(settings))


def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…")],
    as_json: Json = False,
) -> None:
    """Check configurations: every error as "FILE: dotted.key: what is wrong"; a note on every file that a
    right one names and this machine has not as it needs it."""
    from daemon.bench import file as bench_file
    from daemon.config import ConfigError, load
    from daemon.named import missing

    problems: list[str] = []
    notes: list[str] = []
    for file in files:
        try:
            if bench_file.is_bench(file):
                bench_file.load(file)
            else:
                notes += [f"{file}: {note}" for note in missing(load(file))]
        except ConfigError as error:
            problems += error.problems
    if as_json:
        print(json.dumps({"ok": not problems, "problems": problems, "notes": notes}, ensure_ascii=False))
    else:
        print("\n".join(map(visible, problems)) if problems else f"{len(files)} checked: no error")
        for note in notes:
            print(f"note: {visible(note)}")
    raise typer.Exit(BAD_CONFIG if problems else 0)


# --- what may be seen ------------------------------------------------------------------------


def status(socket: Socket = DEFAULT_SOCKET, as_json: Json = False, watch: Watch = False) -> None:
    """The table now: state, round, pool, faults, devices."""
    _see("status", lambda client: client.status(), socket, as_json, watch)


def rounds(
    last: Annotated[int, typer.Option(min=1, max=200, help="How many.")] = 20,
    socket: Socket = DEFAULT_SOCKET,
    as_json: Json = False,
    watch: Watch = False,
) -> None:
    """The last rounds, newest first."""
    _see("rounds", lambda client: {"rounds": client.rounds(last)}, socket, as_json, watch)


def round_(
    round_id: Annotated[int, typer.Argument(metavar="ID", min=1)],
    socket: Socket = DEFAULT_SOCKET,
    as_json: Json = False,
) -> None:
    """One round: the running one, or a closed one."""
    _see("round_", lambda client: client.round(round_id), socket, as_json)


def jackpot(socket: Socket = DEFAULT_SOCKET, as_json: Json = False, watch: Watch = False) -> None:
    """The pool, the sign, and what is not paid yet."""
    _see("jackpot", lambda client: client.jackpot(), socket, as_json, watch)


def incidents(socket: Socket = DEFAULT_SOCKET, as_json: Json = False, watch: Watch = False) -> None:
    """Irregularities of the last rounds, and latched faults."""
    _see("incidents", lambda client: client.incidents(), socket, as_json, watch)


def acts(socket: Socket = DEFAULT_SOCKET, as_json: Json = False, watch: Watch = False) -> None:
    """Every act of this table's game, and whether it may be done now."""
    _see("acts", lambda client: client.acts(), socket, as_json, watch)


def _see(
    what: str, ask: Callable[[Client], Mapping[str, Any]], socket: Path, as_json: bool, watch: bool = False
) -> None:
    """Ask the daemon; ``what`` is the function of daemon.show that prints the answer for people."""
    from daemon import show

    print_it: Callable[[dict[str, Any]], None] = getattr(show, what)
    asked = ask if as_json else _with_house(ask)
    if watch:
        _watch(asked, socket, as_json, print_it)
    with asking(socket, as_json) as client:
        tell(asked(client), as_json, print_it)


def _with_house(ask: Callable[[Client], Mapping[str, Any]]) -> Callable[[Client], Mapping[str, Any]]:
    """For people: the answer with the house's time zone, which only the status has."""

    def asked(client: Client) -> Mapping[str, Any]:
        answer = ask(client)
        return answer if "house" in answer else {**answer, "house": client.status().get("house")}

    return asked


def _watch(
    ask: Callable[[Client], Mapping[str, Any]],
    socket: Path,
    as_json: bool,
    print_it: Callable[[dict[str, Any]], None],
) -> NoReturn:
    """Until SIGINT, or until nobody reads. A daemon that is away is waited for."""
    from daemon import show
    from daemon.client import ApiError
    from daemon.follow import follow

    def again(answer: Mapping[str, Any]) -> None:
        if not as_json and sys.stdout.isatty():
            show.console.clear()
        tell(answer, as_json, print_it)
        sys.stdout.flush()

    def away(reason: str) -> None:
        print(f"feltd: {visible(reason)}", file=sys.stderr, flush=True)

    try:
        follow(socket, ask, again, away)
    except ApiError as error:
        fail(str(error), as_json)
    except KeyboardInterrupt:
        raise typer.Exit(0) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(FAILED) from None


# --- what is done -----------------------------------------------------------------------------


def _act_names(incomplete: str) -> list[str]:
    from daemon.roles import FORMS

    names = {form.name for forms in FORMS.values() for form in forms}
    return sorted(name for name in names if name.startswith(incomplete))


def act(
    name: Annotated[str, typer.Argument(autocompletion=_act_names)],
    words: Annotated[list[str] | None, typer.Argument(metavar="key=value…")] = None,
    second: Annotated[
        str, typer.Option(metavar="NAME", help="A second person, who is asked for the PIN.")
    ] = "",
    socket: Socket = DEFAULT_SOCKET,
    as_json: Json = False,
) -> None:
    """Do one operator's act, and tell what became of it. Reserved: by= role= second= key= replaces=."""
    from daemon import show

    if not _ACT_NAME.fullmatch(name):
        raise typer.BadParameter(f"{name!r} is no act's name, such as open-table: feltd acts has them all")
    args = pairs_of(words or [])
    who: dict[str, Any] = {key: args.pop(key) for key in RESERVED if key in args}
    replaces = args.pop("replaces", "0")
    if not (replaces.isascii() and replaces.isdecimal()):
        raise typer.BadParameter(f"replaces={replaces!r} is no record's number")
    if "file" in args:  # the daemon has another working directory
        args["file"] = str(Path(args["file"]).absolute())
    if second:
        who["second"] = {"name": second, "pin": asked_pin(f"PIN of {second}")}
    with asking(socket, as_json) as client:
        answer = client.act(name, **who, replaces=int(replaces), **args)
    tell(answer, as_json, show.act)
    raise typer.Exit(0 if answer["accepted"] else FAILED)
