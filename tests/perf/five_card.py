"""Rounds of five-card stud, beside PokerKit with the same players, cards and actions.

Seven players with the same chips, 36 cards, and in each of four betting rounds a bet and six calls:
a round that both can play to the showdown, whatever their orders of speaking. In both every ante,
card, word and turned hole card is told from outside, one call each; what is left is each one's own
affair.
"""

from __future__ import annotations

from random import Random
from typing import Final

from pokerkit import Automation, BettingStructure, Deck, Mode, Opening, StandardHighHand, State, Street
from pokerkit import Card as KitCard
from pokerkit import Rank as KitRank

from daemon.games.desk import Act
from daemon.games.five_card import FiveCard
from daemon.games.five_card.rules import DECK_ROUNDS, FORTY
from daemon.journal import MemoryJournal
from daemon.rig import Device, Rig
from daemon.simulate import SimulateOptions, settings_of
from daemon.simulation.five_card.dealer import Dealer
from daemon.simulation.five_card.evening import BenchFloor, StudEvening
from daemon.simulation.options import FIVE_CARD_RULES
from daemon.table import FromDevice, Table
from drivers.base import CardDrawn
from drivers.cards import FaceDownCard
from tests.perf.measure import Row, rates

ROUNDS = 100
SEATS: Final = range(1, 8)
STACK: Final = 10**9  # minor units: nobody is ever all-in
CHIP: Final = FIVE_CARD_RULES.smallest_chip
AT: Final = "2026-01-01T00:00:00Z"


class Steady(Dealer):
    """Everybody stays to the end, with one chip a betting round."""

    def players(self, fewest: int) -> list[int]:
        return list(self.seats)

    def _decide(self, phase: str, seat: int) -> None:
        if phase == "answering":
            self.floor.act("call", seat=seat)
            self.book.calls(seat)
        else:
            self.floor.act("bet", seat=seat, amount=CHIP)
            self.book.bets(seat, CHIP)


class Simulated:
    """Engine, drivers, codecs and journal too, and the books compared after each round."""

    def __init__(self) -> None:
        options = SimulateOptions(game="five-card", boxes=len(SEATS))
        self._evening = StudEvening(len(SEATS), settings_of(options), MemoryJournal(), Random(1))
        self._evening.open()
        floor = self._evening.dealer.floor
        assert isinstance(floor, BenchFloor)
        self._evening.dealer = Steady(floor, FIVE_CARD_RULES, SEATS, Random(1))

    def rounds(self) -> int:
        for _ in range(ROUNDS):
            self._evening.play()
        return ROUNDS


class Bare:
    """The table alone, which is as much as PokerKit is: no device, no wire, no journal."""

    def __init__(self) -> None:
        self.game = FiveCard(FIVE_CARD_RULES, compiled=True)
        rig = Rig({"shoe": Device("shoe", "shoe", ready=True)}, "shoe", sources=("shoe",), needs_sign=False)
        self._table = Table("perf", self.game, rig)
        self._dice = Random(1)
        self._seq = self._cards = 0
        self._deck = [CardDrawn(FaceDownCard(card)) for card in FORTY]  # as PokerKit's cards are made before
        self._played = 0
        self.act("open-table")
        for seat in SEATS:
            self.act("buy-in", seat=seat, amount=STACK)

    def act(self, name: str, **args: int) -> None:
        self._seq += 1
        assert self._table.handle(Act(name, args, "", "dealer"), self._seq, AT).refusal is None

    def draw(self, place: int) -> None:
        self._seq += 1
        self._cards += 1
        item = FromDevice("shoe", self._deck[place], boot=1, ordinal=self._cards)
        self._table.handle(item, self._seq, AT)

    def rounds(self) -> int:
        for _ in range(ROUNDS):
            self._play()
        return ROUNDS

    def _play(self) -> None:
        if self._played % DECK_ROUNDS == 0:
            self.act("new-deck")
        self._played += 1
        self._dice.shuffle(self._deck)
        self.act("shuffle")
        for seat in SEATS:
            self.act("ante", seat=seat)
        self.draw(0)
        now, place = self.game.round, 0
        assert now is not None
        for _ in range(4):
            while now.due:
                place += 1
                self.draw(place)
            self.act("bet", seat=now.queue[0], amount=CHIP)
            while self.game.phase == "answering":
                self.act("call", seat=now.queue[0])
        while now.queue:
            self.act("reveal", seat=now.queue[0])
        self.act("settle")


# --- the same in PokerKit -------------------------------------------------------------------

_LOW: Final = (KitRank.DEUCE, KitRank.TREY, KitRank.FOUR)
KIT_DECK: Final = tuple(card for card in Deck.STANDARD if card.rank not in _LOW)
TOLD: Final = (
    Automation.ANTE_POSTING,
    Automation.CARD_BURNING,
    Automation.HOLE_DEALING,
    Automation.HOLE_CARDS_SHOWING_OR_MUCKING,
)
OWN: Final = tuple(each for each in Automation if each not in TOLD)


def _streets() -> tuple[Street, ...]:
    """It tells the last street by identity: each is an object of its own."""
    later = (Street(False, (True,), 0, False, Opening.HIGH_HAND, CHIP, None) for _ in range(3))
    return Street(True, (True, False), 0, False, Opening.HIGH_CARD, CHIP, None), *later


def _kit_state() -> State:
    return State(
        OWN,
        KIT_DECK,  # type: ignore[arg-type]
        (StandardHighHand,),
        _streets(),
        BettingStructure.NO_LIMIT,
        True,
        FIVE_CARD_RULES.ante,
        0,
        0,
        (STACK,) * len(SEATS),
        len(SEATS),
        mode=Mode.CASH_GAME,
    )


def _kit_round(deck: list[KitCard]) -> None:
    state, cards = _kit_state(), iter(deck)
    for seat in range(len(SEATS)):
        state.post_ante(seat)
    state.burn_card(next(cards))
    for _ in range(4):
        while state.can_deal_hole():
            state.deal_hole((next(cards),))
        state.complete_bet_or_raise_to(CHIP)
        for _ in SEATS[1:]:
            state.check_or_call()
    while state.can_show_or_muck_hole_cards():
        state.show_or_muck_hole_cards(True)
    assert not state.status
    assert sum(state.stacks) == STACK * len(SEATS)


def _kit() -> int:
    dice, deck = Random(1), list(KIT_DECK)
    for _ in range(ROUNDS):
        dice.shuffle(deck)
        _kit_round(deck)
    return ROUNDS


def measure() -> list[Row]:
    same = "PokerKit, the same players, cards and bets"
    return [
        rates("rounds of five-card stud, the table alone", same, "/s", Bare().rounds, _kit, 7),
        rates("rounds of five-card stud, simulated whole", same, "/s", Simulated().rounds, _kit, 7),
    ]
