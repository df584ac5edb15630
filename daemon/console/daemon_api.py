"""The daemon's API as the console's server asks it: on a Unix socket, with the token of a person."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import httpx

TIMEOUT: Final = 5.0  # seconds; a held journal is answered within one
SILENCE: Final = 3.0  # seconds that the daemon may take to say that it lives

Params = Mapping[str, str]


class Unreachable(Exception):
    """Nobody answers on the socket. The text says why."""


class DaemonApi:
    """Concurrent; close it on the loop that used it. Raises Unreachable from every call."""

    def __init__(self, socket_path: Path | str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._path = str(socket_path)
        self._http = httpx.AsyncClient(
            transport=transport or httpx.AsyncHTTPTransport(uds=self._path),
            base_url="http://feltd",
            timeout=TIMEOUT,
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(
        self,
        method: str,
        path: str,
        token: str = "",
        params: Params | None = None,
        body: bytes | None = None,
        timeout: float = TIMEOUT,
    ) -> httpx.Response:
        """One question, whatever its status; ``timeout`` in seconds."""
        headers = _headers(token) | ({"Content-Type": "application/json"} if body is not None else {})
        try:
            return await self._http.request(
                method, path, params=params, content=body, headers=headers, timeout=timeout
            )
        except httpx.TransportError as error:
            raise Unreachable(self._why(error)) from None

    async def stream(self, path: str, token: str, params: Params, last_id: str) -> httpx.Response:
        """An answer whose body is still to come. The caller closes it."""
        headers = _headers(token) | ({"Last-Event-ID": last_id} if last_id else {})
        request = self._http.build_request(
            "GET", path, params=params, headers=headers, timeout=httpx.Timeout(TIMEOUT, read=None)
        )
        try:
            return await self._http.send(request, stream=True)
        except httpx.TransportError as error:
            raise Unreachable(self._why(error)) from None

    async def session(self, token: str) -> dict[str, Any] | None:
        """The session of ``token``; None when the daemon is silent or knows none."""
        try:
            answer = await self.ask("GET", "/sessions/current", token, timeout=SILENCE)
        except Unreachable:
            return None
        found: dict[str, Any] | None = answer.json() if answer.status_code == httpx.codes.OK else None
        return found

    def _why(self, error: httpx.TransportError) -> str:
        if isinstance(error, httpx.TimeoutException):
            return f"{self._path}: no answer in time"
        return f"{self._path}: nobody answers"


def _headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}
