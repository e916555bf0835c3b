"""Offer samples of known distributions, and published data sets by name."""

from centrality.datasets.published import fetch, names
from centrality.datasets.synthetic import Mixture, four_clusters, normal, random_clusters, student_t, uniform

__all__ = ["Mixture", "fetch", "four_clusters", "names", "normal", "random_clusters", "student_t", "uniform"]
