"""What a protocol is to those who use it: for which device, on what line, by which driver.

Each protocol module offers one :class:`DeviceProtocol` as ``PROTOCOL``. A package of somebody
else offers its own in the entry point group ``feltd.drivers`` under the name ``role.protocol``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from drivers.base import Driver

Option = str | int | bool


@dataclass(frozen=True, slots=True)
class Line:
    """Settings of a serial line. ``baud`` in bit/s, ``bytesize`` 5 to 8, ``parity`` N E O M S,
    ``stopbits`` 1 or 2; ``dtr`` and ``rts`` are the levels held while the port is open;
    ``rtscts`` is hardware flow control. Raises ValueError for a line that there is not."""

    baud: int = 115_200
    bytesize: int = 8
    parity: str = "N"
    stopbits: int = 1
    dtr: bool = True
    rts: bool = True
    rtscts: bool = False

    def __post_init__(self) -> None:
        if self.baud <= 0 or self.bytesize not in range(5, 9) or self.stopbits not in (1, 2):
            raise ValueError(f"no such line: {self.baud} baud {self}")
        if len(self.parity) != 1 or self.parity not in "NEOMS":
            raise ValueError(f"parity is one of N E O M S, not {self.parity!r}")

    def __str__(self) -> str:
        return f"{self.baud} {self.bytesize}{self.parity}{self.stopbits}"


@dataclass(frozen=True, slots=True)
class Binding:
    """What a driver is told when it is made.

    ``resume`` is boot and ordinal of the device's last durable event, ``serial`` the only serial
    number that is listened to ("" for any), ``line`` the line in use, and ``options`` every option
    of the protocol with its configured or its own value.
    """

    resume: tuple[int, int] | None = None
    serial: str = ""
    line: Line = Line()
    options: Mapping[str, Option] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeviceProtocol:
    """One protocol of one kind of device.

    ``role`` is shoe, shuffler or sign. ``options`` are the driver's options with their default
    values, whose types the configuration keeps. ``proves_delivery`` is False for a link on which an
    event can vanish without a trace: the table then reconciles by count (CS-07). ``simulator`` is
    ``module:name`` of the device seen from its own side, "" for none, and ``traits`` are the arguments
    out of serial, seed and boot that it takes.
    """

    role: str
    name: str
    line: Line
    driver: Callable[[Binding], Driver]
    proves_delivery: bool = True
    options: Mapping[str, Option] = field(default_factory=dict)
    simulator: str = ""
    traits: tuple[str, ...] = ()
