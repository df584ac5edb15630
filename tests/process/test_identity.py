"""Another device on the port for a moment: what the daemon believes of it, and that the right one goes on."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.simhost import ControlClient
from tests.process.test_service import CONFIG, PATIENCE, SIMULATORS, Place, ready, stop, until

TTY = 'link = "shuffler.tty"'


class Floor(Place):
    """A table's folder with its simulators; on the shuffler's port there may come another one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.controls: dict[str, ControlClient] = {}
        for role, protocol in SIMULATORS.items():
            self.simulator(role, protocol, role)
        self.shuffler = self.controls["shuffler"]

    def simulator(self, role: str, protocol: str, name: str, *words: str) -> subprocess.Popen[bytes]:
        """A simulator on the port of its role, whose control answers."""
        files = ("--pty", f"{role}.tty", "--control", f"{name}.control")
        process = self.spawn("sim", role, "--protocol", protocol, *files, *words)
        self.controls[name] = ControlClient(self.folder / f"{name}.control", PATIENCE)
        self.controls[name].do("state")
        return process

    def other_shuffler(self) -> subprocess.Popen[bytes]:
        """The shuffler is unplugged, and another machine plugged in."""
        self.shuffler.do("unplug")
        return self.simulator("shuffler", "fdp", "other", "--serial", "SHUF0009")

    def right_shuffler(self, other: subprocess.Popen[bytes]) -> None:
        """The other machine goes, the shuffler comes back; it was never without power."""
        stop(other)
        self.shuffler.do("replug")
        until(lambda: self.serial() == "SHUF0001" and ready(self), "the right shuffler")

    def serial(self) -> str | None:
        """The serial number of the machine that is ready."""
        device = self.client.status()["devices"]["SH-1"]
        return str(device["serial"]) if device["state"] == "ready" else None

    def shuffle(self) -> None:
        assert self.client.act("shuffle")["accepted"]
        until(lambda: ready(self) and self.client.status()["deck"]["shuffler"] == "SH-1", "the shuffle")

    def begin_round(self) -> None:
        """Shuffled, one box in, and the first packet lies in the machine's output."""
        self.shuffle()
        assert self.client.act("open-betting")["accepted"]
        assert self.client.act("ante", box=1, amount=10_000)["accepted"]
        assert self.client.act("close-betting")["accepted"]
        until(lambda: self.client.status()["state"] == "dealing", "the first packet")

    def end(self) -> None:
        for control in self.controls.values():
            control.close()
        super().end()


@pytest.fixture
def floor(tmp_path: Path) -> Iterator[Floor]:
    floor = Floor(tmp_path)
    try:
        yield floor
    finally:
        floor.end()


def test_a_wrong_shuffler_for_a_moment_does_not_void_the_round(floor: Floor) -> None:
    floor.config.write_text(CONFIG.replace(TTY, f'{TTY}\nserial = "SHUF0001"'))
    floor.daemon()
    floor.client.act("open-table")
    floor.begin_round()
    other = floor.other_shuffler()
    until(lambda: floor.client.status()["devices"]["SH-1"]["cause"] == "wrong_identity", "the refusal")
    floor.controls["other"].do("jam")
    assert floor.client.status()["state"] == "dealing"
    floor.right_shuffler(other)
    status = floor.client.status()
    assert (status["state"], status["devices"]["SH-1"]["barred"]) == ("dealing", None)
    floor.shuffler.do("take", index=0)
    until(lambda: floor.client.status()["cards"]["out"] == 10, "the dealer's packet")
    status = floor.client.status()
    assert (status["state"], status["round"]) == ("deciding", 1)
    assert floor.client.round(1)["irregularities"] == []


@pytest.mark.slow  # two starts and two swaps
def test_without_a_serial_number_each_machine_is_heard_when_it_comes_back(floor: Floor) -> None:
    daemon = floor.daemon()
    floor.client.act("open-table")
    until(lambda: ready(floor), "the devices")
    floor.shuffle()
    other = floor.other_shuffler()
    until(lambda: floor.serial() == "SHUF0009" and ready(floor), "the other machine")
    floor.right_shuffler(other)
    stop(daemon)
    floor.daemon()
    until(lambda: ready(floor), "the devices")
    floor.begin_round()
    until(lambda: floor.shuffler.do("state")["unacknowledged"] == 0, "the acknowledgements")
