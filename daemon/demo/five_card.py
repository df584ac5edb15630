"""A five-card table that plays by itself: the people of the simulation, at a daemon and its devices."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from daemon.demo.options import DemoFailed
from daemon.demo.report import Report
from daemon.demo.scene import Scene
from daemon.demo.staff import PATIENCE, Json, RoundEnded, Staff, reason, trouble
from daemon.games.five_card.rules import FiveCardRules
from daemon.games.money import money
from daemon.simhost import ControlError
from daemon.simulation.five_card.book import Paid
from daemon.simulation.five_card.dealer import Dealer, Look, Mishap
from drivers.cards import Card, parse_card

LOST: Final = 10.0  # seconds after which a card that a ready shoe did not tell is lost
STUBBORN: Final = 10.0  # seconds for which a refused act is tried again: devices come and go
RETRY: Final = 0.1
CARD: Final = 0.015  # seconds between the moves of a dealer's hands
WORD: Final = 0.05
RESULT: Final = 0.3
FEWEST: Final = 3  # players of a round
DEALT: Final = ("dealing", "opening", "speaking", "answering", "showdown", "settling")
# Two minutes of silence are left out: nobody wants to look at them.
PLANNED: Final = (Mishap.EXPOSED, Mishap.EARLY, Mishap.WRONG_DECK, Mishap.LEFT)


class StaffFloor:
    """The table of a daemon, its shoe by the control socket (daemon.simulation.five_card.dealer.Floor)."""

    def __init__(self, staff: Staff) -> None:
        self._staff = staff
        self._round = 0
        self._out = 0  # cards of this round

    def act(self, name: str, role: str = "dealer", **args: str | int) -> None:
        """Do it, and again while a device is away. Raises RoundEnded, or DemoFailed if it stays refused."""
        give_up = time.monotonic() + STUBBORN
        while not (answer := self._when_ready(name, role, args))["accepted"]:
            self._clear_faults(self._staff.status())
            if time.monotonic() > give_up:
                raise DemoFailed(f"{name} was refused: {reason(answer)}")
            time.sleep(RETRY)
        self._staff.pause(WORD)

    def look(self) -> Look:
        status = self._staff.status()
        due = status["next_card"]
        return Look(status["state"], status["turn"], () if due is None else (due,), status["error"])

    def load(self, deck: Sequence[str]) -> None:
        self._shoe("load", deck=deck)

    def draw(self, face_up: bool = False, foreign: bool = False) -> Card:
        """The next card; the table knows of it then. Raises RoundEnded when it never hears of it."""
        self._enter_round()
        drawn = self._shoe("draw", face_up=face_up, foreign=foreign)
        self._out += 1
        self._await_card()
        self._staff.pause(CARD)
        return parse_card(str(drawn["card"]))

    def sleep(self) -> None:
        raise DemoFailed("nobody sleeps at a demonstration")

    def _when_ready(self, name: str, role: str, args: dict[str, str | int]) -> Json:
        self._staff.wait_for("the shoe", lambda status: not status["not_ready"])
        return self._staff.act(name, role, **args)

    def _clear_faults(self, status: Json) -> None:
        for fault in status["faults"]:
            if fault["cleared_by"].startswith("clear-fault"):
                self._staff.act("clear-fault", "supervisor", code=fault["code"], text="the stub was counted")

    def _enter_round(self) -> None:
        """The first card of a round is the first draw after its antes."""
        if self._staff.round is None:
            self._staff.round = self._round = self._staff.status()["round"]
            self._out = 0

    def _shoe(self, verb: str, **args: object) -> dict[str, Any]:
        """Do something with the shoe, as soon as it lets one."""
        answers: list[dict[str, Any]] = []

        def done(_: Json) -> bool:
            with suppress(ControlError):
                answers.append(self._staff.world.shoe.do(verb, **args))
            return bool(answers)

        self._staff.wait_for(f"a shoe that lets one {verb}", done)
        return answers[0]

    def _await_card(self) -> None:
        lost_at = time.monotonic() + LOST
        while self._staff.round_of(self._round)["cards_out"] < self._out:
            status = self._staff.status()
            if status["not_ready"]:
                lost_at = time.monotonic() + LOST
            if time.monotonic() > lost_at:
                self._staff.must("wrong-deck", "supervisor", text="a card left the shoe and was not told")
                raise RoundEnded
            self._staff.status(status["seq"], RETRY)


class StudTable:
    """Plays rounds of a demonstration, the players' book beside the table's."""

    def __init__(self, staff: Staff, rules: FiveCardRules, seed: int, mishaps: Sequence[Mishap]) -> None:
        self.staff = staff
        self.dealer = Dealer(StaffFloor(staff), rules, range(1, rules.seats + 1), Random(seed))
        self._mishaps = list(mishaps)

    def open_table(self) -> None:
        """Take the table up as it is; who sat there goes home, an open round is abandoned."""
        status = self.staff.status()
        if status["state"] == "out-of-service":
            self.staff.must("open-table")
        if status["round"] is not None:
            self._abandon(status)
        self._everybody_leaves()
        self.dealer.new_deck()
        self.dealer.book.house = self._house(self.staff.status())

    def close_table(self) -> None:
        """Everybody takes his chips along."""
        self._everybody_leaves()
        self.staff.must("close-table")

    def play(self) -> Json:
        """One round; its public account. Raises DemoFailed when the players' book says something else."""
        dealer = self.dealer
        dealer.prepare(dealer.players(FEWEST))
        round_id = self.staff.status()["round"]
        mishap = self._mishaps.pop(0) if self._mishaps else None
        paid = self._paid(mishap)
        self.staff.round = None
        if dealer.mishap is not None:  # there was no occasion
            self._mishaps.insert(0, dealer.mishap)
        account = self.staff.round_of(round_id)
        self._compare(account, paid)
        self.staff.pause(RESULT)
        return account

    def _paid(self, mishap: Mishap | None) -> Paid | None:
        book = self.dealer.book
        try:
            return book.settled() if self.dealer.play(mishap) else None
        except RoundEnded:
            self.staff.round = None
            book.voided()
            self.dealer.new_deck()
            return None

    def _compare(self, account: Json, paid: Paid | None) -> None:
        status = self.staff.status()
        balances = {f"stack.{seat['seat']}": seat["stack"] for seat in status["seats"]}
        balances |= {"house.rake": self._house(status), "pot": status["pot"]}
        broken = self.dealer.book.differences(account, paid, balances)
        if broken:
            raise DemoFailed("; ".join(broken))

    @staticmethod
    def _house(status: Json) -> int:
        return int(status["rake"])

    def _everybody_leaves(self) -> None:
        for seat in self.staff.status()["seats"]:
            self.staff.must("leave", seat=seat["seat"])
        self.dealer.book.stacks.clear()

    def _abandon(self, status: Json) -> None:
        self.staff.tell(f"round {status['round']} was left open by an earlier demonstration: abandoned")
        if status["state"] in DEALT:
            self.staff.must("wrong-deck", "supervisor", text="the round was left by its dealer")
            return
        for hand in self.staff.round_of(status["round"])["seats"]:
            self.staff.must("take-back", seat=hand["seat"])


# --- what it has to show for itself ---------------------------------------------------------


@dataclass(slots=True)
class StudReport(Report):
    """Counts over the rounds of a five-card demonstration. ``rake`` in minor units."""

    rake: int = 0
    all_ins: int = 0
    side_pots: int = 0
    acts: Counter[str] = field(default_factory=Counter)

    def count(self, account: Json) -> None:
        self.outcomes[account["outcome"]] += 1
        self.clauses.update(each["clause"] for each in account["irregularities"])
        self.acts.update(each["act"] for each in account["actions"])
        self.rake += account["rake"]["first"] + account["rake"]["pots"]
        self.all_ins += sum(seat["status"] == "all-in" for seat in account["seats"])
        self.side_pots += max(0, len(account["pots"]) - 1)

    def json(self) -> dict[str, Any]:
        """The one object of ``--json``."""
        return {
            **self.common(),
            "rake": self.rake,
            "all_ins": self.all_ins,
            "side_pots": self.side_pots,
            "actions": dict(sorted(self.acts.items())),
        }

    def rows(self) -> list[tuple[str, str]]:
        """The summary for people."""
        return [
            *self.head_rows(),
            ("rake", money(self.rake, "")),
            ("all-ins, side pots", f"{self.all_ins}, {self.side_pots}"),
            *self.foot_rows(),
        ]


def stud_line(account: Json, scene: Scene) -> str:
    """One round in one line: what each seat put in and got."""
    seats = " ".join(f"{seat['seat']}:{_result(seat)}" for seat in account["seats"])
    clauses = "".join(f"  [{each['clause']} {each['detail']}]" for each in account["irregularities"])
    return f"round {scene.played}/{scene.wanted}  {account['outcome']:<7}  {seats}{clauses}"


def _result(seat: Json) -> str:
    won = f"+{money(seat['won'], '')}" if seat["won"] else ""
    return f"{seat['status']}-{money(seat['ante'] + seat['staked'] - seat['returned'], '')}{won}"


def final_sign_shown(staff: Staff) -> None:
    """Wait until the sign is proven to show what it is to show. Raises DemoFailed."""
    give_up = time.monotonic() + PATIENCE
    while not (status := staff.status())["sign"]["proven"]:
        if time.monotonic() > give_up:
            raise DemoFailed(f"the sign does not show the ante ({trouble(status)})")
        staff.status(status["seq"], RETRY)
