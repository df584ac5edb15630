"""A five-card table beside which everything is checked after every input, and played three times over.

The two shadows get the same inputs from the journal's form of them: one with the compiled rows, and one
made anew from its own snapshot at every rest. Both must say the same, byte by byte.
"""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import Any, Final

from daemon.games.desk import Act, TimeUp
from daemon.games.five_card import FiveCard, FiveCardRules
from daemon.games.five_card.round import HOLE, SHOE, DealtCard, Round
from daemon.games.five_card.rows import ACTS
from daemon.games.five_card.rules import FORTY
from daemon.games.five_card.speaking import speaking_order
from daemon.records import decode, encode, input_from, input_record, outcome_record
from daemon.rig import BY_HAND, Rig
from daemon.table import FromDevice, LinkChanged, Outcome, Started, Table
from drivers.base import CardDrawn, CoverMoved, CutCardDrawn, FaultCleared, FaultSet, Restarted
from drivers.cards import DECK, Card, FaceDownCard
from tests.table.five_card.floor import RULES, SOURCES, UNIT, rules

DEVICES: Final = {"shoe": "shoe", "sign": "sign"}
TURNS: Final = ("opening", "speaking", "answering")
PLAY: Final = ("bet", "call", "raise", "check", "fold")
WRONG: Final = ("x", "", "-", "150.00", -1, 0, 10**18, "10000000000000000000", "2S", 99)
_CARD: Final = re.compile(r"\b(?:10|[5-9JQKA])[DCHS]\b")

HOUSES: Final = (
    RULES,
    rules(ante=10_000, seats=7, pay_unit=UNIT, smallest_chip=500, min_raise="last_total"),
    rules(topup_measured="round_end", unfollowed_unraked="fourth_round", check_raise=True, pay_unit=7),
)


def fresh(compiled: bool = False) -> Table:
    return Table("T", FiveCard(RULES, compiled), Rig({}, BY_HAND, sources=SOURCES, needs_sign=False))


class Walker:
    """One table from its first start. :meth:`take` checks everything after every input."""

    def __init__(self, house: FiveCardRules = RULES, mode: str = "shoe") -> None:
        self.table = fresh()
        assert isinstance(self.table.game, FiveCard)
        self.game: FiveCard = self.table.game
        self.restored, self.compiled = fresh(), fresh(compiled=True)
        self.seen: Counter[str] = Counter()
        self.seq = self.events = 0
        self.last = Outcome()
        self.money: Counter[str] = Counter()
        self.opened: tuple[int, set[str]] = (0, set())
        self.truth: dict[int, Card] = {}  # the hole cards of a round that is dealt by hand
        self.take(Started("1", (), mode, "", DEVICES, house.text()))
        for name in DEVICES:
            self.take(LinkChanged(name, True))

    # --- one input --------------------------------------------------------------------------

    def act(self, act_name: str, role: str = "dealer", **args: Any) -> bool:
        self.take(Act(act_name, args, role=role))
        return self.last.refusal is None

    def tell(self, event: Any) -> None:
        self.events += 1
        self.take(FromDevice("shoe", event, 1, self.events))

    def take(self, item: Any) -> None:
        before, turn, phase = self._picture(), self.turn, self.phase
        self.seq += 1
        at = f"2026-01-01T00:00:00.{self.seq:06d}Z"
        self.last = outcome = self.table.handle(item, self.seq, at)
        self._shadows(item, at, outcome)
        self._count(item, outcome)
        if outcome.refusal is not None:
            assert isinstance(item, Act | TimeUp), "a device cannot be refused"
            assert (outcome.effects, outcome.moves) == ([], [])
            assert self._picture() == before, f"a refused {item} changed something"
        elif isinstance(item, Act) and item.name in PLAY:
            assert phase in TURNS
            assert int(item.args["seat"]) == turn, "an act out of turn was accepted"
        for move in outcome.moves:
            assert move.amount > 0
            self.money[move.source] -= move.amount
            self.money[move.target] += move.amount
        self._check()

    def _picture(self) -> bytes:
        now = self.game.round
        memory = encode({"view": self.table.view(), "round": self.game.round_view()})
        faces = [card.face.turn().index if card.face else -1 for card in now.out] if now else []
        more = (now.faces_seen, now.held, now.error, now.queue, now.by_hand, now.turn) if now else ()
        return memory + repr((faces, more, dict(self.table.balances), self.game.deck)).encode()

    def _shadows(self, item: Any, at: str, outcome: Outcome) -> None:
        """What was journalled, played again, is journalled again in the same bytes."""
        plain, faces = input_record(item)
        record = encode(outcome_record(at, plain, outcome, self.phase))
        again = input_from(decode(encode(plain)), faces)
        for shadow in (self.restored, self.compiled):
            result = shadow.handle(again, self.seq, at)
            assert encode(outcome_record(at, plain, result, shadow.game.phase)) == record
            assert shadow.timer == self.table.timer
        if self.game.at_rest and (outcome.effects or self.seq % 16 == 0):
            state = decode(encode(self.table.snapshot()))
            anew = fresh()
            anew.restore(state)
            assert anew.snapshot() == self.table.snapshot()
            self.restored = anew

    def _count(self, item: Any, outcome: Outcome) -> None:
        name = item.name if isinstance(item, Act) else type(item).__name__
        self.seen[f"{name} {'taken' if outcome.refusal is None else 'refused'}"] += 1
        self.seen[f"phase {self.phase}"] += 1
        self.seen.update(f"fault {code}" for code in self.table.faults)
        for effect in outcome.effects:
            if type(effect).__name__ == "RoundClosed":
                self.seen[f"round {effect.outcome}"] += 1
                pots = len(effect.summary["pots"])
                self.seen[f"{min(pots, 3)} pots"] += 1

    # --- what always holds --------------------------------------------------------------------

    @property
    def phase(self) -> str:
        return self.game.phase

    @property
    def turn(self) -> int | None:
        now = self.game.round
        return now.queue[0] if now and now.queue else None

    def _check(self) -> None:
        self._check_money()
        now = self.game.round
        assert (now is None) == (self.phase in ("out-of-service", "between-rounds"))
        if now is None:
            assert self.table.timer is None
            return
        self._check_turn(now)
        self._check_cards(now)
        self._check_secrets(now)

    def _check_money(self) -> None:
        for seat in range(1, 9):
            holder = self.game.seats.get(seat)
            assert self.money[f"stack.{seat}"] == (holder.stack if holder else 0)
        now = self.game.round
        assert self.money["pot"] == (now.pot if now else 0) >= 0
        bought = -sum(self.money[f"player.{seat}"] for seat in range(1, 9))
        on_table = sum(seat.stack for seat in self.game.seats.values()) + self.money["pot"]
        assert bought == on_table + self.money["house.rake"] + self.money["house"]
        assert self.money["house.rake"] >= 0 >= self.money["house"]

    def _check_turn(self, now: Round) -> None:
        """Exactly one player has to decide, and the betting round has ended when it had to."""
        chips = [hand for hand in now.live if not hand.all_in]
        if self.phase in TURNS:
            assert self.turn in [hand.seat for hand in chips]
            assert len(now.queue) == len(set(now.queue))
            assert len(now.live) >= 2
        else:
            assert self.table.timer is None
            assert not now.queue or self.phase == "showdown"
        if self.phase == "answering":
            assert all(now.hands[seat].bet < now.price for seat in now.queue)
            waiting = {hand.seat for hand in chips if hand.bet < now.price}
            assert waiting == set(now.queue)
        elif self.phase == "speaking":
            assert len(chips) >= 2
            assert now.price == 0
        elif self.phase in ("dealing", "showdown"):
            assert len({hand.bet for hand in chips}) <= 1
        if self.phase == "showdown":
            assert len(now.live) >= 2

    def _check_cards(self, now: Round) -> None:
        self._check_remembered(now)
        by_people = [card.open or card.face.turn() for card in now.out if card.face and _seen(card)]
        by_shoe = [card.face.turn() for card in now.out if card.face and not _seen(card)]
        for faces in (by_people, by_shoe) if now.misread else (by_people + by_shoe,):
            assert len(faces) == len(set(faces)), "a face twice on the table"
        sizes = {len(hand.cards) for hand in now.live}
        if self.phase in TURNS:
            assert sizes == {now.number + 1}
            assert all(hand.unread() is None for hand in now.live)
        elif self.phase == "showdown":
            assert sizes == {5}
        assert len(now.out) == bool(now.number) + sum(len(h.cards) for h in now.hands.values()) + len(
            now.held
        ) + len([i for i in now.irregularities if "due to nobody" in i.detail])

    def _check_remembered(self, now: Round) -> None:
        """What the round keeps, for it is asked for often, is what its hands and cards tell anew."""
        assert now.live == [hand for hand in now.hands.values() if hand.still_in]
        if now.order is not None:
            kept = [seat for seat in now.order if now.hands[seat].still_in]
            assert kept == speaking_order({hand.seat: hand.up() for hand in now.live})

    def _check_secrets(self, now: Round) -> None:
        """No view tells a face that is not open: of a hole card, the burn, or a card that waits."""
        if now.id != self.opened[0]:
            self.opened = now.id, set()
        openly = self.opened[1]  # a card that was keyed wrong was open too, and is named in what corrected it
        openly |= {card.open.text for hand in now.hands.values() for card in hand.cards if card.open}
        told = encode({"view": self.table.view(), "round": self.game.round_view()}).decode()
        assert set(_CARD.findall(told)) <= openly
        for effect in self.last.effects:
            assert set(_CARD.findall(repr(effect))) <= openly
        if self.last.refusal is not None:
            assert not _CARD.findall(f"{self.last.refusal} {self.last.refusal.todo}")


class Pit(Walker):
    """A dealer, players and a shoe that do the right thing, the wrong thing, or anything."""

    def __init__(self, house: int = 0, mode: str = "shoe") -> None:
        super().__init__(HOUSES[house], mode)

    # --- on the way to a round ----------------------------------------------------------------

    def put_right(self, dice: Random) -> None:
        self.take(LinkChanged("shoe", True))
        device = self.table.rig.devices["shoe"]
        for code in list(device.faults):
            self.tell(FaultCleared(code))
        if device.cover_open:
            self.tell(CoverMoved(False))
        self.act("open-table")
        self.act("shuffle")
        for code in list(self.table.faults):
            if code == "new-deck" or self.game.deck.rounds >= 10:
                self.act("new-deck")
            self.act("clear-fault", role="supervisor", code=code, text="seen")
        if self.game.deck.rounds >= 10:
            self.act("new-deck")
        self.act("shuffle")

    def sit(self, dice: Random) -> None:
        least = self.game.rules.level.buy_in_min
        for seat in dice.sample(range(1, 8), dice.randint(2, 7)):
            self.act("buy-in", seat=seat, amount=least + dice.choice((0, 0, 5_000, 123_456)))
        for seat, holder in list(self.game.seats.items()):
            if holder.short:
                self.act("top-up", seat=seat, amount=max(1, self.game.owed(holder)))

    def antes(self, dice: Random) -> None:
        if self.phase not in ("out-of-service", "between-rounds", "antes"):
            return
        self.put_right(dice)
        self.sit(dice)
        if dice.random() < 0.05:
            self.act("burn")
        for seat in list(self.game.seats):
            if dice.random() < 0.85:
                self.act("ante", seat=seat)
        for act in ("ante", "reveal", "breach", *PLAY):
            if dice.random() < 0.02:
                self.act(act, seat=dice.randint(1, 8))
        if dice.random() < 0.1:
            self.act("take-back", seat=dice.randint(1, 8))
        if dice.random() < 0.2:
            self.act("cut", seat=dice.randint(1, 8), cards=dice.randint(4, 41))
        self.truth = {}
        if self.by_hand:
            self.act("burn")
        else:
            self.tell(CardDrawn(FaceDownCard(self._next(dice))))

    # --- cards ----------------------------------------------------------------------------------

    @property
    def by_hand(self) -> bool:
        return bool(self.table.rig.mode == BY_HAND or self.table.rig.source_trouble())

    def _next(self, dice: Random) -> Card:
        now = self.game.round
        seen = (now.faces_seen if now else set()) | {card.index for card in self.truth.values()}
        return dice.choice([card for card in FORTY if card.index not in seen] or list(FORTY))

    def card(self, dice: Random) -> None:
        now = self.game.round
        if now is None:
            return
        for hand in now.live:
            if hand.unread() is not None:
                self._clear_doubts()
                self.act("card", seat=hand.seat, card=self._next(dice).text)
                return
        if now.error and dice.random() < 0.8:
            self.act("correct-deal", text="put right")
        if not self.by_hand:
            self._drawn(dice)
        elif now.due:
            self._keyed(now, dice)

    def _drawn(self, dice: Random) -> None:
        roll, face = dice.random(), FaceDownCard(self._next(dice))
        if roll < 0.97:
            self.tell(CardDrawn(face, dice.random() < 0.01, dice.random() < 0.95))
        elif roll < 0.98:
            self.tell(CardDrawn(None))
        elif roll < 0.985:
            self.tell(CardDrawn(None, foreign=True))
        elif roll < 0.99:
            self.tell(CardDrawn(FaceDownCard(dice.choice(DECK))))
        else:
            self.tell(CardDrawn(FaceDownCard(dice.choice(FORTY))))

    def _keyed(self, now: Round, dice: Random) -> None:
        seat = now.due[0] if dice.random() < 0.97 else dice.randint(1, 8)
        hand = now.hands.get(seat)
        card = self._next(dice)
        if hand is not None and now.number == 1 and len(now.due) - len(now.held) <= len(now.hands):
            self.act("card", seat=seat)
        else:
            self.act("card", seat=seat, card=card.text)

    def _clear_doubts(self) -> None:
        for code in ("duplicate-card", "foreign-card", "shoe-restarted", "other-face"):
            if code in self.table.faults:
                self.act("clear-fault", code=code, text="looked at it")

    def deal(self, dice: Random) -> None:
        for _ in range(60):
            if self.phase != "dealing" or dice.random() < 0.01:
                return
            self.card(dice)

    # --- betting ----------------------------------------------------------------------------------

    def speak(self, dice: Random) -> None:
        now, seat = self.game.round, self.turn
        if now is None or seat is None or self.phase not in TURNS:
            return
        self._clear_doubts()
        stack, bet = self.game.seats[seat].stack, now.hands[seat].bet
        chip = self.game.rules.smallest_chip
        most = bet + stack
        some = min(most, max(chip, dice.choice((1, 2, 5, 40)) * 10 * chip))
        roll = dice.random()
        if roll < 0.02:
            self.act("leave", seat=seat)
        elif roll < 0.04 and self.table.timer is not None:
            self.take(TimeUp(self.table.timer.id))
        elif roll < 0.16:
            self.act("fold", seat=seat)
        elif self.phase == "answering":
            if roll < 0.30:
                self.act("raise", seat=seat, amount=min(most, now.price + max(now.last_total, some)))
            if self.turn == seat and roll < 0.38:
                self.act("raise", seat=seat, amount=most)
            if self.turn == seat:
                self.act("call", seat=seat)
        elif roll < 0.5 and self.phase == "speaking":
            self.act("check", seat=seat)
        else:
            self.act("bet", seat=seat, amount=most if roll > 0.93 else some)

    def go_on(self, dice: Random) -> None:
        """The device that halts the table is there again, or the dealer goes on without it."""
        self._clear_doubts()
        if self.phase in TURNS and self.table.timer is None and not self.act("hand-entry"):
            self.take(LinkChanged("shoe", True))
            self.put_right(dice)

    def betting(self, dice: Random) -> None:
        if dice.random() < 0.03:
            self.act(dice.choice(("new-deck", "shuffle", "cut", "burn", "open-table")))
        if dice.random() < 0.9:
            self.go_on(dice)
        for _ in range(40):
            if self.phase not in TURNS or dice.random() < 0.01:
                return
            self.speak(dice)

    # --- the end --------------------------------------------------------------------------------------

    def show(self, dice: Random) -> None:
        self._clear_doubts()
        while self.phase == "showdown" and self.turn is not None:
            now, seat = self.game.round, self.turn
            assert now is not None
            hole = now.hands[seat].cards[HOLE]
            elsewhere = any(_seen(each) and each.face == hole.face for each in now.out if each is not hole)
            known = None if elsewhere else hole.face
            self.act("reveal", seat=seat, card=known.turn().text if known else self._next(dice).text)
            if dice.random() < 0.1:
                self.slip(dice)

    def settle(self, dice: Random) -> None:
        self.act("settle")

    def play_on(self, dice: Random) -> None:
        """From wherever the round stands to its end, with a mishap here and there."""
        begin = (self.antes, self.deal, self.expose_one)
        for step in (*begin, *(self.betting, self.deal) * 4, self.show, self.expose_one, self.settle):
            step(dice)
            if dice.random() < 0.1:
                self.mishap(dice)

    # --- what goes wrong ---------------------------------------------------------------------------

    def mishap(self, dice: Random) -> None:
        dice.choice(
            (
                self.correct,
                self.lose_shoe,
                self.lose_shoe,
                self.device,
                self.any_act,
                self.early,
                self.stale,
                self.slip,
            )
        )(dice)

    def expose_one(self, dice: Random) -> None:
        now = self.game.round
        while now is not None and now.live and dice.random() < 0.15:
            self.act("expose-hole", seat=dice.choice(now.live).seat)

    def expose(self, dice: Random) -> None:
        self.act("expose-hole", seat=dice.randint(1, 8))

    def correct(self, dice: Random) -> None:
        self.act("correct-deal", role=dice.choice(("dealer", "supervisor")), text="put right")

    def lose_shoe(self, dice: Random) -> None:
        """The shoe is lost on the way; the dealer goes on, and it comes back, or does not."""
        self.take(LinkChanged("shoe", False, "lost"))
        if dice.random() < 0.7:
            self.act("hand-entry")
        for _ in range(dice.randint(0, 9)):
            self.card(dice) if self.phase == "dealing" else self.speak(dice)
        if dice.random() < 0.8:
            self.take(LinkChanged("shoe", True))
            self.catch_up(dice)

    def catch_up(self, dice: Random) -> None:
        now = self.game.round
        while self.game.round is now is not None and now.entered_by_hand:
            keyed = now.entered_by_hand[0].face
            face = FaceDownCard(self._next(dice)) if keyed is None or dice.random() < 0.03 else keyed
            self.tell(CardDrawn(face if dice.random() < 0.95 else None))

    def device(self, dice: Random) -> None:
        events = (Restarted(), FaultSet(2, "jam"), FaultCleared(2), CoverMoved(True), CoverMoved(False))
        self.tell(dice.choice((*events, CutCardDrawn(), CardDrawn(None))))

    def early(self, dice: Random) -> None:
        if not self.by_hand:
            self._drawn(dice)

    def stale(self, dice: Random) -> None:
        self.take(TimeUp(dice.randint(1, self.seq)))

    def slip(self, dice: Random) -> None:
        """A card that was told is keyed again: perhaps in time, perhaps as a card that lies elsewhere."""
        now = self.game.round
        hands = now.hands.values() if now else ()
        told = [(hand.seat, card.turned or card.told) for hand in hands for card in hand.cards if card.told]
        seat, record = dice.choice(told) if told and dice.random() < 0.9 else (1, dice.randint(1, self.seq))
        hidden = [card.face.turn() for card in now.out if card.face and not _seen(card)] if now else []
        others = hidden if hidden and dice.random() < 0.5 else FORTY
        face = dice.choice(others) if dice.random() < 0.3 else self._next(dice)
        name = "reveal" if self.phase in ("showdown", "settling") and dice.random() < 0.7 else "card"
        role = dice.choice(("dealer", "dealer", "supervisor"))
        self.take(Act(name, {"seat": seat, "card": face.text}, role=role, replaces=record))
        self.seen[f"{name} again {'taken' if self.last.refusal is None else 'refused'}"] += 1

    def wrong_deck(self, dice: Random) -> None:
        for each in (self.antes, self.deal, self.speak):
            each(dice)
        self.act("wrong-deck", role=dice.choice(("dealer", "supervisor")), text="two aces of spades")

    def change_source(self, dice: Random) -> None:
        self.act(dice.choice(("use-hand", "use-shoe", "use-shuffler")), id="SH-1")

    def leave(self, dice: Random) -> None:
        self.act("leave", seat=dice.randint(1, 8))

    def house(self, dice: Random) -> None:
        """What happens now and then: other rules, a breach, everybody goes and the table closes."""
        self.act("breach", text="shows his cards")
        self.act("change-rules", role=dice.choice(("dealer", "supervisor")), rules=dice.choice(HOUSES).text())
        if dice.random() < 0.7:
            for seat in range(1, 9):
                self.act("leave", seat=seat)
            self.act("close-table")

    def any_act(self, dice: Random) -> None:
        """Any act with arguments that fit, nearly fit, or are nonsense."""
        args: dict[str, Any] = {}
        for name in ("seat", "amount", "card", "cards", "text", "code"):
            if dice.random() < 0.7:
                args[name] = self._argument(name, dice)
        if dice.random() < 0.3:
            args["rules"] = dice.choice(HOUSES).text()
        self.act(dice.choice(ACTS), role=dice.choice(("dealer", "supervisor")), **args)

    def _argument(self, name: str, dice: Random) -> object:
        fits: dict[str, Any] = {
            "seat": self.turn or dice.randint(1, 8),
            "amount": dice.choice((100, 2_000, 10_000, 200_000)),
            "card": dice.choice(FORTY).text,
            "cards": 20,
            "text": "why",
            "code": "duplicate-card",
        }
        return fits[name] if dice.random() < 0.7 else dice.choice(WRONG)


def _seen(card: DealtCard) -> bool:
    """People see this face, or keyed it; else only the shoe has read it."""
    return card.open is not None or card.by != SHOE
