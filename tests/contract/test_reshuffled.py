"""The ReShuffled driver and the simulated machine over a wire that splits, delays and loses bytes."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.links.base import Cause
from daemon.registry import protocol, simulator
from daemon.supervisor import LinkLife
from drivers.base import (
    MILLISECOND,
    SECOND,
    ClearDeviceFault,
    Command,
    CommandResult,
    Deal,
    Display,
    Driver,
    Drop,
    Emit,
    FaultCleared,
    FaultSet,
    Identified,
    InSync,
    LockShoe,
    Output,
    PacketOut,
    PacketTaken,
    Restarted,
    Send,
    Shuffle,
    ShuffleDone,
    ShuffleStarted,
    Silent,
    Simulator,
    StopDeal,
)
from drivers.protocol import Binding
from drivers.shuffler.reshuffled import (
    LONGEST,
    NOT_COUNTED,
    NOT_POSSIBLE,
    NOT_READY,
    OUTCOME_UNKNOWN,
    PROTOCOL,
    QUIET,
    SHUFFLE_LIMIT,
    LineReader,
    ReShuffled,
    checksum,
    error_code,
    frame,
    is_checksum,
)
from drivers.shuffler.sim_reshuffled import Life, ReShuffledSim

START = 1_000 * SECOND
HEALTH = {Identified: "identified", Silent: "silent", InSync: "in_sync"}


class Bench:
    """Driver, machine and the life of the link on one wire; time passes only in :meth:`run`."""

    def __init__(self, driver: ReShuffled | None = None, sim: ReShuffledSim | None = None) -> None:
        self.driver = driver or ReShuffled()
        self.sim = sim or ReShuffledSim()
        self.life = LinkLife("machine", "shuffler", None)
        self.now = START
        self.delay = MILLISECOND
        self.lost: Callable[[bytes], bool] = lambda data: False  # host bytes that do not arrive
        self.sent: list[tuple[int, bytes]] = []
        self.events: list[tuple[int, Emit]] = []
        self._wire: deque[tuple[int, Callable[[bytes, int], list], bytes]] = deque()  # type: ignore[type-arg]

    def run(self, seconds: float) -> None:
        end = self.now + int(seconds * SECOND)
        while self.now < end:
            due = [self.driver.deadline, self.sim.deadline, self.life.deadline, end]
            due += [self._wire[0][0]] if self._wire else []
            self.now = max(self.now, min(at for at in due if at is not None))
            self._step()

    def command(self, command: Command) -> None:
        self._take(self.driver.command(command, self.now))

    def lose_link(self) -> None:
        self._take(self.driver.closed(self.now))
        self.life.lost(Cause.LOST, "", self.now)
        self._wire.clear()

    def do(self, verb: str, **args: object) -> dict[str, object]:
        answer, sends = self.sim.control({"do": verb, **args}, self.now)
        self._reply(sends)
        assert "error" not in answer, answer
        return answer

    def said(self, *kinds: type) -> list[object]:
        return [emit.event for _, emit in self.events if isinstance(emit.event, kinds)]

    def requests(self) -> list[bytes]:
        return [data[1:].partition(b"#")[0] for _, data in self.sent]

    def _step(self) -> None:
        while self._wire and self._wire[0][0] <= self.now:
            _, receive, data = self._wire.popleft()
            outputs = receive(data, self.now)
            if receive == self.sim.received:
                self._reply(outputs)
            else:
                self.life.heard(self.now)
                self._take(outputs)
        if self.sim.deadline is not None and self.sim.deadline <= self.now:
            self._reply(self.sim.tick(self.now))
        if self.driver.deadline is not None and self.driver.deadline <= self.now:
            self._take(self.driver.tick(self.now))
        self._live()

    def _live(self) -> None:
        if self.life.due(self.now):
            self.life.opening(self.now)
            self.life.opened(self.now)
            self._take(self.driver.opened(self.now))
            return
        wanted = self.life.wants_link
        self.life.tick(self.now)
        if wanted and not self.life.wants_link:
            self._take(self.driver.closed(self.now))

    def _take(self, outputs: list[Output]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self.sent.append((self.now, output.data))
                if not self.lost(output.data):
                    self._wire.append((self.now + self.delay, self.sim.received, output.data))
            elif isinstance(output, Emit):
                self.events.append((self.now, output))
                self._health(output)

    def _health(self, output: Emit) -> None:
        match output.event:
            case Identified() as who:
                self.life.identified(who, self.now)
            case Silent():
                self.life.silent(self.now)
            case InSync():
                self.life.in_sync(self.now)

    def _reply(self, sends: list[Send]) -> None:
        for send in sends:
            self._wire.append((self.now + self.delay, self.driver.received, send.data))


def ready(bench: Bench | None = None) -> Bench:
    bench = bench or Bench()
    bench.run(3)
    assert bench.life.ready
    bench.events.clear()
    bench.sent.clear()
    return bench


# --- frames ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "wire"),
    [
        # check value of CRC-32 over "123456789", then the requests and an answer
        ("123456789", b":123456789#CBF43926;\n"),
        ("IN", b":IN#F1068A24;\n"),
        ("SH", b":SH#A848D5CA;\n"),
        ("D5", b":D5#837F5CDD;\n"),
        ("XX", b":XX#560B1C65;\n"),
        ("OK", b":OK#D736D92D;\n"),
    ],
)
def test_a_frame_is_data_and_its_crc_in_eight_upper_case_digits(data: str, wire: bytes) -> None:
    assert frame(data) == wire
    assert LineReader().feed(wire) == [data]


def test_a_frame_may_go_without_semicolon_and_both_are_read() -> None:
    assert frame("IN", semicolon=False) == frame("IN")[:-2] + b"\n"
    assert LineReader().feed(frame("OK", semicolon=False) + frame("E1")) == ["OK", "E1"]


def test_the_crc_may_cover_the_separator_and_have_small_digits_and_nothing_else() -> None:
    assert is_checksum(checksum(b"OK#"), b"OK")
    assert is_checksum(checksum(b"OK").lower(), b"OK")
    for wrong in (b"", b"0", checksum(b"KO"), checksum(b"OK")[:7], checksum(b"OK") + b"0"):
        assert not is_checksum(wrong, b"OK")


def test_the_code_of_an_error_is_hexadecimal() -> None:
    assert [error_code(text) for text in ("E1", "E0A", "EFFFF", "E10000", "E", "EX", "OK", "")] == [
        1, 10, 0xFFFF, None, None, None, None, None,
    ]  # fmt: skip


def test_b01_every_split_gives_the_same_frames() -> None:
    stream = b"??" + frame("OK") + frame("E3")[:-4] + frame("OK") + b":OK#00000000;\n" + frame("E1")
    whole = LineReader().feed(stream)
    assert whole == [Drop("noise"), "OK", Drop("cut short"), "OK", Drop("checksum"), "E1"]
    for at in range(len(stream)):
        reader = LineReader()
        assert reader.feed(stream[:at]) + reader.feed(stream[at:]) == whole


@settings(max_examples=80, deadline=None)
@given(st.lists(st.binary(max_size=200) | st.sampled_from([b":", b"#", frame("OK")[:9]]), max_size=8))
def test_b04_after_any_noise_the_next_frame_is_read_and_memory_is_bounded(chunks: list[bytes]) -> None:
    reader = LineReader()
    for chunk in chunks:
        reader.feed(chunk)
        assert len(reader._held or b"") <= LONGEST
    assert reader.feed(frame("OK"))[-1] == "OK"


def test_a_frame_without_end_is_given_up() -> None:
    reader = LineReader()
    assert reader.feed(b":" + b"A" * 500) == [Drop("too long")]
    assert not reader.clear()
    assert reader.feed(b":OK") == []
    assert reader.clear()
    assert reader.feed(frame("OK")) == ["OK"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=80) | st.sampled_from([frame("OK"), frame("E2")]), max_size=12))
def test_b04_driver_and_machine_survive_any_bytes(chunks: list[bytes]) -> None:
    driver, sim = ReShuffled(), ReShuffledSim()
    driver.opened(START)
    for step, chunk in enumerate(chunks):
        now = START + step * SECOND
        driver.received(chunk, now)
        driver.tick(now)
        driver.command(Shuffle(step + 1), now)
        sim.received(chunk, now)
    assert len(sim._pending) <= 4


# --- the life of the link -------------------------------------------------------------------


def test_the_registry_knows_the_protocol_and_its_machine() -> None:
    found = protocol("shuffler", "reshuffled")
    driver: Driver = found.driver(Binding(options=found.options))
    sim: Simulator = simulator(found)(seed=3)
    assert (found is PROTOCOL, driver.deadline, sim.deadline) == (True, None, None)
    assert found.proves_delivery


def test_opening_initialises_once_and_believes_after_a_quiet_time() -> None:
    bench = Bench()
    bench.run(1.5)
    assert not bench.life.ready
    bench.run(1)
    assert bench.life.ready
    assert (bench.requests(), bench.sim.requests) == ([b"IN"], {"IN": 1})
    assert bench.said(Identified, Restarted) == [Identified("shuffler", boot=1)]
    bench.run(600)
    assert (len(bench.sent), bench.life.ready) == (1, True)  # nothing is polled


def test_c10_a_link_that_was_lost_is_a_restart_and_the_shuffle_is_not_given_again() -> None:
    bench = ready()
    bench.command(Shuffle(7))
    bench.run(0.1)
    bench.lose_link()  # the motors knocked it off the bus
    bench.run(10)
    assert bench.life.ready
    assert bench.sim.requests == {"IN": 2, "SH": 1}
    told = bench.said(Identified, Restarted, ShuffleDone, CommandResult)
    assert told == [
        CommandResult(7, "accepted"),
        Identified("shuffler", boot=2),
        Restarted(),
        CommandResult(7, "refused", OUTCOME_UNKNOWN),
    ]


def test_a_resumed_command_is_never_given_again() -> None:
    bench = Bench(ReShuffled((4, 17)))
    assert bench.driver.resume(Deal(9, 3, 5), bench.now) == []
    bench.run(4)
    assert bench.said(Identified, Restarted, CommandResult) == [
        Identified("shuffler", boot=5),
        Restarted(),
        CommandResult(9, "refused", OUTCOME_UNKNOWN),
    ]
    assert bench.requests() == [b"IN"]


def test_a_machine_without_power_is_silent_and_found_when_it_comes() -> None:
    bench = Bench()
    bench.sim._fire("power_off")
    bench.run(60)
    assert not bench.life.ready
    assert len(bench.sent) <= 60 / 5
    bench.sim._fire("power_on")
    bench.sim._due = bench.now
    bench.run(15)
    assert bench.life.ready


def test_nothing_is_sent_to_a_machine_that_is_not_known() -> None:
    bench = Bench()
    for command in (Shuffle(1), Deal(2, 3, 5), ClearDeviceFault(3)):
        bench.command(command)
        assert bench.said(CommandResult)[-1] == CommandResult(command.command_id, "refused", NOT_READY)
    assert bench.driver.received(frame("OK"), bench.now) == [Drop("bytes on a closed link")]
    assert bench.sent == []


# --- shuffle and deal -----------------------------------------------------------------------


def test_a_shuffle_is_started_when_asked_and_done_when_answered_and_counts_nothing() -> None:
    bench = ready()
    before = list(bench.sim.cards)
    bench.command(Shuffle(1))
    bench.run(0.5)
    assert bench.said(ShuffleStarted, ShuffleDone) == [ShuffleStarted(1)]
    bench.run(1)
    assert bench.said(ShuffleStarted, ShuffleDone) == [ShuffleStarted(1), ShuffleDone(1, NOT_COUNTED)]
    assert bench.said(CommandResult) == [CommandResult(1, "accepted"), CommandResult(1, "done")]
    assert sorted(before, key=str) == sorted(bench.sim.cards, key=str)
    assert before != bench.sim.cards


def test_a_machine_that_answers_when_it_begins_is_given_the_time_of_a_shuffle() -> None:
    bench = ready(Bench(ReShuffled(shuffle=5 * SECOND), ReShuffledSim(at_once=True)))
    bench.command(Shuffle(1))
    bench.run(4)
    assert bench.said(ShuffleDone) == []
    bench.run(2)
    assert bench.said(ShuffleDone) == [ShuffleDone(1, NOT_COUNTED)]


def test_packets_come_one_at_a_time_and_each_has_its_time_to_be_taken() -> None:
    bench = ready()
    bench.command(Deal(2, 3, 5))
    for index in range(3):
        bench.run(0.2)
        assert bench.said(PacketOut)[-1] == PacketOut(index, 5)
        assert bench.do("take")["cards"]
        assert bench.sim.tray == []
        bench.run(4)
    assert bench.said(PacketOut, PacketTaken) == [
        event for index in range(3) for event in (PacketOut(index, 5), PacketTaken(index))
    ]
    assert bench.said(CommandResult) == [CommandResult(2, "accepted"), CommandResult(2, "done")]
    assert (bench.requests(), len(bench.sim.away)) == ([b"D5"] * 3, 15)


def test_events_are_numbered_without_a_hole_and_results_are_not() -> None:
    bench = ready()
    bench.command(Shuffle(1))
    bench.run(2)
    bench.command(Deal(2, 2, 5))
    bench.run(20)
    numbered = [(emit.boot, emit.ordinal) for _, emit in bench.events if emit.ordinal]
    assert numbered == [(1, number) for number in range(1, 7)]
    assert all(not e.ordinal for _, e in bench.events if isinstance(e.event, CommandResult))


def test_one_request_is_in_flight_whatever_is_ordered() -> None:
    bench = ready()
    bench.command(Shuffle(1))
    for command in (Shuffle(2), Deal(3, 1, 5), ClearDeviceFault(4), StopDeal(5)):
        bench.command(command)
        assert bench.said(CommandResult)[-1] == CommandResult(command.command_id, "busy")
    bench.run(2)
    assert bench.requests() == [b"SH"]


def test_a_stopped_deal_tells_the_packet_that_is_on_its_way_and_asks_for_no_other() -> None:
    bench = ready()
    bench.command(Deal(1, 4, 5))
    bench.command(StopDeal(2))
    bench.run(20)
    assert bench.said(PacketOut, PacketTaken) == [PacketOut(0, 5), PacketTaken(0)]
    assert bench.said(CommandResult)[1:] == [CommandResult(2, "done"), CommandResult(1, "refused")]
    assert bench.requests() == [b"D5"]
    bench.command(StopDeal(3))
    assert bench.said(CommandResult)[-1] == CommandResult(3, "done")


@pytest.mark.parametrize(("packets", "each"), [(0, 5), (1, 0), (1, 10), (-1, 5)])
def test_packets_that_there_are_not_are_refused(packets: int, each: int) -> None:
    bench = ready()
    bench.command(Deal(1, packets, each))
    assert bench.said(CommandResult) == [CommandResult(1, "refused", NOT_POSSIBLE)]
    assert bench.sent == []


def test_commands_of_other_devices_are_not_for_it() -> None:
    driver = ReShuffled()
    assert driver.command(Display("$1"), START) == [Drop("command for another device")]
    assert driver.resume(Display("$1"), START) == [Drop("command for another device")]
    assert driver.command(LockShoe(1), START) == [Emit(CommandResult(1, "refused"))]
    assert (driver.committed(START), driver.tick(START)) == ([], [])


def test_times_are_not_negative() -> None:
    for times in ({"take": -1}, {"shuffle": -1}):
        with pytest.raises(ValueError, match="from 0"):
            ReShuffled(**times)


# --- what goes wrong ------------------------------------------------------------------------


def test_an_error_is_a_fault_until_something_goes_well_again() -> None:
    bench = ready(Bench(sim=ReShuffledSim(deck=[])))
    bench.command(Shuffle(1))
    bench.run(1)
    assert bench.said(FaultSet) == [FaultSet(2, "the machine answered E2")]
    assert bench.said(CommandResult)[-1] == CommandResult(1, "refused", 2)
    bench.do("load")
    bench.command(Shuffle(2))
    bench.run(2)
    assert bench.said(FaultCleared, ShuffleDone) == [FaultCleared(2), ShuffleDone(2, NOT_COUNTED)]
    bench.command(Shuffle(3))
    bench.run(2)
    assert bench.said(FaultCleared) == [FaultCleared(2)]


def test_a_jam_in_a_deal_ends_it() -> None:
    bench = ready(Bench(sim=ReShuffledSim(card_time_ms=500)))
    bench.command(Deal(1, 3, 5))
    bench.run(1)
    bench.do("jam")
    bench.run(1)
    assert bench.said(FaultSet, PacketOut) == [FaultSet(3, "the machine answered E3")]
    bench.command(ClearDeviceFault(2))
    bench.run(3)
    assert bench.said(FaultSet, CommandResult)[-2:] == [
        FaultSet(3, "the machine answered E3"),
        CommandResult(2, "refused", 3),
    ]
    bench.do("clear")
    bench.command(ClearDeviceFault(3))
    bench.run(3)
    assert bench.said(Restarted, CommandResult)[-2:] == [Restarted(), CommandResult(3, "done")]


def test_a08_a_request_without_answer_is_unknown_and_never_repeated() -> None:
    bench = ready()
    bench.do("lose-answers", count=1)
    bench.command(Shuffle(1))
    bench.run(SHUFFLE_LIMIT / SECOND + 1)
    unknown = FaultSet(OUTCOME_UNKNOWN, "a request was not answered: what the machine did is unknown")
    assert bench.said(FaultSet, CommandResult, Silent) == [
        CommandResult(1, "accepted"),
        unknown,
        CommandResult(1, "refused", OUTCOME_UNKNOWN),
        Silent(),
    ]
    assert not bench.life.ready
    bench.run(5)
    assert bench.life.ready
    assert bench.said(Restarted, InSync) == [Restarted(), InSync()]
    assert bench.sim.requests == {"IN": 2, "SH": 1}


def test_a08_a_request_that_was_lost_on_the_way_is_not_given_again_either() -> None:
    bench = ready()
    bench.lost = lambda data: b"SH" in data
    bench.command(Shuffle(1))
    bench.run(SHUFFLE_LIMIT / SECOND + 10)
    assert bench.requests() == [b"SH", b"IN"]
    assert bench.life.ready


def test_b11_a_late_answer_is_not_that_of_the_next_request() -> None:
    shuffle = SHUFFLE_LIMIT // MILLISECOND + 1_500
    bench = ready(Bench(sim=ReShuffledSim(shuffle_time_ms=shuffle)))
    bench.command(Shuffle(1))
    bench.run(SHUFFLE_LIMIT / SECOND + 2.5)  # the answer to SH comes after IN was sent
    assert bench.sim.requests == {"IN": 2, "SH": 1}
    assert not bench.life.ready  # the answer of SH alone is not believed
    bench.run(3)
    assert bench.life.ready
    assert bench.said(ShuffleDone) == []
    bench.command(Deal(2, 1, 5))
    bench.run(1)
    assert bench.said(PacketOut) == [PacketOut(0, 5)]
    assert bench.sim.tray


@pytest.mark.parametrize("late", [0, 1, 3, 7, 20])
def test_b11_however_late_the_machine_is_nothing_is_taken_for_something_else(late: int) -> None:
    """A machine that is ``late`` seconds later than the limit, several requests of INIT waiting in it."""
    bench = ready(Bench(sim=ReShuffledSim(shuffle_time_ms=SHUFFLE_LIMIT // MILLISECOND + late * 1000 + 5)))
    bench.command(Shuffle(1))
    bench.run(SHUFFLE_LIMIT / SECOND + late + 20)
    assert bench.life.ready
    assert bench.said(ShuffleDone) == []
    assert bench.sim.requests["SH"] == 1
    bench.sim._shuffle_time = 3 * SECOND
    asked = bench.now
    bench.command(Shuffle(2))
    bench.run(10)
    done = [at for at, emit in bench.events if isinstance(emit.event, ShuffleDone)]
    assert len(done) == 1
    assert done[0] - asked >= 3 * SECOND


def test_an_answer_nobody_waits_for_is_counted() -> None:
    bench = ready()
    assert bench.driver.received(frame("OK") + frame("NO"), bench.now) == [
        Drop("answer nobody waits for"),
        Drop("not an answer"),
    ]
    assert bench.driver.counters.drops["answer nobody waits for"] == 1


def test_an_init_that_is_not_answered_is_a_silence_told_once() -> None:
    bench = ready()
    bench.lost = lambda data: True
    bench.command(ClearDeviceFault(1))
    bench.run(4)
    assert bench.said(Silent) == [Silent()]
    bench.lost = lambda data: False
    bench.run(20)
    assert bench.life.ready
    assert bench.said(CommandResult) == [CommandResult(1, "refused", OUTCOME_UNKNOWN)]


@pytest.mark.parametrize("seed", range(3))
def test_lost_answers_never_double_a_request(seed: int) -> None:
    """The machine carries out no more than was ordered, whatever is lost (oracle of A08 and C10)."""
    chance = random.Random(seed)
    bench = ready()
    bench.lost = lambda data: chance.random() < 0.2
    shuffles = packets = 0
    for number in range(1, 30):
        if chance.random() < 0.5:
            bench.command(Shuffle(number))
            shuffles += bench.said(CommandResult)[-1] == CommandResult(number, "accepted")
        else:
            bench.command(Deal(number, 1, 5))
            packets += bench.said(CommandResult)[-1] == CommandResult(number, "accepted")
        bench.do("lose-answers", count=int(chance.random() < 0.2))
        bench.run(SHUFFLE_LIMIT / SECOND + 20)
        if bench.sim.tray:
            bench.do("take")
            bench.do("return")
        assert bench.sim.requests["SH"] <= shuffles
        assert bench.sim.requests["D"] <= packets
    assert shuffles + packets > 15


# --- the simulated machine ------------------------------------------------------------------

LIVES = {
    Life.STARTED: {"IN": "OK", "SH": "E1", "D5": "E1", "XX": "OK", "QQ": "E4"},
    Life.READY: {"IN": "OK", "SH": "OK", "D5": "OK", "A5": "OK", "XX": "OK", "D": "E4"},
    Life.JAMMED: {"IN": "E3", "SH": "E3", "D5": "E3", "XX": "OK"},
}


@pytest.mark.parametrize(
    ("life", "request_", "answer"),
    [(life, request, answer) for life, row in LIVES.items() for request, answer in row.items()],
)
def test_every_request_in_every_life_has_its_answer(life: Life, request_: str, answer: str) -> None:
    sim = ReShuffledSim()
    if life is not Life.STARTED:
        sim.received(frame("IN"), START)
    if life is Life.JAMMED:
        sim.control({"do": "jam"}, START)
    assert sim.life is life
    sends = sim.received(frame(request_), START) or sim.tick(START + 10 * SECOND)
    assert [send.data for send in sends] == [frame(answer)]


def test_packets_that_are_not_taken_lie_on_each_other() -> None:
    sim = ReShuffledSim()
    for request in ("IN", "D5", "D5"):
        sim.received(frame(request), START)
    sim.tick(START + SECOND)
    sim.tick(START + 2 * SECOND)
    assert sim.control({"do": "state"}, START + 2 * SECOND)[0]["tray"] == 10


def test_a_power_cycle_forgets_what_was_asked_and_wants_to_be_initialised() -> None:
    sim = ReShuffledSim()
    sim.received(frame("IN") + frame("SH") + frame("D5"), START)
    sim.control({"do": "power-cycle"}, START)
    assert sim.received(frame("IN"), START + MILLISECOND) == []
    sim.tick(START + SECOND)
    assert [send.data for send in sim.received(frame("SH"), START + SECOND)] == [frame("E1")]


def test_the_machine_refuses_verbs_it_cannot_do() -> None:
    sim = ReShuffledSim()
    verbs: list[dict[str, object]] = [{"do": "dance"}, {}, {"do": "take"}, {"do": "return"}, {"do": "clear"}]
    verbs += [{"do": "jam"}, {"do": "load", "deck": 3}, {"do": "lose-answers", "count": -1}]
    for verb in verbs:
        assert "error" in sim.control(verb, START)[0]


def test_the_quiet_time_fits_in_the_time_of_identification() -> None:
    assert 2 * QUIET < 5 * SECOND
