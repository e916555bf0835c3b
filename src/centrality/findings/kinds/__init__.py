"""The kinds of findings: each is one file with a function `find`, and one line here."""

from collections.abc import Callable, Iterator

from centrality.findings.finding import Finding
from centrality.findings.kinds import (
    apart,
    changes,
    copy_groups,
    gaps,
    groups,
    labels,
    mismatches,
    placeholders,
    reading,
    scale,
    spellings,
    stretches,
    sums,
    texts,
    ties,
)
from centrality.findings.sheet import Sheet

# Where two findings are about the same rows and columns, the one of the earlier kind is told.
KINDS: tuple[Callable[[Sheet], Iterator[Finding]], ...] = (
    stretches.find,
    placeholders.find,
    sums.find,
    scale.find,
    texts.find,
    reading.find,
    gaps.find,
    ties.find,
    spellings.find,
    copy_groups.find,
    labels.find,
    mismatches.find,
    changes.find,
    groups.find,
    apart.find,
)
