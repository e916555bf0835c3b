"""What a step of training needs, made of the parameters of a model."""

from typing import Any

import numpy as np

from centrality import PaperFUSE
from centrality.fuse.comparisons import Comparison, compare
from centrality.fuse.config import FitConfig
from centrality.fuse.data import TrainingData
from centrality.network.scaling import Scaling


def config_of(X: Any, dissimilarity: object = None, **parameters: Any) -> FitConfig:
    """Every decision of a fit with these parameters to the rows X; noise scales that are numbers are chosen already."""
    model = PaperFUSE(**parameters)
    config = model._config(X, dissimilarity, seed=0)
    return config if isinstance(config.noise_scale, str) else config.with_noise_scales(config.noise_scale)


def data_of(X: Any, max_values: int = 1 << 20, **options: Any) -> TrainingData:
    """The rows X, unscaled."""
    return TrainingData(X, Scaling.fit(X, "none"), np.random.default_rng(0), max_values=max_values, **options)


def comparison_of(X: Any, metric: Any = "euclidean", dissimilarity: Any = None, **options: Any) -> Comparison:
    return compare(data_of(X, **options), metric, dissimilarity)
