"""What the screens say when something is away: the sign, the daemon, or only its answers."""

from __future__ import annotations

import os
import re
import signal

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect

from tests.browser.people import Floor, bet, faults_of, open_betting, primary, sign_in

expect.set_options(timeout=30_000)


def daemon_of(floor: Floor) -> int:
    return int((floor.table.world.directory / "daemon.pid").read_text())


def test_a_lost_sign_is_seen_with_its_cause_and_what_to_do(floor: Floor) -> None:
    table = floor.table
    table.shuffled()
    technician = floor.sign_in("technician")
    dealer = floor.sign_in("dealer")
    expect(technician.locator(".sign-panel h2 small")).to_have_text("read back from the sign")
    expect(dealer.locator("[data-control=next-0]")).to_contain_text("Open betting")
    table.world.sign.do("unplug")
    try:
        device = technician.locator(".device[data-key=sign]")
        expect(device.locator(".device-state")).not_to_contain_text("ready")
        expect(device).to_contain_text(re.compile("Cause.+What to do", re.DOTALL))
        expect(technician.locator(".sign-panel h2 small")).to_have_text("told, but not proven")
        expect(technician.locator(".sign-face .dots.unproven")).to_be_visible()
        expect(dealer.locator(".next .title")).to_have_text("No round can open")
        expect(dealer.locator(".next .act")).to_have_count(0)
        assert faults_of(technician) == []
        assert faults_of(dealer) == []
    finally:
        table.world.sign.do("replug")
    expect(technician.locator(".sign-panel h2 small")).to_have_text("read back from the sign")
    expect(dealer.locator("[data-control=next-0]:enabled")).to_contain_text("Open betting")


def test_the_sign_is_drawn_from_what_it_was_told(floor: Floor) -> None:
    floor.table.shuffled()
    page = floor.sign_in("technician")
    meter = floor.table.world.client.status()["sign"]["wanted"]["meter"]
    expect(page.locator(".sign-face svg")).to_have_attribute("aria-label", meter)
    assert floor.table.world.sign.do("state")["text"].startswith(meter)
    dots = page.evaluate(
        "async () => { const { dotsOf } = await import('/static/dots.js'); const { lit } = dotsOf('1');"
        " return lit.split('h0').filter(Boolean) }"
    )
    column = [dot for dot in dots if dot.startswith("M3 ")]
    assert len(column) == 7  # the upright of the figure 1
    assert len(dots) == 7 + 1 + 2  # its flag, and its foot left and right


def test_a_restart_under_an_open_page(floor: Floor) -> None:
    table = floor.table
    table.shuffled()
    page = floor.sign_in("dealer")
    open_betting(page, "Open betting")
    bet(page, 7)
    os.kill(daemon_of(floor), signal.SIGKILL)
    expect(page.locator("[data-live=reconnecting]")).to_be_visible()
    expect(page.locator("#banner")).to_contain_text("Not live")
    expect(page.locator("[data-key=box-7].bet")).to_be_visible()  # still seen, and marked as old
    assert page.locator(".rail button:enabled, .layout button:enabled").count() == 0
    assert faults_of(page) == []
    table.until("the daemon", lambda status: status["state"] == "betting")
    page.locator("form.login").wait_for()  # sessions end with the daemon
    assert page.locator(".layout").count() == 0
    sign_in(page, "dealer")
    expect(page.locator("[data-key=box-7] .spot.ante")).to_contain_text("50.00")
    expect(page.locator("#banner")).to_be_empty()
    table.until("the devices", lambda status: not status["not_ready"])
    primary(page, "Close betting")
    table.until("the end of betting", lambda status: status["betting_closed"])


def test_a_daemon_that_hangs_makes_the_page_stale(floor: Floor) -> None:
    floor.table.shuffled()
    page = floor.sign_in("dealer")
    os.kill(daemon_of(floor), signal.SIGSTOP)
    try:
        expect(page.locator("[data-live=stale], [data-live=reconnecting]")).to_be_visible()
        expect(page.locator("#banner")).to_contain_text("Nothing can be entered")
        assert page.locator(".rail button:enabled").count() == 0
    finally:
        os.kill(daemon_of(floor), signal.SIGCONT)
    expect(page.locator("[data-live=live]")).to_be_visible()
    expect(page.locator("[data-control=next-0]:enabled")).to_contain_text("Open betting")


def test_a_wrong_pin_and_a_locked_session(floor: Floor) -> None:
    page = floor.screen()
    page.locator("input[name=name]").fill("auditor")
    page.locator("input[name=pin]").fill("000000")
    page.locator("form.login button").tap()
    expect(page.locator(".refusal")).to_contain_text("name and PIN do not match")
    assert page.locator("input[name=pin]").input_value() == ""
    sign_in(page, "auditor")
    assert page.evaluate("document.cookie") == ""
    page.locator("[data-key=person]").tap()
    assert faults_of(page) == []
    page.get_by_role("button", name="Lock", exact=True).tap()
    expect(page.locator("h1")).to_have_text("Locked")
    page.locator("input[name=pin]").fill("246810")
    page.get_by_role("button", name="Unlock").tap()
    page.locator(".view").wait_for()
    expect(page.locator("[data-live=live]")).to_be_visible()
    page.locator("[data-key=person]").tap()
    page.get_by_role("button", name="Sign out").tap()
    page.locator("form.login").wait_for()


def test_a_refusal_says_why_and_what_to_do(floor: Floor) -> None:
    floor.table.shuffled()
    page = floor.sign_in("dealer")
    open_betting(page, "Open betting")
    bet(page, 1)
    page.route(
        "**/api/acts/ante", lambda route: route.continue_(post_data='{"args":{"box":1,"amount":5000}}')
    )
    page.locator("[data-key=box-2] .spots").tap()
    expect(page.locator("#told .refused")).to_contain_text("box 1 is taken (CS-06)")
    expect(page.locator("#told .refused")).to_contain_text("To do: a box is never shared")
    expect(page.locator("[data-key=box-2].empty")).to_be_visible()
