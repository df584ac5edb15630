"""`make mutants`: one deliberate mistake for each clause, and the test that must find it.

The list is ``tests/mutants.toml``. Every mistake is made in a copy of the project; a mistake that
its test does not find, or a text that is not there exactly once, makes the run fail.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
CLAUSES: Final = (
    *(f"CS-{number:02}" for number in range(1, 14)),
    *(f"FC-{number:02}" for number in range(1, 21)),
)
LEFT_OUT: Final = shutil.ignore_patterns(".*", "__pycache__", "*.db", "perf.json", "build")
TESTS_FAILED: Final = 1  # pytest's exit code; any other says that nothing was tried


@dataclass(frozen=True, slots=True)
class Mutant:
    """``old`` stands exactly once in ``file`` and becomes ``new``; ``test`` must then fail."""

    clause: str
    file: str
    old: str
    new: str
    test: str


def main() -> int:
    """Try them all; the exit code is the number of mistakes that nobody found."""
    mutants = [
        Mutant(**each) for each in tomllib.loads((ROOT / "tests" / "mutants.toml").read_text())["mutant"]
    ]
    missing = [clause for clause in CLAUSES if not any(m.clause.startswith(clause) for m in mutants)]
    survivors = [f"{clause}: no mutant" for clause in missing]
    table = Table("clause", "mistake", "test", "", title="deliberate mistakes")
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "feltd"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        for mutant in mutants:
            verdict = _try(mutant, copy)
            print(f"{mutant.clause}: {verdict}", file=sys.stderr, flush=True)
            if verdict != "killed":
                survivors.append(f"{mutant.clause}: {verdict}")
            change = f"{mutant.old.strip()} → {mutant.new.strip()}"
            table.add_row(mutant.clause, escape(change), mutant.test.rpartition("::")[2], verdict)
    console = Console(width=170)
    console.print(table)
    for survivor in survivors:
        console.print(f"[red]{survivor}")
    console.print(f"{len(mutants)} mutants, {len(survivors)} not killed")
    return len(survivors)


def _try(mutant: Mutant, copy: Path) -> str:
    file = copy / mutant.file
    text = file.read_text()
    if text.count(mutant.old) != 1:
        return f"its text is there {text.count(mutant.old)} times"
    if _run(mutant.test, copy) != 0:
        return "its test fails without it"
    file.write_text(text.replace(mutant.old, mutant.new))
    try:
        code = _run(mutant.test, copy)
    finally:
        file.write_text(text)
    return "killed" if code == TESTS_FAILED else "SURVIVED" if code == 0 else f"pytest ended with {code}"


def _run(test: str, copy: Path) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", test]
    return subprocess.run(command, cwd=copy, capture_output=True, timeout=300, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
