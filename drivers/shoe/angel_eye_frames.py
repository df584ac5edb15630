"""Telegrams and commands of the Angel Eye II-EX (protocols.md section 2).

Shoe to host ``05 SEQ DATA 03 BCC``, host to shoe ``02 'OP' TYPE DATA 03 BCC``, answered by ``06`` or ``15``
and a code. The BCC is an XOR: it finds every error of one bit, and not two in the same bit of two bytes,
nor bytes that changed places. The single bytes ``06`` and ``15`` are not protected at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import xor
from typing import Final

from drivers.base import CardDrawn
from drivers.cards import DECK, Card, FaceDownCard
from drivers.fdp import byte_from_card

STX: Final = 0x02
ETX: Final = 0x03
ENQ: Final = 0x05
ACK: Final = 0x06
NAK: Final = 0x15
HIGH: Final = 0x80  # set in every binary data byte
LOCKED: Final = 0x01
SEQUENCE: Final = "123456789ABCDEF"  # as far as it was seen
LONGEST: Final = 64  # bytes of a telegram from SEQ to BCC; the known ones have at most 7
UNREAD: Final = HIGH
FOREIGN: Final = 0xFF  # what our simulator reads on a card that is none of the 52

_BCC_BYTES: Final = 2
# Bytes after the letter; an M may be of any length.
_DATA_BYTES: Final = {"S": 0, "P": 0, "C": 0, "G": 1, "D": 2, "d": 2, "R": 2, "E": 1, "e": 1, "L": 1}
_CARDS: Final = {HIGH | byte_from_card(card): card for card in DECK}

ERROR_TEXTS: Final = {
    1: "A card could not be read.",
    2: "More cards were drawn than the game takes.",
    3: "A button was pressed at the wrong time.",
    4: "A card ran backwards.",
    5: "A card ran backwards.",
    6: "The code on a card is wrong.",
    7: "A card was not drawn in time.",
}


def error_text(code: int) -> str:
    """A plain sentence for an error, 0 to 63."""
    return ERROR_TEXTS.get(code) or f"The shoe reports error {code}, which is not known."


@dataclass(frozen=True, slots=True)
class Telegram:
    """What the shoe says: ``seq`` one character, ``data`` from the letter on. A card's face is in it."""

    seq: str
    data: bytes = field(repr=False)

    @property
    def kind(self) -> str:
        """The letter: S P C G D d R E e L M, or one that is not known."""
        return chr(self.data[0])

    @property
    def is_card(self) -> bool:
        return self.kind in "DdR"

    @property
    def card(self) -> bytes:
        """Target, index and face of a card; the same for its retransmission."""
        return self.data[1:]

    def drawn(self) -> CardDrawn:
        """The card of a D, d or R: unread where its byte is 80, foreign where it is none of the 52."""
        byte = self.data[2]
        card = _CARDS.get(byte)
        foreign = card is None and byte != UNREAD
        return CardDrawn(FaceDownCard(card) if card else None, foreign=foreign)


@dataclass(frozen=True, slots=True)
class Answer:
    """The shoe's answer to a command: ``code`` None for 06, otherwise what came after 15."""

    code: int | None


@dataclass(frozen=True, slots=True)
class Damaged:
    """A telegram was begun, and is lost."""

    reason: str


@dataclass(frozen=True, slots=True)
class Noise:
    """Bytes between telegrams that are no answer."""

    reason: str = "bytes between telegrams"


Piece = Telegram | Answer | Damaged | Noise


def bcc(data: bytes) -> bytes:
    """The XOR of all bytes, two upper-case hexadecimal digits."""
    return b"%02X" % reduce(xor, data, 0)


def encode(telegram: Telegram) -> bytes:
    """The wire bytes of a telegram."""
    covered = telegram.seq.encode("ascii") + telegram.data + bytes([ETX])
    return bytes([ENQ]) + covered + bcc(covered)


def card_data(kind: str, card: Card | None, target: int = 0, index: int = 1) -> bytes:
    """The DATA of a card: ``kind`` D, d or R, ``target`` 0 to 7, ``index`` 0 to 15; None: not read."""
    byte = UNREAD if card is None else HIGH | byte_from_card(card)
    return kind.encode("ascii") + bytes([HIGH | target << 4 | index, byte])


def command(kind: str, number: int) -> bytes:
    """A command, ``kind`` LK, EC or GP, ``number`` 0 to 99. Its BCC covers STX, as in the
    specification's example."""
    covered = bytes([STX]) + f"OP{kind}{number:02d}".encode("ascii") + bytes([ETX])
    return covered + bcc(covered)


def parse_command(frame: bytes) -> tuple[str, int] | None:
    """Kind and number of a command, its BCC with or without STX; None if it is none."""
    covered, digits = frame[:-_BCC_BYTES], frame[-_BCC_BYTES:]
    number = covered[5:7]
    if covered[:3] != b"\x02OP" or len(covered) != 8 or covered[-1] != ETX or not number.isdigit():
        return None
    if digits not in (bcc(covered), bcc(covered[1:])):
        return None
    return covered[3:5].decode("latin-1"), int(number)


def _decode(body: bytes) -> Piece:
    """What stands between ENQ and the last digit of the BCC."""
    covered, digits = body[:-_BCC_BYTES], body[-_BCC_BYTES:]
    if bcc(covered) != digits:
        return Damaged("wrong BCC")
    seq, data = covered[:1], covered[1:-1]
    if not data or not seq.isalnum() or not data[:1].isalpha():
        return Damaged("not a telegram")
    wanted = _DATA_BYTES.get(chr(data[0]))
    if wanted is not None and (len(data) != 1 + wanted or any(byte < HIGH for byte in data[1:])):
        return Damaged("not the data of this telegram")
    return Telegram(seq.decode("ascii"), data)


class Reader:
    """Cuts the shoe's bytes into telegrams and answers; the same ones for any chunking.

    Holds at most one telegram. After damage or noise only an ENQ begins anew: a 06 there may be the
    rest of something else.
    """

    __slots__ = ("_answers", "_body", "_code_due", "_end")

    def __init__(self) -> None:
        self._body: bytearray | None = None  # of the telegram that has begun
        self._end = 0  # its length, once its ETX came
        self._answers = True  # 06 and 15 are answers here
        self._code_due = False

    @property
    def half(self) -> bool:
        """Whether a telegram has begun and not ended."""
        return self._body is not None

    def calm(self) -> None:
        """The line was quiet: what comes next is no rest of something else."""
        if not self.half:
            self._answers = True

    def feed(self, data: bytes) -> list[Piece]:
        """Everything that is complete. Never raises."""
        out: list[Piece] = []
        for byte in data:
            self._byte(byte, out)
        return out

    def give_up(self) -> Damaged:
        """The telegram that has begun does not end."""
        self._body, self._answers = None, False
        return Damaged("half a telegram")

    def _byte(self, byte: int, out: list[Piece]) -> None:
        if byte == ENQ:
            self._begin(out)
        elif self._body is not None:
            self._body.append(byte)
            self._inside(self._body, byte, out)
        elif self._code_due:
            self._code_due = False
            out.append(Answer(byte))
        elif byte == ACK and self._answers:
            out.append(Answer(None))
        elif byte == NAK and self._answers:
            self._code_due = True
        elif self._answers:
            self._answers = False
            out.append(Noise())

    def _begin(self, out: list[Piece]) -> None:
        if self._body is not None:
            out.append(Damaged("telegram broken off"))
        if self._code_due:
            self._code_due = False
            out.append(Answer(0))
        self._body, self._end = bytearray(), 0

    def _inside(self, body: bytearray, byte: int, out: list[Piece]) -> None:
        if self._end:
            if len(body) == self._end:
                self._finish(_decode(bytes(body)), out)
        elif byte == ETX:
            self._end = len(body) + _BCC_BYTES
        elif byte in (STX, ACK, NAK):
            self._finish(Damaged("control byte in a telegram"), out)
        elif len(body) >= LONGEST:
            self._finish(Damaged("telegram too long"), out)

    def _finish(self, piece: Piece, out: list[Piece]) -> None:
        self._body, self._answers = None, isinstance(piece, Telegram)
        out.append(piece)


class CommandReader:
    """Cuts the host's bytes into commands: the shoe's side. None stands for what is none."""

    _LENGTH: Final = 10

    def __init__(self) -> None:
        self._pending = b""

    def feed(self, data: bytes) -> list[tuple[str, int] | None]:
        """Every command that is complete. Never raises."""
        out: list[tuple[str, int] | None] = []
        for byte in data:
            self._pending = bytes([STX]) if byte == STX else self._pending + bytes([byte])
            if self._pending[0] != STX:
                self._pending = b""
            elif len(self._pending) == self._LENGTH:
                out.append(parse_command(self._pending))
                self._pending = b""
        return out
