"""A five-card stud table for tests, and short words for what its dealer and players do.

Amounts are minor units: the scenarios' 1.00 is 100.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from daemon.games.desk import Act, Note, RoundClosed, TimeUp
from daemon.games.five_card import FiveCard, FiveCardRules
from daemon.games.five_card.round import HOLE, Round
from daemon.games.five_card.rules import FORTY
from daemon.rig import BY_HAND, Device, Rig
from daemon.table import FromDevice, LinkChanged, Outcome, Table
from drivers.base import CardDrawn, DeviceEvent
from drivers.cards import Card, FaceDownCard, parse_card

UNIT: Final = 100
RULES: Final = FiveCardRules(ante=2_000, seats=8)
HIGH: Final = replace(RULES, ante=10_000)
SOURCES: Final = ("shoe", BY_HAND)


def rules(**changes: Any) -> FiveCardRules:
    """The usual rules with some of them changed."""
    return replace(RULES, **changes)


class Floor:
    """One five-card table and its people. Every input goes through ``Table.handle``."""

    def __init__(self, house: FiveCardRules = RULES, mode: str = BY_HAND, compiled: bool = False) -> None:
        self.game = FiveCard(house, compiled=compiled)
        roles = {"shoe": "shoe", "old-shoe": "shoe", "sign": "sign"}
        devices = {name: Device(name, role, ready=True) for name, role in roles.items()}
        self.table = Table("T", self.game, Rig(devices, mode, sources=SOURCES, needs_sign=False))
        self.seq = 0
        self.events = 0
        self.last = Outcome()
        self.notes: list[Note] = []
        self.closed: list[dict[str, Any]] = []
        self.hole: dict[int, str] = {}  # what the players hold, where no shoe told it

    # --- inputs ---------------------------------------------------------------------------

    def take(self, item: Any) -> Outcome:
        self.seq += 1
        self.last = self.table.handle(item, self.seq, f"2026-01-01T00:00:00.{self.seq:06d}Z")
        for effect in self.last.effects:
            if isinstance(effect, Note):
                self.notes.append(effect)
            elif isinstance(effect, RoundClosed):
                self.closed.append(dict(effect.summary))
        return self.last

    def act(self, name: str, role: str = "dealer", **args: Any) -> Outcome:
        return self.take(Act(name, args, role=role))

    def do(self, name: str, role: str = "dealer", **args: Any) -> Outcome:
        """An act that must be accepted."""
        outcome = self.act(name, role, **args)
        assert outcome.refusal is None, f"{name} {args}: {outcome.refusal} ({outcome.refusal.clause})"
        return outcome

    def refused(self, name: str, role: str = "dealer", **args: Any) -> str:
        """An act that must be refused, leaving everything as it was; the clause and the reason."""
        before = self.picture()
        outcome = self.act(name, role, **args)
        assert outcome.refusal is not None, f"{name} {args} was accepted"
        assert (outcome.effects, outcome.moves) == ([], [])
        assert self.picture() == before
        return f"{outcome.refusal.clause} {outcome.refusal.reason}"

    def picture(self) -> object:
        return (self.table.view(), self.game.round_view(), dict(self.table.balances), self.table.timer)

    def tell(self, device: str, event: DeviceEvent) -> Outcome:
        self.events += 1
        return self.take(FromDevice(device, event, boot=1, ordinal=self.events))

    def link(self, device: str, ready: bool) -> Outcome:
        return self.take(LinkChanged(device, ready, "" if ready else "lost"))

    def time_up(self) -> Outcome:
        assert self.table.timer is not None
        return self.take(TimeUp(self.table.timer.id))

    # --- before a round -------------------------------------------------------------------

    def seat(self, stacks: dict[int, int]) -> None:
        """Seats and their chips in units; below the minimum buy-in what is too much is lost first."""
        if self.game.out_of_service:
            self.do("open-table")
        for seat, units in stacks.items():
            least = self.game.rules.level.buy_in_min
            self.do("buy-in", seat=seat, amount=max(least, units * UNIT))
            self._shorten(seat, units * UNIT)

    def _shorten(self, seat: int, stack: int) -> None:
        """As if the rest had been lost in earlier rounds."""
        lost = self.game.seats[seat].stack - stack
        if lost:
            self.game.seats[seat].stack -= lost
            self.table.balances[f"stack.{seat}"] -= lost
            self.table.balances[f"player.{seat}"] += lost

    def antes(self, *seats: int, shuffle: bool = True) -> None:
        if shuffle:
            self.do("shuffle")
        for seat in seats:
            self.do("ante", seat=seat)

    def start(self, *seats: int, units: int = 10_000) -> None:
        """Everybody sits down with as much, antes are placed, the deck is burned."""
        self.seat({seat: units for seat in seats if seat not in self.game.seats})
        self.antes(*seats)
        self.burn()

    # --- cards ----------------------------------------------------------------------------

    def burn(self, card: str = "") -> None:
        """The first card of the deck; a shoe need not have read it."""
        if self.table.rig.mode == "shoe":
            self.tell("shoe", CardDrawn(FaceDownCard(parse_card(card)) if card else None))
        else:
            self.do("burn")

    def draw(self, card: Card, face_up: bool = False) -> None:
        self.tell("shoe", CardDrawn(FaceDownCard(card), face_up))

    def unseen(self) -> list[Card]:
        now = self.game.round
        taken = set(now.faces_seen) if now else set()
        return [c for c in FORTY if c.index not in taken and c.text not in self.hole.values()]

    @property
    def round(self) -> Round:
        """The round, which is open."""
        assert self.game.round is not None
        return self.game.round

    def next_seat(self) -> int:
        return self.round.due[0]

    def card(self, text: str = "") -> None:
        """The next card of the deal; keyed as it would be where it is dealt by hand."""
        now, seat = self.round, self.next_seat()
        face = parse_card(text) if text else self.unseen()[0]
        if self.table.rig.mode == "shoe":
            self.draw(face)
        elif len(now.hands[seat].cards) == HOLE:
            if text:
                self.hole[seat] = text
            self.do("card", seat=seat)
        else:
            self.do("card", seat=seat, card=face.text)

    def first_deal(self, hands: dict[int, str]) -> None:
        """Door and hole cards, as ``{seat: "door hole"}``; a missing hole card is any."""
        for place in (0, HOLE):
            for seat in sorted(hands):
                assert self.next_seat() == seat
                words = hands[seat].split()
                self.card(words[place] if place < len(words) else "")

    def street(self, cards: dict[int, str]) -> list[int]:
        """One card for each seat, in whatever order they are due; that order."""
        order = []
        while self.phase == "dealing" and self.game.round and self.game.round.due and cards:
            seat = self.next_seat()
            order.append(seat)
            self.card(cards.pop(seat))
        return order

    # --- betting --------------------------------------------------------------------------

    @property
    def phase(self) -> str:
        return self.game.phase

    @property
    def turn(self) -> int | None:
        now = self.game.round
        return now.queue[0] if now and now.queue else None

    def bet(self, seat: int, units: float) -> None:
        self.do("bet", seat=seat, amount=round(units * UNIT))

    def rise(self, seat: int, units: float) -> None:
        """Raise to so many units."""
        self.do("raise", seat=seat, amount=round(units * UNIT))

    def call(self, *seats: int) -> None:
        for seat in seats:
            self.do("call", seat=seat)

    def check(self, *seats: int) -> None:
        for seat in seats:
            self.do("check", seat=seat)

    def fold(self, *seats: int) -> None:
        for seat in seats:
            self.do("fold", seat=seat)

    def bet_and_call(self, units: float) -> None:
        """Whoever has the right bets, all others call."""
        assert self.turn is not None
        self.bet(self.turn, units)
        while self.phase == "answering":
            self.call(self.turn)

    def check_round(self) -> None:
        while self.phase == "speaking":
            self.check(self.turn)

    def show(self) -> list[int]:
        """Hole cards are turned in their order; that order."""
        order = []
        while self.phase == "showdown":
            seat = self.turn
            assert seat is not None
            order.append(seat)
            known = self.table.rig.mode == "shoe"
            self.do("reveal", seat=seat, card="" if known else self.hole.get(seat, self.unseen()[-1].text))
        return order

    def settle(self) -> dict[str, Any]:
        self.do("settle")
        self.hole.clear()
        return self.closed[-1]

    def to_fourth(self, hands: dict[int, str]) -> None:
        """Whole hands (door, hole, then three up cards) dealt, bet in the first round, then checked."""
        rows = {seat: words.split() for seat, words in hands.items()}
        self.first_deal({seat: " ".join(row[:2]) for seat, row in rows.items()})
        self.bet_and_call(100)
        for place in (2, 3, 4):
            self.street({seat: row[place] for seat, row in rows.items()})
            if place != 4:
                self.check_round()

    def play(self, hands: dict[int, str]) -> dict[str, Any]:
        """A whole round to its showdown; its public account."""
        self.to_fourth(hands)
        self.check_round()
        self.show()
        return self.settle()

    # --- what came of it ------------------------------------------------------------------

    def stack(self, seat: int) -> int:
        return self.game.seats[seat].stack

    @property
    def pot(self) -> int:
        return self.table.balances["pot"]


# --- tables in the middle of a round ----------------------------------------------------------------------


def opened(mode: str = BY_HAND, **changes: Any) -> Floor:
    """Three hands are dealt; nobody has spoken. Seat 1 holds the highest door."""
    floor = Floor(rules(**changes), mode)
    floor.start(1, 2, 3)
    floor.first_deal({1: "AS 5D", 2: "KS 5C", 3: "QS 5H"})
    return floor


def second_round(mode: str = BY_HAND, **changes: Any) -> Floor:
    """In the second betting round seat 1 speaks first, then 2, then 3."""
    floor = opened(mode, **changes)
    floor.bet_and_call(100)
    floor.street({1: "10S", 2: "9S", 3: "8S"})
    return floor


def at_showdown(mode: str) -> Floor:
    floor = Floor(mode=mode)
    floor.start(1, 2, 3)
    floor.to_fourth({1: "AS 5D 10S 7D 6D", 2: "KS 5C 9S 8D JD", 3: "QS 5H 8S 9D 7C"})
    floor.check_round()
    return floor
