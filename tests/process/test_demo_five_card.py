"""``feltd demo --game five-card``: a shoe, a sign and a daemon in processes of their own, and killed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from daemon.audit import verify
from daemon.config import load
from daemon.demo import five_card_config
from daemon.demo.five_card import stud_line
from daemon.demo.scene import Scene
from daemon.simhost import ControlClient
from tests.process.demonstration import ROOT, playing

GAME = ("--game", "five-card")


def assert_whole(told: dict[str, Any]) -> None:
    """Verified, every round accounted for, and the sign shows the ante."""
    assert told["game"] == "five-card"
    assert told["journal"]["verified"] is True
    assert told["rounds"] == told["settled"] + told["void"]
    assert (told["sign_text"], told["sign_amount"]) == ("ANTE $20.00", 2_000)
    assert told["rake"] >= 2_000 * told["settled"]
    assert set(told["devices"]) == {"shoe", "sign"}


def test_two_kills_in_the_middle_of_rounds_lose_and_double_nothing(tmp_path: Path) -> None:
    with playing(tmp_path, *GAME, "--rounds", "4", "--seed", "1") as demo:
        demo.until("the deal of round 1", lambda: demo.reached(1, "dealing"))
        demo.kill_daemon()
        demo.until("the words of round 2", lambda: demo.reached(2, "opening", "speaking", "answering"))
        demo.kill_daemon()
        told = demo.result()
    assert_whole(told)
    assert (told["rounds"], told["void"], told["restarts"]) == (4, 0, 2)
    assert told["irregularities"] == {}
    assert told["actions"]["bet"] > 0
    assert verify(tmp_path / "journal.db")["rounds"] == 4


def test_irregularities_happen_and_an_open_round_is_abandoned(tmp_path: Path) -> None:
    with playing(tmp_path, *GAME, "--rounds", "9", "--seed", "1") as demo:
        demo.until("words", lambda: demo.reached(1, "opening", "speaking", "answering"))
        demo.process.terminate()
        _, err = demo.process.communicate(timeout=30)
        assert "feltd demo: the demonstration was stopped" in err
    left = verify(tmp_path / "journal.db")["rounds"]
    with playing(tmp_path, *GAME, "--rounds", "6", "--seed", "2", "--irregularities") as demo:
        told = demo.result()
    assert_whole(told)
    assert set(told["irregularities"]) == {"FC-18", "FC-19"}
    assert (told["rounds"], told["void"]) == (6, 1)
    assert verify(tmp_path / "journal.db")["rounds"] == left + 7  # the open one was voided


@pytest.mark.slow  # tests/browser has a shoe that comes back
def test_a_shoe_that_is_away_for_a_while_is_waited_for(tmp_path: Path) -> None:
    with playing(tmp_path, *GAME, "--rounds", "2", "--seed", "3") as demo:
        demo.until("a deal", lambda: demo.reached(1, "dealing"))
        shoe = ControlClient(tmp_path / "shoe.control")
        shoe.do("unplug")
        demo.until("its loss", lambda: demo.status().get("not_ready"))
        shoe.do("replug")
        shoe.close()
        told = demo.result()
    assert_whole(told)
    assert (told["rounds"], told["restarts"]) == (2, 0)


def test_a_directory_of_another_game_is_left_alone(tmp_path: Path) -> None:
    shipped = (ROOT / "config" / "demo.toml").read_text()
    (tmp_path / "feltd.toml").write_text(shipped)
    with playing(tmp_path, *GAME, "--rounds", "1") as demo:
        out, _ = demo.process.communicate(timeout=60)
    assert demo.process.returncode == 1
    assert "is a table of caribbean, not of five-card" in json.loads(out)["error"]
    assert (tmp_path / "feltd.toml").read_text() == shipped


def test_the_rules_are_those_of_the_shipped_example(tmp_path: Path) -> None:
    (tmp_path / "feltd.toml").write_text(five_card_config.CONFIG)
    ours, shipped = load(tmp_path / "feltd.toml").rules, load(ROOT / "config" / "five-card.toml").rules
    differences = {line.split(":")[0] for line in ours.changes(shipped)}  # type: ignore[arg-type]
    assert differences <= {"edition", "sign_width"}


@pytest.mark.parametrize(("won", "told"), [(0, "3:folded-120.00"), (50_000, "3:folded-120.00+500.00")])
def test_a_round_in_one_line(won: int, told: str) -> None:
    seat = {"seat": 3, "status": "folded", "ante": 2_000, "staked": 12_000, "returned": 2_000, "won": won}
    irregular = [{"clause": "FC-18", "detail": "exposed", "at": ""}]
    account = {"outcome": "settled", "seats": [seat], "irregularities": irregular}
    line = stud_line(account, Scene(played=2, wanted=5))
    assert line == f"round 2/5  settled  {told}  [FC-18 exposed]"
