"""FDP/1 drivers and simulated devices over a wire that splits, delays, loses, repeats and corrupts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from drivers import base, fdp
from drivers.base import (
    MILLISECOND,
    SECOND,
    CardDrawn,
    CommandResult,
    Deal,
    Drop,
    Emit,
    Identified,
    InSync,
    LockShoe,
    OutOfSync,
    Output,
    Restarted,
    Send,
    Shuffle,
    Silent,
    StopDeal,
    UnlockShoe,
)
from drivers.cards import DECK, Card, FaceDownCard, parse_card
from drivers.fdp_device import FdpDevice
from drivers.fdp_host import OUTCOME_LOST, FdpHost, wire_number
from drivers.framing import Deframer, encode_frame
from drivers.shoe.fdp import FdpShoe
from drivers.shoe.sim_fdp import ShoeSim
from drivers.shuffler.fdp import FdpShuffler
from drivers.shuffler.sim_fdp import ShufflerSim

Fate = Callable[[bytes], list[bytes]]  # one frame's bytes -> the reads they arrive in
VECTORS = json.loads((Path(__file__).parents[1] / "records/fdp_vectors.json").read_text(encoding="ascii"))


def whole(data: bytes) -> list[bytes]:
    return [data]


def every_byte(data: bytes) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))]


class Line:
    """A driver and a device on one simulated clock, with a wire of ``delay`` ns each way."""

    def __init__(
        self,
        driver: FdpHost,
        device: FdpDevice,
        to_host: Fate = whole,
        to_device: Fate = whole,
        delay: int = MILLISECOND,
        commits: bool = True,
    ) -> None:
        self.driver, self.device = driver, device
        self.to_host, self.to_device = to_host, to_device
        self.delay, self.commits = delay, commits
        self.now = SECOND
        self.emitted: list[Emit] = []
        self.drops: list[Drop] = []
        self._flying: list[tuple[int, bool, bytes]] = []

    def open(self) -> None:
        self._host(self.driver.opened(self.now))
        self._device(self.device.opened(self.now))

    def close(self) -> None:
        self._flying.clear()
        self._host(self.driver.closed(self.now))

    def do(self, name: str, **arguments: object) -> dict[str, object]:
        answer, sent = self.device.control({"do": name, **arguments}, self.now)
        self._device(sent)
        assert "error" not in answer, answer
        return answer

    def command(self, command: base.Command) -> None:
        self._host(self.driver.command(command, self.now))

    def inject(self, frame: fdp.Frame, seq: int = 0) -> list[Output]:
        """A frame straight into the driver."""
        out = self.driver.received(fdp.encode(frame, seq), self.now)
        self._host(out)
        return out

    def run(self, seconds: float) -> None:
        """Deliver and tick until ``seconds`` have gone by."""
        end = self.now + round(seconds * SECOND)
        while (due := self._next_due()) <= end:
            self.now = max(self.now, due)
            self._step()
        self.now = end

    @property
    def events(self) -> list[Emit]:
        return [emit for emit in self.emitted if emit.ordinal]

    @property
    def faces(self) -> list[Card]:
        drawn = [emit.event.face for emit in self.events if isinstance(emit.event, CardDrawn)]
        return [face.turn() for face in drawn if face is not None]

    def told(self, kind: type) -> list[object]:
        return [emit.event for emit in self.emitted if isinstance(emit.event, kind)]

    def _next_due(self) -> int:
        flying = [self._flying[0][0]] if self._flying else []
        ends = [end for end in (self.driver.deadline, self.device.deadline) if end is not None]
        return min(flying + ends)

    def _step(self) -> None:
        while self._flying and self._flying[0][0] <= self.now:
            _, for_host, data = self._flying.pop(0)
            if for_host:
                self._host(self.driver.received(data, self.now))
            else:
                self._device(self.device.received(data, self.now))
        if (due := self.driver.deadline) is not None and due <= self.now:
            self._host(self.driver.tick(self.now))
        if (due := self.device.deadline) is not None and due <= self.now:
            self._device(self.device.tick(self.now))

    def _host(self, out: list[Output]) -> None:
        for output in out:
            if isinstance(output, Emit):
                self.emitted.append(output)
            elif isinstance(output, Drop):
                self.drops.append(output)
            else:
                self._fly(False, self.to_device(output.data))
        if self.commits and any(isinstance(output, Emit) for output in out):
            self._host(self.driver.committed(self.now))

    def _device(self, sent: list[Send]) -> None:
        for send in sent:
            self._fly(True, self.to_host(send.data))

    def _fly(self, for_host: bool, reads: list[bytes]) -> None:
        self._flying += [(self.now + self.delay, for_host, data) for data in reads]


def shoe_line(**options: object) -> Line:
    """An opened shoe of one deck, with the greetings done."""
    line = Line(FdpShoe(), ShoeSim(), **options)  # type: ignore[arg-type]
    line.open()
    line.run(0.1)
    return line


def frames_sent(out: list[Output]) -> list[fdp.Frame]:
    deframer = Deframer()
    bodies = [body for each in out if isinstance(each, Send) for body in deframer.feed(each.data)]
    return [fdp.decode(body) for body in bodies if isinstance(body, bytes)]


def unacknowledged(device: FdpDevice) -> object:
    return device.control({"do": "state"}, device.now)[0]["unacknowledged"]


def recorded(fate: Fate, into: list[fdp.Frame]) -> Fate:
    """``fate``, with every frame that is given to it kept."""

    def keep(data: bytes) -> list[bytes]:
        into.extend(frames_sent([Send(data)]))
        return fate(data)

    return keep


def is_type(data: bytes, kind: type[fdp.Frame]) -> bool:
    return type(frames_sent([Send(data)])[0]) is kind


# --- the life of a link ------------------------------------------------------------------


def test_after_opening_hello_then_status() -> None:
    asked: list[fdp.Frame] = []
    line = shoe_line(to_device=recorded(whole, asked))
    assert asked == [fdp.GetHello(), fdp.GetStatus()]
    assert line.told(Identified) == [Identified("shoe", "SHOE0001", "SIM-1.0", b"SIM-1.0\0".hex(), 1)]
    assert line.driver.status is not None
    assert line.driver.status.state == fdp.ShoeState.READY.value
    assert line.emitted[1:] == []


def test_three_missed_heartbeats_are_silence_told_once() -> None:
    mute = [False]
    asked: list[fdp.Frame] = []
    line = shoe_line(to_host=lambda data: [] if mute[0] else [data], to_device=recorded(whole, asked))
    line.run(0.95)
    mute[0] = True
    asked.clear()
    line.run(2.9)
    assert line.told(Silent) == []
    line.run(10)
    assert line.told(Silent) == [Silent()]
    assert asked == [fdp.GetHello()] * len(asked)
    assert 9 <= len(asked) <= 11
    mute[0] = False
    line.run(1.2)
    assert [type(emit.event) for emit in line.emitted[-2:]] == [Identified, InSync]
    line.run(5)
    assert line.told(InSync) == [InSync()]


def test_cards_drawn_in_a_silence_are_told_after_it() -> None:
    mute = [False]
    line = shoe_line(to_host=lambda data: [] if mute[0] else [data])
    mute[0] = True
    drawn = [line.do("draw")["card"] for _ in range(3)]
    line.run(6)
    assert line.faces == []
    mute[0] = False
    line.run(3)
    assert [card.text for card in line.faces] == drawn
    assert [type(emit.event) for emit in line.emitted[-4:]] == [CardDrawn, CardDrawn, CardDrawn, InSync]
    assert line.told(OutOfSync) == [OutOfSync(expected=1, got=3)]


def test_nothing_is_believed_before_hello() -> None:
    line = Line(FdpShoe(), ShoeSim())
    line.driver.opened(line.now)
    out = line.driver.received(fdp.encode(fdp.CardOut(1, FaceDownCard(DECK[0])), 0), line.now)
    assert out == [Drop("frame before HELLO")]
    assert line.driver.committed(line.now) == []


def test_another_role_is_told_and_not_believed() -> None:
    line = Line(FdpShuffler(), ShoeSim())
    line.open()
    line.do("draw")
    line.run(2)
    assert {event.role for event in line.told(Identified) if isinstance(event, Identified)} == {"shoe"}
    assert line.events == []
    assert line.driver.counters.drops["HELLO of another role"] >= 1
    assert unacknowledged(line.device) == 1


def test_a_closed_link_has_no_deadline_and_takes_no_bytes() -> None:
    line = shoe_line()
    half = fdp.encode(fdp.CutCard(1), 9)[:5]
    assert line.driver.received(half, line.now) == []
    assert line.driver.closed(line.now) == [Drop("half a frame")]
    assert line.driver.deadline is None
    assert line.driver.tick(line.now) == []
    assert line.driver.received(half, line.now) == [Drop("bytes on a closed link")]


# --- events: once, in order, with the right face -------------------------------------------


def lossy(seed: int, share: float) -> Fate:
    random = Random(seed)
    return lambda data: [] if random.random() < share else [data]


def doubled(seed: int, share: float) -> Fate:
    random = Random(seed)
    return lambda data: [data] * (random.randint(2, 5) if random.random() < share else 1)


def corrupted(seed: int, share: float) -> Fate:
    random = Random(seed)

    def spoil(data: bytes) -> list[bytes]:
        if random.random() >= share:
            return [data]
        spoilt = bytearray(data)
        spoilt[random.randrange(len(data))] ^= 1 << random.randrange(8)
        return [bytes(spoilt)]

    return spoil


def noisy(seed: int, share: float) -> Fate:
    random = Random(seed)
    return lambda data: [random.randbytes(30), data] if random.random() < share else [data]


def all_of_it(seed: int, share: float) -> Fate:
    fates = [each(seed + i, share) for i, each in enumerate((lossy, doubled, corrupted, noisy))]

    def spoil(data: bytes) -> list[bytes]:
        reads = [data]
        for fate in fates:
            reads = [read for given in reads for read in fate(given)]
        return every_byte(b"".join(reads))

    return spoil


FATES: dict[str, Callable[[int], Fate]] = {
    "whole": lambda seed: whole,
    "every byte": lambda seed: every_byte,
    "lossy": lambda seed: lossy(seed, 0.2),
    "doubled": lambda seed: doubled(seed, 0.5),
    "corrupted": lambda seed: corrupted(seed, 0.2),
    "noisy": lambda seed: noisy(seed, 0.3),
    "all of it": lambda seed: all_of_it(seed, 0.1),
}


@pytest.mark.parametrize("name", FATES)
@pytest.mark.parametrize("delay_ms", [0, 3, 700])
def test_every_card_once_in_order(name: str, delay_ms: int) -> None:
    make = FATES[name]
    line = Line(FdpShoe(), ShoeSim(seed=7), make(1), make(2), delay_ms * MILLISECOND)
    line.open()
    random = Random(delay_ms)
    drawn = []
    for _ in range(52):
        drawn.append(line.do("draw")["card"])
        line.run(random.choice((0.0, 0.002, 0.05, 0.4)))
    line.run(90)
    assert [card.text for card in line.faces] == drawn
    assert [emit.ordinal for emit in line.events] == list(range(1, 53))
    assert {emit.boot for emit in line.events} == {1}
    assert unacknowledged(line.device) == 0
    assert line.told(Restarted) == []
    synchrony = [type(emit.event) for emit in line.emitted if isinstance(emit.event, OutOfSync | InSync)]
    assert not synchrony or synchrony[-1] is InSync


@pytest.mark.parametrize("name", FATES)
def test_a_command_takes_effect_once(name: str) -> None:
    make = FATES[name]
    line = Line(FdpShoe(), ShoeSim(), make(3), make(4), 2 * MILLISECOND)
    line.open()
    line.run(3)
    for number in range(1, 21):
        line.command((LockShoe if number % 2 else UnlockShoe)(number))
        line.run(0.7)
    line.run(60)
    results = [event for event in line.told(CommandResult) if isinstance(event, CommandResult)]
    assert sorted(results, key=lambda result: result.command_id) == [
        CommandResult(number, "done") for number in range(1, 21)
    ]
    assert line.device.executed == dict.fromkeys(range(1, 21), 1)


def test_two_equal_cards_milliseconds_apart_are_two() -> None:
    king = parse_card("KS")
    line = Line(FdpShoe(), ShoeSim(deck=[king] * 6))
    line.open()
    for gap in (0.002, 0.005, 0.05, 0.2, 2.0, 0.0):
        line.do("draw")
        line.run(gap)
    line.run(1)
    assert line.faces == [king] * 6


def test_what_was_read_is_what_is_told() -> None:
    line = shoe_line()
    line.do("draw", card="AS", face_up=True)
    line.do("draw", card="TH", unsure=True)
    line.do("draw", unread=True)
    line.do("cut-card")
    line.do("cover", open=True)
    line.do("cover", open=False)
    line.do("jam")
    line.do("clear")
    line.run(0.1)
    assert [emit.event for emit in line.events] == [
        CardDrawn(FaceDownCard(parse_card("AS")), face_up=True),
        CardDrawn(FaceDownCard(parse_card("10H")), sure=False),
        CardDrawn(None),
        base.CutCardDrawn(),
        base.CoverMoved(True),
        base.CoverMoved(False),
        base.FaultSet(2, "A card is jammed in the transport.", True),
        base.FaultCleared(2),
    ]


@pytest.mark.parametrize("copies", [0, 2])
def test_the_kth_ack_lost_or_doubled(copies: int) -> None:
    for k in range(1, 51):
        count = [0]

        def fate(data: bytes, k: int = k, count: list[int] = count) -> list[bytes]:
            if is_type(data, fdp.Ack):
                count[0] += 1
                if count[0] == k:
                    return [data] * copies
            return [data]

        line = shoe_line(to_device=fate)
        for _ in range(52):
            line.do("draw")
            line.run(0.01)
        line.run(2)
        assert len(line.faces) == 52
        assert line.device.counters.repeats <= 1
        assert unacknowledged(line.device) == 0


def test_an_ack_later_than_the_repeat_timer() -> None:
    line = shoe_line(delay=0)
    line.delay = 600 * MILLISECOND
    line.do("draw")
    line.run(3)
    assert len(line.events) == 1
    assert 1 <= line.driver.counters.repeats <= 2
    assert unacknowledged(line.device) == 0


def test_only_what_is_durable_is_acknowledged() -> None:
    sent: list[fdp.Frame] = []
    line = shoe_line(to_device=recorded(whole, sent), commits=False)
    line.do("draw")
    line.do("draw")
    line.run(2)
    assert len(line.events) == 2
    assert line.driver.counters.repeats >= 3
    assert not any(isinstance(frame, fdp.Ack) for frame in sent)
    assert frames_sent(line.driver.committed(line.now)) == [fdp.Ack(2)]
    assert line.driver.committed(line.now) == []
    line.run(0.6)  # that ACK was not carried: the repeat is answered with another
    assert [frame for frame in sent if isinstance(frame, fdp.Ack)] == [fdp.Ack(2)]


def test_a_gap_is_asked_for_and_told_once() -> None:
    sent: list[fdp.Frame] = []
    line = shoe_line(to_device=recorded(whole, sent))
    cards = [FaceDownCard(card) for card in DECK[:3]]
    line.inject(fdp.CardOut(1, cards[0]), 2)
    sent.clear()
    line.inject(fdp.CardOut(3, cards[2]), 3)
    line.inject(fdp.CardOut(3, cards[2]), 4)
    assert sent == [fdp.Nak(2)]
    assert line.told(OutOfSync) == [OutOfSync(expected=2, got=3)]
    line.now += 499 * MILLISECOND
    line._host(line.driver.tick(line.now))
    assert sent == [fdp.Nak(2)]
    line.now += MILLISECOND
    assert line.driver.deadline == line.now
    line._host(line.driver.tick(line.now))
    assert sent == [fdp.Nak(2)] * 2
    line.inject(fdp.CardOut(2, cards[1]), 5)
    assert line.told(InSync) == []
    line.inject(fdp.CardOut(3, cards[2]), 6)
    assert line.told(InSync) == [InSync()]
    assert line.faces == list(DECK[:3])


def test_the_heartbeat_reveals_a_lost_last_event() -> None:
    line = shoe_line()
    line.inject(fdp.Status(1, 0, 1, 1, 51), 2)
    assert line.told(OutOfSync) == [OutOfSync(1, 1)]


def test_numbers_wrap_and_ordinals_do_not() -> None:
    device = ShoeSim(seed=3)
    device._last_event = 65530
    line = Line(FdpShoe(resume=(1, 65530)), device)
    line.open()
    line.run(0.1)
    numbers = [line.do("draw")["event"] for _ in range(12)]
    line.run(1)
    assert numbers == [*range(65531, 65536), *range(1, 8)]
    assert [emit.ordinal for emit in line.events] == list(range(65531, 65543))
    assert unacknowledged(line.device) == 0
    assert [wire_number(ordinal) for ordinal in (1, 65535, 65536, 131070, 131071)] == [1, 65535, 1, 65535, 1]


def test_a_gap_and_a_repeat_across_the_wrap() -> None:
    line = Line(FdpShoe(resume=(1, 65534)), ShoeSim())
    line.driver.opened(line.now)
    line.inject(fdp.Hello(1, 65534, fdp.Role.SHOE, "S", "F", bytes(8)), 0)
    line.inject(fdp.CutCard(1), 1)
    assert line.told(OutOfSync) == [OutOfSync(65535, 65536)]
    for seq, number in enumerate((65535, 1, 65535, 65534), start=2):
        line.inject(fdp.CutCard(number), seq)
    assert [emit.ordinal for emit in line.events] == [65535, 65536]
    assert line.driver.counters.repeats == 2


# --- restarts --------------------------------------------------------------------------------


def test_a_new_boot_starts_anew_and_is_told() -> None:
    line = shoe_line()
    line.do("draw")
    line.run(0.1)
    assert line.do("power-cycle")["boot"] == 2
    line.do("draw")
    line.run(0.1)
    assert [(emit.boot, emit.ordinal) for emit in line.events] == [(1, 1), (2, 1)]
    restarts = [emit for emit in line.emitted if isinstance(emit.event, Restarted)]
    assert restarts == [Emit(Restarted(), 2, 0)]


def test_opening_may_have_reset_the_device() -> None:
    line = shoe_line()
    line.do("draw")
    line.run(0.1)
    line.close()
    line.device.control({"do": "power-cycle"}, line.now)
    line.open()
    line.run(0.5)
    assert [type(emit.event) for emit in line.emitted[-2:]] == [Identified, Restarted]


def test_a_restart_whose_hello_is_lost_loses_no_card() -> None:
    line = shoe_line()
    for _ in range(5):
        line.do("draw")
    line.run(0.1)
    line.device.control({"do": "power-cycle"}, line.now)  # its HELLO goes nowhere
    drawn = [line.do("draw")["card"] for _ in range(3)]
    line.run(2)
    assert [card.text for card in line.faces[5:]] == drawn
    assert [(emit.boot, emit.ordinal) for emit in line.events[5:]] == [(2, 1), (2, 2), (2, 3)]
    assert line.told(Restarted) == [Restarted()]


def test_a_restart_whose_first_events_are_lost_too_is_not_mistaken_for_more_of_the_same() -> None:
    line = shoe_line()
    for _ in range(2):
        line.do("draw")
    line.run(0.1)
    line.device.control({"do": "power-cycle"}, line.now)
    drawn = [str(line.device.control({"do": "draw"}, line.now)[0]["card"]) for _ in range(2)]
    drawn.append(str(line.do("draw")["card"]))  # number 3: just what would have come next
    line.run(2)
    assert [card.text for card in line.faces[2:]] == drawn
    assert [(emit.boot, emit.ordinal) for emit in line.events[2:]] == [(2, 1), (2, 2), (2, 3)]


def test_lost_frames_make_the_driver_ask_who_is_there() -> None:
    sent: list[fdp.Frame] = []
    line = shoe_line(to_device=recorded(whole, sent))
    sent.clear()
    line.inject(fdp.CutCard(2), 3)
    assert sent == [fdp.GetHello(), fdp.Nak(1)]
    line.inject(fdp.CutCard(1), 4)
    assert line.events == []
    line.inject(fdp.Hello(1, 2, fdp.Role.SHOE, "S", "F", bytes(8)), 5)
    line.inject(fdp.CutCard(1), 6)
    line.inject(fdp.CutCard(2), 7)
    assert [emit.ordinal for emit in line.events] == [1, 2]


def test_a_device_that_does_not_count_its_frames_is_heard_too() -> None:
    line = shoe_line()
    line.inject(fdp.Hello(1, 0, fdp.Role.SHOE, "S", "F", bytes(8)), 0)
    for number in (1, 2, 3):
        line.inject(fdp.CutCard(number), 0)
    assert [emit.ordinal for emit in line.events] == [1, 2, 3]


@pytest.mark.parametrize(("resume", "restarted"), [((1, 0), False), ((9, 40), True), (None, False)])
def test_resume_knows_a_boot(resume: tuple[int, int] | None, restarted: bool) -> None:
    line = Line(FdpShoe(resume), ShoeSim())
    line.open()
    line.do("draw")
    line.run(2)
    assert line.told(Restarted) == [Restarted()] * restarted
    assert [(emit.boot, emit.ordinal) for emit in line.events] == [(1, 1)]


def test_a_second_daemon_goes_on_where_the_first_was_durable() -> None:
    line = shoe_line()
    drawn = [line.do("draw")["card"] for _ in range(3)]
    line.run(0.1)
    line.commits = False
    drawn += [line.do("draw")["card"] for _ in range(3)]
    line.run(0.1)
    line.close()
    again = Line(FdpShoe(resume=(1, 3)), line.device)
    again.now = line.now
    again.open()
    again.run(2)
    assert [card.text for card in again.faces] == drawn[3:]
    assert [emit.ordinal for emit in again.events] == [4, 5, 6]


def test_a_device_that_denies_its_own_events_has_restarted() -> None:
    line = Line(FdpShoe(resume=(7, 40)), ShoeSim())
    line.driver.opened(line.now)
    line.inject(fdp.Hello(7, 2, fdp.Role.SHOE, "S", "F", bytes(8)))
    assert Emit(Restarted(), 7 + 0x10000, 0) in line.emitted
    line.inject(fdp.CutCard(1), 1)
    assert line.events == [Emit(base.CutCardDrawn(), 7 + 0x10000, 1)]
    later = Line(FdpShoe(resume=(7 + 0x10000, 1)), ShoeSim())
    later.driver.opened(later.now)
    later.inject(fdp.Hello(7, 1, fdp.Role.SHOE, "S", "F", bytes(8)))
    assert later.told(Restarted) == []


def test_a_first_contact_begins_at_the_oldest_event_that_is_held() -> None:
    first = shoe_line()
    for _ in range(4):
        first.do("draw")
    first.run(0.1)
    first.close()
    held = [first.device.control({"do": "draw"}, first.now)[0]["card"] for _ in range(2)]
    stranger = Line(FdpShoe(), first.device)
    stranger.now = first.now
    stranger.open()
    live = stranger.do("draw")["card"]
    stranger.run(3)
    assert [card.text for card in stranger.faces] == [*held, live]
    assert [emit.ordinal for emit in stranger.events] == [5, 6, 7]


def test_a_first_contact_with_nothing_held_goes_on_from_there() -> None:
    first = shoe_line()
    first.do("draw")
    first.run(0.1)
    first.close()
    stranger = Line(FdpShoe(), first.device)
    stranger.now = first.now
    stranger.open()
    stranger.run(0.1)
    stranger.do("draw")
    stranger.run(3)
    assert [emit.ordinal for emit in stranger.events] == [2]


# --- commands --------------------------------------------------------------------------------


def lost_once(kind: type[fdp.Frame]) -> Fate:
    lost = [False]

    def fate(data: bytes) -> list[bytes]:
        if is_type(data, kind) and not lost[0]:
            lost[0] = True
            return []
        return [data]

    return fate


def test_a_lost_command_is_asked_for_and_given_again_with_its_id() -> None:
    sent: list[fdp.Frame] = []
    line = shoe_line(to_device=recorded(lost_once(fdp.Lock), sent))
    sent.clear()
    line.command(LockShoe(5))
    line.run(0.99)
    assert sent == [fdp.Lock(5)]
    line.run(0.1)
    assert sent == [fdp.Lock(5), fdp.Query(5), fdp.Lock(5)]
    assert line.told(CommandResult) == [CommandResult(5, "done")]


def test_a_lost_result_is_asked_for_and_the_command_not_repeated() -> None:
    sent: list[fdp.Frame] = []
    line = shoe_line(to_device=recorded(whole, sent), to_host=lost_once(fdp.Result))
    sent.clear()
    line.command(LockShoe(5))
    line.run(2)
    commands = [frame for frame in sent if isinstance(frame, fdp.Lock | fdp.Query)]
    assert commands == [fdp.Lock(5), fdp.Query(5)]
    assert line.told(CommandResult) == [CommandResult(5, "done")]


def test_a_late_result_is_dropped_and_counted() -> None:
    line = shoe_line()
    line.command(LockShoe(5))
    line.run(0.1)
    line.command(UnlockShoe(6))
    before = line.told(CommandResult)
    for outcome in fdp.Outcome:
        line.inject(fdp.Result(5, outcome, 0), 3)
    line.inject(fdp.Result(6, fdp.Outcome.NEVER_SEEN, 0), 3)  # an answer to no question
    assert line.told(CommandResult) == before
    assert line.driver.counters.drops["late result"] == 6
    line.run(0.1)
    assert line.device.executed == {5: 1, 6: 1}


def test_a_command_given_while_the_link_is_down_is_given_later() -> None:
    line = shoe_line()
    line.close()
    line.command(LockShoe(9))
    assert line.device.executed == {}
    line.open()
    line.run(0.1)
    assert line.told(CommandResult) == [CommandResult(9, "done")]


def test_after_a_reopen_commands_are_asked_for() -> None:
    sent: list[fdp.Frame] = []
    line = shoe_line(to_device=recorded(whole, sent), to_host=whole)
    line.command(LockShoe(5))
    line.close()
    sent.clear()
    line.open()
    line.run(0.1)
    assert [frame for frame in sent if isinstance(frame, fdp.Query | fdp.Lock)] == [
        fdp.Query(5),
        fdp.Lock(5),
    ]
    assert line.device.executed == {5: 1}


def test_resume_asks_first() -> None:
    line = shoe_line()
    line.command(LockShoe(5))
    line.run(0.1)
    again = Line(FdpShoe(resume=(1, 0)), line.device)
    again.now = line.now
    again._host(again.driver.resume(LockShoe(5), again.now))
    again._host(again.driver.resume(UnlockShoe(6), again.now))
    again.open()
    again.run(0.1)
    assert again.told(CommandResult) == [CommandResult(5, "done"), CommandResult(6, "done")]
    assert line.device.executed == {5: 1, 6: 1}


def test_commands_of_another_device_are_refused() -> None:
    line = shoe_line()
    line.command(Shuffle(3))
    line.command(base.Display("$1"))
    assert line.told(CommandResult) == [CommandResult(3, "refused")]
    assert line.driver.counters.drops == {"command for another device": 2}


def test_an_id_under_watch_is_not_given_twice() -> None:
    line = shoe_line()
    line.command(LockShoe(5))
    line.command(LockShoe(5))
    line.run(0.1)
    assert line.told(CommandResult) == [CommandResult(5, "done")]
    assert line.device.counters.drops == {}


# --- the shuffler ----------------------------------------------------------------------------


def shuffler_line(**options: object) -> Line:
    line = Line(FdpShuffler(), ShufflerSim(), **options)  # type: ignore[arg-type]
    line.open()
    line.run(0.1)
    return line


@pytest.mark.parametrize("name", FATES)
def test_a_round_of_the_shuffler(name: str) -> None:
    make = FATES[name]
    line = shuffler_line(to_host=make(5), to_device=make(6))
    line.run(3)
    line.command(Shuffle(1))
    line.run(10)
    line.command(Deal(2, packets=3, cards_each=5))
    dealt: list[object] = []
    for index in range(3):
        line.run(10)
        cards = line.do("take", index=index)["cards"]
        assert isinstance(cards, list)
        dealt += cards
    line.run(10)
    line.do("return")
    line.run(20)
    assert len(set(dealt)) == 15
    packets = [[base.PacketOut(index, 5), base.PacketTaken(index)] for index in range(3)]
    assert [emit.event for emit in line.events] == [
        base.ShuffleStarted(1),
        base.ShuffleDone(1, 52),
        *(event for packet in packets for event in packet),
        base.CardsReturned(15),
    ]
    results = [event for event in line.told(CommandResult) if isinstance(event, CommandResult)]
    assert [result for result in results if result.outcome != "accepted"] == [
        CommandResult(1, "done"),
        CommandResult(2, "done"),
    ]
    assert line.device.executed == {1: 1, 2: 1}


def test_an_accepted_command_is_asked_for_sparsely() -> None:
    sent: list[fdp.Frame] = []
    line = Line(FdpShuffler(), ShufflerSim(shuffle_time_ms=12_000), to_device=recorded(whole, sent))
    line.open()
    line.run(0.1)
    line.command(Shuffle(1))
    line.run(11.5)
    assert sent.count(fdp.Query(1)) == 2
    assert line.told(CommandResult) == [CommandResult(1, "accepted")]
    line.run(1)
    assert line.told(CommandResult) == [CommandResult(1, "accepted"), CommandResult(1, "done")]
    assert sent.count(fdp.Query(1)) == 2


def test_a_shuffle_or_deal_is_never_given_to_another_boot() -> None:
    line = shuffler_line()
    line.command(Shuffle(1))
    line.run(0.2)
    line.do("power-cycle")
    line.run(3)
    assert line.told(CommandResult) == [
        CommandResult(1, "accepted"),
        CommandResult(1, "refused", OUTCOME_LOST),
    ]
    assert line.device.executed == {1: 1}
    assert line.device.state_name() == "loaded"
    assert base.ShuffleDone(1, 52) not in line.told(base.ShuffleDone)


def test_a_jam_ends_a_shuffle() -> None:
    line = shuffler_line()
    line.command(Shuffle(1))
    line.run(0.2)
    line.do("jam", code=1)
    line.run(2)
    assert line.told(CommandResult)[-1] == CommandResult(1, "refused", 1)
    assert line.device.state_name() == "fault"
    line.command(Shuffle(2))
    line.run(0.1)
    assert line.told(CommandResult)[-1] == CommandResult(2, "refused", 8)
    line.do("clear")
    assert line.device.state_name() == "loaded"


def deal_line() -> Line:
    line = shuffler_line()
    line.command(Shuffle(1))
    line.run(1)
    line.command(Deal(2, packets=2, cards_each=5))
    line.run(0.05)
    assert line.device.state_name() == "dealing"
    return line


def test_a_jam_and_an_open_door_hold_up_a_deal() -> None:
    line = deal_line()
    line.do("jam")
    line.do("cover", open=True)
    line.run(2)
    line.do("clear")
    assert line.device.state_name() == "door_open"
    line.run(2)
    assert line.told(base.PacketOut) == []
    line.do("cover", open=False)
    assert line.device.state_name() == "dealing"
    line.run(0.2)
    assert line.told(base.PacketOut) == [base.PacketOut(0, 5)]


def test_a_reminder_holds_up_nothing() -> None:
    line = deal_line()
    line.do("jam", code=fdp.SERVICE_DUE)
    line.run(0.2)
    assert line.device.state_name() == "packet_present"
    reminder = line.told(base.FaultSet)[0]
    assert reminder == base.FaultSet(16, "Service is due.", stops_deal=False)


@pytest.mark.parametrize("halted", [False, True])
def test_a_stopped_deal_gives_no_more_packets(halted: bool) -> None:
    line = deal_line()
    if halted:
        line.do("jam")
    line.command(StopDeal(3))
    line.run(0.1)
    if halted:
        line.do("clear")
    line.run(1)
    assert line.told(base.PacketOut) == []
    assert line.told(CommandResult)[-2:] == [CommandResult(2, "refused"), CommandResult(3, "done")]
    assert line.device.state_name() == "unloading"


def test_a_stop_while_a_packet_lies_out() -> None:
    line = deal_line()
    line.run(0.2)
    line.command(StopDeal(3))
    line.run(0.1)
    line.do("take")
    line.run(1)
    assert line.device.state_name() == "unloading"
    assert [event for event in line.told(CommandResult) if event == CommandResult(2, "done")] == []


def test_a_busy_shuffler_says_so() -> None:
    line = deal_line()
    line.command(Shuffle(3))
    line.command(Deal(4, packets=1, cards_each=1))
    line.run(0.1)
    assert [type(event) for event in line.told(CommandResult)[-2:]] == [CommandResult] * 2
    outcomes = {e.command_id: e.outcome for e in line.told(CommandResult) if isinstance(e, CommandResult)}
    assert (outcomes[3], outcomes[4]) == ("busy", "busy")


@pytest.mark.parametrize(("packets", "cards_each"), [(0, 5), (5, 0), (11, 5)])
def test_a_deal_that_cannot_be_is_refused(packets: int, cards_each: int) -> None:
    line = shuffler_line()
    line.command(Shuffle(1))
    line.run(1)
    line.command(Deal(2, packets, cards_each))
    line.run(0.1)
    assert line.told(CommandResult)[-1] == CommandResult(2, "refused", fdp.ShufflerState.READY.value)


def test_no_face_is_on_the_shufflers_line() -> None:
    sent: list[bytes] = []
    ranks = Random(1).sample(DECK, 52)
    for deck in (DECK, ranks):
        bytes_of_run: list[bytes] = []

        def keep(data: bytes, into: list[bytes] = bytes_of_run) -> list[bytes]:
            into.append(data)
            return [data]

        line = Line(FdpShuffler(), ShufflerSim(deck=deck), to_host=keep)
        line.open()
        line.command(Shuffle(1))
        line.run(2)
        line.command(Deal(2, 1, 5))
        line.run(1)
        line.do("take")
        line.run(1)
        sent.append(b"".join(bytes_of_run))
    assert sent[0] == sent[1]


# --- another device on the port ----------------------------------------------------------------


def swap(line: Line, device: FdpDevice, reopen: bool = True) -> None:
    """Another device on the line, which loses what is under way."""
    line.close() if reopen else line._flying.clear()
    line.device = device
    if reopen:
        line.open()


@pytest.mark.parametrize("reopen", [True, False])
@pytest.mark.parametrize("boot", [1, 77])
def test_a_wrong_serial_for_a_moment_changes_nothing(boot: int, reopen: bool) -> None:
    sent: list[fdp.Frame] = []
    right = ShufflerSim()
    line = Line(FdpShuffler(serial="SHUF0001"), right, to_device=recorded(whole, sent))
    line.open()
    line.run(0.1)
    line.command(Shuffle(1))
    line.run(1)
    line.command(Deal(2, packets=2, cards_each=5))
    line.run(0.5)
    wrong = ShufflerSim(serial="SHUF0009", boot=boot - 1 or 0xFFFF)
    sent.clear()
    swap(line, wrong, reopen)
    assert line.do("power-cycle")["boot"] == boot
    line.do("jam")
    line.run(2.5)
    assert line.told(Identified)[-1] == Identified(
        "shuffler", "SHUF0009", "SIM-1.0", b"SIM-1.0\0".hex(), boot
    )
    line.command(StopDeal(3))
    line.run(1)
    assert sent
    assert all(frame == fdp.GetHello() for frame in sent)
    assert (unacknowledged(wrong), wrong.executed) == (1, {})
    assert line.driver.counters.drops["HELLO of another serial number"] >= 1
    swap(line, right, reopen)
    line.run(1.5)
    assert right.executed == {1: 1, 2: 1, 3: 1}
    line.do("take", index=0)
    line.run(1)
    told = [base.ShuffleStarted(1), base.ShuffleDone(1, 52), base.PacketOut(0, 5), base.PacketTaken(0)]
    assert [emit.event for emit in line.events] == told
    assert [(emit.boot, emit.ordinal) for emit in line.events] == [(1, n) for n in (1, 2, 3, 4)]
    assert line.told(Restarted) == []
    assert unacknowledged(right) == 0


def test_a_deal_goes_on_and_completes_after_a_wrong_serial() -> None:
    line = Line(FdpShuffler(serial="SHUF0001"), ShufflerSim())
    right = line.device
    line.open()
    line.run(0.1)
    line.command(Shuffle(1))
    line.run(1)
    line.command(Deal(2, packets=2, cards_each=5))
    line.run(0.5)
    swap(line, ShufflerSim(serial="SHUF0009", boot=9))
    line.run(2)
    swap(line, right)
    line.run(0.2)
    for index in (0, 1):
        line.do("take", index=index)
        line.run(1)
    assert [emit.ordinal for emit in line.events] == [1, 2, 3, 4, 5, 6]
    assert line.told(CommandResult)[-1] == CommandResult(2, "done")
    assert line.told(Restarted) == line.told(OutOfSync) == []


@pytest.mark.parametrize("other_boot", [5, 9])
def test_without_a_serial_another_number_is_another_device(other_boot: int) -> None:
    first, other = ShoeSim(boot=5, seed=1), ShoeSim(serial="OTHER001", boot=other_boot, seed=2)
    elsewhere = Line(FdpShoe(), other)
    elsewhere.open()
    for _ in range(6):
        elsewhere.do("draw")
    elsewhere.run(1)
    elsewhere.close()
    held = [str(other.control({"do": "draw"}, elsewhere.now)[0]["card"]) for _ in range(2)]
    line = Line(FdpShoe(), first)
    line.now = elsewhere.now
    line.open()
    told = [line.do("draw")["card"] for _ in range(4)]
    line.run(1)
    swap(line, other)
    told += [*held, line.do("draw")["card"]]
    line.run(3)
    assert [card.text for card in line.faces] == told
    assert [emit.ordinal for emit in line.events[4:]] == [7, 8, 9]
    swap(line, first)
    line.run(3)
    told += [line.do("draw")["card"] for _ in range(2)]
    line.run(1)
    assert [card.text for card in line.faces] == told
    assert line.told(Restarted) == [Restarted()] * 2
    assert len({(emit.boot, emit.ordinal) for emit in line.events}) == len(told)
    assert {emit.boot & 0xFFFF for emit in line.events} == {5, other_boot}
    assert line.told(OutOfSync) == []
    assert unacknowledged(first) == unacknowledged(other) == 0


# --- events that the device cannot give any more -----------------------------------------------


@pytest.mark.parametrize("hello_is_lost", [True, False])
def test_an_ack_across_a_restart_does_not_keep_the_host_out_of_sync(hello_is_lost: bool) -> None:
    line = shoe_line(commits=False)
    for _ in range(3):
        line.do("draw")
    line.run(0.1)
    _, sent = line.device.control({"do": "power-cycle"}, line.now)
    if not hello_is_lost:
        line._device(sent)
    for _ in range(3):
        line.device.control({"do": "draw"}, line.now)  # they go nowhere
    line._host(line.driver.committed(line.now))  # the ACK of card 3, and the device has another 3
    line.commits = True
    line.run(10)
    assert unacknowledged(line.device) == 0
    drawn = [line.do("draw")["card"] for _ in range(4)]
    line.run(3)
    assert [card.text for card in line.faces[3:]] == drawn
    synchrony = [type(emit.event) for emit in line.emitted if isinstance(emit.event, OutOfSync | InSync)]
    assert not synchrony or synchrony[-1] is InSync
    assert len(line.told(Restarted)) >= 1
    assert len({(emit.boot, emit.ordinal) for emit in line.events}) == 7


def test_what_the_device_had_no_room_to_hold_is_told_as_a_restart() -> None:
    device = ShoeSim()
    device.opened(SECOND)
    for _ in range(300):
        device.control({"do": "cut-card"}, SECOND)
    line = Line(FdpShoe(resume=(1, 3)), device)
    line.open()
    line.run(6)
    health = [type(emit.event) for emit in line.emitted if not emit.ordinal]
    assert health[:5] == [Identified, OutOfSync, Identified, Restarted, InSync]
    assert (health[-1], health.count(Restarted)) == (InSync, 1)
    assert [(emit.boot, emit.ordinal) for emit in line.events] == [
        (1 + 0x10000, number) for number in range(45, 301)
    ]
    assert unacknowledged(device) == 0


def test_a_second_daemon_takes_up_a_boot_of_which_nothing_is_durable() -> None:
    first = shoe_line()
    for _ in range(4):
        first.do("draw")
    first.run(0.1)
    first.close()
    again = Line(FdpShoe(resume=(1, 0)), first.device)
    again.now = first.now
    again.open()
    again.run(3)
    again.do("draw")
    again.run(1)
    assert [(emit.boot, emit.ordinal) for emit in again.events] == [(1, 5)]
    assert again.told(OutOfSync) == again.told(Restarted) == []


@pytest.mark.parametrize("delay_ms", [1, 1400])
def test_what_is_held_is_not_given_up(delay_ms: int) -> None:
    """Neither on a slow line nor when every NAK is lost: the device repeats its oldest by itself."""
    line = shoe_line(
        to_host=lost_once(fdp.CardOut),
        to_device=lambda data: [] if is_type(data, fdp.Nak) and delay_ms == 1 else [data],
    )
    line.delay = delay_ms * MILLISECOND
    for _ in range(3):
        line.do("draw")
    line.run(20)
    assert [emit.ordinal for emit in line.events] == [1, 2, 3]
    assert line.told(Restarted) == []
    assert unacknowledged(line.device) == 0


def test_the_answer_to_a_nak_of_the_boot_before_is_not_the_oldest_event() -> None:
    line = shoe_line()
    line.inject(fdp.CutCard(1), 2)
    line.inject(fdp.CutCard(3), 3)  # NAK 2
    line.inject(fdp.Hello(2, 3, fdp.Role.SHOE, "SHOE0001", "F", bytes(8)), 4)
    for seq, number in enumerate((2, 3, 1, 2, 3), start=5):
        line.inject(fdp.CutCard(number), seq)
    assert [(emit.boot, emit.ordinal) for emit in line.events] == [(1, 1), (2, 1), (2, 2), (2, 3)]


def test_no_doubtful_event_is_acknowledged() -> None:
    """It may be another device's, or of a boot whose HELLO was lost, and would then be gone."""
    sent: list[fdp.Frame] = []
    line = shoe_line(to_device=recorded(whole, sent), commits=False)
    line.inject(fdp.CutCard(1), 2)
    line.inject(fdp.CutCard(1), 77)
    line._host(line.driver.committed(line.now))
    line.inject(fdp.CutCard(1), 78)
    assert not any(isinstance(frame, fdp.Ack) for frame in sent)
    line.inject(fdp.Hello(1, 1, fdp.Role.SHOE, "SHOE0001", "F", bytes(8)), 79)
    line.inject(fdp.CutCard(1), 80)
    assert sent[-1] == fdp.Ack(1)


@pytest.mark.parametrize("name", FATES)
@pytest.mark.parametrize("delay_ms", [0, 3, 700])
def test_no_restart_on_any_line_keeps_the_host_out_of_sync(name: str, delay_ms: int) -> None:
    make = FATES[name]
    line = Line(FdpShoe(), ShoeSim(seed=7), make(1), make(2), delay_ms * MILLISECOND)
    line.open()
    random = Random(delay_ms)
    drawn: list[object] = []
    for _ in range(4):
        for _ in range(6):
            drawn.append(line.do("draw")["card"])
            line.run(random.choice((0.0, 0.002, 0.05, 0.4)))
        line.do("power-cycle")
    line.run(60)
    last = [line.do("draw")["card"] for _ in range(5)]
    line.run(60)
    told = [card.text for card in line.faces]
    assert told[-5:] == last
    assert [card for card in drawn if card in told] == told[:-5]
    assert unacknowledged(line.device) == 0
    synchrony = [type(emit.event) for emit in line.emitted if isinstance(emit.event, OutOfSync | InSync)]
    assert not synchrony or synchrony[-1] is InSync


# --- the devices themselves ------------------------------------------------------------------


def test_a_device_repeats_its_oldest_event_until_it_is_acknowledged() -> None:
    device = ShoeSim()
    device.opened(0)
    for _ in range(2):
        device.control({"do": "cut-card"}, 0)
    seen = [frame for t in range(0, 2100, 100) for frame in frames_sent(list(device.tick(t * MILLISECOND)))]
    assert [f for f in seen if isinstance(f, fdp.CutCard)] == [fdp.CutCard(1)] * 4
    assert len([f for f in seen if isinstance(f, fdp.Status)]) == 2
    device.received(fdp.encode(fdp.Ack(1), 0), 2100 * MILLISECOND)
    assert frames_sent(list(device.tick(2600 * MILLISECOND))) == [fdp.CutCard(2)]
    device.received(fdp.encode(fdp.Ack(9), 0), 2600 * MILLISECOND)  # never told, so it means nothing
    assert unacknowledged(device) == 1


def test_a_device_holds_256_events_and_sends_them_from_any_one() -> None:
    device = ShoeSim()
    device.opened(0)
    for _ in range(300):
        device.control({"do": "cut-card"}, 0)
    assert unacknowledged(device) == 256
    asked = frames_sent(list(device.received(fdp.encode(fdp.Nak(290), 0), 0)))
    assert asked == [fdp.CutCard(number) for number in range(290, 301)]
    every = frames_sent(list(device.received(fdp.encode(fdp.GetEvents(1), 0), 0)))
    assert every == [fdp.CutCard(number) for number in range(45, 301)]


def test_a_device_never_executes_an_id_twice() -> None:
    device = ShoeSim()
    wire = fdp.encode(fdp.Lock(4), 0)
    device.received(wire, 0)
    device.received(fdp.encode(fdp.Unlock(5), 1), 0)
    again = frames_sent(list(device.received(wire, 0)))
    assert again == [fdp.Result(4, fdp.Outcome.DONE, 0)]
    assert not device.locked
    assert device.executed == {4: 1, 5: 1}


def test_states_of_a_shoe_follow_its_latches() -> None:
    device = ShoeSim(deck=[parse_card("AS"), parse_card("KD")])
    states = [device.state_name()]
    for verb in ("draw", "draw", "load", "cover", "jam", "clear"):
        answer, _ = device.control({"do": verb}, 0)
        assert answer["ok"] is True
        states.append(device.state_name())
    assert states == ["ready", "ready", "empty", "ready", "cover_open", "fault", "cover_open"]
    device.control({"do": "cover", "open": False}, 0)
    device.received(fdp.encode(fdp.Lock(1), 0), 0)
    assert device.state_name() == "locked"
    assert device.control({"do": "draw"}, 0) == ({"error": "no card can be drawn: the shoe is locked"}, [])


@pytest.mark.parametrize("device", [ShoeSim(), ShufflerSim()], ids=["shoe", "shuffler"])
@pytest.mark.parametrize(
    "verb",
    [
        {},
        {"do": "dance"},
        {"do": 7},
        {"do": ["draw"]},
        {"do": "draw", "card": "1S"},
        {"do": "draw", "face_up": 1},
        {"do": "load", "deck": "AS"},
        {"do": "load", "deck": ["AS", 3]},
        {"do": "cover", "open": "yes"},
        {"do": "cover", "open": False},
        {"do": "jam", "code": 0},
        {"do": "jam", "code": True},
        {"do": "clear"},
        {"do": "take", "index": 3},
        {"do": "return", "count": 99},
    ],
)
def test_a_wrong_verb_answers_an_error(device: FdpDevice, verb: dict[str, object]) -> None:
    answer, sent = device.control(verb, 0)
    assert list(answer) == ["error"]
    assert sent == []


def test_a_loaded_deck_is_drawn_in_its_order() -> None:
    line = shoe_line()
    line.do("load", deck=["AS", "TH", "2C"])
    assert [line.do("draw")["card"] for _ in range(3)] == ["AS", "10H", "2C"]
    assert line.device.state_name() == "empty"


# --- damage ----------------------------------------------------------------------------------


def decoded(data: bytes) -> Iterator[fdp.Frame]:
    for body in Deframer().feed(data):
        if isinstance(body, bytes):
            try:
                yield fdp.decode(body)
            except fdp.BadFrame:
                continue


AFTER = fdp.CutCard(513)
FOLLOWING = fdp.encode(AFTER, 77)


def flips(wire: bytes, pairs: bool) -> Iterator[bytes]:
    masks = [1 << bit for bit in range(8)]
    if pairs:
        masks += [1 << high | 1 << low for high in range(8) for low in range(high)]
    for place in range(len(wire)):
        for mask in masks:
            yield wire[:place] + bytes([wire[place] ^ mask]) + wire[place + 1 :]


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
def test_no_flipped_bit_or_pair_is_accepted(vector: dict[str, str]) -> None:
    wire = bytes.fromhex(vector["wire"])
    original = next(decoded(wire))
    for spoilt in flips(wire, pairs=True):
        assert all(frame in (original, AFTER) for frame in decoded(FOLLOWING + spoilt + FOLLOWING))


def test_no_flipped_bit_of_any_card_is_accepted() -> None:
    for card in DECK:
        for event in (1, 255, 256, 4660):
            original = fdp.CardOut(event, FaceDownCard(card), face_up=bool(event % 2))
            for spoilt in flips(fdp.encode(original, event), pairs=False):
                assert all(frame in (original, AFTER) for frame in decoded(spoilt + FOLLOWING))


def test_a_zero_before_or_after_passes_the_crc_and_not_the_decoder() -> None:
    body = bytes.fromhex("01 10 01 00 01 38 00")
    wire = encode_frame(body)
    longer = b"\0" + wire[1:-1] + b"\x01\0"
    assert isinstance(Deframer().feed(longer)[0], bytes)
    assert list(decoded(longer)) == []
    shifted = b"\x01" + wire[1:]
    assert isinstance(Deframer().feed(shifted)[0], bytes)
    assert list(decoded(shifted)) == []


@pytest.mark.parametrize("ends", [FdpShoe, ShoeSim])
def test_noise_then_a_good_frame(ends: type[FdpShoe] | type[ShoeSim]) -> None:
    end = ends()
    end.opened(0)
    noise = Random(9).randbytes(100_000)
    for start in range(0, len(noise), 997):
        end.received(noise[start : start + 997], 0)
    assert sum(end.counters.drops.values()) > 300
    good = fdp.Hello(1, 0, fdp.Role.SHOE, "S", "F", bytes(8)) if ends is FdpShoe else fdp.GetHello()
    answer = frames_sent(list(end.received(fdp.encode(good, 0), 0)))
    assert [type(frame) for frame in answer] == [fdp.GetStatus if ends is FdpShoe else fdp.Hello]


def test_drops_tell_no_face() -> None:
    line = shoe_line(to_host=corrupted(1, 0.5))
    for _ in range(52):
        line.do("draw")
        line.run(0.05)
    line.run(30)
    faces = {card.text for card in DECK}
    assert line.drops
    for told in [*map(repr, line.drops), *map(repr, line.emitted), *line.driver.counters.drops]:
        assert not faces & set(told.replace("'", " ").replace(",", " ").split())
