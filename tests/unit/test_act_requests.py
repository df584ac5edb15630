"""What an act may bring: its own arguments, a role that there is, two people who are two, plain text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from daemon.api.door import Door, login_name
from daemon.games.desk import Act, Refused
from tests.fakes.stage import DEMO, Api, From, Stage, accepted, client, is_problem, played

FIVE_CARD = DEMO.with_name("five-card.toml")


def notes(stage: Stage, code: str) -> list[str]:
    return [
        record["input"]["text"]
        for record in stage.records()
        if record["input"]["kind"] == "noticed" and record["input"]["code"] == code
    ]


def acted(stage: Stage) -> tuple[str, str]:
    """The last act of the journal, and whose it was."""
    inputs = [record["input"] for record in stage.records()]
    act = [each for each in inputs if each["kind"] == "act"][-1]
    return act["name"], act.get("by", "")


@pytest.mark.parametrize(
    ("act", "args", "reason", "todo"),
    [
        (
            "take-back",
            {"box": 4, "bte": "progressive"},
            "take-back takes no bte=: did you mean bet=?",
            "it takes box=, bet=",
        ),
        ("fold", {"box": 1, "foo": "bar"}, "fold takes no foo=", "it takes box="),
        ("settle", {"round": 3}, "settle takes no round=", "leave it out"),
    ],
)  # fmt: skip
def test_an_argument_that_an_act_does_not_have_does_nothing_and_is_recorded(
    act: str, args: dict[str, str | int], reason: str, todo: str, tmp_path: Path
) -> None:
    """``take-back box=4 bte=progressive`` would take the ante back."""

    async def story(api: Api, stage: Stage) -> None:
        await accepted(api, "use-shoe")
        body = {"args": args, "by": "ana", "role": "dealer"}
        document = is_problem(await api.post(f"/acts/{act}", json=body), 409)
        assert (document["detail"], document["todo"]) == (reason, todo)
        assert document["seq"] == stage.service.engine.committed
        assert notes(stage, "act-unclear") == [f"by ana (dealer): {reason}"]
        assert stage.records()[-1]["input"]["kind"] == "noticed"

    played(tmp_path, story, there=True)


def test_nobody_confirms_himself(tmp_path: Path) -> None:
    """CS-10: a correction of the pool is two people's."""

    async def story(api: Api, stage: Stage) -> None:
        await accepted(api, "open-table")
        body = {"args": {"amount": 100, "text": "x"}, "by": "ana", "role": "supervisor", "second": "ana"}
        document = is_problem(await api.post("/acts/correct-pool", json=body), 403)
        assert document["detail"] == "the second person is another one"
        assert notes(stage, "act-forbidden") == [
            "correct-pool by ana (supervisor): the second person is another one"
        ]
        answer = await api.post("/acts/correct-pool", json={**body, "second": "di"})
        assert answer.json()["accepted"]

    played(tmp_path, story)


@pytest.mark.parametrize("role", ["king", "Dealer", "link", "console"])
def test_a_role_that_there_is_not_is_refused(role: str, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        document = is_problem(await api.post("/acts/open-table", json={"role": role}), 422)
        assert "role" in document["detail"]
        assert "supervisor" in document["detail"]
        assert stage.service.engine.table.game.out_of_service

    played(tmp_path, story)


@pytest.mark.parametrize("odd", ["x\x1b[31mRED", "a\x00b", "two\nlines", "bell\x07", "c1\x9b31m"])
def test_a_text_with_control_characters_is_refused(odd: str, tmp_path: Path) -> None:
    """It would come out at an auditor's terminal."""

    async def story(api: Api, stage: Stage) -> None:
        await accepted(api, "open-table")
        document = is_problem(await api.post("/acts/breach", json={"args": {"text": odd}}), 422)
        assert document["detail"] == "args.text: must be one line without control characters"
        is_problem(await api.post("/acts/shuffle", json={"by": odd}), 422)
        await accepted(api, "breach", text="賭枱, zwölf, ñandú 🂡")

    played(tmp_path, story)


@pytest.mark.parametrize(
    ("config", "act", "reason"),
    [
        (DEMO, "use-hand", "this game is not dealt in hand mode"),
        (FIVE_CARD, "use-shuffler", "this game is not dealt in shuffler mode"),
        (FIVE_CARD, "use-shoe", "shoe is in use already"),
    ],
)
def test_a_way_to_deal_that_there_is_not_is_not_offered(
    config: Path, act: str, reason: str, tmp_path: Path
) -> None:
    async def story(api: Api, stage: Stage) -> None:
        offered = {each["name"]: each["now"] for each in (await api.get("/acts")).json()["acts"]}
        assert (offered[act]["allowed"], offered[act]["reason"]) == (False, reason)
        args = {"id": "SH-1"} if act == "use-shuffler" else {}
        document = is_problem(await api.post(f"/acts/{act}", json={"args": args}), 409)
        assert act == "use-shuffler" or document["detail"] == reason  # of that one its id is looked at first

    played(tmp_path, story, config=config)


def test_cs_13_the_rules_of_another_game_are_refused_and_the_table_goes_on(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        body = {"args": {"file": str(FIVE_CARD)}, "by": "ana", "role": "supervisor"}
        document = is_problem(await api.post("/acts/change-rules", json=body), 409)
        assert (document["clause"], document["detail"]) == ("CS-13", "that is no rule set of this game")
        await accepted(api, "open-table")

    played(tmp_path, story)


def test_a_mistyped_act_is_told_which_one_it_is_like(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        document = is_problem(await api.post("/acts/open-tabel", json={}), 404)
        assert document["detail"] == "'open-tabel' is not known at this game: did you mean open-table?"
        assert document["todo"] == "feltd acts lists those that are"

    played(tmp_path, story)


@pytest.mark.parametrize(
    ("name", "given", "reason", "todo"),
    [
        ("box", "", "fold: box='' is no whole number", "give box= as a whole number"),
        ("box", "9" * 20, f"fold: box={'9' * 20!r} is too large", "give box= as a whole number"),
        ("amount", "1.5", "fold: amount='1.5' is no whole number", "amounts are in minor units"),
    ],
)
def test_a_number_that_is_none_is_told_for_what_it_is(name: str, given: str, reason: str, todo: str) -> None:
    with pytest.raises(Refused) as refused:
        Act("fold", {name: given}).number(name)
    assert (refused.value.reason, refused.value.todo) == (reason, todo)


def test_whoever_the_system_knows_is_named_where_nobody_is_stated(tmp_path: Path) -> None:
    """A dispute of nobody is no use to an auditor."""

    async def story(api: Api, stage: Stage) -> None:
        peer = client(From(stage.app, os.geteuid()))
        assert (await peer.post("/acts/open-table", json={})).status_code == 200
        assert acted(stage) == ("open-table", login_name(os.geteuid()))
        assert (await peer.post("/acts/breach", json={"args": {"text": "x"}, "by": "ana"})).status_code == 200
        assert acted(stage) == ("breach", "ana")

    played(tmp_path, story, door=lambda: Door({}, {}, None, frozenset((os.geteuid(),))))
