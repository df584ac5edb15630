"""The API of a table: what may be seen, the acts, the event stream, sessions; problems are RFC 9457."""

from __future__ import annotations

from fastapi import FastAPI

from daemon import __version__
from daemon.api import acts, events, house, link, metrics, player, problems, records, schema, sessions, views
from daemon.api.door import Door
from daemon.api.limits import Limits
from daemon.api.service import Service


def create_app(service: Service, known_acts: frozenset[str], door: Door | None = None) -> FastAPI:
    """The API over a running service. ``known_acts``: an act with another name is answered 404.

    ``door`` knows who is at the other end of a connection. Without one the caller of the app is
    trusted: that is for callers within this process, never for a socket.
    """
    door = door or Door.at_hand()
    app = FastAPI(title="feltd", version=__version__, docs_url=None, redoc_url=None)
    problems.add(app)
    views.add(app, service, door)
    acts.add(app, service, door, known_acts)
    events.add(app, service, door)
    records.add(app, service, door)
    house.add(app, service, door)
    link.add(app, service, door)
    player.add(app, service, door)
    metrics.add(app, service, door)
    sessions.add(app, service, door)
    schema.add(app, door)
    app.add_middleware(Limits)
    return app
