"""docs/simulators.md has every verb of every simulated device, and no other."""

from __future__ import annotations

import ast

import pytest

from daemon.registry import protocol, protocols, simulator
from daemon.simhost import Mischief
from tests.docs.source import ROOT, named, rows

SECTIONS = {"shoe": "## Shoes", "shuffler": "## Shufflers", "sign": "## Signs"}
WIRE = {named(row[0])[0] for row in rows("simulators.md", "## The wire")}


def written(role: str) -> dict[str, list[str]]:
    """Verb to the protocols that the page names for it."""
    return {
        verb: named(row[1]) or protocols(role)
        for row in rows("simulators.md", SECTIONS[role])
        for verb in named(row[0])
    }


def in_the_source(role: str) -> set[str]:
    """The keys of what a simulator of this role calls its verbs."""
    files = [*(ROOT / "drivers" / role).glob("sim_*.py")]
    files += [] if role == "sign" else [ROOT / "drivers" / "fdp_device.py"]
    found: set[str] = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            target = getattr(node, "target", None)
            name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
            value = getattr(node, "value", None)
            if name in ("_verbs", "verbs") and isinstance(value, ast.Dict):
                found |= {key.value for key in value.keys if isinstance(key, ast.Constant)}  # type: ignore[misc]
    return found


def is_known(role: str, name: str, verb: str) -> bool:
    """Whether it is not answered with what the device does, or does not, instead."""
    answer, _ = simulator(protocol(role, name))().control({"do": verb}, 0)
    error = str(answer.get("error", ""))
    return not (error.startswith("unknown verb") or " does " in error)


@pytest.mark.parametrize("role", SECTIONS)
def test_the_tables_have_the_verbs_of_the_source(role: str) -> None:
    assert len(in_the_source(role)) > 5
    assert in_the_source(role) - WIRE == set(written(role))  # what the wire does comes to no device


@pytest.mark.parametrize("role", SECTIONS)
def test_a_verb_is_known_where_the_page_says(role: str) -> None:
    for verb, named_for in written(role).items():
        for name in protocols(role):
            assert is_known(role, name, verb) == (name in named_for), (verb, name)


def test_the_verbs_of_the_wire_are_those_that_are_done_there() -> None:
    given = {"seconds": 1, "frames": 1, "ms": 1}
    assert {"unplug", "replug"} < WIRE
    for verb in WIRE - {"unplug", "replug"}:
        assert Mischief().control({"do": verb, **given}, 0) == {"ok": True}
