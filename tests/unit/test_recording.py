"""The form of a recording: what is written comes back, and what is not whole is refused by line."""

from __future__ import annotations

import json
import os
import resource
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.recording import Entry, Event, Header, Piece, RecordingError, Told, Writer, read
from drivers.base import Deal, Display

HEADER = Header(
    "shoe",
    "fdp",
    "/dev/shoe",
    "SHOE0001",
    "1.0",
    "2026-01-01T00:00:00.000000Z",
    "ana",
    "Café",
    {"level": 1, "plain": True},
)
ENTRIES: tuple[Entry, ...] = (
    Told(0, Display("$1.00", "", ("ONE", "TWO"))),
    Told(0, Deal(7, 8, 5)),
    Event(1, "opened"),
    Piece(1, "out", b"\x00\x03"),
    Piece(2, "in", bytes(range(256))),
    Event(3, "lost", "lost", "/dev/shoe: hung up"),
    Event(4, "ended"),
)


def written(path: Path, *entries: Entry, header: Header = HEADER) -> Path:
    with Writer(path, header) as writer:
        for entry in entries:
            writer.put(entry)
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    recording = read(written(tmp_path / "a.rec", *ENTRIES))
    assert recording.header == HEADER
    assert recording.entries == ENTRIES
    assert recording.sent() == b"\x00\x03"


@given(st.lists(st.tuples(st.integers(0, 10**12), st.sampled_from(["in", "out"]), st.binary(max_size=50))))
def test_any_bytes_come_back(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[int, str, bytes]]
) -> None:
    entries = [Piece(*piece) for piece in sorted(pieces)]
    path = tmp_path_factory.mktemp("any") / "a.rec"
    assert read(written(path, *entries)).entries == tuple(entries)


def test_the_header_is_the_documented_line(tmp_path: Path) -> None:
    first = written(tmp_path / "a.rec").read_text().splitlines()[0]
    assert first.startswith('{"feltd-record": 1, ')
    assert list(json.loads(first)) == [
        "feltd-record", "role", "protocol", "link", "device", "firmware", "date", "who", "note", "options"
    ]  # fmt: skip


def test_faces_are_for_the_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = written(tmp_path / "a.rec")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    path.write_text("dear")
    with pytest.raises(FileExistsError):
        Writer(path, HEADER)
    assert path.read_text() == "dear"


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: the line that it cuts is taken back."""
    path, limits = tmp_path / "a.rec", resource.getrlimit(resource.RLIMIT_FSIZE)
    with Writer(path, HEADER) as writer:
        writer.put(ENTRIES[2])
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, limits[1]))
        try:
            with pytest.raises(OSError, match=r"a\.rec"):
                writer.put(ENTRIES[4])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        writer.put(ENTRIES[6])
    assert read(path).entries == (ENTRIES[2], ENTRIES[6])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "not a JSON object"),
        ('{"t": 1, "dir": "in", "he', "not a JSON object"),
        ("[" * 100_000, "not a JSON object"),
        ("[1]", "not a JSON object"),
        ('{"dir": "in", "hex": "00"}', "t must be"),
        ('{"t": true, "dir": "in", "hex": "00"}', "t must be"),
        ('{"t": -1, "dir": "in", "hex": "00"}', "t must be"),
        ('{"t": 4, "dir": "in", "hex": "00"}', "goes back from 5 to 4"),
        ('{"t": 6, "dir": "up", "hex": "00"}', "needs"),
        ('{"t": 6, "dir": "in", "hex": "0"}', "hexadecimal"),
        ('{"t": 6, "dir": "in", "hex": "00", "x": 1}', "unknown key 'x'"),
        ('{"t": 6, "event": "burned"}', "needs"),
        ('{"t": 6, "event": "lost", "cause": 5}', "Expected `str`"),
        ('{"t": 6, "command": "Bluff"}', "no command 'Bluff'"),
        ('{"t": 6, "command": "Deal", "command_id": 1, "packets": "x", "cards_each": 5}', "Expected `int`"),
        ('{"t": 6, "command": "Deal", "command_id": 1}', "missing required"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_line(tmp_path: Path, line: str, why: str) -> None:
    path = written(tmp_path / "a.rec", Event(5, "opened"))
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(RecordingError, match=rf"a\.rec: line 3: .*{why}"):
        read(path)


@pytest.mark.parametrize(
    "first",
    [
        "",
        "{}",
        "text",
        '{"feltd-record": 2}',
        '{"feltd-record": 1, "rule": ""}',
        '{"feltd-record":1,"who":1}',
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, first: str) -> None:
    path = tmp_path / "a.rec"
    path.write_text(first)
    with pytest.raises(RecordingError, match=r"a\.rec: line 1: "):
        read(path)
