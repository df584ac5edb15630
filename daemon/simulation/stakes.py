"""The players' own books at a Caribbean Stud table: stakes, purses, the pool, and what is carried over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import itemgetter

from daemon.games.hands import Category, category_of, qualifies, rank_61_2004
from daemon.games.jackpot import AWARDED, JackpotRules
from daemon.records import Plain
from daemon.simulation.disk import Violation
from daemon.simulation.oracle import Books
from daemon.table import Table
from drivers.cards import Card

Offer = tuple[int, str, int]  # box, bet, minor units


class StakeBooks(Books):
    """The money as the players know it. ``rate`` of each accepted stake goes to the pool, ``reserve``
    aside. Amounts in minor units.
    """

    def __init__(self, rules: JackpotRules) -> None:
        super().__init__()
        self._rules = rules
        self._purse: Counter[int] = Counter()  # what the players of a box are up or down
        self._laid: Counter[tuple[int, str]] = Counter()  # this round, by box and bet
        self._offers: list[Offer] = []
        self._taken = False  # the offers, by the account of a round that ended
        self._dealt_stakes = 0
        self._awarded = 0
        self._carried: dict[int, int] = {}  # stakes of the round before, which was void
        self._refunds_due: Counter[int] = Counter()  # carried stakes whose box sat out

    # --- what the journal tells -------------------------------------------------------------

    def round_closed(self, summary: Plain) -> None:
        super().round_closed(summary)
        void = summary["outcome"] == "void"
        self._carry_over(summary["boxes"], void)
        self._resolve_by(summary["boxes"])
        fresh = 0
        for row in summary["boxes"]:
            self._row_closed(row, void)
            fresh += 0 if row["carried"] else row["progressive"]
        self._dealt_stakes += fresh
        self._awarded += summary["pool"]["awarded"]
        self._laid.clear()

    def _carry_over(self, rows: Sequence[Plain], void: bool) -> None:
        """A stake of a void round is in force in the next one, or is paid back (CS-11)."""
        carried, self._carried = self._carried, {}
        for row in filter(itemgetter("ante"), rows):  # the others are boxes without a bet
            if bool(row["carried"]) != (carried.pop(row["box"], 0) > 0):
                raise Violation(f"box {row['box']}: carried is {row['carried']}, and should not be")
            if void and row["progressive"]:
                self._carried[row["box"]] = row["progressive"]
        self._refunds_due.update(carried)

    def _row_closed(self, row: Plain, void: bool) -> None:
        box = row["box"]
        if row["decision"] == "void" and not row["ante"]:
            return  # a box without a bet that was dealt to
        for bet in ("ante", "raise"):
            if self._laid[box, bet] != row[bet]:
                raise Violation(
                    f"box {box} laid {self._laid[box, bet]} as {bet}, the account says {row[bet]}"
                )
        fresh = 0 if row["carried"] else row["progressive"]
        if self._laid[box, "progressive"] != fresh:
            raise Violation(f"box {box} laid {self._laid[box, 'progressive']} as progressive, not {fresh}")
        staked = row["ante"] + row["raise"]
        lost = row["result"] == "lose"
        if void and (row["ante_paid"], row["raise_paid"], row["award"]) != (0, 0, 0):
            raise Violation(f"box {box} is paid for a void round")
        self._purse[box] += (0 if lost else staked) + row["ante_paid"] + row["raise_paid"] + row["award"]

    # --- what the people know ---------------------------------------------------------------

    def offer(self, offers: Sequence[Offer]) -> None:
        """Chips are laid (or, below zero, taken back), and the act for it is on its way."""
        self._offers = list(offers)

    def resolve(self, accepted: bool) -> None:
        """That act was answered. A round may have ended before the answer came."""
        taken, self._taken = self._taken, False
        if taken and not accepted:
            raise Violation("a round ended with a bet that was refused")
        if accepted and not taken:
            self._take_offers()
        self._offers = []

    def _take_offers(self) -> None:
        for box, bet, amount in self._offers:
            self._laid[box, bet] += amount
            self._purse[box] -= amount

    def _resolve_by(self, rows: Sequence[Plain]) -> None:
        """A round ends while an act is unanswered: its account tells whether it was accepted."""
        for box, bet, amount in self._offers[:1]:
            row = next((row for row in rows if row["box"] == box), None)
            self._taken = row is not None and row[bet] == self._laid[box, bet] + amount
        if self._taken:
            self._take_offers()

    def refunded(self, box: int, amount: int) -> None:
        """A carried stake was paid back."""
        self._purse[box] += amount
        self._refunds_due[box] -= amount

    # --- what must hold ---------------------------------------------------------------------

    def at_rest(self, table: Table) -> None:
        """Between rounds: purses and pool as the players' stakes and the accounts of rounds make them."""
        self.compare(table)
        view = table.game.view()
        owed: Counter[int] = Counter()
        for award in view["pending_awards"]:  # type: ignore[attr-defined]
            owed[award["box"]] += award["amount"]
        for box in range(1, 8):
            has, counted = self.accounts[f"player.{box}"], self._purse[box] - owed[box]
            if has != counted:
                raise Violation(f"box {box} has {has}, its player counts {counted}")
        self._pool_adds_up(view["pool"])  # type: ignore[arg-type]
        due = {str(box): stake for box, stake in sorted(self._refunds_due.items()) if stake}
        carried = {str(box): stake for box, stake in sorted(self._carried.items())}
        if (view["carried"], view["refundable"]) != (carried, due):
            raise Violation(f"carried {view['carried']} and to refund {view['refundable']}: {carried}, {due}")

    def _pool_adds_up(self, pool: Plain) -> None:
        shares = (self._rules.contribution, self._rules.reserve)
        brought = sum(int(self._dealt_stakes * Fraction(share)) for share in shares)
        there = pool["now"] + pool["overflow"] + pool["reserve"]
        put_in = pool["minimum"] + brought + pool["corrected"]
        if there + self._awarded != put_in:
            raise Violation(f"pool {there} and awards {self._awarded}, put in were {put_in}")

    def settled(self, summary: Plain, hands: Mapping[int, Sequence[Card]], dealer: Sequence[Card]) -> None:
        """A settled round against the cards that lay on the table: results, awards (none twice, none
        missing)."""
        opened = qualifies(dealer)
        for row in summary["boxes"]:
            if row["decision"] == "void":
                continue
            cards, raised = hands[row["box"]], row["decision"] == "raise"
            result = "lose"
            if raised:
                wins = rank_61_2004(cards) > rank_61_2004(dealer)
                result = "not-qualified" if not opened else "win" if wins else "lose"
            if row["result"] != result:
                raise Violation(f"box {row['box']}: {row['result']}, the cards say {result}")
            self._award(row, category_of(rank_61_2004(cards)), raised)

    def _award(self, row: Plain, category: Category, raised: bool) -> None:
        in_force = row["progressive"] and (raised or self._rules.folded == "pays")
        due = in_force and category in AWARDED
        if bool(row["award"]) != bool(due):
            raise Violation(f"box {row['box']}: award {row['award']} for {category.label}")
        if due and category < Category.STRAIGHT_FLUSH and row["award"] != self._rules.fixed(category):
            raise Violation(f"box {row['box']}: award {row['award']} for {category.label}")
