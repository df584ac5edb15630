"""FDP/1 frames against vectors that nothing of ours computes, and the strictness of decoding."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from drivers import fdp
from drivers.cards import DECK, FaceDownCard, parse_card
from drivers.fdp import BadFrame, Outcome, Role, decode, encode

RECORDS = Path(__file__).parents[1] / "records"
VECTORS = json.loads((RECORDS / "fdp_vectors.json").read_text(encoding="ascii"))["vectors"]


def down(name: str) -> FaceDownCard:
    return FaceDownCard(parse_card(name))


# The meaning of each vector, in the order of the file.
MEANINGS: list[fdp.Frame] = [
    fdp.Hello(7, 42, Role.SHOE, "SHOE0001", "SIM-1.0", bytes.fromhex("DEADBEEF00010203")),
    fdp.Hello(65535, 0, Role.SHUFFLER, "SHUF", "2.0", bytes.fromhex("FF00FF00FF00FF00")),
    fdp.Status(state=1, fault=0, last_event=42, uptime=3600, cards=52),
    fdp.Status(8, 15, 65535, 4294967295, 65535),
    fdp.CardOut(1, down("8S")),
    fdp.CardOut(2, down("AD"), face_up=True),
    fdp.CardOut(65535, down("KH"), sure=False),
    fdp.CardOut(256, down("10C"), face_up=True, sure=False),
    fdp.CardOut(5, None),
    fdp.CutCard(6),
    fdp.Cover(7, True),
    fdp.Cover(8, False),
    fdp.ShuffleStarted(9, 256),
    fdp.ShuffleDone(10, 256, 52),
    fdp.PacketOut(11, 0, 5),
    fdp.PacketTaken(12, 0),
    fdp.CardsIn(13, 52),
    fdp.FaultSet(14, 2),
    fdp.FaultCleared(15, 2),
    fdp.Result(258, Outcome.DONE, 0),
    fdp.Result(258, Outcome.ACCEPTED, 0),
    fdp.Result(258, Outcome.REFUSED, 8),
    fdp.Result(258, Outcome.BUSY, 5),
    fdp.Result(65535, Outcome.NEVER_SEEN, 0),
    fdp.Ack(1),
    fdp.Nak(65535),
    fdp.GetHello(),
    fdp.GetStatus(),
    fdp.GetEvents(1),
    fdp.Query(258),
    fdp.Lock(258),
    fdp.Unlock(259),
    fdp.Shuffle(260),
    fdp.Deal(261, packets=8, cards_each=5),
    fdp.Stop(262),
    fdp.ClearFault(263),
]  # fmt: skip


def plain_crc(data: bytes) -> int:
    """CRC-16/KERMIT bit by bit: polynomial 1021 reflected, start 0."""
    register = 0
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x8408 if register & 1 else 0)
    return register


def plain_stuffing(data: bytes) -> bytes:
    """COBS of fewer than 254 bytes: each run between zeros, led by its length and one."""
    return b"".join(bytes([len(run) + 1]) + run for run in data.split(b"\0"))


def test_the_plain_crc_has_the_published_check_value() -> None:
    assert plain_crc(b"123456789") == 0x2189


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vectors_are_right_by_plain_arithmetic(vector: dict[str, str]) -> None:
    body = bytes.fromhex(vector["body"])
    crc = plain_crc(body)
    wire = plain_stuffing(body + bytes([crc & 0xFF, crc >> 8]))
    assert bytes.fromhex(vector["wire"]) == b"\0" + wire + b"\0"


@pytest.mark.parametrize(
    ("vector", "frame"), list(zip(VECTORS, MEANINGS, strict=True)), ids=[v["name"] for v in VECTORS]
)
def test_vectors_both_ways(vector: dict[str, str], frame: fdp.Frame) -> None:
    body = bytes.fromhex(vector["body"])
    assert decode(body) == frame
    if vector["name"] != "HELLO shuffler, no events":  # its text is padded with NUL, ours with blanks
        assert encode(frame, body[2]) == bytes.fromhex(vector["wire"])


def test_every_frame_type_has_a_vector() -> None:
    assert {frame.CODE for frame in MEANINGS} == set(fdp.FRAMES)


def test_card_bytes() -> None:
    for card in DECK:
        frame = decode(bytes([1, 0x10, 0, 0, 1, fdp.byte_from_card(card), 0]))
        assert frame == fdp.CardOut(1, FaceDownCard(card))
    published = {"8S": 0x38, "AD": 0x11, "KH": 0x4D, "10C": 0x2A, "5C": 0x25}
    assert {name: fdp.byte_from_card(parse_card(name)) for name in published} == published
    legal = {fdp.byte_from_card(card) for card in DECK}
    for byte in set(range(1, 256)) - legal:
        assert decode(bytes([1, 0x10, 0, 0, 1, byte, 0])) == fdp.CardOut(1, None, foreign=True)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("02 40 00", "another protocol version"),
        ("00 01 40 00", "another protocol version"),
        ("01 99 00", "unknown frame type"),
        ("01 10 01 00 01 38", "wrong length"),
        ("01 10 01 00 01 38 00 00", "wrong length"),
        ("01 40 00 00", "wrong length"),
        ("01 10 01 00 00 38 00", "event number 0"),
        ("01 12 01 00 01 02", "a cover is open or closed"),
        ("01 50 01 00 01 05 00", "no such outcome"),
        ("01 01 00 00 07 00 2A 03" + " 41" * 24, "no such role"),
        ("01 01 00 00 07 00 2A 01" + " 0A" * 24, "text is not printable ASCII"),
        ("01 01 00 00 07 00 2A 01" + " C1" * 24, "text is not printable ASCII"),
    ],
)
def test_what_cannot_be_is_a_bad_frame(body: str, reason: str) -> None:
    with pytest.raises(BadFrame, match=f"^{reason}$"):
        decode(bytes.fromhex(body))


def test_decoding_noise_only_ever_raises_bad_frame() -> None:
    for kind in range(256):
        for length in range(40):
            body = bytes([1, kind, 0]) + b"\xa5" * length
            try:
                frame = decode(body)
            except BadFrame:
                continue
            assert fdp.FRAMES[kind] is type(frame)


def test_a_field_out_of_range_is_not_encoded() -> None:
    with pytest.raises(struct.error):
        encode(fdp.Ack(65536), 0)


def test_no_face_in_a_frame_or_in_an_error() -> None:
    for card in DECK:
        shown = repr(fdp.CardOut(1, FaceDownCard(card)))
        assert shown == "CardOut(event=1, face=FaceDownCard, face_up=False, sure=True, foreign=False)"


@pytest.mark.parametrize("byte", ["10", "3E", "5F", "01", "FF"])
def test_a_card_that_is_none_of_the_52_is_an_event_all_the_same(byte: str) -> None:
    assert decode(bytes.fromhex(f"01 10 01 00 01 {byte} 00")) == fdp.CardOut(1, None, foreign=True)


def test_only_reminders_let_a_deal_go_on() -> None:
    assert [code for code in range(1, 256) if not fdp.stops_deal(code)] == [0x0B, 0x10]
    assert fdp.fault_text(0x02) == "A card is jammed in the transport."
    assert "2A" in fdp.fault_text(0x2A)
    assert all(fdp.fault_text(code).endswith(".") for code in range(1, 256))
