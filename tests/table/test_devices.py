"""What the table makes of its devices: whose firmware it knows, and whose word it has to check."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.records import input_from, input_record
from daemon.table import LinkChanged, Noticed, Started
from drivers.base import ShuffleDone
from tests.table.floor import AK_ROUND, Floor

DEVICES = {"shoe": "shoe", "SH-1": "shuffler", "sign": "sign"}


def started(**facts: Any) -> Floor:
    """A floor whose daemon started with these facts; its sign is there, its shoe is not yet."""
    floor = Floor()
    floor.take(Started("1", mode="shoe", devices=DEVICES, rules=floor.game.rules.text(), **facts))
    floor.link("sign", True)
    return floor


def attach(floor: Floor, firmware: str, digest: str = "aa") -> None:
    floor.take(LinkChanged("shoe", True, serial="S1", firmware=firmware, digest=digest, boot=1))


def can_open(floor: Floor) -> bool:
    """Whether everything but the devices is ready, and a betting may open."""
    if floor.game.out_of_service:
        floor.open()
    floor.shuffle()
    floor.prove_sign()
    return floor.act("open-betting").refusal is None


# --- firmware --------------------------------------------------------------------------------


def test_the_firmware_that_is_met_first_is_known() -> None:
    floor = started()
    attach(floor, "1.0")
    assert can_open(floor)
    assert [note.detail for note in floor.notes if "firmware" in note.detail] == ["shoe runs firmware 1.0 aa"]


@pytest.mark.parametrize(("firmware", "digest"), [("1.1", "aa"), ("1.0", "bb")])
def test_another_firmware_is_a_fault_until_a_technician_accepts_it(firmware: str, digest: str) -> None:
    floor = started()
    attach(floor, "1.0")
    floor.link("shoe", False)
    attach(floor, firmware, digest)
    assert floor.table.faults["firmware-shoe"].text == (
        f"shoe runs firmware {firmware} ({digest}), known is 1.0 (aa)"
    )
    assert not can_open(floor)
    assert "technician" in floor.refused("accept-device", id="shoe")
    floor.do("accept-device", role="technician", id="shoe")
    assert "firmware-shoe" not in floor.table.faults
    assert can_open(floor)


def test_an_accepted_firmware_stays_accepted_and_the_former_one_is_unknown_now() -> None:
    floor = started()
    for firmware in ("1.0", "1.1"):
        attach(floor, firmware)
    floor.do("accept-device", role="technician", id="shoe")
    attach(floor, "1.1")
    assert not floor.table.faults
    attach(floor, "1.0")
    assert "firmware-shoe" in floor.table.faults


@pytest.mark.parametrize(
    ("pinned", "known"),
    [
        (("1.0", ""), True),
        (("", "aa"), True),
        (("1.0", "aa"), True),
        (("1.1", "aa"), False),
        (("", "ab"), False),
    ],
)
def test_a_pinned_firmware_is_the_only_one_that_is_known(pinned: tuple[str, str], known: bool) -> None:
    floor = started(pinned={"shoe": pinned})
    attach(floor, "1.0")
    assert ("firmware-shoe" not in floor.table.faults) == known
    assert can_open(floor) == known


def test_the_fault_stays_latched_when_the_device_leaves_and_when_the_daemon_restarts() -> None:
    floor = started(pinned={"shoe": ("9", "")})
    attach(floor, "1.0")
    floor.link("shoe", False)
    floor.take(Started("1", mode="shoe", devices=DEVICES, rules=floor.game.rules.text()))
    assert "firmware-shoe" in floor.table.faults


def test_a_barred_device_is_not_a_technician_s_to_take_back() -> None:
    floor = started()
    floor.table.rig.bar("SH-1", "CS-11d")
    assert "CS-11d" in floor.refused("accept-device", role="technician", id="SH-1")


# --- a line that cannot prove delivery ---------------------------------------------------------


def settling(**facts: Any) -> Floor:
    """A round of seven boxes, everything shown, nothing paid yet."""
    floor = started(**facts)
    attach(floor, "1.0")
    hands, dealer = AK_ROUND
    floor.bets(*hands)
    floor.deal(hands, dealer)
    for box in hands:
        floor.do("raise", box=box)
    return floor


def test_cs07_a_line_that_proves_delivery_needs_no_count() -> None:
    settling().do("settle")


def test_cs07_a_lossy_line_is_reconciled_by_count_before_anything_is_paid() -> None:
    floor = settling(lossy=("shoe",))
    assert floor.refused("settle").startswith("CS-07")
    floor.do("count", cards=11)
    assert floor.refused("settle").startswith("CS-07")
    assert [note.clause for note in floor.notes][-1] == "CS-07"
    floor.do("count", cards=12)  # 52 less 8 hands of five
    floor.do("settle")


def test_cs07_a_count_that_does_not_fit_takes_the_earlier_one_back() -> None:
    floor = settling(lossy=("shoe",))
    floor.do("count", cards=12)
    floor.do("count", cards=13)
    assert floor.refused("settle").startswith("CS-07")
    floor.do("misdeal", text="a card was not heard of")
    assert floor.closed[-1]["outcome"] == "void"


def test_cs01_a_sign_that_cannot_be_read_back_counts_as_shown_while_it_is_there() -> None:
    floor = started(lossy=("sign",))
    attach(floor, "1.0")
    floor.do("open-table")
    floor.shuffle()
    floor.do("open-betting")
    assert floor.table.view()["sign"]["proven"] is False  # type: ignore[index]
    floor.link("sign", False)
    assert not floor.table.rig.sign_is_current()


# --- the record ------------------------------------------------------------------------------


def test_what_the_start_tells_of_its_devices_is_recorded() -> None:
    item = Started("1", devices=DEVICES, lossy=("shoe",), pinned={"shoe": ("1.0", "aa")})
    plain, _ = input_record(item)
    again = input_from(plain, b"")
    assert isinstance(again, Started)
    assert (again.lossy, {k: tuple(v) for k, v in again.pinned.items()}) == (item.lossy, dict(item.pinned))
    del plain["lossy"], plain["pinned"]  # a record of a version that did not tell them
    assert input_from(plain, b"") == Started("1", devices=DEVICES)


def test_a_shuffle_proof_is_unaffected_by_the_shoe_s_line() -> None:
    floor = Floor(mode="shuffler")
    floor.take(
        Started(
            "1",
            mode="shuffler",
            shuffler="SH-1",
            devices=DEVICES,
            rules=floor.game.rules.text(),
            lossy=("shoe",),
        )
    )
    for name in ("SH-1", "sign"):
        floor.link(name, True)
    floor.open()
    floor.do("shuffle")
    floor.tell("SH-1", ShuffleDone(1, 52))
    assert floor.table.rig.source_proves()


# --- a shuffler that counts nothing --------------------------------------------------------------


def uncounted() -> Floor:
    floor = Floor(mode="shuffler")
    floor.open()
    floor.do("shuffle")
    floor.tell("SH-1", ShuffleDone(1, 0))
    return floor


def test_cs03_a_machine_that_does_not_count_proves_nothing_until_the_dealer_has_counted() -> None:
    floor = uncounted()
    assert floor.refused("open-betting").startswith("CS-03")
    floor.do("count", cards=52)
    floor.do("open-betting")


def test_cs03_a_wrong_count_of_the_shuffled_deck_asks_for_another_shuffle() -> None:
    floor = uncounted()
    floor.do("count", cards=51)
    assert floor.table.faults["shuffle-count"].cleared_by == "shuffle"
    assert "51 cards were counted in SH-1" in floor.refused("open-betting")
    floor.do("shuffle")
    floor.tell("SH-1", ShuffleDone(2, 0))
    floor.do("count", cards=52)
    assert not floor.table.faults
    floor.do("open-betting")


def test_cs03_the_deck_shuffled_while_bets_lie_is_counted_too() -> None:
    floor = uncounted()
    floor.do("count", cards=52)
    floor.do("open-betting")
    floor.do("ante", box=1, amount=10_000)
    assert floor.refused("count", cards=52).startswith("CS-07")
    floor.do("shuffle")
    floor.tell("SH-1", ShuffleDone(2, 0))
    floor.do("count", cards=52)


# --- what the controller notices about itself ------------------------------------------------------


def test_f05_no_new_bets_while_the_disk_is_nearly_full_and_the_round_goes_on() -> None:
    floor = Floor()
    hands, dealer = AK_ROUND
    floor.bets(1, 2)
    floor.take(Noticed("disk-low", "3 MiB are free", True))
    assert "3 MiB are free" in floor.refused("ante", box=3, amount=10_000)
    assert "3 MiB are free" in floor.refused("progressive", box=1)
    floor.play({1: hands[1], 2: hands[2]}, dealer)
    assert floor.closed[-1]["outcome"] == "settled"
    floor.shuffle()
    floor.prove_sign()
    assert "3 MiB are free" in floor.refused("open-betting")
    floor.take(Noticed("disk-low", "", False))
    floor.do("open-betting")


def test_h02_a_step_of_the_clock_is_a_note_and_no_fault() -> None:
    floor = Floor()
    floor.take(Noticed("clock-stepped", "by +14 days"))
    assert floor.notes[-1].detail == "clock-stepped: by +14 days"
    assert not floor.table.faults


def test_what_is_noticed_is_recorded() -> None:
    for item in (Noticed("disk-low", "text", True), Noticed("disk-low", "", False), Noticed("clock", "t")):
        assert input_from(input_record(item)[0], b"") == item
