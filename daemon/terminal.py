"""Lines and tables for people: they fit the terminal, and nothing in them steers it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from rich.box import HEAVY_HEAD, SIMPLE_HEAD, Box
from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions
from rich.table import Table
from rich.text import Text

from daemon.visible import visible

WHOLE: Final = 24  # cells: what is no longer and has no space in it is never broken; an amount is not
UNBOUNDED: Final = 100_000  # cells of a line where nobody's screen ends


class _Screen(Console):
    """As wide as the terminal is now. What is none has no width, unless COLUMNS gives it one."""

    @property  # type: ignore[misc]
    def size(self) -> ConsoleDimensions:
        size, columns = super().size, os.environ.get("COLUMNS", "")
        if columns.isdecimal() and int(columns):
            return ConsoleDimensions(int(columns), size.height)
        return size if self.is_terminal else ConsoleDimensions(UNBOUNDED, size.height)


console: Final = _Screen(highlight=False)


def line(text: str, style: str = "") -> None:
    """Print one line. It is no markup: brackets in it are brackets."""
    console.print(Text(visible(text), style=style))


# --- tables ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shape:
    """One form of a table. A cell is a value, None for nothing, or a list of lines.

    ``numbers`` are the columns that stand to the right.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    numbers: Sequence[int] = ()

    def cells(self) -> list[list[str]]:
        """The rows as they are printed."""
        return [[_cell(value) for value in row] for row in self.rows]


@dataclass(frozen=True, slots=True)
class _Frame:
    """What is drawn around the cells: ``between`` two columns and at both ``edges``, in cells."""

    box: Box
    edge: bool
    padding: tuple[int, int, int, int]
    between: int
    edges: int


_FRAMES: Final = (
    _Frame(HEAVY_HEAD, True, (0, 1, 0, 1), between=3, edges=4),
    _Frame(SIMPLE_HEAD, False, (0, 1, 0, 0), between=2, edges=0),
)


def table(title: str, *shapes: Shape) -> None:
    """Print the first shape that fits the width, else the first one as names and values, row by row.

    To fit, texts are broken between words, and words longer than WHOLE. Nothing is left out.
    """
    line(title, "table.title")
    for frame, shape in product(_FRAMES, shapes):
        cells = shape.cells()
        room = console.width - frame.edges - frame.between * (len(shape.columns) - 1)
        if (widths := _fitted([shape.columns, *cells], room)) is not None:
            console.print(_drawn(shape, cells, widths, frame))
            return
    for each in _told(shapes[0], console.width):
        console.print(Text(each))


def _cell(value: object) -> str:
    lines = value if isinstance(value, list) else [value]
    return "\n".join(visible(each) for each in lines if each not in (None, ""))


def _fitted(rows: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """How wide each column is so that all of them have room, the widest shortened first; None: never."""
    columns = list(zip(*rows, strict=True))
    widths = [max(cell_len(part) for cell in each for part in cell.split("\n")) for each in columns]
    least = [max(min(cell_len(word), WHOLE) for cell in each for word in _words(cell)) for each in columns]
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widest = max((at for at in range(len(widths)) if widths[at] > least[at]), key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def _words(cell: str) -> Sequence[str]:
    return cell.split() or ("",)


def _drawn(shape: Shape, cells: Sequence[Sequence[str]], widths: Sequence[int], frame: _Frame) -> Table:
    drawn = Table(box=frame.box, show_edge=frame.edge, pad_edge=frame.edge, padding=frame.padding)
    for place, (column, width) in enumerate(zip(shape.columns, widths, strict=True)):
        side = "right" if place in shape.numbers else "left"
        drawn.add_column(Text(column), width=width, overflow="fold", justify=side)  # type: ignore[arg-type]
    for row in cells:
        drawn.add_row(*map(Text, row))
    return drawn


def _told(shape: Shape, room: int) -> Iterator[str]:
    """``box 2, ante 100.00,`` and on the next line more of the same row; no pair is broken that fits one."""
    for row in shape.cells():
        told = ""
        for pair in _pairs(shape.columns, row):
            if told and cell_len(f"{told}, {pair},") > room:
                yield f"{told},"
                told = f"  {pair}"
            else:
                told = f"{told}, {pair}" if told else pair
        yield told


def _pairs(columns: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    for name, cell in zip(columns, row, strict=True):
        if cell:
            yield " ".join((name, *cell.split("\n")))
