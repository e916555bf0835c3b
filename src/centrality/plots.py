"""Figures. They take arrays, never models, and return a matplotlib Figure that nothing else holds on to."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._optional import optional

COLOURS = "viridis"  # perceptually even, and safe for the colour-blind
INK, POINT = "#222222", "#ffffff"


def contours(
    grids: Sequence[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]],
    ts: Sequence[float],
    *,
    points: Sequence[NDArray[Any]] | None = None,
    titles: Sequence[str] | None = None,
    levels: int = 12,
) -> Any:
    """Filled contours of f(x, t) on the plane: a row for each grid, a panel for each t.

    Each grid is (x, y, f) with f of shape (len(y), len(x), len(ts)); `points` are drawn on top, an (n, 2) array
    for each grid. All panels of a row share their colours, so that they can be compared.
    """
    figure = _figure(2.3 * len(ts) + 0.9, 2.3 * len(grids) + 0.3)
    panels = figure.subplots(len(grids), len(ts), squeeze=False)
    for r, (x, y, f) in enumerate(grids):
        shades = np.linspace(f.min(), f.max(), levels + 1)
        for c, t in enumerate(ts):
            panel = panels[r, c]
            filled = panel.contourf(x, y, f[:, :, c], levels=shades, cmap=COLOURS)
            panel.contour(x, y, f[:, :, c], levels=shades, colors=INK, linewidths=0.25, alpha=0.5)
            if points is not None:
                panel.plot(*points[r].T, ",", color=POINT, alpha=0.35)
            panel.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), xticks=[], yticks=[], aspect="equal")
            if r == 0:
                panel.set_title(f"t = {t:g}{_side(t)}", fontsize=10)
        if titles is not None:
            panels[r, 0].set_ylabel(titles[r], fontsize=10)
        bar = figure.colorbar(filled, ax=panels[r, :].tolist(), shrink=0.85, pad=0.01, format="%.2f")
        bar.ax.tick_params(labelsize=7)
    return figure


def images(groups: dict[str, tuple[NDArray[Any], NDArray[Any]]], *, columns: int = 10) -> Any:
    """Groups of grey images under headings, each image with its score: {heading: (images, scores)}."""
    heights = [-(-len(pictures) // columns) for pictures, _ in groups.values()]
    figure = _figure(columns * 0.85, sum(heights) * 1.0 + 0.35 * len(groups))
    parts = np.atleast_1d(figure.subfigures(len(groups), 1, height_ratios=heights))
    for part, (heading, (pictures, scores)), height in zip(parts, groups.items(), heights, strict=True):
        part.suptitle(heading, fontsize=11)
        panels = part.subplots(height, columns, squeeze=False).ravel()
        for panel in panels:
            panel.axis("off")
        for panel, picture, score in zip(panels, pictures, scores, strict=False):
            panel.imshow(picture, cmap="gray_r")
            panel.set_title(f"{score:.2g}", fontsize=8, pad=2)
    return figure


def _side(t: float) -> str:
    return {0.0: "  (global)", 1.0: "  (local)"}.get(float(t), "")


def _figure(width: float, height: float) -> Any:
    return optional("matplotlib.figure", "plots").Figure(figsize=(width, height), layout="constrained", dpi=150)
