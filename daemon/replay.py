"""``feltd replay``: what a recording meant, played through the driver or a whole table.

Time is the recording's: a clock that jumps from one moment to the next, so that the same file
always tells the same, as fast as it can be computed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from daemon.build import build_ports, build_table, started
from daemon.clock import FakeClock
from daemon.config import DeviceSettings, Settings
from daemon.engine import Engine
from daemon.journal import Entry as Journalled
from daemon.journal import MemoryJournal
from daemon.links.base import Cause
from daemon.links.url import make_link
from daemon.recording import IN, LOST, OPENED, Entry, Event, Header, Piece, Recording, Told
from daemon.records import SEALED
from daemon.registry import ProtocolError, protocol
from daemon.supervisor import LinkState
from drivers.base import (
    MILLISECOND,
    SECOND,
    Driver,
    Drop,
    Emit,
    Identified,
    InSync,
    OutOfSync,
    Output,
    Send,
    Silent,
)
from drivers.cards import FaceDownCard
from drivers.protocol import Binding, DeviceProtocol, Option

FACE_DOWN: Final = "face-down card"
UNREAD: Final = "unread"
SHORTEST_STEP: Final = MILLISECOND  # a deadline that stands still does not stop time
_HEALTH: Final = (Identified, Silent, OutOfSync, InSync)

Fact = dict[str, object]


class ReplayError(Exception):
    """A recording that cannot be played; the text says why."""


# --- a driver by itself ------------------------------------------------------------------


def driver_for(header: Header, role: str = "", name: str = "") -> Driver:
    """The driver of a recording, made with the line and the options of its header.

    ``role`` and ``name`` of a protocol count before the header's. Raises ReplayError.
    """
    role, name = role or header.role, name or header.protocol
    if not role or not name:
        raise ReplayError("the recording does not say what it is: give --role and --protocol")
    try:
        speaks = protocol(role, name)
        its_own = (role, name) == (header.role, header.protocol)
        return driver_of(speaks, header.link, header.options if its_own else {})
    except (ProtocolError, ValueError) as error:
        raise ReplayError(str(error)) from None


def driver_of(speaks: DeviceProtocol, link: str, options: Mapping[str, Option]) -> Driver:
    """A driver on the line of a link, whose options are these and else the protocol's own.

    Raises ValueError for a link or an option that there is not.
    """
    for name, value in options.items():
        if name not in speaks.options or type(value) is not type(speaks.options[name]):
            raise ValueError(f"{speaks.name} has no option {name}={value!r}")
    line = getattr(make_link(link, speaks.line), "line", speaks.line)
    return speaks.driver(Binding(line=line, options={**speaks.options, **options}))


def settled(driver: Driver, outputs: list[Output], now: int) -> list[Output]:
    """The outputs, and what follows once the events among them are durable."""
    events = any(isinstance(each, Emit) and not isinstance(each.event, _HEALTH) for each in outputs)
    return [*outputs, *driver.committed(now)] if events else outputs


def play(driver: Driver, entries: Iterable[Entry]) -> Iterator[tuple[int, Output]]:
    """Everything that the driver says to a recording, with its time (ns)."""
    now = 0
    for entry in entries:
        while (due := driver.deadline) is not None and max(due, now) < entry.t:
            now = max(due, now)
            yield from ((now, each) for each in settled(driver, driver.tick(now), now))
            now += SHORTEST_STEP if driver.deadline == due else 0
        now = entry.t
        yield from ((entry.t, each) for each in settled(driver, _told(driver, entry), entry.t))


def _told(driver: Driver, entry: Entry) -> list[Output]:
    match entry:
        case Piece(t, dir, data) if dir == IN:
            return driver.received(data, t)
        case Told(t, command):
            return driver.command(command, t)
        case Event(t, event) if event == OPENED:
            return driver.opened(t)
        case Event(t, event) if event == LOST:
            return driver.closed(t)
    return []


def driver_facts(driver: Driver, recording: Recording, faces: bool = False) -> Iterator[Fact]:
    """What the driver said, as plain values. ``faces``: with the cards' faces."""
    for t, output in play(driver, recording.entries):
        yield fact(t, output, faces)


def fact(t: int, output: Output, faces: bool = False) -> Fact:
    """One output as plain values. Without ``faces`` no card's face is in it."""
    if isinstance(output, Send):
        return {"t": t, "send": output.data.hex(" "), **({"wake": output.wake} if output.wake else {})}
    if isinstance(output, Drop):
        return {"t": t, "drop": output.reason}
    event = output.event
    values = {each.name: _shown(getattr(event, each.name), each.name, faces) for each in fields(event)}
    number = {"boot": output.boot, "ordinal": output.ordinal} if output.ordinal else {}
    return {"t": t, "emit": type(event).__name__, **values, **number}


def _shown(value: object, name: str, faces: bool) -> object:
    if isinstance(value, FaceDownCard):
        return value.turn().text if faces else FACE_DOWN
    return UNREAD if value is None and name == "face" else value


def line(said: Fact) -> str:
    """A fact as a line of text: time in seconds, what it is, and its values."""
    whole, rest = divmod(int(str(said["t"])), SECOND)
    words = [f"{key}={json.dumps(value)}" for key, value in list(said.items())[2:]]
    kind = list(said)[1]
    return " ".join([f"{whole:6d}.{rest:09d}", f"{kind:6}", str(said[kind]), *words])


# --- a whole table -----------------------------------------------------------------------


class _Listener(MemoryJournal):
    """A journal that hands on what is journalled; the faces stay where they are."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock
        self.news: list[Fact] = []

    def append(self, entry: Journalled) -> None:
        super().append(entry)
        told = {key: value for key, value in entry.record.items() if key != "at"}
        said = {key: value for key, value in told["input"].items() if key != "rules"}  # they fill pages
        told["input"] = said | ({"face": FACE_DOWN} if said.get("face") == SEALED else {})
        self.news.append({"t": self._clock.now, "record": entry.seq, **told})

    def log(self, event: str, **facts: object) -> None:
        self.news.append({"t": self._clock.now, "log": event, **facts})


class _Player:
    """The engine of a table on recordings instead of links (daemon.engine.Wires)."""

    def __init__(self, settings: Settings, played: Iterable[str]) -> None:
        table = build_table(settings)
        self.clock = FakeClock()
        self.journal = _Listener(self.clock)
        self.engine = Engine(
            table, self.journal, build_ports(settings, table), self.clock, self, self.journal.log
        )
        self._there = dict.fromkeys(played, False)  # whether the recording has the link open
        self._wanted: list[str] = []
        self.engine.start(started(settings))

    def open(self, device: str) -> None:
        self._wanted.append(device)

    def send(self, device: str, data: bytes, wake: int = 0) -> None:
        """The device of a recording hears nothing."""

    def close(self, device: str) -> None:
        """Its bytes are not listened to until the engine opens it again."""

    def take(self, device: str, entry: Entry) -> Iterator[Fact]:
        """Let time pass until the entry, then let it happen; what became of it all."""
        self._until(entry.t)
        match entry:
            case Event(event=event) if event == OPENED:
                self._there[device] = True
                self._open(device)
            case Event(event=event, cause=cause, detail=detail) if event == LOST:
                self._there[device] = False
                known = cause in [each.value for each in Cause]
                self.engine.link_lost(device, Cause(cause) if known else Cause.LOST, detail)
            case Piece(dir=direction, data=data) if direction == IN and self.engine.ports[device].open:
                self.engine.bytes_in(device, data)
        self._open_links()
        yield from self._news()

    def _until(self, t: int) -> None:
        while (due := self.engine.deadline) is not None and max(due, self.clock.now) < t:
            self.clock.now = max(due, self.clock.now)
            self.engine.tick()
            self._open_links()
            self.clock.now += SHORTEST_STEP if self.engine.deadline == due else 0
        self.clock.now = max(t, self.clock.now)

    def _open(self, device: str) -> None:
        """When the recording had its link: a back-off of ours would miss what the device said first."""
        life = self.engine.ports[device].life
        if life.state in (LinkState.CLOSED, LinkState.LOST):
            life.opening(self.clock.now)
        self.engine.link_opened(device)

    def _open_links(self) -> None:
        """Answer what the engine asked for, in a call of its own as a link does."""
        wanted, self._wanted = self._wanted, []
        for device in wanted:
            if self._there.get(device):
                self.engine.link_opened(device)
            else:
                self.engine.link_failed(device, Cause.ABSENT, "the recording has no link to it now")

    def _news(self) -> Iterator[Fact]:
        news, self.journal.news[:] = list(self.journal.news), []
        yield from news


def table_facts(recordings: Sequence[Recording], settings: Settings) -> Iterator[Fact]:
    """What a table makes of recordings that are played together, aligned by their dates.

    Each recording belongs to the device of its role, and of its serial number where several have one
    role. The other devices are absent. No face-down card's face is told. Raises ReplayError.
    """
    devices = [_device(recording.header, settings).id for recording in recordings]
    if len(set(devices)) < len(devices):
        raise ReplayError("two recordings of one device cannot be played together")
    player = _Player(settings, devices)
    starts = _starts([recording.header for recording in recordings])
    timed = [
        (start + entry.t, number, entry)
        for number, (start, recording) in enumerate(zip(starts, recordings, strict=True))
        for entry in recording.entries
    ]
    for t, number, entry in sorted(timed, key=lambda each: each[:2]):
        yield from player.take(devices[number], _at(entry, t))


def _at(entry: Entry, t: int) -> Entry:
    match entry:
        case Piece(_, direction, data):
            return Piece(t, direction, data)
        case Event(_, event, cause, detail):
            return Event(t, event, cause, detail)
        case Told(_, command):
            return Told(t, command)


def _starts(headers: Sequence[Header]) -> list[int]:
    """When each recording began, ns after the first of them."""
    if len(headers) == 1:
        return [0]
    try:
        moments = [datetime.fromisoformat(header.date) for header in headers]
        delays = [moment - min(moments) for moment in moments]
    except (ValueError, TypeError):
        raise ReplayError("recordings are played together by their dates, and one has none") from None
    return [(delay.days * 86_400 + delay.seconds) * SECOND + delay.microseconds * 1_000 for delay in delays]


def _device(header: Header, settings: Settings) -> DeviceSettings:
    if not header.role:
        raise ReplayError("the recording does not say of which role it is: it cannot be seated at a table")
    found = [device for device in settings.devices if device.role == header.role]
    if len(found) > 1:
        found = [device for device in found if device.serial == header.device]
    if len(found) != 1:
        raise ReplayError(f"the configuration has no {header.role} {header.device}".rstrip())
    if found[0].protocol != header.protocol:
        raise ReplayError(f"{found[0].id} speaks {found[0].protocol}, the recording {header.protocol}")
    return found[0]


# --- the command -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Replayed:
    """One view of one or more files: whose, and what was said."""

    files: tuple[Path, ...]
    header: Header
    facts: Iterator[Fact]


def views(
    files: Sequence[tuple[Path, Recording]],
    settings: Settings | None,
    role: str = "",
    name: str = "",
    faces: bool = False,
) -> Iterator[Replayed]:
    """Each file through its driver; with settings, all files through one table. Raises ReplayError."""
    if settings is not None:
        recordings = [recording for _, recording in files]
        facts = table_facts(recordings, settings)
        yield Replayed(tuple(path for path, _ in files), recordings[0].header, facts)
        return
    for path, recording in files:
        driver = driver_for(recording.header, role, name)
        yield Replayed((path,), recording.header, driver_facts(driver, recording, faces))


def paced(view: Replayed, speed: float | None) -> Replayed:
    """The same view, each fact at its time divided by ``speed``; None: at once."""
    return view if speed is None else replace(view, facts=_in_time(view.facts, speed))


def _in_time(facts: Iterator[Fact], speed: float) -> Iterator[Fact]:
    began = time.monotonic()
    for each in facts:
        due = began + int(str(each["t"])) / SECOND / speed
        time.sleep(max(0.0, due - time.monotonic()))
        yield each


def lines(view: Replayed) -> Iterator[str]:
    """A view for people; also the form of the expected events in tests/records."""
    yield f"{' '.join(path.name for path in view.files)}: {view.header.role} {view.header.protocol}".rstrip()
    yield from map(line, view.facts)


def as_plain(view: Replayed) -> Fact:
    """A view as one JSON object."""
    files = [str(path) for path in view.files]
    return {"files": files, "header": asdict(view.header), "facts": list(view.facts)}
