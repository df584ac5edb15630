"""The dealer of a demonstration, and the supervisor behind him: round after round, by the regulation."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final

from daemon.demo.deal import (
    Deal,
    DealtElsewhere,
    Hands,
    ShoeDeal,
    ShufflerDeal,
    shuffled_by_hand,
    tidy_shuffler,
)
from daemon.demo.options import DemoFailed
from daemon.demo.plan import Plan, Trouble
from daemon.demo.players import Bet, Players
from daemon.demo.staff import PATIENCE, Json, RoundEnded, Staff, reason, trouble
from daemon.games.caribbean.deal import DEALER
from daemon.games.hands import Category, category_of, qualifies, rank_61_2004
from daemon.simhost import ControlError

SHUFFLER: Final = "shuffler"
SHUFFLE_TIME: Final = 5.0  # seconds after which a shuffle is ordered once more
LOOK: Final = 0.1  # seconds that people look at something
RESULT: Final = 0.3
SAY_SO: Final = 5.0  # seconds after which people are told what is waited for
ANNOUNCEMENT: Final = 4.0  # seconds that a sign may need for it


class Dealer:
    """Plays rounds. Everything at the table is done by acts, everything at a device by hand."""

    def __init__(self, staff: Staff, players: Players, plan: Plan) -> None:
        self.staff = staff
        self.players = players
        self.plan = plan
        self._shoe_until = 0  # the last round of the stay after a failure

    # --- opening and closing the table ------------------------------------------------------

    def open_table(self) -> None:
        """Take the table up as it is: closed, open, or in the middle of a round nobody remembers."""
        status = self.staff.status()
        if status["state"] == "out-of-service":
            self.staff.must("open-table")
        elif status["round"] is not None:
            self._abandon(status)

    def close_table(self) -> None:
        """The sign goes back to the bare meter."""
        self._pay_and_refund(self.staff.status())
        self.staff.must("close-table")

    def _abandon(self, status: Json) -> None:
        self.staff.tell(f"round {status['round']} was left open by an earlier demonstration: abandoned")
        if status["state"] != "betting":
            self.staff.must("misdeal", text="the round was left by its dealer")
            return
        for box in self.staff.round_of(status["round"])["boxes"]:
            self.staff.must("take-back", box=box["box"])
        self.staff.must("close-betting")

    # --- one round --------------------------------------------------------------------------

    def play(self, number: int) -> int:
        """Play round ``number`` of this demonstration, from 1; its id at the table."""
        self._prepare(number)
        status = self.staff.status()
        round_id = self.staff.round = status["round"]
        wrong = self.plan.take(number, status["mode"])
        with suppress(RoundEnded):
            bets = self._take_bets(status)
            hands = self._deal([bet.box for bet in bets], status["mode"], wrong)
            self._decisions(bets, hands)
            self._showdown(bets, hands)
        self.staff.round = None
        self._clear_up(number)
        assert isinstance(round_id, int)
        return round_id

    def _take_bets(self, status: Json) -> list[Bet]:
        carried = [int(box) for box in status["carried"]]
        bets = self.players.bets(carried)
        for bet in bets:
            self.staff.must("ante", box=bet.box, amount=bet.ante)
            if bet.progressive:
                self.staff.must("progressive", box=bet.box)
        self.staff.pause(LOOK)
        return bets

    def _deal(self, boxes: list[int], mode: str, wrong: Trouble | None) -> Hands:
        try:
            return self._deal_from(mode, boxes, wrong)
        except DealtElsewhere:
            self._go_to_shoe()
            shuffled_by_hand(self.staff, self.players)
            return self._deal_from("shoe", boxes, None)

    def _deal_from(self, mode: str, boxes: list[int], wrong: Trouble | None) -> Hands:
        kind: type[Deal] = ShufflerDeal if mode == "shuffler" else ShoeDeal
        deal = kind(self.staff, self.players, boxes, wrong)
        if not self.staff.act("close-betting")["accepted"]:
            self._still_dealt_here()
        hands = deal.deal()
        deal.after()
        return hands

    def _still_dealt_here(self) -> None:
        """Betting cannot be closed: the machine failed meanwhile, or this is an error."""
        status = self.staff.status()
        if status["mode"] == "shuffler" and status["devices"][status["shuffler"]]["barred"]:
            raise DealtElsewhere
        raise DemoFailed(f"betting could not be closed ({trouble(status)})")

    def _decisions(self, bets: list[Bet], hands: Hands) -> None:
        for bet in bets:
            self.staff.pause(LOOK)
            name = "raise" if self.players.raises(hands[bet.box]) else "fold"
            self.staff.must(name, box=bet.box)

    def _showdown(self, bets: list[Bet], hands: Hands) -> None:
        raised = [bet.box for bet in bets if self.players.raises(hands[bet.box])]
        if self.staff.status()["state"] == "showdown":
            self._reveal(DEALER, hands)
            for box in self._to_open(raised, hands):
                self._reveal(box, hands)
        self.staff.pause(LOOK)
        self.staff.must("settle")

    def _to_open(self, raised: list[int], hands: Hands) -> list[int]:
        """The boxes that CS-09 opens, or else those with a progressive award to claim (CS-10)."""
        if qualifies(hands[DEALER]):
            return raised
        account = self.staff.round_of(self.staff.round or 0)
        claiming = {box["box"] for box in account["boxes"] if box["progressive"]}
        return [
            box
            for box in raised
            if box in claiming and category_of(rank_61_2004(hands[box])) >= Category.FLUSH
        ]

    def _reveal(self, place: int, hands: Hands) -> None:
        name = "dealer" if place == DEALER else place
        self.staff.must("reveal", box=name, cards=" ".join(card.text for card in hands[place]))
        self.staff.pause(LOOK)

    def _clear_up(self, number: int) -> None:
        """After a round: let people see it, pay, leave a failed machine, put the cards back."""
        status = self._let_sign_be_seen()
        if status["mode"] == "shoe":
            self._count_stub()
        elif status["devices"][SHUFFLER]["barred"]:
            self._leave_shuffler(number)
        self._tidy()
        self._pay_and_refund(self.staff.status())
        self.staff.pause(RESULT)

    def _let_sign_be_seen(self) -> Json:
        """VOID or WINNER stays until the sign has shown it; a sign that is away is not waited for."""
        give_up = time.monotonic() + ANNOUNCEMENT
        status = self.staff.status()
        while status["announcement"] and not status["sign"]["proven"] and time.monotonic() < give_up:
            status = self.staff.status(status["seq"], 0.2)
        return status

    def _count_stub(self) -> None:
        cards = self.staff.world.shoe.do("state")["cards"]
        assert isinstance(cards, int)
        self.staff.act("count", cards=cards)

    def _tidy(self) -> None:
        with suppress(ControlError):  # it is tried again before the next shuffle
            tidy_shuffler(self.staff)

    # --- what a round needs before it opens -------------------------------------------------

    def _prepare(self, number: int) -> None:
        """Do what is due until open-betting is accepted; wait where only waiting helps."""
        self._choose_source(number)
        begun = time.monotonic()
        told = ""
        while True:
            status = self._get_ready(self.staff.status())
            if self._may_open(status) and self.staff.act("open-betting")["accepted"]:
                return
            if time.monotonic() > begun + SAY_SO and told != (told := trouble(status)):
                self.staff.tell(f"waiting: {told}")
            if time.monotonic() > begun + PATIENCE:
                raise DemoFailed(f"no round can be opened: {trouble(status)}")
            self.staff.status(status["seq"], 1.0)

    def _may_open(self, status: Json) -> bool:
        """Whether open-betting can be accepted: else only waiting helps (CS-01, CS-03)."""
        ready = not status["not_ready"] and status["sign"]["proven"]
        return ready and not status["faults"] and self._deck_is_proven(status)

    def _choose_source(self, number: int) -> None:
        by_hand = number in self.plan.by_shoe or number <= self._shoe_until
        mode = self.staff.status()["mode"]
        if by_hand and mode != "shoe":
            self._go_to_shoe()
        elif not by_hand and mode == "shoe":
            self._go_to_shuffler()

    def _go_to_shoe(self) -> None:
        self.staff.must("use-shoe")

    def _go_to_shuffler(self) -> None:
        if self.staff.status()["devices"][SHUFFLER]["barred"]:
            self.staff.must("accept-device", "supervisor", id=SHUFFLER)
        self.staff.must("use-shuffler", id=SHUFFLER)

    def _leave_shuffler(self, number: int) -> None:
        """A machine that failed while dealing is refused until a supervisor takes it back (CS-11d)."""
        refused = self.staff.act("use-shuffler", id=SHUFFLER)
        self.staff.tell(f"use-shuffler refused: {reason(refused)}")
        self._go_to_shoe()
        self._shoe_until = number + self.plan.stay

    def _get_ready(self, status: Json) -> Json:
        self._pay_and_refund(status)
        for fault in status["faults"]:
            self._clear_fault(fault)
        if status["not_ready"]:
            self._tidy()
        elif not self._deck_is_proven(status):
            self._shuffle(status)
        return self.staff.status()

    def _clear_fault(self, fault: Json) -> None:
        if fault["cleared_by"] == "shuffle":
            return  # the deck is not proven then, and is shuffled
        answer = self.staff.act(
            "clear-fault", "supervisor", code=fault["code"], text="seen to by the supervisor"
        )
        if answer["accepted"]:
            self.staff.tell(f"a supervisor cleared: {fault['text']}")

    @staticmethod
    def _deck_is_proven(status: Json) -> bool:
        deck = status["deck"]
        if status["mode"] == "shoe":
            return bool(deck["shuffled"] and deck["cut"])
        return bool(deck["shuffler"])

    def _shuffle(self, status: Json) -> None:
        if status["mode"] == "shoe":
            shuffled_by_hand(self.staff, self.players)
            return
        self._tidy()
        self.staff.must("shuffle")
        with suppress(DemoFailed):  # not done in this time: the next attempt orders it anew
            self.staff.wait_for("the shuffle", self._deck_is_proven, SHUFFLE_TIME)

    def _pay_and_refund(self, status: Json) -> None:
        """The supervisor's work between rounds (CS-10, CS-11)."""
        for award in status["pending_awards"]:
            if not award["confirmed"]:
                self.staff.must("confirm-award", "supervisor", box=award["box"])
        for box in status["refundable"]:
            self.staff.must("refund-carried", "supervisor", box=int(box))
