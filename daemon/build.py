"""From settings to the objects of a table: what the service and the simulation have in common."""

from __future__ import annotations

from typing import Final

from daemon.config import DeviceSettings, Settings
from daemon.engine import Port
from daemon.games.caribbean.game import Caribbean
from daemon.games.caribbean.rows import ACTS
from daemon.registry import DRIVERS
from daemon.rig import Device, Rig
from daemon.supervisor import LinkLife
from daemon.table import Table

TABLE_ACTS: Final = frozenset({"use-shuffler", "use-shoe", "clear-fault", "accept-device"})


def build_table(settings: Settings) -> Table:
    """A new table in its first state: nothing recovered, no device ready."""
    devices = {device.id: Device(device.id, device.role) for device in settings.devices}
    game = Caribbean(settings.rules)
    return Table(settings.table_id, game, Rig(devices, settings.mode, settings.shuffler))


def build_ports(settings: Settings, table: Table) -> dict[str, Port]:
    """A port for each device. Call it when the table is recovered: drivers go on from there."""
    return {device.id: _port(device, table.rig.devices[device.id]) for device in settings.devices}


def _port(settings: DeviceSettings, device: Device) -> Port:
    resume = (device.boot, device.ordinal) if device.boot >= 0 else None
    driver = DRIVERS[settings.role, settings.protocol](resume)
    life = LinkLife(settings.id, settings.role, settings.serial or None)
    return Port(settings.id, driver, life, settings.protocol, settings.link)


def known_acts(settings: Settings) -> frozenset[str]:
    """The names of the acts that this table and its game know."""
    return TABLE_ACTS | frozenset(ACTS)
