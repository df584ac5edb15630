"""``feltd``: the command line. Exit codes: 0 done, 1 failed or refused, 2 usage, 78 configuration.

A module here has the commands of one kind; what a command needs is imported inside it: ``feltd status``
must not wait for a simulator's imports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import typer

from daemon.cli import (
    console,
    devices,
    floor,
    install,
    journal,
    link,
    regulation,
    replay,
    report,
    simulation,
    staff,
    table,
)
from daemon.cli.output import whole_output
from daemon.cli.usage import Root

# Name -> command, in the order of `feltd --help`.
COMMANDS: Final[Mapping[str, Callable[..., None]]] = {
    "run": table.run,
    "check": table.check,
    "status": table.status,
    "rounds": table.rounds,
    "round": table.round_,
    "jackpot": table.jackpot,
    "incidents": table.incidents,
    "acts": table.acts,
    "act": table.act,
    "hand": regulation.hand,
    "award": regulation.award,
    "bench": devices.bench,
    "record": devices.record,
    "replay": replay.replay,
    "report": report.report,
    "suggest": devices.suggest,
    "sim": devices.sim,
    "console": console.console,
    "demo": simulation.demo,
    "simulate": simulation.simulate,
    "diagram": regulation.diagram,
    "verify-install": install.verify_install,
    "completion": install.completion,
    "version": install.version,
}
GROUPS: Final[Mapping[str, typer.Typer]] = {"journal": journal.app, "staff": staff.app, "link": link.app}

app: Final = typer.Typer(
    name="feltd",
    cls=Root,
    help="The controller of a poker table.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)
for _name, _group in GROUPS.items():
    app.add_typer(_group, name=_name)
link.app.command()(floor.status)
link.app.command()(floor.floor)


def main() -> None:
    """The console script."""
    with whole_output():
        app(prog_name="feltd")
