"""A small share of `make fuzz`, and proof that it would find what it looks for."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.framing import Deframer
from tests.fuzz.decoders import LIMIT, Decoder, Fed, decoders, held
from tests.fuzz.fire import Broken, fire

COUNT = int(os.environ.get("FUZZ_N", "3000"))
every_decoder = pytest.mark.parametrize("name", list(decoders()))


@every_decoder
def test_no_input_raises_or_stays(name: str) -> None:
    assert fire(decoders()[name], COUNT, seed=1) > 0


@every_decoder
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_no_sequence_of_reads_raises(name: str, data: st.DataObject) -> None:
    decoder = decoders()[name]
    fed = decoder.make()
    reads = st.one_of(st.binary(max_size=200), st.sampled_from(decoder.valid))
    for read in data.draw(st.lists(reads, max_size=20)):
        fed.feed(read)


def test_an_exception_is_found() -> None:
    def feed(data: bytes) -> None:
        if data[:1] == b"\x01":
            raise IndexError

    with pytest.raises(Broken, match="toy: IndexError at input"):
        fire(Decoder("toy", lambda: Fed(None, feed), (b"\0\0",)), 5000, seed=1)


def test_growth_is_found() -> None:
    def make() -> Fed:
        kept: list[bytes] = []
        return Fed(kept, kept.append)

    with pytest.raises(Broken, match="holds"):
        fire(Decoder("hoard", make, (bytes(100),)), 20_000, seed=1)


def test_what_is_held_is_weighed() -> None:
    deframer = Deframer()
    before = held(deframer)
    deframer.feed(b"\x01" * 90)
    assert 80 < held(deframer) - before < 200
    assert LIMIT > 100_000
