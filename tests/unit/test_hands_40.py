"""Five-card stud hands (FC-05) and four up cards (FC-13): every one of them, against published counts."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise

import pytest

from daemon.games.five_card.rules import FORTY
from daemon.games.five_card.speaking import Four, four_up, standing
from daemon.games.hands import Category, category_of, rank_104_85
from drivers.cards import Suit, parse_cards

HANDS = {
    Category.ROYAL_FLUSH: 4,
    Category.STRAIGHT_FLUSH: 24,
    Category.QUADS: 360,
    Category.FULL_HOUSE: 2_160,
    Category.FLUSH: 980,
    Category.STRAIGHT: 7_140,
    Category.TRIPS: 23_040,
    Category.TWO_PAIR: 51_840,
    Category.PAIR: 322_560,
    Category.NO_PAIR: 249_900,
}


def rank(text: str) -> int:
    return rank_104_85(parse_cards(text))


def test_fc01_fc05_all_658_008_hands_have_the_published_counts() -> None:
    ranks = Counter(map(rank_104_85, combinations(FORTY, 5)))
    assert ranks.total() == 658_008
    assert len(ranks) == 1_734
    found: Counter[Category] = Counter()
    for order, count in ranks.items():
        found[category_of(order)] += count
    assert found == HANDS


def test_fc05_seven_straights_of_equal_number_the_lowest_a5678() -> None:
    tops = Counter(
        order
        for hand in combinations(FORTY, 5)
        if category_of(order := rank_104_85(hand)) is Category.STRAIGHT
    )
    assert list(tops.values()) == [1_020] * 7
    assert min(tops) == rank("AS 5D 6C 7H 8S")


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("AS 5D 6C 7H 8S", "5S 6H 7D 8C 9S"),
        ("AH 5H 6H 7H 8H", "5C 6C 7C 8C 9C"),
        ("KS KH KD KC AS", "AH 5H 6H 7H 8H"),
        ("AC KC QC JC 9C", "8S 8H 8D 5S 5H"),
        ("5S 5H 5D 5C AS", "6S 6H 6D 6C 5H"),
        ("9S 9H 9D AS AH", "10S 10H 10D 5S 5H"),
        ("10S 10H 9S 9H 5S", "10D 10C 9D 9C 6S"),
        ("10S 10H 9S 8H 6S", "10D 10C 9D 8C 7S"),
        ("AS QD JC 9H 8S", "AH KD 7C 6H 5S"),
        ("KS KH 8D 7C 5S", "KD KC 9S 6H 5H"),
    ],
)
def test_fc05_which_hand_is_higher(low: str, high: str) -> None:
    assert rank(low) < rank(high)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KH JH 10H 8H 6H", "KC JC 10C 8C 6C"),
        ("AS KS QS JS 10S", "AD KD QD JD 10D"),
        ("7S 7H 7D AS KS", "7S 7H 7D 6C 5C"),  # side cards of trips do not count
        ("7S 7H 7D 7C KS", "7S 7H 7D 7C 5C"),
        ("7S 7H 7D KS KH", "7S 7H 7D 5S 5C"),
        ("9S 9H 8S 8H KC", "9D 9C 8D 8C KS"),
        ("AS 5D 6C 7H 8S", "AD 5C 6H 7S 8D"),
    ],
)
def test_fc05_equal_hands_share_no_suit_decides(one: str, other: str) -> None:
    assert rank(one) == rank(other)


@pytest.mark.parametrize("text", ["AS KS QS JS", "AS AS QS JS 10S", "AS KS QS JS 4S", "2S 2H 2D 2C AS"])
def test_fc01_what_is_no_hand_of_the_forty(text: str) -> None:
    with pytest.raises(ValueError, match=r"five different cards|none of the forty"):
        rank(text)


# --- four up cards ------------------------------------------------------------------------------


def test_fc13_all_91_390_sets_of_four_up_cards() -> None:
    """Which card came last decides only between a pair of it, a pair of earlier cards, and none."""
    sets: Counter[str] = Counter()
    last: Counter[Four] = Counter()
    for up in combinations(FORTY, 4):
        kinds = {four_up([*up[:i], *up[i + 1 :], up[i]]) for i in range(4)}
        shape = tuple(sorted(Counter(card.rank for card in up).values()))
        sets["+".join(map(str, shape))] += 1
        if len(kinds) == 1:
            last[kinds.pop()] += 1
        else:
            assert shape == (1, 1, 2)
            assert kinds == {Four.FOURTH_CARD, Four.PAIR_OF_FOURTH}
    assert sets.total() == 91_390
    assert sets == {"4": 10, "1+3": 1_440, "2+2": 1_620, "1+1+2": 34_560, "1+1+1+1": 53_760}
    assert last[Four.POSSIBLE_ROYAL] == 20
    assert last[Four.QUADS] == 10
    assert last[Four.TRIPS] == 1_440
    assert last[Four.TWO_PAIR] == 1_620
    # 32 suited runs, 840 suited sets, 2,048 runs: A K Q J and K Q J 10 suited are possible royals.
    assert last[Four.POSSIBLE_STRAIGHT_FLUSH] == 32 - 2 * 4
    assert last[Four.POSSIBLE_FLUSH] == 840 - 20 - (32 - 2 * 4)
    assert last[Four.POSSIBLE_STRAIGHT] == 2_048 - 32
    assert last[Four.FOURTH_CARD] == 53_760 - 840 - (2_048 - 32)


def up(text: str) -> tuple[int, tuple[int, ...], int]:
    return standing(parse_cards(text))


def test_fc13_the_order_of_four_up_cards() -> None:
    highest_first = (
        "AH KH QH 10H", "KS QS JS 10S", "QS JS 10S 9S", "8S 7S 6S 5S", "AD 5D 6D 7D", "5S 5H 5D 5C",
        "AS KS 8S 6S", "AD KD 8D 6D", "KS JS 8S 6S", "AD KC QS JH", "9S 8H 7D 6C", "AS 5H 6D 7C",
        "AS AH AD KC", "9S 9H 5D 5C", "9D 9C 5S 5H", "5D AH 6C AS", "6D KH 9C KS",
        "9D 9H KS AC", "10S 9S 6D 7H",
    )  # fmt: skip
    for first, second in pairwise(map(up, highest_first)):
        assert first > second


def test_fc10_fc13_the_order_is_total() -> None:
    """No two hands that can lie on one table have the same standing."""
    for size in (1, 2, 3):
        seen: dict[object, list[set[object]]] = {}
        for cards in combinations(FORTY, size):
            for i in range(size):
                seen.setdefault(standing([*cards[:i], *cards[i + 1 :], cards[i]]), []).append(set(cards))
        for same in seen.values():
            assert all(one & other for one, other in combinations(same[:60], 2))


def test_fc10_suits_of_door_cards() -> None:
    order = [up(f"K{letter}") for letter in "SHCD"]
    assert order == sorted(order, reverse=True)
    assert [suit.name for suit in sorted(Suit, reverse=True)] == ["SPADE", "HEART", "CLUB", "DIAMOND"]


def test_fc11_fc12_pairs_and_trips() -> None:
    assert up("8H 8C") > up("AD KC")  # a pair before the highest second card
    assert up("6C KH") > up("AD KC")  # the door card does not count
    assert up("8H 8S") > up("8D 8C")
    assert up("5S 5H 5D") > up("AS KH AD") > up("9S KH KC") > up("AS AH KD")
    assert up("AS AH KD") > up("AD AC QD")
    assert up("9S 9H 7D") < up("6S 5H QD")  # a pair of the first two is not named
    with pytest.raises(ValueError, match="one to four"):
        up("AS KS QS JS 10S")
