"""The API of a table: what may be seen, and the acts. Refusals are RFC 9457 problem documents."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Protocol

from fastapi import FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from daemon import __version__
from daemon.build import CHANGE_RULES, completed
from daemon.engine import Engine
from daemon.games.desk import Act
from daemon.links.base import Cause
from daemon.records import Plain
from daemon.service import Stopped

HELD_RETRY: Final = 0.02  # seconds
HELD_LIMIT: Final = 1.0  # seconds
LONGEST_WAIT: Final = 60.0  # seconds
MOST_ROUNDS: Final = 200  # one answer must not keep the loop from a card
WHOLE: Final = 10**18  # whole numbers stay within the 64 bits of the journal


class History(Protocol):
    """The closed rounds of the journal."""

    def rounds(self, last: int) -> list[Plain]: ...

    def round(self, round_id: int) -> Plain | None: ...


class Service(Protocol):
    """What the API needs of the service (daemon.service.Service)."""

    @property
    def engine(self) -> Engine: ...

    @property
    def journal(self) -> History: ...

    def act(self, act: Act) -> Plain | None: ...

    def view(self) -> Plain: ...

    async def changed(self, after: int, wait: float) -> None: ...


Word = Annotated[str, Field(max_length=64)]
ArgName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
ArgText = Annotated[str, Field(max_length=500)]
ArgNumber = Annotated[int, Field(gt=-WHOLE, lt=WHOLE)]
ActName = Annotated[str, Path(pattern=r"^[a-z][a-z0-9-]{0,47}$")]
Last = Annotated[int, Query(ge=1, le=MOST_ROUNDS)]


class ActBody(BaseModel):
    """An act's arguments and who does it. ``key`` makes a repetition harmless."""

    model_config = ConfigDict(strict=True, extra="forbid")

    args: dict[ArgName, ArgText | ArgNumber] = Field(default_factory=dict, max_length=16)
    by: Word = ""
    role: Word = ""
    second: Word = ""
    key: Annotated[str, Field(pattern=r"^[!-~]{0,128}$")] = ""
    replaces: Annotated[int, Field(ge=0, lt=WHOLE)] = 0


def problem(status: int, title: str, detail: str, **more: object) -> JSONResponse:
    """An RFC 9457 problem document."""
    content = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return JSONResponse(content, status, media_type="application/problem+json")


def create_app(service: Service, known_acts: frozenset[str]) -> FastAPI:
    """The API over a running service. ``known_acts``: an act with another name is answered 404."""
    app = FastAPI(title="feltd", version=__version__, docs_url=None, redoc_url=None)
    _add_problems(app)
    _add_views(app, service)
    _add_rounds(app, service)
    _add_acts(app, service, known_acts)
    return app


# --- problems --------------------------------------------------------------------------------


def _add_problems(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        return problem(422, "Malformed request", _faults_of(error.errors()))

    @app.exception_handler(HTTPException)
    async def not_served(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 400:
            return problem(422, "Malformed request", error.detail)
        return problem(
            error.status_code, "Not served", f"{request.method} is not served here: {error.detail}"
        )


def _faults_of(errors: Sequence[Mapping[str, object]]) -> str:
    """What is wrong and where, without repeating what was sent."""
    told = []
    for error in errors:
        place = error["loc"]
        assert isinstance(place, tuple)
        told.append(f"{'.'.join(str(part)[:32] for part in place)}: {error['msg']}")
    return "; ".join(told[:8])


# --- what may be seen ------------------------------------------------------------------------


def _add_views(app: FastAPI, service: Service) -> None:
    @app.get("/status")
    async def status(
        after: Annotated[int | None, Query(ge=0)] = None,
        wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT)] = 0,
    ) -> JSONResponse:
        """The table now; with ``after`` as soon as something later is committed, or after ``wait`` s."""
        if after is not None:
            await service.changed(after, wait)
        return JSONResponse({**_seen(service), "version": __version__})

    @app.get("/jackpot")
    async def jackpot() -> JSONResponse:
        """The pool, the sign, and what is carried, refundable or not paid yet."""
        view = service.view()
        keys = ("table", "pool", "sign", "announcement", "carried", "refundable", "pending_awards")
        return JSONResponse({key: view[key] for key in keys if key in view})

    @app.get("/devices")
    async def devices() -> JSONResponse:
        """Every device by its id."""
        return JSONResponse({"devices": _seen(service)["devices"]})


def _seen(service: Service) -> Plain:
    """What the service sees, each device with what to do about it: ``todo``, "" when nothing is wrong."""
    view = service.view()
    for device in view["devices"].values():
        device["todo"] = Cause(device["cause"]).remedy if device["cause"] else ""
    return view


def _add_rounds(app: FastAPI, service: Service) -> None:
    engine, history = service.engine, service.journal

    def newest(last: int) -> list[Plain]:
        now = engine.table.game.round_view()
        return [*([now] if now else []), *history.rounds(last)][:last]

    @app.get("/rounds")
    async def rounds(last: Last = 20) -> JSONResponse:
        """The last rounds, the running one among them, newest first."""
        return JSONResponse({"rounds": newest(last)})

    @app.get("/rounds/{round_id}")
    async def round_(round_id: Annotated[int, Path(ge=1, lt=WHOLE)]) -> JSONResponse:
        """One round: the running one, or one of the journal."""
        now = engine.table.game.round_view()
        view = now if now is not None and now["id"] == round_id else history.round(round_id)
        return (
            problem(404, "No such round", f"there is no round {round_id}")
            if view is None
            else JSONResponse(view)
        )

    @app.get("/incidents")
    async def incidents(last: Last = MOST_ROUNDS) -> JSONResponse:
        """The irregularities of the last rounds, newest round first, and the latched faults."""
        irregularities = [{"round": r["id"], **each} for r in newest(last) for each in r["irregularities"]]
        return JSONResponse({"irregularities": irregularities, "faults": service.view()["faults"]})


# --- acts ------------------------------------------------------------------------------------


def _add_acts(app: FastAPI, service: Service, known_acts: frozenset[str]) -> None:
    @app.post("/acts/{name}")
    async def act(name: ActName, body: ActBody | None = None) -> JSONResponse:
        """Do one act: 200 accepted; 409 refused, 404 not known (both journalled); 503 held or stopping."""
        given = body or ActBody()
        try:
            act = Act(name, given.args, **given.model_dump(exclude={"args"}))
            if name == CHANGE_RULES:
                act = await asyncio.to_thread(completed, act)  # a file is read: the cards do not wait
            answer = await _done(service, act)
        except Stopped as reason:
            return problem(503, "Stopping", str(reason))
        if answer is None:
            return problem(503, "Held", "held: another program holds the journal; nothing was changed")
        return JSONResponse(answer) if answer["accepted"] else _refused(answer, name in known_acts)


async def _done(service: Service, act: Act) -> Plain | None:
    """The act's answer; None when the journal could not be written for as long as HELD_LIMIT."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + HELD_LIMIT
    while (answer := service.act(act)) is None and loop.time() < give_up:
        await asyncio.sleep(HELD_RETRY)
    return answer


def _refused(answer: Plain, known: bool) -> JSONResponse:
    refusal = answer["refusal"]
    status, title = (409, "Refused") if known else (404, "No such act")
    more = {key: refusal[key] for key in ("clause", "todo")} | {
        key: answer[key] for key in ("act", "seq", "state")
    }
    return problem(status, title, refusal["reason"], **more)
