"""Tables, links, the authority and the lines between them fail at random: every contribution once, every
award once, and a sum made from the tables' own files that agrees."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Final

import pytest

from tests.linked.hall import Hall, rules_of
from tests.linked.house import House
from tests.linked.postgres import Server, needs_postgres, running
from tests.linked.proxy import Proxy

pytestmark = needs_postgres
SEED: Final = int(os.environ.get("CHAOS_SEED", "1"))


def _await_done(hall: Hall, until: float) -> None:
    while not hall.done:
        assert time.monotonic() < until, "not all tables came to their end"
        for host in hall.hosts:
            host.require_alive()
        time.sleep(0.05)


def _played_on(hall: Hall, records: int) -> None:
    """Until the tables have so many records more; a hall that stands still is troubled all the same."""
    begun, until = hall.records, time.monotonic() + 60
    while not hall.done and hall.records < begun + records and time.monotonic() < until:
        time.sleep(1)


class Trouble:
    """Something goes wrong every now and then."""

    def __init__(self, hall: Hall, server: Server, proxy: Proxy, seed: int) -> None:
        self._hall, self._server, self._proxy = hall, server, proxy
        self._chance = random.Random(seed)
        self.kills = {"tables": 0, "links": 0, "authority": 0}

    def make(self) -> None:
        what = self._chance.choices(("tables", "links", "authority", "line"), (4, 6, 1, 8))[0]
        if what == "authority":
            self._server.kill()
            time.sleep(self._chance.uniform(0, 1))
            self._server.start()
        elif what == "line":
            self._proxy.trouble()
            return
        else:  # now and then one that is only just starting
            early = self._chance.random() < 0.1
            hosts = [host for host in self._hall.hosts if host.what == what and (host.up or early)]
            if not hosts:
                return
            host = self._chance.choice(hosts)
            host.require_alive()
            host.kill()
            host.start()
        self.kills[what] += 1


@pytest.mark.slow  # `make test-linked` runs it
@pytest.mark.timeout(400)
def test_a_few_tables_with_everything_failing_once(tmp_path: Path) -> None:
    """The same as below, small: each kind of failure at least once."""
    with running() as server, House(server, rules_of(tmp_path)) as house, Proxy(server.port, 1) as proxy:
        hall = Hall.build(tmp_path, house, 4, 2, proxy.port, bets=150, awards=3, pace=0.001, apart=0.1)
        hall.start()
        try:
            for host in hall.hosts[:2]:
                time.sleep(1)
                proxy.trouble(1)
                host.kill()
                host.start()
            server.kill()
            server.start()
            _await_done(hall, time.monotonic() + 300)
        finally:
            hall.stop()
        hall.reconnect()
        assert hall.violations() == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_fifty_tables(tmp_path: Path) -> None:
    """50 tables, 200,000 contributions, 300 awards (CHAOS_TABLES, CHAOS_BETS for fewer)."""
    count, bets = int(os.environ.get("CHAOS_TABLES", "50")), int(os.environ.get("CHAOS_BETS", "4000"))
    began = time.monotonic()
    with (
        running({"max_connections": "300"}) as server,
        House(server, rules_of(tmp_path)) as house,
        Proxy(server.port, SEED) as proxy,
    ):
        hall = Hall.build(tmp_path, house, count, 10, proxy.port, bets=bets, awards=6, pace=0.05, apart=0.5)
        trouble = Trouble(hall, server, proxy, SEED)
        hall.start()
        try:
            while not hall.done and time.monotonic() < began + 5400:
                _played_on(hall, count * 140)
                trouble.make()
            _await_done(hall, time.monotonic() + 600)
        finally:
            hall.stop()
        hall.reconnect()
        found = hall.violations()
        rows = house.floor.overview()
    lines, awards = sum(row.contributions for row in rows), sum(row.awards for row in rows)
    print(
        f"\n{count} tables, {lines} contributions, {awards} awards in {time.monotonic() - began:.0f} s;"
        f" kills {trouble.kills}, lines {proxy.done}, lives {sum(host.lives for host in hall.hosts)};"
        f" {len(found)} violations"
    )
    assert found == []
    assert lines >= count * bets
    assert awards == count * 6
