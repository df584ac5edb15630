"""The log: JSON lines, repetitions counted, and nothing that is logged can raise."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from daemon.log import Log


def logged(*calls: tuple[str, Mapping[str, object]]) -> list[dict[str, Any]]:
    read, write = os.pipe()
    log = Log(write)
    for event, facts in calls:
        log(event, **facts)
    log.close()
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_a_line_is_an_object_with_time_and_name() -> None:
    (line,) = logged(("link", {"device": "shoe", "state": "ready"}))
    assert list(line) == ["at", "event", "device", "state"]
    assert (line["event"], line["device"], line["state"]) == ("link", "shoe", "ready")


def test_repetitions_are_counted() -> None:
    same = ("dropped", {"device": "shoe", "reason": "crc"})
    lines = logged(same, same, same, ("link", {"device": "shoe"}))
    assert [line["event"] for line in lines] == ["dropped", "repeated", "link"]
    assert (lines[1]["of"], lines[1]["times"]) == ("dropped", 2)


class Nasty:
    def __repr__(self) -> str:
        raise RuntimeError("not printable")

    __eq__ = __repr__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


def test_what_cannot_be_printed_is_told_as_such() -> None:
    lines = logged(("odd", {"value": Nasty()}), ("odd", {"value": Nasty()}), ("odd", {"value": {(1, 2): 3}}))
    assert [(line["event"], line.get("of")) for line in lines] == [("unprintable", "odd")] * 3


def test_bytes_and_lone_surrogates_are_kept() -> None:
    lines = logged(("odd", {"data": b"\xff\x00"}), ("odd", {"text": "\ud800"}))
    assert lines[0]["data"] == "b'\\xff\\x00'"
    assert "text" in lines[1]
