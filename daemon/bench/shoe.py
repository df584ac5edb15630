"""The checks of a card shoe."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from daemon.bench import every
from daemon.bench.checks import Bench, Check, Failed, require
from daemon.bench.hands import (
    CLOSE_COVER,
    CUT_CARD,
    DRAW,
    FACE_UP,
    LOAD,
    OPEN_COVER,
    TRY,
    UNREAD,
    NoHands,
    Refused,
)
from daemon.bench.results import Cards
from drivers.base import (
    CardDrawn,
    ClearDeviceFault,
    CutCardDrawn,
    FaultSet,
    LockShoe,
    NumberedCommand,
    UnlockShoe,
)
from drivers.cards import DECK, Card

LOCKINGS: Final = 10
TOLD_WITHIN: Final = 0.5  # seconds in which a card that was drawn would have been told
MOST_NAMED: Final = 8  # cards that a sentence names


async def works(bench: Bench) -> None:
    """A card is drawn and told."""
    await bench.by_hand(DRAW, CardDrawn)


async def commands(bench: Bench) -> str:
    """Every command has a result: lock and unlock are done, to clear no fault is answered."""
    makes: list[Callable[[int], NumberedCommand]] = [LockShoe, UnlockShoe]
    told = await bench.tally([*makes * LOCKINGS, ClearDeviceFault])
    for name in ("LockShoe", "UnlockShoe"):
        require(name not in told or f"{name} done ×{LOCKINGS}" in told, told)  # noqa: RUF001
    return told


async def lock(bench: Bench) -> str:
    """A locked shoe gives no card, an unlocked one does."""
    await bench.done(LockShoe(bench.command_id))
    try:
        drawn = bench.device.expecting(CardDrawn)
        with suppress(Refused):
            await bench.hands.do(TRY, drawn)
        await asyncio.sleep(TOLD_WITHIN)
        require(not drawn.done(), "a card came out of the locked shoe")
    finally:
        await bench.done(UnlockShoe(bench.command_id))
    await works(bench)
    return "locked: no card; unlocked: a card"


# --- the deck ------------------------------------------------------------------------------------


async def deck(bench: Bench) -> str:
    """All 52 cards are drawn, and each is seen exactly once (CS-01)."""
    await bench.move(LOAD)
    drawn: list[CardDrawn] = []
    ended = ""
    try:
        await _draw_all(bench, drawn)
    except NoHands as gone:
        raise NoHands(f"{gone}; {len(drawn)} of {len(DECK)} cards were drawn") from None
    except Failed as failed:
        ended = f"; after {len(drawn)} cards: {failed}"
    finally:
        bench.cards = count(drawn)
    if bench.cards != Cards(len(DECK)):
        raise Failed(_account(bench.cards) + ended)
    await bench.move(LOAD)
    return "52 cards, each seen once"


async def _draw_all(bench: Bench, drawn: list[CardDrawn]) -> None:
    since = bench.device.mark
    for _ in DECK:
        heard = await bench.by_hand(DRAW, CardDrawn, since=since)
        since = heard.place + 1
        drawn.append(heard.fact)
        bench.progress(len(drawn), len(DECK))


def count(drawn: list[CardDrawn]) -> Cards:
    """What a whole deck came to. A bench is no game: here its cards may be turned (docs/bench.md)."""
    faces = Counter(each.face.turn() for each in drawn if each.face is not None)
    return Cards(
        seen=len(drawn),
        unread=sum(each.face is None for each in drawn),
        missing=_names(card for card in DECK if card not in faces),
        doubled=_names(card for card, times in faces.items() if times > 1),
    )


def _names(cards: Iterable[Card]) -> tuple[str, ...]:
    return tuple(card.text for card in sorted(cards, key=lambda card: card.index))


def _account(cards: Cards) -> str:
    parts = [f"{cards.seen} cards"]
    parts += [f"{cards.unread} unread"] if cards.unread else []
    for what, names in (("missing", cards.missing), ("twice", cards.doubled)):
        named = " ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
        parts += [f"{len(names)} {what}: {named}"] if names else []
    return ", ".join(parts)


async def exposed(bench: Bench) -> str:
    """A card that lies face up in the shoe is told as an exposure (CS-11b)."""
    drawn = (await bench.by_hand(FACE_UP, CardDrawn)).fact
    require(drawn.face_up, "a card face up was told as face down")
    return "told as face up"


async def unread(bench: Bench) -> str:
    """A card that cannot be read is told as present and without a face, or as a fault."""
    told = (await bench.by_hand(UNREAD, (CardDrawn, FaultSet))).fact
    if isinstance(told, FaultSet):
        await every.recover(bench, told, works)
        return f"told as “{told.text}”, cleared"
    require(isinstance(told, CardDrawn) and told.face is None, "an unreadable card was told with a face")
    return "told as present and unread"


async def cut_card(bench: Bench) -> str:
    """The cut card is told as such."""
    await bench.by_hand(CUT_CARD, CutCardDrawn)
    return "told"


async def jam(bench: Bench) -> str:
    """A jam is told, and after it is cleared the shoe works."""
    fault = await every.jam(bench)
    await every.recover(bench, fault, works)
    await works(bench)
    return f"told as “{fault.text}”, cleared, and cards are drawn again"


CHECKS: Final[tuple[Check, ...]] = (
    Check("identity", "Identity", every.identity, hands=False),
    Check("commands", "Commands and results", commands, hands=False),
    Check("deck", "All 52 cards", deck),
    Check("lock", "Lock", lock),
    Check("cut-card", "Cut card", cut_card),
    Check("face-up", "A card face up", exposed),
    Check("unread", "An unreadable card", unread),
    every.cover(OPEN_COVER, CLOSE_COVER),
    Check("jam", "Jam and recovery", jam),
    every.noise(works),
    every.split(works),
    every.unplug(works),
    every.kept_event(DRAW, CardDrawn),
    every.asked_command(UnlockShoe),
    every.restart(works),
)
