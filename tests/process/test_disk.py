"""A disk that is really full: a small tmpfs under the journal of a real daemon."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.audit import verify
from tests.process.test_service import PATIENCE, Place, stop, until

SIZE = 2 * 1024 * 1024  # bytes
pytestmark = pytest.mark.timeout(180)


class Disk:
    """A folder of its own size."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ballast = folder / "ballast"

    def fill(self) -> None:
        """Until nothing fits any more, not one page."""
        with self.ballast.open("wb", buffering=0) as file:
            for size in (65_536, 512):
                while True:
                    try:
                        if file.write(bytes(size)) < size:
                            break
                    except OSError:
                        break

    def make_room(self) -> None:
        self.ballast.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "feltd-test", str(folder)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def place(tmp_path: Path, disk: Disk) -> Iterator[Place]:
    place = Place(tmp_path)
    config = tmp_path / "feltd.toml"
    text = config.read_text()
    for name in ("journal.db", "journal.key"):
        assert f'"{name}"' in text
        text = text.replace(f'"{name}"', f'"disk/{name}"')
    config.write_text(text)
    try:
        yield place
    finally:
        place.end()


def codes(place: Place) -> list[str]:
    return [fault["code"] for fault in place.client.status()["faults"]]


def test_f05_a_daemon_that_starts_on_a_full_disk_waits_says_so_and_goes_on_by_itself(
    place: Place, disk: Disk
) -> None:
    daemon = place.daemon()
    place.client.act("open-table")
    until(lambda: "disk-low" in codes(place), "the early warning")
    stop(daemon)
    disk.fill()
    daemon = place.daemon()
    until(lambda: "disk-full" in codes(place), "the full disk")
    answer = place.client.act("shuffle")
    assert not answer["accepted"], answer
    assert "disk is full" in answer["refusal"]["reason"]
    assert place.client.status()["state"] == "between-rounds"
    disk.make_room()
    until(lambda: "disk-full" not in codes(place), "room")
    assert place.client.act("shuffle")["accepted"]
    stop(daemon)
    assert verify(disk.folder / "journal.db")["verified"]


def test_f05_a_disk_that_fills_up_in_play_stops_the_daemon_and_nothing_unsaid_is_lost(
    place: Place, disk: Disk
) -> None:
    daemon = place.daemon()
    place.client.act("open-table")
    disk.fill()
    accepted = 0
    for number in range(3000):
        try:
            place.client.act("shuffle", key=f"k{number}")
        except Exception:  # an answer of the stopping daemon, or none
            break
        accepted += 1
    assert daemon.wait(PATIENCE) == 1
    assert "fail-stop" in place.log()
    disk.make_room()
    place.daemon()
    for number in range(accepted):
        assert place.client.act("shuffle", key=f"k{number}")["accepted"]
    seen = verify(disk.folder / "journal.db")
    assert seen["verified"], seen["errors"]
