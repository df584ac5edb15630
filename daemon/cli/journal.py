"""``feltd journal``: verify, export, back up and restore a journal, and change its key."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from daemon.cli.answers import FAILED, Json, a_file, fail, tell

if TYPE_CHECKING:
    from daemon.anchor import Anchor

app: Final = typer.Typer(help="Verify, export, back up and restore a journal.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(callback=a_file)]
Anchors = Annotated[
    list[str] | None,
    typer.Option(
        "--anchor", metavar="SEQ:HASH", help="A record that it had; 0: its header. May be repeated."
    ),
]


def _anchors(texts: Sequence[str] | None) -> tuple[Anchor, ...]:
    from daemon.anchor import Anchor

    try:
        return tuple(Anchor.parse(text) for text in texts or ())
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@app.command()
def backup(journal: File, target: File, as_json: Json = False) -> None:
    """Copy a journal, also while its table plays. The key file is not part of it: keep that apart.

    An older copy of the same journal is replaced; whatever else is at TARGET is kept.
    """
    from daemon import backup as backups
    from daemon import show
    from daemon.journal import JournalError

    try:
        tell(backups.backup(journal, target), as_json, show.facts)
    except JournalError as error:
        fail(str(error), as_json)


@app.command()
def restore(backup: File, journal: File, anchor: Anchors = None, as_json: Json = False) -> None:
    """Put a verified copy in a damaged journal's place, keep that aside, and tell what is missing."""
    from daemon import backup as backups
    from daemon import show
    from daemon.journal import JournalError

    try:
        done = backups.restore(backup, journal, _anchors(anchor))
        tell(done, as_json, lambda view: show.facts(_spoken(view)))
    except JournalError as error:
        fail(str(error), as_json)


def _spoken(restored: dict[str, Any]) -> dict[str, Any]:
    """The answer of a restore in people's words."""
    missing, said = restored["missing"], "none that anybody knows of"
    if missing is not None:
        first, last = missing["first"], missing["last"]
        said = f"records {first} to {last}" if last else f"records from {first} on, nobody knows how many"
    return {**restored, "kept": restored["kept"] or "nothing was there", "missing": said}


@app.command()
def rotate_key(
    journal: File,
    key: Annotated[
        Path, typer.Argument(callback=a_file, help="Its key file, which then has the new key too.")
    ],
    as_json: Json = False,
) -> None:
    """Seal card faces with a new key from now on. Stop the daemon first, and copy the key file afterwards."""
    from daemon import keys, show
    from daemon.journal import JournalError
    from daemon.sealer import SealError

    try:
        tell(keys.rotate(journal, key), as_json, show.facts)
    except (JournalError, SealError) as error:
        fail(str(error), as_json)


@app.command()
def begin_anew(
    journal: File,
    key: Annotated[
        Path,
        typer.Argument(callback=a_file, help="Its key file, which is kept; if that is lost, where it was."),
    ],
    why: Annotated[str, typer.Option(help="Written into the new journal's header.")],
    as_json: Json = False,
) -> None:
    """When the key is lost, or somebody saw it: close a journal, begin another that names it, with a new key.

    The old journal is kept beside the new one. Tells what people have to carry over.
    """
    from daemon import keys, show
    from daemon.journal import JournalError
    from daemon.sealer import SealError

    try:
        tell(keys.begin_anew(journal, key, why), as_json, show.facts)
    except (JournalError, SealError) as error:
        fail(str(error), as_json)


@app.command()
def verify(
    file: File,
    anchor: Anchors = None,
    quick: Annotated[bool, typer.Option("--quick", help="Look at the archives only briefly.")] = False,
    as_json: Json = False,
) -> None:
    """Check the sums, the hash chain and the anchors of a journal. Needs no key."""
    from daemon import audit, show

    found = (audit.verify_open if quick else audit.verify)(file, _anchors(anchor))
    tell(found, as_json, show.facts)
    raise typer.Exit(0 if found["verified"] else FAILED)


@app.command()
def export(
    file: File,
    out: Annotated[
        Path | None,
        typer.Option(
            callback=a_file, help="Instead of standard output: a new file, or in the place of an export."
        ),
    ] = None,
    canonical: Annotated[bool, typer.Option("--canonical", help="Faces in clear, no ciphertext.")] = False,
    key: Annotated[Path | None, typer.Option(callback=a_file, help="The key file, for --canonical.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --out: say so in one JSON object.")] = False,
) -> None:
    """Write a journal as JSON lines. A file is replaced only by a whole export."""
    from daemon import audit, show
    from daemon.journal import JournalError
    from daemon.sealer import SealError

    if as_json and out is None:
        raise typer.BadParameter("--json needs --out: standard output has the export itself")
    if key is not None and not canonical:
        raise typer.BadParameter("--key opens the faces for --canonical; without it they stay sealed")
    try:
        if out is not None:
            records = audit.export_to(file, out, canonical, key)
            tell({"records": records, "out": str(out)}, as_json, show.facts)
        else:
            audit.export(file, sys.stdout.buffer, canonical, key)
            sys.stdout.buffer.flush()
    except (JournalError, SealError) as error:
        fail(str(error), as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has seen enough
        raise typer.Exit(FAILED) from None
    except OSError as error:
        fail(f"{out or file}: {error.strerror}", as_json)
