"""The API over a table whose devices say what a test tells them to: views, acts, problem documents."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemon import show
from daemon.api import acts
from daemon.links.base import Cause
from drivers.base import CardDrawn, CoverMoved, ShuffleDone
from drivers.cards import DECK, Card, FaceDownCard
from tests.fakes.stage import DEMO, Api, Stage, accepted, do, is_problem, played

# --- acts ------------------------------------------------------------------------------------


def test_an_accepted_act_says_what_became_of_it(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        answer = await accepted(api, "open-table")
        assert answer["accepted"] is True
        assert (answer["act"], answer["state"]) == ("open-table", "between-rounds")
        assert stage.records()[answer["seq"] - 1]["input"]["name"] == "open-table"

    played(tmp_path, story)


def test_a_refusal_is_a_problem_document_and_is_journalled(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        await accepted(api, "open-table")
        before = (await api.get("/status")).json()
        document = is_problem(await do(api, "ante", box=1, amount=10_000), 409)
        assert document["clause"] == "CS-06"
        assert document["detail"] == "betting is not open"
        assert document["todo"] == "open-betting first"
        assert document["seq"] == stage.service.engine.committed
        assert stage.records()[-1]["refusal"]["clause"] == "CS-06"
        after = (await api.get("/status")).json()
        assert after["state"] == before["state"] == document["state"]

    played(tmp_path, story)


@pytest.mark.parametrize("name", ["no-such-act", "card-drawn", "shuffle-done", "buy-in"])
def test_an_unknown_act_is_404_and_journalled(name: str, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        await accepted(api, "open-table")
        document = is_problem(await do(api, name), 404)
        assert document["act"] == name
        record = stage.records()[-1]
        assert (record["input"]["name"], "refusal" in record) == (name, True)
        assert stage.service.failure is None

    played(tmp_path, story)


def test_a_repeated_key_has_the_same_answer_and_no_second_effect(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        body = {"key": "k-1", "by": "ana", "role": "dealer"}
        first = await api.post("/acts/open-table", json=body)
        second = await api.post("/acts/open-table", json=body)
        assert first.json() == second.json()
        refused = {"key": "k-2", "args": {"box": 9}}
        assert (await api.post("/acts/ante", json=refused)).json() == (
            await api.post("/acts/ante", json=refused)
        ).json()
        names = [record["input"].get("name") for record in stage.records()]
        assert (names.count("open-table"), names.count("ante")) == (1, 1)

    played(tmp_path, story)


def test_j06_two_at_once_on_one_box_are_one_bet_and_one_row(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        for name in ("open-table", "use-shoe", "shuffle", "cut", "open-betting"):
            await accepted(api, name)
        bodies = [{"by": by, "args": {"box": 3, "amount": 10_000}} for by in ("ana", "bo")]
        answers = await asyncio.gather(*(api.post("/acts/ante", json=body) for body in bodies))
        assert sorted(answer.status_code for answer in answers) == [200, 409]
        refused = next(answer for answer in answers if answer.status_code == 409)
        assert is_problem(refused, 409)["clause"] == "CS-06"
        rows = stage.service.journal._db.execute("SELECT amount FROM money WHERE account = 'ante.3'")
        assert rows.fetchall() == [(10_000,)]

    played(tmp_path, story, there=True)


def test_who_did_it_is_journalled(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        who = {"by": "ana", "role": "dealer", "second": "bo", "replaces": 3}
        seq = (await api.post("/acts/open-table", json=who)).json()["seq"]
        said = stage.records()[seq - 1]["input"]
        assert {key: said[key] for key in who} == who

    played(tmp_path, story)


MALFORMED: list[tuple[str, bytes]] = [
    ("ante", b"{"),
    ("ante", b"[]"),
    ("ante", b'"x"'),
    ("ante", b'{"args": {"box": 1.5}}'),
    ("ante", b'{"args": {"box": true}}'),
    ("ante", b'{"args": {"box": null}}'),
    ("ante", b'{"args": {"box": [1]}}'),
    ("ante", b'{"args": {"box": 1000000000000000000000}}'),
    ("ante", b'{"args": {"box": "\\ud800"}}'),
    ("ante", b'{"args": {"BOX": 1}}'),
    ("ante", b'{"args": {"box": "' + b"9" * 501 + b'"}}'),
    ("ante", b'{"box": 1}'),
    ("ante", b'{"by": "\\ud800"}'),
    ("ante", b'{"key": "two words"}'),
    ("ante", b'{"replaces": -1}'),
    ("ante", b'{"args": NaN}'),
    ("ante", b"\xff"),
    ("Ante%20", b"{}"),
    ("a" * 60, b"{}"),
]


@pytest.mark.parametrize(("name", "body"), MALFORMED)
def test_a_malformed_act_is_422_and_changes_nothing(name: str, body: bytes, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        committed = stage.service.engine.committed
        response = await api.post(f"/acts/{name}", content=body, headers={"content-type": "application/json"})
        is_problem(response, 422)
        assert stage.service.engine.committed == committed
        assert stage.service.failure is None

    played(tmp_path, story)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/acts/ante", 405),
        ("DELETE", "/status", 405),
        ("GET", "/rounds/7", 404),
        ("GET", "/rounds/x", 422),
        ("GET", "/rounds/0", 422),
        ("GET", "/rounds?last=0", 422),
        ("GET", "/status?after=x", 422),
        ("GET", "/status?wait=-1", 422),
        ("GET", "/status?wait=nan", 422),
    ],
)
def test_every_other_mistake_is_a_problem_document_too(
    method: str, path: str, status: int, tmp_path: Path
) -> None:
    async def story(api: Api, stage: Stage) -> None:
        is_problem(await api.request(method, path), status)

    played(tmp_path, story)


# --- a journal that cannot be written -----------------------------------------------------------


def test_an_act_waits_for_a_held_journal(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        other = sqlite3.connect(stage.file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        asyncio.get_running_loop().call_later(0.1, other.execute, "ROLLBACK")
        await accepted(api, "open-table")
        other.close()

    played(tmp_path, story)


def test_an_act_is_answered_held_when_the_journal_stays_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acts, "HELD_LIMIT", 0.1)

    async def story(api: Api, stage: Stage) -> None:
        other = sqlite3.connect(stage.file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        document = is_problem(await do(api, "open-table"), 503)
        assert "nothing was changed" in document["detail"]
        other.execute("ROLLBACK")
        other.close()
        assert (await api.get("/status")).json()["state"] == "out-of-service"
        await accepted(api, "open-table")

    played(tmp_path, story)


def test_g01_a_journal_that_stays_held_stops_the_pings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pings: list[str] = []
    monkeypatch.setattr("daemon.service.notify", pings.append)
    monkeypatch.setattr("daemon.service.watchdog_seconds", lambda: 0.01)
    monkeypatch.setattr("daemon.service.STUCK", 100_000_000)

    async def story(api: Api, stage: Stage) -> None:
        await asyncio.sleep(0.1)
        assert "WATCHDOG=1" in pings
        other = sqlite3.connect(stage.file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        stage.device_says("shoe", CoverMoved(True))
        await asyncio.sleep(0.3)
        pings.clear()
        await asyncio.sleep(0.2)
        assert "WATCHDOG=1" not in pings
        other.execute("ROLLBACK")
        await asyncio.sleep(0.2)
        assert "WATCHDOG=1" in pings
        other.close()

    played(tmp_path, story, there=True)


def test_a_commit_that_fails_stops_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.service.FAREWELL", 0.0)

    async def story(api: Api, stage: Stage) -> None:
        with sqlite3.connect(stage.file) as other:
            other.execute("DROP TABLE money")
        is_problem(await do(api, "open-table"), 503)
        assert stage.service.over.is_set()
        is_problem(await do(api, "close-table"), 503)

    stage = played(tmp_path, story)
    assert "could not be committed" in str(stage.service.failure)


def test_what_is_said_of_an_act_that_met_the_end_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.service.FAREWELL", 0.0)

    async def story(api: Api, stage: Stage) -> None:
        before = len(stage.records())
        with sqlite3.connect(stage.file) as other:
            other.execute("DROP TABLE money")
        document = is_problem(await api.post("/acts/open-table", json={"key": "k-1"}), 503)
        assert len(stage.records()) == before  # taken back for certain
        assert "not certain" not in document["detail"]
        assert "it is done if it was not recorded" in document["detail"]
        late = is_problem(await do(api, "close-table"), 503)
        assert late["detail"] == "the daemon is stopping; nothing was changed"

    played(tmp_path, story)


# --- an act that names a file -------------------------------------------------------------------


async def change_rules(api: Api, role: str, **args: object) -> dict[str, Any]:
    body = {"role": role, "args": args}
    return is_problem(await asyncio.wait_for(api.post("/acts/change-rules", json=body), 5), 409)


def _pipe(folder: Path) -> str:
    os.mkfifo(folder / "pipe.toml")
    return str(folder / "pipe.toml")


def _endless(folder: Path) -> str:
    with (folder / "endless.toml").open("wb") as file:
        file.truncate(2**20 + 1)
    return str(folder / "endless.toml")


def _deep(folder: Path) -> str:
    (folder / "deep.toml").write_text(f"a = {'[' * 100_000}")
    return str(folder / "deep.toml")


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (_pipe, "not a regular file"),
        (lambda folder: "/dev/zero", "not a regular file"),
        (lambda folder: str(folder), "Is a directory"),
        (_endless, "longer than 1048576 bytes"),
        (_deep, "cannot be read"),
        (lambda folder: "", "change-rules: file= is missing"),
    ],
)
def test_cs_13_a_file_that_is_no_configuration_keeps_nobody_waiting(
    file: Callable[[Path], str], told: str, tmp_path: Path
) -> None:
    async def story(api: Api, stage: Stage) -> None:
        document = await change_rules(api, "supervisor", file=file(tmp_path))
        assert told in document["detail"]
        assert document["clause"] == "CS-13"
        assert len(stage.records()[-1]["input"]["args"]["problem"]) <= 500

    played(tmp_path, story)


def test_cs_13_change_rules_without_a_file(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        assert (await change_rules(api, "supervisor"))["detail"] == "change-rules: file= is missing"

    played(tmp_path, story)


def test_cs_13_nobody_but_a_supervisor_has_a_file_opened(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        document = await change_rules(api, "dealer", file=str(DEMO))
        assert document["detail"] == "change-rules is a supervisor's act"
        assert stage.records()[-1]["input"]["args"] == {"file": str(DEMO)}

    played(tmp_path, story)


@pytest.mark.parametrize("own", ["rules", "problem"])
def test_cs_13_what_the_daemon_itself_adds_to_the_act_is_nobody_s_to_say(own: str, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        document = await change_rules(api, "supervisor", file=str(DEMO), **{own: "mine"})
        assert document["detail"] == f"change-rules takes no {own}="
        assert stage.records()[-1]["input"]["code"] == "act-unclear"

    played(tmp_path, story)


# --- long polls ---------------------------------------------------------------------------------


def test_a_long_poll_answers_as_soon_as_something_is_committed(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        seq = (await api.get("/status")).json()["seq"]
        poll = asyncio.create_task(api.get("/status", params={"after": seq, "wait": 30}))
        await asyncio.sleep(0.05)
        assert not poll.done()
        await accepted(api, "open-table")
        view = (await asyncio.wait_for(poll, 2)).json()
        assert view["seq"] > seq
        assert view["state"] == "between-rounds"

    played(tmp_path, story)


def test_a_long_poll_is_over_after_its_time_and_at_once_when_it_knows(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        loop = asyncio.get_running_loop()
        seq = stage.service.engine.committed
        began = loop.time()
        assert (await api.get("/status", params={"after": seq, "wait": 0.2})).json()["seq"] == seq
        assert loop.time() - began >= 0.2
        await asyncio.wait_for(api.get("/status", params={"after": seq - 1, "wait": 60}), 2)

    played(tmp_path, story)


def test_the_end_answers_those_who_wait(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        poll = asyncio.create_task(api.get("/status", params={"after": 10**6, "wait": 60}))
        await asyncio.sleep(0.05)
        stage.service.stop()
        assert (await asyncio.wait_for(poll, 2)).status_code == 200

    played(tmp_path, story)


# --- what may be seen ---------------------------------------------------------------------------


def test_missing_devices_are_told(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        await accepted(api, "open-table")
        view = (await api.get("/status")).json()
        assert view["not_ready"] == "SH-1 is not ready: absent (not plugged in)"
        assert view["devices"]["sign"]["cause"] == "absent"
        assert view["devices"]["sign"]["todo"] == Cause.ABSENT.remedy
        devices = (await api.get("/devices")).json()["devices"]
        assert {name: device["todo"] for name, device in devices.items()} == dict.fromkeys(
            ("shoe", "SH-1", "sign"), Cause.ABSENT.remedy
        )
        document = is_problem(await do(api, "open-betting"), 409)
        assert (document["clause"], document["detail"]) == ("CS-01", view["not_ready"])

    played(tmp_path, story)


def test_cards_that_lie_face_down_are_seen_nowhere(tmp_path: Path) -> None:
    cards = [DECK[index] for index in (51, 1, 50, 3, 48, 5, 47, 9, 44, 11)]  # one box and the dealer

    async def story(api: Api, stage: Stage) -> None:
        for name in ("open-table", "use-shoe", "shuffle", "cut", "open-betting"):
            await accepted(api, name)
        await accepted(api, "ante", box=3, amount=10_000)
        stage.device_says("shoe", *(CardDrawn(FaceDownCard(card)) for card in cards))
        view = (await api.get("/rounds/1")).json()
        fifth = [None] * 4 + [cards[-1].text]
        assert view["dealer"]["cards"] == fifth
        assert view["boxes"][0]["cards"] is None
        paths = ("/status", "/rounds", "/rounds/1", "/jackpot", "/incidents", "/devices")
        seen = [(await api.get(path)).text for path in paths]
        assert_none_is_named(cards[:-1], [*seen, *stage.log, json.dumps(stage.records())])

    played(tmp_path, story, there=True)


def assert_none_is_named(cards: list[Card], texts: list[str]) -> None:
    for text in texts:
        assert not [card.text for card in cards if f'"{card.text}"' in text or f"{card.text} " in text]


def test_rounds_and_incidents(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        for name in ("open-table", "use-shoe", "shuffle", "cut", "open-betting"):
            await accepted(api, name)
        await accepted(api, "ante", box=2, amount=10_000)
        await accepted(api, "progressive", box=2)
        stage.device_says("shoe", *(CardDrawn(FaceDownCard(card)) for card in DECK[:3]))
        assert [each["outcome"] for each in (await api.get("/rounds")).json()["rounds"]] == ["open"]
        await accepted(api, "misdeal", text="dropped")
        closed = (await api.get("/rounds", params={"last": 1})).json()["rounds"]
        assert [each["outcome"] for each in closed] == ["void"]
        assert (await api.get("/rounds/1")).json() == closed[0]
        incident = (await api.get("/incidents")).json()["irregularities"][0]
        assert (incident["round"], incident["clause"][:5]) == (1, "CS-11")
        jackpot = (await api.get("/jackpot")).json()
        assert jackpot["carried"] == {"2": 1_000}
        assert jackpot["sign"]["wanted"]["meter"] == "$100,007.10"

    played(tmp_path, story, there=True)


def test_nothing_is_to_be_done_about_a_device_that_is_ready(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        devices = (await api.get("/devices")).json()["devices"]
        assert {(device["state"], device["todo"]) for device in devices.values()} == {("ready", "")}

    played(tmp_path, story, there=True)


def test_people_read_money_as_money_and_a_number_of_awards_as_a_number() -> None:
    sign = {"wanted": {"meter": "$100,000.00"}, "proven": True}
    pool = {"now": 10_000_000, "hits": 3}
    with show.console.capture() as printed:
        show.jackpot({"sign": sign, "pool": pool, "pending_awards": []})
    assert "100,000.00 │" in printed.get()
    assert printed.get().endswith("Awards so far: 3\n")


def test_latched_faults_are_incidents(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        await accepted(api, "open-table")
        stage.device_says("SH-1", ShuffleDone(1, 51))
        faults = (await api.get("/incidents")).json()["faults"]
        assert [fault["code"] for fault in faults] == ["shuffle-count"]

    played(tmp_path, story, there=True)


def test_the_schema_is_published(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        paths = (await api.get("/openapi.json")).json()["paths"]
        assert {"/status", "/rounds", "/rounds/{round_id}", "/jackpot", "/acts/{name}"} <= set(paths)

    played(tmp_path, story)


@pytest.mark.parametrize("path", ["/metrics", "/player", "/status", "/jackpot", "/acts", "/incidents"])
def test_a_game_without_a_pool_is_seen_too(path: str, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        response = await api.get(path)
        assert response.status_code == 200, response.text

    played(tmp_path, story, config=DEMO.with_name("five-card.toml"))


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"args": {"text": "x" * 501}}, "args.text: must have at most 500 characters"),
        ({"args": {"box": 1.5}}, "args.box: must be text or a whole number"),
        ({"args": {"box": 10**18}}, f"args.box: must be less than {10**18}"),
        ({"args": {"Box": 1}}, "args.Box: the name must be of the form ^[a-z][a-z0-9_-]{0,31}$"),
        ({"args": []}, "args: must be an object"),
        ({"by": "x" * 65}, "by: must have at most 64 characters"),
        ({"second": {"name": 1}}, "second.name: must be text; second.pin: is missing"),
        ({"replaces": -1}, "replaces: must be 0 or more"),
        ({"arg": {}}, "arg: is no field of this request"),
    ],
)
def test_a_request_of_another_form_is_told_the_field_and_what_is_allowed(
    body: dict[str, object], detail: str, tmp_path: Path
) -> None:
    async def story(api: Api, stage: Stage) -> None:
        document = is_problem(await api.post("/acts/misdeal", json=body), 422)
        assert document["detail"] == detail

    played(tmp_path, story)


def test_a_question_of_another_form_is_told_where(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        document = is_problem(await api.get("/rounds", params={"last": "many"}), 422)
        assert document["detail"] == "query.last: must be a whole number"
        document = is_problem(await api.post("/acts/Misdeal", json={}), 422)
        assert document["detail"] == "path.name: must be of the form ^[a-z][a-z0-9-]{0,47}$"
        as_json = {"content-type": "application/json"}
        document = is_problem(await api.post("/acts/misdeal", content="{", headers=as_json), 422)
        assert document["detail"].startswith("body: is no JSON: ")

    played(tmp_path, story)
