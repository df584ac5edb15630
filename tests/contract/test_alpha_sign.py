"""The Alpha driver and the simulated sign over a wire that splits, delays, loses and corrupts bytes."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

import pytest

from daemon.links.serial import parse_url
from drivers.base import (
    MILLISECOND,
    SECOND,
    Display,
    Driver,
    Drop,
    Emit,
    Identified,
    LockShoe,
    Send,
    SignDiffers,
    SignShows,
    Silent,
    Simulator,
)
from drivers.protocol import Binding, Line
from drivers.sign.alpha import PROTOCOL, AlphaSign
from drivers.sign.alpha_frames import ending, header, nested, write_dots, write_text
from drivers.sign.sim_alpha import AlphaSim, Life

START = 1_000 * SECOND
PRIZES = ("ROYAL $50,000.00", "STR FLUSH $5,000.00", "QUADS $500.00", "FULL HOUSE $100.00", "FLUSH $50.00")
FULL = ("x" * 120, "y" * 125)  # with the meter's page the 256 bytes of TEXT A
BYTE = 10 * SECOND // 9600


def intact(data: bytes) -> bytes:
    return data


class Bench:
    """Driver and sign on one line; time passes only in :meth:`run`."""

    def __init__(self, sign: AlphaSign | None = None, *, split: bool = True, byte: int = BYTE) -> None:
        self.sign: AlphaSign = sign or AlphaSign()
        self.sim = AlphaSim()
        self.now = START
        self.split = split
        self.byte = byte  # ns a byte takes
        self.spoil: Callable[[bytes], bytes] = intact  # what the line does to host bytes
        self.spoil_answer: Callable[[bytes], bytes] = intact
        self.cut = False
        self.sent: list[tuple[int, bytes]] = []
        self.events: list[tuple[int, object]] = []
        self._down: deque[tuple[int, bytes]] = deque()
        self._up: deque[tuple[int, bytes]] = deque()

    def open(self) -> None:
        self._driver(self.sign.opened(self.now))

    def show(self, meter: str, announcement: str = "", pages: tuple[str, ...] = ()) -> None:
        self._driver(self.sign.command(Display(meter, announcement, pages), self.now))

    def run(self, seconds: float, step: Callable[[int], None] | None = None, every: int = SECOND) -> None:
        end, next_step = self.now + int(seconds * SECOND), self.now
        while self.now < end:
            if step is not None and self.now >= next_step:
                step(self.now)
                next_step += every
            due = [self.sign.deadline, self.sim.deadline, end, next_step if step else None]
            due += [queue[0][0] for queue in (self._down, self._up) if queue]
            self.now = max(self.now, min(time for time in due if time is not None))
            self._deliver()

    def rest(self) -> None:
        """Until the driver is at rest between two checks."""
        while self.sign.deadline is None or not 1.4 < (self.sign.deadline - self.now) / SECOND < 1.8:
            self.run(0.05)

    @property
    def waiting(self) -> int:
        """Bytes that are on their way to the sign."""
        return sum(len(data) for _, data in self._down)

    def state(self) -> dict[str, object]:
        return self.sim.control({"do": "state"}, self.now)[0]

    def of(self, kind: type) -> list[object]:
        return [event for _, event in self.events if isinstance(event, kind)]

    def when(self, event: object, after: int = 0) -> float:
        """Seconds from ``after`` until the first such event."""
        return next(at - after for at, seen in self.events if seen == event and at >= after) / SECOND

    def _deliver(self) -> None:
        while self._down and self._down[0][0] <= self.now:
            self._reply(self.sim.received(self._down.popleft()[1], self.now))
        while self._up and self._up[0][0] <= self.now:
            self._driver(self.sign.received(self._up.popleft()[1], self.now))
        if self.sim.deadline is not None and self.sim.deadline <= self.now:
            self._reply(self.sim.tick(self.now))
        if self.sign.deadline is not None and self.sign.deadline <= self.now:
            self._driver(self.sign.tick(self.now))

    def _driver(self, outputs: list[Send | Emit | Drop]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self.sent.append((self.now, output.data))
                self._queue(self._down, self.spoil(output.data))
            elif isinstance(output, Emit):
                self.events.append((self.now, output.event))

    def _reply(self, sends: list[Send]) -> None:
        for send in sends:
            self._queue(self._up, self.spoil_answer(send.data))

    def _queue(self, queue: deque[tuple[int, bytes]], data: bytes) -> None:
        if self.cut:
            return
        if not self.split:
            queue.append((self.now + len(data) * self.byte, data))
            return
        queue.extend((self.now + (at + 1) * self.byte, data[at : at + 1]) for at in range(len(data)))


def started(meter: str = "$12,345.67", pages: tuple[str, ...] = (), *, split: bool = True) -> Bench:
    bench = Bench(split=split)
    bench.open()
    bench.show(meter, pages=pages)
    bench.run(6)
    assert bench.of(SignShows) == [SignShows(meter, "", pages)]
    return bench


def test_driver_and_simulator_keep_their_contracts() -> None:
    driver: Driver = AlphaSign()
    simulator: Simulator = AlphaSim()
    assert (driver.deadline, simulator.deadline) == (None, None)


@pytest.mark.parametrize("split", [True, False], ids=["byte by byte", "whole"])
def test_opening_sets_up_shows_and_proves(split: bool) -> None:
    bench = started(split=split)
    assert bench.of(Identified) == [Identified(role="sign")]
    assert not bench.of(SignDiffers)
    commands = [data for _, data in bench.sent if data[:1] != b"\0"]
    assert commands[:6] == [
        ending(b"A0"),
        ending(b"E4"),
        ending(b"E$AAU0100FF00JBL00400000"),
        ending(b"E.TUA"),
        ending(b"AA\x1b b\x10J"),
        ending(b"GJ$12,345.67"),
    ]
    state = bench.state()
    assert (state["text"], state["amount"], state["priority"]) == ("$12,345.67", 1_234_567, None)
    assert state["errors"] == []


def test_an_idle_sign_is_read_back_and_nothing_is_told() -> None:
    bench = started()
    events, sent = len(bench.events), len(bench.sent)
    bench.run(10)
    assert len(bench.events) == events
    assert len(bench.sent) - sent >= 12  # at least two checks of three frames
    assert not any(data.startswith((b"A", b"E", b"G")) for _, data in bench.sent[sent:])


def test_an_announcement_leaves_at_once_and_covers_the_meter() -> None:
    bench = started()
    bench.rest()
    before, asked_at = len(bench.sent), bench.now
    bench.show("$12,345.67", "JACKPOT BOX 3")
    assert bench.sent[before:] == [(asked_at, header())]
    bench.run(0.2)
    assert bench.state()["text"] == "JACKPOT BOX 3"
    bench.run(3)
    assert bench.when(SignShows("$12,345.67", "JACKPOT BOX 3"), asked_at) < 1.0
    assert (bench.state()["priority"], bench.state()["amount"]) == ("JACKPOT BOX 3", 1_234_567)


def test_j10_the_meter_is_right_before_a_cleared_announcement_uncovers_it() -> None:
    bench = started("$900.00")
    bench.show("$900.00", "WINNER")
    bench.run(4)
    seen: list[object] = []
    bench.show("$100.00")
    bench.run(4, lambda now: seen.append(bench.state()["text"]), 10 * MILLISECOND)
    assert "$900.00" not in seen
    assert seen[-1] == "$100.00"
    assert bench.of(SignShows)[-1] == SignShows("$100.00", "")


def test_a_new_amount_is_proved_in_under_a_second() -> None:
    bench = started()
    bench.rest()
    asked_at = bench.now
    bench.show("$12,346.00")
    bench.run(2)
    assert bench.when(SignShows("$12,346.00", ""), asked_at) < 0.95


def test_j12_a_frame_with_a_bad_checksum_is_found_and_repaired() -> None:
    bench = started()
    bench.spoil = lambda data: data.replace(b"GJ$77", b"GJ$71")
    at = bench.now
    bench.show("$77.00")
    bench.run(1.5)
    bench.spoil = intact
    bench.run(6)
    assert isinstance(bench.of(SignDiffers)[0], SignDiffers)
    assert next(t for t, event in bench.events if isinstance(event, SignDiffers)) - at < 5 * SECOND
    assert bench.state()["text"] == "$77.00"
    assert bench.of(SignShows)[-1] == SignShows("$77.00", "")
    assert bench.state()["errors"] == []


def test_j12_every_tenth_frame_corrupted() -> None:
    bench = Bench()
    count = 0

    def tenth(data: bytes) -> bytes:
        nonlocal count
        if data.startswith(b"\0"):
            return data
        count += 1
        return data[:1] + bytes([data[1] ^ 1]) + data[2:] if count % 10 == 0 else data

    bench.spoil = tenth
    bench.open()
    for amount in range(100, 130):
        bench.show(f"${amount}.00")
        bench.run(5)
    assert count > 250
    bench.run(10)
    assert bench.state()["text"] == "$129.00"
    proved = [event.meter for event in bench.of(SignShows) if isinstance(event, SignShows)]
    assert len(set(proved)) >= 28
    assert bench.of(SignDiffers)


def test_j12_a_lost_run_sequence_is_found_although_no_status_tells_it() -> None:
    bench = Bench()
    bench.spoil = lambda data: b"" if data.startswith(b"E.") and len(bench.sent) < 12 else data
    bench.open()
    bench.show("$5.00")
    bench.run(8)
    assert bench.of(SignDiffers) == [SignDiffers("run sequence differs")]
    assert bench.of(SignShows) == [SignShows("$5.00", "")]
    assert bench.state()["text"] == "$5.00"


@pytest.mark.parametrize("seed", range(4))
def test_j12_lost_bytes_both_ways_never_prove_what_is_not_shown(seed: int) -> None:
    chance = random.Random(seed)

    def lossy(data: bytes) -> bytes:
        return bytes(byte for byte in data if chance.random() > 0.004)

    bench = started()
    bench.spoil = bench.spoil_answer = lossy
    for amount in range(200, 215):
        meter, announcement = f"${amount}.00", "BONUS" if amount % 3 == 0 else ""
        pages = PRIZES[: amount // 2 % 3]
        bench.show(meter, announcement, pages)
        known = len(bench.events)
        bench.run(4)
        if any(event == SignShows(meter, announcement, pages) for _, event in bench.events[known:]):
            assert bench.state()["text"] == (announcement or meter)
            assert bench.state()["pages"] == [meter, *pages]
    bench.spoil = bench.spoil_answer = intact
    bench.run(10)
    assert bench.state()["text"] == "$214.00"
    assert bench.of(SignShows)[-1] == SignShows("$214.00", "", pages)


def test_j12_corrupted_memory_of_the_sign_is_found_within_5_s() -> None:
    bench = started()
    at = bench.now
    assert bench.sim.control({"do": "corrupt-memory"}, bench.now)[0] == {"ok": True}
    assert bench.state()["text"] != "$12,345.67"
    bench.run(5)
    assert bench.when(SignDiffers("STRING J differs"), at) <= 5
    bench.run(3)
    assert bench.when(SignShows("$12,345.67", ""), at) <= 8
    assert bench.state()["text"] == "$12,345.67"


def test_j13_fifty_updates_a_second_are_paced_and_the_last_one_shows() -> None:
    bench = started()
    amount = 1_000

    def update(now: int) -> None:
        nonlocal amount
        amount += 1
        bench.show(f"${amount}.00")

    first = len(bench.sent)
    bench.run(180, update, 20 * MILLISECOND)
    assert amount == 10_000
    assert len(bench.sent) - first < 180 / 0.3 * 2  # two sends a frame, a frame in no less than 0.3 s
    assert bench.waiting < 64  # bytes on the line: what comes too fast is not kept for later
    bench.run(2)
    assert bench.state()["text"] == f"${amount}.00"
    bench.run(1)
    assert bench.of(SignShows)[-1] == SignShows(f"${amount}.00", "")
    assert not bench.of(SignDiffers)
    amounts = bench.sim.control({"do": "history"}, bench.now)[0]["amounts"]
    assert isinstance(amounts, list)
    assert len(amounts) > 10
    assert amounts[1:] == sorted(amounts[1:])  # J09: it never falls


def test_j13_no_send_comes_too_early_and_no_frame_pauses_too_long() -> None:
    bench = started()
    step = 370 * MILLISECOND
    bench.run(20, lambda now: bench.show(f"${now // step}.00", "X" * (now // SECOND % 3)), step)
    for (at, data), (after, following) in zip(bench.sent, bench.sent[1:], strict=False):
        pause = after - at - len(data) * BYTE
        if data.startswith(b"\0"):
            assert 100 * MILLISECOND <= pause < SECOND
            assert not following.startswith(b"\0")
        else:
            assert pause >= 200 * MILLISECOND


def test_j13_a_frame_that_was_interrupted_for_long_is_begun_again() -> None:
    sign = AlphaSign()
    sign.opened(START)
    outputs = sign.tick(START + 2 * SECOND)
    assert outputs == [Drop("frame overdue"), Send(header())]
    assert sign.counters.drops == {"frame overdue": 1}


def test_j13_the_simulated_sign_is_strict() -> None:
    sim = AlphaSim()
    priority = ending(b"A0\x1b bHELLO")

    def seen(pause_ms: int, at: int) -> object:
        sim.received(header(), at)
        sim.received(priority, at + pause_ms * MILLISECOND)
        return sim.control({"do": "state"}, at + pause_ms * MILLISECOND)[0]["priority"]

    assert seen(99, START) is None
    assert seen(1001, START + 3 * SECOND) is None
    assert sim.control({"do": "state"}, START + 5 * SECOND)[0]["errors"] == ["time-out"]
    sim.received(header() + priority, START + 6 * SECOND)  # all in one chunk: too early
    assert sim.control({"do": "state"}, START + 6 * SECOND)[0]["priority"] is None
    assert seen(100, START + 8 * SECOND) == "HELLO"
    sim.received(header(), START + 8 * SECOND + 299 * MILLISECOND)
    sim.received(ending(b"A0"), START + 8 * SECOND + 400 * MILLISECOND)  # 199 ms after the last command
    assert sim.control({"do": "state"}, START + 9 * SECOND)[0]["priority"] == "HELLO"
    lax = AlphaSim(strict_pacing=False)
    lax.received(header() + priority, START)
    assert lax.control({"do": "state"}, START)[0]["priority"] == "HELLO"


@pytest.mark.parametrize("phase", range(0, 4000, 250))
def test_j16_a_power_cycled_sign_shows_the_amount_again_within_10_s(phase: int) -> None:
    announcement, pages = "BONUS HOUR" if phase % 500 else "", FULL if phase % 1000 else ()
    bench = started()
    bench.show("$500.00", announcement, pages)
    bench.run(3 + phase / 1000)
    at = bench.now
    assert bench.sim.control({"do": "power-cycle"}, bench.now)[0] == {"ok": True}
    bench.run(1)
    assert bench.state()["text"] == ""
    bench.run(4)
    differs = [t for t, event in bench.events if isinstance(event, SignDiffers) and t >= at]
    assert len(differs) == 1
    bench.run(5)
    assert bench.when(SignShows("$500.00", announcement, pages), at) <= 10
    assert (bench.state()["amount"], bench.state()["pages"]) == (50_000, ["$500.00", *pages])
    assert not bench.of(Silent)


def test_j16_a_sign_that_answers_nothing_without_memory_is_set_up_too() -> None:
    bench = Bench()
    bench.sim = AlphaSim(answers_unallocated=False)
    bench.open()
    bench.show("$500.00")
    bench.run(6)
    at = bench.now
    bench.sim.control({"do": "power-cycle"}, bench.now)
    bench.run(10)
    assert bench.when(SignShows("$500.00", ""), at) <= 10
    assert bench.state()["text"] == "$500.00"


def test_j16_writes_outside_the_memory_are_ignored() -> None:
    sim = AlphaSim(strict_pacing=False)
    sim.received(header() + ending(b"GJ$1.00") + header() + ending(b"AA\x1b bX"), START)
    state = sim.control({"do": "state"}, START)[0]
    assert (state["files"], state["memory"], state["text"]) == ({}, [], "")
    assert sim.received(header() + ending(b"HJ"), START)[0].data.endswith(b"\x01000\x02GJ\x030096\x04")


def test_a_sign_attached_late_is_set_up() -> None:
    bench = Bench()
    bench.sim.control({"do": "power-off"}, bench.now)
    bench.open()
    bench.show("$42.00")
    bench.run(15)
    assert len(bench.of(Silent)) == 1
    assert len(bench.of(SignDiffers)) == 1
    assert not bench.of(Identified)
    bench.sim.control({"do": "power-on"}, bench.now)
    at = bench.now
    bench.run(10)
    assert bench.of(Identified) == [Identified(role="sign")]
    assert bench.when(SignShows("$42.00", ""), at) <= 10
    assert bench.state()["text"] == "$42.00"


def test_a09_a_sign_that_never_answers_is_silent_within_5_s_and_nothing_piles_up() -> None:
    bench = started()
    bench.cut, at = True, bench.now
    first = len(bench.sent)
    bench.run(60, lambda now: bench.show(f"${now}.00"), 6 * MILLISECOND)
    silent_at = next(t for t, event in bench.events if isinstance(event, Silent))
    assert silent_at - at <= 5 * SECOND
    assert (len(bench.of(Silent)), len(bench.of(SignDiffers))) == (1, 1)
    assert len(bench.sent) - first < 180
    bench.cut = False
    bench.show("$1.00")
    bench.run(6)
    assert bench.of(Identified) == [Identified(role="sign")] * 2
    assert bench.state()["text"] == "$1.00"


def test_a_line_without_a_way_back_still_gets_the_newest_amount() -> None:
    bench = started()
    bench.spoil_answer = lambda data: b""
    for amount in range(1, 6):
        bench.show(f"${amount}.00")
        bench.run(3)
        assert bench.state()["text"] == f"${amount}.00"
    assert len(bench.of(SignShows)) == 1


def test_b04_garbage_is_dropped_and_the_sign_stays_proved() -> None:
    bench = started()
    chance = random.Random(7)
    for _ in range(200):
        for output in bench.sign.received(chance.randbytes(500), bench.now):
            assert isinstance(output, Drop)
    assert sum(bench.sign.counters.drops.values()) > 100
    bench.show("$8.00")
    bench.run(8)
    assert bench.of(SignShows)[-1] == SignShows("$8.00", "")


def test_b04_the_simulated_sign_survives_garbage() -> None:
    sim, chance = AlphaSim(strict_pacing=False), random.Random(3)
    for step in range(300):
        sim.received(chance.randbytes(300), START + step)
        sim.received(bytes(chance.choice(b"\x01\x02\x03\x04Z0ABEFGH$.*A") for _ in range(300)), START + step)
    assert sim.received(header() + ending(b"F*"), START + SECOND)


def test_an_answer_nobody_asked_for_proves_nothing() -> None:
    sign = AlphaSign()
    sign.opened(START)
    assert sign.received(b"\x01000\x02E*@\x0300B4\x04", START + 1) == [Drop("answer not asked for")]
    assert sign.received(header() + ending(b"HJ"), START + 2) == [Drop("not an answer")]  # an echo of ours


def test_a_text_the_sign_cannot_show_changes_nothing() -> None:
    bench = started()
    bench.show("€5.00")
    bench.show("x" * 65)
    bench.show("$1.00", "\x10J")
    assert len(bench.of(SignDiffers)) == 3
    bench.run(4)
    assert bench.state()["text"] == "$12,345.67"
    assert bench.of(SignShows)[-1] == SignShows("$12,345.67", "")


def test_the_meter_is_the_first_page_and_the_others_follow_in_order() -> None:
    bench = started(pages=PRIZES)
    state = bench.state()
    assert state["pages"] == ["$12,345.67", *PRIZES]
    assert (state["text"], state["amount"], state["errors"]) == ("$12,345.67", 1_234_567, [])
    bench.show("$12,345.67", "WINNER $9.99", PRIZES)
    bench.run(3)
    state = bench.state()
    assert (state["text"], state["priority"]) == ("WINNER $9.99", "WINNER $9.99")
    assert (state["amount"], state["pages"]) == (1_234_567, ["$12,345.67", *PRIZES])
    assert bench.of(SignShows)[-1] == SignShows("$12,345.67", "WINNER $9.99", PRIZES)


def test_without_pages_the_text_is_the_call_of_the_meter_alone() -> None:
    bench = started(pages=PRIZES)
    bench.show("$12,345.67")
    bench.run(3)
    files = bench.state()["files"]
    assert isinstance(files, dict)
    assert files["A"] == "\x1b b\x10J"
    assert bench.of(SignShows)[-1] == SignShows("$12,345.67", "", ())


@pytest.mark.parametrize("pages", [(), PRIZES, FULL], ids=["none", "prizes", "full"])
def test_pages_neither_delay_the_proof_of_a_new_amount_nor_are_written_for_it(pages: tuple[str, ...]) -> None:
    bench = started(pages=pages)
    bench.rest()
    asked_at, sent = bench.now, len(bench.sent)
    bench.show("$12,346.00", pages=pages)
    bench.run(8)
    assert bench.when(SignShows("$12,346.00", "", pages), asked_at) < 0.9
    assert not any(data.startswith(b"AA") for _, data in bench.sent[sent:])
    assert not bench.of(SignDiffers)


@pytest.mark.parametrize("phase", range(0, 3600, 120))
def test_a_routine_read_of_full_pages_does_not_hold_up_a_new_amount(phase: int) -> None:
    bench = started(pages=FULL)
    bench.run(phase / 1000)
    asked_at = bench.now
    bench.show("$12,346.00", pages=FULL)
    bench.run(3)
    assert bench.when(SignShows("$12,346.00", "", FULL), asked_at) < 1.9


def test_new_pages_are_proved_with_the_amount_in_under_two_and_a_half_seconds() -> None:
    bench = started(pages=PRIZES)
    bench.rest()
    asked_at = bench.now
    bench.show("$12,346.00", pages=FULL)
    bench.run(3)
    assert bench.when(SignShows("$12,346.00", "", FULL), asked_at) < 2.5
    assert bench.of(SignShows) == [SignShows("$12,345.67", "", PRIZES), SignShows("$12,346.00", "", FULL)]


def test_pages_are_shown_although_the_meter_never_rests() -> None:
    bench = started()
    bench.run(2, lambda now: bench.show(f"${now}.00", pages=PRIZES), 20 * MILLISECOND)
    pages = bench.state()["pages"]
    assert isinstance(pages, list)
    assert tuple(pages[1:]) == PRIZES


@pytest.mark.parametrize("phase", range(0, 3600, 300))
@pytest.mark.parametrize("pages", [(), FULL], ids=["meter alone", "full"])
def test_j12_a_corrupted_page_is_found_within_5_s_and_repaired(pages: tuple[str, ...], phase: int) -> None:
    bench = started(pages=pages)
    bench.run(phase / 1000)
    at, before = bench.now, bench.state()["pages"]
    assert bench.sim.control({"do": "corrupt-memory", "label": "A"}, bench.now)[0] == {"ok": True}
    assert bench.state()["pages"] != before
    bench.run(9)
    assert bench.when(SignDiffers("TEXT A differs"), at) <= 5
    assert bench.when(SignShows("$12,345.67", "", pages), at) <= 8
    assert bench.state()["pages"] == before


def test_j12_pages_are_not_trusted_when_their_write_followed_a_routine_read_without_answer() -> None:
    bench = started(pages=PRIZES[:1])
    sent = len(bench.sent)
    bench.spoil_answer = lambda data: b"" if b"\x02AA" in data else data
    while not any(data.startswith(b"BA") for _, data in bench.sent[sent:]):
        bench.run(0.05)
    bench.show("$2.00", pages=PRIZES)
    bench.spoil = lambda data: b"" if data.startswith(b"AA") else data
    bench.run(2.5)
    assert bench.state()["pages"] == ["$2.00", PRIZES[0]]
    assert bench.of(SignShows) == [SignShows("$12,345.67", "", PRIZES[:1])]
    bench.spoil = bench.spoil_answer = intact
    bench.run(8)
    assert bench.state()["pages"] == ["$2.00", *PRIZES]
    assert bench.of(SignShows)[-1] == SignShows("$2.00", "", PRIZES)


def test_full_pages_are_proved_on_a_line_where_reading_them_takes_over_a_second() -> None:
    bench = Bench(AlphaSign(baud=2400), byte=10 * SECOND // 2400)
    bench.open()
    bench.show("$1.00", pages=FULL)
    bench.run(15)
    assert bench.of(SignShows) == [SignShows("$1.00", "", FULL)]
    assert not bench.of(SignDiffers)


TOO_MUCH = {
    "too many": (("BOX 1 WON $12,345.67",) * 11, "the pages take 258 bytes, and the sign has 256"),
    "too long": (("x" * 249,), "the pages take 257 bytes, and the sign has 256"),
    "no such character": (("TABLE CLOSED", "€5.00"), "the sign cannot show '€'"),
    "a string called": (("\x10J",), "the sign cannot show '\\x10'"),
}


@pytest.mark.parametrize(("pages", "reason"), TOO_MUCH.values(), ids=list(TOO_MUCH))
def test_pages_the_sign_cannot_show_leave_the_meter_alone(pages: tuple[str, ...], reason: str) -> None:
    bench = started(pages=PRIZES)
    bench.show("$1.00", "HELLO", pages)
    assert bench.of(SignDiffers) == [SignDiffers(reason)]
    assert bench.sign.counters.drops == {"pages not legal": 1}
    bench.run(4)
    assert (bench.state()["text"], bench.state()["pages"]) == ("HELLO", ["$1.00"])
    assert bench.of(SignShows)[-1] == SignShows("$1.00", "HELLO", ())
    bench.show("$1.00", "", PRIZES)
    bench.run(4)
    assert (bench.state()["text"], bench.state()["pages"]) == ("$1.00", ["$1.00", *PRIZES])
    assert bench.of(SignShows)[-1] == SignShows("$1.00", "", PRIZES)


def test_a_meter_the_sign_cannot_show_changes_no_pages() -> None:
    bench = started(pages=PRIZES)
    bench.show("€1.00", "", ("TABLE CLOSED",))
    bench.run(4)
    assert bench.state()["pages"] == ["$12,345.67", *PRIZES]
    assert bench.of(SignShows)[-1] == SignShows("$12,345.67", "", PRIZES)


def test_only_displays_are_taken() -> None:
    sign = AlphaSign()
    assert sign.command(LockShoe(1), START) == [Drop("not a command for a sign")]
    assert sign.deadline is None
    assert sign.resume(Display("$3.00"), START) == []
    assert sign.opened(START) == [Send(header())]
    assert sign.closed(START) == []
    assert (sign.deadline, sign.tick(START), sign.committed(START)) == (None, [], [])


def test_a_reopened_link_shows_the_last_display() -> None:
    bench = started()
    bench.sign.closed(bench.now)
    bench.show("$6.00", "HELLO", PRIZES)
    bench.run(1)
    bench.open()
    bench.run(7)
    assert bench.of(SignShows)[-1] == SignShows("$6.00", "HELLO", PRIZES)
    assert len(bench.of(Identified)) == 2


def test_a_sign_that_cannot_read_back_label_0_is_proved_without_it() -> None:
    bench = Bench(AlphaSign(prove_priority=False))
    bench.open()
    bench.show("$1.00", "HELLO")
    bench.run(6)
    assert bench.of(SignShows) == [SignShows("$1.00", "HELLO")]
    assert not any(data.startswith(b"B0") for _, data in bench.sent)


LIVES = {
    ("power-cycle", Life.OFF): Life.BOOTING,
    ("power-cycle", Life.BOOTING): Life.BOOTING,
    ("power-cycle", Life.RUNNING): Life.BOOTING,
    ("power-off", Life.OFF): None,
    ("power-off", Life.BOOTING): Life.OFF,
    ("power-off", Life.RUNNING): Life.OFF,
    ("power-on", Life.OFF): Life.BOOTING,
    ("power-on", Life.BOOTING): None,
    ("power-on", Life.RUNNING): None,
}


@pytest.mark.parametrize(("case", "outcome"), LIVES.items(), ids=lambda value: str(value))
def test_every_verb_in_every_life_has_its_outcome(case: tuple[str, Life], outcome: Life | None) -> None:
    (verb, life), sim = case, AlphaSim()
    for step in {Life.RUNNING: [], Life.OFF: ["power-off"], Life.BOOTING: ["power-cycle"]}[life]:
        sim.control({"do": step}, START)
    answer, _ = sim.control({"do": verb}, START)
    assert ("error" in answer) == (outcome is None)
    assert sim.life is (outcome or life)


def test_the_simulator_refuses_what_it_does_not_know() -> None:
    sim = AlphaSim()
    verbs: list[dict[str, object]] = [{"do": "dance"}, {}, {"do": 3}, {"do": "mute"}]
    verbs += [{"do": "corrupt", "frames": -1}, {"do": "corrupt-memory"}]
    verbs += [{"do": "corrupt-memory", "label": label} for label in ("A", "", 7)]
    for verb in verbs:
        assert "error" in sim.control(verb, START)[0]


def test_a_muted_sign_and_a_corrupted_answer_are_told_once_and_repaired() -> None:
    bench = started()
    bench.sim.control({"do": "mute", "seconds": 2}, bench.now)
    bench.run(8)
    bench.sim.control({"do": "corrupt", "frames": 1}, bench.now)
    bench.run(8)
    assert len(bench.of(SignDiffers)) == 2
    assert bench.of(SignShows) == [SignShows("$12,345.67", "")] * 3


def test_a_priority_text_of_the_process_before_is_cleared() -> None:
    bench = started()
    bench.show("$12,345.67", "PLEASE WAIT")
    bench.run(2)
    assert bench.state()["text"] == "PLEASE WAIT"
    bench.sign = AlphaSign()  # the daemon was killed; the sign was not
    bench.open()
    bench.show("$12,345.67")
    bench.run(1)
    assert bench.state()["priority"] is None
    bench.run(5)
    assert (bench.state()["text"], bench.of(SignShows)[-1]) == ("$12,345.67", SignShows("$12,345.67", ""))


def test_a_sign_on_8n1_is_told_the_same_bytes() -> None:
    path, line = parse_url("serial:///dev/ttyS9?bytesize=8&parity=N", PROTOCOL.line)
    assert (path, line) == ("/dev/ttyS9", Line(9600, 8, "N", 1, dtr=False))
    sent: list[list[tuple[int, bytes]]] = []
    for one in (PROTOCOL.line, line):
        driver = PROTOCOL.driver(Binding(line=one, options=PROTOCOL.options))
        assert isinstance(driver, AlphaSign)
        bench = Bench(driver)
        bench.open()
        bench.show("$1.00", "HELLO", PRIZES)
        bench.run(10)
        assert bench.of(SignShows) == [SignShows("$1.00", "HELLO", PRIZES)]
        sent.append(bench.sent)
    assert sent[0] == sent[1]
    assert max(max(data) for _, data in sent[0]) < 0x80


@pytest.mark.parametrize(("pause_ms", "told"), [(100, "HELLO"), (99, None)])
def test_j13_nested_commands_need_their_pause_after_every_stx(pause_ms: int, told: str | None) -> None:
    sim, at = AlphaSim(), START
    for piece in nested([b"E$AAU0100FF00", write_text("0", b"\x1b bHELLO"), b"E4"]):
        sim.received(piece, at)
        at += pause_ms * MILLISECOND
    state = sim.control({"do": "state"}, at)[0]
    assert (state["priority"], len(state["memory"])) == (told, 1 if told else 0)  # type: ignore[arg-type]


def test_the_sign_keeps_a_picture_that_fits_its_memory() -> None:
    sim = AlphaSim(strict_pacing=False)
    picture = write_dots("D", ("0110", "2002"))
    sim.received(header() + ending(picture), START)
    assert sim.received(header() + ending(b"JD"), START)[0].data.endswith(b"\x02ID\x030092\x04")
    sim.received(header() + ending(b"E$DDU02042000") + header() + ending(picture), START)
    assert picture in sim.received(header() + ending(b"JD"), START)[0].data
    sim.received(header() + ending(b"ID01010\r"), START)  # another size than its memory
    assert picture in sim.received(header() + ending(b"JD"), START)[0].data
    assert sim.control({"do": "state"}, START)[0]["errors"] == []
    sim.received(header() + ending(b"ID0101"), START)
    assert sim.control({"do": "state"}, START)[0]["errors"] == ["illegal command"]


def test_bulletins_and_time_out_messages_are_no_errors_and_a_bad_run_sequence_is() -> None:
    sim = AlphaSim(strict_pacing=False)
    for command in (b"OHELLO", b"TNO DATA"):
        sim.received(header() + ending(command), START)
    assert sim.control({"do": "state"}, START)[0]["errors"] == []
    sim.received(header() + ending(b"E.T"), START)
    assert sim.control({"do": "state"}, START)[0]["errors"] == ["illegal command"]
