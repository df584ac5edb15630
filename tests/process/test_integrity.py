"""A daemon that looks at its own installation as it starts. In a checkout, the manifest is missing."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from daemon.client import Client, NotRunning
from daemon.config import load
from daemon.integrity import rules_digest

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # seconds


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A five-card table that is dealt by hand: no device is needed."""
    table, _, _ = (ROOT / "config/five-card.toml").read_text().partition("[devices.")
    table = table.replace('mode = "shoe"', 'mode = "hand"')
    (tmp_path / "feltd.toml").write_text(table.replace("/var/lib/feltd/", "").replace("/run/feltd/", ""))
    return tmp_path


@contextmanager
def served(folder: Path, integrity: str = "", **environment: str) -> Iterator[dict[str, Any]]:
    """The status of a daemon that runs as long as the block; what it wrote to its log is in ``log``."""
    config = folder / "run.toml"
    config.write_text((folder / "feltd.toml").read_text() + integrity)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "daemon", "run", "--config", "run.toml"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
            stderr=log,
        )
    try:
        yield _answer(folder)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, (folder / "log").read_text()


def _answer(folder: Path) -> dict[str, Any]:
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            with Client(folder / "feltd.sock") as client:
                return client.status()
        except NotRunning:
            assert time.monotonic() < give_up, (folder / "log").read_text()
            time.sleep(0.05)


def noticed(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    return [line for line in lines if line["event"] == "noticed" and line["code"] == "integrity"]


def test_a_checkout_is_not_bothered(folder: Path) -> None:
    with served(folder) as status:
        assert status["faults"] == []
    assert noticed(folder) == []
    assert '"event": "not-packaged"' in (folder / "log").read_text()


def test_a_difference_is_shown(folder: Path) -> None:
    with served(folder, '[integrity]\ndifference = "show"\n') as status:
        assert status["faults"] == []
    (told,) = noticed(folder)
    assert status["installation"] == told["text"]
    assert "manifest.sha256: No such file or directory; fingerprint none, rules " in told["text"]


def test_a_difference_blocks_play_until_it_is_over(folder: Path) -> None:
    with served(folder, '[integrity]\ndifference = "block"\n') as status:
        (fault,) = status["faults"]
        assert fault["code"] == "integrity"
    with served(folder, '[integrity]\ndifference = "block"\n') as status:
        assert [fault["code"] for fault in status["faults"]] == [
            "integrity"
        ]  # it survived, and is not doubled


def test_the_rule_set_is_pinned_by_its_digest(folder: Path) -> None:
    digest = rules_digest(load(folder / "feltd.toml").rules.text())
    with served(folder, f'[integrity]\nrules = "{"0" * 64}"\n'):
        pass
    assert noticed(folder)[0]["text"].startswith(f"rules {digest[:16]}, approved are {'0' * 16}, ")
    with served(folder, f'[integrity]\nrules = "{digest}"\n'):
        pass
    assert "approved are" not in noticed(folder)[0]["text"]


def test_ready_comes_after_the_first_records(folder: Path) -> None:
    """READY=1 says that the journal is writable: what is noticed at the start is in it by then."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(folder / "notify"))
        manager.settimeout(PATIENCE)
        with served(folder, '[integrity]\ndifference = "show"\n', NOTIFY_SOCKET=str(folder / "notify")):
            while manager.recv(1000) != b"READY=1":
                pass
            with closing(sqlite3.connect(f"file:{folder}/journal.db?mode=ro", uri=True)) as journal:
                (records,) = journal.execute("SELECT count(*) FROM records").fetchone()
            assert records >= 2  # the start, and what was noticed
