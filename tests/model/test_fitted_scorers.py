"""Who scores: the engine our own networks on a CPU, torch a user's encoder."""

import numpy as np
import pytest
from torch import nn

from centrality.model.fitted import scorer_for
from centrality.network.engine_backend import EngineScorer
from centrality.network.network import Layout, build
from centrality.torch.module import TorchScorer
from centrality.torch.networks import build_around_encoder


@pytest.mark.parametrize(("encoder", "kind"), [(None, EngineScorer), (nn.Linear(3, 7), TorchScorer)])
def test_the_engine_scores_our_own_networks_and_torch_those_of_users(encoder, kind):
    layout, rng = Layout(width=3, hidden=(8,), encoder=encoder), np.random.default_rng(0)
    scorer = scorer_for(build(layout, rng) if encoder is None else build_around_encoder(layout, rng))
    assert isinstance(scorer, kind)
    assert scorer(np.ones((5, 3), dtype=np.float32)).shape == (1, 5, 2)
