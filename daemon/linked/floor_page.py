"""``feltd link floor``: the floor's page. It reads, by the role of the floor, and can do nothing else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from daemon.console.guard import Guard
from daemon.console.problems import problem
from daemon.console.server import NO_STORE, STATIC
from daemon.console.serving import serve_page
from daemon.house import House
from daemon.linked.authority import Authority
from daemon.linked.entries import Refused, Unreachable
from daemon.linked.floor import Plain, as_csv, books, view

FRESH: Final = 1.0  # s that an answer serves everybody who asks
BOOKS_FRESH: Final = 30.0  # s: they read the whole ledger
_TYPES: Final = {"html": "text/html", "js": "text/javascript", "css": "text/css"}


class Floor:
    """The newest view of a pool. ``connect`` is called again after an error."""

    def __init__(self, connect: Callable[[], Authority], pool: str, house: House) -> None:
        self._connect = connect
        self._pool = pool
        self._house = house
        self._authority: Authority | None = None
        self._told: tuple[float, Plain] | None = None
        self._books: tuple[float, Plain] | None = None
        self._alone = asyncio.Lock()

    async def look(self) -> Plain:
        """What was seen less than FRESH seconds ago. Raises Refused, Unreachable."""
        async with self._alone:
            if self._told is None or time.monotonic() - self._told[0] > FRESH:
                told = await asyncio.to_thread(self._look)
                self._told = time.monotonic(), told
            return self._told[1]

    def _look(self) -> Plain:
        try:
            if self._authority is None:
                self._authority = self._connect()
            if self._books is None or time.monotonic() - self._books[0] > BOOKS_FRESH:
                self._books = time.monotonic(), books(self._authority, self._house)
            return view(self._authority, self._pool, self._house, self._books[1])
        except (Refused, Unreachable):
            if self._authority is not None:
                self._authority.close()
                self._authority = None
            raise


def create_app(floor: Floor, hosts: frozenset[str]) -> Starlette:
    """The server. ``hosts``: the Host headers that it answers to."""

    async def told(request: Request) -> Response:
        return JSONResponse(await floor.look(), headers=NO_STORE)

    async def export(request: Request) -> Response:
        seen = await floor.look()
        name = f"{seen['pool']}-{seen['day']['day']}.csv"
        said = NO_STORE | {"content-disposition": f'attachment; filename="{name}"'}
        return PlainTextResponse(as_csv(seen), headers=said, media_type="text/csv")

    return Starlette(
        routes=[
            Route("/", _file("html")),
            Route("/floor.js", _file("js")),
            Route("/floor.css", _file("css")),
            Route("/floor.json", told),
            Route("/floor.csv", export),
        ],
        middleware=[Middleware(Guard, hosts=hosts)],
        exception_handlers={Refused: _not_told, Unreachable: _not_told},
    )


def _file(ending: str) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        kind = f"{_TYPES[ending]}; charset=utf-8"
        return FileResponse(
            STATIC / f"floor.{ending}", media_type=kind, headers={"cache-control": "no-cache"}
        )

    return answer


async def _not_told(request: Request, error: Exception) -> Response:
    return problem(502, "The authority does not answer", str(error))


def serve(
    dsn: str,
    pool: str,
    house: House,
    host: str,
    port: int,
    public: bool = False,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve at ``host``:``port`` (0: any free one) until a signal. Raises NotLoopback, OSError."""
    floor = Floor(lambda: Authority.connect(dsn, pool), pool, house)
    objection = "the page has no TLS of its own: listen on 127.0.0.1, or say --public"
    serve_page(partial(create_app, floor), host, port, ready, None if public else objection)
