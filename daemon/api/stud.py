"""What a console draws of a five-card table beyond the game's own view: the pots as they are now, what the
player whose turn it is may do, and how long he has (FC-10, FC-11, FC-15, FC-16)."""

from __future__ import annotations

from typing import Final

from daemon.engine import Engine
from daemon.games.five_card.game import FiveCard
from daemon.games.five_card.round import Hand, Round
from daemon.games.five_card.rules import DECK_ROUNDS, FEWEST_CUT, FiveCardRules
from daemon.records import Plain
from drivers.base import MILLISECOND

_MAY: Final = {
    "opening": ("fold", "bet"),
    "speaking": ("fold", "check", "bet"),
    "answering": ("fold", "call", "raise"),
}


def seen(engine: Engine) -> Plain:
    """``limits``, ``pots``, ``decision`` and ``by_hand`` for the table's status; {} for another game."""
    game = engine.table.game
    if not isinstance(game, FiveCard):
        return {}
    now = game.round
    return {
        "limits": limits(game.rules),
        "pots": pots(now) if now is not None else [],
        "decision": decision(game, _left_ms(engine)),
        "by_hand": now is not None and now.by_hand,
    }


def limits(rules: FiveCardRules) -> Plain:
    """What the house and the regulation fix; amounts in minor units."""
    return {
        "ante": rules.ante,
        "smallest_chip": rules.smallest_chip,
        "buy_in_min": rules.level.buy_in_min,
        "top_up_below": rules.level.top_up_below,
        "seats": rules.seats,
        "deck_rounds": DECK_ROUNDS,
        "cut_min": FEWEST_CUT,
    }


def pots(now: Round) -> list[Plain]:
    """The main pot and the side pots that the all-in hands have made so far (FC-15).

    ``seats`` are those that play for it. What nobody has followed yet is still in the last one.
    """
    hands = list(now.hands.values())
    still_in = [hand for hand in hands if hand.still_in]
    highest = max((hand.staked for hand in hands), default=0)
    levels = sorted({hand.staked for hand in still_in if hand.all_in})
    if not levels or any(hand.staked > levels[-1] for hand in still_in):
        levels.append(highest)
    told: list[Plain] = []
    below = 0
    for level in levels:
        top = level if level != levels[-1] else highest
        amount = sum(min(hand.staked, top) - min(hand.staked, below) for hand in hands)
        playing = [hand.seat for hand in still_in if hand.staked >= level or not hand.all_in]
        told.append({"amount": amount + (0 if told else now.antes), "seats": playing})
        below = level
    return told


def decision(game: FiveCard, left_ms: int | None) -> Plain | None:
    """Whose turn it is, and what he may do. Amounts are what his bet of this betting round comes to.

    ``left_ms`` is None while the table is halted, and his two minutes stand. None when nobody decides.
    """
    now = game.round
    if now is None or game.phase not in _MAY or not now.queue:
        return None
    hand = now.hands[now.queue[0]]
    most = hand.bet + game.seats[hand.seat].stack
    return {
        "id": now.turn,
        "seat": hand.seat,
        "may": [act for act in _MAY[game.phase] if act != "raise" or _may_raise(game.rules, now, hand, most)],
        "bet": hand.bet,
        "call": min(now.price, most) - hand.bet,
        "least": min(game.least(), most),
        "most": most,
        "left_ms": left_ms,
    }


def _may_raise(rules: FiveCardRules, now: Round, hand: Hand, most: int) -> bool:
    return most > now.price and (rules.check_raise or not hand.checked)


def _left_ms(engine: Engine) -> int | None:
    left = engine.time_left
    return None if left is None else left // MILLISECOND
