"""Dealing: whose the cards are that leave the device (CS-07), and what the first one books (CS-10)."""

from __future__ import annotations

from daemon.games.caribbean.deal import DEALER, HAND, Deal, DealtCard
from daemon.games.caribbean.memory import Memory
from daemon.games.caribbean.round import (
    DeckProof,
)
from daemon.games.desk import Act, Desk, DeviceNews, GameInput, OutboxEntry, Refused
from drivers.base import CardDrawn, PacketOut


class Dealing(Memory):
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
            self._check_face(unit[0], event.foreign, desk)
        else:
            unit = [DealtCard()]
            now.entered_by_hand += unit
        place = deal.add(unit)
        if exposed:
            self._count_exposure(place, len(deal.hands[place]), "face up in the shoe", desk)

    def owed_to_hand_entry(self, item: GameInput, desk: Desk) -> bool:
        return bool(self._now.entered_by_hand)

    def not_owed_to_hand_entry(self, item: GameInput, desk: Desk) -> bool:
        return not self._now.entered_by_hand

    def match_hand_entry(self, news: DeviceNews, desk: Desk) -> None:
        """The shoe is back and tells a card that the dealer has entered: its face, nothing more."""
        event = news.event
        assert isinstance(event, CardDrawn)
        card = self._now.entered_by_hand.pop(0)
        card.face = event.face
        self._check_face(card, event.foreign, desk)

    def note_packet_taken(self, news: DeviceNews, desk: Desk) -> None:
        if self.round is None or self.round.deal is None:
            return  # a machine being emptied between rounds
        self.round.taken += 1
        self._ask_for_missing_packet(desk)

    def latch_cut_card(self, item: GameInput, desk: Desk) -> None:
        desk.latch(
            "cut-card", "the cut card came out during a round: the deck is short (CS-07)", "supervisor"
        )

    def note_cut_card(self, item: GameInput, desk: Desk) -> None:
        desk.note("CS-03", "the cut card left the shoe")

    def latch_stray_cards(self, news: DeviceNews, desk: Desk) -> None:
        text = f"cards came out of {news.device}, which is not in use (CS-07)"
        desk.latch("stray-cards", text, "shuffle")
