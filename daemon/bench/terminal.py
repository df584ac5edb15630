"""The bench on a terminal: how it goes, and what the technician is asked for. All on standard error."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from daemon.bench.checks import Check
from daemon.bench.hands import Act, CannotDo, NoHands
from daemon.bench.results import CheckResult, Latency, Outcome, Report
from daemon.simhost import Answer
from daemon.visible import visible

MARKS: Final = {Outcome.PASSED: "✓", Outcome.FAILED: "✗", Outcome.SKIPPED: "–"}  # noqa: RUF001
STYLES: Final = {Outcome.PASSED: "green", Outcome.FAILED: "bold red", Outcome.SKIPPED: "yellow"}
TICK: Final = 0.05  # seconds between two looks at keys and time
DONE, LEAVE_OUT, YES, NO = "\n", "s", "y", "n"
NAME_WIDTH: Final = 30
BAR_WIDTH: Final = 20

T = TypeVar("T")


class Screen(Protocol):
    """What the terminal shows while it goes on."""

    def begin(self, check: Check) -> None: ...

    def progress(self, done: int, of: int) -> None: ...

    def end(self, result: CheckResult) -> None: ...

    def ask(self, request: str, left: float, of: float) -> None:
        """Somebody is asked for something, and has ``left`` of ``of`` seconds."""

    def asked(self) -> None:
        """The request is over."""


class Lines:
    """A line for each check, for a log or a pipe."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._request = ""

    def begin(self, check: Check) -> None:
        pass

    def progress(self, done: int, of: int) -> None:
        pass

    def end(self, result: CheckResult) -> None:
        words = (
            f"{MARKS[result.outcome]} {result.title:<{NAME_WIDTH}} {result.seconds:5.1f} s  {result.detail}"
        )
        self._console.print(Text(visible(words), STYLES[result.outcome]), soft_wrap=True)

    def ask(self, request: str, left: float, of: float) -> None:
        if request != self._request:
            self._request = request
            self._console.print(Text(f"→ {request} (within {of:g} s)", "bold"), soft_wrap=True)

    def asked(self) -> None:
        self._request = ""


class Picture:
    """Finished checks above; below them the one that runs, and what is asked of the technician."""

    def __init__(self, console: Console, checks: int) -> None:
        self._console = console
        self._checks, self._done = checks, 0
        self._title = self._part = self._request = ""
        self._left, self._of = 0.0, 1.0
        self._live = Live(console=console, get_renderable=self._drawn, refresh_per_second=8, transient=True)
        self._live.start()

    def begin(self, check: Check) -> None:
        self._title, self._part = check.title, ""

    def progress(self, done: int, of: int) -> None:
        self._part = f"{done}/{of}"

    def end(self, result: CheckResult) -> None:
        self._console.print(line(result))
        self._done += 1

    def ask(self, request: str, left: float, of: float) -> None:
        self._request, self._left, self._of = request, left, of

    def asked(self) -> None:
        self._request = ""

    def close(self) -> None:
        self._live.stop()

    def _drawn(self) -> RenderableType:
        checks = ProgressBar(self._checks, self._done, width=BAR_WIDTH, complete_style="green")
        parts: list[RenderableType] = [
            _beside(checks, Text(f"{self._done}/{self._checks}  {self._title} {self._part}"))
        ]
        if self._request:
            time = ProgressBar(self._of, self._left, width=BAR_WIDTH, complete_style="yellow")
            keys = Text(f"{self._left:.0f} s   Enter: done   s: leave out", "dim")
            parts += [Text(f"→ {self._request}", "bold yellow"), _beside(time, keys)]
        return Padding(Group(*parts), (1, 0, 0, 0))


def _beside(bar: ProgressBar, words: Text) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_row(bar, words)
    return grid


@contextmanager
def screen(checks: int) -> Iterator[Screen]:
    """Bars for somebody who watches standard error, lines for everybody else."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield Lines(console)
        return
    picture = Picture(console, checks)
    try:
        yield picture
    finally:
        picture.close()


# --- the technician ------------------------------------------------------------------------------


class Keys:
    """Single key strokes of a terminal, without echo. Ctrl-C stays what it is."""

    def __init__(self) -> None:
        self._pressed = ""

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While this lasts, the keys are ours; then the terminal is as it was."""
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
        loop = asyncio.get_running_loop()
        tty.setcbreak(descriptor, termios.TCSANOW)
        loop.add_reader(descriptor, self._read, descriptor)
        try:
            yield
        finally:
            loop.remove_reader(descriptor)
            termios.tcsetattr(descriptor, termios.TCSANOW, before)

    def forget(self) -> None:
        """What was pressed before a request is no answer to it."""
        self._pressed = ""

    def pressed(self, wanted: str) -> str:
        """The first of the wanted keys that was pressed, "" if none was."""
        return next((key for key in self._pressed if key in wanted), "")

    def _read(self, descriptor: int) -> None:
        self._pressed += os.read(descriptor, 64).decode("ascii", "replace").lower()


class Technician:
    """Hands that are asked. The device's event is the answer; a key says that there was none.

    ``patience`` (s) is how long a request stands. Without ``keys`` nobody sits at the terminal:
    requests are still written, for somebody may stand at the device.
    """

    def __init__(self, screen: Screen, patience: float, keys: Keys | None) -> None:
        self.name = "technician" if keys else "none"
        self._screen = screen
        self._patience = patience
        self._keys = keys

    async def do(self, act: Act, seen: asyncio.Future[T] | None) -> None:
        if not act.ask:
            raise CannotDo("needs the wire of a simulated device")
        if seen is None and self._keys is None:
            return  # nothing would tell that it is done: what follows shows it
        if await self._ask(act.ask, seen, DONE + LEAVE_OUT) == LEAVE_OUT:
            raise NoHands(f"left out by the technician: {act.ask}")

    async def look(self) -> Answer | None:
        return None

    async def agree(self, question: str) -> bool | None:
        if self._keys is None:
            return None
        return await self._ask(f"{question} (y/n)", None, YES + NO) == YES

    def close(self) -> None:
        self._screen.asked()

    async def _ask(self, request: str, seen: asyncio.Future[T] | None, wanted: str) -> str:
        """The key that was pressed, "" when the event came instead. Raises NoHands."""
        if self._keys is not None:
            self._keys.forget()
        end = asyncio.get_running_loop().time() + self._patience
        try:
            while (left := end - asyncio.get_running_loop().time()) > 0:
                if seen is not None and seen.done():
                    return ""
                if key := self._keys.pressed(wanted) if self._keys else "":
                    return key
                self._screen.ask(request, left, self._patience)
                await asyncio.sleep(TICK)
        finally:
            self._screen.asked()
        raise NoHands(f"needs hands: {request}: nobody did within {self._patience:g} s")


# --- for people ----------------------------------------------------------------------------------


def line(result: CheckResult) -> Table:
    """One finished check: mark, title, time, and what was seen."""
    grid = Table.grid(padding=(0, 1), expand=False)
    grid.add_column(width=1)
    grid.add_column(width=NAME_WIDTH, no_wrap=True)
    grid.add_column(width=7, justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    style = STYLES[result.outcome]
    detail = Text(visible(result.detail), style if result.outcome is not Outcome.PASSED else "")
    grid.add_row(
        Text(MARKS[result.outcome], style), Text(result.title), Text(f"{result.seconds:.1f} s", "dim"), detail
    )
    return grid


def summary(report: Report, page: str = "") -> None:
    """The verdict, on standard output."""
    console = Console(highlight=False)
    who = f"{report.device} {report.serial}".strip()
    facts = Table.grid(padding=(0, 2))
    rows = {
        "device": f"{who}, {report.protocol}, firmware {report.firmware or 'not told'}",
        "link": report.link,
        "hands": report.hands,
        "checks": ", ".join(f"{report.count(each)} {each.value}" for each in Outcome),
        "latency": milliseconds(Latency.of(report.samples)),
        "report": page,
    }
    for name, value in rows.items():
        if value:
            facts.add_row(Text(name, "dim"), Text(visible(value)))
    console.print(Padding(facts, (1, 0, 0, 0), expand=False))
    console.print(Text(verdict(report), "bold green" if report.passed else "bold red"))


def verdict(report: Report) -> str:
    """One sentence: whether the device may be used, and whether something was left out."""
    if not report.passed:
        failed = [check.title for check in report.checks if check.outcome is Outcome.FAILED]
        return f"Failed: {', '.join(failed)}." if failed else "Failed: nothing could be run."
    return "Passed, complete." if report.complete else "Passed as far as it was run; not complete."


def milliseconds(latency: Latency | None) -> str:
    """The percentiles in one line; "" for none."""
    if latency is None:
        return ""
    return (
        f"p50 {latency.p50:.1f}, p90 {latency.p90:.1f}, p99 {latency.p99:.1f}, "
        f"max {latency.max:.1f} ms (n {latency.n})"
    )
