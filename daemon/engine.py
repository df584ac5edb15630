"""The one meeting point: bytes, ticks and acts in; table, journal and effects out.

No I/O of its own: it is given :class:`Wires`. Between the bytes of an event and its commit
there is no queue, no bus and no await; nothing leaves before the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from daemon.clock import Clock
from daemon.games.desk import Act, Outcome, Timer, TimeUp, ToDevice
from daemon.games.linked import AwardDecided, PoolLost, PoolSeen, Told
from daemon.journal import Entry, Journal
from daemon.links.base import Cause
from daemon.records import Plain, essence, input_from, input_record, outcome_record
from daemon.supervisor import Change, LinkLife
from daemon.table import (
    SNAPSHOT_FORMAT,
    FromDevice,
    Input,
    LinkChanged,
    Noticed,
    Snapshot,
    Started,
    Table,
)
from drivers.base import (
    MILLISECOND,
    SECOND,
    Display,
    Driver,
    Drop,
    Emit,
    Identified,
    InSync,
    OutOfSync,
    Output,
    Send,
    Silent,
)

RETRY_HELD: Final = 20 * MILLISECOND
HELD_IS_A_FAULT: Final = SECOND
SNAPSHOT_EVERY: Final = 500  # records: what a recovery plays again at most, and one open round
SAFE_TEXT: Final = "PLEASE WAIT"
_HEALTH: Final = (Identified, Silent, OutOfSync, InSync)
_CANNOT_WAIT: Final = (Act, Started, TimeUp, PoolSeen, PoolLost, AwardDecided)


class FailStop(Exception):
    """The table changed and the journal is not certain of it: the process must end."""


class RecoveryError(Exception):
    """The journal replays to something else than it says; play is refused."""


class Wires(Protocol):
    """How the engine reaches the links. None of these may block or raise."""

    def open(self, device: str) -> None:
        """Try to open the link; the result comes by ``link_opened`` or ``link_failed``."""

    def send(self, device: str, data: bytes, wake: int = 0) -> None: ...

    def close(self, device: str) -> None: ...


class Log(Protocol):
    def __call__(self, event: str, **facts: object) -> None: ...


class ReplaySource(Protocol):
    """A journal that can be read from its beginning, or from a snapshot on."""

    def latest_snapshot(self) -> tuple[int, Plain] | None:
        """Number and state of the newest snapshot."""

    def replay(self, after: int = 0) -> Iterator[tuple[int, Plain, bytes]]:
        """Every record later than ``after``: number, record, faces in clear."""


@dataclass(slots=True)
class Port:
    """One device: its driver, the life of its link, and what people are told of it."""

    id: str
    driver: Driver
    life: LinkLife
    protocol: str
    link: str
    open: bool = False
    who: Identified | None = None
    openings: int = 0  # attempts to open its link


@dataclass(frozen=True, slots=True)
class Recovery:
    """How a table came back: from which snapshot (0: from the first record), over how many records."""

    snapshot: int
    replayed: int
    passed_over: str = ""  # why the newest snapshot could not be used


def recover(new_table: Callable[[], Table], journal: ReplaySource) -> tuple[Table, Recovery]:
    """A table as its journal ends: the newest snapshot, and the records after it played again.

    Every outcome is compared with the one that was journalled, but for its wording. A snapshot of
    another version's form costs time and nothing else: all records are played. Raises RecoveryError
    at the first that differs: the journal or the program is not the one that wrote it.
    """
    table, snapshot, passed_over = new_table(), journal.latest_snapshot(), ""
    begun = 0
    if snapshot is not None:
        try:
            table.restore(snapshot[1])
            begun = snapshot[0]
        except (KeyError, TypeError, ValueError) as error:
            table, passed_over = new_table(), f"snapshot {snapshot[0]}: {type(error).__name__}: {error}"
    count = 0
    for seq, record, faces in journal.replay(begun):
        _replay(table, seq, record, faces)
        count += 1
    return table, Recovery(begun, count, passed_over)


def _replay(table: Table, seq: int, record: Plain, faces: bytes) -> None:
    try:
        item = input_from(record["input"], faces)
        if isinstance(item, Snapshot) and item.state.get("format") != SNAPSHOT_FORMAT:
            return  # another version remembered in another form
        outcome = table.handle(item, seq, record["at"])
        again = outcome_record(record["at"], record["input"], outcome, table.game.phase)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise RecoveryError(f"record {seq} cannot be replayed ({type(error).__name__})") from None
    if essence(again) != essence(record):
        raise RecoveryError(f"record {seq} replays differently: another program or rule set wrote it")


def _nothing() -> None:
    pass


class Engine:
    """One table at work. Single-threaded: everything here runs on one loop."""

    def __init__(
        self, table: Table, journal: Journal, ports: Mapping[str, Port], clock: Clock, wires: Wires, log: Log
    ) -> None:
        self.table = table
        self.journal = journal
        self.ports = ports
        self._clock = clock
        self._wires = wires
        self._log = log
        self._held: list[Input] = []
        self._held_since = 0
        self._retry_at: int | None = None
        self._timer: Timer | None = None  # the decision whose time runs
        self._time_up_at = 0
        self._snapshot_at = SNAPSHOT_EVERY  # a long journal gets one soon after every start
        self.committed = 0
        self._meter = table.rig.wanted.meter  # as the journal has it
        self.tidy = _nothing  # what the journal has to do between rounds; some milliseconds at most

    # --- what comes in --------------------------------------------------------------------

    def start(self, started: Started) -> None:
        """The first input of a process: devices are unknown, the sign is shown anew."""
        if self._take([started]) is None:
            raise FailStop("the journal is locked by another program: end it, then start again")

    def link_opened(self, device: str) -> None:
        port, now = self.ports[device], self._clock.monotonic()
        port.open = True
        self._apply(port, port.life.opened(now))
        self._outputs(port, port.driver.opened(now), now)

    def link_failed(self, device: str, cause: Cause, detail: str) -> None:
        port = self.ports[device]
        self._apply(port, port.life.failed(cause, detail, self._clock.monotonic()))

    def link_lost(self, device: str, cause: Cause, detail: str) -> None:
        port, now = self.ports[device], self._clock.monotonic()
        if port.open:
            port.open = False
            self._outputs(port, port.driver.closed(now), now)
        self._apply(port, port.life.lost(cause, detail, now))

    def bytes_in(self, device: str, data: bytes) -> None:
        """Bytes of one read; what they say shares one commit."""
        port, now = self.ports[device], self._clock.monotonic()
        port.life.heard(now)
        self._outputs(port, port.driver.received(data, now), now)

    def act(self, act: Act) -> Plain | None:
        """One operator's act: its answer, or None while the journal cannot be written.

        An act whose ``key`` was answered before gets the same answer and does nothing.
        """
        return self.acts([act])[0]

    def acts(self, acts: Sequence[Act]) -> list[Plain | None]:
        """Acts that wait at the same time, one after the other in one commit; an answer for each."""
        answers: list[Plain | None] = [None] * len(acts)
        fresh: list[int] = []  # those that are to be done
        repeated: list[int] = []  # those with the key of another of these
        keys: set[str] = set()
        for n, act in enumerate(acts):
            if act.key:
                answers[n] = self._told_before(act)
                if answers[n] is not None:
                    continue
                if act.key in keys:
                    repeated.append(n)
                    continue
                keys.add(act.key)
            fresh.append(n)
        if fresh:
            self._expire(self._clock.monotonic())  # what is late does not depend on how busy the loop is
            seq = self.journal.next_seq  # what the devices say to their effects is recorded after them
            records = None if self._held else self._take([acts[n] for n in fresh])
            for offset, record in enumerate(records or ()):
                answers[fresh[offset]] = answer(seq + offset, record)
        for n in repeated:
            answers[n] = self._told_before(acts[n])
        return answers

    def _told_before(self, act: Act) -> Plain | None:
        before = self.journal.answered(act.key)
        return self._answered_before(act, before) if before is not None else None

    def _answered_before(self, act: Act, before: Plain) -> Plain:
        told, _ = input_record(act)
        if essence(told) == essence(before["input"]):
            return answer(before["seq"], before)
        self._log("key-reused", key=act.key, record=before["seq"])
        reason = f"this key was used for {before['input']['name']} in record {before['seq']}"
        refusal = {
            "reason": reason,
            "clause": "",
            "todo": "give every act a key of its own; nothing was done",
        }
        return answer(before["seq"], before | {"refusal": refusal, "effects": [], "message": ""}) | {
            "act": act.name
        }

    def notice(self, noticed: Noticed) -> None:
        """Something about the controller itself, which the table has to know (and to remember)."""
        self._take([noticed])

    def hear(self, told: Told) -> Plain | None:
        """What is told of a linked pool: its record, or None while the journal cannot be written."""
        if self._held:
            return None
        records = self._take([told])
        return records[-1] if records else None

    def tick(self) -> None:
        """A deadline may have come: links to open, drivers to tick, held events to commit."""
        now = self._clock.monotonic()
        self._retry_held(now)
        self._expire(now)
        for port in self.ports.values():
            if port.life.due(now):
                self._apply(port, port.life.opening(now))
                port.openings += 1
                self._wires.open(port.id)
            else:
                self._apply(port, port.life.tick(now))
            deadline = port.driver.deadline if port.open else None
            if deadline is not None and deadline <= now:
                self._outputs(port, port.driver.tick(now), now)
        if self.table.at_rest and not self._held:
            self.tidy()

    @property
    def deadline(self) -> int | None:
        """When :meth:`tick` is due, monotonic nanoseconds."""
        due = [port.life.deadline for port in self.ports.values()]
        due += [port.driver.deadline for port in self.ports.values() if port.open]
        up = self._time_up_at if self._timer is not None else None
        times = [at for at in (*due, self._retry_at, up) if at is not None]
        return min(times) if times else None

    # --- drivers --------------------------------------------------------------------------

    def _outputs(self, port: Port, outputs: list[Output], now: int) -> None:
        inputs: list[Input] = []
        for output in outputs:
            if isinstance(output, Send):
                self._wires.send(port.id, output.data, output.wake)
            elif isinstance(output, Drop):
                self._log("dropped", device=port.id, reason=output.reason)
            elif isinstance(output.event, _HEALTH):
                inputs += self._health(port, output, now)
            else:
                inputs.append(FromDevice(port.id, output.event, output.boot, output.ordinal))
        if inputs:
            self._take(inputs)

    def _health(self, port: Port, output: Emit, now: int) -> list[Input]:
        event = output.event
        if isinstance(event, Identified):
            port.who = event
            changes = port.life.identified(event, now)
        elif isinstance(event, Silent):
            changes = port.life.silent(now)
        elif isinstance(event, OutOfSync):
            changes = port.life.out_of_sync(now)
        else:
            changes = port.life.in_sync(now)
        return self._changes(port, changes)

    def _changes(self, port: Port, changes: list[Change]) -> list[Input]:
        """The table's inputs for a link's changes; a link that is not wanted is closed."""
        if port.open and not port.life.wants_link:
            port.open = False
            port.driver.closed(self._clock.monotonic())
            self._wires.close(port.id)
        return [self._link_input(port, change) for change in changes]

    def _link_input(self, port: Port, change: Change) -> LinkChanged:
        cause = change.cause.value if change.cause else ""
        self._log("link", device=port.id, state=change.state.value, cause=cause, detail=change.detail)
        who = port.who
        if not port.life.ready or who is None:
            return LinkChanged(port.id, False, cause, change.detail)
        return LinkChanged(port.id, True, "", "", who.serial, who.firmware, who.digest, who.boot)

    def _apply(self, port: Port, changes: list[Change]) -> None:
        inputs = self._changes(port, changes)
        if inputs:
            self._take(inputs)

    # --- the path of an input -------------------------------------------------------------

    def _take(self, inputs: list[Input]) -> list[Plain] | None:
        """Table, journal, commit, then effects. None: held, and the table knows nothing of it."""
        devices_wait = not isinstance(inputs[0], _CANNOT_WAIT)
        if self._held and devices_wait:
            self._held += inputs  # in their order, behind those that wait
            return None
        if not self.journal.begin():
            if devices_wait:
                self._hold(inputs)
            return None
        try:
            outcomes, records = self._journal(inputs)
            self.journal.commit()
        except Exception as error:
            self.journal.rollback()
            raise FailStop(f"an input could not be committed: {type(error).__name__}: {error}") from error
        self.committed = self.journal.next_seq - 1
        self._meter = self.table.rig.wanted.meter
        self._perform(inputs, outcomes)
        self._time()
        self._remember()
        return records

    def _remember(self) -> None:
        """A snapshot now and then, between rounds."""
        if self.committed < self._snapshot_at or not self.table.at_rest or self._held:
            return
        self._snapshot_at = self.journal.next_seq + SNAPSHOT_EVERY
        self._take([Snapshot(self.table.snapshot())])

    def _journal(self, inputs: list[Input]) -> tuple[list[Outcome], list[Plain]]:
        table, journal, outcomes, records = self.table, self.journal, [], []
        for item in inputs:
            seq, at = journal.next_seq, self._clock.utc()
            outcome = table.handle(item, seq, at)
            plain, faces = input_record(item)
            record = outcome_record(at, plain, outcome, table.game.phase)
            journal.append(self._entry(seq, record, faces, item))
            outcomes.append(outcome)
            records.append(record)
        return outcomes, records

    def _entry(self, seq: int, record: Plain, faces: bytes, item: Input) -> Entry:
        if isinstance(item, FromDevice):
            epoch = self.table.rig.devices[item.device].epoch
            return Entry(seq, record, faces, item.device, epoch, item.ordinal)
        if isinstance(item, Act):
            return Entry(seq, record, faces, None, 0, 0, item.key)
        return Entry(seq, record, faces, snapshot=isinstance(item, Snapshot))

    def _perform(self, inputs: list[Input], outcomes: list[Outcome]) -> None:
        """Only now: acknowledge the devices, tell them what to do."""
        now = self._clock.monotonic()
        for device in dict.fromkeys([item.device for item in inputs if isinstance(item, FromDevice)]):
            port = self.ports[device]
            self._outputs(port, port.driver.committed(now), now)
        for outcome in outcomes:
            for effect in outcome.effects:
                if isinstance(effect, ToDevice):
                    self._tell(effect, now)

    def _tell(self, effect: ToDevice, now: int) -> None:
        port = self.ports.get(effect.device)
        if port is None:
            return  # it was taken out of the configuration: there is nobody to tell
        told = port.driver.resume if effect.resume else port.driver.command
        self._outputs(port, told(effect.command, now), now)

    # --- time to decide -------------------------------------------------------------------

    def _time(self) -> None:
        """The time of a decision begins when its turn is committed, and anew after a halt or a restart."""
        timer = self.table.timer
        if timer is not None and timer != self._timer:
            self._time_up_at = self._clock.monotonic() + timer.limit + 1  # at the limit is in time
        self._timer = timer

    @property
    def time_left(self) -> int | None:
        """Nanoseconds until the running decision is over (FC-16); None while no time runs."""
        if self.table.timer is None:
            return None
        return max(0, self._time_up_at - self._clock.monotonic())

    def _expire(self, now: int) -> None:
        if self._timer is None or now < self._time_up_at:
            return
        over, self._timer = self._timer, None
        if self._take([TimeUp(over.id)]) is None:
            self._time()  # while nothing can be journalled nobody can act either

    # --- a journal that is busy -----------------------------------------------------------

    def _hold(self, inputs: list[Input]) -> None:
        now = self._clock.monotonic()
        self._held, self._held_since = inputs, now
        self._timer = None  # nobody can act meanwhile: the time begins anew with the next commit
        self._retry_at = now + RETRY_HELD
        self._log("journal-held", inputs=len(inputs))

    def _retry_held(self, now: int) -> None:
        if self._retry_at is None or now < self._retry_at:
            return
        held, self._held, self._retry_at = self._held, [], None
        since = self._held_since
        self._take(held)
        if self._held:  # refused again
            self._held_since = since

    @property
    def held_for(self) -> int:
        """Nanoseconds since which device events wait for the journal; 0 when none do."""
        return self._clock.monotonic() - self._held_since if self._held else 0

    # --- what people see ------------------------------------------------------------------

    def safe_text(self) -> None:
        """The last thing before a fail-stop: the sign asks for patience, and the meter stays.

        It is the committed one: the table is ahead of the journal when a commit has failed (J10).
        """
        now = self._clock.monotonic()
        for device in self.table.rig.by_role("sign"):
            port = self.ports[device.id]
            if port.open:
                for output in port.driver.command(Display(self._meter, SAFE_TEXT), now):
                    if isinstance(output, Send):
                        self._wires.send(port.id, output.data, output.wake)

    def summary(self) -> str:
        """State and devices in one line, for the service manager."""
        devices = ", ".join(f"{port.id} {_standing(port.life)}" for port in self.ports.values())
        return f"{self.table.game.phase}; {devices}"

    def view(self) -> Plain:
        """The answer of ``feltd status``."""
        view = self.table.view()
        view["devices"] = {port.id: self._device_view(port) for port in self.ports.values()}
        view["seq"] = self.committed
        if self.held_for > HELD_IS_A_FAULT:
            fault = {
                "code": "journal-held",
                "since": "",
                "text": "another program holds the journal: nothing is accepted",
                "cleared_by": "the journal being free again",
            }
            view["faults"] = [*view["faults"], fault]  # type: ignore[misc]
        return view

    def _device_view(self, port: Port) -> Plain:
        age = port.life.age(self._clock.monotonic())
        device = self.table.rig.devices[port.id]
        cause = port.life.cause
        return {
            "role": device.role,
            "protocol": port.protocol,
            "link": port.link,
            "state": "ready" if port.life.ready else port.life.state.value,
            "cause": cause.value if cause else None,
            "detail": port.life.detail,
            "age_ms": None if age is None else age // MILLISECOND,
            "serial": device.serial,
            "firmware": device.firmware,
            "digest": device.digest,
            "faults": list(device.faults.values()),
            "barred": device.barred or None,
            "in_use": device is self.table.rig.source or device.role == "sign",
            "counters": {
                "frames": port.driver.counters.frames,
                "repeats": port.driver.counters.repeats,
                "gaps": port.driver.counters.gaps,
                "dropped": sum(port.driver.counters.drops.values()),
            },
        }


def _standing(life: LinkLife) -> str:
    if life.ready:
        return "ready"
    return life.cause.value if life.cause else life.state.value


def answer(seq: int, record: Plain) -> Plain:
    """What the sender of an act is told; the same for a repeated key."""
    notes = [
        {"clause": e["clause"], "detail": e["detail"]}
        for e in record.get("effects", ())
        if e["effect"] == "note"
    ]
    refusal = record.get("refusal")
    return {
        "accepted": refusal is None,
        "seq": seq,
        "act": record["input"].get("name"),
        "state": record["phase"],
        "message": record.get("message", ""),
        "notes": notes,
        "refusal": refusal,
    }
