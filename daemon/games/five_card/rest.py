"""What a five-card stud table remembers while no round is open, as plain values and back.

Between two rounds no card and no bet is on the table; the chips stay before the players.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from daemon.games.five_card.memory import Memory
from daemon.games.five_card.round import Deck, Seat
from daemon.games.five_card.rules import rules_from


def remembered(game: Memory) -> dict[str, object]:
    """Everything but the phase. Raises RuntimeError while a round is open."""
    if game.round is not None:
        raise RuntimeError("a snapshot is taken between rounds")
    return {
        "rules": game.rules.text(),
        "rules_in_force": game.rules_in_force,
        "seats": [asdict(seat) for seat in game.seats.values()],
        "deck": asdict(game.deck),
        "last_round_id": game.last_round_id,
        "raked": game.raked,
        "added": game.added,
    }


def take_up(game: Memory, state: Mapping[str, Any]) -> None:
    """Remember what :func:`remembered` told."""
    game.play_by(rules_from(state["rules"]))
    game.rules_in_force = state["rules_in_force"]
    seats = [Seat(**plain) for plain in state["seats"]]
    game.seats = {seat.number: seat for seat in seats}
    game.deck = Deck(**{**state["deck"], "cutters": list(state["deck"]["cutters"])})
    game.round = None
    game.last_round_id, game.raked, game.added = state["last_round_id"], state["raked"], state["added"]
