"""What a command says when it cannot do what was asked for: where, what, and what to do next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from daemon.cli import app


def feltd(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "250"})


@pytest.mark.parametrize("name", ["../status", "Open-Table", "open table", "a" * 49, "1", ""])
def test_what_is_no_acts_name_is_not_sent(name: str, tmp_path: Path) -> None:
    result = feltd("act", name, "--socket", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert "is no act's name, such as open-table: feltd acts has them all" in result.output


def test_a_daemon_that_is_away_is_told_with_what_to_do(tmp_path: Path) -> None:
    result = feltd("status", "--socket", str(tmp_path / "none"))
    assert result.exit_code == 1
    for words in ("nobody answers", "Start the daemon (feltd run", "--socket", "FELTD_SOCKET"):
        assert words in result.output


@pytest.mark.parametrize(
    "words",
    [
        ("bench", "foo", "--protocol", "fdp", "--link", "x"),
        ("record", "x.rec", "--role", "foo", "--protocol", "fdp", "--link", "x"),
        ("sim", "foo", "--protocol", "fdp", "--pty", "x"),
    ],
)
def test_a_role_that_is_none_is_told_the_roles(words: tuple[str, ...]) -> None:
    result = feltd(*words)
    assert result.exit_code == 2
    assert "'foo' is no role of a device: shoe, shuffler, sign" in result.output


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("simulate", "--json", "--rounds", "x"), "Invalid value for '--rounds'"),
        (("simulat", "--json"), "No such command 'simulat'"),
        (("journal", "verify", "--json"), "Missing argument"),
        (("act", "Open-Table", "--json"), "is no act's name"),
        (("--bogus", "--json"), "No such option: --bogus"),
    ],
)
def test_wrong_usage_with_json_is_an_object_too(words: tuple[str, ...], error: str) -> None:
    result = feltd(*words)
    assert result.exit_code == 2
    assert error in json.loads(result.stdout)["error"]
    assert "Error" in result.stderr
    for plain in ([word for word in words if word != "--json"], ["act", "Open-Table", "--", "--json"]):
        result = feltd(*plain)
        assert (result.exit_code, result.stdout) == (2, "")


def test_an_option_that_would_mean_nothing_is_refused(tmp_path: Path) -> None:
    result = feltd("journal", "export", str(tmp_path / "journal.db"), "--key", str(tmp_path / "journal.key"))
    assert result.exit_code == 2
    assert "--key opens the faces for --canonical" in result.output
    result = feltd("award", "--config", "config/caribbean.toml", "--pool", str(10**12 + 1), "1=royal-flush")
    assert result.exit_code == 2
    assert "1000000000000" in result.output
