"""``make deb``: the Debian package, with a virtual environment of its own in /opt/feltd.

It is put together by ``dpkg-deb`` alone. The same sources and the same lock file give the same bytes: every
file has one date (SOURCE_DATE_EPOCH, or the last commit's), one owner and one mode; bytecode is compiled
here, for the Python of Debian 12, and is never looked up by date. Nothing is compiled, fetched or changed
when it is installed, so that the manifest holds for as long as nobody touches the files.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from daemon import __version__
from daemon.integrity import PLACE, entry
from tools.manual import manuals
from tools.sbom import sbom
from tools.wheels import BUILD, ROOT, own_wheel, runtime_wheels

PYTHON: Final = (3, 11)  # of Debian 12
REVISION: Final = "1"
PREFIX: Final = "opt/feltd"
SITE: Final = f"{PREFIX}/lib/python3.11/site-packages"
UNITS: Final = "usr/lib/systemd/system"
SOURCES: Final = ("daemon", "drivers", "config", "systemd", "packaging", "docs", "pyproject.toml")
# Small systems leave them out, and nothing runs from there.
UNREAD: Final = ("/usr/share/doc/", "/usr/share/man/")
SCRIPTS: Final = ("postinst", "prerm", "postrm")
# -I: neither the working directory nor the environment says what is imported; -B: no bytecode is written.
LAUNCHER: Final = """\
#!/opt/feltd/bin/python -IB
import sys

from daemon.cli import main

sys.exit(main())
"""
VENV: Final = "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11\n"


class BuildError(Exception):
    """The package cannot be built here; the text is one sentence."""


def build(version: str, target: Path, epoch: int) -> Path:
    """Build ``feltd_VERSION_ARCHITECTURE.deb`` in the folder ``target``; its files are dated ``epoch``.

    Raises BuildError, CalledProcessError.
    """
    if sys.version_info[:2] != PYTHON or not shutil.which("dpkg-deb"):
        raise BuildError("the package is built with dpkg-deb and Python {}.{}, Debian 12's".format(*PYTHON))
    architecture = _run("dpkg", "--print-architecture").strip()
    work = BUILD / f"work-{os.getpid()}"
    shutil.rmtree(work, ignore_errors=True)
    try:
        tree = work / "tree"
        _fill(tree, work, epoch)
        _describe(tree, version, architecture)
        _normalise(tree, epoch)
        target.mkdir(parents=True, exist_ok=True)
        package = target / f"feltd_{version}_{architecture}.deb"
        _pack(tree, package, epoch)
        return package
    finally:
        shutil.rmtree(work, ignore_errors=True)


def source_epoch() -> int:
    """The date of the sources, Unix seconds: what is asked for, the last commit's, or the newest file's."""
    if asked := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(asked)
    told = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if told.returncode == 0 and (ROOT / ".git").exists():
        return int(told.stdout)
    return int(max(path.stat().st_mtime for name in SOURCES for path in _files(ROOT / name)))


def _files(place: Path) -> Iterator[Path]:
    """Files and links at or below ``place``, sorted; no caches."""
    found = _all(place) if place.is_dir() else [place]
    return (path for path in found if "__pycache__" not in path.parts)


# --- the tree ---------------------------------------------------------------------------------


def _fill(tree: Path, work: Path, epoch: int) -> None:
    wheels = runtime_wheels()
    shutil.copytree(_dependencies(wheels), tree)
    own = work / "code"
    _unpack(own_wheel(work / "own", epoch), own / SITE)
    _compile(own)
    shutil.copytree(own, tree, dirs_exist_ok=True)
    _environment(tree)
    _system_files(tree)
    _manuals(tree)
    _write(tree / f"{PREFIX}/share/feltd/sbom.cdx.json", sbom(__version__, epoch, wheels) + "\n")


def _dependencies(wheels: Sequence[Path]) -> Path:
    """A tree with the wheels installed and compiled, kept beside them: it takes half of the time."""
    kept = wheels[0].parent.with_name(wheels[0].parent.name.replace("wheels", "tree"))
    if not kept.is_dir():
        half = BUILD / f"half-tree-{os.getpid()}"
        shutil.rmtree(half, ignore_errors=True)
        for wheel in wheels:
            _unpack(wheel, half / SITE)
        _compile(half)
        half.rename(kept)
    return kept


def _unpack(wheel: Path, site: Path) -> None:
    """A wheel as pip would install it, without the scripts and data that it brings."""
    site.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for data in site.glob("*.data"):
        for kind in ("purelib", "platlib"):
            if (data / kind).is_dir():
                shutil.copytree(data / kind, site, dirs_exist_ok=True)
        shutil.rmtree(data)


def _environment(tree: Path) -> None:
    prefix = tree / PREFIX
    _write(prefix / "pyvenv.cfg", VENV)
    _write(prefix / "bin/feltd", LAUNCHER, 0o755)
    (prefix / "bin/python").symlink_to("/usr/bin/python3.11")
    (tree / "usr/bin").mkdir(parents=True)
    (tree / "usr/bin/feltd").symlink_to("../../opt/feltd/bin/feltd")


def _system_files(tree: Path) -> None:
    systemd = ROOT / "systemd"
    for unit in sorted(systemd.glob("*.service")):
        _copy(unit, tree / UNITS / unit.name)
    _copy(systemd / "60-feltd.rules", tree / "usr/lib/udev/rules.d/60-feltd.rules")
    for kind in ("sysusers", "tmpfiles", "modules-load"):
        _copy(systemd / f"{kind}.conf", tree / f"usr/lib/{kind}.d/feltd.conf")
    for sample in (*_files(ROOT / "config"), systemd / "tcp-devices.conf"):
        _copy(sample, tree / "usr/share/feltd" / sample.name)


def _manuals(tree: Path) -> None:
    doc = tree / "usr/share/doc/feltd"
    _copy(ROOT / "packaging/copyright", doc / "copyright")
    for page in _files(ROOT / "docs"):
        if page.suffix == ".md":
            _copy(page, doc / page.relative_to(ROOT / "docs"))
    _squeeze((ROOT / "CHANGELOG.md").read_bytes(), doc / "changelog.gz")
    for name, text in manuals(__version__).items():
        _squeeze(text.encode(), tree / f"usr/share/man/man{name[-1]}/{name}.gz")


def _compile(tree: Path) -> None:
    """Bytecode that says where its source will be, and no more of this machine."""
    words = ("-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "-s", tree, "-p", "/")
    # What it does not take is a template, or meant for another Python: it stays as it is.
    subprocess.run(
        [sys.executable, *words, tree / SITE],
        check=False,
        env=os.environ | {"PYTHONHASHSEED": "0"},
        stdout=subprocess.DEVNULL,
    )


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _squeeze(content: bytes, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(content, 9, mtime=0))


# --- the package ------------------------------------------------------------------------------


def _describe(tree: Path, version: str, architecture: str) -> None:
    """The manifest, and what dpkg wants to know."""
    named = ((path, f"/{path.relative_to(tree)}") for path in _all(tree))
    installed = [(path, name) for path, name in named if not name.startswith(UNREAD)]
    _write(tree / PREFIX / PLACE, "".join(f"{entry(path, name)}\n" for path, name in installed))
    files = [path for path in _all(tree) if not path.is_symlink()]
    control = (ROOT / "packaging/control").read_text()
    size = sum(path.stat().st_size for path in files) // 1024
    for word, value in (("VERSION", version), ("ARCHITECTURE", architecture), ("SIZE", size)):
        control = control.replace(f"@{word}@", str(value))
    sums = "".join(f"{_md5(path)}  {path.relative_to(tree)}\n" for path in files)
    _write(tree / "DEBIAN/control", control)
    _write(tree / "DEBIAN/md5sums", sums)
    for script in SCRIPTS:
        _write(tree / f"DEBIAN/{script}", (ROOT / f"packaging/{script}").read_text())


def _md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def _all(tree: Path) -> list[Path]:
    return [path for path in sorted(tree.rglob("*")) if path.is_file() or path.is_symlink()]


def _normalise(tree: Path, epoch: int) -> None:
    programs = {tree / PREFIX / "bin/feltd", *(tree / "DEBIAN" / script for script in SCRIPTS)}
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path in programs else 0o644)
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def _pack(tree: Path, package: Path, epoch: int) -> None:
    half = package.with_suffix(".half")
    words = ("--root-owner-group", "-Zgzip", "-z6", "--build")
    _run("dpkg-deb", *words, tree, half, epoch=epoch)
    half.rename(package)


def _run(*words: str | Path, epoch: int = 0) -> str:
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(epoch)}
    return subprocess.run(words, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the Debian package.")
    parser.add_argument("--version", default=f"{__version__}-{REVISION}")
    parser.add_argument("--to", type=Path, default=ROOT / "dist")
    asked = parser.parse_args(arguments)
    try:
        package = build(asked.version, asked.to, source_epoch())
    except BuildError as error:
        print(f"deb: {error}", file=sys.stderr)
        return 1
    print(f"{hashlib.sha256(package.read_bytes()).hexdigest()}  {package}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
