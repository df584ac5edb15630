"""A simulated shuffling machine that speaks FDP/1. No face ever goes on its line."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import ClassVar, Final

from transitions import EventData, Machine

from drivers import fdp
from drivers.base import MILLISECOND
from drivers.cards import DECK, Card
from drivers.fdp import Outcome, ShufflerState
from drivers.fdp_device import Answer, FdpDevice, Refused, Verb, deck_of, flag, whole

BUSY: Final = (ShufflerState.SHUFFLING, ShufflerState.DEALING, ShufflerState.PACKET_PRESENT)
IDLE: Final = (ShufflerState.EMPTY, ShufflerState.LOADED, ShufflerState.READY, ShufflerState.UNLOADING)
HALTED: Final = (ShufflerState.FAULT, ShufflerState.DOOR_OPEN)
INTERRUPTIBLE: Final = (*IDLE, ShufflerState.DEALING, ShufflerState.PACKET_PRESENT)


class _Life:
    """The states of a shuffler. Of several rows that fit, the first whose condition holds counts."""

    state: ShufflerState

    def __init__(self, shuffler: ShufflerSim) -> None:
        self._shuffler = shuffler
        self._before_halt = ShufflerState.LOADED
        s = ShufflerState
        rows = (
            ("power_up", "*", s.SELF_TEST, None),
            ("passed", s.SELF_TEST, s.LOADED, self._has_cards),
            ("passed", s.SELF_TEST, s.EMPTY, None),
            ("loaded", IDLE, s.LOADED, self._has_cards),
            ("loaded", IDLE, s.EMPTY, None),
            ("shuffle", (s.LOADED, s.READY), s.SHUFFLING, None),
            ("shuffled", s.SHUFFLING, s.READY, None),
            ("deal", (s.READY, s.UNLOADING), s.DEALING, None),
            ("packet_out", s.DEALING, s.PACKET_PRESENT, None),
            ("taken", s.PACKET_PRESENT, s.DEALING, self._has_packets),
            ("taken", s.PACKET_PRESENT, s.UNLOADING, self._has_cards),
            ("taken", s.PACKET_PRESENT, s.EMPTY, None),
            ("stop", s.SHUFFLING, s.LOADED, None),
            ("stop", s.DEALING, s.UNLOADING, self._has_cards),
            ("stop", s.DEALING, s.EMPTY, None),
            ("settle", (*INTERRUPTIBLE, *HALTED), s.FAULT, self._has_fault),
            ("settle", (*INTERRUPTIBLE, *HALTED), s.DOOR_OPEN, self._door_is_open),
            *(("settle", HALTED, back, self._comes_back) for back in INTERRUPTIBLE),
        )
        self._machine = Machine(
            self,
            states=ShufflerState,
            initial=s.SELF_TEST,
            transitions=[
                {"trigger": trigger, "source": source, "dest": dest, "conditions": condition}
                for trigger, source, dest, condition in rows
            ],
            before_state_change=self._remember,
            auto_transitions=False,
            send_event=True,
        )

    def fire(self, trigger: str) -> bool:
        """Whether ``trigger`` is possible in this state; if it is, it was done."""
        event = self._machine.events[trigger]
        return self.state.name in event.transitions and event.trigger(self)

    def _remember(self, _event: EventData) -> None:
        if self.state in INTERRUPTIBLE:
            self._before_halt = self.state

    def _comes_back(self, event: EventData) -> bool:
        return event.transition is not None and event.transition.dest == self._before_halt.name

    def _has_cards(self, _event: EventData) -> bool:
        return bool(self._shuffler.cards)

    def _has_packets(self, _event: EventData) -> bool:
        return self._shuffler.packets_left > 0

    def _has_fault(self, _event: EventData) -> bool:
        return self._shuffler.halted

    def _door_is_open(self, _event: EventData) -> bool:
        return self._shuffler.door_open


class ShufflerSim(FdpDevice):
    """A shuffler with the cards ``deck`` (default: 52), shuffled by its own ``seed``.

    A shuffle takes ``shuffle_time_ms`` and a packet ``packet_time_ms`` of the time it is told.
    A jam or an open door ends a shuffle, whose order is then worth nothing, and holds up a deal.
    Verbs: take (``index``), return (``count``), load (``deck``), cover (``open``), jam (``code``),
    clear, power-cycle, state. ``take`` answers the faces to whoever holds the cards.
    """

    ROLE: ClassVar[fdp.Role] = fdp.Role.SHUFFLER

    def __init__(
        self,
        serial: str = "SHUF0001",
        firmware: str = "SIM-1.0",
        boot: int = 1,
        deck: Sequence[Card] | None = None,
        seed: int = 1,
        shuffle_time_ms: int = 800,
        packet_time_ms: int = 100,
    ) -> None:
        super().__init__(serial, firmware, boot)
        self._random = Random(seed)
        self._shuffle_time = shuffle_time_ms * MILLISECOND
        self._packet_time = packet_time_ms * MILLISECOND
        self.cards = list(DECK if deck is None else deck)  # the last one is dealt first
        self.packet: list[Card] = []
        self.away: list[Card] = []  # dealt and not yet returned
        self.packets_left = 0
        self.door_open = False
        self._cards_each = self._index = 0
        self._shuffle_id = 0
        self._command_id = -1  # of the shuffle or deal that is being done
        self._due = 0
        self._life = _Life(self)
        self._life.fire("passed")
        self._verbs |= {
            "take": self._do_take,
            "return": self._do_return,
            "load": self._do_load,
            "cover": self._do_cover,
        }

    # --- what a device of FDP adds

    def state_code(self) -> int:
        return self._life.state.value

    def state_name(self) -> str:
        return self._life.state.name.lower()

    def cards_inside(self) -> int:
        return len(self.cards) + len(self.packet)

    @property
    def life_deadline(self) -> int | None:
        """When the shuffle ends or the next packet comes out (ns)."""
        moving = self._life.state in (ShufflerState.SHUFFLING, ShufflerState.DEALING)
        return self._due if moving else None

    def live(self) -> None:
        """The shuffle ends, or a packet comes out."""
        if self._life.fire("shuffled"):
            self._random.shuffle(self.cards)
            self.tell(fdp.ShuffleDone(self.next_event(), self._shuffle_id, len(self.cards)))
            self._end(Outcome.DONE)
        elif self._life.fire("packet_out"):
            self.packets_left -= 1
            self.packet = [self.cards.pop() for _ in range(self._cards_each)]
            self.tell(fdp.PacketOut(self.next_event(), self._index, len(self.packet)))

    def settle(self) -> None:
        """Halt for a fault or an open door, or go on where it was halted."""
        if self.halted or self.door_open:
            self._abandon_shuffle()
        if self._life.fire("settle"):
            self._due = self.now + self._packet_time
            if not self.packets_left:
                self._life.fire("stop")  # the deal was stopped while it was held up

    def restart(self) -> None:
        """The cards stay where they are; a packet in the output is taken out by hand."""
        self.away += self.packet
        self.packet = []
        self.packets_left = 0
        self._command_id = -1
        self._life.fire("power_up")
        self._life.fire("passed")
        self.settle()

    # --- commands

    def execute(self, frame: fdp.CommandFrame) -> tuple[Outcome, int]:
        """Shuffle and deal are accepted and end later; the rest is done at once or refused."""
        match frame:
            case fdp.Shuffle() | fdp.Deal() if self._life.state in BUSY:
                return Outcome.BUSY, self.state_code()
            case fdp.Shuffle() if self._life.fire("shuffle"):
                return self._start_shuffle(frame)
            case fdp.Deal() if self._can_deal(frame) and self._life.fire("deal"):
                return self._start_deal(frame)
            case fdp.Stop():
                self._abandon_shuffle()
                self._abandon_deal()
            case fdp.ClearFault() if self.fault:
                self.clear_fault()
            case _:
                return Outcome.REFUSED, self.state_code()
        return Outcome.DONE, 0

    def _start_shuffle(self, frame: fdp.Shuffle) -> tuple[Outcome, int]:
        self._command_id = frame.command_id
        self._shuffle_id += 1
        self._due = self.now + self._shuffle_time
        self.tell(fdp.ShuffleStarted(self.next_event(), self._shuffle_id))
        return Outcome.ACCEPTED, 0

    def _can_deal(self, frame: fdp.Deal) -> bool:
        return 0 < frame.packets * frame.cards_each <= len(self.cards)

    def _start_deal(self, frame: fdp.Deal) -> tuple[Outcome, int]:
        self._command_id = frame.command_id
        self.packets_left, self._cards_each, self._index = frame.packets, frame.cards_each, 0
        self._due = self.now + self._packet_time
        return Outcome.ACCEPTED, 0

    def _abandon_shuffle(self) -> None:
        if self._life.state is ShufflerState.SHUFFLING:
            self._life.fire("stop")
            self._end(Outcome.REFUSED, self.fault)

    def _abandon_deal(self) -> None:
        """No more packets; one that is out already still waits to be taken."""
        if self._life.fire("stop") or self.packets_left:
            self.packets_left = 0
            self._end(Outcome.REFUSED)

    def _end(self, outcome: Outcome, detail: int = 0) -> None:
        self.finish(self._command_id, outcome, detail)
        self._command_id = -1

    # --- verbs

    def _do_take(self, verb: Verb) -> Answer:
        if self._life.state is not ShufflerState.PACKET_PRESENT:
            raise Refused(f"no packet can be taken: the shuffler is {self.state_name().replace('_', ' ')}")
        if whole(verb, "index", self._index, 0, 255) != self._index:
            raise Refused(f"packet {self._index} is in the output")
        index, taken, self.packet = self._index, self.packet, []
        self.away += taken
        number = self.tell(fdp.PacketTaken(self.next_event(), index))
        self._life.fire("taken")
        if self.packets_left:
            self._index += 1
            self._due = self.now + self._packet_time
        else:
            self._end(Outcome.DONE)
        return {"index": index, "cards": [card.text for card in taken], "event": number}

    def _do_return(self, verb: Verb) -> Answer:
        if self._life.state not in IDLE:
            raise Refused(f"no cards can be returned: the shuffler is {self.state_name().replace('_', ' ')}")
        if not self.away:
            raise Refused("no cards are out")
        count = whole(verb, "count", len(self.away), 1, len(self.away))
        back, self.away = self.away[:count], self.away[count:]
        self.cards += back
        self._life.fire("loaded")
        return {"event": self.tell(fdp.CardsIn(self.next_event(), count)), "count": count}

    def _do_load(self, verb: Verb) -> Answer:
        deck = deck_of(verb)
        if self._life.state not in IDLE:
            raise Refused(f"no cards can be loaded: the shuffler is {self.state_name().replace('_', ' ')}")
        self.cards = list(DECK if deck is None else deck)
        self.away = []
        self._life.fire("loaded")
        return {"cards": len(self.cards)}

    def _do_cover(self, verb: Verb) -> Answer:
        moved = flag(verb, "open", True)
        if moved is self.door_open:
            raise Refused("the door is there already")
        self.door_open = moved
        number = self.tell(fdp.Cover(self.next_event(), moved))
        self.settle()
        return {"event": number, "open": moved}

    def _do_state(self, verb: Verb) -> Answer:
        return {
            **super()._do_state(verb),
            "packet": len(self.packet),
            "away": len(self.away),
            "door_open": self.door_open,
        }
