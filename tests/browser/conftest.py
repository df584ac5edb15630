"""A whole table, its web console, and a browser before it: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from daemon.demo.world import World
from tests.browser.people import Floor, StudTable, Table

PACKAGES = ("chromium", "fonts-noto-cjk")
INSTALL = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", "install", "-y", "--no-install-recommends"]
LONGEST_INSTALL = 600  # seconds


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """One daemon with its three simulated devices and a console, for all tests of this process."""
    with World(tmp_path_factory.mktemp("console"), 1, print) as world:
        yield Table(world, world.start_console())


@pytest.fixture(scope="module")
def stud_table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudTable]:
    """The same with a table of five-card stud."""
    with World(tmp_path_factory.mktemp("stud"), 1, print, "five-card") as world:
        yield StudTable(world, world.start_console())


@cache
def chromium_path() -> str | None:
    """Debian's Chromium, installed if this process may; None where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None and os.getuid() == 0 and shutil.which("apt-get"):
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run([*INSTALL, *PACKAGES], env=environment, timeout=LONGEST_INSTALL, check=False)
        found = shutil.which("chromium")
    return found


@pytest.fixture(scope="module")
def chromium() -> Iterator[object]:
    """One browser for a module: while Playwright runs, no other test of this process can have a loop."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = chromium_path()
    if path is None:
        pytest.skip(f"chromium is not installed: apt-get install {' '.join(PACKAGES)}")
    with playwright.sync_playwright() as driver:
        # As root, in a container, Chromium has no sandbox and no GPU; the only page it opens is ours.
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def floor(table: Table, chromium: object, tmp_path: Path) -> Iterator[Floor]:
    """The table between two rounds, and nobody at a screen yet."""
    table.rest()
    yield from screens_before(table, chromium, tmp_path)


@pytest.fixture
def stud(stud_table: StudTable, chromium: object, tmp_path: Path) -> Iterator[Floor]:
    """The five-card table between two rounds with nobody seated, and nobody at a screen yet."""
    stud_table.rest()
    yield from screens_before(stud_table, chromium, tmp_path)


def screens_before(table: Table, chromium: object, folder: Path) -> Iterator[Floor]:
    floor = Floor(table, chromium, folder)  # type: ignore[arg-type]
    yield floor
    floor.close()
    assert floor.complaints == []
