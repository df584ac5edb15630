"""CS-10 against a second reading of it: every set of up to three awards, every reading, many pools.

The oracle below was written from the clause alone. It works on one dictionary of what everybody
still has to get, and shares no line with ``daemon.games.jackpot``.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from daemon.games.hands import Category
from daemon.games.jackpot import AWARDED, Claim, JackpotRules, Meter, decide
from tests.table.floor import JACKPOT

F, H, Q, S, R = AWARDED
SEATS = (1, 3, 6)
POOLS = (0, 1, 9_999, 80_000, 400_000, 510_001, 1_000_000, 123_456_789)
SMALL = replace(
    JACKPOT,
    minimum=60_000,
    royal_flush=500_000,
    straight_flush=50_000,
    quads=5_000,
    full_house=1_000,
    flush=500,
)


def pay_order(held: dict[int, Category]) -> list[int]:
    """Art. 10(4) and (7), by repetition: who is next, walking from the first box?"""
    unpaid, order = dict(sorted(held.items())), []
    while unpaid:
        skipping = S in unpaid.values()
        waiting = [
            b for b in unpaid if skipping and unpaid[b] is R and any(o > b for o in unpaid if unpaid[o] is S)
        ]
        passed = [
            b for b in held if held[b] is R and b in unpaid and b not in waiting and order and b < order[-1]
        ]
        box = passed[0] if passed else next(b for b in unpaid if b not in waiting)
        order.append(box)
        del unpaid[box]
    return order


def oracle(
    rules: JackpotRules, held: dict[int, Category], pool: int
) -> tuple[dict[int, tuple[int, int]], int]:
    """What each box gets from pool and house, and the pool when the round has closed."""
    prize = {
        F: rules.flush,
        H: rules.full_house,
        Q: rules.quads,
        S: rules.straight_flush,
        R: rules.royal_flush,
    }
    turns = pay_order(held)
    if rules.award_base == "staged":
        turns = [b for b in SEATS if held.get(b) is S]
        turns += [b for b in SEATS if held.get(b) is R]
        turns += [b for b in SEATS if held.get(b) in (F, H, Q)]
    royals = [b for b in turns if held[b] is R]
    unit, left, out, got = rules.pay_unit, pool, pool == 0, {}
    each = None
    for box in turns:
        kind = held[box]
        if kind is S:
            of = pool if rules.straight_flush_base == "round_start" else left
            amount = max(prize[S], of // 10 // unit * unit)
        elif kind is R:
            if each is None and len(royals) == 1:
                each = max(prize[R], left)
            elif each is None and rules.royal_sharing == "split_max":
                each = max(prize[R], left) // len(royals) // unit * unit
            elif each is None:
                each = max(prize[R], left // len(royals) // unit * unit)
            assert each is not None
            amount = each
        else:
            amount = prize[kind]
        by_house = kind.label in rules.funded_by_house or (out and kind is not R)
        taken = 0 if by_house else min(left, amount)
        left -= taken
        got[box] = (taken, amount - taken)
        out = out or kind is R or left == 0
    return got, left + rules.minimum if out else left


def sets() -> list[dict[int, Category]]:
    return [
        dict(zip(SEATS, kinds, strict=False))
        for count in (1, 2, 3)
        for kinds in product(AWARDED, repeat=count)
    ]


CHOICES: dict[str, tuple[object, object]] = {
    "straight_flush_base": ("round_start", "sequential"),
    "royal_sharing": ("split_max", "each_max"),
    "award_base": ("staged", "turn"),
    "pay_unit": (1, 100),
    "funded_by_house": ((), ("flush", "quads")),
}
READINGS = [dict(zip(CHOICES, values, strict=True)) for values in product(*CHOICES.values())]


@pytest.mark.parametrize("reading", READINGS, ids=lambda r: "-".join(str(v) for v in r.values()))
def test_cs_10_every_set_of_awards(reading: dict[str, Any]) -> None:
    rules = replace(SMALL, **reading)
    assert len(sets()) == 5 + 25 + 125
    for held, pool in product(sets(), POOLS):
        decision = decide(rules, [Claim(box, kind) for box, kind in held.items()], pool)
        expected, after = oracle(rules, held, pool)
        assert {a.box: (a.from_pool, a.from_house) for a in decision.awards} == expected, (held, pool)
        assert decision.pool_after(rules.minimum) == after, (held, pool)
        assert [a.box for a in decision.awards] == pay_order(held), held
        assert all(a.amount == a.from_pool + a.from_house for a in decision.awards)
        assert pool == decision.left + sum(a.from_pool for a in decision.awards)


@pytest.mark.parametrize(
    ("held", "order"),
    [
        ({1: R, 3: S}, [3, 1]),
        ({1: R, 3: S, 6: F}, [3, 1, 6]),
        ({1: F, 3: R, 6: S}, [1, 6, 3]),
        ({1: S, 3: R, 6: F}, [1, 3, 6]),
        ({1: S, 3: R, 6: S}, [1, 6, 3]),
        ({1: R, 3: F, 6: R}, [1, 3, 6]),
    ],
)
def test_cs_10_a_royal_waits_for_the_straight_flushes(held: dict[int, Category], order: list[int]) -> None:
    decision = decide(SMALL, [Claim(box, kind) for box, kind in held.items()], 1_000_000)
    assert [a.box for a in decision.awards] == order == pay_order(held)


def test_j07_a_carried_remainder_makes_the_sum_exact() -> None:
    rate = Fraction(71, 300)
    house = replace(JACKPOT, contribution=rate)
    meter, total = Meter(), Fraction(0)
    for step in range(100_000):
        stake = 100 + step % 37
        meter.contribute(stake, house)
        total += stake * rate
        assert meter.pool == total.numerator // total.denominator
    assert meter.holds()
    assert meter.remainder == total - meter.pool
