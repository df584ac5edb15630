"""A daemon on real ttyUSB devices of a real kernel: plugged, unplugged, renamed, in the middle of a round."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.audit import verify
from tests.vm.guest import Adapter, Guest
from tests.vm.image import ROOT
from tests.vm.table import FELTD, Device, Table, until

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1200)]

HERE = Path(__file__).parent
HOLD, GADGET = HERE / "hold.py", HERE / "gadget.py"
BULK_PORT = 7001  # inside
CYCLES = 10
ROLES = {"shoe": "fdp", "sign": "alpha"}
LINES = {
    "shoe": ("parity N, data bits 8, stop bits 1", 115_200),
    "sign": ("parity E, data bits 7, stop bits 1", 9_600),
}


@pytest.fixture(scope="module")
def devices(guest: Guest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Device]]:
    """Simulators on the host, each behind an adapter that the guest knows by the same name."""
    folder = tmp_path_factory.mktemp("devices")
    devices = {role: Device(role, protocol, folder) for role, protocol in ROLES.items()}
    try:
        for port, role in enumerate(ROLES, start=1):
            devices[role].do("state")  # it answers, so it listens
            guest.add(Adapter(role, f"{role.upper()}-A", devices[role].address, port))
        yield devices
    finally:
        for device in devices.values():
            device.end()


@pytest.fixture
def adapters(guest: Guest, devices: dict[str, Device]) -> Iterator[dict[str, Adapter]]:
    """None is plugged yet; none is left plugged."""
    yield {role: guest.adapter(role) for role in ROLES}
    for role in ROLES:
        guest.unplug(role)


@pytest.fixture
def table(guest: Guest, adapters: dict[str, Adapter], request: pytest.FixtureRequest) -> Iterator[Table]:
    """A table with a daemon that does not run yet."""
    name = request.node.name.removeprefix("test_").replace("_", "-")[:30]
    table = Table(guest, name, configuration({role: adapter.by_id for role, adapter in adapters.items()}))
    yield table
    table.stop()


def configuration(links: dict[str, str]) -> str:
    """Caribbean Stud from a shoe; ``links`` by role."""
    text = (ROOT / "config" / "demo.toml").read_text()
    text = text.replace('mode = "shuffler"\nshuffler = "SH-1"', 'mode = "shoe"')
    rules, _, _ = text.partition("[devices.")
    sections = [
        f'[devices.{role}]\nprotocol = "{ROLES[role]}"\nlink = "{link}"\nsimulated = true\n'
        for role, link in links.items()
    ]
    return rules + "\n".join(sections)


def plug(guest: Guest, adapter: Adapter) -> str:
    """Plug it in; the tty that udev's name leads to."""
    guest.plug(adapter.name)
    until(lambda: guest.run(["test", "-c", adapter.by_id]).rc == 0, adapter.by_id)
    return guest.must(["readlink", "-f", adapter.by_id]).strip()


def start_with_all(guest: Guest, adapters: dict[str, Adapter], table: Table) -> None:
    for adapter in adapters.values():
        plug(guest, adapter)
    table.start()
    for name in adapters:
        table.wait_for(name, "ready")


# --- plugged and unplugged ---------------------------------------------------------------------------


def test_a_shoe_is_taken_back_ten_times_and_leaves_no_descriptor_behind(
    guest: Guest, adapters: dict[str, Adapter], table: Table
) -> None:
    start_with_all(guest, adapters, table)
    shoe = adapters["shoe"]
    first_pid, at_first = table.pid(), table.descriptors()
    assert sum(name.startswith("/dev/ttyUSB") for name in at_first) == len(ROLES)
    for _ in range(CYCLES):
        guest.unplug("shoe")
        lost = table.wait_for("shoe", "lost")
        assert lost["cause"] in ("lost", "absent"), lost
        assert shoe.by_id in lost["detail"]
        assert lost["todo"]
        assert guest.run(["test", "-e", shoe.by_id]).rc == 1
        assert table.device("sign")["state"] == "ready"
        plug(guest, shoe)
        assert table.wait_for("shoe", "ready")["cause"] is None
    assert (table.pid(), table.descriptors()) == (first_pid, at_first)


def test_by_id_leads_to_the_new_tty_while_somebody_holds_the_old_one(
    guest: Guest, adapters: dict[str, Adapter], table: Table
) -> None:
    shoe = adapters["shoe"]
    old = plug(guest, shoe)
    guest.must(["systemd-run", "--quiet", "--unit=holder", "python3", "-IS", guest.put(HOLD), old])
    try:
        until(lambda: guest.run(f"ls -l /proc/*/fd 2>/dev/null | grep -q {old}").rc == 0, "the holder")
        guest.unplug("shoe")
        until(lambda: guest.run(["test", "-e", shoe.by_id]).rc == 1, "the name to go")
        table.start()
        assert table.wait_for("shoe", "lost")["cause"] == "absent"
        new = plug(guest, shoe)
        assert new != old
        assert table.wait_for("shoe", "ready")["serial"] == "SHOE0001"
        assert new in table.descriptors()
    finally:
        guest.must(["systemctl", "stop", "holder"])


# --- what the port is told ----------------------------------------------------------------------------


def test_the_line_is_set_as_the_protocol_says(
    guest: Guest, adapters: dict[str, Adapter], table: Table
) -> None:
    table.start()
    for role, (data, baud) in LINES.items():
        before = len(guest.traces())
        plug(guest, adapters[role])
        table.wait_for(role, "ready")
        traced = guest.traces()[before:]
        assert [line for line in traced if line.startswith("usb_serial_set_data")][-1].endswith(data)
        rates = [int(line.split()[-1]) for line in traced if line.startswith("usb_serial_set_baud")]
        assert rates[-1] == pytest.approx(baud, rel=0.005)  # an FTDI divides 3 MHz


# --- suggest ------------------------------------------------------------------------------------------


def test_suggest_tells_the_stable_name_and_a_rule_that_udev_obeys(
    guest: Guest, adapters: dict[str, Adapter]
) -> None:
    shoe = adapters["shoe"]
    tty = plug(guest, shoe)
    told = json.loads(guest.must([FELTD, "suggest", "--json"], 180))["devices"]
    ours = next(device for device in told if device["device"] == tty)
    assert (ours["usb"], ours["serial"], ours["by_id"]) == ("0403:6001", shoe.serial, shoe.by_id)
    assert f'link = "{shoe.by_id}"' in ours["config"]
    (guest.share / "99-feltd.rules").write_text("".join(f"{rule}\n" for rule in ours["udev"]))
    guest.must("groupadd -f feltd && cp /host/99-feltd.rules /etc/udev/rules.d && udevadm control --reload")
    try:
        guest.unplug("shoe")
        plug(guest, shoe)
        guest.must("udevadm settle")
        link = f"/dev/feltd/{shoe.serial}"
        seen = guest.must(["stat", "--dereference", "--format=%F %a %G", link]).strip()
        assert seen == "character special file 660 feltd"
    finally:
        guest.must("rm /etc/udev/rules.d/99-feltd.rules && udevadm control --reload")


# --- in the middle of a round -------------------------------------------------------------------------


def test_cards_drawn_while_the_shoe_is_unplugged_are_dealt_when_it_is_back(
    guest: Guest, adapters: dict[str, Adapter], devices: dict[str, Device], table: Table
) -> None:
    shoe = devices["shoe"]
    shoe.do("load")
    start_with_all(guest, adapters, table)
    for act in ("open-table", "shuffle", "cut"):
        table.act(act)
    until(lambda: table.status()["sign"]["proven"], "the sign")
    table.act("open-betting")
    table.act("ante", box=1, amount=10_000)
    table.act("close-betting")
    draw(shoe, 3)
    until(lambda: table.status()["cards"]["out"] == 3, "the first cards")
    guest.unplug("shoe")
    table.wait_for("shoe", "lost")
    draw(shoe, 4)
    assert table.status()["cards"]["out"] == 3
    plug(guest, adapters["shoe"])
    until(lambda: table.status()["cards"]["out"] == 7, f"the cards drawn meanwhile; {table.log()}")
    draw(shoe, 3)
    until(lambda: table.status()["state"] == "deciding", "the last cards")
    status = table.status()
    assert (status["cards"]["out"], status["faults"]) == (10, [])
    assert table.round(status["round"])["irregularities"] == []
    table.stop()
    assert verify(guest.get(f"{table.folder}/journal.db"))["verified"]


def draw(shoe: Device, cards: int) -> None:
    for _ in range(cards):
        shoe.do("draw")


# --- bulk endpoints -----------------------------------------------------------------------------------


@pytest.fixture
def bulk_shoe(guest: Guest) -> Iterator[list[str]]:
    """A simulated shoe inside the guest, behind bulk endpoints; the words that plug it in."""
    sim = [
        FELTD,
        "sim",
        "shoe",
        "--protocol",
        "fdp",
        "--serial",
        "BULK0001",
        "--tcp",
        f"127.0.0.1:{BULK_PORT}",
    ]
    guest.must(["systemd-run", "--quiet", "--unit=bulk-shoe", *sim])
    until(lambda: guest.run(f"grep -q :{BULK_PORT:04X} /proc/net/tcp").rc == 0, "the shoe's port")
    gadget = ["python3", "-IS", guest.put(GADGET), "BULK0001", str(BULK_PORT)]
    yield ["systemd-run", "--quiet", "--collect", "--unit=gadget", *gadget]
    guest.run("systemctl kill --signal=KILL gadget; systemctl stop bulk-shoe")


def test_a_shoe_on_bulk_endpoints_is_taken_back_by_libusb(guest: Guest, bulk_shoe: list[str]) -> None:
    table = Table(guest, "bulk", configuration({"shoe": "usb://1209:0001:BULK0001", "sign": "/dev/none"}))
    try:
        table.start()
        assert table.wait_for("shoe", "lost")["cause"] == "absent"
        guest.must(bulk_shoe)
        assert table.wait_for("shoe", "ready")["serial"] == "BULK0001"
        threads, at_first = table.threads(), table.descriptors()
        for _ in range(3):
            guest.must("systemctl kill --signal=KILL gadget")
            lost = table.wait_for("shoe", "lost")
            assert lost["cause"] in ("lost", "absent"), lost
            until(lambda: guest.run("systemctl status gadget").rc == 4, "the gadget's unit to go")
            guest.must(bulk_shoe)
            table.wait_for("shoe", "ready")
        assert table.threads() <= threads
        assert len(table.descriptors()) == len(at_first)
    finally:
        table.stop()
