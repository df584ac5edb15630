"""A start costs the open file and not the history: a million inputs beside a thousand (minutes to build)."""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from daemon.audit import verify_open
from tests.perf import bulk

ROOT = Path(__file__).parents[2]
MANY, FEW = 1_000_000, 1_000
TIMES = 7
PATIENCE = 60.0  # seconds


def ready_after(folder: Path) -> float:
    """Seconds until the daemon says READY, in a fresh copy: a start adds records."""
    copy = folder.with_name(f"{folder.name}-copy")
    shutil.copytree(folder, copy, copy_function=_same_or_copy)
    try:
        return _started(copy)
    finally:
        shutil.rmtree(copy)


def _same_or_copy(source: str, target: str) -> None:
    """Closed archives are only read: a second name is enough."""
    if Path(source).parent.suffix == ".archive":
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def _started(folder: Path) -> float:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(folder / "notify"))
        manager.settimeout(PATIENCE)
        began = time.monotonic()
        daemon = subprocess.Popen(
            [sys.executable, "-m", "daemon", "run", "--config", "feltd.toml"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT), "NOTIFY_SOCKET": str(folder / "notify")},
            stderr=subprocess.DEVNULL,
        )
        try:
            while b"READY=1" not in manager.recv(4096):
                pass
            return time.monotonic() - began
        finally:
            daemon.terminate()
            daemon.wait(PATIENCE)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_start_after_a_million_inputs_is_as_quick_as_after_a_thousand(tmp_path: Path) -> None:
    folders = {inputs: tmp_path / str(inputs) for inputs in (MANY, FEW)}
    for inputs, folder in folders.items():
        folder.mkdir()
        settings = bulk.build(folder, inputs)
        found = verify_open(settings.journal)
        assert (found["errors"], found["inputs"] >= inputs) == ([], True)
    pairs = [{inputs: ready_after(folder) for inputs, folder in folders.items()} for _ in range(TIMES)]
    many, few = (statistics.median(pair[inputs] for pair in pairs) for inputs in (MANY, FEW))
    print(f"READY after {many:.2f} s with {MANY} inputs, {few:.2f} s with {FEW}: {many / few:.2f} times")
    assert many <= 1.5 * few
