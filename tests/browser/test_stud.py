"""A five-card table at its screens: a hand by touch, cards keyed by hand, what goes wrong in a deal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect

from tests.browser.people import (
    CHINESE,
    DESKTOP,
    ENGLISH,
    SMALL,
    Floor,
    StudTable,
    confirm,
    faults_of,
    look,
    press_key,
    primary,
    show_cards,
    touch,
    wait_state,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect.set_options(timeout=30_000)
# As they come out for three seats: door cards, hole cards, then one street after the other.
THREE_HANDS = ("KS QH 7D", "8H 8C 6S", "KD QD 7C", "10S 10H 9D", "5H 6C 5D")


def stud_of(floor: Floor) -> StudTable:
    assert isinstance(floor.table, StudTable)
    return floor.table


def touch_seat(page: Page, seat: int) -> None:
    page.locator(f"[data-key=seat-{seat}] .seat-main:enabled").tap()


def antes(page: Page, *seats: int) -> None:
    for seat in seats:
        touch_seat(page, seat)
        page.locator(f"[data-key=seat-{seat}].in").wait_for()


def says(page: Page, title: str, control: str) -> None:
    """The seat in ``title`` decides: touch what it says."""
    expect(page.locator(".decision .title")).to_have_text(title)
    touch(page, control)


def stakes(page: Page, title: str, amount: str) -> None:
    """The seat in ``title`` decides: set the amount of its bet or raise."""
    expect(page.locator(".decision .title")).to_have_text(title)
    page.locator(".decision .chip", has_text=amount).first.tap()


def test_a_hand_is_played_by_touch(stud: Floor) -> None:
    table = stud_of(stud)
    table.seated(1, chips=400_000)
    table.seated(3)
    table.load_deck(*THREE_HANDS)
    page = stud.sign_in("dealer", DESKTOP)
    touch_seat(page, 2)
    for digit in "6000":
        page.locator(f"dialog [data-key=digit-{digit}]").tap()
    page.locator("dialog [data-key=use]:enabled").tap()
    expect(page.locator("[data-key=seat-2] .seat-stack")).to_have_text("6,000")
    primary(page, "Shuffle")
    expect(page.locator(".next .title")).to_have_text("Touch a seat for its ante of 20.00")
    antes(page, 1, 2, 3)
    expect(page.locator(".next .title")).to_have_text("Burn the first card, then deal")
    table.deal(7)
    expect(page.locator(".time")).to_have_text(re.compile(r"[12]:\d\d"))
    expect(page.locator("[data-key=seat-1] .card.down")).to_have_count(1)
    expect(page.locator("[data-key=seat-2] .card.up")).to_have_text("Q♥")
    assert faults_of(page) == []
    # Bet or be out (FC-10).
    expect(page.locator("[data-control=check], [data-control=call]")).to_have_count(0)
    stakes(page, "Seat 1 speaks", "100")
    touch(page, "rise")
    says(page, "Seat 2: 100.00 to call", "call")
    expect(page.locator("[data-control=rise]")).to_contain_text("Raise to")
    says(page, "Seat 3: 100.00 to call", "call")
    expect(page.locator(".next .title")).to_have_text("Deal: next card to Seat 1")
    table.deal(3)
    says(page, "Seat 1 speaks", "check")
    stakes(page, "Seat 2 speaks", "all-in")
    touch(page, "rise")
    says(page, "Seat 3: 1,880.00 to call", "call")
    expect(page.locator("[data-control=rise]")).to_have_count(0)  # who checked may only call or fold (FC-11)
    expect(page.locator("[data-key=seat-3] .tag")).to_have_text("All-in")
    look(page)
    says(page, "Seat 1: 3,880.00 to call", "call")
    expect(page.locator(".pots li")).to_have_count(3)
    expect(page.locator("[data-key=pot-0]")).to_have_text("Main pot 5,980.00 seats 1 2 3")
    expect(page.locator("[data-key=pot-1]")).to_have_text("Side pot 1 4,000.00 seats 1 2")
    table.deal(6)
    for _ in range(3):
        primary(page, "turns the hole card")
    wait_state(page, "settling")
    assert faults_of(page) == []
    primary(page, "Settle")
    wait_state(page, "between-rounds")
    expect(page.locator("[data-key=seat-2] .seat-bets")).to_contain_text("Returned 2,000")
    account = table.world.client.rounds(1)[0]
    winners = {share["seat"] for pot in account["pots"] for share in pot["won"]}
    assert (account["outcome"], winners) == ("settled", {1})  # kings over two tens
    expect(page.locator("[data-key=seat-1] .seat-bets")).to_contain_text("Won")
    assert faults_of(page) == []


def key_card(page: Page, seat: int, card: str) -> None:
    primary(page, f"Deal to Seat {seat} and key the card")
    show_cards(page, [card])


def test_cards_are_keyed_by_hand_and_what_goes_wrong_is_put_right(stud: Floor) -> None:
    """A slip of the key, a card to the wrong seat (FC-19), an exposed hole card (FC-18)."""
    table = stud_of(stud)
    table.act("use-hand")
    table.seated(1, 4, 6)
    page = stud.sign_in("dealer")
    primary(page, "Shuffle")
    antes(page, 1, 4, 6)
    primary(page, "Burn the first card")
    key_card(page, 1, "KS")
    page.locator("[data-key=undo]:enabled").tap()
    expect(page.locator("dialog [data-key=KS]")).to_be_disabled()
    show_cards(page, ["KH"])
    expect(page.locator("[data-key=seat-1] .card.up")).to_have_text("K♥")
    touch_seat(page, 6)  # the card was due to seat 4
    show_cards(page, ["9C"])
    primary(page, "Correct the deal")
    expect(page.locator("dialog input")).to_have_value("a card fell to seat 6, which it was not due to")
    look(page)
    confirm(page, "correct-deal")
    expect(page.locator("[data-key=seat-4] .card.up")).to_have_text("9♣")
    key_card(page, 6, "JD")
    for seat in (1, 4, 6):
        primary(page, f"Hole card to Seat {seat}, face down")
    expect(page.locator(".decision .title")).to_have_text("Seat 1 speaks")
    page.locator("[data-key=seat-1] button.card.down").tap()
    expect(page.locator("dialog .effect")).to_contain_text("That hand is dead")
    assert faults_of(page) == []
    confirm(page, "expose-hole")
    expect(page.locator("[data-key=seat-1] .tag")).to_have_text("Hand dead")
    says(page, "Seat 6 speaks", "rise")
    says(page, "Seat 4: 5.00 to call", "call")
    key_card(page, 6, "JS")
    key_card(page, 4, "10C")
    says(page, "Seat 6 speaks", "rise")
    says(page, "Seat 4: 5.00 to call", "fold")
    primary(page, "Settle")
    wait_state(page, "between-rounds")
    account = table.world.client.rounds(1)[0]
    assert [each["clause"] for each in account["irregularities"]] == ["FC-19", "FC-19", "FC-19", "FC-18"]
    assert {seat["seat"]: seat["status"] for seat in account["seats"]} == {1: "dead", 4: "folded", 6: "in"}
    assert account["seats"][2]["cards"] == ["JD", None, "JS"]
    assert faults_of(page) == []


def test_a_showdown_of_cards_dealt_by_hand(stud: Floor) -> None:
    table = stud_of(stud)
    table.act("use-hand")
    table.seated(1, 2)
    page = stud.sign_in("dealer", DESKTOP, CHINESE)
    primary(page, "洗牌")
    antes(page, 1, 2)
    primary(page, "抽出首張牌")
    for card in ("AS", "KS"):
        primary(page, "並輸入該牌")
        show_cards(page, [card])
    for _ in range(2):
        primary(page, "派底牌給")
    stakes(page, "第 1 位話事", "缺資")
    touch(page, "rise")
    touch(page, "call")
    for card in ("AH", "KH", "AD", "KD", "5C", "6C"):
        primary(page, "並輸入該牌")
        show_cards(page, [card])
    primary(page, "第 2 位陽開底牌")
    show_cards(page, ["8C"])
    primary(page, "第 1 位陽開底牌")
    show_cards(page, ["9C"])
    expect(page.locator("[data-key=seat-1] .seat-bets")).to_contain_text("三條")
    look(page)
    primary(page, "派彩")
    wait_state(page, "between-rounds")
    expect(page.locator("[data-key=seat-1] .seat-bets")).to_contain_text("贏得")


def test_a_lost_shoe_stops_the_time_and_the_dealer_goes_on_by_hand(stud: Floor) -> None:
    table = stud_of(stud)
    table.seated(1, 2)
    table.load_deck("AS KS", "7C 8C")
    page = stud.sign_in("dealer")
    primary(page, "Shuffle")
    antes(page, 1, 2)
    table.deal(5)
    expect(page.locator(".decision .title")).to_have_text("Seat 1 speaks")
    table.world.shoe.do("unplug")
    try:
        expect(page.locator(".time.halted")).to_have_text("Halted: the time stands")
        primary(page, "Go on by hand entry")
        expect(page.locator(".time")).to_have_text(re.compile(r"[12]:\d\d"))
        says(page, "Seat 1 speaks", "rise")
        assert faults_of(page) == []
    finally:
        table.world.shoe.do("replug")


def test_the_keys_of_a_decision(stud: Floor) -> None:
    table = stud_of(stud)
    table.seated(1, 2)
    table.load_deck("AS KS", "7C 8C")
    page = stud.sign_in("dealer")
    primary(page, "Shuffle")
    page.locator("main").focus()
    for key in "12":
        page.keyboard.press(key)
        page.locator(f"[data-key=seat-{key}].in").wait_for()
    table.deal(5)
    for key, title in (("r", "Seat 1 speaks"), ("f", "Seat 2: 5.00 to call")):
        expect(page.locator(".decision .title")).to_have_text(title)
        press_key(page, key)
    wait_state(page, "settling")
    assert [each["act"] for each in table.world.client.rounds(1)[0]["actions"]] == ["bet", "fold"]


@pytest.mark.parametrize(("language", "size"), [(ENGLISH, SMALL), (CHINESE, DESKTOP)], ids=["en", "zh"])
def test_every_view_of_a_five_card_table(stud: Floor, language: str, size: tuple[int, int]) -> None:
    table = stud_of(stud)
    table.seated(1, 3, 4, 5, 6, 7, chips=1_234_500)
    table.seated(2)
    table.load_deck("AS KS QS JS 10S 9S 8S", "AH KH QH JH 10H 9H 8H")
    table.act("shuffle")
    page = stud.sign_in("supervisor", size, language)
    players = stud.screen(size, language, "player")
    for seat in range(1, 8):
        table.act("ante", seat=seat)
    table.deal(15)
    table.act("expose-hole", seat=4)
    table.act("bet", seat=1, amount=30_000)
    table.act("raise", seat=2, amount=198_000)
    page.locator(".tab[data-key=dealer]").tap()
    expect(page.locator("[data-key=seat-2] .tag")).to_have_text("缺資" if language == CHINESE else "All-in")
    look(page)
    for opens in ("irregular", "acts", "chip-other", "undo"):
        button = page.locator(f"[data-key={opens}]")
        if button.is_enabled():
            button.tap()
            page.locator("dialog").wait_for()
            look(page)
            page.keyboard.press("Escape")
            page.locator("dialog").wait_for(state="hidden")
    page.locator("[data-key=seat-5] .seat-menu").tap()
    page.locator("dialog").wait_for()
    look(page)
    page.keyboard.press("Escape")
    for view in ("supervisor", "technician", "auditor"):
        page.locator(f".tab[data-key={view}]").tap()
        page.locator(f".view[data-key={view}]").wait_for()
        if view == "supervisor":
            expect(page.locator("[data-key='4-in-pot'] .becomes, [data-key='4-'] .becomes")).to_have_count(1)
        if view == "auditor":
            page.locator(".round-row").first.tap()
            page.locator(".records tbody tr").first.wait_for()
        look(page)
    expect(players.locator("[data-key=seat-2] .card.up")).to_have_count(1)
    look(players)


# A table at rest in which only this fault is latched; what the page would have the dealer do next.
NEXT = """async ([game, code]) => {
    const { expected } = await import(`/static/games/${game}.js`);
    const faults = [{ code, text: "told", cleared_by: "itself, when it is over" }];
    const status = {
        state: game === "five-card" ? "antes" : "between-rounds", faults, round: 1, mode: "hand",
        not_ready: "", deck: { rounds: 1, shuffled: true, shuffler: "SH-1" }, shuffler: "SH-1",
        sign: { proven: true, readable: true }, limits: { deck_rounds: 10, ante: 2000 },
    };
    return expected({ status, round: { id: 1, seats: [{}, {}] } }, {}).primary.map((button) => button.name);
}"""


@pytest.mark.parametrize(("game", "act"), [("five-card", "burn"), ("caribbean", "open-betting")])
def test_a_warning_keeps_no_dealer_from_playing(stud: Floor, game: str, act: str) -> None:
    page = stud.sign_in("dealer")
    assert page.evaluate(NEXT, [game, "wal-large"]) == [act]
    assert page.evaluate(NEXT, [game, "disk-low"]) == []
