"""Describe the smallest corrections of odd rows: which values to change so that a row is no longer odd."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from centrality.scores.number_format import number


@dataclass(frozen=True)
class Correction:
    """Hold the smallest correction found for one row: its columns, their values, and the values that would be enough.

    >>> from centrality.scores.corrections import Correction
    >>> str(Correction(3, ("price",), (-5.0,), (12.0,), 0.02, 0.31, enough=True))
    'row 3: price 12 instead of -5 (centrality 0.02, then 0.31)'
    """

    row: int
    columns: tuple[str, ...]  # none: the row is not odd
    before: tuple[object, ...]
    after: tuple[object, ...]
    centrality: float
    corrected: float  # the centrality it would then have
    enough: bool  # False: so many columns are odd that changing a few does not help

    def __str__(self) -> str:
        if not self.columns:
            return f"row {self.row:,}: not odd" if self.enough else f"row {self.row:,}: no correction found"
        changes = zip(self.columns, self.before, self.after, strict=True)
        text = ", ".join(_change(*change) for change in changes)
        rest = "" if self.enough else "; still odd"
        return f"row {self.row:,}: {text} (centrality {self.centrality:.2f}, then {self.corrected:.2f}{rest})"


def _change(name: str, old: object, new: object) -> str:
    """Write one change of a cell; for a text no new value is known.

    >>> _change("note", "asdf", None)
    'note other than asdf'
    """
    return f"{name} other than {number(old)}" if new is None else f"{name} {number(new)} instead of {number(old)}"


@dataclass(frozen=True)
class Corrections(Sequence[Correction]):
    """Hold the corrections of several rows, one for each: print them, or take them one by one.

    >>> from centrality.scores.corrections import Correction, Corrections
    >>> one = Correction(3, ("price",), (-5.0,), (12.0,), 0.02, 0.31, enough=True)
    >>> print(Corrections((one, Correction(4, (), (), (), 0.6, 0.6, enough=True))))
    row 3: price 12 instead of -5 (centrality 0.02, then 0.31)
    row 4: not odd
    """

    rows: tuple[Correction, ...]

    @overload
    def __getitem__(self, index: int) -> Correction: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Correction]: ...
    def __getitem__(self, index: int | slice) -> Correction | Sequence[Correction]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return "\n".join(map(str, self.rows))
