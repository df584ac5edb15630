"""A simulated device in a process of its own, exported over USB/IP on 127.0.0.1.

The device server is the package ``usbip``; what the device does is our simulator, and its verbs come
as JSON lines on standard input. :class:`UsbipProcess` is the test's handle of such a process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from daemon.registry import protocol, simulator
from daemon.simhost import SimulatorHost

ROOT = Path(__file__).parents[2]
PACKET = 64


class UsbWire:
    """A bulk pair on a USB/IP server (see :class:`daemon.simhost.Wire`)."""

    def __init__(self, vendor: int, product: int, serial: str, port: int) -> None:
        self._ids = (vendor, product)
        self._serial = serial
        self._port = port
        self._bulk_in: Any = None
        self._device: Any = None

    def plug(self, on_bytes: Callable[[bytes], None], on_attach: Callable[[], None]) -> None:
        """Export the device. What comes in is handed to the event loop."""
        from usbip import USBIP, In, Interface, Out, USBDevice

        loop = asyncio.get_running_loop()

        class Bulk(Interface):  # type: ignore[misc]  # the package has no types
            out_endpoint = Out(0x02, "bulk", mps=PACKET)
            in_endpoint = In(0x82, "bulk", mps=PACKET)

            def on_out(self, endpoint: object, data: bytes) -> None:
                if data:
                    loop.call_soon_threadsafe(on_bytes, bytes(data))

            def on_reset(self) -> None:
                loop.call_soon_threadsafe(on_attach)

        self._device = USBDevice(*self._ids, serial=self._serial or None)
        self._bulk_in = self._device.add(Bulk()).in_endpoint
        self._device.plug(via=USBIP("127.0.0.1", self._port))

    def unplug(self) -> None:
        """Export it no more."""
        if self._device is not None:
            self._device.unplug()
            self._device = self._bulk_in = None

    def write(self, data: bytes) -> None:
        """Packets for the host, which comes for them."""
        for at in range(0, len(data), PACKET):
            self._bulk_in.write(data[at : at + PACKET])


async def _serve(arguments: argparse.Namespace) -> None:
    made = simulator(protocol(arguments.role, arguments.protocol))
    wire = UsbWire(arguments.vendor, arguments.product, arguments.serial, arguments.port)
    host = SimulatorHost(made(**json.loads(arguments.traits)), [wire])
    host.plug()
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def answer() -> None:
        line = sys.stdin.readline()
        if not line:
            ended.set()
            return
        print(json.dumps(host.control(json.loads(line))), flush=True)

    loop.add_reader(sys.stdin.fileno(), answer)
    print(json.dumps({"ready": True}), flush=True)
    await ended.wait()


class UsbipProcess:
    """A device process that can be killed and started again on its port.

    ``traits`` are the arguments of the simulator, of JSON's types.
    """

    def __init__(
        self, role: str, name: str = "fdp", vendor: int = 0x1209, product: int = 0x0001, serial: str = ""
    ) -> None:
        self.port = _free_port()
        self._arguments = [role, name, f"--vendor={vendor}", f"--product={product}", f"--serial={serial}"]
        self._process: subprocess.Popen[str] | None = None

    def start(self, **traits: object) -> None:
        """Plug in."""
        command = [sys.executable, "-m", __name__, *self._arguments, f"--port={self.port}"]
        self._process = subprocess.Popen(
            [*command, f"--traits={json.dumps(traits)}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self._line()

    def control(self, verb: str, **arguments: object) -> dict[str, Any]:
        """A verb of the simulator; its answer."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": verb, **arguments}) + "\n")
        self._process.stdin.flush()
        answer = self._line()
        assert "error" not in answer, answer
        return answer

    def kill(self) -> None:
        """As an unplugged cable: without a word."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _line(self) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def main() -> None:
    """Run one device until its standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("role")
    parser.add_argument("protocol")
    for name in ("vendor", "product", "port"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--serial")
    parser.add_argument("--traits")
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
