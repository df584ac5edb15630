"""What a real tty does to the serial link (protocols.md section 7)."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from daemon.links import serial as serial_module
from daemon.links.base import BUFFER_LIMIT, Cause, LinkError
from daemon.links.serial import SerialLink, holders, parse_url
from drivers.protocol import Line
from tests.contract.link_rigs import FRAME, Pty
from tests.fakes.ear import Ear

TIOCGEXCL = 0x80045440


@pytest.fixture
def pty() -> Iterator[Pty]:
    line = Pty()
    yield line
    line.close()


def descriptors_of(path: str) -> int:
    links = [Path("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
    return sum(os.readlink(link) == path for link in links if link.is_symlink())


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
        await ear.lost(seconds=1)
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
        await ear.lost()
        with pytest.raises(LinkError) as caught:  # a SerialException or a plain OSError
            link.open(ear.on_bytes, ear.on_lost)
        assert caught.value.cause is Cause.ABSENT
        assert ear.losses == [Cause.LOST]

    serial_scene(pty, scene)


def test_a03_a_lost_port_is_watched_no_more(pty: Pty) -> None:
    async def scene(link: SerialLink, ear: Ear) -> None:
        link.open(ear.on_bytes, ear.on_lost)
        pty.cut()
        await ear.lost()
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
        assert len(os.listdir("/proc/self/fd")) <= count

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
        await ear.lost()
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
            await ear.lost()
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
        await ear.lost()
        assert ear.log == [FRAME, Cause.LOST]

    serial_scene(pty, scene)


def test_b13_a_pty_left_as_it_comes_is_made_raw() -> None:
    pty = Pty(raw=False)

    async def scene(link: SerialLink, ear: Ear) -> None:
        link.open(ear.on_bytes, ear.on_lost)
        os.write(pty.master, FRAME)
        await ear.heard(len(FRAME))
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


def test_an_adapter_that_can_is_asked_not_to_wait_with_what_it_has(
    pty: Pty, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, flags = fcntl.ioctl, []

    def ioctl(fd: int, request: int, *args: object) -> object:
        if request == termios.TIOCSSERIAL:
            flags.append(args[0][4])  # type: ignore[index]
        return None if request in (termios.TIOCGSERIAL, termios.TIOCSSERIAL) else real(fd, request, *args)

    async def scene(link: SerialLink, ear: Ear) -> None:
        link.open(ear.on_bytes, ear.on_lost)

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    serial_scene(pty, scene)
    assert flags == [1 << 13]  # ASYNC_LOW_LATENCY


@pytest.mark.parametrize("baud", [2**31, 2**40])
def test_a_speed_that_no_port_has_is_a_line_that_is_wrong(
    baud: int, pty: Pty, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(_: SerialLink, ear: Ear) -> None:
        with pytest.raises(LinkError) as caught:
            SerialLink(pty.path, Line(baud)).open(ear.on_bytes, ear.on_lost)
        assert caught.value.cause is Cause.GARBLED

    serial_scene(pty, scene)


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
