"""A round's account against the money that its records moved, to the unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypedDict

from daemon.records import Plain
from daemon.report.money import RAKE, Flow

_CARRY: Final = ("taken back", "exposed")  # an ante that goes back before the round is played


class Difference(TypedDict):
    """Two things that must be one amount, and are not (minor units)."""

    where: str
    what: str
    told: int
    booked: int


def differences(where: str, told: Mapping[str, int], booked: Mapping[str, int]) -> Iterator[Difference]:
    """Every amount that is told otherwise than it is booked."""
    for what, amount in told.items():
        if amount != booked[what]:
            yield {"where": where, "what": what, "told": amount, "booked": booked[what]}


def of_round(summary: Plain, booked: Flow, pool: int) -> Iterator[Difference]:
    """What a closed round tells otherwise than its records booked it. ``pool`` is the pool's account."""
    where = f"round {summary['id']}"
    if "seats" in summary:
        for seat in summary["seats"]:
            yield from _seat(f"{where}, seat {seat['seat']}", seat, booked)
        yield from differences(f"{where}, rake", summary["rake"], _rake(booked))
        return
    boxes = [*summary["boxes"], *_silent(summary, booked)]
    for box in boxes:
        yield from _box(f"{where}, box {box['box']}", summary["id"], box, booked)
    told_pool = _linked if "linked" in summary["pool"] else _pool
    yield from told_pool(f"{where}, pool", summary["pool"], booked, pool)


# --- Caribbean Stud ------------------------------------------------------------------------------------


def _box(where: str, round_id: int, box: Mapping[str, Any], booked: Flow) -> Iterator[Difference]:
    number = box["box"]
    player, award = f"player.{number}", f"award.{round_id}.{number}"
    told = {key: box[key] for key in ("ante", "raise", "progressive", "ante_paid", "raise_paid", "award")}
    if box["carried"]:
        told["progressive"] = 0  # it was booked in the round before
    spots = {spot: booked.taken(player, f"{spot}.{number}") for spot in ("ante", "raise", "progressive")}
    won = {
        "ante_paid": booked.moved("house", player, "ante won"),
        "raise_paid": booked.moved("house", player, "raise won"),
        "award": booked.moved("pool", award, "award") + booked.moved("house", award, "award"),
    }
    if box["award"] is None:
        del told["award"]  # the authority of a linked pool has not decided it yet
    yield from differences(where, told, spots | won)


def _silent(summary: Plain, booked: Flow) -> list[dict[str, Any]]:
    """Boxes that the account does not name, though their players moved money: they have bet nothing."""
    named = {f"player.{box['box']}" for box in summary["boxes"]}
    others = {name for move in booked.reasons() for name in move[:2] if name.startswith("player.")} - named
    nothing = dict.fromkeys(("ante", "raise", "progressive", "ante_paid", "raise_paid", "award"), 0)
    return [nothing | {"box": name.partition(".")[2], "carried": False} for name in sorted(others)]


def _pool(where: str, told: Mapping[str, int], booked: Flow, pool: int) -> Iterator[Difference]:
    """Opened + contributed + minimum + overflow + corrected - awarded = closed (CS-10)."""
    contributed = awarded = net = 0
    for source, target, reason in booked.reasons():
        amount = booked.moved(source, target, reason)
        if target == "pool":
            net += amount
            contributed += amount if reason == "contribution" else 0
        elif source == "pool":
            net -= amount
            awarded += amount if reason == "award" else 0
    now = {"opened": pool - net, "contributed": contributed, "awarded": awarded, "closed": pool}
    yield from differences(where, {key: told[key] for key in now}, now)


def _linked(where: str, told: Mapping[str, int], booked: Flow, pool: int) -> Iterator[Difference]:
    """Of a linked pool a round's account tells what this table brought; awards come later."""
    brought = sum(booked.moved(*move) for move in booked.reasons() if move[1:] == ("linked", "contribution"))
    yield from differences(
        where, {key: told[key] for key in ("contributed", "awarded")}, {"contributed": brought, "awarded": 0}
    )


# --- five-card stud ------------------------------------------------------------------------------------


def _seat(where: str, seat: Mapping[str, Any], booked: Flow) -> Iterator[Difference]:
    stack = f"stack.{seat['seat']}"
    back = booked.moved("pot", stack, *_CARRY) + booked.moved("house", stack, "exposed")
    now = {
        "ante": booked.moved(stack, "pot", "ante") - back,
        "staked": booked.moved(stack, "pot", "bet", "call", "raise"),
        "returned": booked.moved("pot", stack, "not followed"),
        "won": booked.moved("pot", stack, "won"),
    }
    yield from differences(where, {key: seat[key] for key in now}, now)


def _rake(booked: Flow) -> dict[str, int]:
    back = booked.moved(RAKE, "pot", "void") + booked.moved(RAKE, "house", "void")
    first = booked.moved("pot", RAKE, "first rake") - back
    return {"first": first, "pots": booked.moved("pot", RAKE, "rake")}
