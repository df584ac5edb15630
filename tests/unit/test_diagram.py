"""The pictures of the machines: complete, readable, and the kept one up to date."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from daemon.diagram import CHARTS, GLYPH, Sheet, draw
from daemon.games.caribbean.rows import ROWS, TRIGGERS, Phase
from daemon.supervisor import LINK_ROWS, LinkState

KEPT = Path(__file__).parents[2] / "docs" / "images"
MACHINES = ("caribbean", "five-card", "link", "shoe", "shuffler", "sign")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("game", ["caribbean", "five-card"])
def test_the_kept_picture_is_what_the_rows_draw_now(game: str) -> None:
    assert (KEPT / f"{game}.svg").read_text(encoding="utf-8") == draw(game, "svg"), (
        f"the rows changed: feltd diagram {game} --format svg > docs/images/{game}.svg"
    )


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("format", ["mermaid", "svg"])
def test_a_picture_is_the_same_every_time(machine: str, format: str) -> None:
    assert draw(machine, format) == draw(machine, format)


def test_what_is_not_known_is_refused_with_what_is() -> None:
    with pytest.raises(ValueError, match="caribbean, five-card, link, shoe, shuffler, sign"):
        draw("roulette", "svg")
    with pytest.raises(ValueError, match="mermaid, svg"):
        draw("link", "png")


def edges(machine: str) -> dict[tuple[str, str], str]:
    """What the mermaid text says from state to state."""
    found = re.findall(r"^    (\w+) --> (\w+) : (.+)$", draw(machine, "mermaid"), re.MULTILINE)
    assert len({(source, dest) for source, dest, _ in found}) == len(found), "one edge for each pair"
    return {(source, dest): label for source, dest, label in found}


def test_mermaid_has_every_row_of_the_round() -> None:
    text, told = draw("caribbean", "mermaid"), edges("caribbean")
    for row in ROWS:
        for source in row.source:
            dest = row.dest or source
            if source is dest:
                stays = re.search(rf"^    {source.name.lower()} : .*stays on: (.*)$", text, re.MULTILINE)
                assert stays is not None
                assert row.trigger in stays[1].split(", ")
            else:
                assert row.trigger in re.split(r", | \[|<br/>", told[source.name.lower(), dest.name.lower()])
    pairs = {(s, row.dest) for row in ROWS for s in row.source if row.dest not in (None, s)}
    assert len(told) == len(pairs)
    assert "[*] --> out_of_service" in text
    assert text.startswith("---\ntitle: The round of Caribbean Stud\n---\nstateDiagram-v2\n")


def test_triggers_between_two_states_share_an_edge_and_their_conditions() -> None:
    told = edges("caribbean")
    assert told["betting", "dealing"] == "card-drawn, card, packet-out"
    assert told["betting", "between_rounds"] == "close-betting [nothing bet]"
    assert told["dealing", "void"].startswith(
        "card-drawn [second exposure keyed or wrong packet or second exposure in shoe]<br/>"
        "card, packet-out [wrong packet or second exposure in shoe]<br/>"
    )


def test_the_link_is_drawn_from_its_rows() -> None:
    told = edges("link")
    assert told["closed", "opening"] == "opening"
    assert told["identifying", "ready"] == "identified [is welcome]<br/>lasted<br/>in_sync [is trusted]"
    assert "failed" in told["opening", "lost"]
    ways = {(row["source"], row["dest"]) for row in LINK_ROWS if row["dest"] is not None}
    assert len(told) == len(ways)
    assert all(f"    {state.name.lower()} : " in draw("link", "mermaid") for state in LinkState)


def test_the_simulators_are_drawn_from_their_own_rows() -> None:
    assert edges("sign")["off", "booting"] == "power_on"
    assert edges("shuffler")["packet_present", "dealing"] == "taken [has packets]"
    assert edges("shoe")["ready", "locked"] == "settle [locked]"
    assert "[*] --> running" in draw("sign", "mermaid")


def texts(svg: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter(f"{SVG}text"))


def test_svg_names_every_state_and_trigger() -> None:
    written = "\n".join(text.text or "" for text in texts(draw("caribbean", "svg")))
    names = set(re.split(r"[\s,\[\]]+", written))
    assert set(TRIGGERS) <= names
    for phase in Phase:
        assert written.count(phase.name.replace("_", " ")) >= 1


@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_lies_over_anything(machine: str) -> None:
    """Cards one below the other, each text in a line of its own and inside its card, lanes apart."""
    sheet = Sheet(CHARTS[machine]())
    for upper, lower in pairwise(sheet.cards):
        assert upper.bottom < lower.top
    xs = sorted(lane.x for lane in sheet.lanes)
    assert all(right - left >= 12 for left, right in pairwise(xs))
    assert sheet.right < xs[0]
    assert xs[-1] < sheet.width
    boxes = [extent(text) for text in texts(draw(machine, "svg"))]
    assert all(left >= 0 and right <= sheet.right for left, right, _ in boxes)
    for place, (left, right, y) in enumerate(boxes):
        for other_left, other_right, other_y in boxes[place + 1 :]:
            assert abs(y - other_y) >= 14 or right < other_left or other_right < left


def extent(text: ElementTree.Element) -> tuple[float, float, float]:
    """Left and right end and base line of a text, in pixels, by the widest font that is named."""
    width = GLYPH * len(text.text or "") * {"title": 1.4, "state": 1.25}.get(text.get("class", ""), 1)
    x, y = float(text.get("x", 0)), float(text.get("y", 0))
    return (x - width, x, y) if text.get("class") == "to" else (x, x + width, y)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_way_has_its_line(machine: str) -> None:
    """Each pair of states is either an arrow to the next card or a port on its target's lane."""
    chart = CHARTS[machine]()
    sheet = Sheet(chart)
    pairs = {(way.source, way.dest) for way in chart.ways if way.source != way.dest}
    drawn = {(card.state, dest) for card in sheet.cards for dest, _ in card.ports}
    drawn |= {(card.state, below.state) for card, below in pairwise(sheet.cards) if card.onward}
    assert drawn == pairs
    assert sum(len(lane.ports) for lane in sheet.lanes) == sum(len(card.ports) for card in sheet.cards)
