"""What ``feltd bench`` checks, on the devices of a bench: one test for each check of each device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from daemon.bench.checks import Check
from daemon.bench.results import Outcome

if TYPE_CHECKING:
    from tests.bench.conftest import Bench

pytestmark = pytest.mark.timeout(3600)  # a technician has time; each request has its own limit


def test_device(name: str, check: Check, bench: Bench) -> None:
    result = bench.check(name, check)
    if result.outcome is Outcome.SKIPPED:
        pytest.skip(result.detail)
    assert result.outcome is Outcome.PASSED, result.detail
