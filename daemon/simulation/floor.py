"""The people of a Caribbean Stud table on which everything may fail (daemon.simulation.people)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from daemon.games.caribbean import Caribbean
from daemon.games.caribbean.rows import Phase
from daemon.games.hands import qualifies
from daemon.records import Plain
from daemon.rig import Device
from daemon.simulation.deal import AWARDED_FROM, DEALER, Hands, category
from daemon.simulation.disk import Violation
from daemon.simulation.faults import Faults, Try
from daemon.simulation.people import SLOW_DEVICE, People
from daemon.simulation.rough import RoughBench
from daemon.simulation.stakes import Offer, StakeBooks
from daemon.strategies import Strategy
from drivers.cards import DECK, Card, parse_card
from drivers.shuffler.sim_fdp import ShufflerSim

SHOE: Final = "shoe"
SHUFFLER: Final = "SH-1"
HAND: Final = 5
CHANGE_DEVICE: Final = 20  # every so many rounds the cards come from the other device
SIT_OUT: Final = 6  # every so many rounds some boxes do not bet


class Crew(People[StakeBooks]):
    """Dealer, players, supervisor and technician."""

    def __init__(
        self, bench: RoughBench, faults: Faults, books: StakeBooks, boxes: Sequence[int], strategy: Strategy,
        ante: int, stake: int, random: Random,
    ) -> None:  # fmt: skip
        super().__init__(bench, faults, books, random)
        self._all_boxes, self._raises = boxes, strategy
        self._ante, self._stake = ante, stake
        self._players: list[int] = []  # boxes of this round
        self._playing: list[int] = []  # those whose players have not let it be
        self._units: list[list[Card]] = []  # cards on the table, in the order they came out
        self._strays: dict[int, int] = {}
        self._from_shoe = True
        self._spoil_next: dict[str, object] = {}
        self._keys_cards = False
        self._wants_change = False
        self._steps: dict[Phase, Callable[[], None]] = {
            Phase.OUT_OF_SERVICE: self._open,
            Phase.BETWEEN_ROUNDS: self._prepare,
            Phase.VOID: self._prepare,
            Phase.BETTING: self._bet,
            Phase.DEALING: self._deal,
            Phase.DECIDING: self._decide,
            Phase.SHOWDOWN: self._show,
            Phase.SETTLING: self._settle,
        }

    # --- a round ----------------------------------------------------------------------------

    def _begin(self) -> None:
        boxes = list(self._all_boxes)
        if not self._random.randrange(SIT_OUT):
            boxes = sorted(self._random.sample(boxes, self._random.randrange(1, len(boxes) + 1)))
        self._players = self._playing = boxes
        self._wants_change = not self._random.randrange(CHANGE_DEVICE)
        self._keys_cards = bool(self._random.randrange(2))
        self._spoil_next = {}

    def _closed(self, summary: Plain) -> None:
        if summary["outcome"] == "settled":
            hands = self.hands()
            self.books.settled(summary, hands, hands[DEALER])

    def _due(self) -> None:
        self._steps[self.game.state]()

    @property
    def game(self) -> Caribbean:
        game = self.bench.table.game
        assert isinstance(game, Caribbean)
        return game

    def hands(self) -> Hands:
        """Whose the cards on the table are (CS-07, CS-11c)."""
        order = [*sorted(self._betting()), DEALER]
        hands: Hands = {place: [] for place in order}
        good = [unit for number, unit in enumerate(self._units, start=1) if number not in self._strays]
        for number, unit in enumerate(good):
            hands[order[number % len(order)]] += unit
        return hands

    def _betting(self) -> list[int]:
        now = self.game.round
        if now is not None:
            return list(now.boxes)
        return [
            row["box"] for row in self.books.closed[0]["boxes"] if row["decision"] != "void" or row["ante"]
        ]

    # --- the device that the cards come from ------------------------------------------------

    @property
    def _machine(self) -> ShufflerSim:
        machine = self.bench.sims[SHUFFLER]
        assert isinstance(machine, ShufflerSim)
        return machine

    def _tend(self) -> bool:
        """Whether the devices can serve a round; if not, something was done about it."""
        rig, source = self.bench.table.rig, self._source()
        if source.barred or self._wants_change:
            self._wants_change = False
            return self._other_device(source)
        if not rig.not_ready():
            return True
        self._by_hand(source.id)
        if self._waited(SLOW_DEVICE) and not source.ready:
            self._other_device(source)
        return False

    def _other_device(self, source: Device) -> bool:
        other = self.bench.table.rig.devices[SHUFFLER if source.role == "shoe" else SHOE]
        if other.barred or (source.barred and not self._random.randrange(2)):
            barred = other if other.barred else source
            self.act("accept-device", "supervisor", id=barred.id)
        elif other.role == "shoe":
            self.act("use-shoe")
        else:
            self.act("use-shuffler", id=SHUFFLER)
        return False

    def _deck_is_proven(self) -> bool:
        deck = self.game.deck
        if self._source().role == "shoe":
            return deck.shuffled and deck.cut
        return deck.shuffler == SHUFFLER and not deck.uncounted

    def _shuffle(self) -> None:
        if self._source().role == "shoe":
            cards = [card.text for card in DECK]
            self._random.shuffle(cards)
            self._take_cards_away()
            if self.act("shuffle") and self.act("cut"):
                self.bench.handle(SHOE, "load", deck=cards)
        elif self._tidy_shuffler() and self.act("shuffle"):
            self._await_shuffle()

    def _await_shuffle(self) -> None:
        until = self.bench.clock.now + SLOW_DEVICE // 3
        while self.bench.clock.now < until and not (self.bench.up and self._deck_is_proven()):
            self._wait()

    def _tidy_shuffler(self) -> bool:
        """Whether the machine stands idle with all its cards in it."""
        self._by_hand(SHUFFLER)
        machine = self._machine
        if machine.state_name() == "packet_present":
            self.bench.handle(SHUFFLER, "take")
            return False
        if machine.state_name() in ("dealing", "shuffling"):
            if self._waited(SLOW_DEVICE):
                self.remedies["shuffler switched off and on"] += 1
                self.bench.handle(SHUFFLER, "power-cycle")
            return False
        self._take_cards_away()
        if machine.away:
            self.bench.handle(SHUFFLER, "return")
        return True

    def _take_cards_away(self) -> None:
        self._units, self._strays = [], {}

    # --- between rounds ---------------------------------------------------------------------

    def _open(self) -> None:
        self.act("open-table")

    def _prepare(self) -> None:
        """One thing of those that are due before a round."""
        self._take_cards_away()
        game, table = self.game, self.bench.table
        award = next((award for award in game.pending if not award.confirmed), None)
        if award is not None:
            self.act("confirm-award", "supervisor", box=award.box)
        elif game.refundable:
            self._refund(next(iter(game.refundable)))
        elif self._clears_a_fault() or not self._tend():
            pass
        elif not self._deck_is_proven():
            self._shuffle()
        elif not table.rig.sign_is_current():
            self._waited(SLOW_DEVICE)
        else:
            self._playing = self._players
            self.act("open-betting")

    def _refund(self, box: int) -> None:
        stake = self.game.refundable[box]
        if self.act("refund-carried", "supervisor", box=box):
            self.books.refunded(box, stake)

    # --- betting ----------------------------------------------------------------------------

    def _bet(self) -> None:
        now = self.game.round
        assert now is not None
        if not now.closed and now.order is None and self._lays_a_bet():
            return
        if not self._deck_is_proven() or self._source().barred:
            if self._tend():
                self._shuffle()
        elif not now.closed:
            # A machine that is open refuses to deal, and the dealer sees that it is.
            if self._source().role == "shoe" or self._tend():
                self.act("close-betting")
        else:
            self._deal()

    def _lays_a_bet(self) -> bool:
        now = self.game.round
        assert now is not None
        for box in self._playing:
            if box not in now.boxes:
                return self._tries("ante", box, self._ante)
        for box in self._playing:
            if box in now.boxes and now.boxes[box].progressive is None:
                return self._tries("progressive", box, self._stake)
        return False

    def _tries(self, bet: str, box: int, chips: int) -> bool:
        if not self._lay(bet, box, chips):
            self._playing = [other for other in self._playing if other != box]  # this player lets it be
        return True

    def _lay(self, bet: str, box: int, chips: int) -> bool:
        """Whether the bet was accepted; it is on the layout before its act is answered."""
        self.books.offer([(box, bet, chips)])
        accepted = self.act(bet, box=box, amount=chips)
        self.books.resolve(accepted)
        return accepted

    # --- dealing ----------------------------------------------------------------------------

    def _known(self) -> int:
        """Cards or packets that the table has heard of."""
        now = self.game.round
        return len(now.deal.units) if now is not None and now.deal is not None else 0

    def _deal(self) -> None:
        """The next card or packet, or what keeps it from coming."""
        if self._deck_in_doubt():
            return
        if self._known() < len(self._units):
            self._hear()
        elif self._source().role == "shoe":
            self._draw()
        else:
            self._take()

    def _hear(self) -> None:
        """Cards lie there that the table does not know (yet)."""
        shoe_is_away = self._source().role == "shoe" and not self._source().ready
        if shoe_is_away and self._keys_cards:
            self.act("card")
        elif self._waited(SLOW_DEVICE) and self._source().ready:
            self.remedies["a card was never told"] += 1
            self._not_told()

    def _not_told(self) -> None:
        if self.game.state is Phase.BETTING:
            self._take_cards_away()
            self.act("shuffle")
        else:
            self.act("misdeal", text="a card left the device and was not told")

    def _draw(self) -> None:
        for _ in range(self._left_in_pass()):
            verb, self._spoil_next = self._spoil_next, {}
            drawn = self.bench.handle(SHOE, "draw", **verb)
            if "error" in drawn:
                self._by_hand(SHOE)
                self._waited(SLOW_DEVICE)
                return
            self._units.append([parse_card(str(drawn["card"]))])
            self._moved()
        self.bench.read()

    def _left_in_pass(self) -> int:
        """Cards until everybody has one more. Those of one pass come in one read, as to a busy loop."""
        places = len(self._betting()) + 1
        return places - (len(self._units) - len(self._strays)) % places

    def _take(self) -> None:
        taken = self.bench.handle(SHUFFLER, "take")
        if "error" not in taken:
            cards = taken["cards"]
            self._units.append([parse_card(text) for text in cards])
            self._moved()
            return
        lying = self._machine.away[HAND * len(self._units) :]
        if lying:  # the power failed while a packet lay in the output: it is taken out by hand
            self._units.append(list(lying[:HAND]))
            self._moved()
        elif self._waited(SLOW_DEVICE):
            self.remedies["the shuffler does not deal"] += 1
            self.act("shuffler-failed")
        else:
            self._by_hand(SHUFFLER)

    def _cards_are_due(self) -> bool:
        """What has to be seen to before anything else is done with the cards that are out."""
        if self._deck_in_doubt():
            return True
        if self._source().role == "shuffler" and len(self._units) < self._known():
            self._take()  # the table knows of a packet that still lies in the machine
            return True
        return False

    def _deck_in_doubt(self) -> bool:
        """A fault that halts the round: the dealer decides (CS-01, CS-07)."""
        faults = self.bench.table.faults
        if any(code in faults for code in ("duplicate-card", "foreign-card", "other-face")):
            self.act("misdeal", text="the deck is in doubt")
        elif "shoe-restarted" in faults:
            self._count_stub()
        else:
            return False
        return True

    def _count_stub(self) -> None:
        if self._known() == len(self._units):
            self.act("clear-fault", "supervisor", code="shoe-restarted", text="the stub was counted and fits")
        else:
            self.act("misdeal", text="the stub does not fit")

    # --- decisions and showdown -------------------------------------------------------------

    def _decide(self) -> None:
        if self._cards_are_due():
            return
        now, hands = self.game.round, self.hands()
        assert now is not None
        up = hands[DEALER][-1]
        fifth = now.dealt.hands[DEALER][HAND - 1]
        if (
            fifth.face is None
            and not now.fifth_stays_down
            and self.act("reveal", box="dealer", cards=up.text)
        ):
            return
        box = next(box for box in sorted(now.boxes) if now.boxes[box].decision is None)
        if self._raises(hands[box], up):
            self._lay("raise", box, 2 * self._ante)
        else:
            self.act("fold", box=box)

    def _show(self) -> None:
        if self._cards_are_due():
            return
        now, hands = self.game.round, self.hands()
        assert now is not None
        if now.dealt.faces(DEALER) is None:
            self._reveal(DEALER, hands)
            return
        box = next((box for box in now.raised() if now.dealt.faces(box) is None), None)
        if box is None:
            raise Violation("the table waits for cards that are all shown")
        self._reveal(box, hands)

    def _reveal(self, place: int, hands: Hands) -> None:
        name = "dealer" if place == DEALER else place
        self.act("reveal", box=name, cards=" ".join(card.text for card in hands[place]))

    def _settle(self) -> None:
        if self._cards_are_due():
            return
        now, hands = self.game.round, self.hands()
        assert now is not None
        for box in now.raised():
            if now.dealt.faces(box) is None and self._is_shown(box, hands):
                self._reveal(box, hands)
                return
        self.act("settle")

    def _is_shown(self, box: int, hands: Hands) -> bool:
        """To the dealer's hand, or to claim an award by a bet that is in force (CS-09)."""
        now = self.game.round
        assert now is not None
        claims = now.boxes[box].progressive is not None and category(hands[box]) >= AWARDED_FROM
        return claims or qualifies(hands[DEALER])

    # --- what the people do wrong -----------------------------------------------------------

    def _game_faults(self) -> dict[str, Try]:
        return {
            "card-unread": lambda: self._spoils(unread=True),
            "card-unsure": lambda: self._spoils(unsure=True),
            "card-foreign": lambda: self._spoils(foreign=True),
            "card-face-up": lambda: self._spoils(face_up=True),
            "card-twice": self._twice,
            "card-too-many": self._surplus,
            "card-exposed": lambda: self._exposes(1),
            "two-cards-exposed": lambda: self._exposes(2),
            "misdeal": self._misdeals,
            "empty-box": self._empty_box,
        }

    def _is_dealing(self, *phases: Phase) -> bool:
        return self.bench.up and self.game.state in phases

    def _spoils(self, **verb: object) -> bool:
        if self._spoil_next or not self._is_dealing(Phase.DEALING) or self._source().role != "shoe":
            return False
        self._spoil_next = verb
        return True

    def _twice(self) -> bool:
        return bool(self._units) and self._spoils(card=self._random.choice(self._units)[0].text)

    def _surplus(self) -> bool:
        dealt = self._is_dealing(Phase.DECIDING, Phase.SETTLING)
        if not dealt or self._source().role != "shoe" or "error" in self.bench.handle(SHOE, "draw"):
            return False
        self.bench.read()
        return True

    def _exposes(self, count: int) -> bool:
        if not self._is_dealing(Phase.DEALING, Phase.DECIDING) or not self._known():
            return False
        places = [box for box in self._betting() if self.hands()[box]]
        slips = [(box, card) for box in places for card in range(1, len(self.hands()[box]) + 1)]
        if len(slips) < count:
            return False
        for box, card in self._random.sample(slips, count):
            if self.game.round is not None:
                self.act("expose", box=box, card=card)
        return True

    def _misdeals(self) -> bool:
        if not self._is_dealing(Phase.DEALING, Phase.DECIDING, Phase.SHOWDOWN, Phase.SETTLING):
            return False
        return self.act("misdeal", text="cards were dropped")

    def _empty_box(self) -> bool:
        if not self._is_dealing(Phase.DEALING, Phase.DECIDING) or self._known() != len(self._units):
            return False
        empty = [box for box in range(1, 8) if box not in self._betting()]
        good = [n for n in range(1, len(self._units) + 1) if n not in self._strays]
        if not empty or not good or self._units_short():
            return False
        first = self._random.choice(good)
        self.books.offer(self._raises_back())
        accepted = self.act("empty-box", box=self._random.choice(empty), first=first)
        self.books.resolve(accepted)
        if accepted:
            self._strays[first] = 0
        return accepted

    def _units_short(self) -> bool:
        """One more unit is not in the device."""
        return len(self._strays) >= (2 if self._source().role == "shoe" else 1)

    def _raises_back(self) -> list[Offer]:
        """Raises that go back with the decisions, since cards must be dealt again (CS-06)."""
        now = self.game.round
        assert now is not None
        return [(box.number, "raise", -box.raised) for box in now.boxes.values() if box.raised]
