"""A simulated sign that listens to SAS progressive broadcasts, and goes dark when none comes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Final

from transitions import Machine

from drivers.base import MILLISECOND, SECOND, Send
from drivers.sign.sas_frames import BadFrame, Broadcast, BroadcastReader

LIMIT: Final = 5 * SECOND  # without a broadcast for its group and level
BOOT_TIME: Final = 500 * MILLISECOND
DARK: Final = "--"
HISTORY: Final = 10_000  # amounts remembered


class Life(Enum):
    """What the sign itself is doing."""

    OFF = "off"
    BOOTING = "booting"
    DARK = "dark"
    SHOWING = "showing"


ROWS: Final[list[list[str | Enum]]] = [
    # trigger, from, to
    ["power_on", Life.OFF, Life.BOOTING],
    ["booted", Life.BOOTING, Life.DARK],
    ["power_off", Life.BOOTING, Life.OFF],
    ["power_off", Life.DARK, Life.OFF],
    ["power_off", Life.SHOWING, Life.OFF],
    ["heard", Life.DARK, Life.SHOWING],
    ["heard", Life.SHOWING, Life.SHOWING],
    ["forgotten", Life.SHOWING, Life.DARK],
]


class SasProgressiveSim:
    """The sign's side of the wire: shows ``level`` of ``group``, whichever broadcast brings it.

    Verbs: state, history, power-cycle, power-off, power-on.
    """

    def __init__(self, group: int = 1, level: int = 1) -> None:
        self._group, self._level = group, level
        self.life: Life = Life.DARK
        self._machine = Machine(
            model=self,
            states=Life,
            transitions=ROWS,
            initial=Life.DARK,
            auto_transitions=False,
            send_event=True,
            ignore_invalid_triggers=True,
            model_attribute="life",
        )
        self._reader = BroadcastReader()
        self._due: int | None = None
        self._amount = 0
        self._heard_at: int | None = None
        self._broadcasts = 0
        self._errors = 0
        self._history: deque[int] = deque(maxlen=HISTORY)

    # --- the simulator protocol ----------------------------------------------------------

    @property
    def deadline(self) -> int | None:
        """When the sign goes dark or has booted (ns); None when nothing is awaited."""
        return self._due

    def opened(self, now: int) -> list[Send]:
        """A sign says nothing when somebody attaches."""
        return self.tick(now)

    def tick(self, now: int) -> list[Send]:
        """Ends the boot, or what is shown for too long."""
        if self._due is not None and now >= self._due:
            self._due = None
            if not self._do("booted"):
                self._do("forgotten")
        return []

    def received(self, data: bytes, now: int) -> list[Send]:
        """Bytes that arrive at ``now``. There is no answer to anything."""
        self.tick(now)
        if self.life in (Life.OFF, Life.BOOTING):
            return []
        for found in self._reader.feed(data):
            if isinstance(found, BadFrame):
                self._errors += 1
            else:
                self._take(found, now)
        return []

    def control(self, verb: dict[str, object], now: int) -> tuple[dict[str, object], list[Send]]:
        """A test verb; what cannot be done answers an error."""
        self.tick(now)
        verbs: dict[str, Callable[[int], dict[str, object]]] = {
            "state": self._state,
            "history": lambda now: {"amounts": list(self._history)},
            "power-cycle": self._power_cycle,
            "power-off": self._power_off,
            "power-on": self._power_on,
        }
        name = verb.get("do")
        act = verbs.get(name) if isinstance(name, str) else None
        return (act(now) if act else {"error": f"unknown verb: {name!r}"}), []

    def _take(self, broadcast: Broadcast, now: int) -> None:
        self._broadcasts += 1
        levels = broadcast.levels if broadcast.group == self._group else ()
        amount = next((level.amount for level in levels if level.number == self._level), None)
        if amount is None:
            return
        self._amount, self._heard_at, self._due = amount, now, now + LIMIT
        self._do("heard")
        if not self._history or self._history[-1] != amount:
            self._history.append(amount)

    # --- control -------------------------------------------------------------------------

    def _do(self, trigger: str) -> bool:
        return bool(self._machine.events[trigger].trigger(self))

    def _state(self, now: int) -> dict[str, object]:
        shows = self.life is Life.SHOWING
        texts = {Life.OFF: "", Life.BOOTING: "", Life.DARK: DARK}
        age = None if self._heard_at is None else (now - self._heard_at) // MILLISECOND
        return {
            "state": self.life.value,
            "text": texts.get(self.life, f"${self._amount // 100:,}.{self._amount % 100:02d}"),
            "priority": None,
            "amount": self._amount if shows else None,
            "files": {},
            "memory": [],
            "errors": self._errors,
            "broadcasts": self._broadcasts,
            "age_ms": age,
        }

    def _power_cycle(self, now: int) -> dict[str, object]:
        self._do("power_off")
        return self._power_on(now)

    def _power_off(self, now: int) -> dict[str, object]:
        self._due, self._heard_at, self._reader = None, None, BroadcastReader()
        return {"ok": True} if self._do("power_off") else {"error": "it is off"}

    def _power_on(self, now: int) -> dict[str, object]:
        if not self._do("power_on"):
            return {"error": "it is on"}
        self._due, self._reader = now + BOOT_TIME, BroadcastReader()
        return {"ok": True}
