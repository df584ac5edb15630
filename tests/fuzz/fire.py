"""Feeds one decoder with many inputs and weighs it meanwhile."""

from __future__ import annotations

from typing import Final

from tests.fuzz.decoders import Decoder, held
from tests.fuzz.inputs import inputs

WEIGH_EVERY: Final = 10_000


class Broken(AssertionError):
    """A decoder raised, or holds too much; the text says which input of which seed did it."""


def fire(decoder: Decoder, count: int, seed: int) -> int:
    """Feed ``count`` inputs; how many bytes they were. Raises :class:`Broken`."""
    fed = decoder.make()
    empty, total = held(fed.root), 0
    for number, data in enumerate(inputs(decoder.valid, count, seed), start=1):
        total += len(data)
        try:
            fed.feed(data)
        except Exception as error:
            told = f"{decoder.name}: {type(error).__name__} at input {number} of seed {seed}: {data.hex(' ')}"
            raise Broken(told) from error
        if number % WEIGH_EVERY == 0 or number == count:
            grown = held(fed.root) - empty
            if grown > decoder.limit:
                raise Broken(f"{decoder.name} holds {grown} bytes more after input {number} of seed {seed}")
    return total
