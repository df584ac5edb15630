"""The manual pages: feltd(1) from the command line's own help, feltd.toml(5) from the settings' own types
and the commented samples."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from daemon.cli import app
from tools import settings_page

ROOT: Final = Path(__file__).parents[1]
SAMPLES: Final = ("caribbean.toml", "five-card.toml")
EXIT: Final = {
    "0": "done",
    "1": "the thing asked for failed or was refused",
    "2": "wrong usage",
    "78": "bad configuration; every error was printed",
}
FILES: Final = {
    "/etc/feltd/feltd.toml": "the table's configuration; the service starts once it is there",
    "/etc/feltd/alarm": "if executable, called with the name of a unit that failed for good",
    "/var/lib/feltd": "the journal and its sealing key: the books, kept also by a purge",
    "/run/feltd/feltd.sock": "the API; its directory is open to the group feltd",
    "/usr/share/feltd": "sample configurations, and the drop-in for device servers",
    "/opt/feltd/share/feltd/manifest.sha256": "what is installed, for sha256sum --check too",
}


def manuals(version: str) -> dict[str, str]:
    """File name -> text of every page."""
    return {"feltd.1": "\n".join(_feltd(version)) + "\n", "feltd.toml.5": "\n".join(_toml(version)) + "\n"}


def _feltd(version: str) -> Iterator[str]:
    yield f'.TH FELTD 1 "" "feltd {version}" "Table controller"'
    yield from (".SH NAME", r"feltd \- controller of a poker table")
    yield from (".SH SYNOPSIS", r"\fBfeltd\fR \fICOMMAND\fR [\fIOPTION\fR...] [\fIARGUMENT\fR...]")
    yield from (".SH DESCRIPTION", "Every command that prints results takes \\fB\\-\\-json\\fR.")
    yield ".SH COMMANDS"
    for name, command in _commands(typer.main.get_command(app)):
        yield f".SS feltd {_plain(name)}"
        yield _plain(inspect.cleandoc(command.help or "").replace("\n\n", "\n.PP\n"))
        for parameter in command.params:
            yield from _parameter(parameter)
    yield ".SH EXIT STATUS"
    yield from _list(EXIT)
    yield ".SH FILES"
    yield from _list(FILES)
    yield from (".SH SEE ALSO", ".BR feltd.toml (5), \\ /usr/share/doc/feltd/README.md")


def _commands(command: object, name: str = "") -> Iterator[tuple[str, TyperCommand]]:
    if isinstance(command, TyperGroup):
        for below, each in sorted(command.commands.items()):
            yield from _commands(each, f"{name} {below}".strip())
    elif isinstance(command, TyperCommand):
        yield name, command


def _parameter(parameter: object) -> Iterator[str]:
    if isinstance(parameter, TyperOption):
        names = ", ".join(parameter.opts)
    elif isinstance(parameter, TyperArgument):
        names = parameter.metavar or str(parameter.name).upper()
    else:
        return
    yield from (".TP", f"\\fB{_plain(names)}\\fR", _plain(parameter.help or ""))


def _list(entries: dict[str, str]) -> Iterator[str]:
    for name, text in entries.items():
        yield from (".TP", f"\\fB{_plain(name)}\\fR", _plain(text))


def _toml(version: str) -> Iterator[str]:
    yield f'.TH FELTD.TOML 5 "" "feltd {version}" "Table controller"'
    yield from (".SH NAME", r"feltd.toml \- configuration of a table")
    yield ".SH DESCRIPTION"
    yield "TOML. Amounts are whole numbers of minor units, rates exact fractions in quotes, paths relative to"
    yield "the file. A key that is not known is an error; \\fBfeltd check\\fR tells all of them."
    yield ".SH KEYS"
    yield from _keys()
    for sample in SAMPLES:
        yield from (
            f".SH {sample.upper()}",
            ".nf",
            _plain((ROOT / "config" / sample).read_text().rstrip()),
            ".fi",
        )


def _keys() -> Iterator[str]:
    """Every section and key, as docs/settings.md has them."""
    for (section, game), keys in settings_page.table().items():
        yield f".SS [{_plain(section)}]{f' at {_plain(game)}' if game else ''}"
        yield _plain(_unmarked(settings_page.TEXT["sections"].get(section, "")))
        for key, kind, limits, default, meaning in keys:
            yield from (".TP", f"\\fB{_plain(key)}\\fR")
            facts = "; ".join(filter(None, (kind, limits, f"default {default}")))
            facts = facts.replace("default **required**", "required").replace("one of; ", "one of ")
            yield _plain(_unmarked(f"{meaning} ({facts})"))


def _unmarked(text: str) -> str:
    """Markdown's links and backquotes taken away."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "")


def _plain(text: str) -> str:
    """Text that troff prints as it is."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(
        f"\\&{line}" if line.startswith((".", "'")) and line != ".PP" else line for line in lines
    )


def main() -> None:
    """Print one page: ``python -m tools.manual feltd.1``."""
    from daemon import __version__

    print(manuals(__version__)[sys.argv[1]], end="")


if __name__ == "__main__":
    main()
