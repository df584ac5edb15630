"""How a dealer of Caribbean Stud works with the device that his cards come from."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final, Protocol

from daemon.games.hands import Category, category_of, qualifies, rank_61_2004
from daemon.simulation.bench import Bench
from drivers.cards import DECK, Card, parse_card
from drivers.shuffler.sim_fdp import ShufflerSim

DEALER: Final = 0
AWARDED_FROM: Final = Category.FLUSH

Hands = dict[int, list[Card]]  # box, or DEALER, to its cards in the order they were dealt


class DeckSource(Protocol):
    """How a dealer works with the device that his cards come from."""

    def prepare(self) -> None:
        """A new deck, shuffled and proven (CS-03)."""

    def deal(self, places: Sequence[int]) -> Hands:
        """Five cards for each place, the dealer's last (CS-07)."""

    def show(self, hands: Hands, raised: Sequence[int]) -> None:
        """After the last decision: turn what the regulation turns (CS-09)."""

    def gather(self) -> None:
        """The round is over: the cards come back and are counted (CS-07)."""


class FromShoe:
    """Cards shuffled by hand, drawn one by one; the shoe reads them all.

    The cards of one pass round the table come in one read, as they do to a busy loop.
    """

    def __init__(self, bench: Bench, device: str, random: Random) -> None:
        self._bench, self._device, self._random = bench, device, random
        self._deck = [card.text for card in DECK]

    def prepare(self) -> None:
        self._random.shuffle(self._deck)
        self._bench.act("shuffle")
        self._bench.act("cut")
        self._bench.handle(self._device, "load", deck=self._deck)

    def deal(self, places: Sequence[int]) -> Hands:
        hands: Hands = {place: [] for place in places}
        for _ in range(5):
            for place in places:
                drawn = self._bench.handle(self._device, "draw")
                hands[place].append(parse_card(str(drawn["card"])))
            self._bench.read()
        return hands

    def show(self, hands: Hands, raised: Sequence[int]) -> None:
        """The table knows the faces; the dealer turns the cards without a word."""

    def gather(self) -> None:
        left = self._bench.handle(self._device, "state")["cards"]
        assert isinstance(left, int)
        self._bench.act("count", cards=left)


class FromShuffler:
    """Packets of five from a machine that reads no face: what is turned is entered by hand."""

    def __init__(self, bench: Bench, device: str, sim: ShufflerSim) -> None:
        self._bench, self._device, self._sim = bench, device, sim

    def prepare(self) -> None:
        self._bench.act("shuffle")
        self._bench.wait(lambda: self._sim.state_name() == "ready", "the end of the shuffle")

    def deal(self, places: Sequence[int]) -> Hands:
        hands: Hands = {}
        for place in places:
            self._bench.wait(lambda: bool(self._sim.packet), "a packet")
            taken = self._bench.handle(self._device, "take")["cards"]
            assert isinstance(taken, list)
            hands[place] = [parse_card(text) for text in taken]
        self._bench.act("reveal", box="dealer", cards=hands[DEALER][-1].text)
        return hands

    def show(self, hands: Hands, raised: Sequence[int]) -> None:
        """The dealer's cards, and the players' if he qualifies; else only a hand with an award."""
        if not raised:
            return
        self._reveal("dealer", hands[DEALER])
        opened = qualifies(hands[DEALER])
        for box in raised:
            if opened or category(hands[box]) >= AWARDED_FROM:
                self._reveal(box, hands[box])

    def _reveal(self, box: str | int, cards: Sequence[Card]) -> None:
        self._bench.act("reveal", box=box, cards=" ".join(card.text for card in cards))

    def gather(self) -> None:
        self._bench.handle(self._device, "return")


def category(cards: Sequence[Card]) -> Category:
    return category_of(rank_61_2004(cards))
