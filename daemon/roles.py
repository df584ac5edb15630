"""Who may do what at a table: the acts of both games with their arguments, and the roles that do them.

Data, and nothing else. A game keeps its own checks (a supervisor's acts under CS-10, CS-11, CS-13);
this table is what people who are known by a session or a login are held to before an act reaches it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

DEALER, SUPERVISOR, TECHNICIAN, AUDITOR = "dealer", "supervisor", "technician", "auditor"
ROLES: Final = (DEALER, SUPERVISOR, TECHNICIAN, AUDITOR)
CONSOLE: Final = "console"  # no person: a web server, whose people bring a session's token
LINK: Final = "link"  # no person: the link process of a linked pool, and nothing else is for it
AUDITS: Final = (AUDITOR, SUPERVISOR)  # who reads the journal's records

CARIBBEAN, FIVE_CARD = "caribbean", "five-card"
IDLE: Final = ("out-of-service", "between-rounds", "void")


class Argument(NamedTuple):
    """One argument of an act. ``type``: box, seat, place, number, amount (minor units), card, cards,
    text, device, file or word; ``choices`` are a word's values."""

    name: str
    type: str
    title: str
    required: bool = True
    choices: tuple[str, ...] = ()


class ActForm(NamedTuple):
    """One act as people are shown it."""

    name: str
    title: str
    arguments: tuple[Argument, ...] = ()


_BOX: Final = Argument("box", "box", "Box")
_SEAT: Final = Argument("seat", "seat", "Seat")
_PLACE: Final = Argument("box", "place", "Box, or dealer")
_TEXT: Final = Argument("text", "text", "What happened")
_TEXT_OR_NONE: Final = _TEXT._replace(required=False)
_AMOUNT: Final = Argument("amount", "amount", "Amount")
_FIXED: Final = Argument("amount", "amount", "Amount, if it is said", required=False)
_PLAYER: Final = Argument("player", "text", "Player", required=False)
_CARD_OR_NONE: Final = Argument("card", "card", "Card", required=False)
_FILE: Final = Argument("file", "file", "Configuration with the new rules")

TABLE_FORMS: Final = (
    ActForm("use-shuffler", "Deal from a shuffler", (Argument("id", "device", "Shuffler"),)),
    ActForm("use-shoe", "Deal from the shoe"),
    ActForm("use-hand", "Deal by hand"),
    ActForm(
        "clear-fault",
        "Clear a fault",
        (Argument("code", "text", "Fault"), Argument("text", "text", "What was done about it")),
    ),
    ActForm("accept-device", "Accept a device", (Argument("id", "device", "Device"),)),
)

CARIBBEAN_FORMS: Final = (
    ActForm("open-table", "Open the table"),
    ActForm("close-table", "Close the table"),
    ActForm("shuffle", "Shuffle"),
    ActForm("cut", "Cut"),
    ActForm("open-betting", "Open betting"),
    ActForm("ante", "Ante", (_BOX, _AMOUNT, _PLAYER)),
    ActForm("progressive", "Progressive bet", (_BOX, _FIXED)),
    ActForm(
        "take-back",
        "Take a bet back",
        (_BOX, Argument("bet", "word", "Which bet", False, ("ante", "progressive"))),
    ),
    ActForm("close-betting", "Close betting"),
    ActForm("card", "Enter a card by hand", (_CARD_OR_NONE,)),
    ActForm("raise", "Raise", (_BOX, _FIXED)),
    ActForm("fold", "Fold", (_BOX,)),
    ActForm("expose", "A card was exposed", (_PLACE, Argument("card", "number", "Which card, 1 to 5"))),
    ActForm(
        "empty-box",
        "A box without a bet was dealt to",
        (_BOX, Argument("first", "number", "First card or packet that went there")),
    ),
    ActForm("misdeal", "Declare a misdeal", (_TEXT_OR_NONE,)),
    ActForm("shuffler-failed", "The shuffler failed", (_TEXT_OR_NONE,)),
    ActForm("reveal", "Show cards", (_PLACE, Argument("cards", "cards", "Cards as they lie"))),
    ActForm(
        "declare",
        "Declare a result",
        (_BOX, Argument("result", "word", "Result", choices=("win", "lose", "not-qualified"))),
    ),
    ActForm("settle", "Settle the round"),
    ActForm("confirm-award", "Confirm a jackpot award", (_BOX,)),
    ActForm("count", "Count the cards", (Argument("cards", "number", "Cards counted"),)),
    ActForm("refund-carried", "Refund a carried bet", (_BOX,)),
    ActForm("correct-pool", "Correct the pool", (_AMOUNT, _TEXT)),
    ActForm("change-rules", "Change the rules", (_FILE,)),
    ActForm("dispute", "Open a dispute", (Argument("round", "number", "Round"), _TEXT)),
    ActForm("breach", "Record a breach", (_TEXT,)),
    ActForm("withdraw", "Withdraw an act (replaces)"),
)

FIVE_CARD_FORMS: Final = (
    ActForm("open-table", "Open the table"),
    ActForm("close-table", "Close the table"),
    ActForm("change-rules", "Change the rules", (_FILE,)),
    ActForm("buy-in", "Buy in", (_SEAT, _AMOUNT, _PLAYER)),
    ActForm("top-up", "Add chips", (_SEAT, _AMOUNT)),
    ActForm("leave", "Leave the table", (_SEAT,)),
    ActForm("new-deck", "New deck"),
    ActForm("shuffle", "Shuffle"),
    ActForm("cut", "Cut", (_SEAT, Argument("cards", "number", "Cards lifted"))),
    ActForm("ante", "Ante", (_SEAT, _FIXED)),
    ActForm("take-back", "Take an ante back", (_SEAT,)),
    ActForm("burn", "Burn the first card"),
    ActForm("card", "Enter a card by hand", (_SEAT, _CARD_OR_NONE)),
    ActForm("hand-entry", "Go on by hand entry"),
    ActForm("expose-hole", "A hole card was exposed", (_SEAT,)),
    ActForm("correct-deal", "Correct the deal", (_TEXT,)),
    ActForm("wrong-deck", "The deck is wrong", (_TEXT,)),
    ActForm("bet", "Bet", (_SEAT, _AMOUNT)),
    ActForm("call", "Call", (_SEAT, _FIXED)),
    ActForm("raise", "Raise", (_SEAT, _AMOUNT)),
    ActForm("check", "Check", (_SEAT,)),
    ActForm("fold", "Fold", (_SEAT,)),
    ActForm("reveal", "Turn the hole card", (_SEAT, _CARD_OR_NONE)),
    ActForm("settle", "Settle the round"),
    ActForm("breach", "Record a breach", (_TEXT,)),
)

FORMS: Final[Mapping[str, tuple[ActForm, ...]]] = {
    CARIBBEAN: TABLE_FORMS + CARIBBEAN_FORMS,
    FIVE_CARD: TABLE_FORMS + FIVE_CARD_FORMS,
}


@dataclass(frozen=True, slots=True)
class May:
    """``roles`` may do ``acts``, in ``states`` (empty: in every one). Several rows add up."""

    roles: tuple[str, ...]
    acts: tuple[str, ...]
    states: tuple[str, ...] = ()


_FLOOR: Final = (DEALER, SUPERVISOR)
# What both games have in common, and each of them alone.
_BOTH: Final = (
    May(
        _FLOOR, ("open-table", "close-table", "shuffle", "cut", "ante", "take-back", "card", "raise", "fold")
    ),
    May(_FLOOR, ("reveal", "settle", "breach", "use-shuffler", "use-shoe", "use-hand", "clear-fault")),
    # Whoever repairs it clears it; what has to be a supervisor's, the table keeps for one.
    May((TECHNICIAN,), ("clear-fault",)),
    May((SUPERVISOR, TECHNICIAN), ("accept-device",)),
    May((TECHNICIAN,), ("use-shuffler", "use-shoe", "use-hand"), IDLE),
    May((SUPERVISOR,), ("change-rules",)),
)
MAY: Final[Mapping[str, tuple[May, ...]]] = {
    CARIBBEAN: (
        *_BOTH,
        May(_FLOOR, ("open-betting", "progressive", "close-betting", "declare", "count", "withdraw")),
        May(_FLOOR, ("expose", "empty-box", "misdeal", "shuffler-failed")),
        May((TECHNICIAN,), ("shuffle", "count"), IDLE),
        May((SUPERVISOR,), ("confirm-award", "refund-carried", "correct-pool", "dispute")),
    ),
    FIVE_CARD: (
        *_BOTH,
        May(_FLOOR, ("buy-in", "top-up", "leave", "new-deck", "burn", "hand-entry", "expose-hole")),
        May(_FLOOR, ("bet", "call", "check")),
        # Once betting has gone on, only a supervisor corrects a deal (FC-19).
        May((DEALER,), ("correct-deal",), ("dealing", "opening", "speaking")),
        May((SUPERVISOR,), ("correct-deal", "wrong-deck")),
    ),
}

# Faults that not everybody clears who may clear faults: other files than were installed, other firmware
# than was accepted. By what their codes begin with.
CLEARED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "integrity": (SUPERVISOR, TECHNICIAN),
    "firmware-": (SUPERVISOR, TECHNICIAN),
}

# Acts of two people, and the roles that may be the second: money that no round moves (CS-10, CS-11).
SECONDS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    CARIBBEAN: {"correct-pool": (DEALER, AUDITOR), "refund-carried": (DEALER, AUDITOR)},
    FIVE_CARD: {},
}


def form(game: str, act: str) -> ActForm | None:
    """The form of an act; None for one that the game does not know."""
    return next((each for each in FORMS[game] if each.name == act), None)


def roles_for(game: str, act: str, state: str) -> tuple[str, ...]:
    """The roles that may do ``act`` in ``state``, in the order of ROLES."""
    rows = [may for may in MAY[game] if act in may.acts and (not may.states or state in may.states)]
    return tuple(role for role in ROLES if any(role in may.roles for may in rows))


def clearers_of(fault: str) -> tuple[str, ...]:
    """The roles that may clear this fault, if they may clear faults at all."""
    return next((by for begins, by in CLEARED_BY.items() if fault.startswith(begins)), ROLES)


def seconds_for(game: str, act: str) -> tuple[str, ...]:
    """The roles of the second person; empty when one person is enough."""
    return SECONDS[game].get(act, ())


def or_list(words: Sequence[str]) -> str:
    """Words for a sentence: ``a``, ``a or b``, ``a, b or c``; ``nobody`` for none."""
    if not words:
        return "nobody"
    *head, last = words
    return f"{', '.join(head)} or {last}" if head else last
