"""A day's report as one page to print: style is inside, nothing is fetched."""

from __future__ import annotations

from html import escape
from typing import Final

from daemon.report.day import Report
from daemon.report.layout import Section, facts, sections, title, verdicts

STYLE: Final = """
:root { color-scheme: light; --ink: #16202a; --dim: #5b6875; --rule: #d9dfe5;
  --good: #12703c; --bad: #b3261e }
* { box-sizing: border-box }
body { margin: 0; background: #eef1f4; color: var(--ink);
  font: 14px/1.45 system-ui, "Liberation Sans", sans-serif }
main { max-width: 940px; margin: 24px auto; padding: 36px 44px; background: #fff;
  border: 1px solid var(--rule) }
header { display: flex; justify-content: space-between; align-items: flex-start; gap: 24px;
  border-bottom: 2px solid var(--ink); padding-bottom: 14px }
h1 { margin: 0; font-size: 23px; line-height: 1.25 }
h2 { margin: 0 0 4px; font-size: 15px; break-after: avoid }
.verdicts { display: grid; gap: 6px }
.verdict { padding: 5px 14px; border-radius: 4px; color: #fff; font-weight: 700; white-space: nowrap;
  text-align: center }
.good { background: var(--good) } .bad { background: var(--bad) }
dl { display: grid; grid-template-columns: 1fr 1.3fr 1.3fr; gap: 12px 28px; margin: 16px 0 0 }
dt { color: var(--dim); font-size: 12px } dd { margin: 0; overflow-wrap: anywhere }
.sections { display: grid; grid-template-columns: 1fr 1fr; gap: 26px 40px; margin-top: 26px }
section { min-width: 0 } section.wide { grid-column: 1 / -1 }
table { width: 100%; border-collapse: collapse }
th { text-align: left; color: var(--dim); font-weight: 400; font-size: 12px;
  border-bottom: 1px solid var(--ink) }
th, td { padding: 4px 12px 4px 0; vertical-align: top }
td { border-bottom: 1px solid var(--rule); overflow-wrap: break-word }
tr > :last-child { padding-right: 0 }
.whole { white-space: nowrap }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
.total tbody tr:last-child td { font-weight: 700; border-top: 1px solid var(--ink) }
p { margin: 0; color: var(--dim) }
.sign { display: grid; grid-template-columns: 1fr 1fr 1fr; gap: 32px; margin-top: 60px; break-inside: avoid }
.sign div { border-top: 1px solid var(--ink); padding-top: 4px; color: var(--dim); font-size: 12px }
footer { margin-top: 24px; color: var(--dim); font-size: 12px }
@media print { @page { size: A4; margin: 14mm }
  body { background: none; font-size: 11px } main { margin: 0; padding: 0; border: 0; max-width: none }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact }
  tr { break-inside: avoid } thead { display: table-header-group } }
"""
# By this a page of ours is known.
BEGINS: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="feltd report">"""
NARROW: Final = 2  # columns: such a table shares its line with another one


def page(report: Report) -> str:
    """The whole document, UTF-8. Times are the house's, UTC beside them."""
    marks = "".join(
        f'<div class="verdict {"good" if good else "bad"}">{escape(words)}</div>'
        for words, good in verdicts(report)
    )
    told = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts(report)
    )
    return f"""{BEGINS}<title>{escape(title(report))}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>
<body><main>
<header><h1>{escape(title(report))}</h1><div class="verdicts">{marks}</div></header>
<dl>{told}</dl>
<div class="sections">
{"".join(map(_section, sections(report)))}</div>
<div class="sign"><div>Pit supervisor</div><div>Auditor</div><div>Date</div></div>
<footer>Amounts in currency units with two decimals. Times are local, UTC in brackets.</footer>
</main></body></html>
"""


def _section(section: Section) -> str:
    wide = "" if section.rows and len(section.heads) == NARROW else ' class="wide"'
    return f"<section{wide}><h2>{escape(section.title)}</h2>{_table(section)}</section>\n"


def _table(section: Section) -> str:
    if not section.rows:
        return f"<p>{escape(section.empty)}</p>"
    heads = "".join(_cell("th", text, place, section) for place, text in enumerate(section.heads))
    rows = "".join(
        f"<tr>{''.join(_cell('td', text, place, section) for place, text in enumerate(row))}</tr>"
        for row in section.rows
    )
    kind = ' class="total"' if section.total else ""
    return f"<table{kind}><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(tag: str, text: str, place: int, section: Section) -> str:
    kind = "number" if place in section.numbers else "whole" if place in section.whole else "text"
    return f'<{tag} class="{kind}">{escape(text)}</{tag}>'
