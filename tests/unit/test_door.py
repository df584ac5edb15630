"""Who is who at the API: peers, sessions, roles, two people; and what of it is journalled."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from daemon import sessions as module
from daemon.api.door import Door
from daemon.clock import FakeClock
from daemon.config import ConfigError, Settings, StaffSettings, load
from daemon.games.caribbean.rows import Phase
from daemon.roles import CARIBBEAN, FORMS, ROLES, roles_for
from daemon.sessions import IDLE, LONGEST, Sessions, StaffFile, person
from drivers.base import SECOND
from tests.fakes.stage import DEMO, Api, From, Stage, client, is_problem, played

PINS = {"ana": "271828", "bo": "141421", "cy": "173205", "di": "223606"}
STAFF = {"ana": "dealer", "bo": "supervisor", "cy": "technician", "di": "auditor"}
CONSOLE, MARIA, STRANGER, DEALERS = 4001, 4002, 4003, 5001


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COST", (2, 1, 1))


class House:
    """The door of a table with staff, a console's user and a technician's."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.staff = StaffFile(folder / "staff.json")
        for name, role in STAFF.items():
            self.staff.add(person(name, role, PINS[name]))

    def door(self) -> Door:
        sessions = Sessions(self.staff, self.clock.monotonic)
        uids = {CONSOLE: "console", MARIA: "technician"}
        return Door(uids, {DEALERS: "dealer"}, sessions, frozenset((0, os.getuid())))


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


async def signed_in(stage: Stage, name: str, uid: int = CONSOLE) -> Api:
    """A client through the console with a session of this person."""
    async with client(From(stage.app, uid)) as api:
        answer = await api.post("/sessions", json={"name": name, "pin": PINS[name]})
    assert answer.status_code == 201, answer.text
    return client(From(stage.app, uid), answer.json()["token"])


def notes(stage: Stage, code: str) -> list[str]:
    said = [record["input"] for record in stage.records()]
    return [each["text"] for each in said if each["kind"] == "noticed" and each["code"] == code]


def everything_known(stage: Stage) -> str:
    return json.dumps(stage.records()) + "".join(stage.log)


# --- peers -----------------------------------------------------------------------------------


STAFF_ONLY = ("/status", "/rounds", "/incidents", "/jackpot", "/devices", "/acts", "/metrics", "/records")


def test_a_stranger_sees_nothing_and_is_told_what_to_do(house: House, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        async with client(From(stage.app, STRANGER)) as stranger:
            for path in (*STAFF_ONLY, "/events", "/player", "/schema", "/openapi.json", "/sessions/current"):
                document = is_problem(await stranger.get(path), 403)
                assert "[staff]" in document["todo"]
            answers = [
                await stranger.post("/acts/open-table", json={}),
                await stranger.post("/sessions", json={"name": "ana", "pin": PINS["ana"]}),
            ]
            for answer in answers:
                is_problem(answer, 403)
        assert stage.service.engine.table.game.phase == "out-of-service"

    played(tmp_path, story, door=house.door)


def test_nobody_without_a_connection_gets_in_through_a_door(house: House, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        is_problem(await api.get("/status"), 403)

    played(tmp_path, story, door=house.door)


@pytest.mark.parametrize("uid", [0, os.getuid()])
def test_root_and_the_daemon_s_user_state_who_acts(uid: int, house: House, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        async with client(From(stage.app, uid)) as own:
            who = {"by": "eva", "role": "auditor", "second": "joe"}
            answer = await own.post("/acts/open-table", json=who)
            assert answer.status_code == 200
            said = stage.records()[answer.json()["seq"] - 1]["input"]
            assert {key: said[key] for key in who} == who

    played(tmp_path, story, door=house.door)


def test_a_user_has_the_role_of_the_configuration(house: House, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        async with client(From(stage.app, 4999, 7, DEALERS)) as by_group:
            seq = (await by_group.post("/acts/open-table", json={})).json()["seq"]
            said = stage.records()[seq - 1]["input"]
            assert (said["by"], said["role"]) == ("uid 4999", "dealer")
        async with client(From(stage.app, MARIA, DEALERS)) as by_user:
            document = is_problem(await by_user.post("/acts/close-table", json={}), 403)
            assert document["detail"] == "close-table is not an act of a technician in state between-rounds"
            assert document["todo"] == "ask a dealer or supervisor"
            for lie in ({"role": "supervisor"}, {"by": "bo"}):
                is_problem(await by_user.post("/acts/use-shoe", json=lie), 403)
            assert (await by_user.post("/acts/use-shoe", json={"role": "technician"})).status_code == 200

    played(tmp_path, story, door=house.door)


def test_a_console_needs_a_session_but_for_what_everybody_may(house: House, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        async with client(From(stage.app, CONSOLE)) as console:
            for path in {*STAFF_ONLY, "/events"} - {"/metrics"}:
                answer = await console.get(path)
                is_problem(answer, 401)
                assert answer.headers["www-authenticate"] == "Bearer"
            is_problem(await console.post("/acts/open-table", json={"by": "bo", "role": "supervisor"}), 401)
            for path in ("/player", "/schema", "/metrics"):
                assert (await console.get(path)).status_code == 200

    played(tmp_path, story, door=house.door)


# --- sessions --------------------------------------------------------------------------------


def test_a_session_from_its_beginning_to_its_end(house: House, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        ana = await signed_in(stage, "ana")
        told = (await ana.get("/sessions/current")).json()
        assert (told["name"], told["role"], told["locked"]) == ("ana", "dealer", False)
        assert told["idle_seconds"] == 900
        assert (await ana.post("/acts/open-table", json={})).status_code == 200
        assert (await ana.post("/sessions/current/lock")).json()["locked"] is True
        is_problem(await ana.get("/status"), 423)
        is_problem(await ana.post("/acts/close-table", json={}), 423)
        is_problem(await ana.post("/sessions/current/unlock", json={"pin": PINS["bo"]}), 401)
        assert (await ana.post("/sessions/current")).json()["locked"] is True
        unlocked = await ana.post("/sessions/current/unlock", json={"pin": PINS["ana"]})
        assert unlocked.json()["locked"] is False
        assert (await ana.get("/status")).status_code == 200
        assert (await ana.delete("/sessions/current")).status_code == 204
        for path in ("/status", "/sessions/current"):
            is_problem(await ana.get(path), 401)
        assert notes(stage, "session") == ["ana (dealer) began a session", "ana (dealer) ended a session"]

    played(tmp_path, story, door=house.door)


def test_acts_and_a_hand_at_the_terminal_keep_it_open_and_looks_do_not(house: House, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        ana = await signed_in(stage, "ana")
        for use in ("/acts/open-table", "/sessions/current", "/acts/close-table"):
            house.clock.now += IDLE - 1
            assert (await ana.post(use)).status_code == 200
        house.clock.now += IDLE - 1
        assert (await ana.get("/status")).status_code == 200
        house.clock.now += 1
        is_problem(await ana.get("/status"), 423)
        assert (await ana.get("/sessions/current")).json()["locked"] is True
        house.clock.now += LONGEST
        is_problem(await ana.get("/sessions/current"), 401)

    played(tmp_path, story, door=house.door)


def test_wrong_pins_lock_a_name_also_for_the_second_person(house: House, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        bo = await signed_in(stage, "bo")
        for _ in range(3):
            is_problem(await bo.post("/sessions", json={"name": "ana", "pin": "000000"}), 401)
        body = {"args": {"amount": 1, "text": "x"}, "second": {"name": "ana", "pin": "000000"}}
        for _ in range(2):
            is_problem(await bo.post("/acts/correct-pool", json=body), 401)
        body["second"] = {"name": "ana", "pin": PINS["ana"]}
        answer = await bo.post("/acts/correct-pool", json=body)
        is_problem(answer, 429)
        assert answer.headers["retry-after"] == "300"
        assert notes(stage, "pin-lockout") == ["ana: 5 wrong PINs, locked for 300 s"]

    played(tmp_path, story, door=house.door)


def test_a_staff_file_that_cannot_be_used_is_told(house: House, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        ana = await signed_in(stage, "ana")
        house.staff.path.chmod(0o644)
        assert "chmod 600" in is_problem(await ana.get("/status"), 503)["detail"]
        is_problem(await ana.post("/sessions", json={"name": "ana", "pin": PINS["ana"]}), 503)

    played(tmp_path, story, door=house.door)


def test_without_a_staff_file_nobody_begins_a_session(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        document = is_problem(await api.post("/sessions", json={"name": "ana", "pin": "271828"}), 409)
        assert "feltd staff add" in document["todo"]

    played(tmp_path, story)


# --- roles -----------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", list(Phase))
def test_every_act_is_forbidden_to_whom_the_table_forbids_it(
    phase: Phase, house: House, tmp_path: Path
) -> None:
    """What is allowed goes on to the game, which refuses it for lack of a round or an argument."""

    async def story(api: Api, stage: Stage) -> None:
        people = {STAFF[name]: await signed_in(stage, name) for name in STAFF}
        stage.service.act_soon = _refuse  # type: ignore[method-assign]
        game: Any = stage.service.engine.table.game
        for form in FORMS[CARIBBEAN]:
            game.state = phase
            for role in ROLES:
                body = {"second": {"name": "di", "pin": PINS["di"]}} if form.name in TWO else {}
                answer = await people[role].post(f"/acts/{form.name}", json=body)
                allowed = role in roles_for(CARIBBEAN, form.name, phase.value)
                assert answer.status_code == (409 if allowed else 403), (form.name, role, answer.text)

    played(tmp_path, story, door=house.door)


TWO = ("correct-pool", "refund-carried")


async def _refuse(act: Any) -> dict[str, Any]:
    refusal = {"reason": "not now", "clause": "", "todo": ""}
    return {"accepted": False, "refusal": refusal, "act": act.name, "seq": 1, "state": ""}


def test_what_is_forbidden_is_journalled_with_who(house: House, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        cy = await signed_in(stage, "cy")
        answer = await cy.post("/acts/open-table", json={"args": {"text": "please"}})
        document = is_problem(answer, 403)
        assert document["seq"] == stage.service.engine.committed
        why = "open-table is not an act of a technician in state out-of-service"
        assert notes(stage, "act-forbidden") == [f"open-table by cy (technician): {why}"]

    played(tmp_path, story, door=house.door)


def test_only_auditors_and_supervisors_read_the_journal(house: House, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        for name, role in STAFF.items():
            reader = await signed_in(stage, name)
            status = 200 if role in ("auditor", "supervisor") else 403
            for path in ("/records", "/records/1"):
                assert (await reader.get(path)).status_code == status, (role, path)

    played(tmp_path, story, door=house.door)


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("integrity", {"supervisor", "technician"}),
        ("firmware-shoe", {"supervisor", "technician"}),
        ("card-without-shuffle", {"dealer", "supervisor", "technician"}),
    ],
)
def test_who_clears_which_fault(code: str, allowed: set[str], house: House, tmp_path: Path) -> None:
    """Held to it are also those who state who acts."""

    async def story(api: Api, stage: Stage) -> None:
        clears = {"args": {"code": code, "text": "seen"}}
        for name, role in STAFF.items():
            answers = [await (await signed_in(stage, name)).post("/acts/clear-fault", json=clears)]
            if role != "auditor":  # whoever is trusted is held to nothing else
                async with client(From(stage.app, 0)) as own:
                    stated = clears | {"by": name, "role": role}
                    answers.append(await own.post("/acts/clear-fault", json=stated))
            for answer in answers:  # 409: no such fault is latched
                assert answer.status_code == (409 if role in allowed else 403), (role, answer.text)
        why = "fault integrity is cleared by a supervisor or technician"
        forbidden = [f"clear-fault by ana (dealer): {why}"] * 2 if code == "integrity" else []
        assert notes(stage, "act-forbidden")[: len(forbidden)] == forbidden

    played(tmp_path, story, door=house.door)


# --- two people ------------------------------------------------------------------------------


async def correct_pool(bo: Api, second: object) -> httpx.Response:
    body: dict[str, object] = {"args": {"amount": 5, "text": "counted"}}
    if second is not None:
        body["second"] = second
    return await bo.post("/acts/correct-pool", json=body)


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (None, "correct-pool needs a second person"),
        ("di", "second: a name alone proves nobody"),
        ({"name": "bo", "pin": PINS["bo"]}, "the second person is another one"),
        ({"name": "cy", "pin": PINS["cy"]}, "a technician does not confirm correct-pool"),
    ],
)
def test_cs_10_who_is_no_second_person(second: object, told: str, house: House, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        bo = await signed_in(stage, "bo")
        await bo.post("/acts/open-table", json={})
        document = is_problem(await correct_pool(bo, second), 403)
        assert document["detail"] == told
        assert "dealer or auditor" in document["todo"] or "somebody else" in document["todo"]
        assert len(notes(stage, "act-forbidden")) == 1
        assert stage.service.engine.table.game.view()["pool"]["corrected"] == 0  # type: ignore[index]

    played(tmp_path, story, door=house.door)


@pytest.mark.parametrize("name", ["ana", "di"])
def test_cs_10_the_second_person_is_journalled(name: str, house: House, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        bo = await signed_in(stage, "bo")
        await bo.post("/acts/open-table", json={})
        answer = await correct_pool(bo, {"name": name, "pin": PINS[name]})
        assert answer.status_code == 200, answer.text
        said = stage.records()[answer.json()["seq"] - 1]["input"]
        assert (said["by"], said["role"], said["second"]) == ("bo", "supervisor", name)

    played(tmp_path, story, door=house.door)


# --- PINs and tokens stay where they are --------------------------------------------------------


def test_no_pin_and_no_token_is_in_a_log_a_record_or_a_problem(house: House, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        bo = await signed_in(stage, "bo")
        bodies: list[Callable[[], Any]] = [
            lambda: bo.post("/sessions", json={"name": "ana", "pin": "998877"}),
            lambda: bo.post("/sessions", json={"name": "ana", "pin": ["998877"]}),
            lambda: bo.post("/sessions", json={"name": "998877" * 11, "pin": "998877"}),
            lambda: bo.post("/sessions", json={"name": "ana", "pin": "998877" * 99}),
            lambda: bo.post("/sessions", json={"name": "ana", "pin": "998877", "more": "998877"}),
            lambda: bo.post("/sessions", content=b'{"name": "ana", "pin": 998877,}'),
            lambda: bo.post("/sessions/current/unlock", json={"pin": "998877"}),
            lambda: correct_pool(bo, {"name": "ana", "pin": "998877"}),
            lambda: correct_pool(bo, {"name": "ana", "pin": 998877}),
        ]
        told = [(await ask()).text for ask in bodies]
        await correct_pool(bo, {"name": "ana", "pin": PINS["ana"]})
        token = bo.headers["authorization"].removeprefix("Bearer ")
        known = everything_known(stage) + "".join(told)
        for secret in ("998877", PINS["ana"], PINS["bo"], token):
            assert secret not in known

    played(tmp_path, story, door=house.door)


# --- the configuration -------------------------------------------------------------------------


def configured(folder: Path, section: str) -> Settings:
    file = folder / "feltd.toml"
    file.write_text(DEMO.read_text().replace("[rules]", f"{section}\n[rules]", 1))
    return load(file)


def test_the_staff_of_a_configuration(tmp_path: Path) -> None:
    section = '[staff]\nfile = "s.json"\nidle_minutes = 5\n[staff.users]\nroot = "console"\nnoone = "auditor"'
    staff = configured(tmp_path, section).staff
    assert (staff.file, staff.idle_minutes) == (tmp_path / "s.json", 5)
    assert staff.users == {"root": "console", "noone": "auditor"}
    unknown: list[tuple[str, dict[str, object]]] = []
    door = Door.of(staff, FakeClock().monotonic, lambda event, **facts: unknown.append((event, facts)))
    assert unknown == [("staff-unknown", {"kind": "user", "name": "noone"})]
    assert door.pins().idle == 300 * SECOND


def test_a_configuration_without_staff_has_no_sessions(tmp_path: Path) -> None:
    assert configured(tmp_path, "").staff == StaffSettings()
    assert Door.of(StaffSettings(), FakeClock().monotonic, print).sessions is None


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ('[staff.users]\nana = "king"', "staff.users.ana: must be 'dealer'"),
        ("[staff]\nidle_minutes = 0", "staff.idle_minutes: "),
        ('[staff]\nfiles = "x"', "staff.files: unknown key (did you mean file?)"),
        ('[staff]\nfile = "journal.db"', "staff.file: the same file as table.journal"),
        ('[staff.groups]\nweb = "console"', "staff.file: missing: nobody can begin a session"),
    ],
)
def test_staff_that_cannot_be(section: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        configured(tmp_path, section)
    assert told in error.value.problems[0]
