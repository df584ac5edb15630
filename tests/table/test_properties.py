"""What always holds, whatever comes in whatever order: all acts, all device events, both modes.

A :class:`Pit` is a walker (every invariant after every input) that knows how to do things at
random. Hypothesis drives it as a state machine; the same steps, driven by plain seeds, prove that
whole rounds, every irregularity and every award are really reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from daemon.games.caribbean.deal import DEALER
from daemon.games.caribbean.rows import ACTS, Phase
from daemon.games.caribbean.slips import CHAPTER_OF
from daemon.games.jackpot import AWARDED
from daemon.table import LinkChanged
from drivers.base import (
    CardDrawn,
    CardsReturned,
    CommandResult,
    CoverMoved,
    CutCardDrawn,
    FaultCleared,
    FaultSet,
    PacketOut,
    PacketTaken,
    Restarted,
    ShuffleDone,
    ShuffleStarted,
    SignDiffers,
    SignShows,
)
from drivers.cards import DECK, Card, FaceDownCard, parse_cards
from tests.table.walker import BOXES, DEVICES, HOUSES, Walker, started

HANDS: Final = (
    "AS KS QS JS 10S",
    "AH KH QH JH 10H",
    "9C 8C 7C 6C 5C",
    "9D 8D 7D 6D 5D",
    "KC QC JC 10C 9C",
    "4S 4H 4D 4C 9S",
    "3S 3H 3D 3C 8H",
    "2S 2H 2D AC AD",
    "7S 7H 7C 6S 6H",
    "2C 4C 6C 8C 10C",
    "QD JD 9D 6D 3D",
    "QH 10D 8S 5H 2C",
)
DEALERS: Final = ("AC KD 9H 6C 3S", "AD QD 8C 5S 2H", "KD KC 8D 5C 2S", "AS AH 10C 10D 8S", "JC 9S 7D 4H 2D")
WRONG: Final = ("x", "", "-", "--5", "150.00", -1, 0, 10**18, "10000000000000000000", "dealer", "SH-9")


class Pit(Walker):
    """A dealer, a supervisor and devices that do the right thing, the wrong thing, or anything."""

    def __init__(self, house: int = 0, mode: str = "shoe") -> None:
        self.to_come: dict[int, list[Card]] = {}  # place -> its hand, as the deck lies
        super().__init__(HOUSES[house], mode)

    # --- on the way to a round ----------------------------------------------------------------

    def put_right(self, dice: Random) -> None:
        """Whatever stands in the way of the next round is cleared away."""
        self.all_ready()
        for name, device in self.table.rig.devices.items():
            if device.barred:
                self.act("accept-device", role="supervisor", id=name)
            for code in list(device.faults):
                self.tell(name, FaultCleared(code))
            if device.cover_open:
                self.tell(name, CoverMoved(False))
        self.act("open-table")
        for code in list(self.table.faults):
            if dice.random() < 0.9:
                self.act("clear-fault", role="supervisor", code=code, text="seen")
        if "rules-differ" in self.table.faults:
            self.act("change-rules", role="supervisor", rules=dice.choice(HOUSES).text())
        self.shuffle(dice)
        self.prove_sign()

    def shuffle(self, dice: Random) -> None:
        self.act("shuffle")
        if self.mode == "shoe":
            self.act("cut")
        else:
            self.tell(self.table.rig.shuffler, ShuffleDone(self.seq % 999, 52))

    def bet(self, dice: Random) -> None:
        """Betting opens, and some boxes bet: more often with a progressive bet than without."""
        if self.phase not in ("between-rounds", "void", "out-of-service"):
            return
        self.put_right(dice)
        self.act("open-betting")
        for box in sorted(dice.sample(BOXES, dice.choice((1, 2, 2, 3, 4, 7)))):
            self.act("ante", box=box, amount=dice.choice((5_000, 10_000, 12_345, 20_000)))
            if dice.random() < 0.7:
                self.act("progressive", box=box)

    def change_bets(self, dice: Random) -> None:
        box = dice.choice(BOXES)
        self.act("ante", box=box, amount=dice.choice((100, 5_000, 1_000_000)))
        self.act(dice.choice(("take-back", "progressive")), box=dice.choice(BOXES))
        if dice.random() < 0.3:
            self.act("take-back", box=dice.choice(BOXES), bet=dice.choice(("ante", "progressive")))
            self.act("close-betting")

    # --- the deal -----------------------------------------------------------------------------

    def _stack(self, dice: Random) -> None:
        """A deck in which good hands are as frequent as bad ones."""
        now = self.game.round
        left = list(DECK)
        dice.shuffle(left)
        self.to_come = {}
        royals = dice.random() < 0.25  # two of them divide the pool
        for at, place in enumerate([DEALER, *sorted(now.boxes if now else ())]):
            wishes = HANDS[at % 2 : at % 2 + 1] if royals else HANDS
            wished = parse_cards(dice.choice(DEALERS if place == DEALER else wishes))
            hand = wished if set(wished) <= set(left) else left[:5]
            left = [card for card in left if card not in hand]
            self.to_come[place] = hand

    def _next_card(self, dice: Random) -> Card:
        now = self.game.round
        if now is None:
            return dice.choice(DECK)
        if now.deal is None:
            self._stack(dice)
        deal = now.deal
        place = deal.next_place() if deal else min(now.boxes, default=DEALER)
        hand = self.to_come.get(place, [])
        at = len(deal.hands[place]) if deal else 0
        if at < len(hand) and hand[at].index not in now.faces_seen:
            return hand[at]
        return dice.choice([card for card in DECK if card.index not in now.faces_seen] or DECK)

    def unit(self, dice: Random) -> None:
        """The next card or packet of the deal leaves the device as it should."""
        if self.mode == "shoe":
            if not self.table.rig.source_ready():
                self.act("card")
                return
            if dice.random() < 0.005:
                self._same_face(dice)
                return
            face = FaceDownCard(self._next_card(dice)) if dice.random() < 0.97 else None
            foreign = face is None and dice.random() < 0.3
            self.tell("shoe", CardDrawn(face, dice.random() < 0.01, dice.random() < 0.9, foreign))
            return
        now, device = self.game.round, self.table.rig.shuffler
        out = len(now.deal.units) if now and now.deal else 0
        if out == 0:
            self._stack(dice)
        index = out - now.order.base if now and now.order else 0
        self.tell(device, PacketOut(index, 5))
        self.tell(device, PacketTaken(index))

    def deal(self, dice: Random) -> None:
        if self.phase == "betting":
            self.act("close-betting")
            self.unit(dice)
        stop = dice.choice((3, 99, 99))
        while self.phase == "dealing" and stop:
            self.unit(dice)
            stop -= 1

    def deal_by_hand(self, dice: Random) -> None:
        """The shoe is lost on the way; the dealer goes on, and it comes back, or does not."""
        self.take(LinkChanged("shoe", False, "lost"))
        for _ in range(dice.randrange(1, 12)):
            if self.phase in ("betting", "dealing"):
                self.act("card")
        for step in (self.decide, self.show, self.show):
            if self.phase in ("deciding", "showdown") and dice.random() < 0.5:
                step(dice)
        if dice.random() < 0.7:
            self.take(LinkChanged("shoe", True))
            self.catch_up(dice)

    def catch_up(self, dice: Random) -> None:
        now = self.game.round
        while self.game.round is now is not None and now.entered_by_hand:
            keyed = now.entered_by_hand[0].face  # an honest shoe tells what was shown meanwhile
            face = keyed.turn() if keyed else dice.choice([c for c in DECK if c.index not in now.faces_seen])
            self.tell("shoe", CardDrawn(FaceDownCard(face) if dice.random() < 0.95 else None))

    # --- decisions, showdown, settlement --------------------------------------------------------

    def decide(self, dice: Random) -> None:
        now = self.game.round
        if now is None:
            self.act("raise", box=dice.choice(BOXES))
            return
        for code in ("duplicate-card", "foreign-card"):
            if code in self.table.faults:
                self.act("clear-fault", code=code, text="misread")
        for box in dice.sample(now.undecided(), min(len(now.undecided()), dice.choice((1, 7, 7)))):
            self.act("raise" if dice.random() < 0.75 else "fold", box=box)
            if dice.random() < 0.1:
                self.slip(dice)

    def show(self, dice: Random) -> None:
        """The dealer turns what he may: his own hand first, then those of the boxes."""
        now = self.game.round
        if now is None or now.deal is None:
            return
        if self.phase == "deciding":
            self.act("reveal", box="dealer", cards=self._truth(DEALER, dice)[4].text)
            return
        for place in (DEALER, *sorted(now.boxes)):
            cards = " ".join(card.text for card in self._truth(place, dice))
            self.act("reveal", box=place or "dealer", cards=cards)

    def _truth(self, place: int, dice: Random) -> list[Card]:
        """What lies there: the known cards, then those of the stacked deck, then any."""
        now = self.game.round
        assert now is not None
        known = [card.face.turn() if card.face else None for card in now.dealt.hands[place]]
        others = now.faces_seen | {c.index for p, hand in self.to_come.items() if p != place for c in hand}
        spare = [*self.to_come.get(place, []), *(c for c in DECK if c.index not in others)]
        free = [c for c in dict.fromkeys(spare) if c not in known and c.index not in now.faces_seen]
        return [card or free.pop(0) for card in known]

    def settle(self, dice: Random) -> None:
        if self.phase == "settling" and dice.random() < 0.3:
            self.act("declare", box=dice.choice(BOXES), result=dice.choice(("win", "lose", "not-qualified")))
            self.slip(dice)
        if not self.act("settle") and self.phase == "settling" and dice.random() < 0.5:
            self._declare_as_computed(dice)
            self.act("settle")

    def _declare_as_computed(self, dice: Random) -> None:
        for result in ("lose", "not-qualified", "win"):
            for box in BOXES:
                self.act("declare", box=box, result=result)
            if self.act("settle"):
                return

    def play_on(self, dice: Random) -> None:
        """From wherever the round stands to its end, with a mishap here and there."""
        for step in (
            self.bet,
            self.deal,
            self.deal,
            self.decide,
            self.decide,
            self.show,
            self.show,
            self.settle,
        ):
            step(dice)
            if dice.random() < 0.25:
                self._mishap(dice)

    def _mishap(self, dice: Random) -> None:
        """What people do wrong while a round goes on, most of it leaving the round as it is."""
        often = (self.slip, self.slip, self._expose, self._empty_box)
        dice.choice((*often, *often, self.deal_by_hand, self._device_fails, self.any_act))(dice)

    # --- what goes wrong --------------------------------------------------------------------------

    def misdeal(self, dice: Random) -> None:
        what = dice.choice(
            (
                self._expose,
                self._expose,
                self._empty_box,
                self._empty_box,
                self._declared,
                self._surplus,
                self._wrong_packet,
                self._stray,
                self._device_fails,
                self._face_up,
                self._same_face,
                self._cut_card,
            )
        )
        what(dice)

    def _expose(self, dice: Random) -> None:
        place = dice.choice((*BOXES, "dealer", "dealer"))
        if self.act("expose", box=place, card=dice.randrange(1, 6)) and dice.random() < 0.4:
            self.slip(dice)

    def _empty_box(self, dice: Random) -> None:
        now = self.game.round
        units = len(now.deal.units) if now and now.deal else 1
        self.act("empty-box", box=dice.choice(BOXES), first=dice.randrange(1, units + 1))

    def _declared(self, dice: Random) -> None:
        self.act("misdeal", text="wrong order")

    def _surplus(self, dice: Random) -> None:
        if self.phase in ("deciding", "showdown", "settling"):
            self.unit(dice)

    def _wrong_packet(self, dice: Random) -> None:
        if self.mode == "shuffler":
            self.tell(self.table.rig.shuffler, PacketOut(dice.choice((0, 7)), dice.choice((4, 5, 6))))

    def _stray(self, dice: Random) -> None:
        self.tell("SH-2", PacketOut(0, 5)) if self.mode == "shoe" else self.tell("shoe", CardDrawn(None))

    def _device_fails(self, dice: Random) -> None:
        device = self.table.rig.shuffler or "shoe"
        what = dice.choice((0, 1, 2, 3))
        if what == 0:
            self.act("shuffler-failed")
        else:
            self.tell(
                device, (Restarted(), FaultSet(2, "jam", True), FaultSet(9, "service due", False))[what - 1]
            )

    def _face_up(self, dice: Random) -> None:
        if self.mode == "shoe":
            self.tell("shoe", CardDrawn(FaceDownCard(self._next_card(dice)), face_up=True))

    def _same_face(self, dice: Random) -> None:
        now = self.game.round
        seen = sorted(now.faces_seen) if now else []
        if seen and self.mode == "shoe":
            self.tell("shoe", CardDrawn(FaceDownCard(DECK[dice.choice(seen)])))

    def _cut_card(self, dice: Random) -> None:
        self.tell("shoe", CutCardDrawn())

    def carry_over(self, dice: Random) -> None:
        """A round is voided, perhaps a second one with the carried bets, and the source changes."""
        for _ in range(dice.choice((1, 2))):
            self.bet(dice)
            self.deal(dice)
            self._declared(dice)
        self.change_source(dice)

    # --- slips ------------------------------------------------------------------------------------

    def slip(self, dice: Random) -> None:
        """An act of this round is superseded by one of its chapter, or withdrawn."""
        slips = self.game.round.slips if self.game.round else []
        old = dice.choice(slips) if slips and dice.random() < 0.95 else None
        if old and dice.random() < 0.7:  # the newest one can most often still be put right
            old = slips[-1]
        seq = old.seq if old else dice.randrange(1, self.seq + 2)
        if dice.random() < 0.4:
            self.act("withdraw", replaces=seq)
            return
        chapter = CHAPTER_OF[old.act.name] if old else "bet"
        name = dice.choice([n for n, c in CHAPTER_OF.items() if c == chapter])
        same = dict(old.act.args) if old and dice.random() < 0.4 else {}
        self.act(name, replaces=seq, **(self._arguments(name, dice) | same))

    def _arguments(self, name: str, dice: Random) -> dict[str, Any]:
        """Arguments that fit most of the time."""
        box = dice.choice(BOXES)
        fitting: dict[str, dict[str, Any]] = {
            "ante": {
                "box": box,
                "amount": dice.choice((5_000, 30_000)),
                "player": dice.choice(("", "A", "B")),
            },
            "take-back": {"box": box, "bet": dice.choice(("ante", "progressive"))},
            "expose": {"box": dice.choice((box, "dealer")), "card": dice.randrange(1, 6)},
            "empty-box": {"box": box, "first": dice.randrange(1, 9)},
            "misdeal": {"text": "wrong order"},
            "breach": {"text": "spoke while deciding"},
            "dispute": {"round": dice.choice((1, max(1, self.rounds), 99)), "text": "the count"},
            "reveal": {"box": dice.choice((box, "dealer")), "cards": self._cards(dice)},
            "declare": {"box": box, "result": dice.choice(("win", "lose", "not-qualified", "draw"))},
            "count": {"cards": dice.choice((52, 42, 37, 0, 47))},
            "correct-pool": {"amount": dice.choice((100, -1_000, -(10**8))), "text": "miscounted"},
            "change-rules": {"rules": dice.choice(HOUSES).text()},
            "use-shuffler": {"id": dice.choice(("SH-1", "SH-2", "shoe", "SH-9"))},
            "accept-device": {"id": dice.choice(("SH-1", "SH-2", "shoe"))},
            "clear-fault": {"code": dice.choice((*self.table.faults, "count")), "text": "seen"},
        }
        bare = (
            "open-table",
            "close-table",
            "shuffle",
            "cut",
            "open-betting",
            "close-betting",
            "settle",
            "use-shoe",
        )
        return fitting.get(name, {} if name in bare else {"box": box})

    def _cards(self, dice: Random) -> str:
        now = self.game.round
        if now is None or now.deal is None or dice.random() < 0.3:
            return " ".join(card.text for card in dice.sample(DECK, dice.choice((1, 5))))
        place = dice.choice((DEALER, *now.boxes))
        cards = self._truth(place, dice) if len(now.deal.hands[place]) == 5 else [DECK[0]]
        return " ".join(card.text for card in (cards if dice.random() < 0.6 else cards[-1:]))

    # --- anything -----------------------------------------------------------------------------------

    def any_act(self, dice: Random) -> None:
        name = dice.choice(
            (*ACTS, "withdraw", "use-shoe", "use-shuffler", "accept-device", "clear-fault", "sing")
        )
        args = self._arguments(name, dice)
        if args and dice.random() < 0.3:
            args[dice.choice(sorted(args))] = dice.choice(WRONG)
        if args.get("rules") in WRONG:  # the front door reads rule sets before they come here
            args = {"problem": "ante_min: not a number"}
        role = dice.choice(("dealer", "supervisor", "supervisor", ""))
        self.act(name, role, dice.choice(("", "pit")), **args)

    def any_event(self, dice: Random) -> None:
        device = dice.choice(tuple(DEVICES))
        told = sorted(self.table.rig.told) or [1]
        number, wanted = dice.randrange(1, 60), self.table.rig.wanted
        events = {
            "shoe": (
                CardDrawn(FaceDownCard(dice.choice(DECK)), dice.random() < 0.2, dice.random() < 0.9),
                CardDrawn(None),
                CardDrawn(None, foreign=True),
                CutCardDrawn(),
            ),
            "shuffler": (
                PacketOut(dice.randrange(8), dice.choice((4, 5, 5, 5, 6))),
                PacketTaken(dice.randrange(8)),
                ShuffleStarted(number),
                ShuffleDone(number, dice.choice((52, 52, 51, 53, 0))),
                CardsReturned(dice.choice((10, 15, 20, 25))),
            ),
            "sign": (
                SignShows(wanted.meter, wanted.announcement, wanted.pages),
                SignShows("8888", ""),
                SignDiffers("pixel"),
            ),
        }[DEVICES[device]]
        common = (
            CoverMoved(dice.random() < 0.3),
            FaultSet(number % 3, "jam", dice.random() < 0.7),
            FaultCleared(number % 3),
            Restarted(),
            CommandResult(dice.choice((*told, 999)), dice.choice(("done", "accepted", "refused", "busy"))),
        )
        self.tell(device, dice.choice((*events, *events, *common)))

    def any_link(self, dice: Random) -> None:
        ready = dice.random() < 0.5
        self.take(LinkChanged(dice.choice(tuple(DEVICES)), ready, "" if ready else "lost"))

    def restart(self, dice: Random) -> None:
        """The daemon starts again, perhaps with another configuration; the devices come, or not."""
        start = started(dice.choice((self.game.rules, *HOUSES)), dice.choice(("shoe", "shuffler")))
        if dice.random() < 0.3:
            start = replace(
                start, devices={k: v for k, v in DEVICES.items() if k != dice.choice(tuple(DEVICES))}
            )
        self.take(start)
        if dice.random() < 0.7:
            self.all_ready()

    def change_source(self, dice: Random) -> None:
        self.act(
            *dice.choice((("use-shoe",), ("use-shuffler", "dealer")))
        ) if dice.random() < 0.3 else self.act("use-shuffler", id=dice.choice(("SH-1", "SH-2")))
        if dice.random() < 0.6:
            self.shuffle(dice)

    def supervise(self, dice: Random) -> None:
        """After the round: awards, refunds, counts, corrections."""
        for award in list(self.game.pending):
            if dice.random() < 0.7:
                self.act("confirm-award", role="supervisor", box=award.box)
        for box in sorted({*self.game.carried, *self.game.refundable}):
            if dice.random() < 0.4:
                self.act("refund-carried", role="supervisor", box=box)
        name = dice.choice(
            ("count", "correct-pool", "change-rules", "close-table", "confirm-award", "dispute")
        )
        self.act(name, "supervisor", dice.choice(("pit", "")), **self._arguments(name, dice))


STEPS: Final[dict[str, Callable[[Pit, Random], None]]] = {
    "bet": Pit.bet,
    "change_bets": Pit.change_bets,
    "unit": Pit.unit,
    "deal": Pit.deal,
    "deal_by_hand": Pit.deal_by_hand,
    "catch_up": Pit.catch_up,
    "decide": Pit.decide,
    "show": Pit.show,
    "settle": Pit.settle,
    "play_on": Pit.play_on,
    "misdeal": Pit.misdeal,
    "carry_over": Pit.carry_over,
    "slip": Pit.slip,
    "any_act": Pit.any_act,
    "any_event": Pit.any_event,
    "any_link": Pit.any_link,
    "restart": Pit.restart,
    "change_source": Pit.change_source,
    "supervise": Pit.supervise,
}


class Anything(RuleBasedStateMachine):
    """Every step of the pit is a rule; the journal is replayed in the end."""

    pit: Pit

    @initialize(house=st.integers(0, len(HOUSES) - 1), mode=st.sampled_from(("shoe", "shuffler")))
    def begin(self, house: int, mode: str) -> None:
        self.pit = Pit(house, mode)

    def teardown(self) -> None:
        if hasattr(self, "pit"):
            self.pit.replay()


def _rule(step: Callable[[Pit, Random], None]) -> Any:
    def run(self: Anything, dice: Random) -> None:
        step(self.pit, dice)

    run.__name__ = step.__name__  # for the report of a failure
    return rule(dice=st.randoms(use_true_random=False))(run)


for _name, _step in STEPS.items():
    setattr(Anything, _name, _rule(_step))


def _profile(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def test_what_always_holds() -> None:
    run_state_machine_as_test(Anything, settings=_profile(40, 30))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_what_always_holds_at_length() -> None:
    run_state_machine_as_test(Anything, settings=_profile(3_000, 60))


def by_seed(seed: int, steps: int = 40) -> Pit:
    """The same steps, driven by a plain seed."""
    dice = Random(seed)
    pit = Pit(seed % len(HOUSES), ("shoe", "shuffler")[seed // len(HOUSES) % 2])
    for _ in range(steps):
        dice.choice(tuple(STEPS.values()))(pit, dice)
    pit.replay()
    return pit


_TAKEN: Final = (*ACTS, "use-shoe", "use-shuffler", "accept-device", "clear-fault")
_SLIPS: Final = (
    "withdraw",
    "ante",
    "progressive",
    "take-back",
    "raise",
    "fold",
    "reveal",
    "declare",
    "expose",
)
_EVENTS: Final = (
    "CardDrawn CutCardDrawn CoverMoved ShuffleStarted ShuffleDone PacketOut PacketTaken CardsReturned "
    "FaultSet FaultCleared Restarted CommandResult SignShows SignDiffers LinkChanged Started"
).split()
WANTED: Final = {
    *(f"phase {phase.value} {mode}" for phase in Phase for mode in ("shoe", "shuffler")),
    *(
        f"clause CS-{clause}"
        for clause in ("01", "07", "09", "10", "11", "11a", "11b", "11c", "11d", "12", "13")
    ),
    *(f"award {category.label}" for category in AWARDED),
    *(f"result {result}" for result in ("win", "lose", "not-qualified")),
    *(f"{act} taken" for act in _TAKEN),
    *(f"{act} refused" for act in (*_TAKEN, "sing") if act not in ("misdeal", "shuffle")),
    *(f"{act} instead taken" for act in _SLIPS),
    *(f"{event} taken" for event in _EVENTS),
    *(
        "outcome settled",
        "outcome void",
        "carried",
        "carried again",
        "pool restarted",
        "pool divided",
        "award paid",
    ),
    *("fault duplicate-card", "fault foreign-card"),
}


@pytest.mark.slow  # it looks at the tests themselves, and takes most of a minute
def test_everything_is_reached() -> None:
    """Every phase in both modes, every irregularity, award, result, act, correction and event."""
    seen: Counter[str] = Counter()
    for seed in range(300):
        seen.update(by_seed(seed).seen)
        if seen.keys() >= WANTED:
            break
    assert WANTED - seen.keys() == set()
