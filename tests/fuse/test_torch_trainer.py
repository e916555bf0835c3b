"""Teaching with torch; that its steps are the engine's is compared in tests/engine/test_equals_torch.py."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.conftest import quick


def test_what_a_user_has_frozen_stays_as_it_was(blob):
    encoder = nn.Sequential(nn.Linear(2, 8), nn.GELU(), nn.Linear(8, 4))
    encoder[0].requires_grad_(requires_grad=False)
    weights = quick(encoder=encoder, max_steps=20).fit(blob).fitted_.network.weights
    names = {name.partition("members.0.")[2]: name for name in weights if "members.0." in name}
    for name, parameter in encoder.named_parameters():
        same = np.array_equal(weights[names[name]][...], parameter.detach().numpy())
        assert same == name.startswith("0."), name


@pytest.mark.parametrize("seed", [0, 1])
def test_dropout_follows_the_models_seed_and_leaves_torchs_generator_alone(blob, seed):
    encoder = nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.5), nn.Linear(8, 4))
    torch.manual_seed(seed)
    before = torch.get_rng_state()
    found = quick(encoder=encoder, random_state=5, max_steps=5).fit(blob).history_["local"]
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(seed + 10)
    assert quick(encoder=encoder, random_state=5, max_steps=5).fit(blob).history_["local"] == found
