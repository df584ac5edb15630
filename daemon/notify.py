"""What the service manager is told: ready, status, and that there is progress (sd_notify).

Without a manager that wants to know every call does nothing.
"""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Final

MICROSECONDS: Final = 1_000_000
PINGS: Final = 3  # in the time that the manager waits for one


def notify(state: str) -> None:
    """Tell the manager ``NAME=value``. Never raises; a manager that does not listen is not waited for."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    name = "\0" + address[1:] if address.startswith("@") else address
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.setblocking(False)
        out.connect(name)
        out.send(state.encode())


def watchdog_seconds() -> float | None:
    """How often to tell ``WATCHDOG=1``; None when nobody waits for it, or it is meant for another process."""
    owner, wanted = os.environ.get("WATCHDOG_PID", ""), os.environ.get("WATCHDOG_USEC", "")
    if not wanted.isdecimal() or owner not in ("", str(os.getpid())):
        return None
    return int(wanted) / MICROSECONDS / PINGS
