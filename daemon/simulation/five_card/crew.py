"""The people of a five-card table on which everything may fail (daemon.simulation.people)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final

from daemon.games.five_card import FiveCard, FiveCardRules
from daemon.games.five_card.house import NEW_DECK
from daemon.games.five_card.memory import IN_DOUBT
from daemon.games.five_card.round import HOLE, Hand, Round
from daemon.games.five_card.rows import ENDING, LIVE, TURNS, Phase
from daemon.games.five_card.rules import DECISION, DECK_ROUNDS, FEWEST_CUT, FEWEST_HANDS, FORTY
from daemon.records import Plain
from daemon.simulation.disk import Violation
from daemon.simulation.faults import Faults, Try
from daemon.simulation.five_card.book import Book, Paid
from daemon.simulation.five_card.dealer import CUTS, DEEPEST, RICH, TIRED, TWINS, twins
from daemon.simulation.five_card.players import BOLDNESS, Spot, decide
from daemon.simulation.oracle import Books
from daemon.simulation.people import SLOW_DEVICE, People
from daemon.simulation.rough import RoughBench
from drivers.cards import Card, parse_card

SHOE: Final = "shoe"
SIT_OUT: Final = 6  # every so many rounds some seats do not play
GOES_ON: Final = 3  # one time in so many, a dealer without a shoe does not wait for it


class StudBooks(Books):
    """What the journal tells, and for how many decisions the time was over (FC-16). The sign has the ante."""

    def __init__(self, ante: int) -> None:
        super().__init__()
        self.times_up = 0
        self._ante = ante

    def durable(self, seq: int, record: Plain) -> None:
        super().durable(seq, record)
        self.times_up += record["input"]["kind"] == "time-up" and "refusal" not in record

    def shown(self, amount: int | None) -> None:
        """Raises Violation for an amount that is not the ante (FC-06)."""
        if amount not in (None, self._ante):
            raise Violation(f"the sign shows {amount}, the ante is {self._ante}")


class StudCrew(People[StudBooks]):
    """Dealer, players, supervisor and technician.

    ``book`` is the players' own (daemon.simulation.five_card.book): it is told what people did, and
    the cards that lie before them.
    """

    def __init__(
        self, bench: RoughBench, faults: Faults, books: StudBooks, seats: Sequence[int],
        rules: FiveCardRules, random: Random,
    ) -> None:  # fmt: skip
        super().__init__(bench, faults, books, random)
        self.book = Book(rules)
        self.paid: Paid | None = None  # of the last round; None for a void one
        self.top_ups = 0
        self._rules = rules
        self._seats = seats
        self._players: list[int] = []  # of this round
        self._anted: list[int] = []
        self._in_round = 0  # whose antes the book has taken
        self._boldness: dict[int, int] = {}
        self._lying: list[Card] = []  # cards that came out, in their order
        self._hands: dict[int, list[Card]] = {}  # whose they are, when the round ends
        self._times_up = 0  # that the book knows of
        self._spoil_next: dict[str, object] = {}
        self._keys_cards = False
        self._steps: dict[Phase, Callable[[], None]] = {
            Phase.OUT_OF_SERVICE: self._open,
            Phase.BETWEEN_ROUNDS: self._prepare,
            Phase.ANTES: self._antes,
            Phase.DEALING: self._deal,
            **dict.fromkeys(TURNS, self._speak),
            Phase.SHOWDOWN: self._show,
            Phase.SETTLING: self._settle,
        }

    # --- a round ----------------------------------------------------------------------------

    def _begin(self) -> None:
        players = list(self._seats)
        if not self._random.randrange(SIT_OUT):
            count = self._random.randint(FEWEST_HANDS, len(players))
            players = sorted(self._random.sample(players, count))
        self._players = players
        self._spoil_next = {}
        self._keys_cards = not self._random.randrange(GOES_ON)

    def _due(self) -> None:
        self._look()
        self._steps[self.game.state]()

    def _closed(self, summary: Plain) -> None:
        book = self.book
        self.paid = None
        if summary["outcome"] == "settled":
            for seat, cards in self._hands.items():
                book.hands[seat].cards = cards
            self.paid = book.settled()
        else:
            book.voided()
        self._anted = []
        broken = book.differences(summary, self.paid, self.books.accounts)
        if broken:
            raise Violation("; ".join(broken))

    @property
    def game(self) -> FiveCard:
        game = self.bench.table.game
        assert isinstance(game, FiveCard)
        return game

    @property
    def _now(self) -> Round:
        now = self.game.round
        assert now is not None
        return now

    # --- what the book learns by looking ----------------------------------------------------

    def _look(self) -> None:
        """The round has begun, a betting round opens, somebody's time was over."""
        now, state = self.game.round, self.game.state
        if now is None or state not in LIVE:
            return
        if self._in_round != now.id:
            self._in_round = now.id
            if sorted(self._anted) != list(now.hands):
                raise Violation(f"antes of {sorted(self._anted)}, hands of {list(now.hands)}")
            self.book.antes_placed(self._anted)
        dealt = state is not Phase.DEALING
        while self.book.street < now.number - (not dealt):
            self.book.betting_opens()
        for seat, hand in now.hands.items():
            if hand.folded and not self.book.hands[seat].out:
                self._somebody_slept(seat)

    def _somebody_slept(self, seat: int) -> None:
        self._times_up += 1
        if self._times_up > self.books.times_up:
            raise Violation(f"seat {seat} is out, and neither its player nor the clock said so")
        self.book.hands[seat].out = True

    # --- cards ------------------------------------------------------------------------------

    def _cards_of(self, hand: Hand) -> list[Card]:
        """The cards that lie before a player, as far as the table has heard of them."""
        places = {id(card): place for place, card in enumerate(self._now.out)}
        return [self._lying[places[id(card)]] for card in hand.cards]

    def _all_hands(self) -> dict[int, list[Card]]:
        return {seat: self._cards_of(hand) for seat, hand in self._now.hands.items()}

    def _draw(self) -> bool:
        """The next card out of the shoe; False when none comes."""
        verb, self._spoil_next = self._spoil_next, {}
        drawn = self.bench.handle(SHOE, "draw", **verb)
        if "error" in drawn:
            self._by_hand(SHOE)
            self._waited(SLOW_DEVICE)
            return False
        self._lying.append(parse_card(str(drawn["card"])))
        self._moved()
        self.bench.read()
        return True

    def _shoe_is_lost(self) -> bool:
        return bool(self.bench.table.rig.source_trouble())

    def _tend(self) -> bool:
        """Whether the shoe serves; if not, something was done about it."""
        source = self._source()
        if source.barred:
            self.act("accept-device", "supervisor", id=source.id)
        elif not self._shoe_is_lost():
            return True
        else:
            self._by_hand(SHOE)
            self._waited(SLOW_DEVICE)
        return False

    def _deck_in_doubt(self) -> bool:
        """What halts the round, so that people decide (FC-19)."""
        faults = self.bench.table.faults
        if len(self._now.out) > len(self._lying):
            self.remedies["a card of the round before was told late"] += 1
            self._void("the table counts a card that is not there")
            return True
        if not any(code in faults for code in IN_DOUBT):
            return False
        restarted_only = all(code == "shoe-restarted" for code in IN_DOUBT if code in faults)
        if restarted_only and len(self._now.out) == len(self._lying):
            self.act("clear-fault", "supervisor", code="shoe-restarted", text="the stub was counted and fits")
        else:
            self._void("the deck is in doubt")
        return True

    def _void(self, text: str) -> None:
        self.act("wrong-deck", "supervisor", text=text)

    # --- between rounds ---------------------------------------------------------------------

    def _open(self) -> None:
        self.act("open-table")

    def _prepare(self) -> None:
        """One thing of those that are due before a round."""
        self._lying = []
        deck, faults = self.game.deck, self.bench.table.faults
        if deck.rounds >= DECK_ROUNDS or NEW_DECK in faults:
            self.act("new-deck")
        elif self._clears_a_fault() or not self._tend() or self._seats_somebody():
            pass
        elif not deck.shuffled:
            self._shuffle()
        else:
            self._lays_ante()

    def _seats_somebody(self) -> bool:
        """Whether a player had to sit down, to add chips, or to go home (FC-06)."""
        book, least = self.book, self._rules.level.buy_in_min
        for seat in self._players:
            if seat not in book.stacks:
                chips = self._random.randrange(0, (DEEPEST - 1) * least, self._rules.smallest_chip)
                self._boldness[seat] = self._random.choice(BOLDNESS)
                if self.act("buy-in", seat=seat, amount=least + chips):
                    book.buys(seat, least + chips)
            elif book.owed[seat]:
                if self.act("top-up", seat=seat, amount=book.owed[seat]):
                    book.buys(seat, book.owed[seat])
                    self.top_ups += 1
            elif book.stacks[seat] > RICH * least or not self._random.randrange(TIRED):
                if self.act("leave", seat=seat):
                    book.leaves(seat)
            else:
                continue
            return True
        return False

    def _shuffle(self) -> None:
        deck = [card.text for card in FORTY]
        self._random.shuffle(deck)
        if not self.act("shuffle"):
            return
        if not self._random.randrange(CUTS):
            cards = self._random.randrange(FEWEST_CUT, len(FORTY))
            if self.act("cut", seat=self._random.choice(list(self.book.stacks)), cards=cards):
                deck = deck[cards:] + deck[:cards]
        if len(self._players) == FEWEST_HANDS and not self._random.randrange(TWINS):
            deck = twins(deck)
        self.bench.handle(SHOE, "load", deck=deck)

    # --- antes and the burn -----------------------------------------------------------------

    def _antes(self) -> None:
        if self._without_ante():
            self._lays_ante()
        elif len(self._anted) < FEWEST_HANDS:
            if self.act("take-back", seat=self._anted[0]):
                del self._anted[0]
        elif self._lying:
            self._hear()
        elif self._tend():
            if self.game.deck.shuffled:
                self._draw()
            else:
                self._shuffle()

    def _without_ante(self) -> list[int]:
        """Players with an ante to place: those who sit there, and owe no chips."""
        owed = self.book.owed
        return [seat for seat in self._players if seat not in self._anted and owed.get(seat) == 0]

    def _lays_ante(self) -> None:
        seat = self._without_ante()[0]
        if self.act("ante", seat=seat):
            self._anted.append(seat)

    # --- dealing ----------------------------------------------------------------------------

    def _deal(self) -> None:
        """The next card, or what keeps it from coming."""
        now = self._now
        unread = next((hand for hand in now.live if hand.unread() is not None), None)
        if self._deck_in_doubt():
            return
        if len(now.out) < len(self._lying):
            self._hear()
        elif now.error:
            self.act("correct-deal", text="laid where it belongs")
        elif unread is not None:
            place = next(place for place, card in enumerate(unread.cards) if card is unread.unread())
            self.act("card", seat=unread.seat, card=self._cards_of(unread)[place].text)
        elif not self._shoe_is_lost() or now.by_hand or self._keys_cards:
            self._draw()
        else:
            self._tend()

    def _hear(self) -> None:
        """Cards lie there that the table does not know (yet)."""
        if self._shoe_is_lost() and self._keys_cards and not self._is_owed():
            self._keys()
        elif self._waited(SLOW_DEVICE) and not self._shoe_is_lost():
            self.remedies["a card was never told"] += 1
            if self.game.state in LIVE:
                self._void("a card left the shoe and was not told")
            else:
                self._lying = []
                self.act("shuffle")
        else:
            self._by_hand(SHOE)

    def _is_owed(self) -> bool:
        """The dealer can key no card now: none is due, or the shoe lies in error."""
        now, state = self._now, self.game.state
        return state not in (Phase.ANTES, Phase.DEALING) or bool(now.error)

    def _keys(self) -> None:
        """The oldest card that the table does not know, by hand (FC-19)."""
        now = self._now
        if self.game.state is Phase.ANTES:
            self.act("burn")
            return
        seat, card = now.due[0], self._lying[len(now.out)]
        if len(now.hands[seat].cards) == HOLE:
            self.act("card", seat=seat)
        else:
            self.act("card", seat=seat, card=card.text)

    # --- words ------------------------------------------------------------------------------

    def _speak(self) -> None:
        now = self._now
        if self._deck_in_doubt():
            return
        if len(now.out) < len(self._lying):
            self._hear()
        elif self._shoe_is_lost() and not now.by_hand:
            if not self._keys_cards or not self.act("hand-entry"):
                self._tend()
        else:
            self._decide(now.queue[0])

    def _decide(self, seat: int) -> None:
        book, hand = self.book, self.book.hands[seat]
        may_raise = self._rules.check_raise or not hand.checked
        cards = self._cards_of(self._now.hands[seat])
        spot = Spot(self.game.phase, cards, hand.bet, book.price, book.least, book.stacks[seat], may_raise)
        word, amount = decide(spot, self._boldness[seat], self._rules.smallest_chip, self._random)
        if not (self.act(word, seat=seat, amount=amount) if amount else self.act(word, seat=seat)):
            return
        if amount:
            book.bets(seat, amount)
        elif word == "call":
            book.calls(seat)
        elif word == "check":
            hand.checked = True
        else:
            hand.out = True

    # --- the end ----------------------------------------------------------------------------

    def _show(self) -> None:
        if self._deck_in_doubt():
            return
        hand = self._now.hands[self._now.queue[0]]
        if hand.cards[HOLE].face is None:
            self.act("reveal", seat=hand.seat, card=self._cards_of(hand)[HOLE].text)
        else:
            self.act("reveal", seat=hand.seat)

    def _settle(self) -> None:
        if self._deck_in_doubt():
            return
        self._hands = self._all_hands()
        self.act("settle")

    # --- what goes wrong at this game -------------------------------------------------------

    def _game_faults(self) -> Mapping[str, Try]:
        return {
            "card-unread": lambda: self._spoils(unread=True),
            "card-unsure": lambda: self._spoils(unsure=True),
            "card-foreign": lambda: self._spoils(foreign=True),
            "card-twice": self._twice,
            "card-early": self._early,
            "card-too-many": self._surplus,
            "hole-exposed": self._exposes,
            "time-over": self._sleeps,
            "player-leaves": self._leaves,
            "word-out-of-turn": self._speaks_out_of_turn,
            "wrong-deck": self._wrong_deck,
        }

    def _is_in(self, *phases: Phase) -> bool:
        if not self.bench.up or self.game.state not in phases:
            return False
        self._look()
        return True

    def _spoils(self, **verb: object) -> bool:
        if self._spoil_next or not self._is_in(Phase.DEALING):
            return False
        self._spoil_next = verb
        return True

    def _twice(self) -> bool:
        return bool(self._lying) and self._spoils(card=self._random.choice(self._lying).text)

    def _early(self) -> bool:
        """The dealer is ahead of the players (FC-19)."""
        return self._is_in(*TURNS) and self._draw()

    def _surplus(self) -> bool:
        return self._is_in(*ENDING) and self._draw()

    def _exposes(self) -> bool:
        """A hole card lies open in the deal (FC-18)."""
        if not self._is_in(Phase.DEALING, Phase.OPENING):
            return False
        now = self._now
        seats = [hand.seat for hand in now.live if hand.hole is not None]
        if now.number > 1 or now.actions or not seats:
            return False
        seat = self._random.choice(seats)
        accepted = self.act("expose-hole", seat=seat)
        if accepted:
            self.book.exposed(seat)
        return accepted

    def _sleeps(self) -> bool:
        """Two minutes without a word (FC-16)."""
        if not self._is_in(*TURNS):
            return False
        self.bench.run_for(DECISION)
        self._moved()
        return True

    def _leaves(self) -> bool:
        """Whoever's turn it is has enough (FC-17)."""
        if not self._is_in(*TURNS):
            return False
        seat = self._now.queue[0]
        accepted = self.act("leave", seat=seat)
        if accepted:
            self.book.leaves(seat)
        return accepted

    def _speaks_out_of_turn(self) -> bool:
        if not self._is_in(*TURNS):
            return False
        others = [seat for seat in self._now.hands if seat != self._now.queue[0]]
        if self.act("fold", seat=self._random.choice(others)):
            raise Violation("a word out of turn was accepted (FC-17)")
        return True

    def _wrong_deck(self) -> bool:
        if not self._is_in(*LIVE):
            return False
        self._void("a card of another deck")
        return True
