"""When a device counts as stalled: bytes wait for it, and it takes none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

STALL_SECONDS: Final = 5.0
STALLED: Final = f"stalled: it took no byte for {STALL_SECONDS:g} s"

Progress = Callable[[], tuple[int, int]]  # bytes that wait, and bytes that were ever taken


class StallWatch:
    """Calls ``stalled`` once no byte was taken for 5 to 10 s while some waited.

    Rests while nothing waits; :meth:`arm` it after every write.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, progress: Progress, stalled: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._progress = progress
        self._stalled = stalled
        self._timer: asyncio.TimerHandle | None = None

    def arm(self) -> None:
        """Something may wait now."""
        waiting, taken = self._progress()
        if waiting and self._timer is None:
            self._timer = self._loop.call_later(STALL_SECONDS, self._look, taken)

    def cancel(self) -> None:
        """Watch no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, before: int) -> None:
        self._timer = None
        waiting, taken = self._progress()
        if waiting and taken == before:
            self._stalled()
        else:
            self.arm()
