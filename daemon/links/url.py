"""From the URL of a configuration to a link. Nothing is opened here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final, cast
from urllib.parse import urlsplit

from daemon.links.base import Link
from drivers.protocol import Line

# scheme -> module:class; each is told the URL and the line of the protocol, and raises ValueError.
# Imported when it is asked for: a machine without libusb runs as long as no device is on USB.
_LINKS: Final[Mapping[str, str]] = {
    "": "daemon.links.serial:SerialLink",
    "serial": "daemon.links.serial:SerialLink",
    "tcp": "daemon.links.tcp:TcpLink",
    "rfc2217": "daemon.links.rfc2217:Rfc2217Link",
    "usb": "daemon.links.usb:UsbLink",
    "replay": "daemon.links.replay:ReplayLink",
}


def make_link(url: str, line: Line) -> Link:
    """The link behind a URL: a bare path, ``serial:``, ``tcp:``, ``rfc2217:``, ``usb:`` or ``replay:``.

    ``line`` is the protocol's; a URL may change it. Raises ValueError for a URL that is not right.
    """
    scheme = urlsplit(url).scheme
    if scheme not in _LINKS:
        known = ", ".join(f"{name}:" for name in _LINKS if name)
        raise ValueError(f"no link {scheme}: (known: a path, {known})")
    module, _, name = _LINKS[scheme].partition(":")
    kind = cast(Callable[[str, Line], Link], getattr(import_module(module), name))
    return kind(url, line)
