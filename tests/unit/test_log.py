"""The log: JSON lines, repetitions counted, and nothing that is logged can raise."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from threading import Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_repetitions_are_counted_and_told_at_the_end() -> None:
    same = ("dropped", {"device": "shoe", "reason": "crc"})
    lines = logged(same, same, ("link", {"device": "shoe"}), same)
    assert [line["event"] for line in lines] == ["dropped", "link", "held-back"]
    assert lines[2]["lines"] == 2


def test_noise_with_ever_new_words_writes_ten_lines_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("daemon.log.time.monotonic", lambda: now[0])
    read, write = os.pipe()
    log = Log(write)
    for second in range(180):
        now[0] = 1000.0 + second
        for number in range(20):
            log("dropped", device="shoe", reason=f"{second} {number}")
        log("dropped", device="sign", reason="checksum")
    log.close()
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as text:
        lines = [json.loads(line) for line in text]
    written = [line for line in lines if line["event"] == "dropped"]
    held_back = [line for line in lines if line["event"] == "held-back"]
    assert [line["device"] for line in written].count("shoe") == 30
    assert [line["device"] for line in written].count("sign") == 3
    assert len(written) + sum(line["lines"] for line in held_back) == 180 * 21
    assert len(lines) < 40


class Nasty:
    def __repr__(self) -> str:
        raise RuntimeError("not printable")

    __eq__ = __repr__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


def test_e02_what_cannot_be_printed_is_kept_with_what_can() -> None:
    odd = {"nasty": Nasty(), "keys": {(1, 2): 3}, "huge": 10**5000, "deep": [[[[[[[1]]]]]]], "good": 1}
    (line,) = logged(("odd", odd))
    assert line["good"] == 1
    assert line["nasty"] == "<Nasty: RuntimeError when printed>"
    assert line["keys"] == {"(1, 2)": 3}
    assert line["huge"] == "<a number of 16610 bits>"
    assert line["deep"] == [[[[[["[1]"]]]]]]


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.builds(Nasty),
    lambda part: st.lists(part) | st.dictionaries(st.text() | st.tuples(st.integers()), part),
    max_leaves=12,
)


@given(facts=st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), JSON_LIKE, max_size=4))
@settings(max_examples=60, deadline=None)
def test_e02_no_value_is_too_odd(facts: dict[str, object]) -> None:
    log = Log(sink())
    log("odd", **{name: value for name, value in facts.items() if name != "event"})
    assert log.lost == 0
    log.close()


def sink() -> int:
    """A descriptor that takes everything; it is left to the process's end."""
    global _sink
    _sink = os.open(os.devnull, os.O_WRONLY) if _sink < 0 else _sink
    return _sink


_sink = -1


def test_e01_a_full_disk_loses_lines_and_counts_them() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    log = Log(full)
    for number in range(5):
        log(f"event-{number}")
    log.close()
    os.close(full)
    assert log.lost == 5


def test_e01_a_pipe_that_nobody_reads_holds_nobody_up_and_the_loss_is_told() -> None:
    read, write = os.pipe()
    log = Log(write)
    for number in range(4000):  # more than the pipe and the queue take
        log(f"event-{number}", text="x" * 100)
    lost = log.lost
    assert lost > 0
    with os.fdopen(read, encoding="utf-8") as text:
        reader = Thread(target=text.read)
        reader.start()
        log.close()
        os.close(write)
        reader.join()


def test_e01_a_closed_pipe_counts_and_never_raises() -> None:
    read, write = os.pipe()
    os.close(read)
    log = Log(write)
    log("event")
    log.close()
    os.close(write)
    assert log.lost == 1


def test_a_loss_is_told_once_lines_get_through(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("daemon.log.time.monotonic", lambda: now[0])
    read, write = os.pipe()
    log = Log(write)
    log._writer.lost = 3
    now[0] += 2
    log("event")
    log.close()
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as text:
        assert [json.loads(line)["event"] for line in text] == ["lines-lost", "event"]


def test_bytes_and_lone_surrogates_are_kept() -> None:
    lines = logged(("odd", {"data": b"\xff\x00"}), ("odd", {"text": "\ud800"}))
    assert lines[0]["data"] == "b'\\xff\\x00'"
    assert "text" in lines[1]
