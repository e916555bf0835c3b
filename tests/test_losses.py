"""Both ways to the gradients, against each other and against numbers worked out by hand."""

import copy
from itertools import product

import numpy as np
import pytest
import torch

from centrality._closed_form import ClosedForm
from centrality._losses import Autograd, Noised, Pairs, global_loss, local_loss
from centrality._network import build

WIDTH = 4


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pairs(b: int, seed: int = 1) -> Pairs:
    g = generator(seed)
    first, second = torch.randn(2, b, WIDTH, dtype=torch.float64, generator=g)
    return Pairs(first, second, torch.rand(b, dtype=torch.float64, generator=g))


def noised(b: int, scales: int, seed: int = 2) -> Noised:
    g = generator(seed)
    z, noise = torch.randn(2, b, WIDTH, dtype=torch.float64, generator=g)
    which = (torch.arange(b) % scales)[:, None]
    eta = torch.tensor([0.3, 1.0, 2.0], dtype=torch.float64)[which]
    return Noised(z, noise, eta, which, eta**1.5)


class Quadratic(torch.nn.Module):
    """A potential whose score is known: l(z) = -|z|²/2 has the gradient -z."""

    def logit(self, z):
        return -z.square().sum(1)

    def potentials(self, z):
        return -0.5 * z.square().sum(1, keepdim=True)


@pytest.mark.parametrize(
    ("shared", "hidden", "scales", "batches"),
    list(product([True, False], [(5,), (8, 6), (7, 9, 4)], [1, 3], ["both", "pairs", "noised"])),
)
def test_written_out_gradients_equal_autograd_in_float64(shared, hidden, scales, batches):
    network = build(WIDTH, hidden, None, shared, scales, generator()).double()
    twin = copy.deepcopy(network)
    batch = (pairs(6) if batches != "noised" else None, noised(7, scales) if batches != "pairs" else None)
    autograd, closed = Autograd(network), ClosedForm(twin)
    expected, found = autograd.losses(*batch), closed.losses(*batch)
    assert found.keys() == expected.keys()
    for head in expected:
        torch.testing.assert_close(found[head], expected[head], rtol=1e-12, atol=1e-12)
    for (name, ours), theirs in zip(twin.named_parameters(), network.parameters(), strict=True):
        gradient = torch.zeros_like(theirs) if theirs.grad is None else theirs.grad
        torch.testing.assert_close(ours.grad, gradient, rtol=1e-9, atol=1e-12, msg=lambda m, name=name: f"{name}: {m}")


def test_after_closed_form_training_every_parameter_owns_its_memory_again():
    network = build(WIDTH, (5, 5), None, True, 1, generator())
    step = ClosedForm(network)
    flat = step.parameters[0]
    step.finish()
    flat.data.fill_(7.0)
    assert all((parameter != 7.0).all() for parameter in network.parameters())


def test_the_global_loss_of_equal_logits_is_log_2():
    same = torch.randn(5, WIDTH, generator=generator())
    loss = global_loss(Quadratic(), Pairs(same, same, torch.rand(5, generator=generator())))
    assert float(loss) == pytest.approx(np.log(2), rel=1e-6)


def test_the_global_loss_is_least_where_the_logit_difference_matches_the_preference():
    first, second = torch.zeros(1, WIDTH), torch.full((1, WIDTH), 0.5)  # logits 0 and -1
    losses = [
        float(global_loss(Quadratic(), Pairs(first * s, second * s, torch.sigmoid(torch.tensor([1.0])))))
        for s in (0.5, 1.0, 2.0)
    ]
    assert losses[1] == min(losses)
    p = 1 / (1 + np.exp(-1))
    assert losses[1] == pytest.approx(-p * np.log(p) - (1 - p) * np.log(1 - p), rel=1e-6)


def test_the_local_loss_is_half_the_mean_square_of_score_plus_noise_over_eta():
    z, noise = torch.tensor([[1.0, 2.0]]), torch.tensor([[0.5, -1.0]])
    eta = torch.tensor([[2.0]])
    # z + ε = (2, 0); score = (-2, 0); noise/η = (.25, -.5); residual = (-1.75, -.5)
    batch = Noised(z, noise, eta, torch.zeros(1, 1, dtype=torch.long), torch.ones(1, 1))
    assert local_loss(Quadratic(), batch).item() == pytest.approx(0.5 * (1.75**2 + 0.5**2) / 2)


def test_each_noise_scale_teaches_only_its_own_potential():
    network = build(WIDTH, (6,), None, True, 3, generator()).double()
    batch = noised(9, 3)
    only_first = Noised(batch.z, batch.noise, batch.eta, torch.zeros_like(batch.which), batch.weight)
    Autograd(network).losses(None, only_first)
    gradient = network.local_head.weight.grad
    assert gradient[0].abs().max() > 0
    assert gradient[1:].abs().max() == 0
