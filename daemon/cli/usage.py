"""Wrong usage, told as every failure is: with ``--json`` as a JSON object on standard output, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import typer
from typer.core import TyperGroup

_ASKED: Final = "feltd.json"
# Its own name is no part of Typer, which had it from click and later had a click of its own.
_UsageError: Final[Any] = typer.BadParameter.__mro__[1]


class Root(TyperGroup):
    """``feltd`` itself: whatever is wrong with the words of a command passes through here."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_ASKED] = "--json" in args[: args.index("--")] if "--" in args else "--json" in args
        with _told(ctx):
            rest: list[str] = super().parse_args(ctx, args)
            return rest

    def invoke(self, ctx: Any) -> Any:
        with _told(ctx):
            return super().invoke(ctx)


@contextmanager
def _told(ctx: Any) -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        if ctx.meta[_ASKED]:
            print(json.dumps({"error": error.format_message()}, ensure_ascii=False))
        raise
