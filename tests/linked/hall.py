"""A hall of tables of one linked pool: their folders, the processes they live in, and the sum of it all."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg

from daemon.audit import verify
from daemon.build import build_table
from daemon.config import load
from daemon.engine import recover
from daemon.games.caribbean.game import Caribbean
from daemon.games.hands import Category
from daemon.games.jackpot import Claim, JackpotRules, decide
from daemon.journal import create, folder_of, header_bytes, open_journal
from daemon.linked.authority import Authority
from daemon.linked.run import entries
from daemon.sealer import create_key, load_key
from tests.linked.house import EVER, House

ROOT: Final = Path(__file__).parents[2]
LOST_TEXT: Final = "JACKPOT OFFLINE"
_CATEGORY: Final = {category.label: category for category in Category}


def configuration(name: str, pool: str, max_age: int = 60, dsn: str = "") -> str:
    """A demonstration's table, dealt from the shoe, with a linked pool that puts something aside."""
    text = (ROOT / "config" / "demo.toml").read_text()
    text = text.replace('id = "demo"', f'id = "{name}"').replace('mode = "shuffler"', 'mode = "shoe"')
    text = re.sub(r'^shuffler = "SH-1"\n', "", text, flags=re.MULTILINE)
    text = text.replace('contribution = "71/100"', 'contribution = "71/100"\nreserve = "13/1000"')
    linked = {"pool": pool, "authority": dsn, "max_age": max_age, "max_amount": 10**7, "lost_text": LOST_TEXT}
    lines = (f"{key} = {json.dumps(value)}" for key, value in linked.items())
    return text + "\n[linked]\n" + "\n".join(lines) + "\n"


def rules_of(folder: Path) -> JackpotRules:
    """The rules of every table made by :func:`configuration`."""
    file = folder / "any.toml"
    file.write_text(configuration("any", "any", dsn="host=localhost"))
    return load(file).caribbean.jackpot


@dataclass
class Host:
    """A process of :mod:`tests.linked.hosts`. ``lives`` counts its starts."""

    what: str
    folder: Path
    names: list[str]
    lives: int = 0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.linked.hosts", self.what, str(self.folder), *self.names]
        with open(self.folder / f"{self.what}-{self.names[0]}.log", "ab") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=log, stdout=log)
        self.lives += 1

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process = None
            self._up.unlink(missing_ok=True)

    @property
    def up(self) -> bool:
        """It has come as far as its work."""
        return self._up.exists()

    @property
    def _up(self) -> Path:
        return self.folder / f"{self.what}-{self.names[0]}.up"

    def require_alive(self) -> None:
        if self.process is not None and self.process.poll() is not None:
            log = (self.folder / f"{self.what}-{self.names[0]}.log").read_text()
            raise AssertionError(f"{self.what} {self.names} ended by themselves: {log[-3000:]}")


@dataclass
class Hall:
    """All tables, and where what is left of them is found."""

    folder: Path
    house: House
    names: list[str]
    hosts: list[Host] = field(default_factory=list)

    @classmethod
    def build(cls, folder: Path, house: House, count: int, together: int, port: int, **plan: float) -> Hall:
        """``count`` tables, ``together`` of them a process; their links reach the authority on ``port``.

        ``plan`` is what each table does: ``bets`` and ``awards`` in all, a round every ``pace`` s at most,
        a turn of its link every ``apart`` s.
        """
        names = [house.name(f"{n:02}") for n in range(count)]
        dsn = {}
        for n, name in enumerate(names):
            role = house.enrol(f"{n:02}")
            dsn[name] = re.sub(r"port=\d+", f"port={port}", house.dsn(role)) + " connect_timeout=5"
            _make(folder, name, house.pool)
        (folder / "plan.json").write_text(json.dumps({"dsn": dsn, **plan}))
        groups = [names[at : at + together] for at in range(0, count, together)]
        hosts = [Host(what, folder, group) for group in groups for what in ("tables", "links")]
        return cls(folder, house, names, hosts)

    def start(self) -> None:
        for host in self.hosts:
            host.start()

    def stop(self) -> None:
        for host in self.hosts:
            host.kill()

    def reconnect(self) -> None:
        """The administrator's connection ended with the server that was killed."""
        self.house.admin = self.house.wire()
        self.house.floor = Authority(self.house.admin, self.house.pool)

    @property
    def done(self) -> bool:
        """Every table has played, its awards are paid, and the authority has all of its outbox."""
        return all((self.folder / name / "done").exists() for name in self.names)

    @property
    def records(self) -> int:
        """How many records all tables have together."""
        return sum(_newest(self.folder / name / "journal.db") for name in self.names)

    # --- what must hold in the end; every table is stopped ----------------------------------------

    def violations(self) -> list[str]:
        """Everything that is not as it must be; no table may be running."""
        with psycopg.connect(self.house.dsn()) as admin:
            found = [text for name in self.names for text in _table_violations(self.folder, name, admin)]
            found += _decision_violations(admin, self.house)
            found += self._sum_violations(admin)
        return found + self.house.problems()

    def _sum_violations(self, admin: psycopg.Connection[Any]) -> Iterator[str]:
        """What is held is what the house put in and what the tables brought, less their awards."""
        brought = sum(sum(_linked_money(self.folder / name / "journal.db").values()) for name in self.names)
        day = self.house.floor.day(*EVER).closing
        query = (
            "SELECT -sum(l.house) FROM linked.ledger AS l JOIN linked.tables USING (table_id)"
            " JOIN linked.pools AS p USING (pool_id) WHERE p.name = %s AND l.kind = 'minimum'"
        )
        row = admin.execute(query, (self.house.pool,)).fetchone()
        assert row is not None
        held = day.pool + day.overflow + day.reserve
        if held != row[0] + brought:
            yield f"{held} are held, {row[0]} came from the house and {brought} from the tables"
        if self.house.balance != day.pool:
            yield f"the balance is {self.house.balance}, the ledger says {day.pool}"


def _make(folder: Path, name: str, pool: str) -> None:
    place = folder / name
    place.mkdir()
    (place / "feltd.toml").write_text(configuration(name, pool, dsn="host=localhost"))
    settings = load(place / "feltd.toml")
    create_key(settings.key)
    header = header_bytes(settings.table_id, settings.game, "2026-01-01T00:00:00.000000Z", settings.simulated)
    create(settings.journal, header)


def _newest(journal: Path) -> int:
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True, timeout=30)) as db:
        return int(db.execute("SELECT coalesce(max(seq), 0) FROM records").fetchone()[0])


def _files(journal: Path) -> list[Path]:
    return [journal, *sorted(folder_of(journal).glob("*.db"))]


def _linked_money(journal: Path) -> dict[str, int]:
    """What went through the account of the linked pool by reason, read from the files themselves."""
    sums: dict[str, int] = {}
    for file in _files(journal):
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
            for reason, amount in db.execute(
                "SELECT reason, sum(amount) FROM money WHERE account = 'linked' GROUP BY reason"
            ):
                sums[reason] = sums.get(reason, 0) + amount
    return sums


def _table_violations(folder: Path, name: str, admin: psycopg.Connection[Any]) -> Iterator[str]:
    settings = load(folder / name / "feltd.toml")
    found = verify(settings.journal)
    if not found["verified"]:
        yield f"{name}: the journal does not verify: {found['errors'][0]}"
    journal = open_journal(settings.journal, load_key(settings.key))
    try:
        outbox = journal.outbox(0, 10**9)
        table, _ = recover(partial(build_table, settings), journal)
        decided = [
            record["input"]
            for _, record, _ in journal.replay()
            if record["input"]["kind"] == "award-decided" and "refusal" not in record
        ]
    finally:
        journal.close()
    game = table.game
    assert isinstance(game, Caribbean)
    mine = [
        (e.seq, e.line, e.amount, e.reserve)
        for record in outbox
        if not record.lines[0][1].startswith("claim-")
        for e in entries({**record._asdict(), "lines": record.lines})
    ]
    yield from _compared(name, "contributions", mine, _rows(admin, _CONTRIBUTIONS, name))
    claims = [record.seq for record in outbox if record.lines[0][1].startswith("claim-")]
    told = sorted((d["seq"], tuple(map(tuple, d["awards"])), d["pool"], d["version"]) for d in decided)
    if sorted(claims) != [each[0] for each in told]:
        yield f"{name}: {len(claims)} claims, {len(told)} decisions taken"
    booked = [
        (seq, tuple(tuple(a[key] for key in _AWARD) for a in awards), pool, version)
        for seq, awards, pool, version in _rows(admin, _DECISIONS, name)
    ]
    yield from _compared(name, "awards", told, booked)
    money = _linked_money(settings.journal)
    ours = {
        "contribution": sum(row[2] for row in mine),
        "reserve": sum(row[3] for row in mine),
        "award": -sum(a[3] for d in decided for a in d["awards"]),
    }
    if money != {reason: amount for reason, amount in ours.items() if amount}:
        yield f"{name}: the account of the linked pool moved {money}, not {ours}"
    if game.pending or table.faults:
        yield f"{name}: {game.pending or table.faults}"


_AWARD: Final = ("box", "category", "amount", "from_pool", "from_house")
_CONTRIBUTIONS: Final = """SELECT l.seq, l.line, l.pool + l.overflow, l.reserve FROM linked.ledger AS l
    JOIN linked.tables AS t USING (table_id)
    WHERE t.name = %s AND l.kind = 'contribution' ORDER BY l.seq, l.line"""
_DECISIONS: Final = """SELECT d.seq, d.awards, d.pool_after, d.version FROM linked.decisions AS d
    JOIN linked.tables AS t USING (table_id) WHERE t.name = %s ORDER BY d.seq"""


def _rows(admin: psycopg.Connection[Any], query: str, name: str) -> list[Any]:
    return admin.execute(query.encode(), (name,)).fetchall()


def _compared(name: str, what: str, mine: Sequence[Any], theirs: Sequence[Any]) -> Iterator[str]:
    if list(mine) != list(theirs):
        odd = next((pair for pair in zip(mine, theirs, strict=False) if pair[0] != pair[1]), "at the end")
        yield f"{name}: {len(mine)} {what} in the journal, {len(theirs)} at the authority, they differ: {odd}"


def _decision_violations(admin: psycopg.Connection[Any], house: House) -> Iterator[str]:
    """Each decision is what the table's own rules make of the pool that it found."""
    query = (
        "SELECT t.name, d.seq, d.claims, d.awards, d.pool_before, d.pool_left FROM linked.decisions AS d"
        " JOIN linked.tables AS t USING (table_id) JOIN linked.pools AS p USING (pool_id) WHERE p.name = %s"
    )
    for name, seq, claims, awards, before, left in admin.execute(query, (house.pool,)):
        asked = [Claim(each["box"], _CATEGORY[each["category"]]) for each in claims]
        made = decide(house.rules, asked, before)
        worth = [(a.box, a.category.label, a.amount, a.from_pool, a.from_house) for a in made.awards]
        if worth != [tuple(a[key] for key in _AWARD) for a in awards] or made.left != left:
            yield f"{name}: the decision on record {seq} is {awards}, the rules say {worth}"
