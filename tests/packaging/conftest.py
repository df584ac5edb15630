"""The package, the one before it, and a fresh Debian to install them into."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.root import Root
from tests.vm.image import missing, system_tree
from tools.deb import build, source_epoch

PREVIOUS = "0.0.9-1"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """They take minutes and need root: nobody gets them who did not ask for them."""
    asked = "deb" in config.getoption("markexpr").split()
    for item in items:
        if item.get_closest_marker("deb") and not asked:
            item.add_marker(
                pytest.mark.skip(reason="a Debian package: run by `make test-deb` (pytest -m deb)")
            )


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the working tree; FELTD_DEB names one that is built already."""
    if reasons := missing():
        pytest.skip("; ".join(reasons))
    if built := os.environ.get("FELTD_DEB"):
        return Path(built)
    return build("0.1.0-1", tmp_path_factory.mktemp("built"), source_epoch())


@pytest.fixture(scope="session")
def previous(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same under a lower version, with a module that the new one has no more."""
    folder = tmp_path_factory.mktemp("previous")
    tree = folder / "tree"
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN/control"
    lines = control.read_text().splitlines()
    lines = [f"Version: {PREVIOUS}" if line.startswith("Version:") else line for line in lines]
    control.write_text("\n".join(lines) + "\n")
    (tree / "opt/feltd/lib/python3.11/site-packages/daemon/forgotten.py").write_text("")
    built = folder / f"feltd_{PREVIOUS}.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, built], check=True)
    shutil.rmtree(tree)
    return built


@pytest.fixture
def root(package: Path, tmp_path: Path) -> Iterator[Root]:
    """A fresh Debian 12 without the package."""
    with Root(system_tree(), tmp_path) as root:
        yield root
