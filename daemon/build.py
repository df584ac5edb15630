"""From settings to the objects of a table: what the service and the simulation have in common."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from daemon import __version__
from daemon.config import ConfigError, DeviceSettings, Settings, load
from daemon.engine import Port
from daemon.games.caribbean.game import Caribbean
from daemon.games.caribbean.rows import KNOWN_ACTS
from daemon.games.desk import Act
from daemon.registry import DRIVERS
from daemon.rig import Device, Rig
from daemon.supervisor import LinkLife
from daemon.table import Started, Table

TABLE_ACTS: Final = frozenset({"use-shuffler", "use-shoe", "clear-fault", "accept-device"})


def build_table(settings: Settings, compiled: bool = False) -> Table:
    """A new table in its first state. Its devices and rules come with its first record (`started`).

    ``compiled``: the machine's rows as one dictionary, for simulation.
    """
    game = Caribbean(settings.rules, compiled=compiled)
    return Table(settings.table_id, game, Rig({}, settings.mode))


def started(settings: Settings) -> Started:
    """The first input of a process: the configuration as far as the table depends on it."""
    return Started(
        __version__,
        settings.simulated,
        settings.mode,
        settings.shuffler,
        {device.id: device.role for device in settings.devices},
        settings.rules.text(),
    )


def build_ports(settings: Settings, table: Table) -> dict[str, Port]:
    """A port for each device. Call it when the table is recovered: drivers go on from there."""
    return {device.id: _port(device, table.rig.devices.get(device.id)) for device in settings.devices}


def _port(settings: DeviceSettings, device: Device | None) -> Port:
    resume = (device.boot, device.ordinal) if device is not None and device.boot >= 0 else None
    driver = DRIVERS[settings.role, settings.protocol](resume)
    life = LinkLife(settings.id, settings.role, settings.serial or None)
    return Port(settings.id, driver, life, settings.protocol, settings.link)


def completed(act: Act) -> Act:
    """The act with what it names by a file: the journal must not depend on a file that changes.

    ``change-rules file=`` takes the rule set out of a whole configuration, which has to be right.
    """
    if act.name != "change-rules":
        return act
    args = {"file": str(act.args.get("file", ""))}
    try:
        args["rules"] = load(Path(args["file"])).rules.text()
    except ConfigError as error:
        args["problem"] = error.problems[0]
    return replace(act, args=args)


def known_acts(settings: Settings) -> frozenset[str]:
    """The names of the acts that this table and its game know."""
    return TABLE_ACTS | frozenset(KNOWN_ACTS)
