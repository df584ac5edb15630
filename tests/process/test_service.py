"""The daemon as a process: how it starts, what it refuses, how it ends, and what it still knows then."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from daemon.client import ApiError, Client, NotRunning
from daemon.journal import create, header_bytes
from daemon.sealer import create_key
from daemon.simhost import ControlClient

ROOT = Path(__file__).parents[2]
CONFIG = (ROOT / "config" / "demo.toml").read_text()
PATIENCE = 20.0  # seconds
SIMULATORS = {"shoe": "fdp", "shuffler": "fdp", "sign": "alpha"}


def until(true: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < give_up, f"waited in vain for {what}"
        time.sleep(0.02)


class Place:
    """A folder with a table's configuration, and the processes that were started in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "feltd.toml"
        self.config.write_text(CONFIG)
        self.client = Client(folder / "feltd.sock")
        self.started: list[subprocess.Popen[bytes]] = []

    def spawn(self, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "daemon", *words],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
            stdout=subprocess.PIPE,
            stderr=(self.folder / "log").open("ab"),
        )
        self.started.append(process)
        return process

    def daemon(self, **environment: str) -> subprocess.Popen[bytes]:
        """A daemon that answers."""
        process = self.spawn("run", "--config", "feltd.toml", **environment)
        until(lambda: process.poll() is not None or self.answers(), "the daemon")
        assert process.poll() is None, self.log()
        return process

    def refused(self) -> str:
        """The last line of a daemon that does not start."""
        process = self.spawn("run", "--config", "feltd.toml")
        assert process.wait(PATIENCE) == 1
        return self.log().splitlines()[-1]

    def feltd(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Exit code and JSON of a command."""
        process = self.spawn(*words, "--json", FELTD_SOCKET="feltd.sock")
        out, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, json.loads(out)

    def answers(self) -> bool:
        try:
            self.client.status()
        except NotRunning:
            return False
        return True

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def end(self) -> None:
        self.client.close()
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    try:
        yield place
    finally:
        place.end()


@pytest.fixture
def devices(place: Place) -> dict[str, ControlClient]:
    """The three simulators, running."""
    for role, protocol in SIMULATORS.items():
        files = ("--pty", f"{role}.tty", "--control", f"{role}.control")
        place.spawn("sim", role, "--protocol", protocol, *files)
    controls = {role: ControlClient(place.folder / f"{role}.control", PATIENCE) for role in SIMULATORS}
    for control in controls.values():
        control.do("state")
    return controls


def stop(process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGTERM) -> float:
    """End it by a signal; the seconds that it took."""
    began = time.monotonic()
    process.send_signal(number)
    assert process.wait(PATIENCE) == 0
    return time.monotonic() - began


# --- without devices ------------------------------------------------------------------------------


def test_a_daemon_without_devices_runs_and_says_what_is_missing(place: Place) -> None:
    place.daemon()
    place.client.act("open-table")
    until(lambda: "absent" in place.client.status()["not_ready"], "the first attempt")
    status = place.client.status()
    assert status["not_ready"].startswith("SH-1 is not ready: absent")
    assert {device["state"] for device in status["devices"].values()} <= {"lost", "opening"}
    assert status["simulated"] is True
    refused = place.client.act("open-betting")
    assert (refused["accepted"], refused["refusal"]["clause"]) == (False, "CS-01")


def test_bad_acts_are_refused_and_journalled(place: Place) -> None:
    daemon = place.daemon()
    code, answer = place.feltd("act", "ante", "box=1", "amount=10000", "by=ana")
    assert (code, answer["accepted"], answer["refusal"]["reason"]) == (1, False, "the table is closed")
    code, answer = place.feltd("act", "no-such-act")
    assert (code, answer["status"]) == (1, 404)
    code, answer = place.feltd("act", "open-table", "by=ana")
    assert (code, answer["state"]) == (0, "between-rounds")
    stop(daemon)
    with closing(sqlite3.connect(place.folder / "journal.db")) as journal:
        records = [json.loads(row[0]) for row in journal.execute("SELECT record FROM records ORDER BY seq")]
    acts = [(r["input"]["name"], "refusal" in r) for r in records if r["input"]["kind"] == "act"]
    assert acts == [("ante", True), ("no-such-act", True), ("open-table", False)]


def test_questions_that_cannot_be_answered(place: Place) -> None:
    place.daemon()
    with pytest.raises(ApiError, match="there is no round 4"):
        place.client.round(4)
    code, answer = place.feltd("round", "4")
    assert (code, answer) == (1, {"error": "there is no round 4"})
    malformed = place.client.act("BAD")
    assert (malformed["accepted"], malformed["seq"], malformed["status"]) == (False, None, 422)


def test_nobody_listens(place: Place) -> None:
    with pytest.raises(NotRunning, match="nobody answers"):
        place.client.status()
    code, answer = place.feltd("status")
    assert (code, answer["error"].startswith("feltd.sock: nobody answers")) == (1, True)


def test_the_socket_is_for_owner_and_group_only(place: Place) -> None:
    place.daemon()
    assert (place.folder / "feltd.sock").stat().st_mode & 0o777 == 0o660
    assert (place.folder / "journal.key").stat().st_mode & 0o777 == 0o600


# --- the end ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_three_seconds_also_while_somebody_waits(
    number: signal.Signals, place: Place
) -> None:
    daemon = place.daemon()
    with socket.socket(socket.AF_UNIX) as poll:
        poll.connect(str(place.folder / "feltd.sock"))
        poll.sendall(b"GET /status?after=999999&wait=60 HTTP/1.1\r\nhost: feltd\r\n\r\n")
        time.sleep(0.2)
        assert stop(daemon, number) < 3
        assert poll.recv(100).startswith(b"HTTP/1.1 200")
    assert not (place.folder / "feltd.sock").exists()
    assert place.log().splitlines()[-1].count('"event": "stopped"') == 1


def test_it_tells_the_service_manager(place: Place) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(place.folder / "notify"))
        manager.settimeout(PATIENCE)
        daemon = place.daemon(NOTIFY_SOCKET=str(place.folder / "notify"))
        assert manager.recv(300) == b"READY=1"
        until(lambda: b"shoe absent" in manager.recv(300), "the status of the devices")
        stop(daemon)
        until(lambda: manager.recv(300) == b"STOPPING=1", "the end")


def test_g01_pings_come_while_there_is_progress_and_stop_with_it(place: Place) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(place.folder / "notify"))
        manager.settimeout(PATIENCE)
        daemon = place.daemon(NOTIFY_SOCKET=str(place.folder / "notify"), WATCHDOG_USEC="600000")
        for _ in range(3):
            until(lambda: manager.recv(300) == b"WATCHDOG=1", "a ping")
        daemon.send_signal(signal.SIGSTOP)  # a loop that does not turn
        time.sleep(0.3)
        manager.setblocking(False)
        with suppress(BlockingIOError):
            while manager.recv(300):
                pass
        time.sleep(1.5)
        with pytest.raises(BlockingIOError):
            manager.recv(300)
        daemon.send_signal(signal.SIGCONT)
        stop(daemon)


# --- starting again ---------------------------------------------------------------------------------


def test_a_restart_keeps_the_state_and_the_answers(place: Place) -> None:
    daemon = place.daemon()
    first = place.client.act("open-table", key="k1")
    stop(daemon)
    place.daemon()
    assert place.client.status()["state"] == "between-rounds"
    assert place.client.act("open-table", key="k1") == first


def test_it_starts_again_after_a_kill_beside_its_dead_socket(place: Place) -> None:
    daemon = place.daemon()
    place.client.act("open-table")
    daemon.kill()
    daemon.wait()
    assert (place.folder / "feltd.sock").is_socket()
    place.daemon()
    assert place.client.status()["state"] == "between-rounds"


def test_a_second_daemon_is_refused_and_the_first_goes_on(place: Place) -> None:
    daemon = place.daemon()
    assert place.refused() == f"feltd: journal.db is in use by another daemon (pid {daemon.pid})"
    assert place.answers()


def test_a_socket_of_somebody_alive_is_not_taken(place: Place) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(place.folder / "feltd.sock"))
        other.listen()
        assert place.refused() == "feltd: feltd.sock is in use: another daemon listens there"
        assert (place.folder / "feltd.sock").is_socket()
    assert sorted(os.listdir(place.folder)) == ["feltd.sock", "feltd.toml", "log"]


def test_a_daemon_that_ends_takes_its_socket_and_its_lock_away(place: Place) -> None:
    stop(place.daemon())
    left = {name for name in os.listdir(place.folder) if not name.startswith("journal.db-")}
    assert left == {"feltd.toml", "log", "journal.db", "journal.db.head", "journal.db.reserve", "journal.key"}


def test_a_file_in_the_socket_s_place_is_kept(place: Place) -> None:
    (place.folder / "feltd.sock").write_text("mine")
    assert "is no socket" in place.refused()
    assert (place.folder / "feltd.sock").read_text() == "mine"
    assert not (place.folder / "journal.db").exists()


# --- a state that cannot be used ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a table that was opened once."""
    place = Place(tmp_path_factory.mktemp("used"))
    try:
        daemon = place.daemon()
        assert place.client.act("open-table", by="ana")["accepted"]
        stop(daemon)
    finally:
        place.end()
    return place.folder


def journal_bytes(place: Place) -> bytes:
    journal = place.folder / "journal.db"
    return journal.read_bytes() if journal.exists() else b""


def _altered(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "journal.db")) as journal:
        records = dict(journal.execute("SELECT seq, record FROM records"))
        changed = [
            (record.replace(b"ana", b"eva"), seq) for seq, record in records.items() if b"ana" in record
        ]
        assert len(changed) == 1
        journal.executemany("UPDATE records SET record = ? WHERE seq = ?", changed)
        journal.commit()


def _another_program_s(folder: Path) -> None:
    (folder / "journal.db").unlink()
    with closing(sqlite3.connect(folder / "journal.db")) as other:
        other.execute("CREATE TABLE mine (x)")


def _another_key(folder: Path) -> None:
    (folder / "journal.key").write_bytes(bytes(31))


def _another_table(folder: Path) -> None:
    (folder / "feltd.toml").write_text(CONFIG.replace('id = "demo"', 'id = "CS-9"'))


def _real_devices(folder: Path) -> None:
    (folder / "feltd.toml").write_text(CONFIG.replace("simulated = true", "simulated = false"))


def _other_rules(folder: Path) -> None:
    (folder / "feltd.toml").write_text(CONFIG.replace("minimum = 10_000_000", "minimum = 20_000_000"))


SPOILED: list[tuple[Callable[[Path], object], str]] = [
    (
        lambda folder: (folder / "journal.key").unlink(),
        "journal.key is missing beside the journal journal.db",
    ),
    (lambda folder: (folder / "journal.db").unlink(), "journal.db is missing beside its key journal.key"),
    (lambda folder: (folder / "journal.key").chmod(0o644), "others may read the sealing key"),
    (lambda folder: (folder / "journal.db").write_bytes(b"no database" * 99), "file is not a database"),
    (_another_program_s, "not a journal of feltd"),
    (_another_key, "a sealing key has 32 bytes"),
    (_altered, "journal.db is damaged"),
    (_another_table, "journal.db belongs to table 'demo', not 'CS-9'"),
    (_real_devices, "was begun with simulated devices"),
]


@pytest.mark.parametrize(("how", "told"), SPOILED, ids=[told[:30] for _, told in SPOILED])
def test_a_state_that_cannot_be_used_is_told_and_kept(
    how: Callable[[Path], object], told: str, used: Path, place: Place
) -> None:
    for name in ("journal.db", "journal.key"):
        shutil.copy2(used / name, place.folder / name)
    how(place.folder)
    spoiled = journal_bytes(place)
    sentence = place.refused()
    assert sentence.startswith("feltd: ")
    assert told in sentence
    assert "Traceback" not in place.log()
    assert journal_bytes(place) == spoiled


def test_a_first_start_that_was_cut_off_before_the_key_had_its_name_is_finished(place: Place) -> None:
    """The power failed when the journal was there: nobody has to come and move a file."""
    waiting = place.folder / ".journal.key.first"
    create_key(waiting)
    create(place.folder / "journal.db", header_bytes("demo", "caribbean", "2026-01-01T00:00:00Z", ("shoe",)))
    place.daemon()
    assert place.client.act("open-table", by="ana")["accepted"]
    assert "first-start-finished" in place.log()
    assert not waiting.exists()


def test_a_key_that_waits_beside_a_journal_with_records_is_not_taken_for_the_one_that_is_lost(
    used: Path, place: Place
) -> None:
    shutil.copy2(used / "journal.db", place.folder / "journal.db")
    create_key(place.folder / ".journal.key.first")
    assert "journal.key is missing beside the journal journal.db" in place.refused()


def test_cs_13_another_rule_set_in_the_file_waits_for_a_supervisor(place: Place) -> None:
    stop(place.daemon())
    _other_rules(place.folder)
    place.daemon()
    status = place.feltd("status")[1]
    assert [fault["code"] for fault in status["faults"]] == ["rules-differ"]
    assert "jackpot.minimum: 10000000 -> 20000000" in status["faults"][0]["text"]
    code, answer = place.feltd("act", "change-rules", "file=feltd.toml")
    assert (code, answer["refusal"]["clause"]) == (1, "CS-13")
    code, answer = place.feltd("act", "change-rules", "file=nowhere.toml", "role=supervisor")
    assert (code, "cannot be read" in answer["refusal"]["reason"]) == (1, True)
    code, answer = place.feltd("act", "change-rules", "file=feltd.toml", "role=supervisor")
    assert (code, answer["accepted"]) == (0, True)
    assert place.feltd("status")[1]["faults"] == []


def test_no_folder_no_journal(place: Place) -> None:
    place.config.write_text(CONFIG.replace('"journal.db"', '"state/journal.db"'))
    assert place.refused().startswith("feltd: state/journal.db: the folder does not exist")
    assert not (place.folder / "journal.key").exists()


# --- the export --------------------------------------------------------------------------------------


LAST_ONE = '{"header":{"created":"","format":1,"game":"caribbean","simulated":[],"table":"T"}}\n'


def with_journal(used: Path, place: Place) -> Path:
    for name in ("journal.db", "journal.key"):
        shutil.copy2(used / name, place.folder / name)
    return place.folder / "kept.jsonl"


def export(place: Place, source: str, target: str, *words: str) -> tuple[int, dict[str, Any]]:
    return place.feltd("journal", "export", source, "--out", target, *words)


def test_an_export_says_what_it_wrote(used: Path, place: Place) -> None:
    kept = with_journal(used, place)
    kept.write_text(LAST_ONE)
    code, answer = export(place, "journal.db", "kept.jsonl")
    lines = kept.read_bytes().splitlines()
    assert (code, answer) == (0, {"records": len(lines) - 1, "out": "kept.jsonl"})
    assert json.loads(lines[-1])["seq"] == answer["records"] > 1
    canonical = ("--canonical", "--key", "journal.key")
    for _ in range(2):  # the second one is in the place of the first
        assert export(place, "journal.db", "clear.jsonl", *canonical)[0] == 0
    assert (place.folder / "clear.jsonl").stat().st_mode & 0o077 == 0
    assert [path.name for path in place.folder.iterdir() if path.name.startswith(".")] == []


def test_the_export_of_a_table_that_plays_never_goes_over_its_files(place: Place) -> None:
    place.daemon()
    os.link(place.folder / "journal.db", place.folder / "link.jsonl")
    (place.folder / "symlink.jsonl").symlink_to("journal.db")
    for target in ("journal.db", "./link.jsonl", "symlink.jsonl", "journal.db-wal", "journal.db.lock"):
        code, answer = export(place, "journal.db", target)
        assert (code, "not written by this command, and is kept" in answer["error"]) == (1, True), target
    assert place.client.act("open-table")["accepted"]
    assert place.feltd("journal", "verify", "journal.db")[1]["verified"]


@pytest.mark.parametrize(
    ("source", "words", "told"),
    [
        ("jurnal.db", (), "there is no such file"),
        ("feltd.toml", (), "not a database"),
        ("journal.db", ("--canonical",), "give the key file"),
        ("journal.db", ("--canonical", "--key", "feltd.toml"), "the sealing key"),
    ],
)
def test_an_export_that_fails_leaves_the_last_one(
    source: str, words: tuple[str, ...], told: str, used: Path, place: Place
) -> None:
    kept = with_journal(used, place)
    kept.write_text(LAST_ONE)
    (place.folder / "log").touch()
    before = sorted(os.listdir(place.folder))
    code, answer = export(place, source, "kept.jsonl", *words)
    assert code == 1
    assert told in answer["error"]
    assert kept.read_text() == LAST_ONE
    assert sorted(os.listdir(place.folder)) == before


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("journal.key", "and is kept"),
        ("other.db", "and is kept"),
        ("feltd.toml", "and is kept"),
        ("letter.json", "and is kept"),
        ("/dev/null", "no regular file"),
        ("nowhere/x.jsonl", "nowhere/x.jsonl: No such file or directory"),
    ],
)
def test_an_export_replaces_nothing_but_an_export(target: str, told: str, used: Path, place: Place) -> None:
    with_journal(used, place)
    shutil.copy2(place.folder / "journal.db", place.folder / "other.db")
    (place.folder / "letter.json").write_text('{"header": "a letter"}\n')
    before = place.folder / target, (place.folder / target).read_bytes() if "/" not in target else b""
    words = ("--canonical", "--key", "journal.key")
    code, answer = export(place, "journal.db", target, *words)
    assert (code, told in answer["error"]) == (1, True), answer
    assert "/" in target or before[0].read_bytes() == before[1]


def test_an_export_goes_into_an_empty_file(used: Path, place: Place) -> None:
    with_journal(used, place)
    (place.folder / "made.jsonl").touch()
    assert export(place, "journal.db", "made.jsonl")[0] == 0
    assert (place.folder / "made.jsonl").read_text().startswith("{")


# --- with devices ------------------------------------------------------------------------------------


def ready(place: Place) -> bool:
    status = place.client.status()
    return not status["not_ready"] and bool(status["sign"]["proven"])


def test_a_round_begins_on_simulated_devices_and_outlives_a_kill(
    place: Place, devices: dict[str, ControlClient]
) -> None:
    daemon = place.daemon()
    place.client.act("open-table")
    place.client.act("shuffle")
    until(lambda: ready(place) and place.client.status()["deck"]["shuffler"] == "SH-1", "the shuffle")
    assert place.client.act("open-betting")["accepted"]
    assert place.client.act("ante", box=1, amount=10_000)["accepted"]
    assert place.client.act("progressive", box=1)["accepted"]
    assert place.client.act("close-betting")["accepted"]
    until(lambda: place.client.status()["state"] == "dealing", "the first packet")
    daemon.kill()
    daemon.wait()
    place.daemon()
    devices["shuffler"].do("take", index=0)
    until(lambda: place.client.status()["cards"]["out"] == 10, "the dealer's packet")
    status = place.client.status()
    assert (status["state"], status["round"]) == ("deciding", 1)
    assert status["pool"]["contributed"] == 710
    until(lambda: bool(place.client.status()["sign"]["proven"]), "the sign")
    assert devices["sign"].do("state")["amount"] == status["pool"]["now"]


def test_a_device_that_goes_and_comes_back(place: Place, devices: dict[str, ControlClient]) -> None:
    place.daemon()
    until(lambda: ready(place), "the devices")
    devices["sign"].do("unplug")
    until(lambda: place.client.status()["devices"]["sign"]["cause"] in ("lost", "absent"), "the loss")
    devices["sign"].do("replug")
    until(lambda: ready(place), "the sign's return")


def test_a_journal_that_fails_ends_it_with_the_safe_text_on_the_sign(
    place: Place, devices: dict[str, ControlClient]
) -> None:
    daemon = place.daemon()
    until(lambda: ready(place), "the devices")
    with closing(sqlite3.connect(place.folder / "journal.db")) as other:
        other.execute("DROP TABLE money")
    answer = place.client.act("open-table")
    assert (answer["accepted"], answer["status"]) == (False, 503)
    assert daemon.wait(PATIENCE) == 1
    assert "could not be committed" in place.log().splitlines()[-1]
    assert "PLEASE WAIT" in str(devices["sign"].do("state"))


# --- the log -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["full", "closed", "unread"])
def test_a_broken_log_does_not_touch_the_table(broken: str, place: Place) -> None:
    read, write = os.pipe()
    target = os.open("/dev/full", os.O_WRONLY) if broken == "full" else os.dup(write)
    os.close(write)
    if broken == "closed":
        os.close(read)
    elif broken == "unread":
        os.set_blocking(target, False)
        while _written(target):
            pass
        os.set_blocking(target, True)
    words = [sys.executable, "-m", "daemon", "run", "--config", "feltd.toml"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    daemon = subprocess.Popen(words, cwd=place.folder, env=environment, stderr=target, stdout=subprocess.PIPE)
    place.started.append(daemon)
    os.close(target)
    until(place.answers, "the daemon")
    assert place.client.act("open-table")["accepted"]
    assert stop(daemon) < 3
    if broken != "closed":
        os.close(read)


def _written(target: int) -> int:
    try:
        return os.write(target, b"x" * 4096)
    except BlockingIOError:
        return 0
