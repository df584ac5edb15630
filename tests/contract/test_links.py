"""What every link promises, over each of them (daemon/links/base.py)."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable

import pytest

from daemon.links.base import Cause, LinkError, cause_of
from daemon.links.memory import MemoryLink, pump
from daemon.links.url import make_link
from drivers.protocol import Line
from tests.contract.link_rigs import FRAME, RIGS, Rig, opening_fails, play, settle, until
from tests.fakes.ear import Ear

# pyserial 3.5
pytestmark = pytest.mark.filterwarnings(r"ignore:set(Daemon|Name)\(\) is deprecated:DeprecationWarning")
each_link = pytest.mark.parametrize("make", RIGS)


@each_link
def test_bytes_travel_unchanged_both_ways(make: Callable[[], Rig]) -> None:
    async def scene(rig: Rig, ear: Ear) -> None:
        rig.link.open(ear.on_bytes, ear.on_lost)
        rig.link.write(FRAME)  # before there is a connection
        assert await rig.hear(len(FRAME)) == FRAME
        rig.say(FRAME)
        await until(rig, lambda: len(ear.data) >= len(FRAME))
        assert ear.data == FRAME

    play(make, scene)


@each_link
def test_a_loss_is_told_once_and_after_the_bytes(make: Callable[[], Rig]) -> None:
    async def scene(rig: Rig, ear: Ear) -> None:
        rig.link.open(ear.on_bytes, ear.on_lost)
        rig.link.write(b"?")
        await rig.hear(1)
        rig.say(b"before")
        await until(rig, lambda: ear.data == b"before")
        rig.cut()
        rig.link.write(b"into the void")
        assert ear.losses == []  # never from within a call
        await until(rig, lambda: bool(ear.losses))
        rig.link.write(b"into the void")
        await settle(rig)
        assert ear.losses == [Cause.LOST]
        assert ear.log[-1] is Cause.LOST

    play(make, scene)


@each_link
def test_nothing_is_told_after_close(make: Callable[[], Rig]) -> None:
    async def scene(rig: Rig, ear: Ear) -> None:
        rig.link.open(ear.on_bytes, ear.on_lost)
        rig.say(b"unheard")
        rig.cut()
        rig.link.write(b"x")
        rig.link.close()
        rig.link.close()
        await settle(rig)
        assert ear.log == []
        cause = Cause.BUSY
        while cause is Cause.BUSY:  # the other end has not noticed yet that we have gone
            cause = await opening_fails(rig, Ear())
        assert cause is Cause.ABSENT

    play(make, scene)


@each_link
def test_it_may_be_opened_again_but_not_twice(make: Callable[[], Rig]) -> None:
    async def scene(rig: Rig, ear: Ear) -> None:
        for times in range(1, 4):
            rig.link.open(ear.on_bytes, ear.on_lost)
            with pytest.raises(LinkError) as caught:
                rig.link.open(ear.on_bytes, ear.on_lost)
            assert caught.value.cause is Cause.BUSY
            rig.link.write(b"?")
            assert (await rig.hear(1))[-1:] == b"?"
            rig.say(b"again")
            await until(rig, lambda times=times: len(ear.data) >= 5 * times)
            rig.link.close()
        assert ear.data == b"again" * 3
        assert ear.losses == []

    play(make, scene)


@each_link
def test_a_new_owner_hears_nothing_of_the_one_before(make: Callable[[], Rig]) -> None:
    async def scene(rig: Rig, ear: Ear) -> None:
        former = Ear()
        rig.link.open(former.on_bytes, former.on_lost)
        rig.link.write(b"?")
        await rig.hear(1)
        rig.link.close()
        rig.link.open(ear.on_bytes, ear.on_lost)
        rig.link.write(b"?")
        await rig.hear(1)
        rig.say(b"new")
        await until(rig, lambda: ear.data == b"new")
        assert former.log == []
        assert ear.losses == []

    play(make, scene)


@each_link
def test_a09_more_than_may_wait_is_a_stall(make: Callable[[], Rig]) -> None:
    async def scene(rig: Rig, ear: Ear) -> None:
        rig.link.open(ear.on_bytes, ear.on_lost)
        before = time.process_time()
        for _ in range(10_000):
            rig.link.write(b"$12,345.67" * 10)
        assert time.process_time() - before < 5
        await until(rig, lambda: bool(ear.losses))
        assert ear.losses == [Cause.SILENT]
        assert "stalled" in ear.details[0]

    play(make, scene)


@each_link
def test_a_link_that_is_not_open_takes_everything_and_does_nothing(make: Callable[[], Rig]) -> None:
    async def scene(rig: Rig, ear: Ear) -> None:
        rig.link.write(b"x" * 100_000)
        rig.link.close()
        assert rig.link.describe()
        assert rig.link.place

    play(make, scene)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("/dev/ttyS0", "SerialLink"),
        ("serial:///dev/ttyS0?baud=9600", "SerialLink"),
        ("tcp://127.0.0.1:4001", "TcpLink"),
        ("rfc2217://127.0.0.1:4001?parity=E", "Rfc2217Link"),
        ("usb://1209:0001", "UsbLink"),
    ],
)
def test_the_scheme_says_which_link(url: str, kind: str) -> None:
    assert type(make_link(url, Line())).__name__ == kind


def test_an_unknown_scheme_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"no link ftp: .*serial:, tcp:, rfc2217:, usb:, replay:"):
        make_link("ftp://host", Line())


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.EPERM, Cause.SANDBOX),
        (errno.EACCES, Cause.DENIED),
        (errno.EBUSY, Cause.BUSY),
        (errno.EAGAIN, Cause.BUSY),
        (errno.ENOENT, Cause.ABSENT),
        (errno.ENODEV, Cause.ABSENT),
        (None, Cause.ABSENT),
    ],
)
def test_each_errno_has_its_cause(number: int | None, cause: Cause) -> None:
    assert cause_of(number) is cause


def test_every_cause_says_what_to_do_in_one_sentence() -> None:
    assert {cause.remedy.count(". ") for cause in Cause} == {0}
    assert len({cause.remedy for cause in Cause}) == len(Cause)


def test_memory_ends_that_never_fall_silent_are_reported() -> None:
    one, other = MemoryLink.pair("wire")
    one.open(one.write, print)
    other.open(other.write, print)
    one.write(b"ping")
    with pytest.raises(RuntimeError, match="still talk"):
        pump(one, other, rounds=10)


def test_a_mended_wire_carries_again() -> None:
    one, other = MemoryLink.pair()
    heard: list[bytes] = []
    for _ in range(2):
        one.open(print, lambda cause, detail: None)
        other.open(heard.append, lambda cause, detail: None)
        one.write(b"x")
        one.cut()
        pump(one, other)
        one.mend()
    assert heard == [b"x", b"x"]
