"""Show findings as HTML: cards for a notebook, and a page of its own."""

from typing import TYPE_CHECKING

from centrality._internal import text

if TYPE_CHECKING:
    from centrality.findings.finding import Findings


def card_list(findings: "Findings") -> str:
    """Return the findings as a list, for a notebook."""
    rows = ([f"{item.count:,}" if item.count else "", str(item)] for item in findings.items)
    return text.joined([findings.verdict], "p") + text.table(["rows", "finding"], rows)


def page_of(findings: "Findings") -> str:
    """Return the findings as one page that needs nothing from outside."""
    return f"<!doctype html><meta charset='utf-8'><title>{text.text_of(findings.verdict)}</title>{card_list(findings)}"
