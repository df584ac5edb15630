"""The one vocabulary of what can be wrong with a link, and what every link can do."""

from __future__ import annotations

import errno
from collections.abc import Callable
from enum import Enum
from typing import Final, Protocol

BUFFER_LIMIT: Final = 64 * 1024  # bytes that may wait for a device before it counts as stalled


class Cause(Enum):
    """Why a link is not usable. ``value`` is the word in logs and answers."""

    ABSENT = "absent"
    DENIED = "denied"
    BUSY = "busy"
    WRONG_IDENTITY = "wrong_identity"
    SILENT = "silent"
    GARBLED = "garbled"
    LOST = "lost"
    SANDBOX = "sandbox"

    @property
    def remedy(self) -> str:
        """One sentence for the operator: what to do about it."""
        return _REMEDIES[self]


_REMEDIES: Final = {
    Cause.ABSENT: "Plug the device in, switch it on, and compare its path with the configuration.",
    Cause.DENIED: "Give the daemon's user access to the port: its group, or the udev rule that we ship.",
    Cause.BUSY: "Stop the other program that holds the port.",
    Cause.WRONG_IDENTITY: "Connect the device that the configuration names, or accept the new one by an act.",
    Cause.SILENT: "Check that the device is switched on, and that its cable is on the right port.",
    Cause.GARBLED: "Compare baud rate, parity and protocol with the device, and check cable and earth.",
    Cause.LOST: "Check the plug and the device's power; the daemon takes it back by itself.",
    Cause.SANDBOX: "The service's sandbox blocks the port: add its device class to DeviceAllow= of the unit.",
}

_CAUSE_OF_ERRNO: Final = {
    errno.EPERM: Cause.SANDBOX,  # file permissions answer EACCES; the device cgroup answers EPERM
    errno.EACCES: Cause.DENIED,
    errno.EBUSY: Cause.BUSY,
    errno.EAGAIN: Cause.BUSY,  # flock: somebody else has the advisory lock
    errno.EINVAL: Cause.GARBLED,  # the port cannot be set to this line
}


def cause_of(number: int | None) -> Cause:
    """The cause behind an errno met while opening; whatever is not known means absent."""
    return _CAUSE_OF_ERRNO.get(number or 0, Cause.ABSENT)


class LinkError(Exception):
    """A link could not be opened: ``cause``, and ``detail`` for the person who looks into it."""

    def __init__(self, cause: Cause, detail: str) -> None:
        super().__init__(f"{cause.value}: {detail}")
        self.cause = cause
        self.detail = detail


class LinkLost(LinkError):
    """An open link went away. The one type into which every kind of loss is folded."""


OnBytes = Callable[[bytes], None]
OnLost = Callable[[Cause, str], None]


class Link(Protocol):
    """A way for bytes, owned by one event loop. It may be opened again after every close or loss."""

    def open(self, on_bytes: OnBytes, on_lost: OnLost) -> None:
        """Open, or raise :class:`LinkError`.

        A link that needs time to connect returns at once, keeps what is written meanwhile, and
        reports a failure through ``on_lost``. That is called at most once for each open, never
        from within a call to the link, never after :meth:`close`, and after the last byte that
        was received has gone to ``on_bytes``.
        """

    @property
    def place(self) -> str:
        """What no two devices can share: the port, address or device behind the URL."""

    def write(self, data: bytes, wake: int = 0) -> None:
        """Send, or keep for sending. Never blocks, never raises.

        The first ``wake`` bytes carry the wake-up bit where the line is set to one (parity M or S).
        When more than :data:`BUFFER_LIMIT` bytes wait, the link is lost with cause ``silent``.
        Bytes for a link that is not open are dropped.
        """

    def close(self) -> None:
        """Close. Never raises, never waits long: a close that hangs is abandoned."""

    def describe(self) -> str:
        """What this link is, in one line."""
