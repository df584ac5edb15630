"""One simulated device in a process of its own: a real PTY or TCP port, and a control socket.

What goes wrong on a wire (silence, noise, slowness, an unplug) is done here, below the simulator,
which only knows its device. ``cli.md``, "Simulator control".
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import socket
import termios
import time
import tty
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol, cast

from drivers.base import MILLISECOND, SECOND, Send, Simulator

LINE_LIMIT: Final = 64 * 1024  # bytes that may be under way on the slowed wire; also the longest verb
ADDRESS_LIMIT: Final = 108  # bytes of a Unix socket's path, with its final NUL
SPLIT_PAUSE: Final = MILLISECOND  # between the single bytes of a split frame
SHORTEST_SLEEP: Final = 0.001  # seconds: a simulator whose deadline stands still cannot take the processor

Answer = dict[str, object]


class Mischief:
    """What the wire does to the device's bytes. Pure; ``now`` in monotonic nanoseconds."""

    def __init__(self) -> None:
        self._mute_until = 0
        self._corrupt = 0
        self._split = False
        self._delay = 0
        self._free_at = 0

    def pass_on(self, data: bytes, now: int) -> list[tuple[int, bytes]]:
        """When to put which bytes on the wire. Order is kept, also when a delay is taken away."""
        if not data or now < self._mute_until:
            return []
        pieces = [data[at : at + 1] for at in range(len(data))] if self._split else [data]
        pieces = self._damaged(pieces)
        start = max(now + self._delay, self._free_at)
        timed = [(start + place * SPLIT_PAUSE, piece) for place, piece in enumerate(pieces)]
        self._free_at = timed[-1][0]
        return timed

    def control(self, verb: Answer, now: int) -> Answer | None:
        """Do a verb of the wire; None if it is none. Raises ValueError for a wrong argument.

        ``mute seconds``; ``corrupt frames`` (one bit in each of the next frames); ``split`` and
        ``delay ms`` last until ``split`` with ``on`` false and ``delay`` with 0.
        """
        match verb.get("do"):
            case "mute":
                self._mute_until = now + int(_number(verb, "seconds", None) * SECOND)
            case "corrupt":
                self._corrupt = int(_number(verb, "frames", 1))
            case "split":
                self._split = verb.get("on", True) is True
            case "delay":
                self._delay = int(_number(verb, "ms", None) * MILLISECOND)
            case _:
                return None
        return {"ok": True}

    def _damaged(self, pieces: list[bytes]) -> list[bytes]:
        if not self._corrupt:
            return pieces
        self._corrupt -= 1
        middle = len(pieces) // 2
        piece = pieces[middle]
        place = len(piece) // 2
        flipped = piece[:place] + bytes([piece[place] ^ 0x04]) + piece[place + 1 :]
        return [*pieces[:middle], flipped, *pieces[middle + 1 :]]


def _number(verb: Answer, key: str, default: int | None) -> float:
    value = verb.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 86_400_000:
        raise ValueError(f"{verb['do']} needs {key}, a number from 0")
    return value


class Wire(Protocol):
    """Where the device's bytes go. ``on_attach`` says that somebody may be there now."""

    def plug(self, on_bytes: Callable[[bytes], None], on_attach: Callable[[], None]) -> None: ...

    def unplug(self) -> None: ...

    def write(self, data: bytes) -> None: ...


class PtyWire:
    """A fresh PTY behind a symlink. Every plug is a new PTY, as a replugged adapter is a new tty."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ends: tuple[int, int] | None = None

    def plug(self, on_bytes: Callable[[bytes], None], on_attach: Callable[[], None]) -> None:
        """Make the PTY raw, then announce it. Our own slave descriptor keeps reads from EIO (B13).

        Raises FileExistsError when something else than a symlink has the path.
        """
        if os.path.lexists(self._path) and not self._path.is_symlink():
            raise FileExistsError(errno.EEXIST, "is there and is no symlink: it is kept", str(self._path))
        master, slave = self._ends = os.openpty()
        tty.setraw(slave)
        os.set_blocking(master, False)
        asyncio.get_running_loop().add_reader(master, self._readable, master, on_bytes)
        self._announce(os.ttyname(slave))
        on_attach()  # a PTY does not tell when somebody opens it

    def unplug(self) -> None:
        """Take the symlink away, then close both ends: whoever has it open gets a hang-up."""
        if self._ends is None:
            return
        master, slave = self._ends
        self._ends = None
        asyncio.get_running_loop().remove_reader(master)
        with suppress(OSError):
            if os.readlink(self._path) == os.ttyname(slave):
                self._path.unlink()
        os.close(slave)
        os.close(master)

    def write(self, data: bytes) -> None:
        """Onto the line. When nobody reads, the oldest bytes go, as on a line without flow control."""
        if self._ends is None:
            return
        master, slave = self._ends
        rest = data[_write_some(master, data) :]
        if rest:
            termios.tcflush(slave, termios.TCIFLUSH)
            _write_some(master, rest)

    def _announce(self, name: str) -> None:
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(name)
        fresh.replace(self._path)

    @staticmethod
    def _readable(master: int, on_bytes: Callable[[bytes], None]) -> None:
        with suppress(BlockingIOError):
            on_bytes(os.read(master, LINE_LIMIT))


def _write_some(descriptor: int, data: bytes) -> int:
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        return 0


class TcpWire:
    """A listening TCP port with one host at a time; a new host takes over, as on a device server."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._listener: socket.socket | None = None
        self._peer: socket.socket | None = None

    def plug(self, on_bytes: Callable[[bytes], None], on_attach: Callable[[], None]) -> None:
        """Listen. Raises OSError when the port is taken."""
        listener = self._listener = socket.create_server(self._address)
        listener.setblocking(False)
        asyncio.get_running_loop().add_reader(listener, self._accept, listener, on_bytes, on_attach)

    def unplug(self) -> None:
        """Hang up and stop listening."""
        self._hang_up()
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    def write(self, data: bytes) -> None:
        """To the host that is connected; what its full socket does not take is lost."""
        if self._peer is None:
            return
        with suppress(BlockingIOError):
            try:
                self._peer.send(data)
            except ConnectionError:
                self._hang_up()

    def _accept(
        self, listener: socket.socket, on_bytes: Callable[[bytes], None], on_attach: Callable[[], None]
    ) -> None:
        with suppress(BlockingIOError, ConnectionError):
            peer, _ = listener.accept()
            self._hang_up()
            self._peer = peer
            peer.setblocking(False)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            asyncio.get_running_loop().add_reader(peer, self._readable, peer, on_bytes)
            on_attach()

    def _readable(self, peer: socket.socket, on_bytes: Callable[[bytes], None]) -> None:
        with suppress(BlockingIOError):
            try:
                data = peer.recv(LINE_LIMIT)
            except ConnectionError:
                data = b""
            if data:
                on_bytes(data)
            else:
                self._hang_up()

    def _hang_up(self) -> None:
        if self._peer is not None:
            asyncio.get_running_loop().remove_reader(self._peer)
            self._peer.close()
            self._peer = None


class SimulatorHost:
    """Gives a simulator its time, its wires and its control. Lives in a running event loop."""

    def __init__(self, sim: Simulator, wires: list[Wire]) -> None:
        self._sim = sim
        self._wires = wires
        self._plugged = False
        self._mischief = Mischief()
        self._line: deque[tuple[int, bytes]] = deque()
        self._under_way = 0
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None

    def plug(self) -> None:
        """Connect every wire. Raises OSError."""
        for wire in self._wires:
            wire.plug(self._received, self._attached)
        self._plugged = True
        self._rearm()

    def unplug(self) -> None:
        """Cut every wire; what was under way is lost. The device itself lives on."""
        self._plugged = False
        for wire in self._wires:
            wire.unplug()
        self._line.clear()
        self._under_way = 0

    def stop(self) -> None:
        """Unplug, and stop the device's clock."""
        self.unplug()
        if self._alarm is not None:
            self._alarm.cancel()

    def control(self, verb: Answer) -> Answer:
        """Do one verb and answer; ``{"error": …}`` when it cannot be done."""
        now = time.monotonic_ns()
        try:
            answer = self._plugging(verb) or self._mischief.control(verb, now)
        except (ValueError, OSError) as error:
            return {"error": str(error)}
        if answer is None:
            answer, sends = self._sim.control(verb, now)
            self._send(sends, now)
        return answer

    def _plugging(self, verb: Answer) -> Answer | None:
        match verb.get("do"), self._plugged:
            case "unplug", True:
                self.unplug()
            case "replug", False:
                self.plug()
            case (("unplug" | "replug"), _):
                pass  # it is so already
            case _:
                return None
        return {"ok": True}

    def _attached(self) -> None:
        now = time.monotonic_ns()
        self._send(self._sim.opened(now), now)

    def _received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        self._send(self._sim.received(data, now), now)

    def _wake(self) -> None:
        self._alarm = None
        now = time.monotonic_ns()
        deadline = self._sim.deadline
        self._send(self._sim.tick(now) if deadline is not None and now >= deadline else [], now)

    def _send(self, sends: Iterable[Send], now: int) -> None:
        for send in sends:
            for due, data in self._mischief.pass_on(send.data, now):
                self._line.append((due, data))
                self._under_way += len(data)
        while self._under_way > LINE_LIMIT:
            self._take()
        self._drain(now)

    def _drain(self, now: int) -> None:
        while self._line and self._line[0][0] <= now:
            data = self._take()
            for wire in self._wires:
                wire.write(data)
        self._rearm()

    def _take(self) -> bytes:
        _, data = self._line.popleft()
        self._under_way -= len(data)
        return data

    def _rearm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        due = [self._line[0][0]] if self._line else []
        due += [self._sim.deadline] if self._sim.deadline is not None else []
        if due:
            seconds = (min(due) - time.monotonic_ns()) / SECOND
            self._alarm = self._loop.call_later(max(SHORTEST_SLEEP, seconds), self._wake)


class _ControlServer(asyncio.Protocol):
    """One connection of the control socket: a JSON object a line, an answer each."""

    def __init__(self, do: Callable[[Answer], Answer]) -> None:
        self._do = do
        self._half = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        *lines, self._half = (self._half + data).split(b"\n")
        for line in lines:
            self._transport.write(json.dumps(self._answer(line)).encode() + b"\n")
        if len(self._half) > LINE_LIMIT:
            self._transport.abort()

    def _answer(self, line: bytes) -> Answer:
        try:
            verb = json.loads(line)
        except ValueError as error:
            return {"error": f"not JSON: {error}"}
        if not isinstance(verb, dict) or not isinstance(verb.get("do"), str):
            return {"error": 'a verb is an object with "do"'}
        return self._do(verb)


async def run_simulator(
    sim: Simulator, *, pty_path: Path | None, tcp: tuple[str, int] | None, control_path: Path | None
) -> None:
    """Run one simulator until SIGTERM or SIGINT, then leave neither symlink nor socket behind.

    The control socket appears last: once it answers, the wire is there. Raises OSError when a
    path or a port cannot be had, and whatever the simulator raises.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    _end_on_signals_and_errors(loop, ended)
    wires: list[Wire] = [PtyWire(pty_path)] if pty_path else []
    wires += [TcpWire(*tcp)] if tcp else []
    host = SimulatorHost(sim, wires)
    try:
        host.plug()
        with _findable(pty_path, control_path) as control:
            if control is None:
                await ended
            else:
                await _controlled(host, control, ended)
    finally:
        host.stop()


def control_beside(pty_path: Path) -> Path:
    """Where the control of a simulated device is looked for by whoever knows only its PTY."""
    return pty_path.with_name(f"{pty_path.name}.control")


@contextmanager
def _findable(pty_path: Path | None, control_path: Path | None) -> Iterator[Path | None]:
    """Where the control socket is to be: as told, and then a symlink beside the PTY leads to it."""
    if pty_path is None:
        yield control_path
        return
    beside = control_beside(pty_path)
    if os.path.lexists(beside) and not (beside.is_symlink() or beside.is_socket()):
        raise FileExistsError(errno.EEXIST, "is there and is no socket: it is kept", str(beside))
    if beside.is_symlink():
        beside.unlink()  # of a simulator that was killed
    if control_path is None or control_path.absolute() == beside.absolute():
        fits = control_path or len(os.fsencode(beside)) < ADDRESS_LIMIT
        yield beside if fits else None
        return
    beside.unlink(missing_ok=True)
    beside.symlink_to(control_path.absolute())
    try:
        yield control_path
    finally:
        if beside.is_symlink() and beside.readlink() == control_path.absolute():
            beside.unlink()


async def _controlled(host: SimulatorHost, path: Path, ended: asyncio.Future[None]) -> None:
    await asyncio.get_running_loop().create_unix_server(lambda: _ControlServer(host.control), path)
    try:
        path.chmod(0o600)
        await ended
    finally:  # only now is it ours to take away
        path.unlink(missing_ok=True)


def _end_on_signals_and_errors(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None]) -> None:
    def end() -> None:
        if not ended.done():
            ended.set_result(None)

    def fail(_: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        # A simulator that raises ends its process: a dead one that still holds its PTY looks mute.
        error = context.get("exception")
        if not ended.done():
            ended.set_exception(error if isinstance(error, Exception) else RuntimeError(context["message"]))

    loop.add_signal_handler(signal.SIGTERM, end)
    loop.add_signal_handler(signal.SIGINT, end)
    loop.set_exception_handler(fail)


class ControlError(Exception):
    """A verb was answered with an error, or was not answered."""


class ControlClient:
    """Blocking client of a simulator's control socket, for tests and the demo.

    It connects when needed and waits up to ``timeout`` seconds for a socket that is not there
    yet. A verb is sent again only when the old connection was dead before it left; after that
    its outcome is unknown, and :class:`ControlError` says so.
    """

    def __init__(self, path: Path | str, timeout: float = 5.0) -> None:
        self._path = str(path)
        self._timeout = timeout
        self._socket: socket.socket | None = None

    def do(self, verb: str, **args: object) -> Answer:
        """Do a verb; returns the answer. Raises ControlError."""
        line = json.dumps({"do": verb, **args}).encode() + b"\n"
        try:
            self._connected().sendall(line)
        except (BrokenPipeError, ConnectionResetError):
            self.close()
            self._connected().sendall(line)
        answer = self._answer(verb)
        if "error" in answer:
            raise ControlError(f"{verb}: {answer['error']}")
        return answer

    def close(self) -> None:
        """Hang up; the next verb connects again."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connected(self) -> socket.socket:
        give_up = time.monotonic() + self._timeout
        while self._socket is None:
            fresh = socket.socket(socket.AF_UNIX)
            fresh.settimeout(self._timeout)
            try:
                fresh.connect(self._path)
                self._socket = fresh
            except OSError as error:
                fresh.close()
                if time.monotonic() >= give_up:
                    raise ControlError(f"{self._path}: {error.strerror}") from error
                time.sleep(0.02)
        return self._socket

    def _answer(self, verb: str) -> Answer:
        sock, received = self._connected(), b""
        try:
            while not received.endswith(b"\n"):
                data = sock.recv(LINE_LIMIT)
                if not data:
                    raise ConnectionResetError("the simulator hung up")
                received += data
        except OSError as error:
            self.close()  # a late answer must not be taken for the next verb's
            raise ControlError(f"{verb}: no answer: {error}") from error
        return cast(Answer, json.loads(received))
