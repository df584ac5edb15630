"""Main and side pots against two other ways to settle: one unit after the other, and PokerKit's.

FC-15 makes the pots, FC-09 rakes them, FC-04 divides them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

import pytest
from pokerkit import (
    Automation,
    BettingStructure,
    Card,
    Deck,
    Mode,
    Opening,
    StandardHighHand,
    State,
    Street,
)

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

# Two pair beats ace high beats ten high; within a class nobody beats anybody.
CLASSES = (
    ("Tc8d7h6s4c", "Td8h7s6c4d", "Th8s7c6d4h", "Ts8c7d6h4s"),
    ("AcKdQhJs9c", "AdKhQsJc9d", "AhKsQcJd9h", "AsKcQdJh9s"),
    ("5c5d3c3d2c", "5h5s3h3s2h"),
)
ORDER = {hand: order for order, hands in enumerate(CLASSES) for hand in hands}
PARTS = 420  # divisible by every number of winners
DEEPEST = 12  # such parts in a stack
OWN = tuple(each for each in Automation if each is not Automation.HOLE_DEALING)
STREETS = (
    Street(False, (False,) * 4, 0, False, Opening.POSITION, PARTS, None),
    Street(False, (False,), 0, False, Opening.POSITION, PARTS, None),
)


def played(stacks: list[int], hands: list[str], dice: Random) -> tuple[list[int], list[int], list[int]]:
    """A game of PokerKit's with two betting rounds, in which everybody does what the dice say.

    What each one bet, the ante apart; who is still in; and the stacks in the end.
    """
    state = State(
        OWN, Deck.STANDARD, (StandardHighHand,), STREETS, BettingStructure.NO_LIMIT, True,
        PARTS, 0, 0, stacks, len(stacks), mode=Mode.CASH_GAME,
    )  # fmt: skip
    bets, still_in = [0] * len(stacks), [*range(len(stacks))]
    cards = [Card.parse(hand) for hand in hands]
    while state.status:
        seat = state.actor_index
        if seat is None:
            dealee = state.hole_dealee_index
            assert dealee is not None
            state.deal_hole((next(cards[dealee]),))
            continue
        before, word = state.bets[seat], dice.randrange(8)
        least = state.min_completion_betting_or_raising_to_amount
        most = state.max_completion_betting_or_raising_to_amount
        if word == 0 and state.checking_or_calling_amount:  # it knows no fold without a reason
            state.fold()
            still_in.remove(seat)
        elif word < 5 or least is None or most is None:
            bets[seat] += state.check_or_call().amount
        else:
            to = most if word == 7 else dice.randrange(least, min(most, least + 3 * PARTS) + 1, PARTS)
            state.complete_bet_or_raise_to(to)
            bets[seat] += to - before
    return bets, still_in, list(state.stacks)


def agree_with_pokerkit(count: int, seed: int) -> None:
    dice, side, tie, given_up = Random(seed), 0, 0, 0
    for _ in range(count):
        seats = dice.randint(2, 7)
        stacks = [PARTS * dice.randint(1, DEEPEST) for _ in range(seats)]
        hands = dice.sample([*ORDER], seats)
        bets, still_in, theirs = played([PARTS + stack for stack in stacks], hands, dice)
        orders = {seat: ORDER[hands[seat]] for seat in still_in}
        ours, _raked = settled(dict(enumerate(bets)), still_in, PARTS * seats, orders, 0, 1)
        assert [stacks[seat] - bets[seat] + ours[seat] for seat in range(seats)] == theirs, (bets, orders)
        side += len({bets[seat] for seat in still_in}) > 1
        tie += sum(ours[seat] > 0 for seat in still_in) > 1
        given_up += any(bets[seat] for seat in range(seats) if seat not in still_in)
    assert min(side, tie, given_up) > count / 10


def test_fc15_side_pots_are_those_of_pokerkit() -> None:
    agree_with_pokerkit(400, seed=15)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_fc15_a_hundred_thousand_side_pots_are_those_of_pokerkit() -> None:
    agree_with_pokerkit(100_000, seed=104)


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
