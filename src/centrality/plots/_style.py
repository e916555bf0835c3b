"""Set the style that all figures share: colours that everybody can tell apart, sizes, and how notebooks show them."""

from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from centrality._optional import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array: TypeAlias = NDArray[Any]  # of numbers of any type, or of labels

COLOUR_MAP = "viridis"  # even to the eye, safe for the colour-blind; yellow is central here and in the explorer
INK, POINT_COLOUR = "#222222", "#ffffff"
FIRST, SECOND, OUTLIER = "#296e9b", "#d6604d", "#c2183c"  # OUTLIER as the explorer has it
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
    shown = type("Figure", (kind,), {"_repr_png_": _as_png, "__module__": kind.__module__})
    figure: Figure = shown(figsize=(width, height), layout="constrained", dpi=DPI)
    return figure


def _as_png(figure: "Figure") -> bytes:
    """Return the figure as the bytes of a PNG file, which is what notebooks ask for."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=DPI / 2)
    return file.getvalue()


def new_wide_figure(width: float, height: float) -> tuple["Figure", float]:
    """Return a figure, and the size of letters that can still be read when it is shrunk to the width of a page."""
    return new_figure(width, height), max(10.0, 1.15 * width)


def new_square_figure() -> tuple["Figure", "Axes"]:
    """Return a figure of one square panel, and the panel."""
    figure = new_figure(5.2, 5.2)
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
