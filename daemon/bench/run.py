"""One acceptance from the first check to the report."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import Final, Protocol

from daemon import __version__
from daemon.bench import shoe, shuffler, sign
from daemon.bench.checks import Bench, Check, Failed, NotOffered, seconds_since
from daemon.bench.device import BenchDevice
from daemon.bench.hands import (
    CLEAR,
    CLOSE_COVER,
    LET_GO,
    REPLUG,
    UNSPLIT,
    CannotDo,
    Hands,
    NoHands,
    Refused,
)
from daemon.bench.results import CheckResult, Outcome, Report
from daemon.clock import SystemClock
from daemon.links.base import Link
from drivers.protocol import DeviceProtocol, Option

CHECKS: Final[Mapping[str, tuple[Check, ...]]] = {
    "shoe": shoe.CHECKS,
    "shuffler": shuffler.CHECKS,
    "sign": sign.CHECKS,
}
_RESTORING: Final = (REPLUG, LET_GO, UNSPLIT, CLOSE_COVER, CLEAR)


class Screen(Protocol):
    """Who is told how it goes."""

    def begin(self, check: Check) -> None: ...

    def progress(self, done: int, of: int) -> None: ...

    def end(self, result: CheckResult) -> None: ...


@dataclass(frozen=True, slots=True)
class Subject:
    """What is accepted: the protocol it speaks, its link as it was written, and its serial number
    ("" for any). ``lacks`` names checks that are left out, each with its reason."""

    speaks: DeviceProtocol
    link: str
    serial: str = ""
    options: Mapping[str, Option] = field(default_factory=dict)
    lacks: Mapping[str, str] = field(default_factory=dict)


class Acceptance:
    """One device, its hands, and the checks that it has passed so far. Lives in a running loop.

    When the identity fails nothing else is run, and each check that is left names that cause.
    """

    def __init__(self, subject: Subject, link: Link, hands: Hands, screen: Screen) -> None:
        self._subject = subject
        self._hands = hands
        self._screen = screen
        self._date = SystemClock().utc()
        self._results: list[CheckResult] = []
        self._broken = ""
        device = BenchDevice(subject.speaks, link, subject.serial, subject.options)
        self._bench = Bench(device, hands, screen.progress)
        device.start()

    async def run(self, names: Collection[str] = ()) -> Report:
        """Run the checks of these names, or all of the role; the report."""
        try:
            for check in CHECKS[self._subject.speaks.role]:
                if not names or check.name in names:
                    await self.check(check)
            return self.report
        finally:
            self.close()

    async def check(self, check: Check) -> CheckResult:
        """Run one check; it never raises what the device did."""
        self._screen.begin(check)
        began = monotonic_ns()
        self._bench.samples.clear()
        outcome, detail, applies = await self._outcome(check)
        if outcome is Outcome.FAILED:
            await self._restore()
            self._broken = detail if check.name == "identity" else self._broken
        samples = tuple(self._bench.samples) if outcome is Outcome.PASSED else ()
        result = CheckResult(check.name, check.title, outcome, detail, seconds_since(began), samples, applies)
        self._results.append(result)
        self._screen.end(result)
        return result

    def close(self) -> None:
        """Let go of the device and of its hands."""
        self._bench.device.close()
        self._hands.close()

    @property
    def report(self) -> Report:
        """Everything up to now."""
        who, counters = self._bench.device.who, self._bench.device.driver.counters
        return Report(
            device=self._subject.speaks.role,
            protocol=self._subject.speaks.name,
            link=self._subject.link,
            hands=self._hands.name,
            date=self._date,
            version=__version__,
            serial=who.serial if who else "",
            firmware=who.firmware if who else "",
            digest=who.digest if who else "",
            checks=tuple(self._results),
            cards=self._bench.cards,
            counters={
                "frames": counters.frames,
                "sent": counters.sent,
                "repeats": counters.repeats,
                "gaps": counters.gaps,
                "drops": dict(counters.drops),
            },
        )

    async def _outcome(self, check: Check) -> tuple[Outcome, str, bool]:
        """What became of it, in which words, and whether it applies to this device."""
        if self._broken:
            return Outcome.SKIPPED, f"not run: {self._broken}", True
        if check.name in self._subject.lacks:
            return Outcome.SKIPPED, self._subject.lacks[check.name], False
        try:
            await self._bench.ready()
            return Outcome.PASSED, await check.run(self._bench), True
        except (Failed, Refused) as failed:
            return Outcome.FAILED, str(failed), True
        except (NotOffered, CannotDo) as lacking:
            return Outcome.SKIPPED, str(lacking), False
        except NoHands as nobody:
            return Outcome.SKIPPED, str(nobody), True

    async def _restore(self) -> None:
        """A simulated device is put right after a failure, so that one cause has one failure."""
        if self._hands.name != "simulator":
            return
        for act in _RESTORING:
            with suppress(CannotDo, NoHands, Refused):
                await self._bench.move(act)


async def accept(
    subject: Subject, link: Link, hands: Hands, screen: Screen, names: Collection[str] = ()
) -> Report:
    """Accept one device: every check of its role, or those of ``names``. Never raises for the device."""
    return await Acceptance(subject, link, hands, screen).run(names)
