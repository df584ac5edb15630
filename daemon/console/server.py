"""The page's server: static files, the session cookie, and the daemon's API behind it.

Nobody is anybody without a session, even if the daemon would trust this process: every question but
the players' screen needs the cookie, and what it holds is the token of one person.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from daemon.console import scrape
from daemon.console.daemon_api import TIMEOUT, DaemonApi, Unreachable
from daemon.console.events import with_beats
from daemon.console.guard import Guard
from daemon.console.problems import problem

STATIC: Final = Path(__file__).parent / "static"
COOKIE: Final = "feltd_console"
LARGEST_BODY: Final = 16 * 1024  # bytes
LONGEST_WAIT: Final = 30.0  # seconds
NO_STORE: Final = {"cache-control": "no-store"}
READABLE: Final = ("rounds", "records", "incidents", "status", "acts")


class TooLarge(Exception):
    """A body of more than LARGEST_BODY bytes."""


class Files(StaticFiles):
    """Always asked for anew: a page and its modules must be of one version."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "no-cache"
        return response

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        if path.endswith(".js"):  # the system's table of types may say something else
            response.headers["content-type"] = "text/javascript; charset=utf-8"
        return response


def create_app(api: DaemonApi, hosts: frozenset[str], metrics_key: str = "") -> Starlette:
    """The server for one daemon. ``hosts``: the Host headers that it answers to; ``metrics_key``: what a
    question for ``/metrics`` has to bring, "" for no such page."""
    console = Console(api)
    scraped = [Route("/metrics", scrape.metrics(api, metrics_key))] if metrics_key else []

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await api.close()

    return Starlette(
        routes=[
            Route("/", page),
            Route("/player", page),
            Route("/session", console.session, methods=["GET", "POST", "PUT", "DELETE"]),
            Route("/session/{what:str}", console.session_step, methods=["POST"]),
            Route("/api/table", console.table),
            Route("/api/events", console.events),
            Route("/api/player", console.player),
            Route("/api/acts/{name:str}", console.act, methods=["POST"]),
            Route("/api/{what:str}", console.read),
            Route("/api/{what:str}/{number:int}", console.read),
            *scraped,
            Mount("/static", Files(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, hosts=hosts)],
        exception_handlers={Unreachable: _unreachable, TooLarge: _too_large},
        lifespan=lifespan,
    )


async def page(request: Request) -> Response:
    """The one page; its script looks at the address."""
    return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})


async def _unreachable(request: Request, error: Exception) -> Response:
    return problem(502, "Table does not answer", str(error))


async def _too_large(request: Request, error: Exception) -> Response:
    return problem(413, "Too large", f"a body has at most {LARGEST_BODY} bytes")


class Console:
    """What the page may ask. Every answer of the daemon is passed on as it is."""

    def __init__(self, api: DaemonApi) -> None:
        self._api = api

    # --- who is there -----------------------------------------------------------------------

    async def session(self, request: Request) -> Response:
        """GET the session (204: none), POST name and PIN to begin one, PUT: somebody is there, DELETE it."""
        if request.method == "POST":
            return await self._begin(request)
        token = request.cookies.get(COOKIE, "")
        if request.method == "DELETE":
            return await self._end(token)
        if not token:
            return _forgotten()
        method = "POST" if request.method == "PUT" else "GET"
        answer = await self._api.ask(method, "/sessions/current", token)
        return _forgotten() if answer.status_code == httpx.codes.UNAUTHORIZED else _passed_on(answer)

    async def _begin(self, request: Request) -> Response:
        answer = await self._api.ask("POST", "/sessions", body=await _body(request))
        if answer.status_code != httpx.codes.CREATED:
            return _passed_on(answer)
        session = answer.json()
        token = session.pop("token")  # the page's scripts never see it
        response = JSONResponse(session, httpx.codes.CREATED, headers=NO_STORE)
        response.set_cookie(COOKIE, token, httponly=True, samesite="strict", path="/")
        return response

    async def _end(self, token: str) -> Response:
        """Whether the daemon answers or not, this browser forgets the session."""
        if token:
            with suppress(Unreachable):
                await self._api.ask("DELETE", "/sessions/current", token)
        return _forgotten()

    async def session_step(self, request: Request) -> Response:
        """Lock the session, or unlock it with the PIN."""
        what, token = request.path_params["what"], request.cookies.get(COOKIE, "")
        if what not in ("lock", "unlock"):
            return problem(404, "Not served", "a session is locked and unlocked")
        if not token:
            return _nobody()
        return _passed_on(
            await self._api.ask("POST", f"/sessions/current/{what}", token, body=await _body(request))
        )

    # --- what may be seen -------------------------------------------------------------------

    async def table(self, request: Request) -> Response:
        """Status, acts and the running or last round in one answer: what a page draws from."""
        token = request.cookies.get(COOKIE, "")
        if not token:
            return _nobody()
        status, acts, rounds = await asyncio.gather(
            self._api.ask("GET", "/status", token),
            self._api.ask("GET", "/acts", token),
            self._api.ask("GET", "/rounds", token, {"last": "1"}),
        )
        for answer in (status, acts, rounds):
            if answer.status_code != httpx.codes.OK:
                return _passed_on(answer)
        newest = rounds.json()["rounds"]
        told = {
            "status": status.json(),
            "acts": acts.json()["acts"],
            "round": newest[0] if newest else None,
        }
        return JSONResponse(told, headers=NO_STORE)

    async def read(self, request: Request) -> Response:
        """Rounds, records and what else is only looked at."""
        what, token = request.path_params["what"], request.cookies.get(COOKIE, "")
        if what not in READABLE:
            return problem(404, "Not served", "there is nothing by that name")
        if not token:
            return _nobody()
        number = request.path_params.get("number")
        path = f"/{what}" if number is None else f"/{what}/{number}"
        return _passed_on(await self._api.ask("GET", path, token, dict(request.query_params)))

    async def events(self, request: Request) -> Response:
        """The daemon's events, with beats."""
        token = request.cookies.get(COOKIE, "")
        if not token:
            return _nobody()
        upstream = await self._api.stream(
            "/events", token, dict(request.query_params), request.headers.get("last-event-id", "")
        )
        if upstream.status_code != httpx.codes.OK:
            await upstream.aread()
            return _passed_on(upstream)

        async def alive() -> bool:
            session = await self._api.session(token)
            return session is not None and not session["locked"]

        return StreamingResponse(
            with_beats(upstream, alive), headers=NO_STORE, media_type="text/event-stream"
        )

    async def player(self, request: Request) -> Response:
        """The players' screen (CS-12): needs nobody, shows nothing that a player may not see."""
        params = {key: request.query_params[key] for key in ("after", "wait") if key in request.query_params}
        answer = await self._api.ask("GET", "/player", params=params, timeout=LONGEST_WAIT + TIMEOUT)
        return _passed_on(answer)

    # --- acts -------------------------------------------------------------------------------

    async def act(self, request: Request) -> Response:
        """One act, by the person of the session: whoever the page names is not passed on."""
        token = request.cookies.get(COOKIE, "")
        if not token:
            return _nobody()
        try:
            given = json.loads(await _body(request) or b"{}")
        except ValueError:
            given = None
        if not isinstance(given, dict):
            return problem(422, "Malformed request", "an act is a JSON object")
        kept = {key: given[key] for key in ("args", "key", "second", "replaces") if key in given}
        path = f"/acts/{quote(request.path_params['name'], safe='')}"
        return _passed_on(await self._api.ask("POST", path, token, body=json.dumps(kept).encode()))


async def _body(request: Request) -> bytes:
    """Raises TooLarge, before more than that is in memory."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise TooLarge
    return body


def _forgotten() -> Response:
    """There is no session, and the browser keeps none."""
    response = Response(status_code=204, headers=NO_STORE)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict", path="/")
    return response


def _nobody() -> Response:
    return problem(401, "No session", "sign in first")


def _passed_on(answer: httpx.Response) -> Response:
    kept = {key: answer.headers[key] for key in ("content-type", "retry-after") if key in answer.headers}
    return Response(answer.content, answer.status_code, headers=NO_STORE | kept)
