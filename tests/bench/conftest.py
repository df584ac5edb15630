"""The devices of a bench file, one after the other: ``pytest tests/bench --bench config/bench.toml -s``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from rich.console import Console

from daemon.bench.checks import Check
from daemon.bench.file import BenchFile, load
from daemon.bench.results import CheckResult, Outcome
from daemon.bench.run import CHECKS, Acceptance
from daemon.bench.terminal import Keys, Lines
from daemon.config import ConfigError
from daemon.links.url import make_link

NO_BENCH = "no bench: pytest tests/bench --bench config/bench.toml -s"
FILE = pytest.StashKey[BenchFile]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bench", metavar="FILE", help="the bench whose devices are checked (docs/bench.md)")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--bench", default=None)
    if path is None:
        return
    if hasattr(config, "workerinput") or config.getoption("numprocesses", default=None):
        raise pytest.UsageError("a device has one owner: run tests/bench without -n")
    try:
        config.stash[FILE] = load(Path(path))
    except ConfigError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each check of each device; without a bench one that says so."""
    if FILE not in metafunc.config.stash:
        metafunc.parametrize(
            ("name", "check"), [pytest.param("", None, id="none", marks=pytest.mark.skip(NO_BENCH))]
        )
        return
    entries = metafunc.config.stash[FILE].devices
    cases = [
        _case(name, entry.role, check) for name, entry in entries.items() for check in CHECKS[entry.role]
    ]
    metafunc.parametrize(("name", "check"), cases)


def _case(name: str, role: str, check: Check) -> object:
    marks = [getattr(pytest.mark, role), *([pytest.mark.hands] if check.hands else [])]
    return pytest.param(name, check, id=f"{name}-{check.name}", marks=marks)


class Bench:
    """The device that is being checked, and which devices are broken already, with the first cause."""

    def __init__(self, file: BenchFile) -> None:
        self._file = file
        self._runner = asyncio.Runner()
        self._open = ExitStack()
        self._name = ""
        self._acceptance: Acceptance | None = None
        self._broken: dict[str, str] = {}

    def check(self, name: str, check: Check) -> CheckResult:
        """Run one check, unless the device is broken or the bench has no hands for it."""
        if name in self._broken:
            pytest.skip(f"{name} is broken: {self._broken[name]}")
        if check.hands and self._file.devices[name].hands == "none":
            pytest.skip(f"{name} is in nobody's hands")
        result = self._runner.run(self._checked(name, check))
        if result.outcome is Outcome.FAILED:
            self._broken[name] = f"{check.name}: {result.detail}"
        return result

    def close(self) -> None:
        self._runner.run(self._let_go())
        self._runner.close()

    async def _checked(self, name: str, check: Check) -> CheckResult:
        if name != self._name or self._acceptance is None:
            await self._let_go()
            self._acceptance, self._name = self._take(name), name
        return await self._acceptance.check(check)

    async def _let_go(self) -> None:
        if self._acceptance is not None:
            self._acceptance.close()
        self._acceptance = None
        self._open.close()

    def _take(self, name: str) -> Acceptance:
        entry, subject = self._file.devices[name], self._file.devices[name].subject()
        keys = Keys() if entry.hands == "technician" and sys.stdin.isatty() else None
        if keys is not None:
            self._open.enter_context(keys.listening())
        screen = Lines(Console(stderr=True, highlight=False))
        hands = entry.take_hands(screen, self._file.bench.patience, keys)
        return Acceptance(subject, make_link(subject.link, subject.speaks.line), hands, screen)


@pytest.fixture(scope="session")
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    bench = Bench(request.config.stash[FILE])
    yield bench
    bench.close()
