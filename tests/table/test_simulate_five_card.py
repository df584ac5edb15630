"""``feltd simulate --game five-card``: every rule is reached, and the players' own book agrees."""

from __future__ import annotations

import hashlib
import io
from collections.abc import MutableSequence, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from daemon import build
from daemon.audit import export, verify
from daemon.config import ConfigError
from daemon.games.five_card.game import FiveCard
from daemon.games.five_card.rules import FORTY
from daemon.games.hands import Category
from daemon.games.pots import Pot, Share, share
from daemon.journal import MemoryJournal
from daemon.simulate import SimulateOptions, key_path, run, settings_of
from daemon.simulation.five_card import dealer as dealing
from daemon.simulation.five_card import evening as evenings
from daemon.simulation.five_card.book import Book
from daemon.simulation.five_card.dealer import Mishap
from daemon.simulation.five_card.evening import StudEvening
from daemon.simulation.five_card.players import Decision, Spot, decide, strength
from daemon.simulation.options import FIVE_CARD_RULES
from drivers.cards import Card, parse_card

ROOT = Path(__file__).parents[2]
ANTE = FIVE_CARD_RULES.ante
CHIP = FIVE_CARD_RULES.smallest_chip


def simulated(**options: object) -> dict[str, Any]:
    return run(SimulateOptions(game="five-card", **options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def long_run() -> dict[str, Any]:
    return simulated(rounds=500, seed=2)


# --- nothing is broken, and nothing is left to chance ---------------------------------------


def test_500_rounds_break_nothing_and_reach_the_rules(long_run: dict[str, Any]) -> None:
    assert (long_run["rounds"], long_run["invariant_violations"], long_run["faults_injected"]) == (500, 0, 0)
    for reached in ("unopened", "side_pots", "all_ins", "all_ins_of_different_depth", "top_ups", "showdowns"):
        assert long_run[reached] > 0, reached
    assert {"FC-18", "FC-19"} <= set(long_run["irregularities"])
    assert long_run["pots"] == 500 - long_run["void"] + long_run["side_pots"]
    assert long_run["rake"] >= (500 - long_run["void"]) * FIVE_CARD_RULES.level.first_rake
    assert list(long_run["categories"]) == [category.label for category in reversed(Category)]
    assert sum(long_run["categories"].values()) >= 2 * long_run["showdowns"]


def test_the_same_seed_plays_the_same_evening() -> None:
    first, again, other = (simulated(rounds=60, seed=seed) for seed in (5, 5, 6))
    assert first["journal_sha256"] == again["journal_sha256"] != other["journal_sha256"]
    clock = ("seconds", "rounds_per_second")
    assert [v for k, v in first.items() if k not in clock] == [v for k, v in again.items() if k not in clock]


@pytest.mark.parametrize("seats", range(2, 8))
def test_every_number_of_seats(seats: int) -> None:
    report = simulated(rounds=25, boxes=seats, seed=seats)
    assert (report["rounds"], report["boxes"], report["invariant_violations"]) == (25, seats, 0)


def test_the_journal_file_is_the_same_journal(tmp_path: Path) -> None:
    file = tmp_path / "evening.db"
    on_disk, in_memory = simulated(rounds=12, seed=4, journal=file), simulated(rounds=12, seed=4)
    lines = io.BytesIO()
    export(file, lines, canonical=True, key=key_path(file))
    assert on_disk["journal_sha256"] == in_memory["journal_sha256"]
    assert on_disk["journal_sha256"] == hashlib.sha256(lines.getvalue()).hexdigest()
    assert verify(file)["errors"] == []
    assert verify(file)["rounds"] == 12


def test_the_compiled_machine_plays_the_rounds_of_the_library_s(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = simulated(rounds=25, seed=4)["journal_sha256"]
    monkeypatch.setattr(evenings, "build_table", lambda settings, compiled: build.build_table(settings))
    assert simulated(rounds=25, seed=4)["journal_sha256"] == compiled


@pytest.mark.parametrize(
    "changes",
    [
        {"min_raise": "last_total", "check_raise": True},
        {"unfollowed_unraked": "fourth_round", "pay_unit": 100},
        {"topup_measured": "round_end", "rake_percent": 3},
    ],
)
def test_every_reading_of_the_regulation(changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.simulate.FIVE_CARD_RULES", replace(FIVE_CARD_RULES, **changes))
    assert simulated(rounds=80, seed=8)["invariant_violations"] == 0


# --- rules that chance reaches seldom ---------------------------------------------------------


class Stacked(Random):
    """A shuffle that always ends with these cards on top, and nothing else that happens by chance."""

    def __init__(self, cards: Sequence[Card]) -> None:
        super().__init__(1)
        self._cards = [card.text for card in cards]

    def shuffle(self, x: MutableSequence[Any]) -> None:
        x[:] = self._cards + [card.text for card in FORTY if card.text not in self._cards]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return 1 if stop is None else start


def evening(seats: int = 3, random: Random | None = None) -> StudEvening:
    options = SimulateOptions(game="five-card", boxes=seats)
    each = StudEvening(seats, settings_of(options), MemoryJournal(), random or Random(3))
    each.open()
    return each


def by_plan(words: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody says the same at each kind of turn; a bet is one chip."""

    def said(spot: Spot, boldness: int, chip: int, chance: Random) -> Decision:
        word = words[spot.phase]
        return word, chip if word == "bet" else 0

    monkeypatch.setattr(dealing, "decide", said)


def test_equal_hands_share_the_pot(monkeypatch: pytest.MonkeyPatch) -> None:
    by_plan({"opening": "bet", "speaking": "check", "answering": "call"}, monkeypatch)
    cards = "5S AS AD KS KD QS QD JS JD 9H 9C"  # the first one is burned
    each = evening(2, Stacked([parse_card(text) for text in cards.split()]))
    each.play()
    rows = each.journal.summary["seats"]
    assert [row["category"] for row in rows] == ["no-pair", "no-pair"]
    pot = ANTE + 2 * CHIP  # the first rake takes one ante
    assert [row["won"] for row in rows] == [(pot - pot * 4 // 100) // 2] * 2
    assert each.tally.ties == 1


def test_two_players_alone_often_get_equal_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    by_plan({"opening": "bet", "speaking": "check", "answering": "call"}, monkeypatch)
    monkeypatch.setattr(dealing, "TWINS", 1)
    monkeypatch.setattr(evenings, "MISHAPS", {})
    each = evening(2)
    for _ in range(6):
        each.play()
    assert each.tally.ties >= 5  # a flush would win alone
    deck = [card.text for card in FORTY]
    assert sorted(dealing.twins(deck)) == sorted(deck)


def test_everyone_declines_to_open(monkeypatch: pytest.MonkeyPatch) -> None:
    by_plan({"opening": "fold"}, monkeypatch)
    each = evening(3)
    each.play()
    assert each.tally.unopened == 1
    assert [action["act"] for action in each.journal.summary["actions"]] == ["fold", "fold"]


@pytest.mark.parametrize(
    ("mishap", "clause"),
    [
        (Mishap.EXPOSED, "FC-18"),
        (Mishap.EARLY, "FC-19"),
        (Mishap.WRONG_DECK, "FC-19"),
        (Mishap.ASLEEP, "FC-16"),
    ],
)
def test_what_goes_wrong_is_in_the_account(
    mishap: Mishap, clause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evenings, "MISHAPS", {mishap: 1})
    each = evening(5)
    for _ in range(12):
        each.play()
    assert each.tally.clauses[clause] > 0
    assert (each.tally.void > 0) is (mishap is Mishap.WRONG_DECK)


def test_a_player_leaves_at_his_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evenings, "MISHAPS", {Mishap.LEFT: 1})
    each = evening(5)
    each.play()
    while each.dealer.mishap is not None:
        each.play()
    left = set(each.dealer.book.hands) - set(each.dealer.book.stacks)
    assert len(left) == 1
    each.play()  # somebody else sits down


# --- the book and the table are two ---------------------------------------------------------------


def test_a_table_that_pays_one_unit_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def generous(pot: Pot, orders: dict[int, int], rake: int, pay_unit: int) -> Share:
        return share(pot, orders, max(0, rake - 1), pay_unit)

    monkeypatch.setattr("daemon.games.five_card.showdown.share", generous)
    report = simulated(rounds=5)
    assert report["invariant_violations"] == 1
    assert "its player counts" in report["violation"]["what"]
    assert report["violation"]["replay"] == "feltd simulate --game five-card --rounds 1 --boxes 7 --seed 1"


def test_a_table_whose_accounts_do_not_hold_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(game: FiveCard, balances: dict[str, int]) -> list[str]:
        return ["a chip is lost"] if game.last_round_id > 2 else []

    monkeypatch.setattr(FiveCard, "check", lost)
    report = simulated(rounds=20)
    assert (report["invariant_violations"], report["rounds"]) == (1, 2)


def test_the_book_peels_side_pots() -> None:
    book = Book(FIVE_CARD_RULES)
    for seat in (1, 2, 3, 4):
        book.buys(seat, 1_000_000)
    book.antes_placed((1, 2, 3, 4))
    hands = ("AS AH KD QC 9S", "KS KH QD JC 8S", "QS QH JD 10C 7S", "5S 6H 8D 10H JH")
    bets = (10_000, 40_000, 70_000, 25_000)
    for hand, words, staked in zip(book.hands.values(), hands, bets, strict=True):
        hand.cards, hand.staked = [parse_card(word) for word in words.split()], staked
    book.hands[4].out = True
    paid = book.settled()
    main, side = 3 * ANTE + 4 * 10_000, 2 * 30_000 + 15_000
    assert paid.to == {1: main - main * 4 // 100, 2: side - side * 4 // 100, 3: 30_000}
    assert (paid.pots, paid.shared, paid.rake) == (2, 0, main * 4 // 100 + side * 4 // 100)


def test_a_decision_is_always_allowed() -> None:
    chance = Random(1)
    for _ in range(2_000):
        stack, bet = chance.randrange(1, 9_000), chance.randrange(0, 3_000)
        price = bet + chance.randrange(0, 6_000)
        may_raise = bool(chance.getrandbits(1))
        spot = Spot("answering", FORTY[:5], bet, price, price + CHIP, stack, may_raise)
        word, amount = decide(spot, 90, CHIP, chance)
        if word == "raise":
            assert may_raise
            assert price < amount <= bet + stack
            assert amount == bet + stack or (amount - price) % CHIP == 0


def test_equal_cards_are_worth_more_than_high_ones() -> None:
    words = ("9S 7H", "AS KH", "5S 5H", "5S 5H 5D", "5S 5H 5D 5C")
    points = [strength([parse_card(word) for word in each.split()]) for each in words]
    assert points == sorted(points)
    assert len(set(points)) == len(points)


# --- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("mode", "shuffler", "from a shoe"),
        ("boxes", 1, "2 to 7"),
        ("boxes", 8, "1 to 7"),
        ("faults", 1.1, "a rate from 0 to 1"),
        ("strategy", "optimal", "a strategy of its own"),
    ],
)
def test_an_option_that_cannot_be_is_refused(option: str, value: object, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        simulated(**{option: value})


def test_the_rules_of_a_configuration() -> None:
    report = simulated(rounds=5, config=ROOT / "config" / "five-card.toml")
    assert report["invariant_violations"] == 0
    with pytest.raises(ConfigError, match="five-card"):
        simulated(config=ROOT / "config" / "caribbean.toml")


def test_blocks_do_not_depend_on_how_many_are_played_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.simulation.options.BLOCK", 10)
    report = simulated(rounds=20, jobs=1, seed=3)
    alone = simulated(rounds=10, seed=3)
    assert report["rounds"] == 20
    assert report["rake"] > alone["rake"]
