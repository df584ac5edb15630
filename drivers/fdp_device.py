"""The device's side of an FDP/1 link: what shoe and shuffler have in common (protocols.md section 1).

A simulated device is a :class:`FdpDevice` with a life of its own. This class keeps the line:
it numbers events, repeats the oldest until it is acknowledged, remembers what became of the
last commands and never carries out an id twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar, Final

from drivers import fdp
from drivers.base import SECOND, Counters, Send
from drivers.cards import Card, parse_card
from drivers.framing import Deframer

DIGEST: Final = b"SIM-1.0\0"  # in place of a hash: a simulator has no firmware image

Verb = dict[str, object]
Answer = dict[str, object]


class Refused(Exception):
    """A control verb cannot be done; the text is the answer."""


def whole(verb: Verb, key: str, default: int, low: int, high: int) -> int:
    """The whole number ``key`` of a verb, ``low`` to ``high``. Raises :class:`Refused`."""
    value = verb.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise Refused(f"{key}: a whole number from {low} to {high}")
    return value


def flag(verb: Verb, key: str, default: bool) -> bool:
    """The true or false ``key`` of a verb. Raises :class:`Refused`."""
    value = verb.get(key, default)
    if not isinstance(value, bool):
        raise Refused(f"{key}: true or false")
    return value


def deck_of(verb: Verb) -> list[Card] | None:
    """The cards of a ``load`` verb in the order it names them; None if it names none."""
    names = verb.get("deck")
    if names is None:
        return None
    if not isinstance(names, list):
        raise Refused("deck: a list of cards")
    try:
        return [parse_card(str(name)) for name in names]
    except ValueError:
        raise Refused("deck: not a list of cards") from None


class FdpDevice:
    """A simulator of FDP/1 (see :class:`drivers.base.Simulator`); a subclass adds its life.

    ``serial`` and ``firmware`` are at most 8 ASCII characters, ``boot`` is 1 to 65535. The device
    is switched on by the first call and keeps the time it is told. ``executed`` counts the
    commands that were carried out, by id.
    """

    ROLE: ClassVar[fdp.Role]

    def __init__(self, serial: str, firmware: str, boot: int) -> None:
        self.counters = Counters()
        self.executed: dict[int, int] = {}
        self.serial, self.firmware, self.boot = serial, firmware, boot
        self.now = 0
        self.fault = 0
        self._deframer = Deframer()
        self._out: list[Send] = []
        self._seq = 0
        self._on_since: int | None = None
        self._last_event = 0
        self._held: deque[fdp.EventFrame] = deque(maxlen=fdp.HOLD)
        self._results: dict[int, fdp.Result] = {}
        self._status_at = self._repeat_at = 0
        self._verbs: dict[str, Callable[[Verb], Answer]] = {
            "jam": self._do_jam,
            "clear": self._do_clear,
            "power-cycle": self._do_power_cycle,
            "state": self._do_state,
        }

    # --- what a subclass adds

    def state_code(self) -> int:
        """The state for STATUS."""
        raise NotImplementedError

    def state_name(self) -> str:
        """The state for a person."""
        raise NotImplementedError

    def cards_inside(self) -> int:
        """The cards in the device."""
        raise NotImplementedError

    def execute(self, frame: fdp.CommandFrame) -> tuple[fdp.Outcome, int]:
        """Carry out a command: its outcome, and a detail (0 to 255)."""
        raise NotImplementedError

    def settle(self) -> None:
        """A fault or a cover changed: take the state that follows from it."""
        raise NotImplementedError

    def restart(self) -> None:
        """The power came back: forget what a device without power forgets."""
        raise NotImplementedError

    @property
    def life_deadline(self) -> int | None:
        """When :meth:`live` is due (ns)."""
        return None

    def live(self) -> None:
        """Do what is due by ``self.now``."""

    # --- the simulator protocol

    @property
    def deadline(self) -> int | None:
        """When :meth:`tick` is due (ns); None before the device was first told the time."""
        if self._on_since is None:
            return None
        due = [self._status_at]
        if self._held:
            due.append(self._repeat_at)
        if self.life_deadline is not None:
            due.append(self.life_deadline)
        return min(due)

    def opened(self, now: int) -> list[Send]:
        """Somebody attached to the line. The device does not know; it may be a new listener."""
        self._at(now)
        self._deframer.clear()
        return self._sent()

    def received(self, data: bytes, now: int) -> list[Send]:
        """Bytes from the host."""
        self._at(now)
        for piece in self._deframer.feed(data):
            if isinstance(piece, bytes):
                self._body(piece)
            else:
                self.counters.dropped(piece.reason)
        return self._sent()

    def tick(self, now: int) -> list[Send]:
        """Live, send the heartbeat, repeat the oldest event."""
        self._at(now)
        if self._held and now >= self._repeat_at:
            self._repeat_at = now + fdp.REPEAT
            self.counters.repeats += 1
            self.send(self._held[0])
        if now >= self._status_at:
            self._status_at = now + fdp.HEARTBEAT
            self.send(self._status())
        return self._sent()

    def control(self, verb: dict[str, object], now: int) -> tuple[dict[str, object], list[Send]]:
        """A test verb of the simulator control; what cannot be done answers an error."""
        self._at(now)
        name = verb.get("do")
        do = self._verbs.get(name) if isinstance(name, str) else None
        try:
            if do is None:
                raise Refused(f"a {self.ROLE.name.lower()} does {', '.join(sorted(self._verbs))}")
            answer: Answer = {"ok": True, **do(verb)}
        except Refused as refused:
            answer = {"error": str(refused)}
        return answer, self._sent()

    # --- for the subclass

    def send(self, frame: fdp.Frame) -> None:
        """Put a frame on the line."""
        self._out.append(Send(fdp.encode(frame, self._seq)))
        self._seq += 1
        self.counters.sent += 1

    def next_event(self) -> int:
        """The number of the event that is told next."""
        return self._last_event % fdp.EVENTS + 1

    def tell(self, event: fdp.EventFrame) -> int:
        """Keep an event made with :meth:`next_event`, and send it; its number."""
        if not self._held:
            self._repeat_at = self.now + fdp.REPEAT
        self._last_event = event.event
        self._held.append(event)
        self.send(event)
        return event.event

    def finish(self, command_id: int, outcome: fdp.Outcome, detail: int = 0) -> None:
        """A command that was accepted has come to its end."""
        if command_id in self._results:
            self._results[command_id] = fdp.Result(command_id, outcome, detail)
            self.send(self._results[command_id])

    def set_fault(self, code: int) -> int:
        """A fault begins; the number of its event."""
        self.fault = code
        number = self.tell(fdp.FaultSet(self.next_event(), code))
        self.settle()
        return number

    def clear_fault(self) -> int:
        """The fault ends; the number of its event."""
        code, self.fault = self.fault, 0
        number = self.tell(fdp.FaultCleared(self.next_event(), code))
        self.settle()
        return number

    @property
    def halted(self) -> bool:
        """Whether the fault stops the device."""
        return self.fault != 0 and fdp.stops_deal(self.fault)

    # --- the line

    def _at(self, now: int) -> None:
        self.now = now
        if self._on_since is None:
            self._on_since = now
            self._status_at = now + fdp.HEARTBEAT
        due = self.life_deadline
        if due is not None and now >= due:
            self.live()

    def _sent(self) -> list[Send]:
        out, self._out = self._out, []
        return out

    def _body(self, body: bytes) -> None:
        try:
            frame = fdp.decode(body)
        except fdp.BadFrame as bad:
            self.counters.dropped(str(bad))
            return
        self.counters.frames += 1
        match frame:
            case fdp.Ack():
                self._acknowledged(frame.event)
            case fdp.CommandFrame():
                self._command(frame)
            case fdp.Query():
                unknown = fdp.Result(frame.command_id, fdp.Outcome.NEVER_SEEN, 0)
                self.send(self._results.get(frame.command_id, unknown))
            case fdp.Nak():
                self._send_from(frame.expected)
            case fdp.GetEvents():
                self._send_from(frame.first)
            case fdp.GetHello():
                self.send(self._hello())
            case fdp.GetStatus():
                self.send(self._status())
            case _:
                self.counters.dropped("frame of a device")

    def _acknowledged(self, number: int) -> None:
        """Forget the events up to ``number``; a number that was never told means nothing."""
        if not _not_after(number, self._last_event):
            return
        while self._held and _not_after(self._held[0].event, number):
            self._held.popleft()
            self._repeat_at = self.now + fdp.REPEAT

    def _send_from(self, number: int) -> None:
        """Send what is held from ``number`` on, or all of it if that is older than the oldest."""
        for event in self._held:
            if _not_after(number, event.event):
                self.send(event)
        self._repeat_at = self.now + fdp.REPEAT

    def _command(self, frame: fdp.CommandFrame) -> None:
        known = self._results.get(frame.command_id)
        if known is None:
            self.executed[frame.command_id] = self.executed.get(frame.command_id, 0) + 1
            known = fdp.Result(frame.command_id, *self.execute(frame))
            self._results[frame.command_id] = known
            if len(self._results) > fdp.HOLD:
                del self._results[next(iter(self._results))]
        self.send(known)

    def _hello(self) -> fdp.Hello:
        return fdp.Hello(self.boot, self._last_event, self.ROLE, self.serial, self.firmware, DIGEST)

    def _status(self) -> fdp.Status:
        uptime = (self.now - (self._on_since or 0)) // SECOND
        return fdp.Status(self.state_code(), self.fault, self._last_event, uptime, self.cards_inside())

    # --- verbs of every device

    def _do_jam(self, verb: Verb) -> Answer:
        code = whole(verb, "code", 0x02, 1, 255)
        if self.fault:
            raise Refused("there is a fault already; clear it first")
        return {"event": self.set_fault(code), "code": code}

    def _do_clear(self, _verb: Verb) -> Answer:
        if not self.fault:
            raise Refused("there is no fault")
        return {"event": self.clear_fault()}

    def _do_power_cycle(self, _verb: Verb) -> Answer:
        self.boot = self.boot % fdp.EVENTS + 1
        self._on_since, self._status_at = self.now, self.now + fdp.HEARTBEAT
        self._seq = self.boot * 101  # another one in each boot, so that a lost HELLO shows as a jump
        self._last_event = self.fault = 0
        self._held.clear()
        self._results.clear()
        self._deframer.clear()
        self.restart()
        self.send(self._hello())
        return {"boot": self.boot}

    def _do_state(self, _verb: Verb) -> Answer:
        return {
            "state": self.state_name(),
            "fault": self.fault,
            "cards": self.cards_inside(),
            "boot": self.boot,
            "last_event": self._last_event,
            "unacknowledged": len(self._held),
            "executed": {str(number): count for number, count in self.executed.items()},
            "drops": dict(self.counters.drops),
        }


def _not_after(number: int, other: int) -> bool:
    """Whether event ``number`` is ``other`` or came before it, round the end of the numbers."""
    return (other - number) % fdp.EVENTS < fdp.EVENTS // 2
