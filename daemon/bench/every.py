"""The checks that every device has, whatever its role."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns
from typing import Final

from daemon.bench.checks import ANSWER_WITHIN, BACK_WITHIN, Bench, Check, Failed, NotOffered, require
from daemon.bench.device import Fact
from daemon.bench.hands import (
    CLEAR,
    CORRUPT,
    HOLD_BACK,
    JAM,
    LET_GO,
    POWER_CYCLE,
    REPLUG,
    SPLIT,
    UNPLUG,
    UNSPLIT,
    Act,
    CannotDo,
)
from daemon.supervisor import Change
from drivers.base import (
    SECOND,
    ClearDeviceFault,
    CoverMoved,
    DeviceEvent,
    FaultCleared,
    FaultSet,
    NumberedCommand,
    Restarted,
)

LOOK_EVERY: Final = 0.05  # seconds, for a port that comes back
GONE_WITHIN: Final = 8.0  # seconds: a link without modem lines shows a pulled plug by three lost heartbeats
RETURN_LIMIT: Final = 15.0  # seconds that are waited before a device counts as not come back
OUT_FOR: Final = 1.2  # seconds at least that the plug is out: the first attempts to open must fail
REPEATS_WITHIN: Final = 1.5  # seconds in which an event that was told twice would have come again

Works = Callable[[Bench], Awaitable[None]]  # one thing that a device of this role does when it is well


async def identity(bench: Bench) -> str:
    """The device says who it is, and is of the role that it is tested for."""
    await bench.ready()
    who = bench.device.who
    if who is None:
        raise Failed("it is ready and never said who it is")
    if not who.serial:
        return f"a {who.role}; {bench.device.speaks.name} tells no serial number"
    return f"{who.role} {who.serial}, firmware {who.firmware or 'not told'}"


def restart(works: Works) -> Check:
    """Power off and on: the device says that it forgot, is ready again, and works."""

    async def run(bench: Bench) -> str:
        began = monotonic_ns()
        within = ANSWER_WITHIN if bench.anonymous else RETURN_LIMIT
        try:
            await bench.by_hand(POWER_CYCLE, Restarted, within=within, timed=False)
        except Failed:
            if bench.anonymous:
                raise NotOffered(f"{bench.device.speaks.name} does not tell a restart") from None
            raise
        await bench.ready(RETURN_LIMIT)
        await works(bench)
        bench.samples.clear()  # a boot is no answer
        return f"told as a new boot; it worked again after {(monotonic_ns() - began) / SECOND:.1f} s"

    return Check("restart", "Power off and on", run)


# --- the plug ------------------------------------------------------------------------------------


async def pull(bench: Bench) -> None:
    """Have the plug pulled, and wait until the loss of the link is known."""
    lost = bench.device.expecting(Change, lambda change: change.cause is not None)
    await bench.hands.do(UNPLUG, lost)
    await bench.awaited(lost, "the pulled plug was not noticed", GONE_WITHIN)
    bench.device.start_over()


async def plug(bench: Bench) -> float:
    """Have it plugged in again; the seconds from then until the device is ready."""
    back = bench.device.expecting(Change, lambda change: change.cause is None)
    there = asyncio.create_task(_port_is_there(bench))
    try:
        await bench.hands.do(REPLUG, back)
        ready = await bench.awaited(back, "it did not come back", RETURN_LIMIT)
        since = there.result() if there.done() else bench.device.opened_at
    finally:
        there.cancel()
    return max(0, ready.at - since) / SECOND


async def _port_is_there(bench: Bench) -> int:
    """When the port was there (ns), and then it is opened at once: how long the daemon waits between
    two attempts is no property of the device. For a link that is no path this never ends."""
    path = Path(bench.device.link.place)
    while not (path.is_absolute() and path.exists()):
        await asyncio.sleep(LOOK_EVERY)
    if not bench.device.life.wants_link:
        bench.device.start_over()
    return monotonic_ns()


def _name(bench: Bench) -> str:
    who = bench.device.who
    return f"{who.role} {who.serial}".strip() if who else "nobody"


def unplug(works: Works) -> Check:
    """The plug is pulled: the loss is known, and the device is back 3 s after the port is."""

    async def run(bench: Bench) -> str:
        before = _name(bench)
        await pull(bench)
        await asyncio.sleep(OUT_FOR)
        seconds = await plug(bench)
        require(seconds <= BACK_WITHIN, f"ready only {seconds:.2f} s after the port was back")
        require(_name(bench) == before, f"unplugged was {before}, and {_name(bench)} came back")
        await works(bench)
        bench.samples.clear()
        return f"ready {seconds:.2f} s after the port was back"

    return Check("unplug", "Unplug and return", run)


def kept_event(act: Act, kind: type[DeviceEvent], undo: Act | None = None) -> Check:
    """What happens while the plug is out is told on return, and told once (FDP/1 rules 1 and 2).

    ``undo``: what puts the device right again, told by an event of the same kind.
    """

    async def run(bench: Bench) -> str:
        _require_delivery(bench)
        await pull(bench)
        mark = bench.device.mark
        try:
            await bench.move(act)
        finally:
            await plug(bench)
        await bench.awaited(bench.device.expecting(kind, None, mark), f"{kind.__name__} was lost")
        await asyncio.sleep(REPEATS_WITHIN)
        told = len(bench.device.told(kind, mark))
        if undo is not None:
            await bench.by_hand(undo, kind, timed=False)
        require(told == 1, f"{kind.__name__} was told {told} times")
        return "what happened while the plug was out was told once, on return"

    return Check("kept-event", "An event while unplugged", run)


def asked_command(make: Callable[[int], NumberedCommand], before: Act | None = None) -> Check:
    """A command whose answer the plug cut off is asked about, and done once (FDP/1 rule 4).

    ``before``: what must be done for the command to be possible.
    """

    async def run(bench: Bench) -> str:
        _require_delivery(bench)
        if before is not None:
            await bench.move(before)
        number = bench.command_id
        in_flight = await _hold_back(bench)
        given = None if not in_flight else bench.give(make(number))
        await asyncio.sleep(0.1)  # it reaches the device; its answer is on the way
        await pull(bench)
        given = given or bench.give(make(number))
        await _let_go(bench)
        await plug(bench)
        result = await bench.final(given, RETURN_LIMIT)
        if bench.anonymous and result.outcome == "refused":
            return "told as refused on return: the protocol cannot ask what became of it"
        require(result.outcome == "done", f"the command was {result.outcome} (detail {result.detail})")
        await _require_once(bench, number)
        return (
            "asked about on return, and done once" if in_flight else "given while unplugged, done on return"
        )

    return Check("asked-command", "A command cut off by the plug", run)


def _require_delivery(bench: Bench) -> None:
    if not bench.device.speaks.proves_delivery:
        raise NotOffered(f"{bench.device.speaks.name} keeps nothing while nobody listens")


async def _hold_back(bench: Bench) -> bool:
    try:
        await bench.move(HOLD_BACK)
    except CannotDo:
        return False  # no person can: the command is given while the plug is out
    return True


async def _let_go(bench: Bench) -> None:
    with suppress(CannotDo):
        await bench.move(LET_GO)


async def _require_once(bench: Bench, number: int) -> None:
    """A simulated device says how often it carried a command out."""
    state = await bench.hands.look() or {}
    executed = state.get("executed")
    if isinstance(executed, dict):
        times = executed.get(str(number), 0)
        require(times == 1, f"the command was carried out {times} times")


# --- the wire ------------------------------------------------------------------------------------


def noise(works: Works) -> Check:
    """Damaged frames are dropped and counted, and the device still works."""

    async def run(bench: Bench) -> str:
        before = bench.dropped
        await bench.move(CORRUPT)
        try:
            await works(bench)
        except Failed:
            if bench.device.speaks.proves_delivery and not bench.anonymous:
                raise  # else what the noise hit is lost, or takes its time
        await bench.ready()
        await works(bench)
        bench.samples.clear()  # repeats take their time
        dropped = bench.dropped - before
        if not dropped and not bench.device.speaks.proves_delivery:
            raise NotOffered(f"{bench.device.speaks.name} cannot tell a damaged frame from a whole one")
        require(dropped > 0, "damaged frames were neither dropped nor counted")
        return f"{dropped} dropped and counted; it works"

    return Check("noise", "Noise on the wire", run)


def split(works: Works) -> Check:
    """The same events when every byte comes alone."""

    async def run(bench: Bench) -> str:
        counters, before = bench.device.driver.counters, bench.dropped
        frames = counters.frames
        await bench.move(SPLIT)
        try:
            await works(bench)
        finally:
            await bench.move(UNSPLIT)
        bench.samples.clear()  # a byte a millisecond
        if counters.frames == frames:
            raise NotOffered("nothing comes from this device")
        require(bench.dropped == before, "frames were dropped because they came in pieces")
        return "every byte alone: the same events"

    return Check("split", "Frames in pieces", run)


# --- covers and jams -----------------------------------------------------------------------------


def cover(opened: Act, closed: Act) -> Check:
    """The cover is told, both ways."""

    async def run(bench: Bench) -> str:
        await bench.by_hand(opened, CoverMoved, lambda moved: moved.open)
        await bench.by_hand(closed, CoverMoved, lambda moved: not moved.open)
        return "opened and closed, both told"

    return Check("cover", "Cover open and closed", run)


async def jam(bench: Bench) -> FaultSet:
    """Have a jam made; the fault that the device tells."""
    fault = (await bench.by_hand(JAM, FaultSet)).fact
    require(bool(fault.text), f"fault {fault.code} has no text")
    return fault


async def recover(bench: Bench, fault: FaultSet, works: Works | None = None) -> None:
    """End the fault by the command, with hands where the command alone does not, and first for a person.

    ``works``: some devices tell that it is over only by working again. A new boot is an end too.
    """

    def is_over(fact: Fact) -> bool:
        return isinstance(fact, Restarted) or (isinstance(fact, FaultCleared) and fact.code == fault.code)

    over = bench.device.expecting((FaultCleared, Restarted), is_over)
    if bench.hands.name != "simulator":
        await bench.hands.do(CLEAR, over)
    if not over.done() and not await _cleared_by_command(bench):
        await bench.hands.do(CLEAR, over)
        await _cleared_by_command(bench)
    if not over.done() and works is not None:
        await works(bench)
    await bench.awaited(over, f"fault {fault.code} was not told as cleared")


async def _cleared_by_command(bench: Bench) -> bool:
    try:
        given = bench.give(ClearDeviceFault(bench.command_id))
    except NotOffered:
        return False
    await bench.first(given)
    return (await bench.final(given)).outcome == "done"
