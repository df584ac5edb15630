"""Requests made from the published schema, against a daemon: no 5xx, and no answer that is not documented."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from daemon.client import Client, NotRunning
from daemon.sessions import StaffFile, person

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi import checks  # noqa: E402

ROOT = Path(__file__).parents[2]
CONFIG = (ROOT / "config" / "demo.toml").read_text()
PATIENCE = 60.0  # seconds
EXAMPLES = 12  # of each operation
LONGEST_POLL = 0.01  # seconds
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


class Bridge:
    """A port of 127.0.0.1 that is the daemon's socket: what the schema's client can speak to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._loop = asyncio.new_event_loop()
        self._open = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._open.wait(PATIENCE)

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self._closed = asyncio.Event()
        async with await asyncio.start_server(self._carry, "127.0.0.1", 0) as server:
            self.port = server.sockets[0].getsockname()[1]
            self._open.set()
            await self._closed.wait()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_unix_connection(str(self._path))
        await asyncio.gather(_copy(reader, there_writer), _copy(there_reader, writer))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._closed.set)
        self._thread.join(PATIENCE)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
    with suppress(OSError):
        target.close()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The socket of a daemon with a staff file."""
    folder = tmp_path_factory.mktemp("table")
    staff = '\n[staff]\nfile = "staff.json"\n\n[rules]'
    (folder / "feltd.toml").write_text(CONFIG.replace("[rules]", staff, 1))
    StaffFile(folder / "staff.json").add(person("bo", "supervisor", "141421"))
    daemon = subprocess.Popen(
        [sys.executable, "-m", "daemon", "run", "--config", "feltd.toml"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=(folder / "log").open("ab"),
    )
    give_up = time.monotonic() + PATIENCE
    with Client(folder / "feltd.sock", PATIENCE) as client:
        while True:
            try:
                client.act("open-table")
                break
            except NotRunning:
                assert time.monotonic() < give_up, (folder / "log").read_text()
                time.sleep(0.05)
    try:
        yield folder / "feltd.sock"
        assert daemon.poll() is None, (folder / "log").read_text()
        assert "Traceback" not in (folder / "log").read_text()
    finally:
        daemon.kill()
        daemon.wait()


@pytest.fixture(scope="module")
def schema(table: Path) -> Iterator[Any]:
    bridge = Bridge(table)
    try:
        made = schemathesis.openapi.from_url(f"http://127.0.0.1:{bridge.port}/schema")
        yield made.exclude(path="/events")  # it never ends; tests/unit/test_feed.py reads it
    finally:
        bridge.close()


def test_no_request_of_the_schema_is_answered_otherwise(schema: Any) -> None:
    """Every operation, with what the schema allows; each example is one request."""
    operations = [each.ok() for each in schema.get_all_operations()]
    assert len(operations) >= 18
    for operation in operations:
        _walk(operation)


def _walk(operation: Any) -> None:
    names = cycle(("fold", "no-such-act", "ante", "open-table", "correct-pool", "close-table", "shuffle"))

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def each(case: Any) -> None:
        if "wait" in (case.query or {}):
            case.query["wait"] = LONGEST_POLL
        if "name" in (case.path_parameters or {}):  # one in a thousand million names is that of an act
            case.path_parameters["name"] = next(names)
        case.call_and_validate(checks=CHECKS, timeout=PATIENCE)

    each()
