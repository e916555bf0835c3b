"""What users see of a model: attributes, notebook picture, frames.

`model.set_output(transform="pandas")` (or "polars") is scikit-learn's way to ask. Here it holds for every method that
gives something for each row. Without it, every method returns an array, whatever the input was.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from centrality._internal import text
from centrality._internal.checks import InputError
from centrality._internal.text import column_name
from centrality.analysis.reasons import Reasons
from centrality.model.fitted import FittedModel, History
from centrality.model.reader import reader_of
from centrality.network.calibration import one_t

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel


BINS, HEIGHT = 30, 44  # bars of a histogram, and pixels
COLOURS = {"global": text.BLUE, "local": text.RED}

ATTRIBUTES: dict[str, Callable[[Any], object]] = {
    "history_": lambda model: model.fitted_.history,
    "noise_scale_": lambda model: model.fitted_.noise_scale,
    "center_": lambda model: np.asarray(model.fitted_.absolute(model.fitted_.typical[:1])[0]),
    "offset_": lambda model: model.fitted_.offset_for(one_t(model.t)),
}


class FittedAttributes:
    """Give parts of the fitted value as attributes of the model, which exist once it is fitted.

    `history_` are the losses of training, `noise_scale_` the noise scales used, `center_` the deepest vector at the
    model's own t (given a context, in one that is typical of it), and `offset_` the score below which
    `predict` says outlier at that t.
    """

    t: float
    fitted_: FittedModel
    history_: History
    noise_scale_: tuple[float, ...]
    center_: NDArray[np.float64]
    offset_: float

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute

        def __getattr__(self, name: str) -> object:
            if name in ATTRIBUTES and hasattr(self, "fitted_"):
                return ATTRIBUTES[name](self)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *(ATTRIBUTES if hasattr(self, "fitted_") else ())]

    def _html_repr(self) -> str:
        """Put facts and a picture above what scikit-learn shows of an estimator, once it is fitted."""
        estimator: str = super()._html_repr()  # type: ignore[misc]
        fitted = vars(self).get("fitted_") or getattr(vars(self).get("model_"), "fitted_", None)
        return estimator if fitted is None else f"<div>{_facts(self, fitted)}{_picture(fitted)}</div>{estimator}"


def _facts(model: Any, fitted: FittedModel) -> str:
    report = fitted.report
    lines = {} if report is None else {"fitted on": f"{report.rows:,} rows of {report.columns:,} columns"}
    if representation := reader_of(model).about().get("representation"):
        lines["represented by"] = representation
    with suppress(InputError):  # marks set it only at the t at which they were learned
        lines["outliers below"] = f"{model.offset_:.4g} (score_samples at t = {model.t:g})"
    if fitted.inliers is None:
        lines["calibration rows"] = "none: holdout= or calibrate() gives p-values"
    else:
        lines["calibration rows"] = f"{len(fitted.inliers.units):,}"
    return text.facts_table(lines, [] if report is None else report.warnings)


def _picture(fitted: FittedModel) -> str:
    """Draw how the training rows' scores are distributed, a small histogram for each head."""
    heads = zip(COLOURS, fitted.training_scores.quantiles, strict=True)
    return "<div>" + "".join(_histogram(name, values) for name, values in heads) + "</div>"


def _histogram(name: str, values: NDArray[np.float64]) -> str:
    counts = np.histogram(values, bins=BINS, range=(0, 1))[0]
    heights = HEIGHT * counts / max(counts.max(), 1)
    bars = [text.Bar(HEIGHT - height, height, COLOURS[name]) for height in heights]
    label = f"{name} centrality of the training rows, from 0 to 1"
    return (
        f"<figure style='display:inline-block;margin:0 1em .5em 0'>{text.chart(bars, HEIGHT, label)}"
        f"<figcaption style='font-size:.8em'>{label}</figcaption></figure>"
    )


Matrix = NDArray[np.float64]

# What each method's numbers are called: a column's name, or several.
NAMES: dict[str, str | tuple[str, ...]] = {
    "heads": ("global", "local"),
    "raw": ("global", "local"),
    "centrality": "centrality",
    "score_samples": "score",
    "standard_error": "standard_error",
    "p_values": "p_value",
    "severity": "severity",
    "p_value_intervals": ("p_value_low", "p_value_high"),
    "detect": "outlier",
    "kind": "kind",
    "explain": (),
    "reasons": (),
}
COMPUTES = (
    "calibrate",
    "certificate",
    "threshold",
    "drift",
    "drift_report",
    "transform",
)  # use the above, and want arrays

_inside: ContextVar[bool] = ContextVar("_inside", default=False)  # whether another method is the caller
Model = TypeVar("Model", bound=type)


def frames_when_asked(cls: Model) -> Model:
    """Decorate a class of models so that results with one value per row have the type that `set_output` asks for."""
    for name in (*NAMES, *COMPUTES):
        setattr(cls, name, _framed(getattr(cls, name), NAMES.get(name)))
    return cls


def _framed(method: Callable[..., Any], names: str | tuple[str, ...] | None) -> Callable[..., Any]:
    @wraps(method)
    def framed(self: Any, *arguments: Any, **options: Any) -> Any:
        if _inside.get():
            return method(self, *arguments, **options)
        token = _inside.set(True)
        try:
            result = method(self, *arguments, **options)
        finally:
            _inside.reset(token)
        if names is None:
            return result
        X = arguments[0] if arguments else options["X"]
        if isinstance(result, Reasons):
            return _labelled(self, result, X)
        container = vars(self).get("_sklearn_output_config", {}).get("transform", "default")
        if container == "default":
            return result
        if names == ():
            columns = _features(self, result.shape[1])
        elif isinstance(names, tuple):
            columns = list(names)
        elif result.ndim == 1:
            columns = [names]
        else:
            t = options.get("t", arguments[1] if len(arguments) > 1 else None)
            t = np.linspace(0, 1, result.shape[1]) if t is None else t
            columns = [column_name(names, float(at), self.t) for at in t]
        index = None if reader_of(self).input_spec().one_series else _index(X)
        return _contained(container, result, columns, index)

    return framed


def _index(X: object) -> Any:
    """Return the labels of a frame's rows; None where there are none."""
    index = getattr(X, "index", None)
    return None if callable(index) else index


def _labelled(model: "CentralityModel", reasons: Reasons, X: object) -> Reasons:
    """Call each row by its label in X, if there are labels; of a long series, a window by the one of its first row."""
    index = _index(X)
    if index is None:
        return reasons
    labels = list(index)
    return replace(reasons, labels=[labels[row] for row in reader_of(model).rows_of(len(labels))])


def _features(model: "CentralityModel", width: int) -> list[str]:
    """Return the names of the features of explanations; numbers without names are named by their position."""
    features = reader_of(model).features()
    return [f"x{j}" for j in range(width)] if features is None else [str(name) for name in features.names]


def _contained(container: str, values: Matrix, columns: Sequence[str], index: object) -> object:
    """Return the values as a Series, or as a frame of these columns."""
    if container == "polars":
        import polars as pl  # installed, or `set_output` would have refused

        if values.ndim == 1:
            return pl.Series(columns[0], values)
        return pl.DataFrame({name: values[:, j] for j, name in enumerate(columns)})
    import pandas as pd  # installed, for the same reason

    if values.ndim == 1:
        return pd.Series(values, index=index, name=columns[0])
    return pd.DataFrame(values, index=index, columns=list(columns))
