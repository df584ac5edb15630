"""The event stream, the auditor's records, the player's view, the metrics and the schema."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from daemon.api import events, limits
from daemon.api.door import Door
from daemon.api.feed import BATCH, KEPT, Feed
from daemon.journal import JournalError
from daemon.metrics import BOUNDS, Latency
from drivers.base import CardDrawn
from drivers.cards import DECK, FaceDownCard
from tests.fakes.stage import DEMO, Api, Stage, accepted, do, is_problem, played
from tools import schema as schema_tool

Message = MutableMapping[str, Any]


class Reader:
    """A client of a stream that reads as it likes, straight on the app: no transport in between."""

    def __init__(self, stage: Stage, query: str = "", last_id: str = "") -> None:
        self.data = b""
        self.status = 0
        self.over = False
        self.reads = asyncio.Event()
        self.reads.set()
        self._gone = asyncio.Event()
        headers = [(b"last-event-id", last_id.encode())] if last_id else []
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/events",
            "raw_path": b"/events",
            "root_path": "",
            "query_string": query.encode(),
            "headers": headers,
            "http_version": "1.1",
            "scheme": "http",
            "server": ("feltd", 80),
            "client": None,
            "state": {"abort": self.leave},
        }
        self.task = asyncio.ensure_future(stage.app(scope, self._receive, self._send))

    async def _receive(self) -> Message:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        await self.reads.wait()
        self.status = message.get("status", self.status)
        self.data += message.get("body", b"")
        self.over = message["type"] == "http.response.body" and not message.get("more_body", False)

    def leave(self) -> None:
        self._gone.set()

    def told(self) -> list[dict[str, Any]]:
        """The events so far; every id is that of its data."""
        found = []
        for block in self.data.decode().split("\n\n"):
            if block.startswith("id: "):
                number, kind, data = block.split("\n")
                event = json.loads(data.removeprefix("data: "))
                assert number == f"id: {event['seq']}"
                assert kind == f"event: {event['kind']}"
                found.append(event)
        return found

    async def until(self, true: Callable[[], bool], seconds: float = 20.0) -> None:
        async with asyncio.timeout(seconds):
            while not true():
                await asyncio.sleep(0.01)

    async def upto(self, seq: int) -> list[dict[str, Any]]:
        await self.until(lambda: bool(self.told()) and self.told()[-1]["seq"] >= seq)
        return self.told()


@asynccontextmanager
async def reading(stage: Stage, query: str = "", last_id: str = "") -> AsyncIterator[Reader]:
    reader = Reader(stage, query, last_id)
    try:
        yield reader
    finally:
        reader.leave()
        await asyncio.wait_for(reader.task, 10)


async def refusals(api: Api, number: int) -> None:
    for _ in range(number):
        await do(api, "fold", box=1)


# --- the stream ------------------------------------------------------------------------------


def test_an_event_says_what_was_committed(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        before = stage.service.engine.committed
        async with reading(stage, f"after={before}") as reader:
            body = {"by": "ana", "role": "dealer"}
            seq = (await api.post("/acts/open-table", json=body)).json()["seq"]
            written = (await accepted(api, "breach", text="written"))["seq"]
            refused = (await do(api, "ante", box=1, amount=10_000)).json()["seq"]
            told = {event["seq"]: event for event in await reader.upto(refused)}
        act = told[seq]
        assert (act["kind"], act["state"], act["round"]) == ("act", "between-rounds", None)
        assert act["at"] == stage.records()[seq - 1]["at"]
        summary = act["summary"]
        assert (summary["name"], summary["by"], summary["role"]) == ("open-table", "ana", "dealer")
        assert (summary["accepted"], summary["refusal"]) == (True, None)
        assert (summary["args"], told[refused]["summary"]["args"]) == ({}, {"box": 1, "amount": 10_000})
        assert told[written]["summary"]["args"] == {}  # what people write is not for every reader
        refusal = told[refused]["summary"]
        assert refusal["accepted"] is False
        assert refusal["refusal"]["clause"] == "CS-06"

    played(tmp_path, story)


def test_without_a_last_id_it_begins_with_what_comes(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        await accepted(api, "open-table")
        async with reading(stage) as reader:
            await reader.until(lambda: bool(reader.data))
            seq = (await accepted(api, "close-table"))["seq"]
            assert (await reader.upto(seq))[0]["seq"] == seq

    played(tmp_path, story)


@pytest.mark.parametrize("leave_after", [1, BATCH - 1, BATCH, BATCH + 1])
def test_h02_who_comes_back_misses_nothing_and_gets_nothing_twice(leave_after: int, tmp_path: Path) -> None:
    """Order and identity are the journal's; the header counts more than the query."""

    async def story(api: Api, stage: Stage) -> None:
        seen: list[int] = []
        for _ in range(4):
            last = seen[-1] if seen else 0
            async with reading(stage, "after=0", str(last)) as reader:
                await refusals(api, leave_after)
                seen += [event["seq"] for event in await reader.upto(last + 1)]
        async with reading(stage, last_id=str(seen[-1])) as reader:
            if seen[-1] < stage.service.engine.committed:
                seen += [event["seq"] for event in await reader.upto(stage.service.engine.committed)]
        assert seen == list(range(1, stage.service.engine.committed + 1))

    played(tmp_path, story)


def test_a_stream_from_the_beginning_and_one_that_is_up_to_date_tell_the_same(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        async with reading(stage, "after=0") as live:
            await play_a_void_round(api, stage)
            await refusals(api, KEPT + BATCH)
            committed = stage.service.engine.committed
            told = await live.upto(committed)
        feed, again, at = Feed(stage.service), [], 0
        while batch := feed._read(at):
            again += [json.loads(data.split(b"data: ")[1]) for _, data in batch]
            at = batch[-1][0]
        assert again == told
        first, last = stage.service.journal.rounds(1)[0]["inputs"]
        assert {event["seq"] for event in told if event["round"] == 1} == set(range(first, last + 1))
        late = Feed(stage.service)
        late.after(committed - 1)  # the newest are kept; what lies before comes from the journal
        assert [seq for seq, _ in late.after(0)] == list(range(1, BATCH + 1))

    played(tmp_path, story, there=True)


async def play_a_void_round(api: Api, stage: Stage) -> None:
    for name in ("open-table", "use-shoe", "shuffle", "cut", "open-betting"):
        await accepted(api, name)
    await accepted(api, "ante", box=2, amount=10_000)
    await accepted(api, "progressive", box=2)
    stage.device_says("shoe", *(CardDrawn(FaceDownCard(card)) for card in DECK[:3]))
    await accepted(api, "misdeal", text="dropped")


def test_a_stream_without_news_says_that_it_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KEEP_ALIVE", 0.02)

    async def story(api: Api, stage: Stage) -> None:
        async with reading(stage) as reader:
            await reader.until(lambda: reader.data.count(b": nothing new\n\n") >= 3)
        assert reader.told() == []

    played(tmp_path, story)


def test_who_does_not_read_is_dropped_and_comes_back_without_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "READ_WITHIN", 0.1)

    async def story(api: Api, stage: Stage) -> None:
        async with reading(stage, "after=0") as slow:
            await slow.upto(1)
            slow.reads.clear()
            await refusals(api, 3)
            await asyncio.wait_for(asyncio.shield(slow.task), 20)
        committed, last = stage.service.engine.committed, slow.told()[-1]["seq"]
        assert last < committed
        async with reading(stage, last_id=str(last)) as again:
            told = await again.upto(committed)
        assert [event["seq"] for event in told] == list(range(last + 1, committed + 1))

    played(tmp_path, story)


def test_one_slow_reader_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        async with reading(stage) as slow, reading(stage) as quick:
            await quick.until(lambda: bool(slow.data and quick.data))
            slow.reads.clear()
            await refusals(api, 40)
            assert len(await quick.upto(stage.service.engine.committed)) == 40
            slow.reads.set()

    played(tmp_path, story)


def test_streams_are_bounded_and_a_closed_one_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_STREAMS", 2)

    async def story(api: Api, stage: Stage) -> None:
        async with reading(stage), reading(stage) as second:
            await second.until(lambda: bool(second.data))
            assert "close one" in is_problem(await api.get("/events"), 503)["todo"]
        async with reading(stage) as third:
            await third.until(lambda: bool(third.data))
            assert third.status == 200

    played(tmp_path, story)


def test_the_end_of_the_service_ends_a_stream(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        async with reading(stage) as reader:
            await reader.until(lambda: bool(reader.data))
            stage.service.stop()
            await asyncio.wait_for(asyncio.shield(reader.task), 5)
            assert reader.over

    played(tmp_path, story)


def test_a_stream_ends_with_the_leave_to_see_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KEEP_ALIVE", 0.05)
    in_or_out = [True]
    monkeypatch.setattr(Door, "still_in", lambda self, request: in_or_out[0])

    async def story(api: Api, stage: Stage) -> None:
        async with reading(stage) as reader:
            await reader.until(lambda: bool(reader.data))
            in_or_out[0] = False
            await accepted(api, "open-table")
            await asyncio.wait_for(asyncio.shield(reader.task), 5)
            assert reader.over

    played(tmp_path, story)


@pytest.mark.parametrize("last_id", ["x", "-1", "1.5", "9" * 19, "9" * 33])
def test_a_last_id_that_is_none(last_id: str, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        is_problem(await api.get("/events", headers={"last-event-id": last_id}), 422)

    played(tmp_path, story)


# --- records ---------------------------------------------------------------------------------


def test_records_come_in_order_and_page_by_page(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        await accepted(api, "open-table")
        await refusals(api, 10)
        committed = stage.service.engine.committed
        seen, at = [], 1
        while at is not None:
            page = (await api.get("/records", params={"from": at, "limit": 4})).json()
            assert len(page["records"]) <= 4
            seen += page["records"]
            at = page["next"]
        assert [record["seq"] for record in seen] == list(range(1, committed + 1))
        assert (await api.get(f"/records/{committed}")).json() == seen[-1]
        part = (await api.get("/records", params={"from": 3, "to": 5})).json()
        assert ([record["seq"] for record in part["records"]], part["next"]) == ([3, 4, 5], None)
        for query in ({"from": committed + 1}, {"from": 5, "to": 4}):
            assert (await api.get("/records", params=query)).json() == {"records": [], "next": None}
        is_problem(await api.get(f"/records/{committed + 1}"), 404)

    played(tmp_path, story)


def test_cards_that_were_keyed_are_read_by_nobody(tmp_path: Path) -> None:
    """Under whatever name, a mistyped one too; a number of cards is no card."""

    async def story(api: Api, stage: Stage) -> None:
        await accepted(api, "open-table")
        await do(api, "reveal", box=1, cards="AS KS QS JS TS")
        await do(api, "revael", box=1, cards="AS KS QS JS TS", card="2H")
        await do(api, "card", card="2H")
        await do(api, "count", cards=52)
        told = (await api.get("/records")).text
        async with reading(stage, "after=0") as reader:
            await reader.upto(stage.service.engine.committed)
        for card in ("AS", "KS", "TS", "2H"):
            assert f"{card} " not in told
            assert f'{card}"' not in told
            assert card.encode() not in reader.data
        keyed = [event["summary"]["args"] for event in reader.told() if event["summary"]["name"] == "reveal"]
        assert keyed == [{"box": 1, "cards": "sealed"}]
        assert json.loads(told)["records"][-1]["input"]["args"]["cards"] == 52

    played(tmp_path, story)


def test_what_a_snapshot_remembers_is_not_told(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        await accepted(api, "open-table")
        stage.service.engine._snapshot_at = 0
        await refusals(api, 1)
        snapshot = (await api.get(f"/records/{stage.service.engine.committed}")).json()
        assert snapshot["input"] == {"kind": "snapshot"}

    played(tmp_path, story)


def test_an_archive_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(api: Api, stage: Stage) -> None:
        def gone(*_: object) -> None:
            raise JournalError("journal-1.db: is missing")

        monkeypatch.setattr(stage.service.journal, "records", gone)
        for path in ("/records", "/records/1"):
            document = is_problem(await api.get(path), 503)
            assert document["detail"] == "journal-1.db: is missing"

    played(tmp_path, story)


# --- the player's view, metrics, acts, schema ---------------------------------------------------


def keys_of(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


def test_cs_12_a_player_sees_the_present_and_nothing_else(tmp_path: Path) -> None:
    """Every key is named: one that is new has to be thought about."""

    async def story(api: Api, stage: Stage) -> None:
        await play_a_void_round(api, stage)
        view = (await api.get("/player")).json()
        assert (view["state"], view["announcement"], view["boxes"]) == ("void", "VOID", [])
        assert view["pool"] == 10_000_710
        assert [prize["category"] for prize in view["prizes"]][:2] == ["royal-flush", "straight-flush"]
        for name in ("shuffle", "cut", "open-betting"):
            await accepted(api, name)
        await accepted(api, "ante", box=3, amount=10_000, player="Chan")
        stage.device_says("shoe", *(CardDrawn(FaceDownCard(card)) for card in DECK[:10]))
        view = (await api.get("/player", params={"after": 0, "wait": 1})).json()
        assert view["boxes"][0]["cards"] is None
        assert view["dealer"]["cards"] == [None] * 4 + [DECK[9].text]
        top = {
            "table",
            "game",
            "state",
            "seq",
            "pool",
            "pot",
            "prizes",
            "announcement",
            "boxes",
            "seats",
            "dealer",
        }
        box = {"box", "ante", "raise", "progressive", "carried", "decision", "cards", "category"}
        assert keys_of(view) == top | box | {"qualifies", "amount"}
        assert "Chan" not in json.dumps(view)

    played(tmp_path, story, there=True)


def test_metrics_are_read_by_prometheus(tmp_path: Path) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    async def story(api: Api, stage: Stage) -> None:
        await play_a_void_round(api, stage)
        for _ in range(2):  # what is counted once is not counted twice
            answer = await api.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        found = {
            (sample.name, *sorted(sample.labels.values())): sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
        }
        assert found["feltd_rounds_total", "void"] == 1
        assert found["feltd_pool_minor_units",] == 10_000_710
        assert found["feltd_records_total",] == stage.service.engine.committed
        assert found["feltd_device_ready", "ready", "shoe"] == 1
        assert found["feltd_device_data_age_seconds", "shoe"] >= 0
        assert found["feltd_device_frames_total", "sign"] >= 0
        commits = found["feltd_commit_seconds_count",]
        assert 0 < commits <= stage.service.engine.committed
        assert found["feltd_commit_seconds_bucket", "+Inf"] == commits

    played(tmp_path, story, there=True)


def test_a_commit_is_counted_in_the_bucket_that_it_fits() -> None:
    latency = Latency()
    for seconds in (0.0, BOUNDS[0], BOUNDS[0] * 1.01, 99.0):
        latency.observe(seconds)
    assert (latency.counts[0], latency.counts[1], latency.counts[-1]) == (2, 1, 1)


@pytest.mark.parametrize("config", [DEMO, DEMO.with_name("five-card.toml")], ids=["caribbean", "five-card"])
def test_what_is_offered_now_is_what_the_game_takes_or_refuses(config: Path, tmp_path: Path) -> None:
    """An act that is not allowed now is refused with the same words."""

    async def story(api: Api, stage: Stage) -> None:
        for opened in (False, True):
            if opened:
                await accepted(api, "open-table")
            offered = (await api.get("/acts")).json()
            refused = [each for each in offered["acts"] if not each["now"]["allowed"]]
            assert len(refused) > 10
            for each in refused:
                args = {a["name"]: a["choices"][0] if a["choices"] else "1" for a in each["arguments"]}
                document = is_problem(await api.post(f"/acts/{each['name']}", json={"args": args}), 409)
                if each["name"].startswith("use-") or each["name"] == "clear-fault":
                    continue  # the table itself refuses those, for reasons of its own
                now = each["now"]
                told = {key: document[key] for key in ("clause", "todo")} | {"reason": document["detail"]}
                assert told == {key: now[key] for key in told}, each["name"]

    played(tmp_path, story, config=config)


def test_the_published_schema_is_the_one_in_the_repository(tmp_path: Path) -> None:
    kept = schema_tool.FILE.read_text()
    assert schema_tool.schema_text() == kept, "python -m tools.schema"

    async def story(api: Api, stage: Stage) -> None:
        for path in ("/schema", "/openapi.json"):
            assert (await api.get(path)).json() == json.loads(kept)

    played(tmp_path, story)


# --- limits ----------------------------------------------------------------------------------


async def chunks(*parts: bytes, pause: float = 0) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
        await asyncio.sleep(pause)


Body = Callable[[], Any]


@pytest.mark.parametrize(
    "body",
    [
        lambda: b" " * (limits.LONGEST_BODY + 1),
        lambda: chunks(*[b" " * 1024] * (limits.LONGEST_BODY // 1024 + 1)),
    ],
    ids=["with a length", "in chunks"],
)
def test_a_body_that_is_too_long(body: Body, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        committed = stage.service.engine.committed
        answer = await api.post("/acts/open-table", content=body())
        is_problem(answer, 413)
        assert answer.headers["connection"] == "close"
        assert stage.service.engine.committed == committed

    played(tmp_path, story)


def test_a_body_that_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_WITHIN", 0.1)

    async def story(api: Api, stage: Stage) -> None:
        reader = stage.app(_post("/acts/open-table"), _never, told.append_message)
        await asyncio.wait_for(reader, 20)
        assert told.status == 408

    told = _Told()
    played(tmp_path, story)


class _Told:
    status = 0

    async def append_message(self, message: Message) -> None:
        self.status = message.get("status", self.status)


async def _never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


def _post(path: str) -> dict[str, Any]:
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), (b"content-length", b"9")],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("feltd", 80),
        "client": None,
    }
