"""The bench's own file: which devices are on it, and what it lacks (config/bench.toml)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from daemon.bench.hands import Hands, SimulatorHands, find_control
from daemon.bench.run import CHECKS, Subject
from daemon.bench.terminal import Keys, Screen, Technician
from daemon.config import ConfigError, parsed
from daemon.links.url import make_link
from daemon.registry import ProtocolError, protocol
from drivers.protocol import Option


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Entry(_Strict):
    """One device on the bench. ``lacks`` names checks that it cannot have, each with the reason."""

    role: Literal["shoe", "shuffler", "sign"]
    protocol: str
    link: str
    hands: Literal["technician", "simulator", "none"]
    serial: str = ""
    control: str = ""
    options: dict[str, Option] = {}
    lacks: dict[str, str] = {}

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        try:
            speaks = protocol(self.role, self.protocol)
        except ProtocolError as error:
            raise ValueError(f"protocol: {error}") from None
        make_link(self.link, speaks.line)
        for what, found, known in (
            ("options", self.options, set(speaks.options)),
            ("lacks", self.lacks, {check.name for check in CHECKS[self.role]}),
        ):
            for name in sorted(set(found) - known):
                raise ValueError(f"{what}.{name}: unknown (known: {', '.join(sorted(known)) or 'none'})")
        return self

    def subject(self) -> Subject:
        """What is accepted."""
        speaks = protocol(self.role, self.protocol)
        return Subject(speaks, self.link, self.serial, self.options, self.lacks)

    def take_hands(self, screen: Screen, patience: float, keys: Keys | None) -> Hands:
        """Whose hands it is in. Raises ValueError when the simulated device has no control socket."""
        if self.hands != "simulator":
            return Technician(screen, patience, keys)
        control = Path(self.control) if self.control else find_control(self.link)
        if control is None:
            raise ValueError(f"no control socket beside {self.link}: is the simulated device running?")
        return SimulatorHands(control)


class _Bench(_Strict):
    patience: float = Field(default=60.0, gt=0)


class BenchFile(_Strict):
    """A whole bench. ``bench.patience`` is how long a request to the technician stands (s)."""

    bench: _Bench
    devices: dict[str, Entry] = Field(min_length=1)


def is_bench(path: Path) -> bool:
    """Whether this file describes a bench, and no table."""
    try:
        return "bench" in parsed(path)
    except ConfigError:
        return False


def load(path: Path) -> BenchFile:
    """The bench of a file. Raises ConfigError with everything that is wrong in it."""
    try:
        return BenchFile.model_validate(parsed(path))
    except ValidationError as error:
        raise ConfigError(
            [f"{path}: {_dotted(each['loc'])}: {each['msg']}" for each in error.errors()]
        ) from None


def _dotted(place: tuple[int | str, ...]) -> str:
    return ".".join(map(str, place))
