"""docs/logs.md has every event that the daemon logs, with its fields, and no other."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from importlib import import_module

from tests.docs.source import called, calls, named, rows, words

LOGGERS = ("log", "_log")
PASSED_ON = "daemon.log"  # it writes what it is given, and two events of its own
LEVELS = ("info", "notice", "warning", "error")


def logged() -> dict[str, set[str]]:
    """Event to fields, over all places that log it."""
    found: dict[str, set[str]] = {}
    for module, call in calls():
        if called(call) in LOGGERS and module != PASSED_ON and call.args:
            for event in events(call.args[0], module):
                found.setdefault(event, set()).update(key.arg or "**" for key in call.keywords)
        elif called(call) == "_write" and module == PASSED_ON and isinstance(call.args[0], ast.Constant):
            facts = call.args[1]
            assert isinstance(facts, ast.Dict)
            # the one part that is spread is the device, where the event is about one
            fields = {key.value if isinstance(key, ast.Constant) else "device" for key in facts.keys}
            found.setdefault(str(call.args[0].value), set()).update(map(str, fields))
    return found


def events(node: ast.expr, module: str) -> Iterable[str]:
    """What an event can be. A module that has them from a variable lists them all as EVENTS."""
    if isinstance(node, ast.Name) and (listed := getattr(import_module(module), "EVENTS", ())):
        return tuple(listed)
    return words(node, module)


def written() -> dict[str, set[str]]:
    return {named(event)[0]: set(named(fields)) for event, _, fields, *_ in rows("logs.md", "## Events")}


def test_the_table_is_what_the_source_logs() -> None:
    source, page = logged(), written()
    assert len(source) >= 15
    assert {"linked", "no-authority", "no-table", "refused", "changed"} <= set(source)
    assert sorted(source) == sorted(page)
    assert {event: fields for event, fields in source.items() if fields != page[event]} == {}


def test_every_row_says_what_it_means_and_what_to_do() -> None:
    for row in rows("logs.md", "## Events"):
        event, level, _, meaning, todo = row
        assert level in LEVELS, event
        assert meaning, event
        assert todo, event


def test_no_event_is_named_twice() -> None:
    names = [named(row[0])[0] for row in rows("logs.md", "## Events")]
    assert len(names) == len(set(names))
