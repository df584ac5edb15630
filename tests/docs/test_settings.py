"""docs/settings.md is what the settings' own types say, and has every key of the shipped configurations."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from daemon import config
from daemon.journal import FORMAT, RECORD_FORMAT
from daemon.table import SNAPSHOT_FORMAT
from tests.docs.source import DOCS, ROOT, rows
from tools import settings_page
from tools.settings_page import TEXT, Missing, table

SAMPLES = ("caribbean.toml", "five-card.toml", "demo.toml")


def keys(content: dict[str, Any], place: str = "") -> Iterator[str]:
    """Dotted key of every value; a named shuffler is any."""
    for name, value in content.items():
        below = "ID" if place == "devices.shuffler" else name
        dotted = ".".join(filter(None, (place, below)))
        if isinstance(value, dict) and dotted.rpartition(".")[2] not in (
            "options",
            "users",
            "groups",
            "shifts",
        ):
            yield from keys(value, dotted)
        else:
            yield dotted


def told() -> dict[str, tuple[str, ...]]:
    return {f"{section}.{row[0]}": row for (section, _), rows in table().items() for row in rows}


def test_the_page_is_up_to_date() -> None:
    assert settings_page.FILE.read_text() == settings_page.page(), "python -m tools.settings_page"


@pytest.mark.parametrize("name", SAMPLES)
def test_every_key_of_a_shipped_configuration_is_there(name: str) -> None:
    found = set(keys(tomllib.loads((ROOT / "config" / name).read_text())))
    assert len(found) > 20
    assert found <= set(told())


def test_every_key_that_a_suggestion_may_name_is_there() -> None:
    names = {part for dotted in told() for part in dotted.split(".")}
    assert set(config._KEYS) <= names | {"royal_approval", "house", "linked"}


def test_what_is_said_of_some_keys() -> None:
    assert told()["table.id"] == (
        "id",
        "text",
        "1 to 32 letters, digits, - and _",
        "**required**",
        "the table's name; the journal belongs to it",
    )
    assert told()["rules.sign_width"][1:4] == ("whole number, characters", "8 to 64", "none")
    assert told()["rules.progressive.reserve"][2:4] == ("0 or more, less than 1", '`"0"`')
    assert told()["staff.idle_minutes"][1:4] == ("whole number, minutes", "1 to 720", "`15`")
    assert told()["devices.sign.simulated"][3] == "`false`"


def test_a_key_without_a_meaning_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    meanings = {key: text for key, text in TEXT["meanings"].items() if key != "rules.ante_min"}
    monkeypatch.setitem(TEXT, "meanings", meanings)
    with pytest.raises(Missing, match=re.escape("rules.ante_min has no meaning")):
        table()


def test_a_meaning_without_a_key_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TEXT, "meanings", {**TEXT["meanings"], "rules.gone": "was there once"})
    with pytest.raises(Missing, match=re.escape("there is no rules.gone")):
        table()


def test_no_key_changes_without_a_line_in_the_migrations() -> None:
    newest = rows("migrations.md", "## Configuration")[-1]
    assert newest[1] == settings_page.mark(), "docs/migrations.md: a line for what changed, with this mark"
    numbers = [int(row[0]) for row in rows("migrations.md", "## Configuration")]
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_formats_of_the_journal_have_their_lines() -> None:
    assert [int(row[0]) for row in rows("migrations.md", "## Journal")] == list(range(1, FORMAT + 1))
    page = (DOCS / "migrations.md").read_text()
    assert f"format of their own, which is {RECORD_FORMAT}," in page
    assert f"has the form of its version ({SNAPSHOT_FORMAT})" in page
