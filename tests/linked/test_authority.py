"""What a table's link may rely on: each line once, in order, and the same answer to the same question."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from daemon.games.hands import Category
from daemon.games.jackpot import Award, Claim
from daemon.linked.authority import Authority
from daemon.linked.entries import CONTRIBUTION, Entry, Refused, Unreachable, fingerprint
from tests.linked.house import CURRENCY, EVER, House
from tests.linked.postgres import Server
from tests.table.floor import JACKPOT

MINIMUM = JACKPOT.minimum
ROYAL, FLUSH, STRAIGHT = Category.ROYAL_FLUSH, Category.FLUSH, Category.STRAIGHT_FLUSH


def refusal(call: object, *words: object) -> Refused:
    assert callable(call)
    with pytest.raises(Refused) as told:
        call(*words)
    return told.value


def test_contributions_are_in_the_pool_when_they_are_acknowledged(house: House) -> None:
    one, two = house.table("1"), house.table("2")
    assert one.contribute(700, 710, 690).pool == MINIMUM + 2_100
    told = two.contribute(5, reserve=2)
    assert (told.pool, told.version) == (MINIMUM + 2_105, 5)
    assert two.authority.balance().pool == house.balance == told.pool
    assert house.problems() == []


def test_a_batch_may_hold_many_records(house: House) -> None:
    table = house.table("1")
    batch = [entry for _ in range(40) for entry in table.record((7, 8, 9))]
    assert table.authority.append(batch).pool == MINIMUM + 40 * 24
    assert house.floor.overview()[0].contributions == 120


def test_what_comes_again_is_booked_once(house: House) -> None:
    table = house.table("1")
    first, second = table.record((7, 8)), table.record((9,))
    table.authority.append(first)
    assert table.authority.append(first).pool == MINIMUM + 15
    assert table.authority.append([*first, *second]).pool == MINIMUM + 24
    assert house.problems() == []


def test_a_gap_is_refused_by_name_and_nothing_of_the_batch_is_booked(house: House) -> None:
    table = house.table("1")
    table.contribute(1)
    lost, kept = table.record((7,)), table.record((9,))
    no = refusal(table.authority.append, kept)
    assert (no.code, str(no)) == (
        "gap",
        f"table {table.name}: record 9 comes after 6, and the last one here is 3: there is a gap between",
    )
    no = refusal(table.authority.append, [*lost, *table.record((1,)), replace(kept[0], prior=6, seq=40)])
    assert no.code == "gap"
    assert house.balance == MINIMUM + 1
    assert table.authority.append([*lost, *kept]).pool == MINIMUM + 17


@pytest.mark.parametrize(
    "lines", [(1,), (0, 2), (1, 0), (0, 0)], ids=["first-missing", "one-missing", "swapped", "twice"]
)
def test_the_lines_of_a_record_count_from_0(house: House, lines: tuple[int, ...]) -> None:
    table = house.table("1")
    batch = [Entry(3, line, CONTRIBUTION, 5) for line in lines]
    assert refusal(table.authority.append, batch).code == "gap"
    assert house.balance == MINIMUM


def test_another_amount_under_the_same_number_is_refused(house: House) -> None:
    table = house.table("1")
    booked = table.record((7, 8))
    table.authority.append(booked)
    no = refusal(table.authority.append, [booked[0], replace(booked[1], amount=9)])
    assert no.code == "differs"
    assert "record 3 line 1 is not what is booked here" in str(no)
    no = refusal(table.authority.append, [*booked, replace(booked[1], line=2)])
    assert no.code == "differs"


@pytest.mark.parametrize(("amount", "reserve"), [(-1, 0), (5, -1), (1_002, 0), (990, 12)])
def test_a_contribution_that_no_stake_brings_is_refused(house: House, amount: int, reserve: int) -> None:
    table = house.table("1")
    no = refusal(table.authority.append, [Entry(3, 0, CONTRIBUTION, amount, reserve)])
    assert no.code == "implausible"


def test_above_the_limit_contributions_are_overflow(server: Server) -> None:
    rules = replace(JACKPOT, limit=MINIMUM + 1_000)
    with House(server, rules) as house:
        one, two = house.table("1"), house.table("2")
        one.contribute(600)
        assert two.contribute(300, 300, 300).pool == MINIMUM + 1_000
        assert one.contribute(50).pool == MINIMUM + 1_000
        held = house.floor.day(*EVER).closing
        assert (held.pool, held.overflow) == (MINIMUM + 1_000, 550)
        assert one.claim(box2=ROYAL).pool == MINIMUM + 550  # the next pool begins with it
        assert house.problems() == []


def test_a_new_minimum_comes_from_the_reserve_first(house: House) -> None:
    table = house.table("1")
    table.contribute(400, 400, reserve=500)
    table.claim(box2=ROYAL)
    held = house.floor.day(*EVER).closing
    assert (held.pool, held.reserve) == (MINIMUM, 0)
    assert house.problems() == []


def test_an_award_takes_from_the_pool_and_leaves_the_rest(house: House) -> None:
    table = house.table("1")
    table.contribute(900)
    decided = table.claim(box5=FLUSH, box2=STRAIGHT)
    tenth = (MINIMUM + 900) // 10
    assert decided.awards == (
        Award(2, STRAIGHT, max(JACKPOT.straight_flush, tenth), tenth, 0),
        Award(5, FLUSH, JACKPOT.flush, JACKPOT.flush, 0),
    )
    assert decided.pool == decided.left == house.balance == MINIMUM + 900 - tenth - JACKPOT.flush
    assert not decided.emptied
    assert decided.decision.pool_after(MINIMUM) == decided.pool


def test_a_claim_that_comes_again_gets_the_same_answer(house: House) -> None:
    table, other = house.table("1"), house.table("2")
    claim = table.asks(box1=ROYAL, box3=FLUSH)
    first = table.authority.claim(claim)
    other.contribute(999)
    table.contribute(1)
    assert table.authority.claim(claim) == first
    assert house.balance == MINIMUM + 1_000
    no = refusal(table.authority.claim, replace(claim, claims=(Claim(1, FLUSH),)))
    assert no.code == "differs"
    assert refusal(table.authority.claim, replace(claim, round_id=1)).code == "differs"


def test_a_claim_waits_for_the_contributions_before_it(house: House) -> None:
    table = house.table("1")
    contributions = table.record((700,))
    claim = table.asks(box1=ROYAL)
    assert refusal(table.authority.claim, claim).code == "gap"
    table.authority.append(contributions)
    assert table.authority.claim(claim).awards[0].from_pool == MINIMUM + 700


@pytest.mark.parametrize("claims", [(), (Claim(8, FLUSH),), (Claim(1, FLUSH), Claim(1, ROYAL))])
def test_claims_of_no_round_are_refused(house: House, claims: tuple[Claim, ...]) -> None:
    table = house.table("1")
    assert refusal(table.authority.claim, replace(table.asks(), claims=claims)).code == "implausible"


def test_a_correction_moves_the_pool_and_never_below_0(house: House) -> None:
    table = house.table("1")
    assert table.correct(-500).pool == MINIMUM - 500
    again = [Entry(table.seq, 0, "correction", -500, reason="counted")]
    assert table.authority.append(again).pool == MINIMUM - 500
    assert refusal(table.authority.append, [replace(again[0], amount=-501)]).code == "differs"
    assert refusal(table.correct, -MINIMUM).code == "implausible"
    assert house.problems() == []


def test_a_correction_that_an_award_overtook_waits_until_the_pool_can_bear_it(house: House) -> None:
    """docs/linked.md, When something fails: nothing is lost, and another table's correction frees it."""
    late, lucky, other = house.table("1"), house.table("2"), house.table("3")
    lucky.contribute(700)
    down = [Entry(3, 0, "correction", -MINIMUM - 500, reason="counted")]
    lucky.claim(box1=ROYAL)
    assert refusal(late.authority.append, down).code == "implausible"
    after = [*down, Entry(6, 0, "contribution", 40, prior=3)]
    assert refusal(late.authority.append, after).code == "implausible"
    assert house.balance == MINIMUM
    other.correct(500)
    assert late.authority.append(after).pool == 40
    assert late.authority.append(after).pool == 40
    assert house.problems() == []


def test_a_record_that_was_booked_as_something_else_is_refused(house: House) -> None:
    table = house.table("1")
    table.contribute(5)
    assert refusal(table.authority.append, [Entry(3, 0, "correction", 5)]).code == "differs"
    assert refusal(table.authority.claim, replace(table.asks(box1=FLUSH), seq=3)).code == "differs"


def test_a_kind_that_is_none_is_a_program_error(house: House) -> None:
    table = house.table("1")
    with pytest.raises(ValueError, match="no kind of entry"):
        table.authority.append([Entry(3, 0, "award", 5)])


# --- joining ---------------------------------------------------------------------------------


def test_a_table_with_other_rules_is_refused_with_both_fingerprints(house: House) -> None:
    authority = house.authority(house.enrol("1"))
    other = fingerprint(replace(JACKPOT, royal_sharing="each_max"))
    no = refusal(authority.join, house.name("1"), CURRENCY, other)
    assert no.code == "fingerprint"
    assert str(no) == (
        f"table {house.name('1')} plays by the rules {other}, the pool {house.pool} by {fingerprint(JACKPOT)}"
    )


def test_a_table_with_another_currency_is_refused_with_both(house: House) -> None:
    authority = house.authority(house.enrol("1"))
    no = refusal(authority.join, house.name("1"), "HKD$", fingerprint(JACKPOT))
    assert (no.code, str(no)) == (
        "currency",
        f"table {house.name('1')} counts in HKD$, the pool {house.pool} in {CURRENCY}",
    )


def test_a_table_that_has_not_joined_books_nothing(house: House) -> None:
    authority = house.authority(house.enrol("1"))
    assert refusal(authority.append, [Entry(3, 0, CONTRIBUTION, 5)]).code == "fingerprint"


def test_who_joins_again_hears_what_is_booked(house: House) -> None:
    table = house.table("1")
    table.contribute(5)
    joined = table.authority.join(table.name, CURRENCY, fingerprint(JACKPOT))
    assert (joined.pool, joined.last_seq) == (house.pool, table.seq)


def test_a_table_of_another_pool_is_told_so(house: House, server: Server) -> None:
    with House(server) as other:
        role = other.enrol("1")
        with Authority.connect(other.dsn(role), house.pool) as authority:
            no = refusal(authority.join, other.name("1"), CURRENCY, fingerprint(JACKPOT))
    assert no.code == "another-pool"


def test_a_pool_that_is_none_is_told_so(house: House) -> None:
    with Authority.connect(house.dsn(), "nowhere") as authority:
        assert refusal(authority.balance).code == "no-pool"


# --- news ------------------------------------------------------------------------------------


def test_a_change_is_heard_by_who_waits(house: House) -> None:
    one, two = house.table("1"), house.table("2")
    assert two.authority.wait(0.0) is not None  # the first word
    assert two.authority.wait(0.0) is None
    one.contribute(5)
    heard = two.authority.wait(30)
    assert heard is not None
    assert heard.pool == MINIMUM + 5


def test_an_award_is_announced_and_not_only_found(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = house.table("1"), house.table("2")
    monkeypatch.setattr("daemon.linked.authority.POLL", 3600.0)
    two.authority.wait(0.0)
    timer = threading.Timer(0.3, one.claim, kwargs={"box1": ROYAL})
    timer.start()
    began = time.monotonic()
    heard = two.authority.wait(60)
    timer.join()
    assert heard is not None
    assert heard.version > 1
    assert time.monotonic() - began < 30


def test_the_floor_sees_what_a_link_reported(house: House) -> None:
    one, two = house.table("1"), house.table("2")
    one.contribute(5, 6)
    one.claim(box1=FLUSH)
    one.authority.report(outbox=12, pending=1)
    rows = house.floor.overview()
    assert [row.table for row in rows] == [one.name, two.name]
    first, second = rows
    assert (first.contributions, first.contributed, first.awards, first.awarded) == (2, 11, 1, JACKPOT.flush)
    assert (first.outbox, first.pending) == (12, 1)
    assert first.age is not None
    assert 0 <= first.age < 60
    assert (second.seen, second.age, second.outbox) == (None, None, None)


# --- a line that is bad ------------------------------------------------------------------------


@contextmanager
def silent_line(server: Server) -> Iterator[tuple[int, threading.Event]]:
    """A line to the server that holds everything back from a moment on, and stays open."""
    held = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def carry(source: socket.socket, target: socket.socket) -> None:
        while (data := source.recv(65_536)) and not held.is_set():
            target.sendall(data)

    with listener:
        ends: list[socket.socket] = []

        def accept() -> None:
            near, _ = listener.accept()
            far = socket.create_connection(("127.0.0.1", server.port))
            ends.extend((near, far))
            back = threading.Thread(target=carry, args=(far, near), daemon=True)
            back.start()
            carry(near, far)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1], held
        finally:
            for end in ends:
                end.close()


def test_a_line_that_says_nothing_is_given_up(house: House) -> None:
    role = house.enrol("1")
    with silent_line(house.server) as (port, held):
        line = Authority.connect(f"{house.dsn(role)} port={port}", house.pool, patience=1.0)
        line.join(house.name("1"), CURRENCY, fingerprint(JACKPOT))
        held.set()
        with pytest.raises(Unreachable):
            line.append([Entry(3, 0, CONTRIBUTION, 5)])
        line.close()


def test_a_server_that_is_not_there_is_unreachable(house: House) -> None:
    with pytest.raises(Unreachable):
        Authority.connect("host=127.0.0.1 port=1 user=x dbname=x", house.pool)


def test_a_session_that_was_ended_is_unreachable_and_the_next_one_goes_on(house: House) -> None:
    table = house.table("1")
    batch = table.record((5,))
    house.admin.connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (f"feltd_{table.name}",)
    )
    with pytest.raises(Unreachable):
        table.authority.append(batch)
    assert house.authority(f"feltd_{table.name}").append(batch).pool == MINIMUM + 5
