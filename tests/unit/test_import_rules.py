"""The contract "Who may import whom", on graphs small enough to see through."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest
from grimp import ImportGraph

from tools.import_rules import Rule, broken_imports

CONTRACT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
][0]
RULES = [Rule.parse(text) for text in CONTRACT["rules"]]
PURE = frozenset(sys.stdlib_module_names - set(CONTRACT["impure"]))


def broken(importer: str, imported: str) -> bool:
    graph = ImportGraph()
    ours = imported.split(".")[0] in ("daemon", "drivers")
    graph.add_module(importer)
    graph.add_module(imported, is_squashed=not ours)
    graph.add_import(importer=importer, imported=imported)
    return list(broken_imports(graph, RULES, PURE)) == [(importer, imported)]


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("drivers.shoe.fdp", "daemon.table"),
        ("drivers.shoe.fdp", "asyncio"),
        ("drivers.shoe.fdp", "time"),
        ("drivers.shoe.fdp", "serial"),
        ("drivers.shoe.fdp", "structlog"),
        ("drivers.shoe.fdp", "transitions"),
        ("drivers.shoe.fdp", "drivers.shoe.sim_fdp"),
        ("drivers.shoe.sim_fdp", "daemon.games.hands"),
        ("daemon.games.hands", "time"),
        ("daemon.games.hands", "logging"),
        ("daemon.games.caribbean", "drivers.shoe.fdp"),
        ("daemon.games.caribbean", "daemon.table"),
        ("daemon.table", "daemon.journal"),
        ("daemon.table", "transitions"),
        ("daemon.supervisor", "daemon.table"),
        ("daemon.supervisor", "daemon.links.serial"),
        ("daemon.engine", "asyncio"),
        ("daemon.engine", "daemon.links.serial"),
        ("daemon.engine", "drivers.shoe.sim_fdp"),
        ("daemon.links.serial", "drivers.base"),
        ("daemon.journal", "daemon.engine"),
        ("daemon.control", "daemon.app"),
        ("daemon.simulate", "daemon.cli"),
        ("daemon.app", "drivers.sign.sim_alpha"),
        ("unheard_of", "json"),
    ],
)
def test_what_may_not_be_imported(importer: str, imported: str) -> None:
    assert broken(importer, imported)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("drivers.framing", "fastcrc"),
        ("drivers.shoe.fdp", "drivers.framing"),
        ("drivers.shoe.sim_fdp", "transitions"),
        ("daemon.games.hands", "itertools"),
        ("daemon.games.hands", "drivers.cards"),
        ("daemon.games.caribbean", "transitions"),
        ("daemon.engine", "drivers.shoe.fdp"),
        ("daemon.engine", "daemon.journal"),
        ("daemon.journal", "sqlite3"),
        ("daemon.links.serial", "serial"),
        ("daemon.links.memory", "drivers.sign.sim_alpha"),
        ("daemon.simulate", "drivers.sign.sim_alpha"),
        ("daemon.cli", "daemon.app"),
    ],
)
def test_what_may_be_imported(importer: str, imported: str) -> None:
    assert not broken(importer, imported)


def test_a_rule_needs_an_arrow() -> None:
    with pytest.raises(ValueError, match="no arrow"):
        Rule.parse("daemon.games pure")
