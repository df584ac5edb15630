"""What the commands share: their common options, how they answer, and how they fail."""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from daemon.visible import LINES, visible

if TYPE_CHECKING:
    from daemon.client import Client
    from daemon.config import Settings
    from daemon.games.caribbean.rules import CaribbeanRules
    from daemon.house import House

FAILED: Final = 1
BAD_CONFIG: Final = 78  # EX_CONFIG
DEFAULT_SOCKET: Final = Path("/run/feltd/feltd.sock")
_NOT_THERE: Final = (
    "Start the daemon (feltd run, as a service systemctl start feltd), or name its socket with --socket or "
    "FELTD_SOCKET"
)

Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Socket = Annotated[Path, typer.Option("--socket", envvar="FELTD_SOCKET", help="The daemon's socket.")]
Config = Annotated[Path, typer.Option("--config", help="The table's configuration.")]


def tell(value: Mapping[str, Any], as_json: bool, show: Callable[[dict[str, Any]], None]) -> None:
    """An answer: one JSON object, or what ``show`` prints of it for people."""
    if as_json:
        print(json.dumps(value, ensure_ascii=False))
    else:
        show(dict(value))


def say(facts: Mapping[str, object], sentence: str, as_json: bool) -> None:
    """An answer that people read in one sentence."""
    print(json.dumps(facts, ensure_ascii=False) if as_json else visible(sentence, LINES))


def fail(sentence: str, as_json: bool = False) -> NoReturn:
    """The thing asked for failed or was refused: exit code 1."""
    print(f"feltd: {visible(sentence, LINES)}", file=sys.stderr)
    if as_json:
        print(json.dumps({"error": sentence}, ensure_ascii=False))
    raise typer.Exit(FAILED)


def bad_config(problems: Sequence[str], as_json: bool = False) -> NoReturn:
    """Every problem on standard error, and exit code 78."""
    print("\n".join(map(visible, problems)), file=sys.stderr)
    if as_json:
        print(json.dumps({"error": problems[0], "problems": list(problems)}, ensure_ascii=False))
    raise typer.Exit(BAD_CONFIG)


def settings_of(path: Path, as_json: bool = False) -> Settings:
    """A configuration; one that is wrong ends the command."""
    from daemon.config import ConfigError, load

    try:
        return load(path)
    except ConfigError as error:
        bad_config(error.problems, as_json)


def caribbean_of(settings: Settings, as_json: bool) -> CaribbeanRules:
    """Its rules; another game's end the command."""
    from daemon.config import ConfigError

    try:
        return settings.caribbean
    except ConfigError as error:
        bad_config(error.problems, as_json)


def house_of(config: Path | None, as_json: bool) -> House:
    """The house of a configuration; without one that of Macau, its day beginning at six."""
    from daemon.house import House

    return settings_of(config, as_json).house if config is not None else House()


@contextmanager
def asking(socket: Path, as_json: bool) -> Iterator[Client]:
    """The daemon's API for one command; no answer, or a refusal, ends the command."""
    from daemon.client import ApiError, Client, NotRunning

    try:
        with Client(socket) as client:
            yield client
    except NotRunning as error:
        fail(f"{error}. {_NOT_THERE}" if "nobody answers" in str(error) else str(error), as_json)
    except ApiError as error:
        fail(str(error), as_json)


def a_file(path: Path | None) -> Path | None:
    """What an option or argument names is some file. Wrong usage for an empty one."""
    if path is not None and not path.name:
        raise typer.BadParameter("names no file: give the path of one")
    return path


def pairs_of(words: Sequence[str]) -> dict[str, str]:
    """``key=value`` words. Wrong usage for anything else, and for a key that is given twice."""
    pairs: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{word!r} is not of the form key=value")
        if key in pairs:
            raise typer.BadParameter(f"{key}= is given twice")
        pairs[key] = value
    return pairs


def address_of(text: str, wrong: str = "is not HOST:PORT", option: str | None = None) -> tuple[str, int]:
    """Host and port. Wrong usage for anything else, told in the words ``wrong``."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 0xFFFF:
        raise typer.BadParameter(f"{text!r} {wrong}", param_hint=option)
    return host, int(port)


def asked_pin(prompt: str) -> str:
    """A PIN from the terminal, not echoed; from a pipe its first line."""
    if sys.stdin.isatty():
        return getpass.getpass(f"{prompt}: ")
    return sys.stdin.readline().rstrip("\n")
