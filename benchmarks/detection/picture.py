"""The critical-difference picture: methods on a line by mean rank, those that cannot be told apart joined by a bar."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.detection.summary import METRICS, US, Table

INK, OURS, BAR = "#222222", "#d6604d", "#2166ac"


def critical_differences(tables: list[Table], path: Path) -> None:
    """One panel a table, after Demšar (2006)."""
    columns = min(2, len(tables))
    lines = -(-len(tables) // columns)
    height = 0.55 + 0.115 * max(len(t.methods) for t in tables)
    figure = Figure(figsize=(5.4 * columns, (height + 0.4) * lines), layout="constrained", dpi=150)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for panel in panels:
        panel.axis("off")
    for panel, t in zip(panels, tables, strict=False):
        draw(panel, t)
    figure.savefig(path)


def draw(panel: Any, t: Table) -> None:
    ranks = t.ranks
    order = np.argsort(ranks, kind="stable")
    k = len(order)
    left = (k + 1) // 2  # the better half is named on the left
    low, high = np.floor(ranks.min()), np.ceil(ranks.max())
    span = max(high - low, 1.0)
    at = (ranks - low) / span
    panel.set(xlim=(-0.42, 1.42), ylim=(-left - 2.6, 1.6))
    panel.set_title(f"{t.protocol}, {METRICS[t.metric]}: mean rank over {len(t.sets)} sets", fontsize=9)
    panel.plot([0, 1], [0, 0], color=INK, linewidth=1)
    for tick in np.arange(low, high + 1):
        x = (tick - low) / span
        panel.plot([x, x], [0, 0.22], color=INK, linewidth=0.8)
        panel.text(x, 0.35, f"{tick:.0f}", ha="center", va="bottom", fontsize=7)
    bars = groups(ranks[order], t.critical_difference)
    for depth, (first, last) in enumerate(bars):
        y = -0.45 - 0.28 * depth
        panel.plot([at[order[first]] - 0.01, at[order[last]] + 0.01], [y, y], color=BAR, linewidth=2.5)
    below = -0.75 - 0.28 * len(bars)
    panel.set_ylim(below - left + 0.4, 1.6)
    for place, j in enumerate(order):
        side, step = (-0.02, place) if place < left else (1.02, k - 1 - place)
        y, method = below - 0.95 * step, t.methods[j]
        colour = OURS if method == US else INK
        panel.plot([at[j], at[j], side], [0, y, y], color=colour, linewidth=1.4 if method == US else 0.7)
        panel.text(
            side + (-0.02 if place < left else 0.02),
            y,
            f"{method}  {ranks[j]:.2f}" if place < left else f"{ranks[j]:.2f}  {method}",
            ha="right" if place < left else "left",
            va="center",
            fontsize=7.5,
            color=colour,
            weight="bold" if method == US else "normal",
        )


def groups(ranks: np.ndarray, difference: float) -> list[tuple[int, int]]:
    """(first, last) of each longest run of sorted mean ranks that all lie within the critical difference."""
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = int(np.searchsorted(ranks, ranks[first] + difference, side="right")) - 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found
