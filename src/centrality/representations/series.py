"""Represent time series by the 22 features of catch22 for each channel."""

from collections.abc import Sequence
from typing import Any, Self, cast

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from centrality._internal.checks import InputError, optional, whole_number
from centrality._internal.input import unchanged_on_failure
from centrality._internal.model_file import Arrays
from centrality.representations.base import ItemsLike, Options, Representation, State, as_arrow, is_frame
from centrality.tables.columns import TableError, numbers, require

FEATURES = ("catch22", "catch24")
SHORTEST = 10  # values below which the features mean nothing
TINY = 1e-100  # values nearer to zero count as zero: pycatch22 divides by a variance that must not vanish, and crashes
MOST_GAPS = 0.5  # the largest share of a series that may be interpolated; more would be invention, not data

Item = NDArray[np.float64]  # (length,) or (length, channels)


class Series(Representation):
    """Turns time series into vectors of features.

    X is a sequence of series, of equal or unequal lengths: arrays (length,) or (length, channels); an array
    (n, length) or (n, length, channels); or a table with a series in each row. Gaps (NaN) inside a series are
    bridged by straight lines, at its ends they are cut off. With `window`, X is one long series instead: an array
    (length,) or (length, channels), or a table with a row for each moment, and the vectors are those of its windows.

    Parameters
    ----------
    features : "catch22", or "catch24", which adds mean and deviation: for when level and spread matter.
    window, step : length of the windows over one long series, and from one to the next (default: half a window).
    column : with `window`, the columns of a table that hold the values: a name or several.

    Examples
    --------
    >>> import numpy as np
    >>> from centrality.representations import Series
    >>> windows = Series(window=20, step=10)
    >>> windows.starts(45)  # the last one ends with the series
    array([ 0, 10, 20, 25])
    >>> Z = windows.fit_transform(np.sin(np.arange(45.0)))
    >>> Z.shape
    (4, 22)
    >>> windows.spread(np.array([1.0, 0.0, 0.0, 0.0]), 45)[[0, 15, 30]]  # moment 15 lies in two windows
    array([1. , 0.5, 0. ])
    """

    kind = "series"
    spellings = ("series", "series:COLUMN")

    @classmethod
    def from_command_line(cls, column: str, options: Options) -> Self:
        """Return the representation for `--represent series`: a series per row, or windows over named columns."""
        if column and options["window"] is None:
            raise InputError("A column that holds one long series needs windows: --window N")
        columns = [name.strip() for name in column.split(",")] if column else None
        return cls(window=options["window"], step=options["step"], column=columns)

    def __init__(
        self,
        features: str = "catch22",
        *,
        window: int | None = None,
        step: int | None = None,
        column: str | Sequence[str] | None = None,
    ) -> None:
        self.features = features
        self.window = window
        self.step = step
        self.column = column

    def fit(self, X: ItemsLike, y: object = None) -> Self:
        """Learn the median of each feature, which replaces values that cannot be computed."""
        with unchanged_on_failure(self):
            if self.features not in FEATURES:
                raise InputError(f"features must be one of {', '.join(FEATURES)}, got {self.features!r}.")
            self.columns_ = None
            if is_frame(X):
                names = as_arrow(X).column_names
                chosen = names if self.column is None else self.column
                self.columns_ = [chosen] if isinstance(chosen, str) else list(chosen)
                require(names, self.columns_)
            features, self._channels = self._compute_features(X, None)
            defined = ~np.isnan(features).all(0)
            self._fill = np.zeros(features.shape[1])
            self._fill[defined] = np.nanmedian(features[:, defined], axis=0)
        return self

    def transform(self, X: ItemsLike) -> NDArray[np.float64]:  # (n, features of every channel)
        """Return a row of features for each series or window."""
        check_is_fitted(self)
        features, _ = self._compute_features(X, self._channels)
        return np.where(np.isnan(features), self._fill, features)

    def starts(self, length: int) -> NDArray[np.int64]:  # (windows,)
        """Return where the windows over a series of this length begin; the last one ends with the series."""
        window, step = self._window()
        if length < window:
            raise InputError(f"A window of {window} moments was asked for, but the series has only {length}.")
        begins = np.arange(0, length - window + 1, step)
        return begins if begins[-1] == length - window else np.append(begins, length - window)

    @property
    def windowed(self) -> bool:  # type: ignore[override]
        """Say whether X is one long series that is cut into windows."""
        return self.window is not None

    def shown(self, X: ItemsLike) -> list[Item]:
        """Return the first channel of each series or window."""
        return [item[:, 0] for item in self._items(X)]

    def rows_of(self, length: int) -> NDArray[np.intp]:
        """Return the first row of each window, or every row if each holds a series."""
        return self.starts(length).astype(np.intp) if self.windowed else np.arange(length)

    def spread(self, scores: NDArray[np.float64], length: int) -> NDArray[np.float64]:  # (length,) or (length, k)
        """Return scores of windows, (n,) or (n, k), as scores of moments: the mean over the windows around each."""
        window, _ = self._window()
        starts = self.starts(length)
        if len(starts) != len(scores):
            raise InputError(f"A series of {length} moments has {len(starts)} windows, got {len(scores)} scores.")
        total = np.zeros((length, *scores.shape[1:]))
        count = np.zeros(length)
        for start, score in zip(starts, scores, strict=True):
            total[start : start + window] += score
            count[start : start + window] += 1
        return np.asarray(total / count.reshape(-1, *[1] * (scores.ndim - 1)))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        check_is_fitted(self)
        names = self._catch22([1.0, 2.0, 0.0] * SHORTEST)["names"]
        if self._channels == 1:
            return np.array(names, dtype=object)
        return np.array([f"{name} {c}" for c in range(self._channels) for name in names], dtype=object)

    def origins(self) -> tuple[list[str], NDArray[np.intp]]:
        names = self.get_feature_names_out().tolist()
        return names, np.arange(len(names))

    def values(self, X: ItemsLike) -> list[list[object]]:
        return [column.tolist() for column in self.transform(X).T]

    def typical(self, z: NDArray[np.floating]) -> list[object]:
        return [float(value) for value in z]

    def describe(self) -> dict[str, str]:
        check_is_fitted(self)
        features = f"{self.features} of {self._channels} channel{'s' if self._channels > 1 else ''}"
        how = f"windows of {self._window()[0]} moments" if self.window is not None else "a series in each row"
        return {", ".join((self.columns_ or ["series"])[:3]): f"{how}, {features}"}

    def types(self) -> dict[str, pa.DataType]:
        return {name: pa.float64() for name in self.columns_ or []}

    def state(self) -> tuple[State, Arrays]:
        check_is_fitted(self)
        return {"columns": self.columns_, "channels": self._channels}, {"fill": self._fill}

    def restore(self, state: State, arrays: Arrays) -> Self:
        self.columns_ = state["columns"]
        self._channels = int(state["channels"])
        self._fill = arrays["fill"]
        return self

    def _window(self) -> tuple[int, int]:
        """Return length and step of the windows; raise if there are none."""
        if self.window is None:
            raise InputError("This needs windows: Series(window=...).")
        window = whole_number("window", self.window, at_least=SHORTEST)
        return window, max(1, window // 2) if self.step is None else whole_number("step", self.step)

    def _compute_features(self, X: ItemsLike, channels: int | None) -> tuple[NDArray[np.float64], int]:
        """Return the features of each series or window, NaN where one is undefined, and the number of channels."""
        items = self._items(X)
        if not items:
            raise InputError("Series were wanted, got none.")
        channels = items[0].shape[1] if channels is None else channels
        kind = "Window" if self.window is not None else "Series"
        rows = []
        for i, item in enumerate(items):
            if item.shape[1] != channels:
                raise InputError(f"Series of {channels} channels were wanted, but series {i} has {item.shape[1]}.")
            row: list[float] = []
            for values in item.T:
                if infinite := int(np.isinf(values).sum()):
                    raise TableError(
                        f"{kind} {i} has {infinite} infinite values: finite numbers were wanted, NaN for gaps."
                    )
                finite = np.flatnonzero(np.isfinite(values))
                span = finite[-1] - finite[0] + 1 if len(finite) else 0
                if len(finite) < SHORTEST or len(finite) < (1 - MOST_GAPS) * span:
                    raise TableError(
                        f"{kind} {i} has {len(finite)} values in {span} moments: at least {SHORTEST} were wanted, "
                        f"and no more than {MOST_GAPS:.0%} gaps."
                    )
                bridged = np.interp(np.arange(finite[0], finite[-1] + 1), finite, values[finite])
                bridged[np.abs(bridged) < TINY] = 0.0
                row += self._catch22(bridged.tolist())["values"]
            rows.append(row)
        return np.array(rows, dtype=np.float64), channels

    def _items(self, X: ItemsLike) -> list[Item]:
        """Return each series or window as an array (length, channels)."""
        if is_frame(X):
            table = as_arrow(X)
            require(table.column_names, self.columns_ or [])
            X = numbers(table.select(self.columns_ or []))
        if self.window is None:
            return [_two_dimensional(item, i) for i, item in enumerate(cast(Sequence[object], X))]
        series = _two_dimensional(X, 0)
        window, _ = self._window()
        return [series[start : start + window] for start in self.starts(len(series))]

    def _catch22(self, values: list[float]) -> Any:
        """Return the "values" of the features of these numbers, and their "names"."""
        return optional("pycatch22", "series").catch22_all(values, catch24=self.features == "catch24")


def _two_dimensional(item: object, i: int) -> Item:  # (length, channels)
    """Return series i as an array of numbers; raise if it cannot be one."""
    try:
        array = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"Series {i} cannot be read as numbers: {error}.") from None
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2:
        raise InputError(f"A series is (length,) or (length, channels), but series {i} has shape {array.shape}.")
    return array
