"""Who is who: the peer of a connection, the roles that the configuration gives, and sessions."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from fastapi import Request

from daemon.api.peers import Peer
from daemon.api.problems import Problem
from daemon.config import StaffSettings
from daemon.roles import AUDITS, CONSOLE, LINK
from daemon.sessions import (
    Busy,
    LockedOut,
    NoSession,
    Person,
    Session,
    SessionLocked,
    Sessions,
    StaffError,
    StaffFile,
    WrongPin,
)
from drivers.base import SECOND

Log = Callable[..., None]
_CHALLENGE: Final = {"www-authenticate": "Bearer"}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. A trusted caller has no role of its own: it states one, and who acts if it is not itself."""

    name: str = ""
    role: str = ""
    session: Session | None = None

    @property
    def trusted(self) -> bool:
        return not self.role


TRUSTED: Final = Caller()


@lru_cache(256)
def login_name(uid: int) -> str:
    """The user's name, or its number."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


class Door:
    """Lets callers in. ``uids`` and ``groups`` are the roles that the configuration gives."""

    def __init__(
        self,
        uids: Mapping[int, str],
        groups: Mapping[int, str],
        sessions: Sessions | None,
        trusted: frozenset[int],
        at_hand: bool = False,
    ) -> None:
        self.sessions = sessions
        self._uids = uids
        self._groups = groups
        self._trusted = trusted
        self._at_hand = at_hand

    @classmethod
    def at_hand(cls) -> Door:
        """For callers within this process, who have no connection."""
        return cls({}, {}, None, frozenset(), at_hand=True)

    @classmethod
    def of(cls, staff: StaffSettings, now: Callable[[], int], log: Log) -> Door:
        """As the configuration says. Names that this machine does not know are logged."""
        sessions = None
        if staff.file is not None:
            sessions = Sessions(StaffFile(staff.file), now, staff.idle_minutes * 60 * SECOND)
        return cls(
            _ids("user", staff.users, lambda name: pwd.getpwnam(name).pw_uid, log),
            _ids("group", staff.groups, lambda name: grp.getgrnam(name).gr_gid, log),
            sessions,
            frozenset((0, os.getuid())),
        )

    # --- who gets in ----------------------------------------------------------------------

    def known(self, request: Request) -> str:
        """The role of the peer: "" trusted, or one of ROLES or CONSOLE. Raises Problem for others."""
        role = self._role(request)
        if role == LINK:
            raise _not_for(role, "serves the linked pool and nothing else")
        return role

    def link(self, request: Request) -> None:
        """The link process, or a trusted caller. Raises Problem."""
        role = self._role(request)
        if role not in ("", LINK):
            raise _not_for(role, "does not speak for the linked pool")

    def _role(self, request: Request) -> str:
        peer: Peer | None = request.scope.get("state", {}).get("peer")
        if peer is None and self._at_hand:
            return ""
        if peer is not None:
            if peer.uid in self._trusted:
                return ""
            given = [self._uids.get(peer.uid), *(self._groups.get(gid) for gid in peer.groups)]
            role = next((role for role in given if role), None)
            if role is not None:
                return role
        raise Problem(
            403,
            "Not for you",
            f"{login_name(peer.uid) if peer else 'this connection'} has no role at this table",
            todo="name the user or a group of it under [staff] in the configuration, then restart feltd",
        )

    def staff(self, request: Request) -> Caller:
        """Somebody who may see what staff see. Raises Problem."""
        role = self.known(request)
        token = bearer(request)
        if token is not None:
            session = self.session(token)
            return Caller(session.person.name, session.person.role, session)
        if role == CONSOLE:
            raise _no_session("this needs a session")
        peer: Peer | None = request.scope.get("state", {}).get("peer")
        return Caller(login_name(peer.uid), role) if peer is not None else TRUSTED

    def auditor(self, request: Request) -> Caller:
        """Somebody who may read the journal's records. Raises Problem."""
        caller = self.staff(request)
        if not caller.trusted and caller.role not in AUDITS:
            raise Problem(
                403,
                "Not for this role",
                f"a {caller.role} does not read the journal",
                todo="ask an auditor or a supervisor",
            )
        return caller

    # --- sessions and PINs ----------------------------------------------------------------

    def holder(self, request: Request) -> tuple[str, Session]:
        """Token and session of a request that is about its own session, locked or not. Raises Problem."""
        self.known(request)
        token = bearer(request)
        if token is None:
            raise _no_session("no session's token was given")
        return token, self.session(token, locked_too=True)

    def session(self, token: str, locked_too: bool = False) -> Session:
        """The session of a token. Raises Problem."""
        if self.sessions is None:
            raise _no_session("this table has no sessions")
        try:
            return self.sessions.find(token) if locked_too else self.sessions.open(token)
        except NoSession:
            raise _no_session("this session has ended") from None
        except SessionLocked:
            raise Problem(
                423, "Locked", "this session is locked", todo="unlock it with the PIN, or begin another one"
            ) from None
        except StaffError as error:
            raise _unusable(error) from None

    def still_in(self, request: Request) -> bool:
        """Whether a caller who was let in would be let in now: an event stream outlives a look."""
        try:
            self.staff(request)
        except Problem:
            return False
        return True

    def pins(self) -> Sessions:
        """What looks at PINs. Raises Problem when the configuration names no staff file."""
        if self.sessions is None:
            raise Problem(
                409,
                "No staff file",
                "this table has no staff file",
                todo="name it as staff.file, fill it with feltd staff add, restart feltd",
            )
        return self.sessions

    async def person(self, name: str, pin: str) -> Person:
        """Who gives this PIN. Raises Problem."""
        try:
            return await self.pins().proof.of(name, pin)
        except (WrongPin, LockedOut, Busy, StaffError) as error:
            raise pin_problem(error) from None


def bearer(request: Request) -> str | None:
    """The session's token; None when none was given."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def pin_problem(error: Exception) -> Problem:
    """What is told of a PIN that was not taken."""
    if isinstance(error, LockedOut):
        after = {"retry-after": str(error.seconds)}
        return Problem(429, "Locked out", str(error), after, todo="wait, then give the right PIN")
    if isinstance(error, Busy):
        return Problem(429, "Busy", "too many PINs at once", {"retry-after": "1"}, todo="try again")
    if isinstance(error, StaffError):
        return _unusable(error)
    return Problem(401, "Not known", "name and PIN do not match", _CHALLENGE, todo="give them again")


def _no_session(detail: str) -> Problem:
    return Problem(401, "No session", detail, _CHALLENGE, todo="begin one: POST /sessions with name and pin")


def _unusable(error: StaffError) -> Problem:
    return Problem(503, "Staff file", f"the staff file cannot be used: {error}", todo="feltd staff list FILE")


def _ids(what: str, named: Mapping[str, str], number: Callable[[str], int], log: Log) -> dict[int, str]:
    known = {}
    for name, role in named.items():
        try:
            known[number(name)] = role
        except KeyError:
            log("staff-unknown", kind=what, name=name)
    return known


def _not_for(role: str, why: str) -> Problem:
    return Problem(403, "Not for this role", f"a {role} {why}")
