"""Lines of a Bee-Tek / USPC e-shoe: ``[section]<message>`` and CR LF (protocols.md section 3).

Nothing protects a line: a spoilt byte that makes another card cannot be told from that card.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from drivers.cards import DECK, Card, FaceDownCard

MAX_LINE: Final = 256  # bytes; what exceeds them is no line
GAME: Final = "Game"
BURN: Final = "Manual Burn Cards"
ALARM: Final = "GameAlarm"
UNKNOWN_ALARM: Final = 0

LOOKS_LIKE: Final = 0.7  # of 1: a word with one spoilt letter in four
_KINDS: Final = ("Card", "Alarm", GAME)
_MESSAGE: Final = re.compile(r"\s*(?:\[([^][<>]{1,64})\])?\s*<([^][<>]{1,128})>\s*")
_ALARM_CODE: Final = re.compile(r"E([0-9A-F]{1,2})\b")
_WARNING: Final = re.compile(r"W0x([0-9A-Fa-f]{1,2})")
_FACES: Final = {card.text: card for card in DECK} | {
    card.text.replace("10", "T"): card for card in DECK if card.rank == 10
}


class BadLine(ValueError):
    """Bytes that are no line of this protocol. The text is one of a few, and tells no face."""


@dataclass(frozen=True, slots=True)
class CardOut:
    """A card left the shoe; ``face`` is None where it was not read, or came spoilt."""

    face: FaceDownCard | None


@dataclass(frozen=True, slots=True)
class Alarm:
    """The shoe stopped; ``code`` is the number behind the E, 0 to 255, 0 where there is none."""

    code: int


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder; ``code`` is 0 to 255."""

    code: int


@dataclass(frozen=True, slots=True)
class Other:
    """A whole message that says nothing of cards or alarms."""


Said = CardOut | Alarm | Reminder | Other


def card_line(card: Card | None, section: str = GAME, ten: str = "T") -> bytes:
    """The line for a card, or for one that was not read; ``ten`` is T or 10."""
    body = GAME if card is None else f"Card:{card.text.replace('10', ten)}"
    return line(f"[{section}]<{body}>")


def alarm_line(code: int, text: str, section: str = ALARM) -> bytes:
    """The line for an alarm, ``code`` 0 to 255."""
    return line(f"[{section}]<Alarm:E{code:X} {text}>")


def warning_line(code: int) -> bytes:
    """The line for a warning, ``code`` 0 to 255."""
    return line(f"<W0x{code:02X}>", "")


def line(text: str, blank: str = " ") -> bytes:
    """A line as the shoe sends it."""
    return f"{blank}{text}{blank}\r\n".encode("ascii")


def parse(data: bytes) -> list[Said]:
    """What a line says; two where the end of the first was lost. Raises :class:`BadLine`."""
    if not data.isascii():
        raise BadLine("not ASCII")
    text, place, said = data.decode("ascii"), 0, []
    while place < len(text):
        found = _MESSAGE.match(text, place)
        if found is None:
            raise BadLine("no line of this shoe")
        said.append(_said(found[1], found[2].strip()))
        place = found.end()
    return said


def _said(section: str | None, message: str) -> Said:
    warning = _WARNING.fullmatch(message)
    if warning:
        return Reminder(int(warning[1], 16))
    if section is None:
        raise BadLine("no section")
    kind, colon, rest = message.partition(":")
    if kind == "Card" and colon:
        return CardOut(_face(rest.strip()))
    if kind == "Alarm" and colon:
        code = _ALARM_CODE.match(rest.strip())
        return Alarm(int(code[1], 16) if code else UNKNOWN_ALARM)
    if message in (GAME, section):
        return CardOut(None)
    if get_close_matches(kind, _KINDS, 1, LOOKS_LIKE):
        raise BadLine("a spoilt word")  # it may have been a card
    return Other()


def _face(name: str) -> FaceDownCard | None:
    """The face of a name in capitals: in small letters it was spoilt on the way."""
    card = _FACES.get(name)
    return FaceDownCard(card) if card else None


class Splitter:
    """Cuts a byte stream into lines at CR, LF or both; the same lines for any chunking.

    Holds at most one line. One that is too long is told once, as None, and skipped to its end.
    """

    __slots__ = ("_pending", "_skipping")

    def __init__(self) -> None:
        self._pending = b""
        self._skipping = False

    @property
    def half(self) -> bool:
        """Whether a line has begun and not ended."""
        return bool(self._pending.strip())

    def feed(self, data: bytes) -> list[bytes | None]:
        """The lines that ended, without their ends; empty ones are left out. Never raises."""
        pieces = (self._pending + data).replace(b"\r", b"\n").split(b"\n")
        rest = pieces.pop()
        out: list[bytes | None] = []
        for piece in pieces:
            self._whole(piece, out)
        self._keep(rest, out)
        return out

    def take_half(self) -> bytes:
        """The line that has begun, which is over now."""
        half, self._pending = self._pending, b""
        return half

    def _whole(self, piece: bytes, out: list[bytes | None]) -> None:
        if self._skipping:
            self._skipping = False
        elif len(piece) > MAX_LINE:
            out.append(None)
        elif piece.strip():
            out.append(piece)

    def _keep(self, rest: bytes, out: list[bytes | None]) -> None:
        if not self._skipping and len(rest) > MAX_LINE:
            self._skipping = True
            out.append(None)
        self._pending = b"" if self._skipping else rest
