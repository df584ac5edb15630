"""A card that was keyed wrong is keyed again, by an act that names the record it replaces.

Bets are not: a bet is verified before it is in the pot, and then nobody takes it back (FC-06, FC-11).
"""

from __future__ import annotations

from daemon.games.desk import Act, Desk, Refused
from daemon.games.five_card.memory import by_whom
from daemon.games.five_card.round import SHOE, Hand
from daemon.games.five_card.showdown import Showdown

_CLAUSE = "FC-19"


class Slips(Showdown):
    """A chapter of :class:`daemon.games.five_card.game.FiveCard`."""

    def may_key_again(self, act: Act, desk: Desk) -> None:
        """The dealer's own slip, until somebody has spoken upon that card; the rest is a supervisor's."""
        self.deck_in_doubt(act, desk)
        hand, at = self._told_by(act)
        card = hand.cards[at]
        if act.number("seat") != hand.seat:
            raise Refused(f"record {act.replaces} told a card of seat {hand.seat}", _CLAUSE)
        if card.face is None:
            raise Refused("nobody has read that card", _CLAUSE, f"card seat={hand.seat} card=")
        if act.role != "supervisor":
            if card.by == SHOE:
                raise Refused("the shoe read that card", _CLAUSE, "a supervisor keys it again")
            if card.by == "supervisor":
                raise Refused("a supervisor told that card", _CLAUSE, "a supervisor keys it again")
            if card.up and self._spoken_upon(at):
                raise Refused("somebody has spoken upon that card", _CLAUSE, "a supervisor keys it again")
        self._keyed_new(act, instead=card)

    def _told_by(self, act: Act) -> tuple[Hand, int]:
        """Whose card that record told, and its place: an up card for ``card``, a hole card for ``reveal``."""
        for hand in self._now.hands.values():
            for at, card in enumerate(hand.cards):
                record = (card.told if card.up else 0) if act.name == "card" else card.turned
                if record == act.replaces:
                    return hand, at
        raise Refused(f"record {act.replaces} told no open card of this round", _CLAUSE)

    def _spoken_upon(self, at: int) -> bool:
        """Somebody has spoken since the card at this place of a hand was dealt."""
        street = max(1, at)  # the first betting round follows the first two cards
        return any(action.betting_round >= street for action in self._now.actions)

    def nobody_has_spoken(self, act: Act, desk: Desk) -> bool:
        return not self._now.acted

    def no_hole_card_turned(self, act: Act, desk: Desk) -> bool:
        return not any(card.turned for hand in self._now.live for card in hand.cards)

    def key_again(self, act: Act, desk: Desk) -> None:
        """What was dealt, what it should have been, who confirmed (FC-19)."""
        hand, at = self._told_by(act)
        card = hand.cards[at]
        was = card.open
        self._tell(card, act, desk)
        card.turned = card.turned and desk.seq
        what = f"record {act.replaces}, a card of seat {hand.seat}, was keyed again"
        self._irregular(_CLAUSE, f"{what}: {was} is {card.open} {by_whom(act)}", desk)
