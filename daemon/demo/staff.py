"""How the people of a demonstration reach the table: acts that are never doubled, and waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final
from uuid import uuid4

from daemon.client import NotRunning
from daemon.demo.options import DemoFailed
from daemon.demo.world import World

PATIENCE: Final = 120.0  # seconds that a device, or the daemon, may be away
POLL: Final = 1.0  # seconds of one long poll
RETRY: Final = 0.05
IN_ACCOUNT: Final = ("CS-11", "FC-18", "FC-19")

Json = dict[str, Any]


class RoundEnded(Exception):
    """The round that was being played is open no more, whoever ended it."""


class Staff:
    """Dealer and supervisor at one table. ``watch`` is called with each new status, ``told`` with news."""

    def __init__(
        self, world: World, speed: float, watch: Callable[[Json], None], told: Callable[[str], None]
    ) -> None:
        self.world = world
        self.round: int | None = None  # the round that is being played
        self._speed = speed
        self._watch = watch
        self._told = told
        self._run = uuid4().hex
        self._acts = 0

    # --- what is so -------------------------------------------------------------------------

    def status(self, after: int | None = None, wait: float | None = None) -> Json:
        """The table's status; with ``after``, as soon as something newer is known, or after ``wait`` s."""
        status: Json = self._answered(lambda: self.world.client.status(after=after, wait=wait))
        self._watch(status)
        return status

    def round_of(self, number: int) -> Json:
        """The public account of a round, open or closed."""
        account: Json = self._answered(lambda: self.world.client.round(number))
        return account

    def wait_for(self, what: str, ready: Callable[[Json], bool], patience: float = PATIENCE) -> Json:
        """The first status for which ``ready`` holds. Raises RoundEnded; DemoFailed after ``patience`` s."""
        give_up = time.monotonic() + patience
        status = self.status()
        while not ready(status):
            self._still_open(status)
            if time.monotonic() > give_up:
                raise DemoFailed(f"waited {patience:.0f} s in vain for {what} ({trouble(status)})")
            status = self.status(status["seq"], POLL)
        return status

    def _still_open(self, status: Json) -> None:
        if self.round is not None and status["round"] != self.round:
            raise RoundEnded

    def pause(self, seconds: float) -> None:
        """Let people see something; divided by the speed. The screen lives on."""
        end = time.monotonic() + seconds / self._speed
        status = self.status()
        while (left := end - time.monotonic()) > 0:
            status = self.status(status["seq"], left)

    # --- what is done -----------------------------------------------------------------------

    def act(self, name: str, role: str = "dealer", **args: str | int) -> Json:
        """Do one act and answer what became of it. Repeated under one key until it is answered."""
        self._acts += 1
        key = f"{self._run}-{self._acts}"
        answer: Json = self._answered(lambda: self._recorded(name, key, role, args))
        for note in answer["notes"]:
            # those are in the round's account
            if self.round is None or not note["clause"].startswith(IN_ACCOUNT):
                self._told(f"{note['clause']} {note['detail']}".strip())
        return answer

    def _recorded(self, name: str, key: str, role: str, args: dict[str, str | int]) -> Json:
        answer = self.world.client.act(name, key, "demo", role, "", 0, **args)
        if answer["seq"] is None:  # the journal was held, or the daemon is ending: nothing was done
            raise NotRunning(reason(answer))
        return answer

    def must(self, name: str, role: str = "dealer", **args: str | int) -> Json:
        """An act that is accepted. Raises RoundEnded if the round is gone, DemoFailed if it was refused."""
        answer = self.act(name, role, **args)
        if not answer["accepted"]:
            self._still_open(self.status())
            raise DemoFailed(f"{name} was refused: {reason(answer)}")
        return answer

    def tell(self, text: str) -> None:
        """News for whoever watches."""
        self._told(text)

    def _answered(self, ask: Callable[[], Any]) -> Any:
        give_up = time.monotonic() + PATIENCE
        while True:
            self.world.tend()
            try:
                return ask()
            except NotRunning as error:
                if time.monotonic() > give_up:
                    raise DemoFailed(f"the daemon does not answer: {error}") from None
                time.sleep(RETRY)


def reason(answer: Json) -> str:
    """Why an act was refused, with its clause, in one line."""
    refusal = answer["refusal"]
    return f"{refusal['clause']} {refusal['reason']}".strip()


def trouble(status: Json) -> str:
    """What keeps the table from playing, in one line."""
    faults = [fault["text"] for fault in status["faults"]]
    proven = status["sign"]["proven"]
    sign = [] if proven else ["the sign is not known to show the present pool"]
    return "; ".join([*faults, *filter(None, [status["not_ready"]]), *sign]) or f"state {status['state']}"
