"""What must hold whatever fails: books kept beside the table's, from outside alone."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final, Protocol

from daemon.games.caribbean import Caribbean
from daemon.games.five_card import FiveCard
from daemon.records import Plain
from daemon.simulation.disk import DurableJournal, Violation
from daemon.table import Table
from drivers import fdp
from drivers.cards import FaceDownCard
from drivers.framing import Deframer

_MEMORY: Final = {
    Caribbean.name: (
        "state", "fingerprint", "meter", "round", "last_round_id", "last_cards_out", "deck", "carried",
        "refundable", "pending", "announcement", "stopped",
    ),
    FiveCard.name: (
        "state", "fingerprint", "round", "last_round_id", "seats", "deck", "raked", "added",
    ),
}  # fmt: skip
ACTS_REMEMBERED: Final = 4
SHOWN: Final = 64  # pools that a slow sign may lag behind


def freeze(thing: object) -> object:
    """A value that is equal when the thing is, faces of face-down cards included."""
    if isinstance(thing, FaceDownCard):
        return thing.turn().index
    if isinstance(thing, Enum):
        return thing.value
    if is_dataclass(thing):
        return tuple([freeze(getattr(thing, field.name)) for field in fields(thing) if field.compare])
    if isinstance(thing, Mapping):
        return tuple(
            sorted(((str(key), freeze(value)) for key, value in thing.items()), key=lambda kv: kv[0])
        )
    if isinstance(thing, set | frozenset):
        return tuple(sorted(thing))
    if isinstance(thing, list | tuple):
        return tuple([freeze(part) for part in thing])
    return thing


def picture(table: Table) -> object:
    """Everything that a table remembers."""
    money = {account: amount for account, amount in table.balances.items() if amount}
    memory = [getattr(table.game, name) for name in _MEMORY[table.game.name]]
    return freeze([memory, table.rig, table.faults, money, table.started])


class Witness(Protocol):
    """Whoever looks at what leaves the daemon for one device."""

    def sent(self, device: str, data: bytes) -> None: ...


class AckWitness:
    """An event that is acknowledged is durable (F01, J10)."""

    def __init__(self, journal: DurableJournal) -> None:
        self._journal = journal
        self._deframers: dict[str, Deframer] = {}

    def restarted(self) -> None:
        """Half a frame of a process that ended is followed by nothing."""
        self._deframers.clear()

    def sent(self, device: str, data: bytes) -> None:
        """Raises Violation for an acknowledgement that comes before its commit."""
        for piece in self._deframers.setdefault(device, Deframer()).feed(data):
            if not isinstance(piece, bytes) or piece[1] != fdp.Ack.CODE:
                continue
            frame = fdp.decode(piece)
            assert isinstance(frame, fdp.Ack)
            durable = self._journal.ordinal(device)
            if (durable - frame.event) % fdp.EVENTS >= fdp.EVENTS // 2:
                raise Violation(f"{device}: event {frame.event} is acknowledged, durable is {durable}")


class Books:
    """What the journal tells, kept apart from the table: accounts, closed rounds, answered acts.

    A game's own books add what its people know. Amounts in minor units.
    """

    def __init__(self) -> None:
        self.accounts: Counter[str] = Counter()
        self._pools: deque[int] = deque(maxlen=SHOWN)  # from the one that the sign shows on
        self._shown: int | None = None
        self._acts: deque[tuple[str, int]] = deque(maxlen=ACTS_REMEMBERED)
        self.closed: deque[Plain] = deque(maxlen=1)
        self.rounds = 0
        self.last_round = 0
        self.picture: object = None
        self.faults: tuple[str, ...] = ()

    # --- what the journal tells -------------------------------------------------------------

    def durable(self, seq: int, record: Plain) -> None:
        """A record is safe: the accounts, the pools that a sign may show, and closed rounds."""
        for source, target, amount, _ in record.get("money", ()):
            self.accounts[source] -= amount
            self.accounts[target] += amount
        pool = self.accounts["pool"]
        if pool and (not self._pools or self._pools[-1] != pool):
            self._pools.append(pool)
        for effect in record.get("effects", ()):
            if effect["effect"] == "round-closed":
                self.round_closed(effect["summary"])

    def round_closed(self, summary: Plain) -> None:
        """A round ended, with this account."""
        if summary["id"] != self.last_round + 1:
            raise Violation(f"round {summary['id']} ends after round {self.last_round}: one outcome each")
        self.last_round = summary["id"]
        self.rounds += 1
        self.closed.append(summary)

    def answered(self, key: str, answer: Plain) -> None:
        """An act was answered: it is in the journal, under this number."""
        self._acts.append((key, answer["seq"]))

    # --- what must hold ---------------------------------------------------------------------

    def shown(self, amount: int | None) -> None:
        """The sign shows this: a pool that was durable, and never an earlier one again (J09, J10)."""
        if amount is None or amount == self._shown:
            return
        while self._pools and self._pools[0] != amount:
            self._pools.popleft()
        if not self._pools:
            raise Violation(f"the sign shows {amount}: no pool of the journal since {self._shown}")
        self._shown = amount

    def recovered(self, table: Table) -> None:
        """A table out of the journal is the one that ended, if that one ended between two inputs."""
        if self.picture is not None and picture(table) != self.picture:
            raise Violation("the recovered table is not the one that ended")
        self.picture = None
        self.compare(table)

    def restarted(self, table: Table, journal: DurableJournal) -> None:
        """After the first input of a process: latched faults are there, answered acts are recorded."""
        lost = [code for code in self.faults if code not in table.faults]
        if lost:
            raise Violation(f"a restart cleared {', '.join(lost)}")
        for key, seq in self._acts:
            record = journal.answered(key)
            if record is None or record["seq"] != seq:
                raise Violation(f"an act that was answered as record {seq} is not in the journal")

    def compare(self, table: Table) -> None:
        """The table's money is the journal's, and adds up by the game. Any time."""
        for account in sorted({*self.accounts, *table.balances}):
            if self.accounts[account] != table.balances.get(account, 0):
                raise Violation(
                    f"{account}: {table.balances.get(account, 0)}, journal {self.accounts[account]}"
                )
        broken = table.game.check(table.balances)
        if sum(table.balances.values()):
            broken.append("the accounts do not sum to zero")
        if broken:
            raise Violation("; ".join(broken))

    def at_rest(self, table: Table) -> None:
        """Between rounds."""
        self.compare(table)


def state_of(table: Table) -> dict[str, Any]:
    """For a person who looks for what went wrong: nothing in it tells a face-down card."""
    view = table.view()
    keys = ("state", "round", "mode", "faults", "not_ready", "cards", "deck", "turn", "next_card", "error")
    return {key: view[key] for key in keys if key in view}
