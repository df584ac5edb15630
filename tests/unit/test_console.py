"""The console's own server: whom it answers, what it passes on, and what the page can never have."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from daemon.console import server
from daemon.console.daemon_api import DaemonApi
from daemon.console.events import BEAT, with_beats
from daemon.console.run import serve
from daemon.console.serving import NotLoopback, accepted_hosts, is_loopback
from daemon.games.desk import WARNINGS
from daemon.roles import CARIBBEAN, FIVE_CARD, FORMS

HOST = "127.0.0.1:8080"
MARK = {"X-Feltd-Console": "1"}
TOKEN = "token-of-ana"
SESSION = {"name": "ana", "role": "dealer", "expires": "", "idle_seconds": 900, "locked": False}
STATIC = Path(server.__file__).parent / "static"

Answer = Callable[[httpx.Request], httpx.Response]


class Daemon:
    """A daemon that answers what it is told to, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[httpx.Request] = []
        self.answers: dict[str, Answer] = {
            "POST /sessions": lambda _: httpx.Response(201, json=SESSION | {"token": TOKEN}),
            "GET /sessions/current": lambda _: httpx.Response(200, json=SESSION),
            "DELETE /sessions/current": lambda _: httpx.Response(204),
            "POST /acts/ante": lambda _: httpx.Response(200, json={"accepted": True}),
            "GET /player": lambda _: httpx.Response(200, json={"pool": 1}),
        }

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answers.get(f"{request.method} {request.url.path}")
        return answer(request) if answer else httpx.Response(404, json={"detail": "none"})


class Page:
    """A browser, as far as requests and cookies go."""

    def __init__(self, app: Any) -> None:
        self._http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{HOST}")

    def request(self, method: str, path: str, **request: Any) -> httpx.Response:
        return asyncio.run(self._http.request(method, path, **request))

    def get(self, path: str, **request: Any) -> httpx.Response:
        return self.request("GET", path, **request)

    def post(self, path: str, **request: Any) -> httpx.Response:
        return self.request("POST", path, **request)


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


@pytest.fixture
def page(daemon: Daemon) -> Page:
    app = server.create_app(DaemonApi("socket", httpx.MockTransport(daemon)), frozenset({HOST}))
    return Page(app)


@pytest.fixture
def signed_in(page: Page) -> Page:
    assert page.post("/session", json={"name": "ana", "pin": "123456"}, headers=MARK).status_code == 201
    return page


# --- whom it answers ---------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:9999", "127.0.0.1", "", "localhost:8080"])
def test_another_host_name_is_refused(page: Page, host: str) -> None:
    answer = page.get("/", headers={"Host": host})
    assert answer.status_code == 403
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "headers",
    [{}, {"X-Feltd-Console": "2"}, MARK | {"Origin": "http://evil.example"}, MARK | {"Origin": "null"}],
)
def test_a_request_of_another_page_does_nothing(
    signed_in: Page, daemon: Daemon, headers: dict[str, str]
) -> None:
    before = len(daemon.asked)
    for method, path in (("POST", "/api/acts/ante"), ("POST", "/session"), ("DELETE", "/session")):
        assert signed_in.request(method, path, json={}, headers=headers).status_code == 403
    assert len(daemon.asked) == before


def test_its_own_page_may_act(signed_in: Page) -> None:
    answer = signed_in.post("/api/acts/ante", json={}, headers=MARK | {"Origin": f"http://{HOST}"})
    assert answer.status_code == 200


@pytest.mark.parametrize("path", ["/", "/player", "/static/main.js"])
def test_every_answer_has_the_policy(page: Page, path: str) -> None:
    headers = page.get(path).headers
    policy = headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"


def test_modules_are_javascript_whatever_the_system_says(page: Page) -> None:
    assert page.get("/static/main.js").headers["content-type"].startswith("text/javascript")


def test_nothing_outside_the_static_folder_is_served(page: Page) -> None:
    assert page.get("/static/../server.py").status_code == 404
    assert page.get("/static/%2e%2e/server.py").status_code == 404


# --- who somebody is ---------------------------------------------------------------------------


def test_the_token_is_in_a_cookie_that_no_script_reads(page: Page) -> None:
    answer = page.post("/session", json={"name": "ana", "pin": "123456"}, headers=MARK)
    assert answer.json() == SESSION
    cookie = answer.headers["set-cookie"]
    assert TOKEN in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


@pytest.mark.parametrize("path", ["/api/table", "/api/events", "/api/rounds", "/api/records/3", "/api/acts"])
def test_without_a_session_nobody_is_trusted(page: Page, daemon: Daemon, path: str) -> None:
    """The daemon would trust this process; the page's user is another one."""
    assert page.get(path).status_code == 401
    assert page.post("/api/acts/ante", json={}, headers=MARK).status_code == 401
    assert daemon.asked == []


def test_a_player_needs_no_session_and_is_given_none(signed_in: Page, daemon: Daemon) -> None:
    assert signed_in.get("/api/player?after=3&wait=1&other=2").json() == {"pool": 1}
    asked = daemon.asked[-1]
    assert "authorization" not in asked.headers
    assert dict(asked.url.params) == {"after": "3", "wait": "1"}


def test_an_act_is_the_sessions_whoever_the_page_names(signed_in: Page, daemon: Daemon) -> None:
    body = {"args": {"box": 1}, "key": "k", "by": "bo", "role": "supervisor", "replaces": 7}
    signed_in.post("/api/acts/ante", json=body, headers=MARK)
    asked = daemon.asked[-1]
    assert asked.headers["authorization"] == f"Bearer {TOKEN}"
    assert json.loads(asked.content) == {"args": {"box": 1}, "key": "k", "replaces": 7}


@pytest.mark.parametrize("body", [b"[1]", b"{", b"\xff"])
def test_a_malformed_act_goes_no_further(signed_in: Page, daemon: Daemon, body: bytes) -> None:
    before = len(daemon.asked)
    assert signed_in.post("/api/acts/ante", content=body, headers=MARK).status_code == 422
    assert len(daemon.asked) == before


def test_a_body_has_a_limit(signed_in: Page) -> None:
    body = b" " * (server.LARGEST_BODY + 1)
    assert signed_in.post("/api/acts/ante", content=body, headers=MARK).status_code == 413


def test_only_what_is_named_is_passed_on(signed_in: Page, daemon: Daemon) -> None:
    before = len(daemon.asked)
    for path in ("/api/metrics", "/api/schema", "/api/sessions", "/api/../sessions/current"):
        assert signed_in.get(path).status_code in (404, 405)
    assert len(daemon.asked) == before


def test_an_act_cannot_name_another_path(signed_in: Page, daemon: Daemon) -> None:
    signed_in.post("/api/acts/..%2fsessions", json={}, headers=MARK)
    assert all(request.url.raw_path != b"/sessions" for request in daemon.asked[1:])


def test_a_session_that_ended_is_forgotten(signed_in: Page, daemon: Daemon) -> None:
    daemon.answers["GET /sessions/current"] = lambda _: httpx.Response(401, json={})
    answer = signed_in.get("/session")
    assert answer.status_code == 204
    assert 'feltd_console=""' in answer.headers["set-cookie"]
    assert signed_in.get("/api/table").status_code == 401


def test_signing_out_works_without_the_daemon(signed_in: Page, daemon: Daemon) -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody", request=request)

    daemon.answers["DELETE /sessions/current"] = away
    assert signed_in.request("DELETE", "/session", headers=MARK).status_code == 204
    assert signed_in.get("/api/table").status_code == 401


def test_a_daemon_that_is_away_is_a_problem(signed_in: Page, daemon: Daemon) -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("late", request=request)

    daemon.answers["POST /acts/ante"] = away
    answer = signed_in.post("/api/acts/ante", json={}, headers=MARK)
    assert answer.status_code == 502
    assert answer.json()["detail"] == "socket: no answer in time"


# --- the event stream --------------------------------------------------------------------------


class Chunks(httpx.AsyncByteStream):
    """What a daemon streams: bytes, and seconds of silence."""

    def __init__(self, *parts: bytes | float) -> None:
        self.parts = parts
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            if isinstance(part, bytes):
                yield part
            else:
                await asyncio.sleep(part)

    async def aclose(self) -> None:
        self.closed = True


def heard(stream: Chunks, alive: list[bool], every: float = 0.05) -> list[bytes]:
    async def answers() -> bool:
        return alive.pop(0)

    async def collect() -> list[bytes]:
        return [each async for each in with_beats(httpx.Response(200, stream=stream), answers, every)]

    return asyncio.run(collect())


def test_events_are_passed_on_whole() -> None:
    stream = Chunks(b"id: 1\ndata: a\n", b"\nid: 2\nda", b"ta: b\n\nid: 3\n")
    assert heard(stream, [], every=5.0) == [BEAT, b"id: 1\ndata: a\n\n", b"id: 2\ndata: b\n\n"]
    assert stream.closed


def test_a_beat_never_falls_into_an_event() -> None:
    stream = Chunks(b"id: 1\nda", 0.2, b"ta: a\n\n")
    told = heard(stream, [True] * 100)
    assert told[-1] == b"id: 1\ndata: a\n\n"
    assert len(told) > 2
    assert set(told[:-1]) == {BEAT}


def test_a_silent_daemon_ends_the_stream() -> None:
    stream = Chunks(60.0)
    assert heard(stream, [True, False]) == [BEAT, BEAT]
    assert stream.closed


# --- where it listens --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "only_here"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("[::1]", True), ("localhost", True)]
    + [(host, False) for host in ("0.0.0.0", "::", "192.168.1.4", "table.example", "")],
)
def test_what_the_network_cannot_reach(host: str, only_here: bool) -> None:
    assert is_loopback(host) is only_here


def test_the_network_has_to_be_meant() -> None:
    with pytest.raises(NotLoopback, match="--public"):
        serve(Path("socket"), "0.0.0.0", 0)


def test_the_names_it_goes_by() -> None:
    assert "localhost:80" in accepted_hosts("127.0.0.1", 80, ())
    assert accepted_hosts("192.168.1.4", 80, ("Table.example",)) == {"192.168.1.4:80", "table.example"}


# --- the words ---------------------------------------------------------------------------------


def strings() -> dict[str, list[str]]:
    text = (STATIC / "strings.js").read_text()
    found: dict[str, list[str]] = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return found


def test_every_string_is_there_in_both_languages() -> None:
    for key, both in strings().items():
        assert len(both) == 2, key
        assert all(both), key
        english, chinese = (set(re.findall(r"\{(\w+)\}", text)) for text in both)
        assert english == chinese, key


def test_no_key_is_missing_and_none_is_left_over() -> None:
    sources = "".join(path.read_text() for path in STATIC.rglob("*.js") if path.name != "strings.js")
    known = strings()
    named = set(re.findall(r'\bt\(\s*"([a-z.\-]+)"', sources))
    assert named <= set(known), sorted(named - set(known))
    families = {found.split(".")[0] for found in re.findall(r'\bterm\("([\w-]+)"', sources)}
    families |= set(re.findall(r"\bt\(`([\w-]+)\.", sources)) | {"tech", "effect", "next", "keys", "view"}
    unused = {key for key in known if f'"{key}"' not in sources and key.split(".")[0] not in families}
    assert unused == set()


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("state", "out-of-service between-rounds betting dealing deciding showdown settling void"),
        ("state", "antes opening speaking answering"),
        ("seat", "folded dead all-in"),
        ("stud", "fold check call bet raise"),
        (
            "category",
            "royal-flush straight-flush quads full-house flush straight trips two-pair pair no-pair",
        ),
        ("result", "win lose not-qualified void"),
        ("clause", "CS-11a CS-11b CS-11c CS-11d FC-16 FC-18 FC-19 FC-20"),
        ("outcome", "open settled void"),
    ],
)
def test_the_words_of_the_daemon_are_all_known(family: str, names: str) -> None:
    assert {f"{family}.{name}" for name in names.split()} <= set(strings())


def test_the_page_knows_which_faults_keep_nobody_from_playing() -> None:
    text = (STATIC / "games" / "faults.js").read_text()
    found = re.search(r"const WARNINGS = (\[.*\]);", text)
    assert found is not None
    assert set(json.loads(found[1])) == WARNINGS


@pytest.mark.parametrize("game", [CARIBBEAN, FIVE_CARD])
def test_every_act_has_its_name(game: str) -> None:
    assert {f"act.{form.name}" for form in FORMS[game]} - set(strings()) == set()


def test_the_terms_are_those_of_the_regulation() -> None:
    words: dict[str, Any] = strings()
    assert [words[f"box.{spot}"][1] for spot in ("ante", "raise", "progressive")] == [
        "原注",
        "加注",
        "累進大獎",
    ]
    assert (words["category.royal-flush"][1], words["category.full-house"][1]) == ("黃袍麒", "夫盧")
    stud = [words[f"stud.{word}"][1] for word in ("fold", "check", "call", "all-in", "pot")]
    assert stud == ["放棄", "讓牌", "跟注", "缺資", "彩池"]  # 104/85/M, articles 7, 10 and 11


def test_the_page_loads_nothing_from_elsewhere() -> None:
    for path in STATIC.rglob("*"):
        if path.suffix in (".js", ".css", ".html"):
            assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", path.read_text()), path
    html = (STATIC / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*src=)|\son\w+=|style=", html)
