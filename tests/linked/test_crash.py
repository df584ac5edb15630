"""``kill -9`` amid appends, and a standby that takes over: what was acknowledged is there, each line once."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from daemon.games.hands import Category
from daemon.linked.authority import Authority
from daemon.linked.entries import AwardClaim, Decided, Entry, Unreachable, fingerprint
from tests.linked.house import CURRENCY, House, Table
from tests.linked.postgres import Server, folder, free_port, needs_postgres, running

PATIENCE = 120.0  # s
CALL = 3.0  # s: a call that is held up is given up and made again
pytestmark = needs_postgres


@dataclass
class Link:
    """A table that sends until it is told to stop, and the same again when it was not answered."""

    table: Table
    dsn: str
    pool: str
    acknowledged: int = 0  # the last record that was
    sent: int = 0  # minor units of the records that were acknowledged
    retries: int = 0
    decisions: list[tuple[AwardClaim, Decided]] = field(default_factory=list)
    ends: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        chance = random.Random(self.table.name)
        while not self.ends.is_set():
            if chance.random() < 0.1:
                claim = self.table.asks(box2=Category.FLUSH)
                self.decisions.append((claim, self._until_answered(claim)))
            else:
                batch = [entry for _ in range(3) for entry in self.table.record((5, 7))]
                self._until_answered(batch)
                self.sent += 36
            self.acknowledged = self.table.seq

    def _until_answered(self, work: list[Entry] | AwardClaim) -> Decided:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                authority = self.table.authority
                if isinstance(work, AwardClaim):
                    return authority.claim(work)
                authority.append(work)
                return Decided(0, (), 0, False, 0, 0)
            except Unreachable:
                assert time.monotonic() < until, "the authority did not come back"
                self.retries += 1
                self._connect_anew()

    def _connect_anew(self) -> None:
        self.table.authority.close()
        try:
            self.table.authority = Authority.connect(self.dsn, self.pool, CALL)
        except Unreachable:
            time.sleep(0.05)


@contextmanager
def sending(links: list[Link]) -> Iterator[None]:
    """All links at work, each in a thread."""
    threads = [threading.Thread(target=link.run, daemon=True) for link in links]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for link in links:
            link.ends.set()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def enrolled(house: House, count: int, hosts: str = "") -> list[Link]:
    """Tables that have joined; ``hosts`` is added to what they connect to."""
    links = []
    for n in range(count):
        name = house.name(str(n))
        dsn = f"{house.dsn(house.enrol(str(n)))} {hosts} connect_timeout=2"
        table = Table(name, Authority.connect(dsn, house.pool, CALL))
        table.authority.join(name, CURRENCY, fingerprint(house.rules))
        links.append(Link(table, dsn, house.pool))
    return links


def require_all(server: Server, pool: str, before: dict[str, int]) -> None:
    """Whatever had been acknowledged at the moment of the kill is booked now."""
    with Authority.connect(server.dsn(), pool) as floor:
        booked = {row.table: row.last_seq for row in floor.overview()}
    for table, seq in before.items():
        assert booked[table] >= seq, f"table {table}: {seq} was acknowledged, {booked[table]} is booked"


def acknowledged(links: list[Link]) -> dict[str, int]:
    return {link.table.name: link.acknowledged for link in links}


def require_once(server: Server, house: House, links: list[Link]) -> None:
    """Every line once, every decision as it was told, and an independent sum that agrees."""
    with Authority.connect(server.dsn(), house.pool) as floor:
        rows = {row.table: row for row in floor.overview()}
        told = [each for link in links for _, each in link.decisions]
        awarded = sum(each.awards[0].from_pool for each in told)
        minimums = house.rules.minimum * (1 + sum(each.emptied for each in told))
        contributed = sum(link.sent for link in links)
        assert floor.balance().pool == minimums + contributed - awarded
        assert floor.differences() == []
    for link in links:
        row = rows[link.table.name]
        assert (row.contributed, row.contributions) == (link.sent, link.sent // 6)
        assert row.awards == len(link.decisions)
        with Authority.connect(link.dsn, house.pool) as again:
            assert [again.claim(claim) for claim, _ in link.decisions] == [told for _, told in link.decisions]


def killed_again_and_again(kills: int, tables: int) -> int:
    chance, retries = random.Random(9), 0
    with running() as server, House(server) as house:
        links = enrolled(house, tables)
        with sending(links):
            for _ in range(kills):
                time.sleep(chance.uniform(0.1, 0.8))
                server.kill()
                before = acknowledged(links)
                server.start()
                require_all(server, house.pool, before)
            time.sleep(0.5)
        require_once(server, house, links)
        retries = sum(link.retries for link in links)
    return retries


def test_a_server_that_is_killed_has_what_it_acknowledged() -> None:
    assert killed_again_and_again(kills=1, tables=2)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_server_that_is_killed_again_and_again() -> None:
    assert killed_again_and_again(kills=30, tables=4) > 30


# --- failover ---------------------------------------------------------------------------------

# Nothing is acknowledged without a standby: after a failover commits wait until there is one again.
REPLICATED = {"synchronous_commit": "on", "synchronous_standby_names": "*"}


class Cluster:
    """A primary and its synchronous standby. After a failover the standby is the primary."""

    def __init__(self, place: Path) -> None:
        self._place, self._made = place, 0
        self.ports = (free_port(), free_port())
        self.primary = self._server(self.ports[0])
        self.primary.create()
        self.primary.start()
        self.standby: Server | None = None

    def _server(self, port: int) -> Server:
        self._made += 1
        home = self._place / f"server{self._made}"
        home.mkdir()
        server = Server(home)
        server.port = port
        return server

    @property
    def hosts(self) -> str:
        """Where a table looks for the one that takes writes."""
        return "host=127.0.0.1,127.0.0.1 port={},{}".format(*self.ports)

    def replicate(self) -> None:
        """From now on nothing is acknowledged that only one of two has."""
        self.primary.stop()
        self.primary.settings |= REPLICATED
        self.primary.start()
        self._follow()

    def _follow(self) -> None:
        port = next(port for port in self.ports if port != self.primary.port)
        self.standby = self._server(port)
        self.standby.settings |= REPLICATED
        self.standby.base_backup_of(self.primary)
        self.standby.start()
        until = time.monotonic() + PATIENCE
        while self.primary.ask("SELECT sync_state FROM pg_stat_replication") != ["sync"]:
            assert time.monotonic() < until, "the standby does not follow"
            time.sleep(0.05)

    def fail_over(self) -> None:
        """``kill -9`` of the primary; the standby takes over, alone until :meth:`replace`.

        For a moment before, nothing is sent to the standby: what is acknowledged then is lost.
        """
        assert self.standby is not None
        (sender,) = self.primary.ask("SELECT pid FROM pg_stat_replication")
        os.kill(int(str(sender)), signal.SIGSTOP)
        time.sleep(0.3)
        self.primary.kill()
        self.standby.promote()
        self.primary, self.standby = self.standby, None

    def replace(self) -> None:
        """Another standby in the place of the server that is gone."""
        self._follow()

    def stop(self) -> None:
        if self.standby is not None:
            self.standby.stop()
        self.primary.stop()


def fail_over_again_and_again(rounds: int, tables: int) -> tuple[int, int]:
    """How many records were acknowledged, and how many calls had to be made again."""
    chance = random.Random(7)
    with folder() as place:
        cluster = Cluster(place)
        try:
            with House(cluster.primary) as house:
                links = enrolled(house, tables, cluster.hosts)
                cluster.replicate()
                with sending(links):
                    for _ in range(rounds):
                        time.sleep(chance.uniform(0.2, 1.0))
                        cluster.fail_over()
                        before = acknowledged(links)
                        require_all(cluster.primary, house.pool, before)
                        cluster.replace()
                    time.sleep(0.5)
                require_once(cluster.primary, house, links)
        finally:
            cluster.stop()
    return sum(link.acknowledged // 3 for link in links), sum(link.retries for link in links)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_standby_that_takes_over_has_what_was_acknowledged(capsys: pytest.CaptureFixture[str]) -> None:
    records, retries = fail_over_again_and_again(rounds=20, tables=4)
    with capsys.disabled():
        print(f"\n20 failovers: {records} records acknowledged, none lost; {retries} calls made again")
    assert retries
