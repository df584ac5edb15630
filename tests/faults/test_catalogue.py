"""Every case of the fault catalogue has a test that is named after it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parents[1]
ROOT: Final = TESTS.parent

CASES: Final = (
    *("A01", "A02", "A03", "A04", "A06", "A08", "A09", "A10", "A12", "A14", "A15", "A17"),
    *("B01", "B02", "B04", "B05", "B06", "B09", "B11", "B13"),
    *("C01", "C02", "C03", "C05", "C06", "C08", "C10", "C11"),
    *("D01", "D02", "D03", "D04", "D05", "D07", "D09", "D12"),
    *("E01", "E02", "E04"),
    *("F01", "F02", "F04", "F05", "F06", "F07", "F08", "F09", "F10", "F13", "F15"),
    *("G01", "G03", "G04", "G06"),
    *("H01", "H02"),
    *("I01", "I02", "I04", "I05", "I06", "I07", "I09", "I12"),
    *("J01", "J02", "J03", "J04", "J06", "J07", "J09", "J10"),
    *("J12", "J13", "J16"),
)

# What cannot be tried: case -> "path:symbol — why". The symbol is where the code deals with it.
NOTES: Final[dict[str, str]] = {}
MOST_NOTES: Final = 5


@cache
def names() -> frozenset[str]:
    """The test functions and methods of every file, by name; nothing is imported."""
    texts = (path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    return frozenset(
        name for text in texts for name in re.findall(r"^ *(?:async )?def (test_\w+)\(", text, re.MULTILINE)
    )


def symbols_of(path: Path) -> set[str]:
    """What a file defines on its first two levels, a method as ``Class.method``."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            inner = (each for each in node.body if isinstance(each, ast.FunctionDef))
            found |= {node.name, *(f"{node.name}.{each.name}" for each in inner)}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
    return found


@pytest.mark.parametrize("case", [case for case in CASES if case not in NOTES])
def test_each_case_has_a_test(case: str) -> None:
    assert [name for name in names() if name.startswith(f"test_{case.lower()}_")]


def test_few_cases_are_left_to_a_note_and_each_note_holds() -> None:
    assert len(NOTES) <= MOST_NOTES
    assert set(NOTES) <= set(CASES)
    for case, note in NOTES.items():
        place, dash, why = note.partition(" — ")
        path, _, symbol = place.partition(":")
        assert dash, case
        assert len(why) > 20, case
        assert symbol in symbols_of(ROOT / path), case


def test_no_case_is_there_twice() -> None:
    assert len(CASES) == len(set(CASES))
