"""The daemon's event stream on its way to a page, with a beat whenever nothing happens.

A page that hears neither an event nor a beat knows that what it shows is old. A beat is sent only
after the daemon itself has answered, so that a daemon that hangs is noticed too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import httpx

BEAT_EVERY: Final = 2.0  # seconds
BEAT: Final = b"event: beat\ndata: {}\n\n"
END: Final = b"\n\n"


async def with_beats(
    upstream: httpx.Response, alive: Callable[[], Awaitable[bool]], every: float = BEAT_EVERY
) -> AsyncIterator[bytes]:
    """Whole events of ``upstream``, and a beat after every ``every`` seconds without one.

    Ends when the daemon ends the stream or is not ``alive``.
    """
    chunks = upstream.aiter_raw()
    coming = asyncio.ensure_future(_next(chunks))
    held = b""
    try:
        yield BEAT  # the stream is open: the page is live
        while True:
            await asyncio.wait({coming}, timeout=every)
            if coming.done():
                chunk = coming.result()
                if not chunk:
                    return
                coming = asyncio.ensure_future(_next(chunks))
                whole, end, held = (held + chunk).rpartition(END)
                if end:
                    yield whole + end
            elif not await alive():
                return
            else:
                yield BEAT
    finally:
        coming.cancel()
        await upstream.aclose()


async def _next(chunks: AsyncIterator[bytes]) -> bytes:
    """The next bytes; none at the end, however it came."""
    try:
        return await anext(chunks)
    except (StopAsyncIteration, httpx.TransportError):
        return b""
