"""The engine on an event loop: its links, its alarm, and those who wait for news of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final, ParamSpec, TypeVar

from daemon.clock import Clock
from daemon.engine import Engine, Log, Port
from daemon.games.desk import Act
from daemon.games.linked import LinkedGame, Told
from daemon.house import House
from daemon.journal import SqliteJournal
from daemon.linked.desk import LinkDesk
from daemon.links.base import Cause, Link, LinkError
from daemon.metrics import Latency, TimedJournal
from daemon.notify import notify, watchdog_seconds
from daemon.records import Plain
from daemon.reserve import Reserve
from daemon.table import Noticed, Started, Table
from daemon.watch import Watch
from drivers.base import MILLISECOND, SECOND, Output, Send

SHORTEST_SLEEP: Final = MILLISECOND  # a deadline that stands still cannot take the processor
STUCK: Final = 60 * SECOND  # another program holds the journal: by then a restart may find out who
LOOK_EVERY: Final = 1.0  # seconds
FAREWELL: Final = 1.5  # seconds: how long a paced sign needs for the safe text
FAREWELL_STEP: Final = 0.02  # seconds
NO_ROOM: Final = "the journal's disk is full: nothing is accepted until there is room; it goes on by itself"
# Taken back, recorded, or not certain: the journal knows, and only the next process reads it.
STOPPED_WITHIN: Final = (
    "the daemon stops; repeat the act with the same key once it runs again: it is done if it was not recorded"
)

P = ParamSpec("P")
R = TypeVar("R")


class Stopped(Exception):
    """The service is ending. The text says what is known of an act that met its end."""


class Service:
    """Everything that enters the engine enters here, on one loop (daemon.engine.Wires).

    Whatever the engine raises is fail-stop: nothing enters any more, ``over`` is set, and
    ``failure`` says why.
    """

    def __init__(
        self,
        table: Table,
        journal: SqliteJournal,
        ports: Mapping[str, Port],
        links: Mapping[str, Link],
        clock: Clock,
        log: Log,
        watch: Watch | None = None,
        reserve: Reserve | None = None,
    ) -> None:
        self.latency = Latency()
        self.engine = Engine(table, TimedJournal(journal, self.latency), ports, clock, self, log)
        self.engine.tidy = journal.tidy
        self.journal = journal
        self.over = asyncio.Event()
        self.failure: Exception | None = None
        self.no_room = False
        self._links = links
        self._clock = clock
        self._log = log
        self._watch = watch
        self._reserve = reserve
        self._next_look: asyncio.TimerHandle | None = None
        self._next_ping: asyncio.TimerHandle | None = None
        self.house = House()  # the configuration's
        self.installation = ""  # what was found of the installed files (daemon.integrity)
        self._status = ""
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None
        self._news = asyncio.Event()
        self._told = 0
        self.link = LinkDesk(
            table.game if isinstance(table.game, LinkedGame) else None, self._hear, clock.monotonic
        )
        self._waiting: list[tuple[Act, asyncio.Future[Plain | None]]] = []

    # --- life -----------------------------------------------------------------------------

    def start(self, started: Started) -> None:
        """The first input, then the first look at every link; on a full disk, once there is room."""
        self._loop.call_soon(self._ping, watchdog_seconds() or LOOK_EVERY)
        self._begin(started)

    def _begin(self, started: Started) -> None:
        if self.over.is_set():
            return
        room = (self._reserve is None or self._reserve.hold()) and self.journal.has_room()
        if self.no_room != (no_room := not room):
            self.no_room = no_room
            self._log("no-room" if no_room else "room-again", journal=str(self.journal.path))
        if no_room:
            self._next_look = self._loop.call_later(LOOK_EVERY, self._begin, started)
            return
        self._enter(self.engine.start, started)
        self._enter(self.engine.tick)
        self._look()
        self.link.start()

    def stop(self) -> None:
        """Let nothing in any more. Those who wait are answered."""
        self.over.set()
        self._news.set()
        self.link.stop()
        for timer in (self._alarm, self._next_look, self._next_ping):
            if timer is not None:
                timer.cancel()

    async def finish(self) -> None:
        """Let go of the links; after a failure the sign is first given its safe text."""
        self.stop()
        if self.failure is not None:
            with suppress(Exception):
                await self._show_safe_text()
        for link in self._links.values():
            link.close()

    def _fail(self, error: Exception) -> None:
        self.failure = error
        self._log("fail-stop", error=type(error).__name__, text=str(error))
        self.stop()

    async def _show_safe_text(self) -> None:
        """A sign takes its bytes at its own pace: its driver is ticked without the engine."""
        self.engine.safe_text()
        end = self._loop.time() + FAREWELL
        while self._loop.time() < end:
            now = self._clock.monotonic()
            for port in self.engine.ports.values():
                deadline = port.driver.deadline if port.open else None
                if deadline is not None and deadline <= now:
                    self._pass_on(port.id, port.driver.tick(now))
            await asyncio.sleep(FAREWELL_STEP)

    def _pass_on(self, device: str, outputs: list[Output]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self._links[device].write(output.data, output.wake)

    # --- what enters the engine -----------------------------------------------------------

    async def act_soon(self, act: Act) -> Plain | None:
        """One act (``Engine.act``), in one commit with the others that wait in this turn of the loop.

        Raises Stopped when the service is ending.
        """
        answer: asyncio.Future[Plain | None] = self._loop.create_future()
        self._waiting.append((act, answer))
        if len(self._waiting) == 1:
            self._loop.call_soon(self._act_together)
        return await answer

    def _act_together(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            answers = self._acts([act for act, _ in waiting])
        except Stopped as reason:
            for _, answer in waiting:
                if not answer.cancelled():
                    answer.set_exception(Stopped(*reason.args))
            return
        for (_, answer), told in zip(waiting, answers, strict=True):
            if not answer.cancelled():  # nobody waits for it any more; it is done all the same
                answer.set_result(told)

    def _acts(self, acts: list[Act]) -> list[Plain | None]:
        if self.over.is_set():
            raise Stopped("the daemon is stopping; nothing was changed")
        if self.no_room:
            raise Stopped(NO_ROOM)
        answers = self._enter(self.engine.acts, acts)
        if self.failure is not None or answers is None:
            raise Stopped(STOPPED_WITHIN)
        return answers

    def notice(self, noticed: Noticed) -> None:
        """Something about the controller itself: logged, and an input like any other."""
        if self.no_room:
            return  # it is told again by the next start
        self._log("noticed", code=noticed.code, holds=noticed.holds, text=noticed.text)
        self._enter(self.engine.notice, noticed)

    def _hear(self, told: Told) -> Plain | None:
        return None if self.no_room else self._enter(self.engine.hear, told)

    def _look(self) -> None:
        """What the controller notices about itself goes the way of every input."""
        if self._watch is None or self.over.is_set():
            return
        for noticed in self._watch.look():
            self.notice(noticed)
        self._next_look = self._loop.call_later(LOOK_EVERY, self._look)

    def _ping(self, every: float) -> None:
        """Tell the service manager that there is progress: the loop turns, and the journal takes inputs.

        A commit happens on the loop, so one that hangs stops the pings too.
        """
        if self.over.is_set():
            return
        if self.engine.held_for < STUCK:
            notify("WATCHDOG=1")
        status = self.engine.summary()
        if status != self._status:
            self._status = status
            notify(f"STATUS={status}")
        self._next_ping = self._loop.call_later(every, self._ping, every)

    def view(self) -> Plain:
        """The answer of ``feltd status``; ``wire`` is what a link says of itself (a close that hangs)."""
        view = self.engine.view()
        view["installation"] = self.installation
        view["house"] = self.house.plain()
        if "linked" in (view.get("pool") or {}):
            age = self.link.age
            view["pool"]["age_ms"] = None if age is None else age // MILLISECOND
        for device, told in view["devices"].items():
            told["wire"] = self._links[device].describe()
        if self.no_room:
            fault = {"code": "disk-full", "since": "", "text": NO_ROOM, "cleared_by": "room on the disk"}
            view["faults"] = [*view["faults"], fault]
        return view

    @property
    def stopping(self) -> bool:
        return self.over.is_set()

    async def changed(self, after: int, wait: float) -> None:
        """Return once a record later than ``after`` is committed, or after ``wait`` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                while self.engine.committed <= after and not self.over.is_set():
                    await self._news.wait()

    def _enter(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
        if self.over.is_set():
            return None
        try:
            return call(*args, **kwargs)
        except Exception as error:
            self._fail(error)
            return None
        finally:
            self._settle()

    def _settle(self) -> None:
        """After every entrance: the alarm fits the new deadline, and news are told."""
        if self.engine.committed != self._told:
            self._told = self.engine.committed
            self._news.set()
            self._news = asyncio.Event()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        deadline = self.engine.deadline
        if deadline is not None and not self.over.is_set():
            due = max(deadline, self._clock.monotonic() + SHORTEST_SLEEP)
            self._alarm = self._loop.call_at(due / SECOND, self._enter, self.engine.tick)

    # --- daemon.engine.Wires --------------------------------------------------------------

    def open(self, device: str) -> None:
        # In a call of its own: the engine is still in the middle of the one that asked.
        self._loop.call_soon(self._open, device)

    def _open(self, device: str) -> None:
        if self.over.is_set():
            return
        try:
            self._links[device].open(partial(self._bytes_in, device), partial(self._lost, device))
        except LinkError as error:
            self._enter(self.engine.link_failed, device, error.cause, error.detail)
        else:
            self._enter(self.engine.link_opened, device)

    def send(self, device: str, data: bytes, wake: int = 0) -> None:
        self._links[device].write(data, wake)

    def close(self, device: str) -> None:
        self._links[device].close()

    def _bytes_in(self, device: str, data: bytes) -> None:
        if self.failure is not None:  # the sign's answers pace its safe text
            driver = self.engine.ports[device].driver
            self._pass_on(device, driver.received(data, self._clock.monotonic()))
            return
        self._enter(self.engine.bytes_in, device, data)

    def _lost(self, device: str, cause: Cause, detail: str) -> None:
        self._enter(self.engine.link_lost, device, cause, detail)
