"""Every link of a page leads to a file, and to a heading of it; every page is reached from the map."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import pages, prose
from tests.docs.source import ROOT

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def links(page: str) -> list[str]:
    return LINK.findall(re.sub(r"`[^`\n]*`", "", prose(page)))


@cache
def anchors(page: str) -> set[str]:
    """The headings as a link names them: lower case, blanks are hyphens, other signs are gone."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = next(n for n in range(len(found) + 1) if (f"{plain}-{n}" if n else plain) not in found)
        found.add(f"{plain}-{number}" if number else plain)
    return found


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page: str) -> None:
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            pytest.fail(f"{page}: {link}: a page needs nothing from elsewhere")
        name, _, anchor = link.partition("#")
        target = ((ROOT / page).parent / name).resolve() if name else ROOT / page
        assert target.exists(), f"{page}: {link}"
        assert target.is_relative_to(ROOT), f"{page}: {link}"
        if anchor:
            assert anchor in anchors(str(target.relative_to(ROOT))), f"{page}: {link}"


def test_every_page_is_reached_from_the_map() -> None:
    reached, waiting = set(), ["docs/README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        for link in links(page):
            name = link.partition("#")[0]
            target = ((ROOT / page).parent / name).resolve()
            if name.endswith(".md") and target.is_file():
                found = str(target.relative_to(ROOT))
                waiting += [found] * (found not in reached)
    assert set(pages()) - reached - {"README.md"} == set()


def test_the_map_is_reached_from_the_readme() -> None:
    assert "docs/README.md" in links("README.md")


@pytest.mark.parametrize("page", pages())
def test_a_page_names_no_place_of_one_machine(page: str) -> None:
    text = (ROOT / page).read_text()
    assert not re.search(r"/(?:root|work|home/\w+)/|\bTODO\b|\bFIXME\b", text)
    assert Path(page).name == "CHANGELOG.md" or text.startswith("# ")
