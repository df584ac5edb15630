"""What every simulated shoe is, whatever it speaks: a deck, a lock, a cover, and the states of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from transitions import Machine

from drivers.base import Counters, Send
from drivers.cards import DECK, Card, parse_card
from drivers.fdp import ShoeState
from drivers.fdp_device import Answer, Refused, Verb, deck_of


class ShoeLife:
    """The states of a shoe. They follow from four latches; the first one that holds wins.

    ``halted`` tells whether a fault stops it. ``deck`` holds the card that is drawn first at its
    end; it begins with the given cards, first drawn first, or with 52 shuffled by ``seed``.
    """

    state: ShoeState

    def __init__(self, halted: Callable[[], bool], deck: Sequence[Card] | None, seed: int) -> None:
        self._halted_by_fault = halted
        self._random = Random(seed)
        self.deck = self._pile(deck)
        self.locked = False
        self.cover_open = False
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
        self.changed()

    @property
    def name(self) -> str:
        """The state for a person."""
        return self.state.name.lower()

    def changed(self) -> None:
        """A latch changed: take the state that follows."""
        self._fire("settle")

    def restart(self) -> None:
        """A shoe comes back unlocked, with its cards where they were."""
        self.locked = False
        self._fire("power_up")
        self.changed()

    def set_lock(self, locked: bool) -> None:
        self.locked = locked
        self.changed()

    def draw(self, name: object = None) -> Card:
        """The next card, or the one that is named: from where it lies, or slipped in.

        Raises :class:`Refused` where no card can come out.
        """
        if self.state is not ShoeState.READY:
            raise Refused(f"no card can be drawn: the shoe is {self.name.replace('_', ' ')}")
        card = self._take_out(name)
        if not self.deck:
            self.changed()
        return card

    def load(self, verb: Verb) -> Answer:
        """The verb ``load``: the cards of ``deck`` in their order, or 52 shuffled ones."""
        self.deck = self._pile(deck_of(verb))
        self.changed()
        return {"cards": len(self.deck)}

    def _pile(self, deck: Sequence[Card] | None) -> list[Card]:
        if deck is not None:
            return list(reversed(deck))
        pile = list(DECK)
        self._random.shuffle(pile)
        return pile

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

    def _fire(self, trigger: str) -> None:
        self._machine.events[trigger].trigger(self)

    def _halted(self, _event: object) -> bool:
        return self._halted_by_fault()

    def _open(self, _event: object) -> bool:
        return self.cover_open

    def _locked(self, _event: object) -> bool:
        return self.locked

    def _empty(self, _event: object) -> bool:
        return not self.deck


class TellingShoe:
    """A simulated shoe that tells each thing once as it happens: no heartbeat and no clock.

    A subclass adds its verbs to ``_verbs``, says things with :meth:`say`, and reads what the host
    sends in :meth:`received`. ``fault`` is 0 or the code of the one fault that stops it.
    """

    def __init__(self, deck: Sequence[Card] | None, seed: int) -> None:
        self.counters = Counters()
        self.fault = 0
        self._life = ShoeLife(lambda: self.fault != 0, deck, seed)
        self._out: list[Send] = []
        self._verbs: dict[str, Callable[[Verb], Answer]] = {
            "load": self._life.load,
            "cover": self._do_cover,
            "state": self._do_state,
        }

    @property
    def deadline(self) -> int | None:
        """It does nothing of its own accord."""
        return None

    def opened(self, now: int) -> list[Send]:
        """Somebody attached to the line; the shoe does not know."""
        return []

    def received(self, data: bytes, now: int) -> list[Send]:
        """Bytes from the host."""
        raise NotImplementedError

    def tick(self, now: int) -> list[Send]:
        return []

    def control(self, verb: dict[str, object], now: int) -> tuple[dict[str, object], list[Send]]:
        """A test verb of the simulator control; what cannot be done answers an error."""
        name = verb.get("do")
        do = self._verbs.get(name) if isinstance(name, str) else None
        try:
            if do is None:
                raise Refused(f"this shoe does {', '.join(sorted(self._verbs))}")
            answer: Answer = {"ok": True, **do(verb)}
        except Refused as refused:
            answer = {"error": str(refused)}
        return answer, self.said()

    def say(self, data: bytes) -> None:
        """Put bytes on the line."""
        self._out.append(Send(data))
        self.counters.sent += 1

    def said(self) -> list[Send]:
        """What was put on the line since the last call."""
        out, self._out = self._out, []
        return out

    def set_fault(self, code: int) -> None:
        """A fault begins (``code``), or there is none any more (0)."""
        self.fault = code
        self._life.changed()

    def _do_cover(self, _verb: Verb) -> Answer:
        raise Refused("this shoe does not tell of its cover")

    def _do_state(self, _verb: Verb) -> Answer:
        return {
            "state": self._life.name,
            "fault": self.fault,
            "cards": len(self._life.deck),
            "locked": self._life.locked,
            "sent": self.counters.sent,
            "drops": dict(self.counters.drops),
        }
