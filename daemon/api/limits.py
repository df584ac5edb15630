"""What one client may take: the size of a body, and the time to send it or to read an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_BODY: Final = 64 * 1024  # bytes
BODY_WITHIN: Final = 10.0  # seconds for the whole body
READ_WITHIN: Final = 10.0  # seconds that a client may leave what was sent to it unread
_CLOSE: Final = {"connection": "close"}  # the rest of such a body is not waited for


class Limits:
    """ASGI middleware. A body that is too long is answered 413, one that does not come 408; a client
    that does not read is cut off by the ``abort`` of its connection (daemon.api.peers)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, _bounded(receive), _prompt(send, scope.get("state", {}).get("abort")))


def _bounded(receive: Receive) -> Receive:
    loop = asyncio.get_running_loop()
    give_up, length, whole = loop.time() + BODY_WITHIN, 0, False

    async def bounded() -> Message:
        nonlocal length, whole
        if whole:
            return await receive()
        try:
            async with asyncio.timeout_at(give_up):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, f"the body did not come within {BODY_WITHIN:g} s", _CLOSE) from None
        length += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if length > LONGEST_BODY:
            raise HTTPException(413, f"a body has {LONGEST_BODY} bytes at most", _CLOSE)
        return message

    return bounded


def _prompt(send: Send, abort: Callable[[], None] | None) -> Send:
    async def prompt(message: Message) -> None:
        try:
            async with asyncio.timeout(READ_WITHIN):
                await send(message)
        except TimeoutError:
            if abort is not None:
                abort()

    return prompt
