"""The USB link three ways: a bus in memory that fails as told, USB/IP over loopback, and the real libusb."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import usb.core

from daemon.links import usb as usb_module
from daemon.links.base import Cause, LinkError
from daemon.links.usb import STALLS, TRIES, UsbAddress, UsbLink, UsbTransport, parse_url
from drivers.base import Display, Identified, LockShoe, Restarted, SignShows
from drivers.cards import DECK
from drivers.shoe.fdp import FdpShoe
from drivers.shoe.sim_fdp import ShoeSim
from drivers.shuffler.fdp import FdpShuffler
from drivers.sign.alpha import AlphaSign
from tests.fakes import umockdev
from tests.fakes.driver_host import DriverHost
from tests.fakes.ear import Ear, until
from tests.fakes.umockdev_child import ANSWER
from tests.fakes.usb_backend import FOR_EVER, FakeBus, FakeDevice
from tests.fakes.usb_descriptors import BULK, INTERRUPT, PRISM, Shape
from tests.fakes.usbip_device import UsbipProcess
from tests.fakes.usbip_host import UsbipBus

SHOE = "usb://1209:0001:SHOE0001"
ONE = Shape(serial="SHOE0001")


def transport(bus: FakeBus, url: str = "usb://1209:0001") -> UsbTransport:
    return UsbTransport(parse_url(url), bus)


def refused(bus: FakeBus, url: str = "usb://1209:0001") -> LinkError:
    link = transport(bus, url)
    with pytest.raises(LinkError) as refusal:
        link.open()
    link.close()
    return refusal.value


def opened(*devices: FakeDevice, url: str = "usb://1209:0001") -> UsbTransport:
    link = transport(FakeBus(*devices), url)
    link.open()
    return link


# --- the URL ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("usb://1209:0001", UsbAddress(0x1209, 1)),
        ("usb://8765:1234:A%2FB%201", UsbAddress(0x8765, 0x1234, "A/B 1")),
        ("usb://1209:0001:S:1", UsbAddress(0x1209, 1, "S:1")),
        ("usb://1209:000A?interface=2&out=03&in=8f", UsbAddress(0x1209, 10, "", 2, 0x03, 0x8F)),
    ],
)
def test_a_url_names_the_device_and_perhaps_its_endpoints(url: str, address: UsbAddress) -> None:
    assert parse_url(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "usb:1209:0001",
        "usb://1209",
        "usb://129:0001",
        "usb://1209:00g1",
        "usb://1209:0001/1",
        "usb://1209:0001#1",
        "usb://1209:0001?out=82",
        "usb://1209:0001?in=02",
        "usb://1209:0001?out=2",
        "usb://1209:0001?interface=x",
        "usb://1209:0001?interface=256",
        "usb://1209:0001?baud=9600",
        "usb://1209:0001?in",
        "tcp://1209:0001",
    ],
)
def test_a_url_that_is_not_right_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="USB"):
        UsbLink(url)


def test_a_link_has_a_place_and_a_description() -> None:
    link = UsbLink("usb://1209:00AB:SHOE0001")
    assert link.place == "1209:00ab:SHOE0001"
    assert link.describe() == "usb 1209:00ab:SHOE0001"


# --- finding the device ----------------------------------------------------------------------


def test_the_unit_is_found_by_its_serial_number() -> None:
    other, wanted = FakeDevice(Shape(serial="SHOE0002")), FakeDevice(ONE)
    link = opened(other, wanted, url=SHOE)
    link.write(b"x")
    assert (wanted.received, other.received) == (b"x", b"")
    assert other.count("open") == other.count("close")


def test_the_only_one_of_its_kind_needs_no_serial_number() -> None:
    device, stranger = FakeDevice(ONE), FakeDevice(Shape(product=2))
    opened(stranger, device).write(b"x")
    assert (device.received, stranger.calls) == (b"x", [])


@pytest.mark.parametrize("serials", [("A", "B"), ("", ""), ("A", "")])
def test_two_devices_of_a_kind_are_not_guessed_between(serials: tuple[str, str]) -> None:
    devices = [FakeDevice(Shape(serial=serial)) for serial in serials]
    refusal = refused(FakeBus(*devices))
    assert refusal.cause is Cause.WRONG_IDENTITY
    assert "2 such devices, serial numbers" in refusal.detail
    assert not any(device.count("claim 0") for device in devices)


def test_two_devices_with_one_serial_number_are_not_guessed_between() -> None:
    assert refused(FakeBus(FakeDevice(ONE), FakeDevice(ONE)), SHOE).cause is Cause.WRONG_IDENTITY


def test_a_serial_number_that_is_not_there_is_absent_and_the_others_are_named() -> None:
    refusal = refused(FakeBus(FakeDevice(Shape(serial="SHOE0009")), FakeDevice()), SHOE)
    assert refusal.cause is Cause.ABSENT
    assert refusal.detail == "1209:0001:SHOE0001: not on the bus; there are serial numbers SHOE0009, none"
    assert refused(FakeBus()).detail == "1209:0001: not on the bus"


def test_one_that_cannot_be_read_may_be_the_one() -> None:
    secret = FakeDevice(Shape(serial="B"))
    secret.fail("open", errno.EACCES, FOR_EVER)
    assert refused(FakeBus(FakeDevice(Shape(serial="A")), secret)).cause is Cause.WRONG_IDENTITY
    assert refused(FakeBus(FakeDevice(Shape(serial="A")), secret), SHOE).cause is Cause.DENIED


@pytest.mark.parametrize("url", ["usb://1209:0001", SHOE])
def test_a_dead_entry_of_the_list_is_passed_over(url: str) -> None:
    device = FakeDevice(ONE)
    bus = FakeBus(device)
    bus.unplug(device, listed=60)
    bus.plug(device)
    link = transport(bus, url)
    link.open()
    link.write(b"x")
    assert device.received == b"x"


def test_enodev_right_after_the_plug_means_try_again() -> None:
    device = FakeDevice()
    device.fail("open", errno.ENODEV, 3)
    opened(device).write(b"x")
    assert device.received == b"x"


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.EACCES, Cause.DENIED),
        (errno.EPERM, Cause.SANDBOX),
        (errno.EBUSY, Cause.BUSY),
        (errno.ENODEV, Cause.ABSENT),
        (errno.ENOENT, Cause.ABSENT),
        (errno.EIO, Cause.ABSENT),
    ],
)
@pytest.mark.parametrize("call", ["open", "claim", "get_configuration"])
def test_what_fails_while_opening_has_one_cause(call: str, number: int, cause: Cause) -> None:
    device = FakeDevice()
    device.fail(call, number, FOR_EVER)
    assert refused(FakeBus(device)).cause is cause
    assert device.count("open") <= TRIES
    if call != "open":
        assert device.count("open") == device.count("close")


@pytest.mark.parametrize("url", ["usb://1209:0001", SHOE])
def test_libusb_hides_the_sandbox_and_the_node_tells_it(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """libusb makes EIO of the EPERM by which a device cgroup refuses the node."""

    def refuse(path: str, flags: int) -> int:
        assert path == "/dev/bus/usb/250/002"
        raise PermissionError(errno.EPERM, "Operation not permitted", path)

    device = FakeDevice(ONE)
    device.fail("open", errno.EIO, FOR_EVER)
    monkeypatch.setattr(usb_module.os, "open", refuse)
    assert refused(FakeBus(device), url).cause is Cause.SANDBOX


@pytest.mark.parametrize(
    ("driver", "said"),
    [("cdc_acm", "held by the kernel driver cdc_acm"), ("usbfs", "held by another program")],
)
def test_the_holder_of_a_busy_interface_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, driver: str, said: str
) -> None:
    """usbfs is what the kernel calls the claim of a program."""
    (tmp_path / driver).mkdir()
    (tmp_path / "250-1:1.0").mkdir()
    (tmp_path / "250-1:1.0" / "driver").symlink_to(tmp_path / driver)
    monkeypatch.setattr(usb_module, "SYSFS", tmp_path)
    device = FakeDevice()
    device.fail("claim", errno.EBUSY, FOR_EVER)
    assert said in refused(FakeBus(device)).detail


def test_no_libusb_is_said_in_so_many_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(**_: object) -> None:
        raise usb.core.NoBackendError("No backend available")

    monkeypatch.setattr(usb_module.usb.core, "find", find)
    assert "libusb" in refused(FakeBus()).detail


# --- taking it -------------------------------------------------------------------------------


def test_a_configured_device_is_not_configured_again() -> None:
    device = FakeDevice()
    link = opened(device)
    assert device.calls == ["open", "get_configuration", "is_kernel_driver_active", "claim 0"]
    link.close()


def test_a_device_without_configuration_gets_its_first() -> None:
    device = FakeDevice(configured=0)
    link = opened(device)
    assert device.count("set_configuration") == 1
    assert device.calls.index("set_configuration") < device.calls.index("claim 0")
    link.close()
    assert device.configured == 1


def test_the_kernel_s_driver_is_detached_and_gets_the_interface_back() -> None:
    device = FakeDevice(kernel_driver=True)
    link = opened(device)
    assert device.kernel_driver is False
    link.close()
    assert device.calls[-3:] == ["release 0", "attach", "close"]
    assert device.kernel_driver is True


def test_no_driver_is_attached_where_none_was() -> None:
    device = FakeDevice()
    opened(device).close()
    assert device.calls[-2:] == ["release 0", "close"]


def test_a_driver_that_was_detached_once_is_not_attached_for_ever() -> None:
    device = FakeDevice(kernel_driver=True)
    link = opened(device)
    link.close()
    device.kernel_driver = False  # its module was removed meanwhile
    link.open()
    link.close()
    assert device.count("attach") == 1


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENODATA])
def test_a_system_that_knows_no_kernel_driver_is_no_obstacle(number: int) -> None:
    device = FakeDevice()
    device.fail("is_kernel_driver_active", number, FOR_EVER)
    opened(device).write(b"x")
    assert device.received == b"x"


MIXED = (((0x81, INTERRUPT), (0x01, INTERRUPT)), ((0x03, BULK),), ((0x84, BULK), (0x05, BULK)), PRISM)


@pytest.mark.parametrize(
    ("query", "interface"), [("", 2), ("?interface=3", 3), ("?out=02&in=82", 3), ("?interface=2&in=84", 2)]
)
def test_the_first_interface_with_a_bulk_pair_is_taken_unless_another_is_named(
    query: str, interface: int
) -> None:
    device = FakeDevice(Shape(interfaces=MIXED))
    link = opened(device, url=f"usb://1209:0001{query}")
    link.write(b"x")
    assert [call for call in device.calls if call.startswith("claim")] == [f"claim {interface}"]
    assert device.received == b"x"


@pytest.mark.parametrize("query", ["?interface=1", "?interface=9", "?out=0f", "?interface=0&out=02"])
def test_a_device_without_such_a_pair_is_not_the_one(query: str) -> None:
    device = FakeDevice(Shape(interfaces=MIXED))
    assert refused(FakeBus(device), f"usb://1209:0001{query}").cause is Cause.WRONG_IDENTITY
    assert device.count("open") == device.count("close")


# --- bytes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 63, 64, 65, 128, 200])
def test_a_write_arrives_whole_and_ends_with_a_short_packet(count: int) -> None:
    device, data = FakeDevice(), bytes(range(count))
    opened(device).write(data)
    assert device.received == data
    assert len(device.transfers[-1]) % 64 or device.transfers[-1] == b""
    assert (device.transfers[-1] == b"") == (count % 64 == 0)


def test_a_device_that_takes_its_bytes_little_by_little_gets_them_once() -> None:
    device = FakeDevice()
    device.accepts = 7
    opened(device).write(bytes(range(50)))
    assert device.received == bytes(range(50))


def test_a_read_is_one_packet_and_nothing_is_no_data() -> None:
    device = FakeDevice()
    link = opened(device)
    device.give(bytes(100), b"", b"tail")
    assert [link.read(5) for _ in range(5)] == [bytes(64), bytes(36), b"", b"tail", b""]


def test_a_stall_is_cleared_and_what_follows_is_heard() -> None:
    device = FakeDevice()
    link = opened(device)
    device.give(errno.EPIPE, b"after")
    assert (link.read(5), link.read(5)) == (b"", b"after")
    assert device.count("clear_halt 82") == 1


def test_stalls_again_and_again_are_a_loss_and_single_ones_never() -> None:
    device = FakeDevice()
    link = opened(device)
    for _ in range(10 * STALLS):
        device.give(errno.EPIPE, b"x")
        assert (link.read(5), link.read(5)) == (b"", b"x")
    device.give(*[errno.EPIPE] * (STALLS + 1))
    assert [link.read(5) for _ in range(STALLS)] == [b""] * STALLS
    with pytest.raises(LinkError) as lost:
        link.read(5)
    assert lost.value.cause is Cause.LOST


def test_what_a_stalled_endpoint_took_is_not_sent_again() -> None:
    device = FakeDevice()
    link = opened(device)
    device.denies.append(errno.EPIPE)
    link.write(b"first")
    link.write(b"second")
    assert device.received == b"firstsecond"
    assert device.count("clear_halt 02") == 1


def test_a_write_that_always_stalls_is_a_loss_whatever_is_read() -> None:
    device = FakeDevice()
    link = opened(device)
    device.fail("write", errno.EPIPE, FOR_EVER)
    device.give(*[b"x"] * 10)
    for _ in range(STALLS):
        link.write(b"first")
        link.read(5)
    with pytest.raises(LinkError):
        link.write(b"first")


def test_a_read_that_always_stalls_is_a_loss_whatever_is_written() -> None:
    device = FakeDevice()
    link = opened(device)
    device.give(*[errno.EPIPE] * (STALLS + 1))
    for _ in range(STALLS):
        assert link.read(5) == b""
        link.write(b"x")
    with pytest.raises(LinkError):
        link.read(5)


def test_a_device_that_takes_nothing_is_silent() -> None:
    device = FakeDevice()
    link = opened(device)
    device.fail("write", errno.ETIMEDOUT, FOR_EVER)
    with pytest.raises(LinkError) as lost:
        link.write(b"x")
    assert lost.value.cause is Cause.SILENT
    assert device.count("write") == 1


@pytest.mark.parametrize("number", [errno.ENODEV, errno.EIO, errno.EPROTO, errno.EOVERFLOW, errno.ENOENT])
def test_every_other_error_of_an_open_device_is_one_kind_of_loss(number: int) -> None:
    device = FakeDevice()
    link = opened(device)
    device.give(number)
    device.fail("write", number)
    for call in (lambda: link.read(5), lambda: link.write(b"x")):
        with pytest.raises(LinkError) as lost:
            call()
        assert lost.value.cause is Cause.LOST
        assert os.strerror(number) in lost.value.detail


def test_a_halt_that_cannot_be_cleared_is_a_loss() -> None:
    device = FakeDevice()
    link = opened(device)
    device.give(errno.EPIPE)
    device.fail("clear_halt", errno.EIO)
    with pytest.raises(LinkError):
        link.read(5)


# --- quirks ----------------------------------------------------------------------------------

PRISM_SIGN = Shape(0x8765, 0x1234)
SHOWN = SignShows("$12,345.67", "")


@pytest.mark.parametrize("number", [errno.EIO, errno.ETIMEDOUT, errno.EPIPE])
def test_the_prism_s_first_write_is_tried_once_more_after_a_reset(number: int) -> None:
    sign, frame = FakeDevice(PRISM_SIGN), bytes(range(100))
    link = opened(sign, url="usb://8765:1234")
    sign.fail("write", number)
    link.write(frame)
    assert sign.received == frame
    assert [len(each) for each in sign.transfers] == [64, 36]
    after = sign.calls[sign.calls.index("reset") :]  # pyusb closes a device after its reset
    assert after[:5] == ["reset", "close", "open", "is_kernel_driver_active", "claim 0"]
    assert sign.count("set_configuration") == 0


def test_the_prism_s_first_write_is_tried_once_more_and_no_later_one_is() -> None:
    sign = FakeDevice(PRISM_SIGN)
    link = opened(sign, url="usb://8765:1234")
    sign.fail("write", errno.EIO, 2)
    with pytest.raises(LinkError):
        link.write(b"x")
    link.close()
    link.open()
    link.write(b"x")
    sign.fail("write", errno.EIO)
    with pytest.raises(LinkError):
        link.write(b"y")
    assert sign.count("reset") == 1
    assert sign.received == b"x"


def test_a_prism_that_is_unplugged_is_not_reset() -> None:
    sign = FakeDevice(PRISM_SIGN)
    link = opened(sign, url="usb://8765:1234")
    sign.fail("write", errno.ENODEV)
    with pytest.raises(LinkError):
        link.write(b"x")
    assert sign.count("reset") == 0


def test_no_other_device_is_written_to_twice() -> None:
    device = FakeDevice()
    link = opened(device)
    device.fail("write", errno.EIO)
    with pytest.raises(LinkError):
        link.write(b"x")
    assert (device.count("reset"), device.count("write")) == (0, 1)


# --- the link --------------------------------------------------------------------------------


def test_a_loss_comes_after_the_last_bytes_and_the_device_is_let_go_of() -> None:
    async def story() -> None:
        device = FakeDevice(ONE)
        bus, ear = FakeBus(device), Ear()
        link = UsbLink(SHOE, backend=bus)
        for _ in range(3):
            ear.open(link)
            await until(lambda: device.count("claim 0") > device.count("close"))
            device.give(b"one", b"two", errno.ENODEV)
            assert await ear.lost() is Cause.LOST
            assert b"".join(each for each in ear.log[:-1] if isinstance(each, bytes)) == b"onetwo"
            await until(lambda: device.count("close") == device.count("open"))
            ear = Ear()

    asyncio.run(story())


def test_one_thread_does_everything_and_it_is_not_the_loop_s() -> None:
    async def story() -> None:
        device = FakeDevice(ONE)
        link, ear = UsbLink(SHOE, backend=FakeBus(device)), Ear()
        ear.open(link)
        link.write(b"question")
        device.give(b"answer")
        assert await ear.heard(6) == b"answer"
        link.close()
        await until(lambda: device.count("close"))
        assert len(device.threads) == 1
        assert threading.get_ident() not in device.threads

    asyncio.run(story())


def test_a_shoe_gives_each_of_52_cards_once_though_it_is_replugged() -> None:
    async def story() -> None:
        shoe = FakeDevice(ONE, ShoeSim(deck=DECK))
        bus = FakeBus(shoe)
        host = DriverHost(FdpShoe(serial="SHOE0001"), UsbLink(SHOE, backend=bus))
        host.start()
        addresses = set()
        for drawn in range(52):
            shoe.control("draw")
            if drawn % 13 == 6:
                bus.unplug(shoe, listed=0.1)
                addresses.add(bus.plug(shoe))
        await until(lambda: len(host.faces) == 52, 30)
        host.stop()
        assert host.faces == list(DECK)
        assert [emit.ordinal for emit in host.emitted if emit.ordinal] == list(range(1, 53))
        assert len(addresses) == 4
        assert host.told(Restarted) == 0
        assert shoe.count("set_configuration") == 0

    asyncio.run(story())


# --- USB/IP: another process, over TCP -------------------------------------------------------


@pytest.fixture
def far() -> Iterator[Callable[..., UsbipProcess]]:
    """Makes device processes, and ends them."""
    pytest.importorskip("usbip", reason="the package usbip (a USB/IP device server) is not installed")
    made: list[UsbipProcess] = []

    def make(*arguments: object, **named: object) -> UsbipProcess:
        made.append(UsbipProcess(*arguments, **named))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for process in made:
        process.kill()


def test_usbip_a_shoe_is_killed_and_comes_back_and_each_card_counts_once(
    far: Callable[..., UsbipProcess],
) -> None:
    async def story() -> None:
        shoe = far("shoe", serial="SHOE0001")
        shoe.start(seed=3)
        bus = UsbipBus("127.0.0.1", shoe.port)
        host = DriverHost(FdpShoe(serial="SHOE0001"), UsbLink(SHOE, backend=bus))
        host.start()
        await until(lambda: host.told(Identified))
        drawn = [shoe.control("draw")["card"] for _ in range(26)]
        await until(lambda: len(host.faces) == 26)
        shoe.kill()
        await until(lambda: host.losses)
        assert host.losses[0][0] is Cause.LOST
        await until(lambda: host.losses[-1][0] is Cause.ABSENT)
        shoe.start(boot=2)
        await until(lambda: host.told(Identified) == 2)
        rest = [card.text for card in DECK if card.text not in drawn]
        shoe.control("load", deck=rest)
        drawn += [shoe.control("draw")["card"] for _ in rest]
        await until(lambda: len(host.faces) == 52)
        host.stop()
        assert [face.text for face in host.faces] == drawn
        assert len(set(host.faces)) == 52
        assert host.told(Restarted) == 1

    asyncio.run(story())


def test_usbip_a_sign_shows_the_meter_and_again_after_it_lost_its_memory(
    far: Callable[..., UsbipProcess],
) -> None:
    async def story() -> None:
        sign = far("sign", "alpha", 0x8765, 0x1234)
        sign.start()
        bus = UsbipBus("127.0.0.1", sign.port)
        host = DriverHost(AlphaSign(), UsbLink("usb://8765:1234", backend=bus))
        host.start()
        host.command(Display("$12,345.67"))
        await until(lambda: SHOWN in host.events, 30)
        sign.kill()
        await until(lambda: host.losses)
        host.emitted.clear()
        sign.start()
        await until(lambda: SHOWN in host.events, 30)
        state = sign.control("state")
        host.stop()
        assert "$12,345.67" in json.dumps(state)

    asyncio.run(story())


def test_usbip_two_devices_are_told_apart_and_are_not_reset(far: Callable[..., UsbipProcess]) -> None:
    async def story() -> None:
        shoe, shuffler = far("shoe", serial="SHOE0001"), far("shuffler", serial="SHUF0001")
        shoe.start()
        shuffler.start()
        buses = [UsbipBus("127.0.0.1", each.port) for each in (shoe, shuffler)]
        hosts = [
            DriverHost(FdpShoe(), UsbLink(SHOE, backend=buses[0])),
            DriverHost(FdpShuffler(), UsbLink("usb://1209:0001:SHUF0001", backend=buses[1])),
        ]
        for _ in range(3):
            for host in hosts:
                host.emitted.clear()
                host.start()
            await until(lambda: all(host.told(Identified) for host in hosts))
            for host in hosts:
                host.link.close()
                host.driver.closed(0)
        hosts[0].start()
        hosts[0].command(LockShoe(1))
        await until(lambda: shoe.control("state")["locked"])
        for host in hosts:
            host.stop()
        assert [each.configurations_set for bus in buses for each in bus.enumerate_devices()] == [1, 1]
        assert shoe.control("state")["executed"] == {"1": 1}

    asyncio.run(story())


# --- the real libusb -------------------------------------------------------------------------


@pytest.mark.skipif(not umockdev.installed(), reason="umockdev is not installed (Debian: umockdev)")
def test_umockdev_a_device_comes_speaks_goes_and_comes_back_elsewhere(tmp_path: Path) -> None:
    ran = subprocess.run(
        ["umockdev-wrapper", sys.executable, "-m", "tests.fakes.umockdev_child", str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout.splitlines()[-1])
    assert seen == {"before": "absent", "heard": [ANSWER.hex()] * 2, "gone": ["absent"] * 2}
