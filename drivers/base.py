"""What every driver says and is told: events, commands, and the driver protocol.

A driver turns bytes into events and commands into bytes. It has no clock, no thread and
no port of its own: every call is told ``now`` (monotonic nanoseconds) and returns what is
to be sent, what happened, and what was thrown away.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from drivers.cards import FaceDownCard

MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000_000_000

# --- events: what a device tells -------------------------------------------------------


# Not frozen: one is made for every card, and freezing makes it cost three times as much.
@dataclass(slots=True)
class CardDrawn:
    """A card left the shoe. ``face`` is None when it was not read (present but unread)."""

    face: FaceDownCard | None
    face_up: bool = False  # it lay face up in the shoe: an exposure (CS-11b)
    sure: bool = True  # False: read with low confidence
    foreign: bool = False  # it was read, and is none of the 52 (CS-01)


@dataclass(frozen=True, slots=True)
class CutCardDrawn:
    """The white cut card left the shoe."""


@dataclass(frozen=True, slots=True)
class CoverMoved:
    """The cover or door was opened or closed."""

    open: bool


@dataclass(frozen=True, slots=True)
class ShuffleStarted:
    """The machine began a shuffle; ``shuffle_id`` is the machine's own number for it."""

    shuffle_id: int


@dataclass(frozen=True, slots=True)
class ShuffleDone:
    """The machine finished a shuffle and counted so many cards: the shuffle proof (CS-03)."""

    shuffle_id: int
    counted: int


@dataclass(frozen=True, slots=True)
class PacketOut:
    """A packet of ``count`` cards lies in the output; ``index`` counts from 0 in this deal."""

    index: int
    count: int


@dataclass(frozen=True, slots=True)
class PacketTaken:
    """The packet was taken out by the dealer."""

    index: int


@dataclass(frozen=True, slots=True)
class CardsReturned:
    """So many cards came back after the round."""

    counted: int


@dataclass(frozen=True, slots=True)
class FaultSet:
    """The device reports a fault. ``code`` is the protocol's, ``text`` a plain sentence.

    ``stops_deal`` is False for a mere reminder (service due, packet waiting).
    """

    code: int
    text: str
    stops_deal: bool = True


@dataclass(frozen=True, slots=True)
class FaultCleared:
    """The device reports that a fault is over."""

    code: int


@dataclass(frozen=True, slots=True)
class Restarted:
    """The device lost its memory (a new boot): whatever it was doing is unknown."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What became of a command. ``outcome`` is one of done, accepted, refused, busy."""

    command_id: int
    outcome: str
    detail: int = 0


@dataclass(frozen=True, slots=True)
class SignShows:
    """A read-back proved that the sign shows exactly this (and nothing else)."""

    meter: str
    announcement: str
    pages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SignDiffers:
    """A read-back shows something else than was asked, or nothing; the driver repairs it."""

    reason: str


# Health, for the supervisor of the link; never for the game directly.


@dataclass(frozen=True, slots=True)
class Identified:
    """The device said who it is. Fields that a protocol lacks are empty (boot -1)."""

    role: str  # shoe, shuffler, sign
    serial: str = ""
    firmware: str = ""
    digest: str = ""  # hexadecimal
    boot: int = -1


@dataclass(frozen=True, slots=True)
class Silent:
    """Nothing was heard for as long as the protocol allows: treat the device as offline."""


@dataclass(frozen=True, slots=True)
class OutOfSync:
    """Events are missing and asked for again; the device is not ready until :class:`InSync`."""

    expected: int
    got: int


@dataclass(frozen=True, slots=True)
class InSync:
    """The gap is filled, or the silent device speaks again and nothing is missing."""


DeviceEvent = (
    CardDrawn
    | CutCardDrawn
    | CoverMoved
    | ShuffleStarted
    | ShuffleDone
    | PacketOut
    | PacketTaken
    | CardsReturned
    | FaultSet
    | FaultCleared
    | Restarted
    | CommandResult
    | SignShows
    | SignDiffers
)
HealthEvent = Identified | Silent | OutOfSync | InSync

# --- commands: what a device is told ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class LockShoe:
    command_id: int


@dataclass(frozen=True, slots=True)
class UnlockShoe:
    command_id: int


@dataclass(frozen=True, slots=True)
class Shuffle:
    command_id: int


@dataclass(frozen=True, slots=True)
class Deal:
    """Deal ``packets`` packets of ``cards_each`` cards."""

    command_id: int
    packets: int
    cards_each: int


@dataclass(frozen=True, slots=True)
class StopDeal:
    command_id: int


@dataclass(frozen=True, slots=True)
class ClearDeviceFault:
    command_id: int


@dataclass(frozen=True, slots=True)
class Display:
    """What the sign is to show from now on; the latest one wins.

    ``meter`` is the jackpot amount as text, ``announcement`` a text that covers everything
    ("" for none), ``pages`` further texts shown in turn with the meter.
    """

    meter: str
    announcement: str = ""
    pages: tuple[str, ...] = ()


NumberedCommand = LockShoe | UnlockShoe | Shuffle | Deal | StopDeal | ClearDeviceFault
Command = NumberedCommand | Display

# --- the driver protocol ----------------------------------------------------------------


# Not frozen, as others beside it: one is made for every card, and freezing doubles its cost.
@dataclass(slots=True)
class Send:
    """Bytes for the link; the first ``wake`` of them carry the wake-up bit, where the link has one
    (mark parity; the others have space parity)."""

    data: bytes
    wake: int = 0


@dataclass(slots=True)
class Emit:
    """Something happened. Numbered events carry the device's identity for them:
    ``boot`` and ``ordinal`` (1, 2, 3 … within one boot, never wrapping)."""

    event: DeviceEvent | HealthEvent
    boot: int = -1
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class Drop:
    """Bytes or a frame were thrown away, and why. Counted, never silent."""

    reason: str


Output = Send | Emit | Drop


@dataclass(slots=True)
class Counters:
    """What a driver counted since it was made."""

    frames: int = 0
    repeats: int = 0
    gaps: int = 0
    sent: int = 0
    drops: dict[str, int] = field(default_factory=dict)

    def dropped(self, reason: str) -> Drop:
        """Count a drop and return it."""
        self.drops[reason] = self.drops.get(reason, 0) + 1
        return Drop(reason)


class Driver(Protocol):
    """Bytes to events, commands to bytes. ``now`` is monotonic nanoseconds everywhere.

    No call raises on bad bytes. ``deadline`` says when :meth:`tick` is due (None: never).
    Events may come in any chunking of the bytes; they are the same.
    """

    counters: Counters

    @property
    def deadline(self) -> int | None: ...

    def opened(self, now: int) -> list[Output]:
        """The link is open (again). Opening may have reset the device."""

    def received(self, data: bytes, now: int) -> list[Output]:
        """Bytes came in."""

    def command(self, command: Command, now: int) -> list[Output]:
        """Do this. A numbered command is watched until its result is known."""

    def resume(self, command: Command, now: int) -> list[Output]:
        """This command was given before a restart; its outcome is unknown: ask, then finish."""

    def committed(self, now: int) -> list[Output]:
        """Every event emitted so far is durable: acknowledge it to the device."""

    def tick(self, now: int) -> list[Output]:
        """``deadline`` has come."""

    def closed(self, now: int) -> list[Output]:
        """The link is gone. Half frames are forgotten, what is durable is not."""


class Simulator(Protocol):
    """A device seen from its own side: the mirror of a driver, with a life of its own."""

    @property
    def deadline(self) -> int | None: ...

    def opened(self, now: int) -> list[Send]:
        """Somebody attached to the line."""

    def received(self, data: bytes, now: int) -> list[Send]:
        """Bytes from the host."""

    def tick(self, now: int) -> list[Send]:
        """``deadline`` has come."""

    def control(self, verb: dict[str, object], now: int) -> tuple[dict[str, object], list[Send]]:
        """A test verb of ``cli.md`` ("Simulator control"); the answer, and bytes for the host.

        An unknown verb or a wrong argument answers ``{"error": "…"}``, it does not raise.
        """
