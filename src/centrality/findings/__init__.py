"""What is wrong with these rows: `check` looks for every kind of fault and returns `Findings`, the worst first."""

from centrality.findings.finding import Finding, Findings
from centrality.findings.search import check

__all__ = ["Finding", "Findings", "check"]
