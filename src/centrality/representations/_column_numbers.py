"""Encode a column of numbers, stored as numbers or as text."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality._checks import tell
from centrality.network.scaling import Scaling
from centrality.representations._column_cells import FAR, Cells, ColumnEncoder, LeftOut, Mask
from centrality.scores.examine import wild_cells
from centrality.scores.magnitudes import without_rounding
from centrality.scores.number_format import number
from centrality.scores.report import about_wild_cells
from centrality.tables.columns import TableError, is_text
from centrality.tables.unreadable import NEW_GAP, NO_NUMBER
from centrality.tables.written_numbers import NumberWriting


@dataclass
class Numbers(ColumnEncoder):
    """Encodes numbers as rows of numbers are scaled; a missing one becomes the median, and is marked beside it."""

    missing: float  # the share of the training rows without a value
    writing: NumberWriting | None = None  # how they are written, if they are text
    clock: bool = False  # they are times of day, in seconds
    center: float = 0.0
    weight: float = 0.0  # 0: all values were equal, and only gaps count
    far: float = FAR  # where a cell is put that cannot be read: no nearer than any number of fitting
    kind = "numbers"
    _present: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)  # until they are scaled

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray, writing: NumberWriting | None = None) -> "Numbers | LeftOut":
        """Read the column; its scale is set by `scale_together`, once all columns of numbers are read."""
        x, wrong = _floats(name, values, writing)
        present = x[~np.isnan(x)]
        if len(present) == 0:
            return LeftOut("every value is missing")
        missing = 1 - (len(present) + int(wrong.sum())) / len(x)
        if (present == present[0]).all() and missing == 0:
            return LeftOut(f"every value is {present[0]:g}")
        if cells := int(wild_cells(present[:, None])[0]):
            tell(about_wild_cells(name, cells))
        return cls(missing, writing, pa.types.is_time(values.type), center=float(present[0]), _present=present)

    def numbers(self, name: str, values: pa.ChunkedArray) -> NDArray[np.float64]:
        """Return the values as numbers, NaN where one is missing or cannot be read."""
        return _floats(name, values, self.writing)[0]

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        x, wrong = _floats(name, values, self.writing)
        absent = np.isnan(x)
        gaps = absent & ~wrong
        z = self.scaling().scaled(np.where(absent, self.center, x)[:, None])[:, 0]
        faults = {NO_NUMBER: wrong}
        if self.missing:
            return Cells(np.column_stack([z, gaps - self.missing]), gaps, faults)
        return Cells(z[:, None], gaps, faults | {NEW_GAP: gaps})

    def far_off(self) -> NDArray[np.float64]:
        return np.array([self.far, 1 - self.missing] if self.missing else [self.far])

    def typical(self, z: NDArray[np.floating]) -> float | str | None:
        """Return the number that these encode, written as the column's are; None for a missing one."""
        if self.missing and z[1] > 0.5 - self.missing:
            return None
        point = self.scaling().unscaled(np.array([[z[0]]], dtype=np.float64)).item()
        x = float(without_rounding(point, 1 / self.weight if self.weight else 1.0))
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
        gaps = f"; {self.missing:.1%} missing: filled with the median and marked" if self.missing else ""
        how = " of seconds since midnight" if self.clock else ""
        how = how if self.writing is None else f" written as {self.writing.example()}"
        if self.weight == 0:
            return f"number{how}, always {number(self.center)}{gaps}"
        spread = 1 / self.weight
        return f"number{how}, scaled (median {number(self.center)}, spread {number(spread)}){gaps}"

    def take_values(self) -> NDArray[np.float64]:
        """Return the values of fitting, and forget them."""
        assert self._present is not None
        values, self._present = self._present, None
        return values

    def scaling(self) -> Scaling:
        """Return how the numbers are centred and weighed."""
        return replace(Scaling.none(1), center=np.array([self.center]), weight=np.array([self.weight]))


def scale_together(columns: Sequence[Numbers]) -> None:
    """Set the scales of a table's columns of numbers, by the rule for rows of numbers: like columns share a unit."""
    varying = [(column, values) for column in columns if (values := column.take_values()).min() < values.max()]
    if not varying:
        return
    scaling = Scaling.of_columns([values for _, values in varying])
    for (column, values), center, weight in zip(varying, scaling.center.tolist(), scaling.weight.tolist(), strict=True):
        column.center, column.weight = center, weight
        column.far = max(FAR, float(column.scaling().scaled(values[:, None]).max()))


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
