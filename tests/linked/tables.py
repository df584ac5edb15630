"""Whole tables as processes: simulated shoe and sign, the daemon, and its link."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from daemon.client import ApiError, Client, NotRunning
from daemon.simhost import ControlClient
from tests.linked.hall import ROOT, configuration
from tests.linked.house import House

PATIENCE: Final = 90.0  # s
ANTE: Final = 10_000


def until(true: Callable[[], Any], what: str) -> float:
    """Wait for it; the seconds that it took."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() < began + PATIENCE, f"waited in vain for {what}"
        time.sleep(0.01)
    return time.monotonic() - began


class Place:
    """One table in a folder of its own."""

    def __init__(self, folder: Path, house: House, name: str, max_age: int = 60) -> None:
        self.name, self.folder, self.house = house.name(name), folder / name, house
        self.folder.mkdir()
        secret = self.folder / "password"
        dsn = house.dsn(house.enrol(name))
        secret.write_text(re.search(r"password='([^']*)'", dsn)[1] + "\n")  # type: ignore[index]
        secret.chmod(0o600)
        text = configuration(self.name, house.pool, max_age, re.sub(r"password='[^']*'", "", dsn))
        (self.folder / "feltd.toml").write_text(f'{text}password = "password"\n')
        self.client = Client(self.folder / "feltd.sock")
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.shoe = ControlClient(self.folder / "shoe.control", PATIENCE)
        self.sign = ControlClient(self.folder / "sign.control", PATIENCE)

    def start(self) -> None:
        """Everything, and wait until it is ready to play."""
        for role, protocol in (("shoe", "fdp"), ("sign", "alpha")):
            files = ("--pty", f"{role}.tty", "--control", f"{role}.control")
            self.spawn(role, "sim", role, "--protocol", protocol, *files)
        self.spawn("daemon", "run", "--config", "feltd.toml")
        self.spawn("link", "link", "run", "--config", "feltd.toml")

    def spawn(self, what: str, *words: str) -> None:
        self.processes[what] = subprocess.Popen(
            [sys.executable, "-m", "daemon", *words],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / f"{what}.log").open("ab"),
        )

    def kill(self, what: str) -> None:
        process = self.processes.pop(what)
        process.kill()
        process.wait()

    def end(self) -> None:
        self.client.close()
        for control in (self.shoe, self.sign):
            control.close()
        for what in list(self.processes):
            self.kill(what)

    # --- what is seen ---------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        with suppress(NotRunning, ApiError):
            return self.client.status()
        return {}

    @property
    def amount(self) -> int | None:
        """Minor units on the sign."""
        return self.sign.do("state")["amount"]

    @property
    def text(self) -> str:
        """Whatever the sign shows, one after the other."""
        state = self.sign.do("state")
        return " | ".join((state["text"], *state["pages"]))

    # --- what is done ----------------------------------------------------------------------------

    def act(self, name: str, role: str = "dealer", **args: Any) -> dict[str, Any]:
        answer = self.client.act(name, role=role, by="ana", **args)
        assert answer["accepted"], (name, args, answer)
        return answer

    def open_round(self, *boxes: int) -> None:
        """Shuffled, opened, and every box with ante and progressive bet."""
        if self.status()["state"] == "out-of-service":
            self.act("open-table")
        self.act("shuffle")
        self.act("cut")
        until(lambda: self.client.act("open-betting", role="dealer")["accepted"], f"betting at {self.name}")
        for box in boxes:
            self.act("ante", box=box, amount=ANTE)
            self.act("progressive", box=box)

    def draw(self, cards: str) -> None:
        """Each of them is with the table before the next one comes."""
        for card in cards.split():
            before = self.status()["cards"]["out"]
            self.shoe.do("draw", card=card)
            until(lambda before=before: self.status()["cards"]["out"] > before, card)

    def play(self, hand: str, dealer: str = "AC KD 9D 6C 3S") -> None:
        """Box 1 raises with this hand, and the round is settled."""
        pairs = zip(hand.split(), dealer.split(), strict=True)
        self.draw(" ".join(f"{player} {house}" for player, house in pairs))
        self.act("raise", box=1)
        self.act("settle")


@contextmanager
def hall(folder: Path, house: House, *names: str, max_age: int = 60) -> Iterator[list[Place]]:
    """Tables that hear of their pool."""
    places = [Place(folder, house, name, max_age) for name in names]
    try:
        for place in places:
            place.start()
        for place in places:
            ready(place)
        yield places
    finally:
        for place in places:
            place.end()


def ready(place: Place) -> None:
    """It hears of its pool, and its sign shows it."""

    def there() -> bool:
        for what, process in place.processes.items():
            assert process.poll() is None, (place.folder / f"{what}.log").read_text()[-2000:]
        status = place.status()
        return bool(status) and not status["pool"]["stopped"] and not status["not_ready"]

    until(there, f"{place.name} to be ready: {place.status().get('not_ready')}")
    until(lambda: place.amount == place.house.balance, f"the sign of {place.name}")
