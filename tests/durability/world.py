"""Everything that is not killed: the devices, the people at the table, and time.

A :class:`World` holds what outlives the daemon. It starts one life of the daemon after the other,
and lets its script go on where it was. Time is simulated and moves only when everything that
happens at one instant has happened.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from drivers.base import MILLISECOND, SECOND, Send
from tests.durability.recorder import NOTHING, Order
from tests.durability.scripts import Do, Handle, Script, Step, Wait

ROOT: Final = Path(__file__).parents[2]
OPERATOR: Final = "operator"
PACE: Final = 150 * MILLISECOND  # between two things that people do
PATIENCE: Final = 60 * SECOND  # simulated; nothing that is waited for takes so long
STUCK: Final = 60.0  # seconds of real time that a table may need for one tick
CHUNK: Final = 65_536

Plain = dict[str, Any]


class Dead(Exception):
    """This life of the daemon is over. ``text`` is what it said at its end; "" when it was killed."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text or "killed")
        self.text = text


class Astray(Exception):
    """The round cannot go on as it was written: an act was refused, something is waited for in vain."""


class Nursery:
    """The zygote, and the sockets on which the world listens. One for each process that tests."""

    def __init__(self, library: Path, folder: Path, wrap: tuple[str, ...] = ()) -> None:
        self.sockets = Path(tempfile.mkdtemp(prefix="s", dir=folder))
        self.listeners: dict[str, socket.socket] = {}
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {"LD_PRELOAD": str(library), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        preload = [f"{name}={value}" for name, value in environment.items()]
        # The preload is for the table alone, not for what wraps it.
        command = [*wrap, "env", *preload, sys.executable, "-m", "tests.durability.zygote"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=there)
        there.close()
        self._line = here

    def listen(self, name: str) -> socket.socket:
        if name not in self.listeners:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(self.sockets / name))
            listener.listen()
            listener.setblocking(False)
            self.listeners[name] = listener
        return self.listeners[name]

    def bear(self, order: Plain, descriptors: list[int]) -> int:
        """Start one life; its process id."""
        socket.send_fds(self._line, [json.dumps(order).encode()], descriptors)
        said = self._line.recv(CHUNK)
        if not said:
            raise RuntimeError("the zygote has ended; its error is above")
        return int(said)

    def close(self) -> None:
        self._line.close()
        self._process.wait(STUCK)
        for listener in self.listeners.values():
            listener.close()


class Life:
    """One process of the daemon, seen through its pipes."""

    def __init__(self, nursery: Nursery, order: Plain, log: Path | None = None) -> None:
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        descriptors = [orders, answers]
        if log is not None:
            descriptors.append(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
        self.process = nursery.bear(order | {"sockets": str(nursery.sockets)}, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        self._said = os.fdopen(self._answers)

    def ask(self, **order: object) -> Plain:
        """Raises Dead when there is no answer."""
        try:
            os.write(self._orders, json.dumps(order).encode() + b"\n")
        except BrokenPipeError:
            self.hear()  # what it said at its end, or nothing
            raise Dead from None
        return self.hear()

    def hear(self) -> Plain:
        line = self._said.readline()
        if not line.endswith("\n"):
            raise Dead
        said: Plain = json.loads(line)
        if "failed" in said:
            raise Dead(said["failed"])
        return said

    def close(self) -> None:
        os.close(self._orders)
        self._said.close()


@dataclass(slots=True)
class Acknowledged:
    """What the outside was told that it may rely on."""

    acts: dict[str, Plain] = field(default_factory=dict)  # key to answer
    shown: list[int] = field(default_factory=list)  # amounts on the sign, minor units, without repeats


class World:
    """Devices and people of one script. ``folder`` has the daemon's files."""

    def __init__(self, nursery: Nursery, script: Script, folder: Path, mistake: str = "") -> None:
        self.script = script
        self.folder = folder
        self.sims = script.simulators()
        self.now = 0
        self.told = Acknowledged()
        self.lives = 0
        self.step = 0
        self._handled = -1
        self._nursery = nursery
        self._mistake = mistake
        self._lines: dict[str, socket.socket] = {}
        self._answers = b""
        self._asked: str | None = None  # the act that waits for its answer
        self._life: Life | None = None
        self._state: Plain = {}
        self.points = 0  # of the life that ended in order
        self.process = 0  # of the present or last life
        for name in (*self.sims, OPERATOR):
            nursery.listen(name)

    # --- lives of the daemon

    def live(self, order: Order = NOTHING, log: Path | None = None) -> Plain:
        """Start the daemon; what it recovered. Raises Dead."""
        self.lives += 1
        self._hang_up()
        said = {"script": self.script.name, "folder": str(self.folder), "now": self.now}
        fault = {"action": int(order.action), "at": order.at, "error": order.error, "mistake": self._mistake}
        self._life = Life(self._nursery, said | fault, log)
        self.process = self._life.process
        try:
            recovered = self._life.hear()
            self._exchange()
        except Dead:
            self._bury()
            raise
        return recovered

    def play(self) -> None:
        """Go on with the script to its end. Raises Dead, with the step open, or Astray."""
        self._look_again()
        try:
            while self.step < len(self.script.steps):
                self._do(self.script.steps[self.step])
                self.step += 1
                self._pass_time(PACE)
        except Dead:
            self._bury()
            raise

    def settle(self) -> None:
        """Wait until the devices are there and the sign shows what it should. Raises Dead, or Astray."""
        self._wait(lambda: bool(self._state["devices"] and self._state["sign"]), "devices and sign")

    def _look_again(self) -> None:
        """After a restart people wait once more for what they had waited for before their open act."""
        while (
            self._handled != self.step
            and 0 < self.step < len(self.script.steps)
            and isinstance(self.script.steps[self.step - 1], Wait)
        ):
            self.step -= 1

    def end(self) -> Plain:
        """The last picture of the table; then the daemon ends in order. Raises Dead."""
        life = self._living()
        try:
            picture = life.ask(picture=True)
            self.points = life.ask(end=True)["ended"]
        except Dead:
            self._bury()
            raise
        self._bury()
        return picture

    def kill(self) -> None:
        """Kill it now, wherever it is (it waits for the bench)."""
        if self._life is not None:
            os.kill(self._life.process, signal.SIGKILL)
            with contextlib.suppress(Dead):
                self._life.hear()
            self._bury()

    def _living(self) -> Life:
        if self._life is None:
            raise Dead
        return self._life

    def _bury(self) -> None:
        """The bytes that are on the wires still arrive; nobody hears the answers."""
        if self._life is not None:
            self._accept()
            self._hear_devices()
            self._hear_answers()
            self._life.close()
            self._life = None
        self._hang_up()

    def _hang_up(self) -> None:
        for line in self._lines.values():
            line.close()
        self._lines.clear()
        self._answers = b""

    # --- what people do

    def _do(self, step: Step) -> None:
        if isinstance(step, Wait):
            self._wait(lambda: self._reached(step.what), step.what)
            return
        if isinstance(step, Handle):
            if self._handled != self.step:
                self._handled = self.step
                self._handle(step)
            self._exchange()
            return
        self._wait(lambda: bool(self._state["devices"]), "the devices")
        self._ask(step)

    def _reached(self, what: str) -> bool:
        device, _, state = what.partition("=")
        if state:
            return self.sims[device].control({"do": "state"}, self.now)[0]["state"] == state
        return bool(self._state[what])

    def _handle(self, step: Handle) -> None:
        told, sends = self.sims[step.device].control(dict(step.verb), self.now)
        if "error" in told:
            raise Astray(f"{step.device}: {step.verb['do']}: {told['error']}")
        self._say(step.device, sends)

    def _ask(self, step: Do) -> None:
        """One act under one key, whatever number of lives it takes."""
        key = f"step-{self.step}"
        act = {"name": step.name, "args": dict(step.args), "role": step.role, "key": key}
        give_up = self.now + PATIENCE
        while key not in self.told.acts:
            if self.now > give_up:
                raise Astray(f"{step.name} got no answer")
            self._write(OPERATOR, json.dumps(act).encode() + b"\n")
            self._exchange()
            if key not in self.told.acts:
                self._pass_time(PACE)
        answer = self.told.acts[key]
        if not answer["accepted"]:
            raise Astray(f"{step.name} was refused: {answer['refusal']}")

    # --- time and bytes

    def _wait(self, until: Callable[[], bool], what: str) -> None:
        give_up = self.now + PATIENCE
        while not until():
            if self.now > give_up:
                raise Astray(f"waited in vain for {what}")
            self._pass_time(PACE)

    def _pass_time(self, span: int) -> None:
        end = self.now + span
        while True:
            due = [self._state["deadline"], *[sim.deadline for sim in self.sims.values()]]
            nearest = min((at for at in due if at is not None), default=end)
            if nearest > end:
                break
            self.now = max(self.now + 1, nearest)
            for device, sim in self.sims.items():
                if sim.deadline is not None and sim.deadline <= self.now:
                    self._say(device, sim.tick(self.now))
            self._exchange()
        self.now = max(self.now, end)

    def _exchange(self) -> None:
        """Let everybody speak until all are quiet at this instant. Raises Dead."""
        life = self._living()
        while True:
            self._state = life.ask(now=self.now)
            heard = self._accept()
            heard |= self._hear_devices()
            heard |= self._hear_answers()
            if not heard and not self._state["busy"]:
                return

    def _accept(self) -> bool:
        accepted = False
        for name in (*self.sims, OPERATOR):
            with contextlib.suppress(BlockingIOError):
                line, _ = self._nursery.listen(name).accept()
                line.setblocking(False)
                if name in self._lines:
                    self._lines[name].close()
                self._lines[name] = line
                accepted = True
                if name in self.sims:
                    self._say(name, self.sims[name].opened(self.now))
        return accepted

    def _hear_devices(self) -> bool:
        heard = False
        for name, sim in self.sims.items():
            data = self._read(name)
            if data:
                heard = True
                self._say(name, sim.received(data, self.now))
        self._look_at_sign()
        return heard

    def _look_at_sign(self) -> None:
        amount = self.sims["sign"].control({"do": "state"}, self.now)[0]["amount"]
        if isinstance(amount, int) and self.told.shown[-1:] != [amount]:
            self.told.shown.append(amount)

    def _hear_answers(self) -> bool:
        self._answers += self._read(OPERATOR)
        *lines, self._answers = self._answers.split(b"\n")
        for line in lines:
            told = json.loads(line)
            if told["answer"] is not None:
                self.told.acts[told["key"]] = told["answer"]
        return bool(lines)

    def _say(self, device: str, sends: list[Send]) -> None:
        for send in sends:
            self._write(device, send.data)

    def _write(self, name: str, data: bytes) -> None:
        line = self._lines.get(name)
        if line is not None:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                line.sendall(data)

    def _read(self, name: str) -> bytes:
        line, out = self._lines.get(name), b""
        if line is None:
            return out
        with contextlib.suppress(BlockingIOError, ConnectionResetError):
            while data := line.recv(CHUNK):
                out += data
        return out

    # --- what the devices were told

    def acknowledged_events(self) -> int:
        """How many events the device that the cards come from may forget: those are acknowledged."""
        state = self.sims[self.script.mode].control({"do": "state"}, self.now)[0]
        last, held = state["last_event"], state["unacknowledged"]
        assert isinstance(last, int)
        assert isinstance(held, int)
        return last - held

    def executed(self) -> Mapping[str, int]:
        """How often the source of cards carried out each command."""
        told = self.sims[self.script.mode].control({"do": "state"}, self.now)[0]["executed"]
        assert isinstance(told, dict)
        return told


@contextlib.contextmanager
def nursery(library: Path, folder: Path, *wrap: str) -> Iterator[Nursery]:
    """A zygote, run by the command ``wrap`` if there is one; its sockets are in ``folder``."""
    made = Nursery(library, folder, wrap)
    try:
        yield made
    finally:
        made.close()
