"""What the command line prints for people: the API's answers as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast

from daemon import terminal
from daemon.games.money import money
from daemon.house import House
from daemon.terminal import Shape

View = dict[str, Any]
UNKNOWN: Final = "?"
_NO_AMOUNTS: Final = ("hits", "linked", "version", "acked", "waiting", "stopped", "age_ms")
_BOX: Final = (
    "box", "ante", "raise", "progressive", "decision", "cards", "category", "result", "paid", "award",
)  # fmt: skip
_TWO_LINE_BOX: Final = (
    "box", "ante\nraise", "progressive", "cards\ncategory", "result\ndecision", "paid\naward",
)  # fmt: skip
console: Final = terminal.console


def _print(*parts: str, style: str = "") -> None:
    terminal.line(" ".join(parts), style)


def _table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()
) -> None:
    """``numbers`` are the columns that stand to the right."""
    terminal.table(title, Shape(columns, list(rows), numbers))


def _amount(value: int | None) -> str:
    return "" if value is None else money(value, "")


def _cards(cards: Sequence[str | None] | None) -> str:
    return " ".join(card or UNKNOWN for card in cards or ())


def _clock(view: View) -> Callable[[str | None], str]:
    """How an answer's stamps are told: in the time of the house that it names, UTC beside it."""
    plain = view.get("house")
    return House.of(plain).clock if plain else lambda stamp: stamp or ""


def _now(view: View) -> None:
    """When this was looked at, and in which gaming day."""
    if view.get("house"):
        house, now = House.of(view["house"]), datetime.now(UTC)
        day = house.day_of(now)
        _print(f"{house.clock(now.isoformat())} {house.time_zone}, gaming day {day}")


def status(view: View) -> None:
    """``feltd status``."""
    _print(f"Table {view['table']}: {view['game']}, {view['rules']}, {view['mode']} mode", style="bold")
    _now(view)
    if view["simulated"]:
        _print("Devices are simulated.", style="yellow")
    round_id = "" if view["round"] is None else f", round {view['round']}"
    middle = f"Pool: {_amount(view['pool']['now'])}" if view["pool"] else f"Pot: {_amount(view['pot'])}"
    _print(f"State: {view['state']}{round_id}    {middle}")
    if view["not_ready"]:
        _print(f"No round can open: {view['not_ready']}", style="yellow")
    if view.get("installation"):
        _print(f"Installed: {view['installation']}")
    _faults(view)
    if "seats" in view:
        _seats(view)
    devices(view["devices"])


def _seats(view: View) -> None:
    """Who sits at a five-card table, and whose turn it is."""
    rows = ((s["seat"], _amount(s["stack"]), _amount(s["owes"] or None)) for s in view["seats"])
    _table("Seats", ("seat", "chips", "has to add"), rows)
    if view["turn"] is not None:
        _print(f"It is the turn of seat {view['turn']}.")
    if view["next_card"] is not None:
        _print(f"The next card is seat {view['next_card']}'s.")
    if view["error"]:
        _print(f"To be corrected: {view['error']}", style="yellow")


def _faults(view: View) -> None:
    clock = _clock(view)
    for fault in view["faults"]:
        since = f", since {clock(fault['since'])}" if fault["since"] else ""
        told = f"{fault['code']}: {fault['text']} (cleared by: {fault['cleared_by']})"
        _print(f"Fault {told}{since}", style="red")


def devices(found: dict[str, View]) -> None:
    terminal.table("Devices", _all_of(found), _stacked(found))
    for name, device in found.items():
        if device["todo"]:
            _print(f"{name}: {device['todo']}", style="yellow")


def _all_of(found: dict[str, View]) -> Shape:
    columns = ("device", "role", "protocol", "state", "why", "heard", "serial", "firmware", "link")
    rows = [
        (
            name,
            device["role"],
            device["protocol"],
            device["state"],
            _why(device),
            _heard(device),
            device["serial"],
            device["firmware"],
            device["link"],
        )
        for name, device in found.items()
    ]
    return Shape(columns, rows)


def _stacked(found: dict[str, View]) -> Shape:
    """The same for fewer columns: what belongs together stands in one cell."""
    columns = ("device", "state", "serial\nfirmware", "protocol\nlink")
    rows = [
        (
            [name, device["role"] if device["role"] != name else None],
            [device["state"], _why(device), _heard(device)],
            [device["serial"], device["firmware"]],
            [device["protocol"], device["link"]],
        )
        for name, device in found.items()
    ]
    return Shape(columns, rows)


def _why(device: View) -> str:
    found = ": ".join(part for part in (device["cause"], device["detail"]) if part)
    return str(device["barred"] or found)


def _heard(device: View) -> str:
    return "never" if device["age_ms"] is None else f"{device['age_ms']} ms ago"


def rounds(view: View) -> None:
    """``feltd rounds``."""
    columns = ("round", "outcome", "opened", "boxes", "dealer", "irregularities", "pool")
    if any("seats" in each for each in view["rounds"]):
        columns = ("round", "outcome", "opened", "seats", "winners", "irregularities", "pots")
    clock = _clock(view)
    _table("Rounds", columns, (_round_row(each, clock(each["opened_at"])) for each in view["rounds"]))


def _round_row(each: View, opened: str) -> Sequence[object]:
    clauses = " ".join(i["clause"] for i in each["irregularities"])
    if "seats" in each:
        seats = " ".join(str(seat["seat"]) for seat in each["seats"])
        winners = " ".join(str(seat["seat"]) for seat in each["seats"] if seat["won"])
        pots = _amount(sum(pot["amount"] for pot in each["pots"]))
        return each["id"], each["outcome"], opened, seats, winners, clauses, pots
    boxes = " ".join(str(box["box"]) for box in each["boxes"])
    pool = _amount(each["pool"]["closed"])
    return (
        each["id"],
        each["outcome"],
        opened,
        boxes,
        _cards(each["dealer"]["cards"]),
        clauses,
        pool,
    )


def round_(view: View) -> None:
    """``feltd round ID``."""
    clock = _clock(view)
    _print(f"Round {view['id']}: {view['outcome']}, {view['mode']} mode", style="bold")
    closed = f", closed {clock(view['closed_at'])}" if view["closed_at"] else ""
    _print(f"Opened {clock(view['opened_at'])}{closed}")
    if "seats" in view:
        _hands_of_round(view)
    else:
        _boxes_of_round(view)
    for each in view["irregularities"]:
        _print(f"{clock(each['at'])} {each['clause']}: {each['detail']}", style="yellow")


def _hands_of_round(view: View) -> None:
    columns = ("seat", "status", "cards", "category", "bet", "returned", "won")
    _table("Hands", columns, (_hand_row(seat) for seat in view["seats"]))
    for pot in view["pots"]:
        winners = ", ".join(f"seat {each['seat']} {_amount(each['amount'])}" for each in pot["won"])
        _print(f"Pot {_amount(pot['amount'])}: rake {_amount(pot['rake'])}, {winners}")


def _hand_row(seat: View) -> Sequence[object]:
    amounts = (_amount(seat[key]) for key in ("staked", "returned", "won"))
    return seat["seat"], seat["status"], _cards(seat["cards"]), seat["category"], *amounts


def _boxes_of_round(view: View) -> None:
    rows = [_box_row(box) for box in view["boxes"]]
    one_line = Shape(_BOX, rows, (1, 2, 3, 8, 9))
    two_lines = Shape(_TWO_LINE_BOX, [_two_line_row(*row) for row in rows], (1, 2, 5))
    terminal.table("Boxes", one_line, two_lines)
    dealer = view["dealer"]
    _print(f"Dealer: {_cards(dealer['cards'])} {dealer['category'] or ''}")


def _box_row(box: View) -> Sequence[object]:
    carried = " (carried)" if box["carried"] else ""
    return (
        box["box"],
        _amount(box["ante"]),
        _amount(box["raise"]),
        _amount(box["progressive"]) + carried,
        box["decision"],
        _cards(box["cards"]),
        box["category"],
        box["result"],
        _amount(box["ante_paid"] + box["raise_paid"]),
        _amount(box["award"]),
    )


def _two_line_row(
    box: object,
    ante: object,
    raised: object,
    progressive: object,
    decision: object,
    cards: object,
    category: object,
    result: object,
    paid: object,
    award: object,
) -> Sequence[object]:
    """A row of _box_row for the columns of _TWO_LINE_BOX."""
    bet = str(progressive).split(" ")
    return box, [ante, raised], bet, [cards, category], [result, decision], [paid, award]


def jackpot(view: View) -> None:
    """``feltd jackpot``."""
    unproven = "not proven" if view["sign"].get("readable", True) else "told; it cannot be read back"
    proven = "proven" if view["sign"]["proven"] else unproven
    _print(f"Sign: {view['sign']['wanted']['meter']} ({proven})", style="bold")
    _now(view)
    if view["pool"] is None:
        _print("This game has no jackpot.")
        return
    amounts = {key: value for key, value in view["pool"].items() if key not in _NO_AMOUNTS}
    _table("Pool", ("what", "amount"), ((key, _amount(value)) for key, value in amounts.items()))
    _print(f"Awards so far: {view['pool']['hits']}")
    if "linked" in view["pool"]:
        _linked(view["pool"])
    for award in view["pending_awards"]:
        worth = _amount(award["amount"]) or "the linked pool's authority has not decided"
        _print(f"To be paid: box {award['box']}, {award['category']}, {worth}", style="yellow")


def _linked(pool: View) -> None:
    """What is known of a linked pool; the other counts are this table's part."""
    heard = "not heard of" if pool["age_ms"] is None else f"heard of {pool['age_ms'] / 1000:.1f} s ago"
    _print(f"Linked pool {pool['linked']}: {heard}, {pool['waiting']} records wait for it")
    if pool["stopped"]:
        _print(f"No progressive bet is taken: {pool['stopped']}", style="bold red")


def incidents(view: View) -> None:
    """``feltd incidents``."""
    columns = ("round", "clause", "what", "at")
    clock = _clock(view)
    rows = ((i["round"], i["clause"], i["detail"], clock(i["at"])) for i in view["irregularities"])
    _table("Irregularities", columns, rows)
    _faults(view)


def acts(view: View) -> None:
    """``feltd acts``."""
    columns = ("act", "what", "arguments", "roles", "now")
    _table(f"Acts, state {view['state']}", columns, (_act_row(each) for each in view["acts"]))


def _act_row(each: View) -> Sequence[object]:
    arguments = " ".join(f"{a['name']}=" if a["required"] else f"[{a['name']}=]" for a in each["arguments"])
    second = f" + {' or '.join(each['second_roles'])}" if each["needs_second"] else ""
    now = each["now"]
    why = " ".join(part for part in (now["clause"], now["reason"]) if part)
    roles = ", ".join(each["roles"]) + second
    return each["name"], each["title"], arguments, roles, "yes" if now["allowed"] else why


def act(answer: View) -> None:
    """What became of an act."""
    refusal = answer["refusal"]
    if refusal is None:
        _print(f"accepted: {answer['act']} (record {answer['seq']}); state {answer['state']}", style="green")
    else:
        clause = f" ({refusal['clause']})" if refusal["clause"] else ""
        _print(f"refused: {refusal['reason']}{clause}", style="red")
        if refusal["todo"]:
            _print(f"to do: {refusal['todo']}")
    if answer["message"]:
        _print(answer["message"])
    for note in answer["notes"]:
        _print(f"{note['clause']}: {note['detail']}" if note["clause"] else note["detail"], style="yellow")


def hands(view: View) -> None:
    """``feltd hand``."""
    qualifies = {True: "yes", False: "no", None: ""}
    rows = (
        (hand["cards"], hand["category"], hand["order"], qualifies[hand["dealer_qualifies"]])
        for hand in view["hands"]
    )
    _table(f"Hands under {view['rules']}", ("cards", "category", "order", "qualifies"), rows)


def awards(view: View) -> None:
    """``feltd award``."""
    rows = (
        (
            award["box"],
            award["category"],
            *(_amount(award[key]) for key in ("amount", "from_pool", "from_house")),
        )
        for award in view["awards"]
    )
    _table(
        "Awards in the order of payment",
        ("box", "category", "amount", "from the pool", "from the house"),
        rows,
    )
    _print(f"Pool: {_amount(view['pool'])} before, {_amount(view['pool_after'])} after")


def report(view: View) -> None:
    """``feltd report``."""
    from daemon.report import Report, layout

    told = cast(Report, view)
    _print(layout.title(told), style="bold")
    for words, good in layout.verdicts(told):
        _print(words, style="green" if good else "red")
    for name, value in layout.facts(told):
        _print(f"{name}: {value}")
    for section in layout.sections(told):
        if section.rows:
            _table(section.title, section.heads, section.rows, section.numbers)
        else:
            _print(f"{section.title}: {section.empty}")


def story(view: View) -> None:
    """``feltd replay --round``."""
    clock = _clock(view)
    _print(f"Table {view['table']}, round {view['round']}: {view['outcome']}", style="bold")
    sound = "Journal verified" if view["verified"] else f"Journal not sound: {view['errors'][0]}"
    _print(sound, style="green" if view["verified"] else "red")
    columns = ("record", "at", "who", "what", "what became of it", "clause")
    _table("What happened", columns, (_told_row(each, clock(each["at"])) for each in view["told"]))
    if view["account"] is not None:
        round_({**view["account"], "house": view["house"]})


def _told_row(each: View, at: str) -> Sequence[object]:
    return each["seq"], at, each["who"], each["what"], list(each["became"]), " ".join(each["clauses"])


def facts(view: View) -> None:
    """Any flat answer, a line a key."""
    for key, value in view.items():
        if isinstance(value, list):
            for each in value:
                _print(f"{key}: {each}")
        else:
            _print(f"{key}: {value}")


def floor(view: View) -> None:
    """``feltd link status``."""
    from daemon.linked.floor import ACCOUNTS, AMOUNTS, COLUMNS, cells

    clock, day = _clock(view), view["day"]
    told = [row | {key: _amount(row[key]) for key in AMOUNTS} for row in view["tables"]]
    _print(f"Pool {view['pool']}: {_amount(view['now'])} at {clock(view['at'])}")
    _table("Tables", COLUMNS, [cells(row) for row in told], numbers=range(2, len(COLUMNS)))
    rows = [
        (table, kind, sums["lines"], *(_amount(sums[account]) for account in ACCOUNTS))
        for table, kinds in day["tables"].items()
        for kind, sums in kinds.items()
    ]
    rows.append(("", "sum", "", *(_amount(day["sum"][account]) for account in ACCOUNTS)))
    columns = ("table", "kind", "lines", *ACCOUNTS)
    _table(f"Gaming day {day['day']}", columns, rows, numbers=range(2, len(columns)))
    opening, closing = day["opening"]["pool"], day["closing"]["pool"]
    moved = day["sum"]["pool"]
    _print(f"Opening {_amount(opening)} and {_amount(moved)} moved: closing {_amount(closing)}")
    for problem in view["differences"]:
        _print(problem, style="bold red")
    if view["reconciled"]:
        _print("The tables' sums are the movements of the pool, to the unit.", style="green")
