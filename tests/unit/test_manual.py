"""The manual pages say everything that the program and its settings have, and troff takes them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from daemon.config import _KEYS
from tools.manual import manuals

PAGES = manuals("1.2.3")


def test_every_key_of_the_settings_is_there() -> None:
    page = PAGES["feltd.toml.5"]
    samples = {"pay_table", "funded_by", "royal_approval", "prizes"}
    assert [key for key in _KEYS if key not in page and key not in samples] == []


@pytest.mark.parametrize("command", ["run", "check", "verify-install", "journal verify", "staff add"])
def test_commands_have_their_help(command: str) -> None:
    section = f".SS feltd {command}\n".replace("-", "\\-")
    assert section in PAGES["feltd.1"]
    assert PAGES["feltd.1"].split(section)[1].split("\n")[0]


@pytest.mark.skipif(not shutil.which("man"), reason="man is missing: apt-get install man-db")
@pytest.mark.parametrize("name", PAGES)
def test_troff_has_no_warning(name: str, tmp_path: str) -> None:
    file = f"{tmp_path}/{name}"
    with open(file, "w") as page:
        page.write(PAGES[name])
    words = ["man", "--warnings", "-Tutf8", "--local-file", file]
    told = subprocess.run(words, capture_output=True, text=True, check=True)
    assert told.stderr == ""
    assert "1.2.3" in told.stdout
