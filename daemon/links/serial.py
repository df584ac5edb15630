"""A serial port on the event loop (protocols.md section 7).

pyserial opens and configures the port; after that the descriptor is ours alone and pyserial
never touches it again: its ``read`` drops bytes it already has when the device vanishes, its
``write`` spins on a full buffer, and an object whose close failed closes the number once more
when it is collected, by then perhaps somebody else's file.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shlex
import stat
import termios
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import serial

from daemon.links.base import BUFFER_LIMIT, Cause, LinkError, LinkLost, OnBytes, OnLost, cause_of
from daemon.links.wakeup import WakeUpBit
from drivers.protocol import Line

READ_SIZE: Final = 65536
STALL_SECONDS: Final = 5.0  # a device that takes no byte for so long is stalled
CLOSE_SECONDS: Final = 0.2  # how long the loop waits for a close before it abandons it
PTY_MAJORS: Final = range(136, 144)


def parse_url(url: str, line: Line | None = None) -> tuple[str, Line]:
    """Path and line of a bare path or ``serial:///dev/…?baud=9600&bytesize=7&parity=E&dtr=0``.

    What the URL leaves out is taken from ``line``. Raises ValueError.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("", "serial") or parts.netloc:
        raise ValueError(f"not a serial port: {url!r} (a path, or serial:///path?baud=…)")
    if parts.scheme == "":
        return url, line or Line()
    return parts.path, line_from(parts.query, line or Line())


def line_from(query: str, line: Line) -> Line:
    """``line``, changed by the settings of a URL's query. Raises ValueError."""
    settings = {key: _setting(key, value) for key, value in parse_qsl(query, keep_blank_values=True)}
    return replace(line, **settings)  # type: ignore[arg-type]  # checked by _setting


def _setting(key: str, value: str) -> str | int | bool:
    if key in ("baud", "bytesize", "stopbits") and value.isdecimal():
        return int(value)
    if key in ("dtr", "rts", "rtscts") and value in ("0", "1"):
        return value == "1"
    if key == "parity":
        return value.upper()
    raise ValueError(f"not a setting of a serial line: {key}={value}")


class SerialLink:
    """A serial port, or a PTY that stands for one. ``url`` as in :func:`parse_url`."""

    def __init__(self, url: str, line: Line | None = None) -> None:
        self.path, self.line = parse_url(url, line)
        self._fd: int | None = None
        self._out = bytearray()
        self._wake_up: WakeUpBit | None = None
        self._pause: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._notice: asyncio.Handle | None = None
        self._closing: threading.Thread | None = None

    @property
    def place(self) -> str:
        """The path, however it was written. Links are not followed: a device's name lives longer."""
        return os.path.abspath(self.path)

    def open(self, on_bytes: OnBytes, on_lost: OnLost) -> None:
        """Open and configure, take both locks, watch the descriptor. Raises LinkError."""
        if self._fd is not None:
            raise LinkError(Cause.BUSY, f"{self.path} is open already")
        self._drop_notice()
        self._loop = asyncio.get_running_loop()
        self._fd = _open_port(self.path, self.line)
        self._wake_up = _wake_up_of(self._fd, self.line, self.path)
        self._on_bytes, self._on_lost = on_bytes, on_lost
        self._loop.add_reader(self._fd, self._readable)

    def write(self, data: bytes, wake: int = 0) -> None:
        """Send what the port takes now and keep the rest, at most 64 KiB; more is a stall."""
        if self._fd is None:
            return
        if len(self._out) + len(data) > BUFFER_LIMIT:
            self._lose(LinkLost(Cause.SILENT, f"{self.path} stalled: {len(self._out)} bytes wait for it"))
            return
        self._out += data
        if self._wake_up is not None:
            self._wake_up.add(len(data), wake)
        if self._stall is None:
            self._writable()

    def close(self) -> None:
        """Let go of the port. No loss is reported any more."""
        self._drop_notice()
        self._release()

    def describe(self) -> str:
        """Path and line; also that an earlier close still hangs."""
        hangs = "; an earlier close still hangs" if self._closing and self._closing.is_alive() else ""
        return f"serial {self.path} {self.line}{hangs}"

    def _readable(self) -> None:
        assert self._fd is not None
        try:
            data = _read(self._fd, self.path)
        except LinkLost as lost:
            self._lose(lost)
            return
        if data:
            self._on_bytes(data)

    def _writable(self) -> None:
        assert self._fd is not None
        self._drop_pause()
        try:
            sent = self._write_some(self._fd)
        except LinkLost as lost:
            self._lose(lost)
            return
        del self._out[:sent]
        self._watch_output(self._fd, progress=sent > 0)

    def _write_some(self, fd: int) -> int:
        """What the port takes now; with a wake-up bit only bytes of one parity, and those in their time."""
        if self._wake_up is None:
            return _write(fd, self._out, self.path)
        now = self._loop.time()
        pause = self._wake_up.pause(now)
        if pause > 0:
            self._loop.remove_writer(fd)
            self._pause = self._loop.call_later(pause, self._writable)
            return 0
        sent = _write(fd, self._out[: self._wake_up.room], self.path)
        self._wake_up.wrote(sent, now)
        return sent

    def _watch_output(self, fd: int, progress: bool) -> None:
        """Wait for room while bytes wait; ``_stall`` is armed exactly then."""
        if self._stall is not None and (progress or not self._out):
            self._stall.cancel()
            self._stall = None
        if not self._out:
            self._loop.remove_writer(fd)
            return
        if self._stall is None:
            self._stall = self._loop.call_later(STALL_SECONDS, self._stalled)
        if self._pause is None:
            self._loop.add_writer(fd, self._writable)

    def _stalled(self) -> None:
        detail = f"{self.path} stalled: it took no byte for {STALL_SECONDS:g} s"
        self._lose(LinkLost(Cause.SILENT, detail))

    def _lose(self, lost: LinkLost) -> None:
        # Reported in a call of its own: a caller in the middle of write() is not run into.
        self._release()
        self._notice = self._loop.call_soon(self._on_lost, lost.cause, lost.detail)

    def _drop_pause(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None

    def _drop_notice(self) -> None:
        if self._notice is not None:
            self._notice.cancel()
            self._notice = None

    def _release(self) -> None:
        fd, self._fd = self._fd, None
        self._out.clear()
        self._wake_up = None
        self._drop_pause()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None
        if fd is not None:
            self._loop.remove_reader(fd)
            self._loop.remove_writer(fd)
            self._close_aside(fd)

    def _close_aside(self, fd: int) -> None:
        """Close where it may hang: the kernel drains the output first, for ever behind flow control.

        A daemon thread and not the loop's executor, which joins its threads at exit.
        """
        self._closing = threading.Thread(target=_close_port, args=(fd,), daemon=True)
        self._closing.start()
        self._closing.join(CLOSE_SECONDS)


def _read(fd: int, path: str) -> bytes:
    """What is there, or nothing. Raises LinkLost."""
    try:
        data = os.read(fd, READ_SIZE)
    except (BlockingIOError, InterruptedError):
        return b""
    except OSError as error:
        raise LinkLost(Cause.LOST, f"{path}: {error.strerror}") from error
    if not data:  # readable, and nothing to read: that is how Linux says unplugged
        raise LinkLost(Cause.LOST, f"{path}: hung up")
    return data


def _write(fd: int, data: bytearray, path: str) -> int:
    """How many bytes the port took. Raises LinkLost."""
    try:
        return os.write(fd, data) if data else 0
    except (BlockingIOError, InterruptedError):
        return 0
    except OSError as error:
        raise LinkLost(Cause.LOST, f"{path}: {error.strerror}") from error


def _wake_up_of(fd: int, line: Line, path: str) -> WakeUpBit | None:
    """What keeps the wake-up bit of this port; None for a line without, and for a PTY, which has none."""
    pty = os.major(os.fstat(fd).st_rdev) in PTY_MAJORS
    return None if pty or line.parity not in "MS" else WakeUpBit(fd, line, path)


def _open_port(path: str, line: Line) -> int:
    """A descriptor of our own for the configured port. Raises LinkError."""
    try:
        pty = os.major(_device(path)) in PTY_MAJORS
        port = _configured(path, line, pty)
    except (OSError, termios.error, ValueError, OverflowError) as error:  # SerialException is an OSError
        raise _open_error(path, error) from error
    try:
        with suppress(OSError, ValueError):  # an adapter without it waits up to 16 ms before it tells
            port.set_low_latency_mode(True)
        fd = os.dup(port.fileno())  # flock and TIOCEXCL belong to what both numbers share
    finally:
        port.close()
    os.set_blocking(fd, False)
    if not pty:
        _hold(fd)
    return fd


def _device(path: str) -> int:
    status = os.stat(path)
    if not stat.S_ISCHR(status.st_mode):
        raise LinkError(Cause.ABSENT, f"{path}: not a serial port")
    return status.st_rdev


def _configured(path: str, line: Line, pty: bool) -> serial.Serial:
    """Opened by pyserial, with the advisory lock. A PTY has no line: it gets 8N1, for the second
    open with anything else on one PTY fails with termios.error 22."""
    port = serial.Serial()
    port.port = path
    port.baudrate = line.baud
    port.bytesize = 8 if pty else line.bytesize
    port.parity = "N" if pty else line.parity
    port.stopbits = 1 if pty else line.stopbits
    port.dtr, port.rts = line.dtr, line.rts
    port.rtscts = line.rtscts
    port.exclusive = True
    port.open()
    return port


def _hold(fd: int) -> None:
    """The second lock, and a close that leaves DTR as it is (dropping it reboots many boards).

    Not on a PTY: there TIOCEXCL lasts as long as the simulator's own descriptor, so that a
    daemon that was killed could never open its wire again.
    """
    with suppress(OSError):
        fcntl.ioctl(fd, termios.TIOCEXCL)
    with suppress(termios.error):
        attributes = termios.tcgetattr(fd)
        attributes[2] &= ~termios.HUPCL
        termios.tcsetattr(fd, termios.TCSANOW, attributes)


def _close_port(fd: int) -> None:
    with suppress(OSError):
        os.close(fd)


def _open_error(path: str, error: OSError | termios.error | ValueError | OverflowError) -> LinkError:
    if isinstance(error, ValueError | OverflowError):  # pyserial's words for a line that the port refuses
        return LinkError(Cause.GARBLED, f"{path}: {error}")
    number = error.args[0] if error.args and isinstance(error.args[0], int) else None
    cause = cause_of(number)
    reason = os.strerror(number) if number else str(error)
    if cause is Cause.BUSY:
        reason = _held_by(path)
    return LinkError(cause, f"{path}: {reason}")


def _held_by(path: str) -> str:
    """Who holds the port; a sandbox hides the processes of others, and then root has to look."""
    if found := holders(path):
        return "held by " + ", ".join(found)
    return f"held by a program that the daemon may not see; `sudo fuser -v {shlex.quote(path)}` names it"


def holders(path: str) -> list[str]:
    """Who has this device open, as ``pid 123 (cat)``; only what we are allowed to see."""
    device = os.path.realpath(path)
    found = (process for process in _processes() if _has_open(process, device))
    return [f"pid {process.name} ({_command(process)})" for process in found]


def _processes() -> Iterator[Path]:
    return (entry for entry in Path("/proc").iterdir() if entry.name.isdecimal())


def _has_open(process: Path, device: str) -> bool:
    try:
        descriptors = list((process / "fd").iterdir())
    except OSError:
        return False
    for descriptor in descriptors:
        with suppress(OSError):
            if os.readlink(descriptor) == device:
                return True
    return False


def _command(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return "gone"
