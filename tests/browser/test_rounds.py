"""A dealer and a supervisor at their screens: rounds by touch, exposures, a void, a jackpot."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect

from daemon.games.money import money
from tests.browser.people import (
    CHINESE,
    DESKTOP,
    Floor,
    bet,
    confirm,
    faults_of,
    open_betting,
    press_enter,
    press_key,
    primary,
    show_cards,
    wait_state,
)

expect.set_options(timeout=30_000)


def test_a_dealer_plays_a_round_by_touch(floor: Floor) -> None:
    table = floor.table
    page = floor.sign_in("dealer")
    primary(page, "Shuffle")
    open_betting(page, "Open betting")
    bet(page, 2)
    bet(page, 5, progressive=True)
    assert faults_of(page) == []
    primary(page, "Close betting")
    expect(page.locator(".next .title")).to_have_text("Take the packet for Box 2")
    hands = {"2": table.take_packet()}
    expect(page.locator(".next .title")).to_have_text("Take the packet for Box 5")
    hands |= {place: table.take_packet() for place in ("5", "dealer")}
    wait_state(page, "deciding")
    expect(page.locator("[data-key=box-2] .card.down")).to_have_count(5)
    primary(page, "Show the dealer's fifth card")
    assert faults_of(page) == []
    show_cards(page, hands["dealer"][4:])
    expect(page.locator(".dealer-hand .card.up")).to_have_count(1)
    expect(page.locator(".next .title")).to_have_text("Box 2 decides")
    page.locator("[data-control=next-0]").tap()  # raise
    expect(page.locator(".next .title")).to_have_text("Box 5 decides")
    expect(page.locator("[data-key=box-2] .spot.raise")).to_contain_text("100.00")
    assert faults_of(page) == []
    page.locator("[data-control=next-1]").tap()  # fold
    wait_state(page, "showdown")
    primary(page, "Show the cards of Dealer")
    show_cards(page, hands["dealer"])
    if table.world.client.status()["state"] == "showdown":  # the dealer qualifies
        primary(page, "Show the cards of Box 2")
        show_cards(page, hands["2"])
    primary(page, "Settle")
    wait_state(page, "between-rounds")
    account = table.world.client.rounds(1)[0]
    decisions = {box["box"]: box["decision"] for box in account["boxes"]}
    assert (account["outcome"], decisions) == ("settled", {2: "raise", 5: "fold"})
    expect(page.locator("[data-key=box-5] .result")).to_contain_text("Loses")
    assert faults_of(page) == []


def test_a_slip_is_undone_and_a_double_tap_is_one_act(floor: Floor) -> None:
    floor.table.shuffled()
    page = floor.sign_in("dealer")
    before = len(floor.table.acts_of("open-betting"))
    page.locator("[data-control=next-0]").filter(has_text="Open betting").dblclick()
    wait_state(page, "betting")
    assert len(floor.table.acts_of("open-betting")) == before + 1
    assert floor.table.world.client.status()["state"] == "betting"  # the echo did not close it again
    page.locator("[data-key=chip-10000]").tap()
    bet(page, 4)
    expect(page.locator("[data-key=box-4] .spot.ante")).to_contain_text("100.00")
    undo = page.locator("[data-key=undo]")
    expect(undo).to_contain_text("Ante Box 4")
    page.reload()  # what the page itself did is forgotten; the record tells the box
    expect(undo).to_contain_text("Ante Box 4")
    undo.tap()
    expect(page.locator("[data-key=box-4].empty")).to_be_visible()
    assert floor.table.world.client.rounds(1)[0]["boxes"] == []
    expect(undo).to_be_disabled()


def test_two_exposures_void_the_round_and_the_progressive_carries_over(floor: Floor) -> None:
    table = floor.table
    table.shuffled("shoe")
    table.load_shoe("2S 4H 6C 8D 10S", "3S 5H 7C 9D JS")
    page = floor.sign_in("dealer", DESKTOP, CHINESE)
    open_betting(page, "開始下注")
    bet(page, 3, progressive=True)
    primary(page, "停止下注")
    table.draw(6)
    expect(page.locator(".next .title")).to_contain_text("下一張給第 3 門")
    page.locator("[data-key=box-3] .at-box button").nth(1).tap()
    expect(page.locator("dialog .effect")).to_contain_text("該局維持有效")
    assert faults_of(page) == []
    confirm(page, "expose")
    expect(page.locator("[data-key=box-3] .card.exposed.up")).to_be_visible()
    page.locator("[data-key=irregular]").tap()
    page.locator("dialog [data-key=expose]").tap()
    page.locator("dialog [data-key=place-dealer]").tap()
    page.locator("dialog [data-key=card-1]").tap()
    expect(page.locator("dialog .effect")).to_contain_text("累進大獎的投注轉到下一局")
    confirm(page, "expose")
    wait_state(page, "void")
    expect(page.locator("[data-key=box-3] .result")).to_contain_text("轉到下一局")
    boss = floor.sign_in("supervisor", DESKTOP, CHINESE)
    expect(boss.locator(".irregular .clause-id").first).to_have_text("CS-11a")
    expect(boss.locator(".verdict")).to_have_text("該局作廢")
    expect(boss.locator("[data-key='3-ante'] .becomes")).to_have_text("退回")
    expect(boss.locator("[data-key='3-progressive'] .becomes")).to_have_text("轉到下一局")
    assert faults_of(boss) == []
    assert table.world.client.status()["carried"] == {"3": 1000}
    table.act("shuffle")
    table.act("cut")
    open_betting(page, "開始下注")
    expect(page.locator("[data-key=box-3] .progressive")).to_contain_text("轉入")
    bet(page, 3)
    expect(page.locator("[data-key=box-3] .progressive.filled")).to_contain_text("轉入10.00")
    assert faults_of(page) == []


def test_a_jackpot_waits_for_a_supervisor(floor: Floor) -> None:
    table = floor.table
    table.shuffled("shoe")
    table.load_shoe("9S 10S JS QS KS", "2H 4D 6C 8H 10D")
    page = floor.sign_in("dealer")
    boss = floor.sign_in("supervisor")
    open_betting(page, "Open betting")
    bet(page, 1, progressive=True)
    primary(page, "Close betting")
    table.draw(10)
    primary(page, "Raise")
    primary(page, "Settle")
    wait_state(page, "between-rounds")
    pool = table.world.client.status()["pool"]
    award = table.world.client.rounds(1)[0]["boxes"][0]["award"]
    before = pool["now"] + award
    assert award == max(1_000_000, before // 10)  # the fixed prize, or a tenth of the pool (CS-10)
    told = money(award, "")
    expect(page.locator("[data-key=box-1] .award")).to_have_text(f"Award {told}")
    todo = boss.locator(".todo-item.award")
    expect(todo).to_contain_text("Award of box 1: Straight flush")
    expect(boss.locator(".tab .count")).to_have_text(str(boss.locator(".todo-item").count()))
    todo.locator("[data-key=confirm]").tap()
    expect(boss.locator("dialog .amount")).to_have_text(told)
    assert faults_of(boss) == []
    confirm(boss, "confirm-award")
    expect(todo).to_have_count(0)
    assert table.world.client.status()["pending_awards"] == []


def test_a_round_is_played_with_the_keyboard_alone(floor: Floor) -> None:
    table = floor.table
    table.shuffled("shoe")
    table.load_shoe("2S 4H 6C 8D 10S", "AS KH 7C 9D JS")
    page = floor.sign_in("dealer")
    page.locator("main").focus()
    open_betting(page, "Open betting", press_enter)
    page.keyboard.press("6")
    expect(page.locator("[data-key=box-6].bet")).to_be_visible()
    page.keyboard.press("6")
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="hidden")
    page.locator("main").focus()
    press_enter(page, "Close betting")
    expect(page.locator(".next .title")).to_have_text("Deal the cards")
    table.draw(10)
    wait_state(page, "deciding")
    expect(page.locator(".next").get_by_role("button", name=re.compile("Raise"))).to_be_enabled()
    press_key(page, "r")
    wait_state(page, "settling")
    expect(page.locator(".dealer-hand")).to_contain_text(re.compile("No pair, qualifies"))
    press_enter(page, "Settle")
    wait_state(page, "between-rounds")
    expect(page.locator("[data-key=box-6] .result")).to_contain_text("Loses")
