"""The life of the sealing key: rotated, lost, and every step cut off in the middle."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from daemon import app as service
from daemon import keys
from daemon.app import StartError
from daemon.audit import export, verify
from daemon.cli import app
from daemon.config import Settings, load
from daemon.engine import recover
from daemon.games.desk import Act
from daemon.journal import Entry, JournalError, SqliteJournal, head_path, header_of, open_journal, reading
from daemon.keys import CONTINUES, begin_anew, rotate
from daemon.lock import sole_owner
from daemon.log import Log
from daemon.records import decode
from daemon.reserve import Reserve
from daemon.sealer import KEY_BYTES, MOST_KEYS, Sealer, SealError, add_key, create_key, load_key
from daemon.table import Table
from tests.fakes.diary import Diary, StudDiary
from tests.fakes.stage import DEMO
from tests.process.test_report import DEALER, HANDS

VERIFIER = Path(__file__).parents[1] / "records" / "verify_export.py"
WHY = "the key was on a stick that is lost"


@pytest.fixture
def diary(tmp_path: Path) -> Iterator[Diary]:
    """A table in the middle of a round, its cards sealed; the journal is let go of."""
    diary = Diary(tmp_path)
    diary.bets(1, 3, progressive=(1,))
    diary.play(HANDS, DEALER, folds=(3,))
    diary.bets(2, progressive=(2,))
    diary.draw("9C 9D")
    diary.journal.close()
    yield diary
    diary.journal.close()


def again(diary: Diary) -> None:
    """The journal is opened, as by a daemon."""
    diary.journal = open_journal(diary.path, load_key(diary.key))


def opened(diary: Diary) -> bytes:
    """All faces, opened; the canonical lines."""
    out = io.BytesIO()
    export(diary.path, out, canonical=True, key=diary.key)
    return out.getvalue()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    """What is in a folder, but what SQLite makes for readers."""
    return sorted(name for name in os.listdir(folder) if not name.endswith(("-wal", "-shm")))


# --- a new key from now on -----------------------------------------------------------------------------


def test_from_now_on_a_new_key_seals_and_the_old_one_still_opens(diary: Diary) -> None:
    before, old = opened(diary), diary.key.read_bytes()
    told = rotate(diary.path, diary.key)
    assert told == {
        "journal": str(diary.path),
        "key": str(diary.key),
        "keys": 2,
        "sealed_from": diary.seq + 1,
    }
    assert diary.key.read_bytes()[:KEY_BYTES] == old
    assert (len(diary.key.read_bytes()), mode(diary.key)) == (2 * KEY_BYTES, 0o600)
    again(diary)
    diary.draw("2C 3C")
    diary.journal.close()
    lines = opened(diary)
    assert lines.startswith(before)
    assert lines.count(b'"face":"2C"') == 1
    found = verify(diary.path)
    assert (found["verified"], found["signer"]) == (True, Sealer(old).signer.public)
    new = diary.key.read_bytes()[KEY_BYTES:]
    for key in (old, new):  # the old one alone does not open the new seals, nor the new one alone the old
        out = io.BytesIO()
        with pytest.raises(SealError, match=r"did not seal record [0-9]+ of .*: give the newest copy"):
            export(diary.path, out, canonical=True, key=alone(diary, key))
        assert out.getvalue() == b""  # not one line before


def alone(diary: Diary, key: bytes) -> Path:
    path = diary.key.with_name("alone.key")
    path.write_bytes(key)
    path.chmod(0o600)
    return path


def test_a_rotated_key_is_rotated_again(diary: Diary) -> None:
    before = opened(diary)
    assert [rotate(diary.path, diary.key)["keys"] for _ in range(3)] == [2, 3, 4]
    assert opened(diary) == before
    assert (
        len({diary.key.read_bytes()[at : at + KEY_BYTES] for at in range(0, 4 * KEY_BYTES, KEY_BYTES)}) == 4
    )


def test_a_table_recovers_over_a_rotation(diary: Diary) -> None:
    rotate(diary.path, diary.key)
    again(diary)
    diary.draw("2C 3C")
    table, _ = recover(partial(fresh_table, diary), diary.journal)
    assert table.view() == diary.table.view()


def fresh_table(diary: Diary) -> Table:
    from daemon.games.caribbean import Caribbean
    from daemon.rig import Device, Rig

    devices = {
        name: Device(name, device.role, ready=True) for name, device in diary.table.rig.devices.items()
    }
    return Table("T", Caribbean(diary.game.rules), Rig(devices, "shoe"))


def test_a_recovery_with_an_old_copy_of_the_key_file_says_what_to_do(diary: Diary) -> None:
    copy = diary.key.read_bytes()
    rotate(diary.path, diary.key)
    again(diary)
    diary.draw("2C")
    diary.journal.close()
    diary.key.write_bytes(copy)
    again(diary)
    with pytest.raises(SealError) as caught:
        recover(partial(fresh_table, diary), diary.journal)
    assert str(caught.value) == (
        f"record {diary.seq}: this key did not seal it, or it was altered: put back the newest copy of the "
        "key file; if there is none, feltd journal begin-anew closes this journal and begins another"
    )


def test_another_table_s_key_is_not_rotated(diary: Diary, tmp_path: Path) -> None:
    create_key(tmp_path / "other.key")
    before = (tmp_path / "other.key").read_bytes()
    with pytest.raises(SealError, match="is not the key of"):
        rotate(diary.path, tmp_path / "other.key")
    assert (tmp_path / "other.key").read_bytes() == before


def test_a_key_that_others_may_read_is_not_rotated(diary: Diary) -> None:
    diary.key.chmod(0o640)
    with pytest.raises(SealError, match="chmod 600"):
        rotate(diary.path, diary.key)


def test_nothing_is_done_while_a_daemon_has_the_journal(diary: Diary) -> None:
    key = diary.key.read_bytes()
    with sole_owner(diary.path.with_name(f"{diary.path.name}.lock")):
        for call in (partial(rotate, diary.path, diary.key), partial(begin_anew, diary.path, diary.key, WHY)):
            with pytest.raises(JournalError, match="in use by a daemon"):
                call()
    assert diary.key.read_bytes() == key


def test_a_key_file_has_an_end(tmp_path: Path) -> None:
    key = tmp_path / "full.key"
    create_key(key)
    for _ in range(MOST_KEYS - 1):
        add_key(key)
    with pytest.raises(SealError, match="no more are tried"):
        add_key(key)
    assert load_key(key).keys == MOST_KEYS
    for content in (b"", bytes(31), bytes(33), bytes(KEY_BYTES * (MOST_KEYS + 1))):
        with pytest.raises(SealError, match="a sealing key has 32 bytes"):
            Sealer(content)


@pytest.mark.parametrize("kind", ["device", "folder", "pipe", "long", "text"])
@pytest.mark.parametrize("call", ["rotate", "begin"])
def test_what_is_no_key_file_is_refused_and_stays(diary: Diary, tmp_path: Path, kind: str, call: str) -> None:
    other = Path("/dev/zero") if kind == "device" else tmp_path / "other"
    if kind == "folder":
        other.mkdir()
    elif kind == "pipe":
        os.mkfifo(other, 0o600)  # and nobody ever writes it
    elif kind != "device":
        other.write_text(DEMO.read_text() if kind == "text" else "x" * KEY_BYTES * (MOST_KEYS + 1))
        other.chmod(0o600)
    before = names(tmp_path)
    with pytest.raises(SealError, match=f"^{other}: "):
        rotate(diary.path, other) if call == "rotate" else begin_anew(diary.path, other, WHY)
    assert names(tmp_path) == before
    assert begin_anew(diary.path, diary.key, WHY)["key"] == str(diary.key)


class CutOff(BaseException):
    """The power is gone."""


STEPS = ("open", "fchown", "fsync", "rename", "replace", "unlink")


class PowerCut:
    """Counts calls of the system, and ends at one of them: before or after it is done. What a handler
    calls after that is not done any more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, done: bool) -> None:
        self.calls, self.is_off = 0, False
        self._at, self._done = at, done
        for name in STEPS:
            monkeypatch.setattr(os, name, partial(self._call, getattr(os, name)))

    def _call(self, real: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self.is_off:
            return None
        self.calls += 1
        self.is_off = self.calls == self._at
        if self.is_off and not self._done:
            raise CutOff
        try:
            return real(*args, **kwargs)
        finally:
            if self.is_off:
                raise CutOff


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_rotation_that_is_cut_off_anywhere_leaves_a_key_that_opens_all(
    done: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "k"
    create_key(key)
    old = key.read_bytes()
    sealed = Sealer(old).seal(7, b"faces")
    counts = set()
    for at in range(1, 40):
        before = load_key(key).keys
        with monkeypatch.context() as patch:
            cut = PowerCut(patch, at, done)
            try:
                add_key(key)
            except CutOff:
                pass
            else:
                break
        counts.add(load_key(key).keys - before)
        assert key.read_bytes().startswith(old)
        assert load_key(key).open(7, sealed) == b"faces"
        assert mode(key) == 0o600
        assert all(mode(path) == 0o600 for path in tmp_path.iterdir())
    assert cut.calls == at - 1 > 4  # every call was cut off once
    assert counts == {0, 1}  # some before the new key counted, some after


# --- the key is lost -----------------------------------------------------------------------------------


@pytest.fixture
def house(tmp_path: Path) -> Settings:
    """A table's settings, and its journal in the middle of a round."""
    (tmp_path / "feltd.toml").write_text(DEMO.read_text())
    settings = load(tmp_path / "feltd.toml")
    with closing(started(settings)):
        pass
    with closing(open_journal(settings.journal, load_key(settings.key))) as journal:
        played(settings, journal)
    return settings


def played(settings: Settings, journal: SqliteJournal) -> None:
    """A started table; the pool has its minimum."""
    from daemon.build import build_ports, build_table
    from daemon.build import started as first
    from daemon.clock import SystemClock
    from daemon.engine import Engine

    class Nobody:
        def open(self, device: str) -> None: ...
        def send(self, device: str, data: bytes, wake: int = 0) -> None: ...
        def close(self, device: str) -> None: ...

    table = build_table(settings)
    engine = Engine(
        table, journal, build_ports(settings, table), SystemClock(), Nobody(), lambda event, **facts: None
    )
    engine.start(first(settings, journal.signer))
    assert engine.act(Act("open-table"))["accepted"]  # type: ignore[index]


def started(settings: Settings) -> SqliteJournal:
    """The journal as a start of the daemon takes it."""
    return service._journal(settings, Reserve(settings.journal), Log(io.StringIO()))


def header(journal: Path) -> dict[str, Any]:
    with reading(journal) as connection:
        return decode(header_of(connection))


def test_without_its_key_a_journal_verifies_and_a_start_says_what_to_do(house: Settings) -> None:
    house.key.unlink()
    assert verify(house.journal)["verified"]
    with pytest.raises(StartError) as caught:
        started(house)
    assert str(caught.value) == (
        f"{house.key} is missing beside the journal {house.journal}: put it back; if it is lost, "
        "feltd journal begin-anew closes this journal and begins another"
    )


def test_with_another_key_in_its_place_a_start_says_what_to_do(house: Settings) -> None:
    house.key.unlink()
    create_key(house.key)
    with pytest.raises(SealError, match="put its own back; if that is lost, feltd journal begin-anew"):
        started(house)


def test_a_new_journal_names_the_end_of_the_old_one(house: Settings) -> None:
    before = verify(house.journal)
    house.key.unlink()
    told = begin_anew(house.journal, house.key, f"  {WHY} ")
    closed = Path(told["closed"])
    assert told["head"] == f"{before['inputs']}:{before['head']}"
    assert header(house.journal)[CONTINUES] == {
        "file": closed.name,
        "head": told["head"],
        "signer": before["signer"],
        "why": WHY,
    }
    assert {key: header(house.journal)[key] for key in ("table", "game", "format", "simulated")} == {
        key: header(closed)[key] for key in ("table", "game", "format", "simulated")
    }
    after = verify(closed)
    assert (after["verified"], after["inputs"], after["head"]) == (True, before["inputs"], before["head"])
    assert closed.with_name(f"{closed.name}.head").exists()
    assert (verify(house.journal)["verified"], mode(house.key)) == (True, 0o600)
    with closing(started(house)) as journal:
        played(house, journal)
    out = io.BytesIO()
    export(house.journal, out)
    words = [sys.executable, "-I", str(VERIFIER)]
    assert subprocess.run(words, input=out.getvalue(), check=True, capture_output=True).stdout.startswith(
        b"verified"
    )
    assert verify(house.journal)["signer"] == load_key(house.key).signer.public != before["signer"]


def test_a_key_that_somebody_saw_is_kept_beside_its_journal(house: Settings) -> None:
    old = house.key.read_bytes()
    closed = Path(begin_anew(house.journal, house.key, WHY)["closed"])
    kept = house.key.with_name(house.key.name + closed.name.removeprefix(house.journal.name))
    assert (kept.read_bytes(), mode(kept)) == (old, 0o600)
    assert house.key.read_bytes() != old
    with closing(open_journal(closed, load_key(kept))):  # it still opens what it sealed
        pass


def test_another_table_s_key_is_not_moved_away(house: Settings, tmp_path: Path) -> None:
    create_key(tmp_path / "other.key")
    before = names(tmp_path)
    with pytest.raises(SealError, match=r"not the one that signs .*: another table may need it"):
        begin_anew(house.journal, tmp_path / "other.key", WHY)
    assert names(tmp_path) == before
    house.key.unlink()  # lost, and another one was put in its place: that is moved away first
    (tmp_path / "other.key").rename(house.key)
    with pytest.raises(SealError, match="if that is lost, move this one away first"):
        begin_anew(house.journal, house.key, WHY)
    house.key.rename(tmp_path / "other.key")
    begin_anew(house.journal, house.key, WHY)


def test_the_journal_is_not_its_own_key(house: Settings, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(house.journal)
    before = names(tmp_path)
    for key in (house.journal, tmp_path / "link"):
        with pytest.raises(JournalError, match="is the journal itself"):
            begin_anew(house.journal, key, WHY)
    assert names(tmp_path) == before


def test_a_beginning_that_was_cut_off_with_another_key_is_not_in_the_way(
    house: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call named the wrong file; what it left must not be taken for ready."""
    old = house.key.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(keys, "_swap_key", cut_off)
        with pytest.raises(CutOff):
            begin_anew(house.journal, tmp_path / "jurnal.key", WHY)
    begin_anew(house.journal, house.key, WHY)
    assert house.key.read_bytes() != old
    with closing(started(house)) as journal:
        assert journal.next_seq == 1


def test_what_lies_in_the_new_journal_s_place_is_made_anew(house: Settings) -> None:
    house.journal.with_name(f".{house.journal.name}.next").write_bytes(bytes(KEY_BYTES))
    begin_anew(house.journal, house.key, WHY)
    assert verify(house.journal)["verified"]


def test_archives_go_with_their_journal(tmp_path: Path) -> None:
    from tests.perf import bulk

    settings = bulk.build(tmp_path, 2_600, pause=3 * 3_600 * 10**9)
    before = verify(settings.journal)
    assert before["archives"]
    closed = Path(begin_anew(settings.journal, settings.key, WHY)["closed"])
    after = verify(closed)
    assert (after["verified"], after["archives"], after["head"]) == (True, before["archives"], before["head"])
    assert verify(settings.journal)["archives"] == 0


def test_what_the_table_owes_is_told(diary: Diary) -> None:
    again(diary)
    diary.do("misdeal", text="two cards")
    diary.bets(5)  # the bet of box 2 is carried, and not played in this round
    diary.draw("2C")
    diary.journal.close()
    told = begin_anew(diary.path, diary.key, WHY)["by_hand"]
    assert told[0] == "the last round that was closed is 2; numbers begin at 1 again"
    assert told[1].startswith("ante 5 100.00: lies on the layout of the open round: give it back")
    assert told[2].startswith("pool 499,520.00: the pool: open the table, then correct-pool")
    assert told[3:] == ["a progressive bet of box 2, 10.00, was carried over: give it back (CS-11)"]


def test_a_carried_bet_that_was_played_or_refunded_is_not_owed(diary: Diary) -> None:
    again(diary)
    diary.do("misdeal", text="two cards")
    diary.bets(2)
    diary.play({2: "2S 3S 5H 7C 8D"}, "QD JC 9H 6D 3H")
    diary.bets(4, progressive=(4,))
    diary.draw("9C 9D")
    diary.do("misdeal", text="two cards")
    diary.do("refund-carried", role="supervisor", second="pit", box=4)
    diary.snapshot()
    diary.journal.close()
    told = begin_anew(diary.path, diary.key, WHY)["by_hand"]
    assert [each for each in told if "carried" in each] == []


def test_a_frozen_award_is_told(tmp_path: Path) -> None:
    diary = Diary(tmp_path)
    diary.bets(1, 2, progressive=(1, 2))
    diary.play({1: "AS KS QS JS 10S", 2: "2H 3C 4D 5S 7H"}, DEALER)
    diary.journal.close()
    told = begin_anew(diary.path, diary.key, WHY)["by_hand"]
    assert [each for each in told if each.startswith("award 1 1 500,0")] == [
        "award 1 1 500,020.00: decided and not paid: pay it by hand"
    ]


def test_the_chips_of_a_stud_table_are_told(tmp_path: Path) -> None:
    stud = StudDiary(tmp_path)
    stud.start(1, 2)
    stud.journal.close()
    told = begin_anew(stud.path, stud.key, WHY)["by_hand"]
    assert [each.partition(":")[0] for each in told] == ["pot 20.00", "stack 1 9,980.00", "stack 2 9,980.00"]


@pytest.mark.parametrize("lost", [False, True], ids=["seen", "lost"])
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_new_beginning_that_is_cut_off_anywhere_is_finished_by_the_next_call(
    done: bool, lost: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = 0
    for at in range(1, 200):
        folder = tmp_path / str(at)
        folder.mkdir()
        (folder / "feltd.toml").write_text(DEMO.read_text())
        settings = load(folder / "feltd.toml")
        with closing(started(settings)) as journal:
            played(settings, journal)
        before = verify(settings.journal)
        if lost:
            settings.key.unlink()
        with monkeypatch.context() as patch:
            cut = PowerCut(patch, at, done)
            try:
                begin_anew(settings.journal, settings.key, WHY)
            except CutOff:
                pass
            else:
                break
        refused += starts_right(settings, before["inputs"], lost)
        told = begin_anew(settings.journal, settings.key, WHY) if not is_new(settings) else None
        closed = sorted(folder.glob("journal.db.closed-*Z"))
        assert len(closed) == 1
        assert told is None or told["closed"] == str(closed[0])
        after = verify(closed[0])
        assert (after["verified"], after["head"]) == (True, before["head"])
        assert header(settings.journal)[CONTINUES]["head"] == f"{before['inputs']}:{before['head']}"
        with closing(started(settings)) as journal:
            assert journal.next_seq == 1
        assert [path.name for path in folder.iterdir() if path.name.endswith(".next")] == []
    assert cut.calls == at - 1 > 20  # every call was cut off once
    assert refused > 5


def is_new(settings: Settings) -> bool:
    return settings.journal.exists() and CONTINUES in header(settings.journal)


def starts_right(settings: Settings, records: int, lost: bool) -> bool:
    """A daemon that starts now goes on with the whole old journal, begins the whole new one, or refuses."""
    try:
        with closing(started(settings)) as journal:
            new = is_new(settings)
            assert journal.next_seq == (1 if new else records + 1)
            assert new or not lost
        return False
    except (StartError, SealError, JournalError):
        return True


def test_a_beginning_that_was_cut_off_is_not_finished_over_what_was_played_since(
    house: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = house.key.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(keys, "_swap_journal", cut_off)
        with pytest.raises(CutOff):
            begin_anew(house.journal, house.key, WHY)
    house.key.write_bytes(old)  # somebody puts the old key back, and plays on
    with closing(started(house)) as journal:
        played_more = journal.next_seq
        assert journal.begin()
        journal.append(
            Entry(
                played_more,
                {
                    "at": "2026-01-01T00:00:00.000000Z",
                    "input": {"kind": "time-up", "id": 1},
                    "phase": "between-rounds",
                },
            )
        )
        journal.commit()
    told = begin_anew(house.journal, house.key, WHY)
    assert told["records"] == played_more
    assert header(house.journal)[CONTINUES]["head"] == told["head"]


def cut_off(*_: object) -> None:
    raise CutOff


def test_a_journal_that_is_new_or_not_sound_is_not_closed(house: Settings, tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="say why"):
        begin_anew(house.journal, house.key, " ")
    begin_anew(house.journal, house.key, WHY)
    with pytest.raises(JournalError, match="no record: it is new"):
        begin_anew(house.journal, house.key, WHY)
    with closing(started(house)) as journal:
        played(house, journal)
    with closing(sqlite3.connect(house.journal, isolation_level=None)) as connection:
        connection.execute("UPDATE records SET hash = zeroblob(32) WHERE seq = 1")
    with pytest.raises(JournalError, match="is not sound"):
        begin_anew(house.journal, house.key, WHY)
    assert head_path(house.journal).exists()
    assert len(list(house.journal.parent.glob("*.closed-*Z"))) == 2  # the first journal and its key


# --- the commands --------------------------------------------------------------------------------------


def feltd(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["journal", *words])
    return done.exit_code, done.stdout


def test_the_commands_tell_what_they_did(house: Settings) -> None:
    files = (str(house.journal), str(house.key))
    code, out = feltd("rotate-key", *files, "--json")
    assert (code, json.loads(out)["keys"]) == (0, 2)
    code, out = feltd("begin-anew", *files, "--why", WHY, "--json")
    assert (code, json.loads(out)["records"]) == (
        0,
        json.loads(feltd("verify", json.loads(out)["closed"], "--json")[1])["inputs"],
    )
    assert feltd("begin-anew", *files, "--why", WHY)[0] == 1
    assert feltd("begin-anew", *files)[0] == 2
    house.key.unlink()
    assert feltd("rotate-key", *files)[0] == 1
    for words in (("rotate-key",), ("begin-anew", "--why", WHY)):
        assert feltd(*words, "", files[1])[0] == feltd(*words, files[0], "")[0] == 2
