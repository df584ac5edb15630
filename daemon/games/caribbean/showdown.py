"""Decisions and showdown: who raises, and which cards are turned (CS-06, CS-09)."""

from __future__ import annotations

from daemon.games.caribbean.deal import DEALER, HAND
from daemon.games.caribbean.memory import Memory
from daemon.games.caribbean.rows import Phase
from daemon.games.desk import Act, Desk, Refused
from daemon.games.hands import qualifies
from drivers.cards import Card, FaceDownCard, parse_cards


class Showdown(Memory):
    """A chapter of :class:`daemon.games.caribbean.game.Caribbean`."""

    def may_decide(self, act: Act, desk: Desk) -> None:
        box = self._bet_box(act)
        if box.decision is not None:
            raise Refused(f"box {box.number} has decided; a decision is final", "CS-06")
        self._deck_in_doubt(desk)

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
        if self._shown(act, 1)[0].index in self._now.faces_seen:
            raise Refused("this card is in another hand", "CS-01", "show the true card, or misdeal")

    def reveal_fifth(self, act: Act, desk: Desk) -> None:
        card = self._shown(act, 1)[0]
        fifth = self._now.dealt.hands[DEALER][HAND - 1]
        fifth.face, fifth.turned, fifth.by_hand = FaceDownCard(card), True, True
        self._now.faces_seen.add(card.index)

    def may_show(self, act: Act, desk: Desk) -> None:
        """Whichever of the two: before the showdown one card, at the showdown a hand."""
        fifth = self._is_fifth(act) or self.state is Phase.DECIDING
        (self.may_reveal_fifth if fifth else self.may_reveal)(act, desk)

    def show(self, act: Act, desk: Desk) -> None:
        (self.reveal_fifth if self._is_fifth(act) else self.reveal)(act, desk)

    def _is_fifth(self, act: Act) -> bool:
        return len(act.text("cards").split()) == 1

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
        if place != DEALER and box is None:
            raise Refused(f"box {place} has no bet", "CS-06")
        if deal.faces(place) is not None and deal.hands[place][0].turned:
            raise Refused("these cards are shown already", "CS-09")
        if box is None:
            if not self._now.raised():
                raise Refused("no box raised: the dealer's cards stay face down", "CS-06")
            return
        dealer = deal.faces(DEALER) if deal.hands[DEALER][0].turned else None
        if box.raised and dealer is None:
            raise Refused("the dealer opens his cards first", "CS-09", "reveal box=dealer")
        opened = box.raised and dealer is not None and qualifies(dealer)
        if not opened and not self._progressive_counts(box):
            raise Refused("these cards stay face down", "CS-09")

    def all_revealed_then(self, act: Act, desk: Desk) -> bool:
        return self._all_known(self._now.raised(), {self._place(act): self._shown(act, HAND)})

    def reveal(self, act: Act, desk: Desk) -> None:
        place, cards = self._place(act), self._shown(act, HAND)
        hand = self._now.dealt.hands[place]
        left = [c for c in cards if c not in {h.face.turn() for h in hand if h.face is not None}]
        for card in hand:
            if card.face is None:
                card.face, card.by_hand = FaceDownCard(left.pop(0)), True
            card.turned = True
        self._now.faces_seen |= {card.index for card in cards}
