"""The commands about the installation itself, as people read them."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from daemon.cli import app
from tests.fakes.stage import DEMO


def told(*words: str) -> str:
    return CliRunner().invoke(app, ["verify-install", *words]).stdout


def test_rules_are_told_of_a_configuration_only() -> None:
    assert "rules:" not in told()
    rules = json.loads(told("--json", "--config", str(DEMO)))["rules"]
    assert f"rules: {rules}" in told("--config", str(DEMO))
    assert json.loads(told("--json"))["rules"] is None
