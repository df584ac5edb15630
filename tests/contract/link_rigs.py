"""The links, each with its far side, and an ear that hears what they tell."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import tty
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol

import serial
from serial.rfc2217 import PortManager

from daemon.links.base import Cause, Link, LinkError
from daemon.links.memory import MemoryLink, pump
from daemon.links.rfc2217 import Rfc2217Link
from daemon.links.serial import SerialLink
from daemon.links.tcp import TcpLink
from tests.fakes.ear import Ear

FRAME: Final = bytes(range(256))
PATIENCE: Final = 30.0  # seconds


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


class Rig(Protocol):
    """A link and its far side."""

    link: Link

    def say(self, data: bytes) -> None:
        """The far side sends, now or as soon as it is connected."""

    async def hear(self, count: int) -> bytes:
        """What the far side has received, once it is so much."""

    def cut(self) -> None:
        """The far side goes, and does not come back."""

    async def step(self) -> None:
        """Let a little happen."""

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

    async def step(self) -> None:
        await asyncio.sleep(0.005)

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

    async def step(self) -> None:
        pump(self.near)

    def close(self) -> None:
        self.link.close()


class TcpRig:
    """A device server on the test's own loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self._loop.add_reader(self._listener, self._accept)
        self.peer: socket.socket | None = None
        self._unsaid = b""
        self.port: int = self._listener.getsockname()[1]
        self.link: Link = TcpLink(f"tcp://127.0.0.1:{self.port}")

    def _accept(self) -> None:
        self.hang_up()
        self.peer, _ = self._listener.accept()
        self.peer.setblocking(False)
        self.say(b"")

    def say(self, data: bytes) -> None:
        self._unsaid += data
        if self.peer is not None:
            self.peer.sendall(self._unsaid)
            self._unsaid = b""

    async def hear(self, count: int) -> bytes:
        """As many bytes. A connection that is waited for may be an earlier one, which the next one closes."""
        data = b""
        async with asyncio.timeout(PATIENCE):
            while len(data) < count:
                said = await self._said()
                if not said:
                    await self.step()
                data += said
        return data

    async def _said(self) -> bytes:
        if self.peer is None:
            return b""
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(0.2):
                return await self._loop.sock_recv(self.peer, 65536)
        return b""

    def hang_up(self) -> None:
        """Close the connection; another one is accepted."""
        if self.peer is not None:
            self._loop.remove_reader(self.peer)
            self.peer.close()
            self.peer = None

    def cut(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)
            self._listener.close()
        self.hang_up()

    async def step(self) -> None:
        await asyncio.sleep(0.005)

    def close(self) -> None:
        self.link.close()
        self.cut()


class _PtyPort(serial.Serial):
    """The port of an RFC 2217 server: a PTY has neither modem lines nor anything but 8N1."""

    cts = dsr = ri = cd = property(lambda self: False)

    def _update_dtr_state(self) -> None:
        pass

    _update_rts_state = _update_dtr_state

    def _reconfigure_port(self, force_update: bool = False) -> None:
        wanted = self._bytesize, self._parity, self._stopbits
        self._bytesize, self._parity, self._stopbits = 8, "N", 1
        super()._reconfigure_port(force_update)
        self._bytesize, self._parity, self._stopbits = wanted


class Rfc2217Server:
    """pyserial's own server side, over a PTY: one client at a time, on threads of its own."""

    def __init__(self) -> None:
        self.pty = Pty()
        self.serial = _PtyPort(self.pty.path, timeout=0.01)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._client: socket.socket | None = None
        self._manager: PortManager | None = None
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=run) for run in (self._serve, self._pass_on)]
        for thread in self._threads:
            thread.start()

    def write(self, data: bytes) -> None:
        """To the client: the manager's answers (it wants an object with this method)."""
        client = self._client
        if client is not None:
            client.sendall(data)

    def hang_up(self) -> None:
        """End the connection; another one is accepted."""
        client = self._client
        if client is not None:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Stop listening, hang up, let go of the port."""
        if not self._ended.is_set():
            self._ended.set()
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self.hang_up()
            for thread in self._threads:
                thread.join()
            self.serial.close()
            self.pty.close()

    def _serve(self) -> None:
        while not self._ended.is_set():
            with suppress(OSError):
                self._client, _ = self._listener.accept()
                self._manager = PortManager(self.serial, self)
                with self._client:
                    while data := self._client.recv(4096):
                        self.serial.write(b"".join(self._manager.filter(data)))
            self._manager = self._client = None

    def _pass_on(self) -> None:
        while not self._ended.is_set():
            data, manager = self.serial.read(4096) if self._manager else b"", self._manager
            if manager is None:
                self._ended.wait(0.01)
            elif data:
                with suppress(OSError):
                    self.write(b"".join(manager.escape(data)))


class Rfc2217Rig:
    def __init__(self) -> None:
        self.server = Rfc2217Server()
        self.link: Link = Rfc2217Link(f"rfc2217://127.0.0.1:{self.server.port}")

    def say(self, data: bytes) -> None:
        os.write(self.server.pty.master, data)

    async def hear(self, count: int) -> bytes:
        return await self.server.pty.read(count)

    def cut(self) -> None:
        self.server.end()

    async def step(self) -> None:
        await asyncio.sleep(0.005)

    def close(self) -> None:
        self.link.close()
        self.server.end()


async def until(rig: Rig, true: Callable[[], bool]) -> None:
    """Let things happen until something is true."""
    async with asyncio.timeout(PATIENCE):
        while not true():
            await rig.step()
            await asyncio.sleep(0)


async def settle(rig: Rig) -> None:
    """Let enough happen for what must not happen to show."""
    for _ in range(20):
        await rig.step()


async def opening_fails(rig: Rig, ear: Ear) -> Cause:
    """The cause for which it cannot be opened, raised or told later."""
    try:
        rig.link.open(ear.on_bytes, ear.on_lost)
    except LinkError as error:
        return error.cause
    await until(rig, lambda: bool(ear.losses))
    return ear.losses[-1]


RIGS: Final[list[Callable[[], Rig]]] = [SerialRig, MemoryRig, TcpRig, Rfc2217Rig]
Scene = Callable[[Rig, Ear], Awaitable[None]]


def play(make: Callable[[], Rig], scene: Scene) -> None:
    """A scene on a loop of its own."""

    async def on_loop() -> None:
        rig = make()
        try:
            await scene(rig, Ear())
        finally:
            rig.close()

    asyncio.run(on_loop())
