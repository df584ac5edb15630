"""A table of a linked pool: what it owes the pool and claims of it, and what it hears of it (CS-10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from daemon.games.caribbean import programme
from daemon.games.caribbean.memory import Memory
from daemon.games.caribbean.round import PendingAward
from daemon.games.desk import Desk, DeviceNews, GameInput, OutboxEntry, Refused
from daemon.games.hands import Category
from daemon.games.jackpot import Award, Claim, Contribution, payment_order
from daemon.games.linked import (
    CLAIM,
    CONTRIBUTION,
    CORRECTION,
    NOT_HEARD,
    RESERVE,
    AwardDecided,
    Linked,
    PoolLost,
    PoolSeen,
    Terms,
)

CONFIRMED_BY_SUPERVISOR: Final = (Category.STRAIGHT_FLUSH, Category.ROYAL_FLUSH)
POOL_DIFFERS: Final = "pool-differs"


class Linking(Memory):
    """A chapter of :class:`daemon.games.caribbean.game.Caribbean`."""

    def take_part(self, terms: Terms | None, desk: Desk) -> None:
        """The configuration's pool. Once money went through one pool, another is a fault: it must not
        change owners with a line of a file."""
        now = self.linked
        if now is not None:
            now.lost = NOT_HEARD
        if now is not None and terms is not None and now.terms.pool == terms.pool:
            now.terms = terms
        elif (now.terms.pool if now else "") != (terms.pool if terms else ""):
            if self.pending or self.meter != type(self.meter)():
                desk.latch(
                    POOL_DIFFERS, self._other_pool(terms), "the former configuration, or a new journal"
                )
                return
            self.belong_to(Linked(terms) if terms is not None else None)
        desk.unlatch(POOL_DIFFERS)

    def _other_pool(self, terms: Terms | None) -> str:
        mine = _pool_name(self.linked.terms if self.linked is not None else None)
        return f"this table's money is in {mine}, the configuration names {_pool_name(terms)}"

    # --- what it owes and claims ------------------------------------------------------------

    def _owe(self, box: int, share: Contribution, desk: Desk) -> None:
        """What a bet brings goes to the authority, which knows the pool's limit."""
        assert self.linked is not None
        spot = f"progressive.{box}"
        desk.move(spot, "linked", share.to_pool, "contribution")
        desk.move(spot, "linked", share.to_reserve, "reserve")
        desk.move(spot, "house", share.house, "progressive")
        desk.outbox.append(OutboxEntry(CONTRIBUTION, box, share.to_pool))
        if share.to_reserve:
            desk.outbox.append(OutboxEntry(RESERVE, box, share.to_reserve))
        self.linked.owe(desk.seq, share.to_pool + share.to_reserve)

    def _claim(self, claims: Sequence[Claim], desk: Desk) -> None:
        """The amounts are not known yet, and nothing is paid from a guess."""
        assert self.linked is not None
        for claim in payment_order(claims):
            auto = claim.category not in CONFIRMED_BY_SUPERVISOR
            self.pending.append(PendingAward(self._now.id, claim.box, claim.category, None, auto, desk.seq))
            desk.outbox.append(OutboxEntry(CLAIM + claim.category.label, claim.box, 0))
            desk.note("CS-10", f"box {claim.box}: the award waits for the linked pool's authority")
            self._turn(claim.box)
        self.linked.owe(desk.seq, 0)
        self.announcement = programme.claimed(self.pending[-len(claims)].box, self.rules)

    def _correct_linked(self, amount: int, desk: Desk) -> None:
        assert self.linked is not None
        desk.outbox.append(OutboxEntry(CORRECTION, 0, amount))
        self.linked.owe(desk.seq, 0)

    # --- what it hears ------------------------------------------------------------------------

    def is_linked(self, item: GameInput, desk: Desk) -> None:
        if self.linked is None:
            raise Refused("this table has a pool of its own", "CS-10")

    def see_pool(self, news: DeviceNews, desk: Desk) -> None:
        seen, linked = news.event, self.linked
        assert isinstance(seen, PoolSeen)
        assert linked is not None
        if linked.lost:
            desk.note("CS-10", f"the linked pool {linked.terms.pool} is heard of")
        linked.see(seen)

    def lose_pool(self, news: DeviceNews, desk: Desk) -> None:
        lost, linked = news.event, self.linked
        assert isinstance(lost, PoolLost)
        assert linked is not None
        linked.lost = lost.reason
        desk.note("CS-10", f"{lost.reason}: no progressive bet is taken")

    def may_be_decided(self, news: DeviceNews, desk: Desk) -> None:
        """The claims of that record wait, and they are the ones that were decided."""
        self.is_linked(news, desk)
        decided = news.event
        assert isinstance(decided, AwardDecided)
        waiting = [(a.box, a.category) for a in self._undecided(decided.seq)]
        if not waiting:
            raise Refused(f"no claim of record {decided.seq} waits", "CS-10")
        if sorted(waiting) != sorted((a.box, a.category) for a in decided.awards):
            raise Refused(f"the awards are not those that record {decided.seq} claims", "CS-10")

    def _undecided(self, seq: int) -> list[PendingAward]:
        return [award for award in self.pending if award.claim == seq and award.amount is None]

    def take_decision(self, news: DeviceNews, desk: Desk) -> None:
        """The amounts are frozen; what needs nobody's confirmation is paid."""
        decided, linked = news.event, self.linked
        assert isinstance(decided, AwardDecided)
        assert linked is not None
        worth = {award.box: award for award in decided.awards}
        for award in self._undecided(decided.seq):
            self._freeze(award, worth[award.box], desk)
        best = max(decided.awards, key=lambda award: award.amount)
        self.announcement = programme.winner(best.box, best.amount, self.rules)
        linked.see(PoolSeen(decided.pool, decided.version, decided.seq))
        self._pay_awards(desk)

    def _freeze(self, award: PendingAward, worth: Award, desk: Desk) -> None:
        award.amount = worth.amount
        self.meter.award(worth.from_pool)
        desk.move("linked", award.account, worth.from_pool, "award")
        desk.move("house", award.account, worth.from_house, "award")
        desk.note("CS-10", f"round {award.round_id}: the award of box {award.box} is {worth.amount}")

    def _won_elsewhere(self) -> str:
        """The page about an award at another table, until the next round here; "" for none."""
        linked = self.linked
        if linked is None or not linked.won:
            return ""
        return programme.won_elsewhere(linked.won, linked.winner, self.rules)

    def _instead(self) -> str:
        """What the sign shows where the amount of a linked pool is not known; "" where it is."""
        linked = self.linked
        return linked.terms.lost_text if linked is not None and linked.stopped() else ""

    def _pay_awards(self, desk: Desk) -> None:
        """Pay from the head of the line as far as everything is decided and confirmed."""
        while self.pending and self.pending[0].confirmed and self.pending[0].amount is not None:
            award = self.pending.pop(0)
            assert award.amount is not None
            desk.move(award.account, f"player.{award.box}", award.amount, "award paid")
            desk.note("CS-10", f"round {award.round_id}: award of box {award.box} paid")


def _pool_name(terms: Terms | None) -> str:
    return f"the linked pool {terms.pool!r}" if terms is not None else "a pool of its own"
