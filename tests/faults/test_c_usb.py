"""Group C of the fault catalogue: USB."""

from __future__ import annotations

import asyncio
import errno
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Self

import pytest

from daemon import journal as journals
from daemon.clock import SystemClock
from daemon.engine import Port
from daemon.games.desk import Act
from daemon.links.base import Cause
from daemon.links.memory import MemoryLink
from daemon.links.usb import UsbLink, UsbTransport, parse_url
from daemon.rig import Device
from daemon.sealer import Sealer
from daemon.service import Service
from daemon.supervisor import LinkLife
from daemon.table import Started
from drivers import fdp
from drivers.base import (
    Command,
    CommandResult,
    Counters,
    Display,
    Emit,
    Identified,
    LockShoe,
    OutOfSync,
    Output,
    Restarted,
    Send,
    SignShows,
    Silent,
)
from drivers.cards import DECK
from drivers.framing import Deframer
from drivers.shoe.fdp import FdpShoe
from drivers.shoe.sim_fdp import ShoeSim
from drivers.shuffler.fdp import FdpShuffler
from drivers.shuffler.sim_fdp import ShufflerSim
from tests.fakes.driver_host import DriverHost
from tests.fakes.ear import Ear, until
from tests.fakes.usb_backend import FOR_EVER, FakeBus, FakeDevice
from tests.fakes.usb_descriptors import Shape
from tests.table.floor import Floor

SHOE = "usb://1209:0001:SHOE0001"
SHUFFLER = "usb://1209:0001:SHUF0001"
PATIENCE = 30  # seconds


def frames(data: bytes) -> list[fdp.Frame]:
    """The FDP frames in what a device was sent."""
    return [fdp.decode(body) for body in Deframer().feed(data) if isinstance(body, bytes)]


def shoe(kernel_driver: bool = False) -> FakeDevice:
    return FakeDevice(Shape(serial="SHOE0001"), ShoeSim(deck=DECK), kernel_driver=kernel_driver)


# --- C01: the interface is held by somebody else ---------------------------------------------


@pytest.mark.parametrize("kernel_driver", [False, True])
def test_c01_a_device_that_is_busy_for_a_while_is_taken_when_it_is_let_go_of(kernel_driver: bool) -> None:
    async def story() -> None:
        device = shoe(kernel_driver)
        device.fail("claim", errno.EBUSY, FOR_EVER)
        host = DriverHost(FdpShoe(), UsbLink(SHOE, backend=FakeBus(device)))
        host.start()
        await until(lambda: len(host.losses) >= 3)
        assert {cause for cause, _ in host.losses} == {Cause.BUSY}
        device.fail("claim", 0, 0)
        await until(lambda: host.told(Identified))
        assert device.count("detach") == (device.count("attach") + 1 if kernel_driver else 0)
        host.stop()
        await until(lambda: device.count("close") == device.count("open"))
        assert device.kernel_driver is kernel_driver
        assert device.count("set_configuration") == 0

    asyncio.run(story())


def test_c01_a_device_that_stays_busy_is_one_clear_fault_with_its_holder() -> None:
    device = FakeDevice()
    device.fail("claim", errno.EBUSY, FOR_EVER)
    link, refusals = UsbTransport(parse_url("usb://1209:0001"), FakeBus(device)), set()
    for _ in range(3):
        begun = time.monotonic()
        with pytest.raises(Exception, match="held by another program") as refusal:
            link.open()
        link.close()
        refusals.add(str(refusal.value))
        assert time.monotonic() - begun < 5
    assert len(refusals) == 1
    assert device.count("open") == device.count("close")


def test_c01_a_device_that_turns_busy_in_the_middle_comes_back() -> None:
    async def story() -> None:
        device = shoe()
        host = DriverHost(FdpShoe(), UsbLink(SHOE, backend=FakeBus(device)))
        host.start()
        await until(lambda: host.told(Identified))
        device.control("draw")
        device.fail("read", errno.EBUSY)
        await until(lambda: host.losses)
        device.control("draw")
        await until(lambda: len(host.faces) == 2)
        host.stop()
        assert host.losses[0][0] is Cause.BUSY
        assert host.faces == list(DECK[:2])
        assert device.count("set_configuration") == 0

    asyncio.run(story())


# --- C02: SET_CONFIGURATION is a light reset -------------------------------------------------


def test_c02_ten_restarts_in_a_round_forget_nothing() -> None:
    async def story() -> None:
        device, faces, resume = shoe(), [], None
        bus = FakeBus(device)
        for restart in range(10):
            device.control("draw")
            device.give(b"\x00" * 64)  # waits in the device: a reset would lose it
            host = DriverHost(FdpShoe(resume), UsbLink(SHOE, backend=bus))
            host.start()
            device.control("draw")
            await until(lambda host=host, many=2: len(host.faces) == many)
            faces += host.faces
            last = [emit for emit in host.emitted if emit.ordinal][-1]
            resume = (last.boot, last.ordinal)
            host.stop()
            await until(lambda many=restart: device.count("close") == many + 1)
        assert faces == list(DECK[:20])
        assert device.count("set_configuration") == 0

    asyncio.run(story())


# --- C03: a new address after every plug -----------------------------------------------------


def test_c03_a_hundred_replugs_find_the_right_one_of_two() -> None:
    async def story() -> None:
        wanted, other = FakeDevice(Shape(serial="A")), FakeDevice(Shape(serial="B"))
        bus, random = FakeBus(other, wanted), Random(3)
        link = UsbLink("usb://1209:0001:A", backend=bus)
        addresses = set()
        for cycle in range(100):
            ear = Ear()
            ear.open(link)
            wanted.give(b"wanted %d" % cycle)
            other.give(b"other")
            assert (await ear.heard(8))[:6] == b"wanted"
            for device in random.sample([wanted, other], random.choice([1, 2])):
                bus.unplug(device, listed=random.choice([0, 0.02]))
                if device is wanted:
                    assert await ear.lost() is Cause.LOST
                addresses.add(bus.plug(device))
            link.close()
            await until(lambda: wanted.count("close") == wanted.count("open"))
        assert len(addresses) > 100
        assert other.count("claim 0") == 0
        assert other.count("close") == other.count("open")

    asyncio.run(story())


def test_c03_a_driver_that_reopens_is_back_within_three_seconds() -> None:
    async def story() -> None:
        device = shoe()
        bus = FakeBus(device)
        host = DriverHost(FdpShoe(), UsbLink(SHOE, backend=bus))
        host.start()
        for cycle in range(1, 4):
            await until(lambda many=cycle: host.told(Identified) == many)
            bus.unplug(device, listed=0.18)
            await until(lambda many=cycle: len(host.losses) >= many)
            bus.plug(device)
            begun = time.monotonic()
            await until(lambda many=cycle: host.told(Identified) == many + 1)
            assert time.monotonic() - begun < 3
        host.stop()

    asyncio.run(story())


# --- C05: a time-out may carry data ----------------------------------------------------------


@pytest.mark.parametrize("cut", range(1, 64, 7))
def test_c05_a_frame_in_two_short_reads_is_one_frame(cut: int) -> None:
    """pyusb hands over the bytes of a transfer that ran out of time as if it had ended."""
    device = FakeDevice()
    link = UsbTransport(parse_url("usb://1209:0001"), FakeBus(device))
    link.open()
    hello = fdp.encode(fdp.Hello(7, 0, fdp.Role.SHOE, "SHOE0001", "SIM-1.0", bytes(8)), 0)
    driver = FdpShoe()
    driver.opened(0)
    device.give(hello[:cut], b"", errno.ETIMEDOUT, hello[cut:])
    reads = [link.read(5) for _ in range(5)]
    told = [out for data in reads for out in driver.received(data, 0)]
    assert b"".join(reads) == hello
    assert sum(isinstance(out, Emit) and isinstance(out.event, Identified) for out in told) == 1
    assert driver.counters.drops == {}
    link.close()


# --- C06: idle, one stall, and a command that worked though it "timed out" -------------------


def test_c06_ten_idle_minutes_are_no_fault() -> None:
    device = FakeDevice()
    device.hurries = True
    link = UsbTransport(parse_url("usb://1209:0001"), FakeBus(device))
    link.open()
    for _ in range(10 * 60 * 50):  # reads of 20 ms
        assert link.read(20) == b""
    device.give(b"still there")
    assert link.read(20) == b"still there"
    link.close()


def test_c06_a_single_stall_costs_a_resynchronisation_and_no_card() -> None:
    async def story() -> None:
        device = shoe()
        host = DriverHost(FdpShoe(), UsbLink(SHOE, backend=FakeBus(device)))
        host.start()
        await until(lambda: host.told(Identified))
        device.control("draw")
        device.give(errno.EPIPE)
        device.control("draw")
        await until(lambda: len(host.faces) == 2)
        host.stop()
        assert host.faces == list(DECK[:2])
        assert host.losses == []
        assert device.count("clear_halt 82") == 1

    asyncio.run(story())


def test_c06_a_command_that_timed_out_and_worked_is_asked_for_and_not_repeated() -> None:
    async def story() -> None:
        device = shoe()
        host = DriverHost(FdpShoe(), UsbLink(SHOE, backend=FakeBus(device)))
        host.start()
        await until(lambda: host.told(Identified))
        await asyncio.sleep(0.1)  # what follows the greeting is written
        device.denies.append(errno.ETIMEDOUT)
        host.command(LockShoe(9))
        await until(lambda: CommandResult(9, "done") in host.events)
        host.stop()
        assert host.losses[0][0] is Cause.SILENT
        assert device.control("state")["executed"] == {"9": 1}
        told = frames(bytes(device.received))
        assert sum(isinstance(frame, fdp.Lock) for frame in told) == 1
        assert fdp.Query(9) in told

    asyncio.run(story())


# --- C08: one owner thread -------------------------------------------------------------------


def test_c08_a_thousand_restarts_under_a_pending_read() -> None:
    async def story() -> None:
        device, random = FakeDevice(Shape(serial="A")), Random(8)
        device.hurries = True
        bus = FakeBus(device)
        bus.delay = lambda: random.random() * 0.004
        link, longest = UsbLink("usb://1209:0001:A", backend=bus), 0.0
        losses: list[Cause] = []
        for _ in range(1000):
            link.open(lambda data: None, lambda cause, detail: losses.append(cause))
            await asyncio.sleep(random.random() * 0.004)
            begun = time.monotonic()
            link.close()
            longest = max(longest, time.monotonic() - begun)
        bus.delay = lambda: 0
        ear = Ear()
        ear.open(link)
        device.give(b"alive")
        assert await ear.heard(5) == b"alive"
        link.close()
        await until(lambda: device.count("close") == device.count("open"))
        assert losses == []
        assert longest < 2

    asyncio.run(story())


# --- C10, C11: a real table whose shuffler is on USB -----------------------------------------


class Motor:
    """A shuffler whose motor knocks it off the bus at the moment when it is to shuffle.

    ``heard`` False: it is gone before the command arrives. ``power_lost``: it forgets everything.
    """

    def __init__(self, shuffle_ms: int, heard: bool = True, power_lost: bool = False) -> None:
        self.sim = ShufflerSim(shuffle_time_ms=shuffle_ms)
        self.device = FakeDevice(Shape(serial="SHUF0001"), self)
        self.bus = FakeBus(self.device)
        self.armed = True
        self._heard, self._power_lost = heard, power_lost

    @property
    def deadline(self) -> int | None:
        return self.sim.deadline

    def opened(self, now: int) -> list[Send]:
        return self.sim.opened(now)

    def tick(self, now: int) -> list[Send]:
        return self.sim.tick(now)

    def control(self, verb: dict[str, object], now: int) -> tuple[dict[str, object], list[Send]]:
        return self.sim.control(verb, now)

    def received(self, data: bytes, now: int) -> list[Send]:
        commanded = any(isinstance(frame, fdp.Shuffle) for frame in frames(data))
        if not self.armed or not commanded:
            return self.sim.received(data, now)
        self.armed = False
        sends = self.sim.received(data, now) if self._heard else []
        if self._power_lost:
            self.sim.control({"do": "power-cycle"}, now)
        self.bus.unplug(self.device)
        return sends

    @property
    def shuffles(self) -> int:
        """How many it began, also in the boot before."""
        return sum(self.sim.executed.values())


class ProvenSign:
    """A sign that shows what it is told, for tables whose matter is another device."""

    deadline = None

    def __init__(self) -> None:
        self.counters = Counters()

    def opened(self, now: int) -> list[Output]:
        return [Emit(Identified("sign"))]

    def command(self, command: Command, now: int) -> list[Output]:
        assert isinstance(command, Display)
        return [Emit(SignShows(command.meter, command.announcement, command.pages))]

    resume = command

    def received(self, data: bytes, now: int) -> list[Output]:
        return []

    def committed(self, now: int) -> list[Output]:
        return []

    def tick(self, now: int) -> list[Output]:
        return []

    def closed(self, now: int) -> list[Output]:
        return []


ROLES = {"SH-1": "shuffler", "sign": "sign"}


class Hall:
    """A table in service: engine, journal and links as the daemon has them, one shuffler on USB."""

    def __init__(self, folder: Path, motor: Motor) -> None:
        floor = Floor(mode="shuffler")
        floor.table.rig.devices = {name: Device(name, role) for name, role in ROLES.items()}
        path = folder / "journal.db"
        journals.create(path, journals.header_bytes("T", "caribbean", "2026-01-01T00:00:00.000000Z", ()))
        self.journal = journals.open_journal(path, Sealer(bytes(32)))
        self.driver = FdpShuffler(serial="SHUF0001")
        ports = {
            "SH-1": Port("SH-1", self.driver, LinkLife("SH-1", "shuffler", "SHUF0001"), "fdp", SHUFFLER),
            "sign": Port("sign", ProvenSign(), LinkLife("sign", "sign", None), "proven", "memory"),
        }
        links = {"SH-1": UsbLink(SHUFFLER, backend=motor.bus), "sign": MemoryLink()}
        self.log: list[tuple[str, dict[str, object]]] = []
        self.service = Service(floor.table, self.journal, ports, links, SystemClock(), self._note)
        self.service.start(Started("test", mode="shuffler", shuffler="SH-1", devices=ROLES))

    def _note(self, event: str, **facts: object) -> None:
        self.log.append((event, facts))

    async def act(self, name: str) -> str:
        """Do it: "" when it is accepted, else the reason."""
        answer = await self.service.act_soon(Act(name, {}, role="dealer"))
        assert answer is not None
        assert self.service.failure is None
        refusal = answer["refusal"]
        return str(refusal["reason"]) if refusal else ""

    async def accepted(self, name: str) -> None:
        """Do it again and again until it is accepted. Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE):
            while await self.act(name):
                await asyncio.sleep(0.002)

    @property
    def shuffler(self) -> dict[str, object]:
        devices = self.service.engine.view()["devices"]
        assert isinstance(devices, dict)
        return dict(devices["SH-1"])

    async def ready(self) -> None:
        await until(lambda: self.shuffler["state"] == "ready")

    async def __aenter__(self) -> Self:
        await self.ready()
        assert await self.act("open-table") == ""
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.service.finish()
        self.journal.close()


@pytest.mark.parametrize(
    ("shuffle_ms", "heard"), [(1500, True), (50, True), (50, False)], ids=["running", "done", "never started"]
)
def test_c10_a_shuffler_knocked_off_by_its_motor_is_asked_and_shuffles_once(
    tmp_path: Path, shuffle_ms: int, heard: bool
) -> None:
    async def story() -> None:
        motor = Motor(shuffle_ms, heard)
        async with Hall(tmp_path, motor) as hall:
            assert await hall.act("shuffle") == ""
            await until(lambda: hall.shuffler["state"] != "ready")
            assert await hall.act("open-betting") != ""
            await asyncio.sleep(0.3)
            address = motor.bus.plug(motor.device)
            assert address > 2
            await hall.accepted("open-betting")
            assert motor.sim.state_name() == "ready"  # proved, and not before
            assert motor.shuffles == 1

    asyncio.run(story())


def test_c10_a_shuffle_whose_outcome_is_lost_with_the_power_proves_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        motor = Motor(50, power_lost=True)
        async with Hall(tmp_path, motor) as hall:
            assert await hall.act("shuffle") == ""
            await until(lambda: hall.shuffler["state"] != "ready")
            motor.bus.plug(motor.device)
            await hall.ready()
            await asyncio.sleep(1.5)  # a driver that repeated its command would have done so by now
            assert motor.shuffles == 1
            assert "shuffle" in await hall.act("open-betting")
            assert await hall.act("shuffle") == ""
            await hall.accepted("open-betting")
            assert motor.shuffles == 2

    asyncio.run(story())


def test_c11_a_frozen_device_has_an_age_and_opens_no_round(tmp_path: Path) -> None:
    async def story() -> None:
        motor = Motor(50)
        motor.armed = False
        async with Hall(tmp_path, motor) as hall:
            assert await hall.act("shuffle") == ""
            await until(lambda: motor.sim.state_name() == "ready")
            await asyncio.sleep(0.3)
            motor.bus.unplug(motor.device)
            motor.device.simulator = None  # it is back on the bus, and its program hangs
            motor.bus.plug(motor.device)
            await until(lambda: hall.shuffler["state"] != "ready")
            assert await hall.act("open-betting") != ""
            ages = []
            for _ in range(8):
                ages.append(hall.shuffler["age_ms"])
                assert await hall.act("open-betting") != ""
                await asyncio.sleep(0.5)
            assert all(isinstance(age, int) for age in ages)
            assert ages == sorted(ages)
            assert ages[-1] >= 3000
            motor.device.simulator = motor
            await hall.ready()
            assert await hall.act("open-betting") == ""

    asyncio.run(story())


def test_c11_a_device_that_freezes_while_it_is_open_is_silent_within_three_heartbeats() -> None:
    async def story() -> None:
        device = shoe()
        host = DriverHost(FdpShoe(), UsbLink(SHOE, backend=FakeBus(device)))
        host.start()
        await until(lambda: host.told(Identified))
        life, device.simulator = device.simulator, None
        await until(lambda: host.told(Silent))
        device.simulator = life
        await until(lambda: host.told(Identified) == 2)
        host.stop()
        assert host.told(Restarted) == host.told(OutOfSync) == 0

    asyncio.run(story())


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Every link's thread has ended soon after its test."""

    before = set(threading.enumerate())
    yield
    end = time.monotonic() + 5
    while extra := set(threading.enumerate()) - before:
        assert time.monotonic() < end, extra
        time.sleep(0.01)
