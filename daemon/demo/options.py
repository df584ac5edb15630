"""What a demonstration is asked to do, and how it says that it could not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

GAMES: Final = ("caribbean", "five-card")


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """``cli.md``, "feltd demo". ``speed`` divides the pauses; ``seed`` None draws one.

    ``directory`` None is a temporary one, removed at the end; a given one is kept, and a journal
    in it is continued.
    """

    game: str = "caribbean"
    rounds: int = 25
    speed: float = 1.0
    seed: int | None = None
    irregularities: bool = False
    console: bool = False
    directory: Path | None = None
    as_json: bool = False

    def objection(self) -> str:
        """Why this cannot be played (wrong usage), in one sentence; "" when it can."""
        if self.game not in GAMES:
            return f"there is no game {self.game!r}; there are {' and '.join(GAMES)}"
        if self.directory is not None and self.directory.exists() and not self.directory.is_dir():
            return f"--dir {self.directory} is there and is no directory"
        if not 1 <= self.rounds <= 100_000:
            return "--rounds is a number from 1 to 100000"
        if not 0.01 <= self.speed <= 1000:
            return "--speed is a number from 0.01 to 1000"
        return ""


class DemoFailed(Exception):
    """The demonstration cannot go on; the text is the one sentence that says why."""


class Stopped(BaseException):
    """SIGTERM: end everything that was started. Not an Exception, so that nothing takes it for an error."""
