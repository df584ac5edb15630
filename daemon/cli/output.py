"""Standard output as the commands have it: one that takes nothing is a failure, told in one sentence."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from daemon.cli.answers import FAILED

_CLOSED: Final = "standard output is closed: what was to be told is lost; open it, or send it to /dev/null"


class OutputError(Exception):
    """Standard output takes nothing; the text says why. No OSError: a command would blame its own file."""


class _Output(io.FileIO):
    """The descriptor of standard output. A reader who has gone is a BrokenPipeError, as ever."""

    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(_why(error)) from None


def _why(error: OSError) -> str:
    if error.errno == errno.EBADF:
        return _CLOSED
    return f"standard output: {error.strerror}: what was printed is not whole; send it to somewhere else"


@contextmanager
def whole_output() -> Iterator[None]:
    """What is printed inside is printed when this ends; else exit code 1.

    A sentence on standard error says why, but not when a reader has seen enough: ``feltd rounds | head``.
    """
    sys.stdout = _opened()
    if sys.stderr is None:  # closed too: what is told there would go to standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (as long as the program)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OutputError as error:
        _discard()
        print(f"feltd: {error}", file=sys.stderr)
        raise SystemExit(FAILED) from None
    except BrokenPipeError:
        _discard()
        raise SystemExit(FAILED) from None


def _opened() -> io.TextIOWrapper:
    """Standard output anew, in the same form. Nothing that is no UTF-8, as a file's name, ends it."""
    given = sys.stdout
    if given is None:  # closed: its number would be given to the next file, and what is printed go there
        return _text(_Output(os.open(os.devnull, os.O_RDONLY), "w"), "utf-8", "backslashreplace")
    given.flush()
    raw = _Output(given.fileno(), "w", closefd=False)
    errors = "backslashreplace" if given.errors == "strict" else given.errors
    return _text(raw, given.encoding, errors, getattr(given, "write_through", False))


def _text(raw: _Output, encoding: str, errors: str | None, at_once: bool = False) -> io.TextIOWrapper:
    """``at_once``: a line is written when it is whole, as on a terminal."""
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=raw.isatty() or at_once)


def _discard() -> None:
    """What is still to be written is not: it would fail once more, when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
