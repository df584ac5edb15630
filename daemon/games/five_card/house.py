"""The house at its table: rule set, opening, the deck, breaches (FC-02, FC-17, FC-20)."""

from __future__ import annotations

from daemon.games.desk import Act, Desk, DeviceNews, GameInput, Refused
from daemon.games.five_card.memory import Memory, confirmed
from daemon.games.five_card.round import Deck
from daemon.games.five_card.rules import DECK_ROUNDS, FEWEST_CUT, FORTY, MOST_CUTTERS

NEW_DECK = "new-deck"


class House(Memory):
    """A chapter of :class:`daemon.games.five_card.game.FiveCard`."""

    def may_change_rules(self, act: Act, desk: Desk) -> None:
        super().may_change_rules(act, desk)
        seats = self.rules_from(act.text("rules")).seats
        if any(seat > seats for seat in self.seats):
            raise Refused(f"somebody sits beyond seat {seats}", "FC-03", "leave first")

    def change_rules(self, act: Act, desk: Desk) -> None:
        """Whoever has less than the new rules ask of him adds chips before his next ante (FC-06)."""
        super().change_rules(act, desk)
        for seat in self.seats.values():
            level = self.rules.level
            seat.short = (seat.short or seat.stack < level.top_up_below) and seat.stack < level.buy_in_min

    def open_table(self, act: Act, desk: Desk) -> None:
        self.deck.shuffled = False

    def nobody_seated(self, act: Act, desk: Desk) -> None:
        if self.seats:
            seats = ", ".join(map(str, self.seats))
            raise Refused(f"there are chips at seat {seats}", "FC-06", "leave, then close the table")

    def close_table(self, act: Act, desk: Desk) -> None:
        self.deck.shuffled = False

    # --- the deck: FC-02 ----------------------------------------------------------------------

    def new_deck(self, act: Act, desk: Desk) -> None:
        self.deck = Deck()
        desk.unlatch(NEW_DECK)

    def shuffle(self, act: Act, desk: Desk) -> None:
        self.deck.shuffled, self.deck.cutters = True, []
        for code in [code for code, fault in desk.faults.items() if fault.cleared_by == "shuffle"]:
            desk.unlatch(code)

    def may_cut(self, act: Act, desk: Desk) -> None:
        seat, cards = self._seat(act).number, act.number("cards")
        if not self.deck.shuffled:
            raise Refused("the deck is not shuffled", "FC-02", "shuffle first, then cut")
        if not FEWEST_CUT <= cards < len(FORTY):
            raise Refused(f"a cut takes at least {FEWEST_CUT} of the {len(FORTY)} cards", "FC-02")
        if seat not in self.deck.cutters and len(self.deck.cutters) == MOST_CUTTERS:
            raise Refused("two players have cut, and no third one may", "FC-02")

    def cut(self, act: Act, desk: Desk) -> None:
        seat = act.number("seat")
        if seat not in self.deck.cutters:
            self.deck.cutters.append(seat)

    def forget_shuffle(self, item: GameInput, desk: Desk) -> None:
        self.deck.shuffled = False
        if self.round is not None:
            self.round.mode = desk.devices.mode

    def _deck_serves(self) -> None:
        if self.deck.rounds >= DECK_ROUNDS:
            raise Refused(f"this deck has served {DECK_ROUNDS} rounds", "FC-02", "new-deck, then shuffle")

    # --- what is only recorded ------------------------------------------------------------------

    def may_record_breach(self, act: Act, desk: Desk) -> None:
        act.text("text")

    def record_breach(self, act: Act, desk: Desk) -> None:
        """Players showed an intention, or agreed to share: recorded, and no outcome changes."""
        desk.note("FC-20", f"breach: {confirmed(act)}")

    def note_cut_card(self, item: GameInput, desk: Desk) -> None:
        desk.note("FC-02", "a cut card left the shoe")

    def latch_stray_cards(self, news: DeviceNews, desk: Desk) -> None:
        text = f"cards came out of {news.device}, which is not in use (FC-02)"
        desk.latch("stray-cards", text, "clear-fault")
