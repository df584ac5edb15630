"""What every link promises, over each of them; and what a real tty does to the serial one."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import subprocess
import sys
import termios
import threading
import time
import tty
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from daemon.links import serial as serial_module
from daemon.links.base import BUFFER_LIMIT, Cause, Link, LinkError, cause_of
from daemon.links.memory import MemoryLink, pump
from daemon.links.serial import SerialLink, holders, parse_url
from drivers.protocol import Line

FRAME = bytes(range(256))
TIOCGEXCL = 0x80045440


class Ear:
    """Hears what a link tells, and waits for it for a bounded time."""

    def __init__(self) -> None:
        self.log: list[bytes | Cause] = []
        self.details: list[str] = []
        self._told = asyncio.Event()

    def on_bytes(self, data: bytes) -> None:
        self.log.append(data)
        self._told.set()

    def on_lost(self, cause: Cause, detail: str) -> None:
        self.log.append(cause)
        self.details.append(detail)
        self._told.set()

    @property
    def data(self) -> bytes:
        return b"".join(item for item in self.log if isinstance(item, bytes))

    @property
    def losses(self) -> list[Cause]:
        return [item for item in self.log if isinstance(item, Cause)]

    async def until_lost(self, seconds: float = 3) -> None:
        async with asyncio.timeout(seconds):
            while not self.losses:
                await self._next()

    async def until_heard(self, count: int) -> None:
        async with asyncio.timeout(3):
            while len(self.data) < count:
                await self._next()

    async def _next(self) -> None:
        self._told.clear()
        await self._told.wait()


class Pty:
    """The far side of a serial line: a raw PTY, or one left as it comes (``raw`` False)."""

    def __init__(self, raw: bool = True) -> None:
        self.master, self._slave = os.openpty()
        self.path = os.ttyname(self._slave)
        os.set_blocking(self.master, False)
        if raw:
            tty.setraw(self._slave)

    def cut(self) -> None:
        """Close both ends: to whoever has it open, exactly an unplug."""
        for descriptor in (self._slave, self.master):
            os.close(descriptor)
        self.master = self._slave = -1

    def close(self) -> None:
        if self.master >= 0:
            self.cut()

    async def read(self, count: int) -> bytes:
        data = b""
        async with asyncio.timeout(3):
            while len(data) < count:
                try:
                    data += os.read(self.master, 65536)
                except BlockingIOError:
                    await asyncio.sleep(0.001)
        return data


@pytest.fixture
def pty() -> Iterator[Pty]:
    line = Pty()
    yield line
    line.close()


def descriptors_of(path: str) -> int:
    links = [Path("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
    return sum(os.readlink(link) == path for link in links if link.is_symlink())


# --- what every link promises --------------------------------------------------------------


class Rig(Protocol):
    """A link and its far side."""

    link: Link

    def say(self, data: bytes) -> None: ...

    async def hear(self, count: int) -> bytes: ...

    def cut(self) -> None: ...

    async def settle(self) -> None: ...

    def close(self) -> None: ...


class SerialRig:
    def __init__(self) -> None:
        self.pty = Pty()
        self.link: Link = SerialLink(self.pty.path)

    def say(self, data: bytes) -> None:
        os.write(self.pty.master, data)

    async def hear(self, count: int) -> bytes:
        return await self.pty.read(count)

    def cut(self) -> None:
        self.pty.cut()

    async def settle(self) -> None:
        await asyncio.sleep(0.02)

    def close(self) -> None:
        self.link.close()
        self.pty.close()


class MemoryRig:
    def __init__(self) -> None:
        self.near, self.far = MemoryLink.pair()
        self.link: Link = self.near
        self.heard: list[bytes] = []
        self.far.open(self.heard.append, lambda cause, detail: None)

    def say(self, data: bytes) -> None:
        self.far.write(data)

    async def hear(self, count: int) -> bytes:
        self.far.deliver()
        return b"".join(self.heard)

    def cut(self) -> None:
        self.near.cut()

    async def settle(self) -> None:
        pump(self.near)

    def close(self) -> None:
        self.link.close()


RIGS: list[Callable[[], Rig]] = [SerialRig, MemoryRig]
Scene = Callable[[Rig, Ear], Awaitable[None]]


def play(make: Callable[[], Rig], scene: Scene) -> None:
    async def on_loop() -> None:
        rig = make()
        try:
            await scene(rig, Ear())
        finally:
            rig.close()

    asyncio.run(on_loop())


each_link = pytest.mark.parametrize("make", RIGS)


@each_link
def test_bytes_travel_unchanged_both_ways(make: Callable[[], Rig]) -> None:
    async def scene(rig: Rig, ear: Ear) -> None:
        rig.link.open(ear.on_bytes, ear.on_lost)
        rig.say(FRAME)
        await rig.settle()
        rig.link.write(FRAME)
        assert ear.data == FRAME
        assert await rig.hear(len(FRAME)) == FRAME

    play(make, scene)


@each_link
def test_a_loss_is_told_once_and_after_the_bytes(make: Callable[[], Rig]) -> None:
    async def scene(rig: Rig, ear: Ear) -> None:
        rig.link.open(ear.on_bytes, ear.on_lost)
        rig.say(b"before")
        await rig.settle()
        rig.cut()
        rig.link.write(b"into the void")
        assert ear.losses == []  # never from within a call
        await rig.settle()
        rig.link.write(b"into the void")
        await rig.settle()
        assert ear.log == [b"before", Cause.LOST]

    play(make, scene)


@each_link
def test_nothing_is_told_after_close(make: Callable[[], Rig]) -> None:
    async def scene(rig: Rig, ear: Ear) -> None:
        rig.link.open(ear.on_bytes, ear.on_lost)
        rig.say(b"unheard")
        rig.cut()
        rig.link.write(b"x")
        rig.link.close()
        await rig.settle()
        assert ear.log == []
        with pytest.raises(LinkError) as caught:
            rig.link.open(ear.on_bytes, ear.on_lost)
        assert caught.value.cause is Cause.ABSENT

    play(make, scene)


@each_link
def test_it_may_be_opened_again_but_not_twice(make: Callable[[], Rig]) -> None:
    async def scene(rig: Rig, ear: Ear) -> None:
        for _ in range(3):
            rig.link.open(ear.on_bytes, ear.on_lost)
            with pytest.raises(LinkError) as caught:
                rig.link.open(ear.on_bytes, ear.on_lost)
            assert caught.value.cause is Cause.BUSY
            rig.say(b"again")
            await rig.settle()
            rig.link.close()
        assert ear.data == b"again" * 3

    play(make, scene)


@each_link
def test_a09_a_device_that_never_reads_is_stalled(make: Callable[[], Rig]) -> None:
    async def scene(rig: Rig, ear: Ear) -> None:
        rig.link.open(ear.on_bytes, ear.on_lost)
        before = time.process_time()
        for _ in range(10_000):
            rig.link.write(b"$12,345.67" * 10)
        await rig.settle()
        assert ear.losses == [Cause.SILENT]
        assert time.process_time() - before < 0.5

    play(make, scene)


# --- the serial link on a real tty -----------------------------------------------------------


def serial_scene(pty: Pty, scene: Callable[[SerialLink, Ear], Awaitable[None]]) -> None:
    async def on_loop() -> None:
        link = SerialLink(pty.path)
        try:
            await scene(link, Ear())
        finally:
            link.close()

    asyncio.run(on_loop())


def test_a01_an_unplug_while_reading_is_one_loss_within_a_second(pty: Pty) -> None:
    async def scene(link: SerialLink, ear: Ear) -> None:
        link.open(ear.on_bytes, ear.on_lost)
        threading.Timer(0.02, pty.cut).start()
        await ear.until_lost(seconds=1)
        await asyncio.sleep(0.02)
        assert ear.losses == [Cause.LOST]

    serial_scene(pty, scene)


def test_a02_every_kind_of_failure_is_a_link_error(pty: Pty, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(link: SerialLink, ear: Ear) -> None:
        monkeypatch.setattr(serial_module, "PTY_MAJORS", range(0))
        seven = SerialLink(pty.path, Line(9600, 7, "E"))
        seven.open(ear.on_bytes, ear.on_lost)
        seven.close()
        with pytest.raises(LinkError) as caught:  # the second such open is a termios.error
            seven.open(ear.on_bytes, ear.on_lost)
        assert caught.value.cause is Cause.GARBLED
        link.open(ear.on_bytes, ear.on_lost)
        pty.cut()
        link.write(b"x")  # an OSError (EIO)
        await ear.until_lost()
        with pytest.raises(LinkError) as caught:  # a SerialException or a plain OSError
            link.open(ear.on_bytes, ear.on_lost)
        assert caught.value.cause is Cause.ABSENT
        assert ear.losses == [Cause.LOST]

    serial_scene(pty, scene)


def test_a03_a_lost_port_is_watched_no_more(pty: Pty) -> None:
    async def scene(link: SerialLink, ear: Ear) -> None:
        link.open(ear.on_bytes, ear.on_lost)
        pty.cut()
        await ear.until_lost()
        before = time.process_time()
        await asyncio.sleep(0.2)
        assert time.process_time() - before < 0.05

    serial_scene(pty, scene)


def test_a04_the_descriptor_is_closed_before_the_loss_is_told(tmp_path: Path) -> None:
    async def replug(path: Path) -> int:
        """How often the lost tty was still open when its loss was told."""
        pty = Pty()
        told: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        name = pty.path
        path.unlink(missing_ok=True)
        path.symlink_to(name)
        link = SerialLink(str(path))
        link.open(Ear().on_bytes, lambda cause, detail: told.set_result(descriptors_of(name)))
        pty.cut()
        async with asyncio.timeout(3):
            return await told

    async def scene() -> None:
        count = len(os.listdir("/proc/self/fd"))
        assert [await replug(tmp_path / "shoe") for _ in range(20)] == [0] * 20
        assert len(os.listdir("/proc/self/fd")) == count

    asyncio.run(scene())


def test_a06_a_close_that_hangs_is_abandoned_and_told(pty: Pty, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(link: SerialLink, ear: Ear) -> None:
        release = threading.Event()

        def hang(descriptor: int) -> None:
            release.wait(10)
            os.close(descriptor)

        monkeypatch.setattr(serial_module, "_close_port", hang)
        link.open(ear.on_bytes, ear.on_lost)
        before = time.monotonic()
        link.close()
        assert time.monotonic() - before < 1
        assert "hangs" in link.describe()
        with pytest.raises(LinkError) as caught:
            link.open(ear.on_bytes, ear.on_lost)
        assert f"pid {os.getpid()}" in caught.value.detail
        release.set()

    serial_scene(pty, scene)


def test_a06_a_close_that_hangs_does_not_hold_the_exit(pty: Pty) -> None:
    program = (
        "import asyncio, sys, time; from daemon.links import serial\n"
        "serial._close_port = lambda fd: time.sleep(120)\n"
        "async def main():\n"
        "    link = serial.SerialLink(sys.argv[1])\n"
        "    link.open(print, print)\n"
        "    link.close()\n"
        "asyncio.run(main())"
    )
    root = Path(serial_module.__file__).parents[2]
    subprocess.run([sys.executable, "-c", program, pty.path], cwd=root, check=True, timeout=5)


def test_a09_a_device_that_stops_reading_is_stalled_in_time(
    pty: Pty, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(link: SerialLink, ear: Ear) -> None:
        monkeypatch.setattr(serial_module, "STALL_SECONDS", 0.1)
        link.open(ear.on_bytes, ear.on_lost)
        link.write(b"x" * (BUFFER_LIMIT // 2))  # more than the tty holds, less than the limit
        await ear.until_lost()
        assert ear.losses == [Cause.SILENT]
        assert "stalled" in ear.details[0]

    serial_scene(pty, scene)


def test_a09_a_slow_device_gets_everything_in_order(pty: Pty) -> None:
    async def scene(link: SerialLink, ear: Ear) -> None:
        link.open(ear.on_bytes, ear.on_lost)
        sent = FRAME * 200
        for start in range(0, len(sent), 1000):
            link.write(sent[start : start + 1000])
        assert await pty.read(len(sent)) == sent
        assert ear.losses == []

    serial_scene(pty, scene)


def test_a10_no_byte_of_another_file_is_heard_while_ports_come_and_go(tmp_path: Path) -> None:
    stop, foreign = threading.Event(), tmp_path / "foreign"
    foreign.write_bytes(b"#" * 4096)

    def others() -> None:
        while not stop.is_set():
            with foreign.open("rb") as file:
                file.read()

    async def scene() -> None:
        lines = [Pty(), Pty()]
        for _ in range(100):
            ears = [Ear(), Ear()]
            links = [SerialLink(pty.path) for pty in lines]
            for link, ear, pty, tag in zip(links, ears, lines, (b"A", b"B"), strict=True):
                link.open(ear.on_bytes, ear.on_lost)
                os.write(pty.master, tag * 64)
            for link, ear, tag in zip(links, ears, (b"A", b"B"), strict=True):
                await ear.until_heard(64)
                link.close()
                assert ear.log == [tag * 64]
        for pty in lines:
            pty.close()

    thread = threading.Thread(target=others)
    thread.start()
    try:
        asyncio.run(scene())
    finally:
        stop.set()
        thread.join()


def test_a12_a_port_held_by_another_program_names_the_holder(pty: Pty) -> None:
    program = (
        "import fcntl, os, sys; fd = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)\n"
        "fcntl.flock(fd, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, pty.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )

    async def scene(link: SerialLink, ear: Ear) -> None:
        with pytest.raises(LinkError) as caught:
            link.open(ear.on_bytes, ear.on_lost)
        assert caught.value.cause is Cause.BUSY
        assert f"pid {holder.pid} (python" in caught.value.detail

    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        serial_scene(pty, scene)
        holder.communicate(timeout=5)


@pytest.mark.parametrize("pty_counts_as_pty", [True, False])
def test_a12_a14_a_real_port_has_both_locks_and_keeps_dtr(
    pty: Pty, pty_counts_as_pty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = os.open(pty.path, os.O_RDWR | os.O_NOCTTY)
    attributes = termios.tcgetattr(watcher)
    attributes[2] |= termios.HUPCL
    termios.tcsetattr(watcher, termios.TCSANOW, attributes)

    async def scene(link: SerialLink, ear: Ear) -> None:
        link.open(ear.on_bytes, ear.on_lost)
        exclusive = int.from_bytes(fcntl.ioctl(watcher, TIOCGEXCL, bytes(4)), sys.byteorder)
        assert bool(exclusive) is not pty_counts_as_pty
        assert bool(termios.tcgetattr(watcher)[2] & termios.HUPCL) is pty_counts_as_pty

    if not pty_counts_as_pty:
        monkeypatch.setattr(serial_module, "PTY_MAJORS", range(0))
    try:
        serial_scene(pty, scene)
    finally:
        os.close(watcher)


def test_b02_bytes_before_a_cut_are_heard_or_the_loss_is() -> None:
    async def scene() -> None:
        whole = 0
        for trial in range(200):
            pty, ear = Pty(), Ear()
            link = SerialLink(pty.path)
            link.open(ear.on_bytes, ear.on_lost)
            os.write(pty.master, FRAME)
            if trial % 2:
                await asyncio.sleep(0.001)
            pty.cut()
            await ear.until_lost()
            assert ear.log in ([FRAME, Cause.LOST], [Cause.LOST])
            whole += ear.data == FRAME
        assert whole >= 50

    asyncio.run(scene())


def test_b02_what_was_read_is_told_although_the_line_is_gone_by_then(pty: Pty) -> None:
    async def scene(link: SerialLink, ear: Ear) -> None:
        def heard(data: bytes) -> None:
            ear.on_bytes(data)
            pty.close()

        link.open(heard, ear.on_lost)
        os.write(pty.master, FRAME)
        await ear.until_lost()
        assert ear.log == [FRAME, Cause.LOST]

    serial_scene(pty, scene)


def test_b13_a_pty_left_as_it_comes_is_made_raw() -> None:
    pty = Pty(raw=False)

    async def scene(link: SerialLink, ear: Ear) -> None:
        link.open(ear.on_bytes, ear.on_lost)
        os.write(pty.master, FRAME)
        await ear.until_heard(len(FRAME))
        assert ear.data == FRAME
        link.write(FRAME)
        assert await pty.read(len(FRAME)) == FRAME  # no echo in front of it, no CR added

    serial_scene(pty, scene)
    pty.close()


def test_b13_a_pty_may_be_opened_again_with_seven_bits_and_no_modem_lines(pty: Pty) -> None:
    async def scene(link: SerialLink, ear: Ear) -> None:
        seven = SerialLink(pty.path, Line(9600, 7, "E", dtr=False))
        for _ in range(3):
            seven.open(ear.on_bytes, ear.on_lost)
            seven.close()

    serial_scene(pty, scene)


@pytest.mark.parametrize("name", ["missing", "file", "folder"])
def test_what_is_no_serial_port_is_absent(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()

    async def scene() -> None:
        with pytest.raises(LinkError) as caught:
            SerialLink(str(tmp_path / name)).open(print, print)
        assert caught.value.cause is Cause.ABSENT

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.EPERM, Cause.SANDBOX),
        (errno.EACCES, Cause.DENIED),
        (errno.EBUSY, Cause.BUSY),
        (errno.EAGAIN, Cause.BUSY),
        (errno.ENOENT, Cause.ABSENT),
        (errno.ENODEV, Cause.ABSENT),
        (None, Cause.ABSENT),
    ],
)
def test_each_errno_has_its_cause(number: int | None, cause: Cause) -> None:
    assert cause_of(number) is cause


def test_every_cause_says_what_to_do_in_one_sentence() -> None:
    assert {cause.remedy.count(". ") for cause in Cause} == {0}
    assert len({cause.remedy for cause in Cause}) == len(Cause)


def test_nobody_holds_a_path_that_is_not_there() -> None:
    assert holders("/dev/no-such-port") == []


@pytest.mark.parametrize(
    ("url", "path", "line"),
    [
        (
            "/dev/serial/by-path/pci-0000:00:14.0-usb-0:3",
            "/dev/serial/by-path/pci-0000:00:14.0-usb-0:3",
            Line(),
        ),
        ("serial:///dev/ttyS0", "/dev/ttyS0", Line()),
        ("serial:///dev/ttyS0?baud=9600&bytesize=7&parity=e", "/dev/ttyS0", Line(9600, 7, "E")),
        ("serial:///dev/ttyS0?dtr=0&stopbits=2", "/dev/ttyS0", Line(stopbits=2, dtr=False)),
    ],
)
def test_urls(url: str, path: str, line: Line) -> None:
    assert parse_url(url) == (path, line)


@pytest.mark.parametrize(
    "url",
    [
        "tcp://host:1",
        "serial://dev/ttyS0",
        "serial:///dev/ttyS0?speed=9600",
        "serial:///dev/ttyS0?baud=fast",
        "serial:///dev/ttyS0?baud=0",
        "serial:///dev/ttyS0?parity=X",
        "serial:///dev/ttyS0?bytesize=9",
        "serial:///dev/ttyS0?dtr=off",
    ],
)
def test_bad_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"serial|line|parity"):
        parse_url(url)


def test_memory_ends_that_never_fall_silent_are_reported() -> None:
    one, other = MemoryLink.pair("wire")
    one.open(one.write, print)
    other.open(other.write, print)
    one.write(b"ping")
    with pytest.raises(RuntimeError, match="still talk"):
        pump(one, other, rounds=10)


def test_a_mended_wire_carries_again() -> None:
    one, other = MemoryLink.pair()
    heard: list[bytes] = []
    for _ in range(2):
        one.open(print, lambda cause, detail: None)
        other.open(heard.append, lambda cause, detail: None)
        one.write(b"x")
        one.cut()
        pump(one, other)
        one.mend()
    assert heard == [b"x", b"x"]
