"""The console's /metrics: for whoever brings the key, and not there without one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from daemon.api.door import Door
from daemon.console import server
from daemon.console.daemon_api import DaemonApi
from daemon.console.scrape import read_key
from daemon.roles import CONSOLE
from tests.fakes.stage import From, Stage, client, played

HOST = "127.0.0.1:8080"
KEY = "0123456789abcdef"
NUMBERS = "feltd_faults 0.0\n"


def asked(key: str, headers: dict[str, str]) -> tuple[httpx.Response, list[httpx.Request]]:
    """The answer to one question, and what the daemon was asked for it."""
    passed_on: list[httpx.Request] = []

    def daemon(request: httpx.Request) -> httpx.Response:
        passed_on.append(request)
        return httpx.Response(200, text=NUMBERS, headers={"content-type": "text/plain; version=0.0.4"})

    async def ask() -> httpx.Response:
        app = server.create_app(DaemonApi("socket", httpx.MockTransport(daemon)), frozenset({HOST}), key)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{HOST}") as http:
            return await http.get("/metrics", headers=headers)

    return asyncio.run(ask()), passed_on


def test_the_key_opens_it() -> None:
    answer, passed_on = asked(KEY, {"authorization": f"Bearer {KEY}"})
    assert (answer.status_code, answer.text) == (200, NUMBERS)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4"
    assert [request.url.path for request in passed_on] == ["/metrics"]
    assert "authorization" not in passed_on[0].headers


@pytest.mark.parametrize("given", ["", "Bearer", f"Bearer {KEY}0", f"Basic {KEY}", "Bearer ", KEY])
def test_without_the_key_nothing_is_told_or_asked(given: str) -> None:
    answer, passed_on = asked(KEY, {"authorization": given} if given else {})
    assert answer.status_code == 401
    assert NUMBERS not in answer.text
    assert passed_on == []


@pytest.mark.parametrize("given", ["", "Bearer ", f"Bearer {KEY}"])
def test_a_console_that_has_no_key_has_no_such_page(given: str) -> None:
    answer, passed_on = asked("", {"authorization": given} if given else {})
    assert answer.status_code == 404
    assert passed_on == []


@pytest.mark.parametrize(("content", "key"), [(f"{KEY}\n", KEY), (f"  {KEY}x ", f"{KEY}x")])
def test_a_key_is_read_from_its_file(content: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(content)
    assert read_key(tmp_path / "key") == key


@pytest.mark.parametrize("content", ["", "\n", "short\n", KEY[1:]])
def test_a_key_that_is_soon_guessed_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(content)
    with pytest.raises(ValueError, match="at least 16 characters"):
        read_key(tmp_path / "key")


def test_the_daemon_tells_a_console_its_numbers_and_nothing_else(tmp_path: Path) -> None:
    async def story(_: httpx.AsyncClient, stage: Stage) -> None:
        async with client(From(stage.app, 7)) as console:
            assert "feltd_info" in (await console.get("/metrics")).text
            assert (await console.get("/status")).status_code == 401
        async with client(From(stage.app, 8)) as nobody:
            assert (await nobody.get("/metrics")).status_code == 403

    played(tmp_path, story, door=lambda: Door({7: CONSOLE}, {}, None, frozenset()))
