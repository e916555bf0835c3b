import numpy as np
import pytest
import torch
from torch import nn

from centrality.network.modules import Linear, Module, as_module, mlp
from centrality.network.network import Layout, build
from centrality.network.scorer import scorer_for
from centrality.network.torch_scorer import TorchScorer

pytestmark = pytest.mark.numbers


def rows(n: int) -> torch.Tensor:
    return torch.randn(n, 3, generator=torch.Generator().manual_seed(0))


def module_of(**layout: object) -> Module:
    return as_module(build(Layout(**layout), np.random.default_rng(0)))


def test_the_encoder_is_gelu_layers_of_the_given_widths_and_a_projection_of_the_same_width():
    kinds = [(type(layer).__name__, *getattr(layer, "weight", torch.empty(0)).shape) for layer in mlp(5, (32, 16))]
    assert kinds == [("Linear", 1, 32, 5), ("GELU", 0), ("Linear", 1, 16, 32), ("GELU", 0), ("Linear", 1, 16, 16)]


@pytest.mark.parametrize(("shared", "trunks"), [(True, 1), (False, 2)])
def test_heads_share_an_encoder_or_have_one_each(shared, trunks):
    network = module_of(width=3, hidden=(8, 8), shared=shared, potentials=2)
    assert len(network.trunks) == trunks
    z = rows(6)
    out = network(z)
    assert out.shape == (1, 6, 3)
    torch.testing.assert_close(out[:, :, 0], network.logit(z))
    torch.testing.assert_close(out[:, :, 1:], network.potentials(z))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("hidden", [(8,), (8, 6), (8, 6, 5)])
@pytest.mark.parametrize("encoder", [None, nn.Sequential(nn.Linear(3, 7), nn.Tanh())])
def test_the_scorer_gives_what_the_forward_pass_gives(shared, encoder, hidden, members):
    layout = Layout(width=3, hidden=hidden, encoder=encoder, shared=shared, potentials=2, members=members)
    network = build(layout, np.random.default_rng(0))
    z = rows(50)
    expected = as_module(network)(z).detach()
    for scorer in (scorer_for(network), TorchScorer(network, "cpu")):
        np.testing.assert_allclose(scorer(z.numpy()), expected, rtol=1e-5, atol=1e-6)


def test_initial_weights_lie_within_one_over_the_root_of_the_fan_in_and_differ():
    for module in module_of(width=25, hidden=(100, 100)).modules():
        if isinstance(module, Linear):
            bound = module.weight.shape[2] ** -0.5
            assert module.weight.abs().max() <= bound
            assert module.weight.abs().max() > 0.8 * bound


def test_a_users_encoder_is_copied_for_each_head_and_left_alone():
    encoder = nn.Sequential(nn.Linear(3, 7), nn.Tanh())
    network = module_of(width=3, hidden=(8,), encoder=encoder, shared=False)
    assert network.global_head.weight.shape == (1, 1, 7)
    with torch.no_grad():
        network.trunks[0].members[0][0].weight.zero_()
    assert encoder[0].weight.abs().min() > 0
    assert network.trunks[1].members[0][0].weight.abs().min() > 0


def test_members_are_networks_of_their_own():
    network = module_of(width=3, hidden=(8, 8), shared=False, potentials=2, members=2)
    z = rows(5)
    first, second = network(z)
    assert (first != second).all()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter[1] = parameter[0]
    torch.testing.assert_close(network(z)[1], first)


@pytest.mark.parametrize(
    ("encoder", "error", "message"),
    [
        (lambda z: z, TypeError, r"torch.nn.Module from \(n, p\) to \(n, q\), got function"),
        (nn.Linear(4, 2), ValueError, r"must map \(n, 3\) to \(n, q\), but failed on \(2, 3\)"),
        (nn.Flatten(0), ValueError, r"but \(2, 3\) became \(6,\)"),
    ],
)
def test_an_encoder_of_the_wrong_kind_says_what_was_wanted(encoder, error, message):
    with pytest.raises(error, match=message):
        module_of(width=3, hidden=(8,), encoder=encoder)
