"""``feltd replay --round``: a round told again from its records, for a patron's dispute.

The records have no face: what was sealed stays sealed, and nobody needs the key. Cards are told as the
round's account tells them, which names those that the regulation turned and no others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypedDict

from daemon.games.money import money
from daemon.house import House, HousePlain
from daemon.records import FACES_IN, Plain
from daemon.report.books import Books, Entry, NoSuchRound, no_rest
from daemon.roles import FORMS, IDLE, ActForm

HIDDEN: Final = "(not told)"
_AMOUNT: Final = re.compile(r"-?[0-9]{1,17}")  # what an act may say; others were refused
# A device event in words; a field that is not there is not told.
_EVENTS: Final[Mapping[str, str]] = {
    "cut-card": "the cut card came out",
    "shuffle-started": "a shuffle began",
    "shuffle-done": "a shuffle is done, {counted} cards counted",
    "packet-out": "packet {index} came out with {count} cards",
    "packet-taken": "packet {index} was taken",
    "cards-returned": "{counted} cards were returned",
    "fault-set": "fault {code}: {text}",
    "fault-cleared": "fault {code} is over",
    "restarted": "restarted",
    "command-result": "command {command_id}: {outcome}",
    "sign-shows": "shows {meter} {announcement}",
    "sign-differs": "does not show what it was told: {reason}",
}
_OTHERS: Final[Mapping[str, str]] = {
    "started": "the program started",
    "time-up": "the time to decide is over",
    "pool-lost": "the linked pool is not heard of: {text}",
    "award-decided": "the authority of the linked pool decided",
}


class Told(TypedDict):
    """One input: who, what, and what became of it, each a sentence; ``at`` is UTC."""

    seq: int
    at: str
    who: str
    what: str
    accepted: bool
    became: list[str]
    clauses: list[str]


class Story(TypedDict):
    """The answer of ``feltd replay --round --json``. ``account`` is that of ``feltd round``, null while
    the round is open. ``errors`` are sentences about a journal that does not hold."""

    table: str
    game: str
    simulated: bool
    house: HousePlain
    round: int
    outcome: str
    records: list[int]
    told: list[Told]
    account: Plain | None
    verified: bool
    errors: list[str]


def story(
    journal: Path,
    house: House,
    number: int | None = None,
    rest: Callable[[], None] = no_rest,
    errors: Sequence[str] = (),
) -> Story:
    """A round told again, None: the newest one, also when it is not over.

    The chain of the files that have it is checked first; ``errors`` are what was found before. Raises
    NoSuchRound, and JournalError when the journal cannot be read.
    """
    books = Books(journal, rest)
    summary = books.closed_round(number)
    if number is None or summary is None:
        running = _running(books, number, summary)
        summary = None if running is not None else summary
    if summary is not None:
        number, (first, last) = summary["id"], summary["inputs"]
    else:
        assert running is not None
        number, first, last = running
    found = [*errors, *books.broken(first, last)]
    voice = _Voice(books.header["game"])
    told = [voice.tell(entry) for entry in books.entries(first, last)]
    told += [voice.tell(entry) for entry in _awards_later(books, summary)] if summary else []
    return {
        "table": books.header["table"],
        "game": books.header["game"],
        "simulated": bool(books.header["simulated"]),
        "house": house.plain(),
        "round": number,
        "outcome": summary["outcome"] if summary is not None else "open",
        "records": [first, told[-1]["seq"]],
        "told": told,
        "account": summary,
        "verified": not found,
        "errors": found,
    }


def _running(books: Books, number: int | None, newest: Plain | None) -> tuple[int, int, int] | None:
    """Number, first and last record of the round that is not over. Raises NoSuchRound when the one
    that is asked for is neither open nor closed."""
    newest = newest or books.closed_round(None)
    last_id, after = (newest["id"], newest["inputs"][1]) if newest is not None else (0, 0)
    first, last = None, 0
    if number in (None, last_id + 1):
        for seq, record, _ in books.entries(after + 1):
            last = seq
            first = None if record["phase"] in IDLE else first or seq
    if first is not None:
        return last_id + 1, first, last
    if number is not None or newest is None:
        wanted = f"round {number}" if number is not None else "round yet"
        raise NoSuchRound(f"there is no {wanted}" + (f": the newest is {last_id}" if last_id else ""))
    return None


def _awards_later(books: Books, summary: Plain) -> Iterator[Entry]:
    """The records after a round's end that decided its awards, at a linked pool, or paid them."""
    account, (first, last) = f"award.{summary['id']}.", summary["inputs"]
    owed = sum(_moved(entry, account) for entry in books.entries(first, last))
    undecided = any(box["award"] is None for box in summary.get("boxes", ()))
    for entry in books.entries(last + 1) if owed or undecided else ():
        if any(name.startswith(account) for _, name, _, _ in entry.money):
            yield entry
            owed += _moved(entry, account)
            if not owed:
                return


def _moved(entry: Entry, account: str) -> int:
    return sum(amount for _, name, amount, _ in entry.money if name.startswith(account))


# --- in words --------------------------------------------------------------------------------------


class _Voice:
    """Tells records; cards that come out are counted."""

    def __init__(self, game: str) -> None:
        self._forms: Mapping[str, ActForm] = {form.name: form for form in FORMS[game]}
        self._cards = 0

    def tell(self, entry: Entry) -> Told:
        record = entry.record
        refusal = record.get("refusal")
        return {
            "seq": entry.seq,
            "at": record["at"],
            "who": _who(record["input"]),
            "what": self._what(record["input"]),
            "accepted": refusal is None,
            "became": list(_became(record)),
            "clauses": _clauses(record),
        }

    def _what(self, said: Plain) -> str:
        kind = said["kind"]
        if kind == "act":
            return self._act(said)
        if kind == "device":
            return self._event(said)
        if kind == "link":
            why = ": ".join(part for part in (said["cause"], said["detail"]) if part)
            return "is ready" if said["ready"] else f"is lost: {why}"
        if kind == "noticed":
            return f"{said['code']}: {said['text'] or 'over'}"
        if kind == "pool-seen":
            return f"the linked pool is {money(said['pool'], '')}"
        return _OTHERS.get(kind, kind).format_map(said)

    def _act(self, said: Plain) -> str:
        form = self._forms.get(said["name"], ActForm(said["name"], said["name"]))
        types = {argument.name: argument.type for argument in form.arguments}
        given = {name: said["args"][name] for name in types if name in said["args"]} | said["args"]
        args = [f"{name} {_argument(name, types.get(name, ''), value)}" for name, value in given.items()]
        replaced = [f"in the place of record {said['replaces']}"] if said.get("replaces") else []
        return ": ".join(part for part in (form.title, ", ".join([*args, *replaced])) if part)

    def _event(self, said: Plain) -> str:
        if said["event"] == "card-drawn":
            self._cards += 1
            seen = {
                "face up": said["face_up"],
                "of another deck": said["foreign"],
                "not read": not said["face"] and not said["foreign"],
            }
            return ", ".join([f"card {self._cards} came out", *(word for word, so in seen.items() if so)])
        if said["event"] == "cover":
            return f"the cover was {'opened' if said['open'] else 'closed'}"
        counted = {"index": said["index"] + 1} if "index" in said else {}  # people count packets from 1
        return _EVENTS.get(said["event"], said["event"]).format_map(said | counted).strip()


def _who(said: Plain) -> str:
    if said["kind"] in ("device", "link"):
        return str(said["device"])
    if said["kind"] != "act":
        return "the table"
    name = " ".join(
        part for part in (said.get("by", ""), f"({said['role']})" if said.get("role") else "") if part
    )
    return ", with ".join(part for part in (name, said.get("second", "")) if part) or "not told"


def _argument(name: str, kind: str, value: Any) -> str:
    """Cards keyed under whatever act's name, a mistyped one too, are not told. A number of cards is none."""
    if name in FACES_IN and not str(value).isdecimal():
        return HIDDEN
    amount = kind == "amount" and _AMOUNT.fullmatch(str(value))
    return money(int(value), "") if amount else str(value)


def _became(record: Plain) -> Iterator[str]:
    refusal = record.get("refusal")
    if refusal is not None:
        todo = f"; to do: {refusal['todo']}" if refusal["todo"] else ""
        yield f"refused: {refusal['reason']}{todo}"
    if record.get("message"):
        yield record["message"]
    for effect in record.get("effects", ()):
        if effect["effect"] == "note":
            yield effect["detail"]
        elif effect["effect"] == "round-closed":
            yield f"round {effect['id']} is {effect['outcome']}"
        elif effect["command"] == "display":
            yield f"{effect['device']} is told to show {effect['meter']} {effect['announcement']}".rstrip()
        else:
            yield f"{effect['device']} is told to {effect['command']}"
    for source, target, amount, reason in record.get("money", ()):
        yield f"{money(amount, '')} from {_account(source)} to {_account(target)}: {reason}"


def _account(name: str) -> str:
    """``award.3.1`` is the award of round 3, box 1."""
    return name.replace(".", " ")


def _clauses(record: Plain) -> list[str]:
    """Every clause under which something was told, once each."""
    told = [effect["clause"] for effect in record.get("effects", ()) if effect["effect"] == "note"]
    refusal = record.get("refusal")
    return list(dict.fromkeys(clause for clause in (refusal and refusal["clause"], *told) if clause))
