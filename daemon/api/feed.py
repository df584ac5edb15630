"""The journal's records as staff may see them, and as events of a stream.

What the API tells of a record never depends on a face that lies down: faces are sealed in a record,
and the chain's hashes, which cover the sealed bytes, are left out.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final

from daemon.api.service import Service
from daemon.records import FACES_IN, SEALED, Plain, encode

BATCH: Final = 32  # records of one look: a stream from far back must not keep the loop from a card
KEPT: Final = 256  # events that wait, ready to be sent, for streams that are up to date
# What is chosen, not written: free text is for those who read the journal.
ARGS_TOLD: Final = ("box", "seat", "amount", "bet", "card", "cards", "result", "first", "round", "id", "code")

Event = tuple[int, bytes]


def redacted(seq: int, record: Plain) -> Plain:
    """A record without what is not for reading: cards that were keyed, and what a snapshot remembers."""
    said = dict(record["input"])
    said.pop("state", None)
    if said["kind"] == "act":
        said["args"] = {name: _open(name, value) for name, value in said["args"].items()}
    return {"seq": seq, **record, "input": said}


def _open(name: str, value: object) -> object:
    """Cards keyed under whatever act's name, a mistyped one too, stay secret. A number of cards is none."""
    return value if name not in FACES_IN or str(value).isdecimal() else SEALED


def _told(args: Plain) -> Plain:
    return {name: _open(name, args[name]) for name in ARGS_TOLD if name in args}


def summary(record: Plain) -> Plain:
    """What a record is about, with the same keys for every kind."""
    said = record["input"]
    act = said["kind"] == "act"
    return {
        "name": said["name"] if act else "",
        "args": _told(said["args"]) if act else {},
        "by": said.get("by", ""),
        "role": said.get("role", ""),
        "second": said.get("second", ""),
        "device": said.get("device", ""),
        "event": said.get("event", "") or _standing(said),
        "text": said.get("text") or said.get("detail") or "",
        "accepted": "refusal" not in record,
        "refusal": record.get("refusal"),
        "notes": [
            {"clause": effect["clause"], "detail": effect["detail"]}
            for effect in record.get("effects", ())
            if effect["effect"] == "note"
        ],
        "message": record.get("message", ""),
    }


def _standing(said: Plain) -> str:
    """What became of a link, or what was noticed."""
    if said["kind"] == "link":
        return "ready" if said["ready"] else said["cause"]
    return str(said.get("code", ""))


def event(seq: int, record: Plain, round_id: int | None) -> Plain:
    """The data of one event."""
    return {
        "seq": seq,
        "at": record["at"],
        "kind": record["input"]["kind"],
        "state": record["phase"],
        "round": round_id,
        "summary": summary(record),
    }


def sent(told: Plain) -> bytes:
    """An event as the stream has it: one line of data, for JSON has no line feed."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (told["seq"], told["kind"].encode(), encode(told))


class Feed:
    """Events in the order of the journal. The newest are made once for all streams."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._newest: deque[Event] = deque(maxlen=KEPT)

    def after(self, seq: int) -> list[Event]:
        """The next events later than record ``seq``, BATCH at most; empty when there is none."""
        if seq >= self._service.engine.committed:
            return []
        newest = self._newest
        if not newest or seq == newest[-1][0]:
            newest.extend(self._read(seq))
        begun = newest[0][0] - 1 if newest else seq
        if begun <= seq <= newest[-1][0]:
            return list(islice(newest, seq - begun, seq - begun + BATCH))
        return self._read(seq)

    def _read(self, after: int) -> list[Event]:
        records = self._service.journal.records(after, BATCH)
        rounds = self._rounds(records[0][0], records[-1][0]) if records else []
        told = []
        for seq, record in records:
            round_id = next((number for number, first, last in rounds if first <= seq <= last), None)
            told.append((seq, sent(event(seq, record, round_id))))
        return told

    def _rounds(self, first: int, last: int) -> list[tuple[int, int, int]]:
        running = self._service.engine.table.game.round_view()
        found = self._service.journal.rounds_over(first, last)
        if running is not None:
            number, inputs = running["id"], running["inputs"]
            assert isinstance(number, int)
            assert isinstance(inputs, list)
            found.append((number, inputs[0], last))
        return found
