"""A serial port behind a network, with its line settings (RFC 2217), through pyserial on a thread."""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from urllib.parse import urlsplit

import serial
import serial.rfc2217

from daemon.links.base import Cause, LinkError, LinkLost, cause_of
from daemon.links.serial import line_from
from daemon.links.tcp import host_and_port, joined
from daemon.links.threaded import ThreadedLink
from drivers.protocol import Line


class Rfc2217Link(ThreadedLink):
    """``rfc2217://host:port?baud=9600&parity=E``, with the settings of a serial URL.

    The wake-up bit does not travel: the far port would change its parity at any time before or
    after the bytes that it is meant for. A write that needs it loses the link.
    """

    def __init__(self, url: str, line: Line | None = None) -> None:
        host, port = host_and_port(url, "rfc2217")
        self.line = line_from(urlsplit(url).query, line or Line())
        place = joined(host, port)
        transport = RemotePort(f"rfc2217://{place}", place, self.line)
        super().__init__(transport, f"rfc2217 {place} {self.line}", place)

    def write(self, data: bytes, wake: int = 0) -> None:
        """Queue for the thread. A wake-up bit that the line asks for is a loss (garbled)."""
        if wake and self.line.parity in "MS":
            self.give_up(LinkLost(Cause.GARBLED, f"{self.place}: the wake-up bit does not travel by rfc2217"))
        else:
            super().write(data)


class _Port(serial.rfc2217.Serial):
    """pyserial's port, and a read that loses nothing.

    Its own raises as soon as its reader has ended, also while bytes of before still wait, and
    setting its time-out negotiates the whole line anew.
    """

    _read_buffer: queue.Queue[bytes | None]
    _thread: threading.Thread | None

    def _telnet_read_loop(self) -> None:
        """pyserial's reader. What it raises (telnet that is none, an answer to nobody) only ends it."""
        with suppress(Exception):
            super()._telnet_read_loop()  # type: ignore[misc]  # its stub leaves it out

    def take(self, seconds: float) -> bytes | None:
        """What has come, waiting for it at most so long; None when nothing will come any more."""
        alive = self._thread is not None and self._thread.is_alive()
        taken = bytearray()
        with suppress(queue.Empty):
            taken += self._read_buffer.get(timeout=seconds) or b""
            while True:
                taken += self._read_buffer.get_nowait() or b""
        return bytes(taken) if taken or alive else None


class RemotePort:
    """The far port as a transport."""

    def __init__(self, url: str, place: str, line: Line) -> None:
        self._url = url
        self._place = place
        self._line = line
        self._port = _Port()

    def open(self) -> None:
        """Connect, negotiate, set the line. Raises LinkError (absent, or garbled: it refuses the line)."""
        self._port = port = _Port()
        port.port = self._url
        port.baudrate, port.bytesize = self._line.baud, self._line.bytesize
        port.parity, port.stopbits = self._line.parity, self._line.stopbits
        port.dtr, port.rts, port.rtscts = self._line.dtr, self._line.rts, self._line.rtscts
        try:
            port.open()
        except (OSError, ValueError) as error:  # SerialException is an OSError
            raise self._open_error(error) from error

    def read(self, timeout_ms: int) -> bytes:
        """What has come. Raises LinkLost."""
        data = self._port.take(timeout_ms / 1000)
        if data is None:
            raise LinkLost(Cause.LOST, f"{self._place}: the far end hung up")
        return data

    def write(self, data: bytes) -> None:
        """Send everything, or raise LinkLost after 5 s."""
        try:
            self._port.write(data)
        except OSError as error:
            raise LinkLost(Cause.LOST, f"{self._place}: {error}") from error

    def close(self) -> None:
        """Hang up."""
        self._port.close()

    def _open_error(self, error: OSError | ValueError) -> LinkError:
        """pyserial keeps the number of a failed connection only in the cause of its own error."""
        first = error.__context__ if isinstance(error, serial.SerialException) else error
        if isinstance(first, OSError):
            return LinkError(cause_of(first.errno), f"{self._place}: {first.strerror or first}")
        return LinkError(Cause.GARBLED, f"{self._place}: {error}")
