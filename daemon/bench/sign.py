"""The checks of a jackpot sign. What it shows is proved by reading it back, and looked at from outside."""

from __future__ import annotations

import asyncio
from time import monotonic_ns
from typing import Final

from daemon.bench import every
from daemon.bench.checks import Bench, Check, NotOffered, require
from daemon.bench.hands import POWER_CYCLE, NoHands
from daemon.simhost import Answer
from drivers.base import SECOND, Display, SignDiffers, SignShows

PROOF_WITHIN: Final = 20.0  # seconds; every frame repeated at 9600 baud, with its pauses
LOOK_EVERY: Final = 0.1  # seconds
FIRST_AMOUNT: Final = 1_234_567  # minor units
METERS: Final = 5
BURST: Final = 20
ANNOUNCEMENT: Final = "TEST ANNOUNCEMENT"
PAGES: Final = ("ROYAL FLUSH 100%", "STRAIGHT FLUSH 10%", "QUADS $5,000")


async def show(bench: Bench, announcement: str = "", pages: tuple[str, ...] = ()) -> Display:
    """Show a new amount with these texts and wait for the proof; the time until then is a sample."""
    began, mark = monotonic_ns(), bench.device.mark
    display = tell(bench, announcement, pages)
    bench.samples.append(await proved(bench, display, mark) - began)
    return display


def tell(bench: Bench, announcement: str = "", pages: tuple[str, ...] = ()) -> Display:
    """Show a new amount, no two alike, and do not wait. Raises Failed when the driver does not."""
    amount = FIRST_AMOUNT + 100 * bench.command_id
    display = Display(f"${amount // 100:,}.{amount % 100:02}", announcement, pages)
    dropped = bench.device.tell(display)
    require(not dropped, f"the driver does not show it: {dropped}")
    return display


async def proved(bench: Bench, display: Display, mark: int) -> int:
    """Wait until it is proved that the sign shows this; the moment of the proof (ns)."""
    if not bench.device.speaks.proves_delivery:
        return await _seen(bench, display)
    wanted = SignShows(display.meter, display.announcement, display.pages)
    shown = bench.device.expecting(SignShows, lambda shows: shows == wanted, mark)
    heard = await bench.awaited(shown, "no read-back proved what the sign shows", PROOF_WITHIN)
    state = await bench.hands.look()
    require(state is None or _fits(state, display), f"read back, and shown is {(state or {}).get('text')!r}")
    return heard.at


async def _seen(bench: Bench, display: Display) -> int:
    """A sign that answers nothing is looked at."""
    end = monotonic_ns() + int(PROOF_WITHIN * SECOND)
    while (state := await bench.hands.look()) is not None:
        if _fits(state, display):
            return monotonic_ns()
        require(monotonic_ns() < end, f"the sign shows {state.get('text')!r}, not {display.meter!r}")
        await asyncio.sleep(LOOK_EVERY)
    agreed = await bench.hands.agree(f"Does the sign show {display.meter}?")
    if agreed is None:
        raise NoHands("needs hands: nobody said what the sign shows")
    require(agreed, f"the sign does not show {display.meter}")
    return monotonic_ns()


def _fits(state: Answer, display: Display) -> bool:
    """Whether a simulated sign shows this; it is asked only what it says of itself."""
    digits = display.meter.translate(str.maketrans("", "", "$,."))
    expected: Answer = {
        "amount": int(digits),
        "priority": display.announcement or None,
        "pages": [display.meter, *display.pages],
    }
    return all(state[key] == value for key, value in expected.items() if key in state)


async def _agreed(bench: Bench, question: str) -> None:
    """Have a person look; nobody to ask is no objection, for the read-back stands."""
    require(await bench.hands.agree(question) is not False, f"the technician says no: {question}")


# --- the checks ----------------------------------------------------------------------------------


async def works(bench: Bench) -> None:
    """A new amount is shown."""
    await show(bench)


async def meter(bench: Bench) -> str:
    """The meter takes new amounts, each one proved."""
    for done in range(METERS):
        last = await show(bench)
        bench.progress(done + 1, METERS)
    await _agreed(bench, f"Does the sign show {last.meter}?")
    return f"{METERS} amounts, each one proved"


async def newest(bench: Bench) -> str:
    """Of amounts that come faster than the sign, the newest is shown at the end."""
    for _ in range(BURST):
        mark, last = bench.device.mark, tell(bench)
        await asyncio.sleep(0.02)
    await proved(bench, last, mark)
    return f"the last of {BURST} quick amounts is shown"


async def pages(bench: Bench) -> str:
    """Further pages are shown in turn with the meter, and read back."""
    _require_texts(bench)
    await show(bench, pages=PAGES)
    await _agreed(bench, f"Does the sign show in turn the amount and {', '.join(PAGES)}?")
    await show(bench)
    return f"{len(PAGES)} pages with the meter, read back; then the meter alone"


async def announcement(bench: Bench) -> str:
    """An announcement covers everything, and is gone when it is taken away."""
    _require_texts(bench)
    await show(bench, ANNOUNCEMENT, PAGES[:1])
    await _agreed(bench, f"Does the sign show {ANNOUNCEMENT} and nothing else?")
    await show(bench)
    await _agreed(bench, "Is the announcement gone?")
    return "covers the meter and its pages; cleared"


def _require_texts(bench: Bench) -> None:
    if not bench.device.speaks.proves_delivery:
        raise NotOffered(f"{bench.device.speaks.name} carries an amount and no text")


async def memory(bench: Bench) -> str:
    """A sign whose memory is gone is noticed, and shows the same again."""
    if not bench.device.speaks.proves_delivery:
        raise NotOffered(f"{bench.device.speaks.name} cannot tell that the memory is gone")
    display, mark = await show(bench, pages=PAGES), bench.device.mark
    bench.samples.clear()
    began = monotonic_ns()
    lost = bench.device.expecting(SignDiffers)
    await bench.hands.do(POWER_CYCLE, lost)
    await bench.awaited(lost, "the lost memory was not noticed", PROOF_WITHIN)
    seconds = (await proved(bench, display, mark) - began) / SECOND
    return f"noticed, and the same was shown again after {seconds:.1f} s"


CHECKS: Final[tuple[Check, ...]] = (
    Check("identity", "Identity", every.identity, hands=False),
    Check("meter", "Amounts on the meter", meter, hands=False),
    Check("newest", "The newest amount wins", newest, hands=False),
    Check("pages", "Pages in turn", pages, hands=False),
    Check("announcement", "Announcement", announcement, hands=False),
    Check("memory", "Memory lost and repaired", memory),
    every.noise(works),
    every.split(works),
    every.unplug(works),
)
