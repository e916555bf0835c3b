"""Torch modules from arrays, which tests of several folders need."""

from typing import Any

import numpy as np

from centrality.network.network import Layout, build
from centrality.torch.networks import Networks, build_around_encoder, to_train


def networks_of(**layout: Any) -> Networks:
    """Networks of this layout with random weights."""
    asked, rng = Layout(**layout), np.random.default_rng(0)
    return to_train(build(asked, rng) if asked.standard else build_around_encoder(asked, rng), "cpu")
