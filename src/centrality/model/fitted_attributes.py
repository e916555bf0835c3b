"""Show a fitted model: attributes that scikit-learn's users look for, and in notebooks facts and a small picture."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality.model.fitted import Fitted, History
from centrality.model.reader import reader_of
from centrality.scores import html
from centrality.scores.mixing import one_t

BINS, HEIGHT = 30, 44  # bars of a histogram, and pixels
COLOURS = {"global": html.BLUE, "local": html.RED}

ATTRIBUTES: dict[str, Callable[[Any], object]] = {
    "history_": lambda model: model.fitted_.history,
    "noise_scale_": lambda model: model.fitted_.noise_scale,
    "center_": lambda model: np.asarray(model.fitted_.absolute(model.fitted_.typical[:1])[0]),
    "offset_": lambda model: model.fitted_.offset_for(one_t(model.t)),
}


class FittedAttributes:
    """Show parts of the fitted value as attributes of the model, which exist once it is fitted.

    `history_` are the losses of training, `noise_scale_` the noise scales used, `center_` the deepest vector at the
    model's own t (given a context, in one that is typical of it), and `offset_` the score below which
    `predict` says outlier at that t.
    """

    t: float
    fitted_: Fitted
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
        below: str = super()._html_repr()  # type: ignore[misc]
        fitted = vars(self).get("fitted_") or getattr(vars(self).get("model_"), "fitted_", None)
        return below if fitted is None else f"<div>{_facts(self, fitted)}{_picture(fitted)}</div>{below}"


def _facts(model: Any, fitted: Fitted) -> str:
    report = fitted.report
    lines = {} if report is None else {"fitted on": f"{report.rows:,} rows of {report.columns:,} columns"}
    about = reader_of(model).about().get("representation")
    lines |= {"represented by": about} if about else {}
    with suppress(InputError):  # marks set it only at the t at which they were learned
        lines["outliers below"] = f"{model.offset_:.4g} (score_samples at t = {model.t:g})"
    inliers = (
        "none: holdout= or calibrate() gives p-values" if fitted.inliers is None else f"{len(fitted.inliers.units):,}"
    )
    lines["calibration rows"] = inliers
    return html.facts_table(lines, [] if report is None else report.warnings)


def _picture(fitted: Fitted) -> str:
    """Draw how the training rows' scores are distributed, a small histogram for each head."""
    heads = zip(COLOURS, fitted.training_scores.quantiles, strict=True)
    return "<div>" + "".join(_histogram(name, values) for name, values in heads) + "</div>"


def _histogram(name: str, values: NDArray[np.float64]) -> str:
    counts = np.histogram(values, bins=BINS, range=(0, 1))[0]
    heights = HEIGHT * counts / max(counts.max(), 1)
    bars = [html.Bar(HEIGHT - height, height, COLOURS[name]) for height in heights]
    label = f"{name} centrality of the training rows, from 0 to 1"
    return (
        f"<figure style='display:inline-block;margin:0 1em .5em 0'>{html.chart(bars, HEIGHT, label)}"
        f"<figcaption style='font-size:.8em'>{label}</figcaption></figure>"
    )
