"""Draw series over time, with what is odd in them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError, optional
from centrality.plots.figures import FIRST, OUTLIER, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CHANNELS = 8  # drawn: more cannot be read
MOST_POINTS = 4000  # of a line, by their lowest and highest values: a screen has no more
TYPICAL: dict[str, Any] = {"color": "0.45", "linewidth": 0.7, "linestyle": (0, (3, 2)), "label": "typical"}
DAY_ONE = np.datetime64("1970-01-01T00:00:00")


def timeline(
    times: NDArray[Any],
    values: NDArray[np.float64],
    centrality: NDArray[np.float64],
    *,
    names: Sequence[str] | None = None,
    events: Sequence[tuple[float, float]] = (),
    channels: Sequence[Sequence[str]] | None = None,
    typical: Sequence[tuple[tuple[float, float], tuple[float, float]]] = (),
    dated: bool = False,
) -> "Figure":
    """Draw channels above each other, the centrality below them, and events as shaded stretches.

    `times` (n,) are numbers or, with `dated`, seconds since 1970; `values` is (n, channels). `channels` are, for each
    event, the names of those to blame: it is shaded strongly there and faintly elsewhere. `typical` are pairs of
    windows, begin and end of each: what the channels do in the second is drawn as a broken line over the first.

    >>> import numpy as np
    >>> from centrality.plots import timeline
    >>> figure = timeline(np.arange(50), np.zeros((50, 2)), np.ones(50), names=["a", "b"], events=[(10, 20)])
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['a', 'b', 'centrality']
    """
    values = np.atleast_2d(np.asarray(values, dtype=np.float64).T).T
    if not len(times) == len(values) == len(centrality):
        raise InputError(
            f"Times, values and centrality of the same moments were wanted, got {len(times)}, {len(values)} and "
            f"{len(centrality)}."
        )
    names = [f"x{place}" for place in range(values.shape[1])] if names is None else list(names)
    drawn = list(range(min(values.shape[1], MOST_CHANNELS)))
    if channels is not None and values.shape[1] > MOST_CHANNELS:  # channels to blame come before others
        blamed = {names.index(name) for channels_of_event in channels for name in channels_of_event}
        others = [place for place in range(values.shape[1]) if place not in blamed]
        drawn = sorted([*sorted(blamed), *others][:MOST_CHANNELS])
    figure = new_figure(9.0, 1.1 + 1.1 * (len(drawn) + 1))
    panels = figure.subplots(len(drawn) + 1, 1, sharex=True, squeeze=False)[:, 0]
    for axes, place in zip(panels, drawn, strict=False):
        axes.plot(*_thinned(times, values[:, place], dated=dated), color=FIRST, linewidth=0.7)
        axes.set_ylabel(names[place])
    panels[-1].plot(*_thinned(times, centrality, dated=dated), color="0.25", linewidth=0.7)
    panels[-1].set(ylim=(0, 1.02), ylabel="centrality")
    if dated:
        dates = optional("matplotlib.dates", "plots")
        locator = dates.AutoDateLocator(maxticks=8)
        panels[-1].xaxis.set_major_locator(locator)
        panels[-1].xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0)
        axes.yaxis.label.set(rotation=0, ha="right", va="center")
    for window, beside in typical:
        place = int(np.searchsorted(times, window[0]))
        place_beside = int(np.searchsorted(times, beside[0]))
        count = min(int(np.searchsorted(times, window[1], side="right")) - place, len(times) - place_beside)
        for axes, channel in zip(panels, drawn, strict=False):
            line = values[place_beside : place_beside + count, channel]
            axes.plot(*_thinned(times[place : place + count], line, dated=dated), **TYPICAL)
    for number, (start, end) in enumerate(events):
        for row, axes in enumerate(panels):
            to_blame = row == len(drawn) or channels is None or names[drawn[row]] in channels[number]
            axes.axvspan(*_as_dates(np.array([start, end], dtype=float), dated=dated),
                         color=OUTLIER, alpha=0.3 if to_blame else 0.08, linewidth=1.5)  # fmt: skip
    return figure


def _as_dates(times: NDArray[Any], *, dated: bool) -> NDArray[Any]:
    if not dated:
        return np.asarray(times)
    return np.asarray(DAY_ONE + (np.asarray(times, dtype=np.float64) * 1e3).astype("m8[ms]"))


def _thinned(times: NDArray[Any], values: NDArray[np.float64], *, dated: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the lowest and the highest value of each of many short stretches; of few values, return all."""
    width = -(-2 * len(values) // MOST_POINTS)
    if width <= 1:
        return _as_dates(times, dated=dated), values
    count = len(values) // width
    blocks = values[: count * width].reshape(count, width)
    filled = np.where(np.isnan(blocks), np.nanmean(values), blocks)
    places = np.sort(np.column_stack([filled.argmin(1), filled.argmax(1)]), axis=1) + width * np.arange(count)[:, None]
    return _as_dates(np.asarray(times)[places.ravel()], dated=dated), values[places.ravel()]
