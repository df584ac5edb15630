"""``/link``: what the link process of a linked pool takes from the table, and tells it (docs/linked.md).

For the role ``link`` only, which has nothing else here. Every question may be repeated.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

from fastapi import FastAPI, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from daemon.api import models
from daemon.api.door import Door
from daemon.api.problems import Problem
from daemon.api.service import WHOLE, Service, Wait
from daemon.games.caribbean.game import Caribbean
from daemon.games.hands import Category
from daemon.games.jackpot import AWARDED, Award
from daemon.games.linked import AwardDecided, PoolSeen
from daemon.journal import Outgoing
from daemon.linked.desk import NotLinked
from daemon.linked.entries import fingerprint
from daemon.records import Plain
from drivers.base import MILLISECOND

MOST_RECORDS: Final = 500
_AWARDED: Final = {category.label: category for category in AWARDED}

After = Annotated[int, Query(ge=0, lt=WHOLE)]
Limit = Annotated[int, Query(ge=1, le=MOST_RECORDS)]
Amount = Annotated[int, Field(ge=0, lt=WHOLE)]
Signed = Annotated[int, Field(gt=-WHOLE, lt=WHOLE)]
Name = Annotated[str, Field(max_length=32)]


class SeenBody(BaseModel):
    """The pool as the authority had it ``age_ms`` ago (daemon.games.linked.PoolSeen)."""

    model_config = ConfigDict(strict=True, extra="forbid")

    pool: Signed
    version: Amount
    acked: Amount
    age_ms: Annotated[int, Field(ge=0, le=86_400_000)] = 0
    won: Amount = 0
    winner: Name = ""


class AwardBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    box: Annotated[int, Field(ge=1, le=7)]
    category: Name
    amount: Amount
    from_pool: Amount
    from_house: Amount

    def award(self) -> Award:
        """Raises Problem for what is no award."""
        category: Category | None = _AWARDED.get(self.category)
        if category is None or self.from_pool + self.from_house != self.amount:
            raise Problem(422, "Malformed request", f"body.awards: box {self.box}: no award")
        return Award(self.box, category, self.amount, self.from_pool, self.from_house)


class DecidedBody(BaseModel):
    """What the authority decided about the claims of record ``seq``, and the pool after it."""

    model_config = ConfigDict(strict=True, extra="forbid")

    seq: Amount
    awards: Annotated[list[AwardBody], Field(min_length=1, max_length=7)]
    pool: Signed
    version: Amount


def add(app: FastAPI, service: Service, door: Door) -> None:
    @app.get("/link/outbox", responses=models.answers(models.Outbox, 409))
    async def outbox(request: Request, after: After = 0, limit: Limit = 100, wait: Wait = 0) -> JSONResponse:
        """What this table has for its linked pool later than record ``after``, once there is something or
        after ``wait`` seconds; and the claims that are not decided yet."""
        door.link(request)
        end = asyncio.get_running_loop().time() + wait
        while True:
            seen, told = service.engine.committed, _outbox(service, after, limit)
            left = end - asyncio.get_running_loop().time()
            if told["records"] or left <= 0 or service.stopping:
                return JSONResponse(told)
            await service.changed(seen, left)

    @app.post("/link/seen", responses=models.answers(models.Taken, 409))
    async def seen(request: Request, body: SeenBody) -> JSONResponse:
        """The pool as it is at the authority, and up to which record it has this table's outbox."""
        door.link(request)
        told = PoolSeen(body.pool, body.version, body.acked, body.won, body.winner)
        try:
            service.link.seen(told, body.age_ms * MILLISECOND)
        except NotLinked:
            raise _not_linked() from None
        return JSONResponse({"seq": service.engine.committed})

    @app.post("/link/decided", responses=models.answers(models.Taken, 409))
    async def decided(request: Request, body: DecidedBody) -> JSONResponse:
        """A decision about this table's claims. Told again it changes nothing."""
        door.link(request)
        told = AwardDecided(body.seq, tuple(a.award() for a in body.awards), body.pool, body.version)
        _decide(service, told)
        return JSONResponse({"seq": service.engine.committed})


def _game(service: Service) -> Caribbean:
    game = service.engine.table.game
    if not isinstance(game, Caribbean) or game.linked is None:
        raise _not_linked()
    return game


def _outbox(service: Service, after: int, limit: int) -> Plain:
    game = _game(service)
    assert game.linked is not None
    claims = sorted({award.claim for award in game.pending if award.amount is None})
    return {
        "table": service.engine.table.id,
        "pool": game.linked.terms.pool,
        "currency": game.rules.currency,
        "fingerprint": fingerprint(game.rules.jackpot),
        "records": [_plain(each) for each in service.journal.outbox(after, limit)],
        "undecided": [_plain(each) for seq in claims for each in service.journal.outbox(seq - 1, 1)],
        "pending": len(game.pending),
        "later": sum(seq > after for seq, _ in game.linked.waiting),
        "acked": game.linked.acked,
    }


def _plain(record: Outgoing) -> Plain:
    return {
        "seq": record.seq,
        "prior": record.prior,
        "lines": [list(line) for line in record.lines],
        "round": record.round_id,
        "reason": record.reason,
    }


def _decide(service: Service, told: AwardDecided) -> None:
    """Raises Problem when the table does not take it."""
    game = _game(service)
    assert game.linked is not None
    waits = any(award.claim == told.seq and award.amount is None for award in game.pending)
    if not waits and told.seq <= game.linked.acked:
        return  # it was told before
    record = service.link.decided(told)
    if record is None:
        raise Problem(503, "Held", "nothing can be journalled now; nothing was changed", todo="tell it again")
    refusal = record.get("refusal")
    if refusal is not None:
        raise Problem(409, "Refused", refusal["reason"], clause=refusal["clause"])


def _not_linked() -> Problem:
    todo = "name the pool under [linked] in the configuration, or do without a link process"
    return Problem(409, "Not linked", "this table has a pool of its own", todo=todo)
