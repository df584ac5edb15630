"""Table inputs in memory, beside bare `transitions` triggers along the same path."""

from __future__ import annotations

import logging

from transitions import Machine

from daemon.games.caribbean.rows import Phase
from daemon.games.desk import Act
from daemon.table import FromDevice
from tests.perf.measure import Row, rates
from tests.table.floor import AK_ROUND, Floor

Path = list[tuple[Phase, str, Phase]]


def _round(floor: Floor) -> int:
    before = floor.seq
    floor.whole_round(AK_ROUND)
    return floor.seq - before


def _path() -> Path:
    """State, trigger and next state of every input of one round that reaches the game."""
    floor = Floor()
    floor.open()
    path: Path = []
    take = floor.take

    def watched(item: object) -> object:
        before = floor.game.state
        outcome = take(item)
        name = item.name if isinstance(item, Act) else "card-drawn" if isinstance(item, FromDevice) else ""
        if name and name in floor.game._machine.events:
            path.append((before, name, floor.game.state))
        return outcome

    floor.take = watched  # type: ignore[method-assign, assignment]
    _round(floor)
    return path


def _bare(path: Path) -> Machine:
    """A stock machine that can walk the path, with empty callbacks."""
    logging.getLogger("transitions").setLevel(logging.ERROR)
    machine = Machine(states=Phase, initial=path[0][0], auto_transitions=False, send_event=True)
    for source, trigger, dest in dict.fromkeys(path):
        machine.add_transition(
            trigger,
            source,
            dest if dest is not source else None,
            conditions=lambda event, dest=dest: event.args[0] is dest,
            before=lambda event: None,
        )
    return machine


def measure() -> list[Row]:
    floor = Floor()
    floor.open()
    path = _path()
    machine = _bare(path)
    steps = [(machine.events[trigger], dest) for _, trigger, dest in path]

    def ours() -> int:
        return sum(_round(floor) for _ in range(20))

    def bare() -> int:
        for _ in range(20):
            for event, dest in steps:
                event.trigger(machine, dest)
        return 20 * len(steps)

    return [rates("table inputs, in memory", "bare transitions triggers", "/s", ours, bare, 15)]
