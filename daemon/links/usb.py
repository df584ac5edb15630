"""A pair of USB bulk endpoints (protocols.md sections 1, 5 and 7).

pyusb's Device objects belong to one thread and to one plugging: after a loss the old object answers
ENODEV for ever. So each opening searches anew, and everything it took is let go of at its end.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

import usb.core
import usb.util
from usb.backend import IBackend

from daemon.links.base import Cause, LinkError, LinkLost, cause_of
from daemon.links.serial import holders
from daemon.links.threaded import ThreadedLink
from drivers.protocol import Line

TRIES: Final = 8  # of one opening, while the list of devices is stale (seen: 176 ms) or another lets go
PAUSE_SECONDS: Final = 0.05  # between two tries
WRITE_SECONDS: Final = 1.0  # within which a device takes what one write gives it
STALLS: Final = 3  # halts in a row that are cleared; one alone is normal

SYSFS: Final = Path("/sys/bus/usb/devices")

_GONE: Final = (errno.ENODEV, errno.ENOENT)
_NO_DATA: Final = (errno.ETIMEDOUT, errno.EINTR)

_ID: Final = re.compile(r"[0-9a-fA-F]{4}")
_ENDPOINTS: Final = {"out": range(0x01, 0x10), "in": range(0x81, 0x90)}


@dataclass(frozen=True, slots=True)
class Quirks:
    """What a device does otherwise than the standard. ``first_write_may_fail``: its first transfer
    after plugging may come to nothing, until a reset."""

    first_write_may_fail: bool = False


_QUIRKS: Final[Mapping[tuple[int, int], Quirks]] = {
    (0x8765, 0x1234): Quirks(first_write_may_fail=True),  # BetaBrite Prism (protocols.md section 5)
}


@dataclass(frozen=True, slots=True)
class UsbAddress:
    """Which device, and which of its endpoints. ``serial`` "" is the only one of its kind; None is
    read from the descriptors."""

    vendor: int
    product: int
    serial: str = ""
    interface: int | None = None
    out_endpoint: int | None = None
    in_endpoint: int | None = None

    def __str__(self) -> str:
        serial = f":{self.serial}" if self.serial else ""
        return f"{self.vendor:04x}:{self.product:04x}{serial}"


def parse_url(url: str) -> UsbAddress:
    """The address in ``usb://VID:PID[:SERIAL][?interface=0&out=02&in=82]``.

    Vendor, product and endpoints are hexadecimal; the serial number may be percent-encoded. Endpoints
    that are not given are those of the first interface that has a bulk pair. Raises ValueError.
    """
    parts = urlsplit(url)
    vendor, _, rest = parts.netloc.partition(":")
    product, _, serial = rest.partition(":")
    ids = _ID.fullmatch(vendor) and _ID.fullmatch(product)
    if parts.scheme != "usb" or not ids or parts.path.strip("/") or parts.fragment:
        raise ValueError(f"not a USB device: {url!r} (usb://VID:PID or usb://VID:PID:SERIAL)")
    settings = dict(_setting(key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True))
    return UsbAddress(int(vendor, 16), int(product, 16), unquote(serial), **settings)


def _setting(key: str, value: str) -> tuple[str, int]:
    if key == "interface" and value.isdecimal() and int(value) < 256:
        return key, int(value)
    if key in _ENDPOINTS and re.fullmatch(r"[0-9a-fA-F]{2}", value) and int(value, 16) in _ENDPOINTS[key]:
        return f"{key}_endpoint", int(value, 16)
    raise ValueError(f"not a setting of a USB link: {key}={value}")


class UsbLink(ThreadedLink):
    """A USB device's bulk pair. ``url`` as in :func:`parse_url`; there is no line to set.

    ``backend`` is pyusb's way to the bus; None is libusb. Raises ValueError for a URL that is not right.
    """

    def __init__(self, url: str, line: Line | None = None, backend: IBackend | None = None) -> None:
        address = parse_url(url)
        super().__init__(UsbTransport(address, backend), f"usb {address}", str(address))


class UsbTransport:
    """The blocking side of :class:`UsbLink` (see :class:`daemon.links.threaded.Transport`)."""

    def __init__(self, address: UsbAddress, backend: IBackend | None = None) -> None:
        self._address = address
        self._backend = backend
        self._quirks = _QUIRKS.get((address.vendor, address.product), Quirks())
        self._device: usb.core.Device | None = None
        self._pair = _Pair(0, 0, 0, 0)
        self._detached = False  # the kernel's driver gets the interface back
        self._unproved = False  # the first write may still fail
        self._stalls: dict[int, int] = {}  # in a row, by endpoint

    def open(self) -> None:
        """Find, configure if need be, and claim. Raises LinkError.

        A device that is gone may be an entry of a stale list, and one that is busy may be let go
        of: both are tried again, for less than a second.
        """
        for left in reversed(range(TRIES)):
            try:
                self._take()
                return
            except usb.core.USBError as error:
                failure = _open_error(self._address, self._device, self._pair.interface, error)
                self.close()
                if not left or error.errno not in (*_GONE, errno.EBUSY):
                    raise failure from error
            time.sleep(PAUSE_SECONDS)

    def read(self, timeout_ms: int) -> bytes:
        """One packet, or nothing. Raises LinkLost.

        Asked for a packet and no more, libusb never waits for one that a device does not send
        after a transfer that is a multiple of the packet size.
        """
        assert self._device is not None
        try:
            data = self._device.read(self._pair.in_endpoint, self._pair.packet, max(1, timeout_ms))
        except usb.core.USBError as error:
            self._failed(error, self._pair.in_endpoint)
            return b""
        if data:
            self._stalls.pop(self._pair.in_endpoint, None)
        return bytes(data)

    def write(self, data: bytes) -> None:
        """All of it, ended by a short packet. Raises LinkLost.

        What an endpoint took before it stalled is unknown. It is not sent again: the driver asks.
        """
        try:
            self._put(data)
        except usb.core.USBError as error:
            if error.errno in _NO_DATA:
                raise LinkLost(Cause.SILENT, f"{self._address} stalled: it takes no bytes") from error
            self._failed(error, self._pair.out_endpoint)
        else:
            self._stalls.pop(self._pair.out_endpoint, None)

    def close(self) -> None:
        """Release the interface, give it back to the kernel's driver, forget the device."""
        device, self._device = self._device, None
        if device is None:
            return
        with suppress(usb.core.USBError):
            usb.util.release_interface(device, self._pair.interface)
        if self._detached:
            self._detached = False
            with suppress(usb.core.USBError):
                device.attach_kernel_driver(self._pair.interface)
        with suppress(usb.core.USBError):
            usb.util.dispose_resources(device)

    def _take(self) -> None:
        self._device = _find(self._address, self._backend)
        self._pair = _bulk_pair(_configuration(self._device), self._address)
        self._claim(self._device)
        self._unproved = self._quirks.first_write_may_fail
        self._stalls.clear()

    def _claim(self, device: usb.core.Device) -> None:
        if _kernel_driver_active(device, self._pair.interface):
            device.detach_kernel_driver(self._pair.interface)
            self._detached = True
        usb.util.claim_interface(device, self._pair.interface)

    def _put(self, data: bytes) -> None:
        sent = self._first_packet(data) if self._unproved else 0
        deadline = time.monotonic() + WRITE_SECONDS
        while sent < len(data):
            sent += self._transfer(data[sent:], deadline)
        if len(data) % self._pair.packet == 0:
            self._transfer(b"", deadline)

    def _first_packet(self, data: bytes) -> int:
        """A packet arrives whole or not at all: when it fails, nothing of it can come twice."""
        assert self._device is not None
        self._unproved = False
        packet = data[: self._pair.packet]
        try:
            return self._transfer(packet, time.monotonic() + WRITE_SECONDS)
        except usb.core.USBError as error:
            if error.errno in _GONE:
                raise
        self._device.reset()
        self._claim(self._device)
        return self._transfer(packet, time.monotonic() + WRITE_SECONDS)

    def _transfer(self, data: bytes, deadline: float) -> int:
        """How many bytes were taken, perhaps not all before the deadline. Raises USBError."""
        assert self._device is not None
        left_ms = int((deadline - time.monotonic()) * 1000)
        if left_ms <= 0:
            raise usb.core.USBTimeoutError("the time for this write is over", errno=errno.ETIMEDOUT)
        return int(self._device.write(self._pair.out_endpoint, data, left_ms))

    def _failed(self, error: usb.core.USBError, endpoint: int) -> None:
        """Go on after what is normal; raise LinkLost for the rest."""
        if error.errno in _NO_DATA:
            return
        stalls = self._stalls.get(endpoint, 0)
        if error.errno == errno.EPIPE and stalls < STALLS:
            self._stalls[endpoint] = stalls + 1
            self._clear_halt(endpoint)
            return
        raise self._lost(error) from error

    def _clear_halt(self, endpoint: int) -> None:
        assert self._device is not None
        try:
            self._device.clear_halt(endpoint)
        except usb.core.USBError as error:
            raise self._lost(error) from error

    def _lost(self, error: usb.core.USBError) -> LinkLost:
        cause = Cause.BUSY if error.errno == errno.EBUSY else Cause.LOST
        return LinkLost(cause, f"{self._address}: {_reason(error)}")


# --- finding ---------------------------------------------------------------------------------


def _find(address: UsbAddress, backend: IBackend | None) -> usb.core.Device:
    """The one device of this address. Raises LinkError; USBError when the one it may be cannot be read."""
    ids = {"idVendor": address.vendor, "idProduct": address.product}
    try:
        found = list(usb.core.find(find_all=True, backend=backend, **ids))
    except usb.core.NoBackendError as error:
        raise LinkError(Cause.ABSENT, f"{address}: libusb-1.0 is not here, or has no bus") from error
    if len(found) == 1 and not address.serial:
        return found[0]
    return _the_one(address, [_Candidate(device) for device in found])


class _Candidate:
    """A device of the right kind, and what it says of itself."""

    def __init__(self, device: usb.core.Device) -> None:
        self.device = device
        self.serial = ""
        self.error: usb.core.USBError | None = None
        try:
            self.serial = _serial_number(device)
        except usb.core.USBError as error:
            self.error = _unhidden(error, device)

    @property
    def gone(self) -> bool:
        return self.error is not None and self.error.errno in _GONE

    def may_be(self, serial: str) -> bool:
        """Whether it is there and is asked for, as far as it can be read."""
        return not self.gone and (not serial or (self.error is None and self.serial == serial))


def _the_one(address: UsbAddress, candidates: list[_Candidate]) -> usb.core.Device:
    fitting = [each for each in candidates if each.may_be(address.serial)]
    for each in candidates:
        if len(fitting) != 1 or each is not fitting[0]:
            usb.util.dispose_resources(each.device)
    if len(fitting) == 1:
        return fitting[0].device
    if fitting:
        names = ", ".join(each.serial or "none" for each in fitting)
        detail = f"{address}: {len(fitting)} such devices, serial numbers {names}: which one cannot be known"
        raise LinkError(Cause.WRONG_IDENTITY, detail)
    for each in sorted(candidates, key=lambda each: each.gone):
        if each.error is not None:
            raise each.error
    others = ", ".join(each.serial or "none" for each in candidates)
    there = f"; there are serial numbers {others}" if others else ""
    raise LinkError(Cause.ABSENT, f"{address}: not on the bus{there}")


def _serial_number(device: usb.core.Device) -> str:
    """Its serial number, "" for none. Raises USBError when it cannot be opened.

    Not by ``Device.serial_number``: that turns every error into "the device has no langid".
    """
    try:
        languages = usb.util.get_langids(device)
        if device.iSerialNumber and languages:
            return str(usb.util.get_string(device, device.iSerialNumber, languages[0]))
    except usb.core.USBError as error:
        if error.errno != errno.EPIPE:  # a stall says that there is no such string
            raise
    return ""


# --- taking ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two bulk endpoints of one interface, and the smaller of their packet sizes (bytes)."""

    interface: int
    out_endpoint: int
    in_endpoint: int
    packet: int


def _configuration(device: usb.core.Device) -> usb.core.Configuration:
    """The active configuration. One is set only where none is: on a configured device that is a
    light reset, in which it may forget what it held."""
    try:
        return device.get_active_configuration()
    except usb.core.USBError as error:
        if error.errno is not None:  # with an errno it is a failure, without one it is "none is set"
            raise
    device.set_configuration()
    return device.get_active_configuration()


def _bulk_pair(configuration: usb.core.Configuration, address: UsbAddress) -> _Pair:
    for interface in configuration:
        if interface.bAlternateSetting or address.interface not in (None, interface.bInterfaceNumber):
            continue
        out = _bulk(interface, usb.util.ENDPOINT_OUT, address.out_endpoint)
        into = _bulk(interface, usb.util.ENDPOINT_IN, address.in_endpoint)
        if out is not None and into is not None:
            packet = min(out.wMaxPacketSize, into.wMaxPacketSize)
            return _Pair(interface.bInterfaceNumber, out.bEndpointAddress, into.bEndpointAddress, packet)
    raise LinkError(Cause.WRONG_IDENTITY, f"{address}: it has no such pair of bulk endpoints")


def _bulk(interface: usb.core.Interface, direction: int, wanted: int | None) -> usb.core.Endpoint | None:
    for endpoint in interface:
        number = endpoint.bEndpointAddress
        if (
            usb.util.endpoint_type(endpoint.bmAttributes) == usb.util.ENDPOINT_TYPE_BULK
            and usb.util.endpoint_direction(number) == direction
            and wanted in (None, number)
        ):
            return endpoint
    return None


def _kernel_driver_active(device: usb.core.Device, interface: int) -> bool:
    """Where the system cannot say, the claim does."""
    try:
        return bool(device.is_kernel_driver_active(interface))
    except NotImplementedError:
        return False
    except usb.core.USBError as error:
        if error.errno in _GONE:
            raise
        return False


# --- saying what is wrong --------------------------------------------------------------------


def _open_error(
    address: UsbAddress, device: usb.core.Device | None, interface: int, error: usb.core.USBError
) -> LinkError:
    if device is not None:
        _unhidden(error, device)
    cause = cause_of(error.errno)
    if cause is Cause.BUSY and device is not None:
        return LinkError(cause, f"{address}: held by {_holder(device, interface)}")
    return LinkError(cause, f"{address}: {_reason(error)}")


def _unhidden(error: usb.core.USBError, device: usb.core.Device) -> usb.core.USBError:
    """The error with the errno of the node. libusb says "I/O error" for all but EACCES and ENOENT,
    also for the EPERM by which the device cgroup of a service refuses it."""
    if error.errno == errno.EIO:
        try:
            os.close(os.open(_node(device), os.O_RDWR | os.O_CLOEXEC))
        except OSError as true:
            error.errno = true.errno
    return error


def _reason(error: usb.core.USBError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def _node(device: usb.core.Device) -> str:
    return f"/dev/bus/usb/{device.bus or 0:03d}/{device.address or 0:03d}"


def _holder(device: usb.core.Device, interface: int) -> str:
    """The kernel's driver or the programs that have the interface, as far as we may see them."""
    ports = ".".join(str(port) for port in device.port_numbers or ())
    for bound in SYSFS.glob(f"{device.bus}-{ports}:*.{interface}/driver"):
        if bound.resolve().name != "usbfs":  # that is a program's claim
            return f"the kernel driver {bound.resolve().name}"
    ours = f"pid {os.getpid()} "
    return ", ".join(who for who in holders(_node(device)) if not who.startswith(ours)) or "another program"
