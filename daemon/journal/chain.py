"""What a journal is made of, wherever it is kept: entries, and the chain over them.

Each record continues a SHA-256 chain::

    hash(n) = SHA-256( hash(n-1) | length of record, 8 bytes big-endian | record | sealed )

over the record's canonical JSON and the sealed faces; ``hash(0)`` is the SHA-256 of the
header. So verifying needs no key; replaying does.
"""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple, Protocol

from daemon.records import Plain, encode, in_clear

RECORD_FORMAT: Final = 1  # of header, records and chain; the file around them has a format of its own
NO_FACES: Final = b""


class JournalError(Exception):
    """The journal cannot be used; the text says why and what to do. The file is kept as it is."""


class Entry(NamedTuple):
    """One record for the journal. ``faces`` are in clear here and nowhere on disk."""

    seq: int
    record: Plain
    faces: bytes = NO_FACES
    device: str | None = None
    epoch: int = 0
    ordinal: int = 0
    key: str = ""
    snapshot: bool = False  # recovery may begin after it


class Outgoing(NamedTuple):
    """One record's lines for the authority of a linked pool: number, kind, box and amount of each.

    ``prior`` is the number of the record with lines before it, 0 for none; ``round_id`` the round that it
    closed; ``reason`` what a person gave for it.
    """

    seq: int
    prior: int
    lines: tuple[tuple[int, str, int, int], ...]
    round_id: int | None
    reason: str


class Journal(Protocol):
    """Where the engine writes. ``begin`` comes before the table is touched."""

    @property
    def next_seq(self) -> int: ...

    def begin(self) -> bool:
        """Open the transaction; False when it cannot be had now, and nothing has changed."""

    def append(self, entry: Entry) -> None: ...

    def commit(self) -> None:
        """Make everything since ``begin`` durable. Raises when that is not certain."""

    def rollback(self) -> None: ...

    def answered(self, key: str) -> Plain | None:
        """The record of the act that carried ``key``, with its ``seq``; None when there was none."""

    def close(self) -> None: ...


def canonical_line(seq: int, record: Plain, faces: bytes) -> bytes:
    """One line of ``feltd journal export --canonical``: faces in clear, and nothing that a key made."""
    line = {"seq": seq, **record}
    if faces:
        line["input"] = in_clear(record["input"], faces)
    if "signer" in record["input"]:
        line["input"] = {name: value for name, value in record["input"].items() if name != "signer"}
    return encode(line) + b"\n"


def link_hash(previous: bytes, record: bytes, sealed: bytes) -> bytes:
    """The next hash of the chain."""
    digest = hashlib.sha256(previous)
    digest.update(len(record).to_bytes(8, "big"))
    digest.update(record)
    digest.update(sealed)
    return digest.digest()


def header_bytes(table: str, game: str, created: str, simulated: tuple[str, ...]) -> bytes:
    """The journal's header, whose SHA-256 begins the chain."""
    return encode(
        {
            "format": RECORD_FORMAT,
            "table": table,
            "game": game,
            "created": created,
            "simulated": list(simulated),
        }
    )


def closes_round(record: Plain) -> bool:
    """Whether the record closes a round, and so is anchored."""
    return any(effect["effect"] == "round-closed" for effect in record.get("effects", ()))
