"""Draw pictures, with what is odd in them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError, optional
from centrality.plots.figures import OUTLIER, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PALE = 0.45  # how much of a picture's contrast is left below the heat
FROM = 1.0  # decades: one in ten is not coloured at all,
LEAST_TOP = 4.0  # one in 10,000 fully
HEIGHT = 3.6  # inches of a panel


def picture_heat(
    picture: NDArray[Any], heat: NDArray[np.float64], *, boxes: Sequence[tuple[int, int, int, int]] = ()
) -> "Figure":
    """Draw a picture, and beside it the heat over it in grey: the redder, the odder.

    `picture` is (height, width) or (height, width, 3) of uint8. `heat` (height, width) holds the logarithm to base 10
    of one in how many patches is as odd. `boxes` are framed: left, top, right and bottom of each, in pixels.

    >>> import numpy as np
    >>> from centrality.plots import picture_heat
    >>> picture = np.full((40, 60, 3), 128, dtype=np.uint8)
    >>> heat = np.zeros((40, 60))
    >>> heat[10:20, 30:40] = 4
    >>> figure = picture_heat(picture, heat, boxes=[(30, 10, 40, 20)])
    >>> [axes.get_title() for axes in figure.axes[:2]]
    ['the picture', 'what is odd in it']
    """
    picture = np.asarray(picture)
    if picture.shape[:2] != np.shape(heat):
        raise InputError(f"Heat was wanted for each pixel, {picture.shape[:2]}, got {np.shape(heat)}.")
    height, width = picture.shape[:2]
    colours = optional("matplotlib.colors", "plots")
    scale = colours.LinearSegmentedColormap.from_list("odd", [(*colours.to_rgb(OUTLIER), alpha) for alpha in (0, 0.9)])
    # Panels of about one area, whatever the picture's shape, of at most twice the usual width.
    panel = float(np.clip(HEIGHT * width / height, HEIGHT / 2, 2 * HEIGHT))
    figure = new_figure(2 * panel + 1.0, panel * height / width + 0.4)
    left, right = figure.subplots(1, 2)
    left.imshow(picture, cmap="gray", vmin=0, vmax=255)
    grey = picture if picture.ndim == 2 else picture[:, :, :3].mean(2)
    right.imshow(255 - PALE * (255 - grey), cmap="gray", vmin=0, vmax=255)
    top = max(LEAST_TOP, float(np.nanmax(heat)))
    layer = right.imshow(heat, cmap=scale, vmin=FROM, vmax=top)
    for box in boxes:
        x = box[0] - 0.5
        y = box[1] - 0.5
        frame = optional("matplotlib.patches", "plots").Rectangle(
            (x, y), box[2] - box[0], box[3] - box[1], fill=False, edgecolor=OUTLIER, linewidth=1.4
        )
        right.add_patch(frame)
    for axes, heading in ((left, "the picture"), (right, "what is odd in it")):
        axes.set_title(heading, fontsize=10)
        axes.set_axis_off()
    decades = np.arange(int(FROM), int(top) + 1)
    bar = figure.colorbar(layer, ax=right, ticks=decades, shrink=0.85, aspect=18)
    bar.ax.set_yticklabels([f"1 in {10**decade:,}" for decade in decades.tolist()], fontsize=8)
    bar.set_label("patches of ordinary pictures", fontsize=8)
    return figure
