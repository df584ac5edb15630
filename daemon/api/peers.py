"""The server's side of a connection: who the kernel says is there, and how long a request may take."""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

REQUEST_WITHIN: Final = 10.0  # seconds for the first line and the headers
MOST_CONNECTIONS: Final = 256
LONGEST_HEADERS: Final = 16 * 1024  # bytes
_SO_PEERGROUPS: Final = 59  # asm-generic/socket.h; the socket module does not name it
_MOST_GROUPS: Final = 256  # what getsockopt of Python has room for
_CREDENTIALS: Final = struct.Struct("iII")


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end, as it was when it connected."""

    pid: int
    uid: int
    groups: tuple[int, ...]


def peer_of(connection: socket.socket) -> Peer:
    """SO_PEERCRED and the supplementary groups. Raises OSError."""
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(packed)
    return Peer(pid, uid, (gid, *_supplementary(connection)))


def _supplementary(connection: socket.socket) -> tuple[int, ...]:
    try:
        packed = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, 4 * _MOST_GROUPS)
    except OSError:
        return ()
    return struct.unpack(f"{len(packed) // 4}I", packed)


class PeerProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, which asks who connects and does not wait for ever.

    Every request's ``state`` has ``peer``, and ``abort`` to end its connection at once.
    """

    _slow: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        peer = peer_of(transport.get_extra_info("socket"))
        self.app_state = {**self.app_state, "peer": peer, "abort": transport.abort}
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._expect_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_timer()
        super().connection_lost(exc)

    def _expect_request(self) -> None:
        """The timer runs from the first byte, however slowly the others come."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._forget_timer()
        elif self._slow is None and not self.transport.is_closing():
            self._slow = self.loop.call_later(REQUEST_WITHIN, self.transport.abort)

    def _forget_timer(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None
