"""One server for all quick tests of a process, and a pool of its own for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.linked.house import House
from tests.linked.postgres import Server, binaries, running


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server that no test kills. It does not sync: what is tested here is not its durability."""
    if binaries() is None:
        pytest.skip("no PostgreSQL server is installed here")
    with running({"fsync": "off"}) as up:
        yield up


@pytest.fixture
def house(server: Server) -> Iterator[House]:
    """A new pool on that server."""
    with House(server) as house:
        yield house
