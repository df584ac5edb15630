"""Configurations with mistakes in them, and what is said of those."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from daemon.config import ConfigError, load

CONFIGS = Path(__file__).parents[2] / "config"
Write = Callable[..., Path]


def written(path: Path, *changes: tuple[str, str], text: str) -> Path:
    """The file of a configuration, each of whose ``changes`` replaces the first of its text."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text)
    return path


def problems(path: Path) -> list[str]:
    """What is wrong with a configuration, without the file's name in front."""
    with pytest.raises(ConfigError) as caught:
        load(path)
    start = f"{path}: "
    assert all(problem.startswith(start) for problem in caught.value.problems)
    return [problem.removeprefix(start) for problem in caught.value.problems]
