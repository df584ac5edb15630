"""Pictures of the state machines, drawn from their rows (``feltd diagram``).

A state is a card: its name, what it stays on, and each way out with its triggers. A way to the
next card goes straight down; any other goes through the lane of its target, beside the cards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from textwrap import TextWrapper
from typing import Final
from xml.sax.saxutils import escape

from transitions import Machine, Transition

from daemon.games.caribbean import rows as caribbean
from daemon.games.five_card import rows as five_card
from daemon.games.machine import Row
from daemon.registry import protocol, simulator
from daemon.supervisor import LINK_ROWS, LinkState


@dataclass(frozen=True, slots=True)
class Way:
    """One transition as it is drawn. ``when`` are its conditions, all of which must hold."""

    source: str
    dest: str
    trigger: str
    when: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """A machine as it is drawn; the first state is where it starts."""

    title: str
    states: tuple[str, ...]
    ways: tuple[Way, ...]

    def between(self, source: str, dest: str) -> list[Way]:
        return [way for way in self.ways if (way.source, way.dest) == (source, dest)]

    def label(self, source: str, dest: str) -> list[str]:
        """The triggers from one state to another: a line for all that share their conditions."""
        conditions: dict[str, list[str]] = {}
        for way in self.between(source, dest):
            conditions.setdefault(way.trigger, []).append(" and ".join(way.when))
        together: dict[str, list[str]] = {}
        for trigger, alternatives in conditions.items():
            # One row without a condition makes the others of its pair pointless to read.
            why = "" if "" in alternatives else " or ".join(dict.fromkeys(alternatives))
            together.setdefault(why, []).append(trigger)
        return [", ".join(names) + (f" [{why}]" if why else "") for why, names in together.items()]

    def exits(self, state: str) -> list[str]:
        """The other states that a state leads to, in the order of the chart."""
        return [dest for dest in self.states if dest != state and self.between(state, dest)]

    def stays(self, state: str) -> str:
        """The triggers that leave the state as it is."""
        return ", ".join(dict.fromkeys(way.trigger for way in self.between(state, state)))


def draw(machine: str, format: str = "mermaid") -> str:
    """The state diagram of ``machine`` as text: ``mermaid`` (stateDiagram-v2) or ``svg``.

    Raises ValueError, with the names that are known, for another machine or format.
    """
    if machine not in CHARTS:
        raise ValueError(f"no machine {machine!r}: there are {', '.join(sorted(CHARTS))}")
    if format not in _FORMATS:
        raise ValueError(f"no format {format!r}: there are {', '.join(sorted(_FORMATS))}")
    return _FORMATS[format](CHARTS[machine]())


# --- rows to ways ------------------------------------------------------------------------


def _words(name: str) -> str:
    return name.strip("_").replace("_", " ")


def _round(title: str, phases: type[Enum], rows: Iterable[Row]) -> Chart:
    def ways(row: Row) -> Iterator[Way]:
        for state in row.source:
            dest = row.dest or state
            yield Way(_words(state.name), _words(dest.name), row.trigger, tuple(map(_words, row.when)))

    states = tuple(_words(phase.name) for phase in phases)
    return Chart(title, states, tuple(way for row in rows for way in ways(row)))


def _link() -> Chart:
    ways = []
    for row in LINK_ROWS:
        source, dest = row["source"], row["dest"]
        assert isinstance(source, LinkState)
        condition = row.get("conditions")
        when = (_words(condition),) if isinstance(condition, str) else ()
        to = dest.name if isinstance(dest, LinkState) else source.name
        ways.append(Way(_words(source.name), _words(to), str(row["trigger"]), when))
    return Chart("The life of a link", tuple(_words(state.name) for state in LinkState), tuple(ways))


def _simulator(role: str, name: str) -> Callable[[], Chart]:
    return lambda: _of_machine(
        f"The simulated {role} ({name})", _machine_of(simulator(protocol(role, name))())
    )


def _machine_of(simulator: object) -> Machine:
    """A simulator's machine, which is its own or that of its life."""
    for owner in (simulator, getattr(simulator, "_life", None)):
        machine = getattr(owner, "_machine", None)
        if isinstance(machine, Machine):
            return machine
    raise ValueError(f"{type(simulator).__name__} has no machine")


def _of_machine(title: str, machine: Machine) -> Chart:
    states = sorted(machine.states, key=lambda state: state != machine.initial)
    ways = (
        _way(trigger, transition)
        for trigger, event in machine.events.items()
        for transitions in event.transitions.values()
        for transition in transitions
    )
    return Chart(title, tuple(map(_words, states)), tuple(ways))


def _way(trigger: str, transition: Transition) -> Way:
    when = []
    for condition in transition.conditions:
        name = condition.func if isinstance(condition.func, str) else condition.func.__name__
        when.append(_words(name) if condition.target else f"not {_words(name)}")
    dest = transition.dest or transition.source
    return Way(_words(transition.source), _words(dest), trigger, tuple(when))


# --- mermaid -----------------------------------------------------------------------------


def _mermaid(chart: Chart) -> str:
    ids = {state: state.lower().replace(" ", "_") for state in chart.states}
    lines = ["---", f"title: {chart.title}", "---", "stateDiagram-v2"]
    for state in chart.states:
        stays = chart.stays(state)
        lines.append(f"    {ids[state]} : {state}" + (f"<br/>stays on: {stays}" if stays else ""))
    lines.append(f"    [*] --> {ids[chart.states[0]]}")
    for state in chart.states:
        for dest in chart.exits(state):
            lines.append(f"    {ids[state]} --> {ids[dest]} : {'<br/>'.join(chart.label(state, dest))}")
    return "\n".join(lines) + "\n"


# --- svg ---------------------------------------------------------------------------------

LEGEND: Final = "A trigger takes the way whose [condition] holds, otherwise the one without."
MARGIN: Final = 20
PAD: Final = 14
LINE: Final = 16  # from one line of text to the next
GLYPH: Final = 7.3  # the widest a monospaced glyph of 12 px is in the fonts that are named
WRAP: Final = 72  # glyphs of a label before it is broken
GAP: Final = 24  # between cards that no way joins directly
LANE: Final = 18
ENTRY: Final = 22  # of a lane's arrow, below the top of its card
ARROW_AT: Final = 46  # of the arrow to the next card, right of the left edge
_COLOURS: Final = (
    "#57606a", "#0a58ca", "#1a7f37", "#8250df", "#9a6700", "#0b7285",
    "#bc4c00", "#cf222e", "#a40e26", "#6e4a1e", "#4d2d91",
)  # fmt: skip
_STYLE: Final = (
    "text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1f2328}"
    ".title{font:600 18px system-ui,'Segoe UI',Helvetica,'DejaVu Sans',sans-serif}"
    ".state{font:700 14px system-ui,'Segoe UI',Helvetica,'DejaVu Sans',sans-serif}"
    ".stays{fill:#656d76}.to{font-weight:700;text-anchor:end}"
)


@dataclass(slots=True)
class Card:
    """Where a state stands, and what is written on it. Pixels, y downwards."""

    state: str
    colour: str
    top: int
    stays: list[str]
    exits: list[tuple[str, list[str]]]  # target, lines
    onward: list[str]  # what leads to the next card
    ports: list[tuple[str, int]] = field(default_factory=list)  # target, y of its first line
    bottom: int = 0

    def __post_init__(self) -> None:
        y = self.top + 32 + LINE * len(self.stays)
        for dest, lines in self.exits:
            y += 6
            self.ports.append((dest, y + LINE // 2))
            y += LINE * len(lines)
        self.bottom = y + 12

    @property
    def after(self) -> int:
        """Where the next card begins."""
        return self.bottom + (LINE * len(self.onward) + 26 if self.onward else GAP)


@dataclass(frozen=True, slots=True)
class Lane:
    """The ways to one state that do not come from the card above it."""

    x: int
    colour: str
    entry: int
    ports: tuple[int, ...]


class Sheet:
    """The layout of one chart: cards in a column, lanes on their right, nothing over anything."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        names = max(len(state) for state in chart.states) + 2
        self.wrap_whole = WRAP + names
        self.right = MARGIN + 2 * PAD + round(GLYPH * (self.wrap_whole + 2))
        self.cards = list(self._cards())
        self.lanes = list(self._lanes())
        self.width = self.right + LANE * (len(self.lanes) + 1) + MARGIN
        self.height = self.cards[-1].bottom + MARGIN

    def _cards(self) -> Iterator[Card]:
        states, top = self.chart.states, MARGIN + 80
        for place, state in enumerate(states):
            following = states[place + 1] if place + 1 < len(states) else ""
            card = Card(
                state,
                _COLOURS[place % len(_COLOURS)],
                top,
                _broken(
                    [f"stays on: {stays}"] if (stays := self.chart.stays(state)) else [], self.wrap_whole
                ),
                [(d, self._label(state, d)) for d in self.chart.exits(state) if d != following],
                self._label(state, following) if following else [],
            )
            top = card.after
            yield card

    def _label(self, source: str, dest: str) -> list[str]:
        return _broken(self.chart.label(source, dest), WRAP)

    def _lanes(self) -> Iterator[Lane]:
        """The shortest lane is next to the cards, so that few lines cross."""
        found = []
        for card in self.cards:
            ports = tuple(y for other in self.cards for dest, y in other.ports if dest == card.state)
            if ports:
                entry = card.top + ENTRY
                found.append((max(*ports, entry) - min(*ports, entry), card.colour, entry, ports))
        for place, (_, colour, entry, ports) in enumerate(sorted(found)):
            yield Lane(self.right + LANE * (place + 1), colour, entry, ports)


def _broken(labels: Iterable[str], width: int) -> list[str]:
    wrapper = TextWrapper(width, subsequent_indent="  ", break_on_hyphens=False)
    return [line for label in labels for line in wrapper.wrap(label)]


def _svg(chart: Chart) -> str:
    sheet = Sheet(chart)
    first = sheet.cards[0]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {sheet.width} {sheet.height}" '
        f'width="{sheet.width}" height="{sheet.height}" role="img">',
        f"<title>{escape(chart.title)}</title>",
        f"<style>{_STYLE}</style>",
        *_markers(sheet),
        f'<rect width="{sheet.width}" height="{sheet.height}" rx="10" fill="#ffffff"/>',
        _text(MARGIN, MARGIN + 16, chart.title, "title"),
        _text(MARGIN, MARGIN + 36, LEGEND, "stays"),
        f'<circle cx="{MARGIN + ARROW_AT}" cy="{first.top - 22}" r="5" fill="#1f2328"/>',
        _down(first.top - 18, first.top),
        *(line for lane in sheet.lanes for line in _lane(lane, sheet.right)),
        *(line for card in sheet.cards for line in _card(card, sheet)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _markers(sheet: Sheet) -> Iterator[str]:
    """An arrowhead in each colour that is used."""
    yield "<defs>"
    for colour in sorted({"#1f2328", *(lane.colour for lane in sheet.lanes)}):
        yield (
            f'<marker id="to-{colour[1:]}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
            f'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
        )
    yield "</defs>"


def _text(x: int, y: int, text: str, kind: str = "", colour: str = "") -> str:
    look = (f' class="{kind}"' if kind else "") + (f' style="fill:{colour}"' if colour else "")
    return f'<text x="{x}" y="{y}"{look} xml:space="preserve">{escape(text)}</text>'


def _down(start: int, end: int) -> str:
    x = MARGIN + ARROW_AT
    return f'<path d="M{x} {start}V{end}" stroke="#1f2328" stroke-width="2" marker-end="url(#to-1f2328)"/>'


def _lane(lane: Lane, right: int) -> Iterator[str]:
    ends = (*lane.ports, lane.entry)
    path = "".join(f"M{right} {y}H{lane.x}" for y in lane.ports)
    path += f"M{lane.x} {min(ends)}V{max(ends)}M{lane.x} {lane.entry}H{right}"
    # A white edge under each lane: where two cross, the upper one is seen to pass over.
    yield f'<path d="{path}" fill="none" stroke="#ffffff" stroke-width="6"/>'
    yield (
        f'<path d="{path}" fill="none" stroke="{lane.colour}" stroke-width="1.6" '
        f'marker-end="url(#to-{lane.colour[1:]})"/>'
    )
    for y in lane.ports:
        yield f'<circle cx="{lane.x}" cy="{y}" r="3" fill="{lane.colour}"/>'


def _card(card: Card, sheet: Sheet) -> Iterator[str]:
    x, width = MARGIN + PAD, sheet.right - MARGIN
    yield (
        f'<rect x="{MARGIN}" y="{card.top}" width="{width}" height="{card.bottom - card.top}" rx="8" '
        f'fill="#f6f8fa" stroke="{card.colour}" stroke-width="1.4"/>'
    )
    yield _text(x, card.top + 24, card.state, "state", card.colour)
    for number, line in enumerate(card.stays):
        yield _text(x, card.top + 44 + LINE * number, line, "stays")
    colours = {other.state: other.colour for other in sheet.cards}
    for (dest, lines), (_, y) in zip(card.exits, card.ports, strict=True):
        for number, line in enumerate(lines):
            yield _text(x, y + 4 + LINE * number, line)
        yield _text(sheet.right - PAD, y + 4, f"→ {dest}", "to", colours[dest])
    if card.onward:
        yield _down(card.bottom, card.after)
        for number, line in enumerate(card.onward):
            yield _text(MARGIN + ARROW_AT + 14, card.bottom + 24 + LINE * number, line)


# What can be drawn, made only when it is asked for: a simulator has to be built.
CHARTS: Final[dict[str, Callable[[], Chart]]] = {
    "caribbean": lambda: _round("The round of Caribbean Stud", caribbean.Phase, caribbean.ROWS),
    "five-card": lambda: _round("The round of five-card stud", five_card.Phase, five_card.ROWS),
    "link": _link,
    "shoe": _simulator("shoe", "fdp"),
    "shuffler": _simulator("shuffler", "fdp"),
    "sign": _simulator("sign", "alpha"),
}
_FORMATS: Final[dict[str, Callable[[Chart], str]]] = {"mermaid": _mermaid, "svg": _svg}
