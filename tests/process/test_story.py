"""A round told again: every input in order, what became of it by which clause, and no card that lies down."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from daemon.api import house as papers
from daemon.api.door import Door
from daemon.cli import app
from daemon.client import Client
from daemon.config import Settings
from daemon.games.desk import Act
from daemon.house import House
from daemon.report import NoSuchRound, Story, report, story
from daemon.report.books import STRIDE
from drivers.cards import DECK
from tests.fakes.diary import Diary, StudDiary
from tests.fakes.stage import Api, From, Stage, accepted, client, do, is_problem, played
from tests.process.test_archive import copied
from tests.process.test_report import DAY, DEALER, HANDS, archived

__all__ = ["archived"]  # a fixture
ROYAL = {1: "AS KS QS JS 10S", 2: "2H 3C 4D 5S 7H"}
MACAU = House()


@pytest.fixture
def diary(tmp_path: Path) -> Iterator[Diary]:
    diary = Diary(tmp_path)
    yield diary
    diary.journal.close()


def of(diary: Diary | StudDiary, number: int | None = None) -> Story:
    return story(diary.path, MACAU, number)


def words(told: Story) -> list[str]:
    return [each["what"] for each in told["told"]]


def named(told: object) -> set[str]:
    """The cards that are named anywhere in it."""
    text = json.dumps(told)
    return {card.text for card in DECK if f'"{card.text}"' in text or f"{card.text} " in text}


# --- what is told --------------------------------------------------------------------------------------


def test_every_input_of_the_round_is_told_in_order(diary: Diary) -> None:
    diary.bets(1, 3, progressive=(1,))
    first = diary.seq - 3  # open-betting, two antes, one progressive bet
    diary.act("ante", box=1, amount=10_000)
    diary.play(HANDS, DEALER, folds=(3,))
    told = of(diary)
    assert (told["round"], told["outcome"], told["records"]) == (1, "settled", [first, diary.seq])
    assert [each["seq"] for each in told["told"]] == list(range(first, diary.seq + 1))
    assert [each["at"] for each in told["told"]] == sorted(each["at"] for each in told["told"])
    assert words(told)[:6] == [
        "Open betting",
        "Ante: box 1, amount 100.00",
        "Ante: box 3, amount 100.00",
        "Progressive bet: box 1",
        "Ante: box 1, amount 100.00",
        "card 1 came out",
    ]
    assert words(told)[-1] == "Settle the round"
    assert told["account"] == json.loads(json.dumps(diary.closed[-1]))
    assert (told["verified"], told["errors"]) == (True, [])


def test_who_did_it_and_what_became_of_it_are_told(diary: Diary) -> None:
    diary.bets(1)
    diary.take(Act("ante", {"box": 1, "amount": 10_000}, by="ana", role="dealer", second="bo"))
    refused = of(diary)["told"][-1]
    assert (refused["who"], refused["accepted"]) == ("ana (dealer), with bo", False)
    assert refused["became"] == [
        "refused: box 1 is taken; to do: a box is never shared; take-back to change the bet"
    ]
    assert refused["clauses"] == ["CS-06"]
    diary.play({1: "2S 3S 5H 7C 8D"}, "QD JC 9H 6D 3H")
    settled = of(diary)["told"][-1]
    assert "100.00 from house to player 1: ante won" in settled["became"]
    assert "round 1 is settled" in settled["became"]


def test_an_amount_that_is_none_is_told_as_it_was_given(diary: Diary) -> None:
    diary.bets()
    for amount in ("9" * 5_000, "ten", "-5"):
        diary.act("ante", box=1, amount=amount)
    amounts = [what.partition("amount ")[2] for what in words(of(diary))[1:]]
    assert amounts == ["9" * 5_000, "ten", "-0.05"]


def test_a_slip_names_the_record_that_it_replaces(diary: Diary) -> None:
    diary.bets(1)
    slip = diary.seq
    diary.take(Act("ante", {"box": 1, "amount": 20_000}, role="dealer", replaces=slip))
    assert words(of(diary))[-1] == f"Ante: box 1, amount 200.00, in the place of record {slip}"


def test_an_award_that_is_paid_after_the_round_is_part_of_it(diary: Diary) -> None:
    diary.bets(1, 2, progressive=(1, 2))
    diary.play(ROYAL, DEALER)
    closed = diary.seq
    diary.shuffle()
    assert [each["seq"] for each in of(diary)["told"]][-1] == closed
    diary.do("confirm-award", role="supervisor", box=1)
    diary.shuffle()
    told = of(diary)
    assert [each["seq"] for each in told["told"]][-2:] == [closed, diary.seq - 2]
    assert "500,000.00" in " ".join(told["told"][-1]["became"])


# --- which round ---------------------------------------------------------------------------------------


def test_the_last_round_is_the_one_that_is_played(diary: Diary) -> None:
    diary.bets(1)
    diary.play({1: "2S 3S 5H 7C 8D"}, "QD JC 9H 6D 3H")
    assert of(diary)["round"] == 1
    diary.bets(2)
    begun = diary.seq - 1
    diary.draw("2S")
    running = of(diary)
    assert (running["round"], running["outcome"], running["account"]) == (2, "open", None)
    assert running["records"] == [begun, diary.seq]
    assert of(diary, 2) == running
    assert of(diary, 1)["outcome"] == "settled"


def test_betting_that_came_to_nothing_was_no_round(diary: Diary) -> None:
    diary.bets()
    diary.do("close-betting")
    with pytest.raises(NoSuchRound, match="there is no round yet"):
        of(diary)
    diary.bets(1)
    assert of(diary)["records"][0] == diary.seq - 1


def test_a_round_that_there_is_not_is_refused(diary: Diary) -> None:
    diary.bets(1)
    diary.play({1: "2S 3S 5H 7C 8D"}, "QD JC 9H 6D 3H")
    for number in (2, 99, 10**27):
        with pytest.raises(NoSuchRound, match=f"there is no round {number}: the newest is 1"):
            of(diary, number)


def test_a_round_in_an_archive_is_told_after_its_chain_was_checked(
    archived: Settings, tmp_path: Path
) -> None:
    told = story(archived.journal, MACAU, 2)
    assert (told["round"], told["outcome"], told["verified"]) == (2, "settled", True)
    copy = copied(archived, tmp_path)
    first = min(copy.with_name("journal.db.archive").iterdir())
    with closing(sqlite3.connect(first, isolation_level=None)) as connection:
        other = "CAST(replace(CAST(record AS TEXT), '\"box\":1', '\"box\":2') AS BLOB)"
        connection.execute(f"UPDATE records SET record = {other} WHERE seq = {told['records'][0] + 1}")
    altered = story(copy, MACAU, 2)
    assert not altered["verified"]
    assert altered["errors"][0].startswith(f"record {told['records'][0] + 1}: the chain does not hold")


# --- what is not told ----------------------------------------------------------------------------------


def test_a_card_that_lies_down_is_not_told(diary: Diary) -> None:
    diary.bets(1, 3)
    diary.play(HANDS, DEALER, folds=(3,))
    told = of(diary)
    assert named(told) == set(f"{HANDS[1]} {DEALER}".split())  # box 3 folded, and keeps its cards
    assert named({**told, "account": None}) == set()


def test_cards_that_were_keyed_are_not_told_whatever_the_act_was_called(diary: Diary) -> None:
    diary.bets(1)
    diary.act("reveal", box=1, cards="AS KD")
    diary.act("expose", box=1, card="7H")
    diary.act("revael", box=1, cards="AS KD")
    told = of(diary)
    assert named(told) == set()
    assert [what for what in words(told) if "(not told)" in what] == words(told)[-3:]


def test_the_cards_of_a_running_stud_round_are_not_told(tmp_path: Path) -> None:
    stud = StudDiary(tmp_path)
    stud.start(1, 2)
    stud.first_deal({1: "AS 5H", 2: "KD 6C"})
    stud.bet(1, 30)
    told = of(stud)
    stud.journal.close()
    assert (told["round"], told["outcome"]) == (1, "open")
    assert "Bet: seat 1, amount 30.00" in words(told)
    assert named(told) == set()


# --- the command ---------------------------------------------------------------------------------------


def feltd(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words), env={"COLUMNS": "240"})
    return done.exit_code, done.stdout


def test_the_command_tells_a_round_for_people_and_for_programs(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "240")
    diary.now = datetime(2026, 1, 1, 20, tzinfo=UTC)
    diary.bets(1)
    diary.play({1: "2S 3S 5H 7C 8D"}, "QD JC 9H 6D 3H")
    where = ("--journal", str(diary.path))
    code, out = feltd("replay", "--round", "last", *where, "--json")
    assert (code, json.loads(out)) == (0, of(diary))
    code, out = feltd("replay", "--round", "1", *where)
    assert code == 0
    for text in (
        "Journal verified",
        "2026-01-02 04:00:00 (1 Jan 20:00:00Z)",
        "Open betting",
        "QD JC 9H 6D 3H",
    ):
        assert text in out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 2),
        (("x.rec", "--round", "1"), 2),
        (("--round", "first"), 2),
        (("--round", "0"), 2),
        (("--round", "7", "--journal", "JOURNAL"), 1),
        (("--round", "999999999999999999999999999", "--journal", "JOURNAL"), 1),
        (("--round", "1", "--journal", "none.db"), 1),
        (("--round", "1", "--journal", ""), 2),
        (("--round", "1", "--socket", "none.sock"), 1),
    ],
)
def test_what_cannot_be_told_is_an_exit_code(words: tuple[str, ...], code: int, diary: Diary) -> None:
    assert feltd("replay", *(str(diary.path) if word == "JOURNAL" else word for word in words))[0] == code


def test_without_a_journal_the_daemon_is_asked(diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    diary.bets(1)
    asked = []

    def get(self: Client, path: str, query: object = None, extra: float = 0) -> object:
        asked.append((path, query))
        return report(diary.path, MACAU, DAY) if path == "/report" else of(diary)

    monkeypatch.setattr(Client, "_get", get)
    at = ("--socket", "table.sock", "--json")
    assert feltd("report", "--day", "2026-01-01", "--shift", "night", *at)[0] == 0
    assert feltd("report", "--day", "20260101", *at)[0] == 0
    assert json.loads(feltd("replay", "--round", "last", *at)[1]) == of(diary)
    assert feltd("replay", "--round", "7", *at)[0] == 0
    assert asked == [
        ("/report", {"day": "2026-01-01", "shift": "night"}),
        ("/report", {"day": "2026-01-01"}),
        ("/rounds/last/story", None),
        ("/rounds/7/story", None),
    ]


def test_a_journal_that_does_not_hold_is_exit_1(diary: Diary) -> None:
    diary.bets(1)
    with closing(sqlite3.connect(diary.path, isolation_level=None)) as connection:
        connection.execute("UPDATE records SET hash = zeroblob(32) WHERE seq = 3")
    code, out = feltd("replay", "--round", "last", "--journal", str(diary.path), "--json")
    assert (code, json.loads(out)["verified"]) == (1, False)


# --- the API -------------------------------------------------------------------------------------------

DEALERS, AUDITORS, SUPERVISORS = 5001, 5002, 5003


def door() -> Door:
    return Door(
        {}, {DEALERS: "dealer", AUDITORS: "auditor", SUPERVISORS: "supervisor"}, None, frozenset((0,))
    )


def test_the_daemon_tells_supervisor_and_auditor_and_nobody_else(tmp_path: Path) -> None:
    async def tell(api: Api, stage: Stage) -> None:
        async with client(From(stage.app, 0)) as own:
            await accepted(own, "open-table")
        today = MACAU.day_of(datetime.now(UTC)).isoformat()
        for group, status in ((DEALERS, 403), (AUDITORS, 200), (SUPERVISORS, 200)):
            async with client(From(stage.app, 4999, group)) as caller:
                answer = await caller.get("/report", params={"day": today})
                assert answer.status_code == status, answer.text
                if status == 200:
                    assert answer.json()["reconciled"]
                    assert answer.json()["records"] == [1, stage.service.engine.committed]
                assert (await caller.get("/rounds/last/story")).status_code == (404 if status == 200 else 403)

    played(tmp_path, tell, door=door)


def test_the_daemon_says_what_cannot_be_told(tmp_path: Path) -> None:
    async def tell(api: Api, stage: Stage) -> None:
        assert "no shift" in is_problem(await api.get("/report?day=2026-01-01&shift=noon"), 404)["detail"]
        is_problem(await api.get("/report?day=9999-12-31"), 404)
        is_problem(await api.get("/report?day=yesterday"), 422)
        is_problem(await api.get("/report"), 422)
        assert "no round 7" in is_problem(await api.get("/rounds/7/story"), 404)["detail"]
        is_problem(await api.get("/rounds/newest/story"), 422)

    played(tmp_path, tell)


def test_one_paper_is_made_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def tell(api: Api, stage: Stage) -> None:
        while stage.service.engine.committed <= STRIDE:  # so that a paper rests once
            await do(api, "cut")
        monkeypatch.setattr(papers, "PAUSE", 0.3)
        today = MACAU.day_of(datetime.now(UTC)).isoformat()
        first = asyncio.create_task(api.get("/report", params={"day": today}))
        await asyncio.sleep(0.05)
        is_problem(await api.get("/report", params={"day": today}), 429)
        assert (await api.get("/status")).status_code == 200  # the table goes on meanwhile
        assert not first.done()
        assert (await first).status_code == 200

    played(tmp_path, tell)


def test_the_status_names_the_house(tmp_path: Path) -> None:
    async def tell(api: Api, stage: Stage) -> None:
        stage.service.house = House("Europe/Lisbon")
        house = (await api.get("/status")).json()["house"]
        assert house == {"time_zone": "Europe/Lisbon", "gaming_day": "06:00", "shifts": {}}

    played(tmp_path, tell)
