"""The real libusb against umockdev: a device comes, speaks as recorded, goes, and comes back elsewhere.

Run under ``umockdev-wrapper``; says what it saw as one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from daemon.links.base import Cause, LinkError
from daemon.links.usb import UsbTransport, parse_url
from drivers import fdp
from tests.fakes.umockdev import TestBed, Transfer, recording
from tests.fakes.usb_descriptors import BULK, INTERRUPT, Shape

PATIENCE = 10.0  # seconds

T = TypeVar("T")

# An interface without a bulk pair comes first: it must be passed over.
SHOE = Shape(interfaces=(((0x85, INTERRUPT),), ((0x01, BULK), (0x82, BULK))))
QUESTION = fdp.encode(fdp.GetHello(), 0)
ANSWER = fdp.encode(fdp.Hello(7, 0, fdp.Role.SHOE, "SHOE0001", "SIM-1.0", b"SIM-1.0\0"), 0)


def main(folder: Path) -> None:
    """Two pluggings, each with a conversation of its own."""
    bed, transport = TestBed(), UsbTransport(parse_url("usb://1209:0001"))
    seen: dict[str, object] = {"before": failure(transport).value, "heard": [], "gone": []}
    for address in (2, 7):
        replay = folder / f"{address}.pcap"
        replay.write_bytes(recording(conversation(), 1, address))
        path = bed.plug(SHOE, address, replay)
        waited_for(lambda: opened(transport))
        seen["heard"] += [spoken(transport).hex()]  # type: ignore[operator]
        transport.close()
        bed.unplug(path)
        waited_for(lambda: not opened(transport))
        seen["gone"] += [failure(transport).value]  # type: ignore[operator]
    print(json.dumps(seen))


def conversation() -> list[Transfer]:
    """GET_HELLO, and HELLO in packets of 64 bytes."""
    packets = [ANSWER[at : at + 64] for at in range(0, len(ANSWER), 64)]
    return [Transfer(0x01, len(QUESTION), QUESTION), *(Transfer(0x82, 64, packet) for packet in packets)]


def spoken(transport: UsbTransport) -> bytes:
    """What the device answers; a read before the question times out and loses nothing."""
    assert transport.read(20) == b""
    transport.write(QUESTION)
    data = b""
    while len(data) < len(ANSWER):
        data += waited_for(lambda: transport.read(20))
    return data


def opened(transport: UsbTransport) -> bool:
    try:
        transport.open()
    except LinkError:
        return False
    return True


def failure(transport: UsbTransport) -> Cause:
    try:
        transport.open()
    except LinkError as error:
        return error.cause
    raise AssertionError("it is open")


def waited_for(reached: Callable[[], T]) -> T:
    end = time.monotonic() + PATIENCE
    while not (value := reached()):
        if time.monotonic() > end:
            raise TimeoutError("not in time")
        time.sleep(0.01)
    return value


if __name__ == "__main__":
    main(Path(sys.argv[1]))
