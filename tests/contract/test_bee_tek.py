"""The Bee-Tek / USPC e-shoe: published lines, spoilt lines, and the simulator."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.base import (
    SECOND,
    CardDrawn,
    CommandResult,
    Display,
    Emit,
    FaultCleared,
    FaultSet,
    Identified,
    LockShoe,
    Restarted,
    Send,
)
from drivers.cards import DECK, FaceDownCard, parse_card
from drivers.protocol import Binding
from drivers.shoe.bee_tek import PROTOCOL, TAKES_NO_COMMAND, BeeTekShoe, alarm_text
from drivers.shoe.bee_tek_lines import MAX_LINE, Splitter, alarm_line, card_line, warning_line
from drivers.shoe.sim_bee_tek import BeeTekSim
from tests.contract.shoe_line import Ledger, ShoeLine, every_byte

UNREAD = CardDrawn(None)


def drawn(text: str) -> CardDrawn:
    return CardDrawn(FaceDownCard(parse_card(text)))


def line_of(driver: BeeTekShoe | None = None, **options: object) -> ShoeLine:
    return ShoeLine(driver or BeeTekShoe(), BeeTekSim(), **options)  # type: ignore[arg-type]


VECTORS = [
    (b" [Game]<Card:4S> \r\n", [drawn("4S")]),
    (b" [Manual Burn Cards]<Card:TH> \r\n", [drawn("10H")]),
    (b" [Game]<Card:10H> \r\n", [drawn("10H")]),
    (b" [Game]<Game> \r\n", [UNREAD]),
    (b" [GameAlarm]<Alarm:E3 Card Not Read> \r\n", [FaultSet(3, alarm_text(3))]),
    (b" [Game]<Alarm:E3 Card Not Read> \r\n", [FaultSet(3, alarm_text(3))]),
    (b"<W0x01>\r\n", [FaultSet(0x101, "The shoe warns: W0x01.", stops_deal=False)]),
]


@pytest.mark.parametrize(("wire", "said"), VECTORS, ids=[wire.decode().strip() for wire, _ in VECTORS])
def test_published_lines(wire: bytes, said: list[object]) -> None:
    for cut in range(len(wire) + 1):
        line = line_of()
        line.hear(wire[:cut])
        line.hear(wire[cut:])
        assert line.story == said
        assert [emit.ordinal for emit in line.emitted if emit.ordinal] == [1]


def test_the_codec_writes_the_published_lines() -> None:
    assert card_line(parse_card("4S")) == VECTORS[0][0]
    assert card_line(parse_card("TH"), "Manual Burn Cards") == VECTORS[1][0]
    assert card_line(parse_card("TH"), ten="10") == VECTORS[2][0]
    assert card_line(None) == VECTORS[3][0]
    assert alarm_line(3, "Card Not Read") == VECTORS[4][0]
    assert warning_line(1) == VECTORS[6][0]


@pytest.mark.parametrize("ten", ["T", "10"])
def test_every_card_in_its_place(ten: str) -> None:
    line = line_of(to_host=every_byte)
    cards = [parse_card(str(line.do("draw", ten=ten)["card"])) for _ in range(52)]
    assert line.faces == cards
    assert sorted(card.index for card in cards) == list(range(52))
    assert [emit.ordinal for emit in line.emitted if emit.ordinal] == list(range(1, 53))


@pytest.mark.parametrize("end", [b"\r\n", b"\r", b"\n", b"\n\r", b"  \r\n\r\n", b"\r\r\n"])
@pytest.mark.parametrize("start", [b"", b" ", b"\t  "])
def test_blanks_and_ends(start: bytes, end: bytes) -> None:
    line = line_of()
    line.hear((start + b"[Game]<Card:4S>" + end) * 3)
    assert line.story == [drawn("4S")] * 3


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        (b"[Game]<Card:4S>  [Game]<Card:5H>\r\n", [drawn("4S"), drawn("5H")]),  # an end was lost
        (b"[Game]<Card:4s>\r\n", [UNREAD]),
        (b"[Game]<Card:1S>\r\n", [UNREAD]),
        (b"[Game]<Card:>\r\n", [UNREAD]),
        (b"[Manual Burn Cards]<Manual Burn Cards>\r\n", [UNREAD]),
        (b"[Game]<Round:over>\r\n", []),
        (b"[Game]<Alarm:E1F Unknown>\r\n", [FaultSet(0x1F, alarm_text(0x1F))]),
        (b"[Game]<Alarm:>\r\n", [FaultSet(0, alarm_text(0))]),
    ],
)
def test_other_lines(wire: bytes, said: list[object]) -> None:
    line = line_of()
    line.hear(wire)
    assert line.story == said


@pytest.mark.parametrize(
    "wire",
    [
        b"[Game]<Card:4S\r\n",
        b"Game]<Card:4S>\r\n",
        b"<Card:4S>\r\n",
        b"[Game]<Card:4\x80>\r\n",
        b"[Game]<Card:4S>x\r\n",
        b"[Game]<Cardd:4S>\r\n",
        b"[Game]<Cerd:4S>\r\n",
        b"\x00\r\n",
        b"x" * 257,
        b"x" * 10_000 + b"\r\n",
    ],
)
def test_a_spoilt_line_puts_the_round_in_doubt_and_the_next_one_counts(wire: bytes) -> None:
    line = line_of()
    line.hear(wire)
    assert line.story == [Restarted()]
    assert len(line.drops) == 1
    line.hear(b"\r\n [Game]<Card:4S> \r\n")
    assert line.story == [Restarted(), drawn("4S")]


def test_a_line_without_an_end_is_over_after_a_second() -> None:
    line = line_of()
    line.hear(b" [Game]<Card:4S> ")
    assert line.story == []
    line.wait(1.5)
    assert line.story == [drawn("4S")]
    line.hear(b" [Game]<Car")
    line.wait(1.5)
    assert line.story == [drawn("4S"), Restarted()]
    assert line.driver.deadline is None


def test_noise_is_told_at_most_once_a_second_and_held_in_little_memory() -> None:
    line, dice = line_of(), Random(3)
    for _ in range(100):
        line.hear(dice.randbytes(1_000))
    line.wait(3)
    assert 1 <= line.story.count(Restarted()) <= 3
    assert line.driver.deadline is None
    line.hear(b"\r\n")
    line.hear(b" [Game]<Card:4S> \r\n")
    assert line.story[-1] == drawn("4S")


def test_noise_without_an_end_is_skipped() -> None:
    splitter = Splitter()
    pieces = [piece for _ in range(1_000) for piece in splitter.feed(b"<" * 1_000)]
    assert pieces == [None]
    assert not splitter.half
    assert splitter.feed(b"<\r\n<W0x01>\n") == [b"<W0x01>"]
    assert splitter.feed(b"x" * MAX_LINE + b"\n") == [b"x" * MAX_LINE]


def test_an_alarm_is_over_with_the_next_card_that_is_read() -> None:
    line = line_of()
    line.do("jam", code=3)
    line.do("clear")
    line.do("draw", unread=True)
    line.do("draw", card="4S")
    assert line.story == [FaultSet(3, alarm_text(3)), UNREAD, FaultCleared(3), drawn("4S")]
    assert [emit.ordinal for emit in line.emitted if emit.ordinal] == [1, 2, 3, 4]


def test_an_alarm_outlives_a_doubt() -> None:
    line = line_of()
    line.do("jam", code=3)
    line.hear(b"noise\r\n")
    line.do("clear")
    line.do("draw", card="4S")
    assert line.story[2:] == [FaultSet(3, alarm_text(3)), FaultCleared(3), drawn("4S")]


def test_the_shoes_words_are_not_passed_on() -> None:
    line = line_of()
    line.hear(b"[GameAlarm]<Alarm:E9 Wrong card 4S>\r\n[Game]<Last:4S>\r\n[Game]<Card:4S>x\r\n")
    told = repr(line.emitted) + repr(line.drops)
    assert "4S" not in told
    assert "Wrong" not in told


def test_lost_lines_leave_no_trace_so_delivery_is_not_proved() -> None:
    dice = Random(5)
    line = line_of(to_host=lambda data: [] if dice.random() < 0.2 else [data])
    cards = [parse_card(str(line.do("draw")["card"])) for _ in range(52)]
    rest = iter(cards)
    assert all(face in rest for face in line.faces)
    assert len(line.faces) < 52
    assert Restarted() not in line.story
    assert not PROTOCOL.proves_delivery


def test_a_line_that_was_away_puts_the_round_in_doubt() -> None:
    line = line_of()
    assert [emit.event for emit in line.emitted] == [Identified("shoe", boot=0)]
    line.do("draw", card="4S")
    line.hear(b" [Game]<Ca")
    line.reopen()
    line.do("draw", card="5S")
    assert line.story == [drawn("4S"), Restarted(), drawn("5S")]
    assert line.drops == ["half a line"]
    told = [emit for emit in line.emitted if isinstance(emit.event, Restarted | CardDrawn)]
    assert [(emit.boot, emit.ordinal) for emit in told] == [(0, 1), (1 << 16, 0), (1 << 16, 1)]


def test_no_event_has_the_name_of_another_whatever_is_restarted() -> None:
    ledger, dice = Ledger(), Random(8)
    sim = BeeTekSim()
    line = ShoeLine(BeeTekShoe(), sim, ledger=ledger)
    for _ in range(300):
        match dice.randrange(5):
            case 0:  # the daemon is killed; what it told last is durable
                line = ShoeLine(BeeTekShoe(ledger.resume), sim, ledger=ledger)
            case 1:
                line.reopen()
            case 2:
                line.hear(b"noise\n")
            case _:
                line.do("load")
                line.do("draw")
    assert len(ledger.names) > 100


def test_it_takes_no_command_and_writes_nothing() -> None:
    line = line_of()
    for command in (LockShoe(1), Display("$1")):
        line.take(line.driver.command(command, line.now))
    line.take(line.driver.resume(LockShoe(2), line.now))
    assert line.results == [CommandResult(n, "refused", TAKES_NO_COMMAND) for n in (1, 2)]
    assert line.written == b""
    assert line.driver.committed(line.now) == []


def test_bytes_on_a_closed_link_are_dropped() -> None:
    driver = BeeTekShoe()
    assert len(driver.received(card_line(DECK[0]), SECOND)) == 1
    assert driver.counters.drops == {"bytes on a closed link": 1}


@pytest.mark.parametrize("verb", [{"do": "cover"}, {"do": "cut-card"}, {"do": "draw", "face_up": True}, {}])
def test_the_simulated_shoe_refuses_what_it_has_not(verb: dict[str, object]) -> None:
    answer, sent = BeeTekSim().control(verb, 0)
    assert list(answer) == ["error"]
    assert sent == []


def test_the_simulated_shoe_lives() -> None:
    sim = BeeTekSim(deck=[parse_card("AS"), parse_card("KD")])
    assert sim.control({"do": "state"}, 0)[0]["cards"] == 2
    sim.control({"do": "jam"}, 0)
    assert "error" in sim.control({"do": "draw"}, 0)[0]
    assert "error" in sim.control({"do": "jam"}, 0)[0]
    sim.control({"do": "power-cycle"}, 0)
    assert sim.control({"do": "draw"}, 0)[1] == [Send(b" [Game]<Card:AS> \r\n")]
    sim.control({"do": "draw"}, 0)
    assert "error" in sim.control({"do": "draw"}, 0)[0]
    assert sim.control({"do": "state"}, 0)[0]["state"] == "empty"
    assert sim.received(b"hello", 0) == []


def test_the_same_seed_is_the_same_deck() -> None:
    def first(seed: int) -> object:
        return BeeTekSim(seed=seed).control({"do": "draw"}, 0)[0]["card"]

    assert [first(seed) for seed in range(9)] == [first(seed) for seed in range(9)]
    assert len({first(seed) for seed in range(9)}) > 1


def test_the_protocol_as_it_is_registered() -> None:
    assert str(PROTOCOL.line) == "9600 8N1"
    assert PROTOCOL.driver(Binding((1 << 16, 7))).opened(0)[-1] == Emit(Identified("shoe", boot=2 << 16))


PIECES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [card_line(card) for card in DECK[::7]] + [b"\r", b"\n", b"[Game]", b"<Card:4S>", b"<W0x", b"<"]
    ),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=30), st.integers(1, 7))
def test_whatever_comes_it_never_raises_and_chunks_do_not_matter(pieces: list[bytes], size: int) -> None:
    stream = b"".join(pieces)
    results = []
    for step in (size, 10_000):
        driver = BeeTekShoe()
        driver.opened(0)
        out = [driver.received(stream[at : at + step], 0) for at in range(0, len(stream), step)]
        assert len(driver._splitter._pending) <= MAX_LINE
        results.append(([each for outputs in out for each in outputs], driver.counters))
    assert results[0] == results[1]


def test_a_flipped_bit_may_be_another_card() -> None:
    """What no driver can know: 4S with one bit flipped is 5S."""
    line = line_of()
    wire = bytearray(card_line(parse_card("4S")))
    wire[wire.index(b"4")] ^= 1
    line.hear(bytes(wire))
    assert line.faces == [parse_card("5S")]
