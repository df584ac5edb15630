"""``feltd console``: serve the table's page until a signal comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from daemon.console.daemon_api import DaemonApi
from daemon.console.server import create_app
from daemon.console.serving import serve_page


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
    brings. Raises NotLoopback for an address that the network can reach, unless it is meant to be
    ``public``; OSError when it is taken.
    """
    objection = (
        f"{host} can be reached from the network, and the page has no TLS of its own: "
        "listen on 127.0.0.1 behind a proxy, or say --public"
    )
    serve_page(
        lambda hosts: create_app(DaemonApi(socket_path), hosts, metrics_key),
        host,
        port,
        ready,
        None if public else objection,
        names,
    )
