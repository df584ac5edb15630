"""The file of the link's password: nobody else may read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.config import LinkedSettings
from daemon.games.linked import Terms
from daemon.linked.entries import Refused, Unreachable
from daemon.linked.run import connector
from daemon.linked.secret import password_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "linked.password"
    path.write_text("secret\n")
    path.chmod(0o600)
    return path


def test_a_file_of_ones_own_is_read(file: Path) -> None:
    assert password_of(file) == "secret"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o602])
def test_a_file_that_others_may_read_is_refused_before_the_authority_is_asked(file: Path, mode: int) -> None:
    file.chmod(mode)
    linked = LinkedSettings(Terms("main", 60, 1, ""), "host=127.0.0.1 port=1", file)
    with pytest.raises(Refused, match="others may read the link's password: chmod 600 it") as told:
        connector(linked)()
    assert told.value.code == "password"


def test_a_credential_is_guarded_by_the_service_manager(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.chmod(0o440)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(file.parent))
    assert password_of(file) == "secret"


def test_what_cannot_be_read_is_said(file: Path) -> None:
    with pytest.raises(Unreachable, match="No such file"):
        password_of(file.with_name("other"))
    file.write_bytes(b"\xff")
    with pytest.raises(Refused, match="not UTF-8"):
        password_of(file)
