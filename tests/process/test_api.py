"""The API over its socket: who the kernel says is there, bad clients, streams, the command line."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from statistics import quantiles
from typing import Any

import pytest

from daemon.client import Client, NotRunning
from daemon.sessions import StaffFile, person

ROOT = Path(__file__).parents[2]
CONFIG = (ROOT / "config" / "demo.toml").read_text()
PATIENCE = 60.0  # seconds
CONSOLE_UID, TECHNICIAN_UID, STRANGER_UID = 1, 2, 65534  # daemon, bin, nobody
STAFF = '\n[staff]\nfile = "staff.json"\n[staff.users]\ndaemon = "console"\nbin = "technician"\n'
as_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root: another user has to connect")


class House:
    """A table with staff, its daemon, and commands in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "feltd.sock"
        (folder / "feltd.toml").write_text(CONFIG.replace("[rules]", STAFF + "\n[rules]", 1))
        StaffFile(folder / "staff.json").add(person("bo", "supervisor", "141421"))
        self.client = Client(self.socket, timeout=PATIENCE)
        self.daemon = self.spawn("run", "--config", "feltd.toml")
        until(self.answers, "the daemon")
        self.client.act("open-table")

    def spawn(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "daemon", *words],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(ROOT), "FELTD_SOCKET": "feltd.sock", "COLUMNS": "160"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(self.folder / "log").open("a"),
            text=True,
            **more,
        )

    def feltd(self, *words: str, given: str = "") -> tuple[int, str]:
        process = self.spawn(*words)
        out, _ = process.communicate(given, timeout=PATIENCE)
        return process.returncode, out

    def answers(self) -> bool:
        assert self.daemon.poll() is None, (self.folder / "log").read_text()
        try:
            self.client.status()
        except NotRunning:
            return False
        return True

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE)
        connection.connect(str(self.socket))
        return connection


def until(true: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < give_up, f"waited in vain for {what}"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    house = House(tmp_path_factory.mktemp("house"))
    try:
        yield house
    finally:
        house.client.close()
        house.daemon.kill()
        house.daemon.communicate()


# --- who is there ----------------------------------------------------------------------------


ASK = """
import http.client, json, os, socket, sys
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
for method, path, *body in json.loads(sys.argv[2]):
    asking = http.client.HTTPConnection("feltd")
    asking.sock = socket.socket(socket.AF_UNIX)
    asking.sock.connect("feltd.sock")
    asking.request(method, path, json.dumps(body[0]) if body else None, {"content-type": "application/json"})
    answer = asking.getresponse()
    print(json.dumps([answer.status, json.loads(answer.read())]))
"""


def ask_as(house: House, uid: int, *asked: object) -> list[tuple[int, dict[str, Any]]]:
    """What another user of this machine is answered. The folder and the socket are opened for it."""
    for folder in (house.folder, *list(house.folder.parents)[:2]):
        folder.chmod(0o755)
    house.socket.chmod(0o666)
    words = [sys.executable, "-c", ASK, str(uid), json.dumps(asked)]
    told = subprocess.run(words, cwd=house.folder, capture_output=True, text=True, timeout=PATIENCE)
    assert told.returncode == 0, told.stderr
    return [tuple(json.loads(line)) for line in told.stdout.splitlines()]


@as_root
def test_the_kernel_says_who_is_there(house: House) -> None:
    act = ["POST", "/acts/close-table", {"by": "root", "role": "supervisor"}]
    stranger = ask_as(house, STRANGER_UID, ["GET", "/status"], ["GET", "/player"], act)
    assert [status for status, _ in stranger] == [403, 403, 403]
    console = ask_as(house, CONSOLE_UID, ["GET", "/status"], ["GET", "/player"], act)
    assert [status for status, _ in console] == [401, 200, 401]
    plain = ["POST", "/acts/close-table", {}]
    technician = ask_as(house, TECHNICIAN_UID, ["GET", "/status"], act, plain, ["GET", "/records"])
    assert [status for status, _ in technician] == [200, 403, 403, 403]
    assert house.client.status()["state"] == "between-rounds"
    last = house.client.status()["seq"]
    said = next(iter(house.client.records(last)))["input"]
    assert said["text"].startswith("close-table by bin (technician)")


@as_root
def test_a_session_through_the_console_s_user(house: House) -> None:
    (status, begun), *_ = ask_as(house, CONSOLE_UID, ["POST", "/sessions", {"name": "bo", "pin": "141421"}])
    assert status == 201
    with Client(house.socket, token=begun["token"]) as bo:
        answer = bo.act("breach", text="a phone")
        record = next(iter(bo.records(answer["seq"], answer["seq"])))
    assert (record["input"]["by"], record["input"]["role"]) == ("bo", "supervisor")


# --- bad clients -----------------------------------------------------------------------------


def commit_times(house: House, number: int) -> list[float]:
    """Seconds from an act to its answer, each act a commit."""
    took = []
    for _ in range(number):
        began = time.perf_counter()
        assert house.client.act("fold", box=1)["seq"] is not None
        took.append(time.perf_counter() - began)
    return took


def p99(took: list[float]) -> float:
    return quantiles(took, n=100)[98]


def test_two_hundred_slow_clients_do_not_slow_the_table(
    house: House, record_property: Callable[[str, object], None]
) -> None:
    quiet = p99(commit_times(house, 150))
    with ExitStack() as slow:
        for number in range(200):
            connection = slow.enter_context(closing(house.connect()))
            connection.sendall(
                b"POST /acts/fold HTTP/1.1\r\nhost: f\r\ncontent-length: 9\r\n\r\n"[: 20 + number]
            )
        busy = p99(commit_times(house, 150))
    record_property("p99_quiet_ms", round(quiet * 1000, 2))
    record_property("p99_busy_ms", round(busy * 1000, 2))
    assert busy < 10 * quiet + 1.0, (quiet, busy)


def test_a_request_that_does_not_come_is_cut_off(house: House) -> None:
    with closing(house.connect()) as connection:
        began = time.monotonic()
        connection.sendall(b"GET /status HTTP/1.1\r\n")
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""
        assert time.monotonic() - began < PATIENCE / 2


def test_random_bytes_and_bodies_without_end(house: House) -> None:
    noise = random.Random(7)
    beginnings = (b"", b"GET /status HTTP/1.1\r\n", b"POST /acts/fold HTTP/1.1\r\ncontent-length: ")
    before = house.client.status()["seq"]
    for number in range(60):
        with closing(house.connect()) as connection:
            answered(connection, beginnings[number % 3] + noise.randbytes(noise.randrange(1, 40_000)))
    endless = b"POST /acts/fold HTTP/1.1\r\nhost: f\r\ntransfer-encoding: chunked\r\n\r\n"
    with closing(house.connect()) as connection:
        told = answered(connection, endless + b"10000\r\n" + b" " * 0x10000 + b"\r\n" + b"4\r\n    \r\n")
    assert told.startswith(b"HTTP/1.1 413")
    headers = b"GET /status HTTP/1.1\r\n" + b"".join(b"x-%d: %s\r\n" % (n, b"y" * 500) for n in range(100))
    with closing(house.connect()) as connection:
        assert answered(connection, headers).startswith(b"HTTP/1.1 400")
    assert house.client.status()["seq"] == before
    assert house.answers()


def answered(connection: socket.socket, sent: bytes) -> bytes:
    """What comes back; the daemon may have closed before everything was sent."""
    try:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(4096)
    except OSError:
        return b""


# --- two at once -----------------------------------------------------------------------------


def test_two_at_once_with_one_key_are_one_act(house: House) -> None:
    before = house.client.status()["seq"]
    start = threading.Barrier(2)

    def act(key: str) -> dict[str, Any]:
        with Client(house.socket, timeout=PATIENCE) as client:
            start.wait(PATIENCE)
            return client.act("breach", key, text="one of two")

    with ThreadPoolExecutor(2) as pool:
        same = list(pool.map(act, ["k", "k"]))
        other = list(pool.map(act, ["k1", "k2"]))
    assert same[0] == same[1]
    assert other[0]["seq"] != other[1]["seq"]
    assert house.client.status()["seq"] == before + 3


# --- the stream ------------------------------------------------------------------------------


def test_the_stream_follows_and_outlives_a_restart(house: House) -> None:
    seen: list[int] = []
    done = threading.Event()

    def follow() -> None:
        with Client(house.socket, timeout=PATIENCE) as client:
            while not done.is_set():
                try:
                    for event in client.events(seen[-1] if seen else 0):
                        seen.append(event["seq"])
                        if done.is_set():
                            break
                except NotRunning:
                    time.sleep(0.05)

    reader = threading.Thread(target=follow)
    reader.start()
    try:
        commit_times(house, 20)
        began = time.monotonic()
        house.daemon.send_signal(signal.SIGTERM)
        assert house.daemon.wait(PATIENCE) == 0
        assert time.monotonic() - began < PATIENCE / 2  # a stream that is open does not keep it
        house.daemon = house.spawn("run", "--config", "feltd.toml")
        until(house.answers, "the daemon")
        commit_times(house, 20)
        last = house.client.status()["seq"]
        until(lambda: bool(seen) and seen[-1] >= last, "the last event")
    finally:
        done.set()
        house.client.act("breach", text="one more event, so that the reader ends")
        reader.join(PATIENCE)
    assert seen == list(range(1, seen[-1] + 1))


# --- the command line ------------------------------------------------------------------------


def test_watch_tells_every_change_a_line_each(house: House) -> None:
    watching = house.spawn("status", "--watch", "--json")
    assert watching.stdout is not None
    try:
        first = json.loads(watching.stdout.readline())
        answer = house.client.act("breach", text="watched")
        told = first
        while told["seq"] < answer["seq"]:
            told = json.loads(watching.stdout.readline())
        watching.send_signal(signal.SIGINT)
        assert watching.wait(PATIENCE) in (0, 130)  # 130: it was met amid a look
    finally:
        watching.kill()
        watching.communicate()


def test_the_acts_are_shown(house: House) -> None:
    code, out = house.feltd("acts")
    assert code == 0
    assert "correct-pool" in out
    code, out = house.feltd("acts", "--json")
    acts = {each["name"]: each for each in json.loads(out)["acts"]}
    assert acts["open-table"]["now"]["reason"] == "the table is open already"


def test_staff_are_added_shown_and_removed_and_no_pin_is_printed(house: House) -> None:
    words = ("staff", "add", "others.json", "eve", "--role", "auditor", "--json")
    code, out = house.feltd(*words, given="161803\n")
    assert (code, json.loads(out)) == (0, {"name": "eve", "role": "auditor", "new": True})
    assert (house.folder / "others.json").stat().st_mode & 0o777 == 0o600
    code, out = house.feltd("staff", "list", "others.json", "--json")
    assert json.loads(out)["staff"] == [{"name": "eve", "role": "auditor"}]
    code, out = house.feltd(
        "staff", "add", "others.json", "eve", "--role", "king", "--json", given="161803\n"
    )
    assert (code, "161803" in out) == (1, False)
    code, out = house.feltd("staff", "remove", "others.json", "eve", "--json")
    assert (code, json.loads(out)) == (0, {"name": "eve"})
    code, out = house.feltd("staff", "remove", "others.json", "eve", "--json")
    assert code == 1
    assert "161803" not in (house.folder / "log").read_text()


def test_a_second_person_gives_the_pin_at_the_prompt(house: House) -> None:
    words = ("act", "breach", "text=x", "--second", "bo", "--json")
    code, out = house.feltd(*words, given="000000\n")
    assert (code, json.loads(out)["status"]) == (1, 401)
    code, out = house.feltd(*words, given="141421\n")
    answer = json.loads(out)
    assert code == 0
    assert next(iter(house.client.records(answer["seq"])))["input"]["second"] == "bo"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_of_a_shell_is_a_script_that_it_takes(shell: str, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "daemon", "completion", shell]
    told = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert "_FELTD_COMPLETE" in told.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: its script was printed, and not parsed")
    script = tmp_path / "feltd"
    script.write_text(told.stdout)
    assert subprocess.run([shell, "-n", str(script)], timeout=PATIENCE).returncode == 0


def test_the_names_of_acts_are_completed() -> None:
    asked = {"_FELTD_COMPLETE": "complete_bash", "COMP_WORDS": "feltd act confi", "COMP_CWORD": "2"}
    words = [sys.executable, "-c", "from daemon.cli import main; main()"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | asked
    told = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert told.stdout.split() == ["confirm-award"]
