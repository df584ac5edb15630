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
from daemon.games.machine import Compiled, build, refusals
from drivers.base import Display

_REFUSED: Final = refusals(REFUSALS)
_ACTS: Final = frozenset(ACTS)
_NEWS: Final = frozenset(NEWS)


def _trigger(item: GameInput) -> str:
    """Which input of the table this is. Raises Refused for one that the game does not know."""
    name, known = (item.name, _ACTS) if isinstance(item, Act) else (item.kind, _NEWS)
    if name not in known:
        raise Refused(f"{name[:32]!r} is not known at this game", todo="feltd acts lists those that are")
    if not isinstance(item, Act) or not item.replaces:
        return name
    if name not in KEYS_CARDS:
        raise Refused(f"{name} is not put right by another act", "FC-06", "verify it, then key it")
    return CORRECT


def _differs(account: str, balances: Mapping[str, int], held: int) -> str:
    return f"the account {account} holds {balances.get(account, 0)}, the game {held} (never negative)"


class FiveCard(Slips):
    """The game of one table. Pure: the same inputs give the same effects (daemon.games.desk.Game)."""

    def __init__(self, rules: FiveCardRules, compiled: bool = False) -> None:
        super().__init__(rules)
        machine = build(self, Phase, Phase.OUT_OF_SERVICE, ROWS)
        self._events = machine.events
        self._compiled = Compiled(machine, self, Phase) if compiled else None

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
        trigger = _trigger(item)
        no = _REFUSED.get((self.state, trigger))
        if no is not None:
            raise Refused(no.reason, no.clause, no.todo)
        if self._compiled is not None:
            self._compiled.fire(trigger, item, desk)
        else:
            self._events[trigger].trigger(self, item, desk)

    def sign(self) -> Display:
        return self._signs[self.out_of_service]

    def check(self, balances: Mapping[str, int]) -> list[str]:
        """Buy-ins = stacks + pot + rake + cash-outs, account by account."""
        get, pot = balances.get, self.round.pot if self.round else 0
        broken = [
            _differs(STACKS[seat.number], balances, seat.stack)
            for seat in self.seats.values()
            if get(STACKS[seat.number], 0) != seat.stack or seat.stack < 0
        ]
        for account, held in (("pot", pot), ("house.rake", self.raked), ("house", -self.added)):
            if get(account, 0) != held or (held < 0 and account != "house"):
                broken.append(_differs(account, balances, held))
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
