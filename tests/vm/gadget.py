"""Runs in the guest: a USB device with a pair of bulk endpoints, on a host controller that is a program.

``gadget.py SERIAL PORT`` is plugged in as 1209:0001 as long as it runs; its far end is a TCP port
of the guest. The kernel's dummy_hcd is both ends of the cable, FunctionFS is the device.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

GADGET = Path("/sys/kernel/config/usb_gadget/feltd")
ENDPOINTS = Path("/run/gadget")
BULK = 2
OUT, IN = 0x01, 0x82
FULL_SPEED, HIGH_SPEED = 64, 512  # bytes a packet


def descriptors() -> bytes:
    """One interface with two bulk endpoints, for both speeds (FunctionFS, second format)."""
    pair = b""
    for packet in (FULL_SPEED, HIGH_SPEED):
        pair += struct.pack("<9B", 9, 4, 0, 0, 2, 0xFF, 0, 0, 1)
        pair += b"".join(struct.pack("<4BHB", 7, 5, address, BULK, packet, 0) for address in (OUT, IN))
    return struct.pack("<5I", 3, 20 + len(pair), 1 | 2, 3, 3) + pair


def strings() -> bytes:
    text = b"FDP\0"
    return struct.pack("<4IH", 2, 18 + len(text), 1, 1, 0x409) + text


def configure(serial: str) -> None:
    """The device without its endpoints; once."""
    if GADGET.exists():
        return
    for module in ("dummy_hcd", "libcomposite", "usb_f_fs"):
        subprocess.run(["modprobe", module], check=True)
    for folder in ("strings/0x409", "configs/c.1", "functions/ffs.feltd"):
        (GADGET / folder).mkdir(parents=True)
    (GADGET / "idVendor").write_text("0x1209")
    (GADGET / "idProduct").write_text("0x0001")
    (GADGET / "strings/0x409/serialnumber").write_text(serial)
    (GADGET / "configs/c.1/ffs.feltd").symlink_to(GADGET / "functions/ffs.feltd")
    ENDPOINTS.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "functionfs", "feltd", str(ENDPOINTS)], check=True)


def to_line(endpoint: int, line: socket.socket) -> None:
    while True:
        try:
            line.sendall(os.read(endpoint, HIGH_SPEED))
        except InterruptedError:
            continue
        except OSError:  # not configured, or reset
            time.sleep(0.01)


def from_line(endpoint: int, line: socket.socket) -> None:
    while data := line.recv(HIGH_SPEED):
        try:
            os.write(endpoint, data)
        except OSError:  # lost, as on any cable
            time.sleep(0.01)
    os._exit(1)


def main(serial: str, port: str) -> None:
    configure(serial)
    line = socket.create_connection(("127.0.0.1", int(port)))
    control = os.open(ENDPOINTS / "ep0", os.O_RDWR)
    os.write(control, descriptors())
    os.write(control, strings())
    out, into = (os.open(ENDPOINTS / name, os.O_RDWR) for name in ("ep1", "ep2"))
    (GADGET / "UDC").write_text(os.listdir("/sys/class/udc")[0])
    threading.Thread(target=to_line, args=(out, line), daemon=True).start()
    threading.Thread(target=from_line, args=(into, line), daemon=True).start()
    while True:  # what the controller tells of its bus; nothing has to be answered
        os.read(control, 512)


if __name__ == "__main__":
    main(*sys.argv[1:])
