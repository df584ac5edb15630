"""A house with a linked pool on a server of the tests: its tables, and what they send."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Final, Self

from daemon.games.hands import Category
from daemon.games.jackpot import Claim, JackpotRules
from daemon.linked import schema
from daemon.linked.authority import Authority
from daemon.linked.entries import CONTRIBUTION, CORRECTION, AwardClaim, Balance, Decided, Entry, fingerprint
from daemon.linked.wire import Wire
from tests.linked.postgres import PASSWORD, Server
from tests.table.floor import JACKPOT

PATIENCE: Final = 100.0  # s: the machine may do much else
CURRENCY: Final = "$"
EVER: Final = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC))
_numbers = itertools.count(1)


class Table:
    """One table's link, its outbox numbered as a journal would: with gaps, and several lines a record."""

    def __init__(self, name: str, authority: Authority) -> None:
        self.name = name
        self.authority = authority
        self.seq = 0

    def record(self, amounts: Sequence[int], reserve: int = 0) -> list[Entry]:
        """The next record of contributions, not sent yet."""
        prior, self.seq = self.seq, self.seq + 3
        return [
            Entry(self.seq, line, CONTRIBUTION, amount, reserve, prior) for line, amount in enumerate(amounts)
        ]

    def contribute(self, *amounts: int, reserve: int = 0) -> Balance:
        return self.authority.append(self.record(amounts, reserve))

    def correct(self, amount: int, reason: str = "counted") -> Balance:
        prior, self.seq = self.seq, self.seq + 3
        return self.authority.append([Entry(self.seq, 0, CORRECTION, amount, 0, prior, reason)])

    def asks(self, **hands: Category) -> AwardClaim:
        """The next record, a claim for ``box1=…``, not made yet."""
        prior, self.seq = self.seq, self.seq + 3
        claims = tuple(Claim(int(box.removeprefix("box")), category) for box, category in hands.items())
        return AwardClaim(self.seq, self.seq * 7, claims, prior)

    def claim(self, **hands: Category) -> Decided:
        return self.authority.claim(self.asks(**hands))


class House:
    """A pool of its own, made by the server's administrator."""

    def __init__(self, server: Server, rules: JackpotRules = JACKPOT, database: str = "postgres") -> None:
        number = next(_numbers)
        self.server, self.rules, self.database = server, rules, database
        self.pool = f"pool-{number}"
        self._prefix = f"t{number}-"
        self._open = ExitStack()
        self.admin = self.wire()
        schema.migrate(self.admin)
        schema.make_pool(self.admin, self.pool, CURRENCY, rules)
        self.floor = Authority(self.admin, self.pool)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *why: object) -> None:
        self._open.close()

    def wire(self, user: str = "") -> Wire:
        """A connection, closed with the house. Without a user it is the administrator's."""
        wire = Wire.connect(self.dsn(user), PATIENCE)
        self._open.callback(wire.close)
        return wire

    def dsn(self, user: str = "") -> str:
        return self.server.dsn(user, self.database) if user else self.server.dsn(database=self.database)

    def name(self, table: str) -> str:
        """A name that no other house on this server has."""
        return self._prefix + table

    def enrol(self, table: str) -> str:
        """The role of a new table."""
        return schema.enrol(self.admin, self.pool, self.name(table), PASSWORD)

    def authority(self, role: str, patience: float = PATIENCE) -> Authority:
        """A connection that is closed with the house."""
        return self._open.enter_context(Authority.connect(self.dsn(role), self.pool, patience))

    def table(self, name: str) -> Table:
        """A new table that has joined."""
        authority = self.authority(self.enrol(name))
        authority.join(self.name(name), CURRENCY, fingerprint(self.rules))
        return Table(self.name(name), authority)

    @property
    def balance(self) -> int:
        return self.floor.balance().pool

    def problems(self) -> list[str]:
        """What does not reconcile, all days together."""
        day = self.floor.day(*EVER)
        found = self.floor.differences() + day.problems()
        if (shown := self.balance) != day.closing.pool:
            found.append(f"the balance is {shown}, the closing {day.closing.pool}")
        return found
