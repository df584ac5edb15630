"""Frames of the Felt Device Protocol, version 1, in both directions (protocols.md section 1).

A body is ``version type seq payload``. ``decode`` turns a body into one of the classes
below and ``encode`` does the reverse; whatever is wrong with a body is a :class:`BadFrame`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum, IntEnum
from struct import Struct
from typing import ClassVar, Final, Self

from drivers.base import SECOND
from drivers.cards import Card, FaceDownCard, Suit
from drivers.framing import encode_frame

VERSION: Final = 1
EVENTS: Final = 65535  # events are numbered 1 to 65535, then 1 again
HOLD: Final = 256  # unacknowledged events, and command results, that a device keeps at least
REPEAT: Final = SECOND // 2  # after which the oldest unacknowledged event is sent again
HEARTBEAT: Final = SECOND


class BadFrame(ValueError):
    """A body that is no frame of this protocol. The text is one of a few, and tells no face."""


class Role(IntEnum):
    """What a device is, in HELLO."""

    SHOE = 1
    SHUFFLER = 2


class Outcome(IntEnum):
    """What became of a command, in RESULT."""

    DONE = 0
    ACCEPTED = 1
    REFUSED = 2
    BUSY = 3
    NEVER_SEEN = 4


class ShoeState(Enum):
    """States of a shoe, in STATUS."""

    SELF_TEST = 0
    READY = 1
    LOCKED = 2
    EMPTY = 3
    FAULT = 8
    COVER_OPEN = 9


class ShufflerState(Enum):
    """States of a shuffler, in STATUS."""

    SELF_TEST = 0
    EMPTY = 1
    LOADED = 2
    SHUFFLING = 3
    READY = 4
    DEALING = 5
    PACKET_PRESENT = 6
    UNLOADING = 7
    FAULT = 8
    DOOR_OPEN = 9
    SERVICE = 10


# --- fault codes -------------------------------------------------------------------------

PACKET_NOT_TAKEN: Final = 0x0B
SERVICE_DUE: Final = 0x10
FAULT_TEXTS: Final = {
    0x01: "Cards are jammed at the infeed.",
    0x02: "A card is jammed in the transport.",
    0x03: "A card is jammed at the output.",
    0x04: "A card was misfed.",
    0x05: "Two cards were fed as one.",
    0x06: "There are too few cards.",
    0x07: "There are too many cards.",
    0x08: "A card is there twice.",
    0x09: "A card is foreign or unreadable.",
    0x0A: "A door or the cover is open.",
    PACKET_NOT_TAKEN: "A packet waits to be taken.",
    0x0C: "A packet was taken too early.",
    0x0D: "A motor or a sensor failed.",
    0x0E: "The memory or the firmware is damaged.",
    0x0F: "The device's own communication failed.",
    SERVICE_DUE: "Service is due.",
}


def fault_text(code: int) -> str:
    """A plain sentence for a fault code (1 to 255)."""
    return FAULT_TEXTS.get(code) or f"The device reports fault {code:02X}, which is not known."


def stops_deal(code: int) -> bool:
    """False for the two reminders, True for every other code, known or not."""
    return code not in (PACKET_NOT_TAKEN, SERVICE_DUE)


# --- card bytes: suit nibble, rank nibble (also Angel Eye's) -----------------------------

_SUIT_NIBBLES: Final = {1: Suit.DIAMOND, 2: Suit.CLUB, 3: Suit.SPADE, 4: Suit.HEART}
_CARD_OF_BYTE: Final = {
    suit_nibble << 4 | rank_nibble: Card(14 if rank_nibble == 1 else rank_nibble, suit)
    for suit_nibble, suit in _SUIT_NIBBLES.items()
    for rank_nibble in range(1, 14)
}
_BYTE_OF_CARD: Final = {card: byte for byte, card in _CARD_OF_BYTE.items()}
_FACE_OF_BYTE: Final = {byte: FaceDownCard(card) for byte, card in _CARD_OF_BYTE.items()}


FOREIGN: Final = 0xFF  # what our simulator reads on a card that is none of the 52


def byte_from_card(card: Card) -> int:
    """The card byte, 0x11 to 0x4D."""
    return _BYTE_OF_CARD[card]


# --- frames ------------------------------------------------------------------------------


# Frames are not frozen: one is made for whatever is said, and freezing costs two to four times as much.
@dataclass(slots=True)
class Frame:
    """A frame. ``CODE`` is its type byte; the fields of a subclass are its payload, in order."""

    CODE: ClassVar[int]
    LAYOUT: ClassVar[Struct] = Struct(">")

    def payload(self) -> bytes:
        """The payload bytes. Raises struct.error for a field out of its range."""
        return self.LAYOUT.pack(*[getattr(self, name) for name in _FIELDS[type(self)]])

    @classmethod
    def parse(cls, payload: bytes) -> Self:
        """The frame of a payload of the right length. Raises :class:`BadFrame`."""
        return cls(*cls.LAYOUT.unpack(payload))


@dataclass(slots=True)
class EventFrame(Frame):
    """A frame that carries an event number, 1 to 65535."""

    event: int


@dataclass(slots=True)
class CommandFrame(Frame):
    """A frame that carries a command id, 0 to 65535."""

    LAYOUT: ClassVar[Struct] = Struct(">H")
    command_id: int


def _ascii(field: bytes) -> str:
    text = field.decode("latin-1").rstrip(" \0")
    if not (text.isascii() and (text.isprintable() or not text)):
        raise BadFrame("text is not printable ASCII")
    return text


@dataclass(slots=True)
class Hello(Frame):
    """Who the device is. ``serial`` and ``firmware``: up to 8 printable ASCII characters."""

    CODE: ClassVar[int] = 0x01
    LAYOUT: ClassVar[Struct] = Struct(">HHB8s8s8s")
    boot_id: int
    last_event: int
    role: Role
    serial: str
    firmware: str
    digest: bytes  # the first 8 bytes of the SHA-256 of the firmware image

    def payload(self) -> bytes:
        """The payload; texts are padded with blanks."""
        serial, firmware = (text.encode("ascii").ljust(8) for text in (self.serial, self.firmware))
        return self.LAYOUT.pack(self.boot_id, self.last_event, self.role, serial, firmware, self.digest)

    @classmethod
    def parse(cls, payload: bytes) -> Self:
        """The frame of a payload. Raises :class:`BadFrame` for a role or text that cannot be."""
        boot, last, role, serial, firmware, digest = cls.LAYOUT.unpack(payload)
        if role not in (Role.SHOE, Role.SHUFFLER):
            raise BadFrame("no such role")
        return cls(boot, last, Role(role), _ascii(serial), _ascii(firmware), digest)


@dataclass(slots=True)
class Status(Frame):
    """Heartbeat. ``fault`` is 0 for none, ``uptime`` is in seconds, ``cards`` are in the device."""

    CODE: ClassVar[int] = 0x02
    LAYOUT: ClassVar[Struct] = Struct(">BBHIH")
    state: int
    fault: int
    last_event: int
    uptime: int
    cards: int


@dataclass(slots=True)
class CardOut(EventFrame):
    """A card left the shoe (CARD). ``face`` is None for a card that was not read, or is foreign."""

    CODE: ClassVar[int] = 0x10
    LAYOUT: ClassVar[Struct] = Struct(">HBB")
    face: FaceDownCard | None
    face_up: bool = False
    sure: bool = True
    foreign: bool = False

    def payload(self) -> bytes:
        """The payload, face included: for the device's side only."""
        byte = byte_from_card(self.face.turn()) if self.face else FOREIGN if self.foreign else 0
        return self.LAYOUT.pack(self.event, byte, self.face_up | (not self.sure) << 1)

    @classmethod
    def parse(cls, payload: bytes) -> Self:
        """The frame of a payload; flags beyond the two known ones are ignored."""
        event, byte, flags = cls.LAYOUT.unpack(payload)
        face = _FACE_OF_BYTE.get(byte)
        # A foreign card is an event like any other: refusing it would hold up all that follow.
        return cls(event, face, flags & 1 == 1, not flags & 2, face is None and byte != 0)


@dataclass(slots=True)
class CutCard(EventFrame):
    """The cut card left the shoe."""

    CODE: ClassVar[int] = 0x11
    LAYOUT: ClassVar[Struct] = Struct(">H")


@dataclass(slots=True)
class Cover(EventFrame):
    """The cover or door moved."""

    CODE: ClassVar[int] = 0x12
    LAYOUT: ClassVar[Struct] = Struct(">HB")
    open: bool

    @classmethod
    def parse(cls, payload: bytes) -> Self:
        """The frame of a payload. Raises :class:`BadFrame` unless the cover is 0 or 1."""
        event, moved = cls.LAYOUT.unpack(payload)
        if moved > 1:
            raise BadFrame("a cover is open or closed")
        return cls(event, bool(moved))


@dataclass(slots=True)
class ShuffleStarted(EventFrame):
    """A shuffle began."""

    CODE: ClassVar[int] = 0x20
    LAYOUT: ClassVar[Struct] = Struct(">HI")
    shuffle_id: int


@dataclass(slots=True)
class ShuffleDone(EventFrame):
    """A shuffle ended with so many cards."""

    CODE: ClassVar[int] = 0x21
    LAYOUT: ClassVar[Struct] = Struct(">HIH")
    shuffle_id: int
    counted: int


@dataclass(slots=True)
class PacketOut(EventFrame):
    """A packet lies in the output; ``index`` counts from 0 in this deal."""

    CODE: ClassVar[int] = 0x22
    LAYOUT: ClassVar[Struct] = Struct(">HBB")
    index: int
    count: int


@dataclass(slots=True)
class PacketTaken(EventFrame):
    """The packet was taken."""

    CODE: ClassVar[int] = 0x23
    LAYOUT: ClassVar[Struct] = Struct(">HB")
    index: int


@dataclass(slots=True)
class CardsIn(EventFrame):
    """So many cards came back after the round."""

    CODE: ClassVar[int] = 0x24
    LAYOUT: ClassVar[Struct] = Struct(">HH")
    counted: int


@dataclass(slots=True)
class FaultSet(EventFrame):
    """A fault began."""

    CODE: ClassVar[int] = 0x30
    LAYOUT: ClassVar[Struct] = Struct(">HB")
    code: int


@dataclass(slots=True)
class FaultCleared(EventFrame):
    """A fault is over."""

    CODE: ClassVar[int] = 0x31
    LAYOUT: ClassVar[Struct] = Struct(">HB")
    code: int


@dataclass(slots=True)
class Result(Frame):
    """What became of a command; ``detail`` is the device's own reason."""

    CODE: ClassVar[int] = 0x50
    LAYOUT: ClassVar[Struct] = Struct(">HBB")
    command_id: int
    outcome: Outcome
    detail: int

    @classmethod
    def parse(cls, payload: bytes) -> Self:
        """The frame of a payload. Raises :class:`BadFrame` for an unknown outcome."""
        command_id, outcome, detail = cls.LAYOUT.unpack(payload)
        if outcome > Outcome.NEVER_SEEN:
            raise BadFrame("no such outcome")
        return cls(command_id, Outcome(outcome), detail)


@dataclass(slots=True)
class Ack(Frame):
    """Everything up to and including ``event`` is durable at the host."""

    CODE: ClassVar[int] = 0x06
    LAYOUT: ClassVar[Struct] = Struct(">H")
    event: int


@dataclass(slots=True)
class Nak(Frame):
    """Send again from the event ``expected``."""

    CODE: ClassVar[int] = 0x15
    LAYOUT: ClassVar[Struct] = Struct(">H")
    expected: int


@dataclass(slots=True)
class GetHello(Frame):
    """Ask for HELLO."""

    CODE: ClassVar[int] = 0x40


@dataclass(slots=True)
class GetStatus(Frame):
    """Ask for STATUS."""

    CODE: ClassVar[int] = 0x41


@dataclass(slots=True)
class GetEvents(Frame):
    """Ask for the unacknowledged events from ``first`` on."""

    CODE: ClassVar[int] = 0x42
    LAYOUT: ClassVar[Struct] = Struct(">H")
    first: int


@dataclass(slots=True)
class Query(Frame):
    """Ask what became of a command; the answer is RESULT."""

    CODE: ClassVar[int] = 0x43
    LAYOUT: ClassVar[Struct] = Struct(">H")
    command_id: int


@dataclass(slots=True)
class Lock(CommandFrame):
    """Lock the shoe."""

    CODE: ClassVar[int] = 0x44


@dataclass(slots=True)
class Unlock(CommandFrame):
    """Unlock the shoe."""

    CODE: ClassVar[int] = 0x45


@dataclass(slots=True)
class Shuffle(CommandFrame):
    """Shuffle."""

    CODE: ClassVar[int] = 0x46


@dataclass(slots=True)
class Deal(CommandFrame):
    """Deal ``packets`` packets of ``cards_each`` cards."""

    CODE: ClassVar[int] = 0x47
    LAYOUT: ClassVar[Struct] = Struct(">HBB")
    packets: int
    cards_each: int


@dataclass(slots=True)
class Stop(CommandFrame):
    """Stop the shuffle or the deal."""

    CODE: ClassVar[int] = 0x48


@dataclass(slots=True)
class ClearFault(CommandFrame):
    """Clear the fault."""

    CODE: ClassVar[int] = 0x49


_DEVICE_FRAMES: Final[tuple[type[Frame], ...]] = (
    Hello, Status, CardOut, CutCard, Cover, ShuffleStarted, ShuffleDone, PacketOut, PacketTaken,
    CardsIn, FaultSet, FaultCleared, Result,
)  # fmt: skip
_HOST_FRAMES: Final[tuple[type[Frame], ...]] = (
    Ack, Nak, GetHello, GetStatus, GetEvents, Query, Lock, Unlock, Shuffle, Deal, Stop, ClearFault,
)  # fmt: skip
FRAMES: Final = {frame.CODE: frame for frame in _DEVICE_FRAMES + _HOST_FRAMES}
_PARSERS: Final = {code: (frame.parse, 3 + frame.LAYOUT.size) for code, frame in FRAMES.items()}
_FIELDS: Final = {frame: tuple(field.name for field in fields(frame)) for frame in FRAMES.values()}


def encode(frame: Frame, seq: int) -> bytes:
    """Wire bytes of a frame; ``seq`` is taken modulo 256. Raises struct.error for a bad field."""
    return encode_frame(bytes((VERSION, frame.CODE, seq & 0xFF)) + frame.payload())


def decode(body: bytes) -> Frame:
    """The frame of a body of at least three bytes, its CRC checked and removed.

    Raises :class:`BadFrame` for another version, an unknown type, a wrong length, a value
    that cannot be.
    """
    if body[0] != VERSION:
        raise BadFrame("another protocol version")
    known = _PARSERS.get(body[1])
    if known is None:
        raise BadFrame("unknown frame type")
    parse, length = known
    if len(body) != length:
        raise BadFrame("wrong length")
    frame = parse(body[3:])
    if isinstance(frame, EventFrame) and not frame.event:
        raise BadFrame("event number 0")
    return frame
