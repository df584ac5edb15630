"""A TCP connection on the event loop: a device server in raw mode, or a simulator."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import threading
from collections.abc import Awaitable
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from daemon.links.base import BUFFER_LIMIT, Cause, LinkError, LinkLost, OnBytes, OnLost
from daemon.links.stall import STALLED, StallWatch
from drivers.protocol import Line

CONNECT_SECONDS: Final = 3.0
KEEPALIVE: Final = {  # a far end that lost its power is gone after 5 + 3 * 2 s, also while nothing is said
    socket.TCP_KEEPIDLE: 5,
    socket.TCP_KEEPINTVL: 2,
    socket.TCP_KEEPCNT: 3,
}


def host_and_port(url: str, scheme: str) -> tuple[str, int]:
    """Host and port of ``scheme://host:port``; a query is left to the caller. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme != scheme or parts.path or parts.username or not parts.hostname or not parts.port:
        raise ValueError(f"not a {scheme} address: {url!r} ({scheme}://host:port)")
    return parts.hostname, parts.port


def joined(host: str, port: int) -> str:
    """Host and port as they are written."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class TcpLink:
    """``tcp://host:port``. The line belongs to the far end: its settings, and the wake-up bit, stay here."""

    def __init__(self, url: str, line: Line | None = None) -> None:
        if urlsplit(url).query:
            raise ValueError(f"a tcp address has no settings: {url!r}")
        self._host, self._port = host_and_port(url, "tcp")
        self._connection: _Connection | None = None
        self._lookup: threading.Thread | None = None

    @property
    def place(self) -> str:
        """Host and port."""
        return joined(self._host, self._port)

    def open(self, on_bytes: OnBytes, on_lost: OnLost) -> None:
        """Begin to connect, for at most 3 s. Raises LinkError while open (busy)."""
        if self._connection is not None:
            raise LinkError(Cause.BUSY, f"{self.place} is open already")
        self._on_bytes, self._on_lost = on_bytes, on_lost
        self._connection = _Connection(self)

    def write(self, data: bytes, wake: int = 0) -> None:
        """Hand to the connection, or keep until there is one; at most 64 KiB, more is a stall."""
        if self._connection is not None and data:
            self._connection.write(bytes(data))

    def close(self) -> None:
        """Drop the connection, or the attempt. No loss is reported any more."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.end()

    def describe(self) -> str:
        """Host and port."""
        return f"tcp {self.place}"

    def heard(self, connection: _Connection, data: bytes) -> None:
        """Bytes of a connection; those of an earlier one are nobody's."""
        if connection is self._connection:
            self._on_bytes(data)

    def ended(self, connection: _Connection, lost: LinkLost) -> None:
        """A connection is over. Told in a call of its own: the loop swallows what a task raises."""
        asyncio.get_running_loop().call_soon(self._report, connection, lost)

    def _report(self, connection: _Connection, lost: LinkLost) -> None:
        if connection is self._connection:
            self.close()
            self._on_lost(lost.cause, lost.detail)

    async def connect(self, connection: _Connection) -> None:
        """Connect to the first address that answers. Raises OSError, TimeoutError with the last one's."""
        addresses = await self._addresses()
        loop = asyncio.get_running_loop()
        for place, address in enumerate(addresses, 1):
            try:
                async with asyncio.timeout(CONNECT_SECONDS / len(addresses)):
                    await loop.create_connection(lambda: connection, address, self._port)
                return
            except OSError:
                if place == len(addresses):
                    raise

    def _addresses(self) -> Awaitable[list[str]]:
        """The numeric addresses of the host.

        A name is looked up on a thread of its own, one at a time: the loop's executor would hold
        the daemon's exit for as long as a name server that is gone lets it wait.
        """
        found: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        with suppress(ValueError):
            ipaddress.ip_address(self._host)
            found.set_result([self._host])
            return found
        if self._lookup is not None and self._lookup.is_alive():
            raise LinkError(Cause.ABSENT, f"{self._host}: an earlier look-up of the name still waits")
        self._lookup = threading.Thread(target=_look_up, args=(self._host, found), daemon=True)
        self._lookup.start()
        return asyncio.wait_for(found, CONNECT_SECONDS)


class _Connection(asyncio.Protocol):
    """One opening: the attempt, then the connection."""

    def __init__(self, link: TcpLink) -> None:
        self._link = link
        self._transport: asyncio.Transport | None = None
        self._kept = bytearray()  # written before there was a connection
        self._written = 0
        loop = asyncio.get_running_loop()
        self._stall = StallWatch(loop, self._progress, lambda: self._lose(Cause.SILENT, STALLED))
        self._attempt = loop.create_task(self._connect())

    def write(self, data: bytes) -> None:
        waiting = self._progress()[0] + len(data)
        if waiting > BUFFER_LIMIT:
            self._lose(Cause.SILENT, f"stalled: {waiting} bytes wait for it")
            return
        self._written += len(data)
        if self._transport is None:
            self._kept += data
        else:
            self._transport.write(data)
        self._stall.arm()

    def end(self) -> None:
        """Let go at once: neither the attempt nor bytes that wait keep it."""
        self._stall.cancel()
        self._attempt.cancel()
        self._kept.clear()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer: socket.socket = transport.get_extra_info("socket")  # asyncio has set TCP_NODELAY
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_LIMIT)  # megabytes would hide a stall
        for option, value in KEEPALIVE.items():
            peer.setsockopt(socket.IPPROTO_TCP, option, value)
        transport.write(bytes(self._kept))
        self._kept.clear()

    def data_received(self, data: bytes) -> None:
        self._link.heard(self, data)

    def eof_received(self) -> None:
        # A device that will say no more is lost, although it might still listen.
        self._lose(Cause.LOST, "the far end hung up")

    def connection_lost(self, error: Exception | None) -> None:
        self._lose(Cause.LOST, _reason(error) if error else "the far end hung up")

    async def _connect(self) -> None:
        try:
            await self._link.connect(self)
        except LinkError as error:
            self._lose(error.cause, error.detail)
        except TimeoutError:  # also the kernel's ETIMEDOUT
            self._lose(Cause.ABSENT, f"no connection within {CONNECT_SECONDS:g} s")
        except (OSError, UnicodeError) as error:
            self._lose(Cause.ABSENT, _reason(error))

    def _progress(self) -> tuple[int, int]:
        waiting = len(self._kept)
        if self._transport is not None:
            waiting += self._transport.get_write_buffer_size()
        return waiting, self._written - waiting

    def _lose(self, cause: Cause, reason: str) -> None:
        self._link.ended(self, LinkLost(cause, f"{self._link.place}: {reason}"))


def _reason(error: Exception) -> str:
    """The system's own words; asyncio's name the address a second time."""
    if isinstance(error, socket.gaierror):
        return error.strerror or "no such name"
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number else str(error)


def _look_up(host: str, found: asyncio.Future[list[str]]) -> None:
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        outcome: list[str] | Exception = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
    except (OSError, UnicodeError) as error:
        outcome = error
    with suppress(RuntimeError):  # the loop has ended meanwhile
        found.get_loop().call_soon_threadsafe(_settle, found, outcome)


def _settle(found: asyncio.Future[list[str]], outcome: list[str] | Exception) -> None:
    if found.done():
        return
    if isinstance(outcome, Exception):
        found.set_exception(outcome)
    else:
        found.set_result(outcome)
