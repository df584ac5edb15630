"""The decision in the database beside the one at a table that owns its pool (CS-10)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from psycopg.types.json import Jsonb

from daemon.games.jackpot import AWARDED, Claim, JackpotRules, Meter, decide
from daemon.linked.entries import canonical, fingerprint
from tests.linked.house import House
from tests.table.floor import JACKPOT

CASES = 2_500
LABELS = [category.label for category in AWARDED]
DECIDE = """
    SELECT d.awards, d.pool_left, d.emptied
    FROM unnest(%s::jsonb[], %s::bigint[], %s::jsonb[]) WITH ORDINALITY AS c (rules, pool, claims, nth),
    LATERAL (SELECT array_agg(box) AS boxes, array_agg(category) AS categories
        FROM jsonb_to_recordset(c.claims) AS x (box int, category text)) AS a,
    LATERAL linked.decide(c.rules, c.pool, a.boxes, a.categories) AS d ORDER BY c.nth"""
SEED = """
    SELECT s.* FROM unnest(%s::jsonb[], %s::bigint[], %s::bigint[], %s::bigint[]) WITH ORDINALITY
        AS c (rules, pool, overflow, reserve, nth),
    LATERAL linked.new_minimum(c.rules, c.pool, c.overflow, c.reserve) AS s ORDER BY c.nth"""


def some_rules(chance: random.Random) -> JackpotRules:
    """Every reading of CS-10, small and large prizes, with and without a limit."""
    scale = chance.choice((1, 10, 1_000, 100_000))
    minimum = chance.randrange(1, 600) * scale
    return JackpotRules(
        stake=1_000,
        contribution=Fraction(71, 100),
        minimum=minimum,
        royal_flush=chance.randrange(1, 600) * scale,
        straight_flush=chance.randrange(1, 60) * scale,
        quads=chance.randrange(1, 60) * scale,
        full_house=chance.randrange(1, 60) * scale,
        flush=chance.randrange(1, 60) * scale,
        pay_unit=chance.choice((1, 1, 7, 100, 10_000)),
        straight_flush_base=chance.choice(("round_start", "sequential")),
        royal_sharing=chance.choice(("split_max", "each_max")),
        award_base=chance.choice(("staged", "turn")),
        funded_by_house=tuple(label for label in LABELS if chance.random() < 0.2),
        limit=chance.choice((None, minimum, minimum * 2)),
        overflow=chance.choice(("next_pool", "kept")),
    )


def some_claims(chance: random.Random) -> list[Claim]:
    """Awards that matter to each other more often than chance would have them; in no order."""
    boxes = chance.sample(range(1, 8), chance.randrange(1, 8))
    return [Claim(box, chance.choices(AWARDED, (1, 1, 2, 4, 4))[0]) for box in boxes]


def cases() -> Iterator[tuple[JackpotRules, int, list[Claim]]]:
    chance = random.Random(10)
    for _ in range(CASES):
        rules = some_rules(chance)
        pool = chance.choice((0, 1, rules.minimum, chance.randrange(10**4), chance.randrange(10**10)))
        yield rules, pool, some_claims(chance)


def as_rows(rules: JackpotRules, pool: int, claims: list[Claim]) -> tuple[list[dict[str, Any]], int, bool]:
    made = decide(rules, claims, pool)
    awards = [
        {
            "place": place,
            "box": award.box,
            "category": award.category.label,
            "amount": award.amount,
            "from_pool": award.from_pool,
            "from_house": award.from_house,
        }
        for place, award in enumerate(made.awards, 1)
    ]
    return awards, made.left, made.emptied


def test_the_database_decides_as_a_table_does(house: House) -> None:
    every = list(cases())
    rows = house.admin.connection.execute(
        DECIDE,
        (
            [canonical(rules) for rules, _, _ in every],
            [pool for _, pool, _ in every],
            [Jsonb([{"box": c.box, "category": c.category.label} for c in claims]) for *_, claims in every],
        ),
    ).fetchall()
    assert len(rows) == CASES
    for case, row in zip(every, rows, strict=True):
        assert row == as_rows(*case), case


def test_a_new_minimum_comes_from_where_a_table_takes_it(house: House) -> None:
    chance = random.Random(8)
    every = [
        (some_rules(chance), chance.randrange(5), chance.randrange(3) * 10**6, chance.randrange(3) * 10**4)
        for _ in range(CASES // 4)
    ]
    columns = list(zip(*((canonical(r), pool, over, kept) for r, pool, over, kept in every), strict=True))
    rows = house.admin.connection.execute(SEED, [list(column) for column in columns]).fetchall()
    for (rules, pool, overflow, reserve), row in zip(every, rows, strict=True):
        seed = Meter(pool=pool, overflow=overflow, reserve=reserve).restart(rules)
        assert row == (seed.from_house, seed.from_reserve, seed.from_overflow), (rules, overflow, reserve)


def test_the_rules_that_differ_have_another_fingerprint(house: House) -> None:
    """What the database computes of the rules is what a table computes."""
    found = house.admin.connection.execute(
        "SELECT fingerprint FROM linked.pools WHERE name = %s", (house.pool,)
    ).fetchone()
    assert found == (fingerprint(JACKPOT),)
    assert fingerprint(replace(JACKPOT, quads=1)) != fingerprint(JACKPOT)
