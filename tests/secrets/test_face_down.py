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
from starlette.types import ASGIApp, Message

from daemon import records
from daemon.api.feed import Feed
from daemon.clock import SystemClock
from daemon.games.caribbean import Caribbean
from daemon.games.five_card.game import FiveCard
from daemon.games.five_card.rules import FORTY
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
    "/rounds/last/story",
    "/incidents",
    "/acts",
    "/player",
    "/metrics",
)
NEVER_CHANGES: Final = "/schema"
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
        self._told = self._logged = self._read = self._asked = 0

    async def look(self, ask: bool = True) -> list[str]:
        """What stream, log and journal said since the last look, and every answer if somebody asks."""
        new = await self._answers() if ask else []
        events = self._feed.after(self._told)
        self._told = events[-1][0] if events else self._told
        new += [str(event) for event in events]
        new += self.stage.log[self._logged :]
        self._logged = len(self.stage.log)
        new += self._journalled()
        self.texts += new
        return new

    async def _answers(self) -> list[str]:
        game = self.stage.service.engine.table.game
        paths = [*SEEN, *([f"/rounds/{game.round_id}"] if game.round_id else [])]
        paths += [NEVER_CHANGES] * (not self.texts) + [f"/records?from={self._asked + 1}"]
        self._asked = self.stage.service.engine.committed
        return [_TIMES.sub("", await got(self.stage.app, path)) for path in paths]

    def _journalled(self) -> list[str]:
        """The new records as they lie in the file, but for what is sealed."""
        rows = "SELECT seq, record FROM records WHERE seq > ? ORDER BY seq"
        found = self.stage.service.journal._db.execute(rows, (self._read,)).fetchall()
        self._read = found[-1][0] if found else self._read
        return [record.decode() for _, record in found]


async def got(app: ASGIApp, path: str) -> str:
    """The answer, without a client between, who would take most of the time of thousands of rounds."""
    name, _, query = path.partition("?")
    told: list[Any] = []
    scope = {"type": "http", "method": "GET", "path": name, "query_string": query.encode(), "headers": []}

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        told.append(message)

    await app({**scope, "http_version": "1.1", "scheme": "http", "raw_path": name.encode()}, receive, send)
    body = b"".join(message.get("body", b"") for message in told).decode()
    assert told[0]["status"] in (200, 404), (path, body)  # there may be no round yet
    return body


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
        await seen.look()


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
        for text in await Seen(stage).look():
            assert not _FACE.findall(text)

    played(tmp_path, story, there=True)


# --- many rounds, every word that comes out ----------------------------------------------------------


async def play_and_search(api: Api, stage: Stage, rounds: int, seed: int, often: float = 1) -> None:
    """``often``: at which part of the steps every answer is asked for; what is told is searched at all."""
    game = stage.service.engine.table.game
    assert isinstance(game, Caribbean)
    dice, seen, searched = Random(seed), Seen(stage), 0
    await open_table(api, stage)
    for _ in range(rounds):
        await open_bets(api)
        for card in dice.sample(DECK, 5 * (len(BOXES) + 1)):
            draw(stage, card)
            searched += await nothing_hidden(seen, game, dice.random() < often)
        for step in decisions(dice):
            await step(api)
            searched += await nothing_hidden(seen, game, dice.random() < often)
        await finish(api, game)
        await seen.look()
        seen.texts.clear()  # they are searched; thousands of rounds say more than memory holds
    assert searched > 50 * rounds


async def nothing_hidden(seen: Seen, game: Caribbean, ask: bool) -> int:
    """Search all that came out now for a face that lies down now; the number of texts."""
    new = await seen.look(ask)
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


EVENING: Final = 50  # rounds: the story of a round reads all that is in the open file, again and again


def evenings(
    folder: Path, count: int, story: Callable[[int], stages.Story], config: Path = stages.DEMO
) -> None:
    for seed in range(count):
        (folder / str(seed)).mkdir()
        played(folder / str(seed), story(seed), there=True, config=config)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_word_of_thousands_of_rounds_names_a_card_that_lies_down(tmp_path: Path) -> None:
    evenings(tmp_path, 40, lambda seed: partial(play_and_search, rounds=EVENING, seed=seed, often=0.25))


# --- five-card: hole cards and the burn ---------------------------------------------------------------


async def nothing_turned(seen: Seen, game: FiveCard, ask: bool) -> int:
    """Search all that came out now for a hole card that was not turned, and for the burned card."""
    new = await seen.look(ask)
    now = game.round
    lies = [] if now is None else [*now.out[:1], *(hand.hole for hand in now.hands.values())]
    hidden = {card.face.turn().text for card in lies if card and card.face and not card.turned}
    hidden |= {face.replace("10", "T") for face in hidden}
    for text in new:
        leaked = hidden.intersection(_FACE.findall(text))
        assert not leaked, f"{sorted(leaked)} in {text[:300]}"
    return len(hidden) * len(new)


async def stud_rounds(api: Api, stage: Stage, rounds: int, seed: int, often: float = 1) -> None:
    game = stage.service.engine.table.game
    assert isinstance(game, FiveCard)
    dice, seen, searched = Random(seed), Seen(stage), 0
    await accepted(api, "open-table")
    for seat in BOXES:
        await accepted(api, "buy-in", seat=seat, amount=10_000_000)
    for _ in range(rounds):
        await accepted(api, "shuffle")
        for seat in BOXES:
            await accepted(api, "ante", seat=seat)
        deck = dice.sample(FORTY, len(FORTY))
        while game.round is not None:
            await next_step(api, stage, game, deck, dice)
            searched += await nothing_turned(seen, game, dice.random() < often)
        await seen.look()  # what the round has told of its turned cards is no news in the next
        seen.texts.clear()
        await sit_down_again(api, game)
    assert searched > 100 * rounds


async def sit_down_again(api: Api, game: FiveCard) -> None:
    """Another deck after ten rounds (FC-02), and chips for whoever runs short (FC-06)."""
    if game.deck.rounds == 10:
        await accepted(api, "new-deck")
    for seat in BOXES:
        if game.seats[seat].stack < 1_000_000:
            await accepted(api, "top-up", seat=seat, amount=10_000_000)


async def next_step(api: Api, stage: Stage, game: FiveCard, deck: list[Card], dice: Random) -> None:
    """A card, a word of whose turn it is, a hole card that is turned, or the settlement."""
    now = game.round
    assert now is not None
    if game.phase in ("antes", "dealing"):
        draw(stage, deck.pop())
    elif game.phase in ("opening", "speaking"):
        await accepted(api, "bet", seat=now.queue[0], amount=5_000)
    elif game.phase == "answering":
        await accepted(api, dice.choice(("call", "call", "fold")), seat=now.queue[0])
    elif game.phase == "showdown":
        await accepted(api, "reveal", seat=now.queue[0])
    else:
        await accepted(api, "settle")


def test_no_word_that_comes_out_names_a_hole_card_before_it_is_turned(tmp_path: Path) -> None:
    config = stages.DEMO.with_name("five-card.toml")
    played(tmp_path, partial(stud_rounds, rounds=4, seed=1), there=True, config=config)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_word_of_a_thousand_rounds_names_a_hole_card_before_it_is_turned(tmp_path: Path) -> None:
    config = stages.DEMO.with_name("five-card.toml")
    evenings(tmp_path, 20, lambda seed: partial(stud_rounds, rounds=EVENING, seed=seed, often=0.2), config)


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
