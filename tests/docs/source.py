"""What the source says: names of log events, codes of faults; and the tables of the pages."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@cache
def nodes() -> tuple[tuple[str, ast.AST], ...]:
    """Dotted module name and node, for every call and every dictionary of the daemon's source."""
    return tuple(_nodes())


def _nodes() -> Iterator[tuple[str, ast.AST]]:
    for path in sorted((ROOT / "daemon").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call | ast.Dict):
                yield module, node


def calls() -> list[tuple[str, ast.Call]]:
    """Dotted module name and call."""
    return [(module, node) for module, node in nodes() if isinstance(node, ast.Call)]


def called(call: ast.Call) -> str:
    """The last word of what is called."""
    of = call.func
    return of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""


def words(node: ast.expr, module: str) -> list[str]:
    """The texts that an expression can be: constants, either branch of a choice, names of the module.

    The changing part of an f-string is ``ID``. Raises ValueError for anything else.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return words(node.body, module) + words(node.orelse, module)
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "ID" for part in node.values]
        return ["".join(str(part) for part in parts)]
    if isinstance(node, ast.Name):
        value = getattr(importlib.import_module(module), node.id, None)
        if isinstance(value, str):
            return [value]
    raise ValueError(f"{module}: line {node.lineno}: not a text that can be known: {ast.unparse(node)}")


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table below ``heading`` of a page of docs/."""
    _, _, below = f"\n{(DOCS / page).read_text()}".partition(f"\n{heading}\n")
    assert below, f"{page} has no {heading!r}"
    table = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    assert table is not None, f"{page}: no table below {heading!r}"
    lines = table[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def named(cell: str) -> list[str]:
    """The words in backquotes of a cell."""
    return re.findall(r"`([^`]+)`", cell)
