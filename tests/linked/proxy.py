"""A line on loopback that cuts, delays, half-closes and falls silent, in a thread of its own."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

CHUNK: Final = 65_536
FAULTS: Final = ("cut", "half-close", "delay", "silence")


class Proxy:
    """Passes bytes on to ``port`` of loopback, until :meth:`trouble` does something to open lines."""

    def __init__(self, port: int, seed: int) -> None:
        self._to = port
        self._chance = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._lines: set[_Line] = set()
        self.port = 0
        self.done: dict[str, int] = dict.fromkeys(FAULTS, 0)

    def __enter__(self) -> Self:
        self._thread.start()
        server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._accept, "127.0.0.1", 0, limit=CHUNK), self._loop
        ).result(10)
        self.port = server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *why: type[BaseException] | BaseException | TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    async def _end(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._to, limit=CHUNK)
        except OSError:
            writer.transport.abort()
            return
        line = _Line(writer, back)
        self._lines.add(line)
        try:
            await asyncio.gather(line.carry(reader, back), line.carry(there, writer))
        finally:
            self._lines.discard(line)
            line.cut()

    def trouble(self, share: float = 0.3) -> None:
        """One kind of fault for about this share of the open lines."""
        self._loop.call_soon_threadsafe(self._trouble, self._chance.choice(FAULTS), share)

    def _trouble(self, fault: str, share: float) -> None:
        for line in list(self._lines):
            if self._chance.random() < share:
                self.done[fault] += 1
                line.suffer(fault, self._chance)


class _Line:
    """One connection through the proxy."""

    def __init__(self, *ends: asyncio.StreamWriter) -> None:
        self._ends = ends
        self._late = 0.0
        self._after = -1  # bytes that still pass before the fault

    def suffer(self, fault: str, chance: random.Random) -> None:
        does: dict[str, Callable[[], None]] = {
            "cut": self.cut,
            "half-close": lambda: self._half_close(chance.choice(self._ends)),
            "delay": lambda: setattr(self, "_late", chance.uniform(0.1, 1.5)),
            "silence": lambda: setattr(self, "_late", 3600.0),  # the other side's patience ends it
        }
        does[fault]()

    def cut(self) -> None:
        for end in self._ends:
            end.transport.abort()

    def _half_close(self, end: asyncio.StreamWriter) -> None:
        if not end.is_closing():
            end.write_eof()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(CHUNK):
                if self._late:
                    await asyncio.sleep(self._late)
                half = len(data) // 2  # in pieces: a message need not come whole
                for piece in (data[:half], data[half:]):
                    writer.write(piece)
                    await writer.drain()
            writer.write_eof()
        except (OSError, RuntimeError):
            self.cut()
