"""Hold the estimators on rows of numbers: FUSE, and PaperFUSE with the words of the paper."""

from centrality.fuse.estimator import FUSE
from centrality.fuse.paper import PaperFUSE

__all__ = ["FUSE", "PaperFUSE"]
