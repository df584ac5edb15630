"""What a network does to the TCP link."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from daemon.links import stall as stall_module
from daemon.links import tcp as tcp_module
from daemon.links.base import Cause
from daemon.links.tcp import TcpLink
from tests.contract.link_rigs import FRAME, TcpRig
from tests.fakes.ear import Ear, until


def tcp_scene(scene: Callable[[TcpRig, Ear], Awaitable[None]]) -> None:
    async def on_loop() -> None:
        rig = TcpRig()
        try:
            await scene(rig, Ear())
        finally:
            rig.close()

    asyncio.run(on_loop())


async def connected(rig: TcpRig, ear: Ear) -> socket.socket:
    ear.open(rig.link)
    await until(lambda: rig.peer)
    assert rig.peer is not None
    return rig.peer


def test_nobody_listens_is_absent_and_says_why() -> None:
    async def scene(rig: TcpRig, ear: Ear) -> None:
        rig.cut()
        ear.open(rig.link)
        rig.link.write(b"kept, then dropped")
        assert ear.losses == []
        assert await ear.lost() is Cause.ABSENT
        assert ear.details == [f"127.0.0.1:{rig.port}: Connection refused"]

    tcp_scene(scene)


def test_a17_a_host_that_never_answers_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_module, "CONNECT_SECONDS", 0.1)

    async def scene() -> None:
        ear = Ear()
        with socket.socket() as full:  # a backlog that is full drops every further SYN
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            waiting = [socket.socket() for _ in range(3)]
            for each in waiting:
                each.setblocking(False)
                each.connect_ex(full.getsockname())
            link = TcpLink(f"tcp://127.0.0.1:{full.getsockname()[1]}")
            ear.open(link)
            assert await ear.lost() is Cause.ABSENT
            assert "no connection within" in ear.details[0]
            for each in waiting:
                each.close()

    asyncio.run(scene())


def test_a_name_is_looked_up() -> None:
    async def scene(rig: TcpRig, ear: Ear) -> None:
        link = TcpLink(f"tcp://localhost:{rig.port}")
        ear.open(link)
        link.write(FRAME)
        assert await rig.hear(len(FRAME)) == FRAME
        link.close()

    tcp_scene(scene)


def test_a_name_that_there_is_not_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    async def scene() -> None:
        ear = Ear()
        ear.open(TcpLink("tcp://shoe.invalid:4001"))
        assert await ear.lost() is Cause.ABSENT
        assert ear.details == ["shoe.invalid:4001: Name or service not known"]

    asyncio.run(scene())


def test_a_name_server_that_is_gone_holds_neither_the_loop_nor_more_than_one_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = threading.Event()

    def hang(*_: object, **__: object) -> None:
        release.wait(30)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    monkeypatch.setattr(tcp_module, "CONNECT_SECONDS", 0.1)

    async def scene() -> None:
        link, count = TcpLink("tcp://shoe.invalid:4001"), threading.active_count()
        for _ in range(5):
            ear = Ear()
            ear.open(link)
            assert await ear.lost() is Cause.ABSENT
        assert threading.active_count() <= count + 1
        assert "earlier look-up" in ear.details[0]

    before = time.monotonic()
    asyncio.run(scene())
    assert time.monotonic() - before < 10
    release.set()


def test_a_look_up_that_hangs_does_not_hold_the_exit() -> None:
    program = (
        "import asyncio, socket, time; from daemon.links.tcp import TcpLink\n"
        "socket.getaddrinfo = lambda *a, **k: time.sleep(120)\n"
        "async def main():\n"
        "    link = TcpLink('tcp://shoe.invalid:4001')\n"
        "    link.open(print, print)\n"
        "    await asyncio.sleep(0.1)\n"
        "    link.close()\n"
        "asyncio.run(main())"
    )
    root = Path(tcp_module.__file__).parents[2]
    subprocess.run([sys.executable, "-c", program], cwd=root, check=True, timeout=20)


def test_the_far_end_that_hangs_up_is_a_loss_before_the_next_write() -> None:
    async def scene(rig: TcpRig, ear: Ear) -> None:
        await connected(rig, ear)
        rig.hang_up()
        assert await ear.lost() is Cause.LOST
        rig.link.write(b"dropped")
        ear.open(rig.link)
        rig.link.write(b"fresh")
        assert await rig.hear(5) == b"fresh"

    tcp_scene(scene)


def test_a_write_into_a_connection_that_just_went_is_a_loss() -> None:
    async def scene(rig: TcpRig, ear: Ear) -> None:
        await connected(rig, ear)
        rig.hang_up()
        for _ in range(3):  # the first one still succeeds, whatever the system knows by then
            rig.link.write(b"into the void")
        assert await ear.lost() is Cause.LOST
        assert len(ear.losses) == 1

    tcp_scene(scene)


def test_a_reset_is_a_loss_with_its_reason() -> None:
    async def scene(rig: TcpRig, ear: Ear) -> None:
        peer = await connected(rig, ear)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        rig.hang_up()
        assert await ear.lost() is Cause.LOST
        assert ear.details == [f"127.0.0.1:{rig.port}: Connection reset by peer"]

    tcp_scene(scene)


def test_a_far_end_that_only_stops_sending_is_lost_after_its_last_bytes() -> None:
    async def scene(rig: TcpRig, ear: Ear) -> None:
        peer = await connected(rig, ear)
        rig.say(FRAME)
        peer.shutdown(socket.SHUT_WR)
        assert await ear.lost() is Cause.LOST
        assert (ear.data, ear.log[-1]) == (FRAME, Cause.LOST)

    tcp_scene(scene)


def test_b02_bytes_before_a_hang_up_are_heard() -> None:
    async def scene(rig: TcpRig, ear: Ear) -> None:
        for _ in range(50):
            ear = Ear()
            await connected(rig, ear)
            rig.say(FRAME)
            rig.hang_up()
            await ear.lost()
            assert ear.data == FRAME

    tcp_scene(scene)


def test_a09_a_far_end_that_stops_reading_is_stalled_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stall_module, "STALL_SECONDS", 0.1)
    monkeypatch.setattr(tcp_module, "BUFFER_LIMIT", 2**27)  # the time is what ends it here

    async def scene(rig: TcpRig, ear: Ear) -> None:
        await connected(rig, ear)
        rig.link.write(bytes(2**26))  # more than the system's own buffers take
        assert await ear.lost() is Cause.SILENT
        assert "took no byte" in ear.details[0]

    tcp_scene(scene)


def test_a_slow_far_end_gets_everything_in_order() -> None:
    async def scene(rig: TcpRig, ear: Ear) -> None:
        ear.open(rig.link)
        sent = FRAME * 200
        for start in range(0, len(sent), 1000):
            rig.link.write(sent[start : start + 1000])
        assert await rig.hear(len(sent)) == sent
        assert ear.losses == []

    tcp_scene(scene)


def test_small_writes_leave_at_once_and_a_dead_line_is_noticed() -> None:
    async def scene(rig: TcpRig, ear: Ear) -> None:
        peer = await connected(rig, ear)
        with connection_to(peer.getsockname()) as ours:
            # The peer may have accepted before our side knows that it is connected.
            await until(lambda: ours.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
            assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 10

    tcp_scene(scene)


def connection_to(address: object) -> socket.socket:
    """Another descriptor of our own connection to this address."""
    for link in Path("/proc/self/fd").iterdir():
        if link.is_symlink() and os.readlink(link).startswith("socket:"):
            found = socket.socket(fileno=os.dup(int(link.name)))
            with suppress(OSError):
                if found.getpeername() == address:
                    return found
            found.close()
    raise AssertionError(f"there is no connection to {address}")


def test_a10_a_link_opened_and_closed_a_thousand_times_leaves_nothing_behind() -> None:
    async def scene(rig: TcpRig, ear: Ear) -> None:
        count = len(os.listdir("/proc/self/fd"))
        for turn in range(1000):
            ear = Ear()
            ear.open(rig.link)
            if turn % 10 == 0:
                rig.link.write(b"?")
                await rig.hear(1)
            elif turn % 3 == 0:
                await rig.step()
            rig.link.close()
            assert ear.losses == []
        await until(lambda: len(os.listdir("/proc/self/fd")) <= count + 2)

    tcp_scene(scene)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("tcp://127.0.0.1:4001", "127.0.0.1:4001"),
        ("tcp://Shoe.Example:4001", "shoe.example:4001"),
        ("tcp://[::1]:4001", "[::1]:4001"),
    ],
)
def test_addresses(url: str, place: str) -> None:
    assert TcpLink(url).place == place
    assert TcpLink(url).describe() == f"tcp {place}"


@pytest.mark.parametrize(
    "url",
    [
        "tcp://127.0.0.1",
        "tcp://:4001",
        "tcp://127.0.0.1:0",
        "tcp://127.0.0.1:65536",
        "tcp://127.0.0.1:port",
        "tcp://127.0.0.1:4001/path",
        "tcp://127.0.0.1:4001?baud=9600",
        "tcp://user@127.0.0.1:4001",
        "rfc2217://127.0.0.1:4001",
    ],
)
def test_bad_addresses_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"tcp|[Pp]ort"):
        TcpLink(url)
