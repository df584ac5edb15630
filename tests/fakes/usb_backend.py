"""A USB bus in memory that fails as it is told to: a backend of pyusb without libusb and kernel."""

from __future__ import annotations

import errno
import os
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable

import usb.core

from drivers.base import SECOND, Send, Simulator
from tests.fakes.usb_descriptors import DescribedBackend, Node, Shape, fill

FOR_EVER = -1


class FakeDevice:
    """A device on a :class:`FakeBus`, alive only through what is given and what it is told.

    ``simulator`` gives it a life on the real clock. ``configured`` is the active configuration, 0 for
    none; ``kernel_driver`` has the interface until it is detached.
    """

    def __init__(
        self,
        shape: Shape | None = None,
        simulator: Simulator | None = None,
        configured: int = 1,
        kernel_driver: bool = False,
    ) -> None:
        self.shape = shape or Shape()
        self.simulator = simulator
        self.configured = configured
        self.kernel_driver = self._binds = kernel_driver
        self.calls: list[str] = []  # of the host, in order, without reads
        self.threads: set[int] = set()
        self.received = bytearray()
        self.transfers: list[bytes] = []  # what the host wrote, call by call
        self.accepts: int | None = None  # bytes that one transfer takes before its time is over
        self.denies: deque[int] = deque()  # errnos of writes that were taken all the same
        self.hurries = False  # a read that finds nothing says so at once
        self._queue: deque[bytes | int] = deque()
        self._failures: dict[str, deque[int]] = {}
        self._always: dict[str, int] = {}
        self._change = threading.Condition()

    # --- for the test

    def give(self, *items: bytes | int) -> None:
        """What the next reads find, one each: bytes, or the errno with which a read fails."""
        with self._change:
            self._queue.extend(items)
            self._change.notify_all()

    def fail(self, call: str, number: int, times: int = 1) -> None:
        """Let a call of the backend fail so many times, or FOR_EVER (0: not any more)."""
        with self._change:
            self._always.pop(call, None)
            if times == FOR_EVER:
                self._always[call] = number
            else:
                self._failures[call] = deque([number] * times)

    def control(self, verb: str, **arguments: object) -> dict[str, object]:
        """A verb of the simulator."""
        assert self.simulator is not None
        with self._change:
            answer, sends = self.simulator.control({"do": verb, **arguments}, time.monotonic_ns())
            self._send(sends)
        assert "error" not in answer, answer
        return answer

    def count(self, call: str) -> int:
        return self.calls.count(call)

    # --- for the bus

    def called(self, call: str, logged: bool = True) -> None:
        """Note the call, and let it fail if its first word is to fail. Raises USBError."""
        name = call.split()[0]
        with self._change:
            self.threads.add(threading.get_ident())
            if logged:
                self.calls.append(call)
            planned = self._failures.get(name)
            number = planned.popleft() if planned else self._always.get(name)
        if number is not None:
            raise usb_error(number)

    def plugged(self) -> None:
        """It has power from this bus again: what was on its way is lost."""
        with self._change:
            self._queue.clear()
            self.kernel_driver = self._binds
            if self.simulator is not None:
                self._send(self.simulator.opened(time.monotonic_ns()))

    def configure(self, value: int) -> None:
        """A light reset: what it held for the host is forgotten."""
        with self._change:
            self.configured = value
            self._queue.clear()

    def take(self, data: bytes) -> int:
        """The host writes."""
        data = data[: self.accepts]
        with self._change:
            self.received += data
            self.transfers.append(data)
            if self.simulator is not None and data:
                self._send(self.simulator.received(data, time.monotonic_ns()))
        if self.denies:
            raise usb_error(self.denies.popleft())
        return len(data)

    def read(self, buffer: array[int], timeout_ms: int) -> int:
        """The host reads: the next item, for which it waits at most so long."""
        deadline = time.monotonic() + timeout_ms / 1000
        with self._change:
            while True:
                self._live()
                if self._queue:
                    break
                left = deadline - time.monotonic()
                if left <= 0 or self.hurries:
                    raise usb_error(errno.ETIMEDOUT)
                self._change.wait(min(left, 0.005 if self.simulator else left))
            item = self._queue.popleft()
            if isinstance(item, int):
                raise usb_error(item)
            count = fill(buffer, item)
            if count < len(item):
                self._queue.appendleft(item[count:])
            return count

    def _live(self) -> None:
        now = time.monotonic_ns()
        if self.simulator is None:
            return
        due = self.simulator.deadline
        if due is not None and now >= due:
            self._send(self.simulator.tick(now))

    def _send(self, sends: Iterable[Send]) -> None:
        size = self.shape.packet
        for send in sends:
            self._queue.extend(send.data[at : at + size] for at in range(0, len(send.data), size))
        self._change.notify_all()


class FakeBus(DescribedBackend):
    """pyusb's way to the devices that are plugged in. A handle of an earlier plugging is dead for ever."""

    def __init__(self, *devices: FakeDevice) -> None:
        self._nodes: dict[FakeDevice, _Plugged] = {}
        self._stale: list[tuple[_Plugged, int]] = []  # until then (ns) they are still listed
        self._next = 1
        self.delay: Callable[[], float] = lambda: 0  # seconds that a transfer takes longer
        for device in devices:
            self.plug(device)

    def plug(self, device: FakeDevice) -> int:
        """Plug in; the new address."""
        self._next += 1
        device.plugged()
        self._nodes[device] = _Plugged(device, self._next)
        return self._next

    def unplug(self, device: FakeDevice, listed: float = 0) -> None:
        """Pull out. It stays in the list for so many seconds, as on a real bus."""
        node = self._nodes.pop(device)
        node.alive = False
        if listed:
            self._stale.append((node, time.monotonic_ns() + round(listed * SECOND)))

    def enumerate_devices(self) -> Iterable[_Plugged]:
        now = time.monotonic_ns()
        return [node for node, until in list(self._stale) if now < until] + list(self._nodes.values())

    def open_device(self, dev: _Plugged) -> _Plugged:
        dev.call("open")
        return dev

    def close_device(self, dev_handle: _Plugged) -> None:
        dev_handle.owner.calls.append("close")

    def get_configuration(self, dev_handle: _Plugged) -> int:
        dev_handle.call("get_configuration")
        return dev_handle.owner.configured

    def set_configuration(self, dev_handle: _Plugged, config_value: int) -> None:
        dev_handle.call("set_configuration")
        dev_handle.owner.configure(config_value)

    def claim_interface(self, dev_handle: _Plugged, intf: int) -> None:
        dev_handle.call(f"claim {intf}")
        if dev_handle.owner.kernel_driver:
            raise usb_error(errno.EBUSY)

    def release_interface(self, dev_handle: _Plugged, intf: int) -> None:
        dev_handle.call(f"release {intf}")

    def is_kernel_driver_active(self, dev_handle: _Plugged, intf: int) -> bool:
        dev_handle.call("is_kernel_driver_active")
        return dev_handle.owner.kernel_driver

    def detach_kernel_driver(self, dev_handle: _Plugged, intf: int) -> None:
        dev_handle.call("detach")
        dev_handle.owner.kernel_driver = False

    def attach_kernel_driver(self, dev_handle: _Plugged, intf: int) -> None:
        dev_handle.call("attach")
        dev_handle.owner.kernel_driver = True

    def clear_halt(self, dev_handle: _Plugged, ep: int) -> None:
        dev_handle.call(f"clear_halt {ep:02x}")

    def reset_device(self, dev_handle: _Plugged) -> None:
        dev_handle.call("reset")

    def bulk_write(self, dev_handle: _Plugged, ep: int, intf: int, data: array[int], timeout: int) -> int:
        time.sleep(self.delay())
        dev_handle.call("write")
        return dev_handle.owner.take(data.tobytes())

    def bulk_read(self, dev_handle: _Plugged, ep: int, intf: int, buff: array[int], timeout: int) -> int:
        time.sleep(self.delay())
        dev_handle.call("read", logged=False)
        count = dev_handle.owner.read(buff, timeout)
        dev_handle.check()
        return count

    def ctrl_transfer(
        self,
        dev_handle: _Plugged,
        bmRequestType: int,
        bRequest: int,
        wValue: int,
        wIndex: int,
        data: array[int],
        timeout: int,
    ) -> int:
        dev_handle.call("control", logged=False)
        return fill(data, dev_handle.owner.shape.string(wValue & 0xFF))


class _Plugged(Node):
    """One plugging of a device: what an address means until it is pulled out."""

    def __init__(self, owner: FakeDevice, address: int) -> None:
        super().__init__(owner.shape.device, owner.shape.configuration, address)
        self.owner = owner
        self.alive = True

    def call(self, name: str, logged: bool = True) -> None:
        self.check()
        self.owner.called(name, logged)

    def check(self) -> None:
        if not self.alive:
            raise usb_error(errno.ENODEV)


def usb_error(number: int) -> usb.core.USBError:
    """The exception by which pyusb's libusb backend tells this errno."""
    kind = usb.core.USBTimeoutError if number == errno.ETIMEDOUT else usb.core.USBError
    return kind(os.strerror(number), errno=number)
