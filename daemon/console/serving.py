"""Serving a page until a signal comes: where it listens, and the names that it goes by."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Callable, Generator, Sequence
from typing import Final

import uvicorn
from starlette.types import ASGIApp

GRACE: Final = 1  # seconds; an open event stream would never end by itself
LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")


class NotLoopback(ValueError):
    """The address can be reached from the network, and nobody said that this is meant."""


class _Server(uvicorn.Server):
    """uvicorn that ends on a signal without raising it again: an ordered end is exit code 0."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        with super().capture_signals():
            yield
            self._captured_signals.clear()


def serve_page(
    page: Callable[[frozenset[str]], ASGIApp],
    host: str,
    port: int,
    ready: Callable[[str], None],
    objection: str | None,
    names: Sequence[str] = (),
) -> None:
    """Serve at ``host``:``port`` (0: any free one) until SIGTERM or SIGINT; ``ready`` is told the address.

    ``page`` makes the application for the Host headers that it answers to: ours, and ``names``. Raises
    NotLoopback with the ``objection`` for an address that the network can reach, None: that is meant;
    OSError when the address is taken.
    """
    if objection is not None and not is_loopback(host):
        raise NotLoopback(objection)
    with _bound(host.strip("[]"), port) as listener:
        own_port = listener.getsockname()[1]
        ready(f"http://{host}:{own_port}/")
        config = uvicorn.Config(
            page(accepted_hosts(host, own_port, names)),
            http="h11",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
        )
        _Server(config).run([listener])


def is_loopback(host: str) -> bool:
    """Only this machine reaches ``host``. A name other than localhost is taken for a public one."""
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return False


def accepted_hosts(host: str, port: int, names: Sequence[str] = ()) -> frozenset[str]:
    """The Host headers that a server goes by: the address itself, this machine, and ``names``."""
    own = (host, *(LOOPBACK_NAMES if is_loopback(host) else ()))
    return frozenset(name.lower() for name in (*(f"{each}:{port}" for each in own), *names))


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()  # whoever reads the address may come at once
    except OSError:
        listener.close()
        raise
    return listener
