"""What every protocol keeps, whoever wrote it: driver and simulated device on wires that do their worst.

A package with a protocol of its own runs the same tests: a test module with a fixture ``speaks`` that
gives its ``PROTOCOL``, and a class that inherits from :class:`Conformance`.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, TypeVar

import pytest

from daemon import registry
from daemon.links.base import Cause, Link
from daemon.links.memory import MemoryLink
from daemon.links.serial import SerialLink
from daemon.links.tcp import TcpLink
from daemon.links.usb import UsbLink
from daemon.simhost import PtyWire, SimulatorHost, TcpWire, Wire
from drivers import base
from drivers.base import (
    MILLISECOND,
    SECOND,
    CardDrawn,
    CommandResult,
    Deal,
    Display,
    Driver,
    Drop,
    Emit,
    LockShoe,
    OutOfSync,
    Output,
    PacketOut,
    PacketTaken,
    Send,
    Shuffle,
    ShuffleDone,
    ShuffleStarted,
    SignShows,
    Silent,
    Simulator,
)
from drivers.protocol import Binding, DeviceProtocol
from tests.fakes.usb_backend import FakeBus, FakeDevice

Fate = Callable[[bytes], list[bytes]]  # what is sent at once -> the reads in which it arrives
Answer = dict[str, object]
Ends = Callable[[DeviceProtocol, Path], tuple[Link, Wire]]  # both ends of a new wire
T = TypeVar("T")

# Without a checksum a spoilt byte can be another card: no driver can know. All others must.
UNCHECKED: Final = {("shoe", "bee_tek")}


def driver_of(speaks: DeviceProtocol) -> Driver:
    """The driver as a table makes it for a device that it does not know yet."""
    return speaks.driver(Binding(line=speaks.line, options=speaks.options))


def device_of(speaks: DeviceProtocol) -> Simulator:
    """The simulated device, as it comes out of its box."""
    return registry.simulator(speaks)()


# --- wires -------------------------------------------------------------------------------


def whole(data: bytes) -> list[bytes]:
    return [data]


def every_byte(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def lossy(seed: int) -> Fate:
    dice = Random(seed)
    return lambda data: [] if dice.random() < 0.2 else [data]


def doubled(seed: int) -> Fate:
    dice = Random(seed)
    return lambda data: [data] * (dice.randint(2, 5) if dice.random() < 0.3 else 1)


def corrupted(seed: int) -> Fate:
    dice = Random(seed)

    def spoil(data: bytes) -> list[bytes]:
        if not data or dice.random() >= 0.2:
            return [data]
        spoilt = bytearray(data)
        spoilt[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        return [bytes(spoilt)]

    return spoil


def cut_short(seed: int) -> Fate:
    dice = Random(seed)
    return lambda data: [data[: dice.randrange(len(data))] if data and dice.random() < 0.2 else data]


def noisy(seed: int) -> Fate:
    dice = Random(seed)
    return lambda data: [dice.randbytes(30), data] if dice.random() < 0.2 else [data]


def everything(seed: int) -> Fate:
    # Not all at 20 %: half of all frames would be lost, and a sign takes many of them.
    fates, dice = [fate(seed + n) for n, fate in enumerate(BAD.values())], Random(seed)
    return lambda data: [
        byte for read in dice.choice([whole, whole, whole, *fates])(data) for byte in every_byte(read)
    ]


CLEAN: Final[dict[str, Callable[[int], Fate]]] = {
    "whole": lambda seed: whole,
    "every byte": lambda seed: every_byte,
}
BAD: Final[dict[str, Callable[[int], Fate]]] = {
    "lossy": lossy,
    "doubled": doubled,
    "corrupted": corrupted,
    "cut short": cut_short,
    "noisy": noisy,
}
WORST: Final = BAD | {"everything": everything}


# --- benches -----------------------------------------------------------------------------


class Bench:
    """A driver that commits whatever it tells, and what it told and threw away."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.emitted: list[Emit] = []
        self.drops: list[Drop] = []

    @property
    def now(self) -> int:
        raise NotImplementedError

    def do(self, name: str, **arguments: object) -> Answer:
        """A verb of the device."""
        answer = self._verb({"do": name, **arguments})
        assert "error" not in answer, answer
        return answer

    def try_to(self, name: str, **arguments: object) -> Answer:
        """A verb that may be refused."""
        return self._verb({"do": name, **arguments})

    def command(self, command: base.Command) -> None:
        self._host(self.driver.command(command, self.now))

    def told(self, kind: type[T]) -> list[T]:
        return [emit.event for emit in self.emitted if isinstance(emit.event, kind)]

    def _verb(self, verb: Answer) -> Answer:
        raise NotImplementedError

    def _to_device(self, send: Send) -> None:
        raise NotImplementedError

    def _host(self, outputs: list[Output]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self._to_device(output)
            elif isinstance(output, Emit):
                self.emitted.append(output)
            else:
                self.drops.append(output)
        if any(isinstance(output, Emit) for output in outputs):
            self._host(self.driver.committed(self.now))


class Simulated(Bench):
    """Driver and device on one simulated clock. What is sent arrives ``delay`` ns later, in order, in the
    reads that the fate of its direction makes of it."""

    def __init__(
        self,
        speaks: DeviceProtocol,
        to_host: Fate = whole,
        to_device: Fate = whole,
        delay: int = MILLISECOND,
    ) -> None:
        super().__init__(driver_of(speaks))
        self.device = device_of(speaks)
        self.to_host, self.to_device, self.delay = to_host, to_device, delay
        self._now = SECOND
        self._flying: list[tuple[int, bool, bytes]] = []
        self.heard: list[bytes] = []  # by the driver
        self.asked: list[bytes] = []  # of the device

    @property
    def now(self) -> int:
        return self._now

    def open(self) -> None:
        self._host(self.driver.opened(self._now))
        self._device(self.device.opened(self._now))

    def play(self, story: Iterator[float]) -> None:
        for pause in story:
            self.run(pause)

    def run(self, seconds: float) -> None:
        end = self._now + round(seconds * SECOND)
        while (due := self._next_due(end)) < end:
            self._now = max(self._now, due)
            self._deliver()
            self._tick()
        self._now = end

    def hear(self, data: bytes) -> None:
        """Bytes straight into the driver."""
        self.heard.append(data)
        self._host(self.driver.received(data, self._now))

    def _next_due(self, end: int) -> int:
        due = [at for at in (self.driver.deadline, self.device.deadline) if at is not None]
        return min([*due, end, *(at for at, _, _ in self._flying[:1])])

    def _deliver(self) -> None:
        while self._flying and self._flying[0][0] <= self._now:
            _, for_host, data = self._flying.pop(0)
            if for_host:
                self.hear(data)
            else:
                self.asked.append(data)
                self._device(self.device.received(data, self._now))

    def _tick(self) -> None:
        if (due := self.driver.deadline) is not None and due <= self._now:
            self._host(self.driver.tick(self._now))
        if (due := self.device.deadline) is not None and due <= self._now:
            self._device(self.device.tick(self._now))

    def _verb(self, verb: Answer) -> Answer:
        answer, sends = self.device.control(verb, self._now)
        self._device(sends)
        return answer

    def _to_device(self, send: Send) -> None:
        self._flying += [(self._now + self.delay, False, read) for read in self.to_device(send.data)]

    def _device(self, sends: list[Send]) -> None:
        for send in sends:
            self._flying += [(self._now + self.delay, True, read) for read in self.to_host(send.data)]


class Live(Bench):
    """A driver on a real link, and the simulated device on the wire at its other end."""

    def __init__(self, speaks: DeviceProtocol, link: Link, wire: Wire) -> None:
        super().__init__(driver_of(speaks))
        self.link = link
        self.host = SimulatorHost(device_of(speaks), [wire])
        self.lost: tuple[Cause, str] | None = None

    @property
    def now(self) -> int:
        return time.monotonic_ns()

    def connect(self) -> None:
        self.link.open(lambda data: self._host(self.driver.received(data, self.now)), self._on_lost)
        self._host(self.driver.opened(self.now))

    async def play(self, story: Iterator[float]) -> None:
        self.host.plug()
        try:
            self.connect()
            for pause in story:
                await self._live(pause)
        finally:
            self.link.close()
            self.host.stop()

    async def _live(self, seconds: float) -> None:
        end = self.now + round(seconds * SECOND)
        while (now := self.now) < end:
            due = self.driver.deadline
            if due is not None and due <= now:
                self._host(self.driver.tick(now))
            await asyncio.sleep(0.002)

    def _on_lost(self, cause: Cause, detail: str) -> None:
        self.lost = (cause, detail)

    def _verb(self, verb: Answer) -> Answer:
        return self.host.control(verb)

    def _to_device(self, send: Send) -> None:
        self.link.write(send.data, send.wake)


class MemoryWire:
    """The device's end of a memory link, as a wire of the simulator host."""

    def __init__(self, device: MemoryLink, host: MemoryLink) -> None:
        self._ends = (device, host)

    def plug(self, on_bytes: Callable[[bytes], None], on_attach: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._ends[0].open(on_bytes, lambda cause, detail: None)
        on_attach()
        self._pump()

    def unplug(self) -> None:
        self._alarm.cancel()
        self._ends[0].close()

    def write(self, data: bytes) -> None:
        self._ends[0].write(data)

    def _pump(self) -> None:
        for end in self._ends:
            end.deliver()
        self._alarm = self._loop.call_later(0.001, self._pump)


class UsbWire:
    """A device on the fake bus that only passes on what it hears: the simulator host has its life."""

    deadline = None

    def __init__(self) -> None:
        self.device = FakeDevice(simulator=self)

    def plug(self, on_bytes: Callable[[bytes], None], on_attach: Callable[[], None]) -> None:
        self._loop, self._on_bytes = asyncio.get_running_loop(), on_bytes
        on_attach()

    def unplug(self) -> None:
        """Nothing: the test ends here."""

    def write(self, data: bytes) -> None:
        size = self.device.shape.packet
        self.device.give(*(data[at : at + size] for at in range(0, len(data), size)))

    def opened(self, now: int) -> list[Send]:
        return []

    def tick(self, now: int) -> list[Send]:
        return []

    def received(self, data: bytes, now: int) -> list[Send]:
        self._loop.call_soon_threadsafe(self._on_bytes, data)  # the link's thread calls
        return []

    def control(self, verb: Answer, now: int) -> tuple[Answer, list[Send]]:
        return {"error": "it has no verbs"}, []


# --- stories: what a kind of device does, and what must have been told of it ----------------


def until(true: Callable[[], bool], within: float) -> Iterator[float]:
    """Pauses until it is true, or ``within`` seconds are over."""
    for _ in range(round(within / 0.05)):
        if true():
            return
        yield 0.05


class ShoeStory:
    """A round's cards leave the shoe, faster and slower; then it is locked."""

    def __init__(self, cards: int = 30, calm: float = 5.0) -> None:
        self._cards, self._calm = cards, calm  # calm: seconds in which nothing more may be told
        self.drawn: list[object] = []

    def play(self, bench: Bench) -> Iterator[float]:
        dice = Random(self._cards)
        yield 0.3  # in which a link that needs time connects
        yield from until(lambda: bool(bench.told(base.Identified)), 20)
        for _ in range(self._cards):
            self.drawn.append(bench.do("draw")["card"])
            yield dice.choice((0.0, 0.002, 0.05, 0.4))
        yield from until(lambda: len(self.faces(bench)) >= len(self.drawn), 60)
        bench.command(LockShoe(1))
        yield from until(lambda: bool(finals(bench)), 20)
        yield self._calm

    @staticmethod
    def faces(bench: Bench) -> list[object]:
        faces = (event.face for event in bench.told(CardDrawn))
        return [face.turn().text for face in faces if face is not None]

    def told_in_full(self, bench: Bench) -> None:
        assert self.faces(bench) == self.drawn
        numbered = [emit for emit in bench.emitted if isinstance(emit.event, CardDrawn)]
        assert [emit.ordinal - numbered[0].ordinal for emit in numbered] == list(range(len(self.drawn)))
        assert len({emit.boot for emit in numbered}) == 1

    def told_truly(self, bench: Bench) -> None:
        """Cards may be missing or there twice in a row; none is another one or in another place."""
        faces = self.faces(bench)
        once = [face for at, face in enumerate(faces) if at == 0 or faces[at - 1] != face]
        rest = iter(self.drawn)
        assert all(face in rest for face in once), (once, self.drawn)


class ShufflerStory:
    """The machine shuffles and deals packets, which are taken as they come."""

    def __init__(self, packets: int = 3, calm: float = 5.0) -> None:
        self._packets, self._calm = packets, calm

    def play(self, bench: Bench) -> Iterator[float]:
        yield from until(lambda: bool(bench.told(base.Identified)), 20)
        bench.command(Shuffle(1))
        yield from until(lambda: bool(finals(bench)), 60)
        bench.command(Deal(2, self._packets, cards_each=5))
        for packet in range(self._packets):
            yield from until(partial(self._is_out_or_over, bench, packet), 30)
            if PacketOut(packet, 5) in bench.told(PacketOut):
                bench.try_to("take", index=packet)  # a dealer sees whether anything lies there
        yield from until(lambda: len(finals(bench)) > 1, 60)
        yield self._calm

    @staticmethod
    def _is_out_or_over(bench: Bench, packet: int) -> bool:
        return PacketOut(packet, 5) in bench.told(PacketOut) or len(finals(bench)) > 1

    def told_in_full(self, bench: Bench) -> None:
        assert finals(bench) == [CommandResult(1, "done"), CommandResult(2, "done")]
        events = [emit.event for emit in bench.emitted if emit.ordinal]
        assert [emit.ordinal for emit in bench.emitted if emit.ordinal] == list(range(1, len(events) + 1))
        shuffles = [event for event in events if isinstance(event, ShuffleStarted | ShuffleDone)]
        assert [type(event) for event in shuffles] in ([ShuffleStarted, ShuffleDone], [ShuffleDone], [])
        packets = [event for event in events if isinstance(event, PacketOut | PacketTaken)]
        dealt: list[object] = [
            each for n in range(self._packets) for each in (PacketOut(n, 5), PacketTaken(n))
        ]
        assert packets in (dealt, [each for each in dealt if isinstance(each, PacketOut)], [])

    def told_truly(self, bench: Bench) -> None:
        """A command has one end at most; what came of it may have to be looked up by a person."""
        numbers = [result.command_id for result in finals(bench)]
        assert len(numbers) == len(set(numbers))
        assert len(bench.told(ShuffleDone)) <= 1


class SignStory:
    """The meter runs, an announcement comes and goes, and the meter rests."""

    METERS: Final = ("$1,000.00", "$1,000.71", "$1,001.42", "$1,002.13")
    AMOUNTS: Final = (100_000, 100_071, 100_142, 100_213)
    last = Display(METERS[-1])

    def __init__(self, calm: float = 5.0) -> None:
        self._calm = calm

    def play(self, bench: Bench) -> Iterator[float]:
        bench.command(Display(self.METERS[0]))
        yield 3.0
        bench.command(Display(self.METERS[1], "VOID"))
        yield 1.0
        for meter in self.METERS[2:]:
            bench.command(Display(meter))
            yield 0.3
        yield from until(lambda: self._shows(bench), 120)
        yield self._calm

    def _shows(self, bench: Bench) -> bool:
        shows = bench.told(SignShows)
        told = not shows or shows[-1] == SignShows(self.last.meter, "", ())
        return told and bench.do("state")["text"] == self.last.meter

    def told_in_full(self, bench: Bench) -> None:
        assert bench.do("state")["text"] == self.last.meter
        assert bench.told(SignShows)[-1:] in ([SignShows(self.last.meter, "", ())], [])
        self.told_truly(bench)

    def told_truly(self, bench: Bench) -> None:
        """A sign may be late. It never showed an amount that it was not told, nor a lower one."""
        shown = bench.do("history")["amounts"]
        assert isinstance(shown, list)
        assert [amount for amount in self.AMOUNTS if amount in shown] == shown


Story = ShoeStory | ShufflerStory | SignStory
STORIES: Final[dict[str, type[Story]]] = {
    "shoe": ShoeStory,
    "shuffler": ShufflerStory,
    "sign": SignStory,
}

BRIEF: Final[dict[str, Callable[[], Story]]] = {  # for real time
    "shoe": lambda: ShoeStory(cards=6, calm=0.2),
    "shuffler": lambda: ShufflerStory(packets=1, calm=0.2),
    "sign": lambda: SignStory(calm=0.2),
}


def admitted(bench: Bench) -> bool:
    """Whether the table was told that a command failed, or that nobody knows what became of it."""
    return bool(bench.told(base.FaultSet)) or any(result.outcome != "done" for result in finals(bench))


def finals(bench: Bench) -> list[CommandResult]:
    return [result for result in bench.told(CommandResult) if result.outcome != "accepted"]


# --- the tests ---------------------------------------------------------------------------


class Conformance:
    """What is asked of every protocol. ``speaks`` is a fixture."""

    @pytest.mark.parametrize("delay", [0, 3, 200], ids=lambda ms: f"{ms} ms")
    @pytest.mark.parametrize("name", CLEAN)
    def test_on_a_clean_wire_everything_is_told_once(
        self, speaks: DeviceProtocol, name: str, delay: int
    ) -> None:
        fate = CLEAN[name]
        bench = Simulated(speaks, fate(1), fate(2), delay * MILLISECOND)
        story = STORIES[speaks.role]()
        bench.open()
        bench.play(story.play(bench))
        story.told_in_full(bench)

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("name", WORST)
    def test_on_a_bad_wire_nothing_false_is_told(self, speaks: DeviceProtocol, name: str, seed: int) -> None:
        """And nothing lost or doubled, where the protocol can prove delivery and nobody admits a failure."""
        fate = WORST[name]
        bench = Simulated(speaks, fate(2 * seed), fate(2 * seed + 1), 3 * MILLISECOND)
        story = STORIES[speaks.role]()
        bench.open()
        bench.play(story.play(bench))
        bench.to_host = bench.to_device = whole  # a sign is only right for as long as its wire is
        bench.run(30)
        if speaks.proves_delivery and not admitted(bench):
            story.told_in_full(bench)
        elif (speaks.role, speaks.name) not in UNCHECKED or name in ("lossy", "doubled"):
            story.told_truly(bench)

    def test_any_chunking_of_the_same_bytes_is_the_same(self, speaks: DeviceProtocol) -> None:
        heard = recording(speaks)
        stream = b"".join(heard)
        if not stream:
            pytest.skip("nothing comes back on the line of this device")
        dice = Random(1)
        cuts = sorted(dice.sample(range(len(stream)), min(len(stream) // 3, 400)))
        chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
        results = [outcome_of(speaks, reads) for reads in (heard, [stream], every_byte(stream), chunks)]
        assert results[1:] == results[:1] * 3

    def test_noise_ends_in_a_drop_and_the_next_frame_counts(self, speaks: DeviceProtocol) -> None:
        """Whatever is thrown away is counted; a driver that has heard noise still hears the device."""
        bench = Simulated(speaks)
        bench.open()
        bench.run(2)
        for read in (b"\x82\x35\xff", Random(1).randbytes(100_000), bytes(10_000), b"\xff" * 10_000):
            bench.hear(read)
        assert bench.drops or speaks.role == "sign"
        assert sum(bench.driver.counters.drops.values()) == len(bench.drops)
        story = STORIES[speaks.role]()
        bench.play(story.play(bench))
        if speaks.proves_delivery:
            story.told_in_full(bench)

    def test_a_closed_link_is_quiet(self, speaks: DeviceProtocol) -> None:
        bench = Simulated(speaks)
        bench.open()
        bench.run(1)
        bench.driver.closed(bench.now)
        assert bench.driver.deadline is None
        assert [out for out in bench.driver.tick(bench.now + SECOND) if not isinstance(out, Drop)] == []

    def test_a_cut_wire_is_noticed_by_whoever_waits_for_something(self, speaks: DeviceProtocol) -> None:
        """A device with a heartbeat, or that is asked regularly, is missed within 10 s."""
        bench = Simulated(speaks)
        bench.open()
        bench.command(Display("$1.00"))
        bench.run(8)
        waits = bench.driver.deadline is not None and speaks.proves_delivery
        bench.to_host = bench.to_device = lambda data: []
        bench.run(10)
        missed = any(isinstance(emit.event, Silent | OutOfSync) for emit in bench.emitted)
        assert missed or not waits

    def test_over_a_real_link(self, speaks: DeviceProtocol, ends: Ends, tmp_path: Path) -> None:
        """A link of the daemon, the simulator host at its other end, real time."""

        async def scene() -> None:
            link, wire = ends(speaks, tmp_path)
            bench = Live(speaks, link, wire)
            story = BRIEF[speaks.role]()
            if isinstance(wire, PtyWire | TcpWire):
                bench.do("split")
            await bench.play(story.play(bench))
            story.told_in_full(bench)
            assert bench.lost is None

        asyncio.run(scene())


def played(speaks: DeviceProtocol) -> Simulated:
    """A bench after one story on a clean wire."""
    bench = Simulated(speaks)
    bench.open()
    bench.play(STORIES[speaks.role]().play(bench))
    return bench


def recording(speaks: DeviceProtocol) -> list[bytes]:
    """What a driver hears in one story on a clean wire, read by read."""
    return played(speaks).heard


def outcome_of(speaks: DeviceProtocol, reads: list[bytes]) -> tuple[list[Emit], list[Drop]]:
    """What a new driver tells of these reads and throws away, all in one instant."""
    bench = Simulated(speaks)
    bench._host(bench.driver.opened(bench.now))
    for read in reads:
        bench.hear(read)
    return bench.emitted, bench.drops


# --- links: both ends of a new wire ---------------------------------------------------------


def _memory(speaks: DeviceProtocol, folder: Path) -> tuple[Link, Wire]:
    here, there = MemoryLink.pair()
    return here, MemoryWire(there, here)


def _pty(speaks: DeviceProtocol, folder: Path) -> tuple[Link, Wire]:
    path = folder / "device.tty"
    return SerialLink(str(path), speaks.line), PtyWire(path)


def _tcp(speaks: DeviceProtocol, folder: Path) -> tuple[Link, Wire]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return TcpLink(f"tcp://127.0.0.1:{port}", speaks.line), TcpWire("127.0.0.1", port)


def _usb(speaks: DeviceProtocol, folder: Path) -> tuple[Link, Wire]:
    wire = UsbWire()
    return UsbLink("usb://1209:0001", speaks.line, FakeBus(wire.device)), wire


LINKS: Final[dict[str, Ends]] = {"memory": _memory, "pty": _pty, "tcp": _tcp, "usb": _usb}
