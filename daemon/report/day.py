"""``feltd report``: a gaming day, or a shift of it, reconciled to the unit.

What is told comes from the rounds' accounts and from the double entries of the money, which must agree;
the snapshots, which the table itself took between rounds, must agree with both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NotRequired, TypedDict

from daemon.audit.check import money_rows
from daemon.audit.rows import END
from daemon.house import House, HousePlain, Span
from daemon.records import Plain
from daemon.report import money
from daemon.report.books import Books, Entry, NoSuchDay, no_rest
from daemon.report.happenings import Done, Fault, Happenings, Irregularity, Remark, Start
from daemon.report.money import Amounts, Flow, Move
from daemon.report.reconcile import Difference, differences, of_round
from daemon.roles import CARIBBEAN, IDLE


class Rounds(TypedDict):
    """How many there were, by outcome, and the numbers of the first and the last one."""

    settled: int
    void: int
    open: int
    first: int | None
    last: int | None


class AwardTold(TypedDict):
    """An award that was decided or paid in the day; ``category`` is "" for one that was decided before."""

    round: int
    box: int
    category: str
    amount: int
    from_pool: int
    from_house: int
    at: str | None
    paid_at: str | None


class Report(TypedDict):
    """The answer of ``feltd report --json``. Amounts are minor units, stamps UTC.

    ``to`` is the first moment of the next day or shift. ``final``: it is over, and so is its last round.
    ``errors`` are sentences about a journal that does not hold. At Caribbean Stud there are ``stakes``
    and ``payouts``, and ``linked`` if its pool is; at five-card stud ``chips``, ``cash_outs`` and ``rake``.
    """

    table: str
    game: str
    simulated: bool
    day: str
    shift: str | None
    house: HousePlain
    start: str
    to: str
    records: list[int] | None
    final: bool
    rounds: Rounds
    drop: Amounts
    stakes: NotRequired[dict[str, Amounts]]
    payouts: NotRequired[Amounts]
    chips: NotRequired[Amounts]
    cash_outs: NotRequired[int]
    rake: NotRequired[Amounts]
    account: Amounts
    pool: Amounts | None
    linked: NotRequired[Amounts]
    awards: list[AwardTold]
    corrections: list[Done]
    irregularities: dict[str, list[Irregularity]]
    remarks: list[Remark]
    faults: list[Fault]
    openings: list[Done]
    starts: list[Start]
    reconciled: bool
    differences: list[Difference]
    verified: bool
    errors: list[str]


def report(
    journal: Path,
    house: House,
    day: date,
    shift: str = "",
    now: datetime | None = None,
    rest: Callable[[], None] = no_rest,
    errors: Sequence[str] = (),
) -> Report:
    """The report of a gaming day, or of one shift of it; of the day so far while it lasts.

    ``errors`` are what a verification of the journal found already; the chain of the files that are read
    is checked in any case. Raises NoSuchDay, and JournalError when the journal cannot be read.
    """
    try:
        span = house.shift(day, shift) if shift else house.day(day)
    except ValueError as error:
        raise NoSuchDay(str(error)) from None
    except OverflowError:
        raise NoSuchDay(f"{day} is beyond the calendar") from None
    books = Books(journal, rest)
    first, end = books.first_at(span.start), books.first_at(span.end)
    broken = books.broken(first, end - 1) if first < end else []
    told = _Day(books, first)
    for entry in books.entries(first, end - 1) if first < end else ():
        told.take(entry)
    over = end != END or (told.at_rest and span.end <= (now or datetime.now(UTC)))
    return _whole(told, house, span, day, shift, over, [*errors, *broken])


class _Day:
    """The records of a day, added up."""

    def __init__(self, books: Books, first: int) -> None:
        self.header = books.header
        self.first = self.last = 0
        self.before = books.balances(first)
        self.after = Counter(self.before)
        self.flow = Flow(by_kind=True)
        self.outcomes: Counter[str] = Counter()
        self.numbers: list[int] = []
        self.awards: dict[str, AwardTold] = {}
        self.happenings = Happenings()
        self.differences: list[Difference] = []
        self.phase = IDLE[0]
        self._moves: list[Move] = []  # since the last round closed

    @property
    def at_rest(self) -> bool:
        """No round is open."""
        return self.phase in IDLE

    def take(self, entry: Entry) -> None:
        self.first, self.last = self.first or entry.seq, entry.seq
        self.phase = entry.record["phase"]
        self._book(entry)
        for move in self._moves_of(entry):
            self.flow.add(move)
            self._moves.append(move)
            self._award_move(move, entry.record["at"])
        for effect in entry.record.get("effects", ()):
            if effect["effect"] == "round-closed":
                self._round_closed(effect["summary"], effect["outcome"])
        if entry.record["input"]["kind"] == "snapshot":
            self._snapshot(entry.seq, entry.record["input"]["state"]["balances"])
        self.happenings.take(entry.record)

    def _book(self, entry: Entry) -> None:
        """Double entry, from the table of money: what a record moves sums to nothing."""
        expected = money_rows(entry.record)
        for _, account, amount, _ in entry.money:
            self.after[account] += amount
        if entry.money != expected:
            told, booked = (sum(abs(row[2]) for row in rows) for rows in (expected, entry.money))
            what = "its entries in the table of money"
            self.differences.append(
                {"where": f"record {entry.seq}", "what": what, "told": told, "booked": booked}
            )

    @staticmethod
    def _moves_of(entry: Entry) -> list[Move]:
        return [Move(entry.seq, *move) for move in entry.record.get("money", ())]

    def _snapshot(self, seq: int, told: Mapping[str, int]) -> None:
        """The table's own memory of its accounts, which is not made of the table of money."""
        accounts = sorted({*told, *self.after})
        self.differences += differences(
            f"record {seq}, the table's snapshot",
            {account: told.get(account, 0) for account in accounts},
            {account: self.after[account] for account in accounts},
        )

    def _round_closed(self, summary: Plain, outcome: str) -> None:
        self.outcomes[outcome] += 1
        self.numbers.append(summary["id"])
        booked = Flow()
        for move in self._moves:
            if move.seq >= summary["inputs"][0]:
                booked.add(move)
        self._moves.clear()
        self.differences += of_round(summary, booked, self.after["pool"])
        for box in summary.get("boxes", ()):
            award = self.awards.get(f"award.{summary['id']}.{box['box']}")
            if award is not None:
                award["category"] = box["category"] or ""

    def _award_move(self, move: Move, at: str) -> None:
        if move.target.startswith("award."):
            award = self._award(move.target)
            award["at"] = at
            award["amount"] += move.amount
            award["from_house" if move.source == "house" else "from_pool"] += move.amount
        elif move.source.startswith("award."):
            award = self._award(move.source)
            award["amount"], award["paid_at"] = max(award["amount"], move.amount), at

    def _award(self, account: str) -> AwardTold:
        _, round_id, box = account.split(".")
        nothing: AwardTold = {
            "round": int(round_id),
            "box": int(box),
            "category": "",
            "amount": 0,
            "from_pool": 0,
            "from_house": 0,
            "at": None,
            "paid_at": None,
        }
        return self.awards.setdefault(account, nothing)


def _whole(
    told: _Day, house: House, span: Span, day: date, shift: str, final: bool, errors: list[str]
) -> Report:
    caribbean, there = told.header["game"] == CARIBBEAN, told.happenings
    first, last = (told.numbers[0], told.numbers[-1]) if told.numbers else (None, None)
    found: Report = {
        "table": told.header["table"],
        "game": told.header["game"],
        "simulated": bool(told.header["simulated"]),
        "day": day.isoformat(),
        "shift": shift or None,
        "house": house.plain(),
        "start": _stamp(span.start),
        "to": _stamp(span.end),
        "records": [told.first, told.last] if told.first else None,
        "final": final,
        "rounds": {
            "settled": told.outcomes["settled"],
            "void": told.outcomes["void"],
            "open": int(not told.at_rest),
            "first": first,
            "last": last,
        },
        "drop": {},
        "account": money.account(told.flow, told.before, told.after),
        "pool": money.pool(told.flow, told.before, told.after) if caribbean else None,
        "awards": sorted(told.awards.values(), key=lambda award: (award["round"], award["box"])),
        "corrections": there.corrections,
        "irregularities": _by_clause(there.irregularities),
        "remarks": there.remarks,
        "faults": there.faults,
        "openings": there.openings,
        "starts": there.starts,
        "reconciled": True,
        "differences": told.differences,
        "verified": not errors,
        "errors": errors,
    }
    _add_game(found, told, caribbean)
    found["differences"] += _unbalanced(found, told.after)
    found["reconciled"] = not found["differences"]
    return found


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _by_clause(found: Sequence[Irregularity]) -> dict[str, list[Irregularity]]:
    clauses = sorted({each["clause"] for each in found})
    return {clause: [each for each in found if each["clause"] == clause] for clause in clauses}


def _add_game(found: Report, told: _Day, caribbean: bool) -> None:
    """What only one of the games has, and its drop: what players put down, or bought."""
    if caribbean:
        found["stakes"] = money.stakes(told.flow, told.after)
        found["payouts"] = money.payouts(told.flow)
        drop = {spot: amounts["taken"] for spot, amounts in found["stakes"].items()}
        linked = money.linked(told.flow, told.before, told.after)
        if any(linked.values()):
            found["linked"] = linked
    else:
        found["chips"] = chips = money.chips(told.flow, told.before, told.after)
        found["rake"] = money.rake(told.flow)
        found["cash_outs"] = chips["cash_outs"]
        drop = {part: chips[part] for part in ("buy_ins", "top_ups")}
    found["drop"] = drop | {"total": sum(drop.values())}


def _unbalanced(found: Report, after: Mapping[str, int]) -> list[Difference]:
    """Statements whose parts do not make their closing amount, and books that do not sum to nothing."""
    where = f"the day {found['day']}"
    wrong: list[Difference] = []
    statements = {
        "pool": found["pool"],
        "linked": found.get("linked"),
        "account": found["account"],
        "chips": found.get("chips"),
    }
    for name, statement in statements.items():
        if statement is not None:
            told = {f"the closing amount of {name}": money.off(name, statement)}
            wrong += differences(where, told, dict.fromkeys(told, statement["closing"]))
    wrong += differences(where, {"all accounts together": 0}, {"all accounts together": sum(after.values())})
    return wrong
