"""The people before the screens, their table, and what must be true of whatever they see."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import pytest

from daemon.client import NotRunning
from daemon.demo.world import PIN, World
from daemon.games.five_card.rules import FORTY
from daemon.simhost import ControlError
from drivers.cards import DECK, parse_cards

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATIENCE = 30.0  # seconds; the machine may be busy
ECHO = 450  # ms: a second touch of one button within 400 ms is no touch
ORDER_AGAIN = 4.0  # seconds after which a shuffle that was not done is ordered anew
SMALL, DESKTOP = (1024, 600), (1280, 800)
ENGLISH, CHINESE = "0", "1"

Json = dict[str, Any]


class Table:
    """The world behind the page, and acts that a test does without a page."""

    def __init__(self, world: World, url: str) -> None:
        self.world = world
        self.url = url

    def until(self, what: str, holds: Callable[[Json], Any]) -> Json:
        """The first status for which ``holds`` is true; a daemon that died is started again."""
        give_up = time.monotonic() + PATIENCE
        while True:
            self.world.tend()
            try:
                status = self.world.client.status()
                if holds(status):
                    return status
            except NotRunning:
                status = {}
            assert time.monotonic() < give_up, f"waited in vain for {what}: {status}"
            time.sleep(0.05)

    def act(self, name: str, role: str = "supervisor", **args: str | int) -> Json:
        answer: Json = self.world.client.act(name, by="test", role=role, **args)
        assert answer["accepted"], answer["refusal"]
        return answer

    def open_betting(self) -> None:
        """As soon as the sign is known to show the pool (CS-01)."""

        def opened(_: Json) -> bool:
            answer = self.world.client.act("open-betting", by="test", role="dealer")
            assert answer["accepted"] or answer["refusal"]["clause"] == "CS-01", answer["refusal"]
            return bool(answer["accepted"])

        self.until("the sign", opened)

    def rest(self) -> None:
        """Whatever was going on, there is no round, no fault, nothing to pay; the shuffler is to shuffle."""
        status = self.until(
            "the first packet", lambda now: now["state"] != "betting" or not now["betting_closed"]
        )
        if status["state"] == "out-of-service":
            self.act("open-table")
        elif status["state"] == "betting":
            for box in self.world.client.round(status["round"])["boxes"]:
                self.act("take-back", box=box["box"])
            self.act("close-betting")
        elif status["round"] is not None:
            self.act("misdeal", text="the test before left it")
        status = self.world.client.status()
        for award in status["pending_awards"]:
            if not award["confirmed"]:
                self.act("confirm-award", box=award["box"])
        if status["mode"] == "shuffler":
            self.act("use-shoe")
        self.act("use-shuffler", id="shuffler")  # the proof of a deck is forgotten with where it comes from
        self._tidy()
        self.until("the devices", lambda status: not self._cleared(status) and not status["not_ready"])

    def _cleared(self, status: Json) -> int:
        """How many faults there were that a supervisor can clear; now there are none."""
        mine = [fault for fault in status["faults"] if fault["cleared_by"] != "shuffle"]
        for fault in mine:
            self.world.client.act(
                "clear-fault", by="test", role="supervisor", code=fault["code"], text="a test begins"
            )
        return len(mine)

    def _tidy(self) -> None:
        """Every card goes back into the machine that shuffles."""
        state = self.world.shuffler.do("state")
        if state["fault"] or state["state"] in ("dealing", "packet_present"):
            before = self.world.client.status()["seq"]
            self.world.shuffler.do("power-cycle")
            self.until("the restart", lambda status: status["seq"] > before)
            state = self.world.shuffler.do("state")
        if state["away"]:
            self.world.shuffler.do("return")
        self.until("the shuffler", lambda status: status["devices"]["shuffler"]["state"] == "ready")

    def shuffled(self, mode: str = "shuffler") -> None:
        """A proven deck, and betting may open."""
        if mode == "shoe":
            self.act("use-shoe")
        ordered = 0.0

        def ready(status: Json) -> bool:
            nonlocal ordered
            if self._cleared(status) or status["not_ready"]:
                return False
            if not _deck(status) and time.monotonic() > ordered + ORDER_AGAIN:
                ordered = time.monotonic()
                self.act("shuffle")
                if mode == "shoe":
                    self.act("cut")
            return _deck(status) and bool(status["sign"]["proven"])

        self.until("the sign and the deck", ready)

    def take_packet(self) -> list[str]:
        """Five cards out of the machine, as soon as it has them."""
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                cards = self.world.shuffler.do("take")["cards"]
                assert isinstance(cards, list)
                return cards
            except ControlError:
                assert time.monotonic() < give_up, "no packet came"
                time.sleep(0.05)

    def load_shoe(self, *hands: str) -> None:
        """The shoe deals these hands, card by card in turn; the rest of the deck behind them."""
        dealt = [parse_cards(hand) for hand in hands]
        order = [card for turn in zip(*dealt, strict=True) for card in turn]
        order += [card for card in DECK if card not in order]
        self.world.shoe.do("load", deck=[card.text for card in order])

    def draw(self, count: int) -> None:
        before = self.world.client.status()["cards"]["out"]
        for number in range(before + 1, before + count + 1):
            self.world.shoe.do("draw")
            self.until(f"card {number}", lambda status: status["cards"]["out"] >= number)  # noqa: B023

    def acts_of(self, name: str) -> list[Json]:
        """The journal's accepted acts of this name."""
        found: list[Json] = []
        first: int | None = 1
        while first is not None:
            page = self.world.client._get("/records", {"from": first})
            found += page["records"]
            first = page["next"]
        return [r for r in found if r["input"].get("name") == name and "refusal" not in r]


class StudTable(Table):
    """A table of five-card stud. Amounts are those of the demonstration: an ante of 20.00."""

    def rest(self) -> None:
        """Whatever was going on, the table is open, nobody is seated, and the shoe deals."""
        status = self.until("an answer", lambda _: True)
        if status["state"] == "out-of-service":
            self.act("open-table")
        elif status["state"] == "antes":
            for hand in self.world.client.round(status["round"])["seats"]:
                self.act("take-back", seat=hand["seat"])
        elif status["round"] is not None:
            self.act("wrong-deck", text="the test before left it")
        for seat in self.world.client.status()["seats"]:
            self.act("leave", seat=seat["seat"])
        self.act("new-deck")
        if self.world.client.status()["mode"] != "shoe":
            self.act("use-shoe")
        self.until("the devices", lambda status: not self._cleared(status) and not status["not_ready"])

    def seated(self, *seats: int, chips: int = 200_000) -> None:
        for seat in seats:
            self.act("buy-in", seat=seat, amount=chips, player=f"player {seat}")

    def load_deck(self, *cards: str) -> None:
        """The shoe deals the burn and these cards, then the rest of the forty."""
        first = [card.text for word in cards for card in parse_cards(word)]
        rest = [card.text for card in FORTY if card.text not in first]
        self.world.shoe.do("load", deck=[rest.pop(), *first, *rest])

    def deal(self, count: int) -> None:
        """So many cards out of the shoe, each known to the table before the next."""
        for _ in range(count):
            before = self.cards_out()
            self.world.shoe.do("draw")
            self.until("a card", lambda _: self.cards_out() > before)  # noqa: B023

    def cards_out(self) -> int:
        number = self.world.client.status()["round"]
        return 0 if number is None else int(self.world.client.round(number)["cards_out"])


def _deck(status: Json) -> bool:
    deck = status["deck"]
    if status["mode"] == "shoe":
        return bool(deck["shuffled"] and deck["cut"])
    return bool(deck["shuffler"] == status["shuffler"])


class Floor:
    """The screens of one test. ``complaints``: errors of any script, and requests to anywhere else."""

    def __init__(self, table: Table, browser: Browser, folder: Path) -> None:
        self.table = table
        self.complaints: list[str] = []
        self._browser = browser
        self._contexts: list[Any] = []
        self._folder = folder

    def close(self) -> None:
        """Whoever reads why a test failed wants to know what its screens said last."""
        for context in self._contexts:
            for page in context.pages:
                print("told last:", page.locator("#told").inner_text() or "nothing")
            context.close()

    def screen(self, size: tuple[int, int] = SMALL, language: str = ENGLISH, path: str = "") -> Page:
        """A new browser's page, that nobody has signed in at."""
        width, height = size
        context = self._browser.new_context(viewport={"width": width, "height": height}, has_touch=True)
        context.set_default_timeout(PATIENCE * 1000)
        context.add_init_script(
            f"localStorage['feltd.language'] ?? localStorage.setItem('feltd.language', '{language}')"
        )
        self._contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._watch(request.url))
        page.goto(self.table.url + path)
        return page

    def _watch(self, url: str) -> None:
        if urlsplit(url).scheme != "blob" and not url.startswith(self.table.url):
            self.complaints.append(f"asked elsewhere: {url}")

    def sign_in(self, role: str, size: tuple[int, int] = SMALL, language: str = ENGLISH) -> Page:
        page = self.screen(size, language)
        sign_in(page, role)
        return page


def sign_in(page: Page, role: str) -> None:
    page.locator("input[name=name]").fill(role)
    page.locator("input[name=pin]").fill(PIN)
    page.locator("form.login button[type=submit]").tap()
    page.locator(".liveness.live").wait_for()


# --- hands on the dealer's screen --------------------------------------------------------------


def wait_state(page: Page, state: str) -> None:
    page.locator(f"[data-state={state}]").wait_for()


_pressed: WeakKeyDictionary[Page, float] = WeakKeyDictionary()  # when its large button was touched


def primary(page: Page, text: str) -> None:
    """Touch the large button once it says ``text``, and not as the echo of the touch before."""
    button = (
        page.locator(".next [data-key=next-0]:enabled, .next .primary:enabled").filter(has_text=text).first
    )
    button.wait_for()
    _past_the_echo(page)
    button.tap()
    _pressed[page] = time.monotonic()


def touch(page: Page, control: str) -> None:
    """Touch the button of this name, and not as the echo of a touch before."""
    button = page.locator(f"[data-control='{control}']:enabled")
    button.wait_for()
    _past_the_echo(page)
    button.tap()
    _pressed[page] = time.monotonic()


def open_betting(page: Page, text: str, press: Callable[[Page, str], None] = primary) -> None:
    """Press what says ``text``; once more, as a dealer would, if the sign was not proven then (CS-01)."""
    give_up = time.monotonic() + PATIENCE
    betting, refused = page.locator("[data-state=betting]"), page.locator("#told .refused")
    while True:
        press(page, text)
        betting.or_(refused).first.wait_for()
        if betting.count():
            return
        assert "CS-01" in refused.inner_text()
        assert time.monotonic() < give_up, "the sign is never proven"


def press_enter(page: Page, text: str) -> None:
    """The same by the key, once the button is there."""
    page.locator("[data-control=next-0]:enabled").filter(has_text=text).wait_for()
    press_key(page, "Enter")


def press_key(page: Page, key: str) -> None:
    """A key that stands for a button, and not as the echo of a press before."""
    _past_the_echo(page)
    page.keyboard.press(key)
    _pressed[page] = time.monotonic()


def _past_the_echo(page: Page) -> None:
    passed = (time.monotonic() - _pressed.get(page, -PATIENCE)) * 1000
    if passed < ECHO:
        page.wait_for_timeout(ECHO - passed)


def bet(page: Page, box: int, progressive: bool = False) -> None:
    page.locator(f"[data-key=box-{box}] .spots").tap()
    page.locator(f"[data-key=box-{box}].bet").wait_for()
    if progressive:
        page.locator(f"[data-key=box-{box}] .spots").tap()
        page.locator(f"[data-control=sheet-progressive-{box}]:enabled").tap()
        page.locator("dialog").wait_for(state="hidden")
        page.locator(f"[data-key=box-{box}] .progressive.filled").wait_for()


def show_cards(page: Page, cards: Sequence[str]) -> None:
    """In the open card picker: touch the cards, then confirm."""
    for card in cards:
        button = page.locator(f"dialog [data-key='{card}']")
        if button.get_attribute("aria-pressed") == "false":
            button.tap()
    touch(page, "picker")
    page.locator("dialog").wait_for(state="hidden")


def confirm(page: Page, name: str) -> None:
    touch(page, f"confirm.{name}")
    page.locator("dialog").wait_for(state="hidden")


# --- what must be true of every picture --------------------------------------------------------

_FAULTS = (Path(__file__).parent / "faults.js").read_text()


def faults_of(page: Page) -> list[str]:
    """Texts and buttons that lie over each other, are cut off, or are too small for a finger."""
    found: list[str] = page.evaluate(_FAULTS)
    return found


@cache
def axe_source() -> str:
    """axe-core, as a script."""
    found = find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("axe-playwright-python, which brings axe-core, is not installed")
    return (Path(found.origin).parent / "axe.min.js").read_text()


def findings(page: Page) -> list[str]:
    """What axe-core finds that is serious or critical."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe_source())
    result: dict[str, Any] = page.evaluate("axe.run({ resultTypes: ['violations'] })")
    return [
        f"{found['id']}: {node['target']} {node['failureSummary']}"
        for found in result["violations"]
        if found["impact"] in ("serious", "critical")
        for node in found["nodes"]
    ]


def look(page: Page) -> None:
    """Nothing serious for axe-core, and nothing wrong with the picture."""
    assert findings(page) == []
    assert faults_of(page) == []
