"""``feltd bench``: from its options to the report."""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from daemon.aside import require_ours, written_aside
from daemon.bench.hands import Hands, SimulatorHands, find_control, is_socket
from daemon.bench.page import BEGINS, page
from daemon.bench.results import Report
from daemon.bench.run import CHECKS, Subject, accept
from daemon.bench.terminal import Keys, Screen, Technician, screen
from daemon.links.url import make_link
from daemon.registry import protocol

AT_A_TERMINAL: Final = 60.0  # seconds that a request stands
ALONE: Final = 10.0


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What was asked for. ``patience`` (s) None: 60 at a terminal, else 10. ``control`` None: looked for."""

    role: str
    protocol: str
    link: str
    serial: str = ""
    control: Path | None = None
    patience: float | None = None

    def subject(self) -> Subject:
        """Raises daemon.registry.ProtocolError, and ValueError for a link or a control that is none."""
        speaks = protocol(self.role, self.protocol)
        make_link(self.link, speaks.line)
        if self.control is not None and not is_socket(self.control):
            raise ValueError(f"{self.control} is no socket of a simulated device")
        return Subject(speaks, self.link, self.serial)


def bench(options: BenchOptions, report_to: Path | None = None) -> Report:
    """Accept the device that the options name, and write the page of the report.

    Raises what :meth:`BenchOptions.subject` raises, ValueError for a folder that is not there, KeptError,
    before anything is tried, for a file that is no page of ours, and OSError when it cannot be written.
    """
    if report_to is not None and not report_to.parent.is_dir():
        raise ValueError(f"{report_to.parent} is no folder")
    if report_to is not None:
        require_ours(report_to, _is_page)
    report = _bench(options)
    if report_to is not None:
        with written_aside(report_to, _is_page) as file:
            file.write(page(report).encode())
    return report


def _is_page(begins: bytes) -> bool:
    return begins.startswith(BEGINS.encode())


def _bench(options: BenchOptions) -> Report:
    subject = options.subject()
    control = options.control or find_control(options.link)
    watched = control is None and sys.stdin.isatty() and sys.stderr.isatty()
    keys = Keys() if watched else None
    with screen(len(CHECKS[options.role])) as shown:
        patience = options.patience or (AT_A_TERMINAL if watched else ALONE)
        hands: Hands = Technician(shown, patience, keys) if control is None else SimulatorHands(control)
        return asyncio.run(_accept(subject, hands, shown, keys))


async def _accept(subject: Subject, hands: Hands, shown: Screen, keys: Keys | None) -> Report:
    link = make_link(subject.link, subject.speaks.line)
    with keys.listening() if keys else nullcontext():
        return await accept(subject, link, hands, shown)
