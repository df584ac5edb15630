"""Which driver speaks which protocol for which kind of device, and on what line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from daemon.links.serial import Line
from drivers.base import Driver
from drivers.shoe.fdp import FdpShoe
from drivers.shuffler.fdp import FdpShuffler
from drivers.sign.alpha import AlphaSign

Resume = tuple[int, int] | None
Factory = Callable[[Resume, str], Driver]


def _alpha_sign(resume: Resume, serial: str) -> Driver:
    return AlphaSign()  # a sign numbers nothing and has no serial number


# (role, protocol) -> factory; it is told boot and ordinal of the device's last durable event, and the
# only serial number that is accepted ("" for any).
DRIVERS: Final[Mapping[tuple[str, str], Factory]] = {
    ("shoe", "fdp"): FdpShoe,
    ("shuffler", "fdp"): FdpShuffler,
    ("sign", "alpha"): _alpha_sign,
}

# protocol -> line, where the configured link does not say otherwise. DTR resets an Alpha sign's adapter.
LINES: Final[Mapping[str, Line]] = {
    "fdp": Line(115_200, 8, "N", 1),
    "alpha": Line(9600, 7, "E", 1, dtr=False),
}


def protocols(role: str) -> list[str]:
    """The protocols that a device of this role may speak."""
    return [protocol for known, protocol in DRIVERS if known == role]
