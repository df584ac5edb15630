"""A simulated card shoe that speaks FDP/1: cards in the order of a real deck."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import ClassVar

from transitions import Machine

from drivers import fdp
from drivers.cards import DECK, Card, FaceDownCard, parse_card
from drivers.fdp import Outcome, ShoeState
from drivers.fdp_device import Answer, FdpDevice, Refused, Verb, deck_of, flag


class _Life:
    """The states of a shoe. They follow from four latches; the first one that holds wins."""

    state: ShoeState

    def __init__(self, shoe: ShoeSim) -> None:
        self._shoe = shoe
        self._machine = Machine(
            self,
            states=ShoeState,
            initial=ShoeState.SELF_TEST,
            transitions=[
                {"trigger": "power_up", "source": "*", "dest": ShoeState.SELF_TEST},
                *(
                    {"trigger": "settle", "source": "*", "dest": dest, "conditions": conditions}
                    for dest, conditions in (
                        (ShoeState.FAULT, [self._halted]),
                        (ShoeState.COVER_OPEN, [self._open]),
                        (ShoeState.LOCKED, [self._locked]),
                        (ShoeState.EMPTY, [self._empty]),
                        (ShoeState.READY, []),
                    )
                ),
            ],
            auto_transitions=False,
            send_event=True,
        )

    def fire(self, trigger: str) -> None:
        self._machine.events[trigger].trigger(self)

    def _halted(self, _event: object) -> bool:
        return self._shoe.halted

    def _open(self, _event: object) -> bool:
        return self._shoe.cover_open

    def _locked(self, _event: object) -> bool:
        return self._shoe.locked

    def _empty(self, _event: object) -> bool:
        return not self._shoe.deck


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
        self._random = Random(seed)
        self.deck = self._pile(deck)
        self.locked = False
        self.cover_open = False
        self._life = _Life(self)
        self.settle()
        self._verbs |= {
            "draw": self._do_draw,
            "load": self._do_load,
            "cut-card": self._do_cut_card,
            "cover": self._do_cover,
        }

    def _pile(self, deck: Sequence[Card] | None) -> list[Card]:
        """The cards with the one that is drawn first at the end."""
        if deck is not None:
            return list(reversed(deck))
        pile = list(DECK)
        self._random.shuffle(pile)
        return pile

    # --- what a device of FDP adds

    def state_code(self) -> int:
        return self._life.state.value

    def state_name(self) -> str:
        return self._life.state.name.lower()

    def cards_inside(self) -> int:
        return len(self.deck)

    def settle(self) -> None:
        self._life.fire("settle")

    def restart(self) -> None:
        """A shoe comes back unlocked, with its cards where they were."""
        self.locked = False
        self._life.fire("power_up")
        self.settle()

    def execute(self, frame: fdp.CommandFrame) -> tuple[Outcome, int]:
        """Lock and unlock always; clear a fault if there is one. Nothing else."""
        match frame:
            case fdp.Lock() | fdp.Unlock():
                self.locked = isinstance(frame, fdp.Lock)
                self.settle()
            case fdp.ClearFault() if self.fault:
                self.clear_fault()
            case _:
                return Outcome.REFUSED, self.state_code()
        return Outcome.DONE, 0

    # --- verbs

    def _do_draw(self, verb: Verb) -> Answer:
        face_up, unread, unsure, foreign = (
            flag(verb, key, False) for key in ("face_up", "unread", "unsure", "foreign")
        )
        if self._life.state is not ShoeState.READY:
            raise Refused(f"no card can be drawn: the shoe is {self.state_name().replace('_', ' ')}")
        card = self._take_out(verb.get("card"))
        face = None if unread or foreign else FaceDownCard(card)
        number = self.tell(fdp.CardOut(self.next_event(), face, face_up, not unsure, foreign))
        if not self.deck:
            self.settle()
        return {"card": card.text, "event": number, "face_up": face_up, "left": len(self.deck)}

    def _take_out(self, name: object) -> Card:
        if name is None:
            return self.deck.pop()
        try:
            card = parse_card(str(name))
        except ValueError:
            raise Refused("card: not a card") from None
        for place in range(len(self.deck) - 1, -1, -1):
            if self.deck[place] is card:
                return self.deck.pop(place)
        return card

    def _do_load(self, verb: Verb) -> Answer:
        self.deck = self._pile(deck_of(verb))
        self.settle()
        return {"cards": len(self.deck)}

    def _do_cut_card(self, _verb: Verb) -> Answer:
        return {"event": self.tell(fdp.CutCard(self.next_event()))}

    def _do_cover(self, verb: Verb) -> Answer:
        moved = flag(verb, "open", True)
        if moved is self.cover_open:
            raise Refused("the cover is there already")
        self.cover_open = moved
        self.settle()
        return {"event": self.tell(fdp.Cover(self.next_event(), moved)), "open": moved}

    def _do_state(self, verb: Verb) -> Answer:
        return {**super()._do_state(verb), "locked": self.locked, "cover_open": self.cover_open}
