"""The wake-up bit of a serial line: mark parity on some bytes, space parity on the others.

The parity of a port holds for every byte that has not left it. So it is changed only when the port
is drained, and that is looked for by the loop at the time when it can be, never waited for in a call.
"""

from __future__ import annotations

import fcntl
import struct
import termios
from collections import deque
from dataclasses import dataclass
from typing import Final

from daemon.links.base import Cause, LinkLost
from drivers.protocol import Line

CMSPAR: Final = 0o10000000000  # mark or space parity; the standard library has no name for it
MARGIN_SECONDS: Final = 0.002  # for what an adapter holds that no count tells


@dataclass(slots=True)
class _Run:
    """Bytes that wait and have one parity."""

    count: int
    mark: bool


class WakeUpBit:
    """Which of the bytes that wait for ``fd`` may be written now; sets the port's parity for them.

    ``line`` has parity M or S, and the port is set to it. Times are seconds of one clock.
    """

    def __init__(self, fd: int, line: Line, path: str) -> None:
        self._fd, self._path = fd, path
        self._mark = line.parity == "M"  # as the port is set
        self._byte_seconds = (line.bytesize + line.stopbits + 2) / line.baud
        self._runs: deque[_Run] = deque()
        self._gone_at = 0.0  # what was written has left the port, at the earliest

    def add(self, count: int, wake: int) -> None:
        """``count`` more bytes wait, the first ``wake`` of them with the wake-up bit."""
        wake = min(wake, count)
        for size, mark in ((wake, True), (count - wake, False)):
            if size and self._runs and self._runs[-1].mark is mark:
                self._runs[-1].count += size
            elif size:
                self._runs.append(_Run(size, mark))

    @property
    def room(self) -> int:
        """How many of the bytes that wait have the parity of the first one."""
        return self._runs[0].count if self._runs else 0

    def pause(self, now: float) -> float:
        """Seconds until :attr:`room` bytes may be written; 0: now, the port is set. Raises LinkLost."""
        if not self._runs or self._runs[0].mark is self._mark:
            return 0.0
        if now < self._gone_at:
            return self._gone_at - now
        try:
            if _waiting(self._fd):
                return self._byte_seconds
            _set_parity(self._fd, self._runs[0].mark)
        except (OSError, termios.error) as error:
            raise LinkLost(Cause.LOST, f"{self._path}: {error.args[-1]}") from error
        except ValueError as error:
            raise LinkLost(Cause.GARBLED, f"{self._path} {error}") from error
        self._mark = self._runs[0].mark
        return 0.0

    def wrote(self, count: int, now: float) -> None:
        """``count`` bytes, at most :attr:`room`, went into the port."""
        if not count:
            return
        self._runs[0].count -= count
        if not self._runs[0].count:
            self._runs.popleft()
        self._gone_at = max(self._gone_at, now + MARGIN_SECONDS) + count * self._byte_seconds


def _waiting(fd: int) -> int:
    """Bytes that the port has not sent yet."""
    return int(struct.unpack("i", fcntl.ioctl(fd, termios.TIOCOUTQ, bytes(4)))[0])


def _set_parity(fd: int, mark: bool) -> None:
    """Mark or space parity for what is written from now on. Raises ValueError for a port without."""
    attributes = termios.tcgetattr(fd)
    odd = termios.PARODD if mark else 0
    attributes[2] = attributes[2] & ~termios.PARODD | termios.PARENB | CMSPAR | odd
    termios.tcsetattr(fd, termios.TCSANOW, attributes)
    if not termios.tcgetattr(fd)[2] & CMSPAR:
        raise ValueError("has no mark and space parity: use another port, or an 8N1 line")
