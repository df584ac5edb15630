"""Showdown and settlement: who turns, who wins, and what the house takes (FC-04, FC-09, FC-14)."""

from __future__ import annotations

from daemon.games.desk import Act, Desk, GameInput, Refused, RoundClosed
from daemon.games.five_card import views
from daemon.games.five_card.betting import LAST, Betting
from daemon.games.five_card.house import NEW_DECK
from daemon.games.five_card.memory import IN_DOUBT, confirmed
from daemon.games.five_card.round import Hand, Result
from daemon.games.hands import rank_104_85
from daemon.games.pots import Pot, Share, divide, rake_of, share, unfollowed


class Showdown(Betting):
    """A chapter of :class:`daemon.games.five_card.game.FiveCard`."""

    # --- FC-14 ------------------------------------------------------------------------------------

    def begin_showdown(self, item: GameInput, desk: Desk) -> None:
        """From the right of the best four up cards, whose holder turns last."""
        best = self._speaking_order()[0]
        self._now.queue = [*(hand.seat for hand in self._now.from_right_of(best)), best]

    def may_reveal(self, act: Act, desk: Desk) -> None:
        seat, now = self._seat_number(act), self._now
        self.deck_in_doubt(act, desk)
        if seat != now.queue[0]:
            raise Refused(f"seat {now.queue[0]} turns its hole card now", "FC-14")
        known = self._believed(now.hands[seat].cards[1])
        if known is None:
            self._keyed_new(act)
        elif act.args.get("card") and self._keyed(act) is not known.turn():
            raise Refused("the shoe read another hole card", "FC-14", "show the true card; or wrong-deck")

    def last_to_turn(self, act: Act, desk: Desk) -> bool:
        return len(self._now.queue) == 1

    def reveal(self, act: Act, desk: Desk) -> None:
        hole = self._now.hands[self._now.queue.pop(0)].cards[1]
        if self._believed(hole) is None:
            self._tell(hole, act, desk)
        hole.turned = desk.seq

    # --- FC-04, FC-09, FC-15 ------------------------------------------------------------------------

    def settle(self, act: Act, desk: Desk) -> None:
        """What nobody followed goes back, each pot is raked and divided by itself."""
        result = self._result()
        for seat, amount in result.returned.items():
            self._pay(seat, amount, "not followed", desk)
        for each in result.shares:
            self.raked += each.rake
            desk.move("pot", "house.rake", each.rake, "rake")
            for seat, amount in each.won.items():
                self._pay(seat, amount, "won", desk)
        for hand in self._now.hands.values():
            self._measure(hand)
        self._close("settled", result, desk)

    def _result(self) -> Result:
        now, returned = self._now, {}
        hands = now.live
        if not hands:
            return Result()
        bets = {hand.seat: hand.staked for hand in now.hands.values()}
        seats = [hand.seat for hand in hands]
        seat, excess = unfollowed(bets, seats)
        if excess and not self._raked_by_the_letter(hands):
            returned = {seat: excess}
            bets[seat] -= excess
        pots, orders = divide(bets, seats, now.antes), self._orders(hands)
        return Result(tuple([self._share(pot, orders) for pot in pots]), returned, orders)

    def _share(self, pot: Pot, orders: dict[int, int]) -> Share:
        rake = rake_of(pot.amount, self.rules.rake_percent, self.rules.pay_unit)
        return share(pot, orders, rake, self.rules.pay_unit)

    def _raked_by_the_letter(self, hands: list[Hand]) -> bool:
        """An unfollowed bet that ends the round before the last betting round (FC-09)."""
        ends = len(hands) == 1 and self._now.number < LAST
        return ends and self.rules.unfollowed_unraked == "fourth_round"

    def _orders(self, hands: list[Hand]) -> dict[int, int]:
        """The order of every hand that is compared: none, when one is left (FC-14)."""
        if len(hands) == 1:
            return {}
        return {hand.seat: rank_104_85(faces) for hand in hands if (faces := hand.faces()) is not None}

    def _close(self, outcome: str, result: Result, desk: Desk) -> None:
        now = self._now
        desk.effects.append(RoundClosed(now.id, outcome, views.summary(self, outcome, result, desk)))
        self.last_round_id = now.id
        self._forget()

    # --- a deck that proves wrong: FC-19 ------------------------------------------------------------

    def void_wrong_deck(self, act: Act, desk: Desk) -> None:
        """Everybody gets back what he put in, the house gives back its first rake."""
        now = self._now
        back = {hand.seat: hand.staked + (0 if hand.dead else self.rules.ante) for hand in now.hands.values()}
        lacking = sum(back.values()) - now.pot
        added = now.first_rake - lacking  # by the house, to antes that were given back before (FC-18)
        self.raked -= now.first_rake
        self.added -= added
        desk.move("house.rake", "pot", lacking, "void")
        desk.move("house.rake", "house", added, "void")
        for seat, amount in back.items():
            if seat in self.seats:
                self._pay(seat, amount, "void", desk)
            else:
                desk.move("pot", f"player.{seat}", amount, "void")
        self._irregular("FC-19", f"the deck was wrong, the round is void: {confirmed(act)}", desk)
        desk.latch(NEW_DECK, "the deck was wrong: bring a new one (new-deck)", "supervisor")
        for code in IN_DOUBT:
            desk.unlatch(code)
        self._close("void", Result(), desk)
