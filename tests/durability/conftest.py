"""One recorder, one zygote and one bench a script, for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.durability import recorder
from tests.durability.scripts import SCRIPTS
from tests.durability.sweep import Bench, workshop
from tests.durability.world import Nursery, nursery

Benches = Callable[..., Bench]


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    """A folder for everything that is compiled, played and cut."""
    with workshop() as folder:
        yield folder


@pytest.fixture(scope="session")
def library(place: Path) -> Path:
    if reason := recorder.missing():
        pytest.skip(reason)
    return recorder.build(place)


@pytest.fixture(scope="session")
def zygote(library: Path, place: Path) -> Iterator[Nursery]:
    with nursery(library, place) as made:
        yield made


@pytest.fixture(scope="session")
def benches(zygote: Nursery, place: Path) -> Benches:
    """A bench for a script, with a deliberate mistake or without; made once."""
    made: dict[tuple[str, str], Bench] = {}

    def bench(script: str, mistake: str = "") -> Bench:
        if (script, mistake) not in made:
            made[script, mistake] = Bench(zygote, SCRIPTS[script], place, mistake)
        return made[script, mistake]

    return bench
