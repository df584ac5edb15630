"""The report as one page: style and picture are inside, nothing is fetched, and it prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Final

from daemon.bench.results import Cards, CheckResult, Latency, Outcome, Report
from daemon.bench.terminal import verdict
from drivers.base import MILLISECOND

# The plot, in user units: a row for each check that has latencies, on a logarithmic axis.
LABEL, WIDTH, MARGIN, ROW, AXIS = 200, 760, 24, 30, 28

STYLE: Final = """
:root { color-scheme: light; --ink: #16202a; --dim: #5b6875; --rule: #d9dfe5; --paper: #fff;
  --passed: #12703c; --failed: #b3261e; --skipped: #8a5a00; --dot: #1f5fa8; }
* { box-sizing: border-box }
body { margin: 0; background: #eef1f4; color: var(--ink);
  font: 15px/1.5 system-ui, "Liberation Sans", sans-serif }
main { max-width: 920px; margin: 24px auto; padding: 36px 44px; background: var(--paper);
  border: 1px solid var(--rule) }
header { display: flex; justify-content: space-between; gap: 24px; align-items: flex-start;
  border-bottom: 2px solid var(--ink); padding-bottom: 16px }
h1 { margin: 0; font-size: 25px; line-height: 1.2 }
h2 { margin: 30px 0 8px; font-size: 16px }
header p { margin: 4px 0 0; color: var(--dim) }
.verdict { padding: 8px 16px; border-radius: 4px; color: #fff; font-weight: 700; white-space: nowrap;
  font-size: 17px }
.verdict small { display: block; font-weight: 400; font-size: 12.5px }
.verdict.passed { background: var(--passed) } .verdict.failed { background: var(--failed) }
dl { display: grid; grid-template-columns: repeat(3, 1fr); gap: 14px 28px; margin: 18px 0 0 }
dt { color: var(--dim); font-size: 12.5px } dd { margin: 0; overflow-wrap: anywhere }
dd.code { font-family: ui-monospace, "Liberation Mono", monospace; font-size: 13.5px }
table { width: 100%; border-collapse: collapse }
th { text-align: left; color: var(--dim); font-weight: 400; font-size: 12.5px;
  border-bottom: 1px solid var(--ink) }
th, td { padding: 5px 14px 5px 0; vertical-align: top }
td { border-bottom: 1px solid var(--rule); overflow-wrap: anywhere }
.number { text-align: right; padding: 5px 0 5px 14px; white-space: nowrap;
  font-variant-numeric: tabular-nums }
.mark { white-space: nowrap; font-weight: 600 }
.passed .mark { color: var(--passed) } .failed .mark { color: var(--failed) }
.skipped .mark { color: var(--skipped) }
.failed td { background: #fdf1f0 } .skipped td { color: var(--dim) }
svg { display: block; width: 100%; height: auto }
svg text { font-size: 12px; fill: var(--ink) } svg .dim { fill: var(--dim); font-size: 11px }
.note { color: var(--dim); font-size: 12.5px; margin: 6px 0 18px }
.sign { display: grid; grid-template-columns: 2fr 1fr; gap: 40px; margin-top: 52px; break-inside: avoid }
.sign div { border-top: 1px solid var(--ink); padding-top: 4px; color: var(--dim); font-size: 12.5px }
footer { margin-top: 26px; color: var(--dim); font-size: 12.5px }
@media print { @page { size: A4; margin: 14mm }
  body { background: none; font-size: 12px } main { margin: 0; padding: 0; border: 0; max-width: none }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact }
  tr, svg, dl { break-inside: avoid } thead { display: table-header-group } }
"""

COLUMNS: Final = ("samples", "p50 ms", "p90 ms", "p99 ms", "max ms")
WORDS: Final = {Outcome.PASSED: "✓ passed", Outcome.FAILED: "✗ failed", Outcome.SKIPPED: "– skipped"}  # noqa: RUF001


# By this a page of ours is known.
BEGINS: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="feltd bench">"""


def page(report: Report) -> str:
    """The whole document, UTF-8."""
    title = (
        f"Acceptance of {report.device} {report.serial}"
        if report.serial
        else f"Acceptance of a {report.device}"
    )
    return f"""{BEGINS}<title>{escape(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>
<body><main>
{_header(report, title)}
{_facts(report)}
<h2>Checks</h2>
{_checks(report.checks)}
{_latency(report.checks)}
<div class="sign"><div>Technician: name and signature</div><div>Date</div></div>
<footer>feltd {escape(report.version)}, {escape(_day(report.date))}</footer>
</main></body></html>
"""


def _header(report: Report, title: str) -> str:
    word = "passed" if report.passed else "failed"
    counts = ", ".join(f"{report.count(each)} {each.value}" for each in Outcome if report.count(each))
    return (
        f"<header><div><h1>{escape(title)}</h1><p>{escape(verdict(report))}</p></div>"
        f'<div class="verdict {word}">{word.capitalize()}<small>{counts}</small></div></header>'
    )


def _facts(report: Report) -> str:
    rows = [
        ("Device", report.device, ""),
        ("Serial number", report.serial, "code"),
        ("Firmware", report.firmware, "code"),
        ("Digest of the firmware", report.digest, "code"),
        ("Protocol", report.protocol, ""),
        ("Link", report.link, "code"),
        ("Date", _day(report.date), ""),
        ("Hands", report.hands, ""),
        ("Cards", _cards(report.cards), ""),
        (
            "Frames heard and sent",
            f"{report.counters.get('frames', 0)} and {report.counters.get('sent', 0)}",
            "",
        ),
        ("Dropped by the driver", _drops(report.counters.get("drops")), ""),
    ]
    cells = (
        f'<div><dt>{name}</dt><dd class="{kind}">{escape(value or "not told")}</dd></div>'
        for name, value, kind in rows
        if value or name != "Cards"
    )
    return f"<dl>{''.join(cells)}</dl>"


def _day(date: str) -> str:
    return f"{date[:10]} {date[11:19]} UTC"


def _cards(cards: Cards) -> str:
    if not cards.seen:
        return ""
    parts = [f"{cards.seen} seen"]
    parts += [f"{cards.unread} unread"] if cards.unread else []
    parts += [f"missing {' '.join(cards.missing)}"] if cards.missing else []
    parts += [f"twice {' '.join(cards.doubled)}"] if cards.doubled else []
    return ", ".join(parts)


def _drops(drops: object) -> str:
    found = drops if isinstance(drops, dict) else {}
    return ", ".join(f"{reason} ({count})" for reason, count in found.items()) or "nothing"


def _checks(checks: Iterable[CheckResult]) -> str:
    rows = "".join(_check(check) for check in checks)
    return (
        "<table><thead><tr><th>Check</th><th>Result</th><th>What was seen</th>"
        f'<th class="number">Time</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _check(check: CheckResult) -> str:
    return (
        f'<tr class="{check.outcome.value}"><td>{escape(check.title)}</td>'
        f'<td class="mark">{WORDS[check.outcome]}</td><td>{escape(check.detail)}</td>'
        f'<td class="number">{check.seconds:.1f} s</td></tr>'
    )


# --- latency -------------------------------------------------------------------------------------


def _latency(checks: Sequence[CheckResult]) -> str:
    timed = [check for check in checks if check.samples]
    if not timed:
        return ""
    return (
        f"<h2>Latency</h2>{plot(timed)}"
        '<p class="note">From a command to its result or proof, and from a simulated hand to the event. '
        "A dot is one sample; the tall mark is the median, the short one the 99th percentile.</p>"
        f"{_percentiles(timed)}"
    )


def _percentiles(timed: Sequence[CheckResult]) -> str:
    rows = [(check.title, Latency.of(check.samples)) for check in timed]
    rows.append(("All", Latency.of(sample for check in timed for sample in check.samples)))
    body = "".join(_percentile_row(title, latency) for title, latency in rows if latency)
    heads = "".join(
        f'<th class="number">{head}</th>' for head in ("samples", "p50 ms", "p90 ms", "p99 ms", "max ms")
    )
    return f"<table><thead><tr><th>Check</th>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _percentile_row(title: str, latency: Latency) -> str:
    numbers = (latency.p50, latency.p90, latency.p99, latency.max)
    cells = "".join(f'<td class="number">{number:.1f}</td>' for number in numbers)
    return f'<tr><td>{escape(title)}</td><td class="number">{latency.n}</td>{cells}</tr>'


def plot(timed: Sequence[CheckResult]) -> str:
    """A strip of samples for each check, as SVG. Every check has at least one sample."""
    samples = [sample for check in timed for sample in check.samples]
    low, high = _decades(samples)
    height = len(timed) * ROW + AXIS
    rows = "".join(_strip(check, place, low, high) for place, check in enumerate(timed))
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="Latency of each check, logarithmic">'
        f"{_axis(low, high, height)}{rows}</svg>"
    )


def _decades(samples: Sequence[int]) -> tuple[int, int]:
    """The powers of ten (ms) that hold every sample."""
    low, high = (log10(max(each, 1_000) / MILLISECOND) for each in (min(samples), max(samples)))
    return floor(low), max(ceil(high), floor(low) + 1)


def _x(milliseconds: float, low: int, high: int) -> float:
    share = (log10(max(milliseconds, 0.001)) - low) / (high - low)
    return LABEL + share * (WIDTH - LABEL - MARGIN)


def _axis(low: int, high: int, height: int) -> str:
    """Lines at the powers of ten; on a short axis also at two and five times them."""
    steps = (1, 2, 5) if high - low <= 2 else (1,)
    at = [step * 10.0**power for power in range(low, high) for step in steps]
    return "".join(_tick(milliseconds, low, high, height - AXIS) for milliseconds in (*at, 10.0**high))


def _tick(milliseconds: float, low: int, high: int, bottom: int) -> str:
    at = _x(milliseconds, low, high)
    text = f"{milliseconds / 1000:g} s" if milliseconds >= 1000 else f"{milliseconds:g} ms"
    return (
        f'<line x1="{at:.1f}" y1="0" x2="{at:.1f}" y2="{bottom}" stroke="#d9dfe5"/>'
        f'<text class="dim" x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{text}</text>'
    )


def _strip(check: CheckResult, place: int, low: int, high: int) -> str:
    middle = place * ROW + ROW / 2
    dots = "".join(
        f'<circle cx="{_x(sample / MILLISECOND, low, high):.1f}" cy="{middle}" r="3.5"/>'
        for sample in check.samples
    )
    latency = Latency.of(check.samples)
    marks = ((latency.p50, 10), (latency.p99, 6)) if latency else ()
    lines = "".join(_mark(_x(number, low, high), middle, reach) for number, reach in marks)
    return (
        f'<text x="0" y="{middle + 4}">{escape(check.title)}</text>'
        f'<g fill="#1f5fa8" fill-opacity="0.45">{dots}</g>{lines}'
    )


def _mark(at: float, middle: float, reach: int) -> str:
    top, bottom = middle - reach, middle + reach
    return f'<line x1="{at:.1f}" y1="{top}" x2="{at:.1f}" y2="{bottom}" stroke="#16202a" stroke-width="2"/>'
