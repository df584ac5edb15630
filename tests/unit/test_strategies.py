"""The players' strategies: where each draws its line, and that the best one weighs exactly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, permutations, product
from random import Random

import pytest

from daemon.games.hands import Category, category_of, qualifies, rank_61_2004
from daemon.strategies import STRATEGIES, expected_raise, optimal
from drivers.cards import DECK, Card, Suit, parse_card, parse_cards

ALL_HANDS = 2_598_960


@pytest.mark.parametrize(
    ("strategy", "raises", "folds"),
    [
        ("ak", "AD KC 4D 3D 2H", "AS QS JS 10S 8H"),
        ("akj83", "AC KC JC 8C 3D", "AS KS JS 8S 2H"),
        ("akj83", "AD KC JD 8D 4D", "AS KS JS 7S 6H"),
        ("pair-plus", "2D 2C 3D 4D 5D", "AS KS QS JS 9H"),
    ],
)
def test_the_weakest_hand_that_a_strategy_raises(strategy: str, raises: str, folds: str) -> None:
    up = parse_card("9D")
    assert STRATEGIES[strategy](parse_cards(raises), up)
    assert not STRATEGIES[strategy](parse_cards(folds), up)


def test_blind_raises_everything() -> None:
    assert STRATEGIES["blind"](parse_cards("7D 5C 4D 3D 2D"), parse_card("AS"))


@pytest.mark.parametrize(
    ("cards", "up", "raises"),
    [  # the published rule of thumb, where it is certain
        ("2S 2H 3D 4C 7S", "AS", True),
        ("AS QH JD 10C 8S", "9D", False),
        ("AS KH QD 9C 4S", "QS", True),
        ("AS KH JD 9C 4S", "AD", True),
        ("AS KH 9D 8C 4S", "AD", False),
        ("AS KH 9D 8C 4S", "2D", False),
        ("AS KH QD 9C 4S", "8D", True),
        ("AS KH JD 9C 4S", "8D", False),
    ],
)
def test_optimal_follows_the_published_rule(cards: str, up: str, raises: bool) -> None:
    assert optimal(parse_cards(cards), parse_card(up)) is raises


def _enumerated(cards: list[Card], up: Card) -> int:
    """What a raise wins over all 163,185 dealer hands, hand by hand."""
    rest = [card for card in DECK if card not in cards and card is not up]
    mine, total = rank_61_2004(cards), 0
    for four in combinations(rest, 4):
        dealer = [up, *four]
        total += 1 if not qualifies(dealer) else 3 if rank_61_2004(dealer) < mine else -3
    return total


@pytest.mark.parametrize(
    ("cards", "up"), [("AC KC 9H 7D 4S", "JD"), ("AS KH JC 7S 6H", "AH"), ("AD KC QS 8D 3D", "KD")]
)
def test_a_raise_is_weighed_exactly(cards: str, up: str) -> None:
    hand = parse_cards(cards)
    assert expected_raise(hand, parse_card(up)) == _enumerated(hand, parse_card(up))


def _ace_king_classes() -> Iterator[tuple[list[Card], int]]:
    """Every ace-king hand up to the names of suits that do not decide, with how many there are.

    The order of suits matters only between two hands of the same ranks, by the ace; so suits
    may be renamed where the ace's suit keeps its place. Three places below the ace are alike.
    """
    for kickers in combinations(range(2, 13), 3):
        ranks = (14, 13, *kickers)
        if kickers == (10, 11, 12):
            continue
        for ace in Suit:
            below: dict[tuple[int, ...], list[tuple[Suit, ...]]] = defaultdict(list)
            for suits in product(Suit, repeat=4):
                names = {ace: 0}
                below[tuple(names.setdefault(suit, len(names)) for suit in suits)].append(suits)
            for pattern, alike in below.items():
                if set(pattern) != {0}:  # a flush otherwise
                    suits = (ace, *alike[0])
                    yield [Card(r, s) for r, s in zip(ranks, suits, strict=True)], len(alike)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_optimal_raises_as_often_as_was_published() -> None:
    """52.22529 % of hands (numbers.md), over every ace-king hand and every open card."""
    better = ALL_HANDS - 1_302_540
    raised = 0
    for cards, alike in _ace_king_classes():
        for up in DECK:
            if up not in cards:
                raised += alike * optimal(cards, up)
    rate = (better + Fraction(raised, 47)) / ALL_HANDS
    assert round(rate * 100, 5) == Fraction(5222529, 100000)


def test_the_classes_are_all_ace_king_hands() -> None:
    hands = sum(alike for _, alike in _ace_king_classes())
    assert hands == (165 - 1) * (4**5 - 4)


def test_only_no_pair_is_weighed() -> None:
    dice = Random(3)
    for _ in range(2000):
        *cards, up = dice.sample(DECK, 6)
        category = category_of(rank_61_2004(cards))
        if category is not Category.NO_PAIR:
            assert optimal(cards, up)
        elif not qualifies(cards):
            assert not optimal(cards, up)


def test_the_order_of_the_cards_does_not_matter() -> None:
    cards, up = parse_cards("AC KC 9H 7D 4S"), parse_card("JD")
    assert len({expected_raise(list(order), up) for order in permutations(cards)}) == 1
