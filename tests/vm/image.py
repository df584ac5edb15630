"""The virtual machine's image: Debian with its kernel below, the daemon in a virtual environment above.

Three layers, each in a folder of ``build/vm`` that is named by what went into it: *base* (Debian, a
minute), *packages* (what the daemon depends on), *project* (the daemon: seconds). A change of the
code makes only the last one anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
HERE: Final = Path(__file__).parent
BUILD: Final = ROOT / "build" / "vm"
GUEST_PYTHON: Final = (3, 11)  # of Debian 12; wheels are built here, so the host's must be the same
VENV: Final = "opt/feltd"  # where the project's disk is mounted, and where its scripts say they are
NEEDED: Final = "# needed: "
PATH: Final = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
TOOLS: Final[Mapping[str, str]] = {  # program -> Debian package
    "qemu-system-x86_64": "qemu-system-x86",
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "modprobe": "kmod",
    "setpriv": "util-linux",
    "unshare": "util-linux",
}


@dataclass(frozen=True)
class Image:
    """What the virtual machine starts from. The disks are never written to."""

    kernel: Path
    initramfs: Path
    system: Path
    project: Path


def missing_packages() -> list[str]:
    """The Debian packages that are not there."""
    return sorted({package for program, package in TOOLS.items() if not shutil.which(program, path=PATH)})


def missing() -> list[str]:
    """What keeps the tests from running here, one sentence each; empty if nothing does."""
    reasons = []
    if os.geteuid() != 0:
        reasons.append("building the image needs root")
    if sys.version_info[:2] != GUEST_PYTHON:
        reasons.append("the wheels are built with Python {}.{}".format(*GUEST_PYTHON))
    if packages := missing_packages():
        reasons.append(f"apt-get install --no-install-recommends {' '.join(packages)}")
    return reasons


def image() -> Image:
    """The image of the working tree; layers that are not there are built. Raises CalledProcessError."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        base = _base()
        wanted = _requirements()
        packages = _layer(
            "packages", [wanted.encode()], lambda to: _build_packages(base, wanted, to), base.name
        )
        project = _layer("project", _code(), lambda to: _build_project(base, packages, to), packages.name)
    return Image(base / "vmlinuz", base / "initramfs", base / "system.ext4", project / "project.ext4")


def system_tree() -> Path:
    """The root of a fresh Debian, to be used as the lower layer of an overlay; built if it is not there."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _base() / "root"


def bare_image() -> Image:
    """The same machine with an empty disk in the project's place: for a package that a test installs."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        base = _base()
        empty = _layer("empty", [], _build_empty, base.name)
    return Image(base / "vmlinuz", base / "initramfs", base / "system.ext4", empty / "project.ext4")


def _build_empty(layer: Path) -> None:
    _run("mke2fs", "-q", "-t", "ext4", "-L", "project", layer / "project.ext4", "2M")


def _base() -> Path:
    return _layer("base", [(HERE / "base.sh").read_bytes()], _build_base)


def _requirements() -> str:
    """A constraints file of pip: what the daemon depends on in comments, then the lock's pins."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = re.findall(r"^[\w.-]+==[^ \\\n]+", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    return "\n".join([*(NEEDED + each for each in project["dependencies"]), *pins])


def _code() -> Iterator[bytes]:
    """All that goes into the daemon's wheel."""
    for name in ("daemon", "drivers"):
        for path in sorted((ROOT / name).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield str(path.relative_to(ROOT)).encode()
                yield path.read_bytes()
    yield (ROOT / "pyproject.toml").read_bytes()


def _layer(name: str, inputs: Iterable[bytes], build: Callable[[Path], None], below: str = "") -> Path:
    """The folder of a layer. Older ones of its name are removed; a half-built one is never taken."""
    digest = hashlib.sha256(below.encode())
    for data in inputs:
        digest.update(len(data).to_bytes(8, "big") + data)
    layer = BUILD / f"{name}-{digest.hexdigest()[:12]}"
    if not layer.is_dir():
        began = time.monotonic()
        for older in BUILD.glob(f"*{name}-*"):
            shutil.rmtree(older)
        fresh = BUILD / f".{layer.name}"
        fresh.mkdir()
        build(fresh)
        fresh.rename(layer)
        print(f"vm: built {name} in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return layer


def _build_base(layer: Path) -> None:
    _run("sh", HERE / "base.sh", layer)


def _build_packages(base: Path, wanted: str, layer: Path) -> None:
    """A virtual environment at ``venv`` with what the daemon depends on."""
    pins, wheels = layer / "pins", layer / "wheels"
    pins.write_text(wanted)
    needed = [line.removeprefix(NEEDED) for line in wanted.splitlines() if line.startswith(NEEDED)]
    _pip("wheel", "--wheel-dir", wheels, "--constraint", pins, *needed)
    (layer / "venv").mkdir()
    _inside(base, layer / "venv", wheels, f"python3 -m venv /{VENV}")
    _install(base, layer / "venv", wheels)


def _build_project(base: Path, packages: Path, layer: Path) -> None:
    """The dependencies' environment with the daemon's wheel, as a disk."""
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", layer / "wheels", ROOT)
    shutil.copytree(packages / "venv", layer / "venv", symlinks=True)
    _install(base, layer / "venv", layer / "wheels")
    _run(
        "mke2fs",
        "-q",
        "-t",
        "ext4",
        "-L",
        "project",
        "-m",
        "0",
        "-d",
        layer / "venv",
        layer / "project.ext4",
        "512M",
    )
    shutil.rmtree(layer / "venv")


def _install(base: Path, venv: Path, wheels: Path) -> None:
    names = " ".join(f"/mnt/{wheel.name}" for wheel in sorted(wheels.iterdir()))
    _inside(base, venv, wheels, f"/{VENV}/bin/pip install --quiet --no-index --no-deps {names}")


def _inside(base: Path, venv: Path, wheels: Path, command: str) -> None:
    """Run in the base's tree, with ``venv`` and ``wheels`` mounted there as long as the command lasts."""
    root = base / "root"
    mounts = f'mount --bind "{venv}" "{root}/{VENV}" && mount --bind "{wheels}" "{root}/mnt"'
    _run("unshare", "--mount", "sh", "-c", f'{mounts} && exec chroot "{root}" {command}')


def _pip(*words: str | Path) -> None:
    _run(sys.executable, "-m", "pip", words[0], "--quiet", "--disable-pip-version-check", *words[1:])


def _run(*words: str | Path) -> None:
    subprocess.run(words, check=True, env=os.environ | {"PATH": PATH}, stdout=sys.stderr)


def main() -> None:
    """Build the image, or say what is missing: the first half of ``make test-vm``."""
    if reasons := missing():
        print("\n".join(f"test-vm: {reason}" for reason in reasons), file=sys.stderr)
    else:
        image()


if __name__ == "__main__":
    main()
