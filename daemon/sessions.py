"""People at a table: the staff file with what proves their PINs, and the sessions they begin with them.

A PIN is kept as its scrypt hash under a salt of its own, and nowhere else: no log line, record, argument
of a command or exception text has one. Sessions live in memory; a restart asks for the PIN again. So
does the count of wrong PINs: whoever can restart the daemon can replace the staff file as well.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from daemon.roles import ROLES
from drivers.base import SECOND

NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$"
SHORTEST_PIN, LONGEST_PIN = 6, 128
COST: Final = (2**14, 8, 1)  # scrypt n, r, p: 16 MiB and some 50 ms for one try
ATTEMPTS: Final = 5
LOCKED_OUT: Final = 300 * SECOND
LONGEST: Final = 12 * 3600 * SECOND
IDLE: Final = 15 * 60 * SECOND
MOST_WAITING: Final = 8  # PINs that are checked or wait for it: one takes memory and a core
MOST_EACH: Final = 4  # sessions of one person; the oldest ends for a fifth
LARGEST_FILE: Final = 2**20  # bytes


class StaffError(Exception):
    """The staff file cannot be used; the text says why. No PIN and no hash is in it."""


class WrongPin(Exception):
    """No such person, or another PIN: which of the two is not told."""


class LockedOut(Exception):
    """Too many wrong PINs. ``seconds`` until the next one is looked at."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many wrong PINs: wait {seconds} s")
        self.seconds = seconds


class Busy(Exception):
    """More people give their PINs at once than are looked at."""


class NoSession(Exception):
    """The token is of no session, or of one that has ended."""


class SessionLocked(Exception):
    """The session waits for its PIN."""


# --- the staff file --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Person:
    """One entry of the staff file."""

    name: str
    role: str
    salt: bytes = field(repr=False)
    digest: bytes = field(repr=False)

    def proves(self, pin: str) -> bool:
        """Whether this is the person's PIN. As slow for a wrong one as for the right one."""
        return hmac.compare_digest(_digest(pin, self.salt), self.digest)


def person(name: str, role: str, pin: str) -> Person:
    """A person with a new salt. Raises ValueError for a name, role or PIN that is not allowed."""
    if not re.fullmatch(NAME, name):
        raise ValueError("a name has 1 to 32 letters, digits, and . _ - after the first")
    if role not in ROLES:
        raise ValueError(f"roles are {', '.join(ROLES)}")
    if not SHORTEST_PIN <= len(pin) <= LONGEST_PIN or not pin.isprintable():
        raise ValueError(f"a PIN has {SHORTEST_PIN} to {LONGEST_PIN} printable characters")
    salt = secrets.token_bytes(16)
    return Person(name, role, salt, _digest(pin, salt))


def _digest(pin: str, salt: bytes) -> bytes:
    n, r, p = COST
    return hashlib.scrypt(pin.encode(), salt=salt, n=n, r=r, p=p, maxmem=2**26, dklen=32)


_NOBODY: Final = Person("", "", b"\0" * 16, b"\0" * 32)  # what a PIN of an unknown name is compared with


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    name: str = Field(pattern=NAME)
    role: Literal["dealer", "supervisor", "technician", "auditor"]
    salt: str = Field(pattern=r"^[0-9a-f]{32}$")
    scrypt: str = Field(pattern=r"^[0-9a-f]{64}$")


class _Staff(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    staff: list[_Entry]


class StaffFile:
    """The people of a table in a file of their own, mode 0600. Read anew whenever it was replaced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._people: Mapping[str, Person] = {}

    def people(self) -> Mapping[str, Person]:
        """Everybody by name. Raises StaffError; who cannot be read cannot come in."""
        try:
            found = self.path.stat()
            if not stat.S_ISREG(found.st_mode):
                raise StaffError(f"{self.path}: not a regular file")
            if found.st_mode & 0o077:
                raise StaffError(f"{self.path}: others may read it: chmod 600")
            seen = (found.st_ino, found.st_mtime_ns, found.st_size)
            if seen != self._seen:
                self._people, self._seen = self._read(found.st_size), seen
        except OSError as error:
            raise StaffError(f"{self.path}: {error.strerror}") from None
        return self._people

    def _read(self, size: int) -> dict[str, Person]:
        if size > LARGEST_FILE:
            raise StaffError(f"{self.path}: longer than {LARGEST_FILE} bytes")
        try:
            entries = _Staff.model_validate_json(self.path.read_bytes()).staff
        except ValidationError as error:
            where = ".".join(map(str, error.errors(include_input=False, include_context=False)[0]["loc"]))
            raise StaffError(f"{self.path}: {where or 'no JSON'}: not as feltd staff writes it") from None
        return {
            e.name: Person(e.name, e.role, bytes.fromhex(e.salt), bytes.fromhex(e.scrypt)) for e in entries
        }

    def add(self, new: Person) -> bool:
        """Add or replace a person, and make the file if there is none. False: one was replaced.

        Raises StaffError or OSError.
        """
        people = dict(self.people()) if self.path.exists() else {}
        known = new.name in people
        self._write({**people, new.name: new})
        return not known

    def remove(self, name: str) -> bool:
        """Take a person out; False when there is none. Raises StaffError or OSError."""
        people = dict(self.people())
        if people.pop(name, None) is None:
            return False
        self._write(people)
        return True

    def _write(self, people: Mapping[str, Person]) -> None:
        """The whole file or the one before it: written beside it, synced, and renamed."""
        entries = [
            {"name": p.name, "role": p.role, "salt": p.salt.hex(), "scrypt": p.digest.hex()}
            for p in sorted(people.values(), key=lambda p: p.name)
        ]
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "w") as file:
                json.dump({"staff": entries}, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self.path)
        except OSError:
            with suppress(OSError):
                beside.unlink()
            raise


# --- who gives a PIN -------------------------------------------------------------------------


@dataclass(slots=True)
class _Tries:
    wrong: int = 0
    until: int = 0  # monotonic ns


class Proof:
    """Looks at PINs, one at a time and off the loop. ``now``: monotonic nanoseconds.

    ``locked_out`` is called with the name of whoever gave ATTEMPTS wrong ones, once for each lock.
    """

    def __init__(self, staff: StaffFile, now: Callable[[], int]) -> None:
        self.locked_out: Callable[[str], None] = _nobody_listens
        self._staff = staff
        self._now = now
        self._tries: dict[str, _Tries] = {}  # of known names only: its size is that of the staff
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def of(self, name: str, pin: str) -> Person:
        """The person. Raises WrongPin, LockedOut, Busy or StaffError."""
        if self._waiting >= MOST_WAITING:
            raise Busy
        self._waiting += 1
        try:
            async with self._turn:
                return await self._looked_at(name, pin)
        finally:
            self._waiting -= 1

    async def _looked_at(self, name: str, pin: str) -> Person:
        known = self._staff.people().get(name)
        tries = self._tries.setdefault(name, _Tries()) if known is not None else _Tries()
        if tries.until > self._now():
            raise LockedOut(-(-(tries.until - self._now()) // SECOND))
        right = await asyncio.to_thread((known or _NOBODY).proves, pin)
        if known is not None and right:
            del self._tries[name]
            return known
        tries.wrong += 1
        if tries.wrong >= ATTEMPTS:
            tries.wrong, tries.until = 0, self._now() + LOCKED_OUT
            self.locked_out(name)
        raise WrongPin


def _nobody_listens(name: str) -> None:
    pass


# --- sessions --------------------------------------------------------------------------------


@dataclass(slots=True)
class Session:
    """A person at a terminal. Times are monotonic nanoseconds."""

    person: Person
    begun: int
    used: int
    locked: bool = False


class Sessions:
    """The sessions of a daemon, by token; only the token's SHA-256 is kept."""

    def __init__(self, staff: StaffFile, now: Callable[[], int], idle: int = IDLE) -> None:
        self.proof = Proof(staff, now)
        self.idle = idle
        self._staff = staff
        self._now = now
        self._by_token: dict[bytes, Session] = {}

    async def begin(self, name: str, pin: str) -> tuple[str, Session]:
        """A new session and its token. Raises what :meth:`Proof.of` raises."""
        who = await self.proof.of(name, pin)
        self._end_the_old(name)
        token, now = secrets.token_urlsafe(32), self._now()
        session = Session(who, now, now)
        self._by_token[_key(token)] = session
        return token, session

    def _end_the_old(self, name: str) -> None:
        for key in [key for key, session in self._by_token.items() if self._over(session)]:
            del self._by_token[key]
        mine = [key for key, session in self._by_token.items() if session.person.name == name]
        for key in mine[: max(0, len(mine) - MOST_EACH + 1)]:
            del self._by_token[key]

    def _over(self, session: Session) -> bool:
        return self._now() - session.begun >= LONGEST

    def find(self, token: str) -> Session:
        """The session, locked or not. Raises NoSession, also when the person has left the staff file
        or is another one there; StaffError."""
        session = self._by_token.get(_key(token))
        if session is None:
            raise NoSession
        if self._over(session) or self._staff.people().get(session.person.name) != session.person:
            self.end(token)
            raise NoSession
        if self._now() - session.used >= self.idle:
            session.locked = True  # a terminal left alone
        return session

    def open(self, token: str) -> Session:
        """The session, if it is not locked. Raises NoSession, SessionLocked or StaffError."""
        session = self.find(token)
        if session.locked:
            raise SessionLocked
        return session

    def use(self, session: Session) -> None:
        """Somebody is there."""
        session.used = self._now()

    async def unlock(self, session: Session, pin: str) -> None:
        """Raises what :meth:`Proof.of` raises."""
        await self.proof.of(session.person.name, pin)
        session.locked = False
        self.use(session)

    def end(self, token: str) -> None:
        self._by_token.pop(_key(token), None)

    def left(self, session: Session) -> int:
        """Nanoseconds until the session ends for good."""
        return session.begun + LONGEST - self._now()


def _key(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
