"""The acts: which there are, who may do them now, and doing one."""

from __future__ import annotations

import asyncio
from difflib import get_close_matches
from typing import Annotated, Final, Literal

from fastapi import FastAPI, Path, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from daemon import roles
from daemon.api import models
from daemon.api.door import Caller, Door
from daemon.api.offers import offers
from daemon.api.problems import PRINTABLE, Problem
from daemon.api.service import WHOLE, Service
from daemon.api.sessions import Credentials
from daemon.build import CHANGE_RULES, completed
from daemon.games.desk import Act
from daemon.records import Plain
from daemon.service import Stopped
from daemon.table import Noticed

CLEAR_FAULT: Final = "clear-fault"
HELD_RETRY: Final = 0.02  # seconds
HELD_LIMIT: Final = 1.0  # seconds

Word = Annotated[str, Field(max_length=64, pattern=PRINTABLE)]
Role = Literal["", "dealer", "supervisor", "technician", "auditor"]
ArgName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
ArgText = Annotated[str, Field(max_length=500, pattern=PRINTABLE)]
ArgNumber = Annotated[int, Field(gt=-WHOLE, lt=WHOLE)]
ActName = Annotated[str, Path(pattern=r"^[a-z][a-z0-9-]{0,47}$")]


class ActBody(BaseModel):
    """An act's arguments and who does it. ``key`` makes a repetition harmless."""

    model_config = ConfigDict(strict=True, extra="forbid")

    args: dict[ArgName, ArgText | ArgNumber] = Field(default_factory=dict, max_length=16)
    by: Word = ""
    role: Role = ""
    second: Word | Credentials = ""
    key: Annotated[str, Field(pattern=r"^[!-~]{0,128}$")] = ""
    replaces: Annotated[int, Field(ge=0, lt=WHOLE)] = 0


def add(app: FastAPI, service: Service, door: Door, known_acts: frozenset[str]) -> None:
    @app.get("/acts", responses=models.answers(models.Acts))
    async def acts(request: Request) -> JSONResponse:
        """Every act of this game: its arguments, its roles, and whether the present state takes it."""
        return JSONResponse(offers(service, door.staff(request).role))

    @app.post("/acts/{name}", responses=models.answers(models.ActAnswer, 404, 409, 429))
    async def act(request: Request, name: ActName, body: ActBody | None = None) -> JSONResponse:
        """Do one act: 200 accepted; 409 refused, 403 not for this role, 404 not known (all three
        journalled); 503 held or stopping."""
        caller, given = door.staff(request), body or ActBody()
        who = await _Who(service, door, caller, name, known_acts).of(given)
        act = Act(name, given.args, **who, key=given.key, replaces=given.replaces)
        _require_own_arguments(service, act)
        answer = await _answer(service, act)
        if answer["accepted"]:
            return JSONResponse(answer)
        raise _refused(answer, name in known_acts, _near(service, name))


# --- who does it -----------------------------------------------------------------------------


class _Who:
    """``by``, ``role`` and ``second`` of one act, as far as the caller may say so."""

    def __init__(
        self, service: Service, door: Door, caller: Caller, name: str, known_acts: frozenset[str]
    ) -> None:
        self._service = service
        self._door = door
        self._caller = caller
        self._name = name
        self._known = name in known_acts

    async def of(self, body: ActBody) -> dict[str, str]:
        """Raises Problem for what the caller may not say, and for what the role may not do."""
        caller = self._caller
        if caller.trusted:
            self._require_clearer(body, body.by, body.role)
            second, by = await self._stated(body.second), body.by or caller.name
            if second and second == by:
                raise self._forbidden(
                    "the second person is another one", "name somebody else", body.by, body.role
                )
            return {"by": by, "role": body.role, "second": second}
        for key, stated, own in (("by", body.by, caller.name), ("role", body.role, caller.role)):
            if stated not in ("", own):
                raise Problem(403, "Not for you", f"{key}: you are {own}", todo=f"leave {key} out")
        if caller.session is not None:
            self._door.pins().use(caller.session)
        if self._known:
            self._require_role()
            self._require_clearer(body, caller.name, caller.role)
        second = await self._confirmed(body.second) if body.second or self._seconds else ""
        return {"by": caller.name, "role": caller.role, "second": second}

    @property
    def _seconds(self) -> tuple[str, ...]:
        return roles.seconds_for(self._service.engine.table.game.name, self._name)

    async def _stated(self, second: str | Credentials) -> str:
        if isinstance(second, str):
            return second
        return (await self._door.person(second.name, second.pin.get_secret_value())).name

    def _require_role(self) -> None:
        game = self._service.engine.table.game
        allowed = roles.roles_for(game.name, self._name, game.phase)
        if self._caller.role not in allowed:
            reason = f"{self._name} is not an act of a {self._caller.role} in state {game.phase}"
            raise self._forbidden(reason, f"ask a {roles.or_list(allowed)}" if allowed else "")

    def _require_clearer(self, body: ActBody, by: str, role: str) -> None:
        """Some faults are a supervisor's or a technician's to clear, whoever states who acts."""
        code = str(body.args.get("code", "")) if self._name == CLEAR_FAULT else ""
        allowed = roles.clearers_of(code)
        if allowed is not roles.ROLES and role not in allowed:
            reason = f"fault {code[:32]} is cleared by a {roles.or_list(allowed)}"
            raise self._forbidden(reason, f"ask a {roles.or_list(allowed)}", by, role)

    async def _confirmed(self, second: str | Credentials) -> str:
        """The second person, who gives a PIN and is another one (CS-10, CS-11)."""
        seconds = self._seconds
        if isinstance(second, str):
            reason = (
                f"{self._name} needs a second person" if not second else "second: a name alone proves nobody"
            )
            raise self._forbidden(
                reason, "second: name and PIN of a " + roles.or_list(seconds or roles.ROLES)
            )
        person = await self._door.person(second.name, second.pin.get_secret_value())
        if person.name == self._caller.name:
            raise self._forbidden("the second person is another one", "let somebody else give the PIN")
        if seconds and person.role not in seconds:
            raise self._forbidden(
                f"a {person.role} does not confirm {self._name}", f"ask a {roles.or_list(seconds)}"
            )
        return person.name

    def _forbidden(self, reason: str, todo: str, by: str = "", role: str = "") -> Problem:
        """A refusal for the role, journalled with who."""
        text = f"{self._name} by {by or self._caller.name} ({role or self._caller.role}): {reason}"
        self._service.notice(Noticed("act-forbidden", text))
        return Problem(
            403,
            "Not for this role",
            reason,
            todo=todo,
            act=self._name,
            seq=self._service.engine.committed,
            state=self._service.engine.table.game.phase,
        )


def _require_own_arguments(service: Service, act: Act) -> None:
    """An argument that the act does not have may be a slip that changes what is meant: nothing is done."""
    form = roles.form(service.engine.table.game.name, act.name)
    if form is None:
        return
    takes = [argument.name for argument in form.arguments]
    odd = next((name for name in act.args if name not in takes), None)
    if odd is None:
        return
    near = get_close_matches(odd, takes, 1)
    reason = f"{act.name} takes no {odd}=" + (f": did you mean {near[0]}=?" if near else "")
    todo = f"it takes {', '.join(f'{name}=' for name in takes)}" if takes else "leave it out"
    service.notice(Noticed("act-unclear", f"by {act.by or 'nobody named'} ({act.role}): {reason}"))
    raise Problem(
        409,
        "Refused",
        reason,
        todo=todo,
        act=act.name,
        seq=service.engine.committed,
        state=service.engine.table.game.phase,
    )


# --- doing it --------------------------------------------------------------------------------


async def _answer(service: Service, act: Act) -> Plain:
    """The act's answer. Raises Problem when the journal is held, or the service ends."""
    try:
        if act.name == CHANGE_RULES:
            act = await asyncio.to_thread(completed, act)  # a file is read: the cards do not wait
        answer = await _done(service, act)
    except Stopped as reason:
        raise Problem(503, "Stopping", str(reason)) from None
    if answer is None:
        raise Problem(503, "Held", "held: another program holds the journal; nothing was changed")
    return answer


async def _done(service: Service, act: Act) -> Plain | None:
    """The act's answer; None when the journal could not be written for as long as HELD_LIMIT."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + HELD_LIMIT
    while (answer := await service.act_soon(act)) is None and loop.time() < give_up:
        await asyncio.sleep(HELD_RETRY)
    return answer


def _near(service: Service, name: str) -> str:
    """The act whose name is most like a mistyped one; "" for none."""
    names = [form.name for form in roles.FORMS[service.engine.table.game.name]]
    return next(iter(get_close_matches(name, names, 1)), "")


def _refused(answer: Plain, known: bool, near: str) -> Problem:
    refusal = answer["refusal"]
    status, title = (409, "Refused") if known else (404, "No such act")
    reason = refusal["reason"] + (f": did you mean {near}?" if near and not known else "")
    more = {key: refusal[key] for key in ("clause", "todo")} | {
        key: answer[key] for key in ("act", "seq", "state")
    }
    return Problem(status, title, reason, **more)
