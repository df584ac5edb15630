"""The RFC 2217 link against pyserial's own server side, and against what is none."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest

from daemon.links.base import BUFFER_LIMIT, Cause, LinkLost
from daemon.links.rfc2217 import RemotePort, Rfc2217Link
from drivers.protocol import Line
from tests.contract.link_rigs import FRAME, Rfc2217Server
from tests.fakes.ear import Ear, until

# pyserial 3.5
pytestmark = pytest.mark.filterwarnings(r"ignore:set(Daemon|Name)\(\) is deprecated:DeprecationWarning")


@pytest.fixture
def server() -> Iterator[Rfc2217Server]:
    server = Rfc2217Server()
    yield server
    server.end()


def scene_with(link: Rfc2217Link, scene: Callable[[Ear], Awaitable[None]]) -> None:
    async def on_loop() -> None:
        ear = Ear()
        ear.open(link)
        try:
            await scene(ear)
        finally:
            link.close()

    asyncio.run(on_loop())


def linked(server: Rfc2217Server, query: str = "", line: Line | None = None) -> Rfc2217Link:
    return Rfc2217Link(f"rfc2217://127.0.0.1:{server.port}{query}", line)


@pytest.mark.parametrize(
    ("query", "line", "told"),
    [
        ("", Line(), (115_200, 8, "N", 1)),
        ("?baud=9600&bytesize=7&parity=E&stopbits=2", Line(), (9600, 7, "E", 2)),
        ("", Line(19_200, 8, "M"), (19_200, 8, "M", 1)),
        ("?parity=S", Line(19_200, 8, "M"), (19_200, 8, "S", 1)),
        ("?parity=O", Line(4800), (4800, 8, "O", 1)),
    ],
)
def test_the_far_port_is_set_to_the_line(
    query: str, line: Line, told: tuple[int, int, str, int], server: Rfc2217Server
) -> None:
    link = linked(server, query, line)

    async def scene(ear: Ear) -> None:
        link.write(b"?")
        await server.pty.read(1)
        port = server.serial
        assert (port.baudrate, port.bytesize, port.parity, port.stopbits) == told

    scene_with(link, scene)
    assert str(link.line) in link.describe()


def test_levels_and_flow_control_travel_too(server: Rfc2217Server) -> None:
    link = linked(server, "?dtr=0&rts=0")

    async def scene(ear: Ear) -> None:
        link.write(b"?")
        await server.pty.read(1)
        assert (server.serial.dtr, server.serial.rts) == (False, False)

    scene_with(link, scene)


def test_every_byte_travels_also_those_that_telnet_means(server: Rfc2217Server) -> None:
    link, told = linked(server), b"\xff\xff\xfa\x2c\xf0\x00\r\n" + FRAME * 8

    async def scene(ear: Ear) -> None:
        link.write(told)
        assert await server.pty.read(len(told)) == told
        os.write(server.pty.master, told)
        assert await ear.heard(len(told)) == told

    scene_with(link, scene)


def test_a_far_end_that_hangs_up_is_lost_and_taken_back(server: Rfc2217Server) -> None:
    link = linked(server)

    async def scene(ear: Ear) -> None:
        for times in range(1, 3):
            link.write(b"?")
            await server.pty.read(1)
            server.hang_up()
            await until(lambda times=times: len(ear.losses) == times)
            assert ear.losses[-1] is Cause.LOST
            ear.open(link)

    scene_with(link, scene)


def test_b02_bytes_before_a_hang_up_are_heard_although_it_is_known_by_then(server: Rfc2217Server) -> None:
    transport = RemotePort(f"rfc2217://127.0.0.1:{server.port}", "here", Line())
    transport.open()
    server.write(FRAME.replace(b"\xff", b"\xff\xff"))
    threads = threading.active_count()
    server.hang_up()
    give_up = time.monotonic() + 10
    while threading.active_count() == threads and time.monotonic() < give_up:
        time.sleep(0.01)  # until pyserial's reader has ended
    assert transport.read(20) == FRAME
    with pytest.raises(LinkLost):
        transport.read(20)
    transport.close()


def test_nobody_listens_is_absent_and_says_why() -> None:
    with socket.create_server(("127.0.0.1", 0)) as former:
        port = former.getsockname()[1]

    async def scene(ear: Ear) -> None:
        assert await ear.lost() is Cause.ABSENT
        assert ear.details == [f"127.0.0.1:{port}: Connection refused"]

    scene_with(Rfc2217Link(f"rfc2217://127.0.0.1:{port}"), scene)


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH\r\n", b"\xff\xfa\x2c\xf0", b"\xff\xf0"])
def test_what_does_not_speak_rfc_2217_is_garbled(answer: bytes) -> None:
    def greet(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        peer.sendall(answer)
        done.wait(20)
        peer.close()

    async def scene(ear: Ear) -> None:
        assert await ear.lost() is Cause.GARBLED
        assert "RFC2217" in ear.details[0]

    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=greet, args=(listener,))
        thread.start()
        scene_with(Rfc2217Link(f"rfc2217://127.0.0.1:{listener.getsockname()[1]}"), scene)
        done.set()
        thread.join()


def test_a_write_that_needs_the_wake_up_bit_is_a_loss_and_never_goes_without_it(
    server: Rfc2217Server,
) -> None:
    link = linked(server, "", Line(19_200, 8, "S"))

    async def scene(ear: Ear) -> None:
        link.write(b"\x01\x53", wake=1)
        assert await ear.lost() is Cause.GARBLED
        assert "wake-up bit" in ear.details[0]
        with pytest.raises(BlockingIOError):
            os.read(server.pty.master, 100)

    scene_with(link, scene)


def test_a09_a_device_behind_it_that_reads_nothing_is_stalled(server: Rfc2217Server) -> None:
    link = linked(server)

    async def scene(ear: Ear) -> None:
        link.write(b"?")
        await server.pty.read(1)
        for _ in range(100):
            link.write(b"x" * (BUFFER_LIMIT // 2))
        assert await ear.lost() is Cause.SILENT

    scene_with(link, scene)


@pytest.mark.parametrize("url", ["rfc2217://127.0.0.1", "rfc2217://127.0.0.1:1?speed=1", "tcp://127.0.0.1:1"])
def test_bad_addresses_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"rfc2217|setting"):
        Rfc2217Link(url)
