"""The line beside a journal that says what was committed: whole, old, or nothing at all (F13)."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.anchor import Anchor
from daemon.journal.head import HeadFile, head_path, told_head

OLD, NEW = Anchor(98, bytes(32)), Anchor(99, bytes(range(32)))


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def _line(journal: Path, anchor: Anchor) -> bytes:
    file = HeadFile(journal)
    file.write(*anchor)
    file.close()
    return head_path(journal).read_bytes()


def test_it_tells_what_was_written_last(journal: Path) -> None:
    for anchor in (OLD, NEW):
        _line(journal, anchor)
        assert told_head(journal) == anchor


def test_f01_a_line_that_a_full_disk_tore_is_no_proof_of_anything_else(journal: Path) -> None:
    """A daemon that took the new number with half of the old hash for the truth refused to start."""
    old, new = _line(journal, OLD), _line(journal, NEW)
    told = set()
    for at in range(len(new) + 1):
        head_path(journal).write_bytes(new[:at] + old[at:])
        told.add(told_head(journal))
    assert told == {OLD, None, NEW}


def test_a_first_line_that_was_cut_off_tells_nothing_wrong(journal: Path) -> None:
    new = _line(journal, NEW)
    for at in range(len(new)):
        head_path(journal).write_bytes(new[:at])
        assert told_head(journal) in (None, NEW)


def test_the_line_of_an_older_version_is_read(journal: Path) -> None:
    head_path(journal).write_text(f"{NEW.seq:018d}:{NEW.hash.hex()}\n")
    assert told_head(journal) == NEW


def test_a_file_that_is_not_there_or_is_no_text_tells_nothing(journal: Path) -> None:
    assert told_head(journal) is None
    head_path(journal).write_bytes(b"\xff\x00|")
    assert told_head(journal) is None
