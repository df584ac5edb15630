"""What a player's screen may show: the present, and nothing else (CS-12).

No past result, no remaining cards, no statistics, no name. What lies open on the table, everybody sees.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from daemon.api import models
from daemon.api.door import Door
from daemon.api.service import After, Service, Wait
from daemon.games.caribbean.rules import CaribbeanRules
from daemon.games.jackpot import AWARDED
from daemon.records import Plain

_BOX: Final = ("box", "ante", "raise", "progressive", "carried", "decision", "cards", "category")
_SEAT: Final = ("seat", "staked", "status", "cards")
_DEALER: Final = ("cards", "qualifies", "category")


def add(app: FastAPI, service: Service, door: Door) -> None:
    @app.get("/player", responses=models.answers(models.Player))
    async def player(request: Request, after: After = None, wait: Wait = 0) -> JSONResponse:
        """The pool, the prizes, the announcement, and what lies open on the table."""
        door.known(request)
        if after is not None:
            await service.changed(after, wait)
        return JSONResponse(shown(service))


def shown(service: Service) -> Plain:
    """The answer of ``GET /player``."""
    table = service.engine.table
    view: dict[str, Any] = table.view()
    now: dict[str, Any] = table.game.round_view() or {}
    return {
        "table": view["table"],
        "game": view["game"],
        "state": view["state"],
        "seq": service.engine.committed,
        "pool": view["pool"]["now"] if view.get("pool") else None,
        "pot": view.get("pot"),
        "prizes": _prizes(getattr(table.game, "rules", None)),
        "announcement": view["sign"]["wanted"]["announcement"],
        "boxes": [_only(_BOX, box) for box in now.get("boxes", ())],
        "seats": [_only(_SEAT, seat) for seat in now.get("seats", ())],
        "dealer": _only(_DEALER, now["dealer"]) if "dealer" in now else None,
    }


def _only(keys: tuple[str, ...], row: Plain) -> Plain:
    return {key: row[key] for key in keys}


def _prizes(rules: object) -> list[Plain]:
    """The fixed prizes, which CS-10 wants stated, the highest first."""
    if not isinstance(rules, CaribbeanRules):
        return []
    ranked = sorted(AWARDED, reverse=True)
    return [{"category": level.label, "amount": rules.jackpot.fixed(level)} for level in ranked]
