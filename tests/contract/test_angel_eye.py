"""The Angel Eye II-EX: published telegrams, lossy wires, retransmissions, commands, and the simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.supervisor import LinkLife
from drivers.base import (
    CardDrawn,
    ClearDeviceFault,
    CommandResult,
    CutCardDrawn,
    Display,
    Emit,
    FaultCleared,
    FaultSet,
    Identified,
    InSync,
    LockShoe,
    OutOfSync,
    Output,
    Restarted,
    Send,
    Shuffle,
    UnlockShoe,
)
from drivers.cards import DECK, FaceDownCard, parse_card
from drivers.fdp_host import OUTCOME_LOST
from drivers.protocol import Binding
from drivers.shoe.angel_eye import PROTOCOL, AngelEyeShoe
from drivers.shoe.angel_eye_commands import (
    LISTEN_ONLY,
    MOST_WAITING,
    NO_ERROR,
    NOT_TAKEN,
    QUEUE_FULL,
    SUPERSEDED,
)
from drivers.shoe.angel_eye_frames import (
    LONGEST,
    SEQUENCE,
    Answer,
    CommandReader,
    Piece,
    Reader,
    Telegram,
    bcc,
    card_data,
    command,
    encode,
    error_text,
    parse_command,
)
from drivers.shoe.sim_angel_eye import REFUSED, AngelEyeSim
from tests.contract.shoe_line import Ledger, ShoeLine, every_byte, faces, whole

VECTORS = {
    "spade 8": ("05 31 44 81 B8 03 34 46", "1", b"D\x81\xb8"),
    "cut card": ("05 33 43 03 37 33", "3", b"C"),
    "error 1": ("05 34 45 C1 03 42 33", "4", b"E\xc1"),
    "locked": ("05 35 4C 81 03 46 42", "5", b"L\x81"),
    "club 5": ("05 37 44 91 A5 03 34 34", "7", b"D\x91\xa5"),
    "start": ("05 43 53 03 31 33", "C", b"S"),
    "stand-by": ("05 44 50 03 31 37", "D", b"P"),
}
LOCK = bytes.fromhex("02 4F 50 4C 4B 30 32 03 31 42")
UNLOCK = bytes.fromhex("02 4F 50 4C 4B 30 31 03 31 38")
ASK = command("GP", 0)


def drawn(text: str) -> CardDrawn:
    return CardDrawn(FaceDownCard(parse_card(text)))


def card(seq: str, text: str, kind: str = "D", index: int = 1) -> bytes:
    return encode(Telegram(seq, card_data(kind, parse_card(text), 0, index)))


def say(seq: str, data: bytes) -> bytes:
    return encode(Telegram(seq, data))


def listening(**options: object) -> ShoeLine:
    return ShoeLine(AngelEyeShoe(), AngelEyeSim(), **options)  # type: ignore[arg-type]


def speaking(**options: object) -> ShoeLine:
    """A driver that commands, and has been answered."""
    line = ShoeLine(AngelEyeShoe(listen_only=False), AngelEyeSim(), **options)  # type: ignore[arg-type]
    assert line.written == ASK
    line.emitted.clear()
    line.written = b""
    return line


def give(line: ShoeLine, *commands: LockShoe | UnlockShoe | ClearDeviceFault | Shuffle | Display) -> None:
    for each in commands:
        line.take(line.driver.command(each, line.now))


# --- frames ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VECTORS)
def test_published_telegrams(name: str) -> None:
    text, seq, data = VECTORS[name]
    wire = bytes.fromhex(text)
    assert encode(Telegram(seq, data)) == wire
    for cut in range(len(wire) + 1):
        reader = Reader()
        assert reader.feed(wire[:cut]) + reader.feed(wire[cut:]) == [Telegram(seq, data)]


def test_published_telegrams_as_events() -> None:
    told: dict[str, list[object]] = {
        "spade 8": [drawn("8S")],
        "cut card": [CutCardDrawn()],
        "error 1": [FaultSet(1, error_text(1))],
        "locked": [],
        "club 5": [drawn("5C")],
        "start": [Restarted()],
        "stand-by": [],
    }
    for name, (text, _, _) in VECTORS.items():
        line = listening()
        line.hear(bytes.fromhex(text))
        assert [emit.event for emit in line.emitted if not isinstance(emit.event, Identified)] == told[
            name
        ], name


def test_published_commands() -> None:
    assert command("LK", 2) == LOCK
    assert command("LK", 1) == UNLOCK
    assert parse_command(LOCK) == ("LK", 2)
    without_stx = LOCK[:-2] + bcc(LOCK[1:-2])
    assert without_stx != LOCK
    assert parse_command(without_stx) == ("LK", 2)  # as the specification's text has it
    for cut in range(len(LOCK)):
        reader = CommandReader()
        assert reader.feed(LOCK[:cut]) == []
        assert reader.feed(LOCK[cut:] + b"\x06" + without_stx) == [("LK", 2)] * 2


def test_every_card_there_and_back() -> None:
    for each in DECK:
        assert Telegram("1", card_data("D", each)).drawn() == CardDrawn(FaceDownCard(each))
    assert Telegram("1", card_data("D", None)).drawn() == CardDrawn(None)
    assert Telegram("1", b"D\x81\xff").drawn() == CardDrawn(None, foreign=True)
    assert Telegram("1", b"D\x81\x9e").drawn() == CardDrawn(None, foreign=True)  # diamond 14


KINDS = [
    b"S",
    b"P",
    b"C",
    b"G\x83",
    b"D\x85\xb8",
    b"d\x86\xa5",
    b"R\x95\x83",
    b"E\xc1",
    b"e\xc7",
    b"L\x81",
    b"M\x81\x82",
]


def flips(wire: bytes) -> Iterator[bytes]:
    for place in range(len(wire)):
        for bit in range(8):
            yield wire[:place] + bytes([wire[place] ^ 1 << bit]) + wire[place + 1 :]


def telegrams(data: bytes) -> list[Piece]:
    return [piece for piece in Reader().feed(data) if isinstance(piece, Telegram)]


@pytest.mark.parametrize("data", KINDS + [card_data("D", each, 1, 5) for each in DECK], ids=bytes.hex)
def test_no_flipped_bit_is_accepted(data: bytes) -> None:
    for seq in SEQUENCE:
        wire = say(seq, data)
        following = say("1", b"P")
        for spoilt in flips(wire):
            assert telegrams(spoilt + following) in ([Telegram("1", b"P")], []), spoilt.hex(" ")


def test_what_the_xor_cannot_find() -> None:
    """Two bits in one column: diamond for club and index 1 for 2 make the same BCC."""
    assert telegrams(b"\x05" + b"1D\x82\x95\x03" + say("1", b"D\x81\x96")[-2:]) == [
        Telegram("1", b"D\x82\x95")
    ]


@pytest.mark.parametrize(
    "noise", [b"\x82\x35\xff", b"\x05", b"\x05\x05", b"\x05\x31D", b"\x03\x03", b"\x02OP", b"\x15"]
)
@pytest.mark.parametrize("data", KINDS, ids=bytes.hex)
def test_noise_before_between_and_inside(noise: bytes, data: bytes) -> None:
    wire = say("1", data)
    assert telegrams(noise + wire) == [Telegram("1", data)]
    assert telegrams(wire + noise + wire) == [Telegram("1", data)] * 2
    for cut in range(1, len(wire)):
        spoilt = wire[:cut] + noise + wire[cut:]
        assert telegrams(spoilt + wire)[-1:] == [Telegram("1", data)]
        assert set(telegrams(spoilt + wire)) <= {Telegram("1", data)}


@pytest.mark.parametrize(
    "wire",
    [
        b"\x051D\x81\x03",
        b"\x051\x03",
        b"\x05\x80P\x03",
        b"\x051E\x41\x03",
        b"\x051C\x81\x03",
        b"\x051M\x06\x03",
    ],
)
def test_a_right_bcc_does_not_make_a_telegram(wire: bytes) -> None:
    assert telegrams(wire + bcc(wire[1:])) == []


def test_an_endless_telegram_is_held_in_little_memory() -> None:
    reader = Reader()
    for _ in range(100):
        reader.feed(b"\x051M" + b"\x81" * 10_000)
        assert not reader.half
    reader.feed(b"\x051M" + b"\x81" * (LONGEST - 3))
    assert reader._body is not None
    assert len(reader._body) < LONGEST


# --- order -------------------------------------------------------------------------------


def numbered(line: ShoeLine) -> list[int]:
    return [emit.ordinal for emit in line.emitted if emit.ordinal]


@pytest.mark.parametrize("fate", [whole, every_byte])
@pytest.mark.parametrize("first", ["1", "9", "F"])
def test_every_card_once_and_in_order(fate: Callable[[bytes], list[bytes]], first: str) -> None:
    line = ShoeLine(AngelEyeShoe(), AngelEyeSim(first=first), fate)
    cards = [parse_card(str(line.do("draw")["card"])) for _ in range(52)]
    assert line.faces == cards
    assert sorted(each.index for each in cards) == list(range(52))
    assert all(after == before + 1 for before, after in pairwise(numbered(line)))
    assert line.drops == []
    assert InSync() not in line.story


def test_kings_one_after_the_other_are_all_cards() -> None:
    """Also where a telegram is the same, byte for byte, as that of a cycle ago."""
    line = listening()
    for number in range(40):
        line.hear(card(SEQUENCE[number % 15], "KS"))
    assert line.faces == [parse_card("KS")] * 40
    assert line.drops == []


@pytest.mark.parametrize("seed", range(8))
def test_a_repeated_telegram_counts_once(seed: int) -> None:
    dice = Random(seed)
    line = listening(to_host=lambda data: [data] * dice.randint(1, 5))
    cards = [parse_card(str(line.do("draw")["card"])) for _ in range(52)]
    assert line.faces == cards
    assert line.driver.counters.repeats == line.drops.count("repeat") > 52


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["lost", "cut short", "flipped", "noise"])
def test_a_bad_wire_never_tells_a_false_card_and_names_what_is_missing(kind: str, seed: int) -> None:
    dice = Random(seed)

    def spoil(data: bytes) -> list[bytes]:
        if dice.random() >= 0.2:
            return [data]
        if kind == "noise":
            return [dice.randbytes(20), data]
        if kind == "flipped":
            at = dice.randrange(len(data))
            return [data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]]
        return [data[: dice.randrange(len(data))]] if kind == "cut short" else []

    line = listening(to_host=spoil)
    cards = []
    for _ in range(52):
        cards.append(parse_card(str(line.do("draw")["card"])))
        line.wait(dice.choice((0, 0.3, 3)))
    line.to_host = whole
    line.do("stand-by")
    rest = iter(cards)
    assert all(face in rest for face in line.faces)
    assert line.story.count(InSync()) == sum(isinstance(event, OutOfSync) for event in line.story)
    if len(line.faces) < 52:
        assert Restarted() in line.story


def test_a_gap_holds_up_what_follows_and_is_filled_by_a_retransmission() -> None:
    line = listening()
    line.hear(card("1", "AS") + card("3", "3S", index=3))
    assert line.story == [drawn("AS"), OutOfSync(2, 3)]
    line.hear(card("4", "4S", index=4) + card("2", "2S", "R", 2))
    assert line.story[2:] == [drawn("2S"), drawn("3S"), drawn("4S"), InSync()]
    assert numbered(line) == [1, 2, 3, 4]
    line.wait(10)
    assert Restarted() not in line.story


def test_a_retransmission_with_a_new_number_fills_the_gap_too() -> None:
    line = listening()
    line.hear(card("1", "AS") + card("4", "4S", index=4) + card("5", "2S", "R", 2))
    assert line.story == [drawn("AS"), OutOfSync(2, 4), drawn("2S")]
    line.hear(card("6", "3S", "R", 3) + card("7", "5S", index=5))
    assert line.story[2:] == [drawn("2S"), drawn("3S"), drawn("4S"), InSync(), drawn("5S")]
    assert numbered(line) == [1, 2, 3, 4, 7]


@pytest.mark.parametrize("numbered", [False, True])
def test_a_retransmission_never_overwrites_a_card_nor_adds_one(numbered: bool) -> None:
    line = listening()
    for _ in range(20):
        line.do("draw")
        line.do("retransmit", numbered=numbered)
    assert len(line.faces) == 20
    assert len(set(line.faces)) == 20
    assert line.driver.counters.repeats == 20
    assert not any(isinstance(event, OutOfSync) for event in line.story)


def test_a_known_card_does_not_fill_a_gap() -> None:
    line = listening()
    line.hear(card("1", "AS") + card("3", "3S", index=3) + card("2", "AS", "R") + card("4", "3S", "R", 3))
    assert line.faces == [parse_card("AS")]
    line.wait(3)
    assert line.faces == [parse_card("AS"), parse_card("3S")]


def test_a_lost_card_that_comes_as_a_retransmission_in_its_place() -> None:
    line = listening()
    line.hear(card("1", "AS") + card("2", "2S", "R", 2) + card("3", "3S", index=3))
    assert line.story == [drawn("AS"), drawn("2S"), drawn("3S")]


def test_an_old_retransmission_makes_no_gap() -> None:
    line = ShoeLine(AngelEyeShoe(resume=(0, 5)), AngelEyeSim())
    line.hear(card("5", "AS", "R"))
    assert line.story == []
    assert line.drops == ["repeat"]


def test_what_is_not_filled_in_time_puts_the_round_in_doubt_before_and_after_what_waited() -> None:
    line = listening()
    line.hear(card("1", "AS") + card("3", "3S") + say("4", b"E\xc1"))
    line.wait(3)
    fault = FaultSet(1, error_text(1))
    assert line.story[2:] == [Restarted(), drawn("3S"), fault, Restarted(), fault, InSync()]
    line.hear(card("5", "5S"))
    assert line.story[-1] == drawn("5S")
    assert line.driver.deadline is None


@pytest.mark.parametrize("kind", [b"S", b"P"])
def test_start_and_stand_by_take_up_a_new_order_at_once(kind: bytes) -> None:
    line = listening()
    line.hear(card("1", "AS") + say("9", kind))
    assert line.story[1] == OutOfSync(2, 9)
    assert Restarted() in line.story
    assert line.story[-1] == InSync()
    line.hear(card("A", "2S"))
    assert line.story[-1] == drawn("2S")


def test_a_cycle_without_the_missing_one_ends_the_wait() -> None:
    """A later telegram with the missing SEQ is another one: it must not take the old place."""
    line = listening()
    line.hear(say("1", b"P") + b"".join(card(seq, f"{n}S", index=n) for n, seq in enumerate("3456789", 3)))
    line.hear(b"".join(card(seq, f"{n}H", index=n) for n, seq in enumerate("ABCDEF12", 2)))
    assert [str(face) for face in line.faces] == [f"{n}S" for n in range(3, 10)] + [
        f"{n}H" for n in range(2, 10)
    ]
    assert line.story[:3] == [OutOfSync(2, 3), Restarted(), drawn("3S")]
    assert line.story.count(InSync()) == 1
    line.wait(10)
    assert line.story.count(Restarted()) == 2


def test_the_same_seq_with_another_card_is_a_whole_cycle_missed() -> None:
    line = listening()
    line.hear(card("1", "AS") + card("1", "2S"))
    assert line.story[0] == drawn("AS")
    assert OutOfSync(2, 16) in line.story
    assert Restarted() in line.story
    assert line.faces == [parse_card("AS"), parse_card("2S")]


def test_a_seq_outside_the_alphabet_is_no_order() -> None:
    line = listening()
    line.hear(card("1", "AS") + card("0", "2S"))
    assert line.drops == ["SEQ outside the alphabet"]
    line.wait(3)
    assert line.story == [drawn("AS"), OutOfSync(2, 2), Restarted(), InSync()]


def test_the_alphabet_is_an_option() -> None:
    wires = [card(seq, f"{n}S", index=n) for n, seq in enumerate("01230", 2)]
    line = ShoeLine(
        PROTOCOL.driver(Binding(options={"sequence": "0123", "listen_only": True})), AngelEyeSim()
    )
    line.hear(b"".join(wires))
    assert [str(face) for face in line.faces] == ["2S", "3S", "4S", "5S", "6S"]
    assert len(line.story) == 5


@pytest.mark.parametrize("sequence", ["", "1", "11", "1 2", "12é"])
def test_an_alphabet_that_is_none(sequence: str) -> None:
    with pytest.raises(ValueError, match="sequence"):
        AngelEyeShoe(sequence=sequence)


def test_a_spoilt_telegram_is_a_doubt_that_the_next_one_ends() -> None:
    line = listening()
    line.hear(card("1", "AS") + b"\x05\x32D")
    line.hear(card("2", "2S"))
    assert line.story == [drawn("AS"), OutOfSync(2, 2), drawn("2S"), InSync()]


def test_half_a_telegram_is_spoilt_after_a_second() -> None:
    line = listening()
    line.hear(card("1", "AS") + card("2", "2S")[:5])
    line.wait(1.5)
    assert line.drops == ["half a telegram"]
    line.hear(card("2", "2S")[5:] + card("2", "2S", "R"))
    assert line.faces == [parse_card("AS"), parse_card("2S")]
    assert line.story[-1] == InSync()


def test_a_repeat_does_not_end_a_doubt() -> None:
    line = listening()
    line.hear(card("1", "AS") + b"\x05\x32D" + card("1", "AS"))
    assert line.story[-1] == OutOfSync(2, 2)


# --- restarts of the daemon and the link -----------------------------------------------------


def test_order_is_known_across_a_restart_of_the_daemon_and_of_the_link() -> None:
    sim = AngelEyeSim()
    first = ShoeLine(AngelEyeShoe(), sim)
    for _ in range(20):
        first.do("draw")
    first.reopen()
    first.do("draw")
    second = ShoeLine(AngelEyeShoe(first.ledger.resume), sim, ledger=first.ledger)
    second.do("draw")
    assert len(first.faces) == 21
    assert [type(event) for event in second.story] == [CardDrawn]
    third = ShoeLine(AngelEyeShoe(first.ledger.resume), sim, to_host=lambda data: [], ledger=first.ledger)
    third.do("draw")  # while nobody listens
    third.to_host = whole
    third.do("draw")
    assert third.story == [OutOfSync(23, 24)]
    third.wait(3)
    assert [type(event) for event in third.story[1:]] == [Restarted, CardDrawn, Restarted, InSync]


def test_a_gap_outlives_the_link() -> None:
    line = listening()
    line.hear(card("1", "AS") + card("3", "3S") + b"\x05")
    line.take(line.driver.closed(line.now))
    assert line.driver.deadline is None
    line.wait(60)
    line.take(line.driver.opened(line.now))
    assert InSync() not in line.story
    line.hear(card("2", "2S", "R", 2))
    assert line.faces == [parse_card(text) for text in ("AS", "2S", "3S")]
    assert line.story[-1] == InSync()


@pytest.mark.parametrize("seed", range(5))
def test_no_event_has_the_name_of_another_whatever_is_restarted(seed: int) -> None:
    ledger, dice, sim = Ledger(), Random(seed), AngelEyeSim()
    fate = lambda data: [] if dice.random() < 0.1 else [data]  # noqa: E731
    line = ShoeLine(AngelEyeShoe(), sim, fate, ledger)
    for _ in range(400):
        match dice.randrange(8):
            case 0:
                line = ShoeLine(AngelEyeShoe(ledger.resume), sim, fate, ledger)
            case 1:
                line.reopen()
            case 2:
                line.do(dice.choice(["power-cycle", "stand-by", "result", "preset", "cut-card"]))
            case 3:
                line.wait(3)
            case 4:
                line.hear(dice.randbytes(9))
            case _:
                line.do("load")
                line.do("draw")
    assert len(ledger.names) > 100


def test_a_first_driver_does_not_take_the_names_of_another_protocol() -> None:
    """The ledger of an FDP shoe goes on: its ordinal fits no SEQ, so the first telegram is a gap."""
    line = ShoeLine(AngelEyeShoe(resume=(7, 40)), AngelEyeSim())
    line.hear(card("1", "AS"))
    line.wait(3)
    assert line.faces == [parse_card("AS")]
    assert min(numbered(line)) > 40
    assert Restarted() in line.story
    assert all(emit.boot & 0xFFFF == 0 for emit in line.emitted if isinstance(emit.event, Restarted))


# --- identity, errors ----------------------------------------------------------------------


def test_a_shoe_that_is_listened_to_is_believed() -> None:
    line = listening()
    assert [emit.event for emit in line.emitted] == [Identified("shoe", boot=0)]


def test_the_link_is_ready_when_it_is_open_and_not_while_telegrams_are_missing() -> None:
    life = LinkLife("shoe", "shoe", None)
    life.opening(0)
    life.opened(0)
    line = listening()
    states = []

    def follow() -> None:
        for emit in line.emitted:
            match emit.event:
                case Identified():
                    life.identified(emit.event, line.now)
                case OutOfSync():
                    life.out_of_sync(line.now)
                case InSync():
                    life.in_sync(line.now)
        line.emitted.clear()
        states.append(life.ready)

    follow()
    line.hear(card("1", "AS") + card("3", "3S"))
    follow()
    line.wait(3)
    follow()
    assert states == [True, False, True]


def test_a_shoe_that_is_commanded_has_to_answer_first() -> None:
    line = ShoeLine(AngelEyeShoe(listen_only=False), AngelEyeSim(), to_host=lambda data: [])
    line.wait(4)
    assert line.written == ASK * 2
    assert line.emitted == []
    line.hear(b"\x06")
    assert [emit.event for emit in line.emitted] == [Identified("shoe", boot=0)]
    line.reopen()
    line.hear(card("1", "AS"))
    assert len(line.emitted) == 3  # known again by its telegram


def test_power_on_forgets_errors_and_tells_a_restart() -> None:
    line = listening()
    line.do("jam", code=7)
    line.do("power-cycle")
    line.do("draw", card="AS")
    assert line.story == [FaultSet(7, error_text(7)), Restarted(), drawn("AS")]


def test_errors_come_and_go() -> None:
    line = listening()
    line.do("draw", unread=True)
    assert "error" in line.sim.control({"do": "draw"}, 0)[0]
    line.do("clear")
    line.do("draw", card="AS", outside=True)
    line.do("draw", card="2S", foreign=True)
    assert line.story == [
        FaultSet(1, error_text(1)),
        FaultCleared(1),
        drawn("AS"),
        CardDrawn(None, foreign=True),
    ]


def test_what_means_nothing_here_takes_its_place_in_the_order() -> None:
    line = listening()
    for verb in ("stand-by", "result", "preset", "cut-card"):
        line.do(verb)
    line.hear(say("5", b"X\x80") + card("6", "AS"))
    assert [emit.event for emit in line.emitted[1:]] == [CutCardDrawn(), drawn("AS")]
    assert line.drops == ["telegram that is not known"]


# --- commands ------------------------------------------------------------------------------


def test_listening_never_writes_a_byte() -> None:
    line, dice = listening(), Random(2)
    for n in range(60):
        give(line, LockShoe(n), UnlockShoe(n), ClearDeviceFault(n), Shuffle(n), Display("$1"))
        line.take(line.driver.resume(LockShoe(n), line.now))
        line.hear(dice.choice([b"\x06", b"\x15\x31", dice.randbytes(30), LOCK, say(SEQUENCE[n % 15], b"P")]))
        line.take(line.driver.committed(line.now))
        line.do(dice.choice(["jam", "power-cycle", "stand-by"])) if n % 2 else line.do("power-cycle")
        line.wait(dice.choice((0, 1, 5)))
        if n % 7 == 0:
            line.reopen()
    assert line.written == b""
    assert line.driver.counters.sent == 0
    assert CommandResult(1, "refused", LISTEN_ONLY) in line.results


def test_lock_and_unlock() -> None:
    line = speaking()
    give(line, LockShoe(1))
    assert line.written == LOCK
    assert line.do("state")["locked"] is True
    give(line, UnlockShoe(2))
    assert line.written == LOCK + UNLOCK
    assert line.results == [CommandResult(1, "done"), CommandResult(2, "done")]


def test_an_error_is_cleared_by_its_code() -> None:
    line = speaking()
    give(line, ClearDeviceFault(1))
    assert line.results == [CommandResult(1, "refused", NO_ERROR)]
    line.do("jam", code=5)
    give(line, ClearDeviceFault(2))
    assert line.written == command("EC", 5)
    assert line.results[1:] == [CommandResult(2, "done")]
    assert line.story == [FaultSet(5, error_text(5)), FaultCleared(5)]


def test_a_refusal_tells_the_shoes_code() -> None:
    line = speaking()
    line.hears = False
    give(line, LockShoe(1))
    line.hear(b"\x15\x34")
    give(line, LockShoe(2))
    line.hear(b"\x15")
    line.hear(card("2", "AS"))  # no code came
    assert line.results == [CommandResult(1, "refused", 0x34), CommandResult(2, "refused", 0)]
    assert line.faces == [parse_card("AS")]


def test_a_command_without_an_answer_is_lost_and_not_given_again() -> None:
    line = speaking()
    line.hears = False
    give(line, LockShoe(1), UnlockShoe(2))
    line.wait(1.5)
    assert line.written == LOCK
    assert line.results == [CommandResult(1, "refused", OUTCOME_LOST)]
    line.hear(b"\x06")  # late: it must not be taken for the answer to the next one
    assert line.drops == ["late answer"]
    line.wait(2)
    assert line.written == LOCK + UNLOCK
    assert len(line.results) == 1
    line.hear(b"\x06")
    assert line.results[1:] == [CommandResult(2, "done")]


def test_a_lock_that_the_shoe_tells_of_was_done_though_the_answer_is_lost() -> None:
    for told, outcome in (
        (b"L\x81", CommandResult(1, "done")),
        (b"L\x80", CommandResult(1, "refused", OUTCOME_LOST)),
    ):
        line = speaking()
        line.hears = False
        give(line, LockShoe(1))
        line.hear(say("2", told))
        line.wait(1.5)
        assert line.results == [outcome]


def test_one_command_is_under_way_and_the_last_lock_that_waits_wins() -> None:
    line = speaking()
    line.hears = False
    give(line, LockShoe(1), UnlockShoe(2), LockShoe(3), UnlockShoe(4), LockShoe(1), UnlockShoe(4))
    assert line.written == LOCK
    line.hear(b"\x06")
    assert line.written == LOCK + UNLOCK
    line.hear(b"\x06")
    assert line.results == [
        CommandResult(2, "refused", SUPERSEDED),
        CommandResult(3, "refused", SUPERSEDED),
        CommandResult(1, "done"),
        CommandResult(4, "done"),
    ]


def test_the_queue_is_bounded() -> None:
    line = speaking()
    line.hears = False
    give(line, LockShoe(1), *(ClearDeviceFault(n) for n in range(2, 2 + MOST_WAITING)), ClearDeviceFault(99))
    assert line.results == [CommandResult(99, "busy", QUEUE_FULL)]


def test_commands_wait_for_the_shoe_and_end_with_the_link() -> None:
    line = ShoeLine(AngelEyeShoe(listen_only=False), AngelEyeSim(), to_host=lambda data: [])
    give(line, LockShoe(1))
    assert line.written == ASK
    line.hears = False
    line.hear(b"\x06")
    assert line.written == ASK + LOCK
    line.reopen()
    assert line.results == [CommandResult(1, "refused", OUTCOME_LOST)]
    line.wait(3)
    assert line.written.count(LOCK) == 1


def test_a_command_of_before_a_restart_is_not_given_again() -> None:
    line = speaking()
    line.take(line.driver.resume(LockShoe(1), line.now))
    assert line.written == b""
    assert line.results == [CommandResult(1, "refused", OUTCOME_LOST)]


def test_commands_for_others() -> None:
    line = speaking()
    give(line, Shuffle(1), Display("$1"))
    assert line.written == b""
    assert line.results == [CommandResult(1, "refused", NOT_TAKEN)]


def test_an_answer_in_the_rest_of_a_spoilt_telegram_is_none() -> None:
    line = speaking()
    line.hears = False
    give(line, LockShoe(1))
    line.hear(b"\x052D\x81\xb8\x03\x34\x47\x06")
    assert line.results == []
    assert Reader().feed(b"\x06\x15\x31\x06") == [Answer(None), Answer(0x31), Answer(None)]


# --- the simulator, the protocol --------------------------------------------------------------


def test_the_simulated_shoe_answers_commands_once() -> None:
    sim = AngelEyeSim()
    without_stx = LOCK[:-2] + bcc(LOCK[1:-2])
    assert sim.received(LOCK, 0) == [Send(b"\x06"), Send(say("1", b"L\x81"))]
    assert sim.received(without_stx, 0) == [Send(b"\x06"), Send(say("2", b"L\x81"))]
    refused = [Send(bytes([0x15, REFUSED]))]
    for wrong in (LOCK[:-1] + b"0", command("LK", 3), command("EC", 1), command("XX", 0), command("EC", 0)):
        assert sim.received(wrong, 0) == refused
    assert sim.control({"do": "state"}, 0)[0]["executed"] == {"LK02": 2}
    assert "error" in sim.control({"do": "draw"}, 0)[0]


@pytest.mark.parametrize(
    "verb",
    [
        {},
        {"do": "cover"},
        {"do": "draw", "face_up": True},
        {"do": "clear"},
        {"do": "retransmit"},
        {"do": "jam", "code": 64},
    ],
)
def test_the_simulated_shoe_refuses_what_it_has_not(verb: dict[str, object]) -> None:
    answer, sent = AngelEyeSim().control(verb, 0)
    assert list(answer) == ["error"]
    assert sent == []


def test_the_protocol_as_it_is_registered() -> None:
    assert str(PROTOCOL.line) == "4800 8N1"
    assert not PROTOCOL.proves_delivery
    driver = PROTOCOL.driver(Binding(options=PROTOCOL.options))
    assert not any(isinstance(out, Send) for out in driver.opened(0))
    driver = PROTOCOL.driver(Binding(options={**PROTOCOL.options, "listen_only": False}))
    assert driver.opened(0) == [Send(ASK)]


def test_no_face_is_told_by_accident() -> None:
    dice = Random(4)
    line = listening(
        to_host=lambda data: [data[: dice.randrange(len(data))] if dice.random() < 0.3 else data]
    )
    for _ in range(52):
        line.do("draw")
    told = repr(line.emitted) + repr(line.drops) + repr(line.driver.counters)
    told += repr([Telegram("1", card_data("D", each)) for each in DECK])
    names = {each.text for each in DECK}
    assert line.drops
    assert not names & set(told.replace("'", " ").replace(",", " ").split())
    assert "xb8" not in told


# --- anything at all -----------------------------------------------------------------------

PIECES = st.one_of(
    st.binary(max_size=30),
    st.builds(say, st.sampled_from(SEQUENCE + "0Z"), st.sampled_from(KINDS)),
    st.sampled_from([b"\x05", b"\x06", b"\x15", b"\x03", LOCK]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=40), st.integers(1, 9), st.booleans())
def test_whatever_comes_it_never_raises_and_chunks_do_not_matter(
    pieces: list[bytes], size: int, listen_only: bool
) -> None:
    stream = b"".join(pieces)
    results: list[list[Output]] = []
    for step in (size, 10_000):
        driver, out = AngelEyeShoe(listen_only=listen_only), []
        driver.opened(0)
        for at in range(0, len(stream), step):
            out += driver.received(stream[at : at + step], 0)
            assert len(driver._order._held) < len(SEQUENCE)
            assert len(driver._order._recent) <= len(SEQUENCE)
        results.append(out)
    assert results[0] == results[1]
    told = [each for each in results[0] if isinstance(each, Emit)]
    assert len(faces(told)) <= stream.count(b"\x05")
