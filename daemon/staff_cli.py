"""``feltd staff``: who may begin a session. The PIN is asked for, and is in no argument."""

from __future__ import annotations

import getpass
import json
import sys
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

app: Final = typer.Typer(help="People who may begin a session at a table.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar="FILE", help="staff.file of the configuration.")]
Name = Annotated[str, typer.Argument(metavar="NAME")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def _fail(sentence: str, as_json: bool) -> NoReturn:
    print(f"feltd: {sentence}", file=sys.stderr)
    if as_json:
        print(json.dumps({"error": sentence}, ensure_ascii=False))
    raise typer.Exit(1)


def _tell(as_json: bool, sentence: str, **facts: object) -> None:
    print(json.dumps(facts, ensure_ascii=False) if as_json else sentence)


def asked_pin(prompt: str) -> str:
    """A PIN from the terminal, not echoed; from a pipe its first line."""
    if sys.stdin.isatty():
        return getpass.getpass(f"{prompt}: ")
    return sys.stdin.readline().rstrip("\n")


@app.command()
def add(
    file: File,
    name: Name,
    role: Annotated[str, typer.Option(help="dealer, supervisor, technician or auditor.")],
    as_json: Json = False,
) -> None:
    """Add a person, or give one another role and PIN. Sessions of the former end."""
    from daemon.sessions import StaffError, StaffFile, person

    pin = asked_pin(f"PIN of {name}")
    if sys.stdin.isatty() and asked_pin("Once more") != pin:
        _fail("the PINs differ", as_json)
    try:
        new = StaffFile(file).add(person(name, role, pin))
    except (ValueError, StaffError) as error:
        _fail(str(error), as_json)
    except OSError as error:
        _fail(f"{file}: {error.strerror}", as_json)
    _tell(as_json, f"{name} ({role}) {'added' if new else 'replaced'}", name=name, role=role, new=new)


@app.command()
def remove(file: File, name: Name, as_json: Json = False) -> None:
    """Remove a person, whose sessions end."""
    from daemon.sessions import StaffError, StaffFile

    try:
        removed = StaffFile(file).remove(name)
    except StaffError as error:
        _fail(str(error), as_json)
    except OSError as error:
        _fail(f"{file}: {error.strerror}", as_json)
    if not removed:
        _fail(f"{file}: there is no {name}", as_json)
    _tell(as_json, f"{name} removed", name=name)


@app.command("list")
def list_(file: File, as_json: Json = False) -> None:
    """Who is in the file."""
    from daemon.sessions import StaffError, StaffFile

    try:
        people = StaffFile(file).people().values()
    except StaffError as error:
        _fail(str(error), as_json)
    lines = "\n".join(f"{each.name}  {each.role}" for each in people) or "nobody"
    _tell(as_json, lines, staff=[{"name": each.name, "role": each.role} for each in people])
