"""What the link process may ask of a table and tell it, and how often that becomes a record."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from daemon import show
from daemon.api.door import Door
from daemon.games.linked import AwardDecided, PoolLost, PoolSeen, Told
from daemon.linked.desk import APART, LinkDesk, NotLinked
from daemon.linked.entries import fingerprint
from drivers.base import SECOND, CardDrawn
from drivers.cards import FaceDownCard, parse_cards
from tests.fakes.stage import DEMO, Api, From, Stage, accepted, client, is_problem, played
from tests.table.test_linked import LinkedFloor

LINKED = """
[linked]
pool = "house-1"
authority = "host=localhost"
max_amount = 1_000_000
"""
LINK, CONSOLE, SUPERVISOR = 901, 902, 903
DOOR = Door({LINK: "link", CONSOLE: "console", SUPERVISOR: "supervisor"}, {}, None, frozenset((0,)))
SEEN = {"pool": 20_000_000, "version": 3, "acked": 0}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    text = DEMO.read_text().replace('mode = "shuffler"', 'mode = "shoe"').replace('shuffler = "SH-1"\n', "")
    text = re.sub(r'contribution = "71/100"', 'contribution = "71/100"\nreserve = "5/100"', text)
    file = tmp_path / "linked.toml"
    file.write_text(text + LINKED)
    return file


async def a_flush(api: Api, stage: Stage) -> int:
    """Two progressive bets, and box 1 wins; the number of the record that claims."""
    for name in ("open-table", "shuffle", "cut", "open-betting"):
        await accepted(api, name)
    for box in (1, 2):
        await accepted(api, "ante", box=box, amount=10_000)
        await accepted(api, "progressive", box=box)
    rows = ("2H 4H 5H 7H 9H", "2D 4C 6D 8D TD", "AC KD 9D 6C 3S")
    for three in zip(*(row.split() for row in rows), strict=True):
        for card in parse_cards(" ".join(three)):
            stage.device_says("shoe", CardDrawn(FaceDownCard(card)))
    for name, box in (("raise", 1), ("fold", 2)):
        await accepted(api, name, box=box)
    return int((await accepted(api, "settle"))["seq"])


def decided(seq: int) -> dict[str, Any]:
    award = {"box": 1, "category": "flush", "amount": 5_000, "from_pool": 5_000, "from_house": 0}
    return {"seq": seq, "awards": [award], "pool": 19_995_000, "version": 9}


# --- the socket ------------------------------------------------------------------------------


def test_the_outbox_is_told_in_order_and_from_anywhere(tmp_path: Path, config: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        await api.post("/link/seen", json=SEEN)
        seq = await a_flush(api, stage)
        told = (await api.get("/link/outbox")).json()
        game: Any = stage.service.engine.table.game
        assert (told["table"], told["pool"], told["currency"]) == ("demo", "house-1", "$")
        assert told["fingerprint"] == fingerprint(game.rules.jackpot)
        first, second = told["records"]
        assert first["prior"] == 0
        assert first["lines"] == [
            *([0, "contribution", 1, 710], [1, "reserve", 1, 50]),
            *([2, "contribution", 2, 710], [3, "reserve", 2, 50]),
        ]
        assert (second["seq"], second["prior"], second["round"]) == (seq, first["seq"], 1)
        assert second["lines"] == [[0, "claim-flush", 1, 0]]
        assert told["undecided"] == [second]
        assert told["later"] == 2
        later = (await api.get("/link/outbox", params={"after": first["seq"], "limit": 1})).json()
        assert later["records"] == [second]
        assert (await api.get("/link/outbox", params={"after": seq})).json()["records"] == []

    played(tmp_path, story, there=True, config=config)


def test_whoever_waits_is_told_as_soon_as_there_is_something(tmp_path: Path, config: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        await api.post("/link/seen", json=SEEN)
        waiting = asyncio.create_task(api.get("/link/outbox", params={"wait": 50}))
        await a_flush(api, stage)
        assert (await asyncio.wait_for(waiting, 20)).json()["records"] != []

    played(tmp_path, story, there=True, config=config)


def test_a_decision_is_taken_once_however_often_it_is_told(tmp_path: Path, config: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        await api.post("/link/seen", json=SEEN)
        seq = await a_flush(api, stage)
        assert is_problem(await api.post("/link/decided", json=decided(seq - 1)), 409)["clause"] == "CS-10"
        for _ in range(3):
            assert (await api.post("/link/decided", json=decided(seq))).status_code == 200
        taken = [r for r in stage.records() if r["input"]["kind"] == "award-decided" and "refusal" not in r]
        assert len(taken) == 1
        assert (await api.get("/link/outbox", params={"after": seq})).json()["undecided"] == []
        assert (await api.get("/jackpot")).json()["pool"]["now"] == 19_995_000

    played(tmp_path, story, there=True, config=config)


@pytest.mark.parametrize(
    "change",
    [
        {"amount": 5_001},
        {"category": "trips"},
        {"category": "no such"},
        {"box": 8},
        {"from_house": -1},
        {"more": 1},
    ],
)
def test_what_is_no_award_is_not_taken(tmp_path: Path, config: Path, change: dict[str, Any]) -> None:
    async def story(api: Api, stage: Stage) -> None:
        await api.post("/link/seen", json=SEEN)
        body = decided(await a_flush(api, stage))
        before = stage.service.engine.committed
        body["awards"][0] |= change
        is_problem(await api.post("/link/decided", json=body), 422)
        assert stage.service.engine.committed == before

    played(tmp_path, story, there=True, config=config)


def test_people_see_what_is_known_of_the_pool(tmp_path: Path, config: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        for known in ("not heard of, 0 records wait", "No progressive bet is taken: the linked pool was not"):
            assert known in shown((await api.get("/jackpot")).json())
        await api.post("/link/seen", json=SEEN)
        await a_flush(api, stage)
        told = shown((await api.get("/jackpot")).json())
        assert "Linked pool house-1: heard of 0." in told
        assert "2 records wait for it" in told
        assert "box 1, flush, the linked pool's authority has not decided" in told
        status = (await api.get("/status")).json()
        assert (status["pool"]["now"], status["pool"]["waiting_amount"]) == (20_000_000, 1_520)
        show.round_((await api.get("/rounds/1")).json())

    played(tmp_path, story, there=True, config=config)


def shown(view: dict[str, Any]) -> str:
    with show.console.capture() as captured:
        show.jackpot(view)
    return " ".join(captured.get().split())


def test_a_table_with_its_own_pool_says_so(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        before = stage.service.engine.committed
        for answer in (
            await api.get("/link/outbox"),
            await api.post("/link/seen", json=SEEN),
            await api.post("/link/decided", json=decided(1)),
        ):
            assert is_problem(answer, 409)["title"] == "Not linked"
        assert stage.service.engine.committed == before

    played(tmp_path, story)


def _body(method: str, path: str) -> dict[str, Any]:
    if method == "GET" or "sessions" not in path:
        return {}
    return {"json": {"pin": "123456"} | ({"name": "ana"} if path == "/sessions" else {})}


def test_the_role_link_has_its_three_questions_and_nothing_else(tmp_path: Path, config: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        link = client(From(stage.app, LINK))
        assert (await link.post("/link/seen", json=SEEN)).status_code == 200
        assert (await link.get("/link/outbox")).status_code == 200
        is_problem(await link.post("/link/decided", json=decided(1)), 409)
        before = stage.service.engine.committed
        others = [
            (method.upper(), re.sub(r"\{\w+\}", "1", path.replace("{name}", "open-table")))
            for path, methods in stage.app.openapi()["paths"].items()
            if not path.startswith("/link/")
            for method in methods
        ]
        assert len(others) > 10
        for method, path in others:
            answer = await link.request(method, path, params={"day": "2026-01-01"}, **_body(method, path))
            assert answer.status_code == 403, (method, path, answer.text)
        assert stage.service.engine.committed == before
        for uid in (CONSOLE, SUPERVISOR, 904):
            other = client(From(stage.app, uid))
            is_problem(await other.get("/link/outbox"), 403)
            is_problem(await other.post("/link/seen", json=SEEN), 403)
            is_problem(await other.post("/link/decided", json=decided(1)), 403)

    played(tmp_path, story, config=config, door=lambda: DOOR)


# --- the desk: what becomes a record ---------------------------------------------------------------


class Desk:
    """A desk at a table of its own, with a clock that a test moves."""

    def __init__(self) -> None:
        self.floor = LinkedFloor(seen=False)
        self.now, self.busy = 0, False
        self.records: list[Told] = []
        self.desk = LinkDesk(self.floor.game, self._hear, lambda: self.now)

    def _hear(self, told: Told) -> dict[str, Any] | None:
        if self.busy:
            return None
        self.records.append(told)
        self.floor.take(told)
        return {}


def told_over(seconds: int, each: int) -> list[Told]:
    """A pool that grows by one every ``each`` milliseconds, and a look at the desk every second."""

    async def story() -> Desk:
        desk = Desk()
        for at in range(0, seconds * 1000, each):
            desk.now = at * SECOND // 1000
            desk.desk.seen(PoolSeen(at + 1, at + 1, 0))
            if at % 1000 < each:
                desk.desk.look()
        desk.now += APART
        desk.desk.look()
        desk.desk.stop()
        return desk

    desk = asyncio.run(story())
    last = desk.records[-1]
    assert isinstance(last, PoolSeen)
    assert last.version > (seconds * 1000 - each)
    return desk.records


def test_a_pool_that_moves_is_one_record_a_second() -> None:
    assert 10 <= len(told_over(10, 50)) <= 12
    assert len(told_over(10, 5_000)) == 2


def test_what_is_known_is_no_record() -> None:
    desk = Desk()
    for at in range(5):
        desk.now = at * 10 * SECOND
        desk.desk.seen(PoolSeen(7, 7, 0))
        desk.desk.seen(PoolSeen(6, 6, 0))  # older
    assert desk.records == [PoolSeen(7, 7, 0)]


def test_silence_is_told_once_and_the_next_word_ends_it_at_once() -> None:
    desk = Desk()
    desk.desk.seen(PoolSeen(7, 7, 0))
    for at in range(0, 130, 10):
        desk.now = at * SECOND
        desk.desk.look()
    assert [type(told) for told in desk.records] == [PoolSeen, PoolLost]
    assert desk.floor.meter == "JACKPOT OFFLINE"
    desk.desk.seen(PoolSeen(7, 7, 0))
    assert desk.floor.meter == "$0.07"


def test_a_word_is_as_old_as_its_way_was_long() -> None:
    desk = Desk()
    desk.now = 100 * SECOND
    desk.desk.seen(PoolSeen(7, 7, 0), age=50 * SECOND)
    desk.now = 115 * SECOND
    desk.desk.look()
    assert isinstance(desk.records[-1], PoolLost)


def test_what_the_journal_cannot_take_now_is_told_later() -> None:
    desk = Desk()
    desk.busy = True
    desk.desk.seen(PoolSeen(7, 7, 0, won=5, winner="CS-2"))
    desk.desk.seen(PoolSeen(8, 8, 1))
    desk.busy = False
    desk.desk.seen(PoolSeen(8, 8, 0))
    assert desk.records == [PoolSeen(8, 8, 1, 5, "CS-2")]


def test_a_table_with_its_own_pool_is_told_nothing() -> None:
    desk = LinkDesk(None, lambda told: pytest.fail("told"), lambda: 0)
    desk.look()
    with pytest.raises(NotLinked):
        desk.seen(PoolSeen(1, 1, 0))
    with pytest.raises(NotLinked):
        desk.decided(AwardDecided(1, (), 1, 1))
