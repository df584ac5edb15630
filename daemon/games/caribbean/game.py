"""Caribbean Stud under 61/2004, held by one machine; each chapter of the regulation is a module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from daemon.games.caribbean import programme, rest, views
from daemon.games.caribbean.dealing import Dealing
from daemon.games.caribbean.house import House
from daemon.games.caribbean.rows import CORRECT, KNOWN_ACTS, NEWS, REFUSALS, ROWS, WITHDRAW, Phase
from daemon.games.caribbean.rules import BOXES, CaribbeanRules
from daemon.games.caribbean.slips import CHAPTER_OF, Slips
from daemon.games.desk import Act, Desk, GameInput, Refused
from daemon.games.jackpot import PoolAuthority
from daemon.games.machine import Compiled, Library, build, refusals
from drivers.base import Display

_REFUSED: Final = refusals(REFUSALS)
_LAYOUT: Final = tuple(f"{spot}.{box}" for spot in ("ante", "raise", "progressive") for box in BOXES)


def _trigger(item: GameInput) -> str:
    """Which input of the table this is. Raises Refused for one that the game does not know."""
    name, known = (item.name, KNOWN_ACTS) if isinstance(item, Act) else (item.kind, NEWS)
    if name not in known:
        raise Refused(f"{name[:32]!r} is not known at this game", todo="feltd acts lists those that are")
    if isinstance(item, Act) and (item.replaces or name == WITHDRAW):
        return CORRECT
    return name


class Caribbean(House, Dealing, Slips):
    """The game of one table. Pure: the same inputs give the same effects (daemon.games.desk.Game)."""

    def __init__(
        self, rules: CaribbeanRules, authority: PoolAuthority | None = None, compiled: bool = False
    ) -> None:
        super().__init__(rules, authority)
        machine = build(self, Phase, Phase.OUT_OF_SERVICE, ROWS)
        self._machine = (Compiled if compiled else Library)(machine, self, _REFUSED)
        self._on_sign: tuple[object, Display] | None = None

    @property
    def phase(self) -> str:
        return self.state.value

    @property
    def round_id(self) -> int | None:
        return self.round.id if self.round else None

    @property
    def out_of_service(self) -> bool:
        return self.state is Phase.OUT_OF_SERVICE

    def handle(self, item: GameInput, desk: Desk) -> None:
        """Take one input. Raises Refused with the clause, the state unchanged."""
        trigger = _trigger(item)
        self._machine.fire(trigger, item, desk)
        if trigger in CHAPTER_OF:
            self.remember(item, desk)

    def sign(self) -> Display:
        waiting = [(award.account, award.confirmed, award.amount) for award in self.pending]
        facts = (
            self.fingerprint,
            self.pool,
            self.announcement,
            self.out_of_service,
            waiting,
            self._instead(),
            self._won_elsewhere(),
        )
        if self._on_sign is None or self._on_sign[0] != facts:
            self._on_sign = facts, self._programme()
        return self._on_sign[1]

    def _programme(self) -> Display:
        return programme.programme(
            self.rules,
            self._prizes,
            self.pool,
            self.announcement,
            self.pending,
            self.out_of_service,
            self._instead(),
            self._won_elsewhere(),
        )

    def check(self, balances: Mapping[str, int]) -> list[str]:
        broken = []
        if not self.meter.holds():
            broken.append(
                "pool equation: minimums + contributions + corrections = pool + awards + overflow + reserve"
            )
        for account, held in self._held().items():
            if balances[account] != held:
                broken.append(f"the account {account} holds {balances[account]}, the meter {held}")
        if any(balances[award.account] != (award.amount or 0) for award in self.pending):
            broken.append("an award's account does not hold the frozen amount")
        if self.round is None and any(balances[account] for account in _LAYOUT):
            broken.append("bets lie on the layout and no round is open")
        return broken

    def _held(self) -> dict[str, int]:
        meter = self.meter
        if self.linked is not None:
            return {"linked": meter.pool + meter.reserve}
        return {"pool": meter.pool, "overflow": meter.overflow, "reserve": meter.reserve}

    @property
    def at_rest(self) -> bool:
        return self.round is None

    def snapshot(self) -> dict[str, object]:
        return {"phase": self.phase, **rest.remembered(self)}

    def restore(self, state: Mapping[str, Any]) -> None:
        rest.take_up(self, state)
        self.state = Phase(state["phase"])

    def view(self) -> dict[str, object]:
        return views.state(self)

    def round_view(self) -> dict[str, object] | None:
        return views.open_round(self) if self.round else None
