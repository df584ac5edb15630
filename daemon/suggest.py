"""``feltd suggest``: what is plugged in, and the lines of configuration and udev that would bind it.

Everything is read from sysfs, from the links that udev made and from /proc. No port is opened: an open
toggles DTR and reboots many boards, and what answers at the other end is never probed by writing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from daemon.links.serial import holders
from daemon.registry import known
from daemon.visible import visible

GROUP: Final = "feltd"
HUB: Final = "09"  # bDeviceClass
UNPOPULATED: Final = "0"  # the UART type of a port that is only a number

Choice = tuple[str, str]  # role and protocol

# What a USB id tells: a name, and the protocols that can be behind it. None: any of a serial line.
_KNOWN: Final[Mapping[str, tuple[str, tuple[Choice, ...] | None]]] = {
    "0403:6001": ("FTDI FT232 serial adapter", None),
    "0403:6010": ("FTDI FT2232 serial adapter, two ports", None),
    "0403:6011": ("FTDI FT4232 serial adapter, four ports", None),
    "0403:6014": ("FTDI FT232H serial adapter", None),
    "0403:6015": ("FTDI FT-X serial adapter", None),
    "10c4:ea60": ("Silicon Labs CP210x serial adapter", None),
    "10c4:ea70": ("Silicon Labs CP2105 serial adapter, two ports", None),
    "067b:2303": ("Prolific PL2303 serial adapter", None),
    "067b:23a3": ("Prolific PL2303 serial adapter", None),
    "1a86:7523": ("QinHeng CH340 serial adapter", None),
    "1a86:5523": ("QinHeng CH341 serial adapter", None),
    "1a86:55d4": ("QinHeng CH9102 serial adapter", None),
    "8765:1234": ("Alpha sign, BetaBrite Prism", (("sign", "alpha"),)),
    "1209:0001": ("feltd's simulated device", (("shoe", "fdp"), ("shuffler", "fdp"))),
}


@dataclass(frozen=True, slots=True)
class Usb:
    """A USB device as sysfs tells it. ``port`` is its place in the tree of hubs, such as 1-1.3."""

    id: str  # vid:pid
    serial: str
    product: str
    port: str
    node: str  # /dev/bus/usb/…

    @property
    def name(self) -> str:
        return _KNOWN[self.id][0] if self.id in _KNOWN else self.product or "unknown device"


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that could be bound: ``kind`` is serial or usb, ``config`` and ``udev`` the lines for it."""

    kind: str
    device: str
    by_id: str
    by_path: str
    usb: str
    serial: str
    name: str
    held_by: list[str]
    config: list[str]
    udev: list[str]


def found(dev: Path = Path("/dev"), sys: Path = Path("/sys")) -> dict[str, list[dict[str, object]]]:
    """Serial ports, then USB devices that are none, under these roots. Nothing is opened but sysfs."""
    ports = list(_serial_ports(dev, sys))
    taken = {usb.port for _, usb, _ in ports if usb is not None}
    serial = [_serial(tty, usb, interface, dev) for tty, usb, interface in ports]
    others = [_usb(usb) for usb in _usb_devices(dev, sys) if usb.port not in taken]
    return {"devices": [asdict(each) for each in (*serial, *others)]}


# --- sysfs -------------------------------------------------------------------------------


def _serial_ports(dev: Path, sys: Path) -> Iterator[tuple[str, Usb | None, str]]:
    """Name of the tty, its USB device, and the number of its interface there."""
    for entry in sorted((sys / "class" / "tty").glob("*")):
        if not (entry / "device").exists() or _text(entry / "type") == UNPOPULATED:
            continue
        place = (entry / "device").resolve()
        above = (place, *place.parents)
        interface = next(filter(None, (_text(at / "bInterfaceNumber") for at in above)), "")
        usb = next((at for at in above if _text(at / "idVendor")), None)
        yield entry.name, _described(usb, dev) if usb else None, interface


def _usb_devices(dev: Path, sys: Path) -> Iterator[Usb]:
    for entry in sorted((sys / "bus" / "usb" / "devices").glob("*")):
        if _text(entry / "idVendor") and _text(entry / "bDeviceClass") != HUB:
            yield _described(entry.resolve(), dev)


def _described(place: Path, dev: Path) -> Usb:
    bus, number = _text(place / "busnum"), _text(place / "devnum")
    node = dev / "bus" / "usb" / bus.zfill(3) / number.zfill(3)
    vid_pid = f"{_text(place / 'idVendor')}:{_text(place / 'idProduct')}"
    return Usb(vid_pid, _text(place / "serial"), _text(place / "product"), place.name, str(node))


def _text(path: Path) -> str:
    """What a file of sysfs says. A device chooses its own strings: no control character passes."""
    try:
        said = path.read_text(errors="replace").strip()
    except OSError:
        return ""
    return "".join(letter if letter.isprintable() else "?" for letter in said)


def _links_to(device: Path, folder: Path) -> str:
    """The first link in a folder of udev that leads to this device; "" for none."""
    target = device.resolve()
    return next((str(link) for link in sorted(folder.glob("*")) if link.resolve() == target), "")


# --- what would bind it ------------------------------------------------------------------


def _serial(tty: str, usb: Usb | None, interface: str, dev: Path) -> Found:
    device = dev / tty
    by_id = _links_to(device, dev / "serial" / "by-id")
    by_path = _links_to(device, dev / "serial" / "by-path")
    # An adapter without a number of its own has the same by-id name as every other of its kind.
    own_number = by_id if usb is not None and usb.serial else ""
    link = own_number or by_path or by_id or str(device)
    return Found(
        "serial",
        str(device),
        by_id,
        by_path,
        usb.id if usb else "",
        usb.serial if usb else "",
        usb.name if usb else "serial port of the machine",
        holders(str(device)),
        _config(link, _choices(usb)),
        _tty_rule(tty, usb, interface),
    )


def _usb(usb: Usb) -> Found:
    choices = _choices(usb) if usb.id in _KNOWN else []
    link = f"usb://{usb.id}" + (f":{quote(usb.serial, safe='')}" if usb.serial else "")
    rule = [
        'SUBSYSTEM=="usb"',
        'ENV{DEVTYPE}=="usb_device"',
        *_matches(usb, "ATTR"),
        *([] if usb.serial else [f'KERNEL=="{usb.port}"']),
        *_grants(),
    ]
    return Found(
        "usb",
        usb.node,
        "",
        "",
        usb.id,
        usb.serial,
        usb.name,
        holders(usb.node),
        _config(link, choices),
        [", ".join(rule)] if choices else [],
    )


def _choices(usb: Usb | None) -> list[Choice]:
    told = _KNOWN.get(usb.id, ("", None))[1] if usb is not None else None
    return list(told) if told is not None else known()


def _config(link: str, choices: list[Choice]) -> list[str]:
    """A section for each role that it can be; of the protocols one counts, the others are named."""
    lines: list[str] = []
    quoted = json.dumps(link, ensure_ascii=False)
    for role in dict.fromkeys(role for role, _ in choices):
        names = [name for of, name in choices if of == role]
        others = f"  # or {', '.join(names[1:])}" if names[1:] else ""
        section = "devices.shuffler.SH-1" if role == "shuffler" else f"devices.{role}"
        lines += [f"[{section}]", f'protocol = "{names[0]}"{others}', f"link = {quoted}"]
    return lines


def _tty_rule(tty: str, usb: Usb | None, interface: str) -> list[str]:
    if usb is None:
        return [", ".join(['SUBSYSTEM=="tty"', f'KERNEL=="{tty}"', *_grants(), _symlink(tty)])]
    # What begins with ATTRS or KERNELS must fit one and the same parent: the USB device.
    rule = ['SUBSYSTEM=="tty"', *_matches(usb, "ATTRS")]
    rule += [] if usb.serial else [f'KERNELS=="{usb.port}"']
    rule += [f'ENV{{ID_USB_INTERFACE_NUM}}=="{interface}"'] if interface else []
    return [", ".join([*rule, *_grants(), _symlink(usb.serial or usb.port, interface)])]


def _matches(usb: Usb, word: str) -> list[str]:
    vendor, product = usb.id.split(":")
    serial = [f'{word}{{serial}}=="{_plain(usb.serial, "?")}"'] if usb.serial else []  # ? fits any one
    return [f'{word}{{idVendor}}=="{vendor}"', f'{word}{{idProduct}}=="{product}"', *serial]


def _grants() -> list[str]:
    return ['ENV{ID_MM_DEVICE_IGNORE}="1"', f'GROUP="{GROUP}"', 'MODE="0660"']


def _symlink(name: str, interface: str = "00") -> str:
    port = "" if interface in ("", "00") else f"-{interface}"
    return f'SYMLINK+="{GROUP}/{_plain(name, "_")}{port}"'


def _plain(text: str, instead: str) -> str:
    """A device's own string for a rule: nothing in it may end the quotes or be a pattern."""
    return "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-_.:") else instead for letter in text
    )


# --- for people --------------------------------------------------------------------------


def show(view: Mapping[str, list[dict[str, object]]]) -> None:
    """Print what was found, ready to be copied."""
    for each in view["devices"]:
        print("\n".join(map(visible, _lines(each))), end="\n\n")
    if not view["devices"]:
        print("no serial port and no USB device is plugged in")


def _lines(each: Mapping[str, object]) -> Iterator[str]:
    identity = " ".join(str(each[key]) for key in ("usb", "serial") if each[key])
    yield f"# {each['device']}: {each['name']}" + (f" ({identity})" if identity else "")
    for key in ("by_id", "by_path"):
        if each[key]:
            yield f"#   {key.replace('_', '-')}: {each[key]}"
    held_by, config, udev = each["held_by"], each["config"], each["udev"]
    assert isinstance(held_by, list)
    assert isinstance(config, list)
    assert isinstance(udev, list)
    yield f"#   held by: {', '.join(held_by) or 'nobody that may be seen'}"
    if not config:
        yield "#   no protocol of ours is known for it"
    yield from config
    yield from (f"# udev: {rule}" for rule in udev)
