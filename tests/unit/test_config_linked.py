"""The section [linked] of a configuration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from daemon.build import started
from daemon.config import load
from daemon.games.linked import Terms
from tests.unit.configurations import CONFIGS, problems

SAMPLE = (CONFIGS / "caribbean.toml").read_text()


def written(place: Path, section: str, text: str = SAMPLE) -> Path:
    file = place / "t.toml"
    file.write_text(f"{text}\n{section}")
    return file


# The sample has the section as a comment.
LINKED = re.sub(r"^# ", "", re.findall(r"^# \[linked\]\n(?:# .*\n)+", SAMPLE, re.M)[0], flags=re.M)


def test_the_sample_is_complete_and_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from daemon.config import _Linked

    monkeypatch.setenv("CREDENTIALS_DIRECTORY", "/run/credentials/feltd-link.service")
    settings = load(written(tmp_path, LINKED))
    assert set(re.findall(r"^([a-z_]+) =", LINKED, re.MULTILINE)) == set(_Linked.model_fields)
    assert settings.linked is not None
    assert settings.linked.terms == Terms("main", 60, 5_000_000, "JACKPOT OFFLINE")
    assert settings.linked.password == Path("/run/credentials/feltd-link.service/link-password")
    assert started(settings).linked == settings.linked.terms


def test_without_the_section_the_pool_is_the_tables_own() -> None:
    settings = load(CONFIGS / "caribbean.toml")
    assert settings.linked is None
    assert started(settings).linked is None


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"JACKPOT OFFLINE"', '"' + "X" * 25 + '"', "linked.lost_text: 24 characters are too few"),
        ("user=feltd_CS-1", "password=secret", "linked.authority: a password does not belong here"),
        ('"host=db1,db2', '"postgresql://x:secret@db/felt?a=', "linked.authority: a password does not"),
        ("max_age = 60", "max_age = 1", "linked.max_age: must be greater than or equal to 2"),
        ("max_amount = 5_000_000", "max_amount = 0", "linked.max_amount: must be greater than 0"),
        ('pool = "main"', 'pool = "a pool"', "linked.pool: has a character that is not allowed"),
        ('pool = "main"', 'pools = "main"', "linked.pool: missing"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in LINKED
    found = problems(written(tmp_path, LINKED.replace(old, new, 1)))
    assert any(each.startswith(told) for each in found), found
    assert not any("secret" in each for each in found)


def test_a_game_without_a_jackpot_has_no_linked_pool(tmp_path: Path) -> None:
    text = (CONFIGS / "five-card.toml").read_text()
    found = problems(written(tmp_path, LINKED, text))
    assert len(found) == 1
    assert found[0].startswith("linked: unknown key")


def test_a_user_may_have_the_role_of_a_link(tmp_path: Path) -> None:
    settings = load(written(tmp_path, '[staff.users]\nfeltd-link = "link"\n'))
    assert settings.staff.users == {"feltd-link": "link"}
