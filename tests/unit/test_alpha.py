"""Frames of the Alpha protocol against the published vectors (section 5), byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.sign.alpha import MEMORY
from drivers.sign.alpha_frames import (
    CLEAR_ERRORS,
    CLEAR_PRIORITY,
    COMMANDS,
    ETX,
    READ_STATUS,
    SOFT_RESET,
    STX,
    Allocation,
    BadFrame,
    Command,
    Frame,
    FrameReader,
    answer_prefix,
    checksum,
    ending,
    header,
    is_read,
    memory_map,
    nested,
    pages_data,
    parse_dots,
    parse_frame,
    parse_memory,
    parse_run_sequence,
    read_dots,
    read_string,
    read_text,
    run_sequence,
    split_pages,
    status_names,
    status_of,
    string_data,
    text_data,
    write_dots,
    write_string,
    write_text,
)

HEAD = "00 00 00 00 00 01 5A 30 30 02"
TEST = write_text("A", text_data("\x1cCTEST", position="&"))
GREEN = write_text("A", text_data("\x1c2GREEN OK", position="&"))
MAP_ANSWER = b"E$AAU0100FF00BAU00ABFF00CAU00ABFF00DDU07072000"

VECTORS = {
    "text": (TEST, "41 41 1B 26 62 1C 43 54 45 53 54 03 30 32 43 39 04"),
    "green text": (GREEN, "41 41 1B 26 62 1C 32 47 52 45 45 4E 20 4F 4B 03 30 33 41 33 04"),
    "priority off": (CLEAR_PRIORITY, "41 30 04"),
    "memory": (
        memory_map(MEMORY),
        "45 24 41 41 55 30 31 30 30 46 46 30 30 4A 42 4C 30 30 34 30 30 30 30 30 03 30 35 34 45 04",
    ),
    "string": (
        write_string("J", string_data("$12,345.67")),
        "47 4A 24 31 32 2C 33 34 35 2E 36 37 03 30 32 38 30 04",
    ),
    "run sequence": (run_sequence("A"), "45 2E 54 55 41 03 30 31 36 32 04"),
    "read error status": (READ_STATUS, "46 2A 03 30 30 37 35 04"),
    "clear error status": (CLEAR_ERRORS, "45 34 03 30 30 37 45 04"),
    "soft reset": (SOFT_RESET, "45 2C 03 30 30 37 36 04"),
}


@pytest.mark.parametrize(("command", "wire"), VECTORS.values(), ids=list(VECTORS))
def test_j12_every_vector_byte_for_byte(command: bytes, wire: str) -> None:
    assert header() + ending(command) == bytes.fromhex(HEAD + wire)


@pytest.mark.parametrize(
    ("command", "digits"), [(b"AAHELLO", b"01FB"), (MAP_ANSWER, b"0AAE"), (b"E.TUABC", b"01E7")]
)
def test_j12_checksum_counts_from_02_through_03(command: bytes, digits: bytes) -> None:
    assert checksum(command) == digits


def test_the_recorded_memory_map_is_read_and_written_alike() -> None:
    found = parse_memory(MAP_ANSWER[2:])
    assert [(a.label, a.kind, a.size) for a in found] == [
        ("A", "A", 0x100), ("B", "A", 0xAB), ("C", "A", 0xAB), ("D", "D", 0x707)
    ]  # fmt: skip
    assert memory_map(found) == MAP_ANSWER


def test_memory_cannot_be_erased_by_accident() -> None:
    with pytest.raises(ValueError, match="erases"):
        memory_map([])
    with pytest.raises(ValueError, match="erases"):
        ending(b"E$")
    with pytest.raises(ValueError, match="frames it"):
        ending(b"A0\x02E$")  # nor nested inside another command


@pytest.mark.parametrize(
    "allocation",
    [
        Allocation("A", "X", 10),
        Allocation("A", "A", 0),
        Allocation("A", "A", 0x10000),
        Allocation("AB", "A", 1),
        Allocation("A", "A", 1, tail="0"),
    ],
)
def test_an_impossible_allocation_is_refused(allocation: Allocation) -> None:
    with pytest.raises(ValueError, match="not a"):
        allocation.encode()


@pytest.mark.parametrize(
    "record", [b"AAU0100FF0", b"AAU0000FF00", b"AXU0100FF00", b"AAXzzzzFF00", b"AAZ0100FF00"]
)
def test_a_bad_memory_record_is_a_bad_frame(record: bytes) -> None:
    with pytest.raises(BadFrame):
        parse_memory(record)


def test_a_string_holds_125_bytes_and_only_legal_ones() -> None:
    assert len(string_data("x" * 125)) == 125
    with pytest.raises(ValueError, match="at most 125"):
        string_data("x" * 126)
    with pytest.raises(ValueError, match="at most 64"):
        string_data("x" * 65, 64)
    assert string_data("\t\r\x11\x12\x13\x15\x19\x1a1\x1c2\x1e") == b"\t\r\x11\x12\x13\x15\x19\x1a1\x1c2\x1e"
    for bad in "\x00\x02\x04\x07\x0a\x10\x14\x1b\x7f\x80€":
        with pytest.raises(ValueError, match="cannot show"):
            string_data(bad)


def test_a_priority_text_calls_no_string() -> None:
    assert text_data("\x10J") == b"\x1b b\x10J"
    with pytest.raises(ValueError, match="cannot show"):
        text_data("\x10J", priority=True)
    with pytest.raises(ValueError, match="at most 125"):
        text_data("x" * 123, priority=True)


def test_pages_are_segments_of_one_text_after_the_call_of_the_meter() -> None:
    assert pages_data("J", (), 5) == text_data("\x10J") == b"\x1b b\x10J"
    data = pages_data("J", ("FLUSH $50.00", "\x1c1TABLE CLOSED"), 256)
    assert data == b"\x1b b\x10J\x1b bFLUSH $50.00\x1b b\x1c1TABLE CLOSED"
    assert split_pages(data) == [b"\x10J", b"FLUSH $50.00", b"\x1c1TABLE CLOSED"]


def test_a_text_is_split_at_its_modes_only() -> None:
    assert split_pages(b"") == []
    assert split_pages(b"HELLO") == [b"HELLO"]
    assert split_pages(b"HELLO\x1b&aWORLD\x1b b") == [b"HELLO", b"WORLD", b""]


def test_pages_fit_their_text_or_are_refused() -> None:
    assert len(pages_data("J", ("x" * 120, "y" * 125), 256)) == 256
    with pytest.raises(ValueError, match="take 257 bytes"):
        pages_data("J", ("x" * 120, "y" * 126), 256)
    for bad in "\x00\x02\x04\x10\x1b\x7f€":
        with pytest.raises(ValueError, match="cannot show"):
            pages_data("J", ("FLUSH", bad), 256)


@pytest.mark.parametrize(
    ("sign_type", "address"), [("", "00"), ("ZZ", "00"), ("Z", "0"), ("Z", "0g"), ("\x02", "00")]
)
def test_an_impossible_header_is_refused(sign_type: str, address: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        header(sign_type, address)


def test_labels_and_run_sequences_are_checked() -> None:
    assert (read_text("0"), read_string("J")) == (b"B0", b"HJ")
    for label in ("", "AB", "\x02", "\x80"):
        with pytest.raises(ValueError, match="not a label"):
            read_text(label)
    with pytest.raises(ValueError, match="at least one"):
        run_sequence("")


def test_the_status_is_one_byte_or_two_digits() -> None:
    assert [status_of(data) for data in (b"@", b"40", b"50")] == [0x40, 0x40, 0x50]
    assert [status_of(data) for data in (b"", b"zz", b"400")] == [None, None, None]
    assert status_names(0x71) == ["illegal command", "checksum", "parity"]


def test_nested_commands_and_their_checksums_are_told_apart() -> None:
    frame = parse_frame(b"Z00\x02AAHELLO\x0301FB\x02A0")
    assert frame == Frame("Z", "00", (b"AAHELLO", b"A0"), checked=False)
    wrong_sums = (b"Z00\x02AAHELLO\x0301FC", b"Z00\x02AAHELLO\x0301fb")
    for bad in (*wrong_sums, b"Z00", b"Z00AA", b"Z00\x02", b"Z00\x02\xc1"):
        with pytest.raises(BadFrame):
            parse_frame(bad)


NOISE, CUT = b"\x82\x35\xff", header()[:-2]
STREAM = header() + ending(TEST) + NOISE + header() + ending(READ_STATUS) + CUT + header() + ending(GREEN)


def _fed(*chunks: bytes) -> list[str]:
    reader = FrameReader()
    return [str(found) for chunk in chunks for found in reader.feed(chunk)]


def test_b01_every_split_gives_the_same_frames() -> None:
    whole = _fed(STREAM)
    assert [text for text in whole if not text.startswith("Frame")] == ["noise", "cut short"]
    assert len(whole) == 5
    for at in range(len(STREAM)):
        assert _fed(STREAM[:at], STREAM[at:]) == whole
    assert _fed(*(bytes([byte]) for byte in STREAM)) == whole


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=10))
def test_b04_after_any_noise_the_next_frame_is_read(chunks: list[bytes]) -> None:
    reader = FrameReader()
    for chunk in chunks:
        reader.feed(chunk)
    assert reader.feed(header() + ending(TEST))[-1] == Frame("Z", "00", (TEST,), checked=True)


def test_a_frame_without_end_is_given_up() -> None:
    assert _fed(header() + b"A" * 5000, header() + ending(TEST))[0] == "too long"


# --- every command of the section ------------------------------------------------------------

EVERY_COMMAND = {
    "A": (Command("A", "B", b"\x1b bHI"), b"AB\x1b bHI"),
    "B": (Command("B", "0"), b"B0"),
    "E": (Command("E", "4"), b"E4"),
    "F": (Command("F", "$"), b"F$"),
    "G": (Command("G", "J", b"$1.00"), b"GJ$1.00"),
    "H": (Command("H", "J"), b"HJ"),
    "I": (Command("I", "D", b"010211\r"), b"ID010211\r"),
    "J": (Command("J", "D"), b"JD"),
    "O": (Command("O", data=b"HELLO"), b"OHELLO"),
    "T": (Command("T", data=b"NO DATA"), b"TNO DATA"),
}


@pytest.mark.parametrize("code", COMMANDS)
def test_every_command_is_written_and_read(code: str) -> None:
    command, wire = EVERY_COMMAND[code]
    assert command.encode() == wire
    frame = FrameReader().feed(header() + ending(wire))[-1]
    assert isinstance(frame, Frame)
    assert [Command.decode(each) for each in frame.commands] == [command]


def test_only_b_f_h_and_j_are_answered_and_by_the_write_before_them() -> None:
    reads = {code for code, (_, wire) in EVERY_COMMAND.items() if is_read(wire)}
    assert reads == {"B", "F", "H", "J"}
    assert [answer_prefix(EVERY_COMMAND[code][1]) for code in "BFHJ"] == [b"A0", b"E$", b"GJ", b"ID"]


@pytest.mark.parametrize(
    "command",
    [
        Command("Q", "A"),
        Command("A"),
        Command("O", "A"),
        Command("A", "AB"),
        Command("G", "J", b"\x02"),
        Command("T", data=b"\x80"),
    ],
)
def test_a_command_that_there_is_not_is_refused(command: Command) -> None:
    with pytest.raises(ValueError, match=r"not a|7-bit"):
        command.encode()


def test_what_is_no_command_is_a_bad_frame() -> None:
    for wire in (b"", b"Q", b"A", b"\x80A"):
        with pytest.raises(BadFrame, match="no such command"):
            Command.decode(wire)


def test_a_picture_is_rows_of_dots() -> None:
    rows = ("0110", "2002", "0330")
    assert write_dots("D", rows) == b"ID03040110\r2002\r0330\r"
    assert parse_dots(write_dots("D", rows)[2:]) == rows
    assert read_dots("D") == b"JD"
    for bad in ((), ("",), ("01", "0"), ("9",), ("0",) * 32, ("0" * 256,)):
        with pytest.raises(ValueError, match="a picture has"):
            write_dots("D", bad)
    for wire in (b"", b"0101", b"01020\r", b"010209\r", b"01010", b"02010\r"):
        with pytest.raises(BadFrame, match="picture"):
            parse_dots(wire)


# --- several commands in one frame -----------------------------------------------------------


def test_nested_commands_are_cut_after_every_stx() -> None:
    pieces = nested([TEST, CLEAR_PRIORITY, READ_STATUS])
    assert all(piece.endswith(STX) for piece in pieces[:-1])
    assert not any(STX in piece[:-1] for piece in pieces)
    assert FrameReader().feed(b"".join(pieces)) == [
        Frame("Z", "00", (TEST, CLEAR_PRIORITY, READ_STATUS), checked=False)
    ]
    assert b"".join(nested([TEST])) == header() + ending(TEST)
    with pytest.raises(ValueError, match="at least one"):
        nested([])


# --- the empty memory map, which erases the sign ---------------------------------------------


def _erases(wire: bytes) -> bool:
    """Whether any part of the wire is ``E$`` with nothing in it that is a record."""
    parts = [part.partition(ETX)[0].rstrip(b"\x04") for part in wire.split(STX)[1:]]
    return any(part.startswith(b"E$") and len(part) < 2 + 11 for part in parts)


@pytest.mark.parametrize("data", [b"", b" ", b"AAU0100FF0", b"AAU0100FF00 ", b"AAU0000FF00"])
def test_no_function_produces_an_empty_or_broken_memory_map(data: bytes) -> None:
    for produce in (lambda: Command("E", "$", data).encode(), lambda: ending(b"E$" + data)):
        with pytest.raises(ValueError, match=r"erases|memory record"):
            produce()
    with pytest.raises(ValueError, match=r"erases|memory record"):
        nested([b"E4", b"E$" + data])


BYTES = st.binary(max_size=8) | st.sampled_from([b"", b"E$", b"\x02E$", b"AAU0100FF00", b"E$AAU0100FF00"])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(BYTES, min_size=1, max_size=4), st.sampled_from("AEGIOT"), st.sampled_from(["", "$", "A", "0"])
)
def test_nothing_that_can_be_sent_erases_the_sign(parts: list[bytes], code: str, label: str) -> None:
    producers = (
        lambda: header() + ending(parts[0]),
        lambda: b"".join(nested(parts)),
        lambda: header() + ending(Command(code, label, parts[0]).encode()),
        lambda: header() + ending(write_text("A", parts[0])),
        lambda: header() + ending(write_string("J", parts[0])),
    )
    for produce in producers:
        try:
            wire = produce()
        except ValueError:
            continue
        assert not _erases(wire)


def test_an_erasing_frame_would_be_found() -> None:
    assert _erases(header() + b"E$\x04")
    assert _erases(header() + b"A0\x02E$\x0300AB\x04")
    assert not _erases(header() + ending(memory_map(MEMORY)))


# --- answers, and the line -------------------------------------------------------------------


def _answered(payload: bytes) -> bytes:
    """What a sign of type 0 and address 00 sends."""
    found = FrameReader().feed(bytes(20) + b"\x01000\x02" + payload + ETX + checksum(payload) + b"\x04")
    assert isinstance(found[-1], Frame)
    assert found[-1].checked
    return found[-1].commands[0]


def test_the_recorded_answers_are_read_from_the_wire() -> None:
    memory = Command.decode(_answered(MAP_ANSWER))
    assert (memory.code, memory.label, len(parse_memory(memory.data))) == ("E", "$", 4)
    sequence = Command.decode(_answered(b"E.TUABC"))
    assert parse_run_sequence(sequence.data) == "ABC"
    for bad in (b"", b"T", b"TU\x80"):
        with pytest.raises(BadFrame, match="run sequence"):
            parse_run_sequence(bad)


@pytest.mark.parametrize("bit", range(6))
def test_every_bit_of_the_error_status_has_a_name(bit: int) -> None:
    names = ["parity", "framing", "time-out", "overflow", "checksum", "illegal command"]
    assert status_names(0x40 | 1 << bit) == [names[bit]]


def test_no_error_has_no_name() -> None:
    assert status_names(0x40) == []


def test_every_byte_is_the_same_with_and_without_a_parity_bit() -> None:
    """7E1 and 8N1 carry the same frames, since no legal byte needs the eighth bit."""
    everything = [wire for _, wire in EVERY_COMMAND.values()] + [command for command, _ in VECTORS.values()]
    assert max(max(header() + ending(command)) for command in everything) < 0x80
