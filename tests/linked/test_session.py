"""The link process between a table and an authority that a test plays: what it carries, and after a crash."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from daemon.client import ApiError
from daemon.games.hands import Category
from daemon.games.jackpot import Award
from daemon.linked import run
from daemon.linked.entries import AwardClaim, Balance, Decided, Entry, Joined, Refused, Unreachable, Won
from daemon.linked.run import Changed, Link, Session, entries

MEMBER = {"table": "CS-1", "pool": "main", "currency": "$", "fingerprint": "f"}
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Dead(Exception):
    """The process was killed here."""


def record(seq: int, prior: int, *lines: tuple[str, int, int], reason: str = "") -> dict[str, Any]:
    numbered = [[n, kind, box, amount] for n, (kind, box, amount) in enumerate(lines)]
    return {"seq": seq, "prior": prior, "lines": numbered, "round": 7, "reason": reason}


def bets(seq: int, prior: int) -> dict[str, Any]:
    return record(seq, prior, ("contribution", 1, 71), ("reserve", 1, 5), ("contribution", 2, 71))


class Table:
    """The table's side of the socket."""

    def __init__(self, *records: dict[str, Any]) -> None:
        self.records = list(records)
        self.identity = dict(MEMBER)
        self.told: list[Mapping[str, Any]] = []
        self.decisions: dict[int, Mapping[str, Any]] = {}
        self.dies = False

    def outbox(self, after: int, limit: int, wait: float = 0) -> dict[str, Any]:
        later = [each for each in self.records if each["seq"] > after]
        open_claims = [
            each
            for each in self.records
            if each["lines"][0][1].startswith("claim-") and each["seq"] not in self.decisions
        ]
        counts = {"pending": len(open_claims), "later": len(later), "acked": 0}
        return {**self.identity, "records": later[:limit], "undecided": open_claims, **counts}

    def seen(self, told: Mapping[str, Any]) -> None:
        self.told.append(told)

    def decided(self, told: Mapping[str, Any]) -> None:
        if self.dies:
            raise Dead
        self.decisions[told["seq"]] = told


class House:
    """The authority: lines once, in their order, and decisions that stay."""

    def __init__(self) -> None:
        self.lines: dict[tuple[int, int], Entry] = {}
        self.claims: dict[int, AwardClaim] = {}
        self.calls: list[Any] = []
        self.last = 0
        self.pool, self.version = 1_000, 1
        self.won: Won | None = None
        self.reports: list[tuple[int, int]] = []
        self.dies = False

    def join(self, table: str, currency: str, fingerprint: str) -> Joined:
        return Joined(table, "main", currency, fingerprint, self.last)

    def append(self, run: Sequence[Entry]) -> Balance:
        self.calls.append([entry.seq for entry in run])
        for entry in run:
            if entry.seq > self.last:
                assert entry.prior in (self.last, *(e.prior for e in run if e.seq == entry.seq))
            self.lines.setdefault((entry.seq, entry.line), entry)
        self.last = max(self.last, run[-1].seq)
        if self.dies:
            raise Dead
        return self.balance()

    def claim(self, claim: AwardClaim) -> Decided:
        self.calls.append(claim.seq)
        if claim.seq not in self.claims:
            assert claim.prior == self.last
            self.claims[claim.seq] = claim
            self.last = claim.seq
            self.pool, self.version = self.pool - 100, self.version + 1
            self.won = Won("CS-1", claim.seq, 100)
        awards = tuple(Award(each.box, each.category, 100, 100, 0) for each in self.claims[claim.seq].claims)
        return Decided(claim.seq, awards, self.pool, False, self.pool, self.version)

    def balance(self) -> Balance:
        return Balance(self.pool, self.version, NOW)

    def newest_award(self) -> Won | None:
        return self.won

    def report(self, outbox: int, pending: int) -> None:
        self.reports.append((outbox, pending))


def session(table: Table, house: House) -> Session:
    return Session(table, house, table.outbox(0, 1))  # type: ignore[arg-type]


CLAIM = record(9, 5, ("claim-flush", 2, 0), ("claim-royal-flush", 4, 0))


def test_what_is_put_aside_is_part_of_its_contribution() -> None:
    assert list(entries(bets(5, 2))) == [
        Entry(5, 0, "contribution", 71, 5, 2),
        Entry(5, 1, "contribution", 71, 0, 2),
    ]
    assert list(entries(record(6, 5, ("correction", 0, -7), reason="counted"))) == [
        Entry(6, 0, "correction", -7, 0, 5, "counted")
    ]


def test_order_is_kept_and_a_claim_comes_after_what_was_bet_before() -> None:
    table, house = Table(bets(3, 0), bets(5, 3), CLAIM, bets(12, 9)), House()
    linking = session(table, house)
    assert linking.turn() == 4
    assert house.calls == [[3, 3, 5, 5], 9, [12, 12]]
    assert [claim.category for claim in house.claims[9].claims] == [Category.FLUSH, Category.ROYAL_FLUSH]
    assert house.claims[9].round_id == 7
    told = table.decisions[9]
    assert [award["category"] for award in told["awards"]] == ["flush", "royal-flush"]
    assert table.told[-1] | {"age_ms": 0} == {"pool": 900, "version": 2, "acked": 12, "age_ms": 0}
    assert linking.turn() == 0
    assert len(house.calls) == 3


@pytest.mark.parametrize("where", ["append", "decided"])
def test_killed_anywhere_and_everything_is_there_once(where: str) -> None:
    table, house = Table(bets(3, 0), bets(5, 3), CLAIM, bets(12, 9)), House()
    dies = house if where == "append" else table
    dies.dies = True  # type: ignore[attr-defined]
    with suppress(Dead):
        session(table, house).turn()
    assert table.decisions == {}
    dies.dies = False  # type: ignore[attr-defined]
    again = session(table, house)
    again.turn()
    assert sorted(house.lines) == [(seq, line) for seq in (3, 5, 12) for line in (0, 1)]
    assert list(house.claims) == [9]
    assert list(table.decisions) == [9]
    assert again.at == 12


def test_another_journal_is_refused_before_anything_is_carried() -> None:
    house = House()
    house.last = 40
    for table in (Table(bets(3, 0)), Table(bets(3, 0), bets(41, 3))):
        with pytest.raises(Refused, match="its journal is another one"):
            session(table, house)
    assert house.calls == []


def test_a_table_of_another_pool_is_refused() -> None:
    table = Table()
    table.identity["pool"] = "other"
    with pytest.raises(Refused, match="of the pool other, here is main"):
        session(table, House())


def test_other_rules_need_another_session() -> None:
    table, house = Table(bets(3, 0)), House()
    linking = session(table, house)
    table.identity["fingerprint"] = "g"
    with pytest.raises(Changed):
        linking.turn()
    assert house.calls == []


def test_only_an_award_that_is_new_and_elsewhere_is_told() -> None:
    table, house = Table(), House()
    house.won = Won("CS-2", 5, 700)  # history
    linking = session(table, house)
    linking.turn()
    assert "won" not in table.told[-1]
    house.won, house.version = Won("CS-2", 9, 800), 2
    linking.turn()
    assert (table.told[-1]["won"], table.told[-1]["winner"]) == (800, "CS-2")
    linking.turn()
    assert "won" not in table.told[-1]
    house.won, house.version = Won("CS-1", 9, 900), 3  # its own
    linking.turn()
    assert "won" not in table.told[-1]


def test_the_floor_is_told_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    table, house = Table(*(bets(n, n - 1) for n in range(1, 8))), House()
    monkeypatch.setattr(run, "BATCH", 3)
    session(table, house).turn()
    assert house.reports == [(4, 0)]


def test_a_failure_is_told_once_and_waited_out() -> None:
    said: list[str] = []
    tries: list[int] = []
    stop = threading.Event()

    class Impatient:
        """The event, which counts how long is waited and does not wait."""

        def __init__(self) -> None:
            self.pauses: list[float] = []

        def is_set(self) -> bool:
            return len(tries) >= 6

        def wait(self, seconds: float) -> bool:
            self.pauses.append(seconds)
            return False

    def connect() -> Any:
        tries.append(1)
        raise Unreachable("no route") if len(tries) < 5 else Refused("permission", "no")

    waits = Impatient()
    link = Link(Path("/nowhere"), connect, lambda event, text: said.append(f"{event} {text}"), stop)
    link._stop = waits  # type: ignore[assignment]
    link.run()
    assert said == ["no-authority no route", "refused permission: no"]
    assert all(low * 0.7 < each < low * 1.3 for each, low in zip(waits.pauses, _doubled(), strict=False))
    assert waits.pauses[-1] > 10


def _doubled() -> list[float]:
    return [0.25, 0.5, 1, 2]


def test_a_table_that_does_not_take_a_decision_is_asked_again() -> None:
    table, house = Table(CLAIM | {"prior": 0}), House()
    taken: Callable[[Mapping[str, Any]], None] = table.decided

    def held(told: Mapping[str, Any]) -> None:
        raise ApiError("nothing can be journalled now")

    table.decided = held  # type: ignore[method-assign]
    with pytest.raises(ApiError):
        session(table, house).turn()
    table.decided = taken  # type: ignore[method-assign]
    session(table, house).turn()
    assert list(table.decisions) == [9]
    assert house.pool == 900
