"""Write the diagrams and the import rules of docs/architecture.md: ``python -m tools.architecture_page``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

from daemon.diagram import CHARTS, draw

ROOT: Final = Path(__file__).parents[1]
FILE: Final = ROOT / "docs" / "architecture.md"
MACHINES: Final = {
    "link": "The life of a link",
    "caribbean": "The round of Caribbean Stud",
    "five-card": "The round of Five-Card Stud",
    "shoe": "A simulated shoe",
    "shuffler": "A simulated shuffling machine",
    "sign": "A simulated sign",
}


def diagrams() -> str:
    """Every machine, drawn from its rows."""
    assert set(MACHINES) == set(CHARTS)
    drawn = ((title, draw(name, "mermaid").rstrip()) for name, title in MACHINES.items())
    return "\n".join(f"### {title}\n\n```mermaid\n{text}\n```\n" for title, text in drawn)


def imports() -> str:
    """The rules of pyproject.toml, one a line."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    lines = ["| module | may import |", "|---|---|"]
    for rule in contract["rules"]:
        module, _, names = " ".join(rule.split()).partition(" -> ")
        lines.append(f"| `{module.strip()}` | {' '.join(f'`{name}`' for name in names.split())} |")
    return "\n".join(lines) + "\n"


def page(now: str) -> str:
    """The page with both made anew."""
    for name, made in (("diagrams", diagrams()), ("imports", imports())):
        begin, end = f"<!-- {name}: tools/architecture_page.py -->\n", f"<!-- end of {name} -->\n"
        head, _, rest = now.partition(begin)
        now = head + begin + "\n" + made + "\n" + end + rest.partition(end)[2]
    return now


if __name__ == "__main__":
    FILE.write_text(page(FILE.read_text()))
