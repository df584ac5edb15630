"""The rows in their derived form: the same choice as the library's, every question asked once."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from itertools import product
from random import Random

import pytest

from daemon.build import build_table
from daemon.games.desk import Refused
from daemon.games.machine import Compiled, Row, build
from daemon.journal import MemoryJournal
from daemon.simulate import SimulateOptions, settings_of
from daemon.simulation.five_card import evening
from daemon.simulation.five_card.evening import StudEvening


class At(Enum):
    HERE = "here"
    THERE = "there"


ROWS = (
    Row("go", (At.HERE,), At.THERE, check=("may",), when=("a", "b"), do=("first",)),
    Row("go", (At.HERE,), when=("a",), do=("second",)),
    Row("go", (At.HERE,), At.THERE, check=("really_may",), when=("b", "c"), do=("third", "fourth")),
    Row("go", (At.HERE,), check=("may",), when=("c", "a"), do=("never",)),
    Row("go", (At.THERE,), At.HERE, do=("back",)),
)


class Walker:
    """Answers as it is told, and remembers what it was asked and did."""

    state: At

    def __init__(self, **answers: bool) -> None:
        self.asked: list[str] = []
        self.did: list[str] = []
        for name in ("a", "b", "c"):
            setattr(self, name, self._answering(name, answers[name]))
        for name in ("may", "really_may"):
            setattr(self, name, self._allowing(name, answers[name]))
        for name in ("first", "second", "third", "fourth", "never", "back"):
            setattr(self, name, lambda item, desk, name=name: self.did.append(name))

    def _answering(self, name: str, answer: bool) -> Callable[[object, object], bool]:
        def asked(item: object, desk: object) -> bool:
            self.asked.append(name)
            return answer

        return asked

    def _allowing(self, name: str, answer: bool) -> Callable[[object, object], None]:
        def check(item: object, desk: object) -> None:
            self.asked.append(name)
            if not answer:
                raise Refused(name)

        return check

    def become(self, compiled: bool) -> tuple[At, list[str], str]:
        machine = build(self, At, At.HERE, ROWS)
        try:
            if compiled:
                Compiled(machine, self, {}).fire("go", None, None)
            else:
                machine.events["go"].trigger(self, None, None)
        except Refused as refusal:
            return self.state, self.did, str(refusal)
        return self.state, self.did, ""


WORDS = ("a", "b", "c", "may", "really_may")


@pytest.mark.parametrize("answers", list(product((False, True), repeat=len(WORDS))))
def test_it_comes_to_the_same_row(answers: tuple[bool, ...]) -> None:
    said = dict(zip(WORDS, answers, strict=True))
    derived = Walker(**said)
    assert derived.become(compiled=True) == Walker(**said).become(compiled=False)
    assert len(derived.asked) == len(set(derived.asked)), "a question was asked twice"


def test_a_condition_that_is_known_to_fail_does_not_skip_a_check() -> None:
    answers = dict.fromkeys(WORDS, True) | {"a": False, "b": False}
    walker = Walker(**answers | {"really_may": False})
    assert walker.become(compiled=True)[2] == "really_may"


@pytest.mark.parametrize(("seed", "seats"), [(1, 2), (2, 7), (3, 4)])
def test_an_evening_is_the_same_in_either_form(
    seed: int, seats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sha256() -> str:
        journal = MemoryJournal()
        options = SimulateOptions(game="five-card", boxes=seats)
        evening_of = StudEvening(seats, settings_of(options), journal, Random(seed))
        evening_of.open()
        for _ in range(30):
            evening_of.play()
        return journal.sha256()

    derived = sha256()
    monkeypatch.setattr(evening, "build_table", lambda settings, compiled: build_table(settings))
    assert sha256() == derived
