"""Recordings of every protocol against the events that are expected of its driver.

A protocol counts as supported when a recording of it is here: of a device, or of published bytes, for
driver and simulator of one author share their mistakes. `pytest --update-records` writes the expected
events anew; read the difference before you keep it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from daemon.recording import IN, Entry, Piece, Recording, Told, read
from daemon.registry import known
from daemon.replay import Replayed, driver_facts, driver_for, fact, lines, play
from drivers.base import Drop, Emit, Send

HERE = Path(__file__).parent
RECORDINGS = sorted(HERE.glob("*.rec"))

each_recording = pytest.mark.parametrize("path", RECORDINGS, ids=[path.stem for path in RECORDINGS])


def told(path: Path) -> str:
    recording = read(path)
    facts = driver_facts(driver_for(recording.header), recording, faces=True)
    return "".join(f"{line}\n" for line in lines(Replayed((path,), recording.header, facts)))


def differs(path: Path, text: str, update: bool) -> bool:
    """Whether this is not what is expected of a recording; with ``update`` it becomes what is."""
    expected = path.with_suffix(".events")
    if update:
        expected.write_text(text)
    return not expected.exists() or expected.read_text() != text


@each_recording
def test_a_recording_tells_what_is_expected(path: Path, pytestconfig: pytest.Config) -> None:
    text = told(path)
    assert not differs(path, text, bool(pytestconfig.getoption("--update-records"))), text


def test_an_update_writes_what_is_expected_then(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    assert differs(path, "new\n", update=False)
    assert not differs(path, "new\n", update=True)
    assert not differs(path, "new\n", update=False)
    assert differs(path, "other\n", update=False)


def test_every_protocol_has_a_recording() -> None:
    recorded = {(header.role, header.protocol) for header in (read(path).header for path in RECORDINGS)}
    assert [key for key in known() if key not in recorded] == []


def test_no_expectation_is_left_behind() -> None:
    assert {path.stem for path in HERE.glob("*.events")} <= {path.stem for path in RECORDINGS}


@each_recording
def test_the_header_says_where_it_is_from(path: Path) -> None:
    header = read(path).header
    assert all((header.role, header.protocol, header.link, header.who, header.note))
    assert datetime.fromisoformat(header.date).tzinfo is not None


def one_by_one(entries: Iterable[Entry]) -> Iterator[Entry]:
    for entry in entries:
        if isinstance(entry, Piece) and entry.dir == IN:
            yield from (replace(entry, data=entry.data[at : at + 1]) for at in range(len(entry.data)))
        else:
            yield entry


def by_threes(entries: Iterable[Entry]) -> Iterator[Entry]:
    for entry in entries:
        if isinstance(entry, Piece) and entry.dir == IN:
            parts = range(0, len(entry.data), 3)
            yield from (replace(entry, data=entry.data[at : at + 3]) for at in parts)
        else:
            yield entry


def events(recording: Recording, entries: Iterable[Entry]) -> list[dict[str, object]]:
    said = play(driver_for(recording.header), entries)
    return [fact(t, each, faces=True) for t, each in said if isinstance(each, Emit | Drop)]


@each_recording
def test_the_chunks_of_a_recording_mean_nothing(path: Path) -> None:
    recording = read(path)
    whole = events(recording, recording.entries)
    assert events(recording, one_by_one(recording.entries)) == whole
    assert events(recording, by_threes(recording.entries)) == whole


@each_recording
def test_the_driver_sends_what_was_sent(path: Path) -> None:
    """Each write in the recording is within what the driver writes now, in the same order."""
    recording = read(path)
    outputs = play(driver_for(recording.header), recording.entries)
    sent = b"".join(output.data for _, output in outputs if isinstance(output, Send))
    at = 0
    for piece in (each for each in recording.entries if isinstance(each, Piece) and each.dir != IN):
        found = sent.find(piece.data, at)
        assert found >= 0, f"not sent: {piece.data.hex(' ')}"
        at = found + len(piece.data)


@each_recording
def test_a_face_is_told_only_when_it_is_asked_for(path: Path) -> None:
    recording = read(path)
    blind = driver_facts(driver_for(recording.header), recording)
    faces = [said["face"] for said in blind if "face" in said]
    assert set(faces) <= {"face-down card", "unread"}


def test_a_sign_is_told_something_in_its_recording() -> None:
    """Without a command a sign's driver would have nothing to prove."""
    of_signs = [read(path) for path in RECORDINGS if path.stem.startswith("sign-")]
    assert of_signs
    for recording in of_signs:
        assert any(isinstance(each, Told) for each in recording.entries)
