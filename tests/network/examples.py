"""Torch modules from arrays, which tests of several folders need."""

import torch

from centrality.network.mixture import Mixture
from centrality.network.network import Weights


def mixture_of(weights: Weights) -> Mixture:
    """The mixture that holds these weights."""
    mixture = Mixture.for_weights(weights)
    mixture.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in weights.items()})
    return mixture
