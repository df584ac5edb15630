"""``GET /metrics``: the table in Prometheus's text form, made anew at every question."""

from __future__ import annotations

from collections.abc import Iterator
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
from daemon.metrics import BOUNDS, Latency
from daemon.records import Plain

_COUNTERS: Final = ("frames", "repeats", "gaps", "dropped")


def add(app: FastAPI, service: Service, door: Door) -> None:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Table(service))

    @app.get("/metrics", responses=models.text(), response_class=Response)
    async def metrics(request: Request) -> Response:
        """Rounds, pool, devices, commits and the age of what was heard."""
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
        view = self._service.view()
        yield _one("feltd_info", 1, {"version": __version__, "table": view["table"], "game": view["game"]})
        yield from self._of_table(view)
        yield from _of_devices(view["devices"])
        yield _commits(self._service.latency)

    def _of_table(self, view: Plain) -> Iterator[Metric]:
        rounds = CounterMetricFamily("feltd_rounds", "Rounds closed", labels=["outcome"])
        for outcome, number in sorted(self._outcomes().items()):
            rounds.add_metric([outcome], number)
        yield rounds
        if view.get("pool"):
            yield _one("feltd_pool_minor_units", view["pool"]["now"])
        yield CounterMetricFamily("feltd_records", "Records committed", value=self._service.engine.committed)
        yield _one("feltd_state", 1, {"state": view["state"]})
        yield _one("feltd_faults", len(view["faults"]))
        yield _one("feltd_sign_proven", int(view["sign"]["proven"]))

    def _outcomes(self) -> dict[str, int]:
        for outcome, number, last in self._service.journal.outcomes(self._counted):
            self._rounds[outcome] = self._rounds.get(outcome, 0) + number
            self._counted = max(self._counted, last)
        return self._rounds


def _one(name: str, value: int, labels: dict[str, str] | None = None) -> Metric:
    named = labels or {}
    metric = GaugeMetricFamily(name, name.removeprefix("feltd_").replace("_", " "), labels=list(named))
    metric.add_metric(list(named.values()), value)
    return metric


def _of_devices(devices: dict[str, Plain]) -> Iterator[Metric]:
    ready = GaugeMetricFamily(
        "feltd_device_ready", "Ready, by the life of its link", labels=["device", "state"]
    )
    age = GaugeMetricFamily("feltd_device_data_age_seconds", "Since it was heard", labels=["device"])
    counts = {
        name: CounterMetricFamily(f"feltd_device_{name}", f"Frames: {name}", labels=["device"])
        for name in _COUNTERS
    }
    for name, device in devices.items():
        ready.add_metric([name, device["state"]], int(device["state"] == "ready"))
        if device["age_ms"] is not None:
            age.add_metric([name], device["age_ms"] / 1000)
        for key, metric in counts.items():
            metric.add_metric([name], device["counters"][key])
    yield from (ready, age, *counts.values())


def _commits(latency: Latency) -> Metric:
    histogram = HistogramMetricFamily("feltd_commit_seconds", "From the begin of a transaction to its commit")
    upto = [*map(str, BOUNDS), "+Inf"]
    histogram.add_metric([], list(zip(upto, accumulate(latency.counts), strict=True)), latency.total)
    return histogram
