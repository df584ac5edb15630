"""The day's report: amounts by hand, day after day without a gap, and every lie in a journal is named."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from daemon.audit import verify
from daemon.cli import app
from daemon.config import Settings
from daemon.games.desk import Act
from daemon.games.hands import Category
from daemon.games.jackpot import Award
from daemon.games.linked import AwardDecided, PoolSeen
from daemon.house import House
from daemon.journal import JournalError, folder_of, head_path, link_hash
from daemon.records import Plain, decode, encode
from daemon.report import NoSuchDay, Report, page, report, story
from daemon.report.page import BEGINS
from daemon.simulate import SimulateOptions
from daemon.simulate import run as simulate
from daemon.table import LinkChanged
from drivers.base import SECOND, FaultCleared, FaultSet
from tests.fakes.diary import Diary, StudDiary
from tests.perf import bulk
from tests.process.test_archive import copied
from tests.table.floor import ANTE, RULES, STAKE
from tests.table.test_linked import TERMS, started

HANDS = {1: "AS KS QS JS 9S", 3: "2H 3C 4D 5S 7H"}  # a flush, and nothing
DEALER = "AC KD 8H 6C 4S"
DAY = date(2026, 1, 1)
HOUSE = House(shifts={"morning": time(6), "evening": time(14), "night": time(22)})
LATER = datetime(2027, 1, 1, tzinfo=UTC)
MINIMUM, FLUSH = 50_000_000, 50_000


def of(diary: Diary | StudDiary, day: date = DAY, **more: Any) -> Report:
    return report(diary.path, HOUSE, day, now=LATER, **more)


def an_evening(diary: Diary) -> None:
    """A round with an award, a void one, and one that plays its carried bet; a correction; a fault."""
    diary.bets(1, 3, progressive=(1, 3))
    diary.play(HANDS, DEALER, folds=(3,))
    diary.bets(2, progressive=(2,))
    diary.draw("9C 9D")
    diary.do("misdeal", text="<b>two</b> cards")
    diary.tell("shoe", FaultSet(3, "jam", True))
    diary.tell("shoe", FaultCleared(3))
    diary.take(LinkChanged("SH-2", False, "lost", "unplugged"))
    diary.take(Act("correct-pool", {"amount": -500, "text": "typed twice"}, "bo", "supervisor", "di"))
    diary.bets(2, 4)
    diary.play({2: "2S 3S 5H 7C 8D", 4: "KH KC 2D 3D 4C"}, "QD JC 9H 6D 3H")
    diary.do("close-table")


@pytest.fixture
def diary(tmp_path: Path) -> Iterator[Diary]:
    diary = Diary(tmp_path)
    yield diary
    diary.journal.close()


@pytest.fixture
def stud(tmp_path: Path) -> Iterator[StudDiary]:
    stud = StudDiary(tmp_path)
    yield stud
    stud.journal.close()


# --- Caribbean Stud, by hand -------------------------------------------------------------------------


def test_a_day_is_told_to_the_unit(diary: Diary) -> None:
    an_evening(diary)
    told = of(diary)
    assert told["rounds"] == {"settled": 2, "void": 1, "open": 0, "first": 1, "last": 3}
    # Rounds 1 and 3 have two antes, round 2 one; raises are twice the ante: box 1, boxes 2 and 4.
    assert told["drop"] == {
        "ante": 5 * ANTE,
        "raise": 6 * ANTE,
        "progressive": 3 * STAKE,
        "total": 11 * ANTE + 3 * STAKE,
    }
    # Box 1 wins with a flush against ace-king; box 3 folds; the dealer of round 3 does not qualify.
    assert told["stakes"]["ante"] == {
        "taken": 5 * ANTE,
        "lost": ANTE,
        "returned": 3 * ANTE,
        "void": ANTE,
        "lying": 0,
    }
    assert told["stakes"]["raise"] == {
        "taken": 6 * ANTE,
        "lost": 0,
        "returned": 6 * ANTE,
        "void": 0,
        "lying": 0,
    }
    assert told["payouts"] == {
        "ante": 3 * ANTE,
        "raise": 5 * 2 * ANTE,
        "awards": FLUSH,
        "total": 13 * ANTE + FLUSH,
    }
    assert told["pool"] == {
        "opening": 0,
        "minimum": MINIMUM,
        "contributed": 3 * STAKE,
        "overflow": 0,
        "corrected": -500,
        "awarded": FLUSH,
        "closing": MINIMUM + 3 * STAKE - 500 - FLUSH,
    }
    assert told["account"]["win"] == ANTE - 13 * ANTE
    assert told["account"]["closing"] == ANTE - 13 * ANTE - MINIMUM + 500
    assert (told["reconciled"], told["differences"]) == (True, [])
    assert (told["verified"], told["errors"], told["final"]) == (True, [], True)
    assert told["records"] == [1, diary.seq]


def test_what_else_happened_is_told_with_its_clause(diary: Diary) -> None:
    an_evening(diary)
    told = of(diary)
    assert [(a["round"], a["box"], a["category"], a["amount"], a["from_pool"]) for a in told["awards"]] == [
        (1, 1, "flush", FLUSH, FLUSH)
    ]
    assert told["awards"][0]["paid_at"] is not None
    assert [(clause, len(found)) for clause, found in told["irregularities"].items()] == [("CS-11a", 1)]
    assert told["irregularities"]["CS-11a"][0]["round"] == 2
    assert ("CS-11a", "<b>two</b> cards") not in [(r["clause"], r["detail"]) for r in told["remarks"]]
    assert [(f["device"], f["code"], f["cleared_at"] is None) for f in told["faults"]] == [
        ("shoe", "3", False),
        ("SH-2", "link", True),
    ]
    assert [done["act"] for done in told["openings"]] == ["open-table", "close-table"]
    [correction] = told["corrections"]
    assert (correction["by"], correction["second"], correction["amount"]) == ("bo", "di", -500)
    assert [start["version"] for start in told["starts"]] == ["0"]


def test_what_was_refused_moved_nothing_and_is_not_told_as_done(diary: Diary) -> None:
    diary.open()
    diary.act("correct-pool", role="dealer", amount=7, text="no supervisor")
    diary.act("open-table")
    told = of(diary)
    assert (told["corrections"], len(told["openings"])) == ([], 1)


def test_a_round_that_is_open_lies_on_the_layout(diary: Diary) -> None:
    diary.bets(1, 2, progressive=(1,))
    told = of(diary)
    assert told["rounds"]["open"] == 1
    assert told["stakes"]["ante"]["lying"] == told["drop"]["ante"] == 2 * ANTE
    assert told["stakes"]["progressive"]["lying"] == STAKE
    assert (told["final"], told["reconciled"]) == (False, True)
    diary.do("take-back", box=1)
    assert of(diary)["drop"]["total"] == ANTE


@pytest.mark.parametrize("amount", [2 * ANTE, ANTE // 2])
def test_a_slip_that_was_put_right_counts_as_it_lay_in_the_end(amount: int, diary: Diary) -> None:
    diary.bets(1)
    slip = diary.seq
    diary.take(Act("ante", {"box": 1, "amount": amount}, role="dealer", replaces=slip))
    assert diary.last.refusal is None
    diary.play({1: "2S 3S 5H 7C 8D"}, "QD JC 9H 6D 3H")
    told = of(diary)
    assert (told["drop"]["ante"], told["reconciled"]) == (amount, True)


def test_a_day_that_is_not_over_is_told_so_far(diary: Diary) -> None:
    diary.open()
    assert not report(diary.path, HOUSE, DAY, now=datetime(2026, 1, 1, 12, tzinfo=UTC))["final"]
    assert report(diary.path, HOUSE, DAY, now=LATER)["final"]


def test_a_linked_pool_is_told_as_this_table_s_part_of_it(diary: Diary) -> None:
    diary.take(started(TERMS, RULES))
    for name in diary.table.rig.devices:
        diary.take(LinkChanged(name, True, "", "", "S1", "1.0", "", 1))
    diary.take(PoolSeen(90_000_000, 1, 0))
    diary.bets(1, 2, progressive=(1, 2))
    diary.play({1: HANDS[1], 2: HANDS[3]}, DEALER)
    claim = next(award.claim for award in diary.game.pending if award.amount is None)
    before = of(diary)
    assert before["reconciled"], before["differences"]
    diary.take(AwardDecided(claim, (Award(1, Category.FLUSH, FLUSH, FLUSH, 0),), 89_000_000, 9))
    told = of(diary)
    assert told["reconciled"], told["differences"]
    assert told["linked"] == {
        "opening": 0,
        "contributed": 2 * STAKE,
        "reserve": 0,
        "corrected": 0,
        "awarded": FLUSH,
        "closing": 2 * STAKE - FLUSH,
    }
    assert told["pool"] is not None
    assert not any(told["pool"].values())
    assert [(award["amount"], award["from_pool"]) for award in told["awards"]] == [(FLUSH, FLUSH)]
    assert "Linked pool, this table&#x27;s part" in page(told)
    last = story(diary.path, HOUSE)["told"][-1]
    assert last["what"] == "the authority of the linked pool decided"


# --- day after day -----------------------------------------------------------------------------------


def test_a_round_belongs_to_the_day_in_which_it_was_opened(diary: Diary) -> None:
    diary.now = datetime(2026, 1, 1, 21, 59, 59, 900_000, tzinfo=UTC)  # six in Macau is at 22:00
    diary.bets(1, progressive=(1,))
    diary.now = datetime(2026, 1, 1, 23, tzinfo=UTC)
    diary.play({1: "2S 3S 5H 7C 8D"}, "QD JC 9H 6D 3H")
    closed = diary.seq
    diary.shuffle()
    first, second = of(diary, DAY), of(diary, DAY + timedelta(days=1))
    assert first["records"] == [1, closed]
    assert second["records"] == [closed + 1, diary.seq]
    assert (first["rounds"]["settled"], second["rounds"]["settled"]) == (1, 0)
    assert (first["reconciled"], second["reconciled"]) == (True, True)
    assert second["pool"] is not None
    assert second["pool"]["opening"] == second["pool"]["closing"] == MINIMUM + STAKE


def test_a_round_that_is_still_open_keeps_its_day_from_ending(diary: Diary) -> None:
    diary.now = datetime(2026, 1, 1, 21, 59, tzinfo=UTC)
    diary.bets(1)
    diary.now = datetime(2026, 1, 2, 3, tzinfo=UTC)
    diary.draw("2S")
    assert of(diary)["records"] == [1, diary.seq]
    assert not of(diary)["final"]
    assert of(diary, DAY + timedelta(days=1))["records"] is None


def test_a_clock_that_is_set_back_puts_no_record_into_two_days(diary: Diary) -> None:
    diary.now = datetime(2026, 1, 1, 23, tzinfo=UTC)
    before = diary.seq
    diary.open()
    diary.now = datetime(2026, 1, 1, 12, tzinfo=UTC)
    diary.do("shuffle")
    first, second = of(diary, DAY), of(diary, DAY + timedelta(days=1))
    assert first["records"] == [1, before]
    assert second["records"] == [before + 1, diary.seq]


@pytest.fixture(scope="module")
def archived(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Some evenings, most of them in archives."""
    return bulk.build(tmp_path_factory.mktemp("archived"), 4_500, pause=3 * 3_600 * SECOND)


def every_day(settings: Settings, house: House) -> list[Report]:
    """From the day before the first record to the first one with none."""
    told, day = [], DAY - timedelta(days=1)
    while not told or told[-1]["records"] or len(told) < 3:
        told.append(report(settings.journal, house, day, now=LATER))
        day += timedelta(days=1)
    return told


@pytest.mark.parametrize(
    "house", [HOUSE, House("Europe/Lisbon", time(2, 30)), House("America/St_Johns", time(0))]
)
def test_days_follow_each_other_through_archives_without_a_gap(archived: Settings, house: House) -> None:
    assert len(list(folder_of(archived.journal).iterdir())) > 3
    days = [day for day in every_day(archived, house) if day["records"]]
    assert len(days) > 3
    assert all(day["reconciled"] and day["verified"] for day in days)
    whole = verify(archived.journal)
    records = [day["records"] for day in days if day["records"]]
    assert (records[0][0], records[-1][1]) == (1, whole["inputs"])
    assert all(one[1] + 1 == other[0] for one, other in pairwise(records))
    pools = [day["pool"] for day in days if day["pool"]]
    assert all(one["closing"] == other["opening"] for one, other in pairwise(pools))
    assert (pools[0]["opening"], pools[-1]["closing"]) == (0, whole["pool"])
    assert sum(day["rounds"]["settled"] for day in days) == whole["rounds"]


def test_the_shifts_are_the_day(archived: Settings) -> None:
    day = DAY + timedelta(days=1)
    whole = report(archived.journal, HOUSE, day, now=LATER)
    shifts = [report(archived.journal, HOUSE, day, name, LATER) for name in HOUSE.shifts]
    assert [shift["shift"] for shift in shifts] == list(HOUSE.shifts)
    assert whole["drop"]["total"] > 0
    total: Counter[str] = Counter()
    for shift in shifts:
        total.update(shift["drop"])
    assert dict(total) == whole["drop"]
    assert sum(shift["rounds"]["settled"] for shift in shifts) == whole["rounds"]["settled"]


def test_a_journal_of_the_first_format_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((Path(__file__).parents[1] / "records" / "journal-format-1.sql").read_text())
    before = path.read_bytes()
    told = report(path, HOUSE, DAY, now=LATER)
    assert (told["rounds"]["settled"], told["reconciled"], told["verified"]) == (1, True, True)
    assert told["pool"] is not None
    assert told["pool"]["closing"] == MINIMUM + STAKE - FLUSH
    assert path.read_bytes() == before


def test_a_day_that_nobody_can_name_is_refused(archived: Settings) -> None:
    with pytest.raises(NoSuchDay, match="no shift 'noon'"):
        report(archived.journal, HOUSE, DAY, "noon")
    for day in (date.max, date.min):
        with pytest.raises(NoSuchDay, match="beyond the calendar"):
            report(archived.journal, HOUSE, day)


# --- five-card stud ----------------------------------------------------------------------------------


def test_a_stud_day_is_told_to_the_unit(stud: StudDiary) -> None:
    stud.do("open-table")
    for seat in (1, 2):
        stud.do("buy-in", seat=seat, amount=200_000)
    stud.antes(1, 2)
    stud.burn()
    stud.first_deal({1: "AS 5H", 2: "KD 6C"})
    stud.bet(1, 30)
    stud.do("fold", seat=2)
    stud.do("settle")
    stud.do("leave", seat=2)
    stud.do("top-up", seat=1, amount=1_000)
    told = of(stud)
    # Two antes of 20.00, the first rake 20.00; 4 % of the 20.00 that are left; the bet goes back.
    rake = 2_000 + 80
    assert told["drop"] == {"buy_ins": 400_000, "top_ups": 1_000, "total": 401_000}
    assert told["rake"] == {"first": 2_000, "pots": 80, "void": 0, "total": rake}
    assert told["cash_outs"] == 198_000
    assert told["chips"] == {
        "opening": 0,
        "buy_ins": 400_000,
        "top_ups": 1_000,
        "added": 0,
        "cash_outs": 198_000,
        "rake": rake,
        "closing": 203_000 - rake,
    }
    assert told["account"]["win"] == told["account"]["closing"] == rake
    assert (told["pool"], told["reconciled"], told["rounds"]["settled"]) == (None, True, 1)


def moved(path: Path, reason: str) -> int:
    """What moved for one reason, by SQL alone."""
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT coalesce(sum(amount), 0) FROM money WHERE reason = ? AND amount > 0"
        return int(connection.execute(query, (reason,)).fetchone()[0])


def test_evenings_of_stud_with_exposed_cards_reconcile(tmp_path: Path) -> None:
    path = tmp_path / "evening.db"
    simulate(SimulateOptions(game="five-card", rounds=60, boxes=6, seed=11, journal=path))
    told = report(path, HOUSE, DAY, now=LATER)
    assert (told["differences"], told["errors"]) == ([], [])
    assert told["rounds"]["settled"] + told["rounds"]["void"] == 60
    assert told["drop"]["buy_ins"] == moved(path, "buy-in")
    assert told["drop"]["top_ups"] == moved(path, "top-up")
    assert told["rake"]["total"] == moved(path, "first rake") + moved(path, "rake")


def test_a_dead_hand_s_ante_goes_back_to_the_unit(stud: StudDiary) -> None:
    stud.start(1, 2, 3)
    stud.first_deal({1: "AS", 2: "KD", 3: "QC"})
    stud.do("expose-hole", seat=3)
    stud.bet(1, 30)
    stud.do("fold", seat=2)
    stud.do("settle")
    told = of(stud)
    assert told["reconciled"], told["differences"]
    assert list(told["irregularities"]) == ["FC-18"]


def test_a_void_gives_back_what_the_house_had_added(stud: StudDiary) -> None:
    stud.start(1, 2)
    stud.first_deal({1: "AS", 2: "KD"})
    stud.do("expose-hole", seat=1)
    stud.do("expose-hole", seat=2)
    stud.do("wrong-deck", role="supervisor", text="a joker")
    told = of(stud)
    assert (told["rake"]["total"], told["rake"]["void"]) == (0, 2_000)
    assert told["chips"]["added"] == 0
    assert told["reconciled"]


def test_a_void_stud_round_gives_the_first_rake_back(stud: StudDiary) -> None:
    stud.start(1, 2, 3)
    stud.first_deal({1: "AS", 2: "KD", 3: "QC"})
    stud.do("wrong-deck", role="supervisor", text="forty-one cards")
    told = of(stud)
    assert told["rake"] == {"first": 2_000, "pots": 0, "void": 2_000, "total": 0}
    assert (told["rounds"]["void"], told["reconciled"]) == (1, True)
    assert list(told["irregularities"]) == ["FC-19"]


# --- a journal that lies -----------------------------------------------------------------------------


def in_summary(change: Callable[[Plain], object]) -> Callable[[Plain], Plain]:
    """Alters what a closing round tells of itself; the journal is written with it, and its chain holds."""

    def falsify(record: Plain) -> Plain:
        record = json.loads(json.dumps(record))
        for effect in record.get("effects", ()):
            if effect["effect"] == "round-closed":
                change(effect["summary"])
        return record

    return falsify


def plus(*path: Any) -> Callable[[Plain], object]:
    """One unit more in one place of the summary."""

    def change(summary: Plain) -> None:
        place: Any = summary
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] += 1

    return change


@pytest.mark.parametrize(
    ("where", "what", "change"),
    [
        ("round 1, box 1", "ante", plus("boxes", 0, "ante")),
        ("round 1, box 1", "raise", plus("boxes", 0, "raise")),
        ("round 1, box 1", "progressive", plus("boxes", 0, "progressive")),
        ("round 1, box 1", "ante_paid", plus("boxes", 0, "ante_paid")),
        ("round 1, box 1", "raise_paid", plus("boxes", 0, "raise_paid")),
        ("round 1, box 1", "award", plus("boxes", 0, "award")),
        ("round 1, box 3", "ante", lambda summary: summary["boxes"].pop()),
        ("round 1, pool", "opened", plus("pool", "opened")),
        ("round 1, pool", "contributed", plus("pool", "contributed")),
        ("round 1, pool", "awarded", plus("pool", "awarded")),
        ("round 1, pool", "closed", plus("pool", "closed")),
    ],
)
def test_a_round_s_account_that_is_a_unit_off_is_named(
    where: str, what: str, change: Callable[[Plain], object], diary: Diary
) -> None:
    diary.falsify = in_summary(change)
    diary.bets(1, 3, progressive=(1, 3))
    diary.play(HANDS, DEALER, folds=(3,))
    told = of(diary)
    assert not told["reconciled"]
    found = {(each["where"], each["what"]): each["told"] - each["booked"] for each in told["differences"]}
    assert found[where, what] == (-ANTE if where.endswith("3") else 1)
    assert told["verified"]  # the chain holds: only the books tell


@pytest.mark.parametrize(
    ("where", "what", "change"),
    [
        ("round 1, seat 1", "ante", plus("seats", 0, "ante")),
        ("round 1, seat 1", "staked", plus("seats", 0, "staked")),
        ("round 1, seat 1", "returned", plus("seats", 0, "returned")),
        ("round 1, seat 1", "won", plus("seats", 0, "won")),
        ("round 1, rake", "first", plus("rake", "first")),
        ("round 1, rake", "pots", plus("rake", "pots")),
    ],
)
def test_a_stud_round_s_account_that_is_a_unit_off_is_named(
    where: str, what: str, change: Callable[[Plain], object], stud: StudDiary
) -> None:
    stud.falsify = in_summary(change)
    stud.start(1, 2)
    stud.first_deal({1: "AS", 2: "KD"})
    stud.bet(1, 30)
    stud.do("fold", seat=2)
    stud.do("settle")
    found = [(each["where"], each["what"], each["told"] - each["booked"]) for each in of(stud)["differences"]]
    assert found == [(where, what, 1)]


def sql(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)


def test_an_entry_that_was_altered_is_named_by_its_record(diary: Diary) -> None:
    an_evening(diary)
    [seq] = sqlite3.connect(diary.path).execute("SELECT min(seq) FROM money WHERE reason = 'ante'").fetchone()
    sql(diary.path, f"UPDATE money SET amount = amount + 1 WHERE seq = {seq} AND line = 1")
    told = of(diary)
    [entry, *rest] = told["differences"]
    assert (entry["where"], entry["booked"] - entry["told"]) == (f"record {seq}", 1)
    assert ("all accounts together", 0, 1) in [(each["what"], each["told"], each["booked"]) for each in rest]


def test_the_table_s_own_memory_must_agree(diary: Diary) -> None:
    def falsify(record: Plain) -> Plain:
        if record["input"]["kind"] == "snapshot":
            balances = record["input"]["state"]["balances"]
            record["input"]["state"]["balances"] = balances | {"pool": balances["pool"] - 7}
        return record

    diary.falsify = falsify
    an_evening(diary)
    diary.snapshot()
    [found] = of(diary)["differences"]
    assert found["where"] == f"record {diary.seq}, the table's snapshot"
    assert (found["what"], found["booked"] - found["told"]) == ("pool", 7)


def test_money_that_reaches_the_pool_for_no_known_reason_is_found(diary: Diary) -> None:
    def falsify(record: Plain) -> Plain:
        moves = record.get("money", [])
        record["money"] = [[a, b, n, "gift" if why == "minimum" else why] for a, b, n, why in moves]
        return record

    diary.falsify = falsify
    diary.open()
    found = {each["what"]: each["booked"] - each["told"] for each in of(diary)["differences"]}
    assert found["the closing amount of pool"] == MINIMUM
    assert found["the closing amount of account"] == -MINIMUM


@pytest.mark.parametrize("kind", ["BLOB", "TEXT"])
def test_a_record_that_was_altered_breaks_the_chain(kind: str, diary: Diary) -> None:
    an_evening(diary)
    altered = f"CAST(replace(CAST(record AS TEXT), 'open-table', 'open-tabla') AS {kind})"
    sql(diary.path, f"UPDATE records SET record = {altered}")
    told = of(diary)
    assert not told["verified"]
    assert "the chain does not hold" in told["errors"][0]


def written_anew(archive: Path) -> None:
    """Another last record, with a hash that continues the chain."""
    with closing(sqlite3.connect(archive, isolation_level=None)) as connection:
        newest = "SELECT seq, record, sealed FROM records ORDER BY seq DESC LIMIT 1"
        seq, record, sealed = connection.execute(newest).fetchone()
        [before] = connection.execute("SELECT hash FROM records WHERE seq = ?", (seq - 1,)).fetchone()
        other = encode(decode(record) | {"message": "never said"})
        row = (other, link_hash(before, other, sealed), seq)
        connection.execute("UPDATE records SET record = ?, hash = ? WHERE seq = ?", row)


def spoiled(archive: Path) -> None:
    sql(archive, "UPDATE records SET hash = zeroblob(32) WHERE seq = (SELECT max(seq) FROM records)")


@pytest.mark.parametrize(
    ("alter", "sentence"),
    [(spoiled, "the chain does not hold"), (written_anew, "does not end as the journal says")],
)
def test_an_archive_that_was_altered_is_named(
    alter: Callable[[Path], None], sentence: str, archived: Settings, tmp_path: Path
) -> None:
    copy = copied(archived, tmp_path)
    archive = sorted(folder_of(copy).iterdir())[1]
    day = date.fromisoformat(archive.stem)
    assert report(copy, House("UTC", time(0)), day, now=LATER)["verified"]
    alter(archive)
    told = report(copy, House("UTC", time(0)), day, now=LATER)
    assert not told["verified"]
    assert sentence in " ".join(told["errors"])
    archive.unlink()
    with pytest.raises(JournalError, match=archive.stem):
        report(copy, House("UTC", time(0)), day, now=LATER)


# --- paper and terminal ------------------------------------------------------------------------------


def test_the_page_needs_nothing_else_and_quotes_what_people_wrote(diary: Diary) -> None:
    an_evening(diary)
    text = page(of(diary))
    assert text.startswith("<!DOCTYPE html>")
    for outside in ("http:", "https:", "src=", "<link", "<script", "@import", "url("):
        assert outside not in text
    assert "&lt;b&gt;two&lt;/b&gt; cards" in text
    assert "<b>" not in text
    for told in ("Table T: gaming day 2026-01-01", "Reconciled to the unit", "Journal verified", "CS-11a"):
        assert told in text
    assert "2026-01-01 08:00:00 (00:00:00Z)" in text
    assert "499,525.00" in text  # the pool: 500,000.00 + 30.00 - 5.00 - 500.00


def test_a_page_with_a_difference_says_where(diary: Diary) -> None:
    diary.falsify = in_summary(plus("pool", "closed"))
    diary.bets(1)
    diary.play({1: "2S 3S 5H 7C 8D"}, "QD JC 9H 6D 3H")
    text = page(of(diary))
    assert "Differences: 1" in text
    assert "round 1, pool" in text


def feltd(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})
    return done.exit_code, done.stdout


def test_the_command_tells_json_text_and_paper(diary: Diary, tmp_path: Path) -> None:
    an_evening(diary)
    words = ("report", "--day", "2026-01-01", "--journal", str(diary.path))
    code, out = feltd(*words, "--json")
    assert (code, json.loads(out)["reconciled"]) == (0, True)
    code, out = feltd(*words, "--html", str(tmp_path / "day.html"))
    assert code == 0
    assert "Reconciled to the unit" in out
    assert "Jackpot pool" in out
    assert (tmp_path / "day.html").read_text().startswith("<!DOCTYPE html>")
    (tmp_path / "day.html").write_text(BEGINS + "of yesterday")
    assert feltd(*words, "--html", str(tmp_path / "day.html"))[0] == 0
    assert "Jackpot pool" in (tmp_path / "day.html").read_text()


@pytest.mark.parametrize("kind", ["journal", "head", "key", "configuration", "link", "page", "log"])
def test_a_page_goes_over_nothing_but_a_page(diary: Diary, tmp_path: Path, kind: str) -> None:
    an_evening(diary)
    names = {"journal": diary.path, "key": diary.key, "head": head_path(diary.path)}
    html = names.get(kind, tmp_path / "there")
    if kind == "configuration":
        html.write_text(bulk.DEMO.read_text())
    elif kind == "link":
        html.symlink_to(diary.path)
    elif kind == "page":
        html.write_text("<!DOCTYPE html>\n<html><title>somebody else's</title></html>\n")
    elif kind == "log":
        html = tmp_path / "other.db-wal"  # at rest it may be empty, and is no less a journal's
        html.touch()
    before = html.read_bytes(), sorted(tmp_path.iterdir())
    done = CliRunner().invoke(
        app, ["report", "--day", "2026-01-01", "--journal", str(diary.path), "--html", str(html)]
    )
    assert (done.exit_code, "was not written by this command, and is kept" in done.stderr) == (1, True)
    assert (html.read_bytes(), sorted(tmp_path.iterdir())) == before


def test_a_page_goes_into_an_empty_file(diary: Diary, tmp_path: Path) -> None:
    """One that was made to have a name, as by mktemp."""
    an_evening(diary)
    html = tmp_path / "made"
    html.touch()
    assert feltd("report", "--day", "2026-01-01", "--journal", str(diary.path), "--html", str(html))[0] == 0
    assert html.read_text().startswith(BEGINS)


def test_a_page_that_does_not_fit_leaves_the_last_one(
    diary: Diary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    an_evening(diary)
    html = tmp_path / "day.html"
    html.write_text(BEGINS + "of yesterday")
    names = sorted(tmp_path.iterdir())

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    code, _ = feltd("report", "--day", "2026-01-01", "--journal", str(diary.path), "--html", str(html))
    assert (code, html.read_text(), sorted(tmp_path.iterdir())) == (1, BEGINS + "of yesterday", names)


def test_a_difference_is_exit_1(diary: Diary) -> None:
    diary.falsify = in_summary(plus("boxes", 0, "ante"))
    diary.bets(1)
    diary.play({1: "2S 3S 5H 7C 8D"}, "QD JC 9H 6D 3H")
    code, out = feltd("report", "--day", "2026-01-01", "--journal", str(diary.path), "--json")
    assert code == 1
    assert json.loads(out)["differences"][0]["where"] == "round 1, box 1"
    code, out = feltd("report", "--day", "2026-01-01", "--journal", str(diary.path))
    assert code == 1
    assert "What does not agree" in out


def test_the_configuration_has_zone_and_shifts(archived: Settings, tmp_path: Path) -> None:
    config = tmp_path / "t.toml"
    shifts = '[house]\ntime_zone = "Europe/Lisbon"\n[house.shifts]\nfirst = "06:00"\nsecond = "18:00"\n'
    config.write_text(bulk.DEMO.read_text().partition("[house]")[0] + shifts)
    words = ("report", "--day", "2026-01-02", "--journal", str(archived.journal), "--json")
    code, out = feltd(*words, "--config", str(config), "--shift", "second")
    told = json.loads(out)
    assert (code, told["start"], told["to"]) == (0, "2026-01-02T18:00:00Z", "2026-01-03T06:00:00Z")
    assert feltd(*words, "--shift", "second")[0] == 1
    assert feltd(*words[:2], "2026-13-01", *words[3:])[0] == 2
    assert feltd("report", "--day", "2026-01-02", "--journal", str(tmp_path / "none.db"))[0] == 1
    assert feltd("report", "--day", "2026-01-02", "--journal", "")[0] == 2
    assert feltd(*words, "--html", "")[0] == 2
