"""A table beside which everything is booked a second time: after every input every invariant is checked.

The books here are kept from the moves, the acts and the public account of the round alone. They
share nothing with the meter or the game but the order of hands and the oracle of the awards.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, Final

from daemon.games.caribbean import Caribbean, CaribbeanRules
from daemon.games.caribbean.deal import DEALER, DealtCard
from daemon.games.caribbean.round import Round
from daemon.games.caribbean.settlement import CAPPED
from daemon.games.desk import Act, Note, RoundClosed, ToDevice
from daemon.games.hands import Category, category_of, qualifies, rank_61_2004
from daemon.games.jackpot import AWARDED
from daemon.games.linked import Told
from daemon.records import decode, encode, input_from, input_record, outcome_record
from daemon.rig import Rig
from daemon.table import FromDevice, Input, LinkChanged, Outcome, Started, Table
from drivers.base import CardDrawn, Deal, DeviceEvent, PacketOut, SignShows
from drivers.cards import Card, FaceDownCard
from tests.table.floor import RULES, STAKE, rules
from tests.table.test_awards import SEATS, oracle, pay_order

BOXES: Final = range(1, 8)
DEVICES: Final = {"shoe": "shoe", "SH-1": "shuffler", "SH-2": "shuffler", "sign": "sign"}

# Every reading of the clauses is in one of these; small pools run dry, limited ones overflow.
HOUSES: Final[tuple[CaribbeanRules, ...]] = (
    RULES,
    rules(
        cap=300_000,
        minimum=60_001,
        royal_flush=60_000,
        royal_sharing="each_max",
        straight_flush_base="sequential",
    ),
    rules(
        cap=300_000, cap_scope="table", award_base="turn", folded="pays", minimum=700_001, royal_flush=300_000
    ),
    rules(
        contribution=Fraction(1, 3),
        reserve=Fraction(1, 7),
        minimum=100_000,
        limit=101_051,
        pay_unit=100,
        royal_flush=90_000,
    ),
    rules(
        contribution=Fraction(71, 300),
        reserve=Fraction(1, 2),
        minimum=50_001,
        limit=50_001,
        overflow="kept",
        funded_by_house=("flush", "full-house", "quads"),
    ),
    replace(
        rules(
            stake=2_500,
            largest_contribution=2_500,
            folded="pays",
            award_base="turn",
            minimum=1_000_001,
            royal_flush=900_000,
        ),
        royal_odds=50,
        ante_min=100,
        sign_width=16,
    ),
)

_CARD: Final = re.compile(r"\b(?:10|[2-9JQKA])[DCHS]\b")


def started(house: CaribbeanRules, mode: str) -> Started:
    return Started("1", ("shoe",), mode, "SH-1" if mode == "shuffler" else "", DEVICES, house.text())


# --- pictures ---------------------------------------------------------------------------------

MEMORY: Final = (
    "state",
    "fingerprint",
    "meter",
    "round",
    "last_round_id",
    "last_cards_out",
    "deck",
    "carried",
    "refundable",
    "pending",
    "announcement",
    "stopped",
)
# Labels, and history that nothing to come depends on.
LABELS: Final = frozenset(
    "at opened_at first_seq since seq ordinal boot epoch detail told last_command_id id last_round_id "
    "round_id wagered hits minimums contributed awarded corrected pool_opened irregularities replaces "
    "command_id".split()
)


def freeze(thing: object, without: frozenset[str] = frozenset()) -> object:
    """A value that is equal when the thing is, faces of face-down cards included."""
    if thing is None or isinstance(thing, int | str | Fraction):
        return thing
    if isinstance(thing, FaceDownCard):
        return thing.turn().index
    if isinstance(thing, dict):
        return tuple(sorted((k, freeze(v, without)) for k, v in thing.items() if k not in without))
    if isinstance(thing, list | tuple):
        return tuple([freeze(part, without) for part in thing])
    if isinstance(thing, set | frozenset):
        return tuple(sorted(thing))
    if is_dataclass(thing):
        return tuple([freeze(getattr(thing, name), without) for name in _names(type(thing), without)])
    return thing


@cache
def _names(kind: Any, without: frozenset[str]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name not in without)


def picture(table: Table) -> object:
    """Everything a table remembers."""
    money = {account: amount for account, amount in table.balances.items() if amount}
    memory = [getattr(table.game, name) for name in MEMORY]
    return freeze([memory, table.rig, table.faults, money, table.started])


def fresh_table() -> Table:
    return Table("T", Caribbean(RULES), Rig({}, "shoe"))


def from_snapshot(table: Table) -> Table:
    """A new table that remembers nothing but the snapshot of this one, as the journal keeps it."""
    again = fresh_table()
    again.restore(decode(encode(table.snapshot())))
    assert again.snapshot() == table.snapshot()
    return again


# --- the second books -------------------------------------------------------------------------


@dataclass(slots=True)
class Owed:
    """An award in the line of payment."""

    round_id: int
    box: int
    amount: int
    confirmed: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known before an input."""

    phase: str
    round: Round | None
    account: dict[str, Any]  # the public one of the round
    dealt: bool
    owed_by_shoe: bool
    balances: dict[str, int]
    rules: CaribbeanRules
    barred: bool
    halted: bool
    faces: frozenset[Card]  # known, that of a card which the shoe still owes left out


class Walker:
    """One table from its first start. :meth:`take` checks everything after every input."""

    def __init__(self, house: CaribbeanRules = RULES, mode: str = "shoe", journal: bool = True) -> None:
        self.game = Caribbean(RULES)
        self.table = Table("T", self.game, Rig({}, "shoe"))
        self.journal: list[tuple[bytes, bytes, str, bytes]] | None = [] if journal else None
        self.seen: Counter[str] = Counter()
        self.seq = self.events = 0
        self.last = Outcome()
        self.closed: list[dict[str, Any]] = []
        self.rounds = 0
        # from here on: minor units
        self.pool_from: Counter[str] = Counter()  # minimum, contributed, corrected, awarded
        self.won: Counter[int] = Counter()  # by box: results of all rounds, awards and refunds
        self.given: Counter[int] = Counter()  # by box: contributed stakes
        self.alive: Counter[int] = Counter()  # by box: stakes contributed, not lost, won with, or refunded
        self.line: list[Owed] = []
        self.due = Fraction(0)  # what the rates make of all stakes, exactly
        self.cards_out = self.fifths_shown = 0
        self.strays: dict[int, int] = {}  # unit -> the void box it went to (CS-11c)
        self._picture: object = None
        self.take(started(house, mode))
        self.all_ready()

    # --- inputs -------------------------------------------------------------------------------

    def act(
        self, act_name: str, role: str = "dealer", second: str = "", replaces: int = 0, **args: Any
    ) -> bool:
        """Whether the act was accepted."""
        self.take(Act(act_name, args, role=role, second=second, replaces=replaces))
        return self.last.refusal is None

    def tell(self, device: str, event: DeviceEvent) -> None:
        self.events += 1
        self.take(FromDevice(device, event, 1, self.events))

    def all_ready(self) -> None:
        for name in DEVICES:
            self.take(LinkChanged(name, ready=True))

    def prove_sign(self) -> None:
        wanted = self.table.rig.wanted
        self.tell("sign", SignShows(wanted.meter, wanted.announcement, wanted.pages))

    @property
    def phase(self) -> str:
        return self.game.phase

    @property
    def mode(self) -> str:
        return self.table.rig.mode

    # --- one input ----------------------------------------------------------------------------

    def take(self, item: Input) -> Outcome:
        before, old = self._facts(), self._picture
        self.seq += 1
        at = f"2026-01-01T00:00:00.{self.seq:06d}Z"
        self.last = outcome = self.table.handle(item, self.seq, at)
        self._picture = picture(self.table)
        self._journalise(item, at, outcome)
        if outcome.refusal is not None:
            assert isinstance(item, Act | Told), "a device cannot be refused"
            assert (outcome.effects, outcome.moves, outcome.outbox) == ([], [], [])
            assert old == self._picture, "a refused act changed something"
        else:
            self._book(item, before, outcome)
        self._note_reached(item, before, outcome)
        self.check(item, before)
        return outcome

    def _facts(self) -> Facts:
        now, source = self.game.round, self.table.rig.source
        return Facts(
            self.game.phase,
            now,
            self.game.round_view() or {"boxes": []},
            now is not None and now.deal is not None,
            now is not None and bool(now.entered_by_hand),
            dict(self.table.balances),
            self.game.rules,
            source is not None and bool(source.barred),
            "duplicate-card" in self.table.faults,
            frozenset(_known(now)),
        )

    def _note_reached(self, item: Input, before: Facts, outcome: Outcome) -> None:
        verdict = "taken" if outcome.refusal is None else "refused"
        name = item.name if isinstance(item, Act) else type(item).__name__
        if isinstance(item, FromDevice):
            name = type(item.event).__name__
        if isinstance(item, Act) and item.replaces:
            name = f"{name} instead"
        self.seen[f"{name} {verdict}"] += 1
        self.seen[f"phase {self.phase} {self.mode}"] += 1
        self.seen.update(f"fault {code}" for code in self.table.faults)
        for effect in outcome.effects:
            if isinstance(effect, Note) and effect.clause:
                self.seen[f"clause {effect.clause}"] += 1

    # --- replay -------------------------------------------------------------------------------

    def _journalise(self, item: Input, at: str, outcome: Outcome) -> None:
        if self.journal is None:
            return
        plain, faces = input_record(item)
        record = encode(outcome_record(at, plain, outcome, self.phase))
        self.journal.append((encode(plain), faces, at, record))

    def replay(self) -> None:
        """The journal alone, played on a fresh table, gives the same records byte for byte; also when
        the table is made anew from its own snapshot every now and then."""
        assert self.journal is not None
        table, restored = fresh_table(), fresh_table()
        for seq, (data, faces, at, record) in enumerate(self.journal, start=1):
            item = input_from(decode(data), faces)
            for each in (table, restored):
                again = each.handle(item, seq, at)
                assert encode(outcome_record(at, input_record(item)[0], again, each.game.phase)) == record
            if restored.at_rest and seq % 23 == 0:  # a table takes a while to make
                restored = from_snapshot(restored)
        assert picture(table) == self._picture
        assert picture(restored) == self._picture

    # --- what an accepted input books ---------------------------------------------------------

    def _book(self, item: Input, before: Facts, outcome: Outcome) -> None:
        self._book_cards(item, before)
        self._book_contributions(before, outcome)
        self._book_pool(item, outcome)
        self._book_refund(item, outcome)
        closed = [effect for effect in outcome.effects if isinstance(effect, RoundClosed)]
        self._book_end(item, before, outcome, closed)
        self._book_payments(item, outcome)
        if isinstance(item, Act) and item.name == "open-betting":
            self._book_opening()
            assert not before.barred
        for effect in outcome.effects:
            if isinstance(effect, ToDevice) and isinstance(effect.command, Deal) and not effect.resume:
                assert not self.table.rig.devices[effect.device].barred, "a barred machine is told to deal"

    def _book_opening(self) -> None:
        table = self.table
        assert not table.faults
        assert not table.rig.not_ready()
        assert table.rig.sign_is_current()
        self.cards_out = self.fifths_shown = 0
        self.strays = {}

    def _book_cards(self, item: Input, before: Facts) -> None:
        if before.round is None or before.round.deal is None:
            return
        if isinstance(item, Act):
            self.cards_out += item.name == "card" and not item.replaces
            if item.name == "empty-box":
                self.strays[int(item.args["first"])] = int(item.args["box"])
            self.fifths_shown += item.name == "reveal" and len(str(item.args["cards"]).split()) == 1
        elif isinstance(item, FromDevice) and self.table.rig.source is self.table.rig.devices[item.device]:
            if isinstance(item.event, CardDrawn):
                self.cards_out += not before.owed_by_shoe
            elif isinstance(item.event, PacketOut):
                self.cards_out += item.event.count

    def _book_contributions(self, before: Facts, outcome: Outcome) -> None:
        """Once for every bet that is not carried, with the first card and at no other time (CS-10)."""
        first = before.round is not None and before.round.deal is not None and not before.dealt
        due = {
            row["box"]: row["progressive"]
            for row in before.account["boxes"]
            if first and row["progressive"] and not row["carried"]
        }
        booked: Counter[int] = Counter()
        for move in outcome.moves:
            if move.source.startswith("progressive.") and not move.target.startswith("player."):
                assert move.target in ("pool", "overflow", "reserve", "house")
                booked[_box(move.source)] += move.amount
        assert booked == due, "contributions"
        assert [o.box for o in outcome.outbox if o.kind == "contribution"] == sorted(due)
        jackpot = before.rules.jackpot
        self.due += sum(booked.values()) * (jackpot.contribution + jackpot.reserve)
        self.given.update(booked)
        self.alive.update(booked)
        assert not (first and before.barred), "a barred machine deals a round"

    def _book_pool(self, item: Input, outcome: Outcome) -> None:
        """The pool falls by an award or a correction, and by nothing else (CS-10)."""
        held = ("pool", "overflow", "reserve")
        for move in outcome.moves:
            if move.source in held and move.target not in held:
                assert move.source == "pool"
                assert move.reason in ("award", "correction")
                what = "awarded" if move.target.startswith("award.") else "corrected"
                self.pool_from[what] += move.amount if what == "awarded" else -move.amount
            elif move.target in held and move.source not in held:
                kinds = {"minimum": "minimum", "contribution": "contributed", "correction": "corrected"}
                self.pool_from[kinds[move.reason]] += move.amount
            if move.reason == "correction":
                assert isinstance(item, Act)
                assert item.name == "correct-pool"
                assert item.role == "supervisor"
                assert item.second

    def _book_refund(self, item: Input, outcome: Outcome) -> None:
        for move in outcome.moves:
            if move.reason == "carried bet refunded":
                assert isinstance(item, Act)
                assert (item.role, move.source) == ("supervisor", "house")
                self.alive[_box(move.target)] -= move.amount
                self.won[_box(move.target)] += move.amount

    def _book_end(self, item: Input, before: Facts, outcome: Outcome, closed: list[RoundClosed]) -> None:
        if before.round is None or self.game.round is not None:
            assert not closed
            return
        if not before.dealt and before.round.deal is None:  # nobody bet
            assert (before.account["boxes"], outcome.moves, closed) == ([], [], [])
            return
        assert len(closed) == 1, "a round ends once"
        self.rounds += 1
        summary = dict(closed[0].summary)
        assert closed[0].round_id == summary["id"] == self.rounds
        assert (summary["opened_at"], summary["inputs"]) == (
            before.round.opened_at,
            [before.round.first_seq, self.seq],
        )
        assert summary["cards_out"] == self.cards_out
        self.closed.append(summary)
        moved = {(m.source, m.target, m.reason): m.amount for m in outcome.moves}
        if closed[0].outcome == "void":
            self._book_void(before, summary, moved)
        else:
            assert isinstance(item, Act)
            assert (item.name, closed[0].outcome) == ("settle", "settled")
            self._book_settlement(before, summary, moved)
        self._book_account_of_pool(summary, outcome)
        self.seen[f"outcome {closed[0].outcome}"] += 1

    def _book_void(
        self, before: Facts, summary: dict[str, Any], moved: dict[tuple[str, str, str], int]
    ) -> None:
        """Antes and raises go back whole, progressive bets carry (CS-11)."""
        for row in before.account["boxes"]:
            n = row["box"]
            for spot in ("ante", "raise"):
                assert moved.get((f"{spot}.{n}", f"player.{n}", "void"), 0) == row[spot], "void"
            if row["progressive"]:
                assert self.game.carried[n] == row["progressive"], "carry-over"
                self.seen["carried again" if row["carried"] else "carried"] += 1
        assert {row["result"] for row in summary["boxes"]} <= {"void"}
        assert summary["irregularities"][-1]["clause"] in ("CS-11a", "CS-11d")
        assert summary["pay_order"] == []
        assert not any(row["award"] or row["ante_paid"] or row["raise_paid"] for row in summary["boxes"])

    def _book_settlement(
        self, before: Facts, summary: dict[str, Any], moved: dict[tuple[str, str, str], int]
    ) -> None:
        assert before.round is not None
        bets = {row["box"]: row for row in before.account["boxes"] if row["decision"] != "void"}
        rows = {row["box"]: row for row in summary["boxes"] if row["decision"] != "void"}
        assert bets.keys() == rows.keys()
        assert summary["cards_out"] == 5 * (len(rows) + 1) + len(before.round.dealt.strays) * (
            1 if before.round.dealt.per_unit == 1 else 5
        )
        expected = dict(_law(before.round, before.rules))
        for n, row in rows.items():
            assert (row["result"], row["ante_paid"], row["raise_paid"]) == expected[n], "CS-09"
            to = "house" if row["result"] == "lose" else f"player.{n}"
            why = "lost" if row["result"] == "lose" else "returned"
            assert moved.get((f"ante.{n}", to, why), 0) == row["ante"] == bets[n]["ante"]
            assert moved.get((f"raise.{n}", to, why), 0) == row["raise"] == bets[n]["raise"]
            for won in ("ante", "raise"):
                assert moved.get(("house", f"player.{n}", f"{won} won"), 0) == row[f"{won}_paid"]
            lost = row["ante"] + row["raise"] if row["result"] == "lose" else 0
            self.won[n] += row["ante_paid"] + row["raise_paid"] - lost + row["award"]
            self.alive[n] -= row["progressive"]
            self.seen[f"result {row['result']}"] += 1
        self._book_awards(before, summary, moved)
        self._check_openings(before.round, before.rules)

    def _book_awards(
        self, before: Facts, summary: dict[str, Any], moved: dict[tuple[str, str, str], int]
    ) -> None:
        now = before.round
        assert now is not None
        held = dict(_claims(now, before.rules))
        rows = {row["box"]: row for row in summary["boxes"]}
        assert {n for n, row in rows.items() if row["award"]} == {
            n for n in held if before.rules.jackpot.fixed(held[n]) or rows[n]["award"]
        }
        assert summary["pay_order"] == pay_order(held)
        for n in summary["pay_order"]:
            account = f"award.{summary['id']}.{n}"
            parts = (moved.get(("pool", account, "award"), 0), moved.get(("house", account, "award"), 0))
            assert sum(parts) == rows[n]["award"]
            by_itself = held[n] not in (Category.STRAIGHT_FLUSH, Category.ROYAL_FLUSH)
            self.line.append(Owed(summary["id"], n, rows[n]["award"], by_itself))
            self.seen[f"award {held[n].label}"] += 1
        if len(held) <= len(SEATS):  # the oracle knows three seats
            seat = dict(zip(SEATS, sorted(held), strict=False))
            jackpot, pool = before.rules.jackpot, before.balances["pool"]
            got, after = oracle(jackpot, {s: held[n] for s, n in seat.items()}, pool)
            overflow = sum(amount for (source, *_), amount in moved.items() if source == "overflow")
            assert self.table.balances["pool"] == after + overflow
            left = after - jackpot.minimum if Category.ROYAL_FLUSH in held.values() else 0
            if left > 0:
                self.seen["pool divided"] += 1  # and a remainder stayed
            for s, n in seat.items():
                account = f"award.{summary['id']}.{n}"
                for part, source in zip(got[s], ("pool", "house"), strict=True):
                    assert moved.get((source, account, "award"), 0) == part, "CS-10"

    def _book_account_of_pool(self, summary: dict[str, Any], outcome: Outcome) -> None:
        pool = summary["pool"]
        restarted = sum(m.amount for m in outcome.moves if m.target == "pool" and m.reason != "contribution")
        assert pool["closed"] == pool["opened"] + pool["contributed"] - pool["awarded"] + restarted
        assert pool["closed"] == self.table.balances["pool"]
        if restarted:
            self.seen["pool restarted"] += 1

    def _book_payments(self, item: Input, outcome: Outcome) -> None:
        """Strictly in order, and nothing above quads without a supervisor (CS-10)."""
        if isinstance(item, Act) and item.name == "confirm-award" and not item.replaces:
            assert item.role == "supervisor"
            box = int(item.args["box"])
            next(o for o in self.line if o.box == box and not o.confirmed).confirmed = True
        for move in outcome.moves:
            if move.source.startswith("award."):
                owed = self.line.pop(0)
                assert owed.confirmed, "paid without a confirmation"
                assert move.source == f"award.{owed.round_id}.{owed.box}", "paid out of turn"
                assert (move.target, move.amount) == (f"player.{owed.box}", owed.amount)
                self.seen["award paid"] += 1
        assert not (self.line and self.line[0].confirmed), "an award is due and not paid"

    # --- what always holds --------------------------------------------------------------------

    def check(self, item: Input, before: Facts) -> None:
        self._check_money()
        self._check_layout()
        self._check_carried()
        self._check_secrets(item, before)
        self._check_duplicates(item, before)
        self._check_places()

    def _check_money(self) -> None:
        balances = self.table.balances
        assert sum(balances.values()) == 0
        for account, amount in balances.items():
            assert amount >= 0 or account == "house" or account.startswith("player."), account
        pool: Any = self.table.view()["pool"]
        assert (balances["pool"], balances["overflow"], balances["reserve"]) == (
            pool["now"],
            pool["overflow"],
            pool["reserve"],
        )
        booked = self.pool_from
        assert [pool[k] for k in ("minimum", "contributed", "corrected", "awarded_from_pool")] == [
            booked[k] for k in ("minimum", "contributed", "corrected", "awarded")
        ]
        assert 0 <= self.due - booked["contributed"] < 2, "two rates, less than a unit of each is carried"
        put_in = booked["minimum"] + booked["contributed"] + booked["corrected"]
        assert put_in == booked["awarded"] + pool["now"] + pool["overflow"] + pool["reserve"]

    def _check_layout(self) -> None:
        """What lies on the spots is what the round's account says, and what the players lack."""
        now = self.game.round
        rows = {row["box"]: row for row in self._rows()}
        owed: Counter[int] = Counter()
        for award in self.line:
            owed[award.box] += award.amount
        balances = self.table.balances
        for n in BOXES:
            row = rows.get(n) or {"ante": 0, "raise": 0, "progressive": 0, "carried": False}
            lies = 0 if row["carried"] or (now and now.deal) else row["progressive"]
            spots = [balances.get(f"{spot}.{n}", 0) for spot in ("ante", "raise", "progressive")]
            assert spots == [row["ante"], row["raise"], lies], "layout"
            assert row["raise"] in (0, 2 * row["ante"])
            assert balances.get(f"player.{n}", 0) == self.won[n] - self.given[n] - sum(spots) - owed[n]
        accounts = {o: a for o, a in balances.items() if o.startswith("award.") and a}
        assert accounts == {f"award.{o.round_id}.{o.box}": o.amount for o in self.line if o.amount}

    def _rows(self) -> list[dict[str, Any]]:
        account: Any = self.game.round_view() or {"boxes": []}
        return list(account["boxes"])

    def _check_carried(self) -> None:
        """Every contributed stake is in force, carried or refundable until it is played or refunded."""
        now = self.game.round
        there: Counter[int] = Counter(self.game.carried)
        there.update(self.game.refundable)
        for row in self._rows():
            if row["carried"] or (now and now.deal):
                there[row["box"]] += row["progressive"]
        assert {n: there[n] for n in BOXES} == {n: self.alive[n] for n in BOXES}, "carried bets"

    def _check_secrets(self, item: Input, before: Facts) -> None:
        """No face that lies down is in anything that leaves the table (CS-06, CS-09)."""
        now = self.game.round or before.round
        if now is None or now.deal is None:
            return
        hidden, shown = _faces(now)
        told: list[object] = [self.table.view(), self.game.round_view(), self.last.message]
        told += [e.detail for e in self.last.effects if isinstance(e, Note)]
        told += [e.summary for e in self.last.effects if isinstance(e, RoundClosed)]
        refusal = self.last.refusal
        if refusal is not None and isinstance(item, Act) and item.name != "reveal":
            told += [refusal.reason, refusal.todo]
        leaked = set(_CARD.findall(json.dumps(told))) & (hidden - shown)
        assert not leaked, "a face-down card is told"
        if self.phase in ("dealing", "deciding"):
            turned = sum(card.turned for card in now.deal.all_cards())
            assert turned <= self.fifths_shown, "cards turned before the last decision"

    def _check_duplicates(self, item: Input, before: Facts) -> None:
        """The table halts for a face that came twice, and for no other reason (CS-01)."""
        if before.halted or "duplicate-card" not in self.table.faults:
            return
        assert isinstance(item, FromDevice)
        assert isinstance(item.event, CardDrawn)
        assert item.event.face is not None
        assert item.event.face.turn() in before.faces, "no face came twice"

    def _check_places(self) -> None:
        """Whose every card is: seat order, the dealer last, void boxes left out (CS-07, CS-11c)."""
        now = self.game.round
        if now is None or now.deal is None:
            return
        order = [*sorted(now.boxes), DEALER]
        hands: dict[int, list[int]] = {place: [] for place in (*order, *self.strays.values())}
        good = 0
        for number, unit in enumerate(now.deal.units, start=1):
            place = self.strays.get(number, order[good % len(order)])
            good += number not in self.strays
            hands[place] += map(id, unit)
        assert hands == {place: [id(card) for card in hand] for place, hand in now.deal.hands.items()}

    def _check_openings(self, now: Round, house: CaribbeanRules) -> None:
        """Only the hands that CS-09 and CS-10 open were turned."""
        deal = now.dealt
        if deal.strays:
            return  # a fifth card that was shown may have moved to another hand
        dealer = deal.faces(DEALER)
        for place, hand in deal.hands.items():
            box = now.boxes.get(place)
            if box is None:
                allowed = bool(now.raised()) or not any(card.turned for card in hand[:4])
            else:
                counts = box.progressive is not None and (box.raised > 0 or house.jackpot.folded == "pays")
                allowed = counts or bool(box.raised and dealer and qualifies(dealer))
            assert allowed or not any(card.turned and not card.exposed for card in hand), place


def _known(now: Round | None) -> Iterator[Card]:
    if now is not None and now.deal is not None:
        owed = now.entered_by_hand[0] if now.entered_by_hand else None
        yield from (card.face.turn() for card in now.deal.all_cards() if card.face and card is not owed)


def _box(account: str) -> int:
    return int(account.rpartition(".")[2])


def _faces(now: Round) -> tuple[set[str], set[str]]:
    """Faces that lie down, and those that lie open."""
    hidden: set[str] = set()
    shown: set[str] = set()
    for place, hand in now.dealt.hands.items():
        for index, card in enumerate(hand):
            if card.face is not None:
                (shown if _is_open(now, place, index, card) else hidden).add(card.face.turn().text)
    return hidden, shown


def _is_open(now: Round, place: int, index: int, card: DealtCard) -> bool:
    by_rule = place == DEALER and index == 4 and not now.fifth_stays_down
    return card.exposed or card.turned or by_rule


def _law(now: Round, house: CaribbeanRules) -> Iterator[tuple[int, tuple[str, int, int]]]:
    """CS-09 read once more: result, and what ante and raise win."""
    dealer = now.dealt.faces(DEALER)
    left = house.cap if house.cap is not None else 1 << 60
    for n, box in sorted(now.boxes.items()):
        if box.decision == "fold":
            yield n, ("lose", 0, 0)
            continue
        assert dealer is not None
        if not qualifies(dealer):
            yield n, ("not-qualified", box.ante, 0)
            continue
        hand = now.dealt.faces(n)
        assert hand is not None
        mine, theirs = rank_61_2004(hand), rank_61_2004(dealer)
        assert mine != theirs, "a push cannot be"
        category = category_of(mine)
        won = 2 * box.ante * house.odds(category)
        if category in CAPPED:
            won = min(won, left)
            left -= won if house.cap_scope == "table" and mine > theirs else 0
        yield n, ("win", box.ante, won) if mine > theirs else ("lose", 0, 0)


def _claims(now: Round, house: CaribbeanRules) -> Iterator[tuple[int, Category]]:
    for n, box in sorted(now.boxes.items()):
        hand = now.dealt.faces(n)
        plays = box.decision == "raise" or house.jackpot.folded == "pays"
        if box.progressive is not None and plays and hand is not None:
            category = category_of(rank_61_2004(hand))
            if category in AWARDED:
                yield n, category


__all__ = [
    "BOXES",
    "DEVICES",
    "HOUSES",
    "LABELS",
    "MEMORY",
    "STAKE",
    "Walker",
    "freeze",
    "picture",
    "started",
]
