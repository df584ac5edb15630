"""A table of a linked pool: what it owes and claims, what it hears, and when it stops (CS-10)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from daemon.audit.ledger import Ledger
from daemon.games.caribbean import CaribbeanRules
from daemon.games.caribbean.linking import POOL_DIFFERS
from daemon.games.hands import Category
from daemon.games.jackpot import Award
from daemon.games.linked import AwardDecided, PoolLost, PoolSeen, Terms
from daemon.records import decode, encode, essence, input_from, input_record, outcome_record
from daemon.table import Snapshot, Started
from tests.table.floor import RULES, STAKE, Floor, rules

POOL = 90_000_000
TERMS = Terms("house-1", 60, 5_000, "JACKPOT OFFLINE")
ROYAL = "AS KS QS JS TS"
FLUSH = "2H 4H 5H 7H 9H"
DEALER = "AC KD 9D 6C 3S"
WON = Award(1, Category.ROYAL_FLUSH, POOL, POOL, 0)


def started(terms: Terms | None = TERMS, house: CaribbeanRules = RULES) -> Started:
    roles = {"shoe": "shoe", "sign": "sign"}
    return Started("1", ("shoe",), "shoe", "", roles, house.text(), linked=terms)


class LinkedFloor(Floor):
    """A floor whose every record is kept in the journal's form, and whose pool was heard of."""

    def __init__(self, house: CaribbeanRules = RULES, seen: bool = True) -> None:
        super().__init__(house)
        self.records: list[dict[str, Any]] = []
        self.faces: list[bytes] = []
        self.house = house
        self.start()
        if seen:
            self.take(PoolSeen(POOL, 1, 0))

    def take(self, item: Any) -> Any:
        outcome = super().take(item)
        plain, faces = input_record(item)
        self.faces.append(faces)
        self.records.append(
            outcome_record(f"2026-01-01T00:00:00.{self.seq:06d}Z", plain, outcome, self.phase)
        )
        return outcome

    def start(self, terms: Terms | None = TERMS) -> None:
        self.take(started(terms, self.house))
        for device in self.table.rig.devices.values():
            device.ready = True

    def decided(self, *awards: Award, pool: int = 50_000_000, version: int = 9) -> Any:
        seq = next(a.claim for a in self.game.pending if a.amount is None)
        return self.take(AwardDecided(seq, awards, pool, version))

    @property
    def outbox(self) -> list[list[Any]]:
        return [line for record in self.records for line in record.get("outbox", ())]

    @property
    def meter(self) -> str:
        return self.table.rig.wanted.meter


def royal(floor: LinkedFloor) -> None:
    floor.bets(1, 2, progressive=(1, 2))
    floor.play({1: ROYAL, 2: "2D 4C 6D 8D TD"}, DEALER)


def test_what_a_bet_brings_goes_into_the_outbox_and_not_into_a_pool_here() -> None:
    floor = LinkedFloor(rules(contribution=Fraction(3, 4), reserve=Fraction(1, 10), limit=60_000_000))
    floor.bets(1, 3, progressive=(1, 3))
    floor.draw(count=1)
    assert floor.outbox == [
        *(["contribution", 1, 750], ["reserve", 1, 100]),
        *(["contribution", 3, 750], ["reserve", 3, 100]),  # above the limit or not is the authority's to say
    ]
    assert floor.table.balances["linked"] == 1_700
    assert floor.table.balances["pool"] == 0
    assert floor.game.pool == POOL


def test_the_sign_shows_the_authoritys_pool_and_nothing_older() -> None:
    floor = LinkedFloor(seen=False)
    assert floor.meter == "JACKPOT OFFLINE"
    floor.take(PoolSeen(POOL, 5, 0))
    assert floor.meter == "$900,000.00"
    floor.take(PoolSeen(POOL - 1, 4, 0))  # on its way for long
    assert floor.meter == "$900,000.00"
    floor.take(PoolSeen(POOL + 100, 6, 0))
    assert floor.meter == "$900,001.00"


def test_a_restart_shows_no_history() -> None:
    floor = LinkedFloor()
    floor.start()
    assert floor.meter == "JACKPOT OFFLINE"
    floor.open()
    floor.bets(1)
    assert floor.refused("progressive", box=1) == (
        "CS-10 the linked pool was not heard of since the daemon started"
    )
    floor.take(PoolSeen(POOL + 5_000, 2, 0))
    assert floor.meter == "$900,050.00"
    floor.do("progressive", box=1)


def test_a_lost_link_takes_no_progressive_bet_and_comes_back_by_itself() -> None:
    floor = LinkedFloor()
    floor.bets(1, 2, progressive=(1,))
    floor.take(PoolLost("not heard of for 60 s"))
    assert floor.meter == "JACKPOT OFFLINE"
    assert floor.refused("progressive", box=2) == "CS-10 not heard of for 60 s"
    floor.play({1: FLUSH, 2: "2D 4C 6D 8D TD"}, DEALER)  # what is accepted is played
    assert floor.outbox == [["contribution", 1, STAKE], ["claim-flush", 1, 0]]
    floor.take(PoolSeen(POOL, 1, 0))
    assert floor.meter == "$900,000.00"
    floor.bets(1, progressive=(1,))


def test_too_much_in_the_outbox_stops_the_bets_until_the_authority_has_it() -> None:
    floor = LinkedFloor()
    floor.bets(*range(1, 6), progressive=tuple(range(1, 6)))
    floor.draw(count=1)
    assert floor.meter == "JACKPOT OFFLINE"  # 5 x 1000: the limit
    floor.do("misdeal", text="again")
    floor.bets(6)
    assert floor.refused("progressive", box=6) == "CS-10 5000 wait for the linked pool, the limit is 5000"
    acked = next(seq for seq, record in enumerate(floor.records, 1) if "outbox" in record)
    floor.take(PoolSeen(POOL, 2, acked - 1))
    assert floor.refused("progressive", box=6).startswith("CS-10 5000 wait")
    floor.take(PoolSeen(POOL + 5_000, 3, acked))
    floor.do("progressive", box=6)
    assert floor.meter == "$900,050.00"


def test_an_award_waits_unknown_and_nothing_is_paid_from_a_guess() -> None:
    floor = LinkedFloor()
    royal(floor)
    assert floor.outbox[-1] == ["claim-royal-flush", 1, 0]
    assert floor.table.rig.wanted.announcement == "JACKPOT BOX 1 PENDING"
    assert floor.closed[-1]["boxes"][0]["award"] is None
    assert floor.table.view()["pending_awards"][0]["amount"] is None  # type: ignore[index]
    assert floor.table.balances["award.1.1"] == 0
    assert "has not said the amount" in floor.refused("confirm-award", role="supervisor", box=1)
    assert floor.refused("close-table") == "CS-10 an award is not paid yet"
    before = floor.player(1)
    floor.decided(WON)
    assert floor.meter == "$500,000.00"  # what it goes on from
    assert floor.table.rig.wanted.announcement == "WINNER BOX 1 $900,000.00"
    assert floor.player(1) == before
    floor.do("confirm-award", role="supervisor", box=1)
    assert floor.player(1) == before + POOL
    assert floor.table.balances["linked"] == 2 * STAKE - POOL
    floor.do("close-table")


def test_a_fixed_prize_is_paid_as_soon_as_it_is_decided_and_the_house_adds() -> None:
    floor = LinkedFloor()
    floor.bets(1, progressive=(1,))
    floor.play({1: FLUSH}, DEALER)
    floor.decided(Award(1, Category.FLUSH, 50_000, 20_000, 30_000), pool=POOL - 20_000)
    assert floor.game.pending == []
    assert floor.table.balances["award.1.1"] == 0
    assert floor.table.balances["linked"] == STAKE - 20_000


def test_play_goes_on_while_an_award_waits_and_the_line_keeps_its_order() -> None:
    floor = LinkedFloor()
    royal(floor)
    floor.bets(3, progressive=(3,))
    floor.play({3: FLUSH}, DEALER)
    first, second = (award.claim for award in floor.game.pending)
    before = floor.player(3)
    floor.take(AwardDecided(second, (Award(3, Category.FLUSH, 50_000, 50_000, 0),), POOL - 50_000, 12))
    assert floor.player(3) == before  # it is decided, and waits for the royal before it
    floor.take(AwardDecided(first, (WON,), 50_000_000, 11))
    floor.do("confirm-award", role="supervisor", box=1)
    assert floor.player(3) == before + 50_000
    assert floor.game.pending == []
    assert floor.game.pool == POOL - 50_000  # the later version


def test_a_decision_about_something_else_is_refused() -> None:
    floor = LinkedFloor()
    royal(floor)
    seq, pending = floor.game.pending[0].claim, list(floor.game.pending)
    for other in (
        AwardDecided(seq - 1, (WON,), 1, 2),
        AwardDecided(seq, (Award(2, Category.ROYAL_FLUSH, 5, 5, 0),), 1, 2),
        AwardDecided(seq, (Award(1, Category.FLUSH, 5, 5, 0),), 1, 2),
        AwardDecided(seq, (WON, WON), 1, 2),
    ):
        assert floor.take(other).refusal.clause == "CS-10"
    assert floor.game.pending == pending
    floor.decided(WON)
    again = floor.take(AwardDecided(seq, (WON,), 50_000_000, 9))
    assert again.refusal.clause == "CS-10"


def test_an_award_elsewhere_is_told_until_the_next_round_here() -> None:
    floor = LinkedFloor()
    floor.take(PoolSeen(50_000_000, 2, 0, POOL, "CS-7"))
    assert floor.table.rig.wanted.pages[-1] == "WON $900,000.00 AT CS-7"
    floor.take(PoolSeen(50_000_100, 3, 0))
    assert floor.table.rig.wanted.pages[-1] == "WON $900,000.00 AT CS-7"
    floor.bets(1)
    assert "WON" not in "".join(floor.table.rig.wanted.pages)


def test_a_sign_one_step_behind_the_pool_is_current_and_two_are_not() -> None:
    floor = LinkedFloor()
    floor.open()
    floor.shuffle()
    floor.prove_sign()
    floor.take(PoolSeen(POOL + 100, 2, 0))
    assert floor.table.rig.sign_is_current()
    floor.take(PoolSeen(POOL + 200, 3, 0))
    assert floor.refused("open-betting").startswith("CS-01")
    floor.prove_sign()
    floor.do("open-betting")


def test_another_change_than_the_pools_has_to_be_on_the_sign() -> None:
    floor = LinkedFloor()
    floor.open()
    floor.take(PoolLost("gone"))
    assert not floor.table.rig.sign_is_current()
    floor.prove_sign()
    floor.take(PoolSeen(POOL, 1, 0))  # what it shows is no amount
    assert not floor.table.rig.sign_is_current()


def test_a_supervisor_corrects_the_linked_pool_through_the_outbox() -> None:
    floor = LinkedFloor()
    floor.open()
    floor.do("correct-pool", role="supervisor", second="pit", amount=-300, text="counted")
    assert floor.outbox == [["correction", 0, -300]]
    assert floor.table.balances["linked"] == -300
    assert floor.game.pool == POOL  # until the authority has it
    floor.take(PoolLost("gone"))
    assert floor.refused("correct-pool", role="supervisor", second="pit", amount=1, text="x") == "CS-10 gone"


@pytest.mark.parametrize("terms", [None, Terms("house-2", 60, 5_000, "JACKPOT OFFLINE")])
def test_money_does_not_change_pools_with_a_line_of_a_file(terms: Terms | None) -> None:
    floor = LinkedFloor()
    floor.bets(1, progressive=(1,))
    floor.play({1: FLUSH}, DEALER)
    floor.start(terms)
    assert POOL_DIFFERS in floor.table.faults
    assert floor.game.linked is not None
    floor.start()
    assert POOL_DIFFERS not in floor.table.faults


def test_a_pool_of_its_own_does_not_become_a_linked_one() -> None:
    floor = Floor()
    floor.take(started(None))
    floor.open()
    floor.take(started())
    assert floor.game.linked is None
    assert "a pool of its own" in floor.table.faults[POOL_DIFFERS].text


def _play_all(floor: LinkedFloor) -> None:
    """Something of everything a linked table remembers at rest."""
    royal(floor)
    floor.take(PoolSeen(POOL + 7, 3, 2, 1_000, "CS-9"))
    floor.bets(5, progressive=(5,))
    floor.deal({5: FLUSH}, DEALER)
    floor.do("fold", box=5)
    floor.do("settle")
    floor.take(PoolLost("gone"))


def test_a_snapshot_holds_everything() -> None:
    floor = LinkedFloor()
    _play_all(floor)
    state = floor.table.snapshot()
    other = LinkedFloor()
    other.table.restore(state)
    assert other.table.snapshot() == state
    assert other.table.view() == floor.table.view()
    other.take(Snapshot(state))
    for each in (floor, other):
        each.decided(WON, version=20)
        each.do("confirm-award", role="supervisor", box=1)
    assert other.table.snapshot() == floor.table.snapshot()


def test_a_journal_of_a_linked_table_replays_and_its_books_hold() -> None:
    floor = LinkedFloor()
    _play_all(floor)
    floor.decided(WON, version=20)
    again, ledger = Floor(), Ledger()
    for seq, (record, faces) in enumerate(zip(floor.records, floor.faces, strict=True), 1):
        assert list(ledger.take(seq, record)) == []
        item = input_from(decode(encode(record["input"])), faces)
        outcome = again.table.handle(item, seq, record["at"])
        assert essence(outcome_record(record["at"], input_record(item)[0], outcome, again.phase)) == essence(
            record
        )
        if isinstance(item, Started):
            for device in again.table.rig.devices.values():
                device.ready = True
    assert ledger.balances["linked"] == floor.table.balances["linked"]
    assert again.table.snapshot() == floor.table.snapshot()


def test_a_told_round_that_its_money_denies_is_found() -> None:
    floor = LinkedFloor()
    royal(floor)
    ledger = Ledger()
    wrong: list[str] = []
    for seq, record in enumerate(floor.records, 1):
        for effect in record.get("effects", ()):
            if effect["effect"] == "round-closed":
                effect["summary"]["pool"]["contributed"] += 1
        wrong += ledger.take(seq, record)
    assert len(wrong) == 1
    assert "contributed" in wrong[0]
