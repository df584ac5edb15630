"""A running virtual machine: commands inside it, and USB devices that are plugged and unplugged.

qemu emulates the processor (no KVM needed), an xHCI controller and FTDI adapters. Each adapter's
far end is a TCP connection to a simulator on the host, made when it is plugged and cut when it is
unplugged: what a device says meanwhile is lost on the wire, as it is with a real cable.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from tests.vm.image import Image

BOOT_SECONDS: Final = 300.0  # 10 s on an idle machine
QMP_SECONDS: Final = 60.0
MEMORY_MIB: Final = 768
AGENT: Final = Path(__file__).with_name("agent.py")


class GuestError(Exception):
    """The virtual machine did not do what was asked; the text ends with its console's last lines."""


class Done(NamedTuple):
    """What became of a command."""

    rc: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Adapter:
    """A USB serial adapter: its name in a test, its serial number, where its device listens."""

    name: str
    serial: str
    address: tuple[str, int]
    port: int = 1  # of the controller, 1 to 4; by-path follows from it

    @property
    def by_id(self) -> str:
        """The name that udev gives it."""
        return f"/dev/serial/by-id/usb-QEMU_QEMU_USB_SERIAL_{self.serial}-if00-port0"


class _Lines:
    """JSON lines over a Unix socket that qemu listens on. Raises GuestError, TimeoutError."""

    def __init__(self, path: Path, seconds: float) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        give_up = time.monotonic() + seconds
        while True:
            try:
                self._socket.connect(str(path))
                break
            except OSError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.05)
        self._half = b""

    def send(self, value: object) -> None:
        self._socket.sendall(json.dumps(value).encode() + b"\n")

    def receive(self, seconds: float) -> dict[str, Any]:
        give_up = time.monotonic() + seconds
        while b"\n" not in self._half:
            self._socket.settimeout(max(0.01, give_up - time.monotonic()))
            data = self._socket.recv(65536)
            if not data:
                raise GuestError("qemu hung up")
            self._half += data
        line, self._half = self._half.split(b"\n", 1)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        self._socket.close()


class Qmp:
    """qemu's monitor: one command at a time; events are kept until somebody waits for them."""

    def __init__(self, path: Path) -> None:
        self._lines = _Lines(path, QMP_SECONDS)
        self._events: deque[dict[str, Any]] = deque(maxlen=1000)
        self._lines.receive(QMP_SECONDS)  # the greeting
        self.do("qmp_capabilities")

    def do(self, command: str, **arguments: object) -> Any:
        """Raises GuestError when qemu refuses."""
        self._lines.send({"execute": command, "arguments": arguments})
        while True:
            answer = self._lines.receive(QMP_SECONDS)
            if "event" in answer:
                self._events.append(answer)
            elif "error" in answer:
                raise GuestError(f"{command}: {answer['error']['desc']}")
            else:
                return answer["return"]

    def wait_for(self, event: str, **data: object) -> None:
        """Until ``event`` with these data has come, also before this call."""
        while True:
            while self._events:
                seen = self._events.popleft()
                if seen["event"] == event and data.items() <= seen.get("data", {}).items():
                    return
            self._events.append(self._lines.receive(QMP_SECONDS))

    def close(self) -> None:
        self._lines.close()


class Guest:
    """A virtual machine from :func:`tests.vm.image.image`; ``folder`` keeps its files.

    There: ``console.log``, ``qemu.log`` (traces of what the guest sets on its adapters) and ``share/``,
    which is ``/host`` inside. Use as a context manager: it boots, and at the end only this
    qemu is killed.
    """

    def __init__(self, image: Image, folder: Path) -> None:
        self.folder = folder
        self.share = folder / "share"
        self.share.mkdir(parents=True)
        shutil.copy(AGENT, self.share)
        self._adapters: dict[str, Adapter] = {}
        self._plugged: set[str] = set()
        self._image = image
        self._closed = contextlib.ExitStack()

    def __enter__(self) -> Self:
        try:
            self._boot()
        except BaseException:
            self._closed.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.close()

    # --- inside

    def run(self, command: str | list[str], timeout: float = 60.0) -> Done:
        """Carry out words, or a shell's text, as root. ``rc`` is 124 when ``timeout`` (s) was over."""
        self._agent.send({"command": command, "timeout": timeout})
        try:
            answer = self._agent.receive(timeout + QMP_SECONDS)
        except TimeoutError:
            raise GuestError(f"no answer to {command!r}\n{self.console()}") from None
        return Done(answer["rc"], answer["out"], answer["err"])

    def must(self, command: str | list[str], timeout: float = 60.0) -> str:
        """The standard output of a command that succeeds. Raises GuestError."""
        rc, out, err = self.run(command, timeout)
        if rc != 0:
            raise GuestError(f"{command!r} ended with {rc}: {out}{err}")
        return out

    def put(self, file: Path) -> str:
        """Bring a file or folder in; its path inside."""
        target = self.share / file.name
        if file.is_dir():
            shutil.copytree(file, target, dirs_exist_ok=True)
        else:
            shutil.copy(file, target)
        return f"/host/{file.name}"

    def get(self, path: str) -> Path:
        """Bring a file out; its path here. Raises GuestError."""
        self.must(["cp", "-a", path, "/host/"])
        return self.share / Path(path).name

    def console(self, lines: int = 30) -> str:
        """The last lines of the serial console."""
        log = self.folder / "console.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""

    def traces(self) -> list[str]:
        """What qemu traced of the adapters: the line settings that the guest asked for."""
        log = (self.folder / "qemu.log").read_text(errors="replace")
        return [line for line in log.splitlines() if line.startswith("usb_serial_")]

    # --- USB

    def add(self, adapter: Adapter) -> None:
        """Make an adapter known. It is not plugged yet."""
        self._adapters[adapter.name] = adapter

    def adapter(self, name: str) -> Adapter:
        """An adapter that was made known."""
        return self._adapters[name]

    def plug(self, name: str) -> None:
        """Connect an adapter to its device, and to the guest. Raises GuestError."""
        adapter = self._adapters[name]
        host, port = adapter.address
        peer = {"type": "inet", "data": {"host": host, "port": str(port)}}
        backend = {"type": "socket", "data": {"addr": peer, "server": False, "nodelay": True}}
        self._qmp.do("chardev-add", id=f"wire-{name}", backend=backend)
        self._plugged.add(name)
        self._qmp.do(
            "device_add",
            driver="usb-serial",
            id=name,
            bus="usb.0",
            port=str(adapter.port),
            chardev=f"wire-{name}",
            serial=adapter.serial,
        )

    def unplug(self, name: str) -> None:
        """Pull it out of the guest, and cut its line; nothing if it is not plugged. Raises GuestError."""
        if name not in self._plugged:
            return
        self._qmp.do("device_del", id=name)
        self._qmp.wait_for("DEVICE_DELETED", device=name)
        self._qmp.do("chardev-remove", id=f"wire-{name}")
        self._plugged.remove(name)

    # --- the machine

    def _boot(self) -> None:
        log = self._closed.enter_context((self.folder / "qemu.err").open("wb"))
        self._process = subprocess.Popen(
            self._words(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder
        )
        self._closed.callback(self._kill)
        try:
            self._qmp = Qmp(self.folder / "qmp")
            self._closed.callback(self._qmp.close)
            self._agent = _Lines(self.folder / "agent", QMP_SECONDS)
            self._closed.callback(self._agent.close)
            self._agent.receive(BOOT_SECONDS)
        except (OSError, GuestError) as error:  # TimeoutError is an OSError
            said = (self.folder / "qemu.err").read_text(errors="replace")
            raise GuestError(f"the guest did not start: {error!r}\n{said}{self.console()}") from error

    def _words(self) -> list[str]:
        image = self._image
        return [
            *"setpriv --pdeathsig KILL".split(),  # it does not outlive a test run that is killed
            *"qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot".split(),
            *"-accel tcg,thread=multi -smp 2 -device virtio-rng-pci".split(),
            *("-m", str(MEMORY_MIB), "-kernel", str(image.kernel), "-initrd", str(image.initramfs)),
            *("-append", "console=ttyS0 quiet panic=-1 systemd.show_status=false systemd.log_color=false"),
            *("-drive", f"file={image.system},if=virtio,format=raw,snapshot=on"),
            *("-drive", f"file={image.project},if=virtio,format=raw,snapshot=on"),
            *("-serial", "file:console.log", "-qmp", "unix:qmp,server=on,wait=off"),
            *("-virtfs", "local,path=share,mount_tag=host,security_model=none"),
            *("-device", "virtio-serial-pci", "-chardev", "socket,id=agent,path=agent,server=on,wait=off"),
            *("-device", "virtserialport,chardev=agent,name=agent"),
            *("-device", "qemu-xhci,id=usb", "-trace", "usb_serial_set_*", "-D", "qemu.log"),
        ]

    def _kill(self) -> None:
        self._process.kill()
        self._process.wait()
