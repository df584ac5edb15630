"""What the daemon depends on at run time, as wheels: the ones that requirements.lock pins, by their hashes.

They are kept in ``build/deb``, in a folder that is named by what went into it. A package that has no wheel
(cobs) is compiled without debugging information, so that the bytes do not tell where.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).parents[1]
BUILD: Final = ROOT / "build" / "deb"
COMPILED_AT: Final = "946684800"  # any constant: a wheel does not depend on our commit
_PIN: Final = re.compile(r"^([\w.-]+)==.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def _pins() -> dict[str, str]:
    """Package -> its pin with its hashes, as in the lock file."""
    lock = (ROOT / "requirements.lock").read_text()
    return {canonicalize_name(pin[1]): pin[0] for pin in _PIN.finditer(lock)}


def _closure() -> list[str]:
    """The packages that are needed at run time, also by each other; sorted."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted, seen = [*project["dependencies"], *project["optional-dependencies"]["link"]], set[str]()
    while wanted:
        requirement = Requirement(wanted.pop())
        name = canonicalize_name(requirement.name)
        if name in seen or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        seen.add(name)
        wanted += requires(name) or []
        for extra in requirement.extras:
            # Without its marker, which says that it is only for the extra.
            wanted += [Requirement(each).name for each in requires(name) or [] if _is_of(each, extra)]
    return sorted(seen)


def _is_of(text: str, extra: str) -> bool:
    marker = Requirement(text).marker
    return marker is not None and not marker.evaluate({"extra": ""}) and marker.evaluate({"extra": extra})


def runtime_wheels() -> list[Path]:
    """The wheels, sorted; built or fetched if they are not there yet. Raises CalledProcessError."""
    pins = _pins()
    wanted = "".join(pins[name] for name in _closure())
    key = hashlib.sha256(f"{sys.version_info[:2]} {COMPILED_AT}\n{wanted}".encode()).hexdigest()[:12]
    folder = BUILD / f"wheels-{key}"
    if not folder.is_dir():
        half = BUILD / f"half-wheels-{os.getpid()}"
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(parents=True)
        (half / "pins.txt").write_text(wanted)
        _pip("wheel", "--no-deps", "--require-hashes", "-r", half / "pins.txt", "--wheel-dir", half)
        half.rename(folder)
    return sorted(folder.glob("*.whl"))


def own_wheel(folder: Path, epoch: int) -> Path:
    """The daemon's wheel, made from a copy in ``folder``; its files are dated ``epoch`` (Unix seconds)."""
    source = folder / "source"
    source.mkdir(parents=True)
    for name in _SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source)
    _pip("wheel", "--no-deps", "--no-build-isolation", source, "--wheel-dir", folder, epoch=epoch)
    return next(folder.glob("feltd-*.whl"))


_SOURCES: Final = ("daemon", "drivers", "pyproject.toml", "LICENSE", "README.md")


def _pip(*words: str | Path, epoch: int | None = None) -> None:
    environment = os.environ | {
        "SOURCE_DATE_EPOCH": COMPILED_AT if epoch is None else str(epoch),
        "CFLAGS": "-g0",
        "PYTHONHASHSEED": "0",
    }
    command = [sys.executable, "-m", "pip", words[0], "--quiet", "--disable-pip-version-check", *words[1:]]
    subprocess.run(command, check=True, env=environment, stdout=sys.stderr)
