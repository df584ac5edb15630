"""The picture of a demonstration: live on a terminal, a line a round anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from daemon.demo.report import Report
from daemon.demo.scene import Scene
from daemon.demo.staff import Json
from daemon.games.caribbean.deal import HAND
from daemon.games.caribbean.rules import BOXES
from daemon.games.money import money
from daemon.visible import visible

FRAME: Final = 0.1  # seconds between pictures
RED: Final = ("H", "D")
SUITS: Final = {"S": "♠", "H": "♥", "C": "♣", "D": "♦"}
DEALT: Final = ("deciding", "showdown", "settling")
STATES: Final = {"ready": "green", "lost": "red", "closed": "red"}


class Screen(Protocol):
    """``due`` says whether a picture is wanted now: it costs questions to make one."""

    def due(self) -> bool: ...

    def show(self, scene: Scene) -> None: ...

    def news(self, text: str) -> None: ...

    def round_over(self, account: Json, scene: Scene) -> None: ...

    def summary(self, report: Report) -> None: ...

    def close(self) -> None: ...


class Lines:
    """Plain lines, for a pipe and for ``--json`` (there on standard error). ``line`` tells a closed round."""

    def __init__(self, console: Console, line: Callable[[Json, Scene], str] | None = None) -> None:
        self._console = console
        self._line = line or round_line

    def due(self) -> bool:
        return False

    def show(self, scene: Scene) -> None:
        pass

    def news(self, text: str) -> None:
        self._print(f"  {text}")

    def round_over(self, account: Json, scene: Scene) -> None:
        self._print(self._line(account, scene))

    def summary(self, report: Report) -> None:
        for name, value in report.rows():
            self._print(f"{name:<26}{value}")

    def close(self) -> None:
        pass

    def _print(self, text: str) -> None:
        self._console.print(visible(text), markup=False, highlight=False, soft_wrap=True)


class Picture:
    """A live picture of the whole table."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._drawn = 0.0
        self._live = Live(console=console, auto_refresh=False, screen=console.height >= 24)
        self._live.start()

    def due(self) -> bool:
        return time.monotonic() - self._drawn >= FRAME

    def show(self, scene: Scene) -> None:
        self._drawn = time.monotonic()
        self._live.update(picture(scene), refresh=True)

    def news(self, text: str) -> None:
        pass  # it is in the scene

    def round_over(self, account: Json, scene: Scene) -> None:
        self.show(scene)

    def summary(self, report: Report) -> None:
        self.close()
        table = Table(title="The table has played", show_header=False, title_style="bold")
        for name, value in report.rows():
            table.add_row(Text(name, "dim"), Text(visible(value)))
        self._console.print(table)

    def close(self) -> None:
        self._live.stop()


def round_line(account: Json, scene: Scene) -> str:
    """One round in one line."""
    boxes = " ".join(f"{box['box']}:{_outcome(box)}" for box in account["boxes"])
    clauses = "".join(f"  [{each['clause']} {each['detail']}]" for each in account["irregularities"])
    return (
        f"round {scene.played}/{scene.wanted}  {account['mode']:<8}  {account['outcome']:<7}"
        f"  {boxes}  pool {money(account['pool']['closed'], '')}{clauses}"
    )


def _outcome(box: Json) -> str:
    text = str(box["result"] or box["decision"] or "")
    return text + (f"+{money(box['award'], '')}" if box["award"] else "")


# --- the picture ----------------------------------------------------------------------------


def picture(scene: Scene) -> RenderableType:
    """Everything, from the sign at the top to the devices at the bottom."""
    foot = Table.grid(expand=True)
    foot.add_column(ratio=5)
    foot.add_column(ratio=3)
    foot.add_row(_news(scene), _devices(scene))
    return Group(_sign(scene), _layout(scene), foot)


def _sign(scene: Scene) -> Panel:
    shown = str(scene.sign.get("text", ""))
    style = "bold red on black" if shown else "dim"
    text = Text(visible(shown) or "(the sign is dark)", style, justify="center")
    proven = scene.status.get("sign", {}).get("proven")
    state = "read back" if proven else "being written"
    return Panel(text, title="jackpot", subtitle=state, border_style="red", padding=(1, 2))


def _layout(scene: Scene) -> Panel:
    account, dealt = scene.account, scene.status.get("state") in DEALT
    table = Table(expand=True, box=None, pad_edge=False, header_style="dim")
    table.add_column("", width=7)
    for name, width in (("ante", 9), ("raise", 9), ("progressive", 13)):
        table.add_column(name, width=width, justify="right")
    table.add_column("cards", width=16, no_wrap=True)
    table.add_column("decision", width=16, no_wrap=True)
    table.add_column("result", ratio=1, no_wrap=True)
    table.add_row("dealer", "", "", "", *_dealer(account.get("dealer", {}), dealt), style="on grey11")
    boxes = {box["box"]: box for box in account.get("boxes", [])}
    for number in BOXES:
        cells = _box(boxes[number], dealt) if number in boxes else ("",) * 6
        table.add_row(f"box {number}", *cells)
    return Panel(table, title=_title(scene), border_style="green")


def _title(scene: Scene) -> str:
    status = scene.status
    number = max(1, scene.played + (scene.account.get("outcome") == "open"))
    due = f" to {status['next_place']}" if status.get("next_place") else ""
    phase = str(status.get("state", "")).replace("-", " ")
    return (
        f"round {number} of {scene.wanted} · cards from the {status.get('mode', '')} · [bold]{phase}{due}[/]"
    )


def _dealer(dealer: Json, dealt: bool) -> tuple[Text, str, str]:
    qualifies = dealer.get("qualifies")
    verdict = "" if qualifies is None else "qualifies" if qualifies else "does not qualify"
    return _faces(dealer.get("cards"), dealt), verdict, dealer.get("category") or ""


def _box(box: Json, dealt: bool) -> tuple[str | Text, ...]:
    bet = money(box["progressive"], "") if box["progressive"] else ""
    paid = box["ante_paid"] + box["raise_paid"] + box["award"]
    result = f"{box['result'] or ''} {box['category'] or ''}".strip()
    return (
        money(box["ante"], "") if box["ante"] else "",
        money(box["raise"], "") if box["raise"] else "",
        f"carried {bet}" if box["carried"] else bet,
        _faces(box["cards"], dealt),
        box["decision"] or "",
        Text(f"+{money(paid, '')} {result}" if paid else result, "bold green" if paid else ""),
    )


def _faces(hand: list[str | None] | None, dealt: bool) -> Text:
    """Open cards, and the backs of the others; a hand with no card up is only known to lie there."""
    text = Text()
    for card in hand or [None] * (HAND if dealt else 0):
        if card is None:
            text.append("▒▒ ", "dim")
        else:
            text.append(f"{card[:-1]}{SUITS[card[-1]]} ", "bold red" if card[-1] in RED else "bold")
    return text


def _news(scene: Scene) -> Panel:
    text = Text(
        "\n".join(map(visible, scene.news)) or "nothing has gone wrong yet", overflow="ellipsis", no_wrap=True
    )
    text.highlight_regex(r"CS-\d\d[a-d]?", "yellow")
    return Panel(text, title="notes and irregularities", border_style="yellow", height=10)


def _devices(scene: Scene) -> Panel:
    table = Table.grid(padding=(0, 2))
    for name, value, style in _device_rows(scene):
        table.add_row(name, Text(value, style))
    return Panel(table, title="pool and devices", border_style="blue", height=10)


def _device_rows(scene: Scene) -> Iterator[tuple[str, str, str]]:
    pool = scene.status.get("pool", {})
    for name, key in (("pool", "now"), ("contributed", "contributed"), ("awarded", "awarded_from_pool")):
        yield name, money(pool.get(key, 0), ""), "bold"
    for name, device in scene.status.get("devices", {}).items():
        state = f"barred ({device['barred']})" if device["barred"] else device["state"]
        style = "red" if device["barred"] else STATES.get(device["state"], "yellow")
        yield name, f"{state}{' · in use' if device['in_use'] else ''}", style
    yield "daemon restarts", str(scene.restarts), "bold" if scene.restarts else "dim"
