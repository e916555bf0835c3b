"""Sum up findings in one sentence: how many faults, how much to check, what share of the rows is likely wrong."""

from collections.abc import Sequence

import numpy as np

from centrality.findings.finding import Finding

LEVEL = 0.975  # of each end of the interval


def verdict_of(findings: Sequence[Finding], rows: int) -> str:
    """Say what was found, the answer first."""
    faults = [finding for finding in findings if finding.count and not finding.mild]
    checks = [finding for finding in findings if finding.count and finding.mild]
    notes = len(findings) - len(faults) - len(checks)
    if not faults and not checks:
        sentence = f"{rows:,} rows: nothing wrong was found"
        return f"{sentence}, {_counted(notes, 'note')}." if notes else f"{sentence}."
    start = "mostly fine. " if not faults or faults[0].count < rows / 10 else ""
    parts = [_counted(len(faults), "likely fault")] if faults else []
    parts += [_counted(len(checks), "thing", " to check")] if checks else []
    return f"{rows:,} rows: {start}{_sentence(', '.join(parts))} {share_wrong(faults, rows)}"


def share_wrong(faults: Sequence[Finding], rows: int) -> str:
    """Say what share of the rows is likely wrong, as an interval.

    A fault that one in s ordinary rows has is expected in rows / s of them, by Poisson's law in some more; the others
    that have it are wrong. Where the severity is only how rare the fault is here, that leaves none: it cannot be told.
    """
    from scipy.stats import poisson

    if not faults:
        return "No row is likely wrong."
    fewest, expected = 0, 0.0
    rows_of_faults = np.empty(0, dtype=np.intp)
    for finding in sorted(faults, key=lambda finding: -finding.severity):
        rows_of_faults = np.union1d(rows_of_faults, finding.rows)
        expected += rows / finding.severity
        fewest = max(fewest, len(rows_of_faults) - int(poisson.ppf(LEVEL, expected)))
    upper = len(rows_of_faults)
    if fewest <= 0:
        return f"What share of the rows is wrong cannot be told: up to {_per_cent(upper / rows)} may be."
    if fewest == upper:
        return f"{upper:,} row{' is' if upper == 1 else 's are'} likely wrong."
    return f"Of the rows, {_per_cent(fewest / rows)} to {_per_cent(upper / rows)} are likely wrong."


def _per_cent(share: float) -> str:
    """Write a share with two digits.

    >>> _per_cent(0.00491), _per_cent(0.234)
    ('0.49%', '23%')
    """
    return f"{100 * share:.2g}%"


def _counted(count: int, noun: str, after: str = "") -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}{after}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
