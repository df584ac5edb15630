"""Fault catalogue, group A: the life of a serial or network link, on real wires and processes.

What a single link does in these cases is in tests/contract; here the daemon lives through them.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import select
import socket
import sqlite3
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import serial

from daemon.links import serial as serial_module
from daemon.links.base import Cause, LinkError
from daemon.links.serial import SerialLink
from tests.contract.link_rigs import Pty
from tests.fakes.ear import Ear
from tests.process.test_identity import Floor
from tests.process.test_service import CONFIG, ROOT, Place, ready, stop, until

SHUFFLER = 'link = "shuffler.tty"'


@pytest.fixture
def floor(tmp_path: Path) -> Iterator[Floor]:
    """A table with its three simulators on PTYs."""
    floor = Floor(tmp_path)
    try:
        yield floor
    finally:
        floor.end()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A table with no device at all."""
    place = Place(tmp_path)
    try:
        yield place
    finally:
        place.end()


def device(place: Place, name: str) -> dict[str, Any]:
    """What the status says of a device."""
    found: dict[str, Any] = place.client.status()["devices"][name]
    return found


def told(place: Place, name: str) -> list[str]:
    """The log's lines of a device's link: the state that each tells."""
    lines = [json.loads(line) for line in place.log().splitlines() if line.startswith("{")]
    return [line["state"] for line in lines if line["event"] == "link" and line["device"] == name]


def records(place: Place, kind: str) -> list[dict[str, Any]]:
    """The inputs of one kind in the journal."""
    with closing(sqlite3.connect(place.folder / "journal.db")) as journal:
        rows = [json.loads(row[0]) for row in journal.execute("SELECT record FROM records ORDER BY seq")]
    return [row["input"] for row in rows if row["input"]["kind"] == kind]


def open_table(floor: Floor) -> subprocess.Popen[bytes]:
    """A daemon whose devices are ready and whose table is open."""
    daemon = floor.daemon()
    until(lambda: ready(floor), "the devices")
    assert floor.client.act("open-table")["accepted"]
    return daemon


class Load:
    """What a process takes from the machine, from the making of this object on."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._proc = Path(f"/proc/{process.pid}")
        self._began, self._time = self._processor(), time.monotonic()
        self.descriptors, self.threads, self._pages = self._now()

    def processor(self) -> float:
        """The share of one processor."""
        return (self._processor() - self._began) / (time.monotonic() - self._time)

    def grown(self) -> tuple[int, int, int]:
        """Descriptors, threads and KiB of memory more than at the beginning."""
        descriptors, threads, pages = self._now()
        return descriptors - self.descriptors, threads - self.threads, (pages - self._pages) * 4

    def _processor(self) -> float:
        fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _now(self) -> tuple[int, int, int]:
        descriptors = len(os.listdir(self._proc / "fd"))
        pages = int((self._proc / "statm").read_text().split()[1])
        return descriptors, len(os.listdir(self._proc / "task")), pages


# --- A01: unplugged ----------------------------------------------------------------------------


def test_a01_an_unplug_in_each_state_is_one_offline_and_the_device_comes_back(floor: Floor) -> None:
    daemon = open_table(floor)
    steps: list[tuple[str, Callable[[], object]]] = [
        ("between-rounds", floor.shuffle),
        ("betting", lambda: floor.client.act("open-betting")),
        ("dealing", lambda: deal(floor)),
    ]
    for offline, (state, go) in enumerate(steps, 1):
        go()
        assert floor.client.status()["state"] == state
        floor.shuffler.do("unplug")
        until(lambda: device(floor, "SH-1")["state"] != "ready", "the loss")
        floor.shuffler.do("replug")
        until(lambda: device(floor, "SH-1")["state"] == "ready", "the return")
        runs = [is_ready for is_ready, _ in groupby(state == "ready" for state in told(floor, "SH-1"))]
        assert runs.count(True) == offline + 1  # ready at first, and once more after each loss
    floor.shuffler.do("take", index=0)
    until(lambda: floor.client.status()["cards"]["out"] == 10, "the dealer's packet")
    assert daemon.poll() is None


def deal(floor: Floor) -> None:
    assert floor.client.act("ante", box=1, amount=10_000)["accepted"]
    assert floor.client.act("close-betting")["accepted"]
    until(lambda: floor.client.status()["state"] == "dealing", "the first packet")


# --- A02: one word for every kind of failure ---------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        serial.SerialException(5, "Input/output error"),
        serial.SerialException("could not open port"),
        OSError(5, "Input/output error"),
        termios.error(5, "Input/output error"),
        ValueError("Failed to set custom baud rate"),
        OverflowError("signed integer is greater than maximum"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a02_every_type_that_an_opening_raises_is_a_link_error(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(serial_module, "_configured", fail)
    with closing(Pty()) as pty, pytest.raises(LinkError):
        asyncio.run(opened(SerialLink(pty.path)))


async def opened(link: SerialLink) -> None:
    Ear().open(link)


@pytest.mark.parametrize("call", ["read", "write", "write-much", "close", "describe", "open"])
def test_a02_every_call_after_an_unplug_from_a_fresh_open(call: str) -> None:
    async def scene(pty: Pty) -> None:
        link, ear = SerialLink(pty.path), Ear()
        ear.open(link)
        pty.cut()
        if call.startswith("write"):
            link.write(b"x" * (1 if call == "write" else 60_000))
        elif call == "describe":
            link.describe()
        elif call != "read":
            link.close()
        if call in ("read", "write", "write-much", "describe"):
            assert await ear.lost() is Cause.LOST
        if call == "open":
            with pytest.raises(LinkError):
                ear.open(link)
        link.close()

    with closing(Pty()) as pty:
        asyncio.run(scene(pty))


def test_a02_no_code_takes_is_open_for_a_sign_of_life() -> None:
    sources = [*(ROOT / "daemon").rglob("*.py"), *(ROOT / "drivers").rglob("*.py")]
    assert [path.name for path in sources if ".is_open" in path.read_text()] == []


# --- A03: absent for long ----------------------------------------------------------------------


@pytest.mark.parametrize("since", ["the start", "an unplug"])
def test_a03_absent_devices_cost_next_to_nothing(since: str, floor: Floor) -> None:
    controls = list(floor.controls.values())
    if since == "the start":
        for control in controls:
            control.do("unplug")
    daemon = floor.daemon()
    if since == "an unplug":
        until(lambda: ready(floor), "the devices")
        for control in controls:
            control.do("unplug")
    names = list(floor.client.status()["devices"])
    until(lambda: all(device(floor, name)["cause"] == "absent" for name in names), "the absence")
    load, lines = Load(daemon), len(floor.log().splitlines())
    time.sleep(6)  # some retries of each device
    assert load.processor() < 0.1
    descriptors, threads, memory = load.grown()
    assert (descriptors <= 0, threads <= 0, memory < 4096) == (True, True, True)
    assert len(floor.log().splitlines()) - lines <= 3
    for control in controls:
        control.do("replug")
    until(lambda: ready(floor), "the return")


# --- A04: back under another name --------------------------------------------------------------


def test_a04_a_device_that_comes_back_as_another_tty_is_found_and_nothing_leaks(floor: Floor) -> None:
    daemon = open_table(floor)
    load, blockers = Load(daemon), []
    for _ in range(3):
        former = os.fspath((floor.folder / "shuffler.tty").readlink())
        floor.shuffler.do("unplug")
        until(lambda: device(floor, "SH-1")["state"] != "ready", "the loss")
        for _ in range(8):  # until the number that has become free is taken, by us or somebody else
            blockers.append(Pty())
            if blockers[-1].path == former:
                break
        floor.shuffler.do("replug")
        assert os.fspath((floor.folder / "shuffler.tty").readlink()) != former
        until(lambda: device(floor, "SH-1")["state"] == "ready", "the return")
    for blocker in blockers:
        blocker.close()
    assert load.grown()[0] <= 0


def test_a04_two_plugs_that_were_swapped_are_refused_until_they_are_right(floor: Floor) -> None:
    text = CONFIG.replace(SHUFFLER, 'link = "port-1"').replace('link = "shoe.tty"', 'link = "port-2"')
    floor.config.write_text(text)

    def plug(shuffler: str, shoe: str) -> None:
        for name, port in (("shuffler", shuffler), ("shoe", shoe)):
            (floor.folder / port).unlink(missing_ok=True)
            (floor.folder / port).symlink_to(f"{name}.tty")

    def replug(*ports: str) -> None:
        for role in ("shuffler", "shoe"):
            floor.controls[role].do("unplug")
        plug(*ports)
        for role in ("shuffler", "shoe"):
            floor.controls[role].do("replug")

    plug("port-1", "port-2")
    floor.daemon()
    until(lambda: ready(floor), "the devices")
    replug("port-2", "port-1")
    for name in ("SH-1", "shoe"):
        until(lambda name=name: device(floor, name)["cause"] == "wrong_identity", f"the refusal of {name}")
    replug("port-1", "port-2")
    until(lambda: ready(floor) and device(floor, "shoe")["state"] == "ready", "the right plugs")


# --- A06: a call that never returns --------------------------------------------------------------

HANGING_CLOSE = """
import sys, time
from daemon.links import serial
serial._close_port = lambda descriptor: time.sleep(120)
from daemon.cli import main
sys.argv[0] = "feltd"
main()
"""


def test_a06_a_close_that_hangs_holds_neither_a_return_nor_the_end(floor: Floor) -> None:
    daemon = subprocess.Popen(
        [sys.executable, "-c", HANGING_CLOSE, "run", "--config", "feltd.toml"],
        cwd=floor.folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=(floor.folder / "log").open("ab"),
    )
    floor.started.append(daemon)
    until(floor.answers, "the daemon")
    until(lambda: ready(floor), "the devices")
    floor.shuffler.do("unplug")
    until(lambda: device(floor, "SH-1")["state"] != "ready", "the loss")
    floor.shuffler.do("replug")
    until(lambda: ready(floor), "the return")
    assert stop(daemon) < 5


# --- A08, A09: writes ---------------------------------------------------------------------------


def test_a08_a_command_whose_answer_is_not_heard_is_asked_for_and_done_once(floor: Floor) -> None:
    open_table(floor)
    floor.shuffler.do("mute", seconds=2)  # it hears, and nobody hears it
    assert floor.client.act("shuffle")["accepted"]
    until(lambda: floor.shuffler.do("state")["executed"] != {}, "the command")
    until(lambda: ready(floor) and floor.client.status()["deck"]["shuffler"] == "SH-1", "the shuffle")
    executed = floor.shuffler.do("state")["executed"]
    assert isinstance(executed, dict)
    assert list(executed.values()) == [1]


def test_a09_a_sign_that_reads_nothing_is_told_and_slows_nobody(floor: Floor) -> None:
    stop(floor.started.pop(list(floor.controls).index("sign")))
    floor.controls.pop("sign").close()
    with closing(Pty()) as deaf:
        (floor.folder / "sign.tty").symlink_to(deaf.path)
        daemon = floor.daemon()
        load = Load(daemon)
        until(lambda: device(floor, "sign")["cause"] is not None, "the sign's silence")
        assert device(floor, "sign")["state"] != "ready"
        floor.client.act("open-table")
        until(lambda: device(floor, "SH-1")["state"] == "ready", "the shuffler")
        for _ in range(200):
            floor.client.act("open-table")  # each is a record, and news for the sign
        assert load.processor() < 0.9
        assert load.grown()[2] < 8192
        assert daemon.poll() is None


# --- A10: opened and closed under traffic --------------------------------------------------------


def test_a10_no_byte_of_another_file_is_heard_while_ports_come_and_go(tmp_path: Path) -> None:
    ended, foreign = threading.Event(), tmp_path / "foreign"
    foreign.write_bytes(b"#" * 4096)

    def others() -> None:
        while not ended.is_set():
            with foreign.open("rb") as file:
                file.read()

    async def scene() -> None:
        lines = [Pty(), Pty()]
        links = [SerialLink(pty.path) for pty in lines]
        for _ in range(500):  # of two links each
            ears = [Ear(), Ear()]
            for link, ear, pty, tag in zip(links, ears, lines, (b"A", b"B"), strict=True):
                ear.open(link)
                os.write(pty.master, tag * 64)
            for link, ear, tag in zip(links, ears, (b"A", b"B"), strict=True):
                await ear.heard(64)
                link.close()
                assert (ear.data, ear.losses) == (tag * 64, [])
        for pty in lines:
            pty.close()

    thread = threading.Thread(target=others)
    thread.start()
    try:
        asyncio.run(scene())
    finally:
        ended.set()
        thread.join()


# --- A12: two programs on one port ---------------------------------------------------------------


def test_a12_a_second_daemon_finds_the_ports_held_and_names_the_holder(
    floor: Floor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    daemon = open_table(floor)
    second = Place(tmp_path_factory.mktemp("second"))
    second.config.write_text(CONFIG.replace('link = "', f'link = "{floor.folder}/'))
    try:
        second.daemon()
        until(lambda: device(second, "SH-1")["cause"] == "busy", "the refusal")
        assert f"pid {daemon.pid} (" in device(second, "SH-1")["detail"]
    finally:
        second.end()
    until(lambda: ready(floor), "the first one, which has its ports still")


def test_a12_a_holder_that_cannot_be_seen_is_found_by_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial_module, "holders", lambda path: [])
    with closing(Pty()) as pty, open(pty.path, "rb", buffering=0) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(LinkError) as caught:
            asyncio.run(opened(SerialLink(pty.path)))
    assert caught.value.cause is Cause.BUSY
    assert caught.value.detail.endswith(f"`sudo fuser -v {pty.path}` names it")


@pytest.mark.parametrize("first", ["daemon", "thief"])
def test_a12_a_thief_of_bytes_never_makes_an_event_go_missing(first: str, floor: Floor) -> None:
    if first == "daemon":
        floor.daemon()
    thief = subprocess.Popen(["cat", "shuffler.tty"], cwd=floor.folder, stdout=subprocess.DEVNULL)
    floor.started.append(thief)
    if first == "thief":
        floor.daemon()
    floor.client.act("open-table")
    for _ in range(20):  # the doors are events; some of their bytes are stolen
        for is_open in (True, False):
            floor.shuffler.do("cover", open=is_open)
            time.sleep(0.02)
    thief.kill()
    until(lambda: device(floor, "SH-1")["state"] == "ready", "the shuffler, in step")
    until(lambda: floor.shuffler.do("state")["unacknowledged"] == 0, "every acknowledgement")
    ordinals = [row["ordinal"] for row in records(floor, "device") if row["device"] == "SH-1"]
    assert len(ordinals) >= 40
    assert ordinals == list(range(ordinals[0], ordinals[0] + len(ordinals)))


# --- A14, A15: what an opening may do to the device -----------------------------------------------


def test_a14_a_device_that_was_reset_in_mid_shuffle_is_never_taken_for_done(floor: Floor) -> None:
    daemon = open_table(floor)
    assert floor.client.act("shuffle")["accepted"]
    until(lambda: floor.shuffler.do("state")["state"] == "shuffling", "the shuffle")
    daemon.kill()
    daemon.wait()
    floor.shuffler.do("power-cycle")
    floor.daemon()
    until(lambda: device(floor, "SH-1")["state"] == "ready", "the shuffler")
    deck = floor.client.status()["deck"]
    assert (deck["shuffled"], deck["shuffler"]) == (False, "")
    refused = floor.client.act("open-betting")
    assert refused["accepted"] is False


def test_a15_a_port_that_a_modem_program_holds_for_a_while_is_taken_afterwards(floor: Floor) -> None:
    with (floor.folder / "shuffler.tty").open("r+b", buffering=0) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        floor.daemon()
        until(lambda: device(floor, "SH-1")["cause"] == "busy", "the refusal")
        for _ in range(3):
            other.write(b"AT\r")
        fcntl.flock(other, fcntl.LOCK_UN)
    until(lambda: device(floor, "SH-1")["state"] == "ready", "the shuffler")
    assert floor.client.act("open-table")["accepted"]


def test_a15_junk_on_the_line_is_dropped_and_counted(floor: Floor) -> None:
    open_table(floor)
    floor.shuffle()
    floor.shuffler.do("corrupt", frames=3)
    until(lambda: device(floor, "SH-1")["counters"]["dropped"] > 0, "the noise")
    until(lambda: ready(floor), "the shuffler")
    floor.client.act("open-betting")
    deal(floor)


# --- A17: a network that says nothing --------------------------------------------------------------


class Proxy:
    """A TCP proxy that passes on, swallows everything without a word, or is not there."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.swallows = False
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._ended = False
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def go_away(self) -> None:
        """Refuse every connection from now on."""
        self.end()

    def come_back(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._ended = self.swallows = False
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def end(self) -> None:
        self._ended = True
        self._thread.join()
        self._listener.close()
        self._forget(*self._pairs)

    def _work(self) -> None:
        while not self._ended:
            for each in select.select([self._listener, *self._pairs], [], [], 0.02)[0]:
                if each is self._listener:
                    self._accept()
                elif each in self._pairs:
                    self._pass_on(each)

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        far = socket.create_connection(("127.0.0.1", self._target))
        self._pairs |= {near: far, far: near}

    def _pass_on(self, each: socket.socket) -> None:
        data = b""
        with suppress(OSError):
            data = each.recv(4096)
        if not data:
            self._forget(each, self._pairs[each])
        elif not self.swallows:
            with suppress(OSError):
                self._pairs[each].sendall(data)

    def _forget(self, *sockets: socket.socket) -> None:
        for each in sockets:
            self._pairs.pop(each, None)
            each.close()


@pytest.fixture
def proxy(floor: Floor) -> Iterator[Proxy]:
    """The shuffler on TCP, behind a proxy; the table's configuration says so."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    number = list(floor.controls).index("shuffler")
    stop(floor.started.pop(number))
    floor.shuffler.close()
    words = ("--tcp", f"127.0.0.1:{port}", "--control", "shuffler.control")
    floor.spawn("sim", "shuffler", "--protocol", "fdp", *words)
    floor.shuffler.do("state")
    proxy = Proxy(port)
    floor.config.write_text(CONFIG.replace(SHUFFLER, f'link = "tcp://127.0.0.1:{proxy.port}"'))
    try:
        yield proxy
    finally:
        proxy.end()


def test_a17_a_network_that_falls_silent_refuses_and_comes_back(floor: Floor, proxy: Proxy) -> None:
    open_table(floor)
    floor.shuffle()
    proxy.swallows = True  # no FIN, no RST
    until(lambda: device(floor, "SH-1")["cause"] == "silent", "the silence")
    time.sleep(6)  # meanwhile connected anew, and never answered
    assert device(floor, "SH-1")["cause"] == "silent"
    assert "not ready" in floor.client.act("open-betting")["refusal"]["reason"]
    proxy.go_away()
    until(lambda: device(floor, "SH-1")["cause"] == "absent", "the refusal")
    proxy.come_back()
    until(lambda: ready(floor), "the return")
    assert floor.client.act("open-betting")["accepted"]


def test_a17_a_round_is_dealt_over_the_network(floor: Floor, proxy: Proxy) -> None:
    open_table(floor)
    floor.begin_round()
    floor.shuffler.do("take", index=0)
    until(lambda: floor.client.status()["cards"]["out"] == 10, "the dealer's packet")
