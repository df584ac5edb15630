"""Chips and antes: who sits down with what, and what the next round asks of him (FC-03, FC-06, FC-08)."""

from __future__ import annotations

from daemon.games.desk import Act, Desk, GameInput, Refused
from daemon.games.five_card.house import House
from daemon.games.five_card.memory import NO_ROOM
from daemon.games.five_card.round import STACKS, Hand, Round, Seat
from daemon.games.five_card.rows import ANTES
from daemon.games.five_card.rules import FEWEST_HANDS, FORTY, HAND, MOST_HANDS
from daemon.games.money import MAX_AMOUNT

MOST_CHIPS = MAX_AMOUNT  # at one seat
LONGEST_NAME = 64  # of a player; what is longer is cut


class Chips(House):
    """A chapter of :class:`daemon.games.five_card.game.FiveCard`."""

    # --- FC-06 ----------------------------------------------------------------------------------

    def _room_for_money(self, desk: Desk) -> None:
        """While the disk still takes what a running round needs, no new money comes in."""
        fault = desk.faults.get(NO_ROOM)
        if fault is not None:
            raise Refused(fault.text, "", "make room on the disk; money is taken once there is some")

    def _amount(self, act: Act) -> int:
        amount = act.number("amount")
        if not 0 < amount <= MOST_CHIPS:
            raise Refused(f"{amount} is no amount of chips", "FC-06", "amounts are in minor units")
        return amount

    def may_buy_in(self, act: Act, desk: Desk) -> None:
        self._room_for_money(desk)
        number, amount, least = self._seat_number(act), self._amount(act), self.rules.level.buy_in_min
        if number in self.seats:
            raise Refused(f"seat {number} is taken", "FC-03", "top-up adds chips")
        if self.round is not None and number in self.round.hands:
            raise Refused(f"a hand of seat {number} is in the round", "FC-03", "sit down after the round")
        if amount < least:
            raise Refused(f"the buy-in is at least {least}", "FC-06")
        player = self._player(act)
        if player and any(seat.player == player for seat in self.seats.values()):
            raise Refused("a player has one seat only", "FC-03")
        hands = self.round.hands.values() if self.round is not None else ()
        if player and any(hand.player == player for hand in hands):
            raise Refused("nobody changes his seat in a round", "FC-03", "sit down after the round")

    def _player(self, act: Act) -> str:
        return str(act.args.get("player", ""))[:LONGEST_NAME]

    def buy_in(self, act: Act, desk: Desk) -> None:
        number, amount = act.number("seat"), act.number("amount")
        self.seats[number] = Seat(number, amount, self._player(act))
        self.seats = dict(sorted(self.seats.items()))
        desk.move(f"player.{number}", STACKS[number], amount, "buy-in")

    def may_top_up(self, act: Act, desk: Desk) -> None:
        self._room_for_money(desk)
        seat, amount = self._seat(act), self._amount(act)
        if self._holds_hand(seat.number):
            raise Refused("chips are added after the round", "FC-06", "top-up when the round is settled")
        if seat.stack + amount > MOST_CHIPS:
            raise Refused(f"more than {MOST_CHIPS} at one seat cannot be booked", "FC-06")

    def top_up(self, act: Act, desk: Desk) -> None:
        seat, amount = self.seats[act.number("seat")], act.number("amount")
        seat.stack += amount
        seat.short = seat.short and seat.stack < self.rules.level.buy_in_min
        desk.move(f"player.{seat.number}", STACKS[seat.number], amount, "top-up")

    def may_leave_now(self, act: Act, desk: Desk) -> None:
        """Whenever no decision is asked of a hand: one that is still in waits for its turn."""
        seat = self._seat(act).number
        if not self._holds_hand(seat):
            return
        if self.state is ANTES:
            raise Refused(f"seat {seat} has placed its ante", "FC-06", "take-back first")
        raise Refused(f"seat {seat} is still in", "FC-17", "leave at its turn, or when the round is settled")

    def leaver_holds_no_hand(self, act: Act, desk: Desk) -> bool:
        return not self._holds_hand(act.number("seat"))

    def leave(self, act: Act, desk: Desk) -> None:
        """The chips that are not bet go with the player; what was bet stays in the pot."""
        seat = self.seats.pop(act.number("seat"))
        desk.move(STACKS[seat.number], f"player.{seat.number}", seat.stack, "leaves")

    def owed(self, seat: Seat) -> int:
        """What this seat has to add before its next ante, minor units."""
        return self.rules.level.buy_in_min - seat.stack if seat.short else 0

    def _measure(self, hand: Hand) -> None:
        """Whether a player has to add chips after this round."""
        seat, level = self.seats.get(hand.seat), self.rules.level
        if seat is None:
            return
        held = seat.stack if self.rules.topup_measured == "round_end" else min(hand.lowest, seat.stack)
        seat.short = held < level.top_up_below and seat.stack < level.buy_in_min

    # --- antes: FC-03, FC-06 ----------------------------------------------------------------------

    def may_open(self, act: Act, desk: Desk) -> None:
        for fault in desk.blocking():
            raise Refused(f"fault {fault.code}: {fault.text}", "", f"cleared by: {fault.cleared_by}")
        trouble = desk.devices.source_trouble()
        if trouble:
            raise Refused(trouble, "", "wait for the device, or use-hand")

    def may_ante(self, act: Act, desk: Desk) -> None:
        self._room_for_money(desk)
        self._deck_serves()
        seat, ante = self._seat(act), self.rules.ante
        hands = self.round.hands if self.round else {}
        if seat.number in hands:
            raise Refused(f"seat {seat.number} has placed its ante", "FC-06")
        if act.number("amount", ante) != ante:
            raise Refused(f"the ante is {ante}, one for all", "FC-06")
        if seat.short:
            raise Refused(f"seat {seat.number} has to add {self.owed(seat)}", "FC-06", "top-up first")
        if len(hands) == MOST_HANDS:
            need = (MOST_HANDS + 1) * HAND
            raise Refused(
                f"{MOST_HANDS + 1} hands need {need} cards, and {len(FORTY) - 1} are left of {len(FORTY)} "
                "when the first is burned",
                "FC-03",
                f"at most {MOST_HANDS} antes",
            )

    def open_round(self, act: Act, desk: Desk) -> None:
        self._open(
            Round(
                id=self.last_round_id + 1,
                opened_at=desk.at,
                first_seq=desk.seq,
                mode=desk.devices.mode,
                rules=self.fingerprint,
            )
        )

    def ante(self, act: Act, desk: Desk) -> None:
        seat, ante = self.seats[act.number("seat")], self.rules.ante
        seat.stack -= ante
        self._now.antes += ante
        self._now.joins(Hand(seat.number, seat.player, lowest=seat.stack))
        desk.move(STACKS[seat.number], "pot", ante, "ante")

    def may_take_back(self, act: Act, desk: Desk) -> None:
        if self._seat(act).number not in self._now.hands:
            raise Refused(f"seat {act.number('seat')} has placed no ante", "FC-06")

    def last_ante(self, act: Act, desk: Desk) -> bool:
        return len(self._now.hands) == 1

    def take_back(self, act: Act, desk: Desk) -> None:
        hand = self._now.withdraws(act.number("seat"))
        self._now.antes -= self.rules.ante
        self._pay(hand.seat, self.rules.ante, "taken back", desk)

    def cancel_round(self, act: Act, desk: Desk) -> None:
        desk.message = "no ante is left: no round"
        self._forget()

    # --- the round begins: FC-02, FC-03, FC-08 ------------------------------------------------------

    def too_few_antes(self, item: GameInput, desk: Desk) -> bool:
        return len(self._now.hands) < FEWEST_HANDS

    def deck_unproven(self, item: GameInput, desk: Desk) -> bool:
        return not self.deck.shuffled

    def may_burn(self, act: Act, desk: Desk) -> None:
        if act.args.get("card"):
            raise Refused("the burned card is not shown", "FC-02", "leave card= out")
        if self.too_few_antes(act, desk):
            raise Refused(f"a round needs {FEWEST_HANDS} antes at least", "FC-03", "ante")
        if not self.deck.shuffled:
            raise Refused("the deck is not shuffled for this round", "FC-02", "shuffle first")

    def begin_round(self, item: GameInput, desk: Desk) -> None:
        """A round counts from its burn; the house takes its first rake before any card (FC-08)."""
        now, rake = self._now, self.rules.level.first_rake
        now.begins()
        self.deck.rounds += 1
        self.deck.shuffled, self.deck.cutters = False, []
        now.antes, now.first_rake, self.raked = now.antes - rake, rake, self.raked + rake
        now.number, now.due = 1, [*now.hands, *now.hands]
        desk.move("pot", "house.rake", rake, "first rake")
