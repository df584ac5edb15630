"""Settlement, awards, refunds and corrections (CS-09, CS-10, CS-11)."""

from __future__ import annotations

from daemon.games.caribbean import programme
from daemon.games.caribbean.deal import DEALER
from daemon.games.caribbean.linking import CONFIRMED_BY_SUPERVISOR, Linking
from daemon.games.caribbean.round import (
    Box,
    PendingAward,
)
from daemon.games.caribbean.settlement import Result, Stake, settle
from daemon.games.desk import Act, Desk, OutboxEntry, Refused
from daemon.games.hands import Category, category_of, rank_61_2004
from daemon.games.in_force import supervisor
from daemon.games.jackpot import AWARDED, Claim, Decision


class Settling(Linking):
    """A chapter of :class:`daemon.games.caribbean.game.Caribbean`."""

    def results(self) -> list[Result]:
        """The main game as it stands. Only once every hand that matters is known."""
        now = self._now
        dealer = now.dealt.faces(DEALER) if now.raised() else None
        stakes = [
            Stake(n, box.ante, box.raised, now.dealt.faces(n) if box.raised else None)
            for n, box in sorted(now.boxes.items())
        ]
        return settle(dealer, stakes, self.rules)

    def claims(self) -> list[Claim]:
        """Boxes that hold an awarded hand with a progressive bet in force (CS-10)."""
        claims = []
        for number, box in sorted(self._now.boxes.items()):
            cards = self._now.dealt.faces(number) if self._progressive_counts(box) else None
            category = category_of(rank_61_2004(cards)) if cards else Category.NO_PAIR
            if category in AWARDED:
                claims.append(Claim(number, category))
        return claims

    def may_declare(self, act: Act, desk: Desk) -> None:
        self._bet_box(act)
        if act.text("result") not in ("win", "lose", "not-qualified"):
            raise Refused("a result is win, lose or not-qualified", "CS-09")

    def declare(self, act: Act, desk: Desk) -> None:
        box = self._bet_box(act)
        box.declared = act.text("result")
        true = next(r.result for r in self.results() if r.box == box.number)
        if true != box.declared:
            desk.note("CS-09", f"box {box.number}: declared {box.declared}, computed {true}: payment stops")

    def may_settle(self, act: Act, desk: Desk) -> None:
        self._deck_in_doubt(desk)
        if not (self._now.counted or desk.devices.source_proves()):
            todo = "count cards= with what is left in the shoe; if it does not fit, misdeal"
            raise Refused("this device's line cannot prove that every card was heard of", "CS-07", todo)
        for result in self.results():
            declared = self._now.boxes[result.box].declared
            if declared not in (None, result.result):
                text = f"box {result.box} was declared {declared}, the cards say {result.result}"
                raise Refused(text, "CS-09", "declare again, or misdeal")

    def settle(self, act: Act, desk: Desk) -> None:
        """All boxes in one step: the main game, then the awards in the order of CS-10."""
        results = {result.box: result for result in self.results()}
        for number, result in results.items():
            self._pay_box(self._now.boxes[number], result, desk)
        claims = self.claims()
        decision = self.authority.decide(claims, self.pool)
        if decision is None:
            self._claim(claims, desk)
            decision = Decision((), self.pool, False)
        self._take_awards(decision, desk)
        self._close("settled", results, decision, desk)
        self._pay_awards(desk)

    def _pay_box(self, box: Box, result: Result, desk: Desk) -> None:
        n, lost = box.number, result.result == "lose"
        to = "house" if lost else f"player.{n}"
        desk.move(f"ante.{n}", to, box.ante, "lost" if lost else "returned")
        desk.move(f"raise.{n}", to, box.raised, "lost" if lost else "returned")
        desk.move("house", f"player.{n}", result.ante_paid, "ante won")
        desk.move("house", f"player.{n}", result.raise_paid, "raise won")

    def _take_awards(self, decision: Decision, desk: Desk) -> None:
        for award in decision.awards:
            auto = award.category not in CONFIRMED_BY_SUPERVISOR
            pending = PendingAward(self._now.id, award.box, award.category, award.amount, confirmed=auto)
            self.meter.award(award.from_pool)
            desk.move("pool", pending.account, award.from_pool, "award")
            desk.move("house", pending.account, award.from_house, "award")
            desk.outbox.append(OutboxEntry("award", award.box, award.amount))
            self._turn(award.box)
            self.pending.append(pending)
        if decision.emptied:
            self._restart_pool(desk)
        if decision.awards:
            best = max(decision.awards, key=lambda award: award.amount)
            self.announcement = programme.winner(best.box, best.amount, self.rules)

    def may_confirm_award(self, act: Act, desk: Desk) -> None:
        supervisor(act, "CS-10")
        award = self._award_to_confirm(act)
        if award is None:
            raise Refused(f"box {act.number('box')} has no award to confirm", "CS-10")
        if award.amount is None:
            todo = "it is told by itself once the link is there"
            raise Refused("the authority of the linked pool has not said the amount", "CS-10", todo)

    def _award_to_confirm(self, act: Act) -> PendingAward | None:
        box = act.number("box")
        return next((a for a in self.pending if a.box == box and not a.confirmed), None)

    def confirm_award(self, act: Act, desk: Desk) -> None:
        award = self._award_to_confirm(act)
        assert award is not None
        award.confirmed = True
        self._pay_awards(desk)
        if award in self.pending:
            desk.message = "confirmed; paid when those before it are (CS-10)"

    def _refund_source(self, act: Act) -> dict[int, int]:
        box = self._box(act)
        return self.refundable if box in self.refundable else self.carried

    def may_refund(self, act: Act, desk: Desk) -> None:
        supervisor(act, "CS-11")
        if self._box(act) not in self._refund_source(act):
            raise Refused(f"box {act.number('box')} has no carried bet outside a round", "CS-11")

    def refund_carried(self, act: Act, desk: Desk) -> None:
        """From the house's money, not the pool: the contribution stays (CS-11)."""
        box = act.number("box")
        source = self._refund_source(act)
        if source is self.carried and self.round is not None:
            self.round.carried_at_opening.pop(box, None)  # a correction must not bring it back
        desk.move("house", f"player.{box}", source.pop(box), "carried bet refunded")

    def may_correct(self, act: Act, desk: Desk) -> None:
        supervisor(act, "CS-10")
        if not act.second:
            raise Refused("a correction of the pool needs a second role", "CS-10", "give second=")
        amount = act.number("amount")
        act.text("text")
        self._link_holds()
        if amount == 0 or self.pool + amount < 0:
            raise Refused(f"a correction of {amount} is not possible", "CS-10")

    def correct_pool(self, act: Act, desk: Desk) -> None:
        amount = act.number("amount")
        self.meter.correct(amount)
        account = "pool" if self.linked is None else "linked"
        source, target = ("house", account) if amount > 0 else (account, "house")
        desk.move(source, target, abs(amount), "correction")
        if self.linked is not None:
            self._correct_linked(amount, desk)
