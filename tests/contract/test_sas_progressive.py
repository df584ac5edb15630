"""The SAS progressive broadcast: published vectors, the driver, the simulated sign, and the wake-up bit."""

from __future__ import annotations

import asyncio
import os
import random
import struct
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.games.money import money
from daemon.links import serial as serial_module
from daemon.links import wakeup
from daemon.links.base import Cause
from daemon.links.serial import SerialLink
from daemon.links.wakeup import CMSPAR, WakeUpBit
from daemon.registry import protocol, simulator
from drivers.base import (
    MILLISECOND,
    SECOND,
    Display,
    Driver,
    Drop,
    Emit,
    Identified,
    LockShoe,
    Output,
    Send,
    SignDiffers,
    SignShows,
    Simulator,
)
from drivers.protocol import Binding
from drivers.sign.sas_frames import (
    CONTRIBUTION,
    LONGEST,
    MOST,
    MULTI,
    SINGLE,
    BadFrame,
    Broadcast,
    BroadcastReader,
    Level,
    bcd,
    checksum,
    decode,
    from_bcd,
)
from drivers.sign.sas_progressive import PROTOCOL, SasProgressive, amount_of
from drivers.sign.sim_sas_progressive import Life, SasProgressiveSim

START = 1_000 * SECOND
EIGHT = (Level(1, 8), Level(2, 8), Level(3, 8))
VECTORS = {
    "single": (Broadcast(SINGLE, 1, (Level(1, 1_234_567),)), "00 80 01 01 00 01 23 45 67 9F 8F"),
    "eight cents": (Broadcast(SINGLE, 1, (Level(1, 8),)), "00 80 01 01 00 00 00 00 08 54 DC"),
    "three levels": (
        Broadcast(MULTI, 1, EIGHT),
        "00 86 13 01 01 00 00 00 00 08 02 00 00 00 00 08 03 00 00 00 00 08 31 32",
    ),
    "base and contribution": (
        Broadcast(CONTRIBUTION, 1, (Level(1, 1_234_567, 1_000_000, 10_000),)),
        "00 7A 0F 01 01 00 01 23 45 67 00 01 00 00 00 01 00 00 9B 27",
    ),
}


class Bench:
    """Driver and sign on one line; time passes only in :meth:`run`."""

    def __init__(self, driver: SasProgressive | None = None) -> None:
        self.driver = driver or SasProgressive()
        self.sim = SasProgressiveSim()
        self.now = START
        self.spoil: Callable[[bytes], bytes] = lambda data: data
        self.sent: list[tuple[int, Send]] = []
        self.events: list[object] = []

    def take(self, outputs: list[Output]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self.sent.append((self.now, output))
                self.sim.received(self.spoil(output.data), self.now)
            elif isinstance(output, Emit):
                self.events.append(output.event)

    def open(self) -> None:
        self.take(self.driver.opened(self.now))

    def show(self, meter: str, announcement: str = "", pages: tuple[str, ...] = ()) -> None:
        self.take(self.driver.command(Display(meter, announcement, pages), self.now))

    def run(self, seconds: float, step: Callable[[], None] | None = None, every: int = SECOND) -> None:
        end, next_step = self.now + int(seconds * SECOND), self.now
        while self.now < end:
            if step is not None and self.now >= next_step:
                step()
                next_step += every
            due = [self.driver.deadline, self.sim.deadline, end, next_step if step else None]
            self.now = max(self.now, min(at for at in due if at is not None))
            self.sim.tick(self.now)
            if self.driver.deadline is not None and self.driver.deadline <= self.now:
                self.take(self.driver.tick(self.now))

    def state(self) -> dict[str, object]:
        return self.sim.control({"do": "state"}, self.now)[0]


def started(meter: str = "$12,345.67") -> Bench:
    bench = Bench()
    bench.open()
    bench.show(meter)
    return bench


# --- frames ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("broadcast", "wire"), VECTORS.values(), ids=list(VECTORS))
def test_every_vector_byte_for_byte(broadcast: Broadcast, wire: str) -> None:
    assert broadcast.encode() == bytes.fromhex(wire)
    assert decode(bytes.fromhex(wire)) == broadcast


@pytest.mark.parametrize("wire", ["01 01 51 08", "01 02 CA 3A"])
def test_the_crc_agrees_with_other_messages_of_the_same_family(wire: str) -> None:
    whole = bytes.fromhex(wire)
    assert checksum(whole[:-2]) == whole[-2:]


@pytest.mark.parametrize(
    "broadcast",
    [
        Broadcast(SINGLE, 1, EIGHT),
        Broadcast(MULTI, 1, ()),
        Broadcast(0x85, 1, EIGHT),
        Broadcast(SINGLE, 0, EIGHT[:1]),
        Broadcast(SINGLE, 256, EIGHT[:1]),
        Broadcast(SINGLE, 1, (Level(0, 8),)),
        Broadcast(SINGLE, 1, (Level(1, -1),)),
        Broadcast(SINGLE, 1, (Level(1, MOST + 1),)),
        Broadcast(CONTRIBUTION, 1, (Level(1, 1, 1, 1_000_000),)),
        Broadcast(MULTI, 1, EIGHT * 20),
    ],
)
def test_a_broadcast_that_there_is_not_is_refused(broadcast: Broadcast) -> None:
    with pytest.raises(ValueError, match=r"is 1 to 255|does not fit|no broadcast"):
        broadcast.encode()


def test_bcd_is_two_digits_a_byte_and_nothing_over_9() -> None:
    assert (bcd(MOST, 5), from_bcd(b"\x01\x23")) == (b"\x99" * 5, 123)
    with pytest.raises(BadFrame, match="over 9"):
        from_bcd(b"\x1a")


@pytest.mark.parametrize(
    "frame",
    [b"", b"\x00\x80", bytes.fromhex("01 80 01 01 00 01 23 45 67 9F 8F"), bytes.fromhex("00 86 14 01 01")],
)
def test_what_is_no_frame_is_a_bad_frame(frame: bytes) -> None:
    with pytest.raises(BadFrame):
        decode(frame)


def test_b01_every_split_gives_the_same_broadcasts() -> None:
    stream = b"\xff\x80\x00" + b"".join(bytes.fromhex(wire) for _, wire in VECTORS.values())
    whole = BroadcastReader().feed(stream)
    assert [item for item in whole if isinstance(item, Broadcast)] == [b for b, _ in VECTORS.values()]
    for at in range(len(stream)):
        reader = BroadcastReader()
        assert reader.feed(stream[:at]) + reader.feed(stream[at:]) == whole


def test_a_false_start_costs_itself_and_not_the_broadcast_behind_it() -> None:
    wanted, wire = VECTORS["single"]
    found = BroadcastReader().feed(bytes.fromhex("00 80 01") + bytes.fromhex(wire))
    assert isinstance(found[0], BadFrame)
    assert found[1:] == [wanted]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.binary(max_size=300) | st.sampled_from([b"\x00\x80\x01", b"\x00\x86\xfd"]), max_size=8))
def test_b04_after_any_noise_broadcasts_are_read_again_and_memory_is_bounded(chunks: list[bytes]) -> None:
    reader = BroadcastReader()
    for chunk in chunks:
        reader.feed(chunk)
        assert len(reader._held) < LONGEST
    wanted, wire = VECTORS["single"]
    found = reader.feed(bytes.fromhex(wire) * (LONGEST // 11 + 2))
    assert found[-1] == wanted


# --- the driver -----------------------------------------------------------------------------


def test_the_registry_knows_the_protocol_and_its_sign() -> None:
    found = protocol("sign", "sas_progressive")
    driver: Driver = found.driver(Binding(options=found.options))
    sim: Simulator = simulator(found)()
    assert (found is PROTOCOL, driver.deadline, sim.deadline) == (True, None, None)
    assert not found.proves_delivery
    assert str(found.line) == "19200 8S1"


def test_an_amount_goes_out_at_once_and_every_second() -> None:
    bench = started()
    assert bench.sent == [(START, Send(bytes.fromhex(VECTORS["single"][1]), wake=1))]
    bench.run(10.5)
    assert [at - START for at, _ in bench.sent] == [second * SECOND for second in range(11)]
    state = bench.state()
    assert (state["text"], state["amount"], state["errors"]) == ("$12,345.67", 1_234_567, 0)


def test_it_is_ready_when_open_and_never_says_what_is_shown() -> None:
    bench = started()
    bench.run(30)
    assert bench.events == [Identified(role="sign")]
    assert not any(isinstance(event, SignShows) for event in bench.events)


@pytest.mark.parametrize("message", ["80", "86", "7A"])
def test_every_message_shows_the_amount(message: str) -> None:
    bench = Bench(SasProgressive(message=message, base=1_000_000, contribution=10_000, plain=True))
    bench.open()
    bench.show("$99,999,999.99")
    assert (bench.state()["amount"], bench.sent[0][1].wake) == (MOST, 0)
    assert decode(bench.sent[0][1].data).command == int(message, 16)


@pytest.mark.parametrize(
    ("meter", "amount"),
    [
        ("$12,345.67", 1_234_567),
        ("HK$0.08", 8),
        ("1.00", 100),
        ("$ 1234.50", 123_450),
        ("€1,000.00", 100_000),
    ],
)
def test_a_meter_is_read_exactly(meter: str, amount: int) -> None:
    assert amount_of(meter) == amount


@given(st.integers(0, MOST), st.sampled_from(["$", "HK$", "MOP ", ""]))
def test_every_amount_the_table_prints_is_read_back(amount: int, currency: str) -> None:
    assert amount_of(money(amount, currency)) == amount


@pytest.mark.parametrize(
    "meter",
    ["JACKPOT", "$12,345", "-$1.00", "$-1.00", "$1.0", "$1.000", "$12,34.00", "$1.00 A", "$1 $2.00", "٣.00"],
)
def test_a_text_that_is_no_amount_ends_the_broadcast_and_the_sign_goes_dark(meter: str) -> None:
    bench = started()
    bench.show(meter)
    assert bench.events[1:] == [SignDiffers(f"the sign shows an amount only, not {meter!r}")]
    bench.run(6)
    assert (bench.state()["text"], bench.state()["amount"], len(bench.sent)) == ("--", None, 1)
    bench.show("$12,345.67")
    assert bench.state()["amount"] == 1_234_567


def test_an_amount_with_too_many_digits_is_not_shown_cut() -> None:
    bench = started()
    bench.show("$100,000,000.00")
    assert bench.events[1:] == [SignDiffers("10000000000 does not fit in 10 digits")]
    bench.run(6)
    assert bench.state()["text"] == "--"


def test_announcements_and_pages_are_told_once() -> None:
    bench = started()
    for number in range(3):
        bench.show(f"${number}.00", "WINNER", ("FLUSH $50.00",))
    assert bench.events[1:] == [SignDiffers("this sign shows the amount alone: no announcement and no pages")]
    bench.run(1)
    assert bench.state()["amount"] == 200


def test_before_the_first_amount_nothing_is_sent() -> None:
    bench = Bench()
    bench.open()
    bench.show("")
    bench.run(3)
    assert (bench.sent, bench.driver.deadline) == ([], None)
    assert bench.events == [Identified(role="sign")]


def test_j13_fifty_updates_a_second_are_paced_and_the_last_one_shows() -> None:
    bench, amount = started(), 1_000

    def update() -> None:
        nonlocal amount
        amount += 1
        bench.show(money(amount, "$"))

    bench.run(120, update, 20 * MILLISECOND)
    assert amount == 7_000
    assert len(bench.sent) <= 120 * 5 + 2
    bench.run(0.3)
    assert bench.state()["amount"] == amount
    amounts = bench.sim.control({"do": "history"}, bench.now)[0]["amounts"]
    assert isinstance(amounts, list)
    assert amounts[1:] == sorted(amounts[1:])  # J09: it never falls


def test_j12_a_broadcast_that_was_hit_is_ignored_and_the_next_one_shows() -> None:
    bench, chance = started(), random.Random(5)

    def hit(data: bytes) -> bytes:
        at = chance.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]

    bench.show("$500.00")
    bench.run(0.5)
    bench.spoil = hit
    bench.show("$501.00")
    bench.run(4)
    assert bench.state()["amount"] == 50_000
    bench.spoil = lambda data: data
    bench.run(3)
    assert bench.state()["amount"] == 50_100


def test_j16_a_power_cycled_sign_shows_the_amount_again() -> None:
    bench = started()
    bench.run(3)
    bench.sim.control({"do": "power-cycle"}, bench.now)
    assert bench.state()["text"] == ""
    bench.run(3)
    assert bench.state()["amount"] == 1_234_567


def test_a_lost_link_makes_the_sign_dark_and_a_new_one_shows_the_latest() -> None:
    bench = started()
    bench.run(2)
    bench.take(bench.driver.closed(bench.now))
    bench.show("$13.00")
    bench.run(5.1)
    assert bench.state()["text"] == "--"
    bench.open()
    assert bench.state()["amount"] == 1_300


def test_only_displays_are_taken_and_nothing_comes_back() -> None:
    driver = SasProgressive()
    assert driver.command(LockShoe(1), START) == [Drop("not a command for a sign")]
    assert driver.received(b"\x01", START) == [Drop("bytes on a line without a way back")]
    assert driver.resume(Display("$1.00"), START) == []
    assert (driver.committed(START), driver.tick(START), driver.closed(START)) == ([], [], [])


@pytest.mark.parametrize(
    "options",
    [
        {"message": "81"},
        {"group": 0},
        {"level": 256},
        {"message": "7A", "base": -1},
        {"message": "7A", "contribution": 1_000_000},
    ],
)
def test_impossible_options_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"message is one of|is 1 to 255|does not fit"):
        SasProgressive(**options)  # type: ignore[arg-type]


# --- the simulated sign ---------------------------------------------------------------------


def test_the_sign_goes_dark_after_five_seconds_and_not_before() -> None:
    sim = SasProgressiveSim()
    sim.received(bytes.fromhex(VECTORS["single"][1]), START)
    assert sim.control({"do": "state"}, START + 5 * SECOND - 1)[0]["amount"] == 1_234_567
    assert sim.control({"do": "state"}, START + 5 * SECOND)[0]["text"] == "--"


@pytest.mark.parametrize("broadcast", [Broadcast(SINGLE, 2, EIGHT[:1]), Broadcast(MULTI, 1, EIGHT[1:])])
def test_the_sign_takes_only_its_own_group_and_level(broadcast: Broadcast) -> None:
    sim = SasProgressiveSim()
    sim.received(broadcast.encode(), START)
    state = sim.control({"do": "state"}, START)[0]
    assert (state["text"], state["broadcasts"]) == ("--", 1)


LIVES = {
    ("power-cycle", Life.OFF): Life.BOOTING,
    ("power-cycle", Life.BOOTING): Life.BOOTING,
    ("power-cycle", Life.SHOWING): Life.BOOTING,
    ("power-off", Life.OFF): None,
    ("power-off", Life.BOOTING): Life.OFF,
    ("power-off", Life.DARK): Life.OFF,
    ("power-on", Life.OFF): Life.BOOTING,
    ("power-on", Life.BOOTING): None,
    ("power-on", Life.SHOWING): None,
    ("dance", Life.DARK): None,
}


@pytest.mark.parametrize(("case", "outcome"), LIVES.items(), ids=lambda value: str(value))
def test_every_verb_in_every_life_has_its_outcome(case: tuple[str, Life], outcome: Life | None) -> None:
    (verb, life), sim = case, SasProgressiveSim()
    if life is Life.SHOWING:
        sim.received(bytes.fromhex(VECTORS["single"][1]), START)
    for step in {Life.OFF: ["power-off"], Life.BOOTING: ["power-cycle"]}.get(life, []):
        sim.control({"do": step}, START)
    assert sim.life is life
    answer, _ = sim.control({"do": verb}, START)
    assert ("error" in answer) == (outcome is None)
    assert sim.life is (outcome or life)


# --- the wake-up bit on a serial line --------------------------------------------------------


class FakePort:
    """The termios layer of a port with mark and space parity: what was set, and what had been sent then."""

    TIOCOUTQ, TCSANOW, PARENB, PARODD = termios.TIOCOUTQ, termios.TCSANOW, termios.PARENB, termios.PARODD
    error = termios.error

    def __init__(self, sent: Callable[[], int], sticky: bool = True) -> None:
        self.sent = sent
        self.flags = CMSPAR | termios.PARENB
        self.sticky = sticky  # the port has such a parity at all
        self.changes: list[tuple[int, str]] = []  # bytes sent before, parity
        self.waiting = 0

    def tcgetattr(self, fd: int) -> list[object]:
        return [0, 0, self.flags if self.sticky else 0, 0, 0, 0, []]

    def tcsetattr(self, fd: int, when: int, attributes: list[int]) -> None:
        self.flags = attributes[2]
        assert self.flags & CMSPAR
        assert self.flags & termios.PARENB
        self.changes.append((self.sent(), "mark" if self.flags & termios.PARODD else "space"))

    def ioctl(self, fd: int, request: int, argument: bytes) -> bytes:
        assert request == termios.TIOCOUTQ
        return struct.pack("i", self.waiting)


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FakePort, str, Callable[[], bytes]]]:
    """A PTY that stands for a port with parity: its path, and what came out at the far side."""
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    came = bytearray()

    def heard() -> bytes:
        with suppress(BlockingIOError):
            came.extend(os.read(master, 65536))
        return bytes(came)

    fake = FakePort(lambda: len(heard()))
    monkeypatch.setattr(wakeup, "termios", fake)
    monkeypatch.setattr(wakeup, "fcntl", fake)
    monkeypatch.setattr(serial_module, "_wake_up_of", WakeUpBit)
    yield fake, os.ttyname(slave), heard
    os.close(master)
    os.close(slave)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


Port = tuple[FakePort, str, Callable[[], bytes]]
FRAME = bytes.fromhex(VECTORS["single"][1])


def test_the_address_byte_alone_has_the_wake_up_bit(port: Port) -> None:
    fake, path, heard = port

    async def scene() -> None:
        link = SerialLink(path, PROTOCOL.line)
        link.open(lambda data: None, lambda cause, detail: None)
        for _ in range(2):
            link.write(FRAME, wake=1)
        await _until(lambda: len(heard()) == 2 * len(FRAME))
        link.close()

    asyncio.run(scene())
    assert heard() == FRAME * 2
    assert fake.changes == [(0, "mark"), (1, "space"), (11, "mark"), (12, "space")]


def test_the_parity_waits_until_the_port_is_drained_and_the_loop_goes_on(port: Port) -> None:
    fake, path, heard = port

    async def scene() -> None:
        link = SerialLink(path, PROTOCOL.line)
        link.open(lambda data: None, lambda cause, detail: None)
        link.write(FRAME, wake=1)
        fake.waiting = 1
        await asyncio.sleep(0.1)
        assert heard() == FRAME[:1]
        fake.waiting = 0
        await _until(lambda: heard() == FRAME)
        link.close()

    asyncio.run(scene())
    assert fake.changes == [(0, "mark"), (1, "space")]


def test_a_port_that_never_drains_is_stalled_and_closed(port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    fake, path, _ = port
    monkeypatch.setattr(serial_module, "STALL_SECONDS", 0.2)
    losses: list[tuple[Cause, str]] = []

    async def scene() -> None:
        link = SerialLink(path, PROTOCOL.line)
        link.open(lambda data: None, lambda cause, detail: losses.append((cause, detail)))
        link.write(FRAME, wake=1)
        fake.waiting = 1
        await _until(lambda: bool(losses))
        await asyncio.sleep(0.05)

    asyncio.run(scene())
    assert [cause for cause, _ in losses] == [Cause.SILENT]


def test_a_port_without_mark_and_space_parity_is_told_with_its_remedy(port: Port) -> None:
    fake, path, heard = port
    fake.sticky = False
    losses: list[tuple[Cause, str]] = []

    async def scene() -> None:
        link = SerialLink(path, PROTOCOL.line)
        link.open(lambda data: None, lambda cause, detail: losses.append((cause, detail)))
        link.write(FRAME, wake=1)
        await _until(lambda: bool(losses))

    asyncio.run(scene())
    assert losses == [
        (Cause.GARBLED, f"{path} has no mark and space parity: use another port, or an 8N1 line")
    ]
    assert heard() == b""


def test_a_pty_has_no_wake_up_bit() -> None:
    master, slave = os.openpty()
    tty.setraw(slave)

    async def scene() -> bytes:
        link = SerialLink(os.ttyname(slave), PROTOCOL.line)
        link.open(lambda data: None, lambda cause, detail: None)
        link.write(FRAME, wake=1)
        link.close()
        return os.read(master, 100)

    assert asyncio.run(scene()) == FRAME
    os.close(master)
    os.close(slave)


def test_the_parity_is_not_changed_before_the_bytes_had_time_to_leave(port: Port) -> None:
    """What an adapter holds is not counted by the system: the time that bytes take is waited too."""
    bit = WakeUpBit(-1, PROTOCOL.line, "port")
    bit.add(20, 0)
    bit.add(1, 1)
    assert bit.pause(10.0) == 0
    bit.wrote(20, 10.0)
    assert 20 * 11 / 19200 < bit.pause(10.0) < 0.1
    assert bit.pause(10.1) == 0


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 40)), max_size=8), st.integers(1, 30))
def test_every_byte_goes_out_with_its_own_parity(writes: list[tuple[int, int]], takes: int) -> None:
    """Whatever is written, and however little the port takes at a time."""
    wanted = [place < wake for count, wake in writes for place in range(count)]
    bit, now = WakeUpBit(-1, PROTOCOL.line, "port"), 0.0
    for count, wake in writes:
        bit.add(count, wake)
    got: list[bool] = []
    fake = FakePort(lambda: len(got))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wakeup, "termios", fake)
        patch.setattr(wakeup, "fcntl", fake)
        while bit.room:
            pause = bit.pause(now)
            now += pause
            if not pause:
                sent = min(takes, bit.room)
                got += [bool(fake.flags & termios.PARODD)] * sent
                bit.wrote(sent, now)
    assert got == wanted
