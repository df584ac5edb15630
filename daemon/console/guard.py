"""Who may talk to the page's server: only a page that this server itself has served.

A browser sends requests for any site that its user visits. A foreign page cannot read our cookie
(SameSite=Strict), cannot give the header of :data:`MARK`, and cannot make our name its own: the
Host header is one of those that we were started with (DNS rebinding).
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from daemon.console.problems import problem

MARK: Final = "x-feltd-console"
SAFE: Final = ("GET", "HEAD")
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """ASGI middleware. ``hosts``: the accepted Host headers, with their port, in lower case."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(k.encode(), v.encode()) for k, v in HEADERS.items()]
            await send(message)

        objection = self._objection(scope["method"], Headers(scope=scope))
        app = problem(403, "Forbidden", objection) if objection else self._app
        await app(scope, receive, guarded)

    def _objection(self, method: str, headers: Headers) -> str:
        """Why this request is not from our own page; "" when it may be."""
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return "this server does not go by that name"
        if method in SAFE:
            return ""
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host:
            return "the request comes from another site"
        return "" if headers.get(MARK) == "1" else f"the header {MARK}: 1 is missing"
