"""``feltd demo`` in a process of its own, and what can be seen of it from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from daemon.client import ApiError, Client, NotRunning

ROOT = Path(__file__).parents[2]
FAST = "40"


class Demo:
    """A demonstration, started with what is kept of it in ``directory``."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.directory = directory
        words = ["demo", "--json", "--dir", str(directory), "--speed", FAST]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "daemon", *words, *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.client = Client(directory / "feltd.sock")

    def result(self, seconds: float = 180) -> dict[str, Any]:
        """Wait for its end; the one object on its standard output."""
        out, err = self.process.communicate(timeout=seconds)
        assert self.process.returncode == 0, err
        assert out.count("\n") == 1
        answer: dict[str, Any] = json.loads(out)
        return answer

    def status(self) -> dict[str, Any]:
        """The table's status, or nothing while nobody answers."""
        try:
            return self.client.status()
        except (NotRunning, ApiError):
            return {}

    def reached(self, round_id: int, *states: str) -> bool:
        """Whether this round, or a later one, is in such a state: a short one may have been missed."""
        status = self.status()
        return (status.get("round") or 0) >= round_id and status["state"] in states

    def until(self, what: str, holds: Callable[[], Any], seconds: float = 90) -> None:
        give_up = time.monotonic() + seconds
        while not holds():
            assert self.process.poll() is None, f"ended before {what}: {self.process.communicate()[1]}"
            assert time.monotonic() < give_up, f"waited in vain for {what}: {self.status()}"
            time.sleep(0.01)

    def daemon(self) -> int:
        return int((self.directory / "daemon.pid").read_text())

    def kill_daemon(self) -> None:
        """And wait for the next one."""
        before = self.daemon()
        os.kill(before, signal.SIGKILL)
        self.until("another daemon", lambda: self.daemon() != before)


@contextmanager
def playing(directory: Path, *arguments: str) -> Iterator[Demo]:
    demo = Demo(directory, *arguments)
    try:
        yield demo
    finally:
        demo.client.close()
        if demo.process.poll() is None:
            demo.process.terminate()
            demo.process.communicate(timeout=30)
