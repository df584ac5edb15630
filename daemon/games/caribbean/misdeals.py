"""Exposed cards and misdeals (CS-11)."""

from __future__ import annotations

from daemon.games.caribbean import views
from daemon.games.caribbean.deal import DEALER, HAND, DealtCard
from daemon.games.caribbean.memory import Memory
from daemon.games.caribbean.round import (
    DeckProof,
)
from daemon.games.desk import Act, Desk, DeviceNews, GameInput, Refused
from daemon.games.in_force import supervisor
from drivers.base import PacketOut


class Misdeals(Memory):
    """A chapter of :class:`daemon.games.caribbean.game.Caribbean`."""

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
        return self._now.exposure is not None

    def expose(self, act: Act, desk: Desk) -> None:
        place, position = self._place(act), act.number("card")
        self._expose(self._now.dealt.hands[place][position - 1], "exposed", desk)

    def may_empty_box(self, act: Act, desk: Desk) -> None:
        box, first = self._box(act), act.number("first")
        if box in self._now.boxes:
            raise Refused(f"box {box} has a bet", "CS-11c", "a wrong number of cards is a misdeal (CS-11a)")
        if not 1 <= first <= len(self._now.dealt.units) or first in self._now.dealt.strays:
            raise Refused(f"card or packet {first} did not go to an empty box", "CS-11c")

    def empty_box(self, act: Act, desk: Desk) -> None:
        box, first = act.number("box"), act.number("first")
        self._forget_shown_fifth()
        self._now.dealt.stray(first, box)
        self._irregular("CS-11c", f"box {box} was dealt to without a bet: box void, the round goes on", desk)
        self._ask_for_missing_packet(desk)

    def _forget_shown_fifth(self) -> None:
        """What the dealer turned is his card, wherever the packets belong: he shows it again."""
        now = self._now
        for card in now.dealt.all_cards():
            if card.by_hand and card.face is not None:
                now.faces_seen.discard(card.face.turn().index)
                card.face, card.by_hand, card.turned = None, False, False
        now.slips = [slip for slip in now.slips if slip.act.name != "reveal"]

    def take_decisions_back(self, act: Act, desk: Desk) -> None:
        """Decisions made before the dealer's last card were made too early (CS-06)."""
        for box in self._now.boxes.values():
            desk.move(f"raise.{box.number}", f"player.{box.number}", box.raised, "taken back")
            box.raised, box.decision = 0, None
        self._now.slips = [slip for slip in self._now.slips if slip.act.name not in ("raise", "fold")]

    def void_wrong_number(self, item: GameInput, desk: Desk) -> None:
        self._also_out(item)
        self._void("CS-11a", "wrong number of cards in a packet, or a packet too many", desk)

    def void_surplus(self, item: GameInput, desk: Desk) -> None:
        self._also_out(item)
        self._void("CS-11a", "a card too many came out", desk)

    def _also_out(self, item: GameInput) -> None:
        """Cards that belong to no hand are out all the same, and count (CS-07)."""
        event = item.event if isinstance(item, DeviceNews) else None
        count = event.count if isinstance(event, PacketOut) else 1
        self._now.dealt.units.append([DealtCard() for _ in range(count)])

    def void_two_exposed(self, item: GameInput, desk: Desk) -> None:
        self._void("CS-11a", "two cards exposed", desk)

    def void_wrong_source(self, news: DeviceNews, desk: Desk) -> None:
        self._void("CS-11a", f"cards came out of {news.device}, which is not in use", desk)

    def void_misdeal(self, act: Act, desk: Desk) -> None:
        self._void("CS-11a", str(act.args.get("text", "misdeal declared"))[:200], desk)

    def shuffler_deals(self, act: Act, desk: Desk) -> None:
        if desk.devices.mode != "shuffler":
            raise Refused("no shuffler deals this round", "CS-11d")

    def may_dispute(self, act: Act, desk: Desk) -> None:
        """After the settlement an irregularity is a dispute, and a supervisor's (CS-11)."""
        supervisor(act, "CS-11")
        act.text("text")
        if not 1 <= act.number("round") <= self.last_round_id:
            raise Refused(f"round {act.number('round')} has no account", "CS-11")

    def dispute(self, act: Act, desk: Desk) -> None:
        desk.note("CS-11", f"dispute of round {act.number('round')}: {act.text('text')[:200]}")

    def may_record_breach(self, act: Act, desk: Desk) -> None:
        act.text("text")

    def record_breach(self, act: Act, desk: Desk) -> None:
        """A player used a tool or talked while deciding: recorded, and no outcome changes (CS-12)."""
        desk.note("CS-12", f"breach: {act.text('text')[:200]}")

    def latch_shuffler_fault(self, item: GameInput, desk: Desk) -> None:
        self.forget_proof(item, desk)
        device, what = desk.devices.shuffler, "is declared to have failed"
        if isinstance(item, DeviceNews):
            device, what = item.device, "reports a fault"
        desk.latch("shuffler-fault", f"{device} {what}", "clear-fault")

    def shuffler_fails_before_deal(self, item: GameInput, desk: Desk) -> None:
        """Nothing is void: the bets stay or are taken back, another device deals (CS-11d)."""
        self.deck = DeckProof()
        self._now.closed = False
        self._now.order = None
        device = desk.devices.shuffler
        desk.devices.bar(device, "CS-11d")
        self._irregular(
            "CS-11d", f"{device} failed before the first card: bets stay, another device deals", desk
        )

    def void_shuffler_failed(self, item: GameInput, desk: Desk) -> None:
        device = desk.devices.shuffler
        desk.devices.bar(device, "CS-11d")
        self._void("CS-11d", f"{device} failed while dealing", desk)
