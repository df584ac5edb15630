"""A simulated Bee-Tek / USPC e-shoe: a line for every card, and no ear (protocols.md section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from drivers.base import Send
from drivers.cards import Card
from drivers.fdp_device import Answer, Refused, Verb, flag, whole
from drivers.shoe.bee_tek_lines import ALARM, BURN, GAME, alarm_line, card_line, warning_line
from drivers.shoe.sim_deck import TellingShoe

_ALARM_TEXTS = {3: "Card Not Read"}


class BeeTekSim(TellingShoe):
    """A shoe with the cards ``deck``, first drawn first; by default 52, shuffled by ``seed``.

    Verbs: draw (``card``, ``unread``, ``burn``, ``ten``: T or 10), load (``deck``), jam (``code``,
    ``in_game``), warn (``code``), clear, power-cycle, state. Of a clear or a power cycle nothing is
    heard on the line.
    """

    def __init__(self, deck: Sequence[Card] | None = None, seed: int = 1) -> None:
        super().__init__(deck, seed)
        self._verbs |= {
            "draw": self._do_draw,
            "jam": self._do_jam,
            "warn": self._do_warn,
            "clear": self._do_clear,
            "power-cycle": self._do_power_cycle,
        }

    def received(self, data: bytes, now: int) -> list[Send]:
        """It does not listen."""
        self.counters.dropped("bytes to a shoe that does not listen")
        return []

    def _do_draw(self, verb: Verb) -> Answer:
        unread, burn = flag(verb, "unread", False), flag(verb, "burn", False)
        ten = verb.get("ten", "T")
        if ten not in ("T", "10"):
            raise Refused("ten: T or 10")
        if flag(verb, "face_up", False):
            raise Refused("this shoe does not tell how a card lies in it")
        card = self._life.draw(verb.get("card"))
        self.say(card_line(None if unread else card, BURN if burn else GAME, str(ten)))
        return {"card": card.text, "face_up": False, "left": len(self._life.deck)}

    def _do_jam(self, verb: Verb) -> Answer:
        code = whole(verb, "code", 3, 1, 255)
        if self.fault:
            raise Refused("there is a fault already; clear it first")
        section = GAME if flag(verb, "in_game", False) else ALARM
        self.set_fault(code)
        self.say(alarm_line(code, _ALARM_TEXTS.get(code, "Alarm"), section))
        return {"code": code}

    def _do_warn(self, verb: Verb) -> Answer:
        code = whole(verb, "code", 1, 0, 255)
        self.say(warning_line(code))
        return {"code": code}

    def _do_clear(self, _verb: Verb) -> Answer:
        if not self.fault:
            raise Refused("there is no fault")
        self.set_fault(0)
        return {}

    def _do_power_cycle(self, _verb: Verb) -> Answer:
        self.fault = 0
        self._life.restart()
        return {}
