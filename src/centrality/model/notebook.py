"""Show a model in a notebook: what it was fitted on, where outliers begin, its warnings, and a small picture."""

from collections.abc import Sequence
from contextlib import suppress
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality.model.reader import reader_of

BINS, WIDE, HIGH = 30, 6, 44  # bars of a histogram, and pixels
COLOURS = {"global": "#296e9b", "local": "#d6604d"}


class ShownInNotebooks:
    """Puts facts and a picture above what scikit-learn shows of an estimator, once it is fitted."""

    def _html_repr(self) -> str:
        below: str = super()._html_repr()  # type: ignore[misc]
        fitted = vars(self).get("fitted_") or getattr(vars(self).get("model_"), "fitted_", None)
        return below if fitted is None else f"<div>{_facts(self, fitted)}{_picture(fitted)}</div>{below}"


def _facts(model: Any, fitted: Any) -> str:
    report = fitted.report
    lines = {} if report is None else {"fitted on": f"{report.rows:,} rows of {report.columns:,} columns"}
    about = reader_of(model).about().get("representation")
    lines |= {"represented by": about} if about else {}
    with suppress(InputError):  # a second pass sets it only at the t of its fit
        lines["outliers below"] = f"{model.offset_:.4g} (score_samples at t = {model.t:g})"
    inliers = (
        "none: holdout= or calibrate() gives p-values" if fitted.inliers is None else f"{len(fitted.inliers.units):,}"
    )
    lines["calibration rows"] = inliers
    warnings = [] if report is None else report.warnings
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(str(text))}</td></tr>"
        for name, text in lines.items()
    )
    items = "".join(f"<li>{escape(text)}</li>" for text in warnings)
    return f"<table>{cells}</table>" + (f"<p><b>Warnings</b></p><ul>{items}</ul>" if items else "")


def _picture(fitted: Any) -> str:
    """Draw how the training rows' scores are distributed, a small histogram for each head."""
    heads = zip(COLOURS, fitted.training_scores.quantiles, strict=True)
    return "<div>" + "".join(_histogram(name, values) for name, values in heads) + "</div>"


def _histogram(name: str, values: NDArray[np.float64]) -> str:
    counts: Sequence[int] = np.histogram(values, bins=BINS, range=(0, 1))[0].tolist()
    top = max(max(counts), 1)
    bars = "".join(
        f"<rect x='{k * WIDE}' y='{HIGH - tall:.1f}' width='{WIDE - 1}' height='{tall:.1f}'/>"
        for k, tall in enumerate(HIGH * count / top for count in counts)
    )
    label = f"{name} centrality of the training rows, from 0 to 1"
    return (
        f"<figure style='display:inline-block;margin:0 1em .5em 0'><svg role='img' aria-label='{label}' "
        f"width='{BINS * WIDE}' height='{HIGH}' fill='{COLOURS[name]}'>{bars}</svg>"
        f"<figcaption style='font-size:.8em'>{label}</figcaption></figure>"
    )
