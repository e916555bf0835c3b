"""What a check returns: findings as plain data, which print themselves and become a frame, a dict or a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._internal.text import number, shortened

SCREEN = 10  # findings printed; people read no more at once
EXAMPLES = 5  # rows of a finding that are printed
ALONE = 20  # rows that are odd without a common cause, which are looked at one by one
MILD = 100.0  # what one in so many ordinary rows has is worth a look, no more
LEVEL = 0.975  # of each end of the interval of the share that is wrong


@dataclass(frozen=True, eq=False)
class Finding:
    """One thing that is wrong, or may be: which rows, why, how bad, and what to do.

    >>> import numpy as np
    >>> from centrality.findings import Finding
    >>> rows = np.array([3, 8])
    >>> print(Finding("placeholder", "gain is exactly 99999", "the next highest value is 41310", ("gain",), rows, 5e3))
    2 rows: gain is exactly 99999 (the next highest value is 41310; at most one in 5,000 ordinary rows is as odd)
    """

    kind: str  # what sort of fault it is: "placeholder", "copies"
    sentence: str  # what holds of the rows: "capital_gain is exactly 99999"
    reason: str  # why that may be wrong
    columns: tuple[str, ...]
    rows: NDArray[np.intp]  # their positions, from 0; none where it is about columns or the whole file
    severity: float = 1.0  # one in how many ordinary rows is as odd
    examples: tuple[int, ...] = ()  # at most five of the rows
    typical: int | None = None  # a typical row, to set beside them
    advice: str = ""  # what to do
    certificate: str = ""  # how many of the rows are odd at least, by a model of other rows; empty if none can say

    @property
    def count(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    @property
    def weight(self) -> float:
        """Return severity times rows: among so many ordinary rows, as many as odd as these would be expected."""
        return self.severity * self.count

    @property
    def mild(self) -> bool:
        """Say whether one in a hundred ordinary rows is as odd: worth a look, no more."""
        return self.severity < MILD

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, for JSON."""
        return {
            "kind": self.kind,
            "sentence": self.sentence,
            "reason": self.reason,
            "columns": list(self.columns),
            "count": self.count,
            "rows": self.rows.tolist(),
            "severity": self.severity,
            "examples": list(self.examples),
            "typical": self.typical,
            "advice": self.advice,
            "certificate": self.certificate,
        }

    def __str__(self) -> str:
        where = f"{self.count:,} row{'' if self.count == 1 else 's'}: " if self.count else ""
        return f"{where}{self.sentence} ({'; '.join(filter(None, [self.reason, how_odd(self.severity)]))})"


def how_odd(severity: float) -> str:
    """Say a severity in words; an empty text where nothing is odd.

    >>> how_odd(1234.5)
    'at most one in 1,200 ordinary rows is as odd'
    """
    if severity < 2:
        return ""
    unit = int(10 ** max(0, len(str(int(severity))) - 2))  # a severity is no more exact than two digits
    return f"at most one in {round(severity / unit) * unit:,} ordinary rows is as odd"


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Says that the rows looked at were drawn at random from more rows, and where they lie.

    >>> from centrality.findings import DrawnRows
    >>> DrawnRows(12_000_000).likely(count=30, drawn=200_000)
    (1214, 2570)
    """

    total: int  # rows that they were drawn from
    places: pa.Table | None = None  # the file of each row, and its number there, from 0; None: it is not known

    def likely(self, count: int, drawn: int) -> tuple[int, int]:
        """Return how many of all rows are like `count` of those drawn: a 95% interval (Clopper and Pearson)."""
        from scipy.stats import beta

        if drawn >= self.total:
            return count, count
        low = beta.ppf(1 - LEVEL, count, drawn - count + 1) if count else 0.0
        high = beta.ppf(LEVEL, count + 1, drawn - count) if count < drawn else 1.0
        return max(count, int(low * self.total)), min(self.total - drawn + count, int(np.ceil(high * self.total)))


@dataclass(frozen=True, eq=False)
class Findings:
    """What a check found: print it, or take the findings one by one, the worst first.

    `cells` is a frame like the data that says how doubtful each cell is: one in how many ordinary rows has a cell as
    odd, given the rest of its row; 0 where nothing is wrong.

    >>> from centrality import check, datasets
    >>> findings = check(datasets.houses())
    >>> findings[0].columns, findings[0].rows.tolist()
    (('area',), [1195, 1199])
    >>> len(findings.to_frame())
    5
    """

    verdict: str  # one sentence
    items: tuple[Finding, ...]  # worst first
    cells: Any  # a frame of the kind of the data
    data: pa.Table  # the rows, for examples
    causes: tuple[Finding, ...] = ()  # of the oddest rows, group by group, whether or not that is more than usual
    drawn: DrawnRows | None = None  # None: these are all rows

    @property
    def looks(self) -> int:
        """Return how many rows to look at to settle the oddest ones: five of each cause, twenty of those without."""
        return sum(min(cause.count, EXAMPLES if cause.columns else ALONE) for cause in self.causes)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.items)

    def __getitem__(self, place: int) -> Finding:
        return self.items[place]

    def at_least(self, severity: float) -> tuple[Finding, ...]:
        """Return the findings that are at least so severe."""
        return tuple(finding for finding in self.items if finding.severity >= severity)

    def in_all_rows(self, finding: Finding) -> tuple[int, int]:
        """Return how many rows a finding has: of drawn rows, a 95% interval of how many of all rows are like these."""
        if self.drawn is None:
            return finding.count, finding.count
        return self.drawn.likely(finding.count, self.data.num_rows)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the cells as plain values, for JSON."""
        plain = {
            "verdict": self.verdict,
            "rows": self.data.num_rows,
            "findings": [finding.as_dict() for finding in self.items],
            "causes": [cause.as_dict() for cause in self.causes],
            "looks": self.looks,
        }
        if self.drawn is not None:
            plain["drawn_from"] = self.drawn.total
            for entry, finding in zip(plain["findings"], self.items, strict=True):
                entry["in_all_rows"] = list(self.in_all_rows(finding)) if finding.kind != "copies" else None
        return plain

    def to_frame(self) -> Any:
        """Return the findings as a frame of the kind of the data: kind, sentence, reason, columns, count, and so on."""
        entries = [finding.as_dict() for finding in self.items]
        lists = {name: [", ".join(map(str, entry[name])) for entry in entries] for name in ("columns", "examples")}
        table = pa.table(
            {
                "kind": pa.array([entry["kind"] for entry in entries], pa.string()),
                "sentence": pa.array([entry["sentence"] for entry in entries], pa.string()),
                "reason": pa.array([entry["reason"] for entry in entries], pa.string()),
                "columns": pa.array(lists["columns"], pa.string()),
                "count": pa.array([entry["count"] for entry in entries], pa.int64()),
                "severity": pa.array([entry["severity"] for entry in entries], pa.float64()),
                "examples": pa.array(lists["examples"], pa.string()),
                "advice": pa.array([entry["advice"] for entry in entries], pa.string()),
            }
        )
        return as_kind_of(table, self.cells)

    def marked_rows(self) -> pa.Table:
        """Return the rows of all findings, finding by finding, with what was found in front of their cells."""
        rows = np.concatenate([np.empty(0, dtype=np.intp), *(finding.rows for finding in self.items)])
        sizes = [finding.count for finding in self.items]
        new = {
            "finding": np.repeat(np.array([finding.sentence for finding in self.items], dtype=object), sizes),
            "reason": np.repeat(np.array([finding.reason for finding in self.items], dtype=object), sizes),
            "severity": np.repeat(np.array([finding.severity for finding in self.items], dtype=np.float64), sizes),
            "row": rows,
        }
        if self.drawn is not None and self.drawn.places is not None:
            places = self.drawn.places.take(rows)
            new |= {name: places[name].to_numpy() for name in places.column_names}
        marked = tables.with_columns(self.data.take(rows), new)
        return marked.select([*new, *(name for name in marked.column_names if name not in new)])

    def to_html(self, path: str | PathLike[str] | None = None, *, title: str = "") -> str:
        """Return the report as one page that needs nothing from outside; with a path, write it there, too."""
        from centrality._internal.files import write_atomically
        from centrality.findings.page import page_of

        page = page_of(self, title)
        if path is not None:
            with write_atomically(path) as beside:
                beside.write_text(page, encoding="utf-8")
        return page

    def _repr_html_(self) -> str:
        from centrality.findings.page import card_list

        return card_list(self)

    def __str__(self) -> str:
        lines = [self.verdict]
        if self.drawn is not None:
            drawn = f"These {self.data.num_rows:,} rows were drawn at random from {self.drawn.total:,}"
            lines.append(f"{drawn}, and are counted from 0.")
        for finding in self.items[:SCREEN]:
            lines += ["", *lines_of(finding, self.data)]
            if self.drawn is None or not finding.count:
                continue
            low, high = self.in_all_rows(finding)
            like_these = f"Of all rows, {low:,} to {high:,} are likely such rows."
            rare = "Of all rows, a larger share are copies: two copies of a row are seldom both drawn."
            lines.append(f"{'':14}{rare if finding.kind == 'copies' else like_these}")
        if len(self.items) > SCREEN:
            lines += ["", f"and {len(self.items) - SCREEN} more: to_frame() has them all."]
        if self.causes and (odd := sum(cause.count for cause in self.causes)):
            look = "look at each" if self.looks == odd else f"it is enough to look at {self.looks} of them"
            count = sum(bool(cause.columns) for cause in self.causes)
            causes = f"{count} cause{'' if count == 1 else 's'}" if count else "no common cause"
            lines += ["", f"The {odd:,} oddest rows have {causes}: {look}."]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Findings: {self.verdict} print them>"


def lines_of(finding: Finding, data: pa.Table) -> list[str]:
    """Return a finding as lines for a terminal: how many rows, what holds, why, such as which rows, what to do."""
    count = f"{finding.count:,} row{'' if finding.count == 1 else 's'}" if finding.count else "note"
    below = [". ".join(filter(None, [_capital(finding.reason), _capital(how_odd(finding.severity))]))]
    if finding.examples:
        below.append(f"Such as {example_words(finding, data)}")
    if finding.certificate:
        below.append(finding.certificate)
    if finding.advice:
        below.append(f"→ {finding.advice}")
    return [
        f"{count:>12}  {finding.sentence}",
        *(f"{'':14}{line}" for line in below if line),
    ]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def example_words(finding: Finding, data: pa.Table) -> str:
    """Name the example rows with their cells in the finding's columns.

    >>> import numpy as np, pyarrow as pa
    >>> finding = Finding("x", "", "", ("a",), np.array([1]), examples=(1,))
    >>> example_words(finding, pa.table({"a": [1, 2]}))
    'row 1 (a 2)'
    """
    few = finding.columns[:2]
    words = []
    for row in finding.examples[:3]:
        cells = ", ".join(f"{name} {cell_words(data, name, row)}" for name in few if name in data.column_names)
        words.append(f"row {row:,} ({cells})" if cells else f"row {row:,}")
    return ", ".join(words)


def cell_words(data: pa.Table, name: str, row: int) -> str:
    """Return a cell as one short line."""
    return shortened(number(data[name][row].as_py()))


def as_kind_of(table: pa.Table, frame: Any) -> Any:
    """Return an Arrow table as a frame of the library of another frame."""
    library = nw.from_native(frame, eager_only=True).implementation
    if library.is_pyarrow():
        return table
    return nw.from_arrow(table, backend=library).to_native()


def verdict_of(findings: Sequence[Finding], rows: int) -> str:
    """Sum up findings in a line, the answer first: how many faults, how much to check, how many rows are wrong."""
    faults = [finding for finding in findings if finding.count and not finding.mild]
    checks = sum(bool(finding.count and finding.mild) for finding in findings)
    notes = len(findings) - len(faults) - checks
    if not faults and not checks:
        counted = f", {notes} note{'' if notes == 1 else 's'}" if notes else ""
        return f"{rows:,} rows: nothing wrong was found{counted}."
    parts = []
    if not faults or faults[0].count < rows / 10:
        parts.append("mostly fine.")
    if faults:
        parts.append(f"{len(faults)} likely fault{'' if len(faults) == 1 else 's'}{',' if checks else '.'}")
    if checks:
        parts.append(f"{checks} thing{'' if checks == 1 else 's'} to check.")
    return f"{rows:,} rows: {' '.join(parts)} {count_wrong(faults, rows)}"


def count_wrong(faults: Sequence[Finding], rows: int) -> str:
    """Say how many rows are likely wrong, as an interval.

    A fault that one in s ordinary rows has is expected in rows / s of them, by Poisson's law in some more; the others
    that have it are wrong. Where the severity is only how rare the fault is here, that leaves none: it cannot be told.
    """
    from scipy.stats import poisson

    if not faults:
        return "No row is likely wrong."
    fewest = 0
    expected = 0.0
    rows_of_faults = np.empty(0, dtype=np.intp)
    for finding in sorted(faults, key=lambda finding: -finding.severity):
        rows_of_faults = np.union1d(rows_of_faults, finding.rows)
        expected += rows / finding.severity
        fewest = max(fewest, len(rows_of_faults) - int(poisson.ppf(LEVEL, expected)))
    upper = len(rows_of_faults)
    if fewest <= 0:
        return f"How many rows are wrong cannot be told: up to {upper:,} may be."
    if fewest == upper:
        return f"{upper:,} row{' is' if upper == 1 else 's are'} likely wrong."
    return f"{fewest:,} to {upper:,} rows are likely wrong."
