"""What a bench found out, as it is kept, printed and given as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import ceil

from drivers.base import MILLISECOND

Json = dict[str, object]


class Outcome(Enum):
    """What became of a check. ``value`` is the word in the report."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles (nearest rank) of ``n`` samples, in milliseconds."""

    p50: float
    p90: float
    p99: float
    max: float
    n: int

    @classmethod
    def of(cls, samples: Iterable[int]) -> Latency | None:
        """Of nanoseconds; None when there is none."""
        sorted_ms = [round(sample / MILLISECOND, 3) for sample in sorted(samples)]
        if not sorted_ms:
            return None
        p50, p90, p99 = (sorted_ms[ceil(len(sorted_ms) * part / 100) - 1] for part in (50, 90, 99))
        return cls(p50, p90, p99, sorted_ms[-1], len(sorted_ms))

    def json(self) -> Json:
        return {"p50": self.p50, "p90": self.p90, "p99": self.p99, "max": self.max, "n": self.n}


def latency_json(samples: Iterable[int]) -> Json | None:
    """The percentiles of nanoseconds as they stand in the report; None when there is none."""
    latency = Latency.of(samples)
    return None if latency is None else latency.json()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check. ``samples`` are its latencies in ns; ``applies`` is False when the protocol or the
    device cannot have what is checked, so that skipping it leaves the acceptance complete."""

    name: str
    title: str
    outcome: Outcome
    detail: str
    seconds: float
    samples: tuple[int, ...] = ()
    applies: bool = True

    def json(self) -> Json:
        return {
            "name": self.name,
            "result": self.outcome.value,
            "detail": self.detail,
            "seconds": round(self.seconds, 3),
            "latency_ms": latency_json(self.samples),
        }


@dataclass(frozen=True, slots=True)
class Cards:
    """The cards of a whole deck that were drawn: how many, and what does not add up.

    A face is named here only when it is missing or came twice (docs/bench.md).
    """

    seen: int = 0
    unread: int = 0
    missing: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()

    def json(self) -> Json:
        return {
            "cards_seen": self.seen,
            "cards_unread": self.unread,
            "cards_missing": list(self.missing),
            "cards_doubled": list(self.doubled),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The acceptance of one device. ``date`` is RFC 3339 UTC, ``hands`` simulator, technician or none."""

    device: str
    protocol: str
    link: str
    hands: str
    date: str
    version: str
    serial: str = ""
    firmware: str = ""
    digest: str = ""
    checks: Sequence[CheckResult] = ()
    cards: Cards = Cards()
    counters: Json = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Something was run, and nothing that was run failed."""
        outcomes = {check.outcome for check in self.checks}
        return Outcome.PASSED in outcomes and Outcome.FAILED not in outcomes

    @property
    def complete(self) -> bool:
        """Nothing was left out that this device could have shown."""
        return bool(self.checks) and not any(
            check.outcome is Outcome.SKIPPED and check.applies for check in self.checks
        )

    @property
    def samples(self) -> list[int]:
        return [sample for check in self.checks for sample in check.samples]

    def count(self, outcome: Outcome) -> int:
        return sum(check.outcome is outcome for check in self.checks)

    def json(self) -> Json:
        """The one JSON object of ``feltd bench --json``."""
        return {
            "device": self.device,
            "protocol": self.protocol,
            "link": self.link,
            "serial": self.serial,
            "firmware": self.firmware,
            "digest": self.digest,
            "date": self.date,
            "version": self.version,
            "passed": self.passed,
            "complete": self.complete,
            "hands": self.hands,
            "checks": [check.json() for check in self.checks],
            "latency_ms": latency_json(self.samples),
            **self.cards.json(),
            "counters": self.counters,
        }
