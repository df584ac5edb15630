"""``feltd record`` and ``feltd replay`` as processes, on a simulated shoe and on a bare terminal."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import stat
import subprocess
import sys
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from daemon.recording import Event, Piece, Recording, RecordingError, read
from daemon.simhost import ControlClient

ROOT = Path(__file__).parents[2]
PATIENCE = 20.0  # seconds


class Bench:
    """A folder with a simulated shoe, and the processes that were started in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []

    def feltd(self, *words: str, most: int = resource.RLIM_INFINITY) -> subprocess.Popen[str]:
        """``most``: bytes that a file may have, in place of a disk that is full."""
        process = subprocess.Popen(
            [sys.executable, "-m", "daemon", *words],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY)),
        )
        self.started.append(process)
        return process

    def ask(self, *words: str) -> tuple[int, str, str]:
        process = self.feltd(*words)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def shoe(self) -> ControlClient:
        self.feltd("sim", "shoe", "--protocol", "fdp", "--pty", "shoe.tty", "--control", "shoe.control")
        control = ControlClient(self.folder / "shoe.control", PATIENCE)
        control.do("state")
        return control

    def until(self, name: str, true: Callable[[Recording], bool]) -> Recording:
        """The recording, once it is so."""
        give_up = time.monotonic() + PATIENCE
        while time.monotonic() < give_up:
            try:
                recording = read(self.folder / name)
            except (FileNotFoundError, RecordingError):  # not there yet, or in the middle of a line
                recording = None
            if recording is not None and true(recording):
                return recording
            time.sleep(0.02)
        raise AssertionError(f"waited in vain for {name}")

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    try:
        yield bench
    finally:
        bench.end()


def happened(recording: Recording, event: str) -> int:
    return sum(isinstance(each, Event) and each.event == event for each in recording.entries)


def heard(recording: Recording) -> bytes:
    return b"".join(e.data for e in recording.entries if isinstance(e, Piece) and e.dir == "in")


DRIVEN = ("--role", "shoe", "--protocol", "fdp")


def drawn(bench: Bench, number: signal.Signals = signal.SIGINT) -> tuple[ControlClient, Recording]:
    """A recording of a shoe that is driven while four cards leave it."""
    control = bench.shoe()
    process = bench.feltd("record", "--link", "shoe.tty", *DRIVEN, "--who", "ana", "--json", "a.rec")
    bench.until("a.rec", lambda found: happened(found, "identified") == 1)
    for card in ("AS", "10H", "2C", "KD"):
        control.do("draw", card=card)
    give_up = time.monotonic() + PATIENCE
    while control.do("state")["unacknowledged"] and time.monotonic() < give_up:
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert json.loads(out)["bytes_in"] == len(heard(read(bench.folder / "a.rec")))
    return control, read(bench.folder / "a.rec")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_driven_device_is_acknowledged_and_the_file_is_whole(bench: Bench, number: signal.Signals) -> None:
    control, recording = drawn(bench, number)
    assert control.do("state")["unacknowledged"] == 0
    assert recording.header.role == "shoe"
    assert recording.header.who == "ana"
    assert recording.header.date.endswith("Z")
    assert recording.entries[-1] == Event(recording.entries[-1].t, "ended")
    assert stat.S_IMODE((bench.folder / "a.rec").stat().st_mode) == 0o600


def test_replay_tells_what_the_driver_told(bench: Bench) -> None:
    drawn(bench)
    code, out, _ = bench.ask("replay", "--json", "--faces", "a.rec")
    facts = json.loads(out)["replays"][0]["facts"]
    assert code == 0
    assert [f["face"] for f in facts if f.get("emit") == "CardDrawn"] == ["AS", "10H", "2C", "KD"]
    assert [f["ordinal"] for f in facts if f.get("emit") == "CardDrawn"] == [1, 2, 3, 4]
    code, out, _ = bench.ask("replay", "a.rec")
    assert code == 0
    assert out.count('face="face-down card"') == 4
    assert not any(card in out for card in ('"AS"', '"10H"', '"2C"', '"KD"'))


def test_a_table_takes_the_cards_and_tells_no_face(bench: Bench) -> None:
    drawn(bench)
    (bench.folder / "feltd.toml").write_text((ROOT / "config" / "demo.toml").read_text())
    code, out, err = bench.ask("replay", "--table", "feltd.toml", "--json", "a.rec")
    assert code == 0, err
    facts: list[dict[str, Any]] = json.loads(out)["replays"][0]["facts"]
    inputs = [fact["input"] for fact in facts if "record" in fact]
    drawn_cards = [each for each in inputs if each.get("event") == "card-drawn"]
    assert [each["face"] for each in drawn_cards] == ["face-down card"] * 4
    assert [(i["device"], i["ready"]) for i in inputs if i["kind"] == "link" and i["ready"]] == [
        ("shoe", True)
    ]
    assert any("stray-cards" in str(fact.get("effects")) for fact in facts)
    assert not any(card in out for card in ('"AS"', '"10H"', '"2C"', '"KD"'))
    assert bench.ask("replay", "--table", "feltd.toml", "--faces", "a.rec")[0] == 2
    assert bench.ask("replay", "--table", "none.toml", "a.rec")[0] == 78
    code, _, err = bench.ask("replay", "--table", "feltd.toml", "a.rec", "a.rec")
    assert (code, "two recordings of one device" in err) == (1, True)


def test_listening_writes_no_byte(bench: Bench) -> None:
    """On a bare terminal whose other end is ours: whatever the recorder wrote would come out here."""
    master, slave = os.openpty()
    tty.setraw(slave)
    try:
        for name, words in (("a.rec", ()), ("b.rec", (*DRIVEN, "--listen"))):
            process = bench.feltd("record", "--link", os.ttyname(slave), *words, name)
            bench.until(name, lambda found: happened(found, "opened") == 1)
            os.write(master, b"\x00\x03\x01\x40\xff")
            bench.until(name, lambda found: heard(found) == b"\x00\x03\x01\x40\xff")
            assert select.select([master], [], [], 1.5)[0] == []  # a driver asks within a second
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
            assert read(bench.folder / name).sent() == b""
    finally:
        os.close(slave)
        os.close(master)


def test_a_lost_device_is_waited_for(bench: Bench) -> None:
    control = bench.shoe()
    process = bench.feltd("record", "--link", "shoe.tty", "a.rec")
    bench.until("a.rec", lambda found: len(heard(found)) > 0)
    control.do("unplug")
    bench.until("a.rec", lambda found: happened(found, "lost") == 1)
    control.do("replug")
    recording = bench.until("a.rec", lambda found: happened(found, "opened") == 2)
    lost = next(each for each in recording.entries if isinstance(each, Event) and each.event == "lost")
    assert lost.cause == "lost"
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0


def test_a_port_that_somebody_holds_is_refused_by_name(bench: Bench) -> None:
    bench.shoe()
    holder = bench.feltd("record", "--link", "shoe.tty", "a.rec")
    bench.until("a.rec", lambda found: happened(found, "opened") == 1)
    code, _, err = bench.ask("record", "--link", "shoe.tty", "b.rec")
    assert code == 1
    assert "busy" in err
    assert f"pid {holder.pid} " in err
    assert not (bench.folder / "b.rec").exists()


def test_a_full_disk_ends_it_before_the_line_that_did_not_fit(bench: Bench) -> None:
    control = bench.shoe()
    process = bench.feltd("record", "--link", "shoe.tty", *DRIVEN, "a.rec", most=2_000)
    bench.until("a.rec", lambda found: happened(found, "identified") == 1)
    for _ in range(30):
        control.do("draw")
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "a.rec: File too large" in err
    recording = read(bench.folder / "a.rec")
    assert heard(recording)
    assert happened(recording, "ended") == 0


def test_an_existing_file_is_kept_and_the_port_not_touched(bench: Bench) -> None:
    (bench.folder / "a.rec").write_text("dear")
    code, _, err = bench.ask("record", "--link", "no-such-port", "a.rec")
    assert (code, "a.rec: is there already" in err) == (1, True)
    assert (bench.folder / "a.rec").read_text() == "dear"


def test_no_port_no_file(bench: Bench) -> None:
    code, out, err = bench.ask("record", "--link", "no-such-port", "--json", "a.rec")
    assert code == 1
    assert "absent: no-such-port" in json.loads(out)["error"]
    assert "absent" in err
    assert not (bench.folder / "a.rec").exists()


def test_so_many_seconds(bench: Bench) -> None:
    bench.shoe()
    code, out, err = bench.ask("record", "--link", "shoe.tty", "--seconds", "1.5", "--json", "a.rec")
    assert code == 0
    assert "bytes in" in err
    assert json.loads(out)["bytes_in"] > 0
    assert 1_400_000_000 < read(bench.folder / "a.rec").entries[-1].t < 10_000_000_000


@pytest.mark.parametrize(
    "words",
    [
        ("--role", "shoe"),
        ("--role", "shoe", "--protocol", "whist"),
        ("--listen",),
        (*DRIVEN, "--meter", "$1"),
        (*DRIVEN, "--option", "pace=1"),
        ("--link", "serial://host/x"),
    ],
)
def test_wrong_usage(bench: Bench, words: tuple[str, ...]) -> None:
    code, _, _ = bench.ask("record", "--link", "port", *words, "a.rec")
    assert code == 2
    assert not (bench.folder / "a.rec").exists()


def test_what_cannot_be_replayed_says_why(bench: Bench) -> None:
    (bench.folder / "a.rec").write_text('{"feltd-record": 1}\n')
    (bench.folder / "b.rec").write_text("whist\n")
    for words, why in (
        (("a.rec",), "give --role and --protocol"),
        (("a.rec", "--role", "shoe", "--protocol", "whist"), "must be 'fdp'"),
        (("b.rec",), "b.rec: line 1"),
        (("c.rec",), "c.rec: No such file"),
    ):
        code, out, err = bench.ask("replay", "--json", *words)
        assert (code, why in err, why in json.loads(out)["error"]) == (1, True, True), err
