"""``--watch``: an answer of the daemon, asked for anew whenever something is committed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from daemon.client import Client, NotRunning

AGAIN: Final = 1.0  # seconds between attempts while the daemon is away

Ask = Callable[[Client], Mapping[str, Any]]


def follow(
    socket: Path, ask: Ask, tell: Callable[[Mapping[str, Any]], None], away: Callable[[str], None]
) -> NoReturn:
    """Tell the answer now and after every change, for ever; a daemon that is away is waited for.

    ``away`` is told once each time why there is no answer. Raises ApiError when the daemon refuses.
    """
    told_away = ""
    while True:
        try:
            with Client(socket) as client:
                _until_it_ends(client, ask, tell)
            reason = f"{socket}: the stream has ended"
        except NotRunning as error:
            reason = str(error)
        if reason != told_away:
            away(reason)
            told_away = reason
        time.sleep(AGAIN)


def _until_it_ends(client: Client, ask: Ask, tell: Callable[[Mapping[str, Any]], None]) -> None:
    """One look for a burst of events: those that are committed by then need no other one."""
    known = client.status()["seq"]
    tell(ask(client))
    for event in client.events(known):
        if event["seq"] > known:
            known = client.status()["seq"]
            tell(ask(client))
