"""Dealing: whose the cards are that leave the device (CS-07), and what the first one books (CS-10)."""

from __future__ import annotations

from typing import Final

from daemon.games.caribbean.deal import DEALER, HAND, Deal, DealtCard
from daemon.games.caribbean.linking import Linking
from daemon.games.caribbean.round import DealOrder, DeckProof
from daemon.games.desk import Act, Desk, DeviceNews, GameInput, OutboxEntry, Refused
from daemon.games.linked import CONTRIBUTION
from drivers.base import CardDrawn, CommandResult, PacketOut

IN_SHOE: Final = "face up in the shoe"


class Dealing(Linking):
    """A chapter of :class:`daemon.games.caribbean.game.Caribbean`."""

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
        self.deck = DeckProof()  # one shuffle, one round
        for box, stake in self.carried.items():
            self.refundable[box] = self.refundable.get(box, 0) + stake
        self.carried = {}
        for number in sorted(now.boxes):
            bet = now.boxes[number].progressive
            if bet is not None and not bet.carried:
                self._contribute(number, bet.stake, desk)

    def _contribute(self, number: int, stake: int, desk: Desk) -> None:
        share = self.meter.contribute(stake, self.rules.jackpot)
        spot = f"progressive.{number}"
        self._now.contributed += share.to_pool
        if self.linked is not None:
            self._owe(number, share, desk)
            return
        desk.move(spot, "pool", share.to_pool, "contribution")
        desk.move(spot, "overflow", share.to_overflow, "contribution")
        desk.move(spot, "reserve", share.to_reserve, "contribution")
        desk.move(spot, "house", share.house, "progressive")
        desk.outbox.append(OutboxEntry(CONTRIBUTION, number, share.to_pool + share.to_overflow))

    def wrong_packet(self, item: GameInput, desk: Desk) -> bool:
        event = item.event if isinstance(item, DeviceNews) else None
        if not isinstance(event, PacketOut):
            return False
        now = self._now
        out = len(now.deal.units) if now.deal else 0
        return event.count != HAND or event.index != out - (now.order.base if now.order else out)

    def second_exposure_in_shoe(self, item: GameInput, desk: Desk) -> bool:
        return self._now.exposure is not None and self._comes_exposed(item)

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
            if now.order is None:  # the machine was started at its own button
                now.order = DealOrder(desk.devices.shuffler, 0, deal.due, len(deal.units))
        elif isinstance(event, CardDrawn):
            unit = [DealtCard(event.face)]
            if not event.sure:
                desk.note("CS-07", "a card was read with low confidence: compare it at the showdown")
            self._check_face(unit[0], event.foreign, desk)
        else:
            unit = [DealtCard()]
            now.entered_by_hand += unit
        deal.add(unit)
        if exposed:
            self._expose(unit[0], IN_SHOE, desk)

    def owed_to_hand_entry(self, item: GameInput, desk: Desk) -> bool:
        return bool(self._now.entered_by_hand)

    def not_owed_to_hand_entry(self, item: GameInput, desk: Desk) -> bool:
        return not self._now.entered_by_hand

    def match_hand_entry(self, news: DeviceNews, desk: Desk) -> None:
        """The shoe is back and tells a card that the dealer has entered: its face, nothing more."""
        event = news.event
        assert isinstance(event, CardDrawn)
        exposed = self._was_exposed(news)
        card = self._now.entered_by_hand.pop(0)
        if card.face is None:
            card.face = event.face
            self._check_face(card, event.foreign, desk)
        elif event.foreign or event.face not in (None, card.face):
            text = "the shoe read another card than was shown (CS-01)"
            desk.latch("other-face", text, "clear-fault, or misdeal")
        if exposed:
            self._expose(card, IN_SHOE, desk)

    def _was_exposed(self, news: DeviceNews) -> bool:
        """The keyed card that this event tells lay face up in the shoe, and not by rule."""
        now, event = self._now, news.event
        if not (isinstance(event, CardDrawn) and event.face_up):
            return False
        by_rule = now.dealt.where(now.entered_by_hand[0]) == (DEALER, HAND) and not now.fifth_stays_down
        return not by_rule

    def second_exposure_keyed(self, news: DeviceNews, desk: Desk) -> bool:
        now = self._now
        return bool(now.entered_by_hand) and now.exposure is not None and self._was_exposed(news)

    def shoe_restarted(self, item: GameInput, desk: Desk) -> None:
        """What it had not told is lost: cards may be out that nobody knows of."""
        self._now.entered_by_hand.clear()
        text = "the shoe restarted while cards were out: count the stub before the round goes on (CS-07)"
        desk.latch("shoe-restarted", text, "clear-fault, or misdeal")

    def note_packet_taken(self, news: DeviceNews, desk: Desk) -> None:
        if self.round is None or self.round.deal is None:
            return  # a machine being emptied between rounds
        if self.round.order is not None:
            self.round.order.taken += 1
        self._ask_for_missing_packet(desk)

    def deal_refused(self, news: DeviceNews, desk: Desk) -> None:
        """The machine did not take the order: nothing was dealt, it can be ordered anew."""
        now, result = self.round, news.event
        assert isinstance(result, CommandResult)
        if now is None or now.order is None or now.order.command_id != result.command_id:
            return
        now.order = None
        now.closed = now.deal is not None
        desk.note("CS-07", f"{news.device} did not take the order to deal ({result.outcome})")

    def was_told_to_stop(self, news: DeviceNews, desk: Desk) -> bool:
        return news.device == self.stopped

    def count_late_packet(self, news: DeviceNews, desk: Desk) -> None:
        """It was on its way when the round was voided."""
        event = news.event
        assert isinstance(event, PacketOut)
        self.last_cards_out += event.count
        desk.note("CS-07", f"{event.count} more cards came out of {news.device} after the round was void")

    def latch_cut_card(self, item: GameInput, desk: Desk) -> None:
        desk.latch(
            "cut-card", "the cut card came out during a round: the deck is short (CS-07)", "supervisor"
        )

    def note_cut_card(self, item: GameInput, desk: Desk) -> None:
        desk.note("CS-03", "the cut card left the shoe")

    def latch_stray_cards(self, news: DeviceNews, desk: Desk) -> None:
        text = f"cards came out of {news.device}, which is not in use (CS-07)"
        desk.latch("stray-cards", text, "clear-fault")
