"""Processes that may be killed: one with some tables of a linked pool at play, one with their links.

``python -m tests.linked.hosts tables|links FOLDER NAME…``. Each table is the real one, from its engine
to its SQLite journal and its socket; only its devices and its people are played, many inputs a commit.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from daemon import app
from daemon.build import build_table, started
from daemon.clock import SystemClock
from daemon.config import Settings, load
from daemon.engine import Port, recover
from daemon.games.caribbean.game import Caribbean
from daemon.games.desk import Act
from daemon.journal import open_journal
from daemon.linked.authority import Authority
from daemon.linked.run import Link
from daemon.log import Log
from daemon.sealer import load_key
from daemon.service import Service
from daemon.table import FromDevice, Input, LinkChanged
from drivers.base import CardDrawn, SignShows
from drivers.cards import DECK, FaceDownCard, parse_cards

CALL: Final = 5.0  # s that a link waits for an answer of the authority
BOXES: Final = range(1, 8)
DEALER: Final = "AC KD 9D 6C 3S"
HANDS: Final = (
    "2H 4H 5H 7H 9H",
    "2H 2D 2S 4H 4D",
    "5H 5D 5S 5C 2H",
    "5S 6S 7S 8S 9S",
    "AS KS QS JS TS",
)


def settings_of(folder: Path, name: str) -> Settings:
    return load(folder / name / "feltd.toml")


class _Silent:
    """The driver of devices that nobody asks anything."""

    deadline = None

    def __getattr__(self, name: str) -> Any:
        return lambda *given: []


class _Ports(dict[str, Port]):
    """No device has a link here: what they say comes from the player."""

    def __missing__(self, device: str) -> Port:
        return Port(device, _Silent(), None, "", "")  # type: ignore[arg-type]


class Player:
    """Devices and people of one table. Where it stands, its journal says."""

    def __init__(self, service: Service, bets: int, awards: int, rotates: bool) -> None:
        self.service = service
        self.bets, self.awards, self.rotates = bets, awards, rotates
        game = service.engine.table.game
        assert isinstance(game, Caribbean)
        assert game.linked is not None
        self.game, self.linked = game, game.linked

    def _give(self, *inputs: Input) -> None:
        """One commit. What is refused is a mistake of this player, but for bets while the link is lost."""
        for record in self.service._enter(self.service.engine._take, list(inputs)) or ():
            refusal = record.get("refusal")
            assert not refusal or self.linked.stopped() or self.service.over.is_set(), refusal

    def come(self) -> None:
        """The devices are there."""
        self._give(*(LinkChanged(name, True) for name in ("shoe", "sign")))
        if self.game.out_of_service:
            self._give(Act("open-table", role="dealer"))
        if self.game.round is not None:
            self._give(Act("misdeal" if self.game.round.deal else "close-betting", role="dealer"))

    @property
    def placed(self) -> int:
        return self.game.meter.wagered // self.game.rules.jackpot.stake

    @property
    def won(self) -> int:
        return self.game.meter.hits + sum(award.amount is None for award in self.game.pending)

    @property
    def over(self) -> bool:
        return self.placed >= self.bets and self.won >= self.awards and not self.game.pending

    def step(self) -> bool:
        """A round, or a confirmation; False when there is nothing to do now."""
        if any(a.amount is not None and not a.confirmed for a in self.game.pending):
            self._confirm()
        elif self.over or self.linked.stopped():
            return False
        elif self.won < self.awards and self.placed >= self.bets * (self.won + 1) // (self.awards + 1):
            self._award()
        elif self.placed < self.bets:
            self._contribute(min(len(BOXES), self.bets - self.placed))
        else:
            return False
        if self.rotates:
            self.service._enter(self.service.engine.tick)
        return True

    def _confirm(self) -> None:
        waiting = [a.box for a in self.game.pending if a.amount is not None and not a.confirmed]
        self._give(*(Act("confirm-award", {"box": box}, role="supervisor") for box in waiting))

    def _bet(self, boxes: Sequence[int]) -> list[Input]:
        """A round is opened in one commit, and the bets and the cards follow in another."""
        refunds = [
            Act("refund-carried", {"box": box}, role="supervisor", second="pit")
            for box in (*self.game.carried, *self.game.refundable)
        ]
        self._give(*refunds, Act("shuffle", role="dealer"), Act("cut", role="dealer"))
        wanted = self.service.engine.table.rig.wanted
        return [
            FromDevice("sign", SignShows(wanted.meter, wanted.announcement, wanted.pages)),
            Act("open-betting", role="dealer"),
            *(Act("ante", {"box": box, "amount": self.game.rules.ante_min}, role="dealer") for box in boxes),
            *(Act("progressive", {"box": box}, role="dealer") for box in boxes),
        ]

    def _contribute(self, bets: int) -> None:
        boxes = list(BOXES)[:bets]
        first = FromDevice("shoe", CardDrawn(FaceDownCard(DECK[0])))
        self._give(*self._bet(boxes), first, Act("misdeal", {"text": "again"}, role="dealer"))

    def _award(self) -> None:
        hand, dealer = HANDS[(self.won + self.placed) % len(HANDS)].split(), DEALER.split()
        cards = [card for pair in zip(hand, dealer, strict=True) for card in parse_cards(" ".join(pair))]
        drawn = [FromDevice("shoe", CardDrawn(FaceDownCard(card))) for card in cards]
        box = {"box": 1}
        self._give(*self._bet([1]), *drawn, Act("raise", box, role="dealer"), Act("settle", role="dealer"))


async def _serve(settings: Settings, player: Player, log: Log) -> None:
    with app._listening(settings.socket) as listener:
        await app._server(player.service, settings, log).serve([listener])


async def _play(player: Player, told: Path, pace: float) -> None:
    while not player.service.over.is_set():
        busy = player.step()
        if player.over and not player.linked.waiting and not told.exists():
            told.touch()
        await asyncio.sleep(pace if busy else 0.1)
    raise player.service.failure or SystemExit("the table ended")


async def _tables(folder: Path, names: Sequence[str]) -> None:
    plan, log, tasks = json.loads((folder / "plan.json").read_text()), Log(), []
    for name in names:
        settings = settings_of(folder, name)
        journal = open_journal(settings.journal, load_key(settings.key))
        table, _ = recover(partial(build_table, settings), journal)
        service = Service(table, journal, _Ports(), {}, SystemClock(), lambda *_, **__: None)
        service.start(started(settings, journal.signer))
        player = Player(service, plan["bets"], plan["awards"], rotates=name.endswith("0"))
        player.come()
        tasks += [_serve(settings, player, log), _play(player, folder / name / "done", plan["pace"])]
    (folder / f"tables-{names[0]}.up").touch()
    await asyncio.gather(*tasks)


def _links(folder: Path, names: Sequence[str]) -> None:
    plan, stop = json.loads((folder / "plan.json").read_text()), threading.Event()
    threads = [
        threading.Thread(target=_link(folder, name, plan, stop).run, name=name, daemon=True) for name in names
    ]
    for thread in threads:
        thread.start()
    (folder / f"links-{names[0]}.up").touch()
    for thread in threads:
        thread.join()


def _link(folder: Path, name: str, plan: dict[str, Any], stop: threading.Event) -> Link:
    settings = settings_of(folder, name)
    assert settings.linked is not None
    pool, dsn, log = settings.linked.terms.pool, plan["dsn"][name], folder / name / "link.log"

    def tell(event: str, text: str) -> None:
        with log.open("a") as out:
            print(event, text, file=out)

    return Link(settings.socket, lambda: Authority.connect(dsn, pool, CALL), tell, stop, plan["apart"])


def _end_with_parent() -> None:
    """Whoever started this holds the other end of our standard input."""
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    what, folder, *names = sys.argv[1:]
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        if what == "tables":
            asyncio.run(_tables(Path(folder), names))
        else:
            _links(Path(folder), names)


if __name__ == "__main__":
    main()
