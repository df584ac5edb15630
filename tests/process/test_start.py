"""A start costs the open file and not the history: a million inputs beside a thousand (minutes to build)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.perf import history


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_start_after_a_million_inputs_is_as_quick_as_after_a_thousand(tmp_path: Path) -> None:
    row = history.starts(history.journals(tmp_path), times=7)
    print(
        f"READY after {row.ours:.2f} s with {history.MANY:,} inputs, {row.theirs:.2f} s with {history.FEW:,}"
    )
    assert row.ratio <= 1.5
