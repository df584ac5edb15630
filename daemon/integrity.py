"""The installed files and the rule set, against what the package and the configuration say they are.

The package brings a manifest in the format of ``sha256sum``, so that an inspector needs no program of ours:
``sha256sum --check --quiet /opt/feltd/share/feltd/manifest.sha256``. Lines that begin with ``#`` tell the
symbolic links. The fingerprint of an installation is the SHA-256 of its manifest.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from daemon.table import Noticed

CODE: Final = "integrity"
PLACE: Final = "share/feltd/manifest.sha256"  # of the virtual environment
MOST_TOLD: Final = 3  # differences that are told by name
LINK: Final = "# "
ARROW: Final = " -> "
SHORT: Final = 16  # characters of a fingerprint that people compare


@dataclass(frozen=True, slots=True)
class Installation:
    """What was found. ``fingerprint`` is "" where no package was installed; ``differences`` are
    "PATH: changed", "missing", "not of the package" or why it cannot be read."""

    manifest: Path
    fingerprint: str
    files: int
    differences: tuple[str, ...]


def inspect(prefix: Path = Path(sys.prefix)) -> Installation:
    """Hash every file of the manifest below ``prefix``, and look for files that it does not name.

    A file that is not there is a difference, and so is one too many: it could be imported.
    """
    manifest = prefix / PLACE
    try:
        content = manifest.read_bytes()
    except OSError as error:
        return Installation(manifest, "", 0, (f"{manifest}: {error.strerror}",))
    expected = dict(_entries(content.decode(errors="replace")))
    differences = [*_changed(expected), *_unexpected(prefix, {*expected, str(manifest)})]
    return Installation(manifest, hashlib.sha256(content).hexdigest(), len(expected), tuple(differences))


def _entries(manifest: str) -> Iterator[tuple[str, str]]:
    """Path and what is expected there: 64 hexadecimal digits, or the arrow and target of a link."""
    for line in manifest.splitlines():
        if line.startswith(LINK):
            path, arrow, target = line.removeprefix(LINK).partition(ARROW)
            yield path, arrow + target
        else:
            digest, _, path = line.partition("  ")
            yield path, digest


def entry(path: Path, name: str) -> str:
    """The manifest's line for the file or link at ``path``, which is installed as ``name``."""
    found = _found(path)
    return f"{LINK}{name}{found}" if found.startswith(ARROW) else f"{found}  {name}"


def _found(path: Path) -> str:
    """What is there, as the manifest has it. Raises OSError."""
    if path.is_symlink():
        return f"{ARROW}{path.readlink()}"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _changed(expected: Mapping[str, str]) -> Iterator[str]:
    for name, wanted in expected.items():
        try:
            if _found(Path(name)) != wanted:
                yield f"{name}: changed"
        except FileNotFoundError:
            yield f"{name}: missing"
        except OSError as error:
            yield f"{name}: {error.strerror}"


def _unexpected(prefix: Path, known: Collection[str]) -> Iterator[str]:
    for folder, folders, files in os.walk(prefix):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in sorted((*files, *links)):
            path = os.path.join(folder, name)
            if path not in known:
                yield f"{path}: not of the package"


def rules_digest(rules: str) -> str:
    """The SHA-256 of a rule set's canonical text: what ``integrity.rules`` of a configuration pins."""
    return hashlib.sha256(rules.encode()).hexdigest()


def notices(found: Installation, rules: str, pinned: str, blocks: bool, latched: bool) -> list[Noticed]:
    """What the journal is told at a start.

    ``rules`` is the digest of the rule set in use, ``pinned`` the approved one ("" for any).
    ``blocks``: a difference is a fault; otherwise it is a note. ``latched``: the fault is there from before.
    """
    differences = list(found.differences)
    if pinned and pinned != rules:
        differences.insert(0, f"rules {rules[:SHORT]}, approved are {pinned[:SHORT]}")
    if not differences:
        over = [Noticed(CODE, "", False)] if latched else []
        return [*over, Noticed(CODE, f"{found.files} files as installed, {_marks(found, rules)}")]
    return [Noticed(CODE, f"{_summary(differences)}; {_marks(found, rules)}", True if blocks else None)]


def _marks(found: Installation, rules: str) -> str:
    return f"fingerprint {found.fingerprint[:SHORT] or 'none'}, rules {rules[:SHORT]}"


def _summary(differences: list[str]) -> str:
    more = len(differences) - MOST_TOLD
    told = ", ".join(differences[:MOST_TOLD])
    return f"{told} and {more} more" if more > 0 else told
