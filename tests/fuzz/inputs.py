"""Random inputs, and valid traffic that was changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Final

LONGEST: Final = 600  # bytes of one input, but for a repeated one


def _as_it_is(dice: Random, valid: bytes, other: bytes) -> bytes:
    return valid  # so that a decoder gets beyond its first state


def _flipped(dice: Random, valid: bytes, other: bytes) -> bytes:
    data = bytearray(valid)
    for _ in range(dice.randint(1, 4)):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(data)


def _spliced(dice: Random, valid: bytes, other: bytes) -> bytes:
    return valid[: dice.randint(0, len(valid))] + other[dice.randint(0, len(other)) :]


def _cut(dice: Random, valid: bytes, other: bytes) -> bytes:
    return valid[: dice.randrange(len(valid))]


def _repeated(dice: Random, valid: bytes, other: bytes) -> bytes:
    return valid * dice.randint(2, 5)


def _inserted(dice: Random, valid: bytes, other: bytes) -> bytes:
    at = dice.randint(0, len(valid))
    return valid[:at] + dice.randbytes(dice.randint(1, 8)) + valid[at:]


def _overwritten(dice: Random, valid: bytes, other: bytes) -> bytes:
    at = dice.randrange(len(valid))
    return valid[:at] + bytes([dice.choice((0, 1, 2, 3, 4, 5, 0x0A, 0x0D, 0x7F, 0xFF))]) + valid[at + 1 :]


def _random(dice: Random, valid: bytes, other: bytes) -> bytes:
    return dice.randbytes(dice.randint(0, 64))


CHANGES: Final[tuple[Callable[[Random, bytes, bytes], bytes], ...]] = (
    *(_as_it_is, _flipped, _spliced, _cut, _repeated, _inserted, _overwritten, _random),
)


def inputs(valid: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """So many inputs; the same for the same seed."""
    dice = Random(seed)
    for _ in range(count):
        change = dice.choice(CHANGES)
        yield change(dice, dice.choice(valid)[:LONGEST], dice.choice(valid)[:LONGEST])
