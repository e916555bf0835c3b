"""Figures of depths; they take arrays, never models. Every function returns a new matplotlib Figure."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from centrality._optional import optional

Array = NDArray[Any]

FIRST, SECOND, OUTLIER = "#2166ac", "#d6604d", "#b2182b"
FENCE = 3.0  # Rousseeuw, Ruts and Tukey's factor: the bag, blown up so much about the median, fences the data


def dd_plot(
    in_first: Array, in_second: Array, of_first: Array, *, labels: tuple[str, str] = ("first", "second")
) -> Any:
    """Each row's depth in one sample against its depth in another.

    Two samples of one distribution lie along the diagonal; a shift pulls them apart to either side of it, a
    difference in scale bends both to one side.
    """
    figure, axes = _square_figure()
    top = float(max(np.max(in_first), np.max(in_second)))
    low = float(min(np.min(in_first), np.min(in_second), 0))
    axes.plot([low, top], [low, top], color="0.6", linewidth=1, zorder=1)
    for mask, colour, marker, label in ((of_first, FIRST, "o", labels[0]), (~of_first, SECOND, "^", labels[1])):
        axes.scatter(
            in_first[mask], in_second[mask], s=14, color=colour, marker=marker, alpha=0.6, linewidths=0, label=label
        )
    axes.set(xlabel=f"depth in {labels[0]}", ylabel=f"depth in {labels[1]}", aspect="equal")
    axes.legend(frameon=False)
    return figure


def bagplot(X: Array, depth: Array, *, center: Array | None = None, names: tuple[str, str] = ("x", "y")) -> Any:
    """A boxplot in the plane: median, the bag of the deeper half, the fence around it and the outliers beyond.

    `center` is the median's place; without it, the deepest row.
    """
    X, depth = np.asarray(X, dtype=np.float64), np.asarray(depth)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"A bagplot needs rows of two columns, got shape {X.shape}.")
    center = X[depth.argmax()] if center is None else np.asarray(center)
    bag = hull(X[depth >= np.median(depth)])
    beyond = ~inside(X, center + FENCE * (bag - center))
    loop = hull(X[~beyond])
    figure, axes = _square_figure()
    axes.fill(*loop.T, color=FIRST, alpha=0.15, linewidth=0, label="without outliers")
    axes.fill(*bag.T, color=FIRST, alpha=0.4, linewidth=0, label="deeper half")
    axes.scatter(*X[~beyond].T, s=8, color="0.25", alpha=0.6, linewidths=0)
    if beyond.any():
        axes.scatter(*X[beyond].T, s=22, color=OUTLIER, marker="x", linewidths=1.2, label="outliers")
    axes.scatter(*center, s=90, color="white", edgecolors="black", marker="*", linewidths=0.8, label="median", zorder=3)
    axes.set(xlabel=names[0], ylabel=names[1])
    axes.legend(frameon=False)
    return figure


def hull(points: Array) -> Array:
    """(k, 2) the corners of the convex hull, counter-clockwise. Raises ValueError where it has no area."""
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError) as error:
        raise ValueError(
            f"A bagplot needs rows that spread over the plane, but these {len(points)} lie on a line or a point."
        ) from error


def inside(points: Array, corners: Array) -> NDArray[np.bool_]:
    """(n,) which points lie in the convex polygon with these counter-clockwise corners, border included."""
    edges = np.roll(corners, -1, axis=0) - corners  # (k, 2)
    seen = points[:, None, :] - corners  # (n, k, 2)
    turn = edges[:, 0] * seen[:, :, 1] - edges[:, 1] * seen[:, :, 0]
    return np.asarray((turn >= -1e-12 * np.abs(edges).max() ** 2).all(1))


def _square_figure() -> tuple[Any, Any]:
    figure = optional("matplotlib.figure", "plots").Figure(figsize=(5.2, 5.2), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
