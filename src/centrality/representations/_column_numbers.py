"""Encode a column of numbers, stored as numbers or as text."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality._checks import tell
from centrality.network.scaling import LIMIT
from centrality.representations._column_cells import FAR, Cells, ColumnEncoder, LeftOut, Mask
from centrality.scores.examine import wild_cells
from centrality.scores.magnitudes import mean_and_deviation, without_rounding
from centrality.scores.number_format import number
from centrality.scores.report import about_wild_cells
from centrality.tables.columns import TableError, is_text
from centrality.tables.unreadable import NEW_GAP, NO_NUMBER
from centrality.tables.written_numbers import NumberWriting

KNEE = 10.0  # deviations beyond which numbers are bent, and cells are drawn in before the deviation is taken
TAILS, SPREAD_OF_NORMAL = (0.05, 0.5, 0.95), 0.9117  # quantiles; what a normal column cut at the outer ones has left


def _drawn_in(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Clip the values at the knee: ten deviations from the median, by the deviation of the middle nine tenths."""
    low, median, high = np.quantile(values, TAILS)
    reach = KNEE * mean_and_deviation(np.clip(values, low, high))[1] / SPREAD_OF_NORMAL
    return values if reach == 0 else np.clip(values, median - reach, median + reach)


@dataclass
class Numbers(ColumnEncoder):
    """Encodes numbers as (x - mean) / deviation; a missing one becomes the mean and is marked in a column of its own.

    Mean and deviation are taken with far cells clipped, and far cells are bent like a logarithm: so no wild cell
    decides how the others are scaled, or lies where no network was trained.
    """

    mean: float
    deviation: float
    missing: float  # the share of the training rows without a value
    writing: NumberWriting | None = None  # how they are written, if they are text
    clock: bool = False  # they are times of day, in seconds
    kind = "numbers"

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray, writing: NumberWriting | None = None) -> "Numbers | LeftOut":
        x, wrong = _floats(name, values, writing)
        present = x[~np.isnan(x)]
        if len(present) == 0:
            return LeftOut("every value is missing")
        missing = 1 - (len(present) + int(wrong.sum())) / len(x)
        if (present == present[0]).all() and missing == 0:
            return LeftOut(f"every value is {present[0]:g}")
        if cells := int(wild_cells(present[:, None])[0]):
            tell(about_wild_cells(name, cells))
        mean, deviation = map(float, mean_and_deviation(_drawn_in(present)))
        return cls(mean, deviation or 1.0, missing, writing, pa.types.is_time(values.type))

    def numbers(self, name: str, values: pa.ChunkedArray) -> NDArray[np.float64]:
        """Return the values as numbers, NaN where one is missing or cannot be read."""
        return _floats(name, values, self.writing)[0]

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        x, wrong = _floats(name, values, self.writing)
        absent = np.isnan(x)
        gaps = absent & ~wrong
        with np.errstate(over="ignore"):  # halves, since their difference is finite
            z = np.where(absent, 0.0, (x / 2 - self.mean / 2) / self.deviation * 2)
        z = np.clip(z, -LIMIT, LIMIT)
        far = np.abs(z) > KNEE
        z[far] = np.sign(z[far]) * (KNEE + np.log1p(np.abs(z[far]) - KNEE))
        faults = {NO_NUMBER: wrong}
        if self.missing:
            return Cells(np.column_stack([z, gaps - self.missing]), gaps, faults)
        return Cells(z[:, None], gaps, faults | {NEW_GAP: gaps})

    def far_off(self) -> NDArray[np.float64]:
        return np.array([FAR, 1 - self.missing] if self.missing else [FAR])

    def typical(self, z: NDArray[np.floating]) -> float | str | None:
        """Return the number that these encode, written as the column's are; None for a missing one."""
        if self.missing and z[1] > 0.5 - self.missing:
            return None
        size = abs(float(z[0]))
        size = KNEE + float(np.expm1(min(size - KNEE, 700.0))) if size > KNEE else size
        x = float(without_rounding(self.mean + self.deviation * float(np.copysign(size, z[0])), self.deviation))
        if self.clock:
            return f"{int(x) // 3600:02d}:{int(x) // 60 % 60:02d}"
        return x if self.writing is None else self.writing.write(x)

    def type(self) -> pa.DataType:
        if self.clock:
            return pa.time32("s")
        return pa.float64() if self.writing is None else pa.string()

    def names(self, name: str) -> list[str]:
        return [name, f"{name} missing"] if self.missing else [name]

    def describe(self) -> str:
        gaps = f"; {self.missing:.1%} missing: filled with the mean and marked" if self.missing else ""
        how = " of seconds since midnight" if self.clock else ""
        how = how if self.writing is None else f" written as {self.writing.example()}"
        return f"number{how}, standardised (mean {number(self.mean)}, deviation {number(self.deviation)}){gaps}"


def _floats(
    name: str, values: pa.ChunkedArray, writing: NumberWriting | None
) -> tuple[NDArray[np.float64], Mask]:  # (n,), (n,)
    """Return the values as numbers, NaN where missing, and which cells are not numbers; raise if one is infinite."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if is_text(values.type):
        return (writing or NumberWriting()).read(values.cast(pa.string()))
    if pa.types.is_time(values.type):
        values = pc.divide(values.cast(pa.time64("us")).cast(pa.int64()).cast(pa.float64()), 1e6)
    try:
        x = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(
            f"Column {name!r} held numbers when the model was fitted, here it is {values.type}: {error}"
        ) from None
    if np.isinf(x).any():
        raise TableError(f"Column {name!r}: finite numbers were wanted, got infinity in {int(np.isinf(x).sum())} rows.")
    return x, np.zeros(len(x), dtype=bool)
