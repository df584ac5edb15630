"""From the options to the exit code: the world, the people, the rounds, the report."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import SystemRandom
from types import FrameType
from typing import Final

from rich.console import Console

from daemon.audit import verify
from daemon.client import ApiError, Client, NotRunning
from daemon.demo.dealer import Dealer
from daemon.demo.five_card import PLANNED, StudReport, StudTable, final_sign_shown, stud_line
from daemon.demo.options import DemoFailed, DemoOptions, Stopped
from daemon.demo.plan import make_plan
from daemon.demo.players import Players
from daemon.demo.report import Report
from daemon.demo.scene import Scene
from daemon.demo.screen import Lines, Picture, Screen
from daemon.demo.staff import Json, Staff
from daemon.demo.world import PIN, World
from daemon.games.five_card import FiveCard, FiveCardRules
from daemon.lock import Held, sole_owner
from daemon.roles import ROLES
from daemon.simhost import ControlError

SIGN_TIME: Final = 10.0  # seconds until the sign shows the last pool
WRONG_USAGE: Final = 2


def run_demo(options: DemoOptions) -> int:
    """Play. The exit code: 0 played and verified, 1 not (one sentence says why), 2 wrong usage.

    With ``as_json`` standard output gets one object, also when it fails: then it has an ``error``.
    """
    told: Json = {}
    code, sentence = _ended(options, told)
    if sentence:
        print(f"feltd demo: {sentence}", file=sys.stderr)
        told["error"] = sentence
    if options.as_json:
        print(json.dumps(told))
    return code


def _ended(options: DemoOptions, told: Json) -> tuple[int, str]:
    """The exit code, and the sentence that says why it is not 0; ``told`` is given the report."""
    try:
        objection = options.objection()
        if objection:
            return WRONG_USAGE, objection
        with _stoppable(), _directory(options.directory) as directory:
            told |= _in(directory, options)
    except DemoFailed as failed:
        return 1, str(failed)
    except OSError as error:
        return 1, f"{error.filename or options.directory}: {error.strerror or error}"
    except (Stopped, KeyboardInterrupt):
        return 1, "the demonstration was stopped"
    journal = told["journal"]
    return (0, "") if journal["verified"] else (1, f"the journal is not whole: {journal['errors'][0]}")


@contextmanager
def _stoppable() -> Iterator[None]:
    """SIGTERM ends the demonstration as Ctrl-C does."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Stopped

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _directory(given: Path | None) -> Iterator[Path]:
    if given is not None:
        with _owned(given.absolute()) as directory:
            yield directory
        return
    path = Path(tempfile.mkdtemp(prefix="feltd-demo-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _owned(directory: Path) -> Iterator[Path]:
    """A directory for this demonstration alone. Raises DemoFailed when another one plays there."""
    directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(sole_owner(directory / "demo.lock"))
        except Held as other:
            raise DemoFailed(f"another demonstration plays in {directory} (pid {other.pid})") from None
        yield directory


def _in(directory: Path, options: DemoOptions) -> Json:
    show = Show(options)
    try:
        seed = SystemRandom().randrange(2**32) if options.seed is None else options.seed
        with World(directory, seed, show.tell, options.game) as world:
            show.enter(world)
            if options.console:
                show.tell(f"console: {world.start_console()} (sign in: {', '.join(ROLES)}; PIN {PIN})")
            play = _play_stud if options.game == FiveCard.name else _play
            report = play(show, world, options, seed)
            world.stop_daemon()
            _verify(report, world.settings.journal)
    finally:
        show.screen.close()
    show.screen.summary(report)
    return report.json()


def _verify(report: Report, journal: Path) -> None:
    found = verify(journal)
    report.journal = {
        "path": str(journal),
        "inputs": found["inputs"],
        "verified": found["verified"],
        "errors": found["errors"],
    }


class Show:
    """Keeps the scene and its screen up to date while the staff is at work."""

    def __init__(self, options: DemoOptions) -> None:
        console = Console(stderr=options.as_json)
        stud = options.game == FiveCard.name
        live = console.is_terminal and not options.as_json and not stud
        self.screen: Screen = Picture(console) if live else Lines(console, stud_line if stud else None)
        self.scene = Scene(wanted=options.rounds)
        self._world: World | None = None
        self._irregularities = 0  # of the round in the scene, told so far

    def enter(self, world: World) -> None:
        """From now on there is something to look at."""
        self._world = world
        if world.continues:
            self.tell(f"continues the journal {world.settings.journal}")

    def tell(self, text: str) -> None:
        self.scene.news.append(text)
        self.screen.news(text)

    def watch(self, status: Json) -> None:
        """A new status is known: draw it if it is time."""
        self.scene.status = status
        if self._world is None or not self.screen.due():
            return
        self.scene.restarts = self._world.restarts
        self.scene.sign = sign_of(self._world)
        with suppress(NotRunning, ApiError):  # the next picture has it
            self._look_at_round(self._world.client, status["round"])
        self.screen.show(self.scene)

    def _look_at_round(self, client: Client, running: int | None) -> None:
        """The running round, or how the last one ended."""
        last = self.scene.account
        if running is None and last.get("outcome") != "open":
            return
        account = client.round(running or last["id"])
        if account["id"] != last.get("id"):
            self._irregularities = 0
        for each in account["irregularities"][self._irregularities :]:
            self.scene.news.append(f"{each['clause']} {each['detail']}")
        self._irregularities = len(account["irregularities"])
        self.scene.account = account


def sign_of(world: World) -> Json:
    """What the sign shows, asked of the sign itself."""
    try:
        return world.sign.do("state")
    except ControlError as error:
        raise DemoFailed(f"the simulated sign does not answer: {error}") from None


def _play(show: Show, world: World, options: DemoOptions, seed: int) -> Report:
    staff = Staff(world, options.speed, show.watch, show.tell)
    players = Players(seed, world.settings.caribbean.ante_min)
    dealer = Dealer(staff, players, make_plan(options.rounds, options.irregularities))
    report = Report(options.game, options.directory is not None)
    dealer.open_table()
    for number in range(1, options.rounds + 1):
        account = staff.round_of(dealer.play(number))
        report.count(account)
        show.scene.played = number
        show.screen.round_over(account, show.scene)
    dealer.close_table()
    report.sign = _final_sign(staff, world)
    report.status = staff.status()
    report.restarts = world.restarts
    return report


def _play_stud(show: Show, world: World, options: DemoOptions, seed: int) -> Report:
    staff, rules = Staff(world, options.speed, show.watch, show.tell), world.settings.rules
    assert isinstance(rules, FiveCardRules)
    table = StudTable(staff, rules, seed, PLANNED if options.irregularities else ())
    report = StudReport(options.game, options.directory is not None)
    table.open_table()
    for number in range(1, options.rounds + 1):
        account = table.play()
        report.count(account)
        show.scene.played = number
        show.screen.round_over(account, show.scene)
    table.close_table()
    final_sign_shown(staff)
    report.sign, report.status, report.restarts = sign_of(world), staff.status(), world.restarts
    return report


def _final_sign(staff: Staff, world: World) -> Json:
    """What the sign shows once it shows the pool. Raises DemoFailed when it does not come to that."""
    give_up = time.monotonic() + SIGN_TIME
    while True:
        status, sign = staff.status(), sign_of(world)
        if sign["amount"] == status["pool"]["now"] and not sign["priority"]:
            return sign
        if time.monotonic() > give_up:
            raise DemoFailed(f"the sign shows {sign['text']!r}, the pool is {status['pool']['now']}")
        staff.status(status["seq"], 0.2)
