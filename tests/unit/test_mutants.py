"""Every deliberate mistake of `make mutants` can still be made: what it alters, and its test, are there."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MUTANTS = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text())["mutant"]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant["clause"])
def test_a_mistake_can_be_made(mutant: dict[str, str]) -> None:
    assert (ROOT / mutant["file"]).read_text().count(mutant["old"]) == 1
    path, _, name = mutant["test"].partition("::")
    assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text()
