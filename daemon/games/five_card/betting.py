"""Four betting rounds: whose turn it is, and what he may do (FC-10, FC-11, FC-15, FC-16, FC-17).

``amount`` of a bet or raise is what the player's bet of this betting round comes to.
"""

from __future__ import annotations

from typing import Final

from daemon.games.desk import Act, Desk, DeviceNews, GameInput, Refused, TimeUp
from daemon.games.five_card.dealing import Dealing
from daemon.games.five_card.round import STACKS, Action, Hand
from daemon.games.five_card.rows import ANSWERING

LAST: Final = 4  # betting round


class Betting(Dealing):
    """A chapter of :class:`daemon.games.five_card.game.FiveCard`."""

    # --- whose turn ------------------------------------------------------------------------------

    def open_betting(self, item: GameInput, desk: Desk) -> None:
        """Who is all-in has no say; the right to speak passes over his hand (FC-15)."""
        now = self._now
        now.queue = [seat for seat in self._speaking_order() if not now.hands[seat].all_in]
        now.price = now.increment = now.last_total = 0
        now.acted, now.turn = False, desk.seq
        for hand in now.hands.values():
            hand.bet, hand.checked = 0, False

    def pass_turn(self, item: GameInput, desk: Desk) -> None:
        self._now.turn = desk.seq

    def end_betting(self, item: GameInput, desk: Desk) -> None:
        self._now.queue = []

    def one_hand_left_then(self, item: GameInput, desk: Desk) -> bool:
        """This player gives up, and one other hand is left."""
        return len(self._now.live) == 2

    def betting_ends_then(self, item: GameInput, desk: Desk) -> bool:
        """With this act everybody has spoken, or fewer than two have chips to bet and no bet is open."""
        queue = self._now.queue
        actor, act = queue[0], item.name if isinstance(item, Act) else ""
        if act == "raise":
            return not self._to_answer(actor)
        if len(queue) == 1:
            return True
        if self.state is ANSWERING or act == "check":
            return False
        return sum(hand.seat != actor for hand in self._with_chips()) < 2

    def last_betting_round(self, item: GameInput, desk: Desk) -> bool:
        return self._now.number == LAST

    def _to_answer(self, bettor: int) -> list[int]:
        """Everybody else with chips, anticlockwise from the bettor's right."""
        return [hand.seat for hand in self._now.from_right_of(bettor) if not hand.all_in]

    # --- what may be done ------------------------------------------------------------------------

    def may_act(self, act: Act, desk: Desk) -> None:
        """It is this hand's turn (FC-17), and the table is not halted."""
        if act.number("seat") != self._now.queue[0]:
            raise self._out_of_turn(self._seat_number(act))
        self._not_halted(desk)

    def _out_of_turn(self, seat: int) -> Refused:
        now = self._now
        hand = now.hands.get(seat)
        if hand is None:
            return Refused(f"seat {seat} is not in this round", "FC-03")
        if not hand.still_in:
            return Refused(f"the hand of seat {seat} is out", "FC-17")
        if hand.all_in:
            return Refused(f"seat {seat} is all-in: it has nothing more to decide", "FC-15")
        return Refused(f"it is the turn of seat {now.queue[0]}", "FC-17", "players act in turn only")

    def _speaker(self) -> Hand:
        """The hand whose turn it is."""
        now = self._now
        return now.hands[now.queue[0]]

    def may_leave(self, act: Act, desk: Desk) -> None:
        if self._holds_hand(self._seat(act).number):
            self.may_act(act, desk)

    def may_call(self, act: Act, desk: Desk) -> None:
        self.may_act(act, desk)
        if "amount" in act.args:
            hand = self._speaker()
            due = self._due(hand)
            if act.number("amount") != due:
                raise Refused(f"a call of seat {hand.seat} is {due}", "FC-10")

    def may_bet(self, act: Act, desk: Desk) -> None:
        self.may_act(act, desk)
        hand = self._speaker()
        amount = self._within_stack(act, hand)
        self._whole_chips(amount, all_in=amount == self.seats[hand.seat].stack)

    def may_raise(self, act: Act, desk: Desk) -> None:
        self.may_act(act, desk)
        now, hand = self._now, self._speaker()
        if hand.checked and not self.rules.check_raise:
            raise Refused(f"seat {hand.seat} has checked and may only call or fold", "FC-11")
        amount = self._within_stack(act, hand)
        if amount <= now.price:
            raise Refused(f"a raise goes above {now.price}", "FC-10", "call")
        all_in = amount - hand.bet == self.seats[hand.seat].stack
        if amount < self._full() and not all_in:
            raise Refused(f"a raise goes to {self.least()} at least, unless all-in", "FC-10")
        self._whole_chips(amount - now.price, all_in)

    def _within_stack(self, act: Act, hand: Hand) -> int:
        amount, stack = act.number("amount"), self.seats[hand.seat].stack
        if amount <= 0:
            raise Refused(f"{amount} is no bet", "FC-10")
        if amount - hand.bet > stack:
            raise Refused(f"seat {hand.seat} has {stack} on the table", "FC-15", "no bet is above the stack")
        return amount

    def _whole_chips(self, amount: int, all_in: bool) -> None:
        chip = self.rules.smallest_chip
        if amount % chip and not all_in:
            raise Refused(f"the smallest chip is {chip}", "FC-10", "bet whole chips")

    def _full(self) -> int:
        """The smallest price that a full raise makes."""
        now = self._now
        return now.price + (now.last_total if self.rules.min_raise == "last_total" else now.increment)

    def least(self) -> int:
        """What the smallest bet or full raise comes to, in whole chips; all-in may be less (FC-10)."""
        price, chip = self._now.price, self.rules.smallest_chip
        return price + max(1, -(-(self._full() - price) // chip)) * chip

    def _due(self, hand: Hand) -> int:
        """What this hand puts in to call: the difference, or all it has."""
        return min(self._now.price - hand.bet, self.seats[hand.seat].stack)

    # --- what is done ----------------------------------------------------------------------------

    def _said(self, act: str, hand: Hand) -> None:
        now = self._now
        now.acted = True
        now.actions.append(Action(now.number, hand.seat, act, hand.bet))

    def _stake(self, hand: Hand, amount: int, reason: str, desk: Desk) -> None:
        seat = self.seats[hand.seat]
        seat.stack -= amount
        hand.bet += amount
        hand.staked += amount
        if seat.stack < hand.lowest:
            hand.lowest = seat.stack
        hand.all_in = not seat.stack
        desk.move(STACKS[hand.seat], "pot", amount, reason)

    def bet(self, act: Act, desk: Desk) -> None:
        """A bet or raise: everybody else with chips answers it. One below the least leaves that as it is."""
        now, hand, amount = self._now, self._speaker(), act.number("amount")
        full, rise = amount >= self._full(), amount - now.price
        self._stake(hand, amount - hand.bet, act.name, desk)
        now.price = amount
        if full:
            now.increment, now.last_total = rise, amount
        now.queue = self._to_answer(hand.seat)
        self._said(act.name, hand)

    def call(self, act: Act, desk: Desk) -> None:
        now = self._now
        hand = now.hands[now.queue.pop(0)]
        self._stake(hand, self._due(hand), "call", desk)
        self._said("call", hand)

    def checks(self, act: Act, desk: Desk) -> None:
        hand = self._now.hands[self._now.queue.pop(0)]
        hand.checked = True
        self._said("check", hand)

    def fold(self, item: GameInput, desk: Desk) -> None:
        now = self._now
        hand = now.hands[now.queue.pop(0)]
        hand.folded = True
        now.is_out(hand)
        self._said("fold", hand)
        if isinstance(item, DeviceNews):
            self._irregular("FC-16", f"two minutes are over: the hand of seat {hand.seat} is folded", desk)

    def fold_and_leave(self, act: Act, desk: Desk) -> None:
        self.fold(act, desk)
        self.leave(act, desk)

    def time_is_up(self, news: DeviceNews, desk: Desk) -> None:
        """Only for the decision that is waited for: another one may have come meanwhile."""
        event, timer = news.event, self.timer(desk.devices, desk.faults)
        assert isinstance(event, TimeUp)
        if timer is None or timer.id != event.id:
            raise Refused("that decision is not waited for any more", "FC-16")
