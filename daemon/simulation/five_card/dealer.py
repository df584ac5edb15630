"""A dealer and players at a five-card table: whole rounds, by the regulation, with what goes wrong.

The same people sit at the table of a simulation and of a demonstration; :class:`Floor` is how they
reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from random import Random
from typing import Final, NamedTuple, Protocol

from daemon.games.five_card.round import HOLE
from daemon.games.five_card.rules import DECK_ROUNDS, FEWEST_CUT, FEWEST_HANDS, FORTY, HAND, FiveCardRules
from daemon.simulation.five_card.book import Book
from daemon.simulation.five_card.players import BOLDNESS, Spot, decide
from drivers.cards import Card

DEEPEST: Final = 4  # minimum buy-ins that somebody sits down with
RICH: Final = 12  # minimum buy-ins with which a player goes home
TIRED: Final = 100  # one round in so many, a seat changes its player
CUTS: Final = 3  # one shuffle in so many is cut by a player
TWINS: Final = 2  # one deck in so many gives two players alone equal ranks: chance hardly ever shares a pot


class Mishap(Enum):
    """What goes wrong in a round, at most one thing."""

    EXPOSED = "a hole card exposed in the deal (FC-18)"
    EARLY = "a card dealt before the betting round was over (FC-19)"
    WRONG_DECK = "a card that is none of the forty (FC-19)"
    ASLEEP = "two minutes without a word (FC-16)"
    LEFT = "a player leaves at his turn (FC-17)"


class Look(NamedTuple):
    """What the table asks for: ``due`` are the seats of the next cards, ``error`` what is to be corrected."""

    state: str
    turn: int | None = None
    due: Sequence[int] = ()
    error: str = ""


class Floor(Protocol):
    """How people reach the table and its shoe."""

    def act(self, name: str, role: str = "dealer", **args: str | int) -> None:
        """One act, which the table accepts."""

    def look(self) -> Look:
        """What the table says once it knows everything that was done."""

    def load(self, deck: Sequence[str]) -> None:
        """Put a deck into the shoe, the first card on top."""

    def draw(self, face_up: bool = False, foreign: bool = False) -> Card:
        """The next card out of the shoe."""

    def sleep(self) -> None:
        """Nobody does anything for two minutes."""


class Dealer:
    """Plays rounds for ``seats``, the book of :attr:`book` beside it. ``chance`` decides everything."""

    def __init__(self, floor: Floor, rules: FiveCardRules, seats: Sequence[int], chance: Random) -> None:
        self.floor = floor
        self.book = Book(rules)
        self.seats = list(seats)
        self.top_ups = 0
        self._rules = rules
        self._chance = chance
        self._boldness: dict[int, int] = {}
        self._deck = [card.text for card in FORTY]
        self._deck_rounds = 0
        self._held: list[Card] = []  # came out early
        self.mishap: Mishap | None = None  # that has not happened yet

    # --- before a round ------------------------------------------------------------------------

    def new_deck(self) -> None:
        self.floor.act("new-deck")
        self._deck_rounds = 0

    def prepare(self, players: Sequence[int]) -> None:
        """These sit down or add chips, the deck is shuffled and cut, antes are placed (FC-02 to FC-08)."""
        if self._deck_rounds >= DECK_ROUNDS:
            self.new_deck()
        for seat in players:
            self._takes_seat(seat)
        self._shuffle(players)
        for seat in players:
            self.floor.act("ante", seat=seat)
        self.book.antes_placed(players)
        self._deck_rounds += 1

    def players(self, fewest: int) -> list[int]:
        """Who plays the next round, at least ``fewest`` of all the seats."""
        if self._chance.randrange(8):
            return list(self.seats)
        return sorted(self._chance.sample(self.seats, self._chance.randint(fewest, len(self.seats))))

    def _takes_seat(self, seat: int) -> None:
        least = self._rules.level.buy_in_min
        if seat in self.book.stacks and self._goes_home(seat, least):
            self.floor.act("leave", seat=seat)
            self.book.leaves(seat)
        if seat not in self.book.stacks:
            chip = self._rules.smallest_chip
            amount = least + self._chance.randrange(0, (DEEPEST - 1) * least, chip)
            self._boldness[seat] = self._chance.choice(BOLDNESS)
            self.floor.act("buy-in", seat=seat, amount=amount)
            self.book.buys(seat, amount)
        elif self.book.owed[seat]:
            self.floor.act("top-up", seat=seat, amount=self.book.owed[seat])
            self.book.buys(seat, self.book.owed[seat])
            self.top_ups += 1

    def _goes_home(self, seat: int, least: int) -> bool:
        return self.book.stacks[seat] > RICH * least or not self._chance.randrange(TIRED)

    def _shuffle(self, players: Sequence[int]) -> None:
        self._chance.shuffle(self._deck)
        self.floor.act("shuffle")
        if not self._chance.randrange(CUTS):
            cards = self._chance.randrange(FEWEST_CUT, len(FORTY))
            self.floor.act("cut", seat=self._chance.choice(players), cards=cards)
            self._deck = self._deck[cards:] + self._deck[:cards]
        if len(players) == FEWEST_HANDS and not self._chance.randrange(TWINS):
            self._deck = twins(self._deck)
        self.floor.load(self._deck)

    # --- a round -------------------------------------------------------------------------------

    def play(self, mishap: Mishap | None = None) -> bool:
        """From the burn to the last payment or the void; whether it was settled. ``prepare`` comes first."""
        self.mishap, self._held = mishap, []
        self.floor.draw()
        while True:
            look = self.floor.look()
            if look.state == "dealing":
                if not self._deal():
                    return False
            elif look.state == "settling":
                self.floor.act("settle")
                return True
            elif look.turn is None:
                raise RuntimeError(f"nothing is asked for in state {look.state}")
            elif look.state == "showdown":
                self.floor.act("reveal", seat=look.turn)
            else:
                self._speak(look.state, look.turn)

    def _goes_wrong(self, mishap: Mishap, in_so_many: int) -> bool:
        """Whether it happens now. It happens once."""
        if self.mishap is not mishap or self._chance.randrange(in_so_many):
            return False
        self.mishap = None
        return True

    # --- cards: FC-10 to FC-13 -----------------------------------------------------------------

    def _deal(self) -> bool:
        """Until the table asks for no more cards; False when the round is void."""
        while (look := self.floor.look()).state == "dealing":
            if look.error:
                self._correct(look)
            elif self._goes_wrong(Mishap.WRONG_DECK, 2):
                self._void()
                return False
            else:
                self._deal_to(look.due)
            if self._whole():
                self.book.betting_opens()
        return True

    def _whole(self) -> bool:
        """Everybody has the cards of this street: the table then bets, or deals on."""
        live = self.book.live()
        return all(len(self.book.hands[seat].cards) == self.book.street + 2 for seat in live)

    def _deal_to(self, due: Sequence[int]) -> None:
        for seat in due:
            cards = self.book.hands[seat].cards
            exposed = len(cards) == HOLE and self._goes_wrong(Mishap.EXPOSED, 3)
            cards.append(self.floor.draw(face_up=exposed))
            if exposed:
                self.floor.act("expose-hole", seat=seat)
                self.book.exposed(seat)
                return

    def _correct(self, look: Look) -> None:
        """What came out early goes to whom it is due (FC-19)."""
        self.floor.act("correct-deal", text="laid where it belongs")
        for seat in look.due[: len(self._held)]:
            self.book.hands[seat].cards.append(self._held.pop(0))

    def _void(self) -> None:
        self.floor.draw(foreign=True)
        self.floor.look()
        self.floor.act("wrong-deck", "supervisor", text="a card of another deck")
        self.book.voided()
        self.new_deck()

    # --- words: FC-10, FC-11, FC-15, FC-16, FC-17 -------------------------------------------------

    def _speak(self, phase: str, seat: int) -> None:
        if self._goes_wrong(Mishap.EARLY, 4):
            self._held.append(self.floor.draw())
            self.floor.look()
        if self._goes_wrong(Mishap.ASLEEP, 3):
            self.floor.sleep()
            self.book.hands[seat].out = True
        elif self._goes_wrong(Mishap.LEFT, 3):
            self.floor.act("leave", seat=seat)
            self.book.leaves(seat)
        else:
            self._decide(phase, seat)

    def _decide(self, phase: str, seat: int) -> None:
        book, hand = self.book, self.book.hands[seat]
        may_raise = self._rules.check_raise or not hand.checked
        spot = Spot(phase, hand.cards, hand.bet, book.price, book.least, book.stacks[seat], may_raise)
        word, amount = decide(spot, self._boldness[seat], self._rules.smallest_chip, self._chance)
        if amount:
            self.floor.act(word, seat=seat, amount=amount)
            book.bets(seat, amount)
            return
        self.floor.act(word, seat=seat)
        if word == "call":
            book.calls(seat)
        elif word == "check":
            hand.checked = True
        else:
            hand.out = True


def twins(deck: Sequence[str]) -> list[str]:
    """The same cards so that, the first one burned, two players get one each of five ranks."""
    of_rank: dict[str, list[str]] = {}
    for card in deck:
        of_rank.setdefault(card[:-1], []).append(card)
    pairs = [card for cards in list(of_rank.values())[:HAND] for card in cards[:FEWEST_HANDS]]
    first, *rest = (card for card in deck if card not in pairs)
    return [first, *pairs, *rest]
