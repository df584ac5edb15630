"""`feltd check` notes what a right configuration names and this machine has not as it needs it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from daemon.cli import app
from daemon.sealer import create_key
from daemon.sessions import StaffFile, person

DEMO = Path(__file__).parents[2] / "config" / "demo.toml"
LINKED = """
[linked]
pool = "macau"
authority = "host=127.0.0.1 dbname=feltd"
password = "link-password"
max_amount = 5_000_000
"""


def notes(file: Path) -> list[str]:
    told = CliRunner().invoke(app, ["check", "--json", str(file)])
    assert told.exit_code == 0, told.stdout
    return json.loads(told.stdout)["notes"]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "feltd.toml"
    file.write_text(DEMO.read_text())
    return file


def add(file: Path, section: str) -> None:
    file.write_text(file.read_text() + section)


def test_nothing_is_noted_where_all_is_there_or_made_at_the_start(config: Path) -> None:
    assert notes(config) == []
    text = config.read_text()
    at_start = text.replace('"journal.', '"/var/lib/feltd/journal.').replace(
        '"feltd.sock"', '"/run/feltd/a.sock"'
    )
    config.write_text(at_start.replace('"/var/lib/feltd/journal.key"', '"credential:journal-key"'))
    assert notes(config) == []


def test_a_folder_that_is_not_there(config: Path, tmp_path: Path) -> None:
    config.write_text(config.read_text().replace('journal = "journal.db"', 'journal = "lost/journal.db"'))
    told = CliRunner().invoke(app, ["check", str(config)])
    note = f"note: {config}: table.journal: there is no folder {tmp_path}/lost on this machine"
    assert (told.exit_code, told.stdout.splitlines()) == (0, ["1 checked: no error", note])


def test_a_journal_whose_key_is_gone_or_open_to_all(config: Path, tmp_path: Path) -> None:
    (tmp_path / "journal.db").touch()
    assert len(notes(config)) == 1
    assert re.search(r"table\.key: .*journal\.key: No such file", notes(config)[0])
    create_key(tmp_path / "journal.key")
    assert notes(config) == []
    (tmp_path / "journal.key").chmod(0o644)
    assert "chmod 600" in notes(config)[0]


def test_a_staff_file_that_cannot_be_used(config: Path, tmp_path: Path) -> None:
    add(config, '\n[staff]\nfile = "staff.json"\n')
    assert "staff.file" in notes(config)[0]
    assert "No such file" in notes(config)[0]
    StaffFile(tmp_path / "staff.json").add(person("ana", "dealer", "123456"))
    assert notes(config) == []
    (tmp_path / "staff.json").chmod(0o640)
    assert "chmod 600" in notes(config)[0]


def test_a_password_that_others_may_read(config: Path, tmp_path: Path) -> None:
    add(config, LINKED)
    assert "linked.password" in notes(config)[0]
    (tmp_path / "link-password").write_text("secret\n")
    (tmp_path / "link-password").chmod(0o600)
    assert notes(config) == []
    (tmp_path / "link-password").chmod(0o644)
    assert "chmod 600" in notes(config)[0]
    assert "secret" not in notes(config)[0]


def test_what_the_unit_of_a_named_table_makes_and_what_it_does_not(config: Path) -> None:
    text = config.read_text()
    named = text.replace('"journal.', '"/var/lib/feltd/west/journal.')
    config.write_text(named.replace('"feltd.sock"', '"/run/feltd-west/feltd.sock"'))
    assert notes(config) == []
    config.write_text(text.replace('"journal.db"', '"/var/lib/feltd/west/lost/journal.db"'))
    assert notes(config) == [
        f"{config}: table.journal: there is no folder /var/lib/feltd/west/lost on this machine"
    ]


def test_a_pipe_in_place_of_a_password_keeps_nobody_waiting(config: Path, tmp_path: Path) -> None:
    add(config, LINKED)
    os.mkfifo(tmp_path / "link-password", 0o600)
    assert "is no regular file" in notes(config)[0]
