"""The checks of a shuffling machine."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from daemon.bench import every
from daemon.bench.checks import Bench, Check, Failed, NotOffered, require
from daemon.bench.device import Given
from daemon.bench.hands import CLOSE_COVER, LOAD, OPEN_COVER, RETURN, TAKE
from daemon.bench.results import Cards
from drivers.base import (
    CardsReturned,
    ClearDeviceFault,
    CoverMoved,
    Deal,
    PacketOut,
    PacketTaken,
    Shuffle,
    ShuffleDone,
    ShuffleStarted,
    StopDeal,
)
from drivers.cards import DECK

SHUFFLE_WITHIN: Final = 120.0  # seconds; the slowest machines take about 70 s for one deck
PACKET_WITHIN: Final = 20.0  # seconds
STOPPINGS: Final = 10
PACKETS: Final = 8  # seven boxes and the dealer
CARDS_EACH: Final = 5


async def works(bench: Bench) -> None:
    """A command that moves nothing has its result, and the machine itself was asked for it."""
    await bench.tally([ClearDeviceFault])


async def commands(bench: Bench) -> str:
    """The commands that move nothing are answered; shuffle and deal have checks of their own."""
    return await bench.tally([*[StopDeal] * STOPPINGS, ClearDeviceFault])


# --- the parts of a deal -------------------------------------------------------------------------


async def shuffled(bench: Bench) -> ShuffleDone:
    """A whole deck is loaded and shuffled: accepted, started, finished, done."""
    await bench.move(LOAD)
    mark = bench.device.mark
    given = bench.give(Shuffle(bench.command_id))
    result = await bench.first(given)
    require(result.outcome in ("accepted", "done"), f"Shuffle was {result.outcome} (detail {result.detail})")
    result = await bench.final(given, SHUFFLE_WITHIN)
    require(result.outcome == "done", f"Shuffle ended {result.outcome} (detail {result.detail})")
    started = bench.device.expecting(ShuffleStarted, None, mark)
    ended = bench.device.expecting(ShuffleDone, None, mark)
    number = (await bench.awaited(started, "the start of the shuffle was not told")).fact.shuffle_id
    proof = (await bench.awaited(ended, "the end of the shuffle was not told")).fact
    require(proof.shuffle_id == number, f"shuffle {number} began and shuffle {proof.shuffle_id} ended")
    return proof


@dataclass(frozen=True, slots=True)
class Dealing:
    """A deal under way: what was given, and from where on the record tells of it."""

    given: Given
    mark: int

    @classmethod
    async def begin(cls, bench: Bench, packets: int, cards_each: int) -> Dealing:
        """Shuffle, then deal; the command must be accepted."""
        await shuffled(bench)
        mark = bench.device.mark
        given = bench.give(Deal(bench.command_id, packets, cards_each))
        result = await bench.first(given)
        require(result.outcome in ("accepted", "done"), f"Deal was {result.outcome} (detail {result.detail})")
        return cls(given, mark)

    async def packet(self, bench: Bench, index: int) -> int:
        """Wait for a packet; how many cards it has."""
        out = bench.device.expecting(PacketOut, lambda out: out.index == index, self.mark)
        return (await bench.awaited(out, f"packet {index} did not come", PACKET_WITHIN)).fact.count

    async def take(self, bench: Bench, index: int) -> None:
        timed = not bench.anonymous  # else it is the driver's guess, after a time of its own
        await bench.by_hand(TAKE, PacketTaken, lambda taken: taken.index == index, self.mark, timed=timed)

    @property
    def refused(self) -> bool:
        """The machine gave the deal up."""
        final = self.given.final
        return final.done() and final.result().fact.outcome == "refused"

    async def end(self, bench: Bench, outcome: str) -> None:
        result = await bench.final(self.given, PACKET_WITHIN)
        require(result.outcome == outcome, f"the deal ended {result.outcome}, and not {outcome}")


# --- the checks ----------------------------------------------------------------------------------


async def shuffle(bench: Bench) -> str:
    """A shuffle of a whole deck counts 52 cards (CS-03)."""
    proof = await shuffled(bench)
    if bench.anonymous and not proof.counted:
        return "shuffled; this protocol counts no cards"
    bench.cards = Cards(seen=proof.counted)
    require(proof.counted == len(DECK), f"{proof.counted} cards were counted, not {len(DECK)}")
    return f"shuffle {proof.shuffle_id} counted {proof.counted} cards"


async def deal(bench: Bench) -> str:
    """The packets of a whole round are dealt, each taken."""
    dealing = await Dealing.begin(bench, PACKETS, CARDS_EACH)
    for index in range(PACKETS):
        cards = await dealing.packet(bench, index)
        require(cards == CARDS_EACH, f"packet {index} has {cards} cards, not {CARDS_EACH}")
        await dealing.take(bench, index)
        bench.progress(index + 1, PACKETS)
    await dealing.end(bench, "done")
    return f"{PACKETS} packets of {CARDS_EACH} cards, each taken"


async def give_back(bench: Bench) -> str:
    """What was dealt comes back, and is counted."""
    dealing = await Dealing.begin(bench, 1, CARDS_EACH)
    await dealing.packet(bench, 0)
    await dealing.take(bench, 0)
    await dealing.end(bench, "done")
    try:
        back = (await bench.by_hand(RETURN, CardsReturned)).fact.counted
    except Failed:
        if bench.anonymous:
            raise NotOffered(f"{bench.device.speaks.name} does not tell of returned cards") from None
        raise
    require(back == CARDS_EACH, f"{back} cards came back, not {CARDS_EACH}")
    return f"{back} cards counted"


async def stop(bench: Bench) -> str:
    """A deal that is stopped ends refused; the packet that is out is still taken."""
    dealing = await Dealing.begin(bench, 3, CARDS_EACH)
    await dealing.packet(bench, 0)
    await bench.done(StopDeal(bench.command_id))
    await dealing.end(bench, "refused")
    await dealing.take(bench, 0)
    await asyncio.sleep(every.REPEATS_WITHIN)
    packets = len(bench.device.told(PacketOut, dealing.mark))
    require(packets == 1, f"{packets} packets came, although the deal was stopped")
    return "stopped after one packet, which was taken"


async def jam(bench: Bench) -> str:
    """A jam during a deal is told; after it is cleared the deal ends as it must, and the machine works."""
    dealing = await Dealing.begin(bench, 2, CARDS_EACH)
    await dealing.packet(bench, 0)
    fault = await every.jam(bench)
    await every.recover(bench, fault)
    if dealing.refused:
        await works(bench)
        return f"told as “{fault.text}”, cleared; the deal was given up"
    for index in range(2):
        await dealing.packet(bench, index)
        await dealing.take(bench, index)
    await dealing.end(bench, "done")
    return f"told as “{fault.text}”, cleared; both packets came"


CHECKS: Final[tuple[Check, ...]] = (
    Check("identity", "Identity", every.identity, hands=False),
    Check("commands", "Commands and results", commands, hands=False),
    Check("shuffle", "Shuffle of 52 cards", shuffle),
    Check("deal", "Deal and take", deal),
    Check("return", "Cards come back", give_back),
    Check("stop", "A deal is stopped", stop),
    every.cover(OPEN_COVER, CLOSE_COVER),
    Check("jam", "Jam during a deal", jam),
    every.noise(works),
    every.split(works),
    every.unplug(works),
    every.kept_event(OPEN_COVER, CoverMoved, CLOSE_COVER),
    every.asked_command(Shuffle, LOAD),
    every.restart(works),
)
