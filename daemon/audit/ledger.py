"""The books of a journal, kept anew from its records."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from daemon.records import Plain

_MAY_OWE: Final = ("house", "linked")  # a table may win more of a linked pool than it brought
_LAYOUT: Final = ("ante.", "raise.", "progressive.")
# (reason, into the pool) -> what such a movement of the pool counts as
_POOL_MOVES: Final = {
    ("minimum", True): "minimum",
    ("contribution", True): "contributed",
    ("overflow", True): "overflow",
    ("award", False): "awarded",
    ("correction", True): "corrected",
    ("correction", False): "corrected",
}


class Ledger:
    """The accounts as the records move them, and what must hold between them. Minor units."""

    def __init__(self) -> None:
        self.balances: dict[str, int] = defaultdict(int)
        self.outcomes: Counter[str] = Counter()  # of the closed rounds
        self._began = 1
        self._pool_moves: list[tuple[int, str, int]] = []  # since the last round closed
        self._to_linked = 0  # contributed to a linked pool since then

    @property
    def rounds(self) -> int:
        """How many rounds were closed."""
        return self.outcomes.total()

    def begin(self, seq: int, balances: Mapping[str, int], outcomes: Mapping[str, int]) -> None:
        """Begin with record ``seq``, and with what was booked before it."""
        self._began, self.outcomes = seq, Counter(outcomes)
        self.balances.clear()
        self.balances.update(balances)
        self._pool_moves.clear()
        self._to_linked = 0

    def standing(self) -> dict[str, int]:
        """The accounts that are not at 0."""
        return {account: amount for account, amount in self.balances.items() if amount}

    def take(self, seq: int, record: Plain) -> Iterator[str]:
        """Book one record; a sentence for everything that does not hold."""
        touched = []
        for source, target, amount, reason in record.get("money", ()):
            if type(amount) is not int or amount <= 0:
                yield f"a movement of {amount!r} is no amount"
                continue
            self.balances[source] -= amount
            self.balances[target] += amount
            touched += [source, target]
            yield from self._pool_move(seq, source, target, amount, reason)
        for account in dict.fromkeys(touched):
            if self.balances[account] < 0 and account not in _MAY_OWE and not account.startswith("player."):
                yield f"the account {account} falls to {self.balances[account]}"
        for effect in record.get("effects", ()):
            if effect["effect"] == "round-closed":
                self.outcomes[effect["outcome"]] += 1
                yield from self._round_closed(effect["summary"])
        if record["input"]["kind"] == "snapshot" and record["input"]["state"]["balances"] != self.standing():
            yield "the snapshot's balances are not what the money says"

    def _pool_move(self, seq: int, source: str, target: str, amount: int, reason: str) -> Iterator[str]:
        if target == "linked" and reason == "contribution":
            self._to_linked += amount
        if "pool" not in (source, target):
            return
        inward = target == "pool"
        counts_as = _POOL_MOVES.get((reason, inward))
        if counts_as is None:
            yield f"{reason!r} is no reason to move money from {source} to {target}"
        else:
            self._pool_moves.append((seq, counts_as, amount if inward else -amount))

    def _round_closed(self, summary: Plain) -> Iterator[str]:
        for account, amount in self.balances.items():
            if amount and account.startswith(_LAYOUT):
                yield f"the round is closed and {amount} lies on {account}"
        if "pool" in summary and summary["inputs"][0] >= self._began:
            if "linked" in summary["pool"]:
                yield from self._linked_part(summary["pool"])
            else:
                yield from self._pool_equation(summary["pool"], summary["inputs"][0])
        self._pool_moves.clear()
        self._to_linked = 0

    def _linked_part(self, told: Plain) -> Iterator[str]:
        """Of a linked pool a round's account tells what this table brought, and awards come later."""
        for name, amount in (("contributed", self._to_linked), ("awarded", 0)):
            if told[name] != amount:
                yield f"the round's pool {name!r} is told as {told[name]}, the money says {amount}"

    def _pool_equation(self, told: Plain, first: int) -> Iterator[str]:
        """Opened + contributed + minimum + overflow - awarded = closed, told and booked (CS-10)."""
        booked = dict.fromkeys(_POOL_MOVES.values(), 0)
        for seq, counts_as, amount in self._pool_moves:
            if seq >= first:
                booked[counts_as] += amount
        now = {
            "opened": self.balances["pool"] - sum(booked.values()),
            "contributed": booked["contributed"],
            "awarded": -booked["awarded"],
            "closed": self.balances["pool"],
        }
        for name, amount in now.items():
            if told[name] != amount:
                yield f"the round's pool {name!r} is told as {told[name]}, the money says {amount}"
