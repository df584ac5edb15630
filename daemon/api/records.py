"""The auditor's view: the journal's records in order, redacted."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import FastAPI, Query, Request
from fastapi.responses import JSONResponse

from daemon.api import models
from daemon.api.door import Door
from daemon.api.feed import BATCH, redacted
from daemon.api.problems import Problem
from daemon.api.service import WHOLE, Number, Service

MOST: Final = 4 * BATCH

First = Annotated[int, Query(alias="from", ge=1, lt=WHOLE)]
Last = Annotated[int | None, Query(alias="to", ge=1, lt=WHOLE)]
Limit = Annotated[int, Query(ge=1, le=MOST)]


def add(app: FastAPI, service: Service, door: Door) -> None:
    @app.get("/records", responses=models.answers(models.Records))
    async def records(
        request: Request, first: First = 1, last: Last = None, limit: Limit = MOST
    ) -> JSONResponse:
        """Records ``from`` to ``to``, ``limit`` at most; ``next`` is where to go on, null at the end."""
        door.auditor(request)
        end = service.engine.committed if last is None else min(last, service.engine.committed)
        found = service.journal.records(first - 1, max(0, min(limit, end - first + 1)))
        after = found[-1][0] + 1 if found else end + 1
        told = [redacted(seq, record) for seq, record in found]
        return JSONResponse({"records": told, "next": after if after <= end else None})

    @app.get("/records/{seq}", responses=models.answers(models.Record, 404))
    async def record(request: Request, seq: Number) -> JSONResponse:
        """One record."""
        door.auditor(request)
        found = service.journal.records(seq - 1, 1)
        if not found or found[0][0] != seq:
            raise Problem(404, "No such record", f"there is no record {seq}")
        return JSONResponse(redacted(*found[0]))
