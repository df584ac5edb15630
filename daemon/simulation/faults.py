"""The kinds of faults that a simulated evening meets, and how often each of them came."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from daemon.simulation.rough import SIGN, Killed, RoughBench, Wire
from daemon.watch import LOW_SPACE
from drivers.base import MILLISECOND, SECOND

SECOND_FAULT: Final = 8  # every so many a fault brings a second one within 10 ms
STEPS: Final = 10  # in which ``rate`` faults come

Try = Callable[[], bool]  # False: it cannot happen now, and did not


class Faults:
    """Lets things fail. ``rate`` is the mean number of faults in ten steps of the people; a round of
    seven boxes has about fifty. ``shuffler`` is "" where there is none.

    Every random number comes from ``random``. ``count`` tells the kinds that came.
    """

    def __init__(self, bench: RoughBench, shoe: str, shuffler: str, rate: float, random: Random) -> None:
        self.count: Counter[str] = Counter()
        self._bench = bench
        self._shoe, self._shuffler = shoe, shuffler
        self._chance = rate / STEPS
        self._random = random
        self._kinds: dict[str, Try] = {
            **self._link_faults(),
            **self._device_faults(),
            **self._disk_faults(),
            **self._process_faults(),
        }

    def add(self, kinds: Mapping[str, Try]) -> None:
        """More kinds, those of a game."""
        self._kinds |= kinds

    @property
    def kinds(self) -> list[str]:
        """The names of all kinds."""
        return list(self._kinds)

    def moment(self) -> bool:
        """Something may fail now. Whether it did."""
        if self._random.random() >= self._chance:
            return False
        happened = self._one()
        if happened and not self._random.randrange(SECOND_FAULT):
            self._bench.run_for(self._random.randrange(1, 10) * MILLISECOND)
            self._one()
        return happened

    def cause(self, kind: str) -> bool:
        """Let this happen now. Whether it was possible."""
        happened = self._kinds[kind]()
        self.count[kind] += happened
        return happened

    def _one(self) -> bool:
        names = self._random.sample(list(self._kinds), len(self._kinds))
        # The one that came least, as some can come at few moments only; chance decides among equals.
        return any(self.cause(kind) for kind in sorted(names, key=self.count.__getitem__))

    # --- links ------------------------------------------------------------------------------

    def _link_faults(self) -> dict[str, Try]:
        devices = {"shoe": self._shoe, "shuffler": self._shuffler, "sign": SIGN}
        lost = {
            f"{role}-lost": lambda name=name: self._unplug(name) for role, name in devices.items() if name
        }
        wires = {
            "frame-corrupted": lambda: self._spoil("corrupted"),
            "frame-lost": lambda: self._spoil("lost"),
            "frame-repeated": lambda: self._spoil("repeated"),
            "line-noise": lambda: self._spoil("noise"),
            "frames-delayed": self._delay,
        }
        return {**lost, **wires}

    def _unplug(self, device: str) -> bool:
        if device in self._bench.unplugged:
            return False
        self._bench.unplug(device, self._random.randrange(200, 8_000) * MILLISECOND)
        return True

    def _spoil(self, how: str) -> bool:
        self._random.choice(self._wires()).spoil.append(how)
        return True

    def _delay(self) -> bool:
        wire = self._random.choice(self._wires())
        wire.held_until = self._bench.clock.now + self._random.randrange(5, 3_000) * MILLISECOND
        return True

    def _wires(self) -> list[Wire]:
        return [*self._bench.to_device.values(), *self._bench.to_host.values()]

    # --- devices ----------------------------------------------------------------------------

    def _device_faults(self) -> dict[str, Try]:
        shoe, shuffler = self._shoe, self._shuffler
        kinds: dict[str, Try] = {
            "shoe-power-cycle": lambda: self._does(shoe, "power-cycle"),
            "shuffler-power-cycle": lambda: self._does(shuffler, "power-cycle"),
            "sign-memory-lost": lambda: self._does(SIGN, "power-cycle"),
            "sign-file-spoiled": lambda: self._does(SIGN, "corrupt-memory", label="A"),
            "shoe-jam": lambda: self._does(shoe, "jam"),
            "shuffler-jam": lambda: self._does(shuffler, "jam"),
            "shoe-cover-open": lambda: self._does(shoe, "cover", open=True),
            "shuffler-cover-open": lambda: self._does(shuffler, "cover", open=True),
        }
        return {kind: do for kind, do in kinds.items() if shuffler or not kind.startswith("shuffler")}

    def _does(self, device: str, do: str, **verb: object) -> bool:
        return "error" not in self._bench.handle(device, do, **verb)

    # --- disk and clock ---------------------------------------------------------------------

    def _disk_faults(self) -> dict[str, Try]:
        full = {
            f"disk-full-{point}": lambda point=point: self._fill(point)
            for point in ("begin", "append", "commit")
        }
        return {
            **full,
            "commit-unsure": lambda: self._arm("committed", OSError(errno.EIO, "input/output error")),
            "journal-locked": self._lock,
            "disk-low": self._low,
            "clock-forward": lambda: self._step(1),
            "clock-back": lambda: self._step(-1),
        }

    def _fill(self, point: str) -> bool:
        if self._bench.armed:
            return False
        self._bench.fill_disk(point, self._bench.clock.now + self._random.randrange(1, 4_000) * MILLISECOND)
        return True

    def _lock(self) -> bool:
        self._bench.locked_until = self._bench.clock.now + self._random.randrange(5, 3_000) * MILLISECOND
        return True

    def _low(self) -> bool:
        bench = self._bench
        if bench.room < LOW_SPACE:
            return False
        ample, bench.room = bench.room, LOW_SPACE // 2

        def more_room() -> None:
            bench.room = ample

        bench.later(self._random.randrange(500, 5_000) * MILLISECOND, more_room)
        bench.look()
        return True

    def _step(self, sign: int) -> bool:
        self._bench.clock.offset += sign * self._random.randrange(1, 14 * 86_400) * SECOND
        self._bench.look()
        return True

    # --- the process ------------------------------------------------------------------------

    def _process_faults(self) -> dict[str, Try]:
        return {
            "kill-before-commit": lambda: self._arm("commit", Killed()),
            "kill-after-commit": lambda: self._arm("committed", Killed()),
            "kill-amid-effects": self._kill_amid_effects,
            "kill-after-effects": self._kill_after,
            "sigterm": self._terminate,
            "act-repeated": self._repeat,
            "answer-lost": self._lose_answer,
        }

    def _arm(self, point: str, error: BaseException) -> bool:
        if self._bench.armed or not self._bench.up:
            return False
        self._bench.arm(point, error)
        return True

    def _kill_amid_effects(self) -> bool:
        if self._bench.armed or not self._bench.up:
            return False
        self._bench.sends_left = self._random.randrange(3)
        return True

    def _kill_after(self) -> bool:
        if self._bench.armed or not self._bench.up:
            return False
        self._bench.die_after = True
        return True

    def _terminate(self) -> bool:
        if not self._bench.up:
            return False
        self._bench.end(dirty=False)
        return True

    def _lose_answer(self) -> bool:
        if self._bench.armed or not self._bench.up:
            return False
        self._bench.lose_answer = True
        return True

    def _repeat(self) -> bool:
        already, self._bench.repeat_next = self._bench.repeat_next, True
        return not already
