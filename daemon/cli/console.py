"""``feltd console``: the web page of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daemon.cli.answers import DEFAULT_SOCKET, Socket, address_of, fail


def console(
    socket: Socket = DEFAULT_SOCKET,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="0: any free port.")] = "127.0.0.1:8080",
    name: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="Answer to this Host header too: a proxy's.")
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Listen where the network can reach it. There is no TLS here.")
    ] = False,
    metrics_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Serve /metrics to whoever brings this file's key.")
    ] = None,
) -> None:
    """Serve the web page of the table behind a socket, until SIGTERM or SIGINT."""
    from daemon.console.run import serve
    from daemon.console.scrape import read_key
    from daemon.console.serving import NotLoopback

    host, port = address_of(listen)
    try:
        key = read_key(metrics_key) if metrics_key is not None else ""
    except (OSError, ValueError) as error:
        fail(f"{metrics_key}: {error.strerror}" if isinstance(error, OSError) else str(error))
    try:
        serve(socket, host, port, name or (), public, lambda url: print(url, flush=True), key)
    except NotLoopback as error:
        raise typer.BadParameter(str(error)) from None
    except OSError as error:
        fail(f"{listen}: {error.strerror or error}")
