"""A game's round as a table of rows: the one source of its machine, its tests and its diagram."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NoReturn

from transitions import EventData, Machine
from transitions.core import Transition

from daemon.games.desk import Refused

# The library's own lines say nothing the journal does not, and cost a multiple of a trigger.
logging.getLogger("transitions").setLevel(logging.ERROR)


@dataclass(frozen=True, slots=True)
class Row:
    """One transition: in ``source``, ``trigger`` leads to ``dest`` (None: the state stays).

    ``check`` names methods that raise Refused, ``when`` methods that choose between rows of
    one trigger, ``do`` methods that act; each takes the input and the desk.
    """

    trigger: str
    source: tuple[Enum, ...]
    dest: Enum | None = None
    when: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    do: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class No:
    """A refusal: in ``source``, ``trigger`` is not accepted, and why."""

    triggers: tuple[str, ...]
    source: tuple[Enum, ...]
    clause: str
    reason: str
    todo: str = ""

    def refuse(self, item: object, desk: object) -> NoReturn:
        raise Refused(self.reason, self.clause, self.todo)


Refusals = Mapping[tuple[Enum, str], No]


class _Way(Transition):
    """The library's transition, step for step, without what makes up most of its cost: the log
    lines, and the look-up of callbacks that :func:`build` has bound already. Several rows are
    tried for every card."""

    def execute(self, event_data: EventData) -> bool:
        args = event_data.args
        for check in self.prepare:
            check(*args)  # type: ignore[operator]  # no name: it is bound
        for condition in self.conditions:
            if not condition.func(*args):  # type: ignore[operator]
                return False
        for act in self.before:
            act(*args)  # type: ignore[operator]
        if self.dest:
            self._change_state(event_data)
        return True


class _Machine(Machine):
    transition_cls = _Way


def build(owner: object, states: type[Enum], initial: Enum, rows: Iterable[Row]) -> Machine:
    """A `transitions` machine over ``rows`` whose callbacks are ``owner``'s methods.

    Methods are bound once here: looking them up by name at every trigger is the largest part
    of the library's cost.
    """
    machine = _Machine(
        model=owner,
        states=states,
        initial=initial,
        auto_transitions=False,
        send_event=True,
        model_attribute="state",
    )
    for row in rows:
        machine.add_transition(
            row.trigger,
            list(row.source),
            row.dest,
            prepare=_bound(owner, row.check),
            conditions=_bound(owner, row.when),
            before=_bound(owner, row.do),
        )
    return machine


# A question on the way to a row: (test, fork if yes, fork if no). At its end the row: (None, acts, state
# or None). Plain tuples, for one is taken apart at every step. A check that does not refuse answers None,
# and leads to "no".
_Fork = tuple[Any, Any, Any]


class Library:
    """The library's machine, behind the table of refusals."""

    def __init__(self, machine: Machine, owner: Any, refused: Refusals) -> None:
        self._owner = owner
        self.events = machine.events
        self._refused = refused

    def fire(self, trigger: str, item: object, desk: object) -> None:
        """Take one input. Raises Refused."""
        no = self._refused.get((self._owner.state, trigger))
        if no is not None:
            no.refuse(item, desk)
        self.events[trigger].trigger(self._owner, item, desk)


class Compiled:
    """The machine as dictionaries: state and trigger to the questions that lead to a row, taken from
    the machine itself. A refusal is a row that refuses.

    For simulation, where the library's way to a row is the largest part of a round. It is derived
    and never written; a test holds it equal to the machine over every state and input. Rows of one
    trigger share checks and conditions, which change nothing: here each is asked once.
    """

    def __init__(self, machine: Machine, owner: Any, refused: Refusals) -> None:
        self._owner = owner
        states = type(owner.state)
        self._forks: dict[Enum, dict[str, _Fork]] = {state: {} for state in states}
        for trigger, event in machine.events.items():
            for source, ways in event.transitions.items():
                self._forks[states[source]][trigger] = _tried(ways, states, {})
        for (state, trigger), no in refused.items():
            self._forks[state][trigger] = None, (no.refuse,), None

    def fire(self, trigger: str, item: object, desk: object) -> None:
        """What :meth:`Library.fire` does."""
        test, then, other = self._forks[self._owner.state][trigger]
        while test is not None:
            test, then, other = then if test(item, desk) else other
        for act in then:
            act(item, desk)
        if other is not None:
            self._owner.state = other


def _tried(ways: Sequence[Transition], states: type[Enum], known: dict[object, bool]) -> _Fork:
    """The rows one after the other; ``known`` are the checks and conditions that were asked before."""
    if not ways:
        return None, (), None
    checks = [check for check in _callbacks(ways[0].prepare) if check not in known]
    fork = _chosen(ways, states, known | dict.fromkeys(checks, True))
    for check in reversed(checks):
        fork = check, (), fork
    return fork


def _chosen(ways: Sequence[Transition], states: type[Enum], known: dict[object, bool]) -> _Fork:
    """The first row, if what it asks for holds, or one after it. Its checks were asked."""
    way, rest = ways[0], ways[1:]
    tests = _callbacks([condition.func for condition in way.conditions])
    if not all(known.get(test, True) for test in tests):
        return _tried(rest, states, known)
    for test in tests:
        if test not in known:
            yes = _chosen(ways, states, known | {test: True})
            return test, yes, _tried(rest, states, known | {test: False})
    return None, tuple(_callbacks(way.before)), states[way.dest] if way.dest else None


def _callbacks(bound: Sequence[str | Callable[..., bool | None]]) -> list[Callable[..., bool | None]]:
    """The library would also take names; :func:`build` gave it methods."""
    return [each for each in bound if not isinstance(each, str)]


def _bound(owner: object, names: Sequence[str]) -> list[str | Callable[..., bool | None]]:
    return [getattr(owner, name) for name in names]


def covered(rows: Iterable[Row]) -> set[tuple[Enum, str]]:
    """Every (state, trigger) pair that has a row."""
    return {(state, row.trigger) for row in rows for state in row.source}


def refusals(nos: Iterable[No]) -> Refusals:
    """Every (state, trigger) pair that is refused. A pair named twice is a program error."""
    table: dict[tuple[Enum, str], No] = {}
    for no in nos:
        for state in no.source:
            for trigger in no.triggers:
                if (state, trigger) in table:
                    raise ValueError(f"{trigger} in {state} is refused twice")
                table[(state, trigger)] = no
    return table
