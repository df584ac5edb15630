"""The house at its table: rule set, opening, the deck and its count (CS-03, CS-07, CS-13)."""

from __future__ import annotations

from daemon.games.caribbean.memory import DECK_SIZE, Memory
from daemon.games.caribbean.round import (
    DeckProof,
)
from daemon.games.desk import Act, Desk, DeviceNews, GameInput, Refused
from drivers.base import CardsReturned, Shuffle, ShuffleDone


class House(Memory):
    """A chapter of :class:`daemon.games.caribbean.game.Caribbean`."""

    def open_table(self, act: Act, desk: Desk) -> None:
        if self.linked is None and not self.meter.minimums:  # the first opening of this table's pool
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
        if self.round is not None and self.round.order is not None:
            raise Refused(
                "the shuffler was told to deal", "CS-07", "take the packets, or declare shuffler-failed"
            )

    def order_shuffle(self, act: Act, desk: Desk) -> None:
        self.announcement, self.stopped = "", ""
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

    def forget_deck(self, item: GameInput, desk: Desk) -> None:
        self.deck = DeckProof()
        if self.round:  # another device deals: it has to be told again, and the first one to stop
            self._stop_deal(desk)
            self.round.closed = False
            self.round.mode = desk.devices.mode

    def take_proof(self, news: DeviceNews, desk: Desk) -> None:
        done = news.event
        assert isinstance(done, ShuffleDone)
        if desk.devices.mode != "shuffler" or news.device != desk.devices.shuffler:
            return
        if desk.devices.barred(news.device):
            return  # a machine that failed proves nothing until it is taken back (CS-11d)
        if not done.counted:
            self.deck = DeckProof(shuffler=news.device, uncounted=True)
            desk.note("CS-03", f"{news.device} does not count: count cards= of the shuffled deck")
            return
        if done.counted != DECK_SIZE:
            self.deck = DeckProof()
            text = f"{news.device} counted {done.counted} cards, not {DECK_SIZE}"
            desk.latch("shuffle-count", text, "shuffle")
            return
        self.deck = DeckProof(shuffler=news.device)
        self._deck_is_whole(desk)

    def note_other_deck(self, item: GameInput, desk: Desk) -> None:
        desk.note("CS-03", "the shuffler works on another deck; this round goes on")

    def deck_unproven(self, item: GameInput, desk: Desk) -> bool:
        return not self._deck_proven(desk)

    def may_count(self, act: Act, desk: Desk) -> None:
        if not 0 <= act.number("cards") <= DECK_SIZE * 2:
            raise Refused("a stub has 0 to 52 cards", "CS-07", "count the cards left in the shoe")

    def may_count_deck(self, act: Act, desk: Desk) -> None:
        self.may_count(act, desk)
        if not self.deck.uncounted:
            raise Refused("cards are counted when all hands are known", "CS-07")

    def deck_is_uncounted(self, act: Act, desk: Desk) -> bool:
        return self.deck.uncounted

    def count_deck(self, act: Act, desk: Desk) -> None:
        """The dealer's count stands for that of a machine that has none (CS-03)."""
        counted, shuffler = act.number("cards"), self.deck.shuffler
        if counted == DECK_SIZE:
            self.deck = DeckProof(shuffler=shuffler)
            self._deck_is_whole(desk)
            return
        self.deck = DeckProof()
        text = f"{counted} cards were counted in {shuffler}, not {DECK_SIZE}"
        desk.latch("shuffle-count", text, "shuffle")

    def count_before_settling(self, act: Act, desk: Desk) -> None:
        """What is left in the shoe tells whether every card that left it was heard of (CS-07)."""
        left, expected = act.number("cards"), DECK_SIZE - self._now.dealt.cards
        self._now.counted = left == expected
        if not self._now.counted:
            text = f"{left} cards left, not {expected}: not every card was heard of"
            desk.note("CS-07", f"{text}; count again, or declare a misdeal")

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
