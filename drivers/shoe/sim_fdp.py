"""A simulated card shoe that speaks FDP/1: cards in the order of a real deck."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from drivers import fdp
from drivers.cards import Card, FaceDownCard
from drivers.fdp import Outcome
from drivers.fdp_device import Answer, FdpDevice, Refused, Verb, flag
from drivers.shoe.sim_deck import ShoeLife


class ShoeSim(FdpDevice):
    """A shoe with the cards ``deck``, first drawn first; by default 52, shuffled by ``seed``.

    Verbs: draw (``card``, ``face_up``, ``unread``, ``unsure``, ``foreign``), load (``deck``), cut-card,
    cover (``open``), jam (``code``), clear, power-cycle, state. A card that is named is drawn
    from where it lies; if it is not in the shoe, it was slipped in.
    """

    ROLE: ClassVar[fdp.Role] = fdp.Role.SHOE

    def __init__(
        self,
        serial: str = "SHOE0001",
        firmware: str = "SIM-1.0",
        boot: int = 1,
        deck: Sequence[Card] | None = None,
        seed: int = 1,
    ) -> None:
        super().__init__(serial, firmware, boot)
        self._life = ShoeLife(lambda: self.halted, deck, seed)
        self._verbs |= {
            "draw": self._do_draw,
            "load": self._life.load,
            "cut-card": self._do_cut_card,
            "cover": self._do_cover,
        }

    @property
    def locked(self) -> bool:
        return self._life.locked

    # --- what a device of FDP adds

    def state_code(self) -> int:
        return self._life.state.value

    def state_name(self) -> str:
        return self._life.name

    def cards_inside(self) -> int:
        return len(self._life.deck)

    def settle(self) -> None:
        self._life.changed()

    def restart(self) -> None:
        """A shoe comes back unlocked, with its cards where they were."""
        self._life.restart()

    def execute(self, frame: fdp.CommandFrame) -> tuple[Outcome, int]:
        """Lock and unlock always; clear a fault if there is one. Nothing else."""
        match frame:
            case fdp.Lock() | fdp.Unlock():
                self._life.set_lock(isinstance(frame, fdp.Lock))
            case fdp.ClearFault() if self.fault:
                self.clear_fault()
            case _:
                return Outcome.REFUSED, self.state_code()
        return Outcome.DONE, 0

    # --- verbs

    def _do_draw(self, verb: Verb) -> Answer:
        face_up, unread = flag(verb, "face_up", False), flag(verb, "unread", False)
        unsure, foreign = flag(verb, "unsure", False), flag(verb, "foreign", False)
        card = self._life.draw(verb.get("card"))
        face = None if unread or foreign else FaceDownCard(card)
        number = self.tell(fdp.CardOut(self.next_event(), face, face_up, not unsure, foreign))
        return {"card": card.text, "event": number, "face_up": face_up, "left": self.cards_inside()}

    def _do_cut_card(self, _verb: Verb) -> Answer:
        return {"event": self.tell(fdp.CutCard(self.next_event()))}

    def _do_cover(self, verb: Verb) -> Answer:
        moved = flag(verb, "open", True)
        if moved is self._life.cover_open:
            raise Refused("the cover is there already")
        self._life.cover_open = moved
        self.settle()
        return {"event": self.tell(fdp.Cover(self.next_event(), moved)), "open": moved}

    def _do_state(self, verb: Verb) -> Answer:
        return {**super()._do_state(verb), "locked": self.locked, "cover_open": self._life.cover_open}
