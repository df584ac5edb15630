"""docs/metrics.md, the dashboard and the alerts name metrics and labels that a running table really tells."""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from daemon.games.linked import LinkedGame, PoolSeen
from daemon.table import Noticed
from tests.docs.source import DOCS, ROOT, named, rows
from tests.docs.test_faults import latched
from tests.fakes.stage import DEMO, Api, Stage, played

BOARD = json.loads((ROOT / "config" / "grafana-dashboard.json").read_text())
RULES = yaml.safe_load((ROOT / "config" / "alerts.yml").read_text())
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
OTHERS = {"node_textfile_mtime_seconds": {"file"}, "up": {"job"}}  # of the node exporter, of Prometheus
COMMON = {"instance", "job", "__name__", "le"}  # given by Prometheus, and to every histogram
NAME = r"\b(?:(?:feltd|node)_\w+|up\b)"


LINKED = """
[linked]
pool = "house-1"
authority = "host=localhost"
max_amount = 1_000_000
"""


@cache
def scraped() -> dict[str, tuple[str, frozenset[str]]]:
    """Sample to type and labels, over both games, with devices and without, with a fault."""
    found: dict[str, tuple[str, frozenset[str]]] = {}

    async def look(api: Api, stage: Stage) -> None:
        if isinstance(game := stage.service.engine.table.game, LinkedGame) and game.linked is not None:
            stage.service.link.seen(PoolSeen(20_000_000, 3, 0))
        stage.service.notice(Noticed("disk-low", "told by a test", True))
        stage.service.journal.outcomes = lambda after: [] if after else [("void", 1, 1)]  # type: ignore[method-assign]
        for wire in stage.wires.values():
            if wire.there:
                wire.on_bytes(b"!")
        answer = await api.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        for family in text_string_to_metric_families(answer.text):
            for sample in family.samples:
                _, labels = found.get(sample.name, ("", frozenset()))
                found[sample.name] = family.type, labels | frozenset(sample.labels)

    with TemporaryDirectory() as folder:
        linked = Path(folder) / "linked.toml"
        linked.write_text(DEMO.read_text() + LINKED)
        for place, config in enumerate((DEMO, DEMO.with_name("five-card.toml"), linked)):
            for there in (True, False):
                below = Path(folder) / f"{place}-{there}"
                below.mkdir()
                played(below, look, there=there, config=config)
    return found


def family(sample: str) -> str:
    """The name that the page has: a histogram's is that of the whole."""
    return re.sub(r"_(bucket|sum|count|created)$", "", sample)


def written() -> dict[str, tuple[str, set[str]]]:
    table = rows("metrics.md", "## What there is")
    return {named(name)[0]: (kind, set(named(labels))) for name, kind, labels, _ in table}


def test_the_table_is_what_a_running_table_tells() -> None:
    told = {family(sample): (kind, set(labels) - {"le"}) for sample, (kind, labels) in scraped().items()}
    assert len(told) >= 15
    assert told == written()


def expressions() -> list[tuple[str, str]]:
    """Where it stands, and the expression."""
    panels = [(panel["title"], each["expr"]) for panel in BOARD["panels"] for each in panel["targets"]]
    return panels + [(rule["alert"], rule["expr"]) for rule in ALERTS]


@pytest.mark.parametrize(("where", "expr"), expressions())
def test_an_expression_names_what_is_there(where: str, expr: str) -> None:
    known = {sample: set(labels) for sample, (_, labels) in scraped().items()} | OTHERS
    names = re.findall(NAME, expr)
    assert names, where
    assert set(names) <= set(known), where
    for name, selector in re.findall(rf"({NAME})\{{([^}}]*)\}}", expr):
        assert set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector)) <= known[name] | COMMON, where
    of_all = COMMON.union(*(known[name] for name in names))
    for words in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expr):
        assert {word.strip() for word in words.split(",")} <= of_all, where
    counters = [name for name in names if name.endswith(("_total", "_bucket", "_count", "_sum"))]
    for name in counters:  # a counter begins anew with the daemon: its height says nothing
        assert re.search(rf"(?:rate|increase|resets)\({name}", expr), where
    assert expr.count("(") == expr.count(")"), where


@pytest.mark.parametrize("metric", sorted(written()))
def test_the_dashboard_shows_every_metric(metric: str) -> None:
    shown = {
        family(name)
        for where, expr in expressions()
        for name in re.findall(NAME, expr)
        if where in {panel["title"] for panel in BOARD["panels"]}
    }
    assert metric in shown


def test_the_dashboard_can_be_imported() -> None:
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    sources = set(re.findall(r"\$\{?(\w+)", json.dumps(BOARD)))
    assert sources == {variable["name"] for variable in BOARD["templating"]["list"]}
    for one, other in combinations([panel["gridPos"] for panel in BOARD["panels"]], 2):
        apart = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert apart or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in BOARD["panels"])


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert len(rule["annotations"]["todo"].split()) > 8
    known = {label for _, labels in scraped().values() for label in labels} | COMMON
    for label in re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]):
        assert label in known
    for page in re.findall(r"docs/[\w/-]+\.\w+", rule["annotations"]["todo"]):
        assert (ROOT / page).is_file(), page


def test_a_page_that_an_alert_names_has_the_heading() -> None:
    for rule in ALERTS:
        for page, heading in re.findall(r"docs/([\w/-]+\.\w+), '([^']+)'", rule["annotations"]["todo"]):
            assert f"# {heading}\n" in (DOCS / page).read_text(), rule["alert"]


def test_every_fault_reaches_the_alert() -> None:
    """One rule for all codes: a fault that is new needs no rule of its own."""
    rule = next(rule for rule in ALERTS if rule["alert"] == "FeltdFault")
    assert rule["expr"] == "feltd_fault > 0"
    assert latched()
