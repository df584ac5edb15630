"""docs/architecture.md: its diagrams are what the rows draw, its rules those that are checked."""

from __future__ import annotations

import re
import tomllib

import pytest

from daemon.diagram import CHARTS, draw
from tests.docs.source import DOCS, ROOT, named, rows
from tools import architecture_page

PAGE = (DOCS / "architecture.md").read_text()


def test_the_generated_parts_are_up_to_date() -> None:
    assert architecture_page.page(PAGE) == PAGE, "python -m tools.architecture_page"


@pytest.mark.parametrize("machine", CHARTS)
def test_every_machine_is_drawn(machine: str) -> None:
    assert f"```mermaid\n{draw(machine, 'mermaid').rstrip()}\n```" in PAGE


def test_what_is_named_is_there() -> None:
    for folder, *_ in rows("architecture.md", "## Who is there"):
        for name in named(folder):
            below = name if name.startswith(("daemon", "drivers")) else f"daemon/{name}"
            assert (ROOT / below).exists(), name


def test_the_libraries_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    used = {re.split(r"[\[>=]", each)[0] for each in project["dependencies"]}
    told = {
        name.lower() for row in rows("architecture.md", "## What it rests on") for name in row[0].split(", ")
    }
    assert used <= told
