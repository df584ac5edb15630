"""docs/regulation/: each clause that the source cites has a section, with code and tests that cite it."""

from __future__ import annotations

import re

import pytest

from tests.docs.source import DOCS, ROOT

PAGES = {"CS": "caribbean.md", "FC": "five-card.md"}
SOURCE = sorted((ROOT / "daemon").rglob("*.py"))
NAMED = re.compile(r"`((?:daemon|tests)/[\w/]+\.py)`")


def sections(law: str) -> dict[str, str]:
    """Clause to its section."""
    text = (DOCS / "regulation" / PAGES[law]).read_text()
    return {part[:5]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}


SECTIONS = sections("CS") | sections("FC")


def cites(file: str, clause: str) -> bool:
    """A test may cite it in its name."""
    text = (ROOT / file).read_text()
    return clause in text or clause.lower().replace("-", "_") in text


@pytest.mark.parametrize("law", PAGES)
def test_every_clause_of_the_source_has_a_section(law: str) -> None:
    cited = {clause for file in SOURCE for clause in re.findall(rf"\b{law}-\d\d", file.read_text())}
    assert len(cited) >= 13
    assert cited == set(sections(law))


@pytest.mark.parametrize("clause", SECTIONS)
def test_a_section_names_code_that_cites_its_clause(clause: str) -> None:
    files = NAMED.findall(SECTIONS[clause])
    assert files
    for file in files:
        assert (ROOT / file).is_file(), file
        if not file.startswith("daemon/games/hands"):
            assert cites(file, clause), f"{file} does not cite {clause}"


def test_every_decision_of_a_clause_is_linked_from_it() -> None:
    """A decision names its clauses in the line of its date."""
    for decision in sorted((DOCS / "decisions").glob("0*.md")):
        dated = decision.read_text().split("\n", 3)[2]
        for clause in re.findall(r"\b(?:CS|FC)-\d\d", dated):
            assert decision.name in SECTIONS[clause], f"{decision.name} is not linked from {clause}"
