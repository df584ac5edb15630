"""The thread of a link whose library blocks: one owner, no late word, nothing that waits for a hang."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from daemon.links import stall as stall_module
from daemon.links import threaded as threaded_module
from daemon.links.base import BUFFER_LIMIT, Cause, LinkError, LinkLost
from daemon.links.threaded import ThreadedLink
from tests.fakes.ear import Ear, until


class Device:
    """A transport that notes which threads call it, and does what it is told."""

    def __init__(self) -> None:
        self.incoming: queue.Queue[bytes | Exception] = queue.Queue()
        self.written: list[bytes] = []
        self.hang = threading.Event()
        self.hang.set()  # cleared: calls do not return
        self.hangs_in = ""
        self.pace = 0.0  # seconds that a write takes
        self.refuses: Exception | None = None
        self.opened = self.closed = 0
        self.inside = 0
        self.most_inside = 0

    def _call(self, name: str) -> None:
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        if name == self.hangs_in:
            self.hang.wait(60)
        self.inside -= 1

    def open(self) -> None:
        self._call("open")
        if self.refuses is not None:
            raise self.refuses
        self.opened += 1

    def read(self, timeout_ms: int) -> bytes:
        assert timeout_ms <= 50
        self._call("read")
        try:
            news = self.incoming.get(timeout=0.001)
        except queue.Empty:
            return b""
        if isinstance(news, Exception):
            raise news
        return news

    def write(self, data: bytes) -> None:
        self._call("write")
        time.sleep(self.pace)
        self.written.append(data)

    def close(self) -> None:
        self._call("close")
        self.closed += 1


def scene_with(scene: Callable[[ThreadedLink, Device, Ear], Awaitable[None]]) -> None:
    device = Device()
    link = ThreadedLink(device, "a device", "here")

    async def on_loop() -> None:
        try:
            await scene(link, device, Ear())
        finally:
            link.close()
            device.hang.set()

    asyncio.run(on_loop())


def test_it_opens_reads_writes_in_order_and_closes() -> None:
    async def scene(link: ThreadedLink, device: Device, ear: Ear) -> None:
        ear.open(link)
        link.write(b"one")
        link.write(b"")
        link.write(b"two")
        device.incoming.put(b"three")
        assert await ear.heard(5) == b"three"
        await until(lambda: device.written == [b"one", b"two"])
        link.close()
        await until(lambda: (device.opened, device.closed) == (1, 1))
        assert (link.describe(), link.place) == ("a device", "here")

    scene_with(scene)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (LinkError(Cause.DENIED, "no"), Cause.DENIED),
        (LinkLost(Cause.LOST, "gone"), Cause.LOST),
        (RuntimeError("a library's surprise"), Cause.LOST),
    ],
)
@pytest.mark.parametrize("where", ["open", "read"])
def test_a02_every_kind_of_failure_is_one_loss(where: str, error: Exception, cause: Cause) -> None:
    async def scene(link: ThreadedLink, device: Device, ear: Ear) -> None:
        if where == "open":
            device.refuses = error
        else:
            device.incoming.put(b"before")
            device.incoming.put(error)
        ear.open(link)
        assert await ear.lost() is cause
        assert ear.data == (b"" if where == "open" else b"before")
        await until(lambda: device.closed == 1)
        device.refuses = None
        ear.open(link)
        device.incoming.put(b"again")
        await ear.heard(len(ear.data) + 5)
        assert ear.losses == [cause]

    scene_with(scene)


def test_what_the_thread_says_late_reaches_nobody() -> None:
    async def scene(link: ThreadedLink, device: Device, ear: Ear) -> None:
        former = Ear()
        former.open(link)
        await until(lambda: device.opened)
        device.incoming.put(b"late")
        device.incoming.put(LinkLost(Cause.LOST, "late"))
        time.sleep(0.2)  # the loop stands still: the thread has told both, and nobody was called yet
        link.close()
        ear.open(link)
        device.incoming.put(b"new")
        assert await ear.heard(3) == b"new"
        assert (former.log, ear.losses) == ([], [])

    scene_with(scene)


@pytest.mark.parametrize("where", ["open", "read", "write", "close"])
def test_a06_a_thread_that_hangs_is_abandoned_told_and_keeps_the_device_to_itself(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threaded_module, "TURN_SECONDS", 0.1)

    async def scene(link: ThreadedLink, device: Device, ear: Ear) -> None:
        device.hangs_in = where
        device.hang.clear()
        ear.open(link)
        link.write(b"x")
        await until(lambda: device.inside or device.written)
        before = time.monotonic()
        link.close()
        assert time.monotonic() - before < 2
        assert "still hangs" in link.describe()
        ear.open(link)
        assert await ear.lost() is Cause.BUSY
        assert device.most_inside == 1
        device.hangs_in = ""
        device.hang.set()
        await until(lambda: "hangs" not in link.describe())
        ear.open(link)
        device.incoming.put(b"back")
        assert await ear.heard(4) == b"back"

    scene_with(scene)


def test_a09_a_device_that_takes_nothing_is_stalled_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stall_module, "STALL_SECONDS", 0.1)

    async def scene(link: ThreadedLink, device: Device, ear: Ear) -> None:
        device.hangs_in = "write"
        device.hang.clear()
        ear.open(link)
        link.write(b"x")
        assert await ear.lost() is Cause.SILENT
        assert "took no byte" in ear.details[0]

    scene_with(scene)


def test_a_device_that_takes_its_time_is_not_stalled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stall_module, "STALL_SECONDS", 0.5)

    async def scene(link: ThreadedLink, device: Device, ear: Ear) -> None:
        device.pace = 0.1
        ear.open(link)
        for _ in range(15):  # some always wait, and some are always taken
            link.write(b"x" * 1000)
        await until(lambda: len(device.written) == 15)
        assert ear.losses == []

    scene_with(scene)


def test_b09_a_flood_waits_at_the_device_while_the_loop_is_busy() -> None:
    async def scene(link: ThreadedLink, device: Device, ear: Ear) -> None:
        ear.open(link)
        for _ in range(400):
            device.incoming.put(b"x" * 1024)
        time.sleep(1)  # the loop stands still
        assert device.incoming.qsize() * 1024 >= 400 * 1024 - 2 * BUFFER_LIMIT
        await ear.heard(400 * 1024)

    scene_with(scene)


def test_a10_a_thousand_starts_and_stops_under_traffic() -> None:
    async def scene(link: ThreadedLink, device: Device, ear: Ear) -> None:
        threads = threading.active_count()
        for turn in range(1000):
            ear = Ear()
            ear.open(link)
            tag = b"%d" % turn
            link.write(tag)
            if turn % 3:
                await until(lambda tag=tag: tag in device.written[-1:])
            link.close()
            assert ear.losses == []
        assert device.most_inside == 1
        await until(lambda: threading.active_count() <= threads)
        assert device.closed == device.opened

    scene_with(scene)
