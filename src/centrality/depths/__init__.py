"""Offer classical depths, each a small estimator with the same methods as FUSE.

All take rows as FUSE does and give `score_samples` (larger is deeper), `decision_function` and `predict`.
None of them needs torch.
"""

from centrality.depths._base import Depth
from centrality.depths.directional import Halfspace, Projection
from centrality.depths.distance_based import L2, KernelDensity, Mahalanobis, Potential, Spatial
from centrality.depths.simplicial import Simplicial, Zonoid

BY_NAME: dict[str, type[Depth]] = {
    "mahalanobis": Mahalanobis,
    "spatial": Spatial,
    "l2": L2,
    "potential": Potential,
    "kernel_density": KernelDensity,
    "projection": Projection,
    "halfspace": Halfspace,
    "simplicial": Simplicial,
    "zonoid": Zonoid,
}

__all__ = [
    "BY_NAME",
    "L2",
    "Depth",
    "Halfspace",
    "KernelDensity",
    "Mahalanobis",
    "Potential",
    "Projection",
    "Simplicial",
    "Spatial",
    "Zonoid",
]
