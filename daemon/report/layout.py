"""A day's report as titled tables of text, the same for the terminal and for paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from daemon.games.money import money
from daemon.house import House
from daemon.report.day import AwardTold, Report
from daemon.report.happenings import Done, Fault
from daemon.report.money import SIGNS, Amounts

_WORDS: Final[Mapping[str, str]] = {
    "minimum": "Minimum",
    "contributed": "Contributions",
    "overflow": "Overflow taken over",
    "corrected": "Corrections",
    "awarded": "Awards",
    "reserve": "Set aside for the next minimum",
    "stakes_won": "Stakes won",
    "progressive": "House's share of progressive bets",
    "rake": "Rake",
    "paid": "Wins paid",
    "awards": "Awards paid by the house",
    "refunded": "Progressive bets refunded",
    "added": "Antes given back by the house",
    "buy_ins": "Buy-ins",
    "top_ups": "Top-ups",
    "cash_outs": "Cash-outs",
}
_TITLES: Final = {
    "pool": "Jackpot pool",
    "linked": "Linked pool, this table's part",
    "account": "The house's account",
    "chips": "Chips on the table",
}


@dataclass(frozen=True, slots=True)
class Section:
    """A table with its title. The columns ``numbers`` stand to the right, those in ``whole`` are not
    broken; ``empty`` is said for no rows; the last row is a sum if ``total``."""

    title: str
    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: tuple[int, ...] = ()
    whole: tuple[int, ...] = ()
    empty: str = "None."
    total: bool = False


def title(report: Report) -> str:
    shift = f", shift {report['shift']}" if report["shift"] else ""
    return f"Table {report['table']}: gaming day {report['day']}{shift}"


def facts(report: Report) -> list[tuple[str, str]]:
    """What the report is about, as names and values."""
    clock = _house(report).clock
    records = report["records"]
    return [
        ("Time zone", report["house"]["time_zone"]),
        ("From", clock(report["start"])),
        ("To", clock(report["to"])),
        ("Game", report["game"] + (", simulated" if report["simulated"] else "")),
        ("Records", f"{records[0]} to {records[1]}" if records else "none"),
        ("State", "final" if report["final"] else "so far: it is not over"),
        ("Win of the games", _money(report["account"]["win"])),
    ]


def verdicts(report: Report) -> list[tuple[str, bool]]:
    """Whether money and accounts agree, and whether the journal holds: a sentence each."""
    count, errors = len(report["differences"]), len(report["errors"])
    return [
        ("Reconciled to the unit" if report["reconciled"] else f"Differences: {count}", not count),
        ("Journal verified" if report["verified"] else f"Journal not sound: {errors}", not errors),
    ]


def sections(report: Report) -> Iterator[Section]:
    """All tables, in the order of reading."""
    house = _house(report)
    if report["differences"] or report["errors"]:
        yield _differences(report)
    yield _rounds(report)
    yield from _game(report)
    yield from (
        _statement(name, told)
        for name, told in (
            ("pool", report["pool"]),
            ("linked", report.get("linked")),
            ("account", report["account"]),
        )
        if told is not None
    )
    if report["pool"] is not None:
        yield _awards(report["awards"], house)
        yield _corrections(report["corrections"], house)
    yield _irregularities(report, house)
    yield _remarks(report, house)
    yield _faults(report["faults"], house)
    yield _openings(report, house)


def _house(report: Report) -> House:
    return House.of(report["house"])


def _money(amount: int) -> str:
    return money(amount, "")


def _differences(report: Report) -> Section:
    rows = [
        (each["where"], each["what"], *_sides(each["told"], each["booked"])) for each in report["differences"]
    ]
    rows += [("journal", error, "", "", "") for error in report["errors"]]
    return Section("What does not agree", ("where", "what", "told", "booked", "difference"), rows, (2, 3, 4))


def _sides(told: int, booked: int) -> tuple[str, str, str]:
    return _money(told), _money(booked), _money(told - booked)


def _rounds(report: Report) -> Section:
    rounds = report["rounds"]
    numbers = f"{rounds['first']} to {rounds['last']}" if rounds["first"] is not None else ""
    row = (*(str(rounds[key]) for key in ("settled", "void", "open")), numbers)
    return Section("Rounds", ("settled", "void", "open", "numbers"), [row], (0, 1, 2))


# --- money -----------------------------------------------------------------------------------------


def _game(report: Report) -> Iterator[Section]:
    if "stakes" in report and "payouts" in report:
        stakes = report["stakes"]
        yield Section(
            "Drop: stakes",
            ("bet", "taken", "lost", "returned", "void", "on the layout"),
            [(name, *map(_money, stakes[name].values())) for name in ("ante", "raise")],
            (1, 2, 3, 4, 5),
        )
        yield Section(
            "Drop: progressive bets",
            ("taken", "to the pool", "overflow", "reserve", "to the house", "on the layout"),
            [tuple(map(_money, stakes["progressive"].values()))],
            (0, 1, 2, 3, 4, 5),
        )
        yield _sum("Drop", report["drop"], {"progressive": "Progressive bets"})
        yield _sum(
            "Payouts", report["payouts"], {"ante": "Antes won", "raise": "Raises won", "awards": "Awards"}
        )
    if "chips" in report and "rake" in report:
        yield _sum("Drop", report["drop"], {})
        yield _statement("chips", report["chips"])
        rake = report["rake"] | {"void": -report["rake"]["void"]}
        yield _sum(
            "Rake", rake, {"first": "First rake", "pots": "Of the pots", "void": "Given back, round void"}
        )


def _sum(name: str, told: Amounts, words: Mapping[str, str]) -> Section:
    rows = [
        ("Total" if part == "total" else words.get(part, _WORDS.get(part, part.capitalize())), _money(amount))
        for part, amount in told.items()
    ]
    return Section(name, ("what", "amount"), rows, (1,), total=True)


def _statement(name: str, told: Amounts) -> Section:
    """Opening amount, what raised and lowered it, closing amount. What did not move is left out."""
    rows = [("Opening", _money(told["opening"]))]
    rows += [(_WORDS[part], _money(sign * told[part])) for part, sign in SIGNS[name].items() if told[part]]
    rows += [("Closing", _money(told["closing"]))]
    return Section(_TITLES[name], ("what", "amount"), rows, (1,), total=True)


def _awards(awards: Iterable[AwardTold], house: House) -> Section:
    rows = [
        (
            str(each["round"]),
            str(each["box"]),
            each["category"],
            *(_money(each[part]) for part in ("amount", "from_pool", "from_house")),
            house.clock(each["at"]) or "before this day",
            house.clock(each["paid_at"]) or "not paid yet",
        )
        for each in awards
    ]
    heads = ("round", "box", "hand", "amount", "from the pool", "from the house", "decided", "paid")
    return Section("Awards", heads, rows, (3, 4, 5), (6, 7))


def _corrections(corrections: Iterable[Done], house: House) -> Section:
    rows = [
        (house.clock(each["at"]), _who(each), each["second"], each["text"], _money(each["amount"]))
        for each in corrections
    ]
    return Section("Corrections of the pool", ("at", "by", "with", "why", "amount"), rows, (4,), (0,))


def _who(done: Done) -> str:
    return " ".join(part for part in (done["by"], f"({done['role']})" if done["role"] else "") if part)


# --- what else happened ----------------------------------------------------------------------------


def _irregularities(report: Report, house: House) -> Section:
    rows = [
        (clause, str(each["round"]), each["detail"], house.clock(each["at"]))
        for clause, found in report["irregularities"].items()
        for each in found
    ]
    return Section("Irregularities", ("clause", "round", "what", "at"), rows, (1,), (0, 3))


def _remarks(report: Report, house: House) -> Section:
    rows = [(each["clause"], each["detail"], house.clock(each["at"])) for each in report["remarks"]]
    return Section("Also told under a clause", ("clause", "what", "at"), rows, whole=(0, 2))


def _faults(faults: Iterable[Fault], house: House) -> Section:
    rows = [
        (
            each["device"] or "table",
            each["code"],
            each["text"],
            house.clock(each["at"]) or "before this day",
            house.clock(each["cleared_at"]) or "stands",
        )
        for each in faults
    ]
    return Section("Faults", ("of", "code", "what", "since", "cleared"), rows, whole=(0, 1, 3, 4))


def _openings(report: Report, house: House) -> Section:
    rows: Sequence[tuple[str, str, str]] = [
        *((each["at"], each["act"], _who(each)) for each in report["openings"]),
        *((each["at"], "started", f"feltd {each['version']}") for each in report["starts"]),
    ]
    told = [(house.clock(at), what, by) for at, what, by in sorted(rows)]
    return Section("Opened, closed, started", ("at", "what", "by"), told, whole=(0,))
