"""Caribbean Stud under 61/2004, held by one machine: bets, deal, decisions, showdown, and what goes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from daemon.games.caribbean import views
from daemon.games.caribbean.deal import DEALER, HAND, Deal, DealtCard
from daemon.games.caribbean.round import (
    Box,
    DeckProof,
    Irregularity,
    PendingAward,
    Progressive,
    Round,
)
from daemon.games.caribbean.rows import ACTS, LIVE, NEWS, REFUSALS, ROWS, Phase
from daemon.games.caribbean.rules import BOXES, RULES_ID, CaribbeanRules, rules_from
from daemon.games.caribbean.settlement import Result, Stake, settle
from daemon.games.desk import Act, Desk, DeviceNews, GameInput, OutboxEntry, Refused, RoundClosed
from daemon.games.hands import Category, category_of, qualifies, rank_61_2004
from daemon.games.jackpot import AWARDED, Claim, Decision, LocalPool, Meter, PoolAuthority
from daemon.games.machine import build, refusals
from drivers.base import CardDrawn, CardsReturned, PacketOut, Shuffle, ShuffleDone
from drivers.base import Deal as DealCommand
from drivers.cards import Card, FaceDownCard, parse_cards

DECK_SIZE: Final = 52
CONFIRMED_BY_SUPERVISOR: Final = (Category.STRAIGHT_FLUSH, Category.ROYAL_FLUSH)
_REFUSED: Final = refusals(REFUSALS)
_LAYOUT: Final = tuple(f"{spot}.{box}" for spot in ("ante", "raise", "progressive") for box in BOXES)


class Caribbean:
    """The game of one table. Pure: the same inputs give the same effects (daemon.games.desk.Game)."""

    name = "caribbean"
    rules_id = RULES_ID
    state: Phase

    def __init__(self, rules: CaribbeanRules, authority: PoolAuthority | None = None) -> None:
        self._given_authority = authority
        self._play_by(rules)
        self._rules_in_force = False  # until the first record of the journal tells them
        self.meter = Meter()
        self.round: Round | None = None
        self.last_round_id = 0
        self.last_cards_out = 0
        self.deck = DeckProof()
        self.carried: dict[int, int] = {}  # box -> stake, for the very next round
        self.refundable: dict[int, int] = {}  # box -> stake whose box did not play that round
        self.pending: list[PendingAward] = []  # in the order of payment
        self.announcement = ""
        self._machine = build(self, Phase, Phase.OUT_OF_SERVICE, ROWS)
        self._events = self._machine.events

    # --- daemon.games.desk.Game -----------------------------------------------------------

    @property
    def phase(self) -> str:
        return self.state.value

    @property
    def round_id(self) -> int | None:
        return self.round.id if self.round else None

    @property
    def cards_out(self) -> bool:
        return self.state in LIVE

    @property
    def out_of_service(self) -> bool:
        return self.state is Phase.OUT_OF_SERVICE

    def handle(self, item: GameInput, desk: Desk) -> None:
        """Take one input. Raises Refused with the clause, the state unchanged."""
        trigger, known = (item.name, ACTS) if isinstance(item, Act) else (item.kind, NEWS)
        if trigger not in known:
            raise Refused(f"{trigger[:32]!r} is not known at this game", todo="see the acts of this game")
        no = _REFUSED.get((self.state, trigger))
        if no is not None:
            raise Refused(no.reason, no.clause, no.todo)
        self._events[trigger].trigger(self, item, desk)

    def sign(self) -> tuple[str, str]:
        return views.money(self.meter.pool, self.rules.currency), self.announcement

    def check(self, balances: Mapping[str, int]) -> list[str]:
        broken = []
        if not self.meter.holds():
            broken.append(
                "pool equation: minimums + contributions + corrections = pool + awards + overflow + reserve"
            )
        for account in ("pool", "overflow", "reserve"):
            if balances[account] != (held := getattr(self.meter, account)):
                broken.append(f"the account {account} holds {balances[account]}, the meter {held}")
        if any(balances[award.account] != award.amount for award in self.pending):
            broken.append("an award's account does not hold the frozen amount")
        if self.round is None and any(balances[account] for account in _LAYOUT):
            broken.append("bets lie on the layout and no round is open")
        return broken

    def view(self) -> dict[str, object]:
        return views.state(self)

    def round_view(self) -> dict[str, object] | None:
        return views.open_round(self) if self.round else None

    # --- the rule set: CS-13 --------------------------------------------------------------

    def adopt(self, rules: str, desk: Desk) -> None:
        configured = rules_from(rules)
        if not self._rules_in_force:
            self._play_by(configured)
        if configured == self.rules:
            desk.unlatch("rules-differ")
            return
        text = "the configuration has another rule set: " + "; ".join(self.rules.changes(configured))
        desk.latch("rules-differ", text, "change-rules, or the former configuration")

    def _play_by(self, rules: CaribbeanRules) -> None:
        self.rules = rules
        self.fingerprint = rules.fingerprint()
        self.authority = self._given_authority or LocalPool(rules.jackpot)
        self._rules_in_force = True

    def may_change_rules(self, act: Act, desk: Desk) -> None:
        _supervisor(act, "CS-13")
        if act.args.get("problem"):
            raise Refused(act.text("problem"), "CS-13", "correct the file; feltd check tells every error")
        if rules_from(act.text("rules")) == self.rules:
            raise Refused("this is the rule set in force", "CS-13")

    def change_rules(self, act: Act, desk: Desk) -> None:
        """Between rounds only; before and after are in the record (CS-13)."""
        new, before = rules_from(act.text("rules")), self.fingerprint
        changes = "; ".join(self.rules.changes(new))
        self._play_by(new)
        desk.unlatch("rules-differ")
        desk.note("CS-13", f"rule set {before[:16]} -> {self.fingerprint[:16]}: {changes}")

    # --- the table and its deck: CS-03 ----------------------------------------------------

    def open_table(self, act: Act, desk: Desk) -> None:
        if not self.meter.minimums:  # the first opening of this table's pool
            self._restart_pool(desk)

    def nothing_pending(self, act: Act, desk: Desk) -> None:
        if self.pending:
            raise Refused("an award is not paid yet", "CS-10", "confirm-award first")

    def close_table(self, act: Act, desk: Desk) -> None:
        self.announcement = ""
        self.deck = DeckProof()

    def may_shuffle(self, act: Act, desk: Desk) -> None:
        if desk.devices.mode == "shuffler" and not desk.devices.shuffler:
            raise Refused("no shuffler is in use", "CS-03", "use-shuffler id= or use-shoe first")

    def order_shuffle(self, act: Act, desk: Desk) -> None:
        self.announcement = ""
        if desk.devices.mode == "shoe":
            self.deck = DeckProof(shuffled=True)
            self._deck_is_whole(desk)
            return
        self.deck = DeckProof()
        desk.command(desk.devices.shuffler, Shuffle(desk.devices.next_command_id()))

    def may_cut(self, act: Act, desk: Desk) -> None:
        if desk.devices.mode == "shoe" and not self.deck.shuffled:
            raise Refused("the deck is not shuffled", "CS-03", "shuffle first, then cut")

    def record_cut(self, act: Act, desk: Desk) -> None:
        if desk.devices.mode == "shoe":  # after a machine's shuffle a cut changes nothing
            self.deck.cut = True

    def forget_proof(self, item: GameInput, desk: Desk) -> None:
        if desk.devices.mode == "shuffler":
            self.deck = DeckProof()

    def forget_deck(self, item: GameInput, desk: Desk) -> None:
        self.deck = DeckProof()
        if self.round:  # another device deals: it has to be told again
            self.round.closed = False
            self.round.commanded = 0
            self.round.mode = desk.devices.mode

    def take_proof(self, news: DeviceNews, desk: Desk) -> None:
        done = news.event
        assert isinstance(done, ShuffleDone)
        if desk.devices.mode != "shuffler" or news.device != desk.devices.shuffler:
            return
        if done.counted != DECK_SIZE:
            self.deck = DeckProof()
            text = f"{news.device} counted {done.counted} cards, not {DECK_SIZE}"
            desk.latch("shuffle-count", text, "shuffle")
            return
        self.deck = DeckProof(shuffler=news.device)
        self._deck_is_whole(desk)

    def _deck_is_whole(self, desk: Desk) -> None:
        for code in [code for code, fault in desk.faults.items() if fault.cleared_by == "shuffle"]:
            desk.unlatch(code)

    def note_other_deck(self, item: GameInput, desk: Desk) -> None:
        desk.note("CS-03", "the shuffler works on another deck; this round goes on")

    def _deck_proven(self, desk: Desk) -> bool:
        if desk.devices.mode == "shoe":
            return self.deck.shuffled and self.deck.cut
        return bool(self.deck.shuffler) and self.deck.shuffler == desk.devices.shuffler

    def deck_unproven(self, item: GameInput, desk: Desk) -> bool:
        return not self._deck_proven(desk)

    # --- counting: CS-07 ------------------------------------------------------------------

    def may_count(self, act: Act, desk: Desk) -> None:
        if not 0 <= act.number("cards") <= DECK_SIZE * 2:
            raise Refused("a stub has 0 to 52 cards", "CS-07", "count the cards left in the shoe")

    def count_stub(self, act: Act, desk: Desk) -> None:
        self._compare_count(act.number("cards"), DECK_SIZE - self.last_cards_out, "cards left", desk)

    def count_returned(self, news: DeviceNews, desk: Desk) -> None:
        event = news.event
        assert isinstance(event, CardsReturned)
        if self.last_cards_out:
            self._compare_count(event.counted, self.last_cards_out, "cards returned", desk)

    def _compare_count(self, counted: int, expected: int, what: str, desk: Desk) -> None:
        if counted != expected:
            self.deck = DeckProof()
            desk.latch("count", f"{counted} {what}, not {expected}", "supervisor")

    def note_untimely_return(self, news: DeviceNews, desk: Desk) -> None:
        desk.note("CS-07", "cards were returned to the shuffler outside the end of a round")

    # --- betting: CS-06 -------------------------------------------------------------------

    def may_open(self, act: Act, desk: Desk) -> None:
        for fault in desk.faults.values():
            raise Refused(f"fault {fault.code}: {fault.text}", "", f"cleared by: {fault.cleared_by}")
        reason = desk.devices.not_ready()
        if reason:
            raise Refused(reason, "CS-01", "wait for the device, or use another")
        if not self._deck_proven(desk):
            need = "shuffle and cut" if desk.devices.mode == "shoe" else "a completed shuffle of 52"
            raise Refused(f"the deck needs {need}", "CS-03", "shuffle first")
        if not desk.devices.sign_is_current():
            raise Refused("the sign is not known to show the present pool", "CS-01", "wait for the sign")

    def open_round(self, act: Act, desk: Desk) -> None:
        self.announcement = ""
        self.round = Round(
            id=self.last_round_id + 1,
            opened_at=desk.at,
            first_seq=desk.seq,
            mode=desk.devices.mode,
            pool_opened=self.meter.pool,
            rules=self.fingerprint,
        )

    @property
    def _now(self) -> Round:
        if self.round is None:
            raise RuntimeError("no round is open")
        return self.round

    def _box(self, act: Act) -> int:
        number = act.number("box")
        if number not in BOXES:
            raise Refused(f"there is no box {number}", "CS-02", "boxes are 1 to 7")
        return number

    def _bet_box(self, act: Act) -> Box:
        number = self._box(act)
        box = self._now.boxes.get(number)
        if box is None:
            raise Refused(f"box {number} has no ante", "CS-06", "ante first")
        return box

    def _betting_is_open(self) -> None:
        if self._now.closed:
            raise Refused("the dealer closed the betting", "CS-06")

    def may_ante(self, act: Act, desk: Desk) -> None:
        self._betting_is_open()
        number, amount = self._box(act), act.number("amount")
        if number in self._now.boxes:
            raise Refused(
                f"box {number} is taken", "CS-06", "a box is never shared; take-back to change the bet"
            )
        if not self.rules.ante_min <= amount <= self.rules.ante_max:
            limits = f"{self.rules.ante_min} to {self.rules.ante_max}"
            raise Refused(f"an ante of {amount} is outside the limits {limits}", "CS-06")
        player = act.args.get("player", "")
        if player and any(box.player == str(player) for box in self._now.boxes.values()):
            raise Refused("a player bets on one box only", "CS-06")

    def place_ante(self, act: Act, desk: Desk) -> None:
        number, amount = act.number("box"), act.number("amount")
        box = Box(number, amount, str(act.args.get("player", "")))
        stake = self.carried.pop(number, None)
        if stake is not None:
            box.progressive = Progressive(stake, carried=True)
        self._now.boxes[number] = box
        desk.move(f"player.{number}", f"ante.{number}", amount, "ante")

    def may_bet_progressive(self, act: Act, desk: Desk) -> None:
        self._betting_is_open()
        box = self._bet_box(act)
        if box.progressive is not None:
            why = "carried over and in force" if box.progressive.carried else "placed already"
            raise Refused(
                f"the progressive bet of box {box.number} is {why}",
                "CS-11" if box.progressive.carried else "CS-06",
            )
        stake = self.rules.jackpot.stake
        if act.number("amount", stake) != stake:
            raise Refused(f"the progressive stake is {stake}, no more and no less", "CS-06")

    def place_progressive(self, act: Act, desk: Desk) -> None:
        box = self._bet_box(act)
        box.progressive = Progressive(self.rules.jackpot.stake)
        desk.move(f"player.{box.number}", f"progressive.{box.number}", box.progressive.stake, "progressive")
        desk.message = f"progressive bet of box {box.number} accepted"

    def may_take_back(self, act: Act, desk: Desk) -> None:
        box = self._bet_box(act)
        bet = act.args.get("bet", "ante")
        if bet not in ("ante", "progressive"):
            raise Refused(f"take-back: bet={str(bet)[:16]!r} is neither ante nor progressive", "CS-05")
        if bet == "progressive" and (box.progressive is None or box.progressive.carried):
            raise Refused(f"box {box.number} has no progressive bet of this round", "CS-06")

    def take_back(self, act: Act, desk: Desk) -> None:
        box = self._bet_box(act)
        n, bet = box.number, box.progressive
        if bet is not None and not bet.carried:
            desk.move(f"progressive.{n}", f"player.{n}", bet.stake, "taken back")
            box.progressive = None
        if act.args.get("bet", "ante") == "progressive":
            return
        if bet is not None and bet.carried:
            self.carried[n] = bet.stake
        desk.move(f"ante.{n}", f"player.{n}", box.ante, "taken back")
        del self._now.boxes[n]

    def nothing_bet(self, item: GameInput, desk: Desk) -> bool:
        return not self._now.boxes

    def cancel_round(self, act: Act, desk: Desk) -> None:
        desk.message = "nobody bet: no round"
        self.round = None

    def may_close_betting(self, act: Act, desk: Desk) -> None:
        if not self._deck_proven(desk):
            raise Refused("the deck is not shuffled for this device", "CS-03", "shuffle first")
        if self._now.commanded and desk.devices.mode == "shuffler":
            raise Refused(
                "the shuffler was told to deal", "CS-07", "take the packets, or declare shuffler-failed"
            )

    def close_betting(self, act: Act, desk: Desk) -> None:
        self._now.closed = True
        if desk.devices.mode == "shuffler":
            self._ask_for_packets(len(self._now.boxes) + 1, desk)

    def _ask_for_packets(self, packets: int, desk: Desk) -> None:
        now = self._now
        now.deal_base = len(now.deal.units) if now.deal else 0
        now.commanded += packets
        desk.command(desk.devices.shuffler, DealCommand(desk.devices.next_command_id(), packets, HAND))

    # --- dealing: CS-07 -------------------------------------------------------------------

    def shoe_is_away(self, act: Act, desk: Desk) -> None:
        if desk.devices.mode != "shoe" or desk.devices.source_ready():
            raise Refused(
                "the device reports its cards itself", "CS-07", "cards are keyed only while the shoe is lost"
            )

    def latch_card_without_bets(self, item: GameInput, desk: Desk) -> None:
        self.deck = DeckProof()
        desk.latch("card-without-bets", "a card came out with no ante on the table (CS-06)", "shuffle")

    def latch_card_without_shuffle(self, item: GameInput, desk: Desk) -> None:
        self.deck = DeckProof()
        desk.latch(
            "card-without-shuffle", "a card came out of a deck without shuffle proof (CS-03)", "shuffle"
        )

    def first_card(self, item: GameInput, desk: Desk) -> None:
        """The first card closes all betting and books the contributions (CS-06, CS-10)."""
        now = self._now
        now.closed = True
        now.deal = Deal(sorted(now.boxes), 1 if desk.devices.mode == "shoe" else HAND)
        now.commanded = now.commanded or now.deal.wanted  # a machine may be started at its own button
        self.deck = DeckProof()  # one shuffle, one round
        self.refundable |= self.carried
        self.carried = {}
        for number in sorted(now.boxes):
            bet = now.boxes[number].progressive
            if bet is not None and not bet.carried:
                self._contribute(number, bet.stake, desk)

    def _contribute(self, number: int, stake: int, desk: Desk) -> None:
        share = self.meter.contribute(stake, self.rules.jackpot)
        spot = f"progressive.{number}"
        self._now.contributed += share.to_pool
        desk.move(spot, "pool", share.to_pool, "contribution")
        desk.move(spot, "overflow", share.to_overflow, "contribution")
        desk.move(spot, "reserve", share.to_reserve, "contribution")
        desk.move(spot, "house", share.house, "progressive")
        desk.outbox.append(OutboxEntry("contribution", number, share.to_pool + share.to_overflow))

    def _restart_pool(self, desk: Desk) -> None:
        """A new pool from the minimum (CS-10, art. 10(8))."""
        seed = self.meter.restart(self.rules.jackpot)
        desk.move("reserve", "pool", seed.from_reserve, "minimum")
        desk.move("house", "pool", seed.from_house, "minimum")
        desk.move("overflow", "pool", seed.from_overflow, "overflow")

    def wrong_packet(self, item: GameInput, desk: Desk) -> bool:
        event = item.event if isinstance(item, DeviceNews) else None
        if not isinstance(event, PacketOut):
            return False
        now = self._now
        out = len(now.deal.units) if now.deal else 0
        return event.count != HAND or event.index != out - now.deal_base

    def second_exposure_in_shoe(self, item: GameInput, desk: Desk) -> bool:
        return self._now.exposures > 0 and self._comes_exposed(item)

    def _comes_exposed(self, item: GameInput) -> bool:
        event = item.event if isinstance(item, DeviceNews) else None
        if not (isinstance(event, CardDrawn) and event.face_up):
            return False
        return not self._next_is_open_fifth()

    def _next_is_open_fifth(self) -> bool:
        deal, down = self._now.dealt, self._now.fifth_stays_down
        return deal.next_place() == DEALER and len(deal.hands[DEALER]) == HAND - 1 and not down

    def last_unit(self, item: GameInput, desk: Desk) -> bool:
        return self._now.dealt.due == 1

    def deal_unit(self, item: GameInput, desk: Desk) -> None:
        now = self._now
        deal = now.dealt
        exposed = self._comes_exposed(item)
        event = item.event if isinstance(item, DeviceNews) else None
        if isinstance(event, PacketOut):
            unit = [DealtCard() for _ in range(event.count)]
        elif isinstance(event, CardDrawn):
            unit = [DealtCard(event.face, exposed)]
            self._check_face(event.face, desk)
        else:
            unit = [DealtCard()]
            now.entered_by_hand += unit
        place = deal.add(unit)
        if exposed:
            self._count_exposure(place, len(deal.hands[place]), "face up in the shoe", desk)

    def _check_face(self, face: FaceDownCard | None, desk: Desk) -> None:
        if face is None:
            desk.note("CS-07", "a card was not read: show it at the showdown")
            return
        index = face.turn().index
        if index in self._now.faces_seen:
            self._halt_for_deck(desk)
        self._now.faces_seen.add(index)

    def _halt_for_deck(self, desk: Desk) -> None:
        # The face is not named: it may still be face down.
        desk.latch("duplicate-card", "a face came twice in one round (CS-01)", "clear-fault, or misdeal")

    def owed_to_hand_entry(self, item: GameInput, desk: Desk) -> bool:
        return bool(self._now.entered_by_hand)

    def not_owed_to_hand_entry(self, item: GameInput, desk: Desk) -> bool:
        return not self._now.entered_by_hand

    def match_hand_entry(self, news: DeviceNews, desk: Desk) -> None:
        """The shoe is back and tells a card that the dealer has entered: its face, nothing more."""
        event = news.event
        assert isinstance(event, CardDrawn)
        self._now.entered_by_hand.pop(0).face = event.face
        self._check_face(event.face, desk)

    def note_packet_taken(self, news: DeviceNews, desk: Desk) -> None:
        if self.round is None or self.round.deal is None:
            return  # a machine being emptied between rounds
        self.round.taken += 1
        self._ask_for_missing_packet(desk)

    def _ask_for_missing_packet(self, desk: Desk) -> None:
        now = self._now
        if desk.devices.mode == "shuffler" and now.taken == now.commanded and now.dealt.due > 0:
            self._ask_for_packets(now.dealt.due, desk)

    def latch_cut_card(self, item: GameInput, desk: Desk) -> None:
        desk.latch(
            "cut-card", "the cut card came out during a round: the deck is short (CS-07)", "supervisor"
        )

    def note_cut_card(self, item: GameInput, desk: Desk) -> None:
        desk.note("CS-03", "the cut card left the shoe")

    def latch_stray_cards(self, news: DeviceNews, desk: Desk) -> None:
        text = f"cards came out of {news.device}, which is not in use (CS-07)"
        desk.latch("stray-cards", text, "shuffle")

    # --- irregularities: CS-11 ------------------------------------------------------------

    def _irregular(self, clause: str, detail: str, desk: Desk) -> None:
        self._now.irregularities.append(Irregularity(clause, detail, desk.at))
        desk.note(clause, detail)

    def _place(self, act: Act) -> int:
        return DEALER if act.text("box").lower() == "dealer" else self._box(act)

    def may_expose(self, act: Act, desk: Desk) -> None:
        place, position = self._place(act), act.number("card")
        hand = self._now.dealt.hands.get(place, [])
        if not 1 <= position <= len(hand):
            raise Refused(f"{views.place_name(place)} has no card {position}", "CS-11b")
        card = hand[position - 1]
        if card.exposed or card.turned:
            raise Refused("that card lies face up already", "CS-11b")
        if place == DEALER and position == HAND and not self._now.fifth_stays_down:
            raise Refused("the dealer's fifth card is face up by rule: no exposure", "CS-11b")

    def another_was_exposed(self, act: Act, desk: Desk) -> bool:
        return self._now.exposures > 0

    def expose(self, act: Act, desk: Desk) -> None:
        place, position = self._place(act), act.number("card")
        self._now.dealt.hands[place][position - 1].exposed = True
        self._count_exposure(place, position, "exposed", desk)

    def _count_exposure(self, place: int, position: int, how: str, desk: Desk) -> None:
        now = self._now
        now.exposures += 1
        if now.exposures > 1:
            return
        if place == DEALER and len(now.dealt.hands[DEALER]) < HAND:
            now.fifth_stays_down = True
        self._irregular(
            "CS-11b", f"card {position} of {views.place_name(place)} {how}: the round stands", desk
        )

    def may_empty_box(self, act: Act, desk: Desk) -> None:
        box, first = self._box(act), act.number("first")
        if box in self._now.boxes:
            raise Refused(f"box {box} has a bet", "CS-11c", "a wrong number of cards is a misdeal (CS-11a)")
        if not 1 <= first <= len(self._now.dealt.units) or first in self._now.dealt.strays:
            raise Refused(f"card or packet {first} did not go to an empty box", "CS-11c")

    def empty_box(self, act: Act, desk: Desk) -> None:
        box, first = act.number("box"), act.number("first")
        self._now.dealt.stray(first, box)
        self._irregular("CS-11c", f"box {box} was dealt to without a bet: box void, the round goes on", desk)
        self._ask_for_missing_packet(desk)

    def take_decisions_back(self, act: Act, desk: Desk) -> None:
        """Decisions made before the dealer's last card were made too early (CS-06)."""
        for box in self._now.boxes.values():
            desk.move(f"raise.{box.number}", f"player.{box.number}", box.raised, "taken back")
            box.raised, box.decision = 0, None

    def void_wrong_number(self, item: GameInput, desk: Desk) -> None:
        self._void("CS-11a", "wrong number of cards in a packet, or a packet too many", desk)

    def void_surplus(self, item: GameInput, desk: Desk) -> None:
        self._now.dealt.units.append([DealtCard()])  # it is out, and counts
        self._void("CS-11a", "a card too many came out", desk)

    def void_two_exposed(self, item: GameInput, desk: Desk) -> None:
        self._void("CS-11a", "two cards exposed", desk)

    def void_wrong_source(self, news: DeviceNews, desk: Desk) -> None:
        self._void("CS-11a", f"cards came out of {news.device}, which is not in use", desk)

    def void_misdeal(self, act: Act, desk: Desk) -> None:
        self._void("CS-11a", str(act.args.get("text", "misdeal declared"))[:200], desk)

    def shuffler_deals(self, act: Act, desk: Desk) -> None:
        if desk.devices.mode != "shuffler":
            raise Refused("no shuffler deals this round", "CS-11d")

    def latch_shuffler_fault(self, item: GameInput, desk: Desk) -> None:
        self.forget_proof(item, desk)
        if isinstance(item, DeviceNews):
            desk.latch("shuffler-fault", f"{item.device} reports a fault", "clear-fault")

    def shuffler_fails_before_deal(self, item: GameInput, desk: Desk) -> None:
        """Nothing is void: the bets stay or are taken back, another device deals (CS-11d)."""
        self.deck = DeckProof()
        self._now.closed = False
        self._now.commanded = 0
        device = desk.devices.shuffler
        desk.devices.bar(device, "CS-11d")
        self._irregular(
            "CS-11d", f"{device} failed before the first card: bets stay, another device deals", desk
        )

    def void_shuffler_failed(self, item: GameInput, desk: Desk) -> None:
        device = desk.devices.shuffler
        desk.devices.bar(device, "CS-11d")
        self._void("CS-11d", f"{device} failed while dealing", desk)

    def _void(self, clause: str, detail: str, desk: Desk) -> None:
        """Bets go back, progressive bets carry over by themselves (CS-11a, d)."""
        self._irregular(clause, detail, desk)
        for n in sorted(self._now.boxes):
            box = self._now.boxes[n]
            desk.move(f"ante.{n}", f"player.{n}", box.ante, "void")
            desk.move(f"raise.{n}", f"player.{n}", box.raised, "void")
            if box.progressive is not None:
                self.carried[n] = box.progressive.stake
        self.announcement = "VOID"
        if clause == "CS-11a":
            desk.unlatch("duplicate-card")
        self._close("void", {}, Decision((), self.meter.pool, False), desk)

    # --- decisions: CS-06 -----------------------------------------------------------------

    def may_decide(self, act: Act, desk: Desk) -> None:
        box = self._bet_box(act)
        if box.decision is not None:
            raise Refused(f"box {box.number} has decided; a decision is final", "CS-06")
        if "duplicate-card" in desk.faults:
            raise Refused("a face came twice in this round", "CS-01", "clear-fault, or misdeal")

    def may_raise(self, act: Act, desk: Desk) -> None:
        self.may_decide(act, desk)
        due = 2 * self._bet_box(act).ante
        if act.number("amount", due) != due:
            raise Refused(f"the raise is exactly {due}, twice the ante", "CS-06")

    def raise_bet(self, act: Act, desk: Desk) -> None:
        box = self._bet_box(act)
        box.raised, box.decision = 2 * box.ante, "raise"
        desk.move(f"player.{box.number}", f"raise.{box.number}", box.raised, "raise")

    def fold(self, act: Act, desk: Desk) -> None:
        self._bet_box(act).decision = "fold"

    def last_decision(self, act: Act, desk: Desk) -> bool:
        return self._now.undecided() == [act.number("box")]

    def ends_known(self, act: Act, desk: Desk) -> bool:
        """This is the last decision, and no face has to be shown by hand."""
        if not self.last_decision(act, desk):
            return False
        raised = self._now.raised() + ([act.number("box")] if act.name == "raise" else [])
        return not raised or self._all_known(raised, {})

    def _all_known(self, raised: list[int], shown: dict[int, list[Card]]) -> bool:
        """Every hand that CS-09 opens is known, with those just ``shown``."""
        deal = self._now.dealt
        dealer = shown.get(DEALER) or deal.faces(DEALER)
        if dealer is None:
            return False
        return not qualifies(dealer) or all(shown.get(b) or deal.faces(b) for b in raised)

    def open_hands(self, act: Act, desk: Desk) -> None:
        """The dealer turns his cards, and the players' if he qualifies (CS-09)."""
        raised = self._now.raised()
        dealer = self._now.dealt.faces(DEALER) if raised else None
        if dealer is None:
            return
        self._turn(DEALER)
        for box in raised if qualifies(dealer) else ():
            if self._now.dealt.faces(box) is not None:
                self._turn(box)

    def _turn(self, place: int) -> None:
        for card in self._now.dealt.hands[place]:
            card.turned = True

    # --- showdown: CS-09 ------------------------------------------------------------------

    def _shown(self, act: Act, count: int) -> list[Card]:
        try:
            cards = parse_cards(act.text("cards"))
        except ValueError as error:
            raise Refused(str(error), "CS-01") from None
        if len(cards) != count or len(set(cards)) != count:
            raise Refused(f"{count} different cards are to be shown", "CS-07")
        return cards

    def may_reveal_fifth(self, act: Act, desk: Desk) -> None:
        fifth = self._now.dealt.hands[DEALER][HAND - 1]
        if self._place(act) != DEALER or self._now.fifth_stays_down:
            raise Refused("only the dealer's fifth card is turned before the last decision", "CS-06")
        if fifth.face is not None:
            raise Refused("the dealer's fifth card is known", "CS-07")
        self._shown(act, 1)

    def reveal_fifth(self, act: Act, desk: Desk) -> None:
        card = self._shown(act, 1)[0]
        fifth = self._now.dealt.hands[DEALER][HAND - 1]
        fifth.face, fifth.turned = FaceDownCard(card), True
        self._now.faces_seen.add(card.index)

    def may_reveal(self, act: Act, desk: Desk) -> None:
        place, cards = self._place(act), self._shown(act, HAND)
        self._may_open(place)
        known = [c.face.turn() for c in self._now.dealt.hands[place] if c.face is not None]
        if not set(known) <= set(cards):
            raise Refused(
                "the device read other cards for this hand", "CS-01", "show the true cards, or misdeal"
            )
        elsewhere = self._now.faces_seen - {card.index for card in known}
        if any(card.index in elsewhere for card in cards):
            raise Refused("one of these cards is in another hand", "CS-01", "show the true cards, or misdeal")

    def _may_open(self, place: int) -> None:
        """Whose cards CS-09 and CS-10 let the dealer open now."""
        deal, box = self._now.dealt, self._now.boxes.get(place)
        if deal.faces(place) is not None and deal.hands[place][0].turned:
            raise Refused("these cards are shown already", "CS-09")
        if place == DEALER:
            if not self._now.raised():
                raise Refused("no box raised: the dealer's cards stay face down", "CS-06")
            return
        if box is None:
            raise Refused(f"box {place} has no bet", "CS-06")
        dealer = deal.faces(DEALER) if deal.hands[DEALER][0].turned else None
        if box.raised and dealer is None:
            raise Refused("the dealer opens his cards first", "CS-09", "reveal box=dealer")
        opened = box.raised and dealer is not None and qualifies(dealer)
        if not opened and not self._progressive_counts(box):
            raise Refused("these cards stay face down", "CS-09")

    def _progressive_counts(self, box: Box) -> bool:
        folded_pays = self.rules.jackpot.folded == "pays"
        return box.progressive is not None and (box.decision == "raise" or folded_pays)

    def all_revealed_then(self, act: Act, desk: Desk) -> bool:
        return self._all_known(self._now.raised(), {self._place(act): self._shown(act, HAND)})

    def reveal(self, act: Act, desk: Desk) -> None:
        place, cards = self._place(act), self._shown(act, HAND)
        hand = self._now.dealt.hands[place]
        left = [c for c in cards if c not in {h.face.turn() for h in hand if h.face is not None}]
        for card in hand:
            if card.face is None:
                card.face = FaceDownCard(left.pop(0))
            card.turned = True
        self._now.faces_seen |= {card.index for card in cards}

    # --- settling: CS-09, CS-10 -----------------------------------------------------------

    def results(self) -> list[Result]:
        """The main game as it stands. Only once every hand that matters is known."""
        now = self._now
        dealer = now.dealt.faces(DEALER) if now.raised() else None
        stakes = [
            Stake(n, box.ante, box.raised, now.dealt.faces(n) if box.raised else None)
            for n, box in sorted(now.boxes.items())
        ]
        return settle(dealer, stakes, self.rules)

    def claims(self) -> list[Claim]:
        """Boxes that hold an awarded hand with a progressive bet in force (CS-10)."""
        claims = []
        for number, box in sorted(self._now.boxes.items()):
            cards = self._now.dealt.faces(number) if self._progressive_counts(box) else None
            category = category_of(rank_61_2004(cards)) if cards else Category.NO_PAIR
            if category in AWARDED:
                claims.append(Claim(number, category))
        return claims

    def may_declare(self, act: Act, desk: Desk) -> None:
        self._bet_box(act)
        if act.text("result") not in ("win", "lose", "not-qualified"):
            raise Refused("a result is win, lose or not-qualified", "CS-09")

    def declare(self, act: Act, desk: Desk) -> None:
        box = self._bet_box(act)
        box.declared = act.text("result")
        true = next(r.result for r in self.results() if r.box == box.number)
        if true != box.declared:
            desk.note("CS-09", f"box {box.number}: declared {box.declared}, computed {true}: payment stops")

    def may_settle(self, act: Act, desk: Desk) -> None:
        if "duplicate-card" in desk.faults:
            raise Refused("a face came twice in this round", "CS-01", "clear-fault, or misdeal")
        for result in self.results():
            declared = self._now.boxes[result.box].declared
            if declared not in (None, result.result):
                text = f"box {result.box} was declared {declared}, the cards say {result.result}"
                raise Refused(text, "CS-09", "declare again, or misdeal")

    def settle(self, act: Act, desk: Desk) -> None:
        """All boxes in one step: the main game, then the awards in the order of CS-10."""
        results = {result.box: result for result in self.results()}
        for number, result in results.items():
            self._pay_box(self._now.boxes[number], result, desk)
        decision = self.authority.decide(self.claims(), self.meter.pool)
        if decision is None:
            raise RuntimeError("a linked pool decides later; this table has none")
        self._take_awards(decision, desk)
        self._close("settled", results, decision, desk)
        self._pay_awards(desk)

    def _pay_box(self, box: Box, result: Result, desk: Desk) -> None:
        n, lost = box.number, result.result == "lose"
        to = "house" if lost else f"player.{n}"
        desk.move(f"ante.{n}", to, box.ante, "lost" if lost else "returned")
        desk.move(f"raise.{n}", to, box.raised, "lost" if lost else "returned")
        desk.move("house", f"player.{n}", result.ante_paid, "ante won")
        desk.move("house", f"player.{n}", result.raise_paid, "raise won")

    def _take_awards(self, decision: Decision, desk: Desk) -> None:
        for award in decision.awards:
            auto = award.category not in CONFIRMED_BY_SUPERVISOR
            pending = PendingAward(self._now.id, award.box, award.category, award.amount, confirmed=auto)
            self.meter.award(award.from_pool)
            desk.move("pool", pending.account, award.from_pool, "award")
            desk.move("house", pending.account, award.from_house, "award")
            desk.outbox.append(OutboxEntry("award", award.box, award.amount))
            self._turn(award.box)
            self.pending.append(pending)
        if decision.emptied:
            self._restart_pool(desk)
        if decision.awards:
            best = max(decision.awards, key=lambda award: award.amount)
            self.announcement = f"WINNER BOX {best.box} {views.money(best.amount, self.rules.currency)}"

    def _close(self, outcome: str, results: dict[int, Result], decision: Decision, desk: Desk) -> None:
        now = self._now
        summary = views.summary(self, outcome, results, decision, desk)
        self.last_round_id = now.id
        self.last_cards_out = now.dealt.cards
        desk.effects.append(RoundClosed(now.id, outcome, summary))
        self.round = None

    # --- awards and corrections: CS-10, CS-11 ---------------------------------------------

    def may_confirm_award(self, act: Act, desk: Desk) -> None:
        _supervisor(act, "CS-10")
        if self._award_to_confirm(act) is None:
            raise Refused(f"box {act.number('box')} has no award to confirm", "CS-10")

    def _award_to_confirm(self, act: Act) -> PendingAward | None:
        box = act.number("box")
        return next((a for a in self.pending if a.box == box and not a.confirmed), None)

    def confirm_award(self, act: Act, desk: Desk) -> None:
        award = self._award_to_confirm(act)
        assert award is not None
        award.confirmed = True
        self._pay_awards(desk)
        if award in self.pending:
            desk.message = "confirmed; paid when those before it are (CS-10)"

    def _pay_awards(self, desk: Desk) -> None:
        """Pay from the head of the line as far as everything is confirmed."""
        while self.pending and self.pending[0].confirmed:
            award = self.pending.pop(0)
            desk.move(award.account, f"player.{award.box}", award.amount, "award paid")
            desk.note("CS-10", f"round {award.round_id}: award of box {award.box} paid")

    def _refund_source(self, act: Act) -> dict[int, int]:
        box = self._box(act)
        return self.refundable if box in self.refundable else self.carried

    def may_refund(self, act: Act, desk: Desk) -> None:
        _supervisor(act, "CS-11")
        if self._box(act) not in self._refund_source(act):
            raise Refused(f"box {act.number('box')} has no carried bet outside a round", "CS-11")

    def refund_carried(self, act: Act, desk: Desk) -> None:
        """From the house's money, not the pool: the contribution stays (CS-11)."""
        box = act.number("box")
        desk.move("house", f"player.{box}", self._refund_source(act).pop(box), "carried bet refunded")

    def may_correct(self, act: Act, desk: Desk) -> None:
        _supervisor(act, "CS-10")
        if not act.second:
            raise Refused("a correction of the pool needs a second role", "CS-10", "give second=")
        amount = act.number("amount")
        act.text("text")
        if amount == 0 or self.meter.pool + amount < 0:
            raise Refused(f"a correction of {amount} is not possible", "CS-10")

    def correct_pool(self, act: Act, desk: Desk) -> None:
        amount = act.number("amount")
        self.meter.correct(amount)
        source, target = ("house", "pool") if amount > 0 else ("pool", "house")
        desk.move(source, target, abs(amount), "correction")


def _supervisor(act: Act, clause: str) -> None:
    if act.role != "supervisor":
        raise Refused(f"{act.name} is a supervisor's act", clause, "role=supervisor")
