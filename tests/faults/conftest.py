"""Tables for the cases of groups D to J."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.evening import CONFIG, SHOE_MODE, Evening, evening


@pytest.fixture
def shoe_table() -> Iterator[Evening]:
    """A table that is dealt from the shoe."""
    with evening(SHOE_MODE) as table:
        yield table


@pytest.fixture
def shuffler_table() -> Iterator[Evening]:
    """A table that is dealt by the shuffling machine."""
    with evening(CONFIG) as table:
        yield table
