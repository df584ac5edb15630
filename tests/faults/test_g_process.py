"""Fault catalogue, group G: the life of the process. Restarts by systemd itself are tried in tests/vm."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import serial

from daemon.engine import FailStop
from daemon.journal import JournalError
from daemon.links import serial as serial_module
from daemon.links.base import Cause, LinkError, cause_of
from daemon.links.serial import SerialLink
from tests.contract.link_rigs import Pty
from tests.fakes.ear import Ear
from tests.faults import serving
from tests.faults.evening import CONFIG, Evening
from tests.process.test_identity import Floor
from tests.process.test_service import Place, ready, until

ENDS_WITHIN: float = 5.0  # seconds


@pytest.fixture
def floor(tmp_path: Path) -> Iterator[Floor]:
    """Three simulators on PTYs; the daemon is the test's own."""
    floor = Floor(tmp_path)
    try:
        yield floor
    finally:
        floor.end()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    try:
        yield place
    finally:
        place.end()


def end(process: serving.ForkServerProcess) -> None:
    """SIGTERM, and again 20 ms later: it ends in order, and soon."""
    began = time.monotonic()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGTERM)
    time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
    process.join(serving.PATIENCE)
    assert process.exitcode == 0
    assert time.monotonic() - began < ENDS_WITHIN


# --- G03: failures in a row --------------------------------------------------------------------------


@pytest.mark.timeout(600)
def test_g03_ten_kills_in_a_row_and_it_is_up_again(tmp_path: Path) -> None:
    for life in range(10):
        with serving.daemon(tmp_path) as process, serving.client(tmp_path, life + 1) as client:
            answer = client.act("open-table" if life % 2 == 0 else "close-table", key=f"life-{life}")
            assert answer["accepted"], answer
            assert process.is_alive()  # without any device
            process.kill()
            process.join()
    with serving.daemon(tmp_path) as process, serving.client(tmp_path, 11) as client:
        assert client.status()["state"] == "out-of-service"
        assert client.act("open-table", key="life-8")["seq"] < client.status()["seq"]
        end(process)
    assert serving.verified(tmp_path)


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ('mode = "shuffler"', 'mode = "shufler"', "table.mode"),
        ("ante_min = 5_000", "ante_min = 5_000\nante_mini = 4", "rules.ante_mini"),
        ("[table]", "[table", "feltd.toml"),
    ],
)
def test_g03_a_bad_configuration_ends_it_with_one_reason(was: str, now: str, told: str, place: Place) -> None:
    place.config.write_text(CONFIG.replace(was, now))
    process = place.spawn("run", "--config", "feltd.toml")
    assert process.wait(serving.PATIENCE) == 78
    [reason] = place.log().splitlines()
    assert told in reason
    assert sorted(os.listdir(place.folder)) == ["feltd.toml", "log"]


def test_g03_a_journal_that_is_locked_at_the_start_is_told_and_nothing_is_lost(shoe_table: Evening) -> None:
    table = shoe_table
    table.act("open-table")
    table.die()
    with closing(sqlite3.connect(table.file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises((FailStop, JournalError), match="locked"):
            table.start()
        other.execute("ROLLBACK")
    table.journal.close()
    table.start()
    assert table.phase == "between-rounds"
    table.settle_down()
    table.check()


# --- G04: the end ----------------------------------------------------------------------------------


@pytest.mark.timeout(600)
def test_g04_a_signal_in_each_state_of_a_round_ends_it_and_the_round_goes_on(floor: Floor) -> None:
    client = floor.client
    steps: list[tuple[str, Callable[[], object]]] = [
        ("out-of-service", lambda: None),
        ("between-rounds", lambda: client.act("open-table")),
        ("betting", lambda: (floor.shuffle(), client.act("open-betting"))),
        ("dealing", lambda: deal(floor)),
        ("deciding", lambda: floor.shuffler.do("take", index=0)),
        ("showdown", lambda: client.act("raise", box=1)),
        ("void", lambda: client.act("misdeal", text="wrong order")),
    ]
    for life, (state, go) in enumerate(steps, 1):
        with serving.daemon(floor.folder) as process:
            serving.wait_for_log(floor.folder, serving.STARTED, life)
            until(lambda: ready(floor) if life == 3 else shuffler_ready(floor), "the devices")  # noqa: B023
            go()
            until(lambda: client.status()["state"] == state, state)  # noqa: B023 - called at once
            end(process)
        assert serving.verified(floor.folder)
    with serving.daemon(floor.folder) as process:
        serving.wait_for_log(floor.folder, serving.STARTED, len(steps) + 1)
        status = client.status()
        assert (status["state"], status["pool"]["contributed"]) == ("void", 710)
        end(process)


def shuffler_ready(floor: Floor) -> bool:
    return bool(floor.client.status()["devices"]["SH-1"]["state"] == "ready")


def deal(floor: Floor) -> None:
    for act in ("ante", "progressive"):
        assert floor.client.act(act, box=1, **({"amount": 10_000} if act == "ante" else {}))["accepted"]
    assert floor.client.act("close-betting")["accepted"]


@pytest.mark.parametrize("trouble", ["silent devices", "a held journal"])
def test_g04_a_signal_amid_trouble_ends_it(trouble: str, tmp_path: Path) -> None:
    lines = {name: Pty() for name in ("shoe", "shuffler", "sign")}
    text = CONFIG
    for name, line in lines.items():
        text = text.replace(f'"{name}.tty"', f'"{line.path}"')
    (tmp_path / "feltd.toml").write_text(text)
    with (
        contextlib.ExitStack() as stack,
        serving.daemon(tmp_path) as process,
        serving.client(tmp_path, 1) as client,
    ):
        for line in lines.values():
            stack.callback(line.close)
        assert client.act("open-table")["accepted"]  # the sign is told, and takes nothing
        if trouble == "a held journal":
            other = stack.enter_context(
                closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None))
            )
            other.execute("BEGIN IMMEDIATE")
            assert client.act("close-table")["status"] == 503
        end(process)
    assert serving.verified(tmp_path)


# --- G06: the unit's sandbox -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (PermissionError(errno.EPERM, "Operation not permitted"), Cause.SANDBOX),
        (serial.SerialException(errno.EPERM, "could not open port"), Cause.SANDBOX),
        (PermissionError(errno.EACCES, "Permission denied"), Cause.DENIED),
    ],
)
def test_g06_a_port_that_the_sandbox_blocks_is_told_as_such(
    error: Exception, cause: Cause, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    async def opened(path: str) -> None:
        Ear().open(SerialLink(path))

    monkeypatch.setattr(serial_module, "_configured", fail)
    with closing(Pty()) as pty, pytest.raises(LinkError) as caught:
        asyncio.run(opened(pty.path))
    assert caught.value.cause is cause


def test_g06_the_remedy_names_the_unit_and_the_table_waits(shoe_table: Evening) -> None:
    table = shoe_table
    assert cause_of(errno.EPERM) is Cause.SANDBOX
    assert "sandbox blocks the port" in Cause.SANDBOX.remedy
    assert "DeviceAllow=" in Cause.SANDBOX.remedy
    table.settle_down()
    table.unplug("shoe")
    table.engine.link_failed("shoe", Cause.SANDBOX, "Operation not permitted")
    assert table.engine.view()["devices"]["shoe"]["cause"] in ("lost", "sandbox")
    port = table.engine.ports["shoe"]
    table.pass_time(port.life.deadline - table.clock.now - 1)  # type: ignore[operator]
    port.life.opening(table.clock.now)
    table.engine.link_failed("shoe", Cause.SANDBOX, "Operation not permitted")
    assert table.engine.view()["devices"]["shoe"]["cause"] == "sandbox"
    assert "sandbox" in table.table.rig.not_ready()
    table.replug("shoe")
    table.settle_down()
