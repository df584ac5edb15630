"""What every test can be told on the command line."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-records",
        action="store_true",
        help="write the expected events of tests/records anew, to be reviewed before they are kept",
    )
