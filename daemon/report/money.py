"""A day's money: what moved between which kinds of accounts, and the statements made of that.

Amounts are whole numbers of minor units. A statement is a set of named amounts; ``SIGNS`` says how its
parts make the closing one of the opening one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

Amounts = dict[str, int]

RAKE: Final = "house.rake"
SPOTS: Final = ("ante", "raise", "progressive")
_BACK: Final = ("taken back", "corrected")

# Statement -> part -> +1 when it raises the account, -1 when it lowers it.
SIGNS: Final[Mapping[str, Mapping[str, int]]] = {
    "pool": {"minimum": 1, "contributed": 1, "overflow": 1, "corrected": 1, "awarded": -1},
    "linked": {"contributed": 1, "reserve": 1, "corrected": 1, "awarded": -1},
    "account": {
        "stakes_won": 1,
        "progressive": 1,
        "rake": 1,
        "paid": -1,
        "awards": -1,
        "minimum": -1,
        "refunded": -1,
        "corrected": -1,
        "added": -1,
    },
    "chips": {"buy_ins": 1, "top_ups": 1, "added": 1, "cash_outs": -1, "rake": -1},
}


class Move(NamedTuple):
    """One movement of a record, minor units above 0."""

    seq: int
    source: str
    target: str
    amount: int
    reason: str


def kind_of(account: str) -> str:
    """``ante.3`` is of the kind ``ante``."""
    return account if account == RAKE else account.partition(".")[0]


class Flow:
    """Sums of movements by source, target and reason: accounts, or kinds of accounts."""

    def __init__(self, by_kind: bool = False) -> None:
        self._sums: Counter[tuple[str, str, str]] = Counter()
        self._by_kind = by_kind

    def add(self, move: Move) -> None:
        accounts = (move.source, move.target)
        source, target = map(kind_of, accounts) if self._by_kind else accounts
        self._sums[source, target, move.reason] += move.amount

    def moved(self, source: str, target: str, *reasons: str) -> int:
        """What moved from one to the other, for these reasons, or for any."""
        return sum(
            amount
            for (from_, to, reason), amount in self._sums.items()
            if (from_, to) == (source, target) and (not reasons or reason in reasons)
        )

    def taken(self, player: str, spot: str) -> int:
        """A stake as it lay in the end: what was taken back or put right is off it."""
        return self.moved(player, spot) - self.moved(spot, player, *_BACK)

    def reasons(self) -> Iterator[tuple[str, str, str]]:
        """Source, target and reason of everything that moved."""
        yield from self._sums


def standing(balances: Mapping[str, int], *kinds: str) -> int:
    """What lies on all accounts of these kinds."""
    return sum(amount for account, amount in balances.items() if kind_of(account) in kinds)


# --- statements ------------------------------------------------------------------------------------


def pool(day: Flow, before: Mapping[str, int], after: Mapping[str, int]) -> Amounts:
    """The jackpot meter (CS-10)."""
    return {
        "opening": before.get("pool", 0),
        "minimum": sum(day.moved(source, "pool", "minimum") for source in ("house", "reserve")),
        "contributed": day.moved("progressive", "pool", "contribution"),
        "overflow": day.moved("overflow", "pool", "overflow"),
        "corrected": day.moved("house", "pool", "correction") - day.moved("pool", "house", "correction"),
        "awarded": day.moved("pool", "award", "award"),
        "closing": after.get("pool", 0),
    }


def linked(day: Flow, before: Mapping[str, int], after: Mapping[str, int]) -> Amounts:
    """What this table brought to a linked pool, and what its awards took of it; below 0 it won more."""
    return {
        "opening": before.get("linked", 0),
        "contributed": day.moved("progressive", "linked", "contribution"),
        "reserve": day.moved("progressive", "linked", "reserve"),
        "corrected": day.moved("house", "linked", "correction") - day.moved("linked", "house", "correction"),
        "awarded": day.moved("linked", "award", "award"),
        "closing": after.get("linked", 0),
    }


def stakes(day: Flow, after: Mapping[str, int]) -> dict[str, Amounts]:
    """What was bet at Caribbean Stud and where it went; ``lying`` is still on the layout."""
    told: dict[str, Amounts] = {}
    for spot in SPOTS[:2]:
        told[spot] = {
            "taken": day.taken("player", spot),
            "lost": day.moved(spot, "house", "lost"),
            "returned": day.moved(spot, "player", "returned"),
            "void": day.moved(spot, "player", "void"),
            "lying": standing(after, spot),
        }
    told["progressive"] = {
        "taken": day.taken("player", "progressive"),
        "pool": day.moved("progressive", "pool") + day.moved("progressive", "linked", "contribution"),
        "overflow": day.moved("progressive", "overflow"),
        "reserve": day.moved("progressive", "reserve") + day.moved("progressive", "linked", "reserve"),
        "house": day.moved("progressive", "house"),
        "lying": standing(after, "progressive"),
    }
    return told


def payouts(day: Flow) -> Amounts:
    """What boxes won beyond their stakes, and the awards that were paid."""
    paid = {
        "ante": day.moved("house", "player", "ante won"),
        "raise": day.moved("house", "player", "raise won"),
        "awards": day.moved("award", "player", "award paid"),
    }
    return paid | {"total": sum(paid.values())}


def account(day: Flow, before: Mapping[str, int], after: Mapping[str, int]) -> Amounts:
    """The house's own account. ``win`` is what the games brought, below 0 what they cost: without what
    the house put into the pool as its minimum, or by a correction."""
    corrected = sum(
        day.moved("house", pool, "correction") - day.moved(pool, "house", "correction")
        for pool in ("pool", "linked")
    )
    told = {
        "opening": standing(before, "house", RAKE),
        "stakes_won": sum(day.moved(spot, "house", "lost") for spot in SPOTS),
        "progressive": day.moved("progressive", "house"),
        "rake": rake(day)["total"],
        "paid": day.moved("house", "player", "ante won", "raise won"),
        "awards": day.moved("house", "award", "award"),
        "minimum": day.moved("house", "pool", "minimum"),
        "refunded": day.moved("house", "player", "carried bet refunded"),
        "corrected": corrected,
        "added": _added(day),
        "closing": standing(after, "house", RAKE),
    }
    games = {part: sign for part, sign in SIGNS["account"].items() if part not in ("minimum", "corrected")}
    return told | {"win": sum(sign * told[part] for part, sign in games.items())}


def _added(day: Flow) -> int:
    """What the house put to antes that were given back (FC-18), less what came back with a void round."""
    return day.moved("house", "stack", "exposed") - day.moved(RAKE, "house", "void")


def rake(day: Flow) -> Amounts:
    """What the house took at five-card stud (FC-08, FC-09); ``void`` went back with a void round."""
    first, pots = day.moved("pot", RAKE, "first rake"), day.moved("pot", RAKE, "rake")
    void = day.moved(RAKE, "pot", "void") + day.moved(RAKE, "house", "void")
    return {"first": first, "pots": pots, "void": void, "total": first + pots - void}


def chips(day: Flow, before: Mapping[str, int], after: Mapping[str, int]) -> Amounts:
    """Everything before the players and in the pot at five-card stud (FC-06)."""
    return {
        "opening": standing(before, "stack", "pot"),
        "buy_ins": day.moved("player", "stack", "buy-in"),
        "top_ups": day.moved("player", "stack", "top-up"),
        "added": _added(day),
        "cash_outs": day.moved("stack", "player", "leaves") + day.moved("pot", "player", "void"),
        "rake": rake(day)["total"],
        "closing": standing(after, "stack", "pot"),
    }


def off(name: str, statement: Amounts) -> int:
    """What a statement's parts make of its opening amount; it must be the closing one."""
    return statement["opening"] + sum(sign * statement[part] for part, sign in SIGNS[name].items())
