"""``feltd console``: serve the page until a signal comes."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Final

import uvicorn

from daemon.console.daemon_api import DaemonApi
from daemon.console.server import create_app

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


def is_loopback(host: str) -> bool:
    """Only this machine reaches ``host``. A name other than localhost is taken for a public one."""
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return False


def serve(
    socket_path: Path,
    host: str,
    port: int,
    names: Sequence[str] = (),
    public: bool = False,
    ready: Callable[[str], None] = lambda url: None,
    metrics_key: str = "",
) -> None:
    """Serve at ``host``:``port`` (0: any free one) until SIGTERM or SIGINT; ``ready`` is told the address.

    ``names`` are further Host headers to answer to, for a proxy in front; ``metrics_key`` is what Prometheus
    brings. Raises NotLoopback for an
    address that the network can reach, unless it is meant to be ``public``; OSError when it is taken.
    """
    if not (public or is_loopback(host)):
        raise NotLoopback(
            f"{host} can be reached from the network, and the page has no TLS of its own: "
            "listen on 127.0.0.1 behind a proxy, or say --public"
        )
    with _bound(host.strip("[]"), port) as listener:
        address = f"{host}:{listener.getsockname()[1]}"
        ready(f"http://{address}/")
        hosts = accepted_hosts(host, listener.getsockname()[1], names)
        config = uvicorn.Config(
            create_app(DaemonApi(socket_path), hosts, metrics_key),
            http="h11",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
        )
        _Server(config).run([listener])


def accepted_hosts(host: str, port: int, names: Sequence[str]) -> frozenset[str]:
    """The Host headers that this server goes by: the address itself, this machine, and ``names``."""
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
