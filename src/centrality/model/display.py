"""What users see of a model: attributes, a picture in notebooks, frames of results.

Frames are asked for as in scikit-learn, by `model.set_output(transform="pandas")` (or "polars"). Here that holds for
every method that returns something for each row. Otherwise these methods return arrays, whatever rows they were given.
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

BARS = 30  # of a histogram
HEIGHT = 44  # of a histogram, in pixels
COLOURS = {"global": text.BLUE, "local": text.RED}

ATTRIBUTES: dict[str, Callable[[Any], object]] = {
    "history_": lambda model: model.fitted_.history,
    "noise_scale_": lambda model: model.fitted_.noise_scale,
    "center_": lambda model: np.asarray(model.fitted_.absolute(model.fitted_.typical[:1])[0]),
    "offset_": lambda model: model.fitted_.offset_for(one_t(model.t)),
}


class FittedAttributes:
    """Offers parts of the fitted value as attributes of the model, which exist once it is fitted.

    `history_` holds the losses of training, `noise_scale_` the noise scales used, `center_` the deepest vector at the
    model's own t (with a context, in the context of a typical row), and `offset_` the score below which `predict` says
    outlier at that t.
    """

    t: float
    fitted_: FittedModel
    history_: History
    noise_scale_: tuple[float, ...]
    center_: NDArray[np.float64]
    offset_: float

    if not TYPE_CHECKING:  # else a type checker would believe that every name is an attribute

        def __getattr__(self, name: str) -> object:
            if name in ATTRIBUTES and hasattr(self, "fitted_"):
                return ATTRIBUTES[name](self)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *(ATTRIBUTES if hasattr(self, "fitted_") else ())]

    def _html_repr(self) -> str:
        """Put facts and a picture of a fitted model above what scikit-learn shows of every estimator."""
        estimator: str = super()._html_repr()  # type: ignore[misc]
        fitted = vars(self).get("fitted_") or getattr(vars(self).get("model_"), "fitted_", None)
        if fitted is None:
            return estimator
        report = fitted.report
        facts = {} if report is None else {"fitted on": f"{report.rows:,} rows of {report.columns:,} columns"}
        if representation := reader_of(self).about().get("representation"):  # type: ignore[arg-type]
            facts["represented by"] = representation
        with suppress(InputError):  # raised if marks were learned at another t: there is no threshold at this one
            facts["outliers below"] = f"{self.offset_:.4g} (score_samples at t = {self.t:g})"
        if fitted.inliers is None:
            facts["calibration rows"] = "none: holdout= or calibrate() gives p-values"
        else:
            facts["calibration rows"] = f"{len(fitted.inliers.units):,}"
        histograms = []
        for head, values in zip(COLOURS, fitted.training_scores.quantiles, strict=True):
            counts = np.histogram(values, bins=BARS, range=(0, 1))[0]
            heights = HEIGHT * counts / max(counts.max(), 1)
            bars = [text.Bar(HEIGHT - height, height, COLOURS[head]) for height in heights]
            label = f"{head} centrality of the training rows, from 0 to 1"
            histograms.append(
                f"<figure style='display:inline-block;margin:0 1em .5em 0'>{text.chart(bars, HEIGHT, label)}"
                f"<figcaption style='font-size:.8em'>{label}</figcaption></figure>"
            )
        table = text.facts_table(facts, [] if report is None else report.warnings)
        return f"<div>{table}<div>{''.join(histograms)}</div></div>{estimator}"


Matrix = NDArray[np.float64]

# Names of the columns that each method returns; () stands for the names of the model's features.
COLUMNS: dict[str, str | tuple[str, ...]] = {
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
# Methods that call those above and need arrays from them, whatever the user asked for.
CALLERS = ("calibrate", "certificate", "threshold", "drift", "drift_report", "transform")

_called_by_method: ContextVar[bool] = ContextVar("_called_by_method", default=False)  # rather than by the user
Model = TypeVar("Model", bound=type)


def frames_when_asked(cls: Model) -> Model:
    """Decorate a class of models so that results with one value per row have the type that `set_output` asks for."""
    for name in (*COLUMNS, *CALLERS):
        setattr(cls, name, _returning_frames(getattr(cls, name), COLUMNS.get(name)))
    return cls


def _returning_frames(method: Callable[..., Any], names: str | tuple[str, ...] | None) -> Callable[..., Any]:
    """Return the method, changed to return a frame of these columns if the user asked for frames; None: as it is."""

    @wraps(method)
    def framed(self: Any, *arguments: Any, **options: Any) -> Any:
        if _called_by_method.get():
            return method(self, *arguments, **options)
        token = _called_by_method.set(True)
        try:
            result = method(self, *arguments, **options)
        finally:
            _called_by_method.reset(token)
        if names is None:
            return result
        X = arguments[0] if arguments else options["X"]
        if isinstance(result, Reasons):
            if (index := _index(X)) is None:
                return result
            labels = list(index)  # a window has that of its first row
            return replace(result, labels=[labels[row] for row in reader_of(self).rows_of(len(labels))])
        container = vars(self).get("_sklearn_output_config", {}).get("transform", "default")
        if container == "default":
            return result
        if names == ():
            features = reader_of(self).features()
            columns = [f"x{j}" for j in range(result.shape[1])] if features is None else list(map(str, features.names))
        elif isinstance(names, tuple):
            columns = list(names)
        elif result.ndim == 1:
            columns = [names]
        else:
            t = options.get("t", arguments[1] if len(arguments) > 1 else None)
            t = np.linspace(0, 1, result.shape[1]) if t is None else t
            columns = [column_name(names, float(at), self.t) for at in t]
        index = None if reader_of(self).input_spec().one_series else _index(X)
        return _as_frame(container, result, columns, index)

    return framed


def _index(X: object) -> Any:
    """Return the labels of a frame's rows; None where there are none."""
    index = getattr(X, "index", None)
    return None if callable(index) else index


def _as_frame(container: str, values: Matrix, columns: Sequence[str], index: object) -> object:
    """Return the values as a frame of these columns, or as a Series if they are one column."""
    if container == "polars":
        import polars as pl  # it is installed: else `set_output` would have raised

        if values.ndim == 1:
            return pl.Series(columns[0], values)
        return pl.DataFrame({name: values[:, j] for j, name in enumerate(columns)})
    import pandas as pd  # installed for the same reason

    if values.ndim == 1:
        return pd.Series(values, index=index, name=columns[0])
    return pd.DataFrame(values, index=index, columns=list(columns))
