"""The life of a link: closed, opening, identifying, ready, lost; and how long to wait between.

Pure: it is told what happened and when (monotonic nanoseconds), and answers what the table must
know. It opens nothing; whoever owns the link asks :attr:`LinkLife.deadline`, :meth:`LinkLife.due`
and :attr:`LinkLife.wants_link`. A device that falls silent again and again is on trial before it counts
as ready: what hangs by a bad wire must not open and bar the table with every heartbeat. One that was
plugged in again has proven itself anew, and only the back-off slows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from transitions import EventData, Machine

from daemon.links.base import Cause
from drivers.base import SECOND, Identified

if TYPE_CHECKING:
    from transitions.core import TransitionConfigDict  # only in its stub

IDENTIFY_WITHIN: Final = 5 * SECOND  # also the limit for opening, and for a silent device to speak again
FIRST_WAIT: Final = SECOND // 2
LONGEST_WAIT: Final = 5 * SECOND
# For a device that is not there. A sign takes 1.9 s to prove itself, and is back within 3 s of the plug.
LONGEST_WAIT_GONE: Final = 3 * SECOND // 4
LASTING: Final = 10 * SECOND  # ready for so long: the next loss starts with the first wait again
FLAPS: Final = 3  # silent so often in a row without having lasted: on trial for as long


class LinkState(Enum):
    """Where a link is in its life."""

    CLOSED = "closed"
    OPENING = "opening"
    IDENTIFYING = "identifying"
    READY = "ready"
    LOST = "lost"


_CLOSED, _OPENING, _IDENTIFYING = LinkState.CLOSED, LinkState.OPENING, LinkState.IDENTIFYING
_READY, _LOST = LinkState.READY, LinkState.LOST


def _row(
    trigger: str, source: LinkState, dest: LinkState | None, *after: str, conditions: str | None = None
) -> TransitionConfigDict:
    ways: TransitionConfigDict = {"trigger": trigger, "source": source, "dest": dest}
    return {**ways, "after": list(after), "conditions": conditions}


# One row for each way; ``dest`` None stays in the state. Rows of one pair are tried in order.
LINK_ROWS: Final[list[TransitionConfigDict]] = [
    _row("opening", _CLOSED, _OPENING, "start_opening"),
    _row("opening", _LOST, _OPENING, "start_opening"),
    _row("opened", _OPENING, _IDENTIFYING, "start_identifying"),
    _row("failed", _OPENING, _LOST, "wait"),
    _row("failed", _IDENTIFYING, _LOST, "wait"),
    _row("identified", _IDENTIFYING, _READY, "settle", conditions="is_welcome"),
    _row("identified", _IDENTIFYING, None, "watch", conditions="is_expected"),
    _row("identified", _IDENTIFYING, _LOST, "refuse", "wait"),
    _row("identified", _READY, None, conditions="is_expected"),
    _row("identified", _READY, _LOST, "refuse", "wait"),
    _row("silent", _READY, _IDENTIFYING, "await_voice"),
    _row("silent", _IDENTIFYING, None, "await_voice", conditions="is_on_trial"),
    _row("silent", _IDENTIFYING, None),  # the time-out of identification is running already
    _row("lasted", _IDENTIFYING, _READY, "settle"),
    _row("in_sync", _IDENTIFYING, _READY, "fill_gap", "settle", conditions="is_trusted"),
    _row("in_sync", _IDENTIFYING, None, "fill_gap", "watch", conditions="is_proven"),
    _row("in_sync", _IDENTIFYING, None, "fill_gap"),
    _row("in_sync", _READY, None, "fill_gap"),
    _row("out_of_sync", _IDENTIFYING, None, "mark_gap"),
    _row("out_of_sync", _READY, None, "mark_gap"),
    *(_row("lost", source, _LOST, "wait") for source in (_OPENING, _IDENTIFYING, _READY)),
    *(_row("closed", source, _CLOSED, "rest") for source in (_OPENING, _IDENTIFYING, _READY, _LOST)),
]

# What may still arrive when its time is over, and changes nothing. Every other pair without a row
# is a mistake of the caller and raises MachineError.
LATE: Final[frozenset[tuple[str, LinkState]]] = frozenset(
    {
        ("closed", _CLOSED),
        *((word, state) for word in ("opened", "failed", "lost") for state in (_CLOSED, _LOST)),
        *((word, _CLOSED) for word in ("identified", "silent", "in_sync", "out_of_sync")),
        *((word, _LOST) for word in ("identified", "silent", "in_sync", "out_of_sync")),
    }
)


@dataclass(frozen=True, slots=True)
class Change:
    """The table must know: the link became ready, or is not ready and why.

    ``cause`` None means ready, or closed on purpose.
    """

    state: LinkState
    cause: Cause | None
    detail: str


class _Life:
    """What the machine moves: the state, and what its callbacks note down."""

    state: LinkState
    trigger: Callable[..., bool]

    def __init__(self, role: str, serial: str | None) -> None:
        self.role = role
        self.serial = serial or ""
        self.deadline: int | None = 0
        self.cause: Cause | None = None
        self.detail = ""
        self.gap = ""
        self.proven = False
        self.on_trial = False
        self.flaps = 0
        self.ready_since: int | None = None
        self.waited = 0

    def is_expected(self, event: EventData) -> bool:
        who: Identified = event.kwargs["who"]
        return who.role == self.role and self.serial in ("", who.serial)

    def is_proven(self, event: EventData) -> bool:
        return self.proven

    def is_welcome(self, event: EventData) -> bool:
        return self.is_expected(event) and (self.flaps < FLAPS or not self.proven)

    def is_trusted(self, event: EventData) -> bool:
        return self.flaps < FLAPS and self.proven

    def is_on_trial(self, event: EventData) -> bool:
        return self.on_trial

    def start_opening(self, event: EventData) -> None:
        self.proven = self.on_trial = False
        self.deadline = event.kwargs["now"] + IDENTIFY_WITHIN

    start_identifying = start_opening

    def watch(self, event: EventData) -> None:
        self.proven = True
        if not self.on_trial:
            self.on_trial = True
            self.deadline = event.kwargs["now"] + LASTING
            self.detail = (
                f"it comes and goes: ready when it is heard for {LASTING // SECOND} s without a break"
            )

    def settle(self, event: EventData) -> None:
        self.proven, self.on_trial = True, False
        self.deadline = None
        self.cause, self.detail = None, ""
        self.ready_since = event.kwargs["now"]

    def await_voice(self, event: EventData) -> None:
        self.deadline = event.kwargs["now"] + IDENTIFY_WITHIN
        self.on_trial = False
        # Who spoke without a word that can be understood is garbled, not silent.
        quiet = (Cause.SILENT, "it was ready, and is not heard any more")
        self.cause, self.detail = (Cause.GARBLED, self.gap) if self.gap else quiet
        self.flaps += self.ready_since is not None
        self._forgive(event.kwargs["now"])

    def mark_gap(self, event: EventData) -> None:
        self.gap = event.kwargs["detail"]

    def fill_gap(self, event: EventData) -> None:
        self.gap = ""

    def refuse(self, event: EventData) -> None:
        who: Identified = event.kwargs["who"]
        found = f"{who.role} {who.serial}".strip()
        wanted = f"{self.role} {self.serial}".strip()
        event.kwargs |= {"cause": Cause.WRONG_IDENTITY, "detail": f"expected {wanted}, found {found}"}

    def wait(self, event: EventData) -> None:
        now: int = event.kwargs["now"]
        self._forgive(now)
        self.cause, self.detail = event.kwargs["cause"], event.kwargs["detail"]
        longest = LONGEST_WAIT_GONE if self.cause in (Cause.ABSENT, Cause.LOST) else LONGEST_WAIT
        self.waited = min(max(FIRST_WAIT, 2 * self.waited), longest)
        self.deadline = now + self.waited

    def rest(self, event: EventData) -> None:
        self.deadline = None
        self.cause, self.detail = None, ""
        self.ready_since = None

    def _forgive(self, now: int) -> None:
        if self.ready_since is not None and now - self.ready_since >= LASTING:
            self.waited = self.flaps = 0
        self.ready_since = None


class LinkLife:
    """One link's life. Every call returns the changes that the table must know, mostly none.

    ``expected_serial`` None or empty accepts every serial number; otherwise a device that does
    not say its number is refused too. ``now`` is monotonic nanoseconds everywhere. A call that
    comes in a state where it makes no sense (``opened`` without ``opening``) raises
    transitions.MachineError; a late one (:data:`LATE`) changes nothing.
    """

    def __init__(self, name: str, expected_role: str, expected_serial: str | None) -> None:
        self.name = name
        self._life = _Life(expected_role, expected_serial)
        self._machine = Machine(
            model=self._life,
            states=LinkState,
            initial=LinkState.CLOSED,
            transitions=LINK_ROWS,
            auto_transitions=False,
            send_event=True,
        )
        self._told: tuple[bool, Cause | None] = (False, None)
        self._heard_at: int | None = None
        self._heard_since_opening = False

    @property
    def state(self) -> LinkState:
        """The state of the machine."""
        return self._life.state

    @property
    def ready(self) -> bool:
        """Proven, heard and complete: a round may open on this device."""
        return self.state is LinkState.READY and not self._life.gap

    @property
    def cause(self) -> Cause | None:
        """Why it is not ready; None while ready or before the first attempt."""
        return Cause.GARBLED if self.state is LinkState.READY and self._life.gap else self._life.cause

    @property
    def detail(self) -> str:
        """The particulars of :attr:`cause`."""
        return self._life.gap if self.state is LinkState.READY else self._life.detail

    @property
    def wants_link(self) -> bool:
        """Whether the link is to be open now. After every call: if it is open and this is False, close it."""
        return self.state not in (LinkState.CLOSED, LinkState.LOST)

    @property
    def deadline(self) -> int | None:
        """When to look at :meth:`due` or :meth:`tick` again; None while nothing is pending."""
        return self._life.deadline

    def due(self, now: int) -> bool:
        """Time to open the link: at the start, and whenever the wait after a loss is over."""
        return not self.wants_link and self._is_over(now)

    def tick(self, now: int) -> list[Change]:
        """A deadline may have passed: opening or identifying has failed, or a trial is over."""
        if not self.wants_link or not self._is_over(now):
            return []
        if self._life.on_trial:
            return self._handle("lasted", now)
        if self._heard_since_opening and not self._life.proven:
            return self.failed(Cause.GARBLED, "bytes arrive, but none that tell who is speaking", now)
        return self.failed(Cause.SILENT, f"no answer within {IDENTIFY_WITHIN // SECOND} s", now)

    def opening(self, now: int) -> list[Change]:
        """The link is being opened."""
        self._heard_since_opening = False
        return self._handle("opening", now)

    def opened(self, now: int) -> list[Change]:
        """The link is open; the device has 5 s to say who it is."""
        return self._handle("opened", now)

    def failed(self, cause: Cause, detail: str, now: int) -> list[Change]:
        """The link could not be opened, or nobody said who they are."""
        return self._handle("failed", now, cause=cause, detail=detail)

    def identified(self, who: Identified, now: int) -> list[Change]:
        """The device said who it is. The wrong role or serial number is a loss (wrong_identity)."""
        return self._handle("identified", now, who=who)

    def silent(self, now: int) -> list[Change]:
        """The driver hears nothing any more: not ready, and reopened unless it speaks within 5 s."""
        return self._handle("silent", now)

    def out_of_sync(self, now: int, detail: str = "events are missing and asked for") -> list[Change]:
        """Events are missing: not ready until :meth:`in_sync`, and the link stays open."""
        return self._handle("out_of_sync", now, detail=detail)

    def in_sync(self, now: int) -> list[Change]:
        """Nothing is missing any more, or the silent device speaks again."""
        return self._handle("in_sync", now)

    def lost(self, cause: Cause, detail: str, now: int) -> list[Change]:
        """The open link went away."""
        return self._handle("lost", now, cause=cause, detail=detail)

    def closed(self, now: int) -> list[Change]:
        """The link was closed on purpose and is not opened again until :meth:`opening`."""
        return self._handle("closed", now)

    def heard(self, now: int) -> None:
        """Bytes came in."""
        self._heard_at = now
        self._heard_since_opening = True

    def age(self, now: int) -> int | None:
        """Nanoseconds since the device was last heard; None if it never was."""
        return None if self._heard_at is None else now - self._heard_at

    def _is_over(self, now: int) -> bool:
        return self.deadline is not None and now >= self.deadline

    def _handle(self, what: str, now: int, **facts: object) -> list[Change]:
        if (what, self.state) in LATE:
            return []
        self._life.trigger(what, now=now, **facts)
        standing = (self.ready, self.cause)
        if standing == self._told:
            return []
        self._told = standing
        return [Change(self.state, self.cause, self.detail)]
