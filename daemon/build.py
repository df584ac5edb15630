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
from daemon.games.desk import Act, Game
from daemon.games.five_card.game import FiveCard
from daemon.games.five_card.rows import ACTS
from daemon.games.five_card.rules import FiveCardRules
from daemon.links.url import make_link
from daemon.rig import BY_HAND, Device, Rig
from daemon.supervisor import LinkLife
from daemon.table import Started, Table
from drivers.protocol import Binding

CHANGE_RULES: Final = "change-rules"
FIVE_CARD_SOURCES: Final = ("shoe", BY_HAND)  # the dealer shuffles, cards come one at a time (FC-02)
LONGEST_PROBLEM: Final = 500  # characters: it is journalled, and may quote the file
TABLE_ACTS: Final = frozenset({"use-shuffler", "use-shoe", "use-hand", "clear-fault", "accept-device"})


def build_table(settings: Settings, compiled: bool = False) -> Table:
    """A new table in its first state. Its devices and rules come with its first record (`started`).

    ``compiled``: the machine's rows as one dictionary, for simulation.
    """
    rules = settings.rules
    if isinstance(rules, FiveCardRules):
        five_card: Game = FiveCard(rules, compiled=compiled)
        rig = Rig({}, settings.mode, sources=FIVE_CARD_SOURCES, needs_sign=False)
        return Table(settings.table_id, five_card, rig)
    return Table(settings.table_id, Caribbean(rules, compiled=compiled), Rig({}, settings.mode))


def started(settings: Settings, signer: str = "") -> Started:
    """The first input of a process: the configuration as far as the table depends on it, and the
    public key that signs the journal's anchors."""
    return Started(
        __version__,
        settings.simulated,
        settings.mode,
        settings.shuffler,
        {device.id: device.role for device in settings.devices},
        settings.rules.text(),
        tuple(device.id for device in settings.devices if not device.speaks.proves_delivery),
        {d.id: (d.firmware, d.digest) for d in settings.devices if d.firmware or d.digest},
        signer,
        settings.linked.terms if settings.linked is not None else None,
    )


def build_ports(settings: Settings, table: Table) -> dict[str, Port]:
    """A port for each device. Call it when the table is recovered: drivers go on from there."""
    return {device.id: _port(device, table.rig.devices.get(device.id)) for device in settings.devices}


def _port(settings: DeviceSettings, device: Device | None) -> Port:
    resume = (device.boot, device.ordinal) if device is not None and device.boot >= 0 else None
    speaks = settings.speaks
    line = getattr(make_link(settings.link, speaks.line), "line", speaks.line)
    driver = speaks.driver(Binding(resume, settings.serial, line, {**speaks.options, **settings.options}))
    life = LinkLife(settings.id, settings.role, settings.serial or None)
    return Port(settings.id, driver, life, settings.protocol, settings.link)


def completed(act: Act) -> Act:
    """The act with what it names by a file: the journal must not depend on a file that changes.

    ``change-rules file=`` takes the rule set out of a whole configuration, which has to be right.
    For anybody but a supervisor no file is opened: the game refuses the act by its role (CS-13).
    """
    if act.name != CHANGE_RULES:
        return act
    args = {"file": str(act.args.get("file", ""))}
    if act.role == "supervisor":
        args |= _rules_of(args["file"])
    return replace(act, args=args)


def _rules_of(file: str) -> dict[str, str]:
    """``rules`` as text, or the ``problem`` that keeps them from being used."""
    if not file:
        return {"problem": f"{CHANGE_RULES}: file= is missing"}
    try:
        return {"rules": load(Path(file)).rules.text()}
    except ConfigError as error:
        return {"problem": error.problems[0][:LONGEST_PROBLEM]}


def known_acts(settings: Settings) -> frozenset[str]:
    """The names of the acts that this table and its game know."""
    return TABLE_ACTS | frozenset(ACTS if isinstance(settings.rules, FiveCardRules) else KNOWN_ACTS)
