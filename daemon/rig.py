"""The devices of one table as the table knows them: what is ready, in use, barred, and told. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, get_args

from daemon.games.desk import Refused
from drivers.base import Display, NumberedCommand

COMMAND_IDS: Final = 0xFFFF
BY_HAND: Final = "hand"  # the mode in which no device deals: the dealer keys what lies face up
_COMMANDS: Final[Mapping[str, type[NumberedCommand]]] = {
    kind.__name__: kind for kind in get_args(NumberedCommand)
}


@dataclass(slots=True)
class Device:
    """One device. ``epoch`` counts its restarts; with ``ordinal`` it names an event for ever,
    which the device's own 16-bit boot id cannot."""

    id: str
    role: str  # shoe, shuffler, sign
    ready: bool = False
    cause: str = "absent"
    detail: str = ""
    serial: str = ""
    firmware: str = ""
    digest: str = ""
    pinned: tuple[str, str] = ("", "")  # the only firmware and digest that are known; "" for any
    accepted: tuple[str, str] | None = None  # firmware and digest that were met or accepted last
    proves_delivery: bool = True
    boot: int = -1
    epoch: int = 0
    ordinal: int = 0
    faults: dict[int, str] = field(default_factory=dict)
    cover_open: bool = False
    barred: str = ""  # the clause under which it is refused

    @property
    def program(self) -> tuple[str, str]:
        """The firmware and its digest, as the device tells them."""
        return self.firmware, self.digest

    @property
    def program_known(self) -> bool:
        """The configuration names this firmware, or it was met first, or a technician accepted it."""
        if (self.firmware, self.digest) == self.accepted:
            return True
        if any(self.pinned):
            return all(want in ("", have) for want, have in zip(self.pinned, self.program, strict=True))
        return self.accepted is None

    def trouble(self) -> str:
        """Why this device cannot serve a round now; "" when it can."""
        if self.ready and not (self.barred or self.cover_open or self.faults) and self.program_known:
            return ""
        if self.barred:
            return f"{self.id} is barred ({self.barred}): a supervisor's accept-device takes it back"
        if not self.ready:
            return f"{self.id} is not ready: {self.cause}" + (f" ({self.detail})" if self.detail else "")
        if not self.program_known:
            return f"{self.id} runs firmware {self.firmware or '?'}, which is not known: accept-device"
        if self.cover_open:
            return f"{self.id}: the cover is open"
        return f"{self.id} reports: {next(iter(self.faults.values()))}"


@dataclass(slots=True)
class Rig:
    """All devices of a table (daemon.games.desk.Devices)."""

    devices: dict[str, Device]
    mode: str
    shuffler: str = ""
    sources: tuple[str, ...] = ("shoe", "shuffler")  # the modes that the game can be dealt in
    needs_sign: bool = True  # no round opens without one (CS-01)
    wanted: Display = field(default_factory=lambda: Display(""))  # what the sign is to show
    shows: Display | None = None  # what it is proven to show
    before: Display | None = None  # what it was to show a step of the linked pool ago
    told: dict[int, tuple[str, NumberedCommand]] = field(default_factory=dict)  # no result yet
    last_command_id: int = 0
    _first: dict[str, Device] = field(init=False, repr=False, compare=False)  # of a role

    def __post_init__(self) -> None:
        self._devices_known()

    def _devices_known(self) -> None:
        """They do not change after this; which one the cards come from is asked with most inputs."""
        self._first = {device.role: device for device in reversed(self.devices.values())}

    def configure(
        self, devices: Mapping[str, str], lossy: Sequence[str], pinned: Mapping[str, Sequence[str]]
    ) -> None:
        """The daemon started with these devices (id and role): none of them is ready yet.

        One that was taken out of the configuration stays known, for the records that name it.
        """
        for name, role in sorted(devices.items()):  # as a record tells them: a replay has no other order
            self.devices.setdefault(name, Device(name, role))
        for device in self.devices.values():
            device.ready, device.detail = False, ""
            device.cause = "absent" if not devices or device.id in devices else "not configured"
            device.proves_delivery = device.id not in lossy
            firmware, digest = pinned.get(device.id, ("", ""))
            device.pinned = (firmware, digest)
        self._devices_known()

    def by_role(self, role: str) -> list[Device]:
        return [device for device in self.devices.values() if device.role == role]

    @property
    def source(self) -> Device | None:
        """The device that the cards come from."""
        if self.mode == "shuffler":
            return self.devices.get(self.shuffler)
        return self._first.get(self.mode)  # the shoe; by hand there is none

    @property
    def clause(self) -> str:
        """Under which devices are required; "" where the regulation asks for none."""
        return "CS-01" if self.needs_sign else ""

    def may_use(self, mode: str, shuffler: str = "") -> None:
        """Whether the cards may come in another way, this one. Raises Refused."""
        if mode not in self.sources:
            raise Refused(f"this game is not dealt in {mode} mode", "", f"modes: {', '.join(self.sources)}")
        if mode != BY_HAND and not self.by_role(mode):
            raise Refused(f"no {mode} is configured", self.clause, "see the configured devices")
        if self.mode == mode and (mode != "shuffler" or self.shuffler == shuffler):
            raise Refused(f"{shuffler or mode} is in use already")

    def not_ready(self) -> str:
        return self.source_trouble() or (self._sign_trouble() if self.needs_sign else "")

    def source_trouble(self) -> str:
        source = self.source
        if source is None:
            return "" if self.mode == BY_HAND else f"no {self.mode} is configured"
        return source.trouble()

    def _sign_trouble(self) -> str:
        signs = self.by_role("sign")
        return signs[0].trouble() if signs else "no sign is configured"

    def source_ready(self) -> bool:
        return self.source is not None and self.source.ready

    def source_proves(self) -> bool:
        return self.source is not None and self.source.proves_delivery

    def sign_is_current(self) -> bool:
        signs = self.by_role("sign")
        if signs and not signs[0].proves_delivery:
            return signs[0].ready  # nothing can be read back from it: what it is told is all there is
        return self.shows is not None and self.shows in (self.wanted, self.before)

    def barred(self, device: str) -> str:
        return self.devices[device].barred

    def bar(self, device: str, clause: str) -> None:
        self.devices[device].barred = clause

    def snapshot(self) -> dict[str, object]:
        """Everything, in plain JSON values."""
        return {
            "devices": [_device_plain(device) for device in self.devices.values()],
            "mode": self.mode,
            "shuffler": self.shuffler,
            "wanted": _display_plain(self.wanted),
            "shows": _display_plain(self.shows) if self.shows else None,
            "told": [
                [device, type(command).__name__, asdict(command)] for device, command in self.told.values()
            ],
            "last_command_id": self.last_command_id,
            **({"before": _display_plain(self.before)} if self.before is not None else {}),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Be as when ``state`` was taken. Raises KeyError, ValueError or TypeError for another form."""
        devices = [_device_from(plain) for plain in state["devices"]]
        self.devices.clear()
        self.devices.update({device.id: device for device in devices})
        self._devices_known()
        self.mode, self.shuffler = state["mode"], state["shuffler"]
        self.wanted = _display_from(state["wanted"])
        self.shows = _display_from(state["shows"]) if state["shows"] else None
        self.before = _display_from(state["before"]) if "before" in state else None
        commands = [(device, _COMMANDS[kind](**values)) for device, kind, values in state["told"]]
        self.told = {command.command_id: (device, command) for device, command in commands}
        self.last_command_id = state["last_command_id"]

    def next_command_id(self) -> int:
        self.last_command_id = self.last_command_id % COMMAND_IDS + 1
        return self.last_command_id


def _device_plain(device: Device) -> dict[str, object]:
    faults = [[code, text] for code, text in device.faults.items()]
    program = {"pinned": list(device.pinned), "accepted": list(device.accepted) if device.accepted else None}
    return asdict(device) | program | {"faults": faults}


def _device_from(plain: Mapping[str, Any]) -> Device:
    device = Device(**plain)
    device.pinned = tuple(plain["pinned"])
    device.accepted = tuple(plain["accepted"]) if plain["accepted"] else None
    device.faults = dict(plain["faults"])
    return device


def _display_plain(display: Display) -> list[object]:
    return [display.meter, display.announcement, list(display.pages)]


def _display_from(plain: Sequence[Any]) -> Display:
    meter, announcement, pages = plain
    return Display(meter, announcement, tuple(pages))
