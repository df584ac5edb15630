"""A recording as a link: its bytes at their times, its losses, and its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from daemon.links.base import Cause, LinkError
from daemon.links.replay import OVER, ReplayLink, parse_url
from daemon.links.url import make_link
from daemon.recording import Entry, Event, Header, Piece, Writer
from drivers.base import MILLISECOND, SECOND
from drivers.protocol import Line


@pytest.fixture
def tape(tmp_path: Path) -> Callable[..., Path]:
    def make(*entries: Entry) -> Path:
        with Writer(tmp_path / "a.rec", Header()) as writer:
            for entry in entries:
                writer.put(entry)
        return tmp_path / "a.rec"

    return make


class Listener:
    """What a link told, in order."""

    def __init__(self, link: ReplayLink) -> None:
        self.link = link
        self.heard: list[object] = []
        self.lost = asyncio.Event()

    def open(self) -> None:
        self.lost.clear()
        self.link.open(self.heard.append, self._lost)

    def _lost(self, cause: Cause, detail: str) -> None:
        self.heard.append((cause, detail))
        self.lost.set()

    async def until_lost(self) -> None:
        async with asyncio.timeout(5):
            await self.lost.wait()


def run(scene: Awaitable[None]) -> None:
    async def whole() -> None:
        await scene

    asyncio.run(whole())


def test_the_inbound_bytes_come_then_the_end(tape: Callable[..., Path]) -> None:
    path = tape(Event(0, "opened"), Piece(1, "in", b"one"), Piece(2, "out", b"host"), Piece(3, "in", b"two"))

    async def scene() -> None:
        listener = Listener(ReplayLink(f"replay://{path}"))
        listener.open()
        assert listener.heard == []  # never from within open
        listener.link.write(b"12345")
        await listener.until_lost()
        assert listener.heard == [b"one", b"two", (Cause.LOST, OVER)]
        listener.link.write(b"6")
        assert listener.link.ignored == 5
        with pytest.raises(LinkError, match=OVER) as error:
            listener.open()
        assert error.value.cause is Cause.ABSENT

    run(scene())


def test_a_loss_in_the_recording_is_one_and_the_rest_comes_after_it(tape: Callable[..., Path]) -> None:
    path = tape(Piece(1, "in", b"one"), Event(2, "lost", "lost"), Event(3, "opened"), Piece(4, "in", b"two"))

    async def scene() -> None:
        listener = Listener(ReplayLink(f"replay://{path}"))
        listener.open()
        await listener.until_lost()
        listener.open()
        await listener.until_lost()
        assert [each for each in listener.heard if isinstance(each, bytes)] == [b"one", b"two"]
        assert listener.heard[1] == (Cause.LOST, "the device was lost in the recording")

    run(scene())


def test_a_closed_link_is_silent_and_goes_on_where_it_was(tape: Callable[..., Path]) -> None:
    path = tape(*(Piece(number * 10 * MILLISECOND, "in", bytes([number])) for number in range(6)))

    async def scene() -> None:
        link = ReplayLink(f"replay://{path}")
        listener = Listener(link)
        listener.open()
        with pytest.raises(LinkError, match="open already"):
            listener.open()
        while len(listener.heard) < 2:
            await asyncio.sleep(0.001)
        link.close()
        before = len(listener.heard)
        await asyncio.sleep(0.05)
        assert len(listener.heard) == before
        listener.open()
        await listener.until_lost()
        assert listener.heard[:-1] == [bytes([number]) for number in range(6)]

    run(scene())


def test_the_times_are_kept_and_divided_by_the_speed(tape: Callable[..., Path]) -> None:
    path = tape(Piece(0, "in", b"a"), Piece(3 * SECOND, "in", b"b"))

    async def seconds(speed: str) -> float:
        listener, began = Listener(ReplayLink(f"replay://{path}?speed={speed}")), time.monotonic()
        listener.open()
        await listener.until_lost()
        return time.monotonic() - began

    async def scene() -> None:
        assert await seconds("10") >= 0.3
        assert await seconds("1000") < 2

    run(scene())


def test_what_cannot_be_played_says_why(tape: Callable[..., Path], tmp_path: Path) -> None:
    tape().write_text("no recording\n")
    for name, cause in (("a.rec", Cause.GARBLED), ("none.rec", Cause.ABSENT)):
        with pytest.raises(LinkError, match=name) as error:
            ReplayLink(f"replay://{tmp_path / name}").open(lambda data: None, lambda cause, detail: None)
        assert error.value.cause is cause


@pytest.mark.parametrize(
    "url",
    [
        "replay:",
        "replay://host/a.rec",
        "serial:///a",
        "replay:///a?speed=0",
        "replay:///a?pace=1",
        "replay:///a?speed=x",
    ],
)
def test_a_url_that_is_not_right(url: str) -> None:
    with pytest.raises(ValueError, match="not a "):
        ReplayLink(url)


def test_the_configuration_finds_it() -> None:
    link = make_link("replay:///a%20b.rec?speed=2.5", Line())
    assert isinstance(link, ReplayLink)
    assert (link.place, link.speed) == ("/a b.rec", 2.5)
    assert parse_url("replay:a.rec") == (Path("a.rec"), 1.0)
