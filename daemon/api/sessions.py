"""Sessions: somebody gives name and PIN, and is known by a token from then on."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from daemon.api import models
from daemon.api.door import Door, pin_problem
from daemon.api.service import Service
from daemon.clock import stamp
from daemon.records import Plain
from daemon.sessions import ATTEMPTS, LOCKED_OUT, Busy, LockedOut, Session, Sessions, StaffError, WrongPin
from daemon.table import Noticed
from drivers.base import SECOND

Pin = Annotated[SecretStr, Field(max_length=128)]
_REFUSED = (WrongPin, LockedOut, Busy, StaffError)


class Credentials(BaseModel):
    """Name and PIN of a person. The PIN has no form in which it could be printed."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    name: Annotated[str, Field(max_length=64)]
    pin: Pin


class PinBody(BaseModel):
    """The PIN of the person whose session it is."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    pin: Pin


def add(app: FastAPI, service: Service, door: Door) -> None:
    _add_beginning(app, service, door)
    _add_current(app, service, door)
    if door.sessions is not None:
        door.sessions.proof.locked_out = lambda name: service.notice(_lockout(name))


def _lockout(name: str) -> Noticed:
    """Whoever tries PINs leaves a record."""
    return Noticed("pin-lockout", f"{name}: {ATTEMPTS} wrong PINs, locked for {LOCKED_OUT // SECOND} s")


def _add_beginning(app: FastAPI, service: Service, door: Door) -> None:
    @app.post("/sessions", status_code=201, responses=models.answers(models.NewSession, 409, 429, status=201))
    async def begin(request: Request, body: Credentials) -> JSONResponse:
        """Begin a session."""
        door.known(request)
        sessions = door.pins()
        try:
            token, session = await sessions.begin(body.name, body.pin.get_secret_value())
        except _REFUSED as error:
            raise pin_problem(error) from None
        _journal(service, session, "began a session")
        return JSONResponse({"token": token, **_told(sessions, session)}, 201, {"cache-control": "no-store"})


def _add_current(app: FastAPI, service: Service, door: Door) -> None:
    documented = models.answers(models.SessionView, 409)

    @app.get("/sessions/current", responses=documented)
    async def current(request: Request) -> JSONResponse:
        """The session of this token, locked or not."""
        _, session = door.holder(request)
        return JSONResponse(_told(door.pins(), session))

    @app.post("/sessions/current", responses=documented)
    async def present(request: Request) -> JSONResponse:
        """Somebody is there: the terminal is not left alone."""
        _, session = door.holder(request)
        if not session.locked:
            door.pins().use(session)
        return JSONResponse(_told(door.pins(), session))

    @app.post("/sessions/current/lock", responses=documented)
    async def lock(request: Request) -> JSONResponse:
        """Lock it until its PIN is given."""
        _, session = door.holder(request)
        session.locked = True
        return JSONResponse(_told(door.pins(), session))

    @app.post("/sessions/current/unlock", responses=models.answers(models.SessionView, 409, 429))
    async def unlock(request: Request, body: PinBody) -> JSONResponse:
        """Unlock it."""
        _, session = door.holder(request)
        try:
            await door.pins().unlock(session, body.pin.get_secret_value())
        except _REFUSED as error:
            raise pin_problem(error) from None
        return JSONResponse(_told(door.pins(), session))

    @app.delete("/sessions/current", status_code=204, response_class=Response)
    async def end(request: Request) -> Response:
        """End it."""
        token, session = door.holder(request)
        door.pins().end(token)
        _journal(service, session, "ended a session")
        return Response(status_code=204)


def _told(sessions: Sessions, session: Session) -> Plain:
    return {
        "name": session.person.name,
        "role": session.person.role,
        "expires": stamp(time.time_ns() + sessions.left(session)),
        "idle_seconds": sessions.idle // 1_000_000_000,
        "locked": session.locked,
    }


def _journal(service: Service, session: Session, what: str) -> None:
    service.notice(Noticed("session", f"{session.person.name} ({session.person.role}) {what}"))
