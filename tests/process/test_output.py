"""Standard output that takes nothing: one sentence and exit code 1, whatever the command is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # seconds
FULL = (
    "feltd: standard output: No space left on device: what was printed is not whole; "
    "send it to somewhere else"
)
CLOSED = "feltd: standard output is closed: what was to be told is lost; open it, or send it to /dev/null"

COMMANDS = [
    ("--help",),
    ("suggest",),
    ("simulate", "--rounds", "2"),
    ("check", "none.toml"),
    ("journal", "verify", "books.db", "--json"),
    ("journal", "export", "books.db"),
    ("report", "--day", "2026-01-01", "--journal", "books.db"),
    ("replay", "--round", "last", "--journal", "books.db"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("books")
    made = feltd("simulate --rounds 20 --journal books.db >/dev/null", folder)
    assert made.returncode == 0
    return folder


def feltd(
    line: str, folder: Path, *words: str, unbuffered: bool = False
) -> subprocess.CompletedProcess[bytes]:
    """A line of the shell behind the program; ``words`` are its ``$@``."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        ["bash", "-c", f'"$0" -m daemon {line}', sys.executable, *words],
        cwd=folder,
        env=env | {"PYTHONPATH": str(ROOT)} | ({"PYTHONUNBUFFERED": "1"} if unbuffered else {}),
        capture_output=True,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_full_disk_is_told_in_a_sentence(words: tuple[str, ...], folder: Path) -> None:
    done = feltd('"$@" >/dev/full', folder, *words)
    assert (done.returncode, done.stderr.decode().splitlines()) == (1, [FULL])


@pytest.mark.parametrize("words", COMMANDS[-3:], ids=" ".join)
def test_a_closed_output_is_told_in_a_sentence(words: tuple[str, ...], folder: Path) -> None:
    done = feltd('"$@" >&-', folder, *words)
    assert (done.returncode, done.stderr.decode().splitlines()) == (1, [CLOSED])


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_it_is_the_same_without_a_buffer(redirection: str, folder: Path) -> None:
    done = feltd(f'"$@" {redirection}', folder, "version", unbuffered=True)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == [FULL if "full" in redirection else CLOSED]


def test_a_refusal_goes_to_standard_error_and_needs_no_output(folder: Path) -> None:
    done = feltd("act ante --socket none.sock >&-", folder)
    assert done.returncode == 1
    assert done.stderr.startswith(b"feltd: none.sock: nobody answers")


def test_nothing_at_all_is_open(folder: Path) -> None:
    done = feltd("journal verify books.db <&- >&- 2>&-", folder)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


@pytest.mark.parametrize("command", ["journal export books.db", "version"])
def test_a_reader_who_has_seen_enough_is_no_fault(command: str, folder: Path) -> None:
    done = feltd(f"{command} | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}", folder)
    assert done.returncode in (0, 1)  # it may have been quicker than the reader
    assert done.stderr == b""


def test_what_is_printed_is_whole(folder: Path) -> None:
    done = feltd("journal export books.db >export.jsonl", folder)
    assert (done.returncode, done.stderr) == (0, b"")
    kept = feltd("journal export books.db --out kept.jsonl", folder)
    assert kept.returncode == 0
    assert (folder / "export.jsonl").read_bytes() == (folder / "kept.jsonl").read_bytes()


@pytest.mark.parametrize("words", [("check", "--json"), ("journal", "export")], ids=" ".join)
def test_a_name_that_is_no_utf_8_is_printed_all_the_same(words: tuple[str, ...], folder: Path) -> None:
    done = feltd("\"$@\" $'caf\\xe9.db'", folder, *words)
    assert done.returncode in (1, 78)
    assert b"Traceback" not in done.stderr
    assert b"caf" in done.stdout + done.stderr
