"""docs/operations.md has every sentence with which a start is refused; the decisions have their list."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.docs.source import DOCS, called, calls, named, rows

SENTENCES = ("StartError", "RecoveryError")
SHORTEST = 12  # characters of a piece that can be looked for


def pieces() -> list[str]:
    """The longest fixed piece of each sentence."""
    found = []
    for _, call in calls():
        if called(call) in SENTENCES and call.args:
            texts = [part.value for part in ast.walk(call.args[0]) if isinstance(part, ast.Constant)]
            longest = max((str(text) for text in texts), key=len, default="")
            if len(longest) >= SHORTEST:
                found.append(longest.strip(" :"))
    return found


def test_pieces_are_found() -> None:
    assert len(pieces()) >= 8


def test_a_sentence_that_ends_a_start_has_its_row() -> None:
    table = [" ".join(row) for row in rows("operations.md", "## It does not start")]
    told = [text for row in table for text in named(row)]
    assert [piece for piece in pieces() if not any(text in piece or piece in text for text in told)] == []


def test_the_list_of_decisions_is_complete_and_numbered() -> None:
    files = sorted(path.name for path in (DOCS / "decisions").glob("0*.md"))
    assert [int(name[:4]) for name in files] == list(range(1, len(files) + 1))
    assert [link for row in rows("decisions/README.md", "# Decisions") for link in _links(row[0])] == files


def _links(cell: str) -> list[str]:
    return re.findall(r"\(([^)]+)\)", cell)


@pytest.mark.parametrize("path", sorted((DOCS / "decisions").glob("0*.md")), ids=lambda path: path.name)
def test_a_decision_is_dated_and_short(path: Path) -> None:
    text = path.read_text()
    title, blank, dated, *_ = text.split("\n")
    assert re.fullmatch(r"# \d+\.? .+", title)
    assert blank == ""
    assert re.match(r"(2026-\d\d-\d\d|\d+ [A-Z][a-z]+ 2026)\b", dated)
    assert len(text.split()) < 600
