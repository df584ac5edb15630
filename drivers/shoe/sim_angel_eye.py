"""A simulated Angel Eye II-EX: a telegram for everything, and three commands (protocols.md section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from drivers.base import Send
from drivers.cards import Card
from drivers.fdp_device import Answer, Refused, Verb, flag, whole
from drivers.shoe.angel_eye_commands import LOCK, UNLOCK
from drivers.shoe.angel_eye_frames import (
    ACK,
    FOREIGN,
    HIGH,
    LOCKED,
    NAK,
    SEQUENCE,
    CommandReader,
    Telegram,
    card_data,
    encode,
)
from drivers.shoe.sim_deck import TellingShoe

UNREADABLE: Final = 1
REFUSED: Final = 0x31  # the code behind NAK, of our own making: what is refused
_HAND: Final = 3  # cards of a baccarat hand at most; the shoe counts its cards into hands


class AngelEyeSim(TellingShoe):
    """A shoe with the cards ``deck``, first drawn first; by default 52, shuffled by ``seed``.

    Verbs: draw (``card``, ``outside`` a game, ``unread``, ``foreign``), retransmit (``numbered``: with
    the next SEQ instead of the card's own), load (``deck``), cut-card, stand-by, result, preset, jam
    (``code``), clear, power-cycle, state. ``executed`` counts the commands that were carried out.
    """

    def __init__(
        self, deck: Sequence[Card] | None = None, seed: int = 1, sequence: str = SEQUENCE, first: str = "1"
    ) -> None:
        super().__init__(deck, seed)
        self.executed: dict[str, int] = {}
        self._sequence, self._place = sequence, sequence.index(first)
        self._reader = CommandReader()
        self._drawn = 0
        self._last_card: Telegram | None = None
        self._verbs |= {
            "draw": self._do_draw,
            "retransmit": self._do_retransmit,
            "cut-card": lambda verb: self._do_plain(b"C"),
            "stand-by": lambda verb: self._do_plain(b"P"),
            "result": lambda verb: self._do_plain(b"G\x81"),
            "preset": lambda verb: self._do_plain(b"M\x81\x82"),
            "jam": self._do_jam,
            "clear": self._do_clear,
            "power-cycle": self._do_power_cycle,
        }

    def received(self, data: bytes, now: int) -> list[Send]:
        """Bytes from the host: each command is answered by 06, or by 15 and a code."""
        for command in self._reader.feed(data):
            if command is None:
                self.counters.dropped("wrong BCC")
                self.say(bytes([NAK, REFUSED]))
            else:
                self.counters.frames += 1
                self._execute(*command)
        return self.said()

    def _execute(self, kind: str, number: int) -> None:
        known = self._knows(kind, number)
        self.say(bytes([ACK]) if known else bytes([NAK, REFUSED]))
        if not known:
            return
        name = f"{kind}{number:02d}"
        self.executed[name] = self.executed.get(name, 0) + 1
        if kind == "LK":
            self._life.set_lock(number == LOCK)
            self._tell(b"L" + bytes([HIGH | (LOCKED if self._life.locked else 0)]))
        elif kind == "EC":
            self._end_fault()

    def _knows(self, kind: str, number: int) -> bool:
        if kind == "EC":
            return number == self.fault != 0
        return (kind, number) in (("LK", LOCK), ("LK", UNLOCK), ("GP", 0))

    def _tell(self, data: bytes) -> Telegram:
        telegram = Telegram(self._sequence[self._place], data)
        self._place = (self._place + 1) % len(self._sequence)
        self.say(encode(telegram))
        return telegram

    def _begin_fault(self, code: int) -> None:
        self.set_fault(code)
        self._tell(b"E" + bytes([HIGH | 0x40 | code]))

    def _end_fault(self) -> None:
        code = self.fault
        self.set_fault(0)
        self._tell(b"e" + bytes([HIGH | 0x40 | code]))

    # --- verbs

    def _do_draw(self, verb: Verb) -> Answer:
        outside, unread, foreign = (flag(verb, key, False) for key in ("outside", "unread", "foreign"))
        if flag(verb, "face_up", False):
            raise Refused("this shoe does not tell how a card lies in it")
        card = self._life.draw(verb.get("card"))
        if unread:
            self._begin_fault(UNREADABLE)
        else:
            self._tell_card("d" if outside else "D", card, foreign)
        return {"card": card.text, "face_up": False, "left": len(self._life.deck)}

    def _tell_card(self, kind: str, card: Card, foreign: bool) -> None:
        target, index = self._drawn // _HAND % 2, self._drawn % _HAND + 1
        self._drawn += 1
        data = card_data(kind, card, target, index)
        self._last_card = self._tell(data[:2] + bytes([FOREIGN]) if foreign else data)

    def _do_retransmit(self, verb: Verb) -> Answer:
        last = self._last_card
        if last is None:
            raise Refused("no card was drawn")
        data = b"R" + last.card
        if flag(verb, "numbered", False):
            self._tell(data)
        else:
            self.say(encode(Telegram(last.seq, data)))
        return {}

    def _do_plain(self, data: bytes) -> Answer:
        return {"seq": self._tell(data).seq}

    def _do_jam(self, verb: Verb) -> Answer:
        code = whole(verb, "code", 4, 1, 63)
        if self.fault:
            raise Refused("there is a fault already; clear it first")
        self._begin_fault(code)
        return {"code": code}

    def _do_clear(self, _verb: Verb) -> Answer:
        if not self.fault:
            raise Refused("there is no fault")
        self._end_fault()
        return {}

    def _do_power_cycle(self, _verb: Verb) -> Answer:
        self.fault = 0
        self._life.restart()
        return self._do_plain(b"S")

    def _do_state(self, verb: Verb) -> Answer:
        return {**super()._do_state(verb), "executed": dict(self.executed)}
