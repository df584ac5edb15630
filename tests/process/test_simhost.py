"""A simulator in a process of its own: its wire, its control socket, and how it ends.

This file is also the program of that process: ``python test_simhost.py PTY CONTROL [PORT]``.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from daemon.links.base import Cause, LinkError
from daemon.links.serial import SerialLink
from daemon.registry import known, protocol, simulator
from daemon.simhost import ControlClient, ControlError, Mischief, run_simulator
from daemon.supervisor import LinkLife, LinkState
from drivers.base import MILLISECOND, SECOND, Identified, Send

ROOT = Path(__file__).parents[2]
BANNER = b"<up>"
EVERY_BYTE = bytes(range(256))


class EchoSim:
    """Says that it is up, answers each byte with its complement, and beats when asked to."""

    def __init__(self) -> None:
        self._beat = 0
        self._next: int | None = None

    @property
    def deadline(self) -> int | None:
        return self._next

    def opened(self, now: int) -> list[Send]:
        return [Send(BANNER)]

    def received(self, data: bytes, now: int) -> list[Send]:
        return [Send(bytes(byte ^ 0xFF for byte in data))]

    def tick(self, now: int) -> list[Send]:
        self._next = now + 10 * MILLISECOND
        self._beat += 1
        return [Send(b"%d;" % self._beat)]

    def control(self, verb: dict[str, object], now: int) -> tuple[dict[str, object], list[Send]]:
        match verb:
            case {"do": "beat"}:
                self._next = now
                return {"ok": True}, []
            case {"do": "say", "text": str(text), "times": int(times)}:
                return {"said": times}, [Send(text.encode())] * times
            case {"do": "break"}:
                raise RuntimeError("the simulator is broken")
        return {"error": f"no verb {verb['do']}"}, []


class Process:
    """A simulator process; ready once its control socket answers."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.pty, self.socket, self._port = folder / "echo.tty", folder / "echo.control", port
        self.control = ControlClient(self.socket)
        self.start()

    def start(self) -> None:
        words = [str(self.pty), str(self.socket), *([str(self._port)] if self._port else [])]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            [sys.executable, __file__, *words], env=environment, stderr=subprocess.DEVNULL
        )
        self.control.do("say", text="", times=0)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=5)


@pytest.fixture
def echo(tmp_path: Path) -> Iterator[Process]:
    process = Process(tmp_path)
    yield process
    process.control.close()
    process.end(signal.SIGKILL)


class Terminal:
    """Opens a tty as it is, setting nothing."""

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        self.name = os.ttyname(self.descriptor)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    def write(self, data: bytes) -> None:
        os.write(self.descriptor, data)

    def read(self, count: int, seconds: float = 3) -> bytes:
        """Up to ``count`` bytes, fewer when the time is over."""
        data, end = b"", time.monotonic() + seconds
        while len(data) < count and (left := end - time.monotonic()) > 0:
            if select.select([self.descriptor], [], [], left)[0]:
                data += os.read(self.descriptor, count - len(data))
        return data

    def hung_up(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.descriptor], [], [], 0.05)[0] and not os.read(self.descriptor, 4096):
                return True
        return False


def test_b13_the_line_is_raw_before_it_is_announced(echo: Process) -> None:
    with Terminal(echo.pty) as terminal:
        assert terminal.read(len(BANNER)) == BANNER
        terminal.write(EVERY_BYTE)
        assert terminal.read(len(EVERY_BYTE)) == EVERY_BYTE[::-1]
        assert terminal.read(1, seconds=0.1) == b""  # an echo would come back for ever


def test_b13_nobody_attached_costs_the_oldest_bytes_only(echo: Process) -> None:
    echo.control.do("say", text="x" * 1000, times=500)
    echo.control.do("say", text="newest", times=1)
    with Terminal(echo.pty) as terminal:
        waiting = terminal.read(500_000, seconds=0.3)
        assert waiting.endswith(b"newest")
        assert len(waiting) < 64 * 1024
        terminal.write(b"\x00")
        assert terminal.read(1) == b"\xff"


def test_a01_unplug_hangs_up_and_replug_is_another_tty(echo: Process) -> None:
    with Terminal(echo.pty) as terminal:
        echo.control.do("unplug")
        assert terminal.hung_up(1)
        assert not echo.pty.is_symlink()
        echo.control.do("unplug")
        echo.control.do("replug")
        with Terminal(echo.pty) as again:
            assert again.name != terminal.name
            assert again.read(len(BANNER)) == BANNER


def test_a03_an_unplugged_simulator_rests_and_takes_no_descriptors(echo: Process) -> None:
    descriptors = Path(f"/proc/{echo.process.pid}/fd")
    before = len(list(descriptors.iterdir()))
    echo.control.do("beat")
    for _ in range(20):
        echo.control.do("unplug")
        echo.control.do("replug")
    assert len(list(descriptors.iterdir())) == before
    echo.control.do("unplug")
    start = processor_seconds(echo)
    time.sleep(0.5)
    assert processor_seconds(echo) - start < 0.1


def processor_seconds(echo: Process) -> float:
    fields = Path(f"/proc/{echo.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_b02_mute_corrupt_split_and_delay(echo: Process) -> None:
    with Terminal(echo.pty) as terminal:
        terminal.read(len(BANNER))
        echo.control.do("corrupt", frames=1)
        echo.control.do("say", text="frame", times=2)
        first, second = terminal.read(5), terminal.read(5)
        assert (sum(one != other for one, other in zip(first, b"frame", strict=True)), second) == (
            1,
            b"frame",
        )
        echo.control.do("split")
        start = time.monotonic()
        echo.control.do("say", text="y" * 100, times=1)
        assert terminal.read(100) == b"y" * 100
        assert time.monotonic() - start >= 0.09
        echo.control.do("split", on=False)
        echo.control.do("delay", ms=200)
        echo.control.do("say", text="late", times=1)
        assert terminal.read(4, seconds=0.1) == b""
        assert terminal.read(4) == b"late"
        echo.control.do("delay", ms=0)
        echo.control.do("mute", seconds=0.3)
        echo.control.do("say", text="never", times=1)
        assert terminal.read(5, seconds=0.4) == b""
        echo.control.do("say", text="again", times=1)
        assert terminal.read(5) == b"again"


def test_time_reaches_the_simulator(echo: Process) -> None:
    with Terminal(echo.pty) as terminal:
        terminal.read(len(BANNER))
        echo.control.do("beat")
        assert terminal.read(6) == b"1;2;3;"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_nothing_is_left(echo: Process, number: signal.Signals) -> None:
    before = time.monotonic()
    assert echo.end(number) == 0
    assert time.monotonic() - before < 1
    assert list(echo.pty.parent.iterdir()) == []


def test_a_kill_leaves_nothing_that_stops_the_next_start(echo: Process) -> None:
    echo.end(signal.SIGKILL)
    assert echo.pty.is_symlink()
    echo.start()  # its client, too, finds the new socket behind the old name
    with Terminal(echo.pty) as terminal:
        assert terminal.read(len(BANNER)) == BANNER


def sim(folder: Path, *words: str) -> str:
    """What a simulator that does not start says."""
    command = [sys.executable, "-m", "daemon", "sim", "shoe", "--protocol", "fdp", *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=folder, env=environment, timeout=20, stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("words", [("--pty", "mine"), ("--pty", "shoe.tty", "--control", "mine")])
def test_a_file_in_its_way_is_kept(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    assert "mine" in sim(tmp_path, *words)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("mine", "mine")]


def test_a_folder_in_its_way_is_kept(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert sim(tmp_path, "--pty", "mine") == "feltd: mine: is there and is no symlink: it is kept\n"


def test_a_simulator_that_breaks_ends_its_process(echo: Process) -> None:
    with pytest.raises(ControlError, match="no answer"):
        echo.control.do("break")
    assert echo.process.wait(timeout=5) == 1
    assert not echo.pty.is_symlink()


@pytest.mark.parametrize(
    ("verb", "args", "text"),
    [
        ("dance", {}, "no verb dance"),
        ("mute", {}, "seconds"),
        ("mute", {"seconds": "3"}, "seconds"),
        ("delay", {"ms": -1}, "ms"),
        ("corrupt", {"frames": True}, "frames"),
    ],
)
def test_a_wrong_verb_is_an_error(echo: Process, verb: str, args: dict[str, object], text: str) -> None:
    with pytest.raises(ControlError, match=text):
        echo.control.do(verb, **args)


@pytest.mark.parametrize("line", [b"{", b"[]", b'{"do":1}', b"\xff\xfe"])
def test_what_is_no_verb_is_answered_and_the_next_one_done(echo: Process, line: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(3)
        raw.connect(str(echo.socket))
        raw.sendall(line + b'\n{"do":"say","text":"","times":0}\n')
        answers = raw.makefile("rb")
        assert b'"error"' in answers.readline()
        assert answers.readline() == b'{"said": 0}\n'


def test_tcp_carries_the_same_and_hangs_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    echo = Process(tmp_path, port)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=3) as host:
            assert host.recv(100) == BANNER
            host.sendall(b"\x00")
            assert host.recv(100) == b"\xff"
            with socket.create_connection(("127.0.0.1", port), timeout=3) as second:
                assert second.recv(100) == BANNER
                assert host.recv(100) == b""
                echo.control.do("unplug")
                assert second.recv(100) == b""
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=3)
    finally:
        echo.control.close()
        echo.end()


def test_a01_offline_within_a_second_and_back_within_three(echo: Process) -> None:
    """Link, life of the link and simulator together, with the smallest owner that can be."""
    link, life = SerialLink(str(echo.pty)), LinkLife("echo", "echo", None)

    def lost(cause: Cause, detail: str) -> None:
        life.lost(cause, detail, time.monotonic_ns())

    def heard(data: bytes) -> None:
        life.identified(Identified("echo"), time.monotonic_ns())

    def step(now: int) -> None:
        if life.due(now):
            life.opening(now)
            try:
                link.open(heard, lost)
            except LinkError as error:
                life.failed(error.cause, error.detail, now)
            else:
                life.opened(now)
                link.write(b"?")

    async def until(ready: bool, cause: Cause | None) -> float:
        start = time.monotonic()
        async with asyncio.timeout(5):
            while (life.ready, life.cause) != (ready, cause):
                step(time.monotonic_ns())
                await asyncio.sleep(0.01)
        return time.monotonic() - start

    async def scene() -> None:
        await until(True, None)
        for _ in range(2):
            echo.control.do("unplug")
            assert await until(False, Cause.LOST) < 1
            assert life.state is LinkState.LOST
            await until(False, Cause.ABSENT)
            echo.control.do("replug")
            assert await until(True, None) < 3
        link.close()

    asyncio.run(scene())


def test_order_is_kept_when_a_delay_is_taken_away() -> None:
    wire = Mischief()
    wire.control({"do": "delay", "ms": 500}, 0)
    (first,) = wire.pass_on(b"first", 0)
    wire.control({"do": "delay", "ms": 0}, 1)
    (second,) = wire.pass_on(b"second", 1)
    assert first == (SECOND // 2, b"first")
    assert second == (SECOND // 2, b"second")


def test_a_split_frame_can_be_corrupted_too() -> None:
    wire = Mischief()
    wire.control({"do": "split"}, 0)
    wire.control({"do": "corrupt", "frames": 1}, 0)
    pieces = [piece for _, piece in wire.pass_on(b"frame", 0)]
    assert len(pieces) == 5
    assert b"".join(pieces) != b"frame"
    assert b"".join(piece for _, piece in wire.pass_on(b"frame", 0)) == b"frame"


def test_a_client_gives_up_in_time(tmp_path: Path) -> None:
    with pytest.raises(ControlError, match="No such file"):
        ControlClient(tmp_path / "nobody", timeout=0.1).do("state")


@pytest.mark.parametrize("key", known())
def test_each_simulator_can_be_made(key: tuple[str, str]) -> None:
    sim = simulator(protocol(*key))()
    assert "error" not in sim.control({"do": "state"}, 0)[0]


def main() -> None:
    pty, control, *port = sys.argv[1:]
    tcp = ("127.0.0.1", int(port[0])) if port else None
    with suppress(KeyboardInterrupt):
        asyncio.run(run_simulator(EchoSim(), pty_path=Path(pty), tcp=tcp, control_path=Path(control)))


if __name__ == "__main__":
    main()
