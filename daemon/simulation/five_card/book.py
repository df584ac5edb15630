"""The players' own book: what each put in and got, kept without asking the table.

It is a second way to the same sums: pots are peeled off chip layer by chip layer, while the table
divides them by levels. Amounts are minor units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from daemon.games.five_card.rules import FEWEST_HANDS, FiveCardRules
from daemon.games.hands import rank_104_85
from daemon.records import Plain
from drivers.cards import Card


@dataclass(slots=True)
class Held:
    """A hand. ``bet`` is of this betting round, ``staked`` of the whole one without the ante."""

    cards: list[Card] = field(default_factory=list)
    bet: int = 0
    staked: int = 0
    lowest: int = 0  # of the stack since the ante
    out: bool = False  # folded, or exposed in the deal
    dead: bool = False
    checked: bool = False
    all_in: bool = False


@dataclass(slots=True)
class Paid:
    """What a round should bring: to each seat, and to the house from the pots; how many pots, and
    how many of them were shared."""

    to: dict[int, int]
    rake: int = 0
    pots: int = 0
    shared: int = 0


class Book:
    """``stacks`` and ``owed`` by seat; ``house`` is the rake so far less what the house added."""

    def __init__(self, rules: FiveCardRules) -> None:
        self.rules = rules
        self.stacks: dict[int, int] = {}
        self.owed: dict[int, int] = {}
        self.hands: dict[int, Held] = {}
        self.house = 0
        self.antes = 0
        self.street = 0
        self.price = self.rise = self.last_total = 0

    # --- chips come and go --------------------------------------------------------------------

    def buys(self, seat: int, amount: int) -> None:
        """A buy-in or a top-up (FC-06)."""
        self.stacks[seat] = self.stacks.get(seat, 0) + amount
        self.owed[seat] = 0

    def leaves(self, seat: int) -> None:
        """With what is not bet."""
        del self.stacks[seat], self.owed[seat]
        if seat in self.hands:
            self.hands[seat].out = True

    # --- a round ------------------------------------------------------------------------------

    def antes_placed(self, seats: Sequence[int]) -> None:
        """Everybody's ante, and the first rake out of them (FC-08)."""
        rake = self.rules.level.first_rake
        self.hands = {}
        for seat in sorted(seats):
            self.stacks[seat] -= self.rules.ante
            self.hands[seat] = Held(lowest=self.stacks[seat])
        self.antes = self.rules.ante * len(seats) - rake
        self.house += rake
        self.street = 0

    def betting_opens(self) -> None:
        self.street += 1
        self.price = self.rise = self.last_total = 0
        for hand in self.hands.values():
            hand.bet, hand.checked = 0, False

    @property
    def least(self) -> int:
        """What a full raise comes to at least (FC-10)."""
        return self.price + (self.last_total if self.rules.min_raise == "last_total" else self.rise)

    def bets(self, seat: int, amount: int) -> None:
        """A bet or raise to ``amount``."""
        if amount >= self.least:
            self.rise, self.last_total = amount - self.price, amount
        self._stakes(seat, amount - self.hands[seat].bet)
        self.price = amount

    def calls(self, seat: int) -> None:
        self._stakes(seat, min(self.price - self.hands[seat].bet, self.stacks[seat]))

    def _stakes(self, seat: int, amount: int) -> None:
        hand = self.hands[seat]
        self.stacks[seat] -= amount
        hand.bet += amount
        hand.staked += amount
        hand.lowest = min(hand.lowest, self.stacks[seat])
        hand.all_in = not self.stacks[seat]

    def exposed(self, seat: int) -> None:
        """The ante comes back, what the antes lack from the house (FC-18)."""
        hand, ante = self.hands[seat], self.rules.ante
        hand.out = hand.dead = True
        lacking = ante - min(ante, self.antes)
        self.antes -= ante - lacking
        self.house -= lacking
        self.stacks[seat] += ante

    def live(self) -> list[int]:
        return [seat for seat, hand in self.hands.items() if not hand.out]

    # --- its end ------------------------------------------------------------------------------

    def voided(self) -> None:
        """Everybody gets back what he put in (FC-19)."""
        self.house -= self.rules.ante * sum(not hand.dead for hand in self.hands.values()) - self.antes
        for seat, hand in self.hands.items():
            back = hand.staked + (0 if hand.dead else self.rules.ante)
            if seat in self.stacks:
                self.stacks[seat] += back

    def settled(self) -> Paid:
        """Pay by the book; what was paid."""
        paid = self._due()
        for seat, amount in paid.to.items():
            self.stacks[seat] += amount
        self.house += paid.rake
        for seat, hand in self.hands.items():
            if seat in self.stacks:
                self._measure(seat, hand)
        return paid

    def _measure(self, seat: int, hand: Held) -> None:
        level, stack = self.rules.level, self.stacks[seat]
        held = stack if self.rules.topup_measured == "round_end" else min(hand.lowest, stack)
        short = held < level.top_up_below and stack < level.buy_in_min
        self.owed[seat] = level.buy_in_min - stack if short else 0

    def _due(self) -> Paid:
        bets = {seat: hand.staked for seat, hand in self.hands.items()}
        live = self.live()
        paid = Paid(dict.fromkeys(live, 0))
        if not self._letter_rakes(live):
            self._return_excess(bets, live, paid)
        ranks = {seat: rank_104_85(self.hands[seat].cards) for seat in live} if len(live) > 1 else {}
        middle, seats = self.antes, live
        while seats:
            middle += self._peel(bets, seats)
            deeper = [seat for seat in seats if bets[seat]]
            self._divide(middle if deeper else middle + sum(bets.values()), seats, ranks, paid)
            middle, seats = 0, deeper
        return paid

    def _letter_rakes(self, live: Sequence[int]) -> bool:
        early = len(live) < FEWEST_HANDS and self.street < 4
        return early and self.rules.unfollowed_unraked == "fourth_round"

    @staticmethod
    def _return_excess(bets: dict[int, int], live: Sequence[int], paid: Paid) -> None:
        """The part of a bet that nobody followed (FC-15)."""
        second, most = sorted(bets.values())[-2:]
        for seat in live:
            if bets[seat] == most > second:
                paid.to[seat] += most - second
                bets[seat] = second

    @staticmethod
    def _peel(bets: dict[int, int], seats: Sequence[int]) -> int:
        """The layer up to the shallowest of these seats, off everybody's bet."""
        layer = min(bets[seat] for seat in seats)
        taken = 0
        for seat, bet in bets.items():
            part = min(bet, layer)
            bets[seat] -= part
            taken += part
        return taken

    def _divide(self, pot: int, seats: Sequence[int], ranks: Mapping[int, int], paid: Paid) -> None:
        unit = self.rules.pay_unit
        rake = pot * self.rules.rake_percent // (100 * unit) * unit
        best = max((ranks[seat] for seat in seats), default=0) if ranks else 0
        winners = [seat for seat in seats if not ranks or ranks[seat] == best]
        units, crumbs = divmod(pot - rake, unit)
        for place, seat in enumerate(winners):
            paid.to[seat] += (units // len(winners) + (place < units % len(winners))) * unit
        paid.to[winners[min(units % len(winners), len(winners) - 1)]] += crumbs
        paid.rake += rake
        paid.pots += 1
        paid.shared += len(winners) > 1

    # --- compared with the table --------------------------------------------------------------

    def differences(self, account: Plain, paid: Paid | None, balances: Mapping[str, int]) -> list[str]:
        """Where the round's account and the table's balances are not what the players' book says."""
        broken = [
            f"stack.{seat} holds {balances.get(f'stack.{seat}', 0)}, its player counts {stack}"
            for seat, stack in self.stacks.items()
            if balances.get(f"stack.{seat}", 0) != stack
        ]
        if balances.get("house.rake", 0) + balances.get("house", 0) != self.house:
            broken.append(f"the house holds {balances.get('house.rake', 0)}, the players count {self.house}")
        if balances.get("pot", 0):
            broken.append(f"{balances['pot']} is left in the pot")
        if paid is None:
            return broken
        got = {row["seat"]: row["returned"] + row["won"] for row in account["seats"]}
        broken += [
            f"seat {seat} got {got[seat]} of round {account['id']}, by its own book {paid.to.get(seat, 0)}"
            for seat in got
            if got[seat] != paid.to.get(seat, 0)
        ]
        return broken
