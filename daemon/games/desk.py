"""Between a table and its game: the inputs a game understands, and the desk it works at.

A game is pure. It is handed one input and a :class:`Desk`; it reads facts from the desk, and
writes on it what is to be done. It raises :class:`Refused`, and has then changed nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from drivers.base import Command, Display

_WHOLE: Final = re.compile(r"-?[0-9]{1,17}")
WARNINGS: Final = frozenset({"wal-large"})  # latched like faults, and nobody is kept from playing


class Refused(Exception):
    """An input that is not accepted: why, under which clause, and what to do instead."""

    def __init__(self, reason: str, clause: str = "", todo: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.clause = clause
        self.todo = todo


# --- inputs ------------------------------------------------------------------------------


# Not frozen: one is made for every word, and freezing makes it cost four times as much.
@dataclass(slots=True)
class Act:
    """What a person did at the table (``cli.md``, "Acts"). ``args`` are as they were given.

    ``key`` makes a repeated act answer the same; ``second`` is the confirming second role;
    ``replaces`` names the record that this act corrects.
    """

    name: str
    args: Mapping[str, str | int] = field(default_factory=dict)
    by: str = ""
    role: str = ""
    second: str = ""
    key: str = ""
    replaces: int = 0

    def text(self, name: str, default: str | None = None) -> str:
        """Argument ``name`` as text. Raises Refused when it is missing."""
        value = self.args.get(name, default)
        if value is None or value == "":
            raise Refused(f"{self.name}: {name}= is missing", todo=f"give {name}=")
        return str(value)

    def number(self, name: str, default: int | None = None) -> int:
        """Argument ``name`` as a whole number. Raises Refused when it is none."""
        value = self.args.get(name, default)
        if value is None:
            raise Refused(f"{self.name}: {name}= is missing", todo=f"give {name}= as a whole number")
        if type(value) is int and -(10**17) < value < 10**17:  # what 17 digits can say
            return value
        text = str(value)
        if not _WHOLE.fullmatch(text):
            large = text.removeprefix("-").isdecimal() and text.isascii()
            why = "is too large" if large else "is no whole number"
            todo = "amounts are in minor units" if name == "amount" else f"give {name}= as a whole number"
            raise Refused(f"{self.name}: {name}={text[:24]!r} {why}", todo=todo)
        return int(text)


# Not frozen, as others beside it: one is made for every card, and freezing doubles its cost.
@dataclass(slots=True)
class DeviceNews:
    """A device event as a game sees it: ``kind`` names it, ``event`` carries it."""

    kind: str
    device: str
    event: object


class Timer(NamedTuple):
    """A decision that is waited for: ``id`` is the record that began it, ``limit`` nanoseconds.

    An act at exactly the limit is in time.
    """

    id: int
    limit: int


@dataclass(frozen=True, slots=True)
class TimeUp:
    """The time of the decision ``id`` is over. A game sees it as the news ``time-up``."""

    id: int


GameInput = Act | DeviceNews

# --- what is to be done ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToDevice:
    """Tell a device. ``resume``: it was told before a restart; ask what became of it first."""

    device: str
    command: Command
    resume: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """Something the staff must know, with its clause: an irregularity or a reminder."""

    clause: str
    detail: str


@dataclass(frozen=True, slots=True)
class RoundClosed:
    """A round ended; ``summary`` is its public account, face-down cards null."""

    round_id: int
    outcome: str
    summary: Mapping[str, object]


Effect = ToDevice | Note | RoundClosed


@dataclass(slots=True)
class Move:
    """Money from one account to another, in minor units (more than 0)."""

    source: str
    target: str
    amount: int
    reason: str


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A fact for the pool authority: a contribution or an award of this table."""

    kind: str
    box: int
    amount: int


@dataclass(frozen=True, slots=True)
class Fault:
    """A latched condition that blocks play until an act (or ``cleared_by``) clears it."""

    code: str
    text: str
    cleared_by: str
    since: str = ""


class Devices(Protocol):
    """What a game may know of the devices of its table."""

    @property
    def mode(self) -> str:
        """``shoe`` or ``shuffler``: where the cards of a round come from."""

    @property
    def shuffler(self) -> str:
        """The id of the shuffler in use, "" when there is none."""

    def not_ready(self) -> str:
        """Why no round may open ("" when it may): a device missing, stale or in fault."""

    def sign_is_current(self) -> bool:
        """The sign is known to show what the table wants it to show (CS-01)."""

    def barred(self, device: str) -> str:
        """The clause under which a device is refused, "" when it is not."""

    def bar(self, device: str, clause: str) -> None:
        """Refuse a device until a supervisor's ``accept-device`` (CS-11d)."""

    def source_proves(self) -> bool:
        """The protocol of that device proves that every card was heard of (CS-07)."""

    def source_ready(self) -> bool:
        """The device that the cards come from is there and in step."""

    def source_trouble(self) -> str:
        """Why no card can come from where the cards come from; "" when one can, or by hand."""

    def next_command_id(self) -> int:
        """A number for a command that this table has not used lately (16 bits)."""


@dataclass(slots=True)
class Outcome:
    """What became of one input. A refused one has no effects and no money."""

    effects: list[Effect] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    outbox: list[OutboxEntry] = field(default_factory=list)
    refusal: Refused | None = None
    message: str = ""


class Desk(Outcome):
    """One input's working place, and its outcome when the work is done.

    ``at`` is the input's UTC stamp: a label, never logic.
    """

    __slots__ = ("at", "devices", "faults", "seq")

    def __init__(self, devices: Devices, seq: int, at: str, faults: dict[str, Fault]) -> None:
        # The base class's fields, too: one is made for every input, and the way there costs two thirds more.
        self.effects, self.moves, self.outbox = [], [], []
        self.refusal, self.message = None, ""
        self.devices, self.seq, self.at, self.faults = devices, seq, at, faults

    def move(self, source: str, target: str, amount: int, reason: str) -> None:
        """Move ``amount`` minor units; nothing for 0. A negative amount is a program error."""
        if amount < 0:
            raise ValueError(f"negative movement: {reason}")
        if amount:
            self.moves.append(Move(source, target, amount, reason))

    def command(self, device: str, command: Command) -> None:
        """Tell a device, once this input is committed."""
        self.effects.append(ToDevice(device, command))

    def note(self, clause: str, detail: str) -> None:
        self.effects.append(Note(clause, detail))

    def latch(self, code: str, text: str, cleared_by: str) -> None:
        """Latch a fault; one that is latched already keeps its first stamp, and takes a new text."""
        known = self.faults.get(code)
        if known is None or known.text != text:
            since = self.at if known is None else known.since
            self.faults[code] = Fault(code, text, cleared_by, since)
            self.effects.append(Note("", f"fault {code}: {text}"))

    def blocking(self) -> list[Fault]:
        """The latched faults that keep a round from opening."""
        return [fault for fault in self.faults.values() if fault.code not in WARNINGS]

    def unlatch(self, code: str) -> None:
        if self.faults.pop(code, None) is not None:
            self.effects.append(Note("", f"fault {code} cleared"))


@runtime_checkable
class Timed(Protocol):
    """A game in which decisions have a time."""

    def timer(self, devices: Devices, faults: Mapping[str, Fault]) -> Timer | None:
        """The decision that is waited for now; None when there is none, or the table is halted."""


class Game(Protocol):
    """What a table knows of its game, whichever it is."""

    name: str
    rules_id: str
    shuffle_clause: str  # under which the deck is shuffled anew

    @property
    def phase(self) -> str:
        """The state's name."""

    @property
    def round_id(self) -> int | None: ...

    @property
    def out_of_service(self) -> bool: ...

    def adopt(self, rules: str, desk: Desk) -> None:
        """The daemon started with this rule set (its own text form) in the configuration.

        The first one is played from then on; a later one that differs is latched as a fault,
        for only a supervisor's act changes the rules (CS-13).
        """

    def handle(self, item: GameInput, desk: Desk) -> None:
        """Take one input. Raises Refused, having changed nothing."""

    def sign(self) -> Display:
        """What the sign must show now."""

    def check(self, balances: Mapping[str, int]) -> list[str]:
        """Invariants that do not hold, as sentences; empty when all is well.

        ``balances`` are the table's accounts in minor units.
        """

    @property
    def at_rest(self) -> bool:
        """No round is open, so that no card and no bet is anywhere: a snapshot can be taken."""

    def snapshot(self) -> dict[str, object]:
        """All that the game remembers at rest, in plain JSON values; no card is in it."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Be as when ``state`` was taken. Raises KeyError, ValueError or TypeError for another form."""

    def view(self) -> dict[str, object]:
        """The present state for staff, face-down cards null."""

    def round_view(self) -> dict[str, object] | None:
        """The running round in the form of ``feltd round --json``."""
