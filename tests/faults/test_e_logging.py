"""Fault catalogue, group E: the log is lossy, never raises, and is in nobody's way."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from threading import Thread
from typing import Final

import pytest

from daemon.log import Log
from tests.faults import serving
from tests.faults.evening import WHOLE, evening, play

ROOT: Final = Path(__file__).parents[2]
PAYER: Final = 2_009_142  # what box 1 is up at the end of the whole evening, minor units


# --- E01: a log that cannot be written ----------------------------------------------------------


@contextlib.contextmanager
def broken(how: str) -> Iterator[int]:
    """A descriptor whose other side takes nothing."""
    if how == "full":
        descriptor = os.open("/dev/full", os.O_WRONLY)
        yield descriptor
        os.close(descriptor)
        return
    read, write = os.pipe()
    if how == "closed":
        os.close(read)
    yield write
    os.close(write)
    if how == "unread":
        os.close(read)


@pytest.mark.parametrize("how", ["full", "closed", "unread"])
def test_e01_an_evening_is_paid_whatever_becomes_of_its_log(how: str) -> None:
    with broken(how) as descriptor, evening() as table:
        log = Log(descriptor)
        for number in range(3_000 if how == "unread" else 1):  # more than pipe and queue take
            log(f"before-{number}", text="x" * 100)
        table.log = log
        play(table, WHOLE)
        assert table.player(1) == PAYER
        table.check()
        log("last")
        if how != "unread":
            log.close()
        assert log.lost > 0
        if how == "unread":
            _drain(log, descriptor)


def _drain(log: Log, descriptor: int) -> None:
    """Let the writer go: its pipe has a reader after all."""
    with open(f"/proc/self/fd/{descriptor}", "rb", buffering=0) as read:
        os.set_blocking(read.fileno(), False)
        closing = Thread(target=log.close)
        closing.start()
        while closing.is_alive():
            with contextlib.suppress(BlockingIOError):
                os.read(read.fileno(), 65_536)
        closing.join()


# --- E02: whatever is logged ----------------------------------------------------------------------


class Nasty:
    def __repr__(self) -> str:
        raise RuntimeError("not printable")


ODD: Final = (
    b"\xff\x00\x02",
    "\ud800",
    {(1, 2): b"\x80"},
    10**5000,
    Nasty(),
    [[[[[[[[Nasty()]]]]]]]],
    float("nan"),
)


@cache
def call_sites() -> list[tuple[str, tuple[str, ...]]]:
    """Every log call of the daemon: the event's name, and the names of its facts."""
    sites = set()
    for file in (ROOT / "daemon").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("log", "self._log", "self.log"):
                names = tuple(str(each.arg) for each in node.keywords if each.arg)
                if node.args and isinstance(node.args[0], ast.Constant):
                    sites.add((str(node.args[0].value), names))
    return sorted(sites)


def test_e02_every_log_call_keeps_its_line_whatever_its_facts_are(tmp_path: Path) -> None:
    sites = call_sites()
    assert {"link", "dropped", "fail-stop", "signal"} <= {name for name, _ in sites}
    lines = []
    for odd in ODD:
        target = tmp_path / "log"
        with target.open("wb") as out:
            log = Log(out.fileno())
            for name, facts in sites:
                log(name, **dict.fromkeys(facts, odd))
            log.close()
            assert log.lost == 0
        lines.append([json.loads(line)["event"] for line in target.read_text().splitlines()])
        assert [event for event in lines[-1] if event != "held-back"] == [name for name, _ in sites]


def test_e02_the_name_of_an_event_is_a_constant() -> None:
    for name, _ in call_sites():
        assert name.replace("-", "").isalpha(), name


# --- E04: a signal in the middle of a line ------------------------------------------------------------


def ends(folder: Path, runs: int, half: int = 0) -> None:
    """Daemons under heavy logging get SIGTERM twice within 20 ms."""
    random = Random(runs + half)
    for run in range(runs):
        place = folder / str(run)
        place.mkdir()
        with serving.daemon(place, noisy=True) as process:
            serving.wait_for_log(place, "noise-9")
            began = time.monotonic()
            os.kill(process.pid, signal.SIGTERM)
            time.sleep(random.uniform(0, 0.02))
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGTERM)
            process.join(serving.PATIENCE)
            assert process.exitcode == 0, serving.log(place)[-2000:]
            assert time.monotonic() - began < 5
        assert serving.verified(place)
        assert "Traceback" not in serving.log(place)
        assert '"event": "stopped"' in serving.log(place)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("half", [1, 2])
def test_e04_two_signals_under_heavy_logging_end_it_in_order(half: int, tmp_path: Path) -> None:
    ends(tmp_path, 10, half)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_e04_five_hundred_times(tmp_path: Path) -> None:
    ends(tmp_path, 500)
