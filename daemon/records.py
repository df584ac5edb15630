"""The journal's form of an input and of what became of it: plain values, faces apart.

A record says everything but the faces; those are one byte a card, in order, for the sealer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any, Final

import msgspec

from daemon.games.desk import Act, Effect, Note, Outcome, RoundClosed, TimeUp, ToDevice
from daemon.games.hands import Category
from daemon.games.jackpot import Award
from daemon.games.linked import AwardDecided, PoolLost, PoolSeen, Terms
from daemon.table import FromDevice, Input, LinkChanged, Noticed, Snapshot, Started
from drivers import base
from drivers.cards import DECK, FaceDownCard

Plain = dict[str, Any]
SEALED: Final = "sealed"
SHOWS_CARDS: Final = ("reveal", "card")  # the acts whose `cards` or `card` are faces
FACES_IN: Final = ("cards", "card")

_EVENTS: Final[Mapping[str, type]] = {
    "card-drawn": base.CardDrawn,
    "cut-card": base.CutCardDrawn,
    "cover": base.CoverMoved,
    "shuffle-started": base.ShuffleStarted,
    "shuffle-done": base.ShuffleDone,
    "packet-out": base.PacketOut,
    "packet-taken": base.PacketTaken,
    "cards-returned": base.CardsReturned,
    "fault-set": base.FaultSet,
    "fault-cleared": base.FaultCleared,
    "restarted": base.Restarted,
    "command-result": base.CommandResult,
    "sign-shows": base.SignShows,
    "sign-differs": base.SignDiffers,
}
_COMMANDS: Final[Mapping[str, type]] = {
    "lock": base.LockShoe,
    "unlock": base.UnlockShoe,
    "shuffle": base.Shuffle,
    "deal": base.Deal,
    "stop": base.StopDeal,
    "clear-fault": base.ClearDeviceFault,
    "display": base.Display,
}
_EVENT_NAME: Final = {kind: name for name, kind in _EVENTS.items()}
_COMMAND_NAME: Final = {kind: name for name, kind in _COMMANDS.items()}
_FIELDS: Final = {
    kind: tuple(field.name for field in fields(kind))
    for kind in (*_EVENTS.values(), *_COMMANDS.values(), LinkChanged, Noticed)
}

_CATEGORY: Final = {category.label: category for category in Category}

_encoder: Final = msgspec.json.Encoder(order="sorted")
_decoder: Final = msgspec.json.Decoder()


def encode(record: Plain) -> bytes:
    """Canonical JSON: sorted keys, no blanks, UTF-8. The same value has the same bytes."""
    return _encoder.encode(record)


def decode(data: bytes) -> Plain:
    value = _decoder.decode(data)
    if not isinstance(value, dict):
        raise ValueError("a record is a JSON object")
    return value


def _values(item: object) -> Plain:
    return {name: getattr(item, name) for name in _FIELDS[type(item)]}


# --- inputs ------------------------------------------------------------------------------


def input_record(item: Input) -> tuple[Plain, bytes]:
    """The plain form of an input, and what is sealed of it.

    Of a card that is one byte, ``Card.index``; of an act that shows cards their text.
    """
    if isinstance(item, FromDevice):
        return _device_record(item)
    if isinstance(item, Act):
        return _act_record(item)
    if isinstance(item, LinkChanged):
        return {"kind": "link", **_values(item)}, b""
    if isinstance(item, Noticed):
        return {"kind": "noticed", **_values(item)}, b""
    if isinstance(item, Snapshot):
        return {"kind": "snapshot", "state": item.state}, b""
    if isinstance(item, TimeUp):
        return {"kind": "time-up", "id": item.id}, b""
    if isinstance(item, PoolSeen):
        return {"kind": "pool-seen", **asdict(item)}, b""
    if isinstance(item, PoolLost):
        return {"kind": "pool-lost", "text": item.reason}, b""
    if isinstance(item, AwardDecided):
        return _decided_record(item), b""
    return _started_record(item), b""


def _device_record(item: FromDevice) -> tuple[Plain, bytes]:
    event = item.event
    plain: Plain = {"kind": "device", "device": item.device, "event": _EVENT_NAME[type(event)]}
    if item.ordinal or item.boot >= 0:
        plain["boot"], plain["ordinal"] = item.boot, item.ordinal
    if not isinstance(event, base.CardDrawn):
        return plain | _values(event), b""
    plain["face_up"], plain["sure"], plain["foreign"] = event.face_up, event.sure, event.foreign
    plain["face"] = SEALED if event.face else None
    return plain, bytes([event.face.turn().index]) if event.face else b""


def _act_record(act: Act) -> tuple[Plain, bytes]:
    args, faces = dict(act.args), b""
    if act.name in SHOWS_CARDS:
        shown = next((name for name in FACES_IN if isinstance(args.get(name), str) and args[name]), None)
        if shown is not None:
            # Cards keyed for a hand that is not to be shown are refused, and stay secret.
            faces = str(args[shown]).encode()
            args[shown] = SEALED
    plain: Plain = {"kind": "act", "name": act.name, "args": args}
    if act.by:
        plain["by"] = act.by
    if act.role:
        plain["role"] = act.role
    if act.second:
        plain["second"] = act.second
    if act.key:
        plain["key"] = act.key
    if act.replaces:
        plain["replaces"] = act.replaces
    return plain, faces


def _started_record(item: Started) -> Plain:
    plain: Plain = {
        "kind": "started",
        "version": item.version,
        "simulated": list(item.simulated),
        "mode": item.mode,
        "shuffler": item.shuffler,
        "devices": dict(item.devices),
        "rules": item.rules,
        "lossy": list(item.lossy),
        "pinned": {name: list(program) for name, program in item.pinned.items()},
    }
    plain |= {"signer": item.signer} if item.signer else {}
    return plain | ({"linked": asdict(item.linked)} if item.linked is not None else {})


def _decided_record(item: AwardDecided) -> Plain:
    awards = [[a.box, a.category.label, a.amount, a.from_pool, a.from_house] for a in item.awards]
    told = {"seq": item.seq, "awards": awards, "pool": item.pool, "version": item.version}
    return {"kind": "award-decided", **told}


def input_from(plain: Plain, faces: bytes) -> Input:
    """The input of a record. Raises KeyError, ValueError or TypeError for one we never wrote."""
    return _READERS[plain["kind"]](dict(plain), faces)


def _read_device(plain: Plain, faces: bytes) -> FromDevice:
    kind = _EVENTS[plain["event"]]
    values = {name: plain[name] for name in _FIELDS[kind]}
    if kind is base.SignShows:
        values["pages"] = tuple(values["pages"])
    if kind is base.CardDrawn and plain["face"] is not None:
        values["face"] = FaceDownCard(DECK[faces[0]])
    return FromDevice(plain["device"], kind(**values), plain.get("boot", -1), plain.get("ordinal", 0))


def _read_act(plain: Plain, faces: bytes) -> Act:
    del plain["kind"]
    if faces:
        plain["args"] = _with_faces(plain["args"], faces)
    return Act(**plain)


def _with_faces(args: Plain, faces: bytes) -> Plain:
    sealed = next(name for name in FACES_IN if args.get(name) == SEALED)
    return args | {sealed: faces.decode()}


def _read_link(plain: Plain, faces: bytes) -> LinkChanged:
    del plain["kind"]
    return LinkChanged(**plain)


def _read_started(plain: Plain, faces: bytes) -> Started:
    del plain["kind"]
    lists = {"simulated": tuple(plain["simulated"]), "lossy": tuple(plain.get("lossy", ()))}
    linked = {"linked": Terms(**plain["linked"])} if "linked" in plain else {}
    return Started(**plain | lists | linked)


def _read_noticed(plain: Plain, faces: bytes) -> Noticed:
    return Noticed(plain["code"], plain["text"], plain["holds"])


def _read_time_up(plain: Plain, faces: bytes) -> TimeUp:
    return TimeUp(plain["id"])


def _read_seen(plain: Plain, faces: bytes) -> PoolSeen:
    del plain["kind"]
    return PoolSeen(**plain)


def _read_lost(plain: Plain, faces: bytes) -> PoolLost:
    return PoolLost(plain["text"])


def _read_decided(plain: Plain, faces: bytes) -> AwardDecided:
    awards = tuple(Award(box, _CATEGORY[label], *amounts) for box, label, *amounts in plain["awards"])
    return AwardDecided(plain["seq"], awards, plain["pool"], plain["version"])


def _read_snapshot(plain: Plain, faces: bytes) -> Snapshot:
    return Snapshot(plain["state"])


_READERS: Final[Mapping[str, Callable[[Plain, bytes], Input]]] = {
    "device": _read_device,
    "act": _read_act,
    "link": _read_link,
    "started": _read_started,
    "noticed": _read_noticed,
    "time-up": _read_time_up,
    "pool-seen": _read_seen,
    "pool-lost": _read_lost,
    "award-decided": _read_decided,
    "snapshot": _read_snapshot,
}


def in_clear(said: Plain, faces: bytes) -> Plain:
    """The input of a record with its faces put back where ``sealed`` stands (canonical export)."""
    if said["kind"] == "act":
        return said | {"args": _with_faces(said["args"], faces)}
    return said | {"face": DECK[faces[0]].text}


_WORDING: Final = frozenset({"detail", "reason", "todo", "message", "text", "announcement", "pages"})


def essence(value: Any) -> Any:
    """A record without its wording: a later version may say the same in other words."""
    if isinstance(value, dict):
        return {key: essence(part) for key, part in value.items() if key not in _WORDING}
    if isinstance(value, list | tuple):
        return [essence(part) for part in value]
    return value


# --- outcomes ----------------------------------------------------------------------------


def effect_record(effect: Effect) -> Plain:
    if isinstance(effect, ToDevice):
        plain = {"effect": "tell", "device": effect.device, "command": _COMMAND_NAME[type(effect.command)]}
        return plain | _values(effect.command) | ({"resume": True} if effect.resume else {})
    if isinstance(effect, Note):
        return {"effect": "note", "clause": effect.clause, "detail": effect.detail}
    assert isinstance(effect, RoundClosed)
    return {
        "effect": "round-closed",
        "id": effect.round_id,
        "outcome": effect.outcome,
        "summary": dict(effect.summary),
    }


def outcome_record(at: str, input_plain: Plain, outcome: Outcome, phase: str) -> Plain:
    """Everything that one input did, as it is journalled."""
    record: Plain = {"at": at, "input": input_plain, "phase": phase}
    if outcome.effects:
        record["effects"] = [effect_record(effect) for effect in outcome.effects]
    if outcome.moves:
        record["money"] = [[m.source, m.target, m.amount, m.reason] for m in outcome.moves]
    if outcome.outbox:
        record["outbox"] = [[o.kind, o.box, o.amount] for o in outcome.outbox]
    if outcome.message:
        record["message"] = outcome.message
    if outcome.refusal is not None:
        refusal = outcome.refusal
        record["refusal"] = {"reason": refusal.reason, "clause": refusal.clause, "todo": refusal.todo}
    return record
