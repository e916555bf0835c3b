"""Torch modules from arrays, which tests of several folders need."""

from typing import Any

import numpy as np
import torch

from centrality.network.network import Layout, Weights, build
from centrality.torch.networks import Networks, Prior, build_around_encoder, to_train


def prior_of(weights: Weights) -> Prior:
    """The mixture that holds these weights, in float64."""
    scales, centres = weights["precision"].shape
    prior = Prior(len(weights["mean"]), centres, scales)
    prior.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in weights.items()})
    return prior.double()


def networks_of(**layout: Any) -> Networks:
    """Networks of this layout with random weights."""
    asked, rng = Layout(**layout), np.random.default_rng(0)
    return to_train(build(asked, rng) if asked.standard else build_around_encoder(asked, rng), "cpu")
