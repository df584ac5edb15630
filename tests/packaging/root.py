"""A fresh Debian for one test: a tree that stays as it is below, and what the test changes above it."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

# $1 lower, $2 folder, then the command: a mount namespace and a process namespace of its own.
ENTER = """
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/merged"
mount -t proc proc "$2/merged/proc"
mount --rbind /dev "$2/merged/dev"
mount --bind "$2/host" "$2/merged/mnt"
root=$2/merged
shift 2
exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
"""


class RootError(Exception):
    """A command in the root failed; the text is what it said."""


class Root:
    """Commands in it see its ``folder/host`` as /mnt. Every process that a command left behind is killed."""

    def __init__(self, lower: Path, folder: Path) -> None:
        self.folder = folder
        self._lower = lower
        for name in ("upper", "work", "merged", "host"):
            (folder / name).mkdir()

    def __enter__(self) -> Self:
        # The tree was made without manuals; a machine that people install on has them.
        self.run("rm", "-f", "/etc/dpkg/dpkg.cfg.d/99mmdebstrap")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in ("upper", "work"):
            shutil.rmtree(self.folder / name)

    def tried(self, *words: str, user: str = "root") -> subprocess.CompletedProcess[str]:
        """Carry out a command, whatever becomes of it."""
        as_user = [] if user == "root" else ["runuser", "-u", user, "--"]
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER, "sh"]
        return subprocess.run(
            [*enter, str(self._lower), str(self.folder), *as_user, *words],
            capture_output=True,
            text=True,
            timeout=600,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"},
        )

    def run(self, *words: str, user: str = "root") -> str:
        """Standard output of a command that succeeds. Raises RootError."""
        done = self.tried(*words, user=user)
        if done.returncode:
            raise RootError(f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def put(self, file: Path) -> str:
        """Bring a file in; its path inside."""
        shutil.copy(file, self.folder / "host")
        return f"/mnt/{file.name}"

    def write(self, path: str, text: str) -> None:
        """A file, written by root."""
        (self.folder / "host/text").write_text(text)
        self.run("cp", "/mnt/text", path)

    def changed(self, ignored: Sequence[str]) -> Iterator[str]:
        """What is there and was not in the fresh tree, but for what begins with ``ignored``."""
        upper = self.folder / "upper"
        for path in sorted(upper.rglob("*")):
            name = f"/{path.relative_to(upper)}"
            gone = stat.S_ISCHR(path.lstat().st_mode)
            if (
                not gone
                and not os.path.lexists(f"{self._lower}{name}")
                and not name.startswith(tuple(ignored))
            ):
                yield name
