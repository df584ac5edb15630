"""``feltd record``: everything that goes over a link, into a new file (docs/recording.md).

Without a driver nothing is ever written to the device. With one the device is driven as the daemon
would drive it: an event counts as durable, and is acknowledged, once its line is in the file.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from errno import EEXIST
from pathlib import Path
from typing import Final

from daemon.clock import stamp
from daemon.links.base import Cause, Link, LinkError
from daemon.links.url import make_link
from daemon.recording import ENDED, IDENTIFIED, IN, LOST, OPENED, OUT, Event, Header, Piece, Told, Writer
from daemon.registry import protocol
from daemon.replay import driver_of, settled
from drivers.base import MILLISECOND, SECOND, Command, Display, Driver, Emit, Identified, Output, Send
from drivers.protocol import DeviceProtocol, Line, Option

RETRY: Final = 0.5  # seconds between attempts to open a link that was lost
PROGRESS: Final = 1.0  # seconds
SHORTEST_SLEEP: Final = MILLISECOND


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """What to record. ``listen``: take the line of the protocol, and never write. ``seconds`` None
    means until a signal. ``meter`` is what a sign is told to show."""

    link: str
    file: Path
    role: str = ""
    protocol: str = ""
    listen: bool = False
    who: str = ""
    note: str = ""
    device: str = ""
    firmware: str = ""
    seconds: float | None = None
    meter: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Raises ValueError or ProtocolError with one sentence for the person who asked."""
        if bool(self.role) != bool(self.protocol):
            raise ValueError("give --role and --protocol together, or neither")
        if self.listen and not self.role:
            raise ValueError("--listen says that a named protocol is not driven: give --role and --protocol")
        if self.meter and (self.role != "sign" or self.listen):
            raise ValueError("--meter is for a sign that is driven")
        if self.options and not self.role:
            raise ValueError("--option is for a driver: give --role and --protocol")
        if not self.role:
            make_link(self.link, Line())
            return
        speaks = protocol(self.role, self.protocol)
        driver_of(speaks, self.link, self.typed(speaks))

    def typed(self, speaks: DeviceProtocol) -> dict[str, Option]:
        """The options with the types of the protocol's own. Raises ValueError."""
        return {name: _typed(speaks, name, text) for name, text in self.options.items()}


def _typed(speaks: DeviceProtocol, name: str, text: str) -> Option:
    default = speaks.options.get(name, "")
    if isinstance(default, bool) and text in ("true", "false"):
        return text == "true"
    return int(text) if isinstance(default, int) and text.isdecimal() else text


@dataclass(slots=True)
class Tally:
    """What was recorded so far. ``frames`` counts what the driver understood, else single reads."""

    bytes_in: int = 0
    bytes_out: int = 0
    frames: int = 0
    drops: int = 0
    losses: int = 0


def told(tally: Tally) -> str:
    """The tally as a line."""
    return (
        f"{tally.bytes_in} bytes in, {tally.bytes_out} out, {tally.frames} frames, "
        f"{tally.drops} dropped, {tally.losses} times lost"
    )


class Recorder:
    """A link, a file, and perhaps a driver. Lives in a running event loop."""

    def __init__(self, link: Link, driver: Driver | None) -> None:
        self._link = link
        self._driver = driver
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None
        self._reads = 0
        self._begun = 0
        self.tally = Tally()

    def open(self) -> None:
        """Open the link. Raises LinkError. Nothing is heard before :meth:`begin`."""
        self._link.open(self._heard, self._lost)
        self._begun = time.monotonic_ns()

    def begin(self, writer: Writer) -> None:
        """From now on everything goes into this file."""
        self._writer = writer
        self._opened()

    def tell(self, command: Command) -> None:
        """Give the driver a command; it is in the file. Only where there is a driver."""
        assert self._driver is not None
        now = self._now()
        self._writer.put(Told(now, command))
        self._perform(self._driver.command(command, now), now)

    def end(self) -> None:
        """The last line of a recording that was ended on purpose."""
        self._writer.put(Event(self._now(), ENDED))

    def close(self) -> None:
        """Let go of the link."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._link.close()

    def _now(self) -> int:
        return time.monotonic_ns() - self._begun

    def _opened(self) -> None:
        now = self._now()
        self._writer.put(Event(now, OPENED))
        if self._driver is not None:
            self._perform(self._driver.opened(now), now)

    def _heard(self, data: bytes) -> None:
        now = self._now()
        self._writer.put(Piece(now, IN, data))
        self.tally.bytes_in += len(data)
        self._reads += 1
        if self._driver is not None:
            self._perform(self._driver.received(data, now), now)
        self._count()

    def _lost(self, cause: Cause, detail: str) -> None:
        now = self._now()
        self._writer.put(Event(now, LOST, cause.value, detail))
        self.tally.losses += 1
        if self._driver is not None:
            self._perform(self._driver.closed(now), now)
        self._loop.call_later(RETRY, self._reopen)

    def _reopen(self) -> None:
        try:
            self._link.open(self._heard, self._lost)
        except LinkError:
            self._loop.call_later(RETRY, self._reopen)
        else:
            self._opened()

    def _tick(self) -> None:
        assert self._driver is not None
        now = self._now()
        due = self._driver.deadline
        self._perform(self._driver.tick(now) if due is not None and due <= now else [], now)

    def _perform(self, outputs: list[Output], now: int) -> None:
        assert self._driver is not None
        for output in settled(self._driver, outputs, now):
            if isinstance(output, Send):
                self._writer.put(Piece(now, OUT, output.data))
                self.tally.bytes_out += len(output.data)
                self._link.write(output.data, output.wake)
            elif isinstance(output, Emit) and isinstance(output.event, Identified):
                who = output.event
                self._writer.put(Event(now, IDENTIFIED, detail=f"{who.role} {who.serial} {who.firmware}"))
        self._count()
        self._rearm(self._driver.deadline)

    def _count(self) -> None:
        counters = self._driver.counters if self._driver is not None else None
        self.tally.frames = counters.frames if counters is not None else self._reads
        self.tally.drops = sum(counters.drops.values()) if counters is not None else 0

    def _rearm(self, deadline: int | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if deadline is not None:
            wait = max(SHORTEST_SLEEP, deadline - self._now())
            self._alarm = self._loop.call_later(wait / SECOND, self._tick)


async def record(options: RecordOptions, progress: Callable[[Tally], None]) -> Tally:
    """Record until SIGTERM, SIGINT or the end of the time; ``progress`` is told once a second.

    Raises what :meth:`RecordOptions.check` does, FileExistsError, LinkError (the link cannot be opened, and
    no file is left), and OSError when the file cannot be written on: it is whole up to there.
    """
    speaks = protocol(options.role, options.protocol) if options.role else None
    typed = options.typed(speaks) if speaks else {}
    driver = driver_of(speaks, options.link, typed) if speaks and not options.listen else None
    link = make_link(options.link, speaks.line if speaks else Line())
    if os.path.lexists(options.file):  # before the port is touched
        raise FileExistsError(EEXIST, "is there already, and is kept", str(options.file))
    ended = _ending()
    recorder = Recorder(link, driver)
    recorder.open()
    try:
        with Writer(options.file, _header(options, typed)) as writer:
            recorder.begin(writer)
            if options.meter:
                recorder.tell(Display(options.meter))
            await _wait(ended, options.seconds, lambda: progress(recorder.tally))
            recorder.end()
    finally:
        recorder.close()
    return recorder.tally


def _header(options: RecordOptions, typed: Mapping[str, Option]) -> Header:
    return Header(
        role=options.role,
        protocol=options.protocol,
        link=options.link,
        device=options.device,
        firmware=options.firmware,
        date=stamp(time.time_ns()),
        who=options.who,
        note=options.note,
        options=typed,
    )


def _ending() -> asyncio.Future[None]:
    """Done at a signal; it fails with what went wrong in a callback of the loop."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def fail(_: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        if not ended.done():
            ended.set_exception(error if isinstance(error, Exception) else RuntimeError(context["message"]))

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _end, ended)
    loop.set_exception_handler(fail)
    return ended


def _end(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


async def _wait(ended: asyncio.Future[None], seconds: float | None, progress: Callable[[], None]) -> None:
    if seconds is not None:
        asyncio.get_running_loop().call_later(seconds, _end, ended)
    while not ended.done():
        await asyncio.wait([ended], timeout=PROGRESS)
        progress()
    ended.result()
