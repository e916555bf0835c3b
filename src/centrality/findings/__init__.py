"""What is wrong with these rows: `check` looks for every kind of fault and returns `Findings`, the worst first."""

from centrality.findings.finding import DrawnRows, Finding, Findings
from centrality.findings.search import check

__all__ = ["DrawnRows", "Finding", "Findings", "check"]
