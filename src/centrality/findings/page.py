"""Show findings as HTML: cards in a notebook, and a page that needs nothing from outside."""

from collections.abc import Sequence
from html import escape
from math import log10
from typing import TYPE_CHECKING

from centrality.findings.finding import cell_words, how_odd

if TYPE_CHECKING:
    from centrality.findings.finding import Finding, Findings

LONGEST = 6.0  # the logarithm of the severity whose bar is full: one in a million
CARDS = 40  # of a page
COLUMNS = 7  # of the table of examples: those of the finding, then the first ones
STYLE = """
.findings{--ink:#1d1d1f;--soft:#6b6b70;--line:#e4e1da;--paper:#fff;--ground:#fbfaf7;--red:#c2183c;--tint:#fbe9ec;
color:var(--ink);background:var(--ground);font:16px/1.5 system-ui,sans-serif}
@media(prefers-color-scheme:dark){.findings{--ink:#ececee;--soft:#a2a2a9;--line:#3a3a40;--paper:#222226;
--ground:#18181b;--red:#ff6b81;--tint:#47252c}}
.findings *{box-sizing:border-box}.findings main{max-width:56rem;margin:0 auto;padding:2rem 1rem 4rem}
.findings h1{font-size:1.6rem;line-height:1.25;margin:.2rem 0 1.2rem}.findings h2{font-size:1.05rem;margin:2rem 0 .6rem}
.findings .file{color:var(--soft);margin:0}
.findings article{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:.9rem 1.1rem;
margin:.6rem 0;display:grid;grid-template-columns:5.2rem 1fr 8rem;gap:.2rem 1rem}
.findings .count{text-align:right;font-size:1.35rem;font-weight:650;line-height:1.2}
.findings .count small{display:block;font-size:.8rem;font-weight:400;color:var(--soft)}
.findings h3{font-size:1.05rem;margin:0;overflow-wrap:anywhere}.findings p{margin:.15rem 0;overflow-wrap:anywhere}
.findings .why,.findings .odd{color:var(--soft)}.findings .odd{font-size:.8rem;text-align:right}
.findings .bar{height:.5rem;border-radius:.25rem;background:var(--line);margin:.35rem 0}
.findings .bar i{display:block;height:100%;border-radius:.25rem;background:var(--red)}
.findings .rows{grid-column:2/-1;overflow-x:auto;margin-top:.5rem}
.findings table{border-collapse:collapse;font-size:.85rem;width:100%}
.findings th,.findings td{text-align:left;padding:.2rem .6rem .2rem 0;border-bottom:1px solid var(--line);
max-width:16rem;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.findings th{font-weight:600;color:var(--soft)}.findings td.at{background:var(--tint);padding-left:.4rem}
.findings tr.usual td{color:var(--soft);font-style:italic}
@media(max-width:40rem){.findings article{grid-template-columns:4rem 1fr}.findings .side{grid-column:2}
.findings .odd{text-align:left}.findings .rows{grid-column:1/-1}}
"""


def page_of(findings: "Findings", title: str = "") -> str:
    """Return the findings as one page."""
    name = escape(title or "Findings")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}: what is wrong</title><style>body{{margin:0}}{STYLE}</style></head>"
        f'<body class="findings"><main><p class="file">{name}</p>{_cards(findings, "h1")}</main></body></html>\n'
    )


def card_list(findings: "Findings") -> str:
    """Return the findings as cards, for a notebook."""
    return f'<style>{STYLE}</style><div class="findings"><main>{_cards(findings, "h2")}</main></div>'


def _cards(findings: "Findings", heading: str) -> str:
    parts = [f"<{heading}>{escape(findings.verdict)}</{heading}>"]
    with_rows = [finding for finding in findings.items if finding.count]
    for name, group in (
        ("Likely faults", [finding for finding in with_rows if not finding.mild]),
        ("To check", [finding for finding in with_rows if finding.mild]),
        ("Notes", [finding for finding in findings.items if not finding.count]),
    ):
        if group:
            parts.append(f"<h2>{name}</h2>")
            parts += [_card(finding, findings) for finding in group[:CARDS]]
            if len(group) > CARDS:
                parts.append(f"<p>and {len(group) - CARDS} more</p>")
    return "".join(parts)


def _card(finding: "Finding", findings: "Findings") -> str:
    noun = "row" if finding.count == 1 else "rows"
    count = f"{finding.count:,}<small>{noun}</small>" if finding.count else ""
    share = 100 * min(1.0, log10(max(finding.severity, 1.0)) / LONGEST)
    odd = how_odd(finding.severity)
    side = f'<div class="bar"><i style="width:{share:.0f}%"></i></div><p class="odd">{escape(odd)}</p>' if odd else ""
    advice = f"<p>{escape(finding.advice)}</p>" if finding.advice else ""
    examples = ""
    if finding.examples:  # as a table beside a typical row: the columns of the finding, then the first others
        all_names = findings.data.column_names
        first = [name for name in finding.columns if name in all_names]
        others = [name for name in all_names if name not in first]
        names = [*first, *others][: max(COLUMNS, min(len(first), 2 * COLUMNS))]
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("row", *names))
        body = [_row(findings, row, names, finding.columns, f"{row:,}") for row in finding.examples]
        if finding.typical is not None:
            typical_row = _row(findings, finding.typical, names, (), f"typical: {finding.typical:,}")
            body.append(typical_row.replace("<tr>", '<tr class="usual">', 1))
        examples = (
            f'<div class="rows" tabindex="0" role="region" aria-label="Examples: {escape(finding.sentence)}">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
        )
    return (
        f'<article><div class="count">{count}</div><div><h3>{escape(finding.sentence)}</h3>'
        f'<p class="why">{escape(finding.reason)}</p>{advice}</div><div class="side">{side}</div>'
        f"{examples}</article>"
    )


def _row(findings: "Findings", row: int, names: Sequence[str], marked: Sequence[str], heading: str) -> str:
    cells = "".join(
        f"<td{' class=at' if name in marked else ''}>{escape(cell_words(findings.data, name, row))}</td>"
        for name in names
    )
    return f"<tr><td>{heading}</td>{cells}</tr>"
