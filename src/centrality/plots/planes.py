"""Draw scores over the plane: as contours, or as the colours of points on a map."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from centrality._optional import optional
from centrality.plots._style import CLASS_COLOURS, COLOUR_MAP, INK, POINT_COLOUR, Array, new_wide_figure, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


FEW_CLASSES = 4


def contours(
    grids: Sequence[tuple[Array, Array, Array]],
    ts: Sequence[float],
    *,
    points: Sequence[Array] | None = None,
    titles: Sequence[str] | None = None,
    levels: int = 12,
) -> "Figure":
    """Draw filled contours of f(x, t) on the plane: a line of panels for each grid, a panel for each t.

    Each grid is (x, y, f) with f of shape (len(y), len(x), len(ts)); `points` are drawn on top, an (n, 2) array
    for each grid. All panels share their colours and one colour bar, so that they can be compared.

    >>> from centrality.plots import contours
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 20)
    >>> f = np.exp(-(x[:, None] ** 2) - x**2)[:, :, None]  # one t: (20, 20, 1)
    >>> figure = contours([(x, x, f)], [0.5])
    >>> figure.axes[0].get_title()
    't = 0.5'
    """
    ticker = optional("matplotlib.ticker", "plots")
    values = [f for _, _, f in grids]
    shades = ticker.MaxNLocator(levels, steps=[1, 2, 5, 10]).tick_values(
        min(map(np.min, values)), max(map(np.max, values))
    )
    figure, font = new_wide_figure(2.3 * len(ts) + 0.9, 2.3 * len(grids) + 0.3)
    panels = figure.subplots(len(grids), len(ts), squeeze=False)
    for r, (x, y, f) in enumerate(grids):
        for c, t in enumerate(ts):
            panel = panels[r, c]
            filled = panel.contourf(x, y, f[:, :, c], levels=shades, cmap=COLOUR_MAP)
            panel.contour(x, y, f[:, :, c], levels=shades, colors=INK, linewidths=0.25, alpha=0.5)
            if points is not None:
                panel.plot(*points[r].T, ",", color=POINT_COLOUR, alpha=0.35)
            panel.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), aspect="equal")
            panel.tick_params(labelsize=0.7 * font, labelleft=c == 0, length=2)
            panel.xaxis.set_major_locator(ticker.MaxNLocator(4))
            panel.yaxis.set_major_locator(ticker.MaxNLocator(4))
            if r == 0:
                panel.set_title(title(t), fontsize=font)
        if titles is not None:
            panels[r, 0].set_ylabel(titles[r], fontsize=font)
    bar = _add_colour_bar(figure, filled, panels.ravel().tolist(), font, aspect=30)
    bar.locator = ticker.MaxNLocator(5, steps=[1, 2, 5, 10])
    bar.update_ticks()
    return figure


def _add_colour_bar(figure: "Figure", drawn: Any, panels: "list[Axes]", font: float, aspect: float = 20) -> Any:
    """Add one bar beside all panels, which says which colour is which centrality."""
    bar = figure.colorbar(drawn, ax=panels, shrink=0.85, pad=0.01, aspect=aspect)
    bar.ax.tick_params(labelsize=0.75 * font)
    bar.set_label("centrality", fontsize=0.85 * font)
    return bar


def homotopy_map(
    points: Array,
    scores: Array,
    ts: Sequence[float],
    *,
    labels: Array | None = None,
    columns: int | None = None,
    axes: tuple[str, str] | None = None,
) -> "Figure":
    """Draw the rows on a map, coloured by their centrality: a panel for each t, global to local.

    `points` are (n, 2), `scores` (n, len(ts)); `labels`, `columns` and `axes` as in `score_maps`.

    >>> from centrality.plots import homotopy_map
    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(size=(50, 2))
    >>> figure = homotopy_map(points, np.column_stack([points[:, 0], points[:, 1]]), [0, 1])
    >>> [axes.get_title() for axes in figure.axes[:2]]
    ['t = 0  (global)', 't = 1  (local)']
    """
    panels = {title(t): score for t, score in zip(ts, scores.T, strict=True)}
    return score_maps(points, panels, labels=labels, columns=columns, axes=axes)


def score_maps(
    points: Array,
    scores: dict[str, Array],
    *,
    labels: Array | None = None,
    columns: int | None = None,
    axes: tuple[str, str] | None = None,
) -> "Figure":
    """Draw the rows on a map: a panel for each named list of scores, all with the same limits of colour.

    `points` are (n, 2), each list of scores (n,). The least central rows are drawn last, so that a few of them are not
    hidden among many. `labels` add a first panel with the class of each row; `columns` breaks the panels into lines.
    `axes` are the names of the map's two axes. The frames fit the data: one unit is as long on both axes.

    >>> from centrality.plots import score_maps
    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(size=(50, 2))
    >>> score_maps(points, {"depth": points[:, 0], "density": points[:, 1]}).axes[1].get_title()
    'density'
    """
    count = len(scores) + (labels is not None)
    columns = columns or count
    lines = -(-count // columns)
    margin = 0.04 * np.maximum(np.ptp(points, axis=0), 1e-12)
    low_corner, high_corner = points.min(axis=0) - margin, points.max(axis=0) + margin
    wide, high = high_corner - low_corner
    ratio = float(np.clip(high / wide, 0.4, 1.6))
    figure, font = new_wide_figure(2.6 * columns + 0.9, (2.6 * ratio + 0.35) * lines + 0.3 * (axes is not None))
    panels = list(figure.subplots(lines, columns, squeeze=False).ravel())
    for spare in panels[count:]:
        spare.axis("off")
    size = float(np.clip(12_000 / len(points), 2, 18))
    shown = panels[count - len(scores) : count]
    least, most = min(map(np.min, scores.values())), max(map(np.max, scores.values()))
    for panel, (name, score) in zip(shown, scores.items(), strict=True):
        order, limits = np.argsort(-score), {"vmin": least, "vmax": most}
        look = {"s": size, "cmap": COLOUR_MAP, "linewidths": 0, "rasterized": True}
        drawn = panel.scatter(*points[order].T, c=score[order], **limits, **look)
        panel.set_title(name, fontsize=font)
    if labels is not None:
        _draw_classes(panels[0], points, np.asarray(labels), size=size, font=font)
    for panel in panels[:count]:
        panel.set(xticks=[], yticks=[], aspect="equal" if ratio == high / wide else "auto")
        panel.set(xlim=(low_corner[0], high_corner[0]), ylim=(low_corner[1], high_corner[1]))
    if axes is not None:
        panels[0].set_xlabel(axes[0], fontsize=0.75 * font)
        panels[0].set_ylabel(axes[1], fontsize=0.75 * font)
    _add_colour_bar(figure, drawn, panels, font)
    return figure


def _draw_classes(panel: "Axes", points: Array, labels: Array, *, size: float, font: float) -> None:
    """Colour the rows by class; many classes are named where their rows are, few in a legend, as they may overlap."""
    classes = np.unique(labels)
    order = np.random.default_rng(0).permutation(len(points))  # no class is hidden below another
    colours = np.array(CLASS_COLOURS)[np.searchsorted(classes, labels) % len(CLASS_COLOURS)]
    x, y = points[order].T
    panel.scatter(x, y, s=size, c=colours[order], linewidths=0, rasterized=True)
    panel.set_title("classes", fontsize=font)
    for k, label in enumerate(classes):
        if len(classes) > FEW_CLASSES:
            panel.annotate(
                str(label), np.median(points[labels == label], axis=0), fontsize=font, weight="bold", ha="center",
                va="center", bbox={"boxstyle": "round,pad=0.1", "color": "white", "alpha": 0.7},
            )  # fmt: skip
        else:
            panel.scatter([], [], s=30, color=CLASS_COLOURS[k % len(CLASS_COLOURS)], label=str(label))
    if len(classes) <= FEW_CLASSES:
        panel.legend(fontsize=0.75 * font, handletextpad=0.1, borderpad=0.2, labelspacing=0.2)
