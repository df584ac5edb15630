"""What all chapters of a Caribbean Stud round share: its memory, and the few acts that end it."""

from __future__ import annotations

from typing import Final

from daemon.games.caribbean import programme, views
from daemon.games.caribbean.deal import DEALER, HAND, DealtCard
from daemon.games.caribbean.round import (
    Box,
    DealOrder,
    DeckProof,
    Exposure,
    Irregularity,
    PendingAward,
    Round,
)
from daemon.games.caribbean.rows import Phase
from daemon.games.caribbean.rules import BOXES, RULES_ID, CaribbeanRules, rules_from
from daemon.games.caribbean.settlement import Result
from daemon.games.desk import Act, Desk, GameInput, Refused, RoundClosed
from daemon.games.hands import qualifies
from daemon.games.in_force import InForce
from daemon.games.jackpot import AwayPool, Decision, LinkedMeter, LocalPool, Meter, PoolAuthority
from daemon.games.linked import Linked
from drivers.base import Deal as DealCommand
from drivers.base import StopDeal
from drivers.cards import Card

DECK_SIZE: Final = 52
WRONG_DECK: Final = ("duplicate-card", "foreign-card")  # CS-01
NO_ROOM: Final = "disk-low"
IN_DOUBT: Final = (*WRONG_DECK, "shoe-restarted", "other-face")  # faults that halt a round


class Memory(InForce[CaribbeanRules]):
    """The memory of one table. The chapters are mixed into :class:`daemon.games.caribbean.game.Caribbean`."""

    name = "caribbean"
    rules_id = RULES_ID
    rules_clause = "CS-13"
    shuffle_clause = "CS-03"
    rules_from = staticmethod(rules_from)
    state: Phase
    authority: PoolAuthority

    def __init__(self, rules: CaribbeanRules, authority: PoolAuthority | None = None) -> None:
        self._given_authority = authority
        self.linked: Linked | None = None  # the house's linked pool, if this table is one of its tables
        self.play_by(rules)
        self.rules_in_force = False  # until the first record of the journal tells them
        self.meter = Meter()
        self.round: Round | None = None
        self.last_round_id = 0
        self.last_cards_out = 0
        self.deck = DeckProof()
        self.carried: dict[int, int] = {}  # box -> stake, for the very next round
        self.refundable: dict[int, int] = {}  # box -> stake whose box did not play that round
        self.pending: list[PendingAward] = []  # in the order of payment
        self.announcement = ""
        self.stopped = ""  # the shuffler that was told to stop its deal

    def play_by(self, rules: CaribbeanRules) -> None:
        super().play_by(rules)
        self._prizes = programme.prize_pages(rules)
        self._choose_authority()

    def belong_to(self, linked: Linked | None) -> None:
        """The pool is this linked one, None: the table's own. The meter counts from nothing."""
        self.linked = linked
        self.meter = LinkedMeter() if linked is not None else Meter()
        self._choose_authority()

    def _choose_authority(self) -> None:
        own = AwayPool() if self.linked is not None else LocalPool(self.rules.jackpot)
        self.authority = self._given_authority or own

    @property
    def pool(self) -> int:
        """The pool that a win is about: the table's own, or the linked one as last heard of. Minor units."""
        return self.meter.pool if self.linked is None else self.linked.pool

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

    def _room_for_bets(self, desk: Desk) -> None:
        """While the disk still takes what a running round needs, no new money comes in."""
        fault = desk.faults.get(NO_ROOM)
        if fault is not None:
            raise Refused(fault.text, "", "make room on the disk; a bet is taken once there is some")

    def _link_holds(self) -> None:
        """A bet on a pool that nobody here knows any more is not taken."""
        why = self.linked.stopped() if self.linked is not None else ""
        if why:
            raise Refused(why, "CS-10", "it is taken again by itself once the linked pool is heard of")

    def _bet_box(self, act: Act) -> Box:
        number = self._box(act)
        box = self._now.boxes.get(number)
        if box is None:
            raise Refused(f"box {number} has no ante", "CS-06", "ante first")
        return box

    def _place(self, act: Act) -> int:
        return DEALER if act.text("box").lower() == "dealer" else self._box(act)

    def _deck_proven(self, desk: Desk) -> bool:
        if desk.devices.mode == "shoe":
            return self.deck.shuffled and self.deck.cut
        proof = self.deck
        return bool(proof.shuffler) and not proof.uncounted and proof.shuffler == desk.devices.shuffler

    def forget_proof(self, item: GameInput, desk: Desk) -> None:
        if desk.devices.mode == "shuffler":
            self.deck = DeckProof()

    def _deck_is_whole(self, desk: Desk) -> None:
        for code in [code for code, fault in desk.faults.items() if fault.cleared_by == "shuffle"]:
            desk.unlatch(code)

    def _ask_for_packets(self, packets: int, desk: Desk) -> None:
        now, device, number = self._now, desk.devices.shuffler, desk.devices.next_command_id()
        now.order = DealOrder(device, number, packets, len(now.deal.units) if now.deal else 0)
        desk.command(device, DealCommand(number, packets, HAND))

    def _ask_for_missing_packet(self, desk: Desk) -> None:
        """One more packet is due (CS-11c); a machine deals it when the last one was taken."""
        now = self._now
        free = now.order is None or now.order.taken >= now.order.packets
        if desk.devices.mode == "shuffler" and free and now.dealt.due > 0:
            self._ask_for_packets(now.dealt.due, desk)

    def _stop_deal(self, desk: Desk) -> None:
        """Tell a machine that still has packets to deal to stop; those already on their way are counted."""
        now = self._now
        order, now.order = now.order, None
        if order is None:
            return
        out = len(now.deal.units) - order.base if now.deal else 0
        if out < order.packets:
            self.stopped = order.device
            desk.command(order.device, StopDeal(desk.devices.next_command_id()))

    def _restart_pool(self, desk: Desk) -> None:
        """A new pool from the minimum (CS-10, art. 10(8))."""
        seed = self.meter.restart(self.rules.jackpot)
        desk.move("reserve", "pool", seed.from_reserve, "minimum")
        desk.move("house", "pool", seed.from_house, "minimum")
        desk.move("overflow", "pool", seed.from_overflow, "overflow")

    def _check_face(self, card: DealtCard, foreign: bool, desk: Desk) -> None:
        """A face twice, or none of the 52, halts the table until the dealer decides (CS-01).

        The face is not named: it may still lie face down. It counts as unknown from here on.
        """
        if foreign:
            desk.latch("foreign-card", "a card is none of the 52 (CS-01)", "clear-fault, or misdeal")
            return
        if card.face is None:
            desk.note("CS-07", "a card was not read: show it at the showdown")
            return
        index = card.face.turn().index
        if index in self._now.faces_seen:
            card.face = None
            desk.latch("duplicate-card", "a face came twice in one round (CS-01)", "clear-fault, or misdeal")
        self._now.faces_seen.add(index)

    def _deck_in_doubt(self, desk: Desk) -> None:
        for code in IN_DOUBT:
            if code in desk.faults:
                raise Refused(desk.faults[code].text, "CS-01", "clear-fault and show the card, or misdeal")

    def _give_up_deck(self, desk: Desk) -> None:
        """A deck in doubt whose round is void was wrong: another one is needed (CS-01)."""
        if any(code in desk.faults for code in WRONG_DECK):
            desk.latch("new-deck", "the deck was wrong: bring a new one (CS-01)", "clear-fault")
        for code in IN_DOUBT:
            desk.unlatch(code)

    def _progressive_counts(self, box: Box) -> bool:
        folded_pays = self.rules.jackpot.folded == "pays"
        return box.progressive is not None and (box.decision == "raise" or folded_pays)

    def _all_known(self, raised: list[int], shown: dict[int, list[Card]]) -> bool:
        """Every hand that CS-09 opens is known, with those just ``shown``."""
        deal = self._now.dealt
        dealer = shown.get(DEALER) or deal.faces(DEALER)
        if dealer is None:
            return False
        return not qualifies(dealer) or all(shown.get(b) or deal.faces(b) for b in raised)

    def _turn(self, place: int) -> None:
        for card in self._now.dealt.hands[place]:
            card.turned = True

    def _irregular(self, clause: str, detail: str, desk: Desk, card: DealtCard | None = None) -> None:
        told = Irregularity(clause, detail, desk.at, card)
        self._now.irregularities.append(told)
        desk.note(clause, views.detail(self._now, told))

    def _expose(self, card: DealtCard, how: str, desk: Desk) -> None:
        """A card lies open that should not; the second one is the caller's to void."""
        now = self._now
        card.exposed = True
        if now.exposure is None:
            now.exposure = Exposure(card, early=now.dealt.due > 0)
            self._irregular("CS-11b", f"{how}: the round stands", desk, card)

    def _void(self, clause: str, detail: str, desk: Desk) -> None:
        """Bets go back, progressive bets carry over by themselves (CS-11a, d)."""
        self._irregular(clause, detail, desk)
        for n in sorted(self._now.boxes):
            box = self._now.boxes[n]
            desk.move(f"ante.{n}", f"player.{n}", box.ante, "void")
            desk.move(f"raise.{n}", f"player.{n}", box.raised, "void")
            if box.progressive is not None:
                self.carried[n] = box.progressive.stake
        self.announcement = programme.VOID
        self._stop_deal(desk)
        self._give_up_deck(desk)
        self._close("void", {}, Decision((), self.pool, False), desk)

    def _close(self, outcome: str, results: dict[int, Result], decision: Decision, desk: Desk) -> None:
        now = self._now
        summary = views.summary(self, outcome, results, decision, desk)
        self.last_round_id = now.id
        self.last_cards_out = now.dealt.cards
        desk.effects.append(RoundClosed(now.id, outcome, summary))
        self.round = None
