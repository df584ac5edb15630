"""The life of a table's sealing key: a new one from now on, and what is left when it is lost (docs/keys.md).

Nothing here needs the daemon, and nothing is done while one has the journal. Each step can be cut off:
the same command goes on from there, and no table starts with half of it.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypedDict

from daemon.anchor import Anchor
from daemon.audit import verify
from daemon.backup import give, unowned
from daemon.clock import SystemClock
from daemon.games.money import money
from daemon.journal import (
    APPLICATION_ID,
    JournalError,
    create,
    folder_of,
    head_path,
    header_bytes,
    header_of,
    reading,
    sync_folder,
)
from daemon.journal.schema import open_to_write
from daemon.records import Plain, decode, encode
from daemon.report.books import Books
from daemon.sealer import SealError, add_key, create_key, load_key

CONTINUES: Final = "continues"  # the field of a header that names the journal before
_END: Final = 2**62
_OWED: Final = {
    "pool": "the pool: open the table, then correct-pool by what the sign lacks of it",
    "overflow": "set aside for the next pool: add it to that by correct-pool",
    "reserve": "set aside for the next minimum: add it to the next pool by correct-pool",
    "award": "decided and not paid: pay it by hand",
    "ante": "lies on the layout of the open round: give it back",
    "raise": "lies on the layout of the open round: give it back",
    "progressive": "lies on the layout of the open round: give it back",
    "stack": "chips before a player: a new buy-in books them",
    "pot": "the pot of the open round: give everybody back what he put in",
}


class Rotated(TypedDict):
    """What :func:`rotate` did. Records from ``sealed_from`` on are sealed with the newest of ``keys``."""

    journal: str
    key: str
    keys: int
    sealed_from: int


class Begun(TypedDict):
    """What :func:`begin_anew` did. ``closed`` is where the former journal lies now and ``head`` its last
    record, which the new header names. ``by_hand``: what the new journal does not know, and what to do."""

    journal: str
    key: str
    closed: str
    head: str
    records: int
    by_hand: list[str]


# --- a new key from now on -------------------------------------------------------------------------


def rotate(journal: Path, key: Path) -> Rotated:
    """Seal with a new key from the next record on. The key file keeps the old ones, and the signer stays.

    Raises SealError when it is not this journal's key file, and JournalError when a daemon has the journal
    or a file cannot be read or written.
    """
    with unowned(journal):
        sealer = load_key(key)
        with reading(journal) as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = 'signer'").fetchone()
        if row is not None and row[0] != sealer.signer.public:
            raise SealError(f"{key} is not the key of {journal}: it signs otherwise")
        records = Books(journal).head().seq
        try:
            added = add_key(key)
        except OSError as error:
            raise JournalError(f"{key}: {error.strerror}: the key is as it was") from None
    return {"journal": str(journal), "key": str(key), "keys": added.keys, "sealed_from": records + 1}


# --- a new journal ---------------------------------------------------------------------------------


def begin_anew(journal: Path, key: Path, why: str) -> Begun:
    """Close a journal for good, and begin a new one with a new key, whose header names the old one's end.

    For a key that is lost, or that somebody saw. The old journal is kept beside the new one, and so is its
    key if it is there. What the table owes is told, for people to carry over (``by_hand``). A call that was
    cut off is finished by the next one. Raises JournalError when the old journal does not verify or is
    empty, a daemon has it, or a file cannot be made; SealError when ``key`` is there and is not this
    journal's key file.
    """
    if not why.strip():
        raise JournalError("say why: it is written into the new journal's header")
    if os.path.realpath(journal) == os.path.realpath(key):
        raise JournalError(f"{key}: is the journal itself: name its key file, or where the new key shall be")
    if not key.parent.is_dir():
        raise JournalError(f"{key}: the folder does not exist; make it, or name another")
    with unowned(journal):
        try:
            if not _is_begun(journal, key):
                _prepare(journal, key, why)
            before = _continued(_fresh(journal))
            closed = journal.with_name(before["file"])
            _swap_key(key, closed.name.removeprefix(journal.name))
            _swap_journal(journal, closed)
        except (OSError, sqlite3.Error) as error:
            raise JournalError(f"{journal}: {error}: give the command again to finish it") from None
    return {
        "journal": str(journal),
        "key": str(key),
        "closed": str(closed),
        "head": before["head"],
        "records": Anchor.parse(before["head"]).seq,
        "by_hand": list(_by_hand(Books(closed))),
    }


def _fresh(path: Path) -> Path:
    return path.with_name(f".{path.name}.next")


def _is_begun(journal: Path, key: Path) -> bool:
    """Whether a call was cut off after everything new was ready, and nothing was played since then."""
    if not _fresh(journal).exists() or _fresh(key).exists():
        return False
    if not journal.exists():
        return True
    try:
        new = _continued(_fresh(journal))
        swapped = load_key(key).signer.public != new["signer"]
    except (JournalError, SealError, KeyError):
        return False  # of a call that named another file as the key
    return swapped and str(Books(journal).head()) == new["head"]


def _prepare(journal: Path, key: Path, why: str) -> None:
    """Make the new key and then the new journal, under names that nobody uses; the old ones stay."""
    found = verify(journal)
    if not found["verified"]:
        raise JournalError(f"{journal} is not sound: {found['errors'][0]}")
    if not found["inputs"]:
        raise JournalError(f"{journal} has no record: it is new")
    if key.exists():
        _require_its_key(journal, key, found["signer"])
    with reading(journal) as connection:
        old = decode(header_of(connection))
    _fold(journal)
    for left in (_fresh(journal), _fresh(key)):  # in this order: see _is_begun
        left.unlink(missing_ok=True)
        sync_folder(left.parent)
    now = SystemClock().utc()
    closed = f"{journal.name}.closed-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
    head = Anchor(found["inputs"], bytes.fromhex(found["head"]))
    new = decode(header_bytes(old["table"], old["game"], now, tuple(old["simulated"])))
    new[CONTINUES] = {"file": closed, "head": str(head), "signer": found["signer"], "why": why.strip()[:200]}
    create_key(_fresh(key))
    create(_fresh(journal), encode(new))
    give(journal.parent, _fresh(journal), _fresh(key))


def _require_its_key(journal: Path, key: Path, signer: str) -> None:
    """What is moved aside is this journal's key file. Raises SealError for any other one: it stays."""
    found = load_key(key).signer.public
    if signer and found != signer:
        raise SealError(
            f"{key}: is a key, but not the one that signs {journal}: another table may need it. Name this "
            "journal's key file; if that is lost, move this one away first"
        )


def _fold(journal: Path) -> None:
    """Bring the write-ahead log into the file: what is moved is one file then."""
    with closing(open_to_write(journal, APPLICATION_ID)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")


def _continued(journal: Path) -> dict[str, str]:
    with reading(journal) as connection:
        told: dict[str, str] = decode(header_of(connection))[CONTINUES]
    return told


def _swap_key(key: Path, ending: str) -> None:
    """First the key: from here on no daemon takes the old journal, which another key signed."""
    if _fresh(key).exists():
        _move(key, key.with_name(key.name + ending))
        _move(_fresh(key), key)


def _swap_journal(journal: Path, closed: Path) -> None:
    """The new one gets its name last: until then the journal is missing beside its key."""
    if not closed.exists():
        _move(journal, closed)
    _move(head_path(journal), head_path(closed))
    _move(folder_of(journal), folder_of(closed))
    _move(_fresh(journal), journal)


def _move(source: Path, target: Path) -> None:
    """What is there gets its new name, and the name is durable before anything else happens."""
    if source.exists():
        os.rename(source, target)
        sync_folder(target.parent)


# --- what people carry over ------------------------------------------------------------------------


def _by_hand(books: Books) -> Iterator[str]:
    """What a journal owes when it ends, in sentences."""
    newest = books.closed_round(None)
    if newest is not None:
        yield f"the last round that was closed is {newest['id']}; numbers begin at 1 again"
    for account, amount in sorted(books.balances(_END).items()):
        todo = _OWED.get(account.partition(".")[0])
        if amount and todo:
            yield f"{account.replace('.', ' ')} {money(amount, '')}: {todo}"
    for box, stake in _carried(books).items():
        yield f"a progressive bet of box {box}, {money(stake, '')}, was carried over: give it back (CS-11)"


def _carried(books: Books) -> dict[int, int]:
    """Progressive bets that void rounds carried over and that were not played again, by box (CS-11)."""
    carried: dict[int, int] = {}
    refundable: Counter[int] = Counter()
    for entry in books.recent():
        said = entry.record["input"]
        if said["kind"] == "snapshot":
            game = said["state"]["game"]
            carried, refundable = dict(game.get("carried", ())), Counter(dict(game.get("refundable", ())))
        for _, target, _, reason in entry.record.get("money", ()):
            if reason == "carried bet refunded":
                box = int(target.partition(".")[2])
                (refundable if refundable[box] else carried).pop(box, None)
        for effect in entry.record.get("effects", ()):
            if effect["effect"] == "round-closed" and "boxes" in effect["summary"]:
                carried = _after_round(effect["summary"], carried, refundable)
    return dict(sorted((refundable + Counter(carried)).items()))


def _after_round(summary: Plain, carried: dict[int, int], refundable: Counter[int]) -> dict[int, int]:
    """What a round carries over. A bet that was carried to it and not played is the player's to have back."""
    played = {box["box"] for box in summary["boxes"] if box["carried"]}
    for box, stake in carried.items():
        refundable[box] += 0 if box in played else stake
    if summary["outcome"] != "void":
        return {}
    return {box["box"]: box["progressive"] for box in summary["boxes"] if box["progressive"]}
