"""What only hands can do to a device, and the two pairs of hands there are.

A technician is asked, and the device's own event is the answer. A simulated device is moved
through its control socket (``cli.md``, "Simulator control").
"""

from __future__ import annotations

import asyncio
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, TypeVar
from urllib.parse import urlsplit

from daemon.simhost import Answer, ControlClient, ControlError, control_beside

T = TypeVar("T")

# How simulators answer a verb that they do not have; another error means: not now.
_NO_VERB: Final = re.compile(r"unknown verb|no verb|: (an?|this) \w+ does ")


class CannotDo(Exception):
    """There is nothing on this device, or in these hands, that could do it; the text says what."""


class NoHands(Exception):
    """Nobody did what was asked for; the text says what it was."""


class Refused(Exception):
    """The device could do it, and not now; the text is its answer."""


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that hands do: the request to a person ("" if no person can), and the verb."""

    ask: str
    verb: str
    words: Mapping[str, object] = field(default_factory=dict)


LOAD: Final = Act("Put one whole deck of 52 cards in and close the cover, then press Enter", "load")
DRAW: Final = Act("Draw the next card", "draw")
TRY: Final = Act("Try to draw a card: the shoe is locked. Press Enter when none comes", "draw")
FACE_UP: Final = Act("Put a card in face up and draw it", "draw", {"face_up": True})
UNREAD: Final = Act("Put a blank card in and draw it", "draw", {"unread": True})
CUT_CARD: Final = Act("Draw the cut card", "cut-card")
OPEN_COVER: Final = Act("Open the cover", "cover", {"open": True})
CLOSE_COVER: Final = Act("Close the cover", "cover", {"open": False})
JAM: Final = Act("Make a jam: hold a card back in the exit", "jam")
CLEAR: Final = Act("Take the jam out, and reset the device as its manual says", "clear")
TAKE: Final = Act("Take the packet out", "take")
RETURN: Final = Act("Put the dealt cards back in", "return")
POWER_CYCLE: Final = Act("Switch the device off, and on again", "power-cycle")
UNPLUG: Final = Act("Pull the plug of the data cable", "unplug")
REPLUG: Final = Act("Plug the data cable in again", "replug")
CORRUPT: Final = Act("", "corrupt", {"frames": 1})
SPLIT: Final = Act("", "split", {"on": True})
UNSPLIT: Final = Act("", "split", {"on": False})
HOLD_BACK: Final = Act("", "delay", {"ms": 400})
LET_GO: Final = Act("", "delay", {"ms": 0})


class Hands(Protocol):
    """Who moves the device. ``name`` is simulator, technician or none."""

    name: str

    async def do(self, act: Act, seen: asyncio.Future[T] | None) -> None:
        """Have it done; returns once it is said to be, or once ``seen`` came, the event that tells of
        it (None: there is none). Raises CannotDo, NoHands or Refused."""

    async def look(self) -> Answer | None:
        """What the device shows and holds, seen from outside; None for a person."""

    async def agree(self, question: str) -> bool | None:
        """Whether the person sees what is asked; None when there is nobody to ask."""

    def close(self) -> None: ...


class SimulatorHands:
    """The hands of a simulated device. Its control socket is met at the first verb."""

    name = "simulator"

    def __init__(self, control: Path) -> None:
        # The real path: the name of a link can be too long for a socket's address.
        self._client = ControlClient(control.resolve())

    async def do(self, act: Act, seen: asyncio.Future[T] | None) -> None:
        await self._verb(act.verb, act.words)

    async def look(self) -> Answer | None:
        return await self._verb("state", {})

    async def agree(self, question: str) -> bool | None:
        return None

    def close(self) -> None:
        self._client.close()

    async def _verb(self, verb: str, words: Mapping[str, object]) -> Answer:
        # In a thread: the device's bytes go on coming while its control answers.
        try:
            return await asyncio.to_thread(self._client.do, verb, **words)
        except ControlError as error:
            if error.__cause__ is None and "does not tell" in str(error):
                raise CannotDo(str(error).removeprefix(f"{verb}: ")) from None
            if error.__cause__ is None and _NO_VERB.search(str(error)):
                raise CannotDo(f"the simulated device has nothing to {verb}") from None
            raise Refused(f"the simulated device: {error}") from None


def find_control(url: str) -> Path | None:
    """The control socket of the simulated device behind a link, or None.

    It is ``PATH.control``; in the folder of a demonstration ``shoe.tty`` has ``shoe.control``.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("", "serial"):
        return None
    path = Path(url if not parts.scheme else parts.path)
    names = [control_beside(path)]
    if path.suffix == ".tty":
        names.append(path.with_suffix(".control"))
    return next((name for name in names if is_socket(name)), None)


def is_socket(path: Path) -> bool:
    """Whether this is a socket, or a link to one: nothing else is ever written to."""
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False
