"""Put contributions into words: the features that pull each row down the most, as text or as a page.

`model/explain.py` computes contributions; nothing here needs the model or torch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._internal import text
from centrality._internal.text import number, shortened

LEAST = 0.005  # contributions of less than this are no reason
WIDEST = 90  # pixels, the bar of a contribution of one


@dataclass(frozen=True)
class Reason:
    """One feature of a row: its value, its typical value, and what it adds to centrality or takes from it.

    >>> from centrality.analysis.reasons import Reason
    >>> print(Reason("area", -0.5, value=940, typical=110))
    area 940, typically 110 (-0.50)
    """

    feature: str
    contribution: float
    value: object = None
    typical: object = None  # None: there is no saying what is typical of a text or a date

    def __str__(self) -> str:
        typically = "" if self.typical is None else f", typically {plain(self.typical)}"
        return f"{self.feature} {plain(self.value)}{typically} ({signed(self.contribution)})"


@dataclass(frozen=True, repr=False)
class Reasons:
    """Why rows are peripheral: for each the features that lower its centrality the most, the worst first.

    >>> from centrality.analysis.reasons import Reason, Reasons
    >>> reasons = Reasons(t=0.5, scores=[0.02], rows=[[Reason("area", -0.5, 940, 110)]], labels=["H7"])
    >>> print(reasons)
         H7  0.0200  area 940, typically 110 (-0.50)
    >>> reasons.short()
    ['area 940, typically 110 (-0.50)']
    """

    t: float
    scores: list[float]  # centrality at t
    rows: list[list[Reason]]
    labels: list[object] | None = None  # what the rows are called; None: by their number

    @classmethod
    def of(
        cls,
        t: float,
        scores: NDArray[np.float64],
        contributions: NDArray[np.float64],  # (n, columns)
        *,
        names: Sequence[str],
        values: Sequence[Sequence[object]] | NDArray[np.generic],
        typical: Sequence[Sequence[object] | NDArray[np.generic]],
        against: NDArray[np.intp],
        top: int,
    ) -> "Reasons":
        """Choose the `top` reasons of each row; `values` and each of the `typical` points are given column by column.

        `against` says with which of the points each row is compared.
        """
        order = np.argsort(contributions, axis=1, kind="stable")[:, :top]
        worst = np.take_along_axis(contributions, order, axis=1) <= -LEAST  # a NaN contribution is no reason
        rows = [
            [
                Reason(str(names[j]), float(contributions[i, j]), _item(values[j][i]), _item(typical[against[i]][j]))
                for j in chosen[bad].tolist()
            ]
            for i, (chosen, bad) in enumerate(zip(order, worst, strict=True))
        ]
        return cls(t, [float(score) for score in scores], rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> list[Reason]:
        return self.rows[row]

    def __iter__(self) -> Iterator[list[Reason]]:
        return iter(self.rows)

    def short(self) -> list[str]:
        """Return a line for each row: "area 940, typically 110 (-0.50); age 3, typically 40 (-0.03)"."""
        return ["; ".join(map(str, row)) for row in self.rows]

    def as_plain(self) -> list[list[dict[str, object]]]:
        """Return the reasons of each row as dicts, for JSON."""
        return [[asdict(reason) for reason in row] for row in self.rows]

    def __str__(self) -> str:
        return "\n".join(
            f"{label:>7}  {score:.4f}  {'; '.join(map(str, row)) or NOTHING}"
            for label, score, row in zip(self._labels(), self.scores, self.rows, strict=True)
        )

    def __repr__(self) -> str:
        return f"<Reasons for {len(self.rows):,} rows at t = {self.t:g}: print them>"

    def _repr_html_(self) -> str:
        bars_of_rows = [
            [text.line_of_bar(abs(reason.contribution), str(reason), WIDEST) for reason in row] for row in self.rows
        ]
        return text.table(
            ["row", f"centrality at t = {self.t:g}", "lowered by"],
            (
                [label, f"{score:.4f}", text.Markup("".join(bars) or NOTHING)]
                for label, score, bars in zip(self._labels(), self.scores, bars_of_rows, strict=True)
            ),
        )

    def _labels(self) -> list[str]:
        return [str(label) for label in (range(len(self.rows)) if self.labels is None else self.labels)]


NOTHING = "nothing in particular"


def signed(contribution: float) -> str:
    return f"{contribution:+.2f}" if abs(contribution) >= 0.01 else f"{contribution:+.1g}"


def plain(value: object) -> str:
    """Return a value as one short line."""
    return shortened(number(value))


def usual_of_kind(typical: object, low: object, high: object) -> object:
    """Write the usual values of a row's kind: a range from low to high for numbers, else the typical value.

    >>> usual_of_kind(450.0, 380.0, 520.0)
    '380 to 520 for its kind'
    """
    low = _item(low)
    high = _item(high)
    if isinstance(low, int | float) and isinstance(high, int | float):
        return f"{number(low)} to {number(high)} for its kind"
    return _item(typical)


def _item(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
