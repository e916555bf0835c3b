"""Draw figures: each function takes arrays, never models, and returns a matplotlib Figure that nothing else holds."""

from centrality.plots.lines import drift, history, profile, runtime
from centrality.plots.planes import contours, homotopy_map, score_maps
from centrality.plots.points import bagplot, dd_plot, hull, images, inside, scores

__all__ = [
    "bagplot",
    "contours",
    "dd_plot",
    "drift",
    "history",
    "homotopy_map",
    "hull",
    "images",
    "inside",
    "profile",
    "runtime",
    "score_maps",
    "scores",
]
