"""Daemons as processes of their own, forked by a server that has all modules already."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from functools import cache
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Final

from daemon.audit import verify
from daemon.client import Client
from daemon.log import Log
from tests.faults.evening import CONFIG

PATIENCE: Final = 60.0  # seconds
STARTED: Final = '"event": "started"'


@cache
def _server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.faults.serving", "daemon.app"])
    return context


@contextlib.contextmanager
def daemon(folder: Path, noisy: bool = False) -> Iterator[ForkServerProcess]:
    """A daemon in this folder, which has its configuration; it is killed at the end if it still runs."""
    config = folder / "feltd.toml"
    if not config.exists():
        config.write_text(CONFIG)
    process = _server().Process(target=_serve, args=(str(folder), noisy))
    process.start()
    try:
        yield process
    finally:
        if process.is_alive():
            process.kill()
        process.join()
        process.close()


def _serve(folder: str, noisy: bool) -> None:
    """In the process: as ``feltd run`` does; ``noisy`` logs as much as it can."""
    from daemon import app
    from daemon.config import load

    os.chdir(folder)
    os.dup2(os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), 2)
    if noisy:
        _make_noise()
    sys.exit(app.run(load(Path("feltd.toml"))))


def _make_noise() -> None:
    """From the start on there are log lines in every turn of the loop."""
    from daemon import app

    start = app._end_on_signals

    def noisily(service: object, log: Log) -> None:
        start(service, log)  # type: ignore[arg-type]
        asyncio.get_running_loop().call_soon(_noise, log, 0)

    app._end_on_signals = noisily  # type: ignore[assignment]


def _noise(log: Log, turn: int) -> None:
    for line in range(20):
        log(f"noise-{turn}", line=f"{line}" * 20)
    asyncio.get_running_loop().call_soon(_noise, log, turn + 1)


def log(folder: Path) -> str:
    file = folder / "log"
    return file.read_text(errors="replace") if file.exists() else ""


def wait_for_log(folder: Path, text: str, times: int = 1) -> None:
    """Until the log of all lives has this text so often."""
    give_up = time.monotonic() + PATIENCE
    while log(folder).count(text) < times:
        assert time.monotonic() < give_up, f"waited in vain for {text}: {log(folder)[-2000:]}"
        time.sleep(0.005)


@contextlib.contextmanager
def client(folder: Path, life: int) -> Iterator[Client]:
    """The API of the daemon that is the ``life``-th in this folder, once it answers."""
    wait_for_log(folder, STARTED, life)
    asking = Client(folder / "feltd.sock")
    try:
        yield asking
    finally:
        asking.close()


def verified(folder: Path) -> bool:
    return bool(verify(folder / "journal.db")["verified"])
