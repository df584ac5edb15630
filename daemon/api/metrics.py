"""``GET /metrics``: the table in Prometheus's text form, made anew at every question (docs/metrics.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Final

from fastapi import FastAPI, Request, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from daemon import __version__
from daemon.api import models
from daemon.api.door import Door
from daemon.api.service import Service
from daemon.engine import Port
from daemon.metrics import BOUNDS, Latency
from daemon.records import Plain
from daemon.roles import CONSOLE
from drivers.base import SECOND

_FROM_DRIVER: Final = {
    "frames": "Frames and lines that the driver took in",
    "repeats": "Events that the device told again",
    "gaps": "Times that events were missing and asked for",
    "dropped": "Frames and bytes that were thrown away",
}


def add(app: FastAPI, service: Service, door: Door) -> None:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Table(service))

    @app.get("/metrics", responses=models.text(), response_class=Response)
    async def metrics(request: Request) -> Response:
        """Rounds, pool, devices, commits and the age of what was heard."""
        if door.known(request) != CONSOLE:  # it asks for Prometheus, which has no session
            door.staff(request)
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


class _Table(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service
        self._rounds: dict[str, int] = {}
        self._counted = 0  # the last round that is counted: closed ones do not change

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        view, engine = self._service.view(), self._service.engine
        info = {"version": __version__, "table": view["table"], "game": view["game"]}
        yield _one("feltd_info", "The table and its program", 1, info)
        yield from self._of_table(view)
        yield from _of_devices(view["devices"], engine.ports)
        yield _commits(self._service.latency)

    def _of_table(self, view: Plain) -> Iterator[Metric]:
        rounds = CounterMetricFamily("feltd_rounds", "Rounds closed", labels=["outcome"])
        for outcome, number in sorted(self._outcomes().items()):
            rounds.add_metric([outcome], number)
        yield rounds
        if view.get("pool"):
            yield _one(
                "feltd_pool_minor_units", "The progressive jackpot, as journalled", view["pool"]["now"]
            )
        if "linked" in (view.get("pool") or {}):
            yield from _of_link(view["pool"], self._service.link.age)
        yield CounterMetricFamily("feltd_records", "Records committed", value=self._service.engine.committed)
        yield _one("feltd_state", "The state of the game", 1, {"state": view["state"]})
        yield _one("feltd_faults", "Latched faults", len(view["faults"]))
        yield _each("feltd_fault", "A latched fault", "code", [fault["code"] for fault in view["faults"]])
        yield _one("feltd_sign_proven", "The sign is known to show what it should", view["sign"]["proven"])

    def _outcomes(self) -> dict[str, int]:
        for outcome, number, last in self._service.journal.outcomes(self._counted):
            self._rounds[outcome] = self._rounds.get(outcome, 0) + number
            self._counted = max(self._counted, last)
        return self._rounds


def _of_link(pool: Plain, age: int | None) -> Iterator[Metric]:
    """A linked pool, of which ``age`` nanoseconds ago something was heard (docs/linked.md)."""
    named = {"pool": pool["linked"]}
    yield _one("feltd_link_stopped", "No progressive bet is taken", bool(pool["stopped"]), named)
    yield _one(
        "feltd_link_waiting_records", "Records that the authority is not known to have", pool["waiting"]
    )
    yield _one("feltd_link_waiting_minor_units", "What these records bring", pool["waiting_amount"])
    if age is not None:
        yield _one("feltd_link_age_seconds", "Since the linked pool was heard of", age / SECOND)


def _one(name: str, says: str, value: float, labels: Mapping[str, str] | None = None) -> Metric:
    named = labels or {}
    metric = GaugeMetricFamily(name, says, labels=list(named))
    metric.add_metric(list(named.values()), value)
    return metric


def _each(name: str, says: str, label: str, values: list[str]) -> Metric:
    """1 for each of ``values``; nothing when there are none."""
    metric = GaugeMetricFamily(name, says, labels=[label])
    for value in values:
        metric.add_metric([value], 1)
    return metric


def _of_devices(devices: dict[str, Plain], ports: Mapping[str, Port]) -> Iterator[Metric]:
    ready = GaugeMetricFamily(
        "feltd_device_ready", "Ready, by the life of its link", labels=["device", "state"]
    )
    cause = GaugeMetricFamily("feltd_device_cause", "Why it is not ready", labels=["device", "cause"])
    age = GaugeMetricFamily("feltd_device_data_age_seconds", "Since it was heard", labels=["device"])
    for name, device in devices.items():
        ready.add_metric([name, device["state"]], int(device["state"] == "ready"))
        if device["cause"]:
            cause.add_metric([name, device["cause"]], 1)
        if device["age_ms"] is not None:
            age.add_metric([name], device["age_ms"] / 1000)
    yield from (ready, cause, age)
    for key, says in _FROM_DRIVER.items():
        yield _count(key, says, {name: device["counters"][key] for name, device in devices.items()})
    yield _count("sent", "Frames sent", {port.id: port.driver.counters.sent for port in ports.values()})
    yield _count("openings", "Attempts to open its link", {port.id: port.openings for port in ports.values()})


def _count(key: str, says: str, devices: Mapping[str, int]) -> Metric:
    metric = CounterMetricFamily(f"feltd_device_{key}", says, labels=["device"])
    for name, number in devices.items():
        metric.add_metric([name], number)
    return metric


def _commits(latency: Latency) -> Metric:
    histogram = HistogramMetricFamily("feltd_commit_seconds", "From the begin of a transaction to its commit")
    upto = [*map(str, BOUNDS), "+Inf"]
    histogram.add_metric([], list(zip(upto, accumulate(latency.counts), strict=True)), latency.total)
    return histogram
