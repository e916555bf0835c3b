"""Define the estimators on rows of numbers: FUSE, and PaperFUSE with the paper's parameters."""

from centrality.fuse.estimator import FUSE
from centrality.fuse.paper_fuse import PaperFUSE

__all__ = ["FUSE", "PaperFUSE"]
