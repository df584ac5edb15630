"""USB descriptors as bytes, and as the objects that pyusb asks a backend for."""

from __future__ import annotations

import errno
import struct
from array import array
from dataclasses import dataclass
from types import SimpleNamespace

import usb.core
from usb.backend import IBackend

BULK, INTERRUPT = 2, 3
DEVICE, CONFIGURATION, STRING, INTERFACE, ENDPOINT = 1, 2, 3, 4, 5

_DEVICE = ("bcdUSB bDeviceClass bDeviceSubClass bDeviceProtocol bMaxPacketSize0 idVendor idProduct bcdDevice "
           "iManufacturer iProduct iSerialNumber bNumConfigurations")  # fmt: skip
_CONFIGURATION = "wTotalLength bNumInterfaces bConfigurationValue iConfiguration bmAttributes bMaxPower"
_INTERFACE = ("bInterfaceNumber bAlternateSetting bNumEndpoints bInterfaceClass bInterfaceSubClass "
              "bInterfaceProtocol iInterface")  # fmt: skip
_ENDPOINT = "bEndpointAddress bmAttributes wMaxPacketSize bInterval"

Endpoint = tuple[int, int]  # address, type
PRISM: tuple[Endpoint, ...] = ((0x02, BULK), (0x82, BULK))


@dataclass(frozen=True)
class Shape:
    """What a simulated device says of itself; each interface is a row of endpoints."""

    vendor: int = 0x1209
    product: int = 0x0001
    serial: str = ""
    interfaces: tuple[tuple[Endpoint, ...], ...] = (PRISM,)
    packet: int = 64

    @property
    def device(self) -> bytes:
        """The device descriptor."""
        ids = struct.pack("<HHH", self.vendor, self.product, 0x0100)
        return bytes((18, DEVICE, 0, 2, 0, 0, 0, 64)) + ids + bytes((0, 0, 1 if self.serial else 0, 1))

    @property
    def configuration(self) -> bytes:
        """The configuration descriptor with its interfaces and endpoints."""
        body = b""
        for number, endpoints in enumerate(self.interfaces):
            body += bytes((9, INTERFACE, number, 0, len(endpoints), 0xFF, 0, 0, 0))
            for address, kind in endpoints:
                body += struct.pack("<BBBBHB", 7, ENDPOINT, address, kind, self.packet, 0)
        head = struct.pack("<BBHBBBBB", 9, CONFIGURATION, 9 + len(body), len(self.interfaces), 1, 0, 0x80, 50)
        return head + body

    def string(self, index: int) -> bytes:
        """A string descriptor; 0 is the list of languages. Raises USBError (a stall) for one that is not."""
        texts = {0: b"\x09\x04", 1: self.serial.encode("utf-16-le")}
        if not self.serial or index not in texts:
            raise usb.core.USBError("stall", errno=errno.EPIPE)
        return bytes((2 + len(texts[index]), STRING)) + texts[index]


def _fields(raw: bytes, layout: str, names: str) -> SimpleNamespace:
    values = struct.unpack_from(layout, raw)
    return SimpleNamespace(**dict(zip(("bLength", "bDescriptorType", *names.split()), values, strict=True)))


def _split(raw: bytes) -> list[bytes]:
    pieces = []
    while raw:
        pieces.append(raw[: raw[0]])
        raw = raw[raw[0] :]
    return pieces


class Node:
    """A device on a bus as its descriptors tell it. ``address`` is new at every plugging."""

    def __init__(self, device: bytes, configuration: bytes, address: int, bus: int = 250) -> None:
        self.address, self.bus = address, bus
        self.device = _fields(device, "<BBHBBBBHHHBBBB", _DEVICE)
        self.device.bus, self.device.address = bus, address
        self.device.port_number, self.device.port_numbers, self.device.speed = 1, (1,), 2
        self.configuration: SimpleNamespace
        self.interfaces: list[tuple[SimpleNamespace, list[SimpleNamespace]]] = []
        for piece in _split(configuration):
            self._take(piece)

    def _take(self, piece: bytes) -> None:
        match piece[1]:
            case 2:
                self.configuration = _fields(piece, "<BBHBBBBB", _CONFIGURATION)
                self.configuration.extra_descriptors = []
            case 4:
                interface = _fields(piece, "<9B", _INTERFACE)
                interface.extra_descriptors = []
                self.interfaces.append((interface, []))
            case 5:
                endpoint = _fields(piece, "<BBBBHB", _ENDPOINT)
                endpoint.bRefresh = endpoint.bSynchAddress = 0
                endpoint.extra_descriptors = []
                self.interfaces[-1][1].append(endpoint)


class DescribedBackend(IBackend):  # type: ignore[misc]  # pyusb has no types
    """The part of a backend that only reads descriptors."""

    def get_parent(self, dev: Node) -> None:
        return None

    def get_device_descriptor(self, dev: Node) -> SimpleNamespace:
        return dev.device

    def get_configuration_descriptor(self, dev: Node, config: int) -> SimpleNamespace:
        if config:
            raise IndexError("Invalid configuration index")
        return dev.configuration

    def get_interface_descriptor(self, dev: Node, intf: int, alt: int, config: int) -> SimpleNamespace:
        if alt or intf >= len(dev.interfaces):
            raise IndexError("Invalid interface index")
        return dev.interfaces[intf][0]

    def get_endpoint_descriptor(
        self, dev: Node, ep: int, intf: int, alt: int, config: int
    ) -> SimpleNamespace:
        endpoints = dev.interfaces[intf][1]
        if ep >= len(endpoints):
            raise IndexError("Invalid endpoint index")
        return endpoints[ep]


def fill(buffer: array[int], data: bytes) -> int:
    """Put data where pyusb wants it; how many bytes fitted."""
    count = min(len(buffer), len(data))
    buffer[:count] = array("B", data[:count])
    return count
