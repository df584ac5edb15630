"""``GET /metrics`` of the console: the daemon's numbers for Prometheus, which brings a key and no session."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from daemon.console.daemon_api import DaemonApi
from daemon.console.problems import problem

SHORTEST_KEY: Final = 16  # characters


def read_key(path: Path) -> str:
    """The key that a file holds. Raises OSError; ValueError for one that is soon guessed."""
    key = path.read_text(encoding="utf-8").strip()
    if len(key) < SHORTEST_KEY:
        raise ValueError(f"{path}: a key has at least {SHORTEST_KEY} characters")
    return key


def metrics(api: DaemonApi, key: str) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint. Whoever does not bring ``key`` is told nothing: players may reach this server (CS-12)."""

    async def scrape(request: Request) -> Response:
        given = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, f"Bearer {key}".encode()):
            return problem(401, "No key", "bring the key of the metrics, as a bearer token")
        answer = await api.ask("GET", "/metrics")
        kept = {"content-type": answer.headers.get("content-type", "text/plain"), "cache-control": "no-store"}
        return Response(answer.content, answer.status_code, headers=kept)

    return scrape
