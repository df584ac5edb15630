"""What a check is, and what it is given to work with."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import Final, TypeVar

from daemon.bench.device import BenchDevice, F, Given, Heard
from daemon.bench.hands import Act, Hands
from daemon.bench.results import Cards
from daemon.supervisor import Change
from drivers.base import SECOND, CommandResult, NumberedCommand

ANSWER_WITHIN: Final = 5.0  # seconds: a result or an event that is due after an act
READY_WITHIN: Final = 8.0  # seconds: opening, identification and the wait between two attempts
BACK_WITHIN: Final = 3.0  # seconds from the plug to readiness

T = TypeVar("T")


class Failed(Exception):
    """The device did not do what it must; the text is one sentence for the report."""


class NotOffered(Exception):
    """The protocol cannot have what is checked; the text says what it lacks."""


@dataclass(slots=True)
class Bench:
    """What every check is given. A check notes its ``samples`` (ns) and what it saw of the ``cards``.

    ``progress`` is told how many of how many things of one check are done.
    """

    device: BenchDevice
    hands: Hands
    progress: Callable[[int, int], None]
    samples: list[int] = field(default_factory=list)
    cards: Cards = field(default_factory=Cards)

    async def by_hand(
        self,
        act: Act,
        kind: type[F] | tuple[type[F], ...],
        fits: Callable[[F], bool] | None = None,
        since: int | None = None,
        within: float = ANSWER_WITHIN,
        timed: bool = True,
    ) -> Heard[F]:
        """Have it done and wait for the event that tells of it. Raises Failed if none does.

        ``since`` is the place in the record from which on it counts (default: from now on). With a
        simulated device the time from the hand to the event is a sample; a person gives no stamp.
        """
        seen = self.device.expecting(kind, fits, since)
        began = monotonic_ns()
        await self.hands.do(act, seen)
        heard = await self.awaited(seen, f"{_named(kind)} was not told", within)
        if timed and self.hands.name == "simulator":
            self.samples.append(heard.at - began)
        return heard

    async def move(self, act: Act) -> None:
        """Have something done of which no event tells."""
        await self.hands.do(act, None)

    async def awaited(self, seen: asyncio.Future[T], otherwise: str, within: float = ANSWER_WITHIN) -> T:
        """What comes within so many seconds. Raises Failed with the sentence ``otherwise``."""
        try:
            return await asyncio.wait_for(seen, within)
        except TimeoutError:
            raise Failed(f"{otherwise} within {within:g} s") from None

    async def ready(self, within: float = READY_WITHIN) -> None:
        """Wait until the device is ready. Raises Failed with the cause and its remedy."""
        if self.device.ready:
            return
        change = self.device.expecting(Change, lambda change: change.cause is None)
        try:
            await asyncio.wait_for(change, within)
        except TimeoutError:
            cause, detail = self.device.life.cause, self.device.life.detail
            said = f"{cause.value}: {detail}. {cause.remedy}" if cause else "it does not say who it is"
            raise Failed(f"not ready within {within:g} s: {said}") from None

    def give(self, command: NumberedCommand) -> Given:
        """Give a command. Raises NotOffered when the protocol has none such."""
        given = self.device.give(command)
        if given.unknown:
            name, speaks = type(command).__name__, self.device.speaks
            raise NotOffered(f"{speaks.role} {speaks.name} has no command {name} ({given.unknown})")
        return given

    async def first(self, given: Given) -> CommandResult:
        """The first result of a command; its time is a sample."""
        heard = await self.awaited(given.first, "no result of the command")
        self.samples.append(heard.at - given.at)
        return heard.fact

    async def final(self, given: Given, within: float = ANSWER_WITHIN) -> CommandResult:
        """The last result of a command."""
        return (await self.awaited(given.final, "the command did not end", within)).fact

    async def done(self, command: NumberedCommand, within: float = ANSWER_WITHIN) -> None:
        """Give a command that must be done. Raises Failed for any other result."""
        given = self.give(command)
        await self.first(given)
        result = await self.final(given, within)
        require(
            result.outcome == "done",
            f"{type(command).__name__} was {result.outcome} (detail {result.detail})",
        )

    async def tally(self, makes: Iterable[Callable[[int], NumberedCommand]]) -> str:
        """Give one command after the other; how often each had which result.

        Raises NotOffered when the protocol has none of them.
        """
        counted: Counter[str] = Counter()
        for make in makes:
            command = make(self.command_id)
            with suppress(NotOffered):
                given = self.give(command)
                await self.first(given)
                counted[f"{type(command).__name__} {(await self.final(given)).outcome}"] += 1
        if not counted:
            raise NotOffered(f"{self.device.speaks.name} has no command that moves nothing")
        return ", ".join(f"{text} ×{times}" for text, times in counted.items())  # noqa: RUF001

    @property
    def command_id(self) -> int:
        """An id for the next command."""
        return self.device.next_command()

    @property
    def anonymous(self) -> bool:
        """The protocol has no serial number, and nothing else of its own to go by: its events are what
        the driver makes of answers, and the device can be asked nothing afterwards."""
        return self.device.who is not None and not self.device.who.serial

    @property
    def dropped(self) -> int:
        """How many frames and stray bytes the driver has thrown away."""
        return sum(self.device.driver.counters.drops.values())


def _named(kind: type[F] | tuple[type[F], ...]) -> str:
    return " or ".join(each.__name__ for each in (kind if isinstance(kind, tuple) else (kind,)))


def require(true: bool, otherwise: str) -> None:
    """Raises Failed with the sentence ``otherwise``."""
    if not true:
        raise Failed(otherwise)


def seconds_since(began: int) -> float:
    """Seconds from a monotonic stamp (ns) to now."""
    return (monotonic_ns() - began) / SECOND


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its ``name`` in the report, and a ``title`` for people.

    ``run`` returns one sentence about what was seen; it raises Failed, NotOffered, CannotDo, NoHands
    or Refused. ``hands`` says that it cannot be run without them.
    """

    name: str
    title: str
    run: Callable[[Bench], Awaitable[str]]
    hands: bool = True
