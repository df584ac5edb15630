"""Face-down cards stay secret: nothing that leaves the daemon depends on one before it is turned."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from daemon import records
from daemon.api.feed import Feed
from daemon.clock import SystemClock
from daemon.games.caribbean import Caribbean
from daemon.records import Plain
from daemon.table import FromDevice
from drivers.base import CardDrawn
from drivers.cards import DECK, Card, FaceDownCard, parse_cards
from tests.fakes import stage as stages
from tests.fakes.stage import Api, Stage, accepted, do, played
from tests.table.walker import _faces

BOXES: Final = (1, 2, 5)
SEEN: Final = (
    "/status",
    "/jackpot",
    "/devices",
    "/rounds?last=1",  # a former round shows cards that may lie down in this one
    "/incidents",
    "/acts",
    "/player",
    "/records?limit=200",
    "/schema",
    "/metrics",
)
_FACE: Final = re.compile(r"\b(?:10|[2-9TJQKA])[SHDC]\b")
_TIMES: Final = re.compile(
    r'("age_ms": ?)\d+|^feltd_\w*(?:seconds|commit)\w*.*$|^(?:process|python)_.*$', re.M
)


class FixedStamps(SystemClock):
    """Real time for logic; every stamp is the same."""

    def utc(self) -> str:
        return "2026-01-01T00:00:00.000000Z"


class Seen:
    """Everything that came out of a daemon, as texts in their order."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.texts: list[str] = []
        self._feed = Feed(stage.service)
        self._told = self._logged = self._read = 0

    async def look(self, api: Api) -> list[str]:
        """Every answer, and what stream and log said since the last look."""
        game = self.stage.service.engine.table.game
        paths = [*SEEN, *([f"/rounds/{game.round_id}"] if game.round_id else [])]
        new = [_TIMES.sub("", (await api.get(path)).text) for path in paths]
        events = self._feed.after(self._told)
        self._told = events[-1][0] if events else self._told
        new += [str(event) for event in events]
        new += self.stage.log[self._logged :]
        self._logged = len(self.stage.log)
        new += self._journalled()
        self.texts += new
        return new

    def _journalled(self) -> list[str]:
        """The new records as they lie in the file, but for what is sealed."""
        rows = "SELECT seq, record FROM records WHERE seq > ? ORDER BY seq"
        found = self.stage.service.journal._db.execute(rows, (self._read,)).fetchall()
        self._read = found[-1][0] if found else self._read
        return [record.decode() for _, record in found]


async def open_table(api: Api, stage: Stage) -> None:
    await accepted(api, "use-shoe")
    await accepted(api, "open-table")


async def open_bets(api: Api) -> None:
    await accepted(api, "shuffle")
    await accepted(api, "cut")
    await accepted(api, "open-betting")
    for box in BOXES:
        await accepted(api, "ante", box=box, amount=10_000)
        await accepted(api, "progressive", box=box)


def draw(stage: Stage, card: Card) -> None:
    stage.device_says("shoe", CardDrawn(FaceDownCard(card)))


# --- two rounds that differ in face-down cards only ------------------------------------------------

FIFTH: Final = "AS"
ONE_DEAL: Final = "2S 3S 4S 5S 6S 7S 8S 9S 10S JS QS KS 2H 3H 4H 5H 6H 7H 8H"
OTHER_DEAL: Final = "KD QD JD 10D 9D 8D 7D 6D 5D 4D 3D 2D KC QC JC 10C 9C 8C 7C"


async def until_decisions(api: Api, stage: Stage, cards: str, keep: list[Seen]) -> None:
    seen = Seen(stage)
    keep.append(seen)
    await open_table(api, stage)
    await open_bets(api)
    for card in parse_cards(f"{cards} {FIFTH}"):
        draw(stage, card)
        await seen.look(api)


def rows(journal: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(journal)) as db:
        query = "SELECT seq, device, epoch, ordinal, act_key, record, sealed FROM records ORDER BY seq"
        return db.execute(query).fetchall()


def test_what_leaves_the_daemon_does_not_depend_on_a_face_down_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "SystemClock", FixedStamps)
    seen: list[Seen] = []
    for name, cards in (("one", ONE_DEAL), ("other", OTHER_DEAL)):
        (tmp_path / name).mkdir()
        played(tmp_path / name, partial(until_decisions, cards=cards, keep=seen), there=True)
    one, other = seen
    assert len(one.texts) > 20 * len(SEEN)
    assert one.texts == other.texts
    assert one.stage.log == other.stage.log
    differing = 0
    for mine, theirs in zip(rows(one.stage.file), rows(other.stage.file), strict=True):
        if '"signer"' in mine[5].decode():  # the same key: the same public key
            assert mine[5] == theirs[5]
        assert mine[:6] == theirs[:6]
        assert len(mine[6]) == len(theirs[6])
        differing += mine[6] != theirs[6]
    assert differing >= len(parse_cards(ONE_DEAL))


def test_a_hand_entry_s_shown_cards_are_sealed_before_they_are_accepted(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        await open_table(api, stage)
        await do(api, "reveal", box=1, cards="QD JD 10D 9D 2C")  # refused: no round
        for text in await Seen(stage).look(api):
            assert not _FACE.findall(text)

    played(tmp_path, story, there=True)


# --- many rounds, every word that comes out ----------------------------------------------------------


async def play_and_search(api: Api, stage: Stage, rounds: int, seed: int) -> None:
    game = stage.service.engine.table.game
    assert isinstance(game, Caribbean)
    dice, seen, searched = Random(seed), Seen(stage), 0
    await open_table(api, stage)
    for _ in range(rounds):
        await open_bets(api)
        for card in dice.sample(DECK, 5 * (len(BOXES) + 1)):
            draw(stage, card)
            searched += await nothing_hidden(api, seen, game)
        for step in decisions(dice):
            await step(api)
            searched += await nothing_hidden(api, seen, game)
        await finish(api, game)
        await seen.look(api)
    assert searched > 100 * rounds


async def nothing_hidden(api: Api, seen: Seen, game: Caribbean) -> int:
    """Search all that came out now for a face that lies down now; the number of texts."""
    new = await seen.look(api)
    hidden = _faces(game.round)[0] if game.round and game.round.deal else set()
    hidden |= {face.replace("10", "T") for face in hidden}
    for text in new:
        leaked = hidden.intersection(_FACE.findall(text))
        assert not leaked, f"{sorted(leaked)} in {text[:300]}"
    return len(new)


Step = Callable[[Api], Any]


def decisions(dice: Random) -> Iterator[Step]:
    """An exposure now and then, then every box raises or folds."""
    if dice.random() < 0.3:
        box = dice.choice([*map(str, BOXES), "dealer"])
        yield partial(do, name="expose", box=box, card=dice.randint(1, 4))
    for box in BOXES:
        yield partial(do, name=dice.choice(("raise", "raise", "fold")), box=box)


async def finish(api: Api, game: Caribbean) -> None:
    if game.round is not None:
        await accepted(api, "settle")
    while game.pending:
        body = {"args": {"box": game.pending[0].box}, "role": "supervisor"}
        assert (await api.post("/acts/confirm-award", json=body)).status_code == 200


def test_no_word_that_comes_out_names_a_card_that_lies_down(tmp_path: Path) -> None:
    played(tmp_path, partial(play_and_search, rounds=6, seed=1), there=True)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_word_of_thousands_of_rounds_names_a_card_that_lies_down(tmp_path: Path) -> None:
    played(tmp_path, partial(play_and_search, rounds=2000, seed=2), there=True)


@pytest.mark.parametrize("leak", ["record", "log"])
def test_the_search_finds_a_leak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leak: str) -> None:
    """The seal taken away, in the record or in the log: the same search fails."""
    sealed = records._device_record

    def in_clear(item: FromDevice) -> tuple[Plain, bytes]:
        plain, faces = sealed(item)
        return plain | ({"face": DECK[faces[0]].text} if faces else {}), faces

    def talkative(told: stages.Told, data: bytes, now: int) -> Any:
        for event in told.say:
            if isinstance(event, CardDrawn) and event.face:
                heard.append(event.face.turn().text)
        return plainly(told, data, now)

    heard: list[str] = []
    plainly = stages.Told.received
    if leak == "record":
        monkeypatch.setattr(records, "_device_record", in_clear)
    else:
        monkeypatch.setattr(stages.Told, "received", talkative)
        monkeypatch.setattr(Stage, "log", heard, raising=False)
        monkeypatch.setattr(Stage, "_hear", lambda stage, event, **facts: heard.append(f"{event} {facts}"))
        make = Stage.__init__

        def with_that_log(stage: Stage, *args: Any) -> None:
            make(stage, *args)
            stage.log = heard

        monkeypatch.setattr(Stage, "__init__", with_that_log)
    with pytest.raises(AssertionError, match=r" in "):
        played(tmp_path, partial(play_and_search, rounds=1, seed=1), there=True)


# --- a card in the hand of a program -----------------------------------------------------------------


def test_a_face_down_card_is_blind_to_every_way_of_printing() -> None:
    card = FaceDownCard(parse_cards("AS")[0])
    for text in (repr(card), str(card), f"{card}", f"{card!r:>20}", f"{[card]}", f"{CardDrawn(card)}"):
        assert not _FACE.findall(text)
    with pytest.raises(TypeError):
        json.dumps(card)
