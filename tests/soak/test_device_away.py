"""A daemon whose devices are away: what it costs, what it says, and how soon they are back (A03)."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from daemon.simhost import ControlClient
from tests.process.test_service import PATIENCE, SIMULATORS, Place, until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

AWAY: Final = float(os.environ.get("SOAK_SECONDS", "60"))
IDS: Final = {"shoe": "shoe", "shuffler": "SH-1", "sign": "sign"}
BACK: Final = 3.0  # seconds
# A sign is proved by reading back what it was set up with, which its pacing stretches over seconds.
BACK_OF: Final = {"shoe": BACK, "shuffler": BACK, "sign": BACK + 4.0}
CPU_LIMIT: Final = 0.05  # of one processor
RSS_LIMIT: Final = 1024  # KiB
LINES_A_MINUTE: Final = 10
TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Probe:
    """What a process uses at one moment. ``cpu`` in seconds, ``rss`` in KiB."""

    at: float
    cpu: float
    rss: int
    descriptors: int
    threads: int

    @classmethod
    def of(cls, process: subprocess.Popen[bytes]) -> Probe:
        proc = Path(f"/proc/{process.pid}")
        fields = (proc / "stat").read_text().rpartition(")")[2].split()
        status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
        return cls(
            time.monotonic(),
            (int(fields[11]) + int(fields[12])) / TICKS,
            int(status["VmRSS"].split()[0]),
            len(list((proc / "fd").iterdir())),
            len(list((proc / "task").iterdir())),
        )


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    try:
        yield place
    finally:
        place.end()


def simulate(place: Place) -> dict[str, ControlClient]:
    for role, protocol in SIMULATORS.items():
        files = ("--pty", f"{role}.tty", "--control", f"{role}.control")
        place.spawn("sim", role, "--protocol", protocol, *files)
    controls = {role: ControlClient(place.folder / f"{role}.control", PATIENCE) for role in SIMULATORS}
    for control in controls.values():
        control.do("state")
    return controls


def is_ready(place: Place, role: str) -> bool:
    devices = place.client.status()["devices"]
    return bool(devices[IDS[role]]["state"] == "ready")


def lines_of(place: Place, skip: int) -> Counter[str]:
    """Log lines by device ("" for those of none), after the first ``skip`` lines."""
    lines = place.log().splitlines()[skip:]
    return Counter(json.loads(line).get("device", "") for line in lines if line.startswith("{"))


def measured(place: Place, daemon: subprocess.Popen[bytes], what: str) -> None:
    """Let the time of absence go by, and hold what was used in it against the limits."""
    time.sleep(5)  # the first tries, and whatever is allocated once
    known, before = len(place.log().splitlines()), Probe.of(daemon)
    time.sleep(AWAY)
    after, lines = Probe.of(daemon), lines_of(place, known)
    seconds = after.at - before.at
    share = (after.cpu - before.cpu) / seconds
    grown = after.rss - before.rss
    print(
        f"\n{what}: {seconds:.0f} s away, CPU {share:.2%}, RSS {after.rss} KiB ({grown:+} KiB), "
        f"descriptors {before.descriptors}->{after.descriptors}, threads {before.threads}->{after.threads}, "
        f"log lines {dict(lines)}"
    )
    assert share < CPU_LIMIT
    assert grown <= RSS_LIMIT
    assert after.descriptors <= before.descriptors + 1  # a try may be under way
    assert after.threads <= before.threads
    assert all(count <= LINES_A_MINUTE * max(1.0, seconds / 60) for count in lines.values())


def returned(place: Place, roles: tuple[str, ...], since: float) -> None:
    for role in roles:
        until(lambda role=role: is_ready(place, role), f"the {role} to come back")  # type: ignore[misc]
        took = time.monotonic() - since
        print(f"{role} is ready {took:.1f} s after its return")
        assert took < BACK_OF[role]


@pytest.mark.parametrize("roles", [("shoe",), ("shoe", "shuffler", "sign")], ids="+".join)
def test_a03_devices_that_are_away_for_a_minute_cost_nothing(place: Place, roles: tuple[str, ...]) -> None:
    controls = simulate(place)
    daemon = place.daemon()
    for role in SIMULATORS:
        until(lambda role=role: is_ready(place, role), f"the {role}")  # type: ignore[misc]
    place.client.act("open-table")
    for role in roles:
        controls[role].do("unplug")
    measured(place, daemon, "+".join(roles))
    assert daemon.poll() is None
    since = time.monotonic()
    for role in roles:
        controls[role].do("replug")
    returned(place, roles, since)


def test_a03_a_start_with_every_device_absent_costs_nothing(place: Place) -> None:
    daemon = place.daemon()
    place.client.act("open-table")
    measured(place, daemon, "never there")
    since = time.monotonic()
    controls = simulate(place)
    since = max(since, time.monotonic())  # from when the last of them had its line
    returned(place, tuple(controls), since)
