"""The house's own papers, for auditors and supervisors: a gaming day's report, and a round told again.

They are read from the journal's files in a thread that is in nobody's way, one at a time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import date
from typing import Annotated, Final, ParamSpec, TypeVar

from fastapi import FastAPI, Path, Query, Request
from fastapi.responses import JSONResponse

from daemon.api import models
from daemon.api.door import Door
from daemon.api.problems import Problem
from daemon.api.service import Service

PAUSE: Final = 0.002  # seconds between two strides of records: the loop has the processor most of the time
NEWEST: Final = "last"

Day = Annotated[date, Query(description="The local date on which the gaming day begins.")]
Shift = Annotated[str, Query(max_length=32, description="One shift of it; left out, the whole day.")]
Round = Annotated[str, Path(pattern=r"^(last|[1-9][0-9]{0,17})$")]

P = ParamSpec("P")
R = TypeVar("R")


class _Ended(Exception):
    """The daemon ends: nobody waits for the rest."""


def add(app: FastAPI, service: Service, door: Door) -> None:
    # Imported when it is asked for: a table that plays does not need it.
    one = asyncio.Lock()

    def rest() -> None:
        time.sleep(PAUSE)
        if service.stopping:
            raise _Ended

    async def apart(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        if one.locked():
            todo = "ask again when the other one is done"
            raise Problem(429, "Busy", "another report is being made", {"retry-after": "2"}, todo=todo)
        async with one:
            try:
                return await asyncio.to_thread(work, *args, **kwargs)
            except _Ended:
                raise Problem(503, "Stopping", "the daemon is stopping") from None

    @app.get("/report", responses=models.answers(models.Report, 404, 429))
    async def report(request: Request, day: Day, shift: Shift = "") -> JSONResponse:
        """A gaming day or a shift, reconciled to the unit; the day so far while it lasts."""
        door.auditor(request)
        from daemon.report import NoSuchDay
        from daemon.report import report as of

        try:
            return JSONResponse(await apart(of, service.journal.path, service.house, day, shift, rest=rest))
        except NoSuchDay as error:
            raise Problem(404, "No such day", str(error)) from None

    @app.get("/rounds/{round_id}/story", responses=models.answers(models.Story, 404, 429))
    async def story(request: Request, round_id: Round) -> JSONResponse:
        """A round told again, record by record; ``last`` is the newest one, also while it is played."""
        door.auditor(request)
        from daemon.report import NoSuchRound
        from daemon.report import story as of

        number = None if round_id == NEWEST else int(round_id)
        try:
            return JSONResponse(await apart(of, service.journal.path, service.house, number, rest=rest))
        except NoSuchRound as error:
            raise Problem(404, "No such round", str(error)) from None
