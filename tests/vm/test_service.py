"""The package under a real systemd: ready, watched, killed, misconfigured, replugged (A15, G03, G06)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vm.guest import Adapter, Guest
from tests.vm.image import ROOT, bare_image, missing
from tests.vm.table import ASK, PATIENCE, Device, until
from tools.deb import build, source_epoch

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1800)]

UNIT = "feltd.service"
KILLS = 10
ROLES = {"shoe": "fdp", "sign": "alpha"}
DROP_INS = "/run/systemd/system/feltd.service.d"


class Service:
    """The installed service; its configuration names the devices by the links that our rules make."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest
        self._ask = guest.put(ASK)

    def configure(self, text: str) -> None:
        (self.guest.share / "feltd.toml").write_text(text)
        self.guest.must("install -m 640 -g feltd /host/feltd.toml /etc/feltd/feltd.toml")

    def drop_in(self, text: str) -> None:
        (self.guest.share / "test.conf").write_text(f"[Service]\n{text}\n")
        self.guest.must(f"mkdir -p {DROP_INS} && cp /host/test.conf {DROP_INS}/")
        self.guest.must("systemctl daemon-reload")

    def start(self) -> None:
        done = self.guest.run(f"systemctl start {UNIT}", 600)
        assert done.rc == 0, f"{done.stderr}\n{self.log()}"

    def reset(self) -> None:
        """As if it had just been installed, but for the journal."""
        self.guest.run(f"systemctl stop {UNIT}; systemctl reset-failed; rm -rf {DROP_INS}", PATIENCE)
        self.guest.must("systemctl daemon-reload")

    def shows(self, name: str, unit: str = UNIT) -> str:
        return self.guest.must(f"systemctl show --value --property {name} {unit}").strip()

    def pid(self) -> int:
        return int(self.shows("MainPID"))

    def status(self) -> dict[str, Any]:
        answer = self.guest.must(["python3", "-IS", self._ask, "/run/feltd/feltd.sock", "/status"], 90)
        found: dict[str, Any] = json.loads(answer)
        return found

    def wait_for(self, device: str, state: str) -> None:
        until(
            lambda: self.status()["devices"][device]["state"] == state,
            f"{device} to be {state}; {self.log()}",
        )

    def wait_until_active(self) -> None:
        until(lambda: self.shows("ActiveState") == "active", f"{UNIT} to be active; {self.log()}", 600)

    def log(self, unit: str = UNIT, lines: int = 20) -> str:
        return self.guest.run(f"journalctl --no-pager --output=cat --unit={unit} -n {lines}").stdout


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """A booted Debian on which the package of the working tree (or FELTD_DEB) is installed."""
    if reasons := missing():
        pytest.skip("; ".join(reasons))
    folder = tmp_path_factory.mktemp("service")
    built = os.environ.get("FELTD_DEB")
    package = Path(built) if built else build("0.1.0-1", folder, source_epoch())
    with Guest(bare_image(), folder / "vm") as guest:
        guest.must("umount /opt/feltd")
        began = time.monotonic()
        said = guest.run(["dpkg", "--force-unsafe-io", "--install", guest.put(package)], 900)
        assert said.rc == 0, said
        print(f"vm: installed in {time.monotonic() - began:.0f} s; its files are in {guest.folder}")
        yield guest


@pytest.fixture(scope="module")
def devices(machine: Guest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A shoe and a sign on the host, each behind an FTDI adapter that is not plugged yet."""
    folder = tmp_path_factory.mktemp("service-devices")
    devices = [Device(role, protocol, folder) for role, protocol in ROLES.items()]
    try:
        for port, (role, device) in enumerate(zip(ROLES, devices, strict=True), start=1):
            device.do("state")  # it answers, so it listens
            machine.add(Adapter(role, f"{role.upper()}-A", device.address, port))
        yield
    finally:
        for device in devices:
            device.end()


@pytest.fixture
def service(machine: Guest, devices: None) -> Iterator[Service]:
    """The service, configured and not running; nothing is plugged."""
    service = Service(machine)
    service.configure(configuration())
    yield service
    service.reset()
    for role in ROLES:
        machine.unplug(role)


def configuration() -> str:
    """Caribbean Stud from a shoe, everything where the unit wants it."""
    text = (ROOT / "config" / "demo.toml").read_text()
    text = text.replace('mode = "shuffler"\nshuffler = "SH-1"', 'mode = "shoe"')
    for key, place in (
        ("journal.db", "/var/lib/feltd/journal.db"),
        ("journal.key", "/var/lib/feltd/journal.key"),
        ("feltd.sock", "/run/feltd/feltd.sock"),
    ):
        text = text.replace(f'"{key}"', f'"{place}"')
    rules, _, _ = text.partition("[devices.")
    sections = [
        f'[devices.{role}]\nprotocol = "{protocol}"\nlink = "/dev/feltd/{role.upper()}-A"\nsimulated = true\n'
        for role, protocol in ROLES.items()
    ]
    return rules + "\n".join(sections)


def test_devices_come_and_go_inside_the_sandbox(service: Service) -> None:
    """G06: it starts before the kernel knows the devices' class. A15: udev gives them to us alone."""
    guest = service.guest
    guest.must("modprobe -r ftdi_sio cp210x pl2303 ch341 usbserial cdc_acm")
    service.start()
    assert service.shows("ActiveState") == "active"
    assert service.shows("User") == "feltd"
    assert guest.must("stat -c '%U:%G %a' /run/feltd/feltd.sock").strip() == "feltd:feltd 660"
    until(lambda: "shoe" in service.shows("StatusText"), "a status that names the shoe")
    assert service.status()["devices"]["shoe"]["state"] != "ready"
    assert "files as installed" in service.log(lines=200)
    pid = service.pid()
    for _ in range(2):
        for role in ROLES:
            guest.plug(role)
        for role in ROLES:
            service.wait_for(role, "ready")
        node = guest.must("readlink -f /dev/feltd/SHOE-A").strip()
        assert guest.must(f"stat -c '%G %a' {node}").strip() == "feltd 660"
        told = guest.must(f"udevadm info --query=property --name={node}").splitlines()
        assert {"ID_MM_DEVICE_IGNORE=1", "ID_MM_PORT_IGNORE=1"} <= set(told)
        until(lambda: "shoe ready" in service.shows("StatusText"), "a status with a ready shoe")
        guest.unplug("shoe")
        until(lambda: service.status()["devices"]["shoe"]["state"] != "ready", "the shoe to be lost")
        guest.unplug("sign")
    assert service.pid() == pid
    limits = guest.must(f"cat /proc/{pid}/limits")
    assert next(line.split()[4] for line in limits.splitlines() if "core file" in line) == "0"
    guest.must(f"grep -q 'NoNewPrivs:.1' /proc/{pid}/status")


def test_killed_ten_times_and_still_up(service: Service) -> None:
    """G03. On an emulated processor a start takes long: it is killed as soon as it is there."""
    service.start()
    killed = set[int]()
    for _ in range(KILLS):
        until(lambda: service.pid() not in {0, *killed}, f"another process; {service.log()}", 300)
        pid = service.pid()
        killed.add(pid)
        service.guest.run(f"kill -KILL {pid}")
    until(lambda: service.pid() not in {0, *killed}, "the last process", 300)
    service.wait_until_active()
    assert int(service.shows("NRestarts")) >= KILLS
    assert service.status()["table"] == "demo"


def test_a_hung_daemon_is_killed_by_the_watchdog(service: Service) -> None:
    service.drop_in("WatchdogSec=10s\nTimeoutAbortSec=5s")
    service.start()
    pid = service.pid()
    service.guest.must(f"kill -STOP {pid}")
    until(lambda: service.pid() not in {0, pid}, f"the watchdog to act; {service.log()}", 600)
    service.wait_until_active()
    assert "Watchdog timeout" in service.log(lines=100)
    assert int(service.shows("NRestarts")) >= 1


def test_a_bad_configuration_stops_once_with_its_reason(service: Service) -> None:
    service.configure(configuration().replace("[table]\n", '[table]\ncolour = "green"\n'))
    assert service.guest.run(f"systemctl start {UNIT}", 600).rc != 0
    assert (service.shows("ActiveState"), service.shows("ExecMainStatus")) == ("failed", "78")
    assert service.shows("NRestarts") == "0"
    assert "/etc/feltd/feltd.toml: table.colour: unknown key" in service.log()
    alarm = f"feltd-alarm@{UNIT}.service"
    until(lambda: service.shows("ActiveState", alarm) != "activating", "the alarm")
    told = service.guest.must("journalctl --no-pager --output=cat --priority=alert --identifier=feltd-alarm")
    assert f"{UNIT} has failed (exit-code, exit status 78)" in told


def test_the_sealing_key_as_a_credential(service: Service) -> None:
    """As docs/install.md has it: made in the state folder, sealed for this machine, and removed there."""
    guest = service.guest
    service.start()
    seal = (
        "systemd-creds encrypt --name=feltd.key /var/lib/feltd/journal.key /etc/credstore.encrypted/feltd.key"
    )
    guest.must(f"systemctl stop {UNIT}; mkdir -p /etc/credstore.encrypted; {seal}", 300)
    guest.must("mv /var/lib/feltd/journal.key /var/tmp/journal.key")
    try:
        service.configure(configuration().replace('"/var/lib/feltd/journal.key"', '"credential:feltd.key"'))
        service.drop_in("LoadCredentialEncrypted=feltd.key")
        service.start()
        assert service.status()["table"] == "demo"
        assert guest.run("ls /var/lib/feltd/journal.key").rc != 0
    finally:
        service.reset()
        guest.must("mv /var/tmp/journal.key /var/lib/feltd/journal.key")


def test_removed_while_it_runs(service: Service) -> None:
    """The last test: the service ends in order, and its books stay."""
    guest = service.guest
    service.start()
    guest.must("dpkg --purge feltd", 600)
    assert guest.must("find /proc -maxdepth 1 -user feltd") == ""
    assert {"journal.db", "journal.key"} <= set(guest.must("ls /var/lib/feltd").split())
    assert guest.run("ls /etc/feltd /opt/feltd/bin").stdout == ""
