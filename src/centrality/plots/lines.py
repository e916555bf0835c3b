"""Draw lines: scores along t, losses along training, drift along the rows, times along sizes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from centrality.plots._style import (
    FIRST,
    LINE_COLOURS,
    LINE_STYLES,
    OUTLIER,
    SECOND,
    Array,
    new_figure,
    new_square_figure,
    spread,
)
from centrality.scores.drift import EFFECT
from centrality.scores.drift_windows import DriftReport, Window
from centrality.scores.mixing import SOFT, Mixing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
    known = heads[~np.isnan(heads).any(1)]
    all_scores = mixing(known, ts)  # (n, 51)
    for (lower, upper), alpha, label in (((5, 95), 0.12, "nine tenths of the rows"), ((25, 75), 0.22, "half of them")):
        axes.fill_between(
            ts, *np.percentile(all_scores, [lower, upper], axis=0), color="0.3", alpha=alpha, linewidth=0, label=label
        )
    if rows is None:
        order = np.argsort(-mixing(known, t))
        groups = ((order[:shown], FIRST, "most central"), (order[::-1][:shown], SECOND, "most peripheral"))
        for chosen, colour, label in groups:
            for k, row in enumerate(chosen):
                axes.plot(ts, all_scores[row], color=colour, linewidth=1, alpha=0.8, label=label if k == 0 else None)
        axes.axvline(t, color="0.6", linewidth=0.8, linestyle=":")
    else:
        _named_lines(axes, ts, mixing(heads[list(rows)], ts), [f"row {row:,}" for row in rows])
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="t:  0 is global, 1 is local", ylabel="centrality")
    axes.legend(frameon=False, fontsize=8)
    return figure


def _named_lines(axes: "Axes", ts: Sequence[float], scores: Array, names: Sequence[str]) -> None:
    """Draw a line a row, named at its right end; line styles differ, too, for those who do not see the colours."""
    ends = scores[:, -1]
    order = np.argsort(ends)
    for k, (row, label_height) in enumerate(zip(order, spread(ends[order], 0.04), strict=True)):
        colour = LINE_COLOURS[k % len(LINE_COLOURS)]
        style = LINE_STYLES[k // len(LINE_COLOURS) % len(LINE_STYLES)]
        axes.plot(ts, scores[row], color=colour, linewidth=1.6, linestyle=style)
        axes.annotate(names[row], (1, ends[row]), (1.02, label_height), color=colour, va="center", fontsize=8,
                      annotation_clip=False)  # fmt: skip


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
        known = np.isfinite(values)
        steps, values = np.asarray(losses["step"])[known], values[known]
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
    first, last = np.maximum(places - reach, 0), np.minimum(places + reach + 1, len(values))
    return np.asarray((totals[last] - totals[first]) / (last - first))


def drift(report: DriftReport) -> "Figure":
    """Draw how new rows differ from the training rows, window by window: the effect of each head along the rows.

    The grey band holds effects that are too small to matter; a filled mark is a window that differs beyond chance.

    >>> from centrality.plots import drift
    >>> import numpy as np
    >>> from centrality.scores.drift import TrainingScores
    >>> from centrality.scores.drift_windows import compare_windows
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
    most = max(0.5, *(abs(window.drift.effect) for window in windows)) + 0.1
    axes.set(ylim=(-most, most), xlabel="row", ylabel="effect (up: more central)")
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
