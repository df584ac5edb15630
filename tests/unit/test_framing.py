"""Frames: COBS, CRC, resynchronisation, bounded memory."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.base import Drop
from drivers.framing import MAX_BODY, Deframer, encode_frame

BODY = bytes.fromhex("01 10 01 00 01 38 00")


def fed(chunks: Iterable[bytes]) -> list[bytes | Drop]:
    deframer = Deframer()
    return [piece for chunk in chunks for piece in deframer.feed(chunk)]


def drops(data: bytes) -> list[str]:
    return [piece.reason for piece in fed([data]) if isinstance(piece, Drop)]


@given(st.binary(min_size=3, max_size=MAX_BODY - 2))
def test_a_body_survives_its_frame(body: bytes) -> None:
    wire = encode_frame(body)
    assert wire[0] == wire[-1] == 0
    assert 0 not in wire[1:-1]
    assert fed([wire]) == [body]


def test_a_body_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="95 bytes"):
        encode_frame(bytes(95))


def streams() -> st.SearchStrategy[bytes]:
    """Frames, noise and delimiters in any order."""
    frame = st.binary(min_size=3, max_size=MAX_BODY - 2).map(encode_frame)
    noise = st.binary(max_size=250)
    return st.lists(frame | noise | st.just(b"\0"), max_size=8).map(b"".join)


@given(streams(), st.lists(st.integers(0, 600), max_size=12))
def test_any_chunking_gives_the_same(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(stream)]
    chunks = [stream[a:b] for a, b in pairwise(edges)]
    whole = fed([stream])
    assert fed(chunks) == whole
    assert fed(stream[i : i + 1] for i in range(len(stream))) == whole


def test_each_kind_of_damage_has_its_reason() -> None:
    flipped = bytearray(encode_frame(BODY))
    flipped[2] ^= 0x80
    assert drops(bytes(flipped)) == ["wrong checksum"]
    assert drops(b"\0\x05\x01\0") == ["bad stuffing"]
    assert drops(b"\0\x02\x01\0") == ["frame too short"]
    assert drops(b"\0" + b"\x01" * 98 + b"\0") == ["frame too long"]
    assert drops(b"\0\0\0") == []


def test_a_good_frame_after_a_hundred_thousand_random_bytes() -> None:
    noise = Random(4).randbytes(100_000)
    deframer = Deframer()
    for start in range(0, len(noise), 1000):
        deframer.feed(noise[start : start + 1000])
    assert deframer.feed(encode_frame(BODY))[-1] == BODY


def test_an_endless_frame_is_told_at_once_and_only_once() -> None:
    deframer = Deframer()
    told = [deframer.feed(b"\x01" * 50) for _ in range(20_000)]
    assert told[0] == []
    assert told[1] == [Drop("frame too long")]
    assert not any(told[2:])
    assert len(deframer._pending) <= MAX_BODY + 2
    assert deframer.feed(encode_frame(BODY)) == [BODY]


def test_clear_forgets_half_a_frame() -> None:
    wire = encode_frame(BODY)
    deframer = Deframer()
    assert deframer.feed(wire[:5]) == []
    assert deframer.clear()
    assert not deframer.clear()
    assert deframer.feed(wire[5:]) != [BODY]
    assert deframer.feed(wire) == [BODY]
