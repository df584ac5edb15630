"""Group B of the fault catalogue: framing, noise, order of bytes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import termios
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from pathlib import Path
from random import Random

import pytest

from daemon import registry
from daemon.links.base import Cause
from daemon.links.serial import SerialLink
from daemon.simhost import PtyWire
from daemon.supervisor import LinkLife, LinkState
from drivers import fdp
from drivers.base import (
    MILLISECOND,
    CardDrawn,
    CommandResult,
    Display,
    Drop,
    Identified,
    InSync,
    LockShoe,
    OutOfSync,
    Send,
    SignDiffers,
    SignShows,
    Silent,
    UnlockShoe,
)
from drivers.cards import DECK, FaceDownCard
from drivers.framing import Deframer
from drivers.protocol import DeviceProtocol
from drivers.shoe.fdp import FdpShoe
from drivers.sign.alpha_frames import BadFrame, Frame, FrameReader
from tests.contract.conformance import (
    STORIES,
    UNCHECKED,
    Fate,
    Live,
    SignStory,
    Simulated,
    admitted,
    outcome_of,
    recording,
    until,
    whole,
)
from tests.contract.station import Station

KNOWN = [registry.protocol(*key) for key in registry.known()]
FDP = registry.protocol("shoe", "fdp")
ALPHA = registry.protocol("sign", "alpha")
FIELD_NOISE = b"\x82\x35\xff"
OWN = "our own frame came back: wiring"

every_protocol = pytest.mark.parametrize("speaks", KNOWN, ids=lambda each: f"{each.role}-{each.name}")


def told_in_full(speaks: DeviceProtocol, bench: Simulated) -> None:
    story = STORIES[speaks.role]()
    bench.play(story.play(bench))
    story.told_in_full(bench)


def heard_by(speaks: DeviceProtocol) -> list[bytes]:
    heard = [data for data in recording(speaks) if data]
    return heard or pytest.skip("nothing comes back on the line of this device")


def frames_in(data: bytes) -> list[fdp.Frame]:
    """What a receiver takes out of these bytes."""
    found = []
    for body in Deframer().feed(data):
        with contextlib.suppress(fdp.BadFrame):
            found += [fdp.decode(body)] if isinstance(body, bytes) else []
    return found


# --- B01: a read ends in the middle of a frame ---------------------------------------------


class Halting(Simulated):
    """A wire on which what is sent to the host halts after ``at`` bytes, for ``pause`` ns."""

    def __init__(self, speaks: DeviceProtocol, at: int, pause: int) -> None:
        super().__init__(speaks)
        self._at, self._pause, self._free = at, pause, 0

    def _device(self, sends: list[Send]) -> None:
        for send in sends:
            at = self._at % len(send.data)
            start = max(self.now + self.delay, self._free)
            self._free = start + self._pause * bool(at)
            self._flying += [(start, True, send.data[:at]), (self._free, True, send.data[at:])]
            self._flying.sort(key=lambda each: each[0])


@every_protocol
def test_b01_a_frame_in_two_reads_is_one_frame(speaks: DeviceProtocol) -> None:
    """Split at every position, with a pause longer than any read waits."""
    longest = max(map(len, heard_by(speaks)))
    for at in range(1, longest):
        bench = Halting(speaks, at, 150 * MILLISECOND)
        bench.open()
        told_in_full(speaks, bench)


@every_protocol
def test_b01_many_frames_in_one_read_are_many_frames(speaks: DeviceProtocol) -> None:
    heard = heard_by(speaks)
    for size in (2, 3, 7, len(heard)):
        together = [b"".join(heard[at : at + size]) for at in range(0, len(heard), size)]
        assert outcome_of(speaks, together) == outcome_of(speaks, heard)


# --- B02: the wire is cut right after a frame ----------------------------------------------


def test_b02_a_card_at_the_moment_of_the_cut_is_told_once() -> None:
    dice = Random(2)
    for trial in range(1000):
        bench = Simulated(FDP)
        bench.open()
        bench.run(0.1)
        before = bench.do("draw")["card"]
        _, _, frame = bench._flying.pop()
        bench.hear(frame[: dice.choice((len(frame), dice.randrange(len(frame))))])
        bench._host(bench.driver.closed(bench.now))
        bench._flying.clear()
        bench.run(dice.random())
        bench.open()
        bench.run(2)
        after = bench.do("draw")["card"]
        bench.run(1)
        faces = [event.face.turn().text for event in bench.told(CardDrawn) if event.face is not None]
        assert faces == [before, after], trial


def test_b02_the_serial_link_hands_over_what_came_before_the_cut(tmp_path: Path) -> None:
    """On a real tty: draw and unplug in one go, plug in again; the card is told once."""

    async def scene() -> None:
        path = tmp_path / "shoe.tty"
        bench = Live(FDP, SerialLink(str(path)), PtyWire(path))
        drawn = []

        def story() -> Iterator[float]:
            yield from until(lambda: bool(bench.told(Identified)), 10)
            for _ in range(40):
                drawn.append(bench.do("draw")["card"])
                bench.do("unplug")
                yield from until(lambda: bench.lost is not None, 10)
                bench._host(bench.driver.closed(bench.now))
                bench.lost = None
                bench.do("replug")
                bench.connect()
                yield from until(lambda: len(bench.told(CardDrawn)) == len(drawn), 10)

        await bench.play(story())
        faces = [event.face.turn().text for event in bench.told(CardDrawn) if event.face is not None]
        assert faces == drawn

    asyncio.run(scene())


# --- B04: bytes that belong to nothing -----------------------------------------------------


def inserted(noise: bytes, where: str) -> Fate:
    """Noise before, inside or after one frame of four."""
    dice = Random(4)

    def fate(data: bytes) -> list[bytes]:
        at = {"before": 0, "inside": len(data) // 2, "after": len(data)}[where]
        return [data[:at] + noise + data[at:] if dice.random() < 0.25 else data]

    return fate


@pytest.mark.parametrize("where", ["before", "inside", "after"])
@every_protocol
def test_b04_noise_round_a_frame_costs_that_frame_at_most(speaks: DeviceProtocol, where: str) -> None:
    bench = Simulated(speaks, to_host=inserted(FIELD_NOISE, where))
    bench.open()
    story = STORIES[speaks.role]()
    bench.play(story.play(bench))
    bench.to_host = whole
    bench.run(30)
    if speaks.proves_delivery and not admitted(bench):
        story.told_in_full(bench)
    elif (speaks.role, speaks.name) not in UNCHECKED:
        story.told_truly(bench)
    assert bench.drops or len(bench.heard) < 10


@every_protocol
def test_b04_the_first_frame_after_a_million_bytes_of_noise_counts(speaks: DeviceProtocol) -> None:
    bench = Simulated(speaks)
    bench.open()
    bench.run(0.5)
    dropped = len(bench.drops)
    bench.hear(Random(4).randbytes(1_000_000))
    assert len(bench.drops) > dropped
    if isinstance(bench.driver, FdpShoe):
        frames = bench.driver.counters.frames
        bench.hear(fdp.encode(fdp.Status(1, 0, 0, 1, 52), 9))
        assert bench.driver.counters.frames == frames + 1
    story = STORIES[speaks.role]()
    bench.play(story.play(bench))
    (story.told_in_full if speaks.proves_delivery else story.told_truly)(bench)


# --- B05: spoilt bits ----------------------------------------------------------------------


def spoilt(data: bytes) -> Iterator[bytes]:
    """Every single bit, and every pair of bits of one byte, the other way round."""
    masks = [1 << bit for bit in range(8)] + [1 << a | 1 << b for a, b in combinations(range(8), 2)]
    for at, byte in enumerate(data):
        for mask in masks:
            yield data[:at] + bytes([byte ^ mask]) + data[at + 1 :]


FDP_FRAMES: list[fdp.Frame] = [
    fdp.Hello(258, 7, fdp.Role.SHOE, "SHOE0001", "SIM-1.0", b"12345678"),
    fdp.Status(1, 0, 7, 3_600, 52),
    *(fdp.CardOut(300, FaceDownCard(card)) for card in DECK),
    fdp.CardOut(1, None, face_up=True, sure=False),
    fdp.CutCard(2),
    *(fdp.Cover(3, moved) for moved in (True, False)),
    fdp.ShuffleStarted(4, 70_000),
    fdp.ShuffleDone(5, 70_000, 52),
    fdp.PacketOut(6, 0, 5),
    fdp.PacketTaken(7, 0),
    fdp.CardsIn(8, 52),
    fdp.FaultSet(9, 2),
    fdp.FaultCleared(10, 2),
    *(fdp.Result(0, outcome, 0) for outcome in fdp.Outcome),
    *(fdp.Ack(1), fdp.Nak(1), fdp.GetHello(), fdp.GetStatus(), fdp.GetEvents(1), fdp.Query(2)),
    *(fdp.Lock(1), fdp.Unlock(1), fdp.Shuffle(1), fdp.Deal(1, 7, 5), fdp.Stop(1), fdp.ClearFault(1)),
]


def test_b05_every_frame_of_fdp_is_tried() -> None:
    assert {type(frame) for frame in FDP_FRAMES} == set(fdp.FRAMES.values())


@pytest.mark.parametrize("seq", [0, 1, 255])
def test_b05_no_spoilt_frame_of_fdp_is_another_frame(seq: int) -> None:
    for frame in FDP_FRAMES:
        wire = fdp.encode(frame, seq)
        assert frames_in(wire) == [frame]
        taken = [found for bad in spoilt(wire) for found in frames_in(bad)]
        assert taken == [frame] * len(taken)


def test_b05_no_spoilt_answer_of_a_sign_is_another_answer() -> None:
    for wire in {data for data in recording(ALPHA) if data}:
        (answer,) = FrameReader().feed(wire)
        assert isinstance(answer, Frame)
        for bad in spoilt(wire):
            found = [each for each in FrameReader().feed(bad) if not isinstance(each, BadFrame)]
            believed = [f for f in found if f.checked and f.sign_type + f.address == "000"]
            assert believed == [answer] * len(believed)


@every_protocol
def test_b05_a_spoilt_frame_tells_what_it_said_or_nothing(speaks: DeviceProtocol) -> None:
    """The driver, in the middle of a conversation; a later frame ends a frame whose end was spoilt."""
    if (speaks.role, speaks.name) in UNCHECKED:
        pytest.skip("this protocol has no checksum: a spoilt card is another card")
    heard = heard_by(speaks)
    for before, wire in pairwise(range(0, min(len(heard), 9))):
        said = [emit.event for emit in outcome_of(speaks, heard[: wire + 2])[0]]
        for bad in spoilt(heard[wire]):
            told, _ = outcome_of(speaks, [*heard[: before + 1], bad, *heard[wire + 1 : wire + 2]])
            assert [
                emit.event
                for emit in told
                if not isinstance(emit.event, OutOfSync) and emit.event not in said
            ] == []


# --- B06: one message apart ----------------------------------------------------------------


class SlowAck(Simulated):
    """The ``k``-th acknowledgement comes so many times, and so much later (ns)."""

    def __init__(self, k: int, copies: int, later: int) -> None:
        super().__init__(FDP)
        self._left, self._copies, self._later = k, copies, later

    def _to_device(self, send: Send) -> None:
        if any(isinstance(frame, fdp.Ack) for frame in frames_in(send.data)):
            self._left -= 1
            if self._left == 0:
                at = self.now + self.delay + self._later
                self._flying += [(at, False, send.data)] * self._copies
                self._flying.sort(key=lambda each: each[0])
                return
        super()._to_device(send)
        self._flying.sort(key=lambda each: each[0])


@pytest.mark.parametrize(
    ("copies", "later"), [(0, 0), (2, 0), (1, 700 * MILLISECOND)], ids=["lost", "twice", "later"]
)
def test_b06_the_kth_acknowledgement_lost_doubled_or_late(copies: int, later: int) -> None:
    for k in range(1, 51):
        bench = SlowAck(k, copies, later)
        bench.open()
        bench.run(0.1)
        for _ in range(52):
            bench.do("draw")
            bench.run(0.01)
        bench.run(2)
        assert [emit.ordinal for emit in bench.emitted if emit.ordinal] == list(range(1, 53))
        state = bench.do("state")
        assert state["unacknowledged"] == 0
        assert bench.driver.counters.repeats <= 1, k
        assert not bench.told(OutOfSync)


# --- B09: bytes without end ----------------------------------------------------------------

RATE = 10_000  # bytes a second


def noise_of(dice: Random, kind: str) -> Callable[[], bytes]:
    """10 ms of it at a time."""
    if kind == "random":
        return lambda: dice.randbytes(RATE // 100)
    if kind == "no delimiter":
        return lambda: bytes(dice.randrange(5, 128) for _ in range(RATE // 100))
    return lambda: b"\xff" * (RATE // 100)


@pytest.mark.parametrize("kind", ["random", "no delimiter", "one byte"])
@every_protocol
def test_b09_noise_is_a_fault_within_two_seconds_and_memory_stays_flat(
    speaks: DeviceProtocol, kind: str
) -> None:
    """A sign is asked at most every 2 s, and has 1 s to answer."""
    bench = Simulated(speaks)
    bench.open()
    bench.command(Display(SignStory.METERS[0]))
    bench.run(8)
    waits = bench.driver.deadline is not None and speaks.proves_delivery
    bench.to_host = lambda data: []
    noise, told = noise_of(Random(9), kind), len(bench.emitted)
    limit = 2.0 if speaks.role != "sign" else 4.5
    seen: float | None = None
    tracemalloc.start()
    for step in range(3000):
        bench._host(bench.driver.received(noise(), bench.now))
        bench.run(0.01)
        bench.drops.clear()
        fresh = (emit.event for emit in bench.emitted[told:])
        if seen is None and any(isinstance(event, OutOfSync | Silent | SignDiffers) for event in fresh):
            seen = step / 100
        if step == 500:
            start = tracemalloc.get_traced_memory()[0]
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    assert grown < 100_000
    assert seen is not None or not waits
    assert seen is None or seen <= limit
    bench.to_host = whole
    bench.run(5)
    if speaks.proves_delivery:
        told_in_full(speaks, bench)


def test_b09_an_endless_frame_with_a_valid_header() -> None:
    bench = Simulated(FDP)
    bench.open()
    bench.run(0.5)
    bench.to_host = lambda data: []
    endless = fdp.encode(fdp.CardOut(1, FaceDownCard(DECK[0])), 2)[:-3] + b"\x01" * 1_000_000
    for at in range(0, len(endless), RATE // 20):
        bench.hear(endless[at : at + RATE // 20])
        bench.run(0.05)
    assert bench.drops.count(Drop("frame too long")) == 1
    assert bench.told(OutOfSync) == [OutOfSync(1, 0)]
    assert [type(event) for event in bench.told(InSync)] == []
    bench.to_host = whole
    told_in_full(FDP, bench)
    assert bench.told(InSync) == [InSync()]


def test_b09_a_heartbeat_that_is_late_is_no_fault() -> None:
    """Half a frame, and the rest only after a pause: that is slow, not garbled."""
    bench = Simulated(FDP)
    bench.open()
    bench.run(0.5)
    bench.to_host = lambda data: []
    frame = fdp.encode(fdp.Status(1, 0, 0, 1, 52), 2)
    bench.hear(frame[:8])
    bench.run(2)
    bench.hear(frame[8:])
    assert not bench.told(OutOfSync)


def test_b09_the_engine_calls_it_garbled_within_two_seconds(tmp_path: Path) -> None:
    async def scene() -> None:
        station = Station(tmp_path)
        life = station.port.life
        try:
            await station.live(1)
            assert life.ready
            await station.live(2, noise_of(Random(9), "random"))
            assert (life.ready, life.cause) == (False, Cause.GARBLED)
            await station.live(1.5)
            assert life.ready
        finally:
            station.end()

    asyncio.run(scene())


# --- B11: late answers ---------------------------------------------------------------------


def test_b11_a_late_result_is_not_taken_for_the_next_command() -> None:
    """Results come 1.4 s late: after the question about the first, and after the second command."""
    bench = Simulated(FDP, delay=700 * MILLISECOND)
    bench.open()
    bench.run(5)
    for number in range(1, 11):
        bench.command(LockShoe(number) if number % 2 else UnlockShoe(number))
        bench.run(0.3)
    bench.run(20)
    assert bench.told(CommandResult) == [CommandResult(number, "done") for number in range(1, 11)]
    assert bench.do("state")["executed"] == {str(number): 1 for number in range(1, 11)}
    assert bench.driver.counters.drops["late result"] > 0
    assert bench.do("state")["locked"] is False


def test_b11_a_late_answer_of_a_sign_is_no_answer_to_the_next_question() -> None:
    """The sign answers each read after the driver gave up: dropped, and nothing is called proved by it."""
    bench = Simulated(ALPHA)
    late: list[tuple[int, bytes]] = []

    def hold(data: bytes) -> list[bytes]:
        late.append((bench.now + 1400 * MILLISECOND, data))
        return []

    bench.to_host = hold
    bench.open()
    bench.command(Display("$1.00"))
    for _ in range(400):
        bench.run(0.05)
        while late and late[0][0] <= bench.now:
            bench.hear(late.pop(0)[1])
    assert not bench.told(SignShows)
    assert bench.driver.counters.drops["answer not asked for"] > 3
    bench.to_host = whole
    bench.run(20)
    assert bench.told(SignShows) == [SignShows("$1.00", "", ())]


# --- B13: echo -----------------------------------------------------------------------------


def echoing(bench: Simulated) -> Fate:
    """A line that was not made raw gives back what it is given."""

    def fate(data: bytes) -> list[bytes]:
        bench._flying.append((bench.now + bench.delay, True, data))
        return []

    return fate


@pytest.mark.parametrize("name", ["shoe", "shuffler"])
def test_b13_an_echo_alone_is_no_device(name: str) -> None:
    bench = Simulated(registry.protocol(name, "fdp"))
    bench.to_device, bench.to_host = echoing(bench), lambda data: []
    bench.open()
    bench.run(4)
    assert bench.told(Identified) == []
    assert {drop.reason for drop in bench.drops} == {OWN}
    assert bench.driver.counters.frames == 0
    assert bench.told(Silent) == [Silent()]


def test_b13_identification_over_an_echo_fails_as_garbled() -> None:
    life, driver = LinkLife("shoe", "shoe", None), FdpShoe()
    life.opening(0)
    life.opened(0)
    echo = b"".join(out.data for out in driver.opened(0) if isinstance(out, Send))
    life.heard(1)
    assert driver.received(echo, 1) == [Drop(OWN)]
    assert life.deadline is not None
    life.tick(life.deadline)
    assert (life.state, life.cause) == (LinkState.LOST, Cause.GARBLED)


def test_b13_an_echo_beside_the_device_is_counted_and_harms_nothing() -> None:
    """Echo on both ways, as on two wires that touch: no storm, every card once."""
    bench = Simulated(FDP)

    def both(data: bytes) -> list[bytes]:
        bench._flying.append((bench.now + bench.delay, True, data))
        return [data]

    bench.to_device = both
    bench.open()
    told_in_full(FDP, bench)
    assert bench.driver.counters.drops[OWN] > 30
    assert len(bench.heard) < 200


@every_protocol
def test_b13_an_echo_is_never_an_event(speaks: DeviceProtocol) -> None:
    bench = Simulated(speaks)
    bench.to_device, bench.to_host = echoing(bench), lambda data: []
    bench.open()
    bench.command(Display("$1.00"))
    bench.run(10)
    numbered = [emit for emit in bench.emitted if emit.ordinal]
    assert numbered == []
    assert not bench.told(SignShows)


def test_b13_the_simulator_host_makes_its_line_raw_before_it_says_where_it_is(tmp_path: Path) -> None:
    async def scene() -> None:
        wire = PtyWire(tmp_path / "device.tty")
        wire.plug(lambda data: None, lambda: None)
        try:
            end = os.open(tmp_path / "device.tty", os.O_RDWR | os.O_NOCTTY)
            local = termios.tcgetattr(end)[3]
            os.close(end)
            assert local & (termios.ECHO | termios.ICANON) == 0
        finally:
            wire.unplug()

    asyncio.run(scene())
