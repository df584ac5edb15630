"""What a Caribbean Stud table remembers while no round is open, as plain values and back.

Between two rounds no card is on the table and no bet on the layout: what is left is the pool, what
is carried, what is not paid yet, and what is known of the deck.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from fractions import Fraction
from typing import Any

from daemon.games.caribbean.memory import Memory
from daemon.games.caribbean.round import DeckProof, PendingAward
from daemon.games.caribbean.rules import rules_from
from daemon.games.hands import Category
from daemon.games.jackpot import Meter
from daemon.games.linked import Linked


def remembered(game: Memory) -> dict[str, object]:
    """Everything but the phase. Raises RuntimeError while a round is open."""
    if game.round is not None:
        raise RuntimeError("a snapshot is taken between rounds")
    return {
        "rules": game.rules.text(),
        "rules_in_force": game.rules_in_force,
        "meter": {f.name: _plain(getattr(game.meter, f.name)) for f in fields(Meter)},
        "last_round_id": game.last_round_id,
        "last_cards_out": game.last_cards_out,
        "deck": asdict(game.deck),
        "carried": _pairs(game.carried),
        "refundable": _pairs(game.refundable),
        "pending": [_award(award) for award in game.pending],
        "announcement": game.announcement,
        "stopped": game.stopped,
        **({"linked": game.linked.plain()} if game.linked is not None else {}),
    }


def take_up(game: Memory, state: Mapping[str, Any]) -> None:
    """Remember what :func:`remembered` told."""
    game.play_by(rules_from(state["rules"]))
    game.rules_in_force = state["rules_in_force"]
    linked = state.get("linked")
    game.belong_to(Linked.of(linked) if linked is not None else None)
    for each in fields(Meter):
        setattr(game.meter, each.name, _amount(state["meter"][each.name]))
    game.round = None
    game.last_round_id, game.last_cards_out = state["last_round_id"], state["last_cards_out"]
    game.deck = DeckProof(**state["deck"])
    game.carried, game.refundable = _from_pairs(state["carried"]), _from_pairs(state["refundable"])
    categories = {each.label: each for each in Category}
    game.pending = [
        PendingAward(round_id, box, categories[category], *rest)
        for round_id, box, category, *rest in state["pending"]
    ]
    game.announcement, game.stopped = state["announcement"], state["stopped"]


def _award(award: PendingAward) -> list[object]:
    plain = [award.round_id, award.box, award.category.label, award.amount, award.confirmed]
    return [*plain, award.claim] if award.claim else plain


def _plain(amount: int | Fraction) -> int | str:
    return str(amount) if isinstance(amount, Fraction) else amount


def _amount(plain: int | str) -> int | Fraction:
    return Fraction(plain) if isinstance(plain, str) else plain


def _pairs(stakes: Mapping[int, int]) -> list[list[int]]:
    """In their order: a box that was carried first is refunded first."""
    return [[box, stake] for box, stake in stakes.items()]


def _from_pairs(pairs: list[tuple[int, int]]) -> dict[int, int]:
    return dict(pairs)
