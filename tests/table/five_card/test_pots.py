"""Main and side pots against two other ways to settle: one unit after the other, and PokerKit's.

FC-15 makes the pots, FC-09 rakes them, FC-04 divides them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from random import Random

import pytest
from pokerkit import Automation, NoLimitTexasHoldem

from daemon.games.pots import Pot, divide, rake_of, share, unfollowed

Structure = tuple[dict[int, int], list[int], int, dict[int, int], int, int]


def settled(
    bets: Mapping[int, int],
    still_in: list[int],
    antes: int,
    orders: Mapping[int, int],
    percent: int,
    unit: int,
) -> tuple[dict[int, int], int]:
    """What each seat gets and what the house takes, by the functions under test."""
    got, followed = dict.fromkeys(bets, 0), dict(bets)
    seat, excess = unfollowed(bets, still_in)
    if excess:
        got[seat] += excess
        followed[seat] -= excess
    raked = 0
    for pot in divide(followed, still_in, antes):
        each = share(pot, orders, rake_of(pot.amount, percent, unit), unit)
        raked += each.rake
        for winner, amount in each.won.items():
            got[winner] += amount
    return got, raked


def one_by_one(
    bets: Mapping[int, int],
    still_in: list[int],
    antes: int,
    orders: Mapping[int, int],
    percent: int,
    unit: int,
) -> tuple[dict[int, int], int]:
    """The same, each minor unit put on the pile of those who can win it, and dealt out again one by one."""
    got, piles, raked = dict.fromkeys(bets, 0), {}, 0
    everybody = tuple(seat for seat in bets if seat in still_in)
    piles[everybody] = antes
    last = everybody
    for height in range(1, max(bets.values()) + 1):
        payers = [seat for seat in bets if bets[seat] >= height]
        if len(payers) == 1 and payers[0] in still_in:
            got[payers[0]] += 1
            continue
        last = tuple(seat for seat in payers if seat in still_in) or last
        piles[last] = piles.get(last, 0) + len(payers)
    for seats, amount in piles.items():
        rake = amount * percent // (100 * unit) * unit
        raked += rake
        winners = [seat for seat in seats if len(seats) == 1 or orders[seat] == max(orders[s] for s in seats)]
        turn, left = 0, amount - rake
        while left:
            part = min(unit, left)
            got[winners[turn % len(winners)]] += part
            left, turn = left - part, turn + 1
    return got, raked


def structures(count: int, seed: int) -> Iterator[Structure]:
    dice = Random(seed)
    for _ in range(count):
        seats = sorted(dice.sample(range(1, 9), dice.randint(2, 7)))
        most = dice.choice((2, 9, 60))
        bets = {seat: dice.randint(0, most) for seat in seats}
        still_in = sorted(dice.sample(seats, dice.randint(1, len(seats))))
        orders = {seat: dice.randint(1, dice.choice((1, 3, 9))) for seat in still_in}
        antes = dice.randint(0, 90)
        yield bets, still_in, antes, orders, dice.choice((0, 3, 4)), dice.choice((1, 1, 2, 5, 10))


def agree(count: int, seed: int) -> None:
    seen_side = seen_tie = 0
    for structure in structures(count, seed):
        bets, still_in, antes, orders, *_ = structure
        got, raked = settled(*structure)
        assert (got, raked) == one_by_one(*structure), structure
        assert sum(got.values()) + raked == sum(bets.values()) + antes
        seen_side += len({bets[seat] for seat in still_in}) > 2
        seen_tie += len(set(orders.values())) < len(orders)
    assert seen_side > count / 5
    assert seen_tie > count / 5


def test_fc15_fc09_fc04_pots_are_what_one_unit_after_the_other_gives() -> None:
    agree(4_000, seed=85)


@pytest.mark.slow
def test_fc15_a_hundred_thousand_structures() -> None:
    agree(100_000, seed=104)


# --- PokerKit: no rake, no odd chips -------------------------------------------------------------

PAIRS = ("KcKd", "KhKs", "QcQd", "QhQs", "JcJd", "JhJs", "TcTd", "ThTs", "7c7d", "7h7s")
BOARD = "2c3d5h8s9c"
PARTS = 420  # divisible by every number of winners


def by_pokerkit(
    bets: dict[int, int], still_in: list[int], ante: int, holes: dict[int, str]
) -> dict[int, int]:
    """Chips of each seat in the end, when everybody still in puts in all it has before the flop."""
    seats = list(bets)
    automations = [each for each in Automation if each is not Automation.HOLE_DEALING]
    stacks = [ante + (bets[seat] if seat in still_in else PARTS) for seat in seats]
    state = NoLimitTexasHoldem.create_state(
        tuple(each for each in automations if each is not Automation.BOARD_DEALING),
        True, ante, (0, 0), 1, stacks, len(seats),
    )  # fmt: skip
    for seat in seats:
        state.deal_hole(holes[seat])
    while state.actor_index is not None:
        seat = seats[state.actor_index]
        if seat not in still_in and state.can_fold():
            state.fold()
        elif seat in still_in and state.can_complete_bet_or_raise_to(bets[seat]):
            state.complete_bet_or_raise_to(bets[seat])
        else:
            state.check_or_call()
    for cards in (BOARD[:6], BOARD[6:8], BOARD[8:]):
        if state.can_burn_card("??"):
            state.burn_card("??")
        if state.can_deal_board(cards):
            state.deal_board(cards)
    return {seat: state.stacks[index] for index, seat in enumerate(seats)}


def agree_with_pokerkit(count: int, seed: int) -> None:
    dice, seen_side = Random(seed), 0
    for _ in range(count):
        seats = list(range(1, dice.randint(2, 7) + 1))
        still_in = sorted(dice.sample(seats, dice.randint(2, len(seats))))
        bets = {seat: PARTS * dice.randint(1, 6) if seat in still_in else 0 for seat in seats}
        pairs = dice.sample(PAIRS, len(seats))
        holes = dict(zip(seats, pairs, strict=True))
        orders = {seat: "7TJQK".index(holes[seat][0]) for seat in still_in}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # PokerKit's on cards it does not know of
            theirs = by_pokerkit(bets, still_in, PARTS, holes)
        ours, _raked = settled(bets, still_in, PARTS * len(seats), orders, 0, 1)
        spare = {seat: 0 if seat in still_in else PARTS for seat in seats}
        assert {seat: ours[seat] + spare[seat] for seat in seats} == theirs
        seen_side += len({bets[seat] for seat in still_in}) > 2
    assert seen_side > count / 5


def test_fc15_side_pots_are_those_of_pokerkit() -> None:
    agree_with_pokerkit(150, seed=15)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_fc15_thousands_of_side_pots_are_those_of_pokerkit() -> None:
    agree_with_pokerkit(2_000, seed=104)


# --- by hand ------------------------------------------------------------------------------------


def test_fc15_three_levels() -> None:
    pots = divide({1: 50, 2: 100, 3: 300, 4: 300, 5: 20}, [1, 2, 3, 4], antes=10)
    assert pots == [Pot(230, (1, 2, 3, 4)), Pot(150, (2, 3, 4)), Pot(400, (3, 4))]


def test_fc15_who_is_unfollowed() -> None:
    assert unfollowed({1: 500, 2: 80, 3: 0}, [1, 2]) == (1, 420)
    assert unfollowed({1: 500, 2: 500}, [1]) == (0, 0)
    assert unfollowed({1: 0}, [1]) == (0, 0)
    assert unfollowed({1: 500, 2: 80}, [2]) == (0, 0)


def test_fc09_rake_is_floored_for_each_pot() -> None:
    assert [rake_of(amount, 4, 100) for amount in (212_000, 112_000)] == [8_400, 4_400]
    assert rake_of(212_000 + 112_000, 4, 100) == 12_900
    assert rake_of(174_000, 4, 1) == 6_960
    assert rake_of(24, 4, 1) == 0
