"""Draw figures: each function takes arrays, never models, and returns a matplotlib Figure that nothing else holds."""

from centrality.plots.figures import (
    bagplot,
    contours,
    dd_plot,
    drift,
    history,
    homotopy_map,
    hull,
    images,
    inside,
    profile,
    runtime,
    score_maps,
    scores,
)
from centrality.plots.pictures import picture_heat
from centrality.plots.timeline import timeline

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
    "picture_heat",
    "profile",
    "runtime",
    "score_maps",
    "scores",
    "timeline",
]
