"""A table for tests: devices that are simply there, and short words for what a dealer does."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from daemon.games.caribbean import Caribbean, CaribbeanRules
from daemon.games.desk import Act, Note, RoundClosed, ToDevice
from daemon.games.jackpot import JackpotRules
from daemon.rig import Device, Rig
from daemon.table import FromDevice, LinkChanged, Outcome, Table
from drivers.base import (
    CardDrawn,
    DeviceEvent,
    PacketOut,
    PacketTaken,
    ShuffleDone,
    SignShows,
)
from drivers.cards import DECK, FaceDownCard, parse_card, parse_cards

ANTE = 10_000  # 100.00
STAKE = 1_000  # 10.00

JACKPOT = JackpotRules(
    stake=STAKE,
    contribution=Fraction(1),
    minimum=50_000_000,
    royal_flush=50_000_000,
    straight_flush=5_000_000,
    quads=500_000,
    full_house=100_000,
    flush=50_000,
)
RULES = CaribbeanRules(ante_min=5_000, ante_max=1_000_000, royal_odds=100, jackpot=JACKPOT)


def rules(cap: int | None = None, cap_scope: str = "box", **jackpot: Any) -> CaribbeanRules:
    """The usual rules with some of them changed."""
    return replace(RULES, cap=cap, cap_scope=cap_scope, jackpot=replace(JACKPOT, **jackpot))


class Floor:
    """One Caribbean Stud table and its people. Every input goes through ``Table.handle``."""

    def __init__(self, house: CaribbeanRules = RULES, mode: str = "shoe", compiled: bool = False) -> None:
        self.game = Caribbean(house, compiled=compiled)
        devices = {
            name: Device(name, role, ready=True)
            for name, role in (("shoe", "shoe"), ("SH-1", "shuffler"), ("SH-2", "shuffler"), ("sign", "sign"))
        }
        self.table = Table("T", self.game, Rig(devices, mode, "SH-1" if mode == "shuffler" else ""))
        self.seq = 0
        self.events = 0
        self.last = Outcome()
        self.notes: list[Note] = []
        self.closed: list[dict[str, Any]] = []

    # --- inputs ---------------------------------------------------------------------------

    def take(self, item: Any) -> Outcome:
        self.seq += 1
        self.last = self.table.handle(item, self.seq, f"2026-01-01T00:00:00.{self.seq:06d}Z")
        for effect in self.last.effects:
            if isinstance(effect, Note):
                self.notes.append(effect)
            elif isinstance(effect, RoundClosed):
                self.closed.append(dict(effect.summary))
        return self.last

    def act(self, name: str, role: str = "dealer", second: str = "", **args: Any) -> Outcome:
        return self.take(Act(name, args, role=role, second=second))

    def do(self, name: str, role: str = "dealer", second: str = "", **args: Any) -> Outcome:
        """An act that must be accepted."""
        outcome = self.act(name, role, second, **args)
        assert outcome.refusal is None, f"{name} {args}: {outcome.refusal}"
        return outcome

    def refused(self, name: str, role: str = "dealer", second: str = "", **args: Any) -> str:
        """An act that must be refused, leaving everything as it was; the clause and the reason."""
        before = self.picture()
        outcome = self.act(name, role, second, **args)
        assert outcome.refusal is not None, f"{name} {args} was accepted"
        assert (outcome.effects, outcome.moves, outcome.outbox) == ([], [], [])
        assert self.picture() == before
        return f"{outcome.refusal.clause} {outcome.refusal.reason}"

    def picture(self) -> object:
        return (self.table.view(), self.game.round_view(), dict(self.table.balances))

    def tell(self, device: str, event: DeviceEvent) -> Outcome:
        self.events += 1
        return self.take(FromDevice(device, event, boot=1, ordinal=self.events))

    def link(self, device: str, ready: bool) -> Outcome:
        return self.take(LinkChanged(device, ready, "" if ready else "lost"))

    # --- what a dealer does ---------------------------------------------------------------

    def prove_sign(self) -> None:
        wanted = self.table.rig.wanted
        self.take(FromDevice("sign", SignShows(wanted.meter, wanted.announcement, wanted.pages)))

    def open(self) -> None:
        self.do("open-table")
        self.prove_sign()

    def shuffle(self) -> None:
        """Whatever the mode asks for before a round."""
        self.do("shuffle")
        if self.table.rig.mode == "shoe":
            self.do("cut")
        else:
            self.tell(self.table.rig.shuffler, ShuffleDone(self.seq, 52))

    def bets(self, *boxes: int, ante: int = ANTE, progressive: tuple[int, ...] = ()) -> None:
        """Open the table if need be, shuffle, open the betting, and place the bets."""
        if self.game.out_of_service:
            self.open()
        self.shuffle()
        self.prove_sign()
        self.do("open-betting")
        for box in boxes:
            self.do("ante", box=box, amount=ante)
        for box in progressive:
            self.do("progressive", box=box)

    def draw(self, cards: str | None = None, count: int = 1, face_up: bool = False) -> None:
        """Named cards, or so many unnamed ones that are not out yet, leave the shoe."""
        faces = parse_cards(cards) if cards is not None else self.unseen(count)
        for card in faces:
            self.tell("shoe", CardDrawn(FaceDownCard(card), face_up))

    def unseen(self, count: int) -> list[Any]:
        now = self.game.round
        seen = now.faces_seen if now else set()
        return [card for card in DECK if card.index not in seen][:count]

    def packet(self, index: int, count: int = 5, taken: bool = True) -> None:
        device = self.table.rig.shuffler
        self.tell(device, PacketOut(index, count))
        if taken:
            self.tell(device, PacketTaken(index))

    def deal(self, hands: dict[int, str], dealer: str) -> None:
        """Deal these hands from the shoe, one card at a time (CS-07)."""
        rows = [hands[box].split() for box in sorted(hands)] + [dealer.split()]
        for turn in range(5):
            for row in rows:
                self.draw(row[turn])

    def play(self, hands: dict[int, str], dealer: str, folds: tuple[int, ...] = ()) -> dict[str, Any]:
        """Deal, decide and settle; the round's public account."""
        self.deal(hands, dealer)
        for box in sorted(hands):
            self.do("fold" if box in folds else "raise", box=box)
        self.do("settle")
        return self.closed[-1]

    def whole_round(self, hands: tuple[dict[int, str], str]) -> dict[str, Any]:
        """A round from the shuffle to the settlement, every box with a progressive bet."""
        boxes, dealer = hands
        self.bets(*boxes, progressive=tuple(boxes))
        return self.play(boxes, dealer)

    # --- what came of it ------------------------------------------------------------------

    @property
    def phase(self) -> str:
        return self.game.phase

    @property
    def pool(self) -> int:
        return self.game.meter.pool

    def player(self, box: int) -> int:
        """What the player at a box is up or down, minor units."""
        return self.table.balances[f"player.{box}"]

    def commands(self) -> list[ToDevice]:
        return [effect for effect in self.last.effects if isinstance(effect, ToDevice)]


def card(text: str) -> FaceDownCard:
    return FaceDownCard(parse_card(text))


def with_pool(floor: Floor, amount: int, bets: int = 0) -> None:
    """Open the table and bring its pool to ``amount`` once ``bets`` contributions are booked."""
    floor.open()
    change = amount - bets * STAKE - floor.pool
    if change:
        floor.do("correct-pool", role="supervisor", second="pit", amount=change, text="test")
    floor.prove_sign()


# Seven boxes against a dealer of ace-king; all raise.
AK_ROUND = (
    {
        1: "2D 4H 5S 7D 8S",
        2: "2H 4C 5D 7C 8D",
        3: "2C 4S 5H 7S 9C",
        4: "QS QH 3D 10D 9D",
        5: "JS JH 3H 10H 8H",
        6: "KS KH QD 6D 4D",
        7: "AS AH JC 7H 6H",
    },
    "AC KD 9H 6C 3S",
)
