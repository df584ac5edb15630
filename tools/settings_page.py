"""Write docs/settings.md from the settings' own types: ``python -m tools.settings_page``.

Key, type, range and default are those of ``daemon.config``; what a key means is in tools/settings.toml,
and a key without a meaning is an error, as is a meaning without a key.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Iterator
from datetime import date, time
from fractions import Fraction
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Final, Literal, Union, cast, get_args, get_origin

import annotated_types
from pydantic import BaseModel, PlainValidator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from daemon import config
from daemon.games.money import MAX_AMOUNT
from daemon.registry import known, protocol

FILE: Final = Path(__file__).parents[1] / "docs" / "settings.md"
TEXT: Final = tomllib.loads(Path(__file__).with_name("settings.toml").read_text())
GAMES: Final[dict[str, type[BaseModel]]] = {
    "Caribbean Stud": config._File,
    "Five-Card Stud": config._FiveCardFile,
}
_VALIDATED: Final[dict[Callable[..., object], tuple[str, str]]] = {
    config._rate: ('fraction in quotes, "71/100"', "more than 0, at most 1"),
    config._rate_or_none: ('fraction in quotes, "1/10"', "0 or more, less than 1"),
    config._local_time: ('local time in quotes, "06:00"', ""),
    config._time_zone: ("IANA time zone in quotes", ""),
}
_KINDS: Final[dict[object, str]] = {
    int: "whole number",
    str: "text",
    bool: "true or false",
    date: "date",
    time: "local time",
    Fraction: "fraction",
}
_PATTERNS: Final = {
    r"^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$": "1 to 32 letters, digits, - and _",
    r"^[ -~]{1,40}$": "1 to 40 characters of ASCII",
    r"^[ -~]{0,4}$": "up to 4 characters of ASCII",
    r"^[0-9a-f]{64}$": "64 hexadecimal digits, lower case",
    r"^([0-9a-fA-F]{2}){1,32}$": "2 to 64 hexadecimal digits",
}

Row = tuple[str, str, str, str, str]  # key, type, range, default, meaning


class Missing(Exception):
    """A key without a meaning, or a meaning without a key."""


# --- the tree of sections --------------------------------------------------------------------


def _sections(model: type[BaseModel], place: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """Dotted place and type of every section of a file. A named device stands for all of them."""
    if place:
        yield place, model
    for name, field in model.model_fields.items():
        below, many = _below(field.annotation)
        if below is not None:
            yield from _sections(below, ".".join(filter(None, (place, name, "ID" if many else ""))))


def _below(annotation: object) -> tuple[type[BaseModel] | None, bool]:
    """The section that a key holds, and whether it holds many of them by name."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    if get_origin(annotation) is dict:
        return _below(get_args(annotation)[1])[0], True
    for part in get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ():
        if part is not NoneType:
            return _below(part)
    return None, False


# --- one key ---------------------------------------------------------------------------------


def _row(section: str, key: str, field: FieldInfo) -> Row:
    kind, limits = _kind(field.annotation, field.metadata)
    meaning, unit = _meaning(section, key)
    return key, f"{kind}, {unit}" if unit else kind, limits, _default(field), meaning


def _meaning(section: str, key: str) -> tuple[str, str]:
    """What the key means, and its unit. A name with a star stands for several. Raises Missing."""
    for name in _names(section, key):
        if (told := TEXT["meanings"].get(name)) is not None:
            return (told, "") if isinstance(told, str) else (told[0], told[1])
    raise Missing(f"tools/settings.toml: {section}.{key} has no meaning")


def _names(section: str, key: str) -> tuple[str, str, str]:
    return f"{section}.{key}", f"{section.partition('.')[0]}.*.{key}", f"{section}.*"


def _kind(annotation: object, metadata: list[object]) -> tuple[str, str]:
    """Type and range of a value in words."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if annotation is NoneType:
        return "not at this game", ""
    if origin is Annotated:
        return _kind(parts[0], [*metadata, *parts[1:]])
    if origin in (Union, UnionType):
        kinds = list(dict.fromkeys(_kind(part, metadata) for part in parts if part is not NoneType))
        return " or ".join(kind for kind, _ in kinds), kinds[0][1] if kinds else ""
    if origin is Literal:
        return "one of", ", ".join(_shown(part) for part in parts)
    if origin is dict:
        return f"table: NAME = {_kind(parts[1], [])[0]}", _kind(parts[1], [])[1]
    if validated := next((each.func for each in metadata if isinstance(each, PlainValidator)), None):
        return _VALIDATED[cast(Callable[..., object], validated)]
    return _KINDS[annotation], _range(metadata)


def _range(metadata: list[object]) -> str:
    said, lowest, highest = [], None, None
    for each in _flat(metadata):
        if isinstance(each, annotated_types.Ge):
            lowest = each.ge
        elif isinstance(each, annotated_types.Le):
            highest = each.le
        elif isinstance(each, annotated_types.Gt):
            said.append(f"more than {each.gt}")
        elif isinstance(each, annotated_types.MinLen):
            said.append("not empty")
        elif pattern := getattr(each, "pattern", None):
            said.append(_PATTERNS[pattern])
    if highest is not None and highest != MAX_AMOUNT:  # that limit stands above the tables
        said.append(f"{lowest} to {highest}")
    return ", ".join(said)


def _flat(metadata: list[object]) -> Iterator[object]:
    """A ``Field`` within an ``Annotated`` holds its limits in a list of its own."""
    for each in metadata:
        if isinstance(each, FieldInfo):
            yield from _flat(each.metadata)
        else:
            yield each


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined:
        return "**required**"
    if value is None or value == {}:
        return "none"
    return _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, time):
        return f'`"{value:%H:%M}"`'
    return f"`{value}`" if isinstance(value, int) else f'`"{value}"`'


# --- all of them -----------------------------------------------------------------------------


def table() -> dict[tuple[str, str], list[Row]]:
    """Section and game ("" for both) to its keys. Raises Missing."""
    of_games = {
        game: {place: _rows(place, model) for place, model in _sections(file)} for game, file in GAMES.items()
    }
    found: dict[tuple[str, str], list[Row]] = {}
    for place in dict.fromkeys(place for sections in of_games.values() for place in sections):
        told = {game: sections[place] for game, sections in of_games.items() if place in sections}
        same = len(told) == len(of_games) and all(rows == next(iter(told.values())) for rows in told.values())
        found |= {(place, "" if same else game): rows for game, rows in told.items() if rows}
    _nothing_left_over(found)
    return found


def _rows(section: str, model: type[BaseModel]) -> list[Row]:
    fields = model.model_fields.items()
    return [_row(section, key, field) for key, field in fields if _below(field.annotation)[0] is None]


def _nothing_left_over(found: dict[tuple[str, str], list[Row]]) -> None:
    there = {name for (section, _), rows in found.items() for row in rows for name in _names(section, row[0])}
    if surplus := sorted(set(TEXT["meanings"]) - there):
        raise Missing(f"tools/settings.toml: there is no {', '.join(surplus)}")


def mark() -> str:
    """Eight digits that change with any key, type, range or default: docs/migrations.md names them."""
    keys = sorted(f"{section}.{row[:4]}" for (section, _), rows in table().items() for row in rows)
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()[:8]


def options() -> Iterator[tuple[str, str, str, str]]:
    """Role, protocol, serial line and options of every protocol of ours."""
    for role, name in known():
        speaks = protocol(role, name)
        if speaks.driver.__module__.startswith("drivers."):
            told = ", ".join(f"`{key} = {_toml(value)}`" for key, value in speaks.options.items())
            yield role, name, str(speaks.line), told


def _toml(value: object) -> str:
    return _shown(value).strip("`")


def page() -> str:
    """The whole page."""
    lines = [TEXT["introduction"]]
    for (section, game), rows in table().items():
        lines += [
            f"## `[{section}]`{f' at {game}' if game else ''}\n",
            f"{TEXT['sections'].get(section, '')}\n",
        ]
        lines += ["| key | type | range | default | meaning |", "|---|---|---|---|---|"]
        lines += [f"| `{row[0]}` | {' | '.join(row[1:])} |" for row in rows]
        lines.append("")
    lines += ["## Protocols and their options\n", f"{TEXT['sections']['options']}\n"]
    lines += ["| role | protocol | serial line | options, with their defaults |", "|---|---|---|---|"]
    lines += [
        f"| {role} | [`{name}`](protocols/{name}.md) | {line} | {told} |"
        for role, name, line, told in options()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(page())
