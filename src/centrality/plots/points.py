"""Draw rows as points or pictures: both heads, depths in two samples, a bag around the median, images."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from centrality._checks import InputError
from centrality.plots._style import FIRST, INK, OUTLIER, SECOND, Array, new_figure, new_square_figure
from centrality.scores.number_format import share

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    top, right = figure.add_subplot(grid[0, 0], sharex=axes), figure.add_subplot(grid[1, 1], sharey=axes)
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
    X, depth = np.asarray(X, dtype=np.float64), np.asarray(depth)
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
