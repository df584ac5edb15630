"""What may be seen of a five-card stud table and its rounds: hole cards only once they are turned (FC-14)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from daemon.games.desk import Desk
from daemon.games.five_card.round import DealtCard, Hand, Result, Round
from daemon.games.five_card.rules import HAND, RULES_ID
from daemon.games.hands import category_of, rank_104_85
from daemon.games.pots import Share

if TYPE_CHECKING:
    from daemon.games.five_card.memory import Memory


def cards(hand: Hand) -> list[str | None]:
    """A hand in the order dealt, null for a card that lies face down or was not read."""
    return [face.text if (face := card.open) is not None else None for card in hand.cards]


def moved(card: DealtCard, seat: int) -> str:
    """One corrected card in words: what it is, where it fell, and whose it is (FC-19)."""
    what = card.open.text if card.open is not None else "a card"
    return f"{what} fell to seat {card.laid}, is of seat {seat}" if card.laid else f"{what} is of seat {seat}"


def _status(hand: Hand) -> str:
    if hand.dead:
        return "dead"
    if hand.folded:
        return "folded"
    return "all-in" if hand.all_in else "in"


def _category(hand: Hand, result: Result | None) -> str | None:
    if result is not None and hand.seat in result.orders:
        return category_of(result.orders[hand.seat]).label
    faces = [card.open for card in hand.cards if card.open is not None]
    return category_of(rank_104_85(faces)).label if len(faces) == HAND else None


def _seat(game: Memory, hand: Hand, result: Result | None) -> dict[str, object]:
    return {
        "seat": hand.seat,
        "ante": 0 if hand.dead else game.rules.ante,
        "staked": hand.staked,
        "status": _status(hand),
        "cards": cards(hand),
        "category": _category(hand, result),
        "returned": result.returned.get(hand.seat, 0) if result else 0,
        "won": result.won(hand.seat) if result else 0,
    }


def _share(each: Share) -> dict[str, object]:
    return {
        "amount": each.pot.amount,
        "seats": list(each.pot.seats),
        "rake": each.rake,
        "won": [{"seat": seat, "amount": amount} for seat, amount in each.won.items()],
    }


def _round(game: Memory, now: Round, outcome: str, result: Result | None) -> dict[str, object]:
    return {
        "id": now.id,
        "game": game.name,
        "rules": RULES_ID,
        "fingerprint": now.rules,
        "mode": now.mode,
        "opened_at": now.opened_at,
        "closed_at": None,
        "outcome": outcome,
        "irregularities": [{"clause": i.clause, "detail": i.detail, "at": i.at} for i in now.irregularities],
        "betting_round": now.number,
        "seats": [_seat(game, hand, result) for hand in now.hands.values()],
        "actions": [
            {"round": a.betting_round, "seat": a.seat, "act": a.act, "amount": a.amount} for a in now.actions
        ],
        "pots": [_share(each) for each in result.shares] if result else [],
        "rake": {"first": now.first_rake, "pots": result.rake if result else 0},
        "deck_round": game.deck.rounds if now.number else None,
        "cards_out": len(now.out),
        "inputs": [now.first_seq, None],
    }


def open_round(game: Memory) -> dict[str, object]:
    """The running round (``feltd round --json``)."""
    assert game.round is not None
    return _round(game, game.round, "open", None)


def summary(game: Memory, outcome: str, result: Result, desk: Desk) -> dict[str, object]:
    """A closed round. Call it when it is paid and before it is forgotten."""
    assert game.round is not None
    view = _round(game, game.round, outcome, result)
    if outcome == "void":
        view["rake"] = {"first": 0, "pots": 0}
    return view | {"closed_at": desk.at, "inputs": [game.round.first_seq, desk.seq]}


def state(game: Memory, owed: Mapping[int, int]) -> dict[str, object]:
    """What staff see of the game now: chips, whose turn it is and what he may do, which card is due."""
    now = game.round
    return {
        "seats": [
            {"seat": s.number, "stack": s.stack, "player": s.player, "owes": owed[s.number]}
            for s in game.seats.values()
        ],
        "deck": {
            "rounds": game.deck.rounds,
            "shuffled": game.deck.shuffled,
            "cutters": list(game.deck.cutters),
        },
        "pool": None,  # there is no jackpot
        "rake": game.raked,
        "pot": now.pot if now else 0,
        "betting_round": now.number if now else 0,
        "turn": now.queue[0] if now and now.queue else None,
        "price": now.price if now else 0,
        "next_card": now.due[0] if now and now.due else None,
        "error": now.error if now else "",
    }
