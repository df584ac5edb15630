"""The installed files against the manifest, what the journal is told of it, and where a key is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.config import load
from daemon.integrity import CODE, PLACE, Installation, entry, inspect, notices, rules_digest
from daemon.sealer import SealError, create_key, load_key
from daemon.table import Noticed

CONFIG = Path(__file__).parents[2] / "config"
RULES = rules_digest("rules")


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An installation of two files and a link, with its manifest."""
    prefix = tmp_path / "feltd"
    (prefix / "lib").mkdir(parents=True)
    (prefix / "share/feltd").mkdir(parents=True)
    for name in ("lib/a.py", "lib/b.py"):
        (prefix / name).write_text(name)
    (prefix / "python").symlink_to("/usr/bin/python3.11")
    names = [prefix / name for name in ("lib/a.py", "lib/b.py", "python")]
    (prefix / PLACE).write_text("".join(f"{entry(path, str(path))}\n" for path in names))
    return prefix


def test_all_is_as_installed(prefix: Path) -> None:
    found = inspect(prefix)
    assert (found.files, found.differences) == (3, ())
    assert len(found.fingerprint) == 64


def test_what_differs_is_named(prefix: Path) -> None:
    (prefix / "lib/a.py").write_text("changed")
    (prefix / "lib/b.py").unlink()
    (prefix / "lib/sitecustomize.py").write_text("")
    (prefix / "lib/elsewhere").symlink_to("/tmp")
    (prefix / "python").unlink()
    (prefix / "python").symlink_to("/bin/sh")
    assert sorted(inspect(prefix).differences) == [
        f"{prefix}/lib/a.py: changed",
        f"{prefix}/lib/b.py: missing",
        f"{prefix}/lib/elsewhere: not of the package",
        f"{prefix}/lib/sitecustomize.py: not of the package",
        f"{prefix}/python: changed",
    ]


def test_a_changed_manifest_has_another_fingerprint(prefix: Path) -> None:
    before = inspect(prefix).fingerprint
    (prefix / "lib/a.py").write_text("changed")
    manifest = (prefix / PLACE).read_text().splitlines()[1:]
    manifest.insert(0, entry(prefix / "lib/a.py", str(prefix / "lib/a.py")))
    (prefix / PLACE).write_text("\n".join(manifest))
    found = inspect(prefix)
    assert found.differences == ()
    assert found.fingerprint != before


def test_no_package_is_a_difference(tmp_path: Path) -> None:
    found = inspect(tmp_path)
    assert found.fingerprint == ""
    assert found.differences == (f"{tmp_path / PLACE}: No such file or directory",)


def told(
    differences: tuple[str, ...], pinned: str = "", blocks: bool = False, latched: bool = False
) -> list[Noticed]:
    found = Installation(Path("manifest"), "f" * 64, 9, differences)
    return notices(found, RULES, pinned, blocks, latched)


def test_a_good_installation_is_noted_with_its_marks() -> None:
    (noted,) = told((), pinned=RULES, blocks=True)
    assert noted.holds is None
    assert "f" * 16 in noted.text
    assert RULES[:16] in noted.text


@pytest.mark.parametrize(("blocks", "holds"), [(False, None), (True, True)])
def test_a_difference_is_a_note_or_a_fault(blocks: bool, holds: bool | None) -> None:
    (noted,) = told(("a: changed", "b: missing", "c: changed", "d: changed"), blocks=blocks)
    assert (noted.code, noted.holds) == (CODE, holds)
    assert noted.text.startswith("a: changed, b: missing, c: changed and 1 more; ")


def test_rules_that_nobody_approved_are_a_difference() -> None:
    (noted,) = told((), pinned="0" * 64, blocks=True)
    assert noted.holds is True
    assert noted.text.startswith(f"rules {RULES[:16]}, approved are {'0' * 16}")


def test_a_repaired_installation_ends_the_fault() -> None:
    over, noted = told((), blocks=True, latched=True)
    assert over == Noticed(CODE, "", False)
    assert noted.holds is None


# --- configuration and key


def written(tmp_path: Path, *changes: tuple[str, str], more: str = "") -> Path:
    text = (CONFIG / "caribbean.toml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "feltd.toml"
    path.write_text(text + more)
    return path


def test_integrity_is_read_from_the_configuration(tmp_path: Path) -> None:
    assert load(written(tmp_path)).integrity is None
    more = f'\n[integrity]\ndifference = "block"\nrules = "{RULES}"\n'
    found = load(written(tmp_path, more=more)).integrity
    assert found is not None
    assert (found.blocks, found.rules) == (True, RULES)


def test_a_key_may_be_a_credential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, ('"/var/lib/feltd/journal.key"', '"credential:feltd.key"'))
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    assert load(path).key == Path("/run/credentials/feltd.service/feltd.key")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", "/run/credentials/feltd@a.service")
    assert load(path).key == Path("/run/credentials/feltd@a.service/feltd.key")


def test_only_a_credential_may_look_open_to_a_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manager's access list shows as 0440 in the mode."""
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    key = tmp_path / "feltd.key"
    create_key(key)
    key.chmod(0o440)
    with pytest.raises(SealError, match="others may read"):
        load_key(key)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert load_key(key).open(1, load_key(key).seal(1, b"faces")) == b"faces"
