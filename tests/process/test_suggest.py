"""``feltd suggest`` on trees that look like /dev and /sys: what it finds, and that it touches no port.

This file is also the program of a process that reports every file that is opened:
``python test_suggest.py DEV SYS``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from daemon.links.url import make_link
from daemon.suggest import found, show
from drivers.protocol import Line

ROOT = Path(__file__).parents[2]


class Tree:
    """A fake /dev and /sys. Devices are made as the kernel and udev lay them out."""

    def __init__(self, folder: Path) -> None:
        self.dev, self.sys = folder / "dev", folder / "sys"
        self._number = 0
        for place in (self.dev / "serial" / "by-id", self.dev / "serial" / "by-path"):
            place.mkdir(parents=True)
        (self.sys / "class" / "tty").mkdir(parents=True)
        (self.sys / "bus" / "usb" / "devices").mkdir(parents=True)

    def usb(self, port: str, vid_pid: str, serial: str = "", product: str = "", hub: bool = False) -> Path:
        self._number += 1
        place = self.sys / "devices" / "pci0" / "usb1" / port
        vendor, _, number = vid_pid.partition(":")
        self._files(
            place,
            idVendor=vendor,
            idProduct=number,
            busnum="1",
            devnum=str(self._number),
            bDeviceClass="09" if hub else "00",
            product=product,
            serial=serial,
        )
        (self.sys / "bus" / "usb" / "devices" / port).symlink_to(place)
        return place

    def tty(
        self, name: str, usb: Path | None, interface: str = "00", by_id: str = "", kind: str = ""
    ) -> Path:
        port = self.dev / name
        os.mkfifo(port)  # an open for reading alone would hang: nobody writes
        place = self.sys / "devices" / "platform" / name
        if usb is not None:
            place = usb / f"{usb.name}:1.{int(interface)}" / name
            self._files(place.parent, bInterfaceNumber=interface)
        self._files(place / "tty" / name, **({"type": kind} if kind else {}))
        (place / "tty" / name / "device").symlink_to(place)
        (self.sys / "class" / "tty" / name).symlink_to(place / "tty" / name)
        if usb is not None:
            self._link("by-path", f"pci-0:usb-0:{usb.name}:1.{int(interface)}-port0", name)
        if by_id:
            self._link("by-id", by_id, name)

    def found(self) -> dict[str, dict[str, Any]]:
        """What is found, by the last part of its device."""
        return {Path(str(each["device"])).name: each for each in found(self.dev, self.sys)["devices"]}

    def _link(self, kind: str, name: str, tty: str) -> None:
        (self.dev / "serial" / kind / name).symlink_to(f"../../{tty}")

    @staticmethod
    def _files(place: Path, **files: str) -> None:
        place.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            if text:
                (place / name).write_text(text + "\n")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


FTDI_ID = "usb-FTDI_FT232R_USB_UART_A5002qPd-if00-port0"


def furnished(tree: Tree) -> Tree:
    tree.usb("usb1", "1d6b:0002", hub=True)
    ftdi = tree.usb("1-1.3", "0403:6001", "A5002qPd", "FT232R USB UART")
    tree.tty("ttyUSB0", ftdi, by_id=FTDI_ID)
    tree.tty("ttyUSB1", tree.usb("1-1.4", "1a86:7523"), by_id="usb-1a86_USB_Serial-if00-port0")
    tree.tty("ttyS0", None, kind="4")
    tree.tty("ttyS1", None, kind="0")
    tree.usb("1-2", "8765:1234", product="Prism")
    tree.usb("1-3", "046d:c31c", product="Keyboard K120")
    return tree


def test_what_is_listed(tree: Tree) -> None:
    listed = furnished(tree).found()
    assert [each["kind"] for each in listed.values()] == ["serial", "serial", "serial", "usb", "usb"]
    assert list(listed)[:3] == ["ttyS0", "ttyUSB0", "ttyUSB1"]  # no hub, no port without a UART
    assert listed["ttyUSB0"]["name"] == "FTDI FT232 serial adapter"
    assert listed["ttyUSB0"]["by_id"] == str(tree.dev / "serial" / "by-id" / FTDI_ID)
    assert listed["ttyUSB0"]["by_path"].endswith("1-1.3:1.0-port0")
    assert (listed["ttyUSB0"]["usb"], listed["ttyUSB0"]["serial"]) == ("0403:6001", "A5002qPd")
    assert listed["ttyS0"]["name"] == "serial port of the machine"


def links(each: dict[str, Any]) -> set[str]:
    """The links of the suggested configuration, which is read as the daemon would read it."""
    sections = tomllib.loads("\n".join(each["config"]))["devices"]
    shuffler = sections.pop("shuffler", {}).get("SH-1")
    devices = [*sections.values(), *([shuffler] if shuffler else [])]
    for device in devices:
        make_link(device["link"], Line())
    return {device["link"] for device in devices}


def test_a_port_is_bound_by_what_does_not_change(tree: Tree) -> None:
    listed = furnished(tree).found()
    assert links(listed["ttyUSB0"]) == {str(tree.dev / "serial" / "by-id" / FTDI_ID)}
    # Without a number of its own the by-id name is that of its kind: the place counts.
    assert links(listed["ttyUSB1"]) == {listed["ttyUSB1"]["by_path"]}
    assert links(listed["ttyS0"]) == {str(tree.dev / "ttyS0")}


def test_an_adapter_can_be_anything_and_a_sign_is_a_sign(tree: Tree) -> None:
    listed = furnished(tree).found()
    adapter = "\n".join(listed["ttyUSB0"]["config"])
    assert all(f"[devices.{name}]" in adapter for name in ("shoe", "shuffler.SH-1", "sign"))
    sign = next(each for each in listed.values() if each["usb"] == "8765:1234")
    assert sign["config"] == ["[devices.sign]", 'protocol = "alpha"', 'link = "usb://8765:1234"']
    keyboard = next(each for each in listed.values() if each["usb"] == "046d:c31c")
    assert (keyboard["config"], keyboard["udev"]) == ([], [])


def test_our_simulator_on_usb_is_bound_by_its_number(tree: Tree) -> None:
    tree.usb("1-5", "1209:0001", "SHOE 0001")
    (each,) = tree.found().values()
    assert links(each) == {"usb://1209:0001:SHOE%200001"}


def test_the_rules_of_udev(tree: Tree) -> None:
    listed = furnished(tree).found()
    grants = 'ENV{ID_MM_DEVICE_IGNORE}="1", GROUP="feltd", MODE="0660"'
    assert listed["ttyUSB0"]["udev"] == [
        'SUBSYSTEM=="tty", ATTRS{idVendor}=="0403", ATTRS{idProduct}=="6001", ATTRS{serial}=="A5002qPd", '
        f'ENV{{ID_USB_INTERFACE_NUM}}=="00", {grants}, SYMLINK+="feltd/A5002qPd"'
    ]
    assert 'KERNELS=="1-1.4"' in listed["ttyUSB1"]["udev"][0]
    sign = next(each for each in listed.values() if each["usb"] == "8765:1234")
    assert sign["udev"] == [
        'SUBSYSTEM=="usb", ENV{DEVTYPE}=="usb_device", ATTR{idVendor}=="8765", ATTR{idProduct}=="1234", '
        f'KERNEL=="1-2", {grants}'
    ]


def test_the_ports_of_one_adapter_are_told_apart(tree: Tree) -> None:
    two = tree.usb("1-1", "0403:6010", "FT0001")
    for number in range(2):
        tree.tty(f"ttyUSB{number}", two, f"{number:02}", by_id=f"usb-FTDI_FT0001-if0{number}-port0")
    listed = tree.found()
    assert links(listed["ttyUSB0"]) != links(listed["ttyUSB1"])
    rules = [listed[name]["udev"][0] for name in ("ttyUSB0", "ttyUSB1")]
    assert ['ENV{ID_USB_INTERFACE_NUM}=="01"' in rule for rule in rules] == [False, True]
    assert ['SYMLINK+="feltd/FT0001-01"' in rule for rule in rules] == [False, True]


def test_what_a_device_calls_itself_cannot_break_out(tree: Tree) -> None:
    evil = tree.usb("1-1", "0403:6001", 'x", RUN+="/bin/sh', "evil\x1b[2J\nlink = 1")
    tree.tty("ttyUSB0", evil)
    tree.usb("1-2", "9999:0001", product="two\nlines")
    listed = tree.found()
    assert "RUN+=" not in listed["ttyUSB0"]["udev"][0]
    assert 'ATTRS{serial}=="x???RUN????bin?sh"' in listed["ttyUSB0"]["udev"][0]
    assert [each["name"] for each in listed.values()] == ["FTDI FT232 serial adapter", "two?lines"]
    links(listed["ttyUSB0"])


def test_who_holds_a_port_is_named(tree: Tree) -> None:
    furnished(tree)
    holder = os.open(tree.dev / "ttyUSB0", os.O_RDWR)
    try:
        listed = tree.found()
    finally:
        os.close(holder)
    assert any(f"pid {os.getpid()} " in held for held in listed["ttyUSB0"]["held_by"])
    assert listed["ttyUSB1"]["held_by"] == []


def test_an_empty_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = found(tmp_path / "dev", tmp_path / "sys")
    assert nothing == {"devices": []}
    show(nothing)
    assert "no serial port" in capsys.readouterr().out


def test_for_people_the_lines_can_be_copied(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    show(found(furnished(tree).dev, tree.sys))
    told = capsys.readouterr().out
    assert "# udev: SUBSYSTEM==" in told
    assert "no protocol of ours is known for it" in told
    for part in told.strip().split("\n\n"):
        tomllib.loads(part)  # every part is a piece of configuration as it stands


# --- nothing is opened and nothing is written ------------------------------------------------------


@pytest.fixture
def opened(tree: Tree) -> list[tuple[str, int]]:
    """Path and flags of everything that a whole run of the command opens, by Python's own audit."""
    furnished(tree)
    ran = subprocess.run(
        [sys.executable, "-B", __file__, str(tree.dev), str(tree.sys)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert "[devices.sign]" in ran.stdout
    return [tuple(json.loads(line)) for line in ran.stderr.splitlines()]


def test_no_port_is_opened_and_nothing_is_written(tree: Tree, opened: list[tuple[str, int]]) -> None:
    assert any(str(tree.sys) in path for path, _ in opened)  # the audit does see what is read
    assert [path for path, _ in opened if path.startswith(str(tree.dev))] == []
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    assert [path for path, flags in opened if flags & writing] == []


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_no_system_call_touches_a_port(tree: Tree, tmp_path: Path) -> None:
    """The same as the kernel sees it, below Python."""
    furnished(tree)
    trace = tmp_path / "trace"
    strace = ["strace", "-f", "-qq", "-e", "trace=open,openat,openat2,creat,ioctl", "-o", str(trace)]
    ran = subprocess.run(
        [*strace, sys.executable, "-B", __file__, str(tree.dev), str(tree.sys)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=60,
    )
    if ran.returncode and b"ptrace" in ran.stderr.lower():
        pytest.skip("strace may not trace here")
    assert ran.returncode == 0
    calls = trace.read_text().splitlines()
    assert any(str(tree.sys) in call for call in calls)
    assert [call for call in calls if "/tty" in call and str(tree.dev) in call] == []


def main() -> Iterator[str]:
    dev, sys_ = map(Path, sys.argv[1:])
    seen: list[tuple[str, int]] = []

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(args[0], str | bytes | os.PathLike):
            seen.append((os.fsdecode(args[0]), args[2]))

    sys.addaudithook(audit)
    show(found(dev, sys_))
    yield from (json.dumps(each) for each in seen)


if __name__ == "__main__":
    for line in main():
        print(line, file=sys.stderr)
