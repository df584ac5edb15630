"""A simulated ReShuffled machine: it does one request after the other, and answers each when it is done."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from enum import Enum
from random import Random
from typing import Final

from transitions import EventData, Machine

from drivers.base import MILLISECOND, Drop, Send
from drivers.cards import DECK, Card
from drivers.fdp_device import Answer, Refused, Verb, deck_of, whole
from drivers.shuffler.reshuffled import INIT, OK, SHUFFLE, LineReader, frame

SHUTDOWN: Final = "XX"
BOOT_TIME: Final = 300 * MILLISECOND
PENDING: Final = 4  # requests that wait in the machine's receive buffer; further ones are lost

# The published description names codes 1 to 3 and leaves their meaning open; this is ours.
NOT_INITIALISED, TOO_FEW_CARDS, JAM, NO_REQUEST = 1, 2, 3, 4


class Life(Enum):
    """What the machine is doing."""

    OFF = "off"
    BOOTING = "booting"
    STARTED = "started"  # has power, is not initialised
    READY = "ready"
    SHUFFLING = "shuffling"
    DEALING = "dealing"
    JAMMED = "jammed"


ROWS: Final[list[list[str | Enum]]] = [
    # trigger, from, to, conditions
    ["power_on", Life.OFF, Life.BOOTING],
    ["booted", Life.BOOTING, Life.STARTED],
    ["power_off", Life.BOOTING, Life.OFF],
    ["power_off", Life.STARTED, Life.OFF],
    ["power_off", Life.READY, Life.OFF],
    ["power_off", Life.SHUFFLING, Life.OFF],
    ["power_off", Life.DEALING, Life.OFF],
    ["power_off", Life.JAMMED, Life.OFF],
    ["init", Life.STARTED, Life.READY],
    ["init", Life.READY, Life.READY],
    ["init", Life.JAMMED, Life.READY, "_is_free"],
    ["shuffle", Life.READY, Life.SHUFFLING, "_has_cards"],
    ["deal", Life.READY, Life.DEALING, "_has_cards"],
    ["ended", Life.SHUFFLING, Life.READY],
    ["ended", Life.DEALING, Life.READY],
    ["jam", Life.READY, Life.JAMMED],
    ["jam", Life.SHUFFLING, Life.JAMMED],
    ["jam", Life.DEALING, Life.JAMMED],
]


class ReShuffledSim:
    """The machine's side of the wire, with the cards ``deck`` (default: 52), shuffled by ``seed``.

    ``at_once``: OK means that the request was taken, not that it is done. Packets that are not taken out
    lie on each other. Verbs: take, return (``count``), load (``deck``), jam, clear, power-cycle,
    lose-answers (``count``), state. ``take`` answers the faces to whoever holds the cards.
    """

    def __init__(
        self,
        seed: int = 1,
        deck: Sequence[Card] | None = None,
        shuffle_time_ms: int = 800,
        card_time_ms: int = 20,
        *,
        at_once: bool = False,
    ) -> None:
        self.requests: Counter[str] = Counter()  # carried out, by their letters
        self.cards = list(DECK if deck is None else deck)  # the last one is dealt first
        self.tray: list[Card] = []
        self.away: list[Card] = []
        self._random = Random(seed)
        self._shuffle_time, self._card_time = shuffle_time_ms * MILLISECOND, card_time_ms * MILLISECOND
        self._at_once = at_once
        self.life: Life = Life.STARTED
        self._machine = Machine(
            model=self,
            states=Life,
            transitions=ROWS,
            initial=Life.STARTED,
            auto_transitions=False,
            send_event=True,
            ignore_invalid_triggers=True,
            model_attribute="life",
        )
        self._reader = LineReader()
        self._pending: deque[str] = deque(maxlen=PENDING)
        self._due: int | None = None
        self._dealing = 0
        self._blocked = False
        self._lose = 0
        self._out: list[Send] = []
        self._verbs: dict[str, Callable[[Verb, int], Answer]] = {
            "take": self._take,
            "return": self._return,
            "load": self._load,
            "jam": self._jam,
            "clear": self._unblock,
            "power-cycle": self._power_cycle,
            "lose-answers": self._lose_answers,
            "state": self._state,
        }

    # --- the simulator protocol ----------------------------------------------------------

    @property
    def deadline(self) -> int | None:
        """When what it is doing ends (ns); None when it does nothing."""
        return self._due

    def opened(self, now: int) -> list[Send]:
        """The machine does not notice."""
        return self.tick(now)

    def received(self, data: bytes, now: int) -> list[Send]:
        """Requests; a frame that is none is dropped without a word."""
        self._live(now)
        if self.life in (Life.OFF, Life.BOOTING):
            return self._sent()
        found = self._reader.feed(data)
        self._pending.extend(item for item in found if not isinstance(item, Drop))
        self._work(now)
        return self._sent()

    def tick(self, now: int) -> list[Send]:
        """Ends what is due."""
        self._live(now)
        return self._sent()

    def control(self, verb: dict[str, object], now: int) -> tuple[dict[str, object], list[Send]]:
        """A test verb; what cannot be done answers an error."""
        self._live(now)
        name = verb.get("do")
        do = self._verbs.get(name) if isinstance(name, str) else None
        try:
            if do is None:
                raise Refused(f"this shuffler does {', '.join(sorted(self._verbs))}")
            answer: Answer = {"ok": True, **do(verb, now)}
        except Refused as refused:
            answer = {"error": str(refused)}
        return answer, self._sent()

    def _sent(self) -> list[Send]:
        out, self._out = self._out, []
        return out

    # --- requests ------------------------------------------------------------------------

    def _fire(self, trigger: str) -> bool:
        return bool(self._machine.events[trigger].trigger(self))

    def _is_free(self, _event: EventData) -> bool:
        return not self._blocked

    def _has_cards(self, _event: EventData) -> bool:
        return len(self.cards) >= max(1, self._dealing)

    def _live(self, now: int) -> None:
        if self._due is None or now < self._due:
            return
        self._due = None
        if self._fire("booted"):
            return
        if self.life is Life.SHUFFLING:
            self._random.shuffle(self.cards)
        else:
            self.tray += [self.cards.pop() for _ in range(self._dealing)]
        self._dealing = 0
        self._fire("ended")
        if not self._at_once:
            self._say(OK)
        self._work(now)

    def _work(self, now: int) -> None:
        while self._pending and self._due is None:
            self._do(self._pending.popleft(), now)

    def _do(self, request: str, now: int) -> None:
        self.requests[request[:1] if request[1:].isdecimal() else request] += 1
        if request == INIT:
            self._say(OK if self._fire("init") else f"E{JAM}")
        elif request == SHUTDOWN:
            self._say(OK)
            self._switch_off()
        elif request == SHUFFLE:
            self._start("shuffle", self._shuffle_time, now)
        elif request[0] in "DA" and request[1:].isdecimal():
            self._dealing = int(request[1:])
            self._start("deal", self._card_time * self._dealing, now)
        else:
            self._say(f"E{NO_REQUEST}")

    def _start(self, trigger: str, takes: int, now: int) -> None:
        if self._fire(trigger):
            self._due = now + takes
            if self._at_once:
                self._say(OK)
            return
        self._dealing = 0
        why = {Life.JAMMED: JAM, Life.READY: TOO_FEW_CARDS}.get(self.life, NOT_INITIALISED)
        self._say(f"E{why}")

    def _say(self, data: str) -> None:
        if self._lose:
            self._lose -= 1
            return
        self._out.append(Send(frame(data)))

    def _switch_off(self) -> None:
        self._fire("power_off")
        self._due, self._dealing = None, 0
        self._pending.clear()
        self._reader.clear()

    # --- verbs ---------------------------------------------------------------------------

    def _take(self, _verb: Verb, _now: int) -> Answer:
        if not self.tray:
            raise Refused("nothing lies in the output")
        taken, self.tray = self.tray, []
        self.away += taken
        return {"cards": [card.text for card in taken]}

    def _return(self, verb: Verb, _now: int) -> Answer:
        if not self.away:
            raise Refused("no cards are out")
        count = whole(verb, "count", len(self.away), 1, len(self.away))
        back, self.away = self.away[:count], self.away[count:]
        self.cards += back
        return {"count": count}

    def _load(self, verb: Verb, _now: int) -> Answer:
        deck = deck_of(verb)
        if self._due is not None:
            raise Refused(f"no cards can be loaded: the shuffler is {self.life.value}")
        self.cards, self.tray, self.away = list(DECK if deck is None else deck), [], []
        return {"cards": len(self.cards)}

    def _jam(self, _verb: Verb, now: int) -> Answer:
        busy = self._due is not None
        if not self._fire("jam"):
            raise Refused(f"the shuffler is {self.life.value}")
        self._blocked, self._due, self._dealing = True, None, 0
        if busy and not self._at_once:
            self._say(f"E{JAM}")
        self._work(now)
        return {"code": JAM}

    def _unblock(self, _verb: Verb, _now: int) -> Answer:
        """The cards are taken out of the way; the machine still wants to be initialised."""
        if not self._blocked:
            raise Refused("nothing is jammed")
        self._blocked = False
        return {}

    def _power_cycle(self, _verb: Verb, now: int) -> Answer:
        self._switch_off()
        self._fire("power_on")
        self._due = now + BOOT_TIME
        return {}

    def _lose_answers(self, verb: Verb, _now: int) -> Answer:
        self._lose = whole(verb, "count", 1, 0, 1_000_000)
        return {}

    def _state(self, _verb: Verb, _now: int) -> Answer:
        return {
            "state": self.life.value,
            "cards": len(self.cards),
            "tray": len(self.tray),
            "away": len(self.away),
            "requests": dict(self.requests),
        }
