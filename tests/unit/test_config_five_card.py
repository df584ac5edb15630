"""The configuration of a five-card table, and the commands that know its regulation."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from daemon import show
from daemon.build import build_ports, build_table, known_acts, started
from daemon.cli import app
from daemon.config import ConfigError, load
from daemon.games.five_card import FiveCard, FiveCardRules
from daemon.games.five_card.rules import rules_from
from tests.table.five_card.floor import Floor
from tests.unit.configurations import CONFIGS, Write, problems, written

CONFIG = CONFIGS / "five-card.toml"
TEXT = CONFIG.read_text()


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return partial(written, tmp_path / "t.toml", text=TEXT)


def test_the_shipped_configuration_is_complete_and_makes_a_table() -> None:
    settings = load(CONFIG)
    rules = settings.rules
    assert isinstance(rules, FiveCardRules)
    assert (rules.ante, rules.seats, rules.level) == (2_000, 7, (200_000, 50_000, 2_000))
    table = build_table(settings)
    assert isinstance(table.game, FiveCard)
    assert set(build_ports(settings, table)) == {"shoe", "sign"}
    assert rules_from(started(settings).rules) == rules
    assert {"buy-in", "correct-deal", "clear-fault", "use-hand"} <= known_acts(settings)
    assert "progressive" not in known_acts(settings)


def test_every_key_of_the_rule_set_is_in_the_shipped_file() -> None:
    from daemon.config import _FiveCardRules

    for key in _FiveCardRules.model_fields:
        assert f"\n{key} = " in TEXT


def test_dealt_by_hand_it_needs_no_device(write: Write) -> None:
    whole = TEXT[TEXT.index("\n[devices.shoe]") :]
    settings = load(write(('mode = "shoe"', 'mode = "hand"'), (whole, "\n")))
    assert settings.devices == ()
    table = build_table(settings)
    table.handle(started(settings), 1, "2026-01-01T00:00:00.000000Z")
    assert table.rig.mode == "hand"
    assert table.view()["not_ready"] == ""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('mode = "shoe"', 'mode = "shuffler"', "table.mode: must be 'shoe' or 'hand', not 'shuffler'"),
        ("ante = 2_000", "ante = 5_000", "rules.ante: must be 2000 or 10000, not 5000"),
        (
            "ante = 2_000",
            "ante = 10_000",
            "rules.buy_in_min: with an ante of 10000 it is 500000 (FC-06, FC-08), not 200000",
        ),
        ("rake_percent = 4", "rake_percent = 5", "rules.rake_percent: must be 3 or 4, not 5"),
        (
            "smallest_chip = 500",
            "smallest_chip = 700",
            "rules.smallest_chip: the ante, 2000, is no whole number of 700",
        ),
        ("seats = 7", "seats = 9", "rules.seats: must be less than or equal to 8, not 9"),
        ("min_raise", "min_rise", "rules.min_rise: unknown key (did you mean min_raise?)"),
        ("sign_width = 24", "sign_width = 8", "rules.sign_width: 8 characters are too few for 'ANTE $20.00'"),
        ('version = "104/85/M"', 'version = "61/2004"', "rules.version: must be '104/85/M', not '61/2004'"),
        (
            "[devices.shoe]",
            "[devices.shuffler.SH-1]",
            "devices.shuffler: the dealer shuffles at this game (FC-02)",
        ),
    ],
)
def test_what_is_wrong_is_told_by_its_key(write: Write, old: str, new: str, told: str) -> None:
    assert [problem for problem in problems(write((old, new))) if problem.startswith(told)]


def test_a_shoe_is_needed_where_the_cards_come_from_it(write: Write) -> None:
    shoe = TEXT[TEXT.index("\n[devices.shoe]") : TEXT.index("\n[devices.sign]")]
    assert problems(write((shoe, "\n"))) == ['devices.shoe: missing: in mode "shoe" the cards come from it']


def test_caribbean_still_needs_its_sign_and_knows_no_hand_mode(tmp_path: Path) -> None:
    text = (CONFIG.parent / "demo.toml").read_text()
    path = tmp_path / "t.toml"
    path.write_text(
        text.replace('mode = "shuffler"', 'mode = "hand"').replace("[devices.sign]", "[devices.shuffler.S]")
    )
    assert "devices.sign: missing: the sign is always required (CS-01)" in problems(path)
    assert "table.mode: must be 'shoe' or 'shuffler', not 'hand'" in problems(path)


def test_caribbean_commands_say_so_at_another_game() -> None:
    with pytest.raises(ConfigError, match="five-card, not caribbean"):
        _ = load(CONFIG).caribbean
    result = CliRunner().invoke(app, ["award", "--config", str(CONFIG), "--pool", "1", "1=flush"])
    assert result.exit_code == 78


# --- commands -----------------------------------------------------------------------------------


def test_hand_ranks_under_the_regulation_that_is_named() -> None:
    hands = ["8S 8H 8D 5S 5H", "AC KC QC JC 9C", "8C 7D 6S 5C AS"]
    result = CliRunner().invoke(app, ["hand", *hands, "--rules", "104/85/M", "--json"])
    told = json.loads(result.stdout)
    assert told["rules"] == "104/85/M"
    assert [hand["category"] for hand in told["hands"]] == ["full-house", "flush", "straight"]
    assert told["best"] == [0]
    assert CliRunner().invoke(app, ["hand", "2S 3S 4S 5S 6S", "--rules", "104/85/M"]).exit_code == 2
    assert CliRunner().invoke(app, ["hand", "AS KS QS JS 9S", "--rules", "1/1"]).exit_code == 2


def test_what_people_see(capsys: pytest.CaptureFixture[str]) -> None:
    floor = Floor()
    floor.start(1, 2, 3)
    floor.first_deal({1: "AS 5D", 2: "KS 5C", 3: "QS 5H"})
    floor.bet(1, 100)
    devices = {"devices": {}, "version": "1"}
    show.status({**floor.table.view(), **devices})
    show.jackpot(floor.table.view())
    floor.fold(2, 3)
    account = floor.settle()
    show.rounds({"rounds": [account]})
    show.round_(account)
    told = capsys.readouterr().out
    assert "Pot: 140.00" in told
    assert "no jackpot" in told
    assert "AS ?" in told
    assert "seat 1 38.40" in told
