"""What the command line prints for people: texts that steer no terminal, and tables that fit it."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import typer
from rich.cells import cell_len
from rich.console import Console
from typer.core import TyperGroup
from typer.testing import CliRunner

from daemon import show, terminal
from daemon.bench.results import CheckResult, Outcome
from daemon.bench.terminal import Lines, line
from daemon.cli import app
from daemon.cli.answers import fail, say
from daemon.demo.screen import Lines as DemoLines
from daemon.house import House
from daemon.report import layout
from daemon.report.page import _section
from daemon.visible import LINES, visible

EVIL = "\x1b]0;x\x07\x9b2J\r\n\u202egnp\u2066\u2028[red]x[/red] 两张牌"
SHOWN = r"\x1b]0;x\x07\x9b2J\x0d\x0a\u202egnp\u2066\u2028[red]x[/red] 两张牌"
AT = "2026-11-30T17:04:12.000Z"
ROOT = Path(__file__).parents[2]
AMOUNT = re.compile(r"\d[\d,]*\.\d\d")


def box(number: int, **other: Any) -> dict[str, Any]:
    plain = {
        "box": number,
        "ante": 10_000,
        "raise": 20_000,
        "progressive": 1_000,
        "carried": False,
        "decision": "raise",
        "cards": ["AS", "KS", "QS", "JS", "10S"],
        "category": "royal-flush",
        "result": "not-qualified",
        "ante_paid": 20_000,
        "raise_paid": 2_040_000,
        "award": 9_996_420,
    }
    return plain | other


ROUND: dict[str, Any] = {
    "id": 7,
    "mode": "shoe",
    "outcome": "settled",
    "opened_at": AT,
    "closed_at": AT,
    "boxes": [
        box(1),
        box(2, carried=True, category="straight-flush", award=None),
        box(3, **{"raise": 0}, decision="fold", result="lose", ante_paid=0, raise_paid=0, award=0),
    ],
    "dealer": {"cards": ["AC", None, None, None, None], "category": None},
    "irregularities": [],
    "house": House().plain(),
}
DEVICE: dict[str, Any] = {
    "role": "shoe",
    "protocol": "fdp",
    "link": "/dev/serial/by-id/usb-FTDI_FT232R_USB_UART_SHOE0001-if00-port0",
    "state": "lost",
    "barred": "",
    "cause": "absent",
    "detail": "no such file",
    "todo": "plug it in",
    "age_ms": 137,
    "serial": "SHOE0001",
    "firmware": "SIM-1.0",
}


def printed(width: int, print_it: Callable[..., object], *given: Any) -> str:
    with patch.dict(os.environ, COLUMNS=str(width)), terminal.console.capture() as captured:
        print_it(*given)
    return captured.get()


# --- texts ---------------------------------------------------------------------------------------


def test_what_steers_a_terminal_is_written_out_and_the_rest_of_unicode_is_left() -> None:
    assert visible(EVIL) == SHOWN
    assert visible("澳門 Ğ é 👩\u200d🦰 ½ [bold]") == "澳門 Ğ é 👩\u200d🦰 ½ [bold]"
    assert visible("a\n\tb\x1b", LINES) == "a\n\tb\\x1b"
    assert visible("\ud800") == r"\ud800"


@pytest.mark.parametrize(
    ("print_it", "view"),
    [
        (
            show.incidents,
            {"irregularities": [{"round": 7, "clause": "CS-11a", "detail": EVIL, "at": AT}], "faults": []},
        ),
        (show.incidents, {"irregularities": [], "faults": [{
            "code": "x", "text": EVIL, "cleared_by": "y", "since": None}]}),
        (show.devices, {"shoe": DEVICE | {"serial": EVIL}}),
        (show.devices, {"shoe": DEVICE | {"firmware": EVIL}}),
        (show.devices, {"shoe": DEVICE | {"detail": EVIL}}),
        (show.devices, {"shoe": DEVICE | {"todo": EVIL}}),
        (show.round_, ROUND | {"irregularities": [{"clause": "", "detail": EVIL, "at": AT}]}),
        (show.hands, {"rules": EVIL, "hands": []}),
        (show.facts, {"a": EVIL, "b": [EVIL]}),
        (
            show.act,
            {
                "act": "misdeal", "seq": 1, "state": "void", "refusal": None, "message": EVIL,
                "notes": [{"clause": "", "detail": EVIL}],
            },
        ),
        (
            show.act,
            {
                "act": "misdeal", "seq": 1, "state": "void", "message": "", "notes": [],
                "refusal": {"reason": EVIL, "clause": "", "todo": EVIL},
            },
        ),
        (
            show.story,
            {
                "table": "t", "round": 7, "outcome": "void", "verified": True, "account": None,
                "house": None,
                "told": [
                    {"seq": 1, "at": AT, "who": EVIL, "what": EVIL, "became": [EVIL, EVIL], "clauses": []}
                ],
            },
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("width", [2_000, 40])
def test_typed_texts_reach_nobodys_terminal_raw(
    print_it: Callable[..., None], view: dict[str, Any], width: int
) -> None:
    told = printed(width, print_it, view)
    assert set(told) & set("\x1b\x07\x9b\r\u202e\u2066\u2028") == set()
    joined = told if width > 80 else re.sub(r"\s", "", told)
    assert (SHOWN if width > 80 else SHOWN.replace(" ", "")) in joined


def test_answers_and_failures_are_written_out_too(capsys: pytest.CaptureFixture[str]) -> None:
    say({}, EVIL, False)
    with pytest.raises(typer.Exit):
        fail(EVIL)
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert "\\x1b" in out
    assert "\\x1b" in err


def test_the_bench_and_the_demonstration_write_them_out() -> None:
    told = io.StringIO()
    console = Console(file=told, width=400)
    result = CheckResult("identity", "Identity", Outcome.PASSED, EVIL, 1.0)
    Lines(console).end(result)
    console.print(line(result))
    DemoLines(console).news(EVIL)
    assert told.getvalue().count(SHOWN) == 3
    assert "\x1b" not in told.getvalue()


def test_a_page_escapes_what_the_terminal_writes_out() -> None:
    section = layout.Section("Faults", ("what",), [("<b>x</b>",)])
    assert "<td" in _section(section)
    assert escape("<b>x</b>") in _section(section)
    assert "<b>" not in _section(section)


# --- tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_an_amount_and_a_heading_are_never_broken(width: int) -> None:
    told = printed(width, show.round_, ROUND)
    assert max(map(len, told.splitlines())) <= width
    for amount, count in (("100.00", 3), ("200.00", 2), ("20,600.00", 2), ("99,964.20", 1), ("10.00", 3)):
        assert AMOUNT.findall(told).count(amount) == count
    for word in ("progressive", "straight-flush", "not-qualified", "decision", "category", "award"):
        assert word in told


def test_at_80_columns_a_round_is_a_table_with_all_that_it_has() -> None:
    told = printed(80, show.round_, ROUND)
    assert "┃ progressive ┃" in told
    assert "│ 1   │ 100.00 │       10.00 │ AS KS QS JS 10S │ not-qualified │ 20,600.00 │" in told
    assert "│     │ 200.00 │             │ royal-flush     │ raise         │ 99,964.20 │" in told
    assert "(carried)" in told


def test_what_fits_no_table_is_told_in_names_and_values() -> None:
    lines = printed(40, show.devices, {"shoe": DEVICE}).splitlines()
    assert lines[1] == "device shoe, role shoe, protocol fdp,"
    assert lines[2] == "  state lost, why absent: no such file,"
    assert min(len(each) for each in lines) > 5


def test_a_shape_for_a_narrow_screen_leaves_nothing_out() -> None:
    wide, narrow = (printed(width, show.devices, {"shoe": DEVICE}) for width in (300, 80))
    assert DEVICE["link"] in wide
    for text in ("shoe", "lost", "absent: no such file", "137 ms ago", "SHOE0001", "SIM-1.0", "fdp"):
        assert text in narrow
    links = "".join(each.split("│")[4].strip() for each in narrow.splitlines() if each.startswith("│"))
    assert links == f"fdp{DEVICE['link']}"


def test_chinese_takes_two_cells() -> None:
    told = printed(
        40,
        terminal.table,
        "x",
        terminal.Shape(("what", "n"), [("两张牌 两张牌 两张牌 两张牌 两张牌 两张牌", 1)]),
    )
    assert all(cell_len(each) <= 40 for each in told.splitlines())


def test_in_a_pipe_a_table_takes_the_width_it_needs() -> None:
    script = f"from daemon import show; show.round_({ROUND!r})"
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, env=environment, check=True
    )
    assert (
        "│ 1   │ 100.00 │ 200.00 │           10.00 │ raise    │ AS KS QS JS 10S │ royal-flush" in done.stdout
    )
    narrow = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, cwd=ROOT, env=environment | {"COLUMNS": "80"}, check=True,
    )  # fmt: skip
    assert max(map(len, narrow.stdout.splitlines())) <= 80


# --- help --------------------------------------------------------------------------------------------


def every_command(group: TyperGroup, *path: str) -> list[tuple[tuple[str, ...], Any]]:
    found: list[tuple[tuple[str, ...], Any]] = []
    for name, command in group.commands.items():
        below = every_command(command, *path, name) if isinstance(command, TyperGroup) else []
        found += below or [((*path, name), command)]
    return found


def test_every_bracket_of_a_help_text_is_in_the_help() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    seen = 0
    for path, command in every_command(group):
        texts = [command.help or "", *(getattr(each, "help", None) or "" for each in command.params)]
        wanted = [found for text in texts for found in re.findall(r"\[[^]]*\]", text.replace("\\[", "["))]
        if wanted:
            seen += len(wanted)
            told = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "250"}).output
            assert [each for each in wanted if each not in told] == [], path
    assert seen >= 2
