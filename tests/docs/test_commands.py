"""What the pages tell people to type is typed; what cannot run here is at least a command that exists."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from daemon.cli import app
from daemon.client import Client, NotRunning
from tests.docs.pages import RUN, Block, Shell, blocks, fits, pages, prose
from tests.docs.source import ROOT

# Why a block is not run.
REASONS = {
    "hardware": "needs a device on a cable",
    "root": "changes the machine",
    "systemd": "needs a service manager with the service installed",
    "network": "needs a network, or a server",
    "table": "needs a table in play, with its paths",
    "time": "takes minutes; it has a make target or a test of its own",
    "make": "sets the checkout up, or runs this very test",
    "person": "waits for somebody at the terminal",
}
LINKED = ("config", "docs", "daemon", "drivers", "systemd", "tests", "tools", "pyproject.toml", "Makefile")
DEVICES = (("shoe", "fdp"), ("shuffler", "fdp"), ("sign", "alpha"))
START = 60.0  # seconds
OURS = [block for block in blocks() if block.language in RUN]
COMMANDS = typer.main.get_command(app)
RUNNABLE = sorted({block.page for block in OURS if not block.why_not})
# tests/process shows what they show, too.
SLOW = ("docs/house-day.md", "docs/keys.md", "docs/recording.md", "docs/start/auditor.md")


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The socket of a table on simulated devices that is open and at rest: for pages that look at one."""
    folder = tmp_path_factory.mktemp("table")
    (folder / "feltd.toml").write_text((ROOT / "config" / "demo.toml").read_text())
    simulated = (
        f"feltd sim {role} --protocol {protocol} --pty {role}.tty --control {role}.control 2>> log &"
        for role, protocol in DEVICES
    )
    with Shell(folder) as shell:
        shell.run("\n".join((*simulated, "feltd run --config feltd.toml 2>> log &")), "the table")
        opened(folder / "feltd.sock")
        yield folder / "feltd.sock"


def opened(socket: Path) -> None:
    end = time.monotonic() + START
    while True:
        try:
            Client(socket).act("open-table")
            return
        except NotRunning:
            assert time.monotonic() < end
            time.sleep(0.2)


@pytest.mark.timeout(600)  # on a machine that does much else
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.slow] * (page in SLOW)) for page in RUNNABLE]
)
def test_a_page_does_what_it_says(page: str, table: Path, tmp_path: Path) -> None:
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    with Shell(tmp_path, FELTD_SOCKET=str(table)) as shell:
        for block in OURS:
            if block.page == page and not block.why_not:
                shell.do(block)


@pytest.mark.parametrize("reason", REASONS)
def test_what_is_not_run(reason: str) -> None:
    left_out = [block.where for block in OURS if block.why_not == reason]
    assert left_out, f"no block is left out because it {REASONS[reason]}"
    pytest.skip(f"{len(left_out)} blocks: {REASONS[reason]}: {', '.join(left_out)}")


def test_every_reason_is_one_of_ours() -> None:
    assert [block.where for block in OURS if block.why_not and block.why_not not in REASONS] == []


@pytest.mark.parametrize("page", pages())
def test_what_is_typed_stands_in_a_fence(page: str) -> None:
    """An indented or unnamed block would not be found: commands are in blocks of sh or console."""
    indented = re.findall(
        r"^ {4}(?:feltd|make|apt-get|systemctl|pytest|python3?|\.venv/\S+) .*", prose(page), re.M
    )
    assert indented == []
    unnamed = [block for block in blocks() if block.page == page and block.language not in RUN]
    assert [
        block.where for block in unnamed if re.search(r"^(?:\$ )?(?:feltd|make) \S", block.text, re.M)
    ] == []


# --- commands that exist ------------------------------------------------------------------------


def words(line: str) -> list[list[str]]:
    """The words of each command of a line. What a shell would make of quotes and ``…`` is left out."""
    line = re.split(r"(?:^|\s)#\s", line.replace("…", "X"))[0]
    try:
        parts = shlex.split(re.sub(r"[<>|&;()`$]+", " ; ", line))
    except ValueError:
        return []
    found: list[list[str]] = [[]]
    for part in parts:
        if part == ";":
            found.append([])
        else:
            found[-1].append(part)
    return found


def typed() -> Iterator[tuple[Block, list[str]]]:
    for block in OURS:
        for line in "\n".join(block.commands).replace("\\\n", " ").splitlines():
            for command in words(line):
                yield block, command


def objection(arguments: list[str]) -> str:
    """What is wrong with a command line of feltd, as far as names of commands and options go."""
    command: object = COMMANDS
    rest = list(arguments)
    while isinstance(command, TyperGroup) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        if name not in command.commands:
            return f"there is no command {name}"
        command = command.commands[name]
    if isinstance(command, TyperCommand) and command.name == "act":
        return ""
    assert isinstance(command, TyperCommand | TyperGroup)
    options = {"--help"}.union(*(each.opts for each in command.params if isinstance(each, TyperOption)))
    options |= {flag for each in command.params for flag in each.secondary_opts}
    unknown = [word for word in rest if word.startswith("--") and word.partition("=")[0] not in options]
    return f"no option {unknown[0]}" if unknown else ""


def test_every_feltd_command_is_one() -> None:
    seen, wrong = 0, []
    for block, command in typed():
        if command[:1] == ["runuser"] and "--" in command:
            command = command[command.index("--") + 1 :]
        if command and command[0].rsplit("/", 1)[-1] == "feltd":
            seen += 1
            if found := objection(command[1:]):
                wrong.append(f"{block.where}: {' '.join(command)}: {found}")
    assert wrong == []
    assert seen > 40


def test_every_make_target_is_one() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.M))
    wrong, seen = [], set()
    for block, command in typed():
        if command[:1] == ["make"]:
            named = [word for word in command[1:] if re.fullmatch(r"[a-z-]+", word)]
            seen.update(named)
            wrong += [f"{block.where}: make {name}" for name in named if name not in targets]
    for page in pages():
        named = re.findall(r"`make ([a-z-]+)", prose(page))
        seen.update(named)
        wrong += [f"{page}: make {name}" for name in named if name not in targets]
    assert wrong == []
    assert {"run", "test", "check", "deb"} <= seen


def test_an_option_that_is_not_there_is_found() -> None:
    assert objection(["journal", "verify", "--quick", "FILE"]) == ""
    assert objection(["journal", "verify", "--slowly", "FILE"]) == "no option --slowly"
    assert objection(["jornal", "verify"]) == "there is no command jornal"


def test_what_fits() -> None:
    assert fits(["a …", "…", "d"], ["a b", "c", "c", "d"])
    assert fits(["…"], [])
    assert fits(["a", "…"], ["a"])
    assert not fits(["a …"], ["b c"])
    assert not fits(["a"], ["a", "b"])
    assert not fits(["a.c"], ["abc"])
