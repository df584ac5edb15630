"""The host's side of USB/IP as a backend of pyusb: a bus behind a TCP port, without a kernel.

It does what the kernel's virtual host controller does: a device that the server exports is attached
once, when it is first seen, gets a new address and its first configuration, and is gone with the
connection. Protocol: Documentation/usb/usbip_protocol.rst of the Linux kernel, version 1.1.1.
"""

from __future__ import annotations

import errno
import select
import socket
import struct
import threading
import time
from array import array
from collections import deque
from typing import NamedTuple

from tests.fakes.usb_backend import usb_error
from tests.fakes.usb_descriptors import CONFIGURATION, DEVICE, DescribedBackend, Node, fill

VERSION = 0x0111
REQ_DEVLIST, REQ_IMPORT = 0x8005, 0x8003
SUBMIT, UNLINK, RET_SUBMIT, RET_UNLINK = 1, 2, 3, 4
OUT, IN = 0, 1
EXPORTED = struct.Struct(">256s32sIIIHHHBBBBBB")
HEADER = struct.Struct(">IIIII")
PATIENCE = 5.0  # seconds in which a server that lives answers


class Reply(NamedTuple):
    """A RET_SUBMIT or RET_UNLINK."""

    command: int
    seq: int
    status: int
    data: bytes


class UsbipBus(DescribedBackend):
    """The devices that the USB/IP server at ``host:port`` exports."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._attached: dict[str, Attached] = {}
        self._next = 1
        self._lock = threading.Lock()

    def enumerate_devices(self) -> list[Attached]:
        """Attach what is new, forget what is gone. No server is an empty bus."""
        with self._lock:
            self._attached = {busid: each for busid, each in self._attached.items() if each.alive()}
            try:
                for busid in self._exported():
                    if busid not in self._attached:
                        self._next += 1
                        self._attached[busid] = Attached(self._server, busid, self._next)
            except OSError:
                pass
            return list(self._attached.values())

    def _exported(self) -> list[str]:
        with socket.create_connection(self._server, PATIENCE) as server:
            server.sendall(struct.pack(">HHI", VERSION, REQ_DEVLIST, 0))
            _, _, _, count = struct.unpack(">HHII", exactly(server, 12))
            found = []
            for _ in range(count):
                entry = EXPORTED.unpack(exactly(server, EXPORTED.size))
                exactly(server, 4 * entry[-1])  # class, subclass, protocol of each interface
                found.append(entry[1].split(b"\0")[0].decode("ascii"))
        return found

    def open_device(self, dev: Attached) -> Attached:
        if not dev.alive():
            raise usb_error(errno.ENODEV)
        return dev

    def close_device(self, dev_handle: Attached) -> None:
        """The device stays attached, as it stays plugged in."""

    def get_configuration(self, dev_handle: Attached) -> int:
        return dev_handle.configured

    def set_configuration(self, dev_handle: Attached, config_value: int) -> None:
        dev_handle.configure(config_value)

    def claim_interface(self, dev_handle: Attached, intf: int) -> None:
        if intf in dev_handle.claimed:
            raise usb_error(errno.EBUSY)
        dev_handle.claimed.add(intf)

    def release_interface(self, dev_handle: Attached, intf: int) -> None:
        dev_handle.claimed.discard(intf)

    def is_kernel_driver_active(self, dev_handle: Attached, intf: int) -> bool:
        return False

    def clear_halt(self, dev_handle: Attached, ep: int) -> None:
        dev_handle.control(0x02, 0x01, 0, ep, b"", 1000)

    def reset_device(self, dev_handle: Attached) -> None:
        dev_handle.configure(dev_handle.configured)

    def bulk_write(self, dev_handle: Attached, ep: int, intf: int, data: array[int], timeout: int) -> int:
        dev_handle.submit(OUT, ep & 0x0F, data.tobytes(), len(data), timeout)
        return len(data)

    def bulk_read(self, dev_handle: Attached, ep: int, intf: int, buff: array[int], timeout: int) -> int:
        return fill(buff, dev_handle.submit(IN, ep & 0x0F, b"", len(buff), timeout))

    def ctrl_transfer(
        self,
        dev_handle: Attached,
        bmRequestType: int,
        bRequest: int,
        wValue: int,
        wIndex: int,
        data: array[int],
        timeout: int,
    ) -> int:
        given = b"" if bmRequestType & 0x80 else data.tobytes()
        answer = dev_handle.control(bmRequestType, bRequest, wValue, wIndex, given, timeout, len(data))
        return fill(data, answer) if bmRequestType & 0x80 else len(data)


class Attached(Node):
    """One attachment of a device: a connection that carries its transfers."""

    def __init__(self, server: tuple[str, int], busid: str, address: int) -> None:
        self._seq = 0
        self._directions: dict[int, int] = {}  # of what is not answered: only IN brings data
        self._late: dict[int, deque[bytes]] = {}  # by endpoint: what came after its transfer was given up
        self._given_up: dict[int, int] = {}  # seq -> endpoint
        self._socket: socket.socket | None = socket.create_connection(server, PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(struct.pack(">HHI32s", VERSION, REQ_IMPORT, 0, busid.encode("ascii")))
        if struct.unpack(">HHI", exactly(self._socket, 8))[2]:
            raise ConnectionRefusedError(f"{busid} cannot be imported")
        entry = EXPORTED.unpack(exactly(self._socket, EXPORTED.size))
        self._devid = entry[2] << 16 | entry[3]
        device = self._descriptor(DEVICE, 18)
        total = struct.unpack_from("<H", self._descriptor(CONFIGURATION, 9), 2)[0]
        super().__init__(device, self._descriptor(CONFIGURATION, total), address)
        self.claimed: set[int] = set()
        self.configurations_set = 0
        self.configure(self.configuration.bConfigurationValue)

    def alive(self) -> bool:
        """Whether the connection still stands."""
        if self._socket is None:
            return False
        try:
            readable, _, _ = select.select([self._socket], [], [], 0)
            if readable and not self._socket.recv(1, socket.MSG_PEEK):
                self._hang_up()
        except OSError:
            self._hang_up()
        return self._socket is not None

    def configure(self, value: int) -> None:
        """SET_CONFIGURATION."""
        self.control(0x00, 0x09, value, 0, b"", 1000)
        self.configured = value
        self.configurations_set += 1

    def control(
        self, kind: int, request: int, value: int, index: int, data: bytes, timeout_ms: int, length: int = 0
    ) -> bytes:
        """A control transfer on endpoint 0. Raises USBError."""
        setup = struct.pack("<BBHHH", kind, request, value, index, length or len(data))
        return self.submit(IN if kind & 0x80 else OUT, 0, data, length or len(data), timeout_ms, setup)

    def submit(
        self, direction: int, endpoint: int, data: bytes, length: int, timeout_ms: int, setup: bytes = b""
    ) -> bytes:
        """One transfer; what came in. Raises USBError, with ENODEV once the connection is lost."""
        late = self._late.get(endpoint)
        if direction == IN and late:
            return late.popleft()
        try:
            asked = struct.pack(">IiiiI8s", 0, length, 0, -1, 0, setup)
            seq = self._send(SUBMIT, direction, endpoint, asked + data)
            reply = self._reply(seq, timeout_ms / 1000) or self._unlink(seq, direction, endpoint)
        except OSError as error:
            self._hang_up()
            raise usb_error(errno.ENODEV) from error
        if reply is None:
            raise usb_error(errno.ETIMEDOUT)
        if reply.status:
            raise usb_error(-reply.status)
        return reply.data

    def _descriptor(self, kind: int, length: int) -> bytes:
        return self.control(0x80, 0x06, kind << 8, 0, b"", 1000, length)

    def _send(self, command: int, direction: int, endpoint: int, rest: bytes) -> int:
        self._seq += 1
        self._directions[self._seq] = direction
        self._connected().sendall(HEADER.pack(command, self._seq, self._devid, direction, endpoint) + rest)
        return self._seq

    def _unlink(self, seq: int, direction: int, endpoint: int) -> Reply | None:
        """Take a transfer back. It may have ended meanwhile: then its data count."""
        if direction == IN:
            self._given_up[seq] = endpoint
        own = self._send(UNLINK, direction, endpoint, struct.pack(">I24x", seq))
        reply = self._reply(own, PATIENCE, also=seq)
        if reply is None:
            raise ConnectionAbortedError("the server does not answer")
        if reply.command == RET_UNLINK:
            return None
        self._given_up.pop(seq, None)
        self._reply(own, PATIENCE)
        return reply

    def _reply(self, seq: int, seconds: float, also: int = 0) -> Reply | None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self._connected()], [], [], left)[0]:
                return None
            reply = self._receive()
            if reply.seq in (seq, also):
                return reply
            if reply.seq in self._given_up:
                self._late.setdefault(self._given_up.pop(reply.seq), deque()).append(reply.data)
        return None

    def _receive(self) -> Reply:
        raw = exactly(self._connected(), 48)
        command, seq, _, _, _ = HEADER.unpack_from(raw)
        status, actual = struct.unpack_from(">ii", raw, HEADER.size)
        comes = command == RET_SUBMIT and self._directions.pop(seq, OUT) == IN
        return Reply(command, seq, status, exactly(self._connected(), actual) if comes else b"")

    def _connected(self) -> socket.socket:
        if self._socket is None:
            raise ConnectionResetError("detached")
        return self._socket

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def exactly(server: socket.socket, count: int) -> bytes:
    """So many bytes. Raises ConnectionResetError when they never come, TimeoutError when not in time."""
    data = b""
    while len(data) < count:
        piece = server.recv(count - len(data))
        if not piece:
            raise ConnectionResetError("the server hung up")
        data += piece
    return data
