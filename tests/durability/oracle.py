"""What must hold after every death, every restart, and at the end. Each check answers with sentences."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from daemon import app
from daemon.audit import verify
from daemon.build import build_table
from daemon.config import Settings
from daemon.engine import RecoveryError, recover
from daemon.games.five_card import FiveCardRules
from daemon.journal import JournalError, SqliteJournal, open_journal
from daemon.sealer import SealError, load_key
from daemon.table import InvariantBroken
from tests.durability.scripts import Script
from tests.durability.zygote import opened, picture

Plain = dict[str, Any]
Award = tuple[str, int]  # the account that it went to, minor units

# What a round's account says of time and of places in the journal: a restart may change it.
_WHEN: Final = frozenset({"opened_at", "closed_at", "inputs", "at", "since"})
PAYMENTS: Final = frozenset({"award", "won", "not followed", "exposed"})  # reasons of money to players
BROKEN: Final = (JournalError, SealError, RecoveryError, InvariantBroken, app.StartError, sqlite3.Error)


def lasting(value: Any) -> Any:
    """A round's account without its times."""
    if isinstance(value, dict):
        return {key: lasting(part) for key, part in value.items() if key not in _WHEN}
    return [lasting(part) for part in value] if isinstance(value, list) else value


class Told(NamedTuple):
    """What the outside was told up to some moment."""

    acts: Mapping[str, Plain]  # key to answer
    events: Mapping[str, int]  # device to the number of its events that were acknowledged
    shown: Sequence[int]  # amounts on the sign in their order, minor units


@dataclass(frozen=True, slots=True)
class Ending:
    """How a round ends: the same for every run of a script, whatever happened in between.

    ``awards`` are those of a jackpot, and what a pot paid.
    """

    balances: Mapping[str, int]
    awards: Sequence[Award]
    rounds: Sequence[Plain]


class _FromTheFirst:
    """A journal that is replayed without its snapshots (daemon.engine.ReplaySource)."""

    def __init__(self, journal: SqliteJournal) -> None:
        self.replay = journal.replay

    def latest_snapshot(self) -> None:
        return None


class Autopsy:
    """A journal as a dead daemon left it, read by means of its own: SQL and JSON."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        with closing(sqlite3.connect(settings.journal)) as db:
            rows = db.execute("SELECT seq, record FROM records ORDER BY seq").fetchall()
            self.money = db.execute(
                "SELECT seq, account, amount, reason FROM money ORDER BY seq, line"
            ).fetchall()
        self.records: dict[int, Plain] = {seq: json.loads(record) for seq, record in rows}

    @classmethod
    def of_copy(cls, settings: Settings, script: Script, folder: Path) -> Autopsy:
        """The same of a copy in ``folder``, so that looking changes nothing."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path in settings.journal.parent.iterdir():
            if path.suffix != ".lock" and not path.name.endswith("-shm"):
                shutil.copy2(path, folder)
        return cls(script.settings(folder))

    def events(self) -> Counter[tuple[str, int, int]]:
        """Device, boot and ordinal of every numbered event."""
        said = (record["input"] for record in self.records.values())
        return Counter((i["device"], i["boot"], i["ordinal"]) for i in said if i.get("ordinal"))

    def acts(self) -> dict[str, list[int]]:
        """Key of an act to its records."""
        found: dict[str, list[int]] = {}
        for seq, record in self.records.items():
            if record["input"].get("key"):
                found.setdefault(record["input"]["key"], []).append(seq)
        return found

    def meters(self) -> list[int]:
        """What the sign's meter has to show at every committed point: the pool, or the one ante."""
        if isinstance(self.settings.rules, FiveCardRules):
            return [self.settings.rules.ante]
        return self.pools()

    def pools(self) -> list[int]:
        """The pool at every committed point, from its beginning."""
        moved: Counter[int] = Counter()
        for seq, account, amount, _ in self.money:
            if account == "pool":
                moved[seq] += amount
        pools = [0]
        for seq in sorted(self.records):
            pools.append(pools[-1] + moved[seq])
        return pools

    def ending(self) -> Ending:
        balances: Counter[str] = Counter()
        for _, account, amount, _ in self.money:
            balances[account] += amount
        awards = [
            (account, amount)
            for _, account, amount, reason in self.money
            if reason in PAYMENTS and amount > 0
        ]
        closed = [
            lasting(effect["summary"])
            for record in self.records.values()
            for effect in record.get("effects", ())
            if effect["effect"] == "round-closed"
        ]
        return Ending({account: amount for account, amount in balances.items() if amount}, awards, closed)

    def picture(self) -> Plain:
        """The table as the whole journal replays, which is how the newest snapshot replays too.

        Raises what recovery raises, and AssertionError when the two differ.
        """
        with closing(open_journal(self.settings.journal, load_key(self.settings.key))) as journal:
            new = partial(build_table, self.settings)
            whole = picture(recover(new, _FromTheFirst(journal))[0])
            assert picture(recover(new, journal)[0]) == whole, "the newest snapshot replays to something else"
        return whole


def at_death(found: Autopsy, told: Told, expected: Ending | None) -> Iterator[str]:
    """Checks 1, 2, 3 and 5 on what a dead daemon left behind."""
    yield from _present(found, told)
    yield from verify(found.settings.journal)["errors"]
    sums: Counter[int] = Counter()
    for seq, _, amount, _ in found.money:
        sums[seq] += amount
    yield from (f"the money rows of record {seq} sum to {total}" for seq, total in sums.items() if total)
    yield from _shown(told.shown, found.meters())
    awards = found.ending().awards
    if expected is not None and list(awards) != list(expected.awards[: len(awards)]):
        yield f"awards {awards}, to be paid are {expected.awards}"


def _present(found: Autopsy, told: Told) -> Iterator[str]:
    """Everything that was acknowledged is there, and nothing is there twice."""
    events = found.events()
    yield from (f"event {event} is in the journal {n} times" for event, n in events.items() if n > 1)
    for device, count in told.events.items():
        there = {ordinal for name, _, ordinal in events if name == device}
        lost = sorted(set(range(1, count + 1)) - there)
        if lost:
            yield f"acknowledged events of {device} are lost: {lost}"
    acts = found.acts()
    yield from (
        f"act {key} is in the journal {len(seqs)} times" for key, seqs in acts.items() if len(seqs) > 1
    )
    for key, answer in told.acts.items():
        if answer["seq"] not in acts.get(key, ()):
            yield f"act {key} was answered as record {answer['seq']} and is lost"


def _shown(shown: Sequence[int], meters: Sequence[int]) -> Iterator[str]:
    """The sign goes through what the journal holds, in its order: lower only after an award's record."""
    at = 0
    for amount in shown:
        later = [i for i in range(at, len(meters)) if meters[i] == amount]
        if not later:
            yield f"the sign showed {amount}, which the journal does not hold (or not any more)"
            return
        at = later[0]


def at_restart(found: Autopsy, recovered: Plain) -> Iterator[str]:
    """Check 4: the state after a restart is the one that the journal tells."""
    try:
        derived = found.picture()
    except (*BROKEN, AssertionError) as error:
        yield f"the journal cannot be replayed: {type(error).__name__}: {error}"
        return
    yield from _differences("the restarted table", recovered, derived)


def _differences(what: str, have: Plain, want: Plain) -> Iterator[str]:
    for key in want:
        if have[key] != want[key]:
            yield f"{what}: {key} is {have[key]}, the journal says {want[key]}"


def at_the_end(found: Autopsy, last: Plain, expected: Ending) -> Iterator[str]:
    """The round ended as if nothing had happened, and the table knows what its journal says."""
    yield from at_restart(found, last)
    ended = found.ending()
    for what in ("balances", "awards", "rounds"):
        have, want = getattr(ended, what), getattr(expected, what)
        if have != want:
            yield f"{what} are {have}; undisturbed they are {want}"


def of_image(settings: Settings, told: Told) -> list[str]:
    """What is wrong with a folder that a power loss left behind."""
    try:
        with opened(settings):
            pass
        found = Autopsy(settings)
        return [*at_death(found, told, None), *at_restart(found, found.picture())]
    except (*BROKEN, AssertionError) as error:
        return [f"the daemon does not start: {type(error).__name__}: {error}"]
