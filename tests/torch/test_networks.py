"""The networks as a torch module: heads and trunks, members, a user's encoder; to train, and to score."""

import numpy as np
import pytest
import torch
from torch import nn

from centrality import FUSE, load
from centrality.network.network import Layout, Network, build
from centrality.torch.networks import Linear, mlp, to_score, to_train
from tests.conftest import quick
from tests.engine.cases import network_of
from tests.promise import exact_outputs
from tests.torch.examples import networks_of

pytestmark = pytest.mark.numbers


def rows(n: int) -> torch.Tensor:
    return torch.randn(n, 3, generator=torch.Generator().manual_seed(0))


def test_the_encoder_is_gelu_layers_of_the_given_widths_and_a_projection_of_the_same_width():
    kinds = [(type(layer).__name__, *getattr(layer, "weight", torch.empty(0)).shape) for layer in mlp(5, (32, 16), 1)]
    assert kinds == [("Linear", 1, 32, 5), ("GELU", 0), ("Linear", 1, 16, 32), ("GELU", 0), ("Linear", 1, 16, 16)]


@pytest.mark.parametrize(("shared", "trunks"), [(True, 1), (False, 2)])
def test_heads_share_an_encoder_or_have_one_each(shared, trunks):
    network = networks_of(width=3, hidden=(8, 8), shared=shared, potentials=2)
    assert len(network.trunks) == trunks
    z = rows(6)
    out = network(z)
    assert out.shape == (1, 6, 3)
    torch.testing.assert_close(out[:, :, 0], network.logit(z))
    torch.testing.assert_close(out[:, :, 1:], network.potentials(z))


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("shared", [True, False])
def test_to_score_they_give_what_exact_arithmetic_gives(shared, background):
    network = network_of(Layout(width=3, hidden=(8, 6), shared=shared, members=3, potentials=5), background=background)
    z = rows(40)
    found = to_score(network, "cpu")(z)
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found, exact_outputs(network, z.numpy()), rtol=1e-12, atol=1e-12)
    trained = to_train(network, "cpu")(z).detach()  # in float32, and its heads above their projections
    np.testing.assert_allclose(trained, found, rtol=1e-5, atol=1e-5)


def test_initial_weights_lie_within_one_over_the_root_of_the_fan_in_and_differ():
    for module in networks_of(width=25, hidden=(100, 100)).modules():
        if isinstance(module, Linear):
            bound = module.weight.shape[2] ** -0.5
            assert module.weight.abs().max() <= bound
            assert module.weight.abs().max() > 0.8 * bound


def test_a_users_encoder_is_copied_for_each_head_and_left_alone():
    layer = nn.Linear(3, 7)
    encoder = nn.Sequential(layer, nn.Tanh())
    network = networks_of(width=3, hidden=(8,), encoder=encoder, shared=False)
    assert network.global_head.weight.shape == (1, 1, 7)
    with torch.no_grad():
        next(network.trunks[0].parameters()).zero_()  # the first layer's weight
    assert layer.weight.abs().min() > 0
    assert next(network.trunks[1].parameters()).abs().min() > 0


def test_members_are_networks_of_their_own():
    network = networks_of(width=3, hidden=(8, 8), shared=False, potentials=2, members=2)
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
        networks_of(width=3, hidden=(8,), encoder=encoder)


def test_weights_that_do_not_fit_are_an_error_that_says_so():
    whole = build(Layout(width=3, hidden=(8,)), np.random.default_rng(0))
    network = Network(whole.layout, {name: part for name, part in whole.weights.items() if name != "global_head.bias"})
    with pytest.raises(ValueError, match=r'the weights do not fit the network: .*\n.*"global_head\.bias"'):
        to_train(network, "cpu")


def encoder() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(2, 32), nn.GELU(), nn.Linear(32, 8))


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"ensemble": 2, "shared_encoder": False}, {"novelty": True}])
def test_a_model_around_a_users_encoder_learns_saves_and_loads(blob, tmp_path, settings):
    model = quick(encoder=encoder(), max_steps=150, **settings).fit(blob)
    assert model.history_["global"][-1] < model.history_["global"][0]
    centre, edge = model.heads([[0.0, 0.0], [4.0, 4.0]])
    assert (centre > edge).all()
    model.save(tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors", encoder=encoder())
    np.testing.assert_array_equal(loaded.heads(blob), model.heads(blob))
    with pytest.raises(ValueError, match=r"load\(path, encoder=\.\.\.\)"):
        load(tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match="the weights do not fit the network"):
        load(tmp_path / "m.safetensors", encoder=nn.Linear(2, 8))


def test_the_explanations_of_such_a_model_add_up(blob):
    model = FUSE(encoder=encoder(), max_steps=100, random_state=0).fit(blob)
    far = blob[:30] * 2
    change = model.centrality(far) - model.centrality(model.center_[None])
    np.testing.assert_allclose(model.explain(far, baseline=model.center_).sum(1), change, atol=1e-3)
