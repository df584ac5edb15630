"""``GET /events``: what is committed, as server-sent events that nobody misses and nobody gets twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Final

from fastapi import FastAPI, Header, Request, Response
from starlette.types import Receive, Scope, Send

from daemon.api import models
from daemon.api.door import Door
from daemon.api.feed import Feed
from daemon.api.problems import Problem
from daemon.api.service import WHOLE, After, Service

MOST_STREAMS: Final = 64
KEEP_ALIVE: Final = 10.0  # seconds
_BREATH: Final = 0.05  # seconds: a burst of records goes out together
_HEADERS: Final = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]

LastId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=32)]


def add(app: FastAPI, service: Service, door: Door) -> None:
    feed = Feed(service)
    streams: set[_Stream] = set()

    @app.get("/events", responses=models.stream(), response_class=Response)
    async def events(request: Request, after: After = None, last_event_id: LastId = None) -> Response:
        """Every record after the last id, in order; without one, what is committed from now on."""
        door.staff(request)
        if len(streams) >= MOST_STREAMS:
            raise Problem(
                503, "No room", f"{MOST_STREAMS} streams are open", todo="close one, then try again"
            )
        begin = service.engine.committed if after is None else after
        if last_event_id is not None:
            begin = _number(last_event_id)
        return _Stream(service, feed, begin, lambda: door.still_in(request), streams)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) >= WHOLE:
        raise Problem(422, "Malformed request", "header.Last-Event-ID: not the number of a record")
    return int(text)


class _Stream(Response):
    """One client's stream. It ends with the client, with its leave to see, or with the service."""

    def __init__(
        self, service: Service, feed: Feed, after: int, let_in: Callable[[], bool], streams: set[_Stream]
    ) -> None:
        super().__init__()
        self._service = service
        self._feed = feed
        self._after = after
        self._let_in = let_in
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._streams.add(self)
        telling = asyncio.ensure_future(self._tell(send))
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait((telling, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._streams.discard(self)
            for task in (telling, gone):
                task.cancel()
            await asyncio.gather(telling, gone, return_exceptions=True)

    async def _tell(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await _body(send, b": feltd\n\n")
        while not self._service.stopping and self._let_in():
            events = self._feed.after(self._after)
            if events:
                await _body(send, b"".join(data for _, data in events))
                self._after = events[-1][0]
                await asyncio.sleep(_BREATH if self._after == self._service.engine.committed else 0)
                continue
            before = self._service.engine.committed
            await self._service.changed(max(before, self._after), KEEP_ALIVE)
            if self._service.engine.committed == before:
                await _body(send, b": nothing new\n\n")
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _body(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
