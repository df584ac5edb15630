"""A contract for import-linter: the whole table of who may import whom, as a list of rules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Self

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


def _fits(name: str, pattern: str) -> bool:
    """A pattern fits a module and whatever lies inside it; ``*`` stands for any characters."""
    return fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*")


@dataclass(frozen=True, slots=True)
class Rule:
    """``importer -> allowed … !forbidden …``; what is forbidden stays so if it is also allowed."""

    importer: str
    allowed: tuple[str, ...]
    forbidden: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError for a text without an arrow."""
        importer, arrow, names = text.partition("->")
        if not arrow:
            raise ValueError(f"no arrow in the rule {text!r}")
        words = names.split()
        allowed = tuple(word for word in words if not word.startswith("!"))
        return cls(importer.strip(), allowed, tuple(word[1:] for word in words if word.startswith("!")))

    def allows(self, imported: str, pure: frozenset[str]) -> bool:
        """Whether ``imported`` may be imported; ``stdlib`` and ``pure`` stand for sets of names."""
        if any(_fits(imported, word) for word in self.forbidden):
            return False
        return (
            any(_fits(imported, word) for word in self.allowed)
            or ("stdlib" in self.allowed and imported in sys.stdlib_module_names)
            or ("pure" in self.allowed and imported in pure)
        )


class AllowedImports(Contract):
    """Every direct import must be allowed by the first rule that fits the importing module.

    ``pure`` in a rule is the standard library without the modules listed as ``impure``. A module
    that no rule fits may import nothing, so a new top-level package has to be given its rule.
    """

    type_name = "allowed_imports"

    impure = fields.ListField(subfield=fields.StringField())
    rules = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        pure = frozenset(sys.stdlib_module_names - set(self._texts(self.impure)))
        rules = [Rule.parse(text) for text in self._texts(self.rules)]
        broken = sorted(broken_imports(graph, rules, pure))
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["broken"]:
            output.print_error(f"{importer} may not import {imported}")

    @staticmethod
    def _texts(field: Any) -> list[str]:
        """The values of a field: import-linter puts them where the class has the field itself."""
        return list(field)


def broken_imports(graph: ImportGraph, rules: list[Rule], pure: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Each (importer, imported) that the rules do not allow."""
    for module in graph.modules:
        if graph.is_module_squashed(module):  # an external package: not ours to judge
            continue
        rule = next((rule for rule in rules if _fits(module, rule.importer)), Rule(module, (), ()))
        for imported in graph.find_modules_directly_imported_by(module):
            if not rule.allows(imported, pure):
                yield module, imported
