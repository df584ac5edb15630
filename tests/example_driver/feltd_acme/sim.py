"""A simulated Acme shoe: the mirror of the driver, with a deck of its own."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from random import Random
from typing import Final

from drivers.base import MILLISECOND, SECOND, Send
from drivers.cards import DECK, parse_card
from feltd_acme.lines import Splitter, line, words

REPEAT: Final = 250 * MILLISECOND
HEARTBEAT: Final = SECOND
REMEMBERED: Final = 64  # command ids


class AcmeSim:
    """A shoe of 52 cards shuffled by ``seed`` (drivers.base.Simulator).

    Verbs: draw (``card``, ``face_up``, ``unread``), cut-card, power-cycle, state.
    """

    def __init__(self, serial: str = "ACME0001", seed: int = 1, boot: int = 1) -> None:
        self._serial, self._boot = serial, boot
        self._deck = list(DECK)
        Random(seed).shuffle(self._deck)
        self._locked = False
        self._acknowledged = 0
        self._held: deque[tuple[object, ...]] = deque()  # events, the oldest is number acknowledged + 1
        self._carried_out: deque[int] = deque(maxlen=REMEMBERED)
        self._splitter = Splitter()
        self._beat_at: int | None = None
        self._repeat_at = 0

    @property
    def deadline(self) -> int | None:
        if self._beat_at is None:
            return None
        return min(self._beat_at, self._repeat_at) if self._held else self._beat_at

    def opened(self, now: int) -> list[Send]:
        return self.tick(now)

    def received(self, data: bytes, now: int) -> list[Send]:
        out: list[Send] = []
        for each in self._splitter.feed(data):
            with suppress(ValueError):  # what is damaged is not answered: the host repeats it
                out += self._said(words(each), now)
        return out

    def tick(self, now: int) -> list[Send]:
        out: list[Send] = []
        if self._beat_at is None or now >= self._beat_at:
            self._beat_at = now + HEARTBEAT
            out.append(Send(line("BEAT")))
        return out + (self._oldest(now) if now >= self._repeat_at else [])

    def control(self, verb: dict[str, object], now: int) -> tuple[dict[str, object], list[Send]]:
        match verb:
            case {"do": "draw"}:
                return self._draw(verb, now)
            case {"do": "cut-card"}:
                return {"ok": True}, self._tell(now, "CUT")
            case {"do": "power-cycle"}:
                self._boot += 1
                self._held.clear()
                self._acknowledged, self._locked = 0, False
                return {"boot": self._boot}, self._hello()
            case {"do": "state"}:
                return {
                    "cards": len(self._deck),
                    "locked": self._locked,
                    "unacknowledged": len(self._held),
                }, []
        return {"error": "an Acme shoe does cut-card, draw, power-cycle, state"}, []

    def _said(self, said: list[str], now: int) -> list[Send]:
        match said:
            case ["WHO"]:
                return self._hello()
            case ["ACK", number] if int(number) == self._acknowledged + 1 and self._held:
                self._held.popleft()
                self._acknowledged += 1
                return self._oldest(now)
            case [("LOCK" | "UNLOCK") as what, number]:
                if int(number) not in self._carried_out:
                    self._carried_out.append(int(number))
                    self._locked = what == "LOCK"
                return [Send(line("DONE", number))]
        return []

    def _draw(self, verb: dict[str, object], now: int) -> tuple[dict[str, object], list[Send]]:
        if self._locked or not self._deck:
            return {"error": "the shoe is locked" if self._locked else "the shoe is empty"}, []
        try:
            card = parse_card(str(verb["card"])) if "card" in verb else self._deck[-1]
        except ValueError:
            return {"error": "card: not a card"}, []
        if card in self._deck:
            self._deck.remove(card)
        face = "??" if verb.get("unread") is True else card.text
        up = ["UP"] if verb.get("face_up") is True else []
        return {"ok": True, "card": card.text}, self._tell(now, "CARD", face, *up)

    def _tell(self, now: int, *what: object) -> list[Send]:
        self._held.append(what)
        return self._oldest(now) if len(self._held) == 1 else []

    def _oldest(self, now: int) -> list[Send]:
        self._repeat_at = now + REPEAT
        return [Send(line("EVENT", self._acknowledged + 1, *self._held[0]))] if self._held else []

    def _hello(self) -> list[Send]:
        return [Send(line("HELLO", self._serial, self._boot, self._acknowledged + 1))]
