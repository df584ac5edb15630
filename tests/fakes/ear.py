"""Listens to a link, and waits for what it tells for a bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from daemon.links.base import Cause, Link


class Ear:
    """What a link told, in order. Wait in the event loop that owns the link."""

    def __init__(self) -> None:
        self.log: list[bytes | Cause] = []
        self.details: list[str] = []
        self._told = asyncio.Event()

    def open(self, link: Link) -> None:
        """Open the link with this ear."""
        link.open(self.on_bytes, self.on_lost)

    def on_bytes(self, data: bytes) -> None:
        self.log.append(data)
        self._told.set()

    def on_lost(self, cause: Cause, detail: str) -> None:
        self.log.append(cause)
        self.details.append(detail)
        self._told.set()

    @property
    def data(self) -> bytes:
        return b"".join(item for item in self.log if isinstance(item, bytes))

    @property
    def losses(self) -> list[Cause]:
        return [item for item in self.log if isinstance(item, Cause)]

    async def lost(self, seconds: float = 30) -> Cause:
        """The loss, when it comes. Raises TimeoutError."""
        await self._until(lambda: bool(self.losses), seconds)
        return self.losses[0]

    async def heard(self, count: int, seconds: float = 30) -> bytes:
        """All bytes, when there are so many. Raises TimeoutError."""
        await self._until(lambda: len(self.data) >= count, seconds)
        return self.data

    async def _until(self, reached: Callable[[], bool], seconds: float) -> None:
        async with asyncio.timeout(seconds):
            while not reached():
                self._told.clear()
                await self._told.wait()


async def until(reached: Callable[[], object], seconds: float = 30) -> None:
    """Wait until something is true. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not reached():
            await asyncio.sleep(0.002)
