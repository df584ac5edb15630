"""What happened at a table besides its money: irregularities, faults, opens and closes, corrections."""

from __future__ import annotations

import re
from typing import Final, TypedDict

from daemon.records import Plain

_LATCHED: Final = re.compile(r"fault (\S+): (.*)", re.DOTALL)
_CLEARED: Final = re.compile(r"fault (\S+) cleared")
_OPENINGS: Final = ("open-table", "close-table")
CORRECTION: Final = "correct-pool"


class Irregularity(TypedDict):
    """One of a round's account."""

    round: int
    clause: str
    detail: str
    at: str


class Remark(TypedDict):
    """Something that staff were told under a clause, and that is no irregularity of a round's account."""

    clause: str
    detail: str
    at: str


class Fault(TypedDict):
    """``device`` is "" for the table's own. ``at`` is null for one that was there before the day
    began, ``cleared_at`` for one that was there when it ended."""

    device: str
    code: str
    text: str
    at: str | None
    cleared_at: str | None


class Done(TypedDict):
    """An act that was accepted: opening, closing, or a correction of the pool with its amount."""

    act: str
    at: str
    by: str
    role: str
    second: str
    amount: int
    text: str


class Start(TypedDict):
    """A start of the program."""

    at: str
    version: str


class Happenings:
    """Collected from the records of a day, in order."""

    def __init__(self) -> None:
        self.irregularities: list[Irregularity] = []
        self.faults: list[Fault] = []
        self.openings: list[Done] = []
        self.corrections: list[Done] = []
        self.starts: list[Start] = []
        self._remarks: list[Remark] = []

    @property
    def remarks(self) -> list[Remark]:
        """Without those that the round's account tells too."""
        told = {(each["clause"], each["at"]) for each in self.irregularities}
        return [each for each in self._remarks if (each["clause"], each["at"]) not in told]

    def take(self, record: Plain) -> None:
        said, at = record["input"], record["at"]
        for effect in record.get("effects", ()):
            if effect["effect"] == "note":
                self._note(effect["clause"], effect["detail"], at)
            elif effect["effect"] == "round-closed":
                self._round_closed(effect["id"], effect["summary"])
        if said["kind"] == "started":
            self.starts.append({"at": at, "version": said["version"]})
        elif said["kind"] == "link":
            self._link(said, at)
        elif said["kind"] == "device":
            self._device(said, at)
        elif said["kind"] == "act" and "refusal" not in record:
            self._act(said, at)

    def _note(self, clause: str, detail: str, at: str) -> None:
        if latched := _LATCHED.fullmatch(detail):
            self._set("", latched[1], latched[2], at)
        elif cleared := _CLEARED.fullmatch(detail):
            self._clear("", cleared[1], at)
        elif clause:
            self._remarks.append({"clause": clause, "detail": detail, "at": at})

    def _round_closed(self, number: int, summary: Plain) -> None:
        for each in summary["irregularities"]:
            self.irregularities.append(
                {"round": number, "clause": each["clause"], "detail": each["detail"], "at": each["at"]}
            )

    def _act(self, said: Plain, at: str) -> None:
        if said["name"] not in (*_OPENINGS, CORRECTION):
            return
        who = {key: str(said.get(key, "")) for key in ("by", "role", "second")}
        args = said["args"]
        done: Done = {
            "act": said["name"],
            "at": at,
            "by": who["by"],
            "role": who["role"],
            "second": who["second"],
            "amount": int(args.get("amount", 0)) if said["name"] == CORRECTION else 0,
            "text": str(args.get("text", "")),
        }
        (self.corrections if said["name"] == CORRECTION else self.openings).append(done)

    # --- faults ---------------------------------------------------------------------------------

    def _link(self, said: Plain, at: str) -> None:
        if said["ready"]:
            self._clear(said["device"], "link", at, known=True)
        else:
            text = ": ".join(part for part in (said["cause"], said["detail"]) if part)
            self._set(said["device"], "link", text, at)

    def _device(self, said: Plain, at: str) -> None:
        device = said["device"]
        if said["event"] == "fault-set":
            self._set(device, str(said["code"]), said["text"], at)
        elif said["event"] == "fault-cleared":
            self._clear(device, str(said["code"]), at)
        elif said["event"] == "restarted":  # it knows nothing of its faults any more
            for fault in self._standing(device):
                if fault["code"] != "link":
                    fault["cleared_at"] = at

    def _standing(self, device: str, code: str = "") -> list[Fault]:
        return [
            fault
            for fault in self.faults
            if fault["device"] == device and fault["cleared_at"] is None and code in ("", fault["code"])
        ]

    def _set(self, device: str, code: str, text: str, at: str) -> None:
        """One that stands already keeps its first stamp, and takes a new text."""
        for fault in self._standing(device, code):
            fault["text"] = text
            return
        self.faults.append({"device": device, "code": code, "text": text, "at": at, "cleared_at": None})

    def _clear(self, device: str, code: str, at: str, known: bool = False) -> None:
        """``known``: only one that began in this day; a link becomes ready at every start."""
        standing = self._standing(device, code)
        for fault in standing:
            fault["cleared_at"] = at
        if not standing and not known:
            self.faults.append({"device": device, "code": code, "text": "", "at": None, "cleared_at": at})
