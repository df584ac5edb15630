"""What staff may see: the table, its rounds, its incidents, its jackpot and its devices."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import FastAPI, Query, Request
from fastapi.responses import JSONResponse

from daemon import __version__
from daemon.api import models, stud
from daemon.api.door import Door
from daemon.api.problems import Problem
from daemon.api.service import After, Number, Service, Wait
from daemon.links.base import Cause
from daemon.records import Plain

MOST_ROUNDS: Final = 200  # one answer must not keep the loop from a card

Last = Annotated[int, Query(ge=1, le=MOST_ROUNDS)]


def add(app: FastAPI, service: Service, door: Door) -> None:
    _add_table(app, service, door)
    _add_rounds(app, service, door)


def _add_table(app: FastAPI, service: Service, door: Door) -> None:
    @app.get("/status", responses=models.answers(models.Status))
    async def status(request: Request, after: After = None, wait: Wait = 0) -> JSONResponse:
        """The table now; with ``after`` as soon as something later is committed, or after ``wait`` s."""
        door.staff(request)
        if after is not None:
            await service.changed(after, wait)
        return JSONResponse({**_seen(service), "version": __version__})

    @app.get("/jackpot", responses=models.answers(models.Jackpot))
    async def jackpot(request: Request) -> JSONResponse:
        """The pool, the sign, and what is carried, refundable or not paid yet."""
        door.staff(request)
        view = service.view()
        keys = ("table", "pool", "sign", "announcement", "carried", "refundable", "pending_awards")
        return JSONResponse({key: view[key] for key in keys if key in view})

    @app.get("/devices", responses=models.answers(models.Devices))
    async def devices(request: Request) -> JSONResponse:
        """Every device by its id."""
        door.staff(request)
        return JSONResponse({"devices": _seen(service)["devices"]})


def _seen(service: Service) -> Plain:
    """What the service sees, each device with what to do about it: ``todo``, "" when nothing is wrong."""
    view = service.view()
    for device in view["devices"].values():
        device["todo"] = Cause(device["cause"]).remedy if device["cause"] else ""
    return view | stud.seen(service.engine)


def _add_rounds(app: FastAPI, service: Service, door: Door) -> None:
    engine, history = service.engine, service.journal

    def newest(last: int) -> list[Plain]:
        now = engine.table.game.round_view()
        return [*([now] if now else []), *history.rounds(last)][:last]

    @app.get("/rounds", responses=models.answers(models.Rounds))
    async def rounds(request: Request, last: Last = 20) -> JSONResponse:
        """The last rounds, the running one among them, newest first."""
        door.staff(request)
        return JSONResponse({"rounds": newest(last)})

    @app.get("/rounds/{round_id}", responses=models.answers(models.Round, 404))
    async def round_(request: Request, round_id: Number) -> JSONResponse:
        """One round: the running one, or one of the journal."""
        door.staff(request)
        now = engine.table.game.round_view()
        view = now if now is not None and now["id"] == round_id else history.round(round_id)
        if view is None:
            raise Problem(404, "No such round", f"there is no round {round_id}")
        return JSONResponse(view)

    @app.get("/incidents", responses=models.answers(models.Incidents))
    async def incidents(request: Request, last: Last = MOST_ROUNDS) -> JSONResponse:
        """The irregularities of the last rounds, newest round first, and the latched faults."""
        door.staff(request)
        irregularities = [{"round": r["id"], **each} for r in newest(last) for each in r["irregularities"]]
        return JSONResponse({"irregularities": irregularities, "faults": service.view()["faults"]})
