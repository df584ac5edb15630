"""The link process of one table: its outbox to the authority, pool and decisions back (docs/linked.md).

It keeps nothing. Where it stands, the authority says; what is not done yet, the table says. So it may
end at any point, and whatever it repeats is there once.
"""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeGuard, get_args

from psycopg.conninfo import make_conninfo

from daemon.client import Answer, ApiError, Client, NotRunning
from daemon.config import LinkedSettings, Settings
from daemon.games.jackpot import AWARDED, Claim
from daemon.games.linked import CLAIM, CONTRIBUTION, CORRECTION, RESERVE
from daemon.linked.authority import Authority
from daemon.linked.entries import AwardClaim, Balance, Decided, Entry, Refused, Unreachable, Won
from daemon.linked.secret import password_of
from daemon.log import Log
from daemon.notify import notify

BATCH: Final = 200  # records of one question and of one transaction
TURN: Final = 0.5  # s that the table may have nothing new before the authority is asked
APART: Final = 0.1  # s between two turns at least: what comes meanwhile goes in one batch
REPORT_EVERY: Final = 2.0  # s between what the floor is told
FIRST_PAUSE: Final = 0.25  # s after a failure, doubled to the longest
LONGEST_PAUSE: Final = 5.0
REFUSED_PAUSE: Final = 15.0  # s: the authority will say the same again
Said = Literal["linked", "no-authority", "no-table", "refused", "changed"]
EVENTS: Final[tuple[str, ...]] = get_args(Said)  # of the log, one at a change (docs/logs.md)
_CATEGORY: Final = {CLAIM + category.label: category for category in AWARDED}

Tell = Callable[..., None]


class Table(Protocol):
    """The daemon's socket (daemon.client.Client)."""

    def outbox(self, after: int, limit: int, wait: float = 0) -> Answer: ...

    def seen(self, told: Mapping[str, Any]) -> None: ...

    def decided(self, told: Mapping[str, Any]) -> None: ...


class Changed(Exception):
    """The table is not the one that joined: other rules, another currency, another pool."""


class Session:
    """A table and an authority that are both there. Any error ends it; another one goes on where it was."""

    def __init__(self, table: Table, authority: Authority, who: Answer) -> None:
        self._table = table
        self._authority = authority
        self._who = _identity(who)
        self._reported = 0.0
        self._version = -1  # of the pool as last told
        self._won = authority.newest_award()  # what was won before is history here
        joined = authority.join(who["table"], who["currency"], who["fingerprint"])
        if joined.pool != who["pool"]:
            raise Refused("another-pool", f"the table is of the pool {who['pool']}, here is {joined.pool}")
        self.at = joined.last_seq
        self._require_journal()

    def _require_journal(self) -> None:
        """What the authority has of this table is in this journal: another one is enrolled anew."""
        found = self._table.outbox(self.at - 1, 1)["records"] if self.at else []
        if self.at and (not found or found[0]["seq"] != self.at):
            text = f"the authority has record {self.at} of table {self._who[0]}, its journal is another one"
            raise Refused("another-journal", text)

    def turn(self) -> int:
        """Carry what is there, and tell the table of the pool; the number of records carried.

        Raises NotRunning or ApiError of the table, Unreachable or Refused of the authority, Changed.
        """
        told = self._table.outbox(self.at, BATCH, TURN)
        if _identity(told) != self._who:
            raise Changed("the table has other rules than it joined with")
        began = time.monotonic()
        records = told["records"]
        for record in told["undecided"]:
            if record["seq"] <= self.at:  # the authority has it, and the table was not told
                self._decide(record)
        self._carry(records)
        self._tell(self._authority.balance(), began)
        self._report(told["later"] - len(records), told["pending"])
        return len(records)

    def _carry(self, records: Sequence[Answer]) -> None:
        """In the table's order: runs of contributions in one transaction, every claim by itself."""
        run: list[Entry] = []
        for record in records:
            if not _is_claim(record):
                run += entries(record)
                continue
            self._append(run)
            run = []
            self._decide(record)
            self.at = record["seq"]
        self._append(run)

    def _append(self, run: Sequence[Entry]) -> None:
        if run:
            self._authority.append(run)
            self.at = run[-1].seq

    def _decide(self, record: Answer) -> None:
        self._table.decided(_decided(self._authority.claim(claim(record))))

    def _tell(self, balance: Balance, began: float) -> None:
        won = self._authority.newest_award() if balance.version != self._version else self._won
        news = {"won": won.amount, "winner": won.table} if self._is_elsewhere(won) else {}
        age = {"age_ms": int((time.monotonic() - began) * 1000)}
        self._table.seen({"pool": balance.pool, "version": balance.version, "acked": self.at} | age | news)
        self._version, self._won = balance.version, won

    def _is_elsewhere(self, won: Won | None) -> TypeGuard[Won]:
        return won is not None and won != self._won and won.table != self._who[0]

    def _report(self, outbox: int, pending: int) -> None:
        """What still waits at the table, and how many of its awards are not paid."""
        if time.monotonic() - self._reported >= REPORT_EVERY:
            self._authority.report(max(0, outbox), pending)
            self._reported = time.monotonic()


# --- from the table's words to the authority's, and back ---------------------------------------


def _identity(told: Answer) -> tuple[str, str, str, str]:
    return told["table"], told["pool"], told["currency"], told["fingerprint"]


def _is_claim(record: Answer) -> bool:
    return any(kind in _CATEGORY for _, kind, _, _ in record["lines"])


def entries(record: Answer) -> Iterator[Entry]:
    """The lines of a record for the ledger: what a bet puts aside is part of its contribution."""
    lines: list[list[Any]] = []
    for _, kind, _, amount in record["lines"]:
        if kind == RESERVE:
            lines[-1][2] = amount
        else:
            lines.append([kind, amount, 0])
    for number, (kind, amount, reserve) in enumerate(lines):
        if kind not in (CONTRIBUTION, CORRECTION):
            raise Changed(f"record {record['seq']} has a line of kind {kind!r}, which no linked pool knows")
        reason = (record["reason"] or f"record {record['seq']}") if kind == CORRECTION else ""
        yield Entry(record["seq"], number, kind, amount, reserve, record["prior"], reason)


def claim(record: Answer) -> AwardClaim:
    """The claims of a record, which closed its round."""
    hands = tuple(Claim(box, _CATEGORY[kind]) for _, kind, box, _ in record["lines"])
    return AwardClaim(record["seq"], record["round"], hands, record["prior"])


def _decided(decided: Decided) -> dict[str, Any]:
    awards = [asdict(award) | {"category": award.category.label} for award in decided.awards]
    return {"seq": decided.seq, "awards": awards, "pool": decided.pool, "version": decided.version}


# --- again and again ---------------------------------------------------------------------------


class Link:
    """Sessions one after another until ``stop`` is set; a change is told once, a failure is waited out."""

    def __init__(
        self,
        socket: Path,
        connect: Callable[[], Authority],
        tell: Tell,
        stop: threading.Event,
        apart: float = APART,
    ) -> None:
        self._apart = apart
        self._socket = socket
        self._connect = connect
        self._log = tell
        self._stop = stop
        self._said = ""
        self._pause = FIRST_PAUSE

    def run(self) -> None:
        while not self._stop.is_set():
            try:
                with Client(self._socket) as table, self._connect() as authority:
                    self._work(Session(table, authority, table.outbox(0, 1)))
            except Refused as error:
                self._wait("refused", f"{error.code}: {error}", REFUSED_PAUSE)
            except Unreachable as error:
                self._wait("no-authority", str(error), self._pause)
            except (NotRunning, ApiError) as error:
                self._wait("no-table", str(error), self._pause)
            except Changed as error:
                self._wait("changed", str(error), FIRST_PAUSE)

    def _work(self, session: Session) -> None:
        self._say("linked", f"from record {session.at}")
        while not self._stop.is_set():
            began = time.monotonic()
            session.turn()
            self._pause = FIRST_PAUSE
            notify("WATCHDOG=1")
            self._stop.wait(max(0.0, began + self._apart - time.monotonic()))

    def _wait(self, event: Said, text: str, pause: float) -> None:
        """Longer each time, and not all links of a house at once."""
        self._say(event, text)
        notify("WATCHDOG=1")
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._stop.wait(pause * random.uniform(0.75, 1.25))

    def _say(self, event: Said, text: str) -> None:
        if (said := f"{event}: {text}") != self._said:
            self._said = said
            self._log(event, text=text)
            notify(f"STATUS={said[:200]}")


def connector(linked: LinkedSettings) -> Callable[[], Authority]:
    """What connects to the authority that a configuration names. The password is read every time."""

    def connect() -> Authority:
        dsn = linked.authority
        if linked.password is not None:
            dsn = make_conninfo(dsn, password=password_of(linked.password))
        return Authority.connect(dsn, linked.terms.pool)

    return connect


def run(settings: Settings, linked: LinkedSettings) -> int:
    """The service: until SIGTERM or SIGINT. Returns the exit code."""
    log, stop = Log(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    notify("READY=1")
    log("link-started", table=settings.table_id, pool=linked.terms.pool)
    Link(settings.socket, connector(linked), log, stop).run()
    notify("STOPPING=1")
    log("link-stopped", table=settings.table_id)
    log.close()
    return 0
