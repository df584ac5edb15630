"""A whole table, its web console, and a browser before it: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.demo.world import World
from tests.browser.people import Floor, Table

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """One daemon with its three simulated devices and a console, for all tests of this process."""
    with World(tmp_path_factory.mktemp("console"), 1, print) as world:
        yield Table(world, world.start_console())


@pytest.fixture
def chromium() -> Iterator[object]:
    """A browser for one test: while Playwright runs, no other test of this process can have a loop."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: apt-get install chromium fonts-noto-cjk")
    with playwright.sync_playwright() as driver:
        # As root, in a container, Chromium has no sandbox; the only page it opens is ours.
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def floor(table: Table, chromium: object, tmp_path: Path) -> Iterator[Floor]:
    """The table between two rounds, and nobody at a screen yet."""
    table.rest()
    floor = Floor(table, chromium, tmp_path)  # type: ignore[arg-type]
    yield floor
    floor.close()
    assert floor.complaints == []
