"""docs/faults.md has every fault, notice and cause of a link that the source knows, and no other."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from daemon.games.desk import WARNINGS
from daemon.links.base import Cause
from tests.docs.source import called, calls, named, nodes, rows, words

PASSED_ON = {"self.code", "item.code", "plain['code']"}  # codes that come from another place
BY_ITSELF = "itself, when it is over"
Faults = dict[str, set[str]]  # code to what it is cleared by


def noticed() -> dict[str, list[ast.Call]]:
    """Code to the places that notice it: ``Noticed(CODE, …)``, and levels that are watched."""
    found: dict[str, list[ast.Call]] = {}
    for module, call in calls():
        if called(call) in ("Noticed", "_Level") and ast.unparse(call.args[0]) not in PASSED_ON:
            for code in words(call.args[0], module):
                found.setdefault(code, []).append(call)
    return found


def holds(call: ast.Call) -> bool:
    """Whether it can be a fault: what is noticed once says nothing of holding."""
    return called(call) == "_Level" or len(call.args) > 2


def once(call: ast.Call) -> bool:
    return called(call) == "Noticed" and (len(call.args) < 3 or "None" in ast.unparse(call.args[2]))


@cache
def latched() -> Faults:
    """Code to what clears it, over all games and the controller itself."""
    found: Faults = {}
    for module, call in calls():
        if called(call) == "latch" and ast.unparse(call.args[0]) not in PASSED_ON:
            for code in words(call.args[0], module):
                found.setdefault(code, set()).update(words(call.args[2], module))
    for code, places in noticed().items():
        if any(map(holds, places)):
            found.setdefault(code, set()).add(BY_ITSELF)
    return found | told()


def told() -> Faults:
    """Faults that are only shown: what they are about keeps them out of the journal."""
    found: Faults = {}
    for _, node in nodes():
        if not isinstance(node, ast.Dict):
            continue
        facts = {ast.unparse(key): value for key, value in zip(node.keys, node.values, strict=True) if key}
        code, cleared_by = facts.get("'code'"), facts.get("'cleared_by'")
        if isinstance(code, ast.Constant) and isinstance(cleared_by, ast.Constant):
            found[str(code.value)] = {str(cleared_by.value)}
    return found


def written(heading: str) -> dict[str, list[str]]:
    return {named(row[0])[0]: row for row in rows("faults.md", heading)}


def test_the_table_has_every_fault_of_the_source() -> None:
    source, page = latched(), written("## Faults")
    assert len(source) >= 20
    assert sorted(source) == sorted(page)


@pytest.mark.parametrize("code", sorted(written("## Faults")))
def test_who_clears_it_is_what_the_daemon_says(code: str) -> None:
    said = set(written("## Faults")[code][1].split("; "))
    assert said == latched()[code]


def test_what_is_noted_and_no_fault() -> None:
    source = {code for code, places in noticed().items() if any(map(once, places))}
    assert sorted(source) == sorted(written("## Noted, and no fault"))


def test_causes_of_a_link() -> None:
    page = written("## Causes of a link")
    assert sorted(page) == sorted(cause.value for cause in Cause)


def test_a_fault_that_does_not_block_says_so() -> None:
    for code, row in written("## Faults").items():
        assert (code in WARNINGS) == ("does not block" in row[2]), code


@pytest.mark.parametrize("heading", ["## Faults", "## Noted, and no fault", "## Causes of a link"])
def test_every_cell_is_filled(heading: str) -> None:
    assert [row for row in rows("faults.md", heading) if not all(row)] == []
