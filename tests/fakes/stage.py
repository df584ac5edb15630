"""A table behind its API, in one process: its devices say what a test tells them to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from daemon.api import create_app
from daemon.api.door import Door
from daemon.api.peers import Peer
from daemon.build import build_table, known_acts, started
from daemon.clock import SystemClock
from daemon.config import load
from daemon.engine import Port
from daemon.journal import create, header_bytes, open_journal
from daemon.links.base import Cause, LinkError, OnBytes, OnLost
from daemon.sealer import KEY_BYTES, Sealer
from daemon.service import Service
from daemon.supervisor import LinkLife
from drivers.base import Command, Counters, DeviceEvent, Display, Emit, Identified, Output, SignShows

DEMO = Path(__file__).parents[2] / "config" / "demo.toml"
PROBLEM = "application/problem+json"
Api = httpx.AsyncClient


class Told:
    """A driver that emits what it is told to when its link brings any bytes."""

    deadline = None

    def __init__(self, role: str) -> None:
        self.counters = Counters()
        self.role = role
        self.say: list[DeviceEvent] = []
        self.ordinal = 0

    def opened(self, now: int) -> list[Output]:
        return [Emit(Identified(self.role, f"{self.role}-1", boot=1), 1)]

    def received(self, data: bytes, now: int) -> list[Output]:
        said, self.say = self.say, []
        return [self._numbered(event) for event in said]

    def _numbered(self, event: DeviceEvent) -> Emit:
        self.ordinal += 1
        return Emit(event, 1, self.ordinal)

    def command(self, command: Command, now: int) -> list[Output]:
        if isinstance(command, Display) and self.role == "sign":
            return [Emit(SignShows(command.meter, command.announcement, command.pages))]
        return []

    def nothing(self, *_: object) -> list[Output]:
        return []

    resume = command
    committed = tick = closed = nothing


class Wire:
    """A link that opens, if ``there``."""

    def __init__(self, there: bool) -> None:
        self.there = there

    def open(self, on_bytes: OnBytes, on_lost: OnLost) -> None:
        if not self.there:
            raise LinkError(Cause.ABSENT, "not plugged in")
        self.on_bytes = on_bytes

    @property
    def place(self) -> str:
        return self.describe()

    def write(self, data: bytes, wake: int = 0) -> None: ...

    def close(self) -> None: ...

    def describe(self) -> str:
        return "a test's wire"


class Stage:
    """A service whose devices are told what to say."""

    def __init__(self, folder: Path, there: bool, door: Door | None, config: Path) -> None:
        settings = load(config)
        self.file = folder / "journal.db"
        create(self.file, header_bytes("demo", settings.game, "", ()))
        self.log: list[str] = []
        self.started = started(settings)
        table = build_table(settings)
        self.drivers = {device.id: Told(device.role) for device in settings.devices}
        ports = {
            d.id: Port(d.id, self.drivers[d.id], LinkLife(d.id, d.role, None), d.protocol, d.link)
            for d in settings.devices
        }
        self.wires = {device.id: Wire(there) for device in settings.devices}
        journal = open_journal(self.file, Sealer(bytes(KEY_BYTES)))
        self.service = Service(table, journal, ports, self.wires, SystemClock(), self._hear)
        self.app = create_app(self.service, known_acts(settings), door)

    def _hear(self, event: str, **facts: object) -> None:
        self.log.append(f"{event} {facts}")

    def device_says(self, device: str, *events: DeviceEvent) -> None:
        self.drivers[device].say += events
        self.wires[device].on_bytes(b"!")

    def records(self) -> list[dict[str, Any]]:
        rows = self.service.journal._db.execute("SELECT record FROM records ORDER BY seq")
        return [json.loads(row[0]) for row in rows]


Story = Callable[[Api, Stage], Awaitable[None]]


class From:
    """An app as it is reached over a connection of ``uid``."""

    def __init__(self, app: ASGIApp, uid: int, *groups: int) -> None:
        self._app = app
        self._peer = Peer(1, uid, groups)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "state": {"peer": self._peer}}, receive, send)


def client(app: ASGIApp, token: str = "") -> Api:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://feltd", headers=headers, timeout=60
    )


def played(
    folder: Path,
    story: Story,
    there: bool = False,
    door: Callable[[], Door] | None = None,
    config: Path = DEMO,
) -> Stage:
    """The stage after the story was played on it, its service ended. ``door`` is made on the loop."""

    async def play() -> Stage:
        stage = Stage(folder, there, door() if door else None, config)
        stage.service.start(stage.started)
        async with client(stage.app) as api:
            try:
                await asyncio.sleep(0)  # the links are opened in a call of their own
                await story(api, stage)
            finally:
                await stage.service.finish()
        return stage

    stage = asyncio.run(play())
    stage.service.journal.close()
    return stage


async def do(api: Api, name: str, **args: object) -> httpx.Response:
    return await api.post(f"/acts/{name}", json={"args": args})


async def accepted(api: Api, name: str, **args: object) -> dict[str, Any]:
    response = await do(api, name, **args)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def is_problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM
    document: dict[str, Any] = response.json()
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    return document
