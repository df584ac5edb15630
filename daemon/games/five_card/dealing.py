"""Dealing: the burn, whose the cards are, and what is put right (FC-02, FC-10 to FC-13, FC-18, FC-19)."""

from __future__ import annotations

from daemon.games.desk import Act, Desk, DeviceNews, GameInput, Refused
from daemon.games.five_card import views
from daemon.games.five_card.chips import Chips
from daemon.games.five_card.memory import confirmed
from daemon.games.five_card.round import HOLE, SHOE, STACKS, DealtCard, Hand
from daemon.games.five_card.rows import TURNS
from daemon.games.five_card.rules import FEWEST_HANDS
from daemon.games.in_force import supervisor
from drivers.base import CardDrawn
from drivers.cards import FaceDownCard


class Dealing(Chips):
    """A chapter of :class:`daemon.games.five_card.game.FiveCard`."""

    # --- before the first card ------------------------------------------------------------------

    def keyed_by_hand(self, act: Act, desk: Desk) -> None:
        if desk.devices.mode == "shoe" and not desk.devices.source_trouble():
            raise Refused("the shoe reports its cards itself", "FC-19", "cards are keyed while it is lost")

    def latch_card_without_antes(self, item: GameInput, desk: Desk) -> None:
        self.deck.shuffled = False
        desk.latch("card-without-antes", "a card came out with fewer than two antes (FC-03)", "shuffle")

    def latch_card_without_shuffle(self, item: GameInput, desk: Desk) -> None:
        desk.latch(
            "card-without-shuffle", "a card came out of a deck that is not shuffled (FC-02)", "shuffle"
        )

    def burn(self, item: GameInput, desk: Desk) -> None:
        """The first card of the deck, never shown."""
        self._now.out.append(self._taken(item, desk))

    # --- one card -------------------------------------------------------------------------------

    def _taken(self, item: GameInput, desk: Desk) -> DealtCard:
        """A card that just left the deck."""
        now = self._now
        if not isinstance(item, Act):
            event = item.event
            assert isinstance(event, CardDrawn)
            now.by_hand = False
            return DealtCard(self._heard(event, desk), told=desk.seq, by=SHOE, bared=event.face_up)
        card = DealtCard(told=desk.seq)
        if item.args.get("card"):
            self._tell(card, item, desk)
        if desk.devices.mode == "shoe":
            now.by_hand = True
            now.entered_by_hand.append(card)
        return card

    def deal_card(self, item: GameInput, desk: Desk) -> None:
        """The next card goes to whom it is due; or the dealer says what an up card is that was not read."""
        if isinstance(item, Act) and (unread := self._unread(item)) is not None:
            self._tell(unread, item, desk)
            return
        card = self._taken(item, desk)
        self._now.out.append(card)
        self._lay(card, desk)

    def _tell(self, card: DealtCard, act: Act, desk: Desk) -> None:
        """People say what an open card is."""
        face = FaceDownCard(self._keyed(act))
        if face.turn().index in self._now.faces_seen and card.face != face:
            self._now.misread = True
            text = "the shoe read that face of a hidden card, too: that one is keyed when it is turned"
            self._irregular("FC-19", text, desk)
        self._forget_face(card)
        card.face, card.told, card.by = self._see(face), desk.seq, act.role

    def _lay(self, card: DealtCard, desk: Desk) -> None:
        """On the hand that it is due to."""
        now = self._now
        hand, now.order = now.hands[now.due.pop(0)], None
        card.up = len(hand.cards) != HOLE
        hand.cards.append(card)
        if card.face is None and card.up:
            desk.note("FC-19", f"an up card of seat {hand.seat} was not read: card seat={hand.seat} card=")
        elif card.bared and not card.up:
            text = f"the hole card of seat {hand.seat} lay face up: expose-hole seat={hand.seat}"
            self._irregular("FC-18", text, desk)

    def _unread(self, act: Act) -> DealtCard | None:
        hand = self._now.hands.get(act.number("seat"))
        return hand.unread() if hand is not None else None

    def deal_complete_then(self, item: GameInput, desk: Desk) -> bool:
        """With this input every hand still in has its cards, and every up card is known."""
        now = self._now
        if not isinstance(item, Act) and len(now.due) != 1:
            return False  # asked of every card: most are not the last
        unread = sum([hand.unread() is not None for hand in now.live])
        if isinstance(item, Act) and item.name == "correct-deal":
            coming, faces = len(now.due), [self._believed(card) for card in now.held]
            return not unread and len(faces) >= coming and not self._some_up_unread(faces)
        if now.error:
            return False
        if isinstance(item, Act) and self._unread(item) is not None:
            return unread == 1 and not now.due
        return not unread and len(now.due) == 1 and not self._some_up_unread([self._read(item)])

    def _some_up_unread(self, faces: list[FaceDownCard | None]) -> bool:
        """Of the cards that come next, one that is to lie face up cannot be believed."""
        now, dealt = self._now, {hand.seat: len(hand.cards) for hand in self._now.live}
        for seat, face in zip(now.due, faces, strict=False):
            if dealt[seat] != HOLE and face is None:
                return True
            dealt[seat] += 1
        return False

    def first_betting_round(self, item: GameInput, desk: Desk) -> bool:
        return self._now.number == 1

    def two_have_chips(self, item: GameInput, desk: Desk) -> bool:
        """Fewer, and the remaining cards are dealt without betting (FC-15)."""
        return len(self._with_chips()) >= FEWEST_HANDS

    def begin_street(self, item: GameInput, desk: Desk) -> None:
        """One more card each, from the hand that had the right to speak first, if it is still in."""
        self._now.number += 1
        self.due_anew(item, desk)

    def street_not_begun(self, item: GameInput, desk: Desk) -> bool:
        """No card of this street is dealt: where it begins follows the cards as they are told now."""
        now = self._now
        return now.number > 1 and len(now.due) == len(now.live)

    def due_anew(self, item: GameInput, desk: Desk) -> None:
        now = self._now
        first = self._speaking_order()[0]
        now.due = [first, *(hand.seat for hand in now.from_right_of(first))]

    # --- by hand ----------------------------------------------------------------------------------

    def may_key_card(self, act: Act, desk: Desk) -> None:
        now, hand = self._now, self._now.hands.get(self._seat_number(act))
        if hand is None or not hand.still_in:
            raise Refused(f"seat {act.number('seat')} gets no card", "FC-10")
        self.deck_in_doubt(act, desk)
        if hand.unread() is not None:
            self._keyed_new(act)
            return
        self.keyed_by_hand(act, desk)
        if len(now.held) >= len(now.due):
            raise Refused("no card is due", "FC-19", "correct-deal, or key the card that was not read")
        if not self._hole_cards_are_due():
            self._keyed_new(act)
        elif act.args.get("card"):
            raise Refused("a hole card is not shown before the showdown", "FC-14", "leave card= out")

    def _hole_cards_are_due(self) -> bool:
        """The next card is to lie face down: the second one of the first deal."""
        now = self._now
        return now.number == 1 and len(now.due) - len(now.held) <= len(now.hands)

    def keyed_in_error(self, act: Act, desk: Desk) -> bool:
        """The card fell to a seat that it was not due to, or an earlier one did."""
        now = self._now
        if self._unread(act) is not None:
            return False
        return bool(now.error) or now.due[0] != act.number("seat")

    def hold_keyed_card(self, act: Act, desk: Desk) -> None:
        """It waits for the correction; nobody speaks before it."""
        seat, card = act.number("seat"), self._taken(act, desk)
        card.laid = seat
        self._hold(card, f"a card fell to seat {seat}, which it was not due to", desk)

    def deal_in_error(self, item: GameInput, desk: Desk) -> bool:
        return bool(self._now.error)

    def no_card_due(self, item: GameInput, desk: Desk) -> bool:
        return not self._now.due

    def hold_card(self, item: GameInput, desk: Desk) -> None:
        self._hold(self._taken(item, desk), "", desk)

    def hold_early_card(self, item: GameInput, desk: Desk) -> None:
        self._hold(self._taken(item, desk), "a card came out before the betting round was over", desk)

    def _hold(self, card: DealtCard, error: str, desk: Desk) -> None:
        now = self._now
        now.out.append(card)
        now.held.append(card)
        if error and not now.error:
            now.error = error
            self._irregular("FC-19", f"{error}: correct-deal", desk)

    def note_surplus(self, item: GameInput, desk: Desk) -> None:
        self._now.out.append(self._taken(item, desk))
        self._irregular("FC-19", "a card came out that is due to nobody: lay it aside", desk)

    def lay_aside(self, item: GameInput, desk: Desk) -> None:
        """No card is dealt any more: one that came out early is due to nobody."""
        now = self._now
        held, now.held, now.error = now.held, [], ""
        for _ in held:
            self._irregular("FC-19", "a card that came out early is due to nobody: lay it aside", desk)

    def may_enter_by_hand(self, act: Act, desk: Desk) -> None:
        if desk.devices.mode != "shoe" or not desk.devices.source_trouble():
            raise Refused("no shoe is lost", "FC-19")
        if self._now.by_hand:
            raise Refused("cards are entered by hand already", "FC-19")

    def enter_by_hand(self, act: Act, desk: Desk) -> None:
        """The round goes on though the shoe is lost; the cards are keyed until it is back."""
        self._now.by_hand = True
        self._irregular("FC-19", "the shoe is lost: the dealer goes on by hand entry", desk)

    def owed_to_hand_entry(self, item: GameInput, desk: Desk) -> bool:
        return bool(self._now.entered_by_hand)

    def match_hand_entry(self, news: DeviceNews, desk: Desk) -> None:
        """The shoe is back and tells a card that the dealer has entered: its face, nothing more."""
        event, card = news.event, self._now.entered_by_hand.pop(0)
        assert isinstance(event, CardDrawn)
        self._now.by_hand = self._now.by_hand and bool(self._now.entered_by_hand)
        if card.face is None:
            card.face, card.told, card.by = self._heard(event, desk), desk.seq, SHOE
        elif event.foreign or event.face not in (None, card.face):
            desk.latch(
                "other-face", "the shoe read another card than was keyed", "clear-fault, or wrong-deck"
            )

    def latch_shoe_restarted(self, item: GameInput, desk: Desk) -> None:
        """What it had not told is lost: cards may be out that nobody knows of."""
        self._now.entered_by_hand.clear()
        text = "the shoe restarted while cards were out: count the stub before the round goes on"
        desk.latch("shoe-restarted", text, "clear-fault, or wrong-deck")

    # --- an error put right: FC-19 ------------------------------------------------------------------

    def may_correct_deal(self, act: Act, desk: Desk) -> None:
        self.deck_in_doubt(act, desk)
        confirmed(act)

    def correct_deal(self, act: Act, desk: Desk) -> None:
        """Cards go, in the order in which they came out, to those who should have had them."""
        now, told = self._now, []
        while now.held and now.due:
            card, seat = now.held.pop(0), now.due[0]
            if len(now.hands[seat].cards) != HOLE:
                card.face = self._believed(card)
            self._lay(card, desk)
            told.append(views.moved(card, seat))
        now.error = now.error if now.held else ""
        self._correction(act, told, desk)

    def may_correct_later(self, act: Act, desk: Desk) -> None:
        self.deck_in_doubt(act, desk)
        if self.state not in TURNS or self._now.acted:
            supervisor(act, "FC-19")
        confirmed(act)

    def record_correction(self, act: Act, desk: Desk) -> None:
        self._correction(act, [], desk)

    def _correction(self, act: Act, told: list[str], desk: Desk) -> None:
        what = f"deal corrected: {'; '.join(told)}" if told else "recorded, no card was moved"
        self._irregular("FC-19", f"{what}. {confirmed(act)}", desk)

    # --- an exposed hole card: FC-18 ------------------------------------------------------------------

    def may_expose(self, act: Act, desk: Desk) -> None:
        hand = self._now.hands.get(self._seat_number(act))
        if hand is None or not hand.still_in or hand.hole is None:
            raise Refused(f"seat {act.number('seat')} has no hole card in this round", "FC-18")
        if self._now.number > 1 or self._now.actions:
            raise Refused("after the deal an exposed hole card kills nothing", "FC-18")

    def one_hand_left_after(self, act: Act, desk: Desk) -> bool:
        return len(self._now.live) <= FEWEST_HANDS

    def deal_complete_without(self, act: Act, desk: Desk) -> bool:
        """Only an up card of this hand was waited for."""
        now, seat = self._now, act.number("seat")
        unread = [hand.seat for hand in now.live if hand.unread() is not None]
        return not now.due and not now.error and unread in ([], [seat])

    def kill_hand(self, act: Act, desk: Desk) -> None:
        """That hand only: it takes its ante back, the first rake stays taken."""
        now, hand, ante = self._now, self._now.hands[act.number("seat")], self.rules.ante
        hand.dead = True
        now.is_out(hand)
        from_pot = min(ante, now.antes)
        now.antes -= from_pot
        self._pay(hand.seat, from_pot, "exposed", desk)
        self._add_from_house(hand, ante - from_pot, desk)
        if len(now.live) < FEWEST_HANDS:
            now.due, now.queue = [], []
        text = f"the hole card of seat {hand.seat} was exposed in the deal: hand dead, ante returned"
        self._irregular("FC-18", text, desk)

    def _add_from_house(self, hand: Hand, amount: int, desk: Desk) -> None:
        """What the antes lack."""
        self.seats[hand.seat].stack += amount
        self.added += amount
        desk.move("house", STACKS[hand.seat], amount, "exposed")

    # --- a deck that proves wrong ---------------------------------------------------------------------

    def may_void(self, act: Act, desk: Desk) -> None:
        supervisor(act, "FC-19")
        confirmed(act)
