"""Whatever the tables send: their sum is the movement of the pool, to the unit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.games.jackpot import AWARDED, Claim, JackpotRules, Meter, decide
from daemon.linked.entries import Day, Movement
from tests.linked.house import EVER, House, Table
from tests.linked.postgres import Server
from tests.table.floor import JACKPOT

SMALL = replace(
    JACKPOT, minimum=2_000, royal_flush=3_000, straight_flush=300, quads=200, full_house=90, flush=40
)
TABLES = 3


@dataclass
class Model:
    """The pool as one table of its own would keep it, in the order of the commits."""

    rules: JackpotRules
    meter: Meter

    def contribute(self, amounts: tuple[int, ...], reserve: int) -> None:
        for amount in amounts:
            room = amount if self.rules.limit is None else max(0, self.rules.limit - self.meter.pool)
            self.meter.pool += min(amount, room)
            self.meter.overflow += amount - min(amount, room)
            self.meter.reserve += reserve
            self.meter.contributed += amount + reserve

    def claim(self, claims: tuple[Claim, ...]) -> None:
        made = decide(self.rules, claims, self.meter.pool)
        for award in made.awards:
            self.meter.award(award.from_pool)
        if made.emptied:
            self.meter.restart(self.rules)


tables = st.integers(0, TABLES - 1)
contributions = st.tuples(
    st.just("contribute"), tables, st.lists(st.integers(0, 900), min_size=1, max_size=5), st.integers(0, 100)
)
corrections = st.tuples(st.just("correct"), tables, st.integers(-2_500, 900).filter(bool))
claims = st.tuples(
    st.just("claim"),
    tables,
    st.dictionaries(st.integers(1, 7), st.sampled_from(AWARDED), min_size=1, max_size=4),
)
acts = st.lists(contributions | corrections | claims, min_size=1, max_size=14)
rule_sets = st.sampled_from(
    [SMALL, replace(SMALL, limit=2_600), replace(SMALL, limit=2_600, overflow="kept", pay_unit=50)]
)


def do(act: tuple[object, ...], at: list[Table], model: Model) -> None:
    match act:
        case ("contribute", int(n), list(amounts), int(reserve)):
            batch = at[n].record(amounts, reserve)
            at[n].authority.append(batch)
            at[n].authority.append(batch)
            model.contribute(tuple(amounts), reserve)
        case ("correct", int(n), int(amount)):
            if model.meter.pool + amount >= 0:
                at[n].correct(amount)
                model.meter.correct(amount)
        case ("claim", int(n), dict(hands)):
            claim = at[n].asks(**{f"box{box}": category for box, category in hands.items()})
            assert at[n].authority.claim(claim) == at[n].authority.claim(claim)
            model.claim(claim.claims)


@settings(max_examples=8, deadline=None)
@given(rules=rule_sets, acts=acts)
def test_the_sum_of_the_tables_is_the_movement_of_the_pool(
    server: Server, rules: JackpotRules, acts: list[tuple[object, ...]]
) -> None:
    with House(server, rules) as house:
        at = [house.table(str(n)) for n in range(TABLES)]
        model = Model(rules, Meter(pool=rules.minimum, minimums=rules.minimum))
        middle = house.floor.balance().at
        for number, act in enumerate(acts):
            do(act, at, model)
            assert house.balance == model.meter.pool
            if number == len(acts) // 2:
                middle = house.floor.balance().at
        assert model.meter.holds()
        assert house.problems() == []
        first = house.floor.day(EVER[0], middle)
        second = house.floor.day(middle, EVER[1])
        assert first.problems() == second.problems() == []
        assert first.closing == second.opening
        held = second.closing
        assert (held.pool, held.overflow, held.reserve) == (
            model.meter.pool,
            model.meter.overflow,
            model.meter.reserve,
        )


def test_a_day_that_does_not_agree_says_where(house: House) -> None:
    house.table("1").contribute(5, reserve=2)
    day = house.floor.day(*EVER)
    lost = replace(day, movements=tuple(each for each in day.movements if each.kind != "contribution"))
    assert lost.problems() == [
        f"pool: 0 at the opening and {JACKPOT.minimum} moved are not {JACKPOT.minimum + 5}",
        "reserve: 0 at the opening and 0 moved are not 2",
    ]
    bent = tuple(replace(each, stakes=each.stakes + 1) for each in day.movements)
    assert "the sides differ by 1" in replace(day, movements=bent).problems()[0]


def test_a_day_begins_where_the_one_before_ended(house: House) -> None:
    table = house.table("1")
    table.contribute(5)
    midnight = house.floor.balance().at
    table.contribute(7, 8)
    before = house.floor.day(midnight - timedelta(days=1), midnight)
    after = house.floor.day(midnight, midnight + timedelta(days=1))
    assert _contributed(before) == [(1, 5)]
    assert _contributed(after) == [(2, 15)]
    assert before.closing == after.opening


def _contributed(day: Day) -> list[tuple[int, int]]:
    moved: list[Movement] = [each for each in day.movements if each.kind == "contribution"]
    return [(each.lines, each.pool) for each in moved]
