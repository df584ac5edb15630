"""Every view in both languages: no serious finding of axe-core, no overlap, and what may be seen."""

from __future__ import annotations

import json
import statistics
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect

from tests.browser.people import (
    CHINESE,
    DESKTOP,
    ENGLISH,
    SMALL,
    Floor,
    bet,
    look,
    open_betting,
    wait_state,
)

expect.set_options(timeout=30_000)
VIEWS = ("supervisor", "dealer", "technician", "auditor")
CHANGES = 8


@pytest.mark.parametrize(("language", "size"), [(ENGLISH, SMALL), (CHINESE, DESKTOP)], ids=["en", "zh"])
def test_every_view(floor: Floor, language: str, size: tuple[int, int]) -> None:
    table = floor.table
    table.shuffled()
    page = floor.screen(size, language)
    page.locator("form.login").wait_for()
    look(page)
    page.close()
    page = floor.sign_in("supervisor", size, language)
    table.open_betting()
    table.act("ante", box=2, amount=5000)
    table.act("progressive", box=2)
    wait_state(page, "betting")
    for view in VIEWS:
        page.locator(f".tab[data-key={view}]").tap()
        page.locator(f".view[data-key={view}]").wait_for()
        if view == "auditor":
            page.locator(".round-row").first.tap()
            page.locator(".records tbody tr").first.wait_for()
        look(page)
    page.locator(".tab[data-key=dealer]").tap()
    for opens in ("irregular", "acts", "chip-other"):
        page.locator(f"[data-key={opens}]").tap()
        page.locator("dialog").wait_for()
        look(page)
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="hidden")
    assert page.evaluate("document.documentElement.lang") == ("zh-Hant" if language == CHINESE else "en")


def test_the_language_is_kept(floor: Floor) -> None:
    page = floor.sign_in("dealer")
    page.locator("[data-key=language]").tap()
    expect(page.locator(".chip.liveness")).to_have_text("即時")
    page.reload()
    expect(page.locator(".chip.liveness")).to_have_text("即時")
    expect(page.locator(".dealer-hand h2")).to_contain_text("莊荷")


def test_times_are_the_house_s_with_utc_beside_them(floor: Floor) -> None:
    floor.table.shuffled()
    floor.table.open_betting()
    page = floor.sign_in("auditor", DESKTOP)
    opened = floor.table.world.client.rounds(1)[0]["opened_at"]
    zone = floor.table.world.client.status()["house"]["time_zone"]
    local = datetime.fromisoformat(opened).astimezone(ZoneInfo(zone))
    row = page.locator(".round-row time").first
    expect(row).to_have_attribute("datetime", opened)
    expect(row.locator("span")).to_have_text(f"{local:%Y-%m-%d %H:%M:%S}")
    expect(row.locator("small")).to_have_text(f"{opened[:19].replace('T', ' ')} UTC")
    page.locator(".round-row").first.tap()
    expect(page.locator(".records time small").first).to_have_text(f"{opened[:23].replace('T', ' ')} UTC")
    with page.expect_download() as download:
        page.locator("[data-key=csv]").tap()
    assert f"local ({zone})" in Path(download.value.path()).read_text().splitlines()[0]


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        ("'Asia/Macau'", "07:04:49 (23:04:49 UTC)"),
        ("'Europe/Lisbon'", "00:04:49 (23:04:49 UTC)"),
        ("'UTC'", "23:04:49 UTC"),
        ("'Mars/Olympus'", "23:04:49 UTC"),
        ("undefined", "23:04:49 UTC"),
    ],
)
def test_a_zone_that_is_not_known_is_utc(floor: Floor, zone: str, told: str) -> None:
    page = floor.screen()
    said = page.evaluate(
        "async () => { const { clock, setZone } = await import('/static/i18n.js');"
        f" setZone({zone}); return clock('2026-07-30T23:04:49.5Z'); }}"
    )
    assert said == told


def test_players_see_the_present_and_nothing_else(floor: Floor) -> None:
    """CS-12: no past result, no count of cards, no name; and nobody has to sign in."""
    table = floor.table
    table.shuffled()
    page = floor.screen(DESKTOP, CHINESE, "player")
    expect(page.locator("h1")).to_have_text("累進大獎")
    table.open_betting()
    table.act("ante", box=4, amount=5000)
    table.act("progressive", box=4)
    expect(page.locator("[data-key=box-4]")).to_contain_text("已接受")
    expect(page.locator(".prizes")).to_contain_text("黃袍麒")
    look(page)
    table.act("take-back", box=4)
    table.act("close-betting")
    expect(page.locator("[data-key=box-4]")).to_have_count(0)
    shown = page.locator("body").inner_text()
    assert not any(word in shown for word in ("第 1 局", "dealer", "supervisor", "作廢", "已派彩"))


def test_an_auditor_finds_a_round_and_takes_it_along(floor: Floor) -> None:
    table = floor.table
    table.shuffled()
    table.open_betting()
    table.act("ante", box=3, amount=5000)
    table.act("close-betting")
    table.take_packet()
    table.until("the first packet", lambda status: status["cards"]["out"] >= 5)
    table.act("misdeal", text="=a wrong packet")
    page = floor.sign_in("auditor", DESKTOP)
    row = page.locator(".round-row").first
    expect(row).to_contain_text("CS-11a")
    page.locator("[data-key=search]").fill("wrong packet")
    expect(page.locator(".round-row")).to_have_count(1)
    page.locator("[data-key=search]").fill("no such thing")
    expect(page.locator(".round-row")).to_have_count(0)
    page.locator("[data-key=search]").fill("")
    row.tap()
    expect(page.locator(".records")).to_contain_text("Misdeal")
    numbers = [int(text) for text in page.locator(".records tbody th").all_inner_texts()]
    account = table.world.client.rounds(1)[0]
    assert numbers == list(range(account["inputs"][0], account["inputs"][1] + 1))
    with page.expect_download() as download:
        page.locator("[data-key=json]").tap()
    taken = json.loads(Path(download.value.path()).read_text())
    assert taken["round"] == account
    assert [record["seq"] for record in taken["records"]] == numbers
    with page.expect_download() as download:
        page.locator("[data-key=csv]").tap()
    lines = Path(download.value.path()).read_text().splitlines()
    assert len(lines) == len(numbers) + 1
    assert not any(cell.startswith('"=') for line in lines for cell in line.split(","))


def test_a_game_without_a_view_is_played_from_its_acts(floor: Floor) -> None:
    floor.table.shuffled()
    page = floor.screen()

    def another_game(route: Any) -> None:
        answer = route.fetch()
        told = answer.json()
        told["status"]["game"] = "another"
        route.fulfill(response=answer, json=told)

    page.route("**/api/table", another_game)
    page.locator("input[name=name]").fill("dealer")
    page.locator("input[name=pin]").fill("246810")
    page.locator("form.login button").tap()
    page.locator("[data-key=act-open-betting] button:enabled").tap()
    form = page.locator("[data-key=act-ante]")
    form.locator("[name=box]").select_option("5")
    form.locator("[name=amount]").fill("7500")
    form.locator("button:enabled").tap()
    expect(page.locator("#told .accepted")).to_contain_text("Ante")
    boxes = floor.table.world.client.rounds(1)[0]["boxes"]
    assert [(box["box"], box["ante"]) for box in boxes] == [(5, 7500)]
    look(page)


def test_from_the_commit_to_the_pixel(floor: Floor, record_property: Any) -> None:
    """Reported, not asserted: from an input's stamp in the journal to the frame that shows it."""
    floor.table.shuffled()
    page = floor.sign_in("dealer")
    open_betting(page, "Open betting")
    bet(page, 1)
    page.evaluate(
        "() => { window.seen = {}; document.addEventListener('feltd:drawn', ({ detail }) => {"
        " if (!(detail.seq in seen)) { seen[detail.seq] = 0;"
        " requestAnimationFrame(() => setTimeout(() => { seen[detail.seq] = Date.now(); })); } }); }"
    )
    delays = []
    for _ in range(CHANGES):
        name = "ante" if floor.table.world.client.rounds(1)[0]["boxes"][-1]["box"] != 2 else "take-back"
        args = {"box": 2, "amount": 5000} if name == "ante" else {"box": 2}
        seq = floor.table.act(name, **args)["seq"]
        page.locator(f"[data-key=box-2].{'bet' if name == 'ante' else 'empty'}").wait_for()
        page.wait_for_timeout(100)
        at = page.evaluate(
            "async (seq) => { const found = await (await fetch(`/api/table`)).json();"
            " return [seen[seq], found.status.seq]; }",
            seq,
        )[0]
        record = floor.table.world.client._get(f"/records/{seq}")
        if at:
            delays.append(at - page.evaluate("(at) => Date.parse(at)", record["at"]))
    median = statistics.median(delays)
    record_property("commit_to_pixel_ms", median)
    print(f"from commit to pixel: median {median:.0f} ms, most {max(delays):.0f} ms")
    assert len(delays) >= CHANGES // 2
