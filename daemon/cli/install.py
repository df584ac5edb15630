"""``feltd verify-install|completion|version``: this program itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from daemon.cli.answers import FAILED, Json, settings_of, tell

SHELLS: Final = ("bash", "zsh", "fish")


def verify_install(
    config: Annotated[Path | None, typer.Option("--config", help="Tell its rule set's digest too.")] = None,
    as_json: Json = False,
) -> None:
    """Compare the installed files with the package's manifest, and print the fingerprint of both."""
    from daemon import __version__, show
    from daemon.integrity import inspect, rules_digest

    rules = rules_digest(settings_of(config, as_json).rules.text()) if config is not None else None
    found = inspect()
    told = {
        "version": __version__,
        "manifest": str(found.manifest),
        "fingerprint": found.fingerprint,
        "files": found.files,
        "differences": list(found.differences),
        "rules": rules,
        "ok": not found.differences,
    }
    # For people, without a configuration there is nothing to say of its rules.
    tell(told, as_json, lambda view: show.facts({k: v for k, v in view.items() if v is not None}))
    raise typer.Exit(FAILED if found.differences else 0)


def completion(shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish")]) -> None:
    """The script that completes feltd's commands, for a shell's folder of completions."""
    from typer._completion_shared import get_completion_script

    if shell not in SHELLS:
        raise typer.BadParameter(f"{shell!r} is none of {', '.join(SHELLS)}")
    print(get_completion_script(prog_name="feltd", complete_var="_FELTD_COMPLETE", shell=shell))


def version() -> None:
    """The version of this program."""
    from daemon import __version__

    print(f"feltd {__version__}")
