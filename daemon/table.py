"""One table: its running game, its devices, its latched faults and its money. Pure.

``handle`` takes one input and returns what became of it. The same inputs give the same
outcomes, whatever the clock; what an outcome asks for is done only after its commit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from daemon.games.desk import (
    Act,
    Desk,
    DeviceNews,
    Fault,
    Game,
    Move,
    Outcome,
    Refused,
    Timed,
    Timer,
    TimeUp,
    ToDevice,
)
from daemon.games.linked import AwardDecided, LinkedGame, PoolLost, PoolSeen, Terms, Told
from daemon.rig import BY_HAND, Device, Rig
from drivers.base import (
    CardDrawn,
    CardsReturned,
    CommandResult,
    CoverMoved,
    CutCardDrawn,
    Deal,
    DeviceEvent,
    Display,
    FaultCleared,
    FaultSet,
    PacketOut,
    PacketTaken,
    Restarted,
    ShuffleDone,
    ShuffleStarted,
    SignDiffers,
    SignShows,
)

SNAPSHOT_FORMAT: Final = 1


class InvariantBroken(Exception):
    """The books do not add up: a program error, and the table stops (fail-stop)."""


# Not frozen, as others beside it: one is made for every card, and freezing doubles its cost.
@dataclass(slots=True)
class FromDevice:
    """A device event with the device's own identity for it."""

    device: str
    event: DeviceEvent
    boot: int = -1
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class LinkChanged:
    """A device became ready, or is not any more, and why."""

    device: str
    ready: bool
    cause: str = ""
    detail: str = ""
    serial: str = ""
    firmware: str = ""
    digest: str = ""
    boot: int = -1


@dataclass(frozen=True, slots=True)
class Started:
    """The daemon started (again): no device is known to be there.

    It tells the configuration as far as the table depends on it, so that the journal alone
    says how it is to be replayed. ``devices`` are ids and roles; ``mode`` and ``shuffler`` count
    at the first start only, later the table's own acts do. ``lossy`` are the ids of devices whose
    protocol cannot prove delivery, ``pinned`` the firmware and digest that the configuration names
    for a device ("" for any). ``signer`` is the public key of the journal's anchors, ``linked`` how the
    table takes part in a linked pool.
    """

    version: str
    simulated: tuple[str, ...] = ()
    mode: str = ""
    shuffler: str = ""
    devices: Mapping[str, str] = field(default_factory=dict)
    rules: str = ""
    lossy: tuple[str, ...] = ()
    pinned: Mapping[str, Sequence[str]] = field(default_factory=dict)
    signer: str = ""
    linked: Terms | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that the table remembers at rest: recovery begins at the newest one, and any replay that
    comes to it is compared with it."""

    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something about the controller itself: its disk, its clock, its archives.

    ``holds`` True: it began, a fault that clears itself; False: it is over; None: it happened once.
    """

    code: str
    text: str = ""
    holds: bool | None = None


Input = Act | FromDevice | LinkChanged | Started | Noticed | TimeUp | Snapshot | Told


# Which input of the game a device event is, when the device is the one in use.
_NEWS: Mapping[type, str] = {
    CardDrawn: "card-drawn",
    PacketOut: "packet-out",
    PacketTaken: "packet-taken",
    CutCardDrawn: "cut-card",
    ShuffleStarted: "shuffle-started",
    ShuffleDone: "shuffle-done",
    CardsReturned: "cards-returned",
}
_TOLD: Mapping[type, str] = {
    PoolSeen: "pool-seen",
    PoolLost: "pool-lost",
    AwardDecided: "award-decided",
}
_BRINGS_CARDS = (CardDrawn, PacketOut)


def _named(program: tuple[str, str]) -> str:
    """Firmware and digest for people."""
    firmware, digest = program
    return f"{firmware or '?'} ({digest})" if digest else firmware or "?"


class Table:
    """A table with its game. Not thread-safe: one loop owns it."""

    def __init__(self, table_id: str, game: Game, rig: Rig) -> None:
        self.id = table_id
        self.game = game
        self.rig = rig
        self.faults: dict[str, Fault] = {}
        self.balances: dict[str, int] = defaultdict(int)
        self.simulated: tuple[str, ...] = ()
        self.started = False
        self._timed = game if isinstance(game, Timed) else None
        self._acts: dict[str, Callable[[Act, Desk], None]] = {
            "use-shuffler": self._use_shuffler,
            "use-shoe": self._use_shoe,
            "use-hand": self._use_hand,
            "clear-fault": self._clear_fault,
            "accept-device": self._accept_device,
        }

    def handle(self, item: Input, seq: int, at: str) -> Outcome:
        """Take one input; ``seq`` is its place in the journal, ``at`` its UTC stamp.

        Raises InvariantBroken when the books no longer add up.
        """
        desk = Desk(self.rig, seq, at, self.faults)
        try:
            self._dispatch(item, desk)
        except Refused as refusal:
            return Outcome(refusal=refusal)
        wanted = self.game.sign()
        if wanted is not self.rig.wanted and wanted != self.rig.wanted:
            self._show(wanted, item, desk)
        if desk.moves:
            self._post(desk.moves)
        if desk.effects:
            self._remember_commands(desk)
        return desk

    def _dispatch(self, item: Input, desk: Desk) -> None:
        if isinstance(item, Act):
            if item.name in self._acts:
                self._acts[item.name](item, desk)
            else:
                self.game.handle(item, desk)
        elif isinstance(item, FromDevice):
            self._from_device(item, desk)
        elif isinstance(item, LinkChanged):
            self._link_changed(item, desk)
        elif isinstance(item, Started):
            self._started(item, desk)
        elif isinstance(item, Noticed):
            self._noticed(item, desk)
        elif isinstance(item, PoolSeen | PoolLost | AwardDecided):
            self.game.handle(DeviceNews(_TOLD[type(item)], "", item), desk)
        elif isinstance(item, TimeUp):
            self.game.handle(DeviceNews("time-up", "", item), desk)
        elif item.state != self.snapshot():
            raise InvariantBroken("the snapshot is not what this table remembers")

    @property
    def timer(self) -> Timer | None:
        """The decision whose time runs now."""
        return self._timed.timer(self.rig, self.faults) if self._timed is not None else None

    # --- what it remembers ----------------------------------------------------------------

    @property
    def at_rest(self) -> bool:
        """No round is open: :meth:`snapshot` may be taken."""
        return self.game.at_rest

    def snapshot(self) -> dict[str, object]:
        """Everything, in plain JSON values. Raises RuntimeError while a round is open."""
        return {
            "format": SNAPSHOT_FORMAT,
            "game": self.game.snapshot(),
            "rig": self.rig.snapshot(),
            "faults": [[f.code, f.text, f.cleared_by, f.since] for f in self.faults.values()],
            "balances": {account: amount for account, amount in sorted(self.balances.items()) if amount},
            "simulated": list(self.simulated),
            "started": self.started,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Be as when ``state`` was taken. Raises KeyError, ValueError or TypeError for another form."""
        if state["format"] != SNAPSHOT_FORMAT:
            raise ValueError(f"a snapshot of form {state['format']}")
        self.game.restore(state["game"])
        self.rig.restore(state["rig"])
        self.faults.clear()
        self.faults.update({row[0]: Fault(*row) for row in state["faults"]})
        self.balances.clear()
        self.balances.update(state["balances"])
        self.simulated = tuple(state["simulated"])
        self.started = state["started"]

    # --- money and sign -------------------------------------------------------------------

    def _post(self, moves: list[Move]) -> None:
        balances = self.balances
        for move in moves:
            balances[move.source] -= move.amount
            balances[move.target] += move.amount
        broken = self.game.check(balances)
        if broken:
            raise InvariantBroken("; ".join(broken))

    def _show(self, wanted: Display, item: Input, desk: Desk) -> None:
        self.rig.before = self.rig.wanted if self._is_step_of_pool(item) else None
        self.rig.wanted = wanted
        self._tell_sign(desk)

    def _is_step_of_pool(self, item: Input) -> bool:
        """A linked pool moves every second: a sign that is one step behind still shows the present pool."""
        if not isinstance(item, PoolSeen) or not isinstance(self.game, LinkedGame):
            return False
        linked = self.game.linked
        return linked is not None and self.rig.wanted.meter != linked.terms.lost_text

    def _tell_sign(self, desk: Desk) -> None:
        for sign in self.rig.by_role("sign"):
            desk.effects.append(ToDevice(sign.id, self.rig.wanted))

    def _remember_commands(self, desk: Desk) -> None:
        for effect in desk.effects:
            if isinstance(effect, ToDevice) and not isinstance(effect.command, Display):
                self.rig.told[effect.command.command_id] = (effect.device, effect.command)

    # --- life of the devices --------------------------------------------------------------

    def _started(self, item: Started, desk: Desk) -> None:
        self.simulated = item.simulated
        if item.rules:
            self.game.adopt(item.rules, desk)
        if isinstance(self.game, LinkedGame):
            self.game.take_part(item.linked, desk)
        if not self.started:
            self.rig.mode, self.rig.shuffler = item.mode or self.rig.mode, item.shuffler
        elif item.mode and item.mode != self.rig.mode:
            text = f"the configuration begins in {item.mode} mode; this table goes on in {self.rig.mode} mode"
            desk.note("", f"{text}: use-shoe and use-shuffler change it")
        self.started = True
        self.rig.configure(item.devices, item.lossy, item.pinned)
        self.rig.shows = self.rig.before = None
        self.rig.wanted = self.game.sign()
        self._tell_sign(desk)
        for name, command in self.rig.told.values():
            desk.effects.append(ToDevice(name, command, resume=True))

    def _noticed(self, item: Noticed, desk: Desk) -> None:
        if item.holds is None:
            desk.note("", f"{item.code}: {item.text}")
        elif item.holds:
            desk.latch(item.code, item.text, "itself, when it is over")
        else:
            desk.unlatch(item.code)

    def _link_changed(self, item: LinkChanged, desk: Desk) -> None:
        device = self.rig.devices[item.device]
        device.ready, device.cause, device.detail = item.ready, item.cause, item.detail
        if item.ready:
            device.serial, device.firmware, device.digest = item.serial, item.firmware, item.digest
            device.boot = item.boot
            self._check_program(device, desk)
        elif device.role == "sign":
            self.rig.shows = None

    def _check_program(self, device: Device, desk: Desk) -> None:
        """Another firmware may read cards in another way: nobody deals from it until it is accepted."""
        if device.program_known:
            if device.program != device.accepted and any(device.program):
                desk.note("", f"{device.id} runs firmware {device.firmware or '?'} {device.digest}".rstrip())
            device.accepted = device.program
            return
        before = next((p for p in (device.accepted, device.pinned) if p and any(p)), ("", ""))
        text = f"{device.id} runs firmware {_named(device.program)}, known is {_named(before)}"
        desk.latch(f"firmware-{device.id}", text, f"accept-device id={device.id} by a technician")

    def _from_device(self, item: FromDevice, desk: Desk) -> None:
        device = self.rig.devices[item.device]
        event = item.event
        if isinstance(event, Restarted):
            self._restarted(device, item.boot, desk)
            return
        if item.ordinal:
            device.boot, device.ordinal = item.boot, item.ordinal
        kind = _NEWS.get(type(event))
        if kind is not None:  # nearly all that comes
            self._news(device, kind, event, desk)
        elif isinstance(event, CommandResult):
            self._command_result(device, event, desk)
        elif isinstance(event, SignShows):
            self.rig.shows = Display(event.meter, event.announcement, event.pages)
        elif isinstance(event, SignDiffers):
            self.rig.shows = None
            desk.note(self.rig.clause, f"{device.id}: {event.reason}")
        elif isinstance(event, CoverMoved):
            device.cover_open = event.open
        elif isinstance(event, FaultSet):
            self._fault_set(device, event, desk)
        else:
            assert isinstance(event, FaultCleared)
            device.faults.pop(event.code, None)

    def _news(self, device: Device, kind: str, event: DeviceEvent, desk: Desk) -> None:
        if device is self.rig.source or kind == "cut-card":
            self.game.handle(DeviceNews(kind, device.id, event), desk)
        elif isinstance(event, _BRINGS_CARDS):
            self.game.handle(DeviceNews("stray-cards", device.id, event), desk)
        else:
            desk.note("", f"{device.id}, not in use: {kind}")

    def _restarted(self, device: Device, boot: int, desk: Desk) -> None:
        device.boot, device.ordinal, device.epoch = boot, 0, device.epoch + 1
        device.faults.clear()
        device.cover_open = False
        # What it was told is gone with its memory; the dealer orders it anew.
        self.rig.told = {i: told for i, told in self.rig.told.items() if told[0] != device.id}
        desk.note("", f"{device.id} restarted")
        if device is self.rig.source:
            self.game.handle(DeviceNews(f"{device.role}-restarted", device.id, Restarted()), desk)

    def _fault_set(self, device: Device, event: FaultSet, desk: Desk) -> None:
        if not event.stops_deal:
            desk.note("", f"{device.id}: {event.text}")
            return
        device.faults[event.code] = event.text
        desk.note("", f"{device.id} reports: {event.text}")
        if device is self.rig.source and device.role == "shuffler":
            self.game.handle(DeviceNews("shuffler-fault", device.id, event), desk)

    def _command_result(self, device: Device, event: CommandResult, desk: Desk) -> None:
        if event.outcome == "accepted":
            return
        told = self.rig.told.pop(event.command_id, None)
        if told is not None and event.outcome != "done":
            name = type(told[1]).__name__.lower()
            desk.note("", f"{device.id}: {name} {event.outcome} (detail {event.detail}); order it again")
            if isinstance(told[1], Deal):
                self.game.handle(DeviceNews("deal-refused", device.id, event), desk)

    # --- the table's own acts -------------------------------------------------------------

    def _change_source(self, mode: str, shuffler: str, desk: Desk) -> None:
        self.rig.may_use(mode, shuffler)
        before = self.rig.mode, self.rig.shuffler
        self.rig.mode, self.rig.shuffler = mode, shuffler
        try:
            self.game.handle(DeviceNews("deck-source-changed", shuffler, None), desk)
        except Refused:  # cards are out: the game names its clause
            self.rig.mode, self.rig.shuffler = before
            raise

    def _use_shuffler(self, act: Act, desk: Desk) -> None:
        wanted = act.text("id")
        device = self.rig.devices.get(wanted)
        if device is None or device.role != "shuffler" or device.cause == "not configured":
            reason = f"there is no shuffler {wanted[:32]!r}"
            raise Refused(reason, self.rig.clause, "see the configured devices")
        if device.barred:
            raise Refused(
                f"{wanted} failed while dealing and is not accepted back",
                device.barred,
                "use another shuffler or the shoe; a supervisor's accept-device takes it back",
            )
        self._change_source("shuffler", wanted, desk)

    def _use_shoe(self, act: Act, desk: Desk) -> None:
        self._change_source("shoe", "", desk)

    def _use_hand(self, act: Act, desk: Desk) -> None:
        self._change_source(BY_HAND, "", desk)

    def _clear_fault(self, act: Act, desk: Desk) -> None:
        code = act.text("code")
        fault = self.faults.get(code)
        if fault is None:
            raise Refused(f"no fault {code[:32]!r} is latched")
        if fault.cleared_by == "shuffle":
            raise Refused(f"fault {code} is cleared by a new shuffle", self.game.shuffle_clause, "shuffle")
        if fault.cleared_by == "supervisor" and act.role != "supervisor":
            raise Refused(f"fault {code} is cleared by a supervisor", "", "role=supervisor")
        act.text("text")
        desk.unlatch(code)

    def _accept_device(self, act: Act, desk: Desk) -> None:
        wanted = act.text("id")
        device = self.rig.devices.get(wanted)
        if device is None:
            raise Refused(f"there is no device {wanted[:32]!r}")
        if not device.barred and device.program_known:
            raise Refused(f"{wanted} is not barred, and its firmware is known")
        if device.barred and act.role != "supervisor":
            raise Refused(
                "taking a failed device back is a supervisor's act", device.barred, "role=supervisor"
            )
        if act.role not in ("supervisor", "technician"):
            raise Refused("a firmware is accepted by a technician", "", "role=technician")
        if device.barred:
            desk.note(device.barred, f"{wanted} taken back by a supervisor")
            device.barred = ""
        if not device.program_known:
            device.accepted = device.program
            desk.note("", f"{wanted}: firmware {_named(device.program)} accepted")
            desk.unlatch(f"firmware-{wanted}")

    # --- what staff see -------------------------------------------------------------------

    def view(self) -> dict[str, object]:
        """The state for ``feltd status``: nothing in it tells a face-down card."""
        return {
            "table": self.id,
            "game": self.game.name,
            "rules": self.game.rules_id,
            "mode": self.rig.mode,
            "shuffler": self.rig.shuffler,
            "state": self.game.phase,
            "round": self.game.round_id,
            "simulated": bool(self.simulated),
            "faults": [
                {"code": f.code, "since": f.since, "text": f.text, "cleared_by": f.cleared_by}
                for f in self.faults.values()
            ],
            "sign": {
                "wanted": {
                    "meter": self.rig.wanted.meter,
                    "announcement": self.rig.wanted.announcement,
                    "pages": list(self.rig.wanted.pages),
                },
                "proven": self.rig.shows == self.rig.wanted,
                "readable": all(sign.proves_delivery for sign in self.rig.by_role("sign")),
            },
            "not_ready": self.rig.not_ready(),
            **self.game.view(),
        }
