"""umockdev's test bed: devices in a sysfs of our own, seen by the real libusb.

The library is loaded by ctypes; the process must run under ``umockdev-wrapper``. A device's transfers
are replayed from a recording in the format of usbmon. umockdev 0.17 compares what is written only on
endpoints with an odd number, and stops the process for even ones.
"""

from __future__ import annotations

import ctypes
import shutil
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.usb_descriptors import Shape

LIBRARY = "libumockdev.so.0"
USBMON = struct.Struct("<QBBBBHbbqiiII8siiII")
PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 220)  # usbmon, 64-byte headers
BULK_TRANSFER = 3


def installed() -> bool:
    """Whether this system has umockdev."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return False
    return shutil.which("umockdev-wrapper") is not None


@dataclass(frozen=True)
class Transfer:
    """A recorded bulk transfer: the endpoint, the length asked for, and the bytes."""

    endpoint: int
    length: int
    data: bytes


def recording(transfers: Sequence[Transfer], bus: int, address: int) -> bytes:
    """A usbmon recording in which each transfer is submitted and then completes."""
    out = [PCAP_HEADER]
    for number, transfer in enumerate(transfers, 1):
        into = bool(transfer.endpoint & 0x80)
        sent, received = (b"", transfer.data) if into else (transfer.data, b"")
        out.append(_packet(number, "S", transfer, transfer.length, sent, bus, address))
        out.append(_packet(number, "C", transfer, len(transfer.data), received, bus, address))
    return b"".join(out)


def _packet(
    number: int, event: str, transfer: Transfer, length: int, data: bytes, bus: int, address: int
) -> bytes:
    setup, status = ord("-"), -115 if event == "S" else 0
    flag = 0 if data else ord("<" if event == "S" else ">")
    head = USBMON.pack(
        number, ord(event), BULK_TRANSFER, transfer.endpoint, address, bus, setup, flag, number // 1000,
        number % 1000 * 1000, status, length, len(data), b"", 0, 0, 0, 0,
    )  # fmt: skip
    return struct.pack("<IIII", 0, 0, len(head) + len(data), len(head) + len(data)) + head + data


class TestBed:
    """A sysfs of our own, as long as this process lives."""

    __test__ = False

    def __init__(self) -> None:
        self._library = ctypes.CDLL(LIBRARY)
        self._library.umockdev_testbed_new.restype = ctypes.c_void_p
        self._bed = ctypes.c_void_p(self._library.umockdev_testbed_new())

    def plug(self, shape: Shape, address: int, replay: Path | None = None) -> str:
        """Plug a device into bus 1, announce it; its path in sysfs."""
        raw = (shape.device + shape.configuration).hex().upper()
        self._call("add_from_string", self._described(raw, address).encode())
        path = f"/sys/devices/usb1/1-{address}"
        if replay is not None:
            self._call("load_pcap", path.encode(), str(replay).encode())
        self._event(path, b"add")
        return path

    def unplug(self, path: str) -> None:
        """Pull it out again, and announce that."""
        self._event(path, b"remove")
        self._library.umockdev_testbed_remove_device(self._bed, path.encode())

    def _event(self, path: str, action: bytes) -> None:
        self._library.umockdev_testbed_uevent(self._bed, path.encode(), action)

    def _call(self, name: str, *arguments: bytes) -> None:
        error = ctypes.c_void_p()
        function = getattr(self._library, f"umockdev_testbed_{name}")
        function.restype = ctypes.c_int
        if not function(self._bed, *arguments, ctypes.byref(error)) or error.value:
            raise RuntimeError(f"umockdev: {name} failed")

    @staticmethod
    def _described(descriptors: str, address: int) -> str:
        return (
            f"P: /devices/usb1/1-{address}\nN: bus/usb/001/{address:03d}\n"
            f"E: DEVNAME=/dev/bus/usb/001/{address:03d}\nE: SUBSYSTEM=usb\nE: DEVTYPE=usb_device\n"
            f"E: BUSNUM=001\nE: DEVNUM={address:03d}\nA: busnum=1\\n\nA: devnum={address}\\n\n"
            f"A: bConfigurationValue=1\\n\nA: speed=12\\n\nH: descriptors={descriptors}\n\n"
        )
