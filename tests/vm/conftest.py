"""One virtual machine for all tests of this folder."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.vm.guest import Guest
from tests.vm.image import image, missing


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """They take minutes and need root: nobody gets them who did not ask for them."""
    asked = "vm" in config.getoption("markexpr").split()
    for item in items:
        if item.get_closest_marker("vm") and not asked:
            item.add_marker(
                pytest.mark.skip(reason="a virtual machine: run by `make test-vm` (pytest -m vm)")
            )


@pytest.fixture(scope="session")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """A booted virtual machine. Its folder has console.log and qemu.log."""
    if reasons := missing():
        pytest.skip("; ".join(reasons))
    built = image()
    began = time.monotonic()
    with Guest(built, tmp_path_factory.mktemp("vm")) as guest:
        print(f"vm: booted in {time.monotonic() - began:.0f} s; its files are in {guest.folder}")
        yield guest
