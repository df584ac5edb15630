"""What must hold whatever fails: books kept beside the table's, from outside alone."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from operator import itemgetter
from typing import Any, Final, Protocol

from daemon.games.hands import Category, category_of, qualifies, rank_61_2004
from daemon.games.jackpot import AWARDED, JackpotRules
from daemon.records import Plain
from daemon.simulation.disk import DurableJournal, Violation
from daemon.table import Table
from drivers import fdp
from drivers.cards import Card, FaceDownCard
from drivers.framing import Deframer

_GAME: Final = (
    "state", "fingerprint", "meter", "round", "last_round_id", "last_cards_out", "deck", "carried",
    "refundable", "pending", "announcement", "stopped",
)  # fmt: skip
ACTS_REMEMBERED: Final = 4
Offer = tuple[int, str, int]  # box, bet, minor units
SHOWN: Final = 64  # pools that a slow sign may lag behind


def freeze(thing: object) -> object:
    """A value that is equal when the thing is, faces of face-down cards included."""
    if isinstance(thing, FaceDownCard):
        return thing.turn().index
    if isinstance(thing, Enum):
        return thing.value
    if is_dataclass(thing):
        return tuple([freeze(getattr(thing, field.name)) for field in fields(thing)])
    if isinstance(thing, Mapping):
        return tuple(
            sorted(((str(key), freeze(value)) for key, value in thing.items()), key=lambda kv: kv[0])
        )
    if isinstance(thing, set | frozenset):
        return tuple(sorted(thing))
    if isinstance(thing, list | tuple):
        return tuple([freeze(part) for part in thing])
    return thing


def picture(table: Table) -> object:
    """Everything that a table of Caribbean Stud remembers."""
    money = {account: amount for account, amount in table.balances.items() if amount}
    memory = [getattr(table.game, name) for name in _GAME]
    return freeze([memory, table.rig, table.faults, money, table.started])


class Witness(Protocol):
    """Whoever looks at what leaves the daemon for one device."""

    def sent(self, device: str, data: bytes) -> None: ...


class AckWitness:
    """An event that is acknowledged is durable (F01, J10)."""

    def __init__(self, journal: DurableJournal) -> None:
        self._journal = journal
        self._deframers: dict[str, Deframer] = {}

    def restarted(self) -> None:
        """Half a frame of a process that ended is followed by nothing."""
        self._deframers.clear()

    def sent(self, device: str, data: bytes) -> None:
        """Raises Violation for an acknowledgement that comes before its commit."""
        for piece in self._deframers.setdefault(device, Deframer()).feed(data):
            if not isinstance(piece, bytes) or piece[1] != fdp.Ack.CODE:
                continue
            frame = fdp.decode(piece)
            assert isinstance(frame, fdp.Ack)
            durable = self._journal.ordinal(device)
            if (durable - frame.event) % fdp.EVENTS >= fdp.EVENTS // 2:
                raise Violation(f"{device}: event {frame.event} is acknowledged, durable is {durable}")


class Books:
    """The money as the journal tells it and as the players know it, kept apart from the table.

    Amounts in minor units. ``rate`` of each accepted stake goes to the pool, ``reserve`` aside.
    """

    def __init__(self, rules: JackpotRules) -> None:
        self._rules = rules
        self._accounts: Counter[str] = Counter()
        self._pools: deque[int] = deque(maxlen=SHOWN)  # from the one that the sign shows on
        self._shown: int | None = None
        self._purse: Counter[int] = Counter()  # what the players of a box are up or down
        self._laid: Counter[tuple[int, str]] = Counter()  # this round, by box and bet
        self._offers: list[Offer] = []
        self._taken = False  # the offers, by the account of a round that ended
        self._dealt_stakes = 0
        self._awarded = 0
        self._carried: dict[int, int] = {}  # stakes of the round before, which was void
        self._refunds_due: Counter[int] = Counter()  # carried stakes whose box sat out
        self._acts: deque[tuple[str, int]] = deque(maxlen=ACTS_REMEMBERED)
        self.closed: deque[Plain] = deque(maxlen=1)
        self.rounds = 0
        self.last_round = 0
        self.picture: object = None
        self.faults: tuple[str, ...] = ()

    # --- what the journal tells -------------------------------------------------------------

    def durable(self, seq: int, record: Plain) -> None:
        """A record is safe: the accounts, the pools that a sign may show, and closed rounds."""
        for source, target, amount, _ in record.get("money", ()):
            self._accounts[source] -= amount
            self._accounts[target] += amount
        pool = self._accounts["pool"]
        if pool and (not self._pools or self._pools[-1] != pool):
            self._pools.append(pool)
        for effect in record.get("effects", ()):
            if effect["effect"] == "round-closed":
                self._round_closed(effect["summary"])

    def _round_closed(self, summary: Plain) -> None:
        if summary["id"] != self.last_round + 1:
            raise Violation(f"round {summary['id']} ends after round {self.last_round}: one outcome each")
        self.last_round = summary["id"]
        self.rounds += 1
        self.closed.append(summary)
        void = summary["outcome"] == "void"
        self._carry_over(summary["boxes"], void)
        self._resolve_by(summary["boxes"])
        fresh = 0
        for row in summary["boxes"]:
            self._row_closed(row, void)
            fresh += 0 if row["carried"] else row["progressive"]
        self._dealt_stakes += fresh
        self._awarded += summary["pool"]["awarded"]
        self._laid.clear()

    def _carry_over(self, rows: Sequence[Plain], void: bool) -> None:
        """A stake of a void round is in force in the next one, or is paid back (CS-11)."""
        carried, self._carried = self._carried, {}
        for row in filter(itemgetter("ante"), rows):  # the others are boxes without a bet
            if bool(row["carried"]) != (carried.pop(row["box"], 0) > 0):
                raise Violation(f"box {row['box']}: carried is {row['carried']}, and should not be")
            if void and row["progressive"]:
                self._carried[row["box"]] = row["progressive"]
        self._refunds_due.update(carried)

    def _row_closed(self, row: Plain, void: bool) -> None:
        box = row["box"]
        if row["decision"] == "void" and not row["ante"]:
            return  # a box without a bet that was dealt to
        for bet in ("ante", "raise"):
            if self._laid[box, bet] != row[bet]:
                raise Violation(
                    f"box {box} laid {self._laid[box, bet]} as {bet}, the account says {row[bet]}"
                )
        fresh = 0 if row["carried"] else row["progressive"]
        if self._laid[box, "progressive"] != fresh:
            raise Violation(f"box {box} laid {self._laid[box, 'progressive']} as progressive, not {fresh}")
        staked = row["ante"] + row["raise"]
        lost = row["result"] == "lose"
        if void and (row["ante_paid"], row["raise_paid"], row["award"]) != (0, 0, 0):
            raise Violation(f"box {box} is paid for a void round")
        self._purse[box] += (0 if lost else staked) + row["ante_paid"] + row["raise_paid"] + row["award"]

    # --- what the people know ---------------------------------------------------------------

    def answered(self, key: str, answer: Plain) -> None:
        """An act was answered: it is in the journal, under this number."""
        self._acts.append((key, answer["seq"]))

    def offer(self, offers: Sequence[Offer]) -> None:
        """Chips are laid (or, below zero, taken back), and the act for it is on its way."""
        self._offers = list(offers)

    def resolve(self, accepted: bool) -> None:
        """That act was answered. A round may have ended before the answer came."""
        taken, self._taken = self._taken, False
        if taken and not accepted:
            raise Violation("a round ended with a bet that was refused")
        if accepted and not taken:
            self._take_offers()
        self._offers = []

    def _take_offers(self) -> None:
        for box, bet, amount in self._offers:
            self._laid[box, bet] += amount
            self._purse[box] -= amount

    def _resolve_by(self, rows: Sequence[Plain]) -> None:
        """A round ends while an act is unanswered: its account tells whether it was accepted."""
        for box, bet, amount in self._offers[:1]:
            row = next((row for row in rows if row["box"] == box), None)
            self._taken = row is not None and row[bet] == self._laid[box, bet] + amount
        if self._taken:
            self._take_offers()

    def refunded(self, box: int, amount: int) -> None:
        """A carried stake was paid back."""
        self._purse[box] += amount
        self._refunds_due[box] -= amount

    # --- what must hold ---------------------------------------------------------------------

    def shown(self, amount: int | None) -> None:
        """The sign shows this: a pool that was durable, and never an earlier one again (J09, J10)."""
        if amount is None or amount == self._shown:
            return
        while self._pools and self._pools[0] != amount:
            self._pools.popleft()
        if not self._pools:
            raise Violation(f"the sign shows {amount}: no pool of the journal since {self._shown}")
        self._shown = amount

    def recovered(self, table: Table) -> None:
        """A table out of the journal is the one that ended, if that one ended between two inputs."""
        if self.picture is not None and picture(table) != self.picture:
            raise Violation("the recovered table is not the one that ended")
        self.picture = None
        self.compare(table)

    def restarted(self, table: Table, journal: DurableJournal) -> None:
        """After the first input of a process: latched faults are there, answered acts are recorded."""
        lost = [code for code in self.faults if code not in table.faults]
        if lost:
            raise Violation(f"a restart cleared {', '.join(lost)}")
        for key, seq in self._acts:
            record = journal.answered(key)
            if record is None or record["seq"] != seq:
                raise Violation(f"an act that was answered as record {seq} is not in the journal")

    def compare(self, table: Table) -> None:
        """The table's money is the journal's, and its jackpot adds up (CS-10). Any time."""
        for account in sorted({*self._accounts, *table.balances}):
            if self._accounts[account] != table.balances.get(account, 0):
                raise Violation(
                    f"{account}: {table.balances.get(account, 0)}, journal {self._accounts[account]}"
                )
        broken = table.game.check(table.balances)
        if sum(table.balances.values()):
            broken.append("the accounts do not sum to zero")
        if broken:
            raise Violation("; ".join(broken))

    def at_rest(self, table: Table) -> None:
        """Between rounds: purses and pool as the players' stakes and the accounts of rounds make them."""
        self.compare(table)
        view = table.game.view()
        owed: Counter[int] = Counter()
        for award in view["pending_awards"]:  # type: ignore[attr-defined]
            owed[award["box"]] += award["amount"]
        for box in range(1, 8):
            has, counted = self._accounts[f"player.{box}"], self._purse[box] - owed[box]
            if has != counted:
                raise Violation(f"box {box} has {has}, its player counts {counted}")
        self._pool_adds_up(view["pool"])  # type: ignore[arg-type]
        due = {str(box): stake for box, stake in sorted(self._refunds_due.items()) if stake}
        carried = {str(box): stake for box, stake in sorted(self._carried.items())}
        if (view["carried"], view["refundable"]) != (carried, due):
            raise Violation(f"carried {view['carried']} and to refund {view['refundable']}: {carried}, {due}")

    def _pool_adds_up(self, pool: Plain) -> None:
        shares = (self._rules.contribution, self._rules.reserve)
        brought = sum(int(self._dealt_stakes * Fraction(share)) for share in shares)
        there = pool["now"] + pool["overflow"] + pool["reserve"]
        put_in = pool["minimum"] + brought + pool["corrected"]
        if there + self._awarded != put_in:
            raise Violation(f"pool {there} and awards {self._awarded}, put in were {put_in}")

    def settled(self, summary: Plain, hands: Mapping[int, Sequence[Card]], dealer: Sequence[Card]) -> None:
        """A settled round against the cards that lay on the table: results, awards (none twice, none
        missing)."""
        opened = qualifies(dealer)
        for row in summary["boxes"]:
            if row["decision"] == "void":
                continue
            cards, raised = hands[row["box"]], row["decision"] == "raise"
            result = "lose"
            if raised:
                wins = rank_61_2004(cards) > rank_61_2004(dealer)
                result = "not-qualified" if not opened else "win" if wins else "lose"
            if row["result"] != result:
                raise Violation(f"box {row['box']}: {row['result']}, the cards say {result}")
            self._award(row, category_of(rank_61_2004(cards)), raised)

    def _award(self, row: Plain, category: Category, raised: bool) -> None:
        in_force = row["progressive"] and (raised or self._rules.folded == "pays")
        due = in_force and category in AWARDED
        if bool(row["award"]) != bool(due):
            raise Violation(f"box {row['box']}: award {row['award']} for {category.label}")
        if due and category < Category.STRAIGHT_FLUSH and row["award"] != self._rules.fixed(category):
            raise Violation(f"box {row['box']}: award {row['award']} for {category.label}")


def state_of(table: Table) -> dict[str, Any]:
    """For a person who looks for what went wrong: nothing in it tells a face-down card."""
    view = table.view()
    return {key: view[key] for key in ("state", "round", "mode", "faults", "not_ready", "cards", "deck")}
