"""From the URL of a configuration to a link. Nothing is opened here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from daemon.links.base import Link
from daemon.links.serial import SerialLink
from drivers.protocol import Line

# scheme -> link; each is told the URL and the line of the protocol, and raises ValueError
_LINKS: Final[Mapping[str, Callable[[str, Line], Link]]] = {
    "": SerialLink,
    "serial": SerialLink,
}


def make_link(url: str, line: Line) -> Link:
    """The link behind a URL: a bare path or ``serial:``.

    ``line`` is the protocol's; a URL may change it. Raises ValueError for a URL that is not right.
    """
    scheme = urlsplit(url).scheme
    if scheme not in _LINKS:
        known = ", ".join(f"{name}:" for name in _LINKS if name)
        raise ValueError(f"no link {scheme}: (known: a path, {known})")
    return _LINKS[scheme](url, line)
