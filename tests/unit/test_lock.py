"""One owner at a time, also while lock files come and go."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from daemon.lock import Held, sole_owner


def test_a_second_owner_is_told_who_the_first_is(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with sole_owner(lock):
        with pytest.raises(Held) as held, sole_owner(lock):
            pass
        assert held.value.pid == str(os.getpid())
        assert lock.exists()
    assert not lock.exists()
    with sole_owner(lock):
        assert lock.read_text() == f"{os.getpid()}\n"


def test_a_file_that_was_left_behind_is_taken(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text("99999999\n")
    with sole_owner(lock):
        assert lock.read_text() == f"{os.getpid()}\n"


def test_a_lock_on_a_file_that_was_just_removed_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, flock, removals = tmp_path / "lock", fcntl.flock, [True]

    def flock_after_the_last_owner_left(descriptor: int, how: int) -> None:
        if removals:
            removals.pop()
            lock.unlink()
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock_after_the_last_owner_left)
    with sole_owner(lock), pytest.raises(Held), sole_owner(lock):
        pass
