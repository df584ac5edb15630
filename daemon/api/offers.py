"""What can be done at the table now: every act, for the command line and for a console's buttons."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from daemon.api.service import Service
from daemon.engine import Engine
from daemon.games.caribbean import rows as caribbean
from daemon.games.caribbean.game import Caribbean
from daemon.games.caribbean.rules import BOXES
from daemon.games.desk import Act, Desk, Refused
from daemon.games.five_card import rows as five_card
from daemon.games.five_card.game import FiveCard
from daemon.games.five_card.rules import FiveCardRules
from daemon.games.machine import No, refusals
from daemon.records import Plain
from daemon.rig import BY_HAND
from daemon.roles import CARIBBEAN, FIVE_CARD, FORMS, ActForm, Argument, roles_for, seconds_for
from daemon.table import Table


class _Rows(NamedTuple):
    states: type[Enum]
    refused: Mapping[tuple[Enum, str], No]


_ROWS: Final = {
    CARIBBEAN: _Rows(caribbean.Phase, refusals(caribbean.REFUSALS)),
    FIVE_CARD: _Rows(five_card.Phase, refusals(five_card.REFUSALS)),
}
# What an act is to the machine of its game, where that is another word.
_TRIGGERS: Final = {
    "withdraw": caribbean.CORRECT,
    "use-shuffler": "deck-source-changed",
    "use-shoe": "deck-source-changed",
    "use-hand": "deck-source-changed",
}
_MODES: Final = {"use-shuffler": "shuffler", "use-shoe": "shoe", "use-hand": BY_HAND}
_OPENS_ROUND: Final = {CARIBBEAN: "open-betting", FIVE_CARD: "ante"}


def offers(service: Service, role: str) -> Plain:
    """The answer of ``GET /acts`` for somebody of this role, "" for one who states it."""
    engine = service.engine
    game = engine.table.game
    acts = [_offer(engine, form, role) for form in FORMS[game.name]]
    return {"game": game.name, "state": game.phase, "seq": engine.committed, "acts": acts}


def _offer(engine: Engine, form: ActForm, role: str) -> Plain:
    game = engine.table.game
    allowed, seconds = roles_for(game.name, form.name, game.phase), seconds_for(game.name, form.name)
    return {
        "name": form.name,
        "title": form.title,
        "arguments": [_argument(engine, argument) for argument in form.arguments],
        "roles": list(allowed),
        "needs_second": bool(seconds),
        "second_roles": list(seconds),
        "may": not role or role in allowed,
        "now": _now(engine, form.name),
    }


def _argument(engine: Engine, argument: Argument) -> Plain:
    return {**argument._asdict(), "choices": list(argument.choices) or _choices(engine, argument)}


def _choices(engine: Engine, argument: Argument) -> list[str]:
    if argument.type == "seat":
        rules = getattr(engine.table.game, "rules", None)
        return [str(n + 1) for n in range(rules.seats)] if isinstance(rules, FiveCardRules) else []
    if argument.type in ("box", "place"):
        return [*map(str, BOXES), *(["dealer"] if argument.type == "place" else [])]
    if argument.type == "device":
        wanted = ("shuffler",) if argument.title == "Shuffler" else ("shoe", "shuffler", "sign")
        return [name for name, device in engine.table.rig.devices.items() if device.role in wanted]
    return []


def _now(engine: Engine, act: str) -> Plain:
    """Whether the state takes the act, as the rows of its game say."""
    table = engine.table
    rows = _ROWS[table.game.name]
    no = rows.refused.get((rows.states(table.game.phase), _TRIGGERS.get(act, act)))
    if no is not None:
        return _told(no.clause, no.reason, no.todo)
    if act == "clear-fault" and not table.faults:
        return _told("", "no fault is latched", "")
    try:
        if act in _MODES:
            table.rig.may_use(_MODES[act])
        if act == _OPENS_ROUND[table.game.name] and table.game.round_id is None:
            _require_open(table)
    except Refused as refusal:
        return _told(refusal.clause, refusal.reason, refusal.todo)
    return {"allowed": True, "clause": "", "reason": "", "todo": ""}


def _require_open(table: Table) -> None:
    """Devices, deck, sign and faults, as the game itself looks at them before a round. Raises Refused."""
    assert isinstance(table.game, Caribbean | FiveCard)
    table.game.may_open(Act(_OPENS_ROUND[table.game.name]), Desk(table.rig, 0, "", table.faults))


def _told(clause: str, reason: str, todo: str) -> Plain:
    return {"allowed": False, "clause": clause, "reason": reason, "todo": todo}
