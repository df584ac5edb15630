"""The whole thing: ``feltd demo`` with its four processes, killed and unplugged from outside."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from daemon.audit import verify
from daemon.config import load
from daemon.demo import DemoOptions, run_demo
from daemon.demo.plan import Trouble, make_plan
from daemon.demo.scene import Scene
from daemon.demo.screen import picture
from daemon.demo.world import CONFIG
from daemon.simhost import ControlClient
from tests.process.demonstration import ROOT, playing

CASES = {"CS-11a", "CS-11b", "CS-11c", "CS-11d"}


def processes_of(directory: Path) -> list[int]:
    """The processes that name this directory on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(directory) in words:
                found.append(int(entry.name))
    return found


def assert_whole(told: dict[str, Any]) -> None:
    """Verified, the pool equation exact, and the sign shows the pool."""
    pool = told["pool"]
    assert told["journal"]["verified"] is True
    assert pool["minimum"] + pool["contributed"] == pool["now"] + pool["awarded_from_pool"] + pool["overflow"]
    assert told["sign_amount"] == pool["now"]
    assert told["rounds"] == told["settled"] + told["void"]


def failed(directory: Path) -> tuple[int, str, str]:
    """Exit code, the error in JSON and standard error of a demonstration that does not begin."""
    with playing(directory, "--rounds", "1") as demo:
        out, err = demo.process.communicate(timeout=30)
    assert out.count("\n") == 1
    answer = json.loads(out)
    assert list(answer) == ["error"]
    return demo.process.returncode, answer["error"], err


def test_all_four_cases_in_six_rounds(tmp_path: Path) -> None:
    with playing(tmp_path, "--rounds", "6", "--irregularities", "--seed", "1") as demo:
        told = demo.result()
    assert_whole(told)
    assert told["rounds"] == 6
    assert set(told["irregularities"]) == CASES
    assert told["carried_progressive"] > 0
    assert told["restarts"] == 0
    assert {"shoe", "shuffler", "sign"} == set(told["devices"])
    assert {device["state"] for device in told["devices"].values()} == {"ready"}
    assert told["journal"]["inputs"] == verify(tmp_path / "journal.db")["inputs"] > 100
    assert processes_of(tmp_path) == []


@pytest.mark.slow  # two kills of a five-card table are in test_demo_five_card.py
def test_three_kills_in_the_middle_of_rounds_lose_and_double_nothing(tmp_path: Path) -> None:
    with playing(tmp_path, "--rounds", "5", "--seed", "2") as demo:
        for round_id, state in ((1, "dealing"), (2, "deciding"), (3, "betting")):
            demo.until(f"{state} in round {round_id}", lambda: demo.reached(round_id, state))  # noqa: B023
            demo.kill_daemon()
        told = demo.result()
        assert_whole(told)
        assert told["restarts"] == 3
        assert (told["rounds"], told["void"]) == (5, 0)
        assert verify(tmp_path / "journal.db")["rounds"] == 5


@pytest.mark.slow  # test_service.py and tests/browser have a sign that comes back
def test_a_sign_that_comes_back_shows_the_pool_and_play_goes_on(tmp_path: Path) -> None:
    with playing(tmp_path, "--rounds", "5", "--seed", "3") as demo:
        sign = ControlClient(tmp_path / "sign.control")
        demo.until("bets, which raise the pool with the first card", lambda: demo.reached(1, "betting"))
        sign.do("unplug")
        demo.until("the loss to be known", lambda: demo.status()["devices"]["sign"]["state"] != "ready")
        demo.until("the end of the round", lambda: demo.status().get("round") is None)
        stale = sign.do("state")["amount"]
        assert stale != demo.status()["pool"]["now"]
        sign.do("replug")
        demo.until("the pool", lambda: sign.do("state")["amount"] == demo.status()["pool"]["now"], seconds=5)
        sign.close()
        told = demo.result()
    assert_whole(told)
    assert (told["rounds"], told["void"], told["restarts"]) == (5, 0, 0)


def test_a_second_one_is_refused_sigterm_ends_everything_and_the_journal_is_continued(tmp_path: Path) -> None:
    with playing(tmp_path, "--rounds", "5", "--seed", "4") as demo:
        demo.until("the table to be there", lambda: bool(demo.status()))
        code, error, err = failed(tmp_path)
        assert code == 1
        assert error == f"another demonstration plays in {tmp_path} (pid {demo.process.pid})"
        assert err == f"feltd demo: {error}\n"
        demo.until("the second round", lambda: demo.reached(2, "deciding"))  # the other one left it alone
        demo.process.terminate()
        _, err = demo.process.communicate(timeout=20)
        assert demo.process.returncode == 1
        assert "feltd demo: the demonstration was stopped" in err
    assert processes_of(tmp_path) == []
    assert not (tmp_path / "daemon.pid").exists()
    before = verify(tmp_path / "journal.db")
    assert before["verified"]
    with playing(tmp_path, "--rounds", "1", "--seed", "5") as demo:
        told = demo.result()
    assert_whole(told)
    assert told["rounds"] == 1
    assert verify(tmp_path / "journal.db")["rounds"] == before["rounds"] + 2  # the open one was abandoned


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (DemoOptions(game="baccarat"), "there is no game 'baccarat'"),
        (DemoOptions(rounds=0), "--rounds"),
        (DemoOptions(speed=0), "--speed"),
    ],
)
def test_what_cannot_be_played_is_said(
    options: DemoOptions, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_demo(options) == 2
    assert sentence in capsys.readouterr().err


def test_a_directory_that_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    code, error, err = failed(path)
    assert (code, error) == (2, f"--dir {path} is there and is no directory")
    assert err == f"feltd demo: {error}\n"
    assert path.read_text() == "mine"


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    path = tmp_path / "file" / "below"
    code, error, err = failed(path)
    assert (code, error) == (1, f"{path}: Not a directory")
    assert err == f"feltd demo: {error}\n"


def test_the_demonstration_has_the_rules_of_the_shipped_example(tmp_path: Path) -> None:
    (tmp_path / "feltd.toml").write_text(CONFIG)
    ours, shipped = load(tmp_path / "feltd.toml"), load(ROOT / "config" / "demo.toml")
    assert ours.rules == shipped.rules
    assert (ours.table_id, ours.game, ours.mode) == (shipped.table_id, shipped.game, shipped.mode)
    wired = [
        [(device.role, device.protocol, Path(device.link).name, device.simulated) for device in each.devices]
        for each in (ours, shipped)
    ]
    assert wired[0] == wired[1]


@pytest.mark.parametrize("rounds", [4, 6, 12, 25, 100])
def test_every_case_has_its_round(rounds: int) -> None:
    plan = make_plan(rounds, True)
    due = {trouble: round_id for round_id, trouble in reversed(plan.troubles)}
    assert {Trouble.ONE_EXPOSED, Trouble.EMPTY_BOX, Trouble.TWO_EXPOSED, Trouble.JAM} <= set(due)
    assert max(round_id for round_id, _ in plan.troubles) <= rounds
    by_hand = {trouble for round_id, trouble in plan.troubles if round_id > due[Trouble.JAM]}
    assert len(by_hand) < plan.stay + 1


def test_the_picture_shows_what_is_open_and_the_backs_of_the_rest() -> None:
    money = {"ante": 5_000, "raise": 10_000, "progressive": 1_000, "carried": True}
    result = {"result": "win", "category": None, "ante_paid": 5_000, "raise_paid": 10_000, "award": 0}
    box = {"box": 3, "decision": "raise", "cards": [None, "AS", None, None, None], **money, **result}
    dealer = {"cards": None, "qualifies": None, "category": None}
    scene = Scene(
        status={"state": "deciding", "mode": "shoe", "sign": {"proven": True}},
        account={"id": 9, "outcome": "open", "boxes": [box], "dealer": dealer},
        sign={"text": "$100,014.20"},
        played=8,
        wanted=25,
    )
    console = Console(width=110, record=True, file=io.StringIO())
    console.print(picture(scene))
    lines = console.export_text().splitlines()
    assert "round 9 of 25 · cards from the shoe · deciding" in "".join(lines)
    assert "$100,014.20" in "".join(lines)
    assert next(line for line in lines if "dealer" in line).count("▒▒") == 5
    row = next(line for line in lines if "box 3" in line)
    assert "▒▒ A♠ ▒▒ ▒▒ ▒▒" in row
    assert "50.00" in row
    assert "100.00" in row
    assert "carried 10.00" in row
    assert "+150.00 win" in row
