"""Who may do what: every act of both games, every role, every state, against what people agreed on."""

from __future__ import annotations

import pytest

from daemon.api.offers import _ROWS
from daemon.build import known_acts
from daemon.config import load
from daemon.roles import (
    CARIBBEAN,
    CLEARED_BY,
    FIVE_CARD,
    FORMS,
    MAY,
    ROLES,
    clearers_of,
    or_list,
    roles_for,
    seconds_for,
)
from tests.fakes.stage import DEMO
from tools import roles_page

CONFIGS = {CARIBBEAN: DEMO, FIVE_CARD: DEMO.with_name("five-card.toml")}
STATES = {game: [phase.value for phase in rows.states] for game, rows in _ROWS.items()}
GAMES = (CARIBBEAN, FIVE_CARD)

# Written down once more, by hand: whoever changes the table has to mean it.
SUPERVISORS_ALONE = {
    CARIBBEAN: {"change-rules", "confirm-award", "refund-carried", "correct-pool", "dispute"},
    FIVE_CARD: {"change-rules", "wrong-deck"},
}
REPAIR = {"clear-fault", "accept-device"}
AT_REST = {
    CARIBBEAN: {"use-shuffler", "use-shoe", "use-hand", "shuffle", "count"},
    FIVE_CARD: {"use-shuffler", "use-shoe", "use-hand"},
}
RESTING = {"out-of-service", "between-rounds", "void"}
DEALER_CORRECTS = {"dealing", "opening", "speaking"}


def agreed(game: str, act: str, role: str, state: str) -> bool:
    if role == "auditor":
        return False
    if role == "supervisor":
        return True
    if role == "technician":
        return act in REPAIR or (act in AT_REST[game] and state in RESTING)
    if act == "correct-deal":
        return state in DEALER_CORRECTS
    return act not in SUPERVISORS_ALONE[game] and act != "accept-device"


@pytest.mark.parametrize("game", GAMES)
def test_every_act_for_every_role_in_every_state(game: str) -> None:
    walked = 0
    for form in FORMS[game]:
        for state in STATES[game]:
            allowed = roles_for(game, form.name, state)
            for role in ROLES:
                assert (role in allowed) == agreed(game, form.name, role, state), (form.name, role, state)
                walked += 1
    assert walked == len(FORMS[game]) * len(STATES[game]) * len(ROLES)


@pytest.mark.parametrize("game", GAMES)
def test_the_acts_are_those_of_the_game(game: str) -> None:
    names = [form.name for form in FORMS[game]]
    assert len(names) == len(set(names))
    assert set(names) == known_acts(load(CONFIGS[game]))


@pytest.mark.parametrize("game", GAMES)
def test_the_table_names_nothing_that_is_not_there(game: str) -> None:
    names = {form.name for form in FORMS[game]}
    for may in MAY[game]:
        assert set(may.acts) <= names, may
        assert set(may.roles) <= set(ROLES), may
        assert set(may.states) <= {*STATES[game], *RESTING}, may


@pytest.mark.parametrize("game", GAMES)
def test_a_second_person_is_never_of_the_first_one_s_role(game: str) -> None:
    found = {form.name: seconds_for(game, form.name) for form in FORMS[game]}
    two = {name for name, seconds in found.items() if seconds}
    assert two == ({"correct-pool", "refund-carried"} if game == CARIBBEAN else set())
    for name in two:
        firsts = {role for state in STATES[game] for role in roles_for(game, name, state)}
        assert not firsts & set(found[name])


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("code", ["integrity", "firmware-shoe", "card-without-shuffle", "archives"])
def test_some_faults_are_not_everybody_s_to_clear(game: str, code: str) -> None:
    agreed_for = {"supervisor", "technician"}
    if code not in ("integrity", "firmware-shoe"):
        agreed_for.add("dealer")
    for state in STATES[game]:
        may = {*roles_for(game, "clear-fault", state)} & {*clearers_of(code)}
        assert may == agreed_for, state


def test_the_page_names_the_faults_that_not_everybody_clears() -> None:
    text = " ".join(roles_page.FILE.read_text().split())
    for code, by in CLEARED_BY.items():
        assert f"`{code}" in text, code
        assert or_list(by) in text, code


def test_the_page_shows_the_table() -> None:
    page = roles_page.FILE.read_text()
    assert roles_page.page(page) == page, "python -m tools.roles_page"


def test_words_for_a_sentence() -> None:
    assert [or_list(words) for words in ((), ("a",), ("a", "b"), ("a", "b", "c"))] == [
        "nobody",
        "a",
        "a or b",
        "a, b or c",
    ]
