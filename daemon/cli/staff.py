"""``feltd staff``: who may begin a session. The PIN is asked for, and is in no argument."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from daemon.cli.answers import Json, asked_pin, fail, say

app: Final = typer.Typer(help="People who may begin a session at a table.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar="FILE", help="staff.file of the configuration.")]
Name = Annotated[str, typer.Argument(metavar="NAME")]


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
        fail("the PINs differ", as_json)
    try:
        new = StaffFile(file).add(person(name, role, pin))
    except (ValueError, StaffError) as error:
        fail(str(error), as_json)
    except OSError as error:
        fail(f"{file}: {error.strerror}", as_json)
    told = {"name": name, "role": role, "new": new}
    say(told, f"{name} ({role}) {'added' if new else 'replaced'}", as_json)


@app.command()
def remove(file: File, name: Name, as_json: Json = False) -> None:
    """Remove a person, whose sessions end."""
    from daemon.sessions import StaffError, StaffFile

    try:
        removed = StaffFile(file).remove(name)
    except StaffError as error:
        fail(str(error), as_json)
    except OSError as error:
        fail(f"{file}: {error.strerror}", as_json)
    if not removed:
        fail(f"{file}: there is no {name}", as_json)
    say({"name": name}, f"{name} removed", as_json)


@app.command("list")
def list_(file: File, as_json: Json = False) -> None:
    """Who is in the file."""
    from daemon.sessions import StaffError, StaffFile

    try:
        people = StaffFile(file).people().values()
    except StaffError as error:
        fail(str(error), as_json)
    lines = "\n".join(f"{each.name}  {each.role}" for each in people) or "nobody"
    say({"staff": [{"name": each.name, "role": each.role} for each in people]}, lines, as_json)
