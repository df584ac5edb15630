"""The device on the bench: its link, its driver, and everything that was heard of it, with stamps.

The link's life, the driver and the acknowledgements are those of the daemon; only the journal is
missing: what stands in this record counts as durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic_ns
from typing import Final, Generic, TypeVar

from daemon.links.base import Cause, Link, LinkError
from daemon.supervisor import Change, LinkLife
from drivers.base import (
    MILLISECOND,
    SECOND,
    Command,
    CommandResult,
    DeviceEvent,
    Driver,
    Drop,
    Emit,
    HealthEvent,
    Identified,
    InSync,
    NumberedCommand,
    OutOfSync,
    Output,
    Send,
    Silent,
)
from drivers.protocol import Binding, DeviceProtocol, Line, Option

SHORTEST_SLEEP: Final = MILLISECOND  # a deadline that stands still cannot take the processor

Fact = DeviceEvent | HealthEvent | Change
F = TypeVar("F", bound=Fact, covariant=True)


@dataclass(frozen=True, slots=True)
class Heard(Generic[F]):
    """A fact, when it was heard (monotonic ns), and its place in the record."""

    fact: F
    at: int
    place: int


@dataclass(slots=True)
class _Awaited:
    """Somebody waits for the first fact that fits."""

    fits: Callable[[Fact], bool]
    future: asyncio.Future[Heard[Fact]]

    def offer(self, heard: Heard[Fact]) -> None:
        if not self.future.done() and self.fits(heard.fact):
            self.future.set_result(heard)


@dataclass(slots=True)
class Given:
    """A command that was given at ``at`` (ns). ``unknown`` is the driver's reason when its protocol
    has no such command, and then nothing was sent."""

    at: int
    first: asyncio.Future[Heard[CommandResult]]
    final: asyncio.Future[Heard[CommandResult]]
    unknown: str = ""


class BenchDevice:
    """One device, from :meth:`start` to :meth:`close`, on the running loop.

    ``serial`` is the only serial number that is taken, "" for any. ``options`` are those of the
    protocol that differ from its own values.
    """

    def __init__(
        self,
        speaks: DeviceProtocol,
        link: Link,
        serial: str = "",
        options: Mapping[str, Option] | None = None,
    ) -> None:
        self.speaks = speaks
        self.link = link
        self.who: Identified | None = None
        self.opened_at = 0
        line: Line = getattr(link, "line", speaks.line)  # the URL may have changed it
        binding = Binding(serial=serial, line=line, options={**speaks.options, **(options or {})})
        self.driver: Driver = speaks.driver(binding)
        self.life = LinkLife("bench", speaks.role, serial)
        self._serial = serial
        self.record: list[Heard[Fact]] = []
        self._awaited: list[_Awaited] = []
        self._last_command = 0
        self._open = False
        self._over = False
        self._alarm: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    # --- life

    def start(self) -> None:
        """Open the link, and again whenever it was lost, until :meth:`close`."""
        self._step()

    def close(self) -> None:
        """Let go of the link; nothing is heard any more."""
        self._over = True
        if self._alarm is not None:
            self._alarm.cancel()
        self.link.close()

    def start_over(self) -> None:
        """Look at the lost link as if for the first time: a plug that was pulled on purpose is no device
        that comes and goes, and is not put on trial for it."""
        self.life = LinkLife("bench", self.speaks.role, self._serial)
        self._rearm()

    @property
    def ready(self) -> bool:
        """Open, identified, and no event is missing."""
        return self.life.ready

    # --- for the checks

    @property
    def mark(self) -> int:
        """The place in the record of what is heard next."""
        return len(self.record)

    def told(self, kind: type[F], since: int = 0) -> list[F]:
        """Everything of one kind that was heard from a place on."""
        return [each.fact for each in self.record[since:] if isinstance(each.fact, kind)]

    def expecting(
        self,
        kind: type[F] | tuple[type[F], ...],
        fits: Callable[[F], bool] | None = None,
        since: int | None = None,
    ) -> asyncio.Future[Heard[F]]:
        """The first fact of a kind that fits, from the place ``since`` on (default: from now on)."""

        def wanted(fact: Fact) -> bool:
            return isinstance(fact, kind) and (fits is None or fits(fact))

        future: asyncio.Future[Heard[F]] = self._loop.create_future()
        awaited = _Awaited(wanted, future)  # type: ignore[arg-type]  # wanted lets nothing but F through
        for heard in self.record[self.mark if since is None else since :]:
            awaited.offer(heard)
        self._awaited = [each for each in self._awaited if not each.future.done()]
        if not future.done():
            self._awaited.append(awaited)
        return future

    def next_command(self) -> int:
        """An id that no command of this bench had."""
        self._last_command += 1
        return self._last_command

    def give(self, command: NumberedCommand) -> Given:
        """Give a numbered command and watch it. One that is accepted ends with another result."""
        mark, at = self.mark, monotonic_ns()
        unknown = self.tell(command)

        def answers(result: CommandResult) -> bool:
            return result.command_id == command.command_id

        def ends(result: CommandResult) -> bool:
            return answers(result) and result.outcome != "accepted"

        first, final = (self.expecting(CommandResult, fits, mark) for fits in (answers, ends))
        return Given(at, first, final, unknown)

    def tell(self, command: Command) -> str:
        """Give any command; why the driver dropped it, "" if it did not."""
        now = monotonic_ns()
        outputs = self.driver.command(command, now)
        self._pass_on(outputs, now)
        self._rearm()
        return next((output.reason for output in outputs if isinstance(output, Drop)), "")

    # --- the link

    def _step(self) -> None:
        """Do what is due: open, give up waiting, tick the driver."""
        now = monotonic_ns()
        if self.life.due(now):
            self._note_changes(self.life.opening(now))
            self._open_link()
        else:
            self._note_changes(self.life.tick(now))
        deadline = self.driver.deadline if self._open else None
        if deadline is not None and deadline <= now:
            self._pass_on(self.driver.tick(now), now)
        self._rearm()

    def _rearm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        times = [self.life.deadline, self.driver.deadline if self._open else None]
        due = min((each for each in times if each is not None), default=None)
        if due is not None and not self._over:
            self._alarm = self._loop.call_later(
                max(SHORTEST_SLEEP, due - monotonic_ns()) / SECOND, self._step
            )

    def _open_link(self) -> None:
        try:
            self.link.open(self._received, self._lost)
        except LinkError as error:
            self._note_changes(self.life.failed(error.cause, error.detail, monotonic_ns()))
            return
        now = self.opened_at = monotonic_ns()
        self._open = True
        self._note_changes(self.life.opened(now))
        self._pass_on(self.driver.opened(now), now)

    def _received(self, data: bytes) -> None:
        now = monotonic_ns()
        self.life.heard(now)
        self._pass_on(self.driver.received(data, now), now)
        self._rearm()

    def _lost(self, cause: Cause, detail: str) -> None:
        now = monotonic_ns()
        if self._open:
            self._open = False
            self._pass_on(self.driver.closed(now), now)
        self._note_changes(self.life.lost(cause, detail, now))
        self._rearm()

    def _pass_on(self, outputs: list[Output], now: int) -> None:
        """Bytes to the link, facts to the record; then the device is told that they are kept."""
        heard = False
        for output in outputs:
            if isinstance(output, Send):
                self.link.write(output.data, output.wake)
            elif isinstance(output, Emit):
                heard = True
                self._note(output.event, now)
                self._note_health(output, now)
        if heard:
            self._pass_on(self.driver.committed(now), now)

    def _note_health(self, output: Emit, now: int) -> None:
        match output.event:
            case Identified() as who:
                self.who = who
                self._note_changes(self.life.identified(who, now))
            case Silent():
                self._note_changes(self.life.silent(now))
            case OutOfSync():
                self._note_changes(self.life.out_of_sync(now))
            case InSync():
                self._note_changes(self.life.in_sync(now))

    def _note_changes(self, changes: list[Change]) -> None:
        if self._open and not self.life.wants_link:
            self._open = False
            self.driver.closed(monotonic_ns())
            self.link.close()
        for change in changes:
            self._note(change, monotonic_ns())

    def _note(self, fact: Fact, now: int) -> None:
        heard = Heard(fact, now, self.mark)
        self.record.append(heard)
        for awaited in self._awaited:
            awaited.offer(heard)
