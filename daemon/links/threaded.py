"""The shape of every link whose library blocks: one thread owns the device, the loop owns the state.

A library's device object is never shared: the thread opens, reads, writes and closes, and tells the
loop nothing but bytes or the loss. A thread that hangs in a call is abandoned and keeps its turn, so
that no other thread touches the device before it has returned.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

from daemon.links.base import BUFFER_LIMIT, Cause, LinkError, LinkLost, OnBytes, OnLost
from daemon.links.stall import STALLED, StallWatch

READ_MS: Final = 20  # one read; also the longest that a write waits behind it
TURN_SECONDS: Final = 2.0  # how long an opening waits for the thread before it
CLOSE_SECONDS: Final = 0.1  # how long the loop waits for a close before it abandons it


class Transport(Protocol):
    """What blocks: a device behind its library. One thread at a time calls it, never two.

    It may be opened again after :meth:`close`. Every error of the library is folded into
    LinkError (opening) or LinkLost; anything else that is raised counts as a loss too.
    """

    def open(self) -> None:
        """Open, within seconds. Raises LinkError; :meth:`close` follows even then."""

    def read(self, timeout_ms: int) -> bytes:
        """What has come, waiting at most so long (up to 50 ms); ``b""`` for nothing. Raises LinkLost."""

    def write(self, data: bytes) -> None:
        """Send everything; ``data`` is what one call of the link's ``write`` got. Raises LinkLost."""

    def close(self) -> None:
        """Let go of the device, whatever state it is in."""


class ThreadedLink:
    """A link on a thread of its own. ``describe`` is its line of description, ``place`` its place."""

    def __init__(self, transport: Transport, describe: str, place: str) -> None:
        self._transport = transport
        self._describe = describe
        self._place = place
        self._turn = threading.Lock()  # held by the thread that may touch the transport
        self._opening: _Opening | None = None
        self._stall: StallWatch | None = None

    @property
    def place(self) -> str:
        """What no two devices can share."""
        return self._place

    def open(self, on_bytes: OnBytes, on_lost: OnLost) -> None:
        """Start the thread and return; what goes wrong comes by ``on_lost``. Raises LinkError (busy)."""
        if self._opening is not None:
            raise LinkError(Cause.BUSY, f"{self._place} is open already")
        self._loop = asyncio.get_running_loop()
        self._on_bytes, self._on_lost = on_bytes, on_lost
        self._opening = opening = _Opening(self._transport, self._turn, self._tell)
        self._stall = StallWatch(self._loop, opening.progress, partial(self._stalled, opening))
        opening.thread.start()

    def write(self, data: bytes, wake: int = 0) -> None:
        """Queue for the thread. ``wake`` has no meaning here: such a transport has no wake-up bit."""
        opening = self._opening
        if opening is None or not data:
            return
        if not opening.queue(bytes(data)):
            self.give_up(
                LinkLost(Cause.SILENT, f"{self._place} stalled: {opening.waiting} bytes wait for it")
            )
        elif self._stall is not None:
            self._stall.arm()

    def give_up(self, why: LinkLost) -> None:
        """Lose the open link for a reason of our own; it is reported like every other."""
        opening = self._opening
        if opening is not None and not opening.stopped:
            opening.stopped = True
            self._loop.call_soon(self._hear, opening, why)

    def close(self) -> None:
        """Tell the thread to end, and wait a moment for it. No loss is reported any more."""
        opening = self._release()
        if opening is not None:
            opening.thread.join(CLOSE_SECONDS)

    def describe(self) -> str:
        """The line of description; also that an earlier call still hangs."""
        opening = self._opening
        hangs = self._turn.locked() and (opening is None or not opening.has_turn)
        return self._describe + ("; an earlier call to the device still hangs" if hangs else "")

    def _tell(self, opening: _Opening, news: bytes | LinkError) -> None:
        with suppress(RuntimeError):  # the loop has ended: nobody is left to be told
            self._loop.call_soon_threadsafe(self._hear, opening, news)

    def _hear(self, opening: _Opening, news: bytes | LinkError) -> None:
        if opening is not self._opening:  # closed or opened anew since the thread said so
            return
        if isinstance(news, LinkError):
            self._release()
            self._on_lost(news.cause, news.detail)
        else:
            opening.heard(len(news))
            self._on_bytes(news)

    def _stalled(self, opening: _Opening) -> None:
        self._hear(opening, LinkLost(Cause.SILENT, f"{self._place} {STALLED}"))

    def _release(self) -> _Opening | None:
        opening, self._opening = self._opening, None
        if self._stall is not None:
            self._stall.cancel()
        if opening is not None:
            opening.stopped = True
        return opening


class _Opening:
    """One opening, from ``open`` to ``close`` or loss: its thread, and what waits on either side."""

    def __init__(
        self,
        transport: Transport,
        turn: threading.Lock,
        tell: Callable[[_Opening, bytes | LinkError], None],
    ) -> None:
        self.thread = threading.Thread(target=self._run, daemon=True)  # a hung one does not hold the exit
        self.stopped = False
        self.has_turn = False
        self.waiting = 0  # bytes queued, or in a write that has not returned
        self._taken = 0
        self._unheard = 0  # bytes that the loop has not come to yet
        self._transport = transport
        self._turn = turn
        self._tell = tell
        self._out: deque[bytes] = deque()
        self._counts = threading.Lock()

    def queue(self, data: bytes) -> bool:
        """Keep for the thread; False if too much waits already."""
        with self._counts:
            if self.waiting + len(data) > BUFFER_LIMIT:
                return False
            self.waiting += len(data)
        self._out.append(data)
        return True

    def progress(self) -> tuple[int, int]:
        """Bytes that wait, and bytes that were ever taken."""
        with self._counts:
            return self.waiting, self._taken

    def heard(self, count: int) -> None:
        """The loop has taken so many of the bytes that it was told."""
        with self._counts:
            self._unheard -= count

    def _run(self) -> None:
        try:
            if self._await_turn():
                self._own()
        except LinkError as error:
            self._tell(self, error)

    def _await_turn(self) -> bool:
        deadline = time.monotonic() + TURN_SECONDS
        while not self.stopped:
            if self._turn.acquire(timeout=READ_MS / 1000):
                self.has_turn = True
                return True
            if time.monotonic() >= deadline:
                raise LinkError(Cause.BUSY, "an earlier call to the device still hangs")
        return False

    def _own(self) -> None:
        try:
            self._transport.open()
            while not self.stopped:
                self._send()
                self._receive()
        except LinkError as error:
            self._tell(self, error)
        except Exception as error:  # no library's surprise may end the thread without a word
            self._tell(self, LinkLost(Cause.LOST, f"{type(error).__name__}: {error}"))
        finally:
            with suppress(Exception):  # the device is let go of either way
                self._transport.close()
            self._turn.release()

    def _send(self) -> None:
        while self._out and not self.stopped:
            data = self._out.popleft()
            self._transport.write(data)
            with self._counts:
                self.waiting -= len(data)
                self._taken += len(data)

    def _receive(self) -> None:
        if self._unheard > BUFFER_LIMIT:  # the loop is behind: let the device wait
            time.sleep(READ_MS / 1000)
            return
        data = self._transport.read(READ_MS)
        if data:
            with self._counts:
                self._unheard += len(data)
            self._tell(self, data)
