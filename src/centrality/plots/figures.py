"""Draw figures: lines, planes, points."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from centrality._internal.checks import InputError, optional
from centrality._internal.text import share
from centrality.analysis.drift import EFFECT, DriftReport, Window
from centrality.network.calibration import SOFT, Mixing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Array: TypeAlias = NDArray[Any]  # of numbers of any type, or of labels

COLOUR_MAP = "viridis"  # even to the eye, safe for the colour-blind; yellow is central here and in the explorer
INK = "#222222"
POINT_COLOUR = "#ffffff"
FIRST = "#296e9b"
SECOND = "#d6604d"
OUTLIER = "#c2183c"  # as in the explorer
# Ten classes, any two at least ten units of CIEDE2000 apart with every kind of colour vision; as in
# web/src/core/colours.ts.
CLASS_COLOURS = (
    "#296e9b", "#c25900", "#009e73", "#cc79a7", "#56b4e9", "#6625ff", "#8d4d33", "#aba512", "#dccf00", "#f7bbd7",
)  # fmt: skip
LINE_COLOURS = CLASS_COLOURS[:6]
LINE_STYLES = ("-", "--", ":", "-.")
DPI = 200  # sharp in print and on screens of two pixels a point


def spread(heights: Array, gap: float) -> Array:
    """Move rising heights no more than needed to lie `gap` apart."""
    moved = np.array(heights, dtype=float)
    for k in range(1, len(moved)):
        moved[k] = max(moved[k], moved[k - 1] + gap)
    return moved - (moved - heights).mean() if len(moved) else moved


def title(t: float) -> str:
    """Return the title of a panel at t, which says which end is global and which is local."""
    return f"t = {t:g}" + {0.0: "  (global)", 1.0: "  (local)"}.get(float(t), "")


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure that belongs to nobody, and that notebooks show without any magic."""
    kind = optional("matplotlib.figure", "plots").Figure

    def as_png(figure: "Figure") -> bytes:
        file = BytesIO()
        figure.savefig(file, format="png", dpi=DPI / 2)
        return file.getvalue()

    figure_class = type("Figure", (kind,), {"_repr_png_": as_png, "__module__": kind.__module__})
    figure: Figure = figure_class(figsize=(width, height), layout="constrained", dpi=DPI)
    return figure


def new_wide_figure(width: float, height: float) -> tuple["Figure", float]:
    """Return a figure, and the size of letters that can still be read when it is shrunk to the width of a page."""
    return new_figure(width, height), max(10.0, 1.15 * width)


def new_square_figure() -> tuple["Figure", "Axes"]:
    """Return a figure of one square panel, and the panel."""
    figure = new_figure(5.2, 5.2)
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def profile(
    heads: Array, *, rows: Sequence[int] | None = None, shown: int = 10, t: float = 0.5, mixing: Mixing = SOFT
) -> "Figure":
    """Draw centrality along t: bands that hold half and nine tenths of the rows, and a line each for some rows.

    `heads` (n, 2): global and local. `rows` are the numbers of the rows to draw, each named at the end of its line;
    without them, the `shown` most and least central ones at `t` are drawn. `mixing`, the model's
    `fitted_.mixing`, says how it mixes heads; by default, as a model with default settings does.

    >>> from centrality.plots import profile
    >>> import numpy as np
    >>> heads = np.array([[0.2, 0.9], [0.5, 0.5], [0.8, 0.1]])  # global, local
    >>> profile(heads, rows=[0, 2]).axes[0].get_ylabel()
    'centrality'
    """
    figure, axes = new_square_figure()
    ts = np.linspace(0, 1, 51).tolist()
    scored = heads[~np.isnan(heads).any(1)]
    all_scores = mixing(scored, ts)  # (n, 51)
    for (lower, upper), alpha, label in (((5, 95), 0.12, "nine tenths of the rows"), ((25, 75), 0.22, "half of them")):
        axes.fill_between(
            ts, *np.percentile(all_scores, [lower, upper], axis=0), color="0.3", alpha=alpha, linewidth=0, label=label
        )
    if rows is None:
        order = np.argsort(-mixing(scored, t))
        groups = ((order[:shown], FIRST, "most central"), (order[::-1][:shown], SECOND, "most peripheral"))
        for chosen, colour, label in groups:
            for k, row in enumerate(chosen):
                axes.plot(ts, all_scores[row], color=colour, linewidth=1, alpha=0.8, label=label if k == 0 else None)
        axes.axvline(t, color="0.6", linewidth=0.8, linestyle=":")
    else:
        # A line a row, named at its right end; line styles differ, too, for those who do not see the colours.
        lines = mixing(heads[list(rows)], ts)
        ends = lines[:, -1]
        order = np.argsort(ends)
        for k, (line, label_height) in enumerate(zip(order, spread(ends[order], 0.04), strict=True)):
            colour = LINE_COLOURS[k % len(LINE_COLOURS)]
            style = LINE_STYLES[k // len(LINE_COLOURS) % len(LINE_STYLES)]
            axes.plot(ts, lines[line], color=colour, linewidth=1.6, linestyle=style)
            axes.annotate(f"row {rows[line]:,}", (1, ends[line]), (1.02, label_height), color=colour, va="center",
                          fontsize=8, annotation_clip=False)  # fmt: skip
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="t:  0 is global, 1 is local", ylabel="centrality")
    axes.legend(frameon=False, fontsize=8)
    return figure


def history(losses: Mapping[str, Sequence[float]], *, nothing: dict[str, float] | None = None) -> "Figure":
    """Draw the losses of both heads as training went on, as `history_` has them: "step", "global" and "local".

    `nothing` are the losses of heads that have learned nothing, drawn as dotted lines: a head whose line stays
    there has not learned. The thin line is the loss itself, the thick one its running mean.

    >>> from centrality.plots import history
    >>> history({"step": [1, 2], "global": [0.7, 0.6], "local": [0.5, 0.3]}).axes[1].get_ylabel()
    'local loss'
    """
    figure = new_figure(7.6, 3.0)
    for axes, head, colour in zip(figure.subplots(1, 2), ("global", "local"), (FIRST, SECOND), strict=True):
        values = np.asarray(losses[head], dtype=float)
        finite = np.isfinite(values)
        steps = np.asarray(losses["step"])[finite]
        values = values[finite]
        axes.plot(steps, values, color=colour, linewidth=0.8, alpha=0.35)
        axes.plot(steps, smoothed(values), color=colour, linewidth=1.6)
        if nothing is not None:
            axes.axhline(nothing[head], color="0.4", linewidth=0.8, linestyle=":")
            axes.annotate("without learning", (1, nothing[head]), (0, 3), xycoords=("axes fraction", "data"),
                          textcoords="offset points", ha="right", fontsize=7, color="0.3")  # fmt: skip
        axes.set(xlabel="step", ylabel=f"{head} loss")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25, linewidth=0.5)
    return figure


def smoothed(values: Array) -> Array:
    """Return the running mean over a tenth of the values, at most 25 of them; near the ends, over fewer.

    >>> smoothed(np.array([1.0, 3.0, 5.0, 7.0])).tolist()  # of so few, each stands for itself
    [1.0, 3.0, 5.0, 7.0]
    """
    reach = min(len(values) // 20, 12)
    totals = np.concatenate([[0.0], np.cumsum(values)])
    places = np.arange(len(values))
    first = np.maximum(places - reach, 0)
    last = np.minimum(places + reach + 1, len(values))
    return np.asarray((totals[last] - totals[first]) / (last - first))


def drift(report: DriftReport) -> "Figure":
    """Draw how new rows differ from the training rows, window by window: the effect of each head along the rows.

    The grey band holds effects that are too small to matter; a filled mark is a window that differs beyond chance.

    >>> from centrality.plots import drift
    >>> import numpy as np
    >>> from centrality.analysis.drift import TrainingScores
    >>> from centrality.analysis.drift import compare_windows
    >>> old, new = np.random.default_rng(0).uniform(size=(2, 500, 2))
    >>> drift(compare_windows(TrainingScores.of(old), new, 100)).axes[0].get_title()
    '500 new rows against 500 training rows'
    """
    figure = new_figure(7.6, 3.2)
    axes = figure.subplots()
    axes.axhspan(-EFFECT, EFFECT, color="0.9", label="too small to matter")
    axes.axhline(0, color="0.6", linewidth=0.8)
    windows = report.windows or [Window(0, report.whole.rows - 1, report.whole, report.whole.p_value)]
    middles = [(window.first + window.last) / 2 for window in windows]
    for head, colour, marker in (("global_head", FIRST, "s"), ("local_head", SECOND, "^")):
        effects = np.array([getattr(window.drift, head).effect for window in windows])
        changed = np.array([window.changed for window in windows])
        axes.plot(middles, effects, color=colour, linewidth=1.2, label=head.removesuffix("_head"))
        axes.scatter(middles, effects, s=22, marker=marker, facecolors=np.where(changed, colour, "white"),
                     edgecolors=colour, zorder=3)  # fmt: skip
    limit = max(0.5, *(abs(window.drift.effect) for window in windows)) + 0.1
    axes.set(ylim=(-limit, limit), xlabel="row", ylabel="effect (up: more central)")
    axes.xaxis.set_major_formatter(lambda row, _: f"{row:,.0f}")
    axes.set_title(f"{report.whole.rows:,} new rows against {report.reference_rows:,} {report.reference}", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="lower left")
    return figure


def runtime(
    panels: dict[str, dict[str, tuple[Sequence[float], Sequence[float]]]], *, highlight: str = "FUSE"
) -> "Figure":
    """Draw time per sample on logarithmic axes: {label of the x axis: {method: (x, microseconds)}}, a panel for each.

    Methods are named at the end of their lines, which tells them apart without colours.

    >>> from centrality.plots import runtime
    >>> runtime({"rows": {"FUSE": ([10, 100], [2.0, 1.0]), "kNN": ([10, 100], [3.0, 30.0])}}).axes[0].get_xlabel()
    'rows'
    """
    figure = new_figure(4.6 * len(panels), 3.6)
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for panel, (label, lines) in zip(axes, panels.items(), strict=True):
        ends = sorted((y[-1], method) for method, (_, y) in lines.items())
        label_heights = spread(np.log10([y for y, _ in ends]), 0.22)
        for (end, method), label_height in zip(ends, label_heights, strict=True):
            x, y = lines[method]
            strong = method == highlight
            colour = OUTLIER if strong else "#777777"
            panel.plot(
                x, y, "o-", color=colour, markersize=3, linewidth=2.2 if strong else 1.0, zorder=3 if strong else 2
            )
            panel.annotate(
                method, (x[-1], end), (1.02 * 1.06 * x[-1], 10**label_height), textcoords="data", fontsize=8,
                color=colour, va="center", weight="bold" if strong else "normal", annotation_clip=False,
            )  # fmt: skip
        panel.set(xscale="log", yscale="log", xlabel=label)
        panel.set_xlim(right=panel.get_xlim()[1] * 3)  # room for the names
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25, linewidth=0.5)
    axes[0].set_ylabel("µs per sample")
    return figure


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
    low_corner = points.min(axis=0) - margin
    high_corner = points.max(axis=0) + margin
    wide, high = high_corner - low_corner
    ratio = float(np.clip(high / wide, 0.4, 1.6))
    figure, font = new_wide_figure(2.6 * columns + 0.9, (2.6 * ratio + 0.35) * lines + 0.3 * (axes is not None))
    panels = list(figure.subplots(lines, columns, squeeze=False).ravel())
    for spare in panels[count:]:
        spare.axis("off")
    size = float(np.clip(12_000 / len(points), 2, 18))
    used = panels[count - len(scores) : count]
    lowest = min(map(np.min, scores.values()))
    highest = max(map(np.max, scores.values()))
    for panel, (name, score) in zip(used, scores.items(), strict=True):
        order = np.argsort(-score)
        limits = {"vmin": lowest, "vmax": highest}
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


KIND_MARKS = {  # colour, mark, and label of each kind of row
    "typical": ("0.55", "o", "typical"),
    "global": (FIRST, "s", "odd globally: far from everything"),
    "local": (SECOND, "^", "odd locally: a thin neighbourhood"),
    "both": (INK, "x", "odd in both ways"),
}
FENCE_FACTOR = 3.0  # Rousseeuw, Ruts and Tukey's: the bag, so many times as wide around the median, is the fence


def scores(heads: Array, *, kinds: Array | None = None, bounds: Array | None = None) -> "Figure":
    """Draw global against local centrality, a point a row, with the histogram of each beside its axis.

    Rows far from everything lie at the left, rows in thin neighbourhoods at the bottom: outliers of both kinds fall
    into different corners. `kinds` (n,), as a model's `kind` names them, give each its own colour and mark; `bounds`
    are the (2,) values below which the heads are low.

    >>> from centrality.plots import scores
    >>> import numpy as np
    >>> scores(np.array([[0.2, 0.9], [0.5, 0.5]])).axes[0].get_xlabel()
    'global centrality (t = 0)'
    """
    figure = new_figure(5.6, 5.9)
    grid = figure.add_gridspec(2, 2, width_ratios=(5, 1), height_ratios=(1, 5), wspace=0.02, hspace=0.02)
    axes = figure.add_subplot(grid[1, 0])
    top = figure.add_subplot(grid[0, 0], sharex=axes)
    right = figure.add_subplot(grid[1, 1], sharey=axes)
    size = float(np.clip(12_000 / max(len(heads), 1), 2, 18))
    kinds = np.full(len(heads), "typical") if kinds is None else np.asarray(kinds)
    for kind, (colour, marker, label) in KIND_MARKS.items():
        of_kind = heads[kinds == kind]
        if len(of_kind):
            odd = kind != "typical"
            axes.scatter(
                of_kind[:, 0], of_kind[:, 1], color=colour, marker=marker, s=max(size, 14) if odd else size,
                alpha=0.9 if odd else 0.45, linewidths=1.2 if marker == "x" else 0, label=f"{label} ({len(of_kind):,})",
            )  # fmt: skip
    bins = np.linspace(0, 1, 41).tolist()
    top.hist(heads[:, 0], bins, color="0.6")
    right.hist(heads[:, 1], bins, color="0.6", orientation="horizontal")
    for bound, draw in zip((None, None) if bounds is None else bounds, (axes.axvline, axes.axhline), strict=True):
        if bound is not None:
            draw(bound, color="0.4", linewidth=0.8, linestyle=":")
    for side in (top, right):
        side.axis("off")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="global centrality (t = 0)", ylabel="local (t = 1)")
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=2)
    return figure


def images(groups: dict[str, tuple[Array, Array]], *, columns: int = 10) -> "Figure":
    """Draw groups of grey images under headings, each image with its score: {heading: (images, scores)}.

    >>> from centrality.plots import images
    >>> import numpy as np
    >>> figure = images({"odd": (np.zeros((2, 8, 8)), [0.01, 0.02])}, columns=2)
    >>> figure.subfigs[0].get_suptitle()
    'odd'
    """
    heights = [-(-len(pictures) // columns) for pictures, _ in groups.values()]
    figure = new_figure(columns * 0.85, sum(heights) * 1.0 + 0.35 * len(groups))
    parts = figure.subfigures(len(groups), 1, height_ratios=heights, squeeze=False).ravel()
    for part, (heading, (pictures, scores)), height in zip(parts, groups.items(), heights, strict=True):
        part.suptitle(heading, fontsize=11)
        panels = part.subplots(height, columns, squeeze=False).ravel()
        for panel in panels:
            panel.axis("off")
        for panel, picture, score in zip(panels, pictures, scores, strict=False):
            panel.imshow(picture, cmap="gray_r")
            panel.set_title(share(float(score)), fontsize=8, pad=2)
    return figure


def dd_plot(
    in_first: Array,
    in_second: Array,
    of_first: Array,
    *,
    labels: tuple[str, str] = ("first", "second"),
) -> "Figure":
    """Draw each row's depth in one sample against its depth in another.

    Two samples of one distribution lie along the diagonal; a shift pulls them apart to either side of it, a
    difference in scale bends both to one side.

    >>> from centrality.plots import dd_plot
    >>> import numpy as np
    >>> of_first = np.array([True, True, False])
    >>> in_old, in_new = np.array([0.9, 0.8, 0.1]), np.array([0.2, 0.1, 0.9])
    >>> dd_plot(in_old, in_new, of_first, labels=("old", "new")).axes[0].get_xlabel()
    'depth in old'
    """
    figure, axes = new_square_figure()
    top = float(max(np.max(in_first), np.max(in_second)))
    low = float(min(np.min(in_first), np.min(in_second), 0))
    axes.plot([low, top], [low, top], color="0.6", linewidth=1, zorder=1, label="equally deep in both")
    for mask, colour, marker, label in ((of_first, FIRST, "o", labels[0]), (~of_first, SECOND, "^", labels[1])):
        axes.scatter(
            in_first[mask], in_second[mask], s=14, color=colour, marker=marker, alpha=0.6, linewidths=0, label=label
        )
    axes.set(xlabel=f"depth in {labels[0]}", ylabel=f"depth in {labels[1]}", aspect="equal")
    axes.legend(frameon=False)
    return figure


def bagplot(X: Array, depth: Array, *, center: Array | None = None, names: tuple[str, str] = ("x", "y")) -> "Figure":
    """Draw a boxplot in the plane: the median, the bag of the deeper half, and the outliers beyond the fence around it.

    `center` is the position of the median; without it, the deepest row is the median.

    >>> from centrality.plots import bagplot
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> bagplot(X, -np.abs(X).sum(1), names=("length", "width")).axes[0].get_xlabel()
    'length'
    """
    X = np.asarray(X, dtype=np.float64)
    depth = np.asarray(depth)
    if X.ndim != 2 or X.shape[1] != 2:
        raise InputError(f"A bagplot needs rows of two columns, got shape {X.shape}.")
    center = X[depth.argmax()] if center is None else np.asarray(center)
    bag = hull(X[depth >= np.median(depth)])
    beyond = ~inside(X, center + FENCE_FACTOR * (bag - center))
    loop = hull(X[~beyond])
    figure, axes = new_square_figure()
    axes.fill(*loop.T, color=FIRST, alpha=0.15, linewidth=0, label="all points but the outliers")
    axes.fill(*bag.T, color=FIRST, alpha=0.4, linewidth=0, label="the more central half")
    axes.scatter(X[~beyond, 0], X[~beyond, 1], s=8, color="0.25", alpha=0.6, linewidths=0)
    if beyond.any():
        axes.scatter(X[beyond, 0], X[beyond, 1], s=22, color=OUTLIER, marker="x", linewidths=1.2, label="outliers")
    x, y = center
    axes.scatter(x, y, s=90, color="white", edgecolors="black", marker="*", linewidths=0.8, label="median", zorder=3)
    axes.set(xlabel=names[0], ylabel=names[1])
    axes.legend(frameon=False)
    return figure


def hull(points: Array) -> Array:  # (k, 2)
    """Return the corners of the convex hull, counter-clockwise; raise InputError where it has no area.

    >>> from centrality.plots import hull
    >>> import numpy as np
    >>> hull(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.2, 0.2]])).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError) as error:
        raise InputError(
            f"A bagplot needs rows that spread over the plane, but these {len(points)} lie on a line or a point."
        ) from error


def inside(points: Array, corners: Array) -> NDArray[np.bool_]:  # (n,)
    """Tell which points lie in the convex polygon with these counter-clockwise corners, border included.

    >>> from centrality.plots import inside
    >>> import numpy as np
    >>> inside(np.array([[0.2, 0.2], [1.0, 1.0]]), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).tolist()
    [True, False]
    """
    edges = np.roll(corners, -1, axis=0) - corners  # (k, 2)
    from_corners = points[:, None, :] - corners  # (n, k, 2)
    turn = edges[:, 0] * from_corners[:, :, 1] - edges[:, 1] * from_corners[:, :, 0]  # to the left if positive
    return np.asarray((turn >= -1e-12 * np.abs(edges).max() ** 2).all(1))
