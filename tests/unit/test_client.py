"""The client of the API: what cannot be asked for, and answers that are none of ours."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from daemon.cli import app
from daemon.client import ApiError, Client

NOT_UTF8 = "b'\\xff' is not UTF-8, and nothing was asked"


@contextmanager
def answering(folder: Path, status: str, body: bytes) -> Iterator[Path]:
    """A socket at which every question has this answer."""
    path = folder / "other.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        threading.Thread(target=_answer, args=(listener, status, body), daemon=True).start()
        yield path


def _answer(listener: socket.socket, status: str, body: bytes) -> None:
    with listener.accept()[0] as connection:
        connection.recv(65_536)
        connection.sendall(f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("", {}, "'' is no act: feltd acts tells those of this table"),
        ("..", {}, "'..' is no act: feltd acts tells those of this table"),
        ("\udcff", {}, NOT_UTF8),
        ("ante", {"by": "\udcff"}, NOT_UTF8),
        ("ante", {"\udcff": "1"}, NOT_UTF8),
    ],
)
def test_an_act_that_cannot_be_asked_for_is_refused_here(
    name: str, args: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with Client(tmp_path / "none.sock") as client, pytest.raises(ApiError) as caught:
        client.act(name, **args)
    assert str(caught.value).startswith(said)


def test_an_argument_that_is_no_utf_8_is_a_sentence() -> None:
    done = CliRunner().invoke(app, ["act", "ante", "by=\udcff", "--socket", "none.sock"])
    assert (done.exit_code, done.stderr.startswith(f"feltd: {NOT_UTF8}")) == (1, True)


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"[]", b"{}", json.dumps("detail").encode()])
def test_an_answer_that_is_none_of_ours_is_a_sentence(body: bytes, tmp_path: Path) -> None:
    said = "GET /status: status 404, and no answer of feltd: is it a table's daemon that listens"
    with (
        answering(tmp_path, "404 Not Found", body) as path,
        Client(path) as client,
        pytest.raises(ApiError, match=said),
    ):
        client.status()
