"""Units and udev rules: what systemd says of them, and the traps of hardening (A15, G06)."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from daemon.suggest import _KNOWN, GROUP

SYSTEMD = Path(__file__).parents[2] / "systemd"
LAUNCHER = "/opt/feltd/bin/feltd"
EXPOSURE = {
    "feltd.service": 1.2,
    "feltd@.service": 1.2,
    "feltd-console.service": 1.5,
    "feltd-link.service": 1.5,
}
# Where the kernel gets a class of devices from. That of the machine's own ports is always there.
MODULES = {
    "char-ttyUSB": "usbserial",
    "char-ttyACM": "cdc_acm",
    "char-usb_device": "usbcore",
    "char-ttyS": "",
}

needs_systemd = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="systemd-analyze is missing: apt-get install systemd"
)


def settings(unit: str) -> list[tuple[str, str]]:
    lines = (SYSTEMD / unit).read_text().splitlines()
    return [
        (key, value) for key, equals, value in (line.partition("=") for line in lines) if key[:1].isalpha()
    ]


def words(unit: str, key: str) -> list[str]:
    return [word for name, value in settings(unit) if name == key for word in value.split()]


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """A copy whose program is there, and whose instances have names."""
    launcher = tmp_path / "feltd"
    launcher.write_text("#!/bin/sh\n")
    launcher.chmod(0o755)
    for unit in SYSTEMD.glob("*.service"):
        text = unit.read_text().replace(LAUNCHER, str(launcher))
        (tmp_path / unit.name).write_text(text)
        if "@" in unit.name:
            (tmp_path / unit.name.replace("@", "@feltd")).write_text(text)
    return tmp_path


@needs_systemd
def test_verify_has_nothing_to_say(units: Path) -> None:
    names = [unit.name for unit in units.glob("*.service") if "@." not in unit.name]
    told = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *sorted(names)], cwd=units, capture_output=True, text=True
    )
    said = [line for line in told.stderr.splitlines() if "feltd" in line]
    assert (told.returncode, said) == (0, [])
    assert len(names) == len(list(SYSTEMD.glob("*.service")))


@needs_systemd
@pytest.mark.parametrize(("unit", "most"), EXPOSURE.items())
def test_exposure(units: Path, unit: str, most: float) -> None:
    file = unit.replace("@", "@feltd")
    told = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--no-pager", file],
        cwd=units,
        capture_output=True,
        text=True,
    )
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", told.stdout)
    assert found, told.stderr
    assert float(found[1]) <= most


def test_every_device_class_has_its_module_first() -> None:
    """G06: the list is resolved when the unit starts; what the kernel does not know then is dropped."""
    for unit in ("feltd.service", "feltd@.service"):
        classes = [word for word in words(unit, "DeviceAllow") if word.startswith("char-")]
        assert sorted(classes) == sorted(MODULES)
        loads = {f"modprobe@{MODULES[each]}.service" for each in classes if MODULES[each]}
        assert loads <= set(words(unit, "Wants"))
        assert loads <= set(words(unit, "After"))


def test_what_usb_and_roles_need_stays_open() -> None:
    for unit in ("feltd.service", "feltd@.service"):
        assert words(unit, "RestrictAddressFamilies") == ["AF_UNIX", "AF_NETLINK"]
        closed = {key for key, value in settings(unit) if value == "yes"}
        assert not closed & {"PrivateNetwork", "PrivateUsers", "PrivateDevices"}


def test_the_manager_is_told_and_does_not_give_up_early() -> None:
    said = dict(settings("feltd.service"))
    assert (said["Type"], said["Restart"], said["RestartPreventExitStatus"]) == ("notify", "always", "78")
    assert said["WatchdogSec"]
    assert int(said["StartLimitBurst"]) >= 50
    assert said["OnFailure"] == "feltd-alarm@%n.service"
    assert (SYSTEMD / "feltd-alarm@.service").exists()


@pytest.mark.parametrize("unit", EXPOSURE)
def test_no_dump_can_hold_faces_or_tokens(unit: str) -> None:
    assert ("LimitCORE", "0") in settings(unit)


def test_an_instance_differs_by_its_names_only() -> None:
    one, many = settings("feltd.service"), settings("feltd@.service")
    differ = [(old, new) for old, new in zip(one, many, strict=True) if old != new]
    assert [new[0] for _, new in differ] == [
        *("Description", "ConditionPathExists", "ExecStart"),
        *("StateDirectory", "RuntimeDirectory", "WorkingDirectory"),
    ]
    assert all("%i" in new[1] for _, new in differ)


def test_the_console_has_neither_devices_nor_journal() -> None:
    unit = "feltd-console.service"
    assert ("PrivateDevices", "yes") in settings(unit)
    assert words(unit, "DeviceAllow") == []
    assert words(unit, "InaccessiblePaths") == ["-/var/lib/feltd", "-/etc/feltd"]
    assert words(unit, "IPAddressDeny") == ["any"]
    assert words(unit, "IPAddressAllow") == ["localhost"]


def test_the_link_has_the_network_and_neither_devices_nor_journal() -> None:
    unit = "feltd-link.service"
    assert words(unit, "RestrictAddressFamilies") == ["AF_UNIX", "AF_INET", "AF_INET6"]
    assert ("PrivateDevices", "yes") in settings(unit)
    assert words(unit, "DeviceAllow") == []
    assert words(unit, "InaccessiblePaths") == ["-/var/lib/feltd"]
    assert words(unit, "User") == ["feltd-link"]
    said = dict(settings(unit))
    assert (said["Type"], said["Restart"], said["RestartPreventExitStatus"]) == ("notify", "always", "78")
    assert said["WatchdogSec"]


def test_the_drop_in_for_device_servers_opens_no_more_than_addresses() -> None:
    opened = settings("tcp-devices.conf")
    assert [key for key, _ in opened] == ["RestrictAddressFamilies", "IPAddressAllow"]
    assert words("tcp-devices.conf", "RestrictAddressFamilies") == ["AF_INET", "AF_INET6"]
    assert "any" not in words("tcp-devices.conf", "IPAddressAllow")


# --- udev


def rules() -> list[str]:
    lines = (SYSTEMD / "60-feltd.rules").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_every_device_that_we_name_has_its_rule() -> None:
    named = set[str]()
    for rule in rules():
        found = re.fullmatch(
            r'ENV{ID_VENDOR_ID}=="(\w+)", ENV{ID_MODEL_ID}=="([\w|]+)", ENV{FELTD_DEVICE}="(serial|usb)"',
            rule,
        )
        if found:
            named |= {f"{found[1]}:{product}" for product in found[2].split("|")}
    assert named == set(_KNOWN)


def test_modemmanager_is_kept_away_from_all_of_them() -> None:
    """A15: both ways, ports and devices, pass the line before they part."""
    ignored = next(i for i, rule in enumerate(rules()) if 'ENV{ID_MM_DEVICE_IGNORE}="1"' in rule)
    before = [rule for rule in rules()[:ignored] if "FELTD_DEVICE" in rule]
    assert before[-1] == 'ENV{FELTD_DEVICE}=="", GOTO="feltd_end"'
    grants = [i for i, rule in enumerate(rules()) if rule == f'GROUP="{GROUP}", MODE="0660"']
    assert len(grants) == 2
    assert min(grants) > ignored


def test_every_goto_has_its_label() -> None:
    text = "\n".join(rules())
    assert set(re.findall(r'GOTO="(\w+)"', text)) == set(re.findall(r'LABEL="(\w+)"', text))


def test_an_adapter_does_not_hold_answers_back() -> None:
    assert any('DRIVER=="ftdi_sio"' in rule and 'ATTR{latency_timer}="1"' in rule for rule in rules())


def test_modules_are_there_before_the_first_device() -> None:
    loaded = (SYSTEMD / "modules-load.conf").read_text().split("\n")
    assert {"usbserial", "ftdi_sio", "cp210x", "pl2303", "ch341", "cdc_acm"} <= set(loaded)
