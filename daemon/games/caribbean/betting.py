"""Betting: antes and progressive bets until the first card (CS-06)."""

from __future__ import annotations

from daemon.games.caribbean.memory import Memory
from daemon.games.caribbean.round import (
    Box,
    Progressive,
    Round,
)
from daemon.games.desk import Act, Desk, GameInput, Refused


class Betting(Memory):
    """A chapter of :class:`daemon.games.caribbean.game.Caribbean`."""

    def may_open(self, act: Act, desk: Desk) -> None:
        for fault in desk.blocking():
            raise Refused(f"fault {fault.code}: {fault.text}", "", f"cleared by: {fault.cleared_by}")
        reason = desk.devices.not_ready()
        if reason:
            source = desk.devices.source_trouble()
            todo = "wait for the device, or use another" if source else "no round opens without the sign"
            raise Refused(reason, "CS-01", todo)
        if not self._deck_proven(desk):
            need = "shuffle and cut" if desk.devices.mode == "shoe" else "a completed shuffle of 52"
            raise Refused(f"the deck needs {need}", "CS-03", "shuffle first")
        if not desk.devices.sign_is_current():
            raise Refused("the sign is not known to show the present pool", "CS-01", "wait for the sign")

    def open_round(self, act: Act, desk: Desk) -> None:
        self.announcement = ""
        if self.linked is not None:
            self.linked.won = 0
        self.round = Round(
            id=self.last_round_id + 1,
            opened_at=desk.at,
            first_seq=desk.seq,
            mode=desk.devices.mode,
            pool_opened=self.pool,
            rules=self.fingerprint,
            carried_at_opening=dict(self.carried),
        )

    def _betting_is_open(self) -> None:
        if self._now.closed:
            raise Refused("the dealer closed the betting", "CS-06")

    def may_ante(self, act: Act, desk: Desk) -> None:
        self._betting_is_open()
        self._room_for_bets(desk)
        number, amount = self._box(act), act.number("amount")
        if number in self._now.boxes:
            raise Refused(
                f"box {number} is taken", "CS-06", "a box is never shared; take-back to change the bet"
            )
        if not self.rules.ante_min <= amount <= self.rules.ante_max:
            limits = f"{self.rules.ante_min} to {self.rules.ante_max}"
            raise Refused(f"an ante of {amount} is outside the limits {limits}", "CS-06")
        player = act.args.get("player", "")
        if player and any(box.player == str(player) for box in self._now.boxes.values()):
            raise Refused("a player bets on one box only", "CS-06")

    def place_ante(self, act: Act, desk: Desk) -> None:
        number, amount = act.number("box"), act.number("amount")
        box = Box(number, amount, str(act.args.get("player", "")))
        stake = self.carried.pop(number, None)
        if stake is not None:
            box.progressive = Progressive(stake, carried=True)
        self._now.boxes[number] = box
        desk.move(f"player.{number}", f"ante.{number}", amount, "ante")

    def may_bet_progressive(self, act: Act, desk: Desk) -> None:
        self._betting_is_open()
        self._room_for_bets(desk)
        self._link_holds()
        box = self._bet_box(act)
        if box.progressive is not None:
            why = "carried over and in force" if box.progressive.carried else "placed already"
            raise Refused(
                f"the progressive bet of box {box.number} is {why}",
                "CS-11" if box.progressive.carried else "CS-06",
            )
        stake = self.rules.jackpot.stake
        if act.number("amount", stake) != stake:
            raise Refused(f"the progressive stake is {stake}, no more and no less", "CS-06")

    def place_progressive(self, act: Act, desk: Desk) -> None:
        box = self._bet_box(act)
        box.progressive = Progressive(self.rules.jackpot.stake)
        desk.move(f"player.{box.number}", f"progressive.{box.number}", box.progressive.stake, "progressive")
        desk.message = f"progressive bet of box {box.number} accepted"

    def may_take_back(self, act: Act, desk: Desk) -> None:
        box = self._bet_box(act)
        bet = act.args.get("bet", "ante")
        if bet not in ("ante", "progressive"):
            raise Refused(f"take-back: bet={str(bet)[:16]!r} is neither ante nor progressive", "CS-05")
        if bet == "progressive" and (box.progressive is None or box.progressive.carried):
            raise Refused(f"box {box.number} has no progressive bet of this round", "CS-06")

    def take_back(self, act: Act, desk: Desk) -> None:
        box = self._bet_box(act)
        n, bet = box.number, box.progressive
        if bet is not None and not bet.carried:
            desk.move(f"progressive.{n}", f"player.{n}", bet.stake, "taken back")
            box.progressive = None
        if act.args.get("bet", "ante") == "progressive":
            return
        if bet is not None and bet.carried:
            self.carried[n] = bet.stake
        desk.move(f"ante.{n}", f"player.{n}", box.ante, "taken back")
        del self._now.boxes[n]

    def nothing_bet(self, item: GameInput, desk: Desk) -> bool:
        return not self._now.boxes

    def cancel_round(self, act: Act, desk: Desk) -> None:
        desk.message = "nobody bet: no round"
        self.round = None

    def may_close_betting(self, act: Act, desk: Desk) -> None:
        if not self._deck_proven(desk):
            raise Refused("the deck is not shuffled for this device", "CS-03", "shuffle first")
        if self._now.order is not None:
            raise Refused(
                "the shuffler was told to deal", "CS-07", "take the packets, or declare shuffler-failed"
            )

    def close_betting(self, act: Act, desk: Desk) -> None:
        self._now.closed = True
        if desk.devices.mode == "shuffler":
            self._ask_for_packets(len(self._now.boxes) + 1, desk)
