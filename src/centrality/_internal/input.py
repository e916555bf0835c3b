"""Define what every estimator shares: checks of rows, and scikit-learn's method names and signs for outliers."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NewType, Protocol, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.stable.v2.typing import IntoDataFrame
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from centrality._internal.checks import InputError, InputTypeError, warn_caller

FEW_VALUES = 4096  # up to so many numbers are checked at once, which is quickest for small requests
FEW_LABELS = 20  # with fewer rows than this, no label is called rare
RARE = 0.3  # a label on at most this share of the rows may mean outlier
CHECK_ROWS = 65_536  # rows whose values are checked at once, so that this takes little memory

# RowsLike: rows of numbers as users have them: a numpy array, lists, a torch tensor; a pandas, polars or Arrow table; a
# scipy sparse matrix. ModelRows: these, and whatever else a representation reads: tables, texts, images, series.
if TYPE_CHECKING:
    RowsLike: TypeAlias = ArrayLike | IntoDataFrame | sparse.spmatrix
    ModelRows: TypeAlias = RowsLike | Sequence[object]
else:  # help() shows these names; it would spell out the dozen types that numpy's ArrayLike stands for
    RowsLike = NewType("RowsLike", object)
    ModelRows = NewType("ModelRows", object)
Dissimilarity: TypeAlias = ArrayLike | Callable[..., ArrayLike] | None  # a square matrix, or a function of row numbers
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None


class SparseRows(Protocol):
    """Declare the methods of scipy's CSR matrices that are used here, since scipy has no types."""

    shape: tuple[int, int]
    data: NDArray[np.generic]
    indices: NDArray[np.int32]

    def toarray(self) -> NDArray[np.generic]:
        """Return the same rows as an array."""

    def __getitem__(self, chosen: slice | list[int] | NDArray[np.bool_] | NDArray[np.integer[Any]]) -> "SparseRows":
        """Return the rows of these numbers, or those that are True."""

    def copy(self) -> "SparseRows":
        """Return a copy of all rows."""

    def mean(self, axis: int) -> NDArray[np.float64]:
        """Return the mean along an axis."""


CheckedRows: TypeAlias = NDArray[Any] | SparseRows
AllFinite: TypeAlias = Callable[[NDArray[Any]], bool]


class ColumnBlocks:
    """Yield blocks of adjacent columns as dense numbers: all at once, or as many as fit a small amount of memory.

    Statistics of each column of wide rows, above all sparse ones, are computed this way without a dense copy.
    """

    def __init__(self, rows: Any, values: int) -> None:
        self._rows = rows.tocsc() if sparse.issparse(rows) else rows
        self._width = max(1, values // rows.shape[0])  # columns of a block

    def __iter__(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        p = self._rows.shape[1]
        for start in range(0, p, self._width):
            at = slice(start, min(p, start + self._width))
            block = self._rows[:, at]
            yield at, np.ascontiguousarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)


class CentralityEstimator(OutlierMixin, BaseEstimator):
    """Gives each row one number, larger meaning more central.

    A subclass defines `contamination`, `fit` and `score_samples`; `fit` ends by setting `offset_`.
    """

    contamination: float | str
    offset_: float

    def score_samples(self, X: RowsLike) -> NDArray[np.float64]:
        """Return how central each row is: larger means more normal."""
        raise NotImplementedError

    def decision_function(self, X: RowsLike) -> NDArray[np.float64]:
        """Return `score_samples(X) - offset_`: negative for outliers."""
        scores = self.score_samples(X)  # first: it says so if the estimator is not fitted
        return scores - self.offset_

    def predict(self, X: RowsLike) -> NDArray[np.int64]:
        """Return +1 for inliers and -1 for outliers."""
        return np.where(self.decision_function(X) < 0, -1, 1)


def random_numbers(random_state: RandomState) -> np.random.RandomState:
    """Return scikit-learn's source of random numbers for this seed; raise if it is not a seed.

    A Generator, which scikit-learn does not take, draws a seed, a new one with every call.
    """
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(int(random_state.integers(2**32)))
    try:
        return check_random_state(random_state)  # type: ignore[no-any-return]
    except ValueError:
        raise InputError(
            f"random_state must be None, a whole number from 0 to {2**32 - 1}, or a numpy Generator or RandomState, "
            f"got {random_state!r}."
        ) from None


def warn_of_labels(y: object) -> None:
    """Warn if `y`, which no fit uses, looks like 1 for outliers: what compares it with scores takes 1 for typical."""
    labels = None if y is None else np.asarray(y)
    if labels is None or labels.ndim != 1 or labels.dtype.kind not in "biuf" or len(labels) < FEW_LABELS:
        return
    share = float(np.mean(labels == 1))
    if 0 < share <= RARE and ((labels == 0) | (labels == 1)).all():
        warn_caller(
            f"y is 1 in {share:.1%} of the rows and 0 elsewhere. If 1 means outlier, scoring='roc_auc' would "
            "be upside down: scores are larger for typical rows. Pass 1 - y. (fit itself does not use y.)"
        )


def share_of_outliers(contamination: float | str, *, clean: bool = False) -> float:
    """Return the share of the training rows that `contamination` asks to call outliers: of clean rows, fewer."""
    if contamination == "auto":
        return 0.01 if clean else 0.1
    if isinstance(contamination, str) or not 0 < contamination <= 0.5:
        raise InputError(f"contamination must be 'auto' or a share of the rows in (0, 0.5], got {contamination!r}.")
    return float(contamination)


@contextmanager
def unchanged_on_failure(estimator: object) -> Iterator[None]:
    """Restore the estimator exactly as it was before if an error or Ctrl-C ends the block."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def rows_to_fit(
    estimator: BaseEstimator, X: RowsLike, at_least: int, why: str, *, all_finite: AllFinite | None = None
) -> CheckedRows:
    """Return the training rows, checked, as an array or a CSR matrix; the estimator learns its feature names.

    `all_finite` says of an array whether all of its values are finite numbers; without it, numpy does.
    """
    rows = _checked(estimator, X, reset=True, all_finite=all_finite)
    if rows.shape[0] < at_least:
        raise InputError(
            f"{type(estimator).__name__} needs at least {at_least} rows ({why}), got n_samples={rows.shape[0]}."
        )
    return rows


def rows_to_score(estimator: BaseEstimator, X: RowsLike) -> CheckedRows:
    """Return rows for a fitted estimator, checked: as wide as those it was fitted on."""
    if not hasattr(estimator, "n_features_in_"):  # quick; the check below is slow, but words the error
        check_is_fitted(estimator)
    return _checked(estimator, X, reset=False)


def _checked(estimator: BaseEstimator, X: RowsLike, *, reset: bool, all_finite: AllFinite | None = None) -> CheckedRows:
    """Return the rows as numbers that are all finite; with `reset` the estimator learns their width and names."""
    X = X if type(X) is np.ndarray else in_memory(X)
    is_plain = type(X) is np.ndarray and X.ndim == 2 and X.size > 0 and X.dtype.kind in "biuf"
    names = None if reset else vars(estimator).get("feature_names_in_")
    # Columns may be given by position: the model has no names, or only x0, x1, ...
    by_position = names is None or all(name == f"x{j}" for j, name in enumerate(names))
    if is_plain and (reset or (X.shape[1] == estimator.n_features_in_ and by_position)):
        if reset:  # as scikit-learn would do, in a hundredth of the time
            estimator.n_features_in_ = X.shape[1]
            vars(estimator).pop("feature_names_in_", None)
    else:
        if nw.dependencies.is_into_dataframe(X):
            X = X if names is None else _by_name(X, names)
            _require_numbers(X)
        try:
            with warnings.catch_warnings():
                if not reset and by_position:
                    warnings.filterwarnings("ignore", message="X does not have valid feature names")
                X = validate_data(
                    estimator, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_all_finite=False
                )
            X = X.astype(np.float64) if X.dtype == object else X  # lists that hold None, of which it makes no numbers
        except InputError:
            raise
        except TypeError as error:
            raise InputTypeError(str(error)) from error
        except ValueError as error:
            raise InputError(_fault_of(X) or str(error)) from error
    if all_finite is None or not isinstance(X, np.ndarray) or not all_finite(X):
        require_finite(X, vars(estimator).get("feature_names_in_"))
    return X


def _fault_of(X: RowsLike) -> str | None:
    """Say what is wrong with the shape or the type of an array; None if nothing is."""
    if nw.dependencies.is_into_dataframe(X) or sparse.issparse(X):
        return None
    try:
        array = np.asarray(X)
    except ValueError:  # lists of different lengths
        return "Rows of equal length were wanted, got lists of different lengths."
    if array.ndim == 1 and array.dtype.kind in "biuf":
        return (
            f"Rows and columns were wanted, got a 1D array of {len(array):,} numbers. Reshape your data: "
            "X.reshape(-1, 1) if these are rows of one column, X.reshape(1, -1) if they are one row."
        )
    if array.ndim == 1 and array.dtype == object and len(array) and np.ndim(array[0]) == 1:
        return "Rows and columns were wanted, got a column of vectors. Stack them first: numpy.stack(X)."
    if array.ndim == 0:
        return f"Rows of numbers were wanted (a 2D array or a table), got {X!r:.60}. Reshape your data, or read it."
    if array.ndim == 2 and array.dtype.kind in "USO":
        text = next((cell for cell in array.flat if isinstance(cell, str)), None)
        if text is not None:
            return (
                f"Numbers were wanted, got text, such as {str(text)!r:.40}. X.astype(float) makes numbers of texts "
                "that are numbers; Chain(Table(), FUSE()) takes text as it is."
            )
    return None


def _by_name(frame: IntoDataFrame, names: Sequence[str]) -> IntoDataFrame:
    """Return the columns of these names in this order, whatever the frame's order is and whatever else it holds."""
    columns = nw.from_native(frame, eager_only=True)
    if columns.columns == list(names):
        return frame
    if missing := [name for name in names if name not in columns.columns]:
        raise InputError(
            f"The feature names should match those of fit: {', '.join(map(repr, missing[:5]))} "
            f"{'is' if len(missing) == 1 else 'are'} missing. There are: {', '.join(map(repr, columns.columns[:8]))}."
        )
    return columns.select(list(names)).to_native()


def in_memory(X: Any) -> Any:
    """Return rows of a tensor or a query as an array or a frame in memory, and anything else as it came.

    That is a torch tensor (torch is not imported for it), a masked array, or a query: a polars LazyFrame, a relation of
    DuckDB, or another one that narwhals can run.
    """
    if type(X) is np.ndarray:
        return X
    kind = type(X).__module__.partition(".")[0]
    if kind == "torch" and hasattr(X, "detach"):
        tensor = X.detach().cpu()
        return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    if kind == "pyspark":
        raise InputTypeError(
            "A table on this machine was wanted, got one of Spark: centrality.spark.score scores those."
        )
    if kind == "xarray" and hasattr(X, "data_vars"):
        raise InputTypeError("Rows and columns were wanted, got an xarray Dataset: give its to_dataframe() instead.")
    X = read_once(X)
    require_distinct_names(X)
    if kind == "pandas" and getattr(X, "ndim", 0) == 2:
        dense = {name: dtype.subtype for name, dtype in X.dtypes.items() if str(dtype).startswith("Sparse")}
        X = X.astype(dense) if dense else X
    frame = nw.from_native(X, pass_through=True)
    return frame.collect().to_native() if isinstance(frame, nw.LazyFrame) else without_mask(X)


def read_once(X: Any) -> Any:
    """Return rows that can be read once only, those of an Arrow stream, as a table, and anything else as it came."""
    if not hasattr(X, "__arrow_c_stream__") or hasattr(X, "__len__"):  # frames and columns have a length
        return X
    import pyarrow as pa

    return pa.table(X)


def require_distinct_names(X: Any) -> None:
    """Raise if two columns of a pandas or Arrow table have one name, or names that a file could not tell apart."""
    if type(X).__module__.partition(".")[0] not in ("pandas", "pyarrow"):
        return
    names = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", None)
    if names is None or hasattr(names, "levels"):
        return
    first: dict[str, object] = {}
    for name in names:
        if str(name) in first:
            same = repr(name) if first[str(name)] == name else f"{first[str(name)]!r} and {name!r}, which are the same"
            raise InputError(f"Two columns are called {same}: rename one, so that each has a name of its own.")
        first[str(name)] = name


def without_mask(X: Any) -> Any:
    """Return a masked array as a plain one with NaN for masked values, and anything else as it came."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return X.data
    plain = np.array(X.data, dtype=np.result_type(X.dtype, np.float32))
    plain[np.ma.getmaskarray(X)] = np.nan
    return plain


def _require_numbers(frame: IntoDataFrame) -> None:
    """Raise if a column of the frame holds something else than numbers, and name such columns."""
    columns = nw.from_native(frame, eager_only=True).schema
    wrong = {
        name: dtype
        for name, dtype in columns.items()
        # pandas calls a column of mixed Python objects "Object": conversion decides about those
        if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Object))
    }
    if wrong:
        listed = ", ".join(f"{name!r} ({dtype})" for name, dtype in wrong.items())
        raise InputError(
            f"Numbers were wanted in every column, but these hold something else: {listed}. "
            "Chain(Table(), FUSE()) reads text, dates, categories and gaps as they are; or drop these columns."
        )


def as_floats(rows: CheckedRows) -> NDArray[np.floating]:
    """Return checked rows as the engine reads them: dense, float32 or float64, one row after another."""
    values: NDArray[Any] = rows if isinstance(rows, np.ndarray) else rows.toarray()
    if values.dtype in (np.float32, np.float64) and values.flags.c_contiguous:
        return values
    return np.ascontiguousarray(values, dtype=np.float32 if values.dtype == np.float32 else np.float64)


TAKES_GAPS = (
    "Chain(Table(), FUSE()), or on the command line fit --represent table, reads a table with gaps as it is; or drop "
    "these rows, or fill them in (for example with sklearn.impute.SimpleImputer)."
)


def require_finite(rows: CheckedRows, names: Sequence[str] | None, advice: str = TAKES_GAPS) -> None:
    """Raise if a value is NaN or infinite, naming the columns and counting the rows, and give this advice."""
    values = rows if isinstance(rows, np.ndarray) else rows.data.reshape(-1, 1)
    if values.dtype.kind != "f" or (values.size <= FEW_VALUES and np.isfinite(values).all()):
        return
    bad = np.zeros(rows.shape[1], dtype=np.int64)
    for start in range(0, len(values), CHECK_ROWS):
        block = values[start : start + CHECK_ROWS]
        with np.errstate(invalid="ignore", over="ignore"):
            if np.isfinite(block.sum()):
                continue  # one pass without a mask: a NaN or an infinity would have spread to the sum
        mask = ~np.isfinite(block)
        if isinstance(rows, np.ndarray):
            bad += mask.sum(0)
        else:
            bad += np.bincount(rows.indices[start : start + CHECK_ROWS][mask[:, 0]], minlength=len(bad))
    if bad.any():
        columns = np.flatnonzero(bad)
        listed = ", ".join(f"{repr(str(names[j])) if names is not None else j} ({bad[j]} rows)" for j in columns[:5])
        more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
        raise InputError(
            f"Input X contains NaN or infinity (inf) in column {listed}{more}. Finite numbers were wanted. {advice}"
        )
