"""A card that was keyed wrong is keyed again, by an act that names the record it replaces.

Bets are not: a bet is verified before it is in the pot, and then nobody takes it back (FC-06, FC-11).
"""

from __future__ import annotations

from daemon.games.desk import Act, Desk, Refused
from daemon.games.five_card.round import DealtCard
from daemon.games.five_card.showdown import Showdown
from drivers.cards import FaceDownCard

_CLAUSE = "FC-19"


class Slips(Showdown):
    """A chapter of :class:`daemon.games.five_card.game.FiveCard`."""

    def may_key_again(self, act: Act, desk: Desk) -> None:
        self.deck_in_doubt(act, desk)
        seat, card = self._keyed_by(act)
        if act.number("seat") != seat:
            raise Refused(f"record {act.replaces} keyed a card of seat {seat}", _CLAUSE)
        hand, now = self._now.hands[seat], self._now
        newest = hand.cards[now.number if now.number > 1 else 0 :]
        if act.name == "card" and (now.acted or not any(card is each for each in newest)):
            raise Refused("somebody has spoken upon that card", _CLAUSE, "a supervisor decides: wrong-deck")
        if self._keyed(act).index in now.faces_seen - self._index(card):
            raise Refused("that card is on the table already", "FC-01", "look again; or wrong-deck")

    def _keyed_by(self, act: Act) -> tuple[int, DealtCard]:
        """Whose card that record keyed: an up card by ``card``, a hole card by ``reveal``."""
        for hand in self._now.hands.values():
            for card in hand.cards:
                if card.keyed == act.replaces and card.up == (act.name == "card"):
                    return hand.seat, card
        raise Refused(f"record {act.replaces} keyed no card of this round that can be put right", _CLAUSE)

    def _index(self, card: DealtCard) -> set[int]:
        return {card.face.turn().index} if card.face is not None else set()

    def key_again(self, act: Act, desk: Desk) -> None:
        seat, card = self._keyed_by(act)
        self._now.faces_seen -= self._index(card)
        card.face, card.keyed = self._see(FaceDownCard(self._keyed(act))), desk.seq
        self._irregular(_CLAUSE, f"record {act.replaces}, a card of seat {seat}, was keyed again", desk)
