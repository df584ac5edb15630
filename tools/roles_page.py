"""Write the tables of docs/roles.md from daemon.roles: ``python -m tools.roles_page``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from daemon.roles import FORMS, MAY, ROLES, seconds_for

FILE: Final = Path(__file__).parents[1] / "docs" / "roles.md"
BEGIN, END = "<!-- tables: tools/roles_page.py -->\n", "<!-- end of tables -->\n"


def _cell(game: str, act: str, role: str) -> str:
    """yes, the states in which the role may, or nothing."""
    rows = [may for may in MAY[game] if act in may.acts and role in may.roles]
    if any(not may.states for may in rows):
        return "yes"
    return ", ".join(state for may in rows for state in may.states)


def tables() -> str:
    """A table for each game: acts down, roles across."""
    lines = []
    for game, forms in FORMS.items():
        lines += [
            f"### {game}",
            "",
            f"| act | {' | '.join(ROLES)} | second |",
            "|---" * (len(ROLES) + 2) + "|",
        ]
        for form in forms:
            cells = [_cell(game, form.name, role) for role in ROLES]
            second = " or ".join(seconds_for(game, form.name))
            lines.append(f"| `{form.name}` | {' | '.join(cells)} | {second} |")
        lines.append("")
    return "\n".join(lines) + "\n"


def page(now: str) -> str:
    """The page with its tables made anew."""
    head, _, rest = now.partition(BEGIN)
    return head + BEGIN + tables() + END + rest.partition(END)[2]


if __name__ == "__main__":
    FILE.write_text(page(FILE.read_text()))
