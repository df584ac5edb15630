"""The forms of the answers, for the published schema. What the game adds to a view is not listed."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Answers = dict[int | str, dict[str, Any]]
Role = Literal["dealer", "supervisor", "technician", "auditor"]


def answers(model: type[BaseModel], *problems: int, status: int = 200) -> Answers:
    """What an operation answers: ``model``, and the problems that are its own."""
    return {status: {"model": model}, **{code: {"model": Problem} for code in problems}}


def stream() -> Answers:
    return {200: {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}}


def text() -> Answers:
    return {
        200: {"description": "Prometheus text", "content": {"text/plain": {"schema": {"type": "string"}}}}
    }


class Form(BaseModel):
    """An answer with more keys than are named here."""

    model_config = ConfigDict(extra="allow")


class Anything(Form):
    """A JSON object."""


class Problem(Form):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    clause: str = ""
    todo: str = ""


class Note(Form):
    clause: str
    detail: str


class Refusal(Form):
    reason: str
    clause: str
    todo: str


class ActAnswer(Form):
    accepted: bool
    seq: int
    act: str
    state: str
    message: str
    notes: list[Note]
    refusal: Refusal | None


class Fault(Form):
    code: str
    since: str
    text: str
    cleared_by: str


class Counters(Form):
    frames: int
    repeats: int
    gaps: int
    dropped: int


class Device(Form):
    role: str
    protocol: str
    link: str
    state: str
    cause: str | None
    detail: str
    todo: str
    age_ms: int | None
    serial: str
    firmware: str
    counters: Counters


class Devices(Form):
    devices: dict[str, Device]


class Shown(Form):
    meter: str
    announcement: str
    pages: list[str]


class Sign(Form):
    wanted: Shown
    proven: bool


class House(Form):
    time_zone: str
    gaming_day: str
    shifts: dict[str, str]


class Status(Form):
    table: str
    game: str
    rules: str
    mode: str
    state: str
    round: int | None
    simulated: bool
    not_ready: str
    seq: int
    faults: list[Fault]
    devices: dict[str, Device]
    sign: Sign
    house: House
    version: str


class Jackpot(Form):
    table: str
    sign: Sign


class Irregularity(Form):
    clause: str
    detail: str
    at: str


class Round(Form):
    id: int
    game: str
    rules: str
    mode: str
    opened_at: str
    closed_at: str | None
    outcome: str
    irregularities: list[Irregularity]
    inputs: list[int | None]


class Rounds(Form):
    rounds: list[Round]


class Incident(Irregularity):
    round: int


class Incidents(Form):
    irregularities: list[Incident]
    faults: list[Fault]


class Argument(Form):
    name: str
    type: str
    title: str
    required: bool
    choices: list[str]


class Now(Form):
    allowed: bool
    clause: str
    reason: str
    todo: str


class Offer(Form):
    name: str
    title: str
    arguments: list[Argument]
    roles: list[Role]
    needs_second: bool
    second_roles: list[Role]
    may: bool
    now: Now


class Acts(Form):
    game: str
    state: str
    seq: int
    acts: list[Offer]


class Record(Form):
    seq: int
    at: str
    phase: str
    input: Anything


class Records(Form):
    records: list[Record]
    next: int | None


class RoundCounts(Form):
    settled: int
    void: int
    open: int
    first: int | None
    last: int | None


class Difference(Form):
    where: str
    what: str
    told: int
    booked: int


class Report(Form):
    table: str
    game: str
    day: str
    shift: str | None
    house: House
    start: str
    to: str
    records: list[int] | None
    final: bool
    rounds: RoundCounts
    drop: dict[str, int]
    account: dict[str, int]
    pool: dict[str, int] | None
    awards: list[Anything]
    corrections: list[Anything]
    irregularities: dict[str, list[Incident]]
    remarks: list[Irregularity]
    faults: list[Anything]
    openings: list[Anything]
    reconciled: bool
    differences: list[Difference]
    verified: bool
    errors: list[str]


class Told(Form):
    seq: int
    at: str
    who: str
    what: str
    accepted: bool
    became: list[str]
    clauses: list[str]


class Story(Form):
    table: str
    game: str
    house: House
    round: int
    outcome: str
    records: list[int]
    told: list[Told]
    account: Anything | None
    verified: bool
    errors: list[str]


class Prize(Form):
    category: str
    amount: int


class Player(BaseModel):
    """All that players may see: no other key (CS-12)."""

    model_config = ConfigDict(extra="forbid")

    table: str
    game: str
    state: str
    seq: int
    pool: int | None
    pot: int | None
    prizes: list[Prize]
    announcement: str
    boxes: list[Anything]
    seats: list[Anything]
    dealer: Anything | None


class SessionView(Form):
    name: str
    role: Role
    expires: str
    idle_seconds: int
    locked: bool


class NewSession(SessionView):
    token: str


class Outgoing(Form):
    seq: int
    prior: int
    lines: list[tuple[int, str, int, int]]
    round: int | None
    reason: str


class Outbox(Form):
    table: str
    pool: str
    currency: str
    fingerprint: str
    records: list[Outgoing]
    undecided: list[Outgoing]
    pending: int
    later: int
    acked: int


class Taken(Form):
    seq: int
