"""The pages: their fenced blocks, headings and links; and a shell that does what a page says."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.docs.source import ROOT

RUN = ("sh", "console")  # languages of blocks that are done
NO_RUN = "norun:"
PATIENCE = 300.0  # seconds for one command or block
ANY = "…"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page. ``why_not``: the reason why it is not run, "" when it is."""

    page: str
    line: int
    language: str
    why_not: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """What would be typed: a console block has its commands behind a ``$``."""
        if self.language == "sh":
            return self.text.splitlines()
        return [command for command, _ in exchanges(self.text)]


def exchanges(text: str) -> Iterator[tuple[str, list[str]]]:
    """Command and expected lines, for each command of a console block."""
    for piece in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *lines = piece.rstrip("\n").split("\n")
        while lines and lines[0].startswith("> "):
            command += "\n" + lines.pop(0).removeprefix("> ")
        yield command, lines


@cache
def pages() -> tuple[str, ...]:
    """Every page for people, relative to the project."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    found += sorted((ROOT / "docs").rglob("*.md"))
    return tuple(str(page.relative_to(ROOT)) for page in found)


@cache
def blocks() -> tuple[Block, ...]:
    return tuple(block for page in pages() for block in _blocks(page))


def _blocks(page: str) -> Iterator[Block]:
    text = (ROOT / page).read_text()
    for found in re.finditer(r"^```([^\n`]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        language, _, rest = found[1].partition(" ")
        why_not = rest.removeprefix(NO_RUN) if rest.startswith(NO_RUN) else ""
        line = text.count("\n", 0, found.start()) + 1
        yield Block(page, line, language, why_not, found[2])


def prose(page: str) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)


def fits(expected: list[str], said: list[str]) -> bool:
    """Whether ``said`` is ``expected``, in which ``…`` is anything: of a line, or lines."""
    pattern = "\n".join("(?s:.*)" if line == ANY else _line(line) for line in expected)
    pattern = pattern.replace("(?s:.*)\n", "(?:(?s:.*)\n)?").replace("\n(?s:.*)", "(?:\n(?s:.*))?")
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in said)) is not None


def _line(expected: str) -> str:
    return ".*".join(re.escape(part) for part in expected.rstrip().split(ANY))


class Failed(Exception):
    """A block did not do what its page says."""


class Shell:
    """A shell that does the blocks of one page, one after the other, in a folder."""

    def __init__(self, folder: Path, **environment: str) -> None:
        paths = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._folder = folder
        self._file = folder / ".block"
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=os.environ | {"PATH": paths, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"} | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.run("trap 'trap - TERM; kill 0' EXIT", "begin")  # also when nobody is left to end it

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *_: object) -> None:
        """Everything that the page started ends with it."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._shell.pid, number)
            time.sleep(0.3)
        self._shell.communicate()

    def do(self, block: Block) -> None:
        """Do a block: of sh every command succeeds, of a console each says what the page has.

        Raises Failed with what was said.
        """
        if block.language == "sh":
            said = self.run(block.text, block.where)
            if failed := [line for line in said if line.startswith("__failed")]:
                raise Failed(f"{block.where}: {failed[0].removeprefix('__failed ')}\n" + "\n".join(said))
            return
        for command, expected in exchanges(block.text):
            said = [line for line in self.run(command, block.where) if not line.startswith("__failed")]
            if not fits(expected, said):
                raise Failed(f"{block.where}: {command}\n" + "\n".join(said))

    def run(self, commands: str, where: str) -> list[str]:
        """Do commands; what was said. Raises Failed when they come to no end."""
        self._file.write_text(commands + "\n")
        assert self._shell.stdin is not None
        trap = "trap 'echo \"__failed $? $BASH_COMMAND\"' ERR"
        self._shell.stdin.write(
            f"{trap}; . {shlex.quote(str(self._file))} </dev/null; trap - ERR; echo __end\n".encode()
        )
        self._shell.stdin.flush()
        return self._until_end(where, commands)

    def _until_end(self, where: str, commands: str) -> list[str]:
        assert self._shell.stdout is not None
        heard, end = b"", time.monotonic() + PATIENCE
        while not re.search(rb"(^|\n)__end\n", heard):
            left = end - time.monotonic()
            ready = left > 0 and select.select([self._shell.stdout], [], [], left)[0]
            more = os.read(self._shell.stdout.fileno(), 65536) if ready else b""
            if not more:
                raise Failed(f"{where}: no end of {commands!r}\n{heard.decode(errors='replace')}")
            heard += more
        lines = heard.decode(errors="replace").split("\n")
        return [line for line in lines[:-1] if line != "__end"]
