"""Count, column by column, the cells that a model could not read, or whose value never occurred in fitting.

Such a cell is never taken for a typical one: it counts against its row, is reported, and where a column has too many
of them the job stops, since the column is then no longer what the model was fitted on.
"""

import warnings
from collections import Counter
from dataclasses import dataclass, field

from centrality._checks import InputError
from centrality.tables.columns import DataNote, TableError

MOST = 0.05  # the share of a column's rows beyond which a job stops, unless told otherwise
NEVER_TOO_MANY = 1  # so few rows prove nothing about a column
ENOUGH_ROWS = 10_000  # after so many rows, a column that fails stops the job without waiting for the end

# What can be wrong with a cell, in the words of a message.
NO_DATE, NO_NUMBER = "cannot be read as a date", "cannot be read as a number"
NEW_GAP, NEW_VALUE = "is missing, unlike in fitting", "did not occur in fitting"
NEW_KIND = "is a context of which no such kind was seen in fitting"  # of the columns that are given, together
COUNTS_AGAINST, MEASURED_BY_ALL = "it counts against the row", "the row is measured by what all kinds have in common"


@dataclass(frozen=True)
class Unreadable:
    """Hold the number of rows read, and for each column the number of cells with each fault."""

    rows: int = 0
    cells: dict[str, dict[str, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.cells)

    def __add__(self, other: "Unreadable") -> "Unreadable":
        names = {**self.cells, **other.cells}
        both = {name: dict(Counter(self.cells.get(name, {})) + Counter(other.cells.get(name, {}))) for name in names}
        return Unreadable(self.rows + other.rows, both)

    def count(self) -> int:
        """Return the number of such cells in all columns."""
        return sum(sum(faults.values()) for faults in self.cells.values())

    def notes(self) -> list[str]:
        """Say what was wrong, a line for each column and fault."""
        return [
            f"Column {name!r}: in {count:,} of {self.rows:,} rows the value {fault}; "
            f"{MEASURED_BY_ALL if fault == NEW_KIND else COUNTS_AGAINST}."
            for name, faults in self.cells.items()
            for fault, count in faults.items()
        ]

    def warn(self) -> None:
        """Warn of what was wrong, in the name of whoever called the function that calls this."""
        for note in self.notes():
            warnings.warn(note, DataNote, stacklevel=3)

    def require_few(self, most: float) -> None:
        """Raise if the cells of a column failed in more than this share of the rows, and in more than one.

        New kinds are no failure: there may be many of them.
        """
        for name, all_faults in self.cells.items():
            faults = {fault: count for fault, count in all_faults.items() if fault != NEW_KIND}
            failed = sum(faults.values())
            if failed > max(most * self.rows, NEVER_TOO_MANY):
                said = ", ".join(f"in {count:,} the value {fault}" for fault, count in faults.items())
                raise TableError(
                    f"Column {name!r} is not what the model was fitted on: of {self.rows:,} rows, {said}. "
                    f"At most {most:.0%} were wanted. Correct the column, or let such cells count against their rows: "
                    "--unreadable 1 (in Python: Table(unreadable=1))."
                )


def checked_share(most: object) -> float:
    """Return the largest share of a column's cells that may fail; raise if it is not a share."""
    if isinstance(most, bool) or not isinstance(most, int | float) or not 0 <= most <= 1:
        raise InputError(f"unreadable must be a share of the rows from 0 to 1, got {most!r}.")
    return float(most)
