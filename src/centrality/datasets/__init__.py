"""Offer samples of known distributions, small tables that need no download, and published data sets by name."""

from centrality.datasets.bundled_sets import bundled, houses
from centrality.datasets.published import fetch, names
from centrality.datasets.synthetic import Mixture, four_clusters, normal, random_clusters, student_t, uniform

__all__ = [
    "Mixture",
    "bundled",
    "fetch",
    "four_clusters",
    "houses",
    "names",
    "normal",
    "random_clusters",
    "student_t",
    "uniform",
]
