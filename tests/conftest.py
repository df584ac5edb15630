"""What every test can be told on the command line, and where every test begins."""

from __future__ import annotations

import signal

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-records",
        action="store_true",
        help="write the expected events of tests/records anew, to be reviewed before they are kept",
    )


def pytest_configure() -> None:
    """A shell starts what runs in the background with SIGINT ignored, and every process below inherits that:
    the commands that people end with it would never end."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
