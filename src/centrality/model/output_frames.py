"""Return scores as a Series or a frame with the rows' own labels, when `set_output` asks for that.

`model.set_output(transform="pandas")` (or "polars") is scikit-learn's way to ask. Here it holds for every method that
gives something for each row. Without it, every method returns an array, whatever the input was.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from centrality.model.reader import reader_of
from centrality.scores.mixing import name_at
from centrality.scores.reasons import Reasons

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel

Matrix = NDArray[np.float64]

# What each method's numbers are called: a column's name, or several.
NAMES: dict[str, str | tuple[str, ...]] = {
    "heads": ("global", "local"),
    "raw": ("global", "local"),
    "centrality": "centrality",
    "score_samples": "score",
    "standard_error": "standard_error",
    "p_values": "p_value",
    "detect": "outlier",
    "kind": "kind",
    "explain": (),
    "reasons": (),
}
COMPUTES = ("calibrate", "threshold", "drift", "drift_report", "transform")  # use the above, and want arrays

_inside: ContextVar[bool] = ContextVar("_inside", default=False)  # whether another method is the caller
Model = TypeVar("Model", bound=type)


def frames_when_asked(cls: Model) -> Model:
    """Decorate a class of models so that results with one value per row have the type that `set_output` asks for."""
    for name in (*NAMES, *COMPUTES):
        setattr(cls, name, _framed(getattr(cls, name), NAMES.get(name)))
    return cls


def _framed(method: Callable[..., Any], names: str | tuple[str, ...] | None) -> Callable[..., Any]:
    @wraps(method)
    def framed(self: Any, *given: Any, **options: Any) -> Any:
        if _inside.get():
            return method(self, *given, **options)
        token = _inside.set(True)
        try:
            result = method(self, *given, **options)
        finally:
            _inside.reset(token)
        if names is None:
            return result
        X = given[0] if given else options["X"]
        if isinstance(result, Reasons):
            index = getattr(X, "index", None)
            if index is None or callable(index):
                return result
            labels = list(index)  # of a long series, a window is called by the label of its first row
            return replace(result, labels=[labels[row] for row in reader_of(self).rows_of(len(labels))])
        container = vars(self).get("_sklearn_output_config", {}).get("transform", "default")
        if container == "default":
            return result
        if names == ():
            columns = _features(self, result.shape[1])
        elif isinstance(names, tuple):
            columns = list(names)
        else:
            t = options.get("t", given[1] if len(given) > 1 else None)
            columns = [names] if result.ndim == 1 else [name_at(names, at, self.t) for at in _dials(t, result.shape[1])]
        index = None if reader_of(self).reading().one_series else getattr(X, "index", None)
        return _contained(container, result, columns, None if callable(index) else index)

    return framed


def _dials(t: Sequence[float] | None, columns: int) -> Sequence[float]:
    return np.linspace(0, 1, columns).tolist() if t is None else [float(at) for at in t]


def _features(model: "CentralityModel", width: int) -> list[str]:
    """Return the names of the features of explanations; numbers without names are named by their position."""
    features = reader_of(model).features()
    return [f"x{j}" for j in range(width)] if features is None else [str(name) for name in features.names]


def _contained(container: str, values: Matrix, columns: Sequence[str], index: object) -> object:
    """Return the values as a Series, or as a frame of these columns."""
    if container == "polars":
        import polars as pl  # there, or `set_output` would have refused

        if values.ndim == 1:
            return pl.Series(columns[0], values)
        return pl.DataFrame({name: values[:, j] for j, name in enumerate(columns)})
    import pandas as pd  # there, for the same reason

    if values.ndim == 1:
        return pd.Series(values, index=index, name=columns[0])
    return pd.DataFrame(values, index=index, columns=list(columns))
