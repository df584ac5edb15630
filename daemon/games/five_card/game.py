"""Five-card stud under 104/85/M, held by one machine; each chapter of the regulation is a module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from daemon.games.desk import Act, Desk, GameInput, Refused
from daemon.games.five_card import rest, views
from daemon.games.five_card.round import STACKS
from daemon.games.five_card.rows import ACTS, CORRECT, KEYS_CARDS, NEWS, OUT, REFUSALS, ROWS, Phase
from daemon.games.five_card.rules import FiveCardRules
from daemon.games.five_card.slips import Slips
from daemon.games.machine import Compiled, Library, build, refusals
from drivers.base import Display

_REFUSED: Final = refusals(REFUSALS)
_ACTS: Final = frozenset(ACTS)
_NEWS: Final = frozenset(NEWS)


def _trigger(item: GameInput) -> str:
    """Which input of the table this is. Raises Refused for one that the game does not know."""
    if not isinstance(item, Act):
        if item.kind in _NEWS:
            return item.kind
        raise _unknown(item.kind)
    if item.name not in _ACTS:
        raise _unknown(item.name)
    if not item.replaces:
        return item.name
    if item.name not in KEYS_CARDS:
        raise Refused(f"{item.name} is not put right by another act", "FC-06", "verify it, then key it")
    return CORRECT


def _unknown(name: str) -> Refused:
    return Refused(f"{name[:32]!r} is not known at this game", todo="feltd acts lists those that are")


def _differs(account: str, balances: Mapping[str, int], held: int) -> str:
    return f"the account {account} holds {balances.get(account, 0)}, the game {held} (never negative)"


class FiveCard(Slips):
    """The game of one table. Pure: the same inputs give the same effects (daemon.games.desk.Game)."""

    def __init__(self, rules: FiveCardRules, compiled: bool = False) -> None:
        super().__init__(rules)
        machine = build(self, Phase, Phase.OUT_OF_SERVICE, ROWS)
        self._machine = (Compiled if compiled else Library)(machine, self, _REFUSED)

    @property
    def phase(self) -> str:
        return self.state._value_  # ``value`` is looked up in Python, with every record

    @property
    def round_id(self) -> int | None:
        return self.round.id if self.round else None

    @property
    def out_of_service(self) -> bool:
        return self.state is OUT

    def handle(self, item: GameInput, desk: Desk) -> None:
        """Take one input. Raises Refused with the clause, the state unchanged."""
        self._machine.fire(_trigger(item), item, desk)

    def sign(self) -> Display:
        return self._signs[self.state is OUT]

    def check(self, balances: Mapping[str, int]) -> list[str]:
        """Buy-ins = stacks + pot + rake + cash-outs, account by account."""
        get, pot, broken = balances.get, self.round.pot if self.round else 0, []
        for number, seat in self.seats.items():
            stack = seat.stack
            if get(STACKS[number], 0) != stack or stack < 0:
                broken.append(_differs(STACKS[number], balances, stack))
        if get("pot", 0) != pot or pot < 0:
            broken.append(_differs("pot", balances, pot))
        if get("house.rake", 0) != self.raked or self.raked < 0:
            broken.append(_differs("house.rake", balances, self.raked))
        if get("house", 0) != -self.added:
            broken.append(f"the account house holds {get('house', 0)}, it added {self.added}")
        if sum(balances.values()):
            broken.append("the accounts do not add up to nothing")
        return broken

    @property
    def at_rest(self) -> bool:
        return self.round is None

    def snapshot(self) -> dict[str, object]:
        return {"phase": self.phase, **rest.remembered(self)}

    def restore(self, state: Mapping[str, Any]) -> None:
        rest.take_up(self, state)
        self.state = Phase(state["phase"])

    def view(self) -> dict[str, object]:
        return views.state(self, {seat.number: self.owed(seat) for seat in self.seats.values()})

    def round_view(self) -> dict[str, object] | None:
        return views.open_round(self) if self.round else None
