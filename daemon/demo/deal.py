"""How cards come to the places, from a shuffler and from a shoe (CS-03, CS-07), and what goes wrong.

The cards that are dealt are known here from the devices' own answers, as people know the cards
that lie before them; the table is never asked for one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from daemon.demo.plan import Trouble
from daemon.demo.players import Players
from daemon.demo.staff import Json, Staff
from daemon.games.caribbean.deal import DEALER, HAND
from daemon.games.caribbean.rules import BOXES
from daemon.simhost import Answer, ControlClient, ControlError
from drivers.cards import DECK, Card, parse_card

LOST: Final = 10.0  # seconds after which a card that a ready device did not tell is a misdeal
SLOW: Final = 0.08  # seconds between the moves of a dealer's hands
CARD: Final = 0.015

Hands = dict[int, list[Card]]  # by box, or DEALER


class DealtElsewhere(Exception):
    """The shuffler failed before the first card: the bets stay, the shoe deals (CS-11d)."""


class Deal:
    """One deal. ``order`` is the places in the order of dealing, the dealer last."""

    mode = ""

    def __init__(self, staff: Staff, players: Players, boxes: Sequence[int], trouble: Trouble | None) -> None:
        self.staff = staff
        self.players = players
        self.boxes = boxes
        self.order = [*boxes, DEALER]
        self.trouble = trouble
        self.hands: Hands = {place: [] for place in self.order}

    def deal(self) -> Hands:
        """Deal until everybody has five cards, with what goes wrong on the way. Raises RoundEnded."""
        raise NotImplementedError

    def after(self) -> None:
        """What goes wrong when the last card is out."""
        if self.trouble is Trouble.TWO_EXPOSED:
            for box in self.players.pick(self.boxes, 2):
                self._expose(box)
            self._ended()

    def _expose(self, box: int) -> None:
        self.staff.must("expose", box=box, card=self.players.card())
        self.staff.pause(SLOW)

    def _empty_box(self, first: int) -> None:
        """Card or packet ``first`` lies at a box without a bet (CS-11c)."""
        empty = self.players.pick([box for box in BOXES if box not in self.boxes])[0]
        self.staff.must("empty-box", box=empty, first=first)

    def _by_hand(self, device: ControlClient, verb: str, **args: object) -> Answer:
        """Do something with a device itself, as soon as it lets one. Raises RoundEnded."""
        answers: list[Answer] = []

        def done(_: Json) -> bool:
            with suppress(ControlError):
                answers.append(device.do(verb, **args))
            return bool(answers)

        self.staff.wait_for(f"a device that lets one {verb}", done)
        return answers[0]

    def _await_cards(self, count: int) -> None:
        """Until the table knows of ``count`` cards. What a device lost is a wrong number of cards."""
        lost_at = time.monotonic() + LOST

        def ready(status: Json) -> bool:
            nonlocal lost_at
            if self._failed_before_deal(status):
                raise DealtElsewhere
            if status["not_ready"]:
                lost_at = time.monotonic() + LOST
            return bool(status["cards"]["out"] >= count) or time.monotonic() > lost_at

        if self.staff.wait_for("the cards", ready)["cards"]["out"] < count:
            self.staff.must("misdeal", text="a card left the device and was not told")
            self._ended()

    def _failed_before_deal(self, status: Json) -> bool:
        barred = status["devices"].get(status["shuffler"], {}).get("barred")
        return self.mode == "shuffler" and bool(barred) and status["cards"]["out"] == 0

    def _ended(self) -> None:
        """The round is void: wait until the table says so."""
        self.staff.wait_for("the round to be void", lambda status: False)


class ShufflerDeal(Deal):
    """Five cards at once to each box, from the machine."""

    mode = "shuffler"

    def deal(self) -> Hands:
        """Take packet after packet; the last one's fifth card is turned."""
        places = list(self.order)
        out = 0
        while places:
            out += 1
            cards = self._take(out)
            if self.trouble is Trouble.EMPTY_BOX and out == 1:
                self._empty_box(out)
                continue
            self.hands[places.pop(0)] = cards
            self._meanwhile(out)
        self.staff.wait_for("the last card", lambda status: status["state"] == "deciding")
        self.staff.must("reveal", box="dealer", cards=self.hands[DEALER][HAND - 1].text)
        return self.hands

    def after(self) -> None:
        """The faces are known to nobody, so a card is exposed where it lies."""
        if self.trouble is Trouble.ONE_EXPOSED:
            self._expose(self.players.pick(self.boxes)[0])
        super().after()

    def _take(self, number: int) -> list[Card]:
        self._await_cards(number * HAND)
        self.staff.pause(SLOW)
        taken = self._by_hand(self.staff.world.shuffler, "take")["cards"]
        assert isinstance(taken, list)
        return [parse_card(card) for card in taken]

    def _meanwhile(self, out: int) -> None:
        if self.trouble is Trouble.JAM and out == 1:
            self._by_hand(self.staff.world.shuffler, "jam")
            self._ended()


class ShoeDeal(Deal):
    """One card at a time, from the shoe."""

    mode = "shoe"

    def deal(self) -> Hands:
        """Draw card after card, clockwise, the dealer last."""
        out = 0
        for turn in range(HAND):
            for place in self.order:
                if self.trouble is Trouble.EMPTY_BOX and out == 1:
                    out += 1
                    self._draw(out)
                    self._empty_box(out)
                out += 1
                face_up = self._slips(turn, place)
                self.hands[place].append(self._draw(out, face_up))
        self.staff.wait_for("the last card", lambda status: status["state"] == "deciding")
        return self.hands

    def after(self) -> None:
        """A card too many leaves the shoe."""
        if self.trouble is Trouble.SURPLUS:
            self._by_hand(self.staff.world.shoe, "draw")
            self._ended()

    def _draw(self, number: int, face_up: bool = False) -> Card:
        drawn = self._by_hand(self.staff.world.shoe, "draw", face_up=face_up)
        self._await_cards(number)
        self.staff.pause(CARD)
        return parse_card(str(drawn["card"]))

    def _slips(self, turn: int, place: int) -> bool:
        """Whether this card comes out of the shoe face up."""
        first = self.boxes[0]
        wrong = {
            Trouble.ONE_EXPOSED: [(2, first)],
            Trouble.TWO_EXPOSED: [(1, first), (2, first)],
            Trouble.DEALER_EXPOSED: [(1, DEALER)],
        }
        return self.trouble is not None and (turn, place) in wrong.get(self.trouble, [])


def shuffled_by_hand(staff: Staff, players: Players) -> None:
    """A deck that was shuffled and cut goes whole into the shoe (CS-03)."""
    staff.world.shoe.do("load", deck=players.deck(DECK))
    for act in ("shuffle", "cut"):
        staff.must(act)
        staff.pause(SLOW)


def tidy_shuffler(staff: Staff) -> None:
    """Free a machine that stands still, and put the cards that are out back into it."""
    shuffler = staff.world.shuffler
    state = shuffler.do("state")
    if state["door_open"]:
        shuffler.do("cover", open=False)
    if state["fault"] or state["state"] in ("dealing", "packet_present"):
        shuffler.do("power-cycle")
        state = shuffler.do("state")
    if state["away"]:
        shuffler.do("return")
